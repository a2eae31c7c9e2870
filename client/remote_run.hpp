// remote_run: a run of a remote graph: its parts, its questions and its end.
#pragma once

#include "client/rejoined_stream.hpp"

#include <troupe/runtime.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// The end of a run, or its state so far. Shape: `values` is null before the first state.
struct remote_ending {
  value values = {};
  std::vector<interrupt> questions = {};
  bool is_paused = false;
  std::optional<command> upward = std::nullopt; ///< for a graph around it
};

class remote_reader {
public:
  /// Shape:  parts of `wanted` are given, those of nested graphs `with_nested` alone.
  remote_reader(std::shared_ptr<rejoined_stream> stream, std::vector<stream_mode> wanted,
                bool with_nested);

  /// The next part, or nothing at the end; then ending() is whole. Without a context, it never
  /// suspends.
  /// Errors: throws those of run_events, and node_failed for a run that failed.
  coro<std::optional<stream_part>> next(context* ctx);
  const remote_ending& ending() const noexcept { return ending_; }
  /// Whether the server has taken the run.
  bool has_begun() const noexcept { return stream_->has_begun(); }

private:
  std::optional<stream_part> take(const run_event& event);
  void note(stream_mode mode, const value& data, bool is_nested);

  std::shared_ptr<rejoined_stream> stream_;
  std::vector<stream_mode> wanted_;
  bool with_nested_;
  remote_ending ending_;
  std::uint64_t seq_ = 0;
};

} // namespace troupe
