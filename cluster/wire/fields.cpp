// fields: reads the fields of a list that another process wrote.
#include "cluster/wire/fields.hpp"

namespace troupe::cluster {

fields::fields(value list, std::size_t count, const char* of) : list_(std::move(list)), of_{of} {
  if (!list_.is_list() || list_.size() != count)
    throw error{errc::invalid_value, "read " + std::string{of} + ": a list of "
                                       + std::to_string(count) + " fields is expected"};
}

const value& fields::expect(bool fits, const char* what) {
  const auto& v = list_[at_++];
  if (!fits)
    throw error{errc::invalid_value, "read " + std::string{of_} + ": field "
                                       + std::to_string(at_ - 1) + ": " + what + " is expected"};
  return v;
}

const value& fields::a_list() {
  return expect(list_[at_].is_list(), "a list");
}

std::string fields::text() {
  return std::string{expect(list_[at_].is_string(), "a string").as_string()};
}

std::int64_t fields::number() {
  return expect(list_[at_].is_int(), "an integer").as_int();
}

std::uint64_t fields::upto(std::uint64_t most) {
  bool fits = list_[at_].is_int() && static_cast<std::uint64_t>(list_[at_].as_int()) <= most;
  return static_cast<std::uint64_t>(expect(fits, "a smaller number").as_int());
}

bool fields::flag() {
  return expect(list_[at_].is_bool(), "true or false").as_bool();
}

std::vector<std::string> fields::texts() {
  const auto& list = a_list();
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const auto& item : list.items()) {
    if (!item.is_string())
      throw error{errc::invalid_value, "read " + std::string{of_} + ": field "
                                         + std::to_string(at_ - 1) + ": strings are expected"};
    out.emplace_back(item.as_string());
  }
  return out;
}

value list_of(const std::vector<std::string>& texts) {
  return list_of(texts, [](const std::string& text) { return value(text); });
}

result<std::vector<std::uint8_t>> to_bytes(const value& v) {
  auto text = to_msgpack(v);
  if (!text)
    return text.error();
  return std::vector<std::uint8_t>{text->begin(), text->end()};
}

value to_value(const error& e) {
  return value::list({value(static_cast<std::int64_t>(e.code())), value(e.message()),
                      value(e.type()), value(e.text()), value(e.base()), e.details()});
}

error to_error(const value& v) {
  fields in{v, 6, "an error"};
  auto code = in.upto(0xff);
  auto message = in.text();
  auto type = in.text();
  auto text = in.text();
  auto base = in.text();
  return error{static_cast<errc>(code), std::move(message), std::move(type), std::move(text)}
    .with_base(base)
    .with_details(in.any());
}

} // namespace troupe::cluster
