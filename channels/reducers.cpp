// The built-in reducers (sum, append, merge, multiply, minimum, maximum), and user-defined
// reducers.
#include <troupe/channel.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

namespace troupe {
namespace {

using operation = value (*)(const value& current, const value& update);

std::string_view kind_name(const value& v) {
  switch (v.kind()) {
    case value_kind::null: return "null";
    case value_kind::boolean: return "a boolean";
    case value_kind::integer:
    case value_kind::floating: return "a number";
    case value_kind::string: return "a string";
    case value_kind::bytes: return "bytes";
    case value_kind::list: return "a list";
    case value_kind::map: return "a map";
    default: return "an extension value";
  }
}

error unfit(std::string_view what, const value& a, const value& b) {
  auto text = std::string{"reduce: "}.append(what) + ": the operands do not fit: ";
  return {errc::invalid_update, text.append(kind_name(a)).append(" and ").append(kind_name(b))};
}

error overflow(std::string_view what) {
  return {errc::invalid_update, std::string{"reduce: "}.append(what) + ": integer overflow"};
}

bool both_int(const value& a, const value& b) {
  return a.is_int() && b.is_int();
}

bool both_numbers(const value& a, const value& b) {
  return a.is_number() && b.is_number();
}

value join_strings(const value& a, const value& b) {
  std::string joined;
  joined.reserve(a.size() + b.size());
  return joined.append(a.as_string()).append(b.as_string());
}

value sum_of(const value& current, const value& update) {
  if (both_int(current, update)) {
    std::int64_t total = 0;
    if (__builtin_add_overflow(current.as_int(), update.as_int(), &total))
      throw overflow("sum");
    return total;
  }
  if (both_numbers(current, update))
    return current.as_double() + update.as_double();
  if (current.is_string() && update.is_string())
    return join_strings(current, update);
  if (current.is_list() && update.is_list())
    return current.append_all(update.items());
  throw unfit("sum", current, update);
}

value append_to(const value& current, const value& update) {
  if (!current.is_list() || !update.is_list())
    throw unfit("append", current, update);
  return current.append_all(update.items());
}

// A few members are set one by one; many are merged in one pass.
value merge_of(const value& current, const value& update) {
  constexpr std::size_t few = 4;
  if (!current.is_map() || !update.is_map())
    throw unfit("merge", current, update);
  if (current.empty())
    return update;
  if (update.size() <= few) {
    auto merged = current;
    for (const auto& e : update.entries())
      merged = merged.with(e.key(), e.val);
    return merged;
  }
  std::vector<value::map_init> merged;
  merged.reserve(current.size() + update.size());
  for (const auto* side : {&current, &update})
    for (const auto& e : side->entries())
      merged.emplace_back(e.key(), e.val);
  return value::map(std::move(merged));
}

value product_of(const value& current, const value& update) {
  if (both_int(current, update)) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(current.as_int(), update.as_int(), &product))
      throw overflow("multiply");
    return product;
  }
  if (both_numbers(current, update))
    return current.as_double() * update.as_double();
  throw unfit("multiply", current, update);
}

// long double holds every int64 and every double, so comparing an integer with a double is exact.
long double exact(const value& number) {
  static_assert(std::numeric_limits<long double>::digits >= 63);
  return number.is_int() ? static_cast<long double>(number.as_int()) : number.as_double();
}

bool less(std::string_view what, const value& a, const value& b) {
  if (both_numbers(a, b))
    return exact(a) < exact(b);
  if (a.is_string() && b.is_string())
    return a.as_string() < b.as_string();
  throw unfit(what, a, b);
}

value lesser_of(const value& current, const value& update) {
  return less("minimum", update, current) ? update : current;
}

value greater_of(const value& current, const value& update) {
  return less("maximum", current, update) ? update : current;
}

channel_spec built_in(std::string name, operation op, const std::optional<value>& initial) {
  return {
    .kind = channel_kind::binary_operator,
    .op = std::make_shared<const reducer>(
      reducer{.name = std::move(name), .function = op, .closure = {}, .initial = initial}),
  };
}

// Two built-in operators with different initial values count as the same operator.
bool same_operator(const reducer* a, const reducer* b) {
  if (a == b || !a || !b)
    return a == b;
  return !a->function || !b->function || a->function == b->function;
}

// A batch reducer that was not made from a reducer is a closure, which can't be compared.
bool same_folding(const channel_spec& a, const channel_spec& b) {
  return !a.op || !b.op || same_operator(a.op.get(), b.op.get());
}

// Functions can't be compared.
bool same_definition(const channel_definition* a, const channel_definition* b) {
  return a == b || (a && b && a->name == b->name);
}

bool same_names(std::vector<std::string> a, std::vector<std::string> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

} // namespace

// Made before the other globals of a program, since a graph may be one of them.
[[gnu::init_priority(200)]] const channel_spec sum = built_in("sum", sum_of, value(0));
[[gnu::init_priority(200)]] const channel_spec append = built_in("append", append_to,
                                                                 value::list());
[[gnu::init_priority(200)]] const channel_spec merge = built_in("merge", merge_of, value::map());
[[gnu::init_priority(200)]] const channel_spec multiply = built_in("multiply", product_of, {});
[[gnu::init_priority(200)]] const channel_spec minimum = built_in("minimum", lesser_of, {});
[[gnu::init_priority(200)]] const channel_spec maximum = built_in("maximum", greater_of, {});

channel_spec reduce(std::string name, std::function<value(const value&, const value&)> op,
                    std::optional<value> initial) {
  if (!op)
    throw error{errc::invalid_graph, "make a reducer: it has no function: " + name};
  return {
    .kind = channel_kind::binary_operator,
    .op = std::make_shared<const reducer>(reducer{.name = std::move(name),
                                                  .function = nullptr,
                                                  .closure = std::move(op),
                                                  .initial = std::move(initial)}),
  };
}

bool takes_its_own_kind(const channel_spec& spec) noexcept {
  switch (spec.kind) {
    case channel_kind::last_value:
    case channel_kind::last_value_after_finish:
    case channel_kind::any_value:
    case channel_kind::ephemeral:
    case channel_kind::untracked: return true;
    case channel_kind::binary_operator:
    case channel_kind::delta: {
      auto* op = spec.op ? spec.op->function : nullptr;
      return op == sum_of || op == append_to || op == merge_of || op == product_of;
    }
    default: return false;
  }
}

channel_spec starting_at(const channel_spec& spec, value initial) {
  if (spec.kind == channel_kind::delta && spec.batch) {
    auto changed = *spec.batch;
    changed.initial = std::move(initial);
    auto out = spec;
    out.batch = std::make_shared<const batch_reducer>(std::move(changed));
    return out;
  }
  if (spec.kind != channel_kind::binary_operator || !spec.op)
    throw error{errc::invalid_graph, "start a channel at a value: it has no reducer"};
  auto changed = *spec.op;
  changed.initial = std::move(initial);
  auto out = spec;
  out.op = std::make_shared<const reducer>(std::move(changed));
  return out;
}

bool operator==(const channel_spec& a, const channel_spec& b) noexcept {
  if (a.kind != b.kind || a.keep_last != b.keep_last)
    return false;
  switch (a.kind) {
    case channel_kind::ephemeral:
    case channel_kind::untracked: return a.guard == b.guard;
    case channel_kind::topic: return a.accumulate == b.accumulate && a.unique == b.unique;
    case channel_kind::binary_operator: return same_operator(a.op.get(), b.op.get());
    case channel_kind::delta:
      return a.snapshot_frequency == b.snapshot_frequency && same_folding(a, b);
    case channel_kind::named_barrier:
    case channel_kind::named_barrier_after_finish: return same_names(a.names, b.names);
    case channel_kind::defined: return same_definition(a.definition.get(), b.definition.get());
    default: return true;
  }
}

} // namespace troupe
