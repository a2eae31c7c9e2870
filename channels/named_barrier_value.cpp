// NamedBarrierValue: available when every one of its names was written. Its twin,
// NamedBarrierValueAfterFinish, also waits until nothing else is left to run.
// The cell's content is the ascending list of the names seen; it is set iff there is one.
// Source: langgraph/channels/named_barrier_value.py.
#include "channels/kinds.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace troupe {
namespace {

bool before(const value& a, const value& b) {
  return a.as_string() < b.as_string();
}

// ---- the names ------------------------------------------------------------------------------

// Whether a string is a name of the barrier; sorts the names first when there are many look-ups.
class name_index {
public:
  name_index(const std::vector<std::string>& names, std::size_t questions) : names_{names} {
    if (questions <= 4)
      return;
    sorted_.assign(names.begin(), names.end());
    std::ranges::sort(sorted_);
  }

  bool contains(const value& v) const {
    if (!v.is_string())
      return false;
    if (sorted_.empty())
      return std::ranges::find(names_, v.as_string()) != names_.end();
    return std::ranges::binary_search(sorted_, v.as_string());
  }

private:
  const std::vector<std::string>& names_;
  std::vector<std::string_view> sorted_;
};

// `{'a', 'b'}`, as the reference prints its set of names.
std::string names_text(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& n : names)
    out += (out.empty() ? "{'" : ", '") + n + "'";
  return out.empty() ? "set()" : out + "}";
}

error unknown_name(const channel_spec& spec, std::string_view name, const value& write) {
  auto text = write.is_string() ? std::string{write.as_string()} : to_json(write);
  return refused_update(name, "Value " + text + " not in " + names_text(spec.names));
}

// ---- the names seen -------------------------------------------------------------------------

bool full(const channel_spec& spec, const channel_cell& cell) {
  auto seen = cell.set ? cell.content.items() : std::span<const value>{};
  if (seen.size() == spec.names.size())
    return true; // all seen names are the barrier's, and each stands once
  return std::ranges::all_of(spec.names, [seen](const std::string& n) { // a name may stand twice
    auto at = std::ranges::lower_bound(seen, std::string_view{n}, {},
                                       [](const value& v) { return v.as_string(); });
    return at != seen.end() && at->as_string() == n;
  });
}

// Adds names to those seen. Result: whether one of them was new.
bool see(channel_cell& cell, std::span<const value> writes) {
  std::vector<value> fresh(writes.begin(), writes.end());
  std::ranges::sort(fresh, before);
  auto seen = cell.set ? cell.content.items() : std::span<const value>{};
  std::vector<value> all;
  all.reserve(seen.size() + fresh.size());
  std::ranges::set_union(seen, fresh, std::back_inserter(all), before);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() == seen.size())
    return false;
  cell.content = value::list(std::move(all));
  cell.set = true;
  return true;
}

result<bool> update(const channel_spec& spec, std::string_view name, channel_cell& cell,
                    std::span<const value> writes) {
  if (writes.empty())
    return false;
  name_index known{spec.names, writes.size()};
  for (const auto& w : writes)
    if (!known.contains(w))
      return unknown_name(spec, name, w);
  return see(cell, writes);
}

value stored_names(const channel_cell& cell) {
  return cell.set ? cell.content : value::list();
}

std::optional<channel_cell> load_names(const channel_spec& spec, const value& stored) {
  if (!stored.is_list())
    return std::nullopt;
  auto names = stored.items();
  name_index known{spec.names, names.size()};
  if (!std::ranges::all_of(names, [&known](const value& n) { return known.contains(n); }))
    return std::nullopt;
  if (std::ranges::adjacent_find(names, std::not_fn(before)) != names.end())
    return std::nullopt;
  if (names.empty())
    return channel_cell{};
  return channel_cell{.content = stored, .set = true};
}

// ---- the barrier ----------------------------------------------------------------------------

bool consume(const channel_spec& spec, channel_cell& cell) {
  return full(spec, cell) && clear(cell);
}

std::optional<value> store(const channel_cell& cell) {
  return stored_names(cell);
}

// ---- the one that waits for the finish ------------------------------------------------------

bool available_after_finish(const channel_spec& spec, const channel_cell& cell) {
  return cell.finished && full(spec, cell);
}

bool consume_after_finish(const channel_spec& spec, channel_cell& cell) {
  return available_after_finish(spec, cell) && clear(cell);
}

bool finish(const channel_spec& spec, channel_cell& cell) {
  if (cell.finished || !full(spec, cell))
    return false;
  cell.finished = true;
  return true;
}

std::optional<value> store_after_finish(const channel_cell& cell) {
  return value::list({stored_names(cell), cell.finished});
}

std::optional<channel_cell> load_after_finish(const channel_spec& spec, const value& stored) {
  if (!stored.is_list() || stored.size() != 2 || !stored[1].is_bool())
    return std::nullopt;
  auto cell = load_names(spec, stored[0]);
  if (cell)
    cell->finished = stored[1].as_bool();
  return cell;
}

} // namespace

constinit const channel_rule named_barrier_value_rule{
  .update = update,
  .consume = consume,
  .available = full,
  .store = store,
  .load = load_names,
  .read = read_nothing,
};

constinit const channel_rule named_barrier_value_after_finish_rule{
  .update = update,
  .consume = consume_after_finish,
  .finish = finish,
  .available = available_after_finish,
  .store = store_after_finish,
  .load = load_after_finish,
  .read = read_nothing,
};

} // namespace troupe
