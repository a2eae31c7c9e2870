// See postgres_server.hpp. A file of test_persistence, the program whose tests need the server.
#include "tests/persistence/postgres/postgres_server.hpp"

#include "tests/fixtures/savers.hpp"

#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace troupe::test {

namespace {

namespace fs = std::filesystem;

// Debian's newest, if any.
fs::path find_programs() {
  fs::path found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator{"/usr/lib/postgresql", none})
    if (fs::exists(entry.path() / "bin/initdb"))
      found = std::max(found, entry.path() / "bin");
  return found;
}

// Postgres does not run as root: then it runs as nobody.
const passwd* server_user() {
  return geteuid() == 0 ? getpwnam("nobody") : nullptr;
}

// Starts a program whose output goes to a pipe, and which does not outlive us.
struct started {
  pid_t pid = -1;
  int output = -1;
};

started start_program(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const auto& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const auto* user = server_user();
  auto parent = getpid();
  int ends[2];
  BOOST_REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  auto pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    if (user && (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
      _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); // after setuid, which would take it back
    if (getppid() == parent && chdir("/") == 0)
      execv(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  BOOST_REQUIRE(pid > 0);
  return {pid, ends[0]};
}

// Reads until the output contains `text` or ends; all of it.
std::string read_until(int output, std::string_view text) {
  std::string all;
  char piece[4096];
  while (all.find(text) == all.npos) {
    auto n = read(output, piece, sizeof piece);
    if (n <= 0)
      break;
    all.append(piece, static_cast<std::size_t>(n));
  }
  return all;
}

} // namespace

struct postgres_server::state {
  temporary_directory dir;
  fs::path programs = find_programs();
  fs::path data = dir.path() / "data";
  started server;
  std::thread drain;
  PGconn* beside = nullptr;
  bool is_made = false;
  int schemas = 0;
};

postgres_server& postgres_server::of_this_program() {
  static postgres_server server;
  return server;
}

postgres_server::postgres_server() : state_{std::make_unique<state>()} {
  auto& s = *state_;
  BOOST_REQUIRE_MESSAGE(!s.programs.empty(), "no Postgres server: tools/setup installs it");
  if (const auto* user = server_user())
    BOOST_REQUIRE(chown(s.dir.path().c_str(), user->pw_uid, user->pw_gid) == 0);
  auto made = start_program({s.programs / "initdb", "--pgdata", s.data, "--username", "postgres",
                             "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync",
                             "--no-instructions"});
  auto said = read_until(made.output, std::string_view{"\0", 1});
  close(made.output);
  int status = 0;
  waitpid(made.pid, &status, 0);
  BOOST_REQUIRE_MESSAGE(status == 0, "initdb: " + said);
  std::ifstream trusted{s.data / "pg_hba.conf"};
  std::string rules{std::istreambuf_iterator<char>{trusted}, {}};
  std::ofstream{s.data / "pg_hba.conf"} << "local all guarded scram-sha-256\n" << rules;
  start();
  run("CREATE ROLE troupe LOGIN");
  run("CREATE ROLE guarded LOGIN PASSWORD 'right'");
  run("CREATE ROLE guest LOGIN");
  run("CREATE DATABASE troupe OWNER troupe");
  state_->is_made = true;
  PQfinish(std::exchange(state_->beside, nullptr)); // from now on in that database
}

postgres_server::~postgres_server() {
  stop();
}

void postgres_server::start() {
  auto& s = *state_;
  std::vector<std::string> command{s.programs / "postgres", "-D", s.data, "-k", s.dir.path()};
  for (const auto* setting :
       {"listen_addresses=", "fsync=off", "full_page_writes=off", "shared_buffers=16MB",
        "max_connections=50", "autovacuum=off", "lc_messages=C", "synchronous_commit=local",
        "synchronous_standby_names=nobody"})
    command.insert(command.end(), {"-c", setting});
  s.server = start_program(command);
  auto said = read_until(s.server.output, "ready to accept connections");
  BOOST_REQUIRE_MESSAGE(said.find("ready to accept connections") != said.npos, "postgres: " + said);
  s.drain = std::thread{[output = s.server.output] {
    read_until(output, std::string_view{"\0", 1});
  }};
}

void postgres_server::stop() {
  auto& s = *state_;
  if (s.server.pid > 0) {
    kill(s.server.pid, SIGQUIT);
    waitpid(s.server.pid, nullptr, 0);
    s.drain.join();
    close(s.server.output);
    s.server = {};
  }
  // Only now: what run() holds must not be let go before those that wait for it are dead.
  PQfinish(std::exchange(s.beside, nullptr));
}

std::string postgres_server::conninfo(const std::string& user, const std::string& db) const {
  return "host=" + state_->dir.path().string() + " user=" + user + " dbname=" + db;
}

postgres_options postgres_server::fresh_options() {
  return {.conninfo = conninfo(), .schema = "t" + std::to_string(++state_->schemas)};
}

std::string postgres_server::run(const std::string& sql) {
  auto*& beside = state_->beside;
  if (!beside)
    beside = PQconnectdb(conninfo("postgres", state_->is_made ? "troupe" : "postgres").c_str());
  auto* done = PQexec(beside, sql.c_str());
  auto status = PQresultStatus(done);
  std::string answer = PQntuples(done) > 0 ? PQgetvalue(done, 0, 0) : "";
  PQclear(done);
  BOOST_REQUIRE_MESSAGE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK,
                        sql + ": " + PQerrorMessage(beside));
  return answer;
}

// A transaction keeps its first view of other processes, unless it asks for a new one.
std::string postgres_server::waiting_process(const std::string& event) {
  for (;;) {
    run("SELECT pg_stat_clear_snapshot()");
    if (auto pid = run("SELECT pid FROM pg_stat_activity WHERE '" + event
                       + "' IN (wait_event_type, wait_event) AND usename = 'troupe' LIMIT 1");
        !pid.empty())
      return pid;
  }
}

void postgres_server::terminate(const std::string& process) {
  run("SELECT pg_terminate_backend(" + process + ", 5000)");
}

// A commit is done before it waits for a standby, which is missing here.
void postgres_server::withhold_answers(bool is_on) {
  run(std::string{"ALTER ROLE troupe "}
      + (is_on ? "SET synchronous_commit = on" : "RESET synchronous_commit"));
}

void postgres_server::terminate_all() {
  run("SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
      "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
}

} // namespace troupe::test
