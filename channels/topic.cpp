// Topic: a list of every value written in a step, or of all steps when it accumulates.
// A write that is a list counts as its elements. The cell is set iff the list has elements.
// A unique topic takes no value that is in its list already.
// Source: langgraph/channels/topic.py, Topic.
#include "channels/kinds.hpp"

#include <unordered_set>
#include <vector>

namespace troupe {
namespace {

// The writes as one list, flattened by one level; a lone list write is shared as it is.
value flatten(std::span<const value> writes) {
  if (writes.size() == 1 && writes[0].is_list())
    return writes[0];
  std::vector<value> flat;
  flat.reserve(writes.size());
  for (const auto& w : writes) {
    if (w.is_list())
      flat.insert(flat.end(), w.items().begin(), w.items().end());
    else
      flat.push_back(w);
  }
  return value::list(std::move(flat));
}

struct by_content {
  std::size_t operator()(const value* v) const noexcept { return v->hash(); }
  bool operator()(const value* a, const value* b) const noexcept { return *a == *b; }
};

// The elements that are not in `held`, each once.
value only_new(std::span<const value> held, const value& fresh) {
  std::unordered_set<const value*, by_content, by_content> known;
  known.reserve(held.size() + fresh.size());
  for (const auto& v : held)
    known.insert(&v);
  std::vector<value> out;
  for (const auto& v : fresh.items())
    if (known.insert(&v).second)
      out.push_back(v);
  return value::list(std::move(out));
}

result<bool> update(const channel_spec& spec, std::string_view, channel_cell& cell,
                    std::span<const value> writes) {
  bool cleared = !spec.accumulate && clear(cell);
  if (writes.empty())
    return cleared;
  auto fresh = flatten(writes);
  if (spec.unique)
    fresh = only_new(cell.set ? cell.content.items() : std::span<const value>{}, fresh);
  if (fresh.empty())
    return cleared;
  cell.content = cell.set ? cell.content.append_all(fresh.items()) : std::move(fresh);
  cell.set = true;
  return true;
}

std::optional<value> store(const channel_cell& cell) {
  return cell.set ? cell.content : value::list();
}

std::optional<channel_cell> load(const channel_spec&, const value& stored) {
  if (!stored.is_list())
    return std::nullopt;
  if (stored.empty())
    return channel_cell{};
  return channel_cell{.content = stored, .set = true};
}

} // namespace

constinit const channel_rule topic_rule{.update = update, .store = store, .load = load};

} // namespace troupe
