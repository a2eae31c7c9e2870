// Drawing the next checkpoint of a random thread.
#include "testing/random_thread.hpp"

#include <algorithm>

namespace troupe::testing {

namespace {

value appended(const value& list, unsigned n) {
  std::vector<value> items;
  if (list.is_list())
    items.assign(list.items().begin(), list.items().end());
  items.emplace_back(std::string(40, static_cast<char>('a' + n % 26)));
  return value::list(std::move(items));
}

} // namespace

void random_thread::move_channels(made_checkpoint& next, version to,
                                  std::vector<std::string>& moved) {
  auto move = [&](const std::string& channel, value v) {
    next.channels[channel] = {to, std::move(v)};
    moved.push_back(channel);
  };
  move("delta", {});
  if (below(4) != 0)
    move("list", appended(next.channels["list"].second, count_));
  if (below(3) == 0)
    move("map", next.channels["map"].second.is_map()
                  ? next.channels["map"].second.with(std::to_string(below(5)), value(count_))
                  : value::map({{"long", std::string(200, 'x')}}));
  if (below(5) == 0)
    move("n", value(count_));
  if (below(9) == 0)
    move("n", {});
  std::ranges::sort(moved);
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
}

void random_thread::put_next() {
  auto n = ++count_;
  auto parent = n - 1 - (below(6) == 0 ? below(std::min(n, 8u)) : 0);
  auto next = made_[parent];
  if (parent != n - 1)
    tag_ = n;
  checkpoint_put p;
  move_channels(next, {n, tag_}, p.new_versions);
  auto is_snapshot = below(5) == 0;
  next.since_snapshot = is_snapshot ? 0 : next.since_snapshot + 1;
  p.metadata = value::map({{"step", value(n)}, {"source", "loop"}});
  if (!is_snapshot)
    p.metadata = p.metadata.with(
      delta_counters, value::map({{"delta", value{next.since_snapshot, next.since_snapshot}}}));
  p.parent_id = parent == 0 ? "" : checkpoint_id(parent);
  p.checkpoint.id = checkpoint_id(n);
  p.checkpoint.ts = "2026-11-21T20:21:07.123456+00:00";
  for (const auto& [channel, held] : next.channels) {
    p.checkpoint.channel_versions.emplace_back(channel, held.first);
    if (channel == "delta" && is_snapshot)
      p.checkpoint.channel_values.emplace_back(channel, value::extension(value_kind::delta_snapshot,
                                                                         value{1, 2}));
    else if (!held.second.is_null())
      p.checkpoint.channel_values.emplace_back(channel, held.second);
  }
  save_request request{at("t", "", p.parent_id), {}, std::move(p)};
  if (parent != 0)
    request.writes = {{"task " + std::to_string(n), "", {{"delta", value(n)}, {"n", "x"}}}};
  to_.store(std::move(request));
  made_[n] = std::move(next);
}

delta_history delta_of(saver_subject& t, const std::string& id) {
  return t->get_delta_channel_history(at("t", "", id), {"delta"}).value().at(0).second;
}

} // namespace troupe::testing
