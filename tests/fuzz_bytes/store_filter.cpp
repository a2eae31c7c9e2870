// Filters of a search: every filter is allowed or refused, and what is allowed keeps its rules.
#include "tests/fuzz_bytes/target.hpp"
#include "tests/fuzz_bytes/value_of_bytes.hpp"

#include "persistence/store/store_filter.hpp"

namespace troupe::fuzz_bytes {

namespace {

value asks(std::string_view key, std::string_view op, const value& operand) {
  return value::map({{std::string{key}, value::map({{std::string{op}, operand}})}});
}

void try_member(const value& stored, std::string_view key, const value& operand) {
  auto equal = asks(key, "$eq", operand), other = asks(key, "$ne", operand);
  require(check_filter(equal).has_value() && check_filter(other).has_value(),
          "equality is allowed of everything");
  require(fits_filter(stored, equal) != fits_filter(stored, other), "$ne is not $eq");
  require(has_nan(stored[key]) || fits_filter(stored, asks(key, "$eq", stored[key])),
          "what is there equals itself");
  auto less = asks(key, "$lt", operand), at_least = asks(key, "$gte", operand);
  require(check_filter(less).has_value() == check_filter(at_least).has_value(),
          "orders are allowed together");
  if (check_filter(less))
    require(!(fits_filter(stored, less) && fits_filter(stored, at_least)),
            "nothing is less and not less");
}

} // namespace

void try_bytes(std::string_view bytes) {
  choices from{bytes};
  auto stored = value_of(from), filter = value_of(from);
  require(fits_filter(stored, value::map()) && fits_filter(stored, {}), "nothing asked fits all");
  if (auto allowed = check_filter(filter))
    require(fits_filter(stored, filter) == fits_filter(stored, filter), "answers are the same");
  else
    require(allowed.error().code() == errc::invalid_value, "a refusal is an invalid_value");
  for (const auto* key : {"a", "b"})
    try_member(stored, key, value_of(from));
}

std::vector<std::string> seeds() {
  return {std::string{"\10\2\0\2\1\1\5\0011\10\1\0\10\1\3\2\1", 18},
          std::string{"\10\1\0\7\2\2\1\2\2\10\1\0\7\2\2\1\10\1\5\2\3", 22},
          std::string{"\10\1\0\5\5 1e3 \10\1\0\10\1\7\5\4+1e3", 23}};
}

} // namespace troupe::fuzz_bytes
