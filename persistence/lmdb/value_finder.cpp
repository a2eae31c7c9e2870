// value_finder: looks values up, and keeps the last small values.
#include "persistence/lmdb/value_finder.hpp"

#include "persistence/record/keys.hpp"
#include "persistence/record/record.hpp"

namespace troupe {

result<std::optional<stored_value>> value_finder::find(std::uint64_t chain, const version& at,
                                                       std::uint32_t channel) {
  using found = std::optional<stored_value>;
  if (of_ != std::pair{chain, at})
    if (auto ok = read(chain, at); !ok)
      return ok.error();
  if (auto small = find_small_value(values_, channel))
    return found{{true, *small}};
  if (!has_others_)
    return found{};
  auto key = value_key(chain, at, channel);
  if (at_.key() != key.view()) {
    auto any = at_.seek(key);
    if (!any || !*any) {
      of_.reset(); // the cursor has no position
      return any ? result{found{}} : any.error();
    }
  }
  return at_.key() == key.view() ? found{{false, at_.data()}} : found{};
}

result<void> value_finder::read(std::uint64_t chain, const version& at) {
  of_.reset();
  values_.clear();
  auto key = small_values_key(chain, at);
  auto any = at_.seek(key);
  if (any && *any && at_.key() == key.view()) {
    auto scope = records_.scope();
    auto payload = records_.open(at_.data(), key, record_kind::small_values);
    if (!payload)
      return payload.error();
    auto is_plain = flags_of(at_.data()) == 0; // a plain payload stays in the map
    if (!is_plain)
      text_ = *payload;
    if (auto ok = read_small_values(is_plain ? *payload : text_, values_); !ok)
      return ok;
    any = at_.next();
  }
  if (!any)
    return any.error();
  has_others_ = *any && at_.key().starts_with(key.view());
  of_.emplace(chain, at);
  return {};
}

} // namespace troupe
