// A channel with its contents, driven by a test as a step would.
#pragma once

#include "channels/channel.hpp"

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace troupe {

struct channel_probe {
  explicit channel_probe(channel_spec s) : spec{std::move(s)}, cell{initial_cell(spec)} {}

  /// Whether a step with these writes updates the channel; throws what it refuses.
  bool update(const std::vector<value>& writes) {
    return update_channel(spec, "key", cell, writes).value();
  }

  /// The error of a step with these writes.
  error refuse(const std::vector<value>& writes) {
    return update_channel(spec, "key", cell, writes).error();
  }

  bool consume() { return consume_channel(spec, "key", cell).value(); }
  bool finish() { return finish_channel(spec, "key", cell).value(); }
  bool available() const { return channel_available(spec, cell); }
  value read() const { return read_channel(spec, cell); }
  std::optional<value> store() const { return store_channel(spec, cell); }

  /// The channel as a run finds it that begins with what this one stores.
  channel_probe restored() const {
    channel_probe next{spec};
    next.cell = load_channel(spec, "key", store()).value();
    return next;
  }

  /// The error of a load of this stored value.
  error refuse_load(const value& stored) const { return load_channel(spec, "key", stored).error(); }

  channel_spec spec;
  channel_cell cell;
};

inline std::ostream& operator<<(std::ostream& out, errc code) {
  return out << to_string(code);
}

} // namespace troupe
