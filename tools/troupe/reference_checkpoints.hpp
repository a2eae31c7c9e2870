// Checkpoints as LangGraph's savers store them: what SQLite and Postgres have in common.
#pragma once

#include <troupe/saver.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::cli {

/// A checkpoint from the map that the reference stores.
/// Errors: throws error{invalid_value} that names the member; for a layout other than 4, too, which
///         the reference itself migrates.
/// Source: langgraph/checkpoint/base, Checkpoint.
checkpoint from_reference_map(const value& stored);
/// The opposite direction, as a blob of type "msgpack".
/// Errors: throws error{invalid_value} that names the channel.
std::string to_reference_blob(const checkpoint& from);

/// The value of a write, of a type of the reference's serializer.
/// Errors: throws error{invalid_value}.
/// Source: langgraph/checkpoint/serde/jsonplus.py, JsonPlusSerializer.loads_typed.
value from_reference_typed(std::string_view type, std::string_view data);

/// A type with its bytes.
struct reference_blob {
  std::string_view type;
  std::string data;
};
reference_blob to_reference_typed(const value& v);

/// The place of a write in its task: below 0 for the engine's own channels, else `position`.
/// Source: langgraph/checkpoint/base, WRITES_IDX_MAP.
std::int64_t reference_index(std::string_view channel, std::int64_t position) noexcept;

/// "thread `t`, checkpoint c".
std::string place_of(const checkpoint_ref& ref);

/// Calls `read`; its exceptions get the place in front.
template <class F> auto located(const std::string& place, F read) {
  try {
    return read();
  } catch (const error& why) {
    throw error{why.code(), place + ": " + why.message()};
  }
}

} // namespace troupe::cli
