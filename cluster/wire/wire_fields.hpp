// wire_fields: the fields of each message of the protocol, in one table for writing and reading.
#pragma once

#include "cluster/wire/protocol.hpp"

#include <troupe/limits.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace troupe::cluster {

// The index in the variant is the kind on the wire, so a new message comes last.
static_assert(std::variant_size_v<message> == 27);
inline constexpr auto message_names = std::to_array<std::string_view>(
  {"hello",         "welcome",     "refusal",       "heartbeat",      "run_opened",
   "run_closed",    "task_order",  "task_stop",     "task_outcome",   "task_refused",
   "save_order",    "save_answer", "call_order",    "call_answer",    "task_part",
   "part_credit",   "task_sign",   "draining",      "status_request", "drain_request",
   "status_reply",  "task_drain",  "task_withdraw", "task_kept",      "step_opened",
   "graph_refused", "step_failed"});
static_assert(message_names.size() == std::variant_size_v<message>);

/// A text for people, which is cut when it is too long.
struct cut_text {
  std::size_t bytes_max;
};
inline constexpr cut_text for_people{limits::cluster_text_bytes_max};
inline constexpr cut_text cut_version{limits::graph_version_bytes_max};

/// The id of a task: the 16 bytes of a UUID, or another text.
struct id_text {
  std::size_t bytes_max;
};

/// M is Of or const Of, so that one function describes a message for writing and for reading.
template <class M, class Of>
concept one = std::same_as<std::remove_const_t<M>, Of>;

// Each function calls `at(field name, field, limit)` for the fields in their order.

void fields(auto& at, one<graph_offer> auto& m) {
  at("name", m.name, limits::node_name_bytes_max);
  at("hash", m.hash, limits::cluster_hash_bytes_max);
  at("build", m.build, limits::graph_build_bytes_max);
  at("version", m.version, cut_version);
}
void process_fields(auto& at, one<process_identity> auto& m) {
  at("boot", m.boot, limits::boot_id_bytes);
  at("pid_space", m.pid_space);
  at("pid", m.pid);
  at("started", m.started);
}
void fields(auto& at, one<hello> auto& m) {
  at("protocol", m.protocol);
  at("name", m.name, limits::worker_name_bytes_max);
  at("incarnation", m.incarnation, limits::worker_name_bytes_max);
  at("labels", m.labels, limits::worker_labels_max);
  at("capacity", m.capacity);
  at("graphs", m.graphs, limits::worker_graphs_max);
  at("other_builds", m.other_builds);
  at("lease", m.lease);
  at("heartbeat", m.heartbeat);
  process_fields(at, m.process);
}
void fields(auto& at, one<welcome> auto& m) {
  at("session", m.session);
  at("home", m.home, limits::worker_name_bytes_max);
  at("lease", m.lease);
  at("heartbeat", m.heartbeat);
  process_fields(at, m.process);
}
void fields(auto& at, one<refusal> auto& m) {
  at("code", m.code);
  at("why", m.why, for_people);
}
void fields(auto& at, one<heartbeat> auto& m) {
  at("number", m.number);
  at("answers", m.answers);
  at("foreign", m.foreign);
  at("held", m.held);
}
void fields(auto& at, one<run_opened> auto& m) {
  at("run", m.run);
  at("graph", m.graph, limits::cluster_hash_bytes_max);
  at("facts", m.facts);
  at("build", m.build, limits::graph_build_bytes_max);
}
void fields(auto& at, one<run_closed> auto& m) {
  at("run", m.run);
}
void fields(auto& at, one<graph_refused> auto& m) {
  at("name", m.name, limits::node_name_bytes_max);
  at("hash", m.hash, limits::cluster_hash_bytes_max);
  at("build", m.build, limits::graph_build_bytes_max);
  at("version", m.version, cut_version);
}
void fields(auto& at, one<step_opened> auto& m) {
  at("run", m.run);
  at("facts", m.facts);
}
void fields(auto& at, one<task_order> auto& m) {
  at("issue", m.issue);
  at("run", m.run);
  at("task_id", m.task_id, id_text{limits::task_id_bytes_max});
  at("node", m.node, limits::node_name_bytes_max);
  at("task", m.task);
  at("again", m.again);
  at("ahead", m.ahead);
}
void fields(auto& at, one<task_withdraw> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<task_kept> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<task_stop> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<task_drain> auto& m) {
  at("issue", m.issue);
  at("why", m.why, for_people);
}
void fields(auto& at, one<step_failed> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<task_outcome> auto& m) {
  at("issue", m.issue);
  at("outcome", m.outcome);
  at("took_us", m.took_us);
}
void fields(auto& at, one<task_refused> auto& m) {
  at("issue", m.issue);
  at("code", m.code);
  at("why", m.why, for_people);
}
void fields(auto& at, one<save_order> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("durable", m.durable);
  at("request", m.request);
}
void fields(auto& at, one<save_answer> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("failure", m.failure);
}
void fields(auto& at, one<call_order> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("call", m.call);
}
void fields(auto& at, one<call_answer> auto& m) {
  at("issue", m.issue);
  at("ticket", m.ticket);
  at("failure", m.failure);
  at("answer", m.answer);
}
void fields(auto& at, one<task_part> auto& m) {
  at("issue", m.issue);
  at("part", m.part);
  at("from_body", m.from_body);
}
void fields(auto& at, one<part_credit> auto& m) {
  at("issue", m.issue);
  at("parts", m.parts);
}
void fields(auto& at, one<task_sign> auto& m) {
  at("issue", m.issue);
}
void fields(auto& at, one<draining> auto& m) {
  at("why", m.why, for_people);
}
void fields(auto&, one<status_request> auto&) {}
void fields(auto& at, one<drain_request> auto& m) {
  at("why", m.why, for_people);
  at("patience", m.patience, limits::worker_drain_max);
  at("worker", m.worker, limits::worker_name_bytes_max);
}
void fields(auto& at, one<status_reply> auto& m) {
  at("json", m.json, limits::cluster_status_bytes_max);
}

template <class M> std::size_t count_fields(const M& m) {
  std::size_t n = 0;
  auto count = [&n](auto&&...) { ++n; };
  fields(count, m);
  return n;
}

} // namespace troupe::cluster
