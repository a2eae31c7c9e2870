// The flags of `troupe run`, and the values that they hold.
#pragma once

#include "tools/troupe/home_flags.hpp"
#include "tools/troupe/kept_place.hpp"

#include <troupe/runtime.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace troupe::cli {

struct run_flags {
  std::string graph, input, thread, resume, checkpoint, context, metadata;
  std::vector<std::string> configurable;
  std::string durability = "async";
  std::string store_history = "all";
  std::vector<std::string> stream = {"updates"};
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  bool has_input = false, has_resume = false, has_thread = false, once = false, actors = false;
  std::shared_ptr<kept_place> place;
  std::shared_ptr<home_flags> home;

  /// Errors: throws error{invalid_value} that names the flag.
  value answer() const;
  value input_for(const compiled_graph& graph) const;
  /// The members of run_config that flags give.
  run_config config() const;
};

std::shared_ptr<run_flags> add_run_flags(CLI::App& command);

/// A flag's JSON. Errors: throws error{invalid_value} that names the flag.
value parse_flag(const std::string& flag, const std::string& text);
/// Likewise; JSON, @FILE, or @- for standard input.
value parse_text_flag(const std::string& flag, const std::string& text);
/// Fails for a member that the graph has no channel for, and for a plain member of another kind.
/// Errors: throws error{invalid_value} that names the flag and the channel.
void check_input(const std::string& flag, const compiled_graph& graph, const value& input);
/// Likewise for what a node writes.
void check_update(const std::string& flag, const compiled_graph& graph, const value& update);

} // namespace troupe::cli
