// What the tests of running graphs share: gates that hold bodies, savers that fail, small graphs.
#pragma once

#include <troupe/troupe.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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
  /// How many came so far.
  int came() {
    std::lock_guard lock{mutex_};
    return waiting_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool open_ = false;
};

/// Lets whoever comes first wait for the others. Gives up after a time no test should ever take.
class meeting_point {
public:
  explicit meeting_point(int count) : missing_{count} {}
  /// Whether all came.
  bool meet() {
    std::unique_lock lock{mutex_};
    --missing_;
    changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::seconds{60}, [this] { return missing_ <= 0; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int missing_;
};

/// Forwards to another saver.
class forwarding_saver : public saver {
public:
  explicit forwarding_saver(std::shared_ptr<saver> inner) : inner_{std::move(inner)} {}

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
  result<std::uint64_t> thread_owner(const std::string& thread_id) override {
    return inner_->thread_owner(thread_id);
  }
  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    inner_->submit(std::move(request), when, std::move(done));
  }

private:
  std::shared_ptr<saver> inner_;
};

/// Fails the nth submit, once.
class failing_saver : public forwarding_saver {
public:
  failing_saver(std::shared_ptr<saver> inner, int nth)
    : forwarding_saver{std::move(inner)},
      left_{nth} {}

  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (--left_ == 0)
      return done(error{errc::storage_full, "save: injected"});
    forwarding_saver::submit(std::move(request), when, std::move(done));
  }
  bool failed() const noexcept { return left_ <= 0; }

private:
  std::atomic<int> left_;
};

/// Fails what `refuses` picks.
class picky_saver : public forwarding_saver {
public:
  picky_saver(std::shared_ptr<saver> inner, std::function<bool(const save_request&)> refuses)
    : forwarding_saver{std::move(inner)},
      refuses_{std::move(refuses)} {}

  void submit(save_request request, save_ack when,
              std::function<void(result<void>)> done) override {
    if (refuses_(request))
      return done(error{errc::storage_full, "save: injected"});
    forwarding_saver::submit(std::move(request), when, std::move(done));
  }

private:
  std::function<bool(const save_request&)> refuses_;
};

/// START → the nodes in turn → END; each node calls `body` with its name and appends it to `log`.
inline compiled_graph chain_of(const std::vector<const char*>& nodes, const std::string& name,
                               std::function<void(const std::string&, context&)> body,
                               lane where = lane::standard) {
  state_graph<> g{{{"log", append}}};
  auto before = START;
  for (const char* node : nodes) {
    g.add_node(node,
               [body, node](const state_view&, context& ctx) {
                 body(node, ctx);
                 return state_update{{"log", value::list({node})}};
               },
               {.lane = where});
    g.add_edge(before, node);
    before = node;
  }
  return g.compile({.name = name});
}

/// START → a → b → c → END; each node calls `body` and appends its name to `log`.
inline compiled_graph three_nodes(std::function<void(const std::string&)> body,
                                  lane where = lane::standard) {
  return chain_of(
    {"a", "b", "c"}, "three",
    [body = std::move(body)](const std::string& node, context&) { body(node); }, where);
}

using counter = std::atomic<int>;

inline runtime_options with_memory() {
  return {.saver = make_memory_saver()};
}

inline const schema log_only{{"log", append}};

/// An update that appends to "log".
inline state_update log(const value& what) {
  return {{"log", value::list({what})}};
}

/// An answer to the one question that waits, or by id.
inline command answer(value v) {
  command c;
  c.resume = std::move(v);
  return c;
}

/// The error a run ended with; `ok` for none.
inline errc code_of(const result<run_result>& how) {
  return how ? errc::ok : how.error().code();
}

inline value words(std::initializer_list<const char*> texts) {
  std::vector<value> out;
  for (auto* t : texts)
    out.emplace_back(t);
  return value::list(std::move(out));
}

} // namespace troupe
