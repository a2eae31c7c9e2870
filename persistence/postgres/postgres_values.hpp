// postgres_values: values on their way to and from Postgres, in its binary format: bytea, int8 and
// arrays of both.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A statement's text with $1 … for the parameters, whose types it names by casts. Each connection
/// prepares it once and finds it by its address, so it must not move.
struct postgres_statement {
  std::string sql;
};

/// The parameters of one statement, in order.
/// Owns:   numbers and arrays; bytes() only refers to its argument.
class postgres_params {
public:
  postgres_params& bytes(std::string_view data);
  postgres_params& number(std::int64_t n);
  postgres_params& null();
  postgres_params& bytes_array(std::span<const std::string_view> elements);
  postgres_params& bytes_array(std::span<const std::string> elements);
  postgres_params& number_array(std::span<const std::int64_t> elements);

  int count() const noexcept { return static_cast<int>(values_.size()); }
  const char* const* values() const noexcept { return values_.data(); }
  const int* lengths() const noexcept { return lengths_.data(); }
  const int* formats() const noexcept { return formats_.data(); }
  /// Units:  bytes of all parameters.
  std::size_t size() const noexcept { return size_; }

private:
  postgres_params& own(std::string data);

  std::deque<std::string> owned_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_; // all binary
  std::size_t size_ = 0;
};

/// The rows of a statement's answer. A value of an unexpected type reads as 0 or empty, and
/// well_formed() is false from then on.
/// Shape:  row and column from 0, within the rows and the statement's columns.
class postgres_rows {
public:
  explicit postgres_rows(PGresult* rows) : rows_{rows} {}

  std::size_t size() const noexcept { return static_cast<std::size_t>(PQntuples(rows_.get())); }
  bool is_null(std::size_t row, int column) const noexcept;
  std::string_view bytes(std::size_t row, int column) const noexcept;
  std::string string(std::size_t row, int column) const { return std::string{bytes(row, column)}; }
  std::int64_t number(std::size_t row, int column) noexcept;
  std::vector<std::string> bytes_array(std::size_t row, int column);
  std::vector<std::int64_t> number_array(std::size_t row, int column);
  bool well_formed() const noexcept { return well_formed_; }

private:
  std::optional<std::vector<std::string_view>> elements(std::string_view data, std::uint32_t type);

  struct clear {
    void operator()(PGresult* r) const noexcept { PQclear(r); }
  };
  std::unique_ptr<PGresult, clear> rows_;
  bool well_formed_ = true;
};

} // namespace troupe
