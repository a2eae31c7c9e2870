// troupe store: looks after what is kept in a data directory.
#include "persistence/record/timestamp_text.hpp"
#include "tools/troupe/commands.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/number_checks.hpp"
#include "tools/troupe/terminal.hpp"

#include <troupe/data_dir.hpp>
#include <troupe/keyring.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

namespace troupe::cli {

namespace {

// ---- stats --------------------------------------------------------------------------------------

int print_stats(const std::string& data_dir, bool json) {
  expect_data_dir(data_dir);
  auto stats = stat_data(data_dir).value();
  if (json) {
    std::vector<value::map_init> kinds;
    for (const auto& r : stats.records)
      kinds.emplace_back(r.kind, value::map({{"records", static_cast<std::int64_t>(r.records)},
                                             {"bytes", static_cast<std::int64_t>(r.bytes)}}));
    print_line(json_line("stats", {{"file_bytes", std::to_string(stats.file_bytes)},
                                   {"used_bytes", std::to_string(stats.used_bytes)},
                                   {"file_bytes_max", std::to_string(stats.file_bytes_max)},
                                   {"threads", std::to_string(stats.threads)},
                                   {"readers", std::to_string(stats.readers)},
                                   {"records", to_json(value::map(std::move(kinds)))}}));
    return 0;
  }
  std::cout << "file       " << bytes_text(stats.file_bytes) << ", of which "
            << bytes_text(stats.used_bytes) << " are used; it may grow to "
            << bytes_text(stats.file_bytes_max) << "\n"
            << "threads    " << stats.threads << "\n"
            << "readers    " << stats.readers << "\n";
  for (const auto& r : stats.records) {
    auto kind = r.kind;
    kind.resize(std::max<std::size_t>(kind.size(), 10), ' ');
    std::cout << kind << " " << r.records << (r.records == 1 ? " record, " : " records, ")
              << bytes_text(r.bytes) << "\n";
  }
  return 0;
}

// ---- check --------------------------------------------------------------------------------------

check_progress progress_on(const terminal& err) {
  if (!err.is_tty())
    return {};
  return [](std::size_t done, std::size_t all) {
    std::fprintf(stderr, "\r\33[K%zu of %zu records%s", done, all, done < all ? "" : "\r\33[K");
  };
}

void print_report(const data_report& report) {
  terminal out{STDOUT_FILENO};
  for (const auto& damage : report.damages)
    std::cout << out.paint(style::red, "damaged") << "  " << one_line(damage.where) << ": "
              << one_line(damage.what) << "\n";
  if (report.damaged > report.damages.size())
    std::cout << "… and " << report.damaged - report.damages.size() << " more\n";
  std::cout << report.records << " records, " << report.checkpoints << " checkpoints, "
            << report.damaged << " damaged\n";
  auto note = [](std::size_t count, const char* what) {
    if (count > 0)
      std::cout << count << " " << what << "\n";
  };
  note(report.unused_values, "values that no checkpoint has: `troupe store prune` removes them");
  note(report.removed_parents, "checkpoints whose parent was removed");
  note(report.lone_writes, "records of writes that no checkpoint has");
  note(report.locked_threads,
       "encrypted threads whose key is missing: only checksums were checked of them");
}

int check(const std::string& data_dir, bool json) {
  expect_data_dir(data_dir);
  auto report = check_data(data_dir, progress_on(terminal{STDERR_FILENO}),
                           keyring::from_environment().value())
                  .value();
  if (!json) {
    print_report(report);
    return report.damaged == 0 ? 0 : 5;
  }
  for (const auto& damage : report.damages)
    print_line(
      json_line("damage", {{"where", to_json(damage.where)}, {"what", to_json(damage.what)}}));
  print_line(json_line("check", {{"records", std::to_string(report.records)},
                                 {"checkpoints", std::to_string(report.checkpoints)},
                                 {"damaged", std::to_string(report.damaged)},
                                 {"unused_values", std::to_string(report.unused_values)},
                                 {"removed_parents", std::to_string(report.removed_parents)},
                                 {"lone_writes", std::to_string(report.lone_writes)},
                                 {"locked_threads", std::to_string(report.locked_threads)}}));
  return report.damaged == 0 ? 0 : 5;
}

// ---- copies -------------------------------------------------------------------------------------

int copy(const std::string& data_dir, const std::string& to, bool compact, bool json) {
  expect_data_dir(data_dir);
  auto bytes = copy_data(data_dir, to, compact).value();
  if (json)
    print_line(json_line("copy", {{"to", to_json(to)}, {"bytes", std::to_string(bytes)}}));
  else
    std::cout << "wrote " << bytes_text(bytes) << " to " << to << "\n";
  return 0;
}

void add_copy(CLI::App& store, chosen_command& chosen, const char* name, const char* what,
              bool compact) {
  auto* command = store.add_subcommand(name, what);
  auto data_dir = add_data_dir(*command);
  auto to = std::make_shared<std::string>();
  command->add_option("TO", *to, "The new data directory; it must hold no threads")->required();
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback([&chosen, data_dir, to, compact] {
    chosen.run = [&chosen, data_dir, to, compact] {
      return copy(*data_dir, *to, compact, chosen.json);
    };
  });
}

// ---- prune --------------------------------------------------------------------------------------

std::string timestamp_before(double days) {
  auto now = std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
               .count();
  auto age = std::min(days * 86400e6, static_cast<double>(now));
  return timestamp_text(now - static_cast<std::int64_t>(age));
}

struct prune_flags {
  const CLI::App* command = nullptr;
  std::shared_ptr<std::string> data_dir;
  std::vector<std::string> threads;
  retention keep;
  double older_than_days = 0;
  bool json = false;
};

// Removed checkpoints are lost for good, so at least one rule has to be given.
void expect_rule(const CLI::App& command) {
  for (const auto* rule : {"--keep-latest", "--keep-every", "--keep-forks", "--older-than"})
    if (command.count(rule) > 0)
      return;
  throw CLI::ValidationError{"store prune",
                             "a rule is missing: give --keep-latest, --keep-every, --keep-forks or "
                             "--older-than. Try it first with --dry-run"};
}

int prune(prune_flags& flags) {
  expect_data_dir(*flags.data_dir);
  auto saver = flags.keep.dry_run ? open_saver_to_look(*flags.data_dir)
                                  : open_saver(*flags.data_dir);
  if (flags.older_than_days > 0)
    flags.keep.created_before = timestamp_before(flags.older_than_days);
  if (flags.threads.empty())
    for (auto& thread : saver->threads().value())
      flags.threads.push_back(std::move(thread.thread_id));
  auto report = saver->prune(flags.threads, flags.keep).value();
  if (flags.json)
    print_line(json_line("prune", {{"threads", std::to_string(flags.threads.size())},
                                   {"checkpoints", std::to_string(report.checkpoints)},
                                   {"values", std::to_string(report.values)},
                                   {"dry_run", flags.keep.dry_run ? "true" : "false"}}));
  else if (flags.keep.dry_run)
    std::cout << "would remove " << report.checkpoints << " checkpoints of " << flags.threads.size()
              << " threads\n";
  else
    std::cout << "removed " << report.checkpoints << " checkpoints and " << report.values
              << " values of " << flags.threads.size() << " threads\n";
  return 0;
}

void add_prune(CLI::App& store, chosen_command& chosen) {
  auto* command = store.add_subcommand("prune",
                                       "Remove old checkpoints for good: all that no rule keeps");
  auto flags = std::make_shared<prune_flags>();
  flags->command = command;
  flags->data_dir = add_data_dir(*command);
  command->add_option("--thread", flags->threads, "Only this thread; may be given more than once")
    ->type_name("ID");
  command
    ->add_option("--keep-latest", flags->keep.keep_latest,
                 "Keep so many of the newest of each graph and subgraph")
    ->capture_default_str()
    ->check(positive_number);
  command->add_option("--keep-every", flags->keep.keep_every,
                      "Keep those whose step is a multiple of it, too");
  command->add_flag("--keep-forks", flags->keep.keep_forks,
                    "Keep those where branches part, and the newest of each branch, too");
  command->add_option("--older-than", flags->older_than_days, "Remove only older checkpoints")
    ->type_name("DAYS")
    ->check(number_of_days);
  command->add_flag("--dry-run", flags->keep.dry_run,
                    "Count what would be removed, and remove nothing");
  command->add_flag("--json", chosen.json, "Print one JSON object");
  command->callback([&chosen, flags] {
    expect_rule(*flags->command);
    chosen.run = [&chosen, flags] {
      flags->json = chosen.json;
      return prune(*flags);
    };
  });
}

void add_look(CLI::App& store, chosen_command& chosen, const char* name, const char* what,
              int (*look)(const std::string&, bool)) {
  auto* command = store.add_subcommand(name, what);
  auto data_dir = add_data_dir(*command);
  command->add_flag("--json", chosen.json, "Print JSON objects, one a line");
  command->callback([&chosen, data_dir, look] {
    chosen.run = [&chosen, data_dir, look] { return look(*data_dir, chosen.json); };
  });
}

} // namespace

void add_store(CLI::App& app, chosen_command& chosen) {
  auto* store = app.add_subcommand("store", "Check, count, copy and prune a data directory");
  store->require_subcommand(1);
  add_look(*store, chosen, "check", "Read everything and report damage", check);
  add_look(*store, chosen, "stats", "Count records and bytes", print_stats);
  add_prune(*store, chosen);
  add_copy(*store, chosen, "backup", "Copy it as it is now, while it is used", false);
  add_copy(*store, chosen, "compact", "Copy it without unused space, while it is used", true);
  add_store_lines(*store, chosen);
  add_rotate_keys(*store, chosen);
}

} // namespace troupe::cli
