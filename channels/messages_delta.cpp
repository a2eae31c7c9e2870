// The batch reducer of delta(add_messages).
//
// Invariants:
//  - Folding the writes of several steps at once gives the same as folding them step by step. So no
//    ids are made, and no write is refused because of the list's contents.
//  - New messages are looked for among the old ones as possible_places does, and nothing is copied.
// Source: langgraph/graph/message.py, _messages_delta_reducer.
#include "channels/message_forms.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {
namespace {

constexpr auto nowhere = static_cast<std::size_t>(-1);
using places = std::unordered_map<std::string_view, std::size_t>; // the keys point into the update

bool is_message(const value& v) {
  return v.is(value_kind::message) || v.is(value_kind::remove_message);
}

void coerce_into(std::vector<value>& out, const value& given) {
  auto forms = given.is_list() ? given.items() : std::span{&given, 1};
  std::ranges::transform(forms, std::back_inserter(out), coerce_message);
}

// An initial or stored value may hold messages in any form. Only its first element is checked, as
// in the reference: looking at all would make each append cost as much as the whole list.
value settled(const value& old) {
  if (old.is_list() && (old.empty() || is_message(old.items().front())))
    return old;
  std::vector<value> out;
  if (!old.is_null())
    coerce_into(out, old);
  return value::list(std::move(out));
}

bool has_place(const value& v) {
  return is_message(v) && has_message_id(v);
}

// The places of the messages whose ids the update names; of equal ids the last one counts.
places find_places(const value& old, std::span<const value> update, bool& found) {
  places by_id;
  by_id.reserve(update.size());
  for (const auto& m : update)
    if (has_place(m))
      by_id.try_emplace(message_id(m).as_string(), nowhere);
  if (by_id.empty())
    return by_id;
  for (auto i : possible_places(old, update))
    if (has_place(old[i]))
      if (auto it = by_id.find(message_id(old[i]).as_string()); it != by_id.end()) {
        it->second = i;
        found = true;
      }
  return by_id;
}

// The list during a merge; removed messages keep their places until the end.
struct merging {
  std::vector<value> messages;
  std::vector<std::size_t> gone;

  void add(std::size_t& place, const value& message) {
    if (message.is(value_kind::remove_message)) {
      if (place != nowhere)
        gone.push_back(std::exchange(place, nowhere));
    } else if (place == nowhere) {
      place = messages.size();
      messages.push_back(message);
    } else {
      messages[place] = message;
    }
  }

  value finish() {
    if (gone.empty())
      return value::list(std::move(messages));
    std::ranges::sort(gone);
    std::vector<value> kept;
    kept.reserve(messages.size() - gone.size());
    auto next = gone.begin();
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (next != gone.end() && *next == i)
        ++next;
      else
        kept.push_back(std::move(messages[i]));
    }
    return value::list(std::move(kept));
  }
};

} // namespace

value merge_messages(const value& current, std::span<const value> writes) {
  std::vector<value> update;
  for (const auto& write : writes)
    coerce_into(update, write);
  auto old = settled(current);
  bool found = false;
  auto by_id = find_places(old, update, found);
  auto removes = [](const value& m) { return m.is(value_kind::remove_message); };
  auto named = static_cast<std::size_t>(std::ranges::count_if(update, has_place));
  if (!found && by_id.size() == named && std::ranges::none_of(update, removes))
    return old.append_all(update);
  merging merged{{old.items().begin(), old.items().end()}, {}};
  for (const auto& m : update) {
    auto unnamed = nowhere;
    merged.add(has_place(m) ? by_id.find(message_id(m).as_string())->second : unnamed, m);
  }
  return merged.finish();
}

} // namespace troupe
