#include "persistence/small_values.hpp"

#include "persistence/bytes.hpp"
#include "persistence/keys.hpp"
#include "persistence/record.hpp"

#include <algorithm>

namespace troupe {

void change_small_values(std::vector<small_value>& there, std::span<const small_value> changes) {
  for (const auto& change : changes) {
    auto at = std::ranges::lower_bound(there, change.channel, {}, &small_value::channel);
    if (at != there.end() && at->channel == change.channel)
      at = there.erase(at);
    if (!change.bytes.empty())
      there.insert(at, change);
  }
}

void append_small_values(std::span<const small_value> values, std::string& out) {
  for (const auto& [channel, bytes] : values) {
    append_varint(out, channel);
    append_sized(out, bytes);
  }
}

result<void> read_small_values(std::string_view payload, std::vector<small_value>& values) {
  byte_reader in{payload};
  while (in.ok() && !in.rest().empty()) {
    auto channel = in.varint();
    auto bytes = in.sized();
    auto is_next = values.empty() || values.back().channel < channel;
    if (!in.ok() || !is_next || channel > UINT32_MAX || bytes.empty())
      return damaged(record_kind::small_values);
    values.push_back({static_cast<std::uint32_t>(channel), bytes});
  }
  return {};
}

result<std::optional<stored_value>> value_finder::find(std::uint64_t chain, const version& at,
                                                       std::uint32_t channel) {
  using found = std::optional<stored_value>;
  if (of_ != std::pair{chain, at})
    if (auto ok = read(chain, at); !ok)
      return ok.error();
  auto small = std::ranges::lower_bound(values_, channel, {}, &small_value::channel);
  if (small != values_.end() && small->channel == channel)
    return found{{true, small->bytes}};
  if (!has_others_)
    return found{};
  auto key = value_key(chain, at, channel);
  if (at_.key() != key.view()) {
    auto any = at_.seek(key);
    if (!any || !*any) {
      of_.reset(); // it stands nowhere
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
    auto is_plain = flags_of(at_.data()) == 0; // then it stays where it is
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
