// Reflection: memory formed in the background, by a run that starts some time after a conversation.
//
//     troupe::runtime rt;
//     auto later = std::make_shared<troupe::reflection_executor>(rt, memory_graph);
//     auto agent = troupe::create_agent(
//       {.model = model, .middleware = {troupe::reflect_later(later, std::chrono::minutes{5})}});
#pragma once

#include <troupe/agents/agent.hpp>
#include <troupe/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>

namespace troupe {

/// The time and the conversation of a reflection.
/// Shape:  `key` names the conversation, e.g. its thread; empty: the reflection stands for itself.
///         `config` is of the reflector's run.
/// Units:  `after` 0 or more.
/// Errors: see reflection_executor::submit.
/// Source: langmem/reflection.py, LocalReflectionExecutor.submit.
struct reflection_options {
  std::string key = {};
  std::chrono::milliseconds after{0};
  run_config config = {};
};

/// Runs a graph after a delay, in a runtime. A new submission for the same conversation postpones:
/// it replaces the one that still waits. A reflection that has begun runs to its end.
/// Order:  reflections of one conversation may overlap, when one is submitted while another runs.
/// Owns:   the waiting reflections; they are lost with the process.
/// Thread: any; a waiting reflection holds no thread.
/// Errors: see the members.
/// Source: langmem/reflection.py, LocalReflectionExecutor; troupe: the store is the runtime's.
class reflection_executor {
public:
  /// `reflector` is best compiled with checkpointing::none; otherwise each `config` needs a
  /// thread_id.
  /// Errors: throws those of runtime::load.
  reflection_executor(runtime& rt, const compiled_graph& reflector);
  reflection_executor(const reflection_executor&) = delete;
  reflection_executor& operator=(const reflection_executor&) = delete;
  /// As shutdown(), without waiting.
  ~reflection_executor();

  /// Submits a reflection on `input`, and gives its future result.
  /// Errors: the result is the reflector's error, or `cancelled` for a reflection that was replaced
  ///         or cancelled. Throws error{invalid_config} for a negative delay, and
  ///         error{runtime_stopped} after shutdown().
  std::shared_future<result<run_result>> submit(run_input input, reflection_options options = {});
  /// Drops the waiting reflection of a conversation. Result: whether one waited.
  bool cancel(const std::string& key);
  /// The number of reflections that wait.
  std::size_t waiting() const;
  /// Drops the reflections that wait; with `wait`, blocks until those that run have ended.
  void shutdown(bool wait = false);

private:
  struct book;
  std::shared_ptr<book> book_;
};

/// Submits the conversation {messages: …} when an agent has answered. A new run on the thread
/// postpones the reflection when it ends.
/// Shape:  the key is the thread's id; `config` is of the reflector's runs.
/// Errors: throws error{invalid_config} without an executor, and for a negative delay. A run fails
///         with runtime_stopped after shutdown().
/// Source: langmem/reflection.py, ReflectionExecutor.
middleware reflect_later(std::shared_ptr<reflection_executor> executor,
                         std::chrono::milliseconds after, run_config config = {});

} // namespace troupe
