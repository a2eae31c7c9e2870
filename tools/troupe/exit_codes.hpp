// How a program ends, and what to do about it: one table for the command line and for examples.
#pragma once

#include <troupe/error.hpp>

namespace troupe::cli {

enum exit_code : int {
  exit_done = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_paused = 3,
  exit_drained = 4,
  exit_storage = 5,
  exit_nothing_stored = 6,
  exit_not_whole = 7,
  exit_not_drained = 8,
  exit_stopped = 130,
};

inline constexpr const char* exit_codes_help =
  "Exit codes: 0 done; 1 the run failed; 2 wrong flags or input; 3 paused, an answer is needed;\n"
  "4 stopped at the end of a step by Ctrl-C, SIGTERM or a drain: run it again to resume;\n"
  "5 the store failed; 6 the thread is not stored: give an input;\n"
  "7 an answer was refused, filtered or cut at its token limit (chat, coder);\n"
  "8 a worker has not drained in time (cluster drain --wait); 130 stopped at once.";

constexpr exit_code exit_code_of(errc code) noexcept {
  switch (code) {
    case errc::ok: return exit_done;
    case errc::invalid_graph:
    case errc::empty_input:
    case errc::invalid_config:
    case errc::invalid_value:
    case errc::missing_key:
    case errc::unknown_interrupt:
    case errc::ambiguous_resume:
    case errc::checkpoint_missing:
    case errc::no_saver:
    case errc::unknown_graph:
    case errc::abi_mismatch: return exit_usage;
    case errc::graph_drained: return exit_drained;
    case errc::checkpoint_corrupt:
    case errc::storage_full:
    case errc::storage_failed:
    case errc::storage_locked:
    case errc::format_too_new:
    case errc::conflict:
    case errc::key_missing: return exit_storage;
    default: return exit_failed;
  }
}

/// Advice for a person in front of a terminal, where the message has none.
inline const char* advice_for(errc code) noexcept {
  switch (code) {
    case errc::empty_input: return "give an input";
    case errc::no_saver: return "name a data directory with --data";
    case errc::ambiguous_resume: return "answer by id: {\"ID\": ANSWER, ...}";
    default: return "";
  }
}

} // namespace troupe::cli
