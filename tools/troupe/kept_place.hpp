// Where threads are kept: the flags --data and --postgres, and what they open.
#pragma once

#include <troupe/runtime.hpp>

#include <memory>
#include <string>

namespace CLI {
class App;
} // namespace CLI

namespace troupe::cli {

inline constexpr const char* data_dir_default = ".troupe";
inline constexpr const char* postgres_variable = "TROUPE_POSTGRES";

/// A data directory, a Postgres database, or nowhere.
struct kept_place {
  std::string data;     ///< --data
  std::string postgres; ///< --postgres, else TROUPE_POSTGRES where --data was not given

  /// Takes TROUPE_POSTGRES where neither flag was given. Called before the members below.
  void read_environment();
  bool is_somewhere() const noexcept { return !data.empty() || !postgres.empty(); }
  /// The data directory data_dir_default, unless there is a place.
  void use_default();

  /// For people: the directory, or the database without a password.
  std::string text() const;
  /// The flags that name it, for a command line: "--data DIR".
  std::string flags() const;
  /// How a list of its threads is had: "troupe threads --data DIR".
  std::string threads_command() const;

  /// The saver, and the store for long-term memory, of a runtime.
  /// Errors: throws error, as open_postgres_saver.
  runtime_options options() const;
  /// The saver alone, for a command that only looks: of the default directory where no place was
  /// given, with the keys that the environment names. It works where this user may not write.
  /// Errors: throws error (invalid_config and storage codes), as expect_there.
  std::shared_ptr<saver> saver_to_look();
  /// Whether it is a data directory that does not exist yet, in a folder that does.
  /// Errors: none.
  bool could_be_made() const;
  /// Fails unless threads are kept there: a command that only looks makes nothing.
  /// Errors: throws error{storage_failed}.
  void expect_there() const;
  /// The error for a thread without a checkpoint.
  error unknown_thread(const std::string& thread) const;
};

/// Adds --data, with this help, and --postgres.
std::shared_ptr<kept_place>
add_kept_place(CLI::App& command, const std::string& about = std::string{"Where threads are kept; "}
                                                             + data_dir_default + " when left out");

/// A check for flags that name a thread: not empty, no control characters.
std::string thread_name(const std::string& text);

} // namespace troupe::cli
