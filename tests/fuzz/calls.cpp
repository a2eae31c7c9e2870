#include "tests/fuzz/calls.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

// A delta channel under durability exit leaves a stub below its writes, which the interpreter does
// not model.
bool has_delta(const graph_design& g) {
  return std::any_of(g.channels.begin(), g.channels.end(),
                     [](const auto& c) { return c.rule == channel_rule::delta_append; })
         || std::any_of(g.nodes.begin(), g.nodes.end(),
                        [](const auto& n) { return n.inner && has_delta(*n.inner); });
}

std::vector<durability> durabilities(const graph_design& g) {
  if (has_delta(g))
    return {durability::async, durability::sync};
  return {durability::async, durability::sync, durability::exit};
}

} // namespace

call_chooser::call_chooser(const graph_design& g, dice& d)
  : graph_{g},
    dice_{d},
    durabilities_{durabilities(g)},
    durability_{d.pick(durabilities_)},
    mixed_{d.chance(20)},
    strict_{d.chance(60)},
    travels_{d.chance(60)},
    limit_{d.chance(75) ? 25u : d.between(1, 8)} {}

call call_chooser::call_of(call_kind kind) {
  call c;
  c.kind = kind;
  c.durability = mixed_ ? dice_.pick(durabilities_) : durability_;
  c.recursion_limit = limit_;
  c.strict = strict_;
  if (kind < call_kind::update && dice_.chance(6))
    (dice_.chance(50) ? c.before : c.after).push_back(dice_.chance(40) ? "*" : some_node());
  switch (kind) {
    case call_kind::invoke:
    case call_kind::input_update: c.input = some_input(60); break;
    case call_kind::update:
      if (dice_.chance(90))
        c.input = some_input(40);
      if (dice_.chance(75))
        c.as_node = dice_.chance(90) ? some_node() : START;
      break;
    case call_kind::answer: c.plain = some_answer(); [[fallthrough]];
    case call_kind::answer_by_id:
      if (dice_.chance(10))
        c.input = some_input(30);
      if (dice_.chance(6))
        c.goto_ = {some_node()};
      break;
    case call_kind::command:
      if (dice_.chance(70))
        c.input = some_input(30);
      for (auto n = dice_.between(c.input.is_null() ? 1 : 0, 2); n > 0; --n)
        c.goto_.push_back(dice_.chance(93) ? some_node() : END);
      break;
    default: break;
  }
  return c;
}

value call_chooser::some_answer() {
  auto n = ++count_;
  switch (dice_.below(6)) {
    case 0: return 0;
    case 1: return value::map({{"answer", value(n)}});
    case 2: return value::list({value(n)});
    default: return "answer " + std::to_string(n);
  }
}

value call_chooser::some_input(std::uint32_t percent) {
  std::vector<value::map_init> out;
  auto n = ++count_;
  for (const auto& c : graph_.channels) {
    if (c.name == graph_.counter ? !dice_.chance(5) : !dice_.chance(percent))
      continue;
    if (c.holds == content::number)
      out.emplace_back(c.name, value(n));
    else if (c.holds == content::list)
      out.emplace_back(c.name, value::list({value("in " + std::to_string(n))}));
    else
      out.emplace_back(c.name, value::map({{"in", value(n)}}));
  }
  return value::map(std::move(out));
}

std::string call_chooser::some_node() {
  return graph_.nodes[dice_.below(graph_.nodes.size())].name;
}

call call_chooser::choose(const interpreter& thread) {
  if (thread.checkpoints() == 0)
    return fresh();
  if (travels_ && dice_.chance(25))
    return elsewhere(thread);
  if (auto n = thread.waiting(std::nullopt).size(); n > 0)
    return waiting(n);
  return thread.look(std::nullopt).tasks.empty() ? finished() : stopped();
}

call call_chooser::fresh() {
  auto n = dice_.below(100);
  if (n < 88)
    return call_of(call_kind::invoke);
  if (n < 92)
    return call_of(call_kind::update);
  if (n < 95)
    return call_of(call_kind::command);
  return call_of(n < 97 ? call_kind::go_on : n < 98 ? call_kind::answer : call_kind::input_update);
}

call call_chooser::answer_some(std::size_t questions) {
  auto c = call_of(call_kind::answer_by_id);
  for (std::uint32_t i = 0; i < questions; ++i)
    if (dice_.chance(60))
      c.answers.emplace_back(i, some_answer());
  if (c.answers.empty() && dice_.chance(90))
    c.answers.emplace_back(dice_.below(questions), some_answer());
  if (dice_.chance(5))
    c.answers.emplace_back(unknown_question, some_answer());
  return c;
}

call call_chooser::waiting(std::size_t questions) {
  auto n = dice_.below(100);
  if (n < 72)
    return questions > 1 && dice_.chance(90) ? answer_some(questions)
           : dice_.chance(75)                ? call_of(call_kind::answer)
                                             : answer_some(questions);
  if (n < 80)
    return call_of(call_kind::go_on);
  if (n < 86)
    return call_of(call_kind::update);
  if (n < 92)
    return call_of(call_kind::invoke);
  if (n < 96)
    return call_of(call_kind::command);
  return call_of(n < 98 ? call_kind::clear : call_kind::copy);
}

call call_chooser::stopped() {
  auto n = dice_.below(100);
  if (n < 65)
    return call_of(call_kind::go_on);
  if (n < 74)
    return call_of(call_kind::update);
  if (n < 82)
    return call_of(call_kind::invoke);
  if (n < 90)
    return call_of(call_kind::command);
  if (n < 94)
    return call_of(call_kind::answer);
  return call_of(n < 97 ? call_kind::clear : call_kind::copy);
}

call call_chooser::finished() {
  auto n = dice_.below(100);
  if (n < 60)
    return call_of(call_kind::invoke);
  if (n < 76)
    return call_of(call_kind::update);
  if (n < 88)
    return call_of(call_kind::command);
  if (n < 93)
    return call_of(call_kind::go_on);
  if (n < 96)
    return call_of(call_kind::input_update);
  return call_of(n < 98 ? call_kind::copy : call_kind::answer);
}

call call_chooser::elsewhere(const interpreter& thread) {
  auto at = dice_.below(thread.checkpoints());
  auto n = dice_.below(100);
  auto kind = n < 35   ? call_kind::go_on
              : n < 60 ? call_kind::update
              : n < 70 ? call_kind::invoke
              : n < 78 ? call_kind::command
              : n < 88 ? call_kind::look
              : n < 92 ? call_kind::copy
              : n < 94 ? call_kind::clear
              : n < 96 ? call_kind::input_update
                       : call_kind::answer;
  auto questions = thread.waiting(at).size();
  auto c = kind == call_kind::answer && questions > 1 ? answer_some(questions) : call_of(kind);
  c.at = at;
  return c;
}

} // namespace troupe::fuzz
