// option_names: the names of modes, durabilities and strategies. Pure.
#include <troupe/runtime.hpp>

#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe {

namespace {

constexpr std::array<std::pair<stream_mode, std::string_view>, 8> mode_names{{
  {stream_mode::values, "values"},
  {stream_mode::updates, "updates"},
  {stream_mode::custom, "custom"},
  {stream_mode::checkpoints, "checkpoints"},
  {stream_mode::tasks, "tasks"},
  {stream_mode::debug, "debug"},
  {stream_mode::messages, "messages"},
  {stream_mode::tools, "tools"},
}};

constexpr std::array<std::pair<durability, std::string_view>, 3> durability_names{{
  {durability::sync, "sync"},
  {durability::async, "async"},
  {durability::exit, "exit"},
}};

constexpr std::array<std::pair<store_history, std::string_view>, 2> history_names{{
  {store_history::all, "all"},
  {store_history::latest_only, "latest_only"},
}};

constexpr std::array<std::pair<multitask_strategy, std::string_view>, 5> multitask_names{{
  {multitask_strategy::take_over, "take_over"},
  {multitask_strategy::reject, "reject"},
  {multitask_strategy::enqueue, "enqueue"},
  {multitask_strategy::interrupt, "interrupt"},
  {multitask_strategy::rollback, "rollback"},
}};

template <class Table, class Key> std::string_view name_of(const Table& table, Key key) {
  for (const auto& [k, name] : table)
    if (k == key)
      return name;
  return "unknown";
}

template <class Table>
auto parse(const Table& table, std::string_view text, std::string_view what)
  -> result<std::decay_t<decltype(table[0].first)>> {
  std::string known;
  for (const auto& [k, name] : table) {
    if (name == text)
      return k;
    known.append(known.empty() ? "" : ", ").append(name);
  }
  return error{errc::invalid_config,
               "unknown " + std::string{what} + " `" + std::string{text} + "`: one of " + known};
}

} // namespace

std::string_view to_string(stream_mode mode) noexcept {
  return name_of(mode_names, mode);
}
std::string_view to_string(durability d) noexcept {
  return name_of(durability_names, d);
}
result<stream_mode> parse_stream_mode(std::string_view name) {
  return parse(mode_names, name, "stream mode");
}
result<durability> parse_durability(std::string_view name) {
  return parse(durability_names, name, "durability");
}
std::string_view to_string(store_history h) noexcept {
  return name_of(history_names, h);
}
result<store_history> parse_store_history(std::string_view name) {
  return parse(history_names, name, "store history");
}
std::string_view to_string(multitask_strategy s) noexcept {
  return name_of(multitask_names, s);
}
result<multitask_strategy> parse_multitask_strategy(std::string_view name) {
  return parse(multitask_names, name, "multitask strategy");
}
std::ostream& operator<<(std::ostream& out, stream_mode mode) {
  return out << to_string(mode);
}

} // namespace troupe
