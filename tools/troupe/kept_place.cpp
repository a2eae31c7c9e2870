// See kept_place.hpp.
#include "tools/troupe/kept_place.hpp"

#include "tools/troupe/commands.hpp"
#include "tools/troupe/parts.hpp"
#include "tools/troupe/terminal.hpp"

#include <troupe/keyring.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace troupe::cli {

namespace {

// libpq's keyword, or the second part of what comes before a URI's host.
bool has_password(const std::string& conninfo) {
  if (auto scheme = conninfo.find("://"); scheme != std::string::npos) {
    auto host = conninfo.find('@', scheme + 3);
    auto colon = conninfo.find(':', scheme + 3);
    if (host != std::string::npos && colon < host)
      return true;
  }
  return conninfo.find("password") != std::string::npos
         && conninfo.find("passfile") == std::string::npos;
}

std::string no_password(const std::string& conninfo) {
  return has_password(conninfo) ? "a password must not be on the command line, which others can "
                                  "read: use ~/.pgpass, PGPASSWORD or "
                                    + std::string{postgres_variable}
                                : "";
}

} // namespace

void kept_place::read_environment() {
  if (!is_somewhere())
    if (const char* given = std::getenv(postgres_variable))
      postgres = given;
}

void kept_place::use_default() {
  if (!is_somewhere())
    data = data_dir_default;
}

std::string kept_place::text() const {
  if (postgres.empty())
    return data;
  return has_password(postgres) ? "Postgres" : "Postgres (" + one_line(postgres) + ")";
}

std::string kept_place::flags() const {
  if (postgres.empty())
    return "--data " + shell_word(data);
  return has_password(postgres) ? "--postgres CONNINFO" : "--postgres " + shell_word(postgres);
}

std::string kept_place::threads_command() const {
  return "troupe threads " + flags();
}

runtime_options kept_place::options() const {
  if (postgres.empty())
    return {.data_dir = data};
  runtime_options out;
  postgres_options database{.conninfo = postgres, .keyring = keyring::from_environment().value()};
  out.saver = load_postgres().open_saver(database).value();
  out.store = load_postgres().open_store(database, {}).value();
  return out;
}

std::shared_ptr<saver> kept_place::saver_to_look() {
  read_environment();
  use_default();
  return postgres.empty()
           ? open_saver_to_look(data)
           : load_postgres()
               .open_saver({.conninfo = postgres, .keyring = keyring::from_environment().value()})
               .value();
}

bool kept_place::could_be_made() const {
  namespace fs = std::filesystem;
  std::error_code why;
  return !data.empty() && fs::status(data, why).type() == fs::file_type::not_found
         && fs::is_directory(fs::absolute(data, why).parent_path(), why);
}

void kept_place::expect_there() const {
  if (postgres.empty())
    expect_data_dir(data);
}

error kept_place::unknown_thread(const std::string& thread) const {
  return {errc::missing_key,
          "unknown thread: " + thread + ": " + threads_command() + " lists the known threads"};
}

std::shared_ptr<kept_place> add_kept_place(CLI::App& command, const std::string& about) {
  auto out = std::make_shared<kept_place>();
  auto* data = command.add_option("--data", out->data, about);
  data->type_name("DIR");
  command
    .add_option("--postgres", out->postgres,
                std::string{"Or a Postgres database, as libpq's keywords or URI; default: "}
                  + postgres_variable)
    ->type_name("CONNINFO")
    ->check(no_password)
    ->excludes(data);
  return out;
}

std::string thread_name(const std::string& text) {
  if (text.empty())
    return "the name of a thread must not be empty";
  return std::ranges::any_of(text, [](unsigned char c) { return std::iscntrl(c) != 0; })
           ? "the name of a thread must not have control characters, such as line breaks: "
               + one_line(text)
           : "";
}

} // namespace troupe::cli
