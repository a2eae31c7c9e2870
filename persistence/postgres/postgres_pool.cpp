// postgres_pool: lending and taking back connections.
#include "persistence/postgres/postgres_pool.hpp"

namespace troupe {

result<std::unique_ptr<postgres_connection>> postgres_pool::take() {
  {
    std::unique_lock lock{mutex_};
    auto is_free = [this] { return !idle_.empty() || open_ < options_.pool_size; };
    if (!returned_.wait_for(lock, options_.statement_timeout, is_free))
      return error{errc::overloaded, "use Postgres: all " + std::to_string(open_)
                                       + " connections are in use: raise pool_size"};
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    ++open_;
  }
  auto opened = postgres_connection::open(options_);
  if (!opened)
    give_back(nullptr);
  return opened;
}

// A connection that failed is closed, and so rolled back. When it was lost, the idle ones usually
// are, too.
void postgres_pool::give_back(std::unique_ptr<postgres_connection> connection) {
  {
    std::scoped_lock lock{mutex_};
    auto was_lost = connection && connection->failure() == postgres_failure::lost;
    if (connection && connection->is_idle())
      idle_.push_back(std::move(connection));
    else
      --open_;
    if (was_lost) {
      open_ -= idle_.size();
      idle_.clear();
    }
  }
  returned_.notify_all();
}

} // namespace troupe
