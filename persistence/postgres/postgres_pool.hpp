// postgres_pool: the connections of many threads. They are opened when needed, kept, and replaced
// when they are lost.
#pragma once

#include "persistence/postgres/postgres_connection.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

/// Thread: any.
class postgres_pool {
public:
  explicit postgres_pool(postgres_options options) : options_{std::move(options)} {}

  /// Calls `fn(connection)`, which returns a result, on a connection that no other thread uses.
  /// When the connection was lost, or another transaction caused the failure, `fn` is called once
  /// more on a new connection. Repeating it must do no harm.
  /// Blocks: while all are in use, at most statement_timeout.
  /// Errors: overloaded when none became free.
  template <class Fn> auto with(Fn fn) -> decltype(fn(std::declval<postgres_connection&>())) {
    for (auto may_repeat = true;; may_repeat = false) {
      auto lent = take();
      if (!lent)
        return lent.error();
      auto answer = fn(**lent);
      auto failure = (*lent)->failure();
      give_back(std::move(*lent));
      if (answer || !may_repeat || failure == postgres_failure::none
          || failure == postgres_failure::statement)
        return answer;
    }
  }

private:
  result<std::unique_ptr<postgres_connection>> take();
  void give_back(std::unique_ptr<postgres_connection> connection);

  const postgres_options options_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<postgres_connection>> idle_;
  std::size_t open_ = 0; // idle or lent
};

} // namespace troupe
