// troupe threads: what is kept in a data directory.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/terminal.hpp"

#include <troupe/keyring.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace troupe::cli {

namespace {

std::string line_of(const thread_info& t) {
  std::vector<std::pair<std::string_view, std::string>> members{
    {"thread", to_json(t.thread_id)},
    {"checkpoint_id", to_json(t.checkpoint_id)},
    {"ts", to_json(t.ts)},
    {"checkpoints", std::to_string(t.checkpoints)},
    {"bytes", std::to_string(t.bytes)}};
  if (!t.damage.empty())
    members.emplace_back("damage", to_json(t.damage));
  return json_line("thread", members);
}

int list_threads(kept_place& place, bool json) {
  auto threads = place.saver_to_look()->threads().value();
  terminal out{STDOUT_FILENO};
  std::size_t width = 0;
  for (const auto& t : threads)
    width = std::max(width, t.thread_id.size());
  for (const auto& t : threads) {
    if (json) {
      print_line(line_of(t));
      continue;
    }
    auto id = one_line(t.thread_id);
    id.resize(width, ' ');
    std::cout << out.paint(style::bold, id) << "  ";
    if (t.damage.empty())
      std::cout << t.ts << "  " << t.checkpoints
                << (t.checkpoints == 1 ? " checkpoint  " : " checkpoints  ") << bytes_text(t.bytes);
    else
      std::cout << "damaged: " << t.damage;
    std::cout << "\n";
  }
  if (threads.empty() && !json)
    std::cerr << "no threads in " << place.text() << "\n";
  auto damaged = std::ranges::count_if(threads, [](const auto& t) { return !t.damage.empty(); });
  if (damaged > 0)
    throw error{errc::checkpoint_corrupt,
                "list the threads: " + std::to_string(damaged) + " of "
                  + std::to_string(threads.size())
                  + " damaged: `troupe store check` names what; restore them from a backup"};
  return 0;
}

bool may_write(const std::filesystem::path& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

} // namespace

std::shared_ptr<saver> open_saver(const std::filesystem::path& dir) {
  return open_lmdb_saver(dir, {.keyring = keyring::from_environment().value()}).value();
}

std::shared_ptr<saver> open_saver_to_look(const std::filesystem::path& dir) {
  expect_data_dir(dir);
  lmdb_saver_options options;
  options.keyring = keyring::from_environment().value();
  options.read_only = !may_write(dir) || !may_write(dir / "troupe.mdb");
  return open_lmdb_saver(dir, options).value();
}

void expect_data_dir(const std::filesystem::path& dir) {
  std::error_code why;
  auto status = std::filesystem::status(dir, why);
  auto fail = [&](const std::string& what) {
    throw error{errc::storage_failed, what + ": " + dir.string()
                                        + (why == std::errc::permission_denied
                                             ? ": let this user read the directory and its files"
                                             : ": name the directory that was used with --data")};
  };
  if (!std::filesystem::exists(status))
    fail(status.type() == std::filesystem::file_type::not_found
           ? "the data directory does not exist"
           : why.message());
  if (!std::filesystem::is_directory(status))
    fail("not a data directory, but a file");
  if (!std::filesystem::exists(dir / "troupe.mdb", why))
    fail(why ? why.message() : "no threads were ever kept in this directory");
}

std::shared_ptr<std::string> add_data_dir(CLI::App& command) {
  auto data_dir = std::make_shared<std::string>(data_dir_default);
  command.add_option("--data", *data_dir, "Where threads are kept")
    ->type_name("DIR")
    ->capture_default_str();
  return data_dir;
}

void add_threads(CLI::App& app, chosen_command& chosen) {
  auto* command = app.add_subcommand("threads", "List the threads kept in a data directory");
  auto place = add_kept_place(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->callback([&chosen, place] {
    chosen.run = [&chosen, place] { return list_threads(*place, chosen.json); };
  });
}

} // namespace troupe::cli
