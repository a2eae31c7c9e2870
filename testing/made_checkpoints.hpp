// made_checkpoints: small checkpoints and writes for checks and tests.
#pragma once

#include <troupe/saver.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

/// A checkpoint's put in which all channels moved to one version.
inline checkpoint_put make_put(std::string id, std::string parent_id, named<value> values,
                               value metadata = value::map({}), version at = {1, 7}) {
  checkpoint_put put;
  put.parent_id = std::move(parent_id);
  put.metadata = std::move(metadata);
  put.checkpoint.id = std::move(id);
  put.checkpoint.ts = "2026-11-21T20:21:07.123456+00:00";
  for (const auto& [channel, val] : values) {
    put.checkpoint.channel_versions.emplace_back(channel, at);
    put.new_versions.push_back(channel);
  }
  put.checkpoint.channel_values = std::move(values);
  return put;
}

/// An id that sorts by `n` and has a uuid6's form.
inline std::string checkpoint_id(unsigned n) {
  char text[40];
  std::snprintf(text, sizeof text, "1ef4f797-8335-6428-8001-%012x", n);
  return text;
}

/// The ids of listed checkpoints, in order.
inline std::vector<std::string> ids_of(const std::vector<checkpoint_tuple>& tuples) {
  std::vector<std::string> ids;
  for (const auto& tuple : tuples)
    ids.push_back(tuple.ref.checkpoint_id);
  return ids;
}

inline checkpoint_ref at(std::string thread_id, std::string ns = "", std::string id = "") {
  return {std::move(thread_id), std::move(ns), std::move(id)};
}

/// One write to the channel `channel`.
inline task_writes one_write(std::string task_id, value val, std::string path = "") {
  return {std::move(task_id), std::move(path), {{"channel", std::move(val)}}};
}

} // namespace troupe::testing
