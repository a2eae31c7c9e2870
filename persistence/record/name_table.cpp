// name_table: numbering names, and storing them in batches.
#include "persistence/record/name_table.hpp"

#include "graph/same_text.hpp"
#include "persistence/record/bytes.hpp"
#include "persistence/record/record.hpp"

#include <cstring>

namespace troupe {

namespace {

template <class T> std::uint64_t load_as(const char* at) noexcept {
  T n;
  std::memcpy(&n, at, sizeof n);
  return n;
}

// A number below 64 for a name. Names of one graph mostly differ in length, beginning or end.
std::size_t mark_of(std::string_view name) noexcept {
  const auto* begin = name.data();
  const auto* end = begin + name.size();
  std::uint64_t bits = name.size();
  if (name.size() >= 8)
    bits += load_as<std::uint64_t>(begin) ^ load_as<std::uint64_t>(end - 8) << 1;
  else if (name.size() >= 4)
    bits += load_as<std::uint32_t>(begin) << 32 | load_as<std::uint32_t>(end - 4);
  else if (!name.empty())
    bits += load_as<std::uint8_t>(begin) << 16 | load_as<std::uint8_t>(end - 1) << 8;
  constexpr std::uint64_t golden_ratio = 0x9e37'79b9'7f4a'7c15;
  return static_cast<std::size_t>(bits * golden_ratio >> 58);
}

} // namespace

// Each request asks for the same few names, several times. Comparing one is cheaper than hashing
// it.
std::uint32_t name_table::number(std::string_view name) {
  auto& guess = recent_[mark_of(name)];
  if (guess >= order_.size() || !same_text(order_[guess], name))
    guess = number_of(name);
  return guess;
}

std::uint32_t name_table::number_of(std::string_view name) {
  if (auto at = numbers_.find(name); at != numbers_.end())
    return at->second;
  auto next = static_cast<std::uint32_t>(order_.size());
  auto at = numbers_.emplace(std::string{name}, next).first;
  order_.push_back(at->first);
  return next;
}

result<void> name_table::load(std::string_view payload) {
  byte_reader in{payload};
  auto in_order = in.varint() == order_.size();
  for (auto count = in_order ? in.count() : 0; count != 0; --count)
    number(in.sized());
  new_are_stored();
  return in_order && in.finished() ? result<void>{} : damaged(record_kind::names);
}

void name_table::append_new(std::string& payload) const {
  append_varint(payload, stored_);
  append_varint(payload, order_.size() - stored_);
  for (auto i = std::size_t{stored_}; i < order_.size(); ++i)
    append_sized(payload, order_[i]);
}

result<void> read_names(std::string_view payload, std::vector<std::string_view>& names) {
  byte_reader in{payload};
  auto in_order = in.varint() == names.size();
  for (auto count = in.count(); count != 0; --count)
    names.push_back(in.sized());
  if (!in_order || !in.finished())
    return damaged(record_kind::names);
  return {};
}

} // namespace troupe
