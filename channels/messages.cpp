// add_messages: the reducer of a conversation. Appends, replaces by id, removes.
//
// Invariants:
//  - Its result holds messages with ids (and, after a removal of all, removals).
//  - Messages without an id cost O(their number): no old message can have an id that is made here.
//    Only an id that the caller gave is looked for: see possible_places.
// Source: langgraph/graph/message.py, add_messages.
#include "channels/message_forms.hpp"

#include <troupe/channel.hpp>

#include <algorithm>
#include <ranges>
#include <span>
#include <string_view>
#include <unordered_map>

namespace troupe {
namespace {

struct message_list {
  std::vector<value> messages;
  bool ids_given = false; // at least one message came with an id
};

message_list to_messages(const value& given) {
  auto forms = given.is_list() ? given.items() : std::span{&given, 1};
  message_list out;
  out.messages.reserve(forms.size());
  for (const auto& form : forms) {
    bool made_id = false;
    out.messages.push_back(to_message(form, made_id));
    out.ids_given |= !made_id;
  }
  return out;
}

// An initial or overwritten value may hold messages in any form. Only its first and last element
// are checked: looking at every old message would make each append cost as much as the whole list.
value settled(const value& old) {
  if (old.is_list()
      && (old.empty()
          || (is_plain_message(old.items().front()) && is_plain_message(old.items().back()))))
    return old;
  return value::list(to_messages(old).messages);
}

// ---- merging by id --------------------------------------------------------------------------

constexpr auto nowhere = static_cast<std::size_t>(-1);

// The fate of an old message whose id the update names.
struct fate {
  std::size_t at = nowhere; // place of the message to replace
  bool removed = false;
};
using fates = std::unordered_map<std::string_view, fate>; // the keys point into the update

// Finds the named messages among the old ones at these places; of equal ids the last one counts.
bool find_old(const value& old, std::span<const std::size_t> places, fates& by_id) {
  bool found = false;
  for (auto i : places)
    if (is_plain_message(old[i]))
      if (auto it = by_id.find(message_id(old[i]).as_string()); it != by_id.end()) {
        it->second.at = i;
        found = true;
      }
  return found;
}

void apply(std::vector<value>& merged, fate& known, const value& message) {
  bool removal = message.is(value_kind::remove_message);
  if (removal && known.at == nowhere)
    throw refused_message("Attempting to delete a message with an ID that doesn't exist ('"
                          + std::string{message.payload().as_string()} + "')");
  known.removed = removal;
  if (removal)
    return;
  if (known.at == nowhere) {
    known.at = merged.size();
    merged.push_back(message);
  } else {
    merged[known.at] = message;
  }
}

void drop_removed(std::vector<value>& merged, const fates& by_id) {
  std::erase_if(merged, [&by_id](const value& message) {
    auto it = is_plain_message(message) ? by_id.find(message_id(message).as_string()) : by_id.end();
    return it != by_id.end() && it->second.removed;
  });
}

value merge_by_id(const value& old, std::span<const value> update) {
  auto places = possible_places(old, update);
  if (places.empty() && update.size() == 1 && !update[0].is(value_kind::remove_message))
    return old.append_all(update); // the usual case
  fates by_id;
  by_id.reserve(update.size());
  bool removals = false;
  for (const auto& m : update) {
    by_id.try_emplace(message_id(m).as_string());
    removals |= m.is(value_kind::remove_message);
  }
  bool all_new = !find_old(old, places, by_id) && !removals && by_id.size() == update.size();
  if (all_new)
    return old.append_all(update);
  std::vector<value> merged(old.items().begin(), old.items().end());
  for (const auto& m : update)
    apply(merged, by_id.find(message_id(m).as_string())->second, m);
  if (removals)
    drop_removed(merged, by_id);
  return value::list(std::move(merged));
}

// ---- the reducer ----------------------------------------------------------------------------

error refused_null(const value& update) {
  return refused_message(update.is_null()
                           ? "add messages: the update is null: write a message or a list of them"
                           : "add messages: the channel holds null: let it start at an empty list, "
                             "value::list()");
}

value add(const value& current, const value& update) {
  if (current.is_null() || update.is_null())
    throw refused_null(update);
  auto old = settled(current);
  if (update.is_list() && update.empty())
    return old;
  auto [messages, ids_given] = to_messages(update);
  auto last_reset = std::ranges::find_if(messages.rbegin(), messages.rend(), removes_all_messages);
  if (last_reset != messages.rend())
    return value::list({last_reset.base(), messages.end()});
  return ids_given ? merge_by_id(old, messages) : old.append_all(messages);
}

} // namespace

// Made before the other globals of a program, since a graph may be one of them.
[[gnu::init_priority(200)]] const channel_spec add_messages{
  .kind = channel_kind::binary_operator,
  .op = std::make_shared<const reducer>(
    reducer{.name = "add_messages", .function = add, .closure = {}, .initial = value::list()}),
};

} // namespace troupe
