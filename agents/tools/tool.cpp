// tool: tools, and the members of tool_runtime.
#include <troupe/agents/tool.hpp>

#include "agents/tools/tool_turn.hpp"

#include <troupe/runtime.hpp>

#include <algorithm>
#include <cmath>
#include <span>

namespace troupe {

struct tool::spec {
  std::string name;
  std::string description;
  value parameters;
  value definition; // of a provider's tool
  tool_body body;
  tool_options options;
};

namespace {

constexpr std::size_t tool_name_max = 64; // providers accept no longer names

bool is_tool_name(std::string_view name) {
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-';
  };
  return !name.empty() && name.size() <= tool_name_max && std::ranges::all_of(name, fits);
}

bool asks_for_integer(const value& schema) {
  auto parts = schema["anyOf"].items();
  return schema["type"] == value("integer")
         || (std::ranges::any_of(parts, asks_for_integer)
             && std::ranges::none_of(parts,
                                     [](const value& p) { return p["type"] == value("number"); }));
}

// A whole number that was written 1.0, as an integer where the schema asks for one.
value as_asked(const value& schema, const value& v) {
  constexpr double exact_max = 9e15; // largest whole number that a double holds exactly, rounded
                                     // down
  bool whole = v.is_double() && std::floor(v.as_double()) == v.as_double()
               && std::fabs(v.as_double()) < exact_max;
  return whole && asks_for_integer(schema) ? value(static_cast<std::int64_t>(v.as_double())) : v;
}

error does_not_fit(std::string text) {
  return {errc::node_failed, text, "ToolInvocationError", text};
}

} // namespace

namespace detail {

const value& injected_value(const tool_runtime& runtime, std::string_view field) {
  return field.empty() ? runtime.state() : runtime.state()[field];
}

void refuse_argument(std::string_view name, const error& why) {
  throw does_not_fit(std::string{name} + ": " + why.message());
}

} // namespace detail

// ---- events for readers ---------------------------------------------------------------------

namespace {

void tell_behind(context& ctx, std::span<tool_event_filter* const> filters, const value& event) {
  if (filters.empty())
    return ctx.stream_tool_event(event);
  filters.back()->event(event, [&ctx, outer = filters.first(filters.size() - 1)](const value& e) {
    tell_behind(ctx, outer, e);
  });
}

} // namespace

void detail::tool_events::tell(const tool_runtime& runtime, const value& event) {
  tell_behind(*runtime.ctx_, runtime.turn_->filters, event);
}

std::vector<tool_event_filter*>& detail::tool_events::filters(const tool_runtime& runtime) {
  return runtime.turn_->filters;
}

// ---- what a tool can ask --------------------------------------------------------------------

run_config tool_runtime::config() const {
  return info().config();
}

std::string tool_runtime::tool_call_id() const {
  const auto& id = call_["id"];
  return id.is_string() ? id.as<std::string>() : std::string{};
}

void tool_runtime::emit_output_delta(const value& piece) {
  if (ctx_->is_streaming(stream_mode::tools))
    detail::tool_events::tell(*this, value::map({{"event", "tool-output-delta"},
                                                 {"tool_call_id", call_["id"]},
                                                 {"delta", piece}}));
}

context& tool_runtime::task() {
  if (!turn_->open)
    throw out_of_turn{};
  return *ctx_;
}

// ---- tools ----------------------------------------------------------------------------------

tool::tool(std::string name, std::string description, value parameters, tool_body body,
           tool_options options) {
  if (auto known = require_known_schema(parameters); options.check_arguments && !known)
    throw error{errc::invalid_graph, "make tool `" + name + "`: " + known.error().message()};
  init(std::move(name), std::move(description), std::move(parameters), std::move(body),
       std::move(options));
}

tool::tool(value definition) {
  auto made = std::make_shared<spec>();
  const auto& name = definition["name"].is_string() ? definition["name"] : definition["type"];
  if (!name.is_string())
    throw error{errc::invalid_graph,
                "make a provider's tool: it has neither name nor type: " + to_json(definition)};
  made->name = name.as<std::string>();
  made->definition = std::move(definition);
  spec_ = std::move(made);
}

void tool::init(std::string name, std::string description, value parameters, tool_body body,
                tool_options options) {
  if (!is_tool_name(name))
    throw error{errc::invalid_graph,
                "make a tool: a name must be letters, digits, `_` and `-`, at most "
                  + std::to_string(tool_name_max) + " of them: `" + name + '`'};
  if (auto known = require_known_schema(options.output); !options.output.is_null() && !known)
    throw error{errc::invalid_graph,
                "make tool `" + name + "`: its output: " + known.error().message()};
  spec_ =
    std::make_shared<spec>(spec{std::move(name), std::move(description), std::move(parameters),
                                value{}, std::move(body), std::move(options)});
}

const std::string& tool::name() const noexcept {
  return spec_->name;
}
const std::string& tool::description() const noexcept {
  return spec_->description;
}
const value& tool::parameters() const noexcept {
  return spec_->parameters;
}
const tool_options& tool::options() const noexcept {
  return spec_->options;
}
const tool_body& tool::body() const noexcept {
  return spec_->body;
}
bool tool::runs_here() const noexcept {
  return spec_->definition.is_null();
}

value tool::definition() const {
  if (!runs_here())
    return spec_->definition;
  auto out =
    value::map({{"name", name()}, {"description", description()}, {"parameters", parameters()}});
  for (const auto& e : spec_->options.extras.entries())
    out = out.with(e.key(), e.val);
  return out;
}

result<value> tool::check(const value& args) const {
  if (!options().check_arguments)
    return args.is_map() ? result<value>{args} : does_not_fit("Input should be a valid dictionary");
  auto wrong = check_schema(parameters(), args);
  if (!wrong.empty()) {
    std::string text;
    for (const auto& w : wrong)
      text += (text.empty() ? "" : "\n") + (w.path.empty() ? "" : w.path + ": ") + w.message;
    return does_not_fit(std::move(text));
  }
  std::vector<value::map_init> given;
  for (const auto& p : parameters()["properties"].entries())
    if (args.contains(p.key()))
      given.emplace_back(std::string{p.key()}, as_asked(p.val, args[p.key()]));
  return value::map(std::move(given));
}

} // namespace troupe
