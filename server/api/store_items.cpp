// store_items: the long-term memory that threads share.
#include "server/api/rooms.hpp"

#include <troupe/store.hpp>

namespace troupe::server {

namespace {

troupe::store& store_of(const rooms& with) {
  if (with.store)
    return *with.store;
  throw refusal{404, "this server has no store"};
}

// A namespace of a body; the root label "langgraph" is reserved.
store_namespace checked_namespace(std::vector<std::string> labels) {
  if (labels.empty())
    throw refusal{400, "Namespace cannot be empty."};
  for (const auto& label : labels)
    if (label.empty() || label.find('.') != label.npos)
      throw refusal{422,
                    "Namespace label '" + label + "' must be a non-empty string without periods"};
  if (labels[0] == "langgraph")
    throw refusal{400, "Root label for namespace cannot be \"langgraph\"."};
  return labels;
}

value item_form(const store_item& item) {
  return value::map({{"namespace", value::list({item.space.begin(), item.space.end()})},
                     {"key", item.key},
                     {"value", item.value},
                     {"created_at", item.created_at},
                     {"updated_at", item.updated_at}});
}

std::optional<store_ttl> ttl_of(const checked_body& body) {
  const auto& minutes = body["ttl"];
  if (minutes.is_null())
    return std::nullopt;
  if (!minutes.is_number() || !(minutes.as_double() > 0)
      || minutes.as_double() > limits::server_ttl_minutes_max)
    throw refusal{422, "ttl: " + to_json(minutes) + " is not a number of minutes"};
  return store_ttl{static_cast<std::int64_t>(minutes.as_double() * 60'000)};
}

http_whole put_item(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  auto space = checked_namespace(body.texts("namespace"));
  auto key = body.required_text("key");
  if (!body.has("value"))
    throw refusal{422, "value: the member is required"};
  store_put what{.space = space, .key = key, .value = body.map("value"), .ttl = ttl_of(body)};
  if (body["index"] == value(false))
    what.index = std::vector<std::string>{};
  else if (body.has("index"))
    what.index = body.texts("index");
  store_of(with).put(std::move(what)).value();
  return {.status = 204};
}

// Dotted, or one label a parameter.
store_namespace namespace_of(const api_call& call) {
  auto labels = call.query.list("namespace");
  if (labels.size() != 1)
    return labels;
  store_namespace out;
  for (std::size_t from = 0; from <= labels[0].size();) {
    auto end = std::min(labels[0].find('.', from), labels[0].size());
    out.push_back(labels[0].substr(from, end - from));
    from = end + 1;
  }
  return out;
}

http_whole get_item(const rooms& with, const api_call& call) {
  auto key = call.query.text("key");
  if (!key || key->empty())
    return json_answer(value::map({{"error", "Key is required"}}), 400);
  auto found = store_of(with)
                 .get(namespace_of(call), *key,
                      call.query.has("refresh_ttl")
                        ? std::optional{call.query.flag("refresh_ttl", true)}
                        : std::nullopt)
                 .value();
  return json_answer(found ? item_form(*found) : value{});
}

http_whole delete_item(const rooms& with, const api_call& call) {
  auto given = call.request.body.empty() ? value() : json_body(call.request);
  checked_body body{given};
  auto space = given.is_null() ? namespace_of(call) : body.texts("namespace");
  auto key = given.is_null() ? call.query.text("key") : body.required_text("key");
  if (!key)
    throw refusal{422, "key: the member is required"};
  store_of(with).remove(space, *key).value();
  return {.status = 204};
}

http_whole search_items(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  store_query query{.prefix = body.texts("namespace_prefix"),
                    .filter = body.map("filter"),
                    .limit = limit_in(body),
                    .offset = offset_in(body),
                    .query = body.text("query").value_or("")};
  if (body.has("refresh_ttl"))
    query.refresh_ttl = body.flag("refresh_ttl", true);
  std::vector<value> out;
  for (const auto& item : store_of(with).search(query).value())
    out.push_back(item_form(item).with("score", item.score ? value(*item.score) : value{}));
  return json_answer(value::map({{"items", value::list(std::move(out))}}));
}

http_whole list_namespaces(const rooms& with, const api_call& call) {
  checked_body body{json_body(call.request)};
  namespace_query query{.prefix = body.texts("prefix"),
                        .suffix = body.texts("suffix"),
                        .limit = limit_in(body, limits::server_namespaces_default),
                        .offset = offset_in(body)};
  if (body.has("max_depth"))
    query.max_depth =
      static_cast<std::size_t>(body.number("max_depth", 1, 1, limits::server_namespace_depth_max));
  std::vector<value> out;
  for (const auto& space : store_of(with).list_namespaces(query).value())
    out.push_back(value::list({space.begin(), space.end()}));
  return json_answer(value::map({{"namespaces", value::list(std::move(out))}}));
}

} // namespace

void add_store_items(router& to, const rooms& with) {
  constexpr std::string_view all = "store";
  to.add({"PUT", "/store/items", answering(with, put_item), {all, "put"}});
  to.add({"GET", "/store/items", answering(with, get_item), {all, "get"}});
  to.add({"DELETE", "/store/items", answering(with, delete_item), {all, "delete"}});
  to.add({"POST", "/store/items/search", answering(with, search_items), {all, "search"}});
  to.add({"POST", "/store/namespaces", answering(with, list_namespaces), {all, "list_namespaces"}});
}

} // namespace troupe::server
