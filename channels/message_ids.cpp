// Adds ids to the messages in writes to delta channels.
#include "channels/message_ids.hpp"

#include "channels/kinds.hpp"
#include "channels/message_forms.hpp"

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

// An item that is not a valid message stays as it is: the reducer refuses it.
value coerced(const value& item) {
  try {
    return coerce_message(item);
  } catch (const error&) {
    return item;
  }
}

bool is_message(const value& v) {
  return v.is(value_kind::message) || v.is(value_kind::remove_message);
}

struct stamping {
  bool any_form; // whether every form counts, because the channel folds messages
  bool changed = false;

  value item(const value& given) {
    bool message = is_message(given);
    if (message ? has_message_id(given) : !any_form && !is_message_map(given))
      return given;
    auto out = message ? given : coerced(given);
    if (!is_message(out))
      return given;
    changed = true;
    return with_message_id(out);
  }

  value all(const value& given) {
    if (!given.is_list())
      return item(given);
    std::vector<value> out;
    out.reserve(given.size());
    for (const auto& element : given.items())
      out.push_back(item(element));
    return value::list(std::move(out));
  }
};

} // namespace

result<value> with_message_ids(const channel_spec& spec, const value& write) {
  try {
    stamping stamp{.any_form = spec.batch && spec.batch->messages};
    bool replaces = is_overwrite(write);
    auto out = stamp.all(replaces ? overwritten(write) : write);
    if (!stamp.changed)
      return write;
    return replaces ? value::extension(value_kind::overwrite, std::move(out)) : std::move(out);
  } catch (const error& e) {
    return e;
  }
}

} // namespace troupe
