// usage_sums: what answers use, what that costs, and which bound is reached. Pure.
#include "agents/messages/json_text.hpp"

#include <troupe/agents/budgets.hpp>
#include <troupe/limits.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace troupe {
namespace {

using sums_members = std::vector<value::map_init>;

std::int64_t sum_of(const value& v) {
  return v.is_int() && v.as_int() > 0 ? v.as_int() : 0;
}

error bad_prices(const std::string& why) {
  return {errc::invalid_config, "read prices: " + why};
}

double price_of(const std::string& model, const value& prices, const char* name,
                const double* otherwise = nullptr) {
  const auto& given = prices[name];
  if (given.is_null() && otherwise)
    return *otherwise;
  if (!given.is_number() || !std::isfinite(given.as_double()) || given.as_double() < 0)
    throw bad_prices("models.`" + model + "`." + name + " is not a number of 0 or more");
  return given.as_double();
}

// Notes the first sum that has reached its bound.
template <class N>
void note_excess(std::optional<budget_excess>& out, const char* what, N spent,
                 const std::optional<N>& bound) {
  if (!out && bound && spent >= *bound)
    out = budget_excess{.scope = {},
                        .what = what,
                        .spent = static_cast<double>(spent),
                        .bound = static_cast<double>(*bound)};
}

} // namespace

// ---- sums ---------------------------------------------------------------------------------------

usage_sums& usage_sums::operator+=(const usage_sums& more) noexcept {
  input_tokens += more.input_tokens;
  output_tokens += more.output_tokens;
  cache_read_tokens += more.cache_read_tokens;
  cache_write_tokens += more.cache_write_tokens;
  model_calls += more.model_calls;
  tool_calls += more.tool_calls;
  model_time += more.model_time;
  cost += more.cost;
  return *this;
}

value value_traits<usage_sums>::to(const usage_sums& sums) {
  return value::map({{"input_tokens", sums.input_tokens},
                     {"output_tokens", sums.output_tokens},
                     {"cache_read_tokens", sums.cache_read_tokens},
                     {"cache_write_tokens", sums.cache_write_tokens},
                     {"model_calls", sums.model_calls},
                     {"tool_calls", sums.tool_calls},
                     {"model_time_ms", static_cast<std::int64_t>(sums.model_time.count())},
                     {"cost", sums.cost}});
}

usage_sums value_traits<usage_sums>::from(const value& v) {
  usage_sums out;
  out.input_tokens = sum_of(v["input_tokens"]);
  out.output_tokens = sum_of(v["output_tokens"]);
  out.cache_read_tokens = sum_of(v["cache_read_tokens"]);
  out.cache_write_tokens = sum_of(v["cache_write_tokens"]);
  out.model_calls = sum_of(v["model_calls"]);
  out.tool_calls = sum_of(v["tool_calls"]);
  out.model_time = std::chrono::milliseconds{sum_of(v["model_time_ms"])};
  if (const auto& cost = v["cost"]; cost.is_number() && std::isfinite(cost.as_double()))
    out.cost = cost.as_double();
  return out;
}

usage_sums usage_of(const value& answer, std::string_view model, const price_list* prices) {
  const auto& usage = message_member(answer, "usage");
  const auto& read = usage["input_token_details"];
  usage_sums out;
  out.input_tokens = sum_of(usage["input_tokens"]);
  out.output_tokens = sum_of(usage["output_tokens"]);
  out.cache_read_tokens = sum_of(read["cache_read"]);
  for (const auto* name :
       {"cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"})
    out.cache_write_tokens += sum_of(read[name]);
  out.model_calls = 1;
  out.tool_calls = static_cast<std::int64_t>(message_tool_calls(answer).size());
  if (prices)
    out.cost = prices->cost(model, out).value_or(0);
  return out;
}

std::map<std::string, usage_sums> usage_by_agent(const value& messages) {
  std::map<std::string, usage_sums> out;
  for (const auto& message : messages.items())
    if (message_role(message) == "assistant")
      out[text_in(message_member(message, "name"))] += usage_of(message);
  return out;
}

// ---- prices -------------------------------------------------------------------------------------

price_list::price_list(const value& json) {
  if (!json.is_map() || !json["models"].is_map())
    throw bad_prices("`models` is missing or not a map");
  const auto& currency = json["currency"];
  if (!currency.is_null() && !currency.is_string())
    throw bad_prices("`currency` is not a text");
  currency_ = currency.is_null() ? "USD" : text_in(currency);
  for (const auto& e : json["models"].entries()) {
    std::string name{e.key()};
    if (!e.val.is_map())
      throw bad_prices("models.`" + name + "` is not a map");
    auto input = price_of(name, e.val, "input");
    models_[name] = {.input = input,
                     .output = price_of(name, e.val, "output"),
                     .cache_read = price_of(name, e.val, "cache_read", &input),
                     .cache_write = price_of(name, e.val, "cache_write", &input)};
  }
}

price_list price_list::of_file(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  if (!in)
    throw bad_prices("the file `" + file.string() + "` can't be read");
  std::string text;
  char block[4096];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > limits::value_size_bytes_max)
      throw bad_prices("the file `" + file.string() + "` is too large");
  }
  auto json = from_json(text, json_form::plain);
  if (!json)
    throw bad_prices("the file `" + file.string() + "`: " + json.error().message());
  return price_list{*json};
}

std::optional<double> price_list::cost(std::string_view model, const usage_sums& use) const {
  constexpr double tokens_priced = 1'000'000;
  const price* found = nullptr;
  std::size_t length = 0;
  for (const auto& [name, price] : models_)
    if (model.starts_with(name) && (!found || name.size() > length)) {
      found = &price;
      length = name.size();
    }
  if (!found)
    return std::nullopt;
  auto cached = use.cache_read_tokens + use.cache_write_tokens;
  auto fresh = std::max<std::int64_t>(0, use.input_tokens - cached);
  return (static_cast<double>(fresh) * found->input
          + static_cast<double>(use.cache_read_tokens) * found->cache_read
          + static_cast<double>(use.cache_write_tokens) * found->cache_write
          + static_cast<double>(use.output_tokens) * found->output)
         / tokens_priced;
}

// ---- bounds -------------------------------------------------------------------------------------

std::optional<budget_excess> reached_budget(const usage_sums& sums, const budget& bounds) {
  std::optional<std::int64_t> time;
  if (bounds.time)
    time = bounds.time->count();
  std::optional<budget_excess> out;
  note_excess(out, "tokens", sums.tokens(), bounds.tokens);
  note_excess(out, "model_calls", sums.model_calls, bounds.model_calls);
  note_excess(out, "tool_calls", sums.tool_calls, bounds.tool_calls);
  note_excess(out, "time", static_cast<std::int64_t>(sums.model_time.count()), time);
  note_excess(out, "cost", sums.cost, bounds.cost);
  return out;
}

std::optional<budget_excess> budget_facts(const error& failure) {
  const auto& facts = failure.details();
  if (failure.type() != "BudgetExceededError" || !facts.is_map() || !facts["spent"].is_number()
      || !facts["bound"].is_number())
    return std::nullopt;
  return budget_excess{.scope = text_in(facts["scope"]),
                       .what = text_in(facts["what"]),
                       .spent = facts["spent"].as_double(),
                       .bound = facts["bound"].as_double()};
}

} // namespace troupe
