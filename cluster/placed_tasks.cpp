// placed_task: a home's task that runs on a worker.
#include "cluster/placed_tasks.hpp"

#include "actors/saver_actor.hpp"
#include "channels/message_forms.hpp"
#include "cluster/remote_task.hpp"
#include "cluster/stored_items.hpp"
#include "cluster/task_link.hpp"
#include "cluster/wire/fields.hpp"
#include "engine/thread_owners.hpp"
#include "graph/checkpoint_ns.hpp"

namespace troupe::cluster {

namespace {

error no_saver_here() {
  return {errc::no_saver, "read the store for a worker: the run stores nothing"};
}

template <class T> value null_or(const std::optional<T>& x) {
  return x ? to_value(*x) : value{};
}

template <class T, class F> result<value> as_value(const result<T>& got, F&& convert) {
  if (!got)
    return got.error();
  return convert(*got);
}

bool below(std::string_view ns, std::string_view top) {
  return ns.starts_with(top)
         && (ns.size() == top.size() || ns[top.size()] == '|' || ns[top.size()] == ':');
}

} // namespace

placed_task::placed_task(services& shared, task_ptr task, std::function<void()> begun,
                         std::function<void()> then)
  : services_{shared},
    task_{std::move(task)},
    begun_{std::move(begun)},
    then_{std::move(then)} {}

result<task_bytes> placed_task::encode() {
  std::lock_guard lock{mutex_};
  lent_ = task_->run->take_answer();
  return encode_task(*task_, lent_);
}

// Whether a worker may store here: only below its task. In a graph with its own state, namespaces
// are compared without task ids.
bool placed_task::may_store(const checkpoint_ref& where) const {
  return where.thread_id == task_->run->config.thread_id
         && below(without_task_ids(where.checkpoint_ns), without_task_ids(task_->ns()));
}

void placed_task::save(save_order order, answer send) {
  auto reply = [send = std::move(send), issue = order.issue,
                ticket = order.ticket](result<void> how) {
    save_answer answer{issue, ticket, std::nullopt};
    if (!how)
      answer.failure = how.error();
    send(std::move(answer));
  };
  auto request = from_bytes(order.request, to_save_request);
  if (!request)
    return reply(request.error());
  std::lock_guard lock{mutex_};
  auto& run = *task_->run;
  if (ended() || !run.store || (run.claim && !run.claim->save_begins()))
    return reply(error{errc::cancelled, "store a step: the run around it has ended"});
  if (!may_store(request->ref)) {
    if (run.claim)
      run.claim->save_answered();
    return reply(error{errc::protocol_mismatch, "store a step for a worker: namespace `"
                                                  + request->ref.checkpoint_ns
                                                  + "` is not below its task"});
  }
  if (request->put)
    run.saw_id(request->put->checkpoint.id);
  issue_ = order.issue;
  ++saves_;
  if (run.claim)
    request->claim = run.claim->now();
  hand_over(*run.store, std::move(*request), order.durable ? save_ack::durable : save_ack::accepted,
            run.claim, std::move(reply));
}

void placed_task::call(call_order order, answer send) {
  auto reply = [send = std::move(send), issue = order.issue,
                ticket = order.ticket](result<value> how) {
    call_answer answer{issue, ticket, std::nullopt, {}};
    auto encoded = how ? to_bytes(*how) : result<bytes>{how.error()};
    if (encoded)
      answer.answer = std::move(*encoded);
    else
      answer.failure = encoded.error();
    send(std::move(answer));
  };
  auto what = from_bytes(order.call, [](value v) { return v; });
  if (!what)
    return reply(what.error());
  std::lock_guard lock{mutex_};
  if (ended())
    return;
  auto work = [self = shared_from_this(), what = std::move(*what), issue = order.issue, reply] {
    if (self->ended())
      return;
    try {
      reply(self->carry_out(what, issue));
    } catch (const error& wrong) {
      reply(wrong);
    } catch (const std::exception& e) { // of a user's saver or store
      reply(error{errc::storage_failed, std::string{"read the store: it threw: "} + e.what()});
    }
  };
  if (!services_.pool.submit(std::move(work)))
    reply(error{errc::overloaded,
                "read the store for a worker: the blocking lane takes no more jobs "
                "(blocking_queue_max), or the runtime is stopping"});
}

// Waits until all that other issues stored can be read, since it may be in the saver's queue. A
// second caller waits for the first.
result<void> placed_task::settle(issue_number reader) {
  std::lock_guard settles{settling_};
  std::uint64_t stored = 0;
  {
    std::lock_guard lock{mutex_};
    stored = saves_;
    if (issue_ == reader || settled_ == stored)
      return {};
  }
  checkpoint_ref here{task_->run->config.thread_id, task_->run->ns, {}};
  auto how = store_durably(*task_->run->store, {std::move(here), {}, std::nullopt});
  if (how)
    settled_ = stored;
  return how;
}

result<value> placed_task::carry_out(const value& call, issue_number caller) {
  fields in{call, 3, "a call"};
  auto kind = in.one_of(call_kind::store_batch);
  const auto& what = in.any();
  const auto& run = *task_->run;
  if (kind == call_kind::store_batch) {
    if (!run.memory)
      return error{errc::no_saver, "call the store for a worker: the runtime has none"};
    return as_value(run.memory->batch(to_store_ops(what)),
                    [](const auto& x) { return to_value(x); });
  }
  if (!run.store)
    return no_saver_here();
  if (auto settled = settle(caller); !settled)
    return settled.error();
  if (kind == call_kind::list) {
    auto query = to_list_query(what);
    query.thread_id = run.config.thread_id;
    return as_value(run.store->list(query), [](const auto& tuples) {
      return list_of(tuples, [](const checkpoint_tuple& t) { return to_value(t); });
    });
  }
  auto ref = to_checkpoint_ref(what);
  ref.thread_id = run.config.thread_id;
  if (kind == call_kind::get_tuple)
    return as_value(run.store->get_tuple(ref), [](const auto& tuple) { return null_or(tuple); });
  return as_value(run.store->get_delta_channel_history(ref, in.texts()),
                  [](const auto& x) { return to_value(x); });
}

// -- parts

void placed_task::part(task_part part, answer send) {
  auto decoded = decode_part(part.part);
  auto sink = task_->run->sink;
  if (!decoded || !sink || !sink->wants(decoded->mode))
    return;
  auto show = [sink, from_body = part.from_body, issue = part.issue, shown = std::move(*decoded),
               send = std::move(send)]() mutable {
    if (shown.mode == stream_mode::messages && has_message_id(shown.data[0]))
      sink->streamed_before(std::string{message_id(shown.data[0]).as_string()}); // not again
    if (from_body)
      sink->emit_custom(std::move(shown));
    else
      sink->emit(std::move(shown));
    send(part_credit{issue, 1});
  };
  in_order(std::move(show), part.from_body);
}

// The first sign of an issue reports that its task has begun.
void placed_task::sign(const task_sign& sign) {
  task_->progress_ns.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                           std::memory_order_relaxed);
  std::lock_guard lock{mutex_};
  if (!ended() && std::exchange(begun_as_, sign.issue) != sign.issue)
    begun_();
}

// Shows parts in order. A custom part of a body may wait for a slow reader, so it needs a thread,
// and later jobs wait for it.
void placed_task::in_order(job what, bool may_block) {
  {
    std::unique_lock lock{mutex_};
    if (ended())
      return;
    if (!working_ && !may_block) {
      lock.unlock();
      return what();
    }
    jobs_.push_back(std::move(what));
    if (std::exchange(working_, true))
      return;
    if (services_.pool.submit([self = shared_from_this()] { self->run_jobs(); }))
      return;
    jobs_.clear();
    working_ = false;
  }
  fail({errc::overloaded, "node `" + task_->node->name
                            + "`: stream its parts: the blocking lane takes no more jobs "
                              "(blocking_queue_max), or the runtime is stopping"});
}

void placed_task::run_jobs() {
  for (;;) {
    job next;
    {
      std::lock_guard lock{mutex_};
      if (jobs_.empty()) {
        working_ = false;
        return;
      }
      next = std::move(jobs_.front());
      jobs_.pop_front();
    }
    next();
  }
}

// -- its end

void placed_task::end(const job& fill_in) {
  std::function<void()> then;
  {
    std::lock_guard lock{mutex_};
    if (ended_.exchange(true))
      return;
    fill_in();
    if (lent_)
      task_->run->give_answer(std::move(*lent_));
    begun_ = nullptr;
    then = std::move(then_);
  }
  then();
}

void placed_task::finish(bytes outcome, std::string worker) {
  in_order([self = shared_from_this(), outcome = std::move(outcome),
            worker = std::move(worker)] { self->end([&] { self->fill_in(outcome, worker); }); },
           false);
}

void placed_task::fill_in(const bytes& outcome, const std::string& worker) {
  task_->worker = worker;
  auto left = take_outcome(*task_, outcome);
  if (left && !*left)
    lent_.reset();
  if (left)
    return;
  task_->status = task_status::failed;
  task_->failure = error{left.error().code(),
                         "node `" + task_->node->name + "`: its worker: " + left.error().message()};
}

void placed_task::fail(error why) {
  end([this, why = std::move(why)]() mutable {
    task_->status = task_status::failed;
    task_->failure = std::move(why);
  });
}

void placed_task::give_up() {
  std::lock_guard lock{mutex_};
  if (ended_.exchange(true))
    return;
  if (lent_)
    task_->run->give_answer(std::move(*lent_));
  begun_ = then_ = nullptr;
}

} // namespace troupe::cluster
