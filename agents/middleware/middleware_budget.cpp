// Middleware for budgets: sums of use in the state, and the end of a run at a bound.
#include <troupe/agents/budgets.hpp>

#include "agents/messages/json_text.hpp"
#include "agents/team_names.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace troupe {
namespace {

constexpr const char* usage_key = "usage";
constexpr const char* budget_key = "budget"; // in `usage`, of an answer; and in the configuration
constexpr std::array<const char*, 3> budget_scopes{"run", "thread", "agent"};

using budget_clock = std::chrono::steady_clock;

// ---- bounds as values ---------------------------------------------------------------------------

[[noreturn]] void refuse_bound(const std::string& what) {
  throw error{errc::invalid_config, "set a budget: " + what};
}

void require_above_0(const char* scope, const char* name, bool good) {
  if (!good)
    refuse_bound(std::string{"the bound `"} + scope + '.' + name + "` must be above 0");
}

void check_budget(const char* scope, const budget& b) {
  require_above_0(scope, "tokens", b.tokens.value_or(1) > 0);
  require_above_0(scope, "model_calls", b.model_calls.value_or(1) > 0);
  require_above_0(scope, "tool_calls", b.tool_calls.value_or(1) > 0);
  require_above_0(scope, "time", b.time.value_or(std::chrono::milliseconds{1}).count() > 0);
  require_above_0(scope, "cost", b.cost.value_or(1) > 0 && std::isfinite(b.cost.value_or(1)));
}

// Replaces bounds by those of a map; a null removes a bound.
void replace_bounds(budget& to, const std::string& scope, const value& given) {
  if (!given.is_map())
    refuse_bound('`' + scope + "` is not a map");
  for (const auto& e : given.entries()) {
    auto name = '`' + scope + '.' + std::string{e.key()} + '`';
    const auto& v = e.val;
    bool good = v.is_null()
                || (e.key() == "cost" ? v.is_number() && v.as_double() > 0
                                      : v.is_int() && v.as_int() > 0);
    if (!good)
      refuse_bound(name + " is not a number above 0");
    auto count = v.is_int() ? std::optional{v.as_int()} : std::nullopt;
    if (e.key() == "tokens")
      to.tokens = count;
    else if (e.key() == "model_calls")
      to.model_calls = count;
    else if (e.key() == "tool_calls")
      to.tool_calls = count;
    else if (e.key() == "time_ms")
      to.time = count ? std::optional{std::chrono::milliseconds{*count}} : std::nullopt;
    else if (e.key() == "cost")
      to.cost = v.is_null() ? std::nullopt : std::optional{v.as_double()};
    else
      refuse_bound(name + " is unknown; known: tokens, model_calls, tool_calls, time_ms, cost");
  }
}

using all_budgets = std::array<budget, budget_scopes.size()>; // as budget_scopes

void replace_all(all_budgets& to, const value& given) {
  if (given.is_null())
    return;
  if (!given.is_map())
    refuse_bound("not a map, but " + to_json(given));
  for (const auto& e : given.entries()) {
    auto at = std::ranges::find(budget_scopes, e.key());
    if (at == budget_scopes.end())
      refuse_bound('`' + std::string{e.key()} + "` is unknown; known: run, thread, agent");
    replace_bounds(to[static_cast<std::size_t>(at - budget_scopes.begin())], std::string{e.key()},
                   e.val);
  }
}

// ---- the channel --------------------------------------------------------------------------------

struct budget_rules {
  all_budgets bounds;
  std::shared_ptr<const price_list> prices;
  budget_exit at_limit;
};
using rules_ptr = std::shared_ptr<const budget_rules>;

all_budgets bounds_now(const budget_rules& rules, const value& usage, const context& ctx) {
  auto out = rules.bounds;
  replace_all(out, usage[budget_key]);
  replace_all(out, ctx.configurable()[budget_key]);
  return out;
}

std::string agent_of(const context& ctx) {
  return text_in(ctx.metadata()[agent_name_mark]);
}

value added(const value& sums, const usage_sums& more) {
  return value::of(value_traits<usage_sums>::from(sums) + more);
}

value with_use(const value& usage, const std::string& agent, const usage_sums& more) {
  auto out = usage.is_map() ? usage : value::map();
  for (const auto* scope : {"run", "thread"})
    out = out.with(scope, added(out[scope], more));
  auto agents = out["agents"].is_map() ? out["agents"] : value::map();
  return out.with("agents", agents.with(agent, added(agents[agent], more)));
}

std::optional<budget_excess> excess_in(const value& usage, const std::string& agent,
                                       const all_budgets& bounds) {
  const std::array<const value*, budget_scopes.size()> sums{&usage["run"], &usage["thread"],
                                                            &usage["agents"][agent]};
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (auto out = reached_budget(value_traits<usage_sums>::from(*sums[i]), bounds[i])) {
      out->scope = budget_scopes[i];
      return out;
    }
  return std::nullopt;
}

value shown_number(const budget_excess& of, double number) {
  return of.what == "cost" ? value(number) : value(static_cast<std::int64_t>(number));
}

value facts_of(const budget_excess& of) {
  return value::map({{"type", "budget"},
                     {"scope", of.scope},
                     {"what", of.what},
                     {"spent", shown_number(of, of.spent)},
                     {"bound", shown_number(of, of.bound)}});
}

error exceeded(const budget_excess& of) {
  auto text = "The budget of the " + of.scope + " is used up: " + of.what + ' '
              + to_json(shown_number(of, of.spent)) + " of " + to_json(shown_number(of, of.bound));
  return error{errc::node_failed, text, "BudgetExceededError"}.with_details(facts_of(of));
}

// The bounds that people gave so far, and those of an answer.
value with_bounds(const value& known, const value& answer, context& ctx) {
  try {
    all_budgets probe;
    if (!answer.is_map())
      refuse_bound("the answer is not a map, but " + to_json(answer));
    replace_all(probe, answer);
  } catch (const error& why) {
    ctx.refuse_answer(why.message());
  }
  auto out = known.is_map() ? known : value::map();
  for (const auto& e : answer.entries()) {
    auto scope = out[e.key()].is_map() ? out[e.key()] : value::map();
    for (const auto& bound : e.val.entries())
      scope = scope.with(bound.key(), bound.val);
    out = out.with(e.key(), scope);
  }
  return out;
}

// Before each call of the model: the end of the run at a bound, or a larger bound.
value check_use(const budget_rules& rules, const state_view& state, context& ctx) {
  auto usage = state[usage_key];
  auto agent = agent_of(ctx);
  bool answered = false;
  while (auto over = excess_in(usage, agent, bounds_now(rules, usage, ctx))) {
    if (rules.at_limit == budget_exit::fail)
      throw exceeded(*over);
    auto answer = ctx.interrupt(facts_of(*over));
    usage = usage.with(budget_key, with_bounds(usage[budget_key], answer, ctx));
    answered = true;
  }
  return answered ? value::map({{usage_key, usage}}) : value{};
}

coro<model_response> counted_call(rules_ptr rules, model_call call, model_executor run) {
  auto model = call.model->name();
  auto agent = agent_of(call.ctx());
  auto usage = call.state[usage_key];
  auto bounds = bounds_now(*rules, usage, call.ctx());
  bool bounds_cost = std::ranges::any_of(bounds, [](const budget& b) { return !!b.cost; });
  if (bounds_cost && (!rules->prices || !rules->prices->cost(model, {})))
    refuse_bound("cost has a bound, and `" + model + "` has no price");
  auto began = budget_clock::now();
  auto asked = run(std::move(call));
  auto response = co_await asked;
  auto more = usage_of(response.answer, model, rules->prices.get());
  more.model_time = std::chrono::ceil<std::chrono::milliseconds>(budget_clock::now() - began);
  response.update.set(usage_key, with_use(usage, agent, more));
  co_return response;
}

} // namespace

middleware usage_budget(usage_budget_options options) {
  auto rules = std::make_shared<const budget_rules>(budget_rules{
    {options.run, options.thread, options.agent}, std::move(options.prices), options.at_limit});
  for (std::size_t i = 0; i < budget_scopes.size(); ++i) {
    check_budget(budget_scopes[i], rules->bounds[i]);
    if (rules->bounds[i].cost && !rules->prices)
      refuse_bound("a bound of cost needs prices");
  }
  middleware out;
  out.name = "usage_budget";
  out.state = {{usage_key, last_value}};
  out.before_agent = [](const state_view& state) {
    auto usage = state[usage_key].is_map() ? state[usage_key] : value::map();
    return value::map({{usage_key, usage.with("run", value::of(usage_sums{}))}});
  };
  out.before_model = [rules](const state_view& state, context& ctx) {
    return check_use(*rules, state, ctx);
  };
  out.wrap_model_call = [rules](model_call call, model_executor run) {
    return counted_call(rules, std::move(call), std::move(run));
  };
  return out;
}

} // namespace troupe
