// What the tests of running graphs share: a gate that holds bodies, a saver that fails, and small
// graphs.
#pragma once

#include <troupe/troupe.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace troupe {

/// Holds whoever passes until it is opened; tells when somebody is held.
class gate {
public:
  void pass() {
    std::unique_lock lock{mutex_};
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void open() {
    std::lock_guard lock{mutex_};
    open_ = true;
    changed_.notify_all();
  }
  void wait_for(int count) {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this, count] { return waiting_ >= count; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

/// Forwards to another saver, but fails the nth submit, once.
class failing_saver : public saver {
public:
  failing_saver(std::shared_ptr<saver> inner, int nth) : inner_{std::move(inner)}, left_{nth} {}

  result<std::optional<checkpoint_tuple>> get_tuple(const checkpoint_ref& ref) override {
    return inner_->get_tuple(ref);
  }
  result<std::vector<checkpoint_tuple>> list(const list_query& query) override {
    return inner_->list(query);
  }
  result<void> put(const checkpoint_ref& ref, const checkpoint_put& put) override {
    return inner_->put(ref, put);
  }
  result<void> put_writes(const checkpoint_ref& ref, const task_writes& writes) override {
    return inner_->put_writes(ref, writes);
  }
  result<void> delete_thread(const std::string& thread_id) override {
    return inner_->delete_thread(thread_id);
  }
  result<std::vector<thread_info>> threads() override { return inner_->threads(); }
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (--left_ == 0)
      return done(error{errc::storage_full, "save: injected"});
    inner_->submit(std::move(request), when, std::move(done));
  }

private:
  std::shared_ptr<saver> inner_;
  int left_;
};

/// START → a → b → c → END; each node calls `body` and appends its name to `log`.
inline compiled_graph three_nodes(std::function<void(const std::string&)> body,
                                  lane where = lane::standard) {
  state_graph<> g{{{"log", append}}};
  for (const char* name : {"a", "b", "c"})
    g.add_node(name,
               [body, name](const state_view&) {
                 body(name);
                 return state_update{{"log", value::list({name})}};
               },
               {.lane = where});
  g.add_edge(START, "a");
  g.add_edge("a", "b");
  g.add_edge("b", "c");
  return g.compile({.name = "three"});
}

inline value words(std::initializer_list<const char*> texts) {
  std::vector<value> out;
  for (auto* t : texts)
    out.emplace_back(t);
  return value::list(std::move(out));
}

} // namespace troupe
