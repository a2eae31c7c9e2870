// Operators that read the store.
#include "tests/conformance/store_of.hpp"

namespace troupe::conformance {
namespace {

term stored(const script_json& argument, scope& s) {
  auto space = namespace_in(argument.at(0), s);
  auto key = text(argument.at(1), s);
  auto item = store_of(s).get(space, key).value();
  return item ? item->value : value{};
}

store_query query_of(const script_json& argument, scope& s) {
  store_query out;
  if (!argument.is_object() || !argument.contains("under")) {
    out.prefix = namespace_in(argument, s);
    return out;
  }
  for (const auto& [key, member] : argument.items())
    if (key == "under")
      out.prefix = namespace_in(member, s);
    else if (key == "filter")
      out.filter = evaluate(member, s).to_value();
    else if (key == "limit")
      out.limit = evaluate(member, s).to_value().as<std::size_t>();
    else if (key == "offset")
      out.offset = evaluate(member, s).to_value().as<std::size_t>();
    else
      s.shared.refuse("$search member " + key);
  return out;
}

term search(const script_json& argument, scope& s) {
  auto query = query_of(argument, s);
  term::list_type out;
  for (auto& item : store_of(s).search(query).value())
    out.emplace_back(std::move(item.value));
  return out;
}

} // namespace

store& store_of(const scope& s) {
  auto* found = task_of(s).store();
  if (!found)
    throw node_error{"AttributeError", "there is no store"};
  note_use("the store", s);
  return *found;
}

store_namespace namespace_in(const script_json& expr, scope& s) {
  return evaluate(expr, s).to_value().as<store_namespace>();
}

store_namespace namespace_of(const script_json& declared) {
  return declared.is_null() ? store_namespace{} : declared.get<store_namespace>();
}

const operation_table& store_operations() {
  static const operation_table table{{"$stored", stored}, {"$search", search}};
  return table;
}

} // namespace troupe::conformance
