// store: each call about one item, as a batch of one.
#include <troupe/store.hpp>

namespace troupe {

namespace {

template <class Answer> result<Answer> one(store& of, store_op op) {
  auto answers = of.batch({std::move(op)});
  if (!answers)
    return answers.error();
  return std::get<Answer>(std::move(answers->front()));
}

} // namespace

result<std::optional<store_item>> store::get(const store_namespace& space, const std::string& key,
                                             std::optional<bool> refresh_ttl) {
  return one<std::optional<store_item>>(*this, store_get{space, key, refresh_ttl});
}

result<void> store::put(const store_namespace& space, const std::string& key, const value& v) {
  if (v.is_null())
    return troupe::error{errc::invalid_value,
                         "put into the store: the value is null: key `" + key + "`"};
  return put(store_put{.space = space, .key = key, .value = v});
}

result<void> store::put(store_put what) {
  auto done = one<std::monostate>(*this, std::move(what));
  return done ? result<void>{} : done.error();
}

result<void> store::remove(const store_namespace& space, const std::string& key) {
  return put(store_put{.space = space, .key = key, .value = {}});
}

result<std::vector<store_item>> store::search(const store_query& query) {
  return one<std::vector<store_item>>(*this, query);
}

result<std::vector<store_namespace>> store::list_namespaces(const namespace_query& query) {
  return one<std::vector<store_namespace>>(*this, query);
}

} // namespace troupe
