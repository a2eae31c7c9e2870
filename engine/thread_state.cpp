// thread_state: loading it from a checkpoint, and turning it into one.
#include "engine/thread_state.hpp"

#include "engine/name_places.hpp"
#include "graph/names.hpp"
#include "graph/same_text.hpp"
#include "graph/value_node.hpp"
#include "persistence/numbered_put.hpp"
#include "persistence/record/refill.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <optional>
#include <span>

namespace troupe {

namespace {

// `guess`: where it probably stands.
version find_version(const named<version>& versions, std::string_view name, std::size_t guess) {
  if (guess < versions.size() && same_text(versions[guess].first, name))
    return versions[guess].second;
  auto it = std::lower_bound(versions.begin(), versions.end(), name,
                             [](const auto& e, std::string_view n) { return e.first < n; });
  return it != versions.end() && it->first == name ? it->second : version{};
}

// Notes the versions that a node saw when it last ran. `seen_at` gives the version of a trigger,
// for one after the other.
template <class F> void mark_seen(thread_state& state, node_index n, bool nothing, F seen_at) {
  auto& seen = state.seen[n];
  seen.present = true;
  if (nothing)
    return;
  const auto& triggers = state.plan->nodes[n].triggers;
  seen.at.resize(triggers.size());
  for (std::size_t i = 0; i < triggers.size(); ++i)
    seen.at[i] = seen_at(triggers[i]);
}

// The parts of a checkpoint for load(), by name.
class named_parts {
public:
  named_parts(thread_state& state, const checkpoint& from)
    : state_{state},
      from_{from},
      stored_{from.channel_values.begin()} {}

  // Calls `take` with each channel of the graph, its version, and its value if it has one.
  template <class F> result<void> each_channel(F&& take) {
    std::size_t next = 0;
    for (const auto& [name, at] : from_.channel_versions) {
      state_.newest = std::max(state_.newest, at);
      auto c = state_.plan->find_channel(name, next);
      if (c == no_index)
        state_.foreign_versions.emplace_back(name, at);
      else if (auto taken = take(c, at, stored_value(name)); !taken)
        return taken;
    }
    return {};
  }

  void load_seen() {
    const auto& plan = *state_.plan;
    std::size_t next = 0;
    for (const auto& [name, versions] : from_.versions_seen) {
      if (name == names::input) {
        state_.input_seen = true;
      } else if (name == names::interrupt) {
        auto& marks = state_.interrupt_seen.emplace(plan.channels.size());
        for (const auto& [channel, v] : versions)
          if (auto c = plan.find_channel(channel); c != no_index)
            marks[c] = v;
      } else if (auto n = plan.find_node(name, next); n != no_index) {
        mark_seen(state_, n, versions.empty(),
                  [&, guess = std::size_t{0}](channel_index c) mutable {
                    return find_version(versions, plan.channels[c].name, guess++);
                  });
      } else {
        state_.foreign_seen.emplace_back(name, versions);
      }
    }
  }

private:
  // Values are sorted by name, as the versions are.
  std::optional<value> stored_value(std::string_view name) {
    const auto end = from_.channel_values.end();
    while (stored_ != end && !same_text(stored_->first, name) && stored_->first < name)
      ++stored_;
    if (stored_ == end || !same_text(stored_->first, name))
      return std::nullopt;
    return (stored_++)->second;
  }

  thread_state& state_;
  const checkpoint& from_;
  named<value>::const_iterator stored_;
};

// The same by number. The names that the graph does not know are left out.
class numbered_parts {
public:
  numbered_parts(thread_state& state, const numbered_tuple& from, const name_places& places)
    : state_{state},
      from_{from},
      places_{places} {}

  template <class F> result<void> each_channel(F&& take) {
    for (std::size_t i = 0; i < from_.values.size(); ++i) {
      const auto& [name, at] = from_.checkpoint.versions[i];
      state_.newest = std::max(state_.newest, at);
      if (auto c = places_[name].channel; c != no_index)
        if (auto taken = take(c, at, from_.values[i]); !taken)
          return taken;
    }
    return {};
  }

  void load_seen() {
    const auto& all = from_.checkpoint.seen_versions;
    std::span<const numbered_version> rest{all.data(), all.size()};
    for (const auto& [name, channels] : from_.checkpoint.seen) {
      auto versions = rest.first(channels);
      rest = rest.subspan(channels);
      const auto& place = places_[name];
      if (place.is_input) {
        state_.input_seen = true;
      } else if (place.is_interrupt) {
        auto& marks = state_.interrupt_seen.emplace(state_.plan->channels.size());
        for (const auto& [channel, at] : versions)
          if (auto c = places_[channel].channel; c != no_index)
            marks[c] = at;
      } else if (place.node != no_index) {
        mark_seen(state_, place.node, versions.empty(),
                  [&, at = versions.begin()](channel_index c) mutable {
                    return seen_version(c, at, versions.end());
                  });
      }
    }
  }

private:
  using versions_at = std::span<const numbered_version>::iterator;

  // Versions and triggers are both sorted by name.
  version seen_version(channel_index c, versions_at& at, versions_at end) {
    auto is_of_it = [&] { return places_[at->channel].channel == c; };
    while (at != end && !is_of_it() && places_.text(at->channel) < state_.plan->channels[c].name)
      ++at;
    return at != end && is_of_it() ? (at++)->at : version{};
  }

  thread_state& state_;
  const numbered_tuple& from_;
  const name_places& places_;
};

void sort_channels(const graph_plan& plan, auto& channels) {
  std::ranges::sort(channels, {},
                    [&plan](channel_index c) -> std::string_view { return plan.channels[c].name; });
}

void refill_names(const graph_plan& plan, std::span<const channel_index> channels,
                  std::vector<std::string>& out) {
  refill<std::string> names{out, channels.size()};
  for (auto c : channels)
    set_name(names.next(), plan.channels[c].name);
}

// Those of the plan come in order.
template <class T> void sort_by_name(named<T>& list) {
  auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(list.begin(), list.end(), less))
    std::sort(list.begin(), list.end(), less);
}

void take_versions(const thread_state& state, named<version>& out) {
  {
    refill_named<version> versions{out, state.versions.size() + state.foreign_versions.size()};
    for (auto c : state.plan->channels_by_name())
      if (state.versions[c].number != 0)
        versions.add(state.plan->channels[c].name) = state.versions[c];
    for (const auto& [name, at] : state.foreign_versions)
      versions.add(name) = at;
  }
  if (!state.foreign_versions.empty())
    sort_by_name(out);
}

void take_seen(const thread_state& state, const plan_node& node, const node_seen& seen,
               named<version>& out) {
  refill_named<version> versions{out, seen.at.size()};
  for (std::size_t i = 0; i < seen.at.size(); ++i)
    if (seen.at[i].number != 0)
      versions.add(state.plan->channels[node.triggers[i]].name) = seen.at[i];
}

void take_marks(const thread_state& state, named<version>& out) {
  refill_named<version> versions{out, state.versions.size()};
  for (auto c : state.plan->channels_by_name())
    if ((*state.interrupt_seen)[c].number != 0)
      versions.add(state.plan->channels[c].name) = (*state.interrupt_seen)[c];
}

void take_all_seen(const thread_state& state, named<named<version>>& out) {
  {
    refill_named<named<version>> seen{out, state.seen.size() + 2 + state.foreign_seen.size()};
    if (state.input_seen)
      seen.add(names::input).clear();
    if (state.interrupt_seen)
      take_marks(state, seen.add(names::interrupt));
    for (auto n : state.plan->nodes_by_name())
      if (state.seen[n].present)
        take_seen(state, state.plan->nodes[n], state.seen[n], seen.add(state.plan->nodes[n].name));
    for (const auto& [name, versions] : state.foreign_seen)
      seen.add(name) = versions;
  }
  sort_by_name(out);
}

void sort_moved(thread_state& state) {
  auto& moved = state.moved;
  sort_channels(*state.plan, moved);
  moved.erase(std::unique(moved.begin(), moved.end()), moved.end());
}

void take_moved(thread_state& state, named<value>& values, std::vector<std::string>& new_versions) {
  auto& moved = state.moved;
  const auto& channels = state.plan->channels;
  sort_moved(state);
  refill_names(*state.plan, moved, new_versions);
  refill_named<value> by_name{values, moved.size()};
  for (auto c : moved)
    if (auto stored = store_channel(channels[c].spec, state.cells[c]))
      by_name.add(channels[c].name) = std::move(*stored);
  moved.clear();
}

// ---- numbers: those of the channels, then of the nodes, then of the marks

std::uint32_t number_of(const graph_plan& plan, std::string_view mark) {
  auto first = static_cast<std::uint32_t>(plan.channels.size() + plan.nodes.size());
  return mark == names::input ? first : first + 1;
}

void number_versions(std::span<const channel_index> channels, std::span<const version> versions,
                     auto& out) {
  for (auto c : channels)
    if (versions[c].number != 0)
      out.push_back({c, versions[c]});
}

// Both marks come before the node, or after all nodes, by name.
class numbered_marks {
public:
  numbered_marks(const thread_state& state, checkpoint_numbers& out)
    : state_{state},
      out_{out},
      input_{state.input_seen},
      interrupt_{state.interrupt_seen.has_value()} {}

  void add_before(std::string_view node) {
    if (input_ && names::input < node)
      add_input();
    if (interrupt_ && names::interrupt < node)
      add_interrupt();
  }
  void add_rest() {
    if (input_)
      add_input();
    if (interrupt_)
      add_interrupt();
  }

private:
  void add_input() {
    input_ = false;
    out_.seen.push_back({number_of(*state_.plan, names::input), 0});
  }
  void add_interrupt() {
    interrupt_ = false;
    auto before = out_.seen_versions.size();
    number_versions(state_.plan->channels_by_name(), *state_.interrupt_seen, out_.seen_versions);
    out_.seen.push_back(
      {number_of(*state_.plan, names::interrupt), out_.seen_versions.size() - before});
  }

  const thread_state& state_;
  checkpoint_numbers& out_;
  bool input_, interrupt_; // not added yet
};

void number_seen(const thread_state& state, checkpoint_numbers& out) {
  const auto& plan = *state.plan;
  out.seen.clear();
  out.seen_versions.clear();
  numbered_marks marks{state, out};
  for (auto n : plan.nodes_by_name()) {
    if (!state.seen[n].present)
      continue;
    const auto& node = plan.nodes[n];
    const auto& seen = state.seen[n].at;
    marks.add_before(node.name);
    auto before = out.seen_versions.size();
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i].number != 0)
        out.seen_versions.push_back({node.triggers[i], seen[i]});
    auto number = static_cast<std::uint32_t>(plan.channels.size() + n);
    out.seen.push_back({number, out.seen_versions.size() - before});
  }
  marks.add_rest();
}

void number_moved(thread_state& state, std::vector<numbered_put::moved_channel>& out) {
  sort_moved(state);
  out.clear();
  for (auto c : state.moved)
    if (state.versions[c].number != 0)
      out.push_back(
        {c, state.versions[c], store_channel(state.plan->channels[c].spec, state.cells[c])});
  state.moved.clear();
}

// As reset_state, but nothing is live yet.
void clear_state(thread_state& state, const std::shared_ptr<const graph_plan>& plan,
                 std::uint64_t tag) {
  bool other_plan = state.plan != plan; // mostly it is that of the run or checkpoint before
  if (other_plan)
    state.plan = plan;
  const auto& channels = state.plan->channels;
  state.cells.resize(channels.size());
  for (std::size_t c = 0; c < channels.size(); ++c)
    state.cells[c] = initial_cell(channels[c].spec);
  state.versions.assign(channels.size(), {});
  state.seen.resize(state.plan->nodes.size());
  for (auto& seen : state.seen) {
    seen.present = false;
    if (other_plan)
      seen.at.clear();
    else
      std::ranges::fill(seen.at, version{});
  }
  state.input_seen = false;
  state.interrupt_seen.reset();
  state.moved.clear();
  state.slot.assign(channels.size(), 0);
  state.newest = {};
  state.tag = tag;
  state.foreign_versions.clear();
  state.foreign_seen.clear();
}

} // namespace

void list_live(thread_state& state) {
  state.live.clear();
  state.is_live.assign(state.cells.size(), 0);
  for (auto c : state.plan->reacting)
    if (available(state, c)) {
      state.live.push_back(c);
      state.is_live[c] = 1;
    }
}

void reset_state(thread_state& state, const std::shared_ptr<const graph_plan>& plan,
                 std::uint64_t tag) {
  clear_state(state, plan, tag);
  list_live(state);
}

// `parts` is of a state without anything.
template <class Parts> static result<void> load(thread_state& state, Parts parts) {
  auto loaded = parts.each_channel(
    [&state](channel_index c, version at, const std::optional<value>& stored) -> result<void> {
      state.versions[c] = at;
      if (!stored)
        return {}; // the channel is empty
      const auto& channel = state.plan->channels[c];
      auto cell = load_channel(channel.spec, channel.name, stored);
      if (!cell)
        return cell.error();
      state.cells[c] = std::move(*cell);
      return {};
    });
  if (loaded)
    parts.load_seen();
  return loaded;
}

result<void> load_state(thread_state& state, const std::shared_ptr<const graph_plan>& plan,
                        std::uint64_t tag, const checkpoint& from) {
  clear_state(state, plan, tag);
  auto loaded = load(state, named_parts{state, from});
  if (loaded)
    list_live(state);
  return loaded;
}

result<void> load_state(thread_state& state, const std::shared_ptr<const graph_plan>& plan,
                        const numbered_tuple& from, const name_places& places) {
  clear_state(state, plan, 0);
  return load(state, numbered_parts{state, from, places});
}

void mark_called(thread_state& state, const std::string& name) {
  auto known = std::find_if(state.foreign_seen.begin(), state.foreign_seen.end(),
                            [&name](const auto& e) { return e.first == name; });
  if (known == state.foreign_seen.end())
    state.foreign_seen.emplace_back(name, named<version>{});
}

checkpoint take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                           std::vector<std::string>& new_versions) {
  checkpoint out;
  take_checkpoint(state, updated, out, new_versions);
  return out;
}

void take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                     checkpoint& out, std::vector<std::string>& new_versions) {
  take_versions(state, out.channel_versions);
  take_moved(state, out.channel_values, new_versions);
  take_all_seen(state, out.versions_seen);
  if (!updated)
    return out.updated_channels.reset();
  if (!out.updated_channels)
    out.updated_channels.emplace();
  boost::container::small_vector<channel_index, 16> sorted{updated->begin(), updated->end()};
  sort_channels(*state.plan, sorted);
  refill_names(*state.plan, {sorted.data(), sorted.size()}, *out.updated_channels);
}

void use_names(const graph_plan& plan, numbered_names& names) {
  std::vector<std::string_view> texts;
  texts.reserve(plan.channels.size() + plan.nodes.size() + 2);
  for (const auto& channel : plan.channels)
    texts.push_back(channel.name);
  for (const auto& node : plan.nodes)
    texts.push_back(node.name);
  texts.push_back(names::input);
  texts.push_back(names::interrupt);
  names.use(std::move(texts));
}

void take_checkpoint(thread_state& state, const std::vector<channel_index>* updated,
                     numbered_put& out) {
  auto& numbers = out.checkpoint;
  numbers.versions.clear();
  number_versions(state.plan->channels_by_name(), state.versions, numbers.versions);
  number_seen(state, numbers);
  number_moved(state, out.moved);
  if (!updated)
    return numbers.updated.reset();
  numbers.updated.emplace(updated->begin(), updated->end());
  sort_channels(*state.plan, *numbers.updated);
}

value read_channels(const thread_state& state, std::span<const channel_index> keys) {
  boost::container::small_vector<value, 16> out; // key, value, key, value …
  out.reserve(2 * keys.size());
  for (auto c : keys)
    if (available(state, c)) {
      out.emplace_back(state.plan->channels[c].name);
      out.push_back(read_channel(state.plan->channels[c].spec, state.cells[c]));
    }
  bool duplicates = false; // the names of channels differ
  return value_access::map({out.data(), out.size()}, duplicates);
}

state_update read_in_order(const thread_state& state, const shown_channels& shown) {
  state_update out;
  for (auto c : shown.keys)
    if (available(state, c))
      out.set(state.plan->channels[c].name,
              read_channel(state.plan->channels[c].spec, state.cells[c]));
  return out;
}

value read_output(const thread_state& state, const shown_channels& shown) {
  if (!shown.bare)
    return read_channels(state, shown.keys);
  auto c = shown.keys[0];
  return available(state, c) ? read_channel(state.plan->channels[c].spec, state.cells[c]) : value{};
}

} // namespace troupe
