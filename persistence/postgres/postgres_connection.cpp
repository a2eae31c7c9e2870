// postgres_connection: sending statements and reading answers through libpq. A message may quote
// the server, or libpq about the host. It never quotes the conninfo, nor libpq about a conninfo
// that it can't read.
#include "persistence/postgres/postgres_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace troupe {

namespace {

constexpr std::size_t unsent_bytes_max = 64u << 10;

std::string first_line(std::string_view text) {
  return std::string{text.substr(0, text.find('\n'))};
}

std::string milliseconds_text(std::chrono::milliseconds n) {
  return std::to_string(n.count());
}

// Whether poll() found an event before `until`; false: time is up.
bool wait_for(int socket, short events, std::chrono::steady_clock::time_point until) {
  for (;;) {
    auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd at{socket, events, 0};
    auto n = poll(&at, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n > 0 || (n < 0 && errno != EINTR))
      return true; // a broken socket: libpq notices it
    if (n == 0)
      return false;
  }
}

// Whether a password may not be percent-encoded. It could then become part of the host that libpq
// reads, and so of its messages.
bool has_stray_delimiter(std::string_view conninfo) {
  auto scheme = conninfo.find("://");
  if (!conninfo.starts_with("postgres") || scheme == conninfo.npos)
    return false;
  auto rest = conninfo.substr(scheme + 3);
  auto at = rest.rfind('@');
  return at != rest.npos && rest.find_first_of("/?#@") < at;
}

struct free_options {
  void operator()(PQconninfoOption* o) const noexcept { PQconninfoFree(o); }
};

} // namespace

// ---- failures and options -----------------------------------------------------------------------

postgres_failure kind_of_failure(std::string_view sqlstate) noexcept {
  if (sqlstate == "40001" || sqlstate == "40P01")
    return postgres_failure::repeat;
  if (sqlstate.empty() || sqlstate.starts_with("08") || sqlstate.starts_with("57P")
      || sqlstate == "25P03")
    return postgres_failure::lost;
  return postgres_failure::statement;
}

error postgres_error(std::string_view sqlstate, std::string_view message) {
  auto code = errc::storage_failed;
  std::string_view advice;
  if (sqlstate == "53100") {
    code = errc::storage_full;
    advice = ": the server's disk is full";
  } else if (sqlstate == "55P03") {
    code = errc::storage_locked;
    advice = ": another transaction held it for longer than lock_timeout";
  } else if (sqlstate == "57014") {
    advice = ": it took longer than statement_timeout";
  } else if (sqlstate == "28P01" || sqlstate == "28000") {
    advice = ": check user and password";
  } else if (sqlstate == "3D000") {
    advice = ": create the database first";
  } else if (sqlstate == "42501") {
    advice = ": grant the user CREATE on the database, or all on an existing schema's tables";
  } else if (sqlstate == "25006") {
    advice = ": the server is a standby: connect to the primary "
             "(target_session_attrs=read-write)";
  } else if (sqlstate == "53300") {
    advice = ": lower pool_size or raise the server's max_connections";
  }
  std::string text = first_line(message);
  if (!sqlstate.empty())
    text.append(" (").append(sqlstate).append(")");
  return {code, "Postgres: " + text.append(advice)};
}

result<void> check_options(const postgres_options& options) {
  auto refused = [](std::string why) {
    return error{errc::invalid_config, "open a Postgres database: " + std::move(why)};
  };
  const auto& schema = options.schema;
  if (schema.empty() || schema.size() > limits::postgres_schema_bytes_max
      || schema.find('\0') != schema.npos)
    return refused("the schema's name must have 1 to "
                   + std::to_string(limits::postgres_schema_bytes_max) + " bytes and no NUL");
  if (options.pool_size == 0 || options.pool_size > limits::postgres_pool_size_max)
    return refused("pool_size is " + std::to_string(options.pool_size) + ", not 1 to "
                   + std::to_string(limits::postgres_pool_size_max));
  if (options.connect_timeout.count() <= 0 || options.statement_timeout.count() <= 0
      || options.lock_timeout.count() <= 0)
    return refused("a time-out is not positive");
  if (options.conninfo.find('\0') != options.conninfo.npos)
    return refused("conninfo contains a NUL");
  if (has_stray_delimiter(options.conninfo))
    return refused("the URI has /, ?, # or another @ before its last @: percent-encode them");
  char* why = nullptr; // may quote the password
  std::unique_ptr<PQconninfoOption, free_options> read{
    PQconninfoParse(options.conninfo.c_str(), &why)};
  PQfreemem(why);
  if (!read)
    return refused("libpq can't read conninfo (not shown: it may hold a password); it is "
                   "\"keyword=value …\" or postgresql://user:password@host/database");
  return {};
}

std::string quoted_identifier(std::string_view name) {
  std::string out{"\""};
  for (auto c : name)
    out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

// ---- opening ------------------------------------------------------------------------------------

postgres_connection::postgres_connection(PGconn* connection, const postgres_options& options)
  : connection_{connection},
    patience_{options.statement_timeout + limits::postgres_silence_margin} {}

postgres_connection::~postgres_connection() = default;

result<std::unique_ptr<postgres_connection>>
postgres_connection::open(const postgres_options& options) {
  if (auto ok = check_options(options); !ok)
    return ok.error();
  const char* keywords[] = {"dbname", "fallback_application_name", nullptr};
  const char* values[] = {options.conninfo.c_str(), "troupe", nullptr};
  auto* started = PQconnectStartParams(keywords, values, 1);
  if (!started)
    return error{errc::storage_failed, "connect to Postgres: out of memory"};
  std::unique_ptr<postgres_connection> self{new postgres_connection{started, options}};
  PQsetNoticeProcessor(
    started, [](void*, const char*) {}, nullptr);
  if (auto ok = self->connect(options.connect_timeout); !ok)
    return ok.error();
  if (auto ok = self->set_up(options); !ok)
    return ok.error();
  return self;
}

result<void> postgres_connection::connect(std::chrono::milliseconds timeout) {
  auto* c = connection_.get();
  auto until = clock::now() + timeout;
  auto state = PQstatus(c) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED) {
      std::string_view said{PQerrorMessage(c)};
      std::string_view sqlstate;
      if (said.find("password authentication failed") != said.npos
          || said.find("no password supplied") != said.npos)
        sqlstate = "28P01";
      else if (said.find("database \"") != said.npos && said.find("does not exist") != said.npos)
        sqlstate = "3D000";
      auto why = postgres_error(sqlstate, said);
      return fail(postgres_failure::lost, {why.code(), "connect to " + why.message()});
    }
    if (!wait_for(PQsocket(c), state == PGRES_POLLING_READING ? POLLIN : POLLOUT, until))
      return fail(postgres_failure::lost,
                  {errc::storage_failed, "connect to Postgres: no answer within "
                                           + milliseconds_text(timeout) + " ms" + place()});
    state = PQconnectPoll(c);
  }
  return {};
}

// A new table looks small to the planner, which would still scan it when it has grown; so scans are
// disabled. Every statement here has an index.
result<void> postgres_connection::set_up(const postgres_options& options) {
  auto* c = connection_.get();
  if (PQsetnonblocking(c, 1) != 0 || PQenterPipelineMode(c) != 1)
    return lost("can't use pipeline mode");
  using setting = std::pair<std::string_view, std::string>;
  const setting settings[] = {
    {"statement_timeout", milliseconds_text(options.statement_timeout)},
    {"lock_timeout", milliseconds_text(options.lock_timeout)},
    {"idle_in_transaction_session_timeout",
     milliseconds_text(limits::postgres_idle_in_transaction)},
    {"default_transaction_isolation", "'read committed'"},
    {"enable_seqscan", "off"},
    {"jit", "off"},
  };
  for (const auto& [name, text] : settings)
    if (auto ok = send_once("SET " + std::string{name} + " = " + text); !ok)
      return ok;
  auto done = finish();
  return done ? result<void>{} : done.error();
}

// ---- statements ---------------------------------------------------------------------------------

result<void> postgres_connection::send(const postgres_statement& statement,
                                       const postgres_params& params) {
  if (!is_usable())
    return *why_;
  auto [known, is_new] = prepared_.try_emplace(&statement, "t" + std::to_string(prepared_.size()));
  if (is_new)
    if (auto ok = prepare(statement, known->second); !ok)
      return ok;
  return sent(PQsendQueryPrepared(connection_.get(), known->second.c_str(), params.count(),
                                  params.values(), params.lengths(), params.formats(), 1),
              params.size(), true);
}

result<void> postgres_connection::prepare(const postgres_statement& statement,
                                          const std::string& name) {
  return sent(PQsendPrepare(connection_.get(), name.c_str(), statement.sql.c_str(), 0, nullptr),
              statement.sql.size(), false);
}

result<void> postgres_connection::send_once(const std::string& sql) {
  if (!is_usable())
    return *why_;
  return sent(PQsendQueryParams(connection_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr,
                                nullptr, 1),
              sql.size(), true);
}

// Small statements are gathered, so that they leave together.
result<void> postgres_connection::sent(int ok, std::size_t bytes, bool is_asked_for) {
  if (ok != 1)
    return lost("can't send");
  queued_.push_back(is_asked_for);
  unsent_bytes_ += bytes;
  return unsent_bytes_ < unsent_bytes_max ? result<void>{} : flush();
}

// The server may be unable to read on before its answers have been read here.
result<void> postgres_connection::flush() {
  for (;;) {
    auto left = PQflush(connection_.get());
    if (left == 0) {
      unsent_bytes_ = 0;
      return {};
    }
    if (left < 0)
      return lost("can't send");
    if (auto ok = wait(POLLIN | POLLOUT); !ok)
      return ok;
  }
}

result<void> postgres_connection::wait(short events) {
  auto* c = connection_.get();
  if (!wait_for(PQsocket(c), events, clock::now() + patience_))
    return lost("the server was silent for " + milliseconds_text(patience_) + " ms");
  if (PQconsumeInput(c) != 1)
    return lost(first_line(PQerrorMessage(c)));
  return {};
}

result<PGresult*> postgres_connection::next_result() {
  auto* c = connection_.get();
  while (PQisBusy(c) == 1) {
    if (auto ok = flush(); !ok)
      return ok.error();
    if (PQisBusy(c) == 1)
      if (auto ok = wait(POLLIN); !ok)
        return ok.error();
  }
  return PQgetResult(c);
}

result<std::vector<postgres_rows>> postgres_connection::finish() {
  if (!is_usable())
    return *why_;
  if (PQpipelineSync(connection_.get()) != 1)
    return lost("can't send");
  if (auto ok = flush(); !ok)
    return ok.error();
  std::vector<postgres_rows> answers;
  auto queued = std::exchange(queued_, {});
  std::size_t seen = 0;
  for (auto was_null = false;;) {
    auto next = next_result();
    if (!next)
      return next.error();
    if (!*next) { // the end of one statement's answer; a second one means that no more follows
      if (std::exchange(was_null, true))
        return lost("the connection ended");
      continue;
    }
    was_null = false;
    postgres_rows rows{*next};
    switch (PQresultStatus(*next)) {
      case PGRES_PIPELINE_SYNC: return answers;
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK:
        if (seen < queued.size() && queued[seen])
          answers.push_back(std::move(rows));
        ++seen;
        break;
      default: {
        const char* state = PQresultErrorField(*next, PG_DIAG_SQLSTATE);
        const char* said = PQresultErrorField(*next, PG_DIAG_MESSAGE_PRIMARY);
        auto why = postgres_error(state ? state : "", said ? said : PQresultErrorMessage(*next));
        return fail(kind_of_failure(state ? state : ""), {why.code(), why.message() + place()});
      }
    }
  }
}

result<postgres_rows> postgres_connection::ask(const postgres_statement& statement,
                                               const postgres_params& params) {
  if (auto ok = send(statement, params); !ok)
    return ok.error();
  auto answers = finish();
  if (!answers)
    return answers.error();
  return std::move(answers->back());
}

result<bool> postgres_connection::wait_for_notification(int stop,
                                                        std::chrono::milliseconds timeout) {
  if (!is_usable())
    return *why_;
  auto* c = connection_.get();
  auto take_all = [c] {
    auto found = false;
    for (auto* one = PQnotifies(c); one; one = PQnotifies(c), found = true)
      PQfreemem(one);
    return found;
  };
  if (take_all()) // arrived with an answer
    return true;
  pollfd at[] = {{PQsocket(c), POLLIN, 0}, {stop, POLLIN, 0}};
  if (poll(at, 2, static_cast<int>(timeout.count())) <= 0 || at[0].revents == 0)
    return false;
  if (PQconsumeInput(c) != 1)
    return lost(first_line(PQerrorMessage(c)));
  return take_all();
}

// ---- failing ------------------------------------------------------------------------------------

error postgres_connection::fail(postgres_failure kind, error why) {
  failure_ = kind;
  why_ = std::move(why);
  return *why_;
}

error postgres_connection::lost(std::string_view what) {
  return fail(postgres_failure::lost,
              {errc::storage_failed, "Postgres: connection lost: " + std::string{what} + place()});
}

std::string postgres_connection::place() const {
  auto* c = connection_.get();
  const char* host = PQhost(c);
  const char* db = PQdb(c);
  std::string text;
  if (db && *db)
    text += ": database `" + std::string{db} + "`";
  if (host && *host)
    text += " at " + std::string{host};
  return text;
}

} // namespace troupe
