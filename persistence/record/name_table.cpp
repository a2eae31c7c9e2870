// name_table: numbering names, and storing them in batches.
#include "persistence/record/name_table.hpp"

#include "persistence/record/bytes.hpp"
#include "persistence/record/record.hpp"

namespace troupe {

std::uint32_t name_table::number(std::string_view name) {
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
