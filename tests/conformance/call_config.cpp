#include "tests/conformance/call_config.hpp"

#include "tests/conformance/graph_of.hpp"
#include "tests/conformance/store_of.hpp"

#include <algorithm>
#include <limits>

namespace troupe::conformance {
namespace {

constexpr std::uint32_t recursion_limit_of_reference = 10007;

std::uint32_t recursion_limit(const script_json& config) {
  const auto& limit = member(config, "recursion_limit");
  if (limit.is_null())
    return recursion_limit_of_reference;
  constexpr std::int64_t max = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(limit.get<std::int64_t>(), 0, max));
}

durability durability_of(const script_json& call) {
  auto name = text_member(call, "durability");
  return name.empty() ? durability::async : parse_durability(name).value();
}

std::optional<run_control> control_of(const script_json& call) {
  const auto& reason = member(call, "drain");
  if (reason.is_null())
    return std::nullopt;
  run_control control;
  control.request_drain(reason.get<std::string>());
  return control;
}

// The part of a thread that a call means.
void address(run_config& out, const script_json& call, world& w) {
  out.thread_id = text_member(call, "thread");
  if (auto label = text_member(call, "checkpoint"); !label.empty())
    out.checkpoint_id = w.labels.id(label);
  if (auto ns = text_member(call, "ns"); !ns.empty())
    out.checkpoint_ns = w.labels.ns(ns);
}

// One key alone: a result is its bare value.
void choose_output(run_config& out, const script_json& keys) {
  if (keys.is_string())
    out.output_key = keys.get<std::string>();
  else
    out.output_keys = node_names(keys);
}

} // namespace

run_config config_of(const script_json& call, world& w) {
  const auto& config = member(call, "config");
  run_config out;
  address(out, call, w);
  out.durability = durability_of(call);
  out.recursion_limit = recursion_limit(config);
  out.max_concurrency = w.shuffle ? 0 : 1;
  out.interrupt_before = node_names(member(call, "interrupt_before"));
  out.interrupt_after = node_names(member(call, "interrupt_after"));
  choose_output(out, member(call, "output_keys"));
  out.subgraphs = member(call, "subgraphs") == true;
  out.strict_resume = member(call, "strict") == true;
  out.metadata = value_member(config, "metadata");
  out.configurable = value_member(config, "configurable");
  out.context = value_member(call, "context");
  out.control = control_of(call);
  return out;
}

std::vector<stream_mode> modes_of(const script_json& call, world& w) {
  std::vector<stream_mode> out;
  for (const auto& name : call.at("modes")) {
    auto mode = parse_stream_mode(name.get<std::string>());
    if (!mode)
      w.refuse("stream mode " + name.get<std::string>());
    out.push_back(*mode);
  }
  return out;
}

history_options history_of(const script_json& call, world& w) {
  history_options out;
  out.filter = value_member(call, "filter");
  if (auto label = text_member(call, "before"); !label.empty())
    out.before = w.labels.id(label);
  if (const auto& limit = member(call, "limit"); !limit.is_null())
    out.limit = limit.get<std::size_t>();
  return out;
}

store_query store_query_of(const script_json& call) {
  store_query out;
  out.prefix = namespace_of(member(call, "namespace"));
  out.filter = value_member(call, "filter");
  out.limit = call.value("limit", out.limit);
  out.offset = call.value("offset", out.offset);
  return out;
}

namespace_query namespace_query_of(const script_json& call) {
  namespace_query out;
  out.prefix = namespace_of(member(call, "prefix"));
  out.suffix = namespace_of(member(call, "suffix"));
  if (const auto& depth = member(call, "max_depth"); !depth.is_null())
    out.max_depth = depth.get<std::size_t>();
  out.limit = call.value("limit", out.limit);
  out.offset = call.value("offset", out.offset);
  return out;
}

std::string text_member(const script_json& object, const char* name) {
  const auto& found = member(object, name);
  return found.is_null() ? std::string{} : found.get<std::string>();
}

value value_member(const script_json& object, const char* name) {
  return value_of(member(object, name));
}

} // namespace troupe::conformance
