// The graph actor: a loaded graph as an actor, and the wire forms of its messages.
#include "coordinator/graph_actor.hpp"

#include "coordinator/app_core.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

namespace troupe {

namespace {

std::vector<std::uint8_t> to_bytes(const value& v) {
  auto text = to_msgpack(v).value();
  return {text.begin(), text.end()};
}

result<value> from_bytes(const std::vector<std::uint8_t>& bytes) {
  return from_msgpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

run_finished finished(const std::string& thread_id, const result<run_result>& how) {
  run_finished out;
  out.thread_id = thread_id;
  if (!how) {
    out.error = static_cast<std::uint8_t>(how.error().code());
    out.message = how.error().message();
    return out;
  }
  std::vector<value> questions;
  for (const auto& q : how->interrupts())
    questions.push_back(value::of(q));
  try {
    out.output = to_bytes(how->value());
    out.interrupts = to_bytes(value::list(std::move(questions)));
  } catch (const error& e) {
    out.error = static_cast<std::uint8_t>(e.code());
    out.message = e.message();
  }
  return out;
}

result<run_input> read_input(const start_run& order) {
  if (!order.resume.empty()) {
    auto answer = from_bytes(order.resume);
    if (!answer)
      return answer.error();
    command c;
    c.resume = std::move(*answer);
    return run_input(std::move(c));
  }
  if (order.input.empty())
    return run_input(nullptr);
  auto input = from_bytes(order.input);
  if (!input)
    return input.error();
  return run_input(std::move(*input));
}

} // namespace

start_run make_start_run(std::string thread_id, const run_input& input) {
  start_run out;
  out.thread_id = std::move(thread_id);
  if (auto* v = std::get_if<value>(&input.get()))
    out.input = to_bytes(*v);
  else if (auto* c = std::get_if<command>(&input.get())) {
    if (!c->resume || c->update || !c->goto_.empty())
      throw error{errc::invalid_config,
                  "start_run: a graph actor takes only one kind of command, a plain resume"};
    out.resume = to_bytes(*c->resume);
  }
  return out;
}

result<run_result> to_result(const run_finished& done) {
  if (done.error != 0)
    return error{static_cast<errc>(done.error), done.message};
  auto output = from_bytes(done.output);
  if (!output)
    return output.error();
  auto questions = from_bytes(done.interrupts);
  if (!questions)
    return questions.error();
  detail::run_ending out;
  out.output = std::move(*output);
  try {
    for (const auto& q : questions->items())
      out.questions.push_back(q.as<interrupt>());
  } catch (const error& e) {
    return e;
  }
  return run_result{std::move(out)};
}

void add_message_types(caf::actor_system_config& config) {
  config.add_message_types<caf::id_block::troupe>();
}

graph_actor::graph_actor(caf::actor_config& cfg, app_core& app, card_ptr card)
  : caf::event_based_actor(cfg),
    app_{app},
    actors_{app.runtime().shared().actors},
    card_{std::move(card)} {}

caf::behavior graph_actor::make_behavior() {
  return {
    [this](const start_run& order) { return start(order); },
    [this](const run_over& over) { answer(over.id); },
  };
}

caf::result<run_finished> graph_actor::start(const start_run& order) {
  auto input = read_input(order);
  if (!input)
    return finished(order.thread_id, input.error());
  run_config config;
  config.thread_id = order.thread_id;
  if (order.recursion_limit != 0)
    config.recursion_limit = order.recursion_limit;
  if (order.durability > static_cast<std::uint8_t>(durability::exit))
    return finished(order.thread_id, error{errc::invalid_config, "start_run: unknown durability"});
  config.durability = static_cast<durability>(order.durability);
  auto id = next_++;
  auto self = caf::actor_cast<caf::actor>(this);
  auto run = app_.start(*input, config, [self, id] { caf::anon_send(self, run_over{id}); });
  if (!run)
    return finished(order.thread_id, run.error());
  auto promise = make_response_promise();
  open_.emplace(id, open_run{order.thread_id, std::move(*run), promise});
  return caf::delegated<run_finished>{};
}

void graph_actor::answer(std::uint64_t id) {
  auto it = open_.find(id);
  if (it == open_.end())
    return;
  auto open = std::move(it->second);
  open_.erase(it);
  open.promise.deliver(finished(open.thread_id, open.run->wait()));
}

void graph_actor::on_exit() {
  for (auto& [id, open] : open_)
    open.promise.deliver(
      finished(open.thread_id, error{errc::runtime_stopped, "run: the runtime was stopped"}));
  open_.clear();
  actors_.remove(*card_);
}

} // namespace troupe
