// troupe store export and import: threads as lines of JSON, a checkpoint each. Import also reads
// what LangGraph's SqliteSaver and PostgresSaver hold; export also writes files of SqliteSaver.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/parts.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

namespace troupe::cli {

namespace {

// ---- as values ----------------------------------------------------------------------------------

// Ids may be any bytes, JSON strings may not.
value id_value(const std::string& id) {
  value text = id;
  try {
    static_cast<void>(to_json(text));
    return text;
  } catch (const error&) {
    return value::bytes(std::as_bytes(std::span{id}));
  }
}

std::string id_of(const value& v) {
  if (!v.is_bytes())
    return std::string{v.as_string()};
  auto bytes = v.as_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

value version_value(const version& v) {
  return value{value(static_cast<std::int64_t>(v.number)), value(static_cast<std::int64_t>(v.tag))};
}

version version_of(const value& v) {
  return {static_cast<std::uint64_t>(v[0].as_int()), static_cast<std::uint64_t>(v[1].as_int())};
}

value versions_value(const named<version>& versions) {
  std::vector<value::map_init> out;
  for (const auto& [channel, at] : versions)
    out.emplace_back(channel, version_value(at));
  return value::map(std::move(out));
}

named<version> versions_of(const value& v) {
  named<version> out;
  for (const auto& e : v.entries())
    out.emplace_back(e.key(), version_of(e.val));
  return out;
}

value writes_value(const std::vector<pending_write>& writes) {
  std::vector<value> out;
  for (const auto& w : writes)
    out.push_back(value::map({{"task", id_value(w.task_id)},
                              {"path", id_value(w.task_path)},
                              {"channel", w.channel},
                              {"value", w.value}}));
  return value::list(std::move(out));
}

std::vector<pending_write> writes_of(const value& v) {
  std::vector<pending_write> out;
  for (const auto& w : v.items())
    out.push_back(
      {id_of(w["task"]), std::string{w["channel"].as_string()}, w["value"], id_of(w["path"])});
  return out;
}

// Those of one task together, as they stand.
std::vector<task_writes> by_task(std::vector<pending_write> writes) {
  std::vector<task_writes> out;
  for (auto& w : writes) {
    if (out.empty() || out.back().task_id != w.task_id || out.back().task_path != w.task_path)
      out.push_back({std::move(w.task_id), std::move(w.task_path), {}});
    out.back().writes.emplace_back(std::move(w.channel), std::move(w.value));
  }
  return out;
}

value line_value(const checkpoint_tuple& tuple) {
  const auto& cp = tuple.checkpoint;
  std::vector<value::map_init> values, seen;
  for (const auto& [channel, val] : cp.channel_values)
    values.emplace_back(channel, val);
  for (const auto& [node, versions] : cp.versions_seen)
    seen.emplace_back(node, versions_value(versions));
  return value::map({{"type", "checkpoint"},
                     {"thread", id_value(tuple.ref.thread_id)},
                     {"ns", id_value(tuple.ref.checkpoint_ns)},
                     {"id", id_value(tuple.ref.checkpoint_id)},
                     {"parent", id_value(tuple.parent_id)},
                     {"v", cp.v},
                     {"ts", cp.ts},
                     {"values", value::map(std::move(values))},
                     {"versions", versions_value(cp.channel_versions)},
                     {"seen", value::map(std::move(seen))},
                     {"updated", value::of(cp.updated_channels)},
                     {"metadata", tuple.metadata},
                     {"writes", writes_value(tuple.pending_writes)}});
}

checkpoint_tuple tuple_of(const value& line) {
  checkpoint_tuple out;
  auto& cp = out.checkpoint;
  out.parent_id = id_of(line["parent"]);
  out.metadata = line["metadata"];
  cp.v = line["v"].as_int();
  cp.id = id_of(line["id"]);
  cp.ts = line["ts"].as_string();
  for (const auto& e : line["values"].entries())
    cp.channel_values.emplace_back(e.key(), e.val);
  cp.channel_versions = versions_of(line["versions"]);
  for (const auto& e : line["seen"].entries())
    cp.versions_seen.emplace_back(e.key(), versions_of(e.val));
  cp.updated_channels = line["updated"].as<std::optional<std::vector<std::string>>>();
  out.ref = {id_of(line["thread"]), id_of(line["ns"]), cp.id};
  out.pending_writes = writes_of(line["writes"]);
  return out;
}

// ---- export -------------------------------------------------------------------------------------

// The checkpoints of some threads, one by one: of a namespace, the oldest first.
class exporter {
public:
  exporter(saver& from, const std::vector<std::string>& threads) : from_{from}, threads_{threads} {}

  std::optional<checkpoint_tuple> next() {
    while (at_ == tuples_.size()) {
      if (thread_ == threads_.size())
        return std::nullopt;
      at_ = 0;
      tuples_ = from_.list({.thread_id = threads_[thread_++]}).value();
      for (auto end = tuples_.begin(); end != tuples_.end();) {
        auto begin = end;
        while (end != tuples_.end() && end->ref.checkpoint_ns == begin->ref.checkpoint_ns)
          ++end;
        std::reverse(begin, end);
      }
    }
    return std::move(tuples_[at_++]);
  }

private:
  saver& from_;
  const std::vector<std::string>& threads_;
  std::vector<checkpoint_tuple> tuples_; // of the thread before `thread_`
  std::size_t thread_ = 0;
  std::size_t at_ = 0;
};

void write_lines(exporter& all, const std::string& file) {
  std::ofstream opened;
  if (file != "-")
    opened.open(file, std::ios::binary | std::ios::trunc);
  std::ostream& out = file == "-" ? std::cout : opened;
  while (auto tuple = all.next())
    out << to_json(line_value(*tuple)) << "\n";
  out.flush();
  if (!out)
    throw error{errc::storage_failed, "write the export: " + file};
}

int export_threads(const std::string& data_dir, std::vector<std::string> threads,
                   const std::string& file, bool as_sqlite) {
  if (as_sqlite && file == "-")
    throw error{errc::invalid_config, "export: --format sqlite needs a file: add --to FILE"};
  auto from = open_saver_to_look(data_dir);
  std::set<std::string> known;
  for (auto& thread : from->threads().value())
    known.insert(std::move(thread.thread_id));
  for (const auto& thread : threads)
    if (!known.contains(thread))
      throw kept_place{.data = data_dir, .postgres = {}}.unknown_thread(thread);
  if (threads.empty())
    threads.assign(known.begin(), known.end());
  exporter all{*from, threads};
  if (as_sqlite)
    load_sqlite().write_checkpoints(file, [&all] { return all.next(); });
  else
    write_lines(all, file);
  std::cerr << "exported " << threads.size() << (threads.size() == 1 ? " thread\n" : " threads\n");
  return 0;
}

// ---- import -------------------------------------------------------------------------------------

class importer {
public:
  explicit importer(saver& to) : to_{to} {
    for (auto& thread : to.threads().value())
      there_.insert(std::move(thread.thread_id));
  }

  void take(checkpoint_tuple tuple) {
    const auto& ref = tuple.ref;
    if (there_.contains(ref.thread_id))
      throw error{errc::invalid_config, "import: thread `" + ref.thread_id
                                          + "` exists already: delete it, or choose another "
                                            "data directory"};
    if (ref.thread_id != thread_id_) {
      thread_id_ = ref.thread_id;
      stored_.clear();
      ++threads_;
    }
    checkpoint_put put{
      std::move(tuple.parent_id), std::move(tuple.checkpoint), std::move(tuple.metadata), {}};
    for (const auto& [channel, at] : put.checkpoint.channel_versions)
      if (stored_.emplace(ref.checkpoint_ns, channel, at).second)
        put.new_versions.push_back(channel);
    save_request request{std::move(tuple.ref), by_task(std::move(tuple.pending_writes)),
                         std::move(put)};
    to_.submit(std::move(request), save_ack::accepted, [failed = failed_](const result<void>& how) {
      if (!how)
        failed->set(how.error());
    });
    failed_->check();
    ++checkpoints_;
  }

  // Once everything is on the disk.
  void finish() {
    to_.threads().value();
    failed_->check();
    std::cerr << "imported " << checkpoints_ << " checkpoints of " << threads_ << " threads\n";
  }

private:
  // The saver's first error, on its own thread.
  class first_failure {
  public:
    void set(error why) {
      std::lock_guard lock{mutex_};
      if (!why_)
        why_ = std::move(why);
    }
    void check() {
      std::lock_guard lock{mutex_};
      if (why_)
        throw *why_;
    }

  private:
    std::mutex mutex_;
    std::optional<error> why_;
  };

  saver& to_;
  std::set<std::string> there_;
  std::string thread_id_;
  std::set<std::tuple<std::string, std::string, version>> stored_; // of the thread
  std::size_t threads_ = 0;
  std::size_t checkpoints_ = 0;
  std::shared_ptr<first_failure> failed_ = std::make_shared<first_failure>();
};

int import_lines(const std::string& data_dir, const std::string& file) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened)
      throw error{errc::invalid_config, "can't read " + file};
  }
  auto to = open_saver(data_dir);
  importer into{*to};
  std::string text;
  for (std::size_t number = 1; std::getline(file == "-" ? std::cin : opened, text); ++number) {
    auto fail = [&](const std::string& why) {
      throw error{errc::invalid_value, "import: line " + std::to_string(number) + ": " + why};
    };
    auto line = from_json(text);
    if (!line)
      fail(line.error().message());
    if ((*line)["type"] != value("checkpoint"))
      fail("not a checkpoint");
    try {
      into.take(tuple_of(*line));
    } catch (const error& why) {
      if (why.code() != errc::invalid_value)
        throw;
      fail(why.message());
    }
  }
  into.finish();
  return 0;
}

// Whether a file begins as an SQLite database does. A file that can't be read does not.
bool is_sqlite_file(const std::filesystem::path& file) {
  constexpr std::string_view magic{"SQLite format 3\0", 16};
  std::ifstream in{file, std::ios::binary};
  std::string head(magic.size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return in && head == magic;
}

// Reads all checkpoints first: a checkpoint that can't be read is found before anything is stored.
int import_from(const std::string& data_dir,
                const std::function<std::optional<checkpoint_tuple>()>& next) {
  while (next())
    continue;
  auto to = open_saver(data_dir);
  importer into{*to};
  while (auto tuple = next())
    into.take(std::move(*tuple));
  into.finish();
  return 0;
}

} // namespace

void add_store_lines(CLI::App& store, chosen_command& chosen) {
  auto* out = store.add_subcommand(
    "export", "Print threads as lines of JSON, a checkpoint each, or write them for LangGraph");
  auto data_dir = add_data_dir(*out);
  auto threads = std::make_shared<std::vector<std::string>>();
  auto to = std::make_shared<std::string>("-");
  out->add_option("--thread", *threads, "Only this thread; may be given more than once")
    ->type_name("ID");
  out->add_option("--to", *to, "A file; - is the standard output")->capture_default_str();
  auto format = std::make_shared<std::string>("lines");
  out->add_option("--format", *format, "lines, or sqlite: a new file of LangGraph's SqliteSaver")
    ->check(CLI::IsMember(std::set<std::string>{"lines", "sqlite"}))
    ->capture_default_str();
  out->callback([&chosen, data_dir, threads, to, format] {
    chosen.run = [data_dir, threads, to, format] {
      return export_threads(*data_dir, *threads, *to, *format == "sqlite");
    };
  });

  auto* in = store.add_subcommand(
    "import",
    "Store threads that export printed, or that LangGraph's SqliteSaver or PostgresSaver holds");
  data_dir = add_data_dir(*in);
  auto from = std::make_shared<std::string>("-");
  in->add_option("FROM", *from, "A file; - is the standard input")->capture_default_str();
  auto database = std::make_shared<std::string>();
  in->add_option("--from-postgres", *database, "The database of LangGraph's PostgresSaver")
    ->type_name("CONNINFO")
    ->excludes("FROM");
  in->callback([&chosen, data_dir, from, database] {
    chosen.run = [data_dir, from, database] {
      if (!database->empty())
        return import_from(*data_dir, load_postgres().open_checkpoints(*database));
      return is_sqlite_file(*from) ? import_from(*data_dir, load_sqlite().open_checkpoints(*from))
                                   : import_lines(*data_dir, *from);
    };
  });
}

} // namespace troupe::cli
