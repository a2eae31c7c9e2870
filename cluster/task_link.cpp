// task_link: the way from a task on a worker to its home.
#include "cluster/task_link.hpp"

#include "cluster/stored_items.hpp"
#include "cluster/wire/fields.hpp"
#include "engine/thread_owners.hpp"

namespace troupe::cluster {

namespace {

value call_of(call_kind kind, value a, value b = {}) {
  return value::list({value(static_cast<std::int64_t>(kind)), std::move(a), std::move(b)});
}

// Reads the home's answer. Bytes that are not the expected answer are an error like any other.
template <class F>
auto read(const result<value>& answer, F&& to) -> result<decltype(to(answer.value()))> {
  if (!answer)
    return answer.error();
  try {
    return to(*answer);
  } catch (const error& wrong) {
    return wrong;
  }
}

error not_here(const char* what) {
  return {errc::invalid_config,
          std::string{what} + ": not possible on a worker: the store belongs to its home"};
}

} // namespace

void task_link::save(const save_request& request, save_ack when,
                     std::function<void(result<void>)> done) {
  auto encoded = to_bytes(to_value(request));
  if (!encoded)
    return done(encoded.error());
  save_order order{issue_, 0, when == save_ack::durable, std::move(*encoded)};
  std::unique_lock lock{mutex_};
  if (closed_) {
    auto why = *closed_;
    lock.unlock();
    return done(std::move(why));
  }
  has_sent_ = true;
  order.ticket = ++ticket_;
  saves_.emplace(order.ticket, std::move(done));
  send_(std::move(order)); // under the lock, so that the home gets saves in the order of tickets
}

result<value> task_link::call(const value& what) {
  auto encoded = to_bytes(what);
  if (!encoded)
    return encoded.error();
  std::unique_lock lock{mutex_};
  if (closed_)
    return *closed_;
  has_sent_ = true;
  auto ticket = ++ticket_;
  auto& open = calls_[ticket];
  send_(call_order{issue_, ticket, std::move(*encoded)});
  changed_.wait(lock, [&] { return open.answer.has_value(); });
  auto answer = std::move(*open.answer);
  calls_.erase(ticket);
  return answer;
}

void task_link::part(bytes encoded, bool wait) {
  std::unique_lock lock{mutex_};
  if (wait)
    changed_.wait(lock, [&] { return closed_ || parts_ < limits::remote_parts_max; });
  if (closed_)
    return;
  has_sent_ = true;
  ++parts_;
  send_(task_part{issue_, std::move(encoded), wait});
}

void task_link::sign() {
  send_(task_sign{issue_});
}

bool task_link::has_sent() {
  std::lock_guard lock{mutex_};
  return has_sent_;
}

void task_link::answered(save_answer answer) {
  std::function<void(result<void>)> done;
  {
    std::lock_guard lock{mutex_};
    auto open = saves_.find(answer.ticket);
    if (open == saves_.end())
      return;
    done = std::move(open->second);
    saves_.erase(open);
  }
  done(answer.failure ? result<void>{std::move(*answer.failure)} : result<void>{});
}

void task_link::answered(call_answer answer) {
  std::lock_guard lock{mutex_};
  auto open = calls_.find(answer.ticket);
  if (open == calls_.end() || open->second.answer)
    return;
  if (answer.failure)
    open->second.answer.emplace(std::move(*answer.failure));
  else
    open->second.answer.emplace(from_bytes(answer.answer, [](value v) { return v; }));
  changed_.notify_all();
}

void task_link::granted(std::uint32_t parts) {
  std::lock_guard lock{mutex_};
  parts_ -= std::min(parts_, parts);
  changed_.notify_all();
}

void task_link::close(error why) {
  std::map<std::uint64_t, std::function<void(result<void>)>> saves;
  {
    std::lock_guard lock{mutex_};
    if (closed_)
      return;
    closed_ = why;
    saves.swap(saves_);
    for (auto& [ticket, open] : calls_)
      if (!open.answer)
        open.answer.emplace(why);
    changed_.notify_all();
  }
  for (auto& [ticket, done] : saves)
    done(why);
}

// -- the saver

result<std::optional<checkpoint_tuple>> remote_saver::get_tuple(const checkpoint_ref& ref) {
  return read(link_->call(call_of(call_kind::get_tuple, to_value(ref))),
              [](const value& v) -> std::optional<checkpoint_tuple> {
                if (v.is_null())
                  return std::nullopt;
                return to_checkpoint_tuple(v);
              });
}

result<std::vector<checkpoint_tuple>> remote_saver::list(const list_query& query) {
  return read(link_->call(call_of(call_kind::list, to_value(query))), [](const value& v) {
    return fields{value::list({v}), 1, "checkpoints"}.each(to_checkpoint_tuple);
  });
}

result<named<delta_history>> remote_saver::get_delta_channel_history(
  const checkpoint_ref& ref, const std::vector<std::string>& channels) {
  return read(link_->call(call_of(call_kind::delta_history, to_value(ref), list_of(channels))),
              to_delta_histories);
}

void remote_saver::submit(save_request request, save_ack when,
                          std::function<void(result<void>)> done) {
  link_->save(request, when, std::move(done));
}

result<void> remote_saver::put(const checkpoint_ref& ref, const checkpoint_put& put) {
  return store_durably(*this, {ref, {}, put});
}

result<void> remote_saver::put_writes(const checkpoint_ref& ref, const task_writes& writes) {
  return store_durably(*this, {ref, {writes}, std::nullopt});
}

result<void> remote_saver::delete_thread(const std::string&) {
  return not_here("delete a thread");
}

result<std::vector<thread_info>> remote_saver::threads() {
  return not_here("list the threads");
}

// -- the store

result<std::vector<store_answer>> remote_store::batch(const std::vector<store_op>& ops) {
  return read(link_->call(call_of(call_kind::store_batch, to_value(ops))), to_store_answers);
}

result<std::size_t> remote_store::sweep(std::size_t) {
  return not_here("sweep the store");
}

} // namespace troupe::cluster
