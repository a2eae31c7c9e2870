// postgres_values: writing parameters and reading rows in binary format.
#include "persistence/postgres/postgres_values.hpp"

#include <utility>

namespace troupe {

namespace {

constexpr std::uint32_t bytes_type = 17; // the object id of bytea
constexpr std::uint32_t number_type = 20;

template <class Int> void append_big_endian(std::string& out, Int n) {
  for (int shift = 8 * static_cast<int>(sizeof n) - 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(n >> shift));
}

// The number at the front of `data`, which is shortened; nullopt when there are too few bytes.
template <class Int> std::optional<Int> take_big_endian(std::string_view& data) {
  if (data.size() < sizeof(Int))
    return std::nullopt;
  Int n = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i)
    n = static_cast<Int>(n << 8 | static_cast<std::uint8_t>(data[i]));
  data.remove_prefix(sizeof(Int));
  return n;
}

std::string array_head(std::size_t size, std::uint32_t type) {
  std::string out;
  append_big_endian(out, std::uint32_t{size != 0}); // dimensions
  append_big_endian(out, std::uint32_t{0});         // no nulls
  append_big_endian(out, type);
  if (size != 0) {
    append_big_endian(out, static_cast<std::uint32_t>(size));
    append_big_endian(out, std::uint32_t{1}); // the first index
  }
  return out;
}

template <class Text> std::string array_of(std::span<const Text> elements) {
  auto out = array_head(elements.size(), bytes_type);
  for (std::string_view element : elements) {
    append_big_endian(out, static_cast<std::uint32_t>(element.size()));
    out.append(element);
  }
  return out;
}

} // namespace

// ---- parameters ---------------------------------------------------------------------------------

postgres_params& postgres_params::bytes(std::string_view data) {
  values_.push_back(data.data() ? data.data() : ""); // a null pointer would be SQL's NULL
  lengths_.push_back(static_cast<int>(data.size()));
  size_ += data.size();
  formats_.push_back(1);
  return *this;
}

postgres_params& postgres_params::number(std::int64_t n) {
  std::string data;
  append_big_endian(data, static_cast<std::uint64_t>(n));
  return own(std::move(data));
}

postgres_params& postgres_params::null() {
  values_.push_back(nullptr);
  lengths_.push_back(0);
  formats_.push_back(1);
  return *this;
}

postgres_params& postgres_params::bytes_array(std::span<const std::string_view> elements) {
  return own(array_of(elements));
}

postgres_params& postgres_params::bytes_array(std::span<const std::string> elements) {
  return own(array_of(elements));
}

postgres_params& postgres_params::number_array(std::span<const std::int64_t> elements) {
  auto out = array_head(elements.size(), number_type);
  for (auto n : elements) {
    append_big_endian(out, std::uint32_t{8});
    append_big_endian(out, static_cast<std::uint64_t>(n));
  }
  return own(std::move(out));
}

postgres_params& postgres_params::own(std::string data) {
  owned_.push_back(std::move(data));
  return bytes(owned_.back());
}

// ---- rows ---------------------------------------------------------------------------------------

bool postgres_rows::is_null(std::size_t row, int column) const noexcept {
  return PQgetisnull(rows_.get(), static_cast<int>(row), column) == 1;
}

std::string_view postgres_rows::bytes(std::size_t row, int column) const noexcept {
  auto at = static_cast<int>(row);
  return {PQgetvalue(rows_.get(), at, column),
          static_cast<std::size_t>(PQgetlength(rows_.get(), at, column))};
}

std::int64_t postgres_rows::number(std::size_t row, int column) noexcept {
  auto data = bytes(row, column);
  auto n = data.size() == 8 ? take_big_endian<std::uint64_t>(data) : std::nullopt;
  well_formed_ = well_formed_ && n.has_value();
  return static_cast<std::int64_t>(n.value_or(0));
}

std::optional<std::vector<std::string_view>> postgres_rows::elements(std::string_view data,
                                                                     std::uint32_t type) {
  auto dimensions = take_big_endian<std::uint32_t>(data);
  auto nulls = take_big_endian<std::uint32_t>(data);
  auto element_type = take_big_endian<std::uint32_t>(data);
  if (!dimensions || *dimensions > 1 || nulls != 0u || element_type != type)
    return std::nullopt;
  std::vector<std::string_view> out;
  if (*dimensions == 0)
    return out;
  auto count = take_big_endian<std::uint32_t>(data);
  auto first = take_big_endian<std::uint32_t>(data);
  if (!count || !first || *count > data.size() / 4)
    return std::nullopt;
  out.reserve(*count);
  for (auto left = *count; left != 0; --left) {
    auto size = take_big_endian<std::uint32_t>(data);
    if (!size || *size > data.size())
      return std::nullopt;
    out.push_back(data.substr(0, *size));
    data.remove_prefix(*size);
  }
  return data.empty() ? std::optional{std::move(out)} : std::nullopt;
}

std::vector<std::string> postgres_rows::bytes_array(std::size_t row, int column) {
  auto found = elements(bytes(row, column), bytes_type);
  well_formed_ = well_formed_ && found.has_value();
  return found ? std::vector<std::string>(found->begin(), found->end())
               : std::vector<std::string>{};
}

std::vector<std::int64_t> postgres_rows::number_array(std::size_t row, int column) {
  auto found = elements(bytes(row, column), number_type);
  well_formed_ = well_formed_ && found.has_value();
  std::vector<std::int64_t> out;
  if (!found)
    return out;
  for (auto data : *found) {
    auto n = data.size() == 8 ? take_big_endian<std::uint64_t>(data) : std::nullopt;
    well_formed_ = well_formed_ && n.has_value();
    out.push_back(static_cast<std::int64_t>(n.value_or(0)));
  }
  return out;
}

} // namespace troupe
