#include "tests/crash/store_dump.hpp"

#include "tests/crash/crash_graph.hpp"

#include <cstdio>
#include <utility>
#include <vector>

namespace crash {

namespace {

using troupe::value;

bool counts(std::string_view channel, const value& v) {
  return channel.find(':') == std::string_view::npos && !channel.starts_with("__") && !v.empty();
}

value as_map(const troupe::named<value>& channels) {
  std::vector<value::map_init> out;
  for (const auto& [name, v] : channels)
    if (name != trail)
      out.emplace_back(name, v);
  return value::map(std::move(out));
}

// The content of a delta channel of lists: the value it was stored with, and each write since.
value fold(const troupe::delta_history& history) {
  std::vector<value> out;
  auto add = [&out](const value& list) {
    for (const auto& entry : list.items())
      out.push_back(entry);
  };
  if (history.seed)
    add(history.seed->is_list() ? *history.seed : history.seed->payload());
  for (const auto& write : history.writes)
    add(write.value);
  return value::list(std::move(out));
}

value writes_of(const troupe::checkpoint_tuple& tuple) {
  std::vector<value> tasks;
  std::vector<value> channels;
  for (std::size_t i = 0; i < tuple.pending_writes.size(); ++i) {
    const auto& write = tuple.pending_writes[i];
    channels.emplace_back(write.channel);
    bool last = i + 1 == tuple.pending_writes.size()
                || tuple.pending_writes[i + 1].task_id != write.task_id;
    if (last)
      tasks.push_back(
        value::list({write.task_id, write.task_path, value::list(std::exchange(channels, {}))}));
  }
  return value::list(std::move(tasks));
}

troupe::result<value> describe(troupe::saver& from, const troupe::checkpoint_tuple& tuple,
                               bool newest) {
  auto state = as_map(tuple.checkpoint.channel_values);
  if (tuple.ref.checkpoint_ns.empty()) {
    auto histories = from.get_delta_channel_history(tuple.ref, {std::string{trail}});
    if (!histories)
      return histories.error();
    const auto* stored = [&]() -> const value* {
      for (const auto& [name, v] : tuple.checkpoint.channel_values)
        if (name == trail)
          return &v;
      return nullptr;
    }();
    auto whole = stored ? (stored->is_list() ? *stored : stored->payload())
                        : fold(histories->at(0).second);
    state = state.with(trail, whole);
  }
  auto out = value::map({{"thread", tuple.ref.thread_id},
                         {"ns", tuple.ref.checkpoint_ns},
                         {"id", tuple.ref.checkpoint_id},
                         {"parent", tuple.parent_id},
                         {"step", tuple.metadata["step"]},
                         {"source", tuple.metadata["source"]},
                         {"state", fingerprint(state)},
                         {"writes", writes_of(tuple)}});
  return newest && tuple.ref.checkpoint_ns.empty() ? out.with("log", state["log"]) : out;
}

} // namespace

std::string fingerprint(const value& state) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto& entry : state.entries()) {
    if (!counts(entry.key(), entry.val))
      continue;
    for (unsigned char c : std::string{entry.key()} + to_json(entry.val))
      hash = (hash ^ c) * 0x100000001b3;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016lx", static_cast<unsigned long>(hash));
  return text;
}

troupe::result<value> dump_store(troupe::saver& from) {
  auto all = from.list({});
  if (!all)
    return all.error();
  std::vector<value> out;
  const troupe::checkpoint_tuple* before = nullptr;
  for (const auto& tuple : *all) {
    bool newest = !before || before->ref.thread_id != tuple.ref.thread_id
                  || before->ref.checkpoint_ns != tuple.ref.checkpoint_ns;
    auto described = describe(from, tuple, newest);
    if (!described)
      return described.error();
    out.push_back(std::move(*described));
    before = &tuple;
  }
  return value::list(std::move(out));
}

} // namespace crash
