// The output of `troupe run`: parts as they come and the end of the run on stdout, notes on stderr.
#pragma once

#include "tools/troupe/actor_table.hpp"
#include "tools/troupe/terminal.hpp"

#include <troupe/runtime.hpp>

#include <string>
#include <string_view>

namespace troupe::cli {

class run_output {
public:
  run_output(bool json, bool with_actors) : json_{json}, with_actors_{with_actors} {}

  /// A line for the person in front of the terminal; nothing with --json.
  void note(const std::string& text) const;
  /// A part, and the actors when they are wanted and changed.
  void part(const stream_part& part, const part_stream& run);
  /// The output of a run that is done, or what a run that paused waits for.
  void result(const std::string& thread, const run_result& run) const;

private:
  void print_updates(const value& update);
  void print_named(style how, std::string_view name, const value& data) const;

  bool json_;
  bool with_actors_;
  actor_watch actors_{json_};
  terminal out_{STDOUT_FILENO};
};

} // namespace troupe::cli
