// A Postgres server for the tests: in a temporary directory, on a Unix socket, started when the
// first test asks for it and stopped at the end of the program, however that comes.
#pragma once

#include <troupe/postgres.hpp>

#include <memory>
#include <string>

namespace troupe::test {

class postgres_server {
public:
  /// The program's server. A test that can't get one fails with the reason.
  static postgres_server& of_this_program();
  ~postgres_server();

  /// How to reach database `db` as user `user`.
  std::string conninfo(const std::string& user = "troupe", const std::string& db = "troupe") const;
  /// Options for a schema that no test had before.
  postgres_options fresh_options();

  /// Runs a statement beside the savers, as the superuser; its first column's first row.
  std::string run(const std::string& sql);
  /// Waits until a connection of user `troupe` waits for a lock that run() holds, or, while answers
  /// are withheld, for the end of its commit; its server process.
  std::string waiting_process(const std::string& event = "Lock");
  /// Ends a server process.
  void terminate(const std::string& process);
  /// Ends all server connections but the one of run().
  void terminate_all();
  /// Whether connections of user `troupe` that are opened from now on hear nothing of a commit that
  /// was done, until they are terminated.
  void withhold_answers(bool is_on);

  /// Stops the server as a crash would; start() brings it back.
  void stop();
  void start();

private:
  postgres_server();
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe::test
