// Nodes that are actors of the caller: a task is sent to the actor, and its answer awaited.
#include <troupe/actor.hpp>

#include "tasks/task_scope.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

namespace troupe {

namespace {

struct question {
  caf::actor target;
  actor_task task;
  latch answered;
  std::optional<actor_task_done> answer; // once `answered`, either `answer` or `failure` is set
  std::optional<error> failure;

  void fail(std::string why) {
    if (answered.open())
      return;
    failure = error{errc::node_lost, "node `" + task.node + "`: " + std::move(why)};
    answered.release();
  }
};

// An actor between a body, which is not an actor, and the node's actor.
void ask(caf::event_based_actor* self, const std::shared_ptr<question>& q) {
  self->set_down_handler([self, q](const caf::down_msg& down) {
    q->fail("its actor died: " + self->system().render(down.reason));
    self->quit();
  });
  self->monitor(q->target);
  self->request(q->target, caf::infinite, q->task)
    .then(
      [self, q](actor_task_done& done) {
        if (!q->answered.open()) {
          q->answer = std::move(done);
          q->answered.release();
        }
        self->quit();
      },
      [self, q](const caf::error& why) {
        q->fail("its actor did not answer: " + self->system().render(why));
        self->quit();
      });
}

std::vector<std::uint8_t> packed(const value& v) {
  auto bytes = to_msgpack(v).value();
  return {bytes.begin(), bytes.end()};
}

value unpacked(const std::vector<std::uint8_t>& bytes) {
  if (bytes.empty())
    return {};
  return from_msgpack({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).value();
}

class answer_awaiter {
public:
  answer_awaiter(detail::task_scope& scope, std::shared_ptr<question> q)
    : scope_{&scope},
      question_{std::move(q)} {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> body) {
    auto q = question_;
    q->answered.when_open(scope_->host->waker(body));
    auto asker = q->target->home_system().spawn<caf::hidden>(ask, q);
    scope_->inner_runs([asker] { caf::anon_send_exit(asker, caf::exit_reason::user_shutdown); });
  }
  void await_resume() const noexcept {}

private:
  detail::task_scope* scope_;
  std::shared_ptr<question> question_;
};

node_output output_of(const question& q) {
  if (q.failure)
    throw *q.failure;
  if (!q.answer->error.empty())
    throw node_error{q.answer->error_type.empty() ? "Error" : q.answer->error_type,
                     q.answer->error};
  node_output out;
  if (auto update = unpacked(q.answer->update); !update.is_null())
    out.parts.emplace_back(state_update{update});
  if (!q.answer->goto_.empty()) {
    command go;
    go.goto_ = destinations(q.answer->goto_);
    out.parts.emplace_back(std::move(go));
  }
  return out;
}

coro<node_output> drive(std::function<caf::actor()> make, bool owned, value input, context& ctx) {
  auto q = std::make_shared<question>();
  q->target = make();
  if (!q->target)
    throw error{errc::node_lost, "node `" + ctx.node() + "`: the actor is missing"};
  q->task = {ctx.task_id(), ctx.node(),         ctx.thread_id(),
             ctx.step(),    ctx.node_attempt(), packed(input)};
  answer_awaiter answer{ctx.scope(), q};
  co_await answer;
  if (owned)
    caf::anon_send_exit(q->target, caf::exit_reason::user_shutdown);
  auto out = output_of(*q);
  co_return out;
}

node_body body_of(std::function<caf::actor()> make, bool owned) {
  node_body out;
  out.coroutine = [make = std::move(make), owned](const state_view& input, context& ctx) {
    return drive(make, owned, input.to_value(), ctx);
  };
  return out;
}

} // namespace

value input_of(const actor_task& task) {
  return unpacked(task.input);
}

actor_task_done done_with(const value& update, std::vector<std::string> goto_) {
  actor_task_done out;
  out.update = packed(update);
  out.goto_ = std::move(goto_);
  return out;
}

node_body actor_body(caf::actor target) {
  return body_of([target = std::move(target)] { return target; }, false);
}

node_body actor_body(std::function<caf::actor()> factory) {
  return body_of(std::move(factory), true);
}

} // namespace troupe
