// Budgets: sums of the tokens, calls, time and money that agents use, and bounds of these sums.
//
//     auto prices =
//     std::make_shared<troupe::price_list>(troupe::price_list::of_file("prices.json"));
//     options.middleware = {troupe::usage_budget({.run = {.tokens = 50'000, .cost = 0.50},
//                                                 .prices = prices})};
#pragma once

#include <troupe/agents/agent.hpp>
#include <troupe/error.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Sums of use.
/// Units:  `input_tokens` includes the tokens read from and written to a cache. `tool_calls`: the
///         calls in the model's answers. `model_time`: the time of the model's calls, with their
///         repetitions. `cost` in the currency of the price list; 0 without one.
/// Errors: none.
/// Source: troupe; langchain_core/callbacks/usage.py, UsageMetadataCallbackHandler.
struct usage_sums {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cache_read_tokens = 0;
  std::int64_t cache_write_tokens = 0;
  std::int64_t model_calls = 0;
  std::int64_t tool_calls = 0;
  std::chrono::milliseconds model_time{0};
  double cost = 0;

  std::int64_t tokens() const noexcept { return input_tokens + output_tokens; }
  usage_sums& operator+=(const usage_sums& more) noexcept;
  friend usage_sums operator+(usage_sums a, const usage_sums& b) noexcept { return a += b; }
  friend bool operator==(const usage_sums&, const usage_sums&) = default;
};
/// Shape:  a map of the members; `model_time_ms` in milliseconds.
/// Errors: none; see from().
/// Source: troupe.
template <> struct value_traits<usage_sums> {
  static value to(const usage_sums& sums);
  /// Errors: none: a missing member, or one of another kind, counts as 0.
  static usage_sums from(const value& v);
};

/// The prices of models. Immutable.
/// Shape:  as JSON: {"currency": "USD", "models": {NAME: {"input": n, "output": n, "cache_read": n,
///         "cache_write": n}}}. NAME is "provider:model" or its beginning; the longest fitting name
///         counts. A missing cache price is the price of input.
/// Units:  money for a million tokens; 0 or more.
/// Errors: see the members.
/// Source: troupe.
class price_list {
public:
  /// Errors: throws error{invalid_config} that names the member that does not fit.
  explicit price_list(const value& json);
  /// Units:  the file has at most limits::value_size_bytes_max bytes.
  /// Errors: as above; invalid_config for a file that can't be read or is not JSON.
  static price_list of_file(const std::filesystem::path& file);

  const std::string& currency() const noexcept { return currency_; }
  /// The cost of these tokens; nullopt for a model without a price.
  std::optional<double> cost(std::string_view model, const usage_sums& use) const;

private:
  struct price {
    double input, output, cache_read, cache_write;
  };
  std::string currency_;
  std::map<std::string, price, std::less<>> models_;
};

/// The use of one answer, as one call of the model, by the answer's `usage`.
/// Shape:  `model`: "provider:model". A model without a price costs 0.
/// Errors: none.
/// Source: troupe.
usage_sums usage_of(const value& answer, std::string_view model = {},
                    const price_list* prices = nullptr);

/// The use of each agent in a conversation: its answers, by their `name`. Answers without a name
/// are under "".
/// Errors: none.
/// Source: troupe.
std::map<std::string, usage_sums> usage_by_agent(const value& messages);

/// Bounds of sums; nullopt: no bound.
/// Units:  above 0, as of usage_sums.
/// Errors: see usage_budget.
/// Source: troupe.
struct budget {
  std::optional<std::int64_t> tokens = std::nullopt;
  std::optional<std::int64_t> model_calls = std::nullopt;
  std::optional<std::int64_t> tool_calls = std::nullopt;
  std::optional<std::chrono::milliseconds> time = std::nullopt; ///< of model_time
  std::optional<double> cost = std::nullopt;
};

/// A sum that has reached its bound.
/// Shape:  `scope` is "run", "thread" or "agent"; `what` is a member of budget.
/// Units:  as of usage_sums; time in milliseconds.
/// Errors: none.
/// Source: troupe.
struct budget_excess {
  std::string scope;
  std::string what;
  double spent = 0;
  double bound = 0;
};
/// The first sum that has reached its bound, in the order of budget's members.
/// Shape:  the scope is empty.
/// Errors: none.
/// Source: troupe.
std::optional<budget_excess> reached_budget(const usage_sums& sums, const budget& bounds);
/// The excess that ended a run, from its error; nothing for any other error.
/// Errors: none.
/// Source: troupe.
std::optional<budget_excess> budget_facts(const error& failure);

/// The end of a run at a bound.
/// Errors: none.
/// Source: troupe.
enum class budget_exit : std::uint8_t {
  fail, ///< the run fails with class BudgetExceededError, and resumes without input
  ask,  ///< the run pauses with the question {type: "budget", scope, what, spent, bound}
};

/// The bounds of usage_budget, and its reaction to them.
/// Shape:  `agent` bounds the sums of this agent alone, in the thread. Agents of a team share the
///         sums of the thread when the team's state has the channel `usage`. The sums of the run
///         begin anew with each agent.
/// Errors: see usage_budget.
/// Source: troupe.
struct usage_budget_options {
  budget run = {};
  budget thread = {};
  budget agent = {};
  std::shared_ptr<const price_list> prices = nullptr;
  budget_exit at_limit = budget_exit::fail;
};
/// Sums up what an agent uses, and ends its run once a sum has reached a bound. The step in which
/// that happens is completed, tools included; the model is not asked again. A sum may therefore
/// exceed its bound by the use of one answer.
/// Shape:  a channel `usage`: {run, thread, agents: {NAME: …}} of usage_sums. NAME is the agent's
///         name, "" without one. Bounds of run_config::configurable replace those of the options:
///         {"budget": {"run": {"tokens": 100000}, "thread": {…}, "agent": {…}}}, with `time_ms` in
///         milliseconds. The answer to the question has the form of "budget"; it holds for the rest
///         of the thread. So a run resumes with a larger budget. A call of the model that fails is
///         not counted, nor is the use of graphs that tools run.
/// Errors: throws error{invalid_config} for a bound that is not above 0, and for a bound of cost
///         without prices. A run fails with
///         - node_failed of class BudgetExceededError; budget_facts() reads it
///         - invalid_config for a malformed "budget" of the configuration, and for a model without
///         a
///           price while cost has a bound
///         - invalid_resume for an answer that is not a budget
/// Source: troupe.
middleware usage_budget(usage_budget_options options = {});

} // namespace troupe
