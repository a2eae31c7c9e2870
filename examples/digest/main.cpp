// digest: reads files, drafts a report on them, asks, and writes it. After a kill at any moment,
// the same thread resumes, and reads no finished file again.
#include "digest.hpp"
#include "progress.hpp"

#include "tools/troupe/actor_table.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/stop_signals.hpp"
#include "tools/troupe/terminal.hpp"

#include <troupe/troupe.hpp>

#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace cli = troupe::cli;

struct options {
  std::vector<std::string> sources;
  std::string thread, data = ".troupe", out, trace;
  std::string durability = "sync";
  std::optional<troupe::value> answer; // --yes, --resume
  bool resumes = false;                // --resume
  std::uint32_t jobs = 8;
  std::int64_t delay_ms = 0;
  bool again = false, json = false, quiet = false, actors = false;
};

void add_flags(CLI::App& app, options& o, bool& yes, std::string& resume) {
  app.add_option("FILE_OR_FOLDER", o.sources, "The files to digest; not needed to resume a thread");
  app.add_option("--thread", o.thread, "Resume this digest; the default starts a new one")
    ->type_name("ID");
  app.add_option("--data", o.data, "Where digests are kept")
    ->type_name("DIR")
    ->capture_default_str();
  app.add_option("--out", o.out, "The report (default: digest.md)")->type_name("FILE");
  auto* yes_flag = app.add_flag("--yes", yes, "Publish without asking");
  app.add_option("--resume", resume, "Answer the question of a paused digest, e.g. '\"no\"'")
    ->type_name("JSON")
    ->excludes(yes_flag);
  app.add_flag("--again", o.again, "Start over on a thread that has a digest already");
  app.add_option("--durability", o.durability, "When progress is stored: sync, async or exit")
    ->type_name("MODE")
    ->check(CLI::IsMember({"sync", "async", "exit"}))
    ->capture_default_str();
  app.add_option("--jobs", o.jobs, "Files read at once")
    ->type_name("N")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  app.add_option("--delay-ms", o.delay_ms, "A pause in each file's task, to watch it work")
    ->type_name("N")
    ->check(CLI::Range(0, 3'600'000));
  app.add_option("--trace", o.trace, "Append a line to FILE each time a file is read")
    ->type_name("FILE");
  app.add_flag("--json", o.json, "Print one JSON object a line");
  app.add_flag("--quiet", o.quiet, "Print nothing but questions and failures");
  app.add_flag("--actors", o.actors, "Print the actors that do the work");
  app.footer(std::string{"A digest that was killed, stopped or paused resumes when it is started "
                         "again with its --thread.\n"}
             + cli::exit_codes_help);
}

class session {
public:
  session(std::string program, options o, cli::stop_signals& signals)
    : program_{std::move(program)},
      options_{std::move(o)},
      signals_{signals},
      runtime_{{.data_dir = options_.data}},
      app_{runtime_.load(digest::build())} {
    if (options_.thread.empty())
      options_.thread = cli::new_thread_id("digest");
  }

  int run() {
    auto now = look();
    bool is_new = now.config.checkpoint_id.empty();
    bool is_finished = now.tasks.empty(); // not `next`: a kill may come after a step's last task
    if (options_.resumes && is_finished)
      throw troupe::error{troupe::errc::unknown_interrupt,
                          "nothing to resume: thread " + options_.thread
                            + (is_new ? " is not in " + options_.data
                                      : " does not wait for an answer")};
    if (is_new || options_.again)
      start();
    else if (is_finished)
      return end(now, "finished already");
    else
      go_on(now);
    for (now = look(); !now.interrupts.empty(); now = look()) {
      auto answer = find_answer(now);
      if (!answer)
        return pause(now);
      advance(troupe::command{.resume = answer}, now);
    }
    return end(now, "done");
  }

private:
  troupe::state_snapshot look() { return app_.get_state({.thread_id = options_.thread}); }

  void say(const std::string& text) {
    if (!options_.quiet && !options_.json)
      std::cerr << text << "\n" << std::flush;
  }

  void start() {
    using troupe::errc, troupe::error;
    if (options_.sources.empty())
      throw error{errc::empty_input, "no files: name files or folders to digest"};
    for (const auto& source : options_.sources)
      if (std::error_code ignored; !fs::exists(source, ignored))
        throw error{errc::invalid_config, "no such file or folder: " + source};
    check_out();
    say("thread " + options_.thread + ", kept in " + options_.data);
    auto base = fs::current_path();
    auto out = options_.out.empty() ? "digest.md" : options_.out;
    advance(troupe::value::map({{"sources", troupe::value::of(options_.sources)},
                                {"base", base.string()},
                                {"out", (base / out).lexically_normal().string()}}),
            {});
  }

  void check_out() {
    fs::path out = options_.out.empty() ? "digest.md" : options_.out;
    std::error_code ignored;
    auto status = fs::status(out, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status))
      throw troupe::error{troupe::errc::invalid_config,
                          "--out: not a regular file: " + out.string()};
    if (auto folder = fs::absolute(out).parent_path(); !fs::is_directory(folder, ignored))
      throw troupe::error{troupe::errc::invalid_config,
                          "--out: no such folder: " + folder.string()};
  }

  // A run that was killed, stopped or failed resumes at once; a run with a question needs an
  // answer.
  void go_on(const troupe::state_snapshot& now) {
    if (!options_.out.empty())
      check_out();
    say("thread " + options_.thread + ", kept in " + options_.data + ", resumes");
    if (now.interrupts.empty())
      advance(nullptr, now);
  }

  troupe::run_config config(const troupe::run_control& control) const {
    auto context = troupe::value::map({{"delay_ms", options_.delay_ms}});
    if (!options_.trace.empty())
      context = context.with("trace", fs::absolute(options_.trace).string());
    if (!options_.out.empty())
      context = context.with("out", fs::absolute(options_.out).lexically_normal().string());
    return {.thread_id = options_.thread,
            .durability = troupe::parse_durability(options_.durability).value(),
            .max_concurrency = options_.jobs,
            .context = context,
            .control = control};
  }

  // Runs until the graph ends or asks a question. Errors: throws troupe::error.
  void advance(const troupe::run_input& input, const troupe::state_snapshot& before) {
    troupe::run_control control;
    digest::progress progress{!options_.quiet && !options_.json, before.values["files"].size()};
    cli::actor_watch actors{options_.json};
    signals_.watch(control);
    auto parts = app_.stream(input, config(control));
    auto next = parts.try_next();
    for (; next && *next; next = parts.try_next()) {
      const auto& part = **next;
      if (options_.json)
        cli::print_line(cli::json_line(part));
      progress.part(part);
      if (options_.actors)
        actors.look(parts);
    }
    signals_.watch(std::nullopt);
    progress.clear();
    if (!next)
      fail(next.error());
  }

  [[noreturn]] void fail(const troupe::error& why) {
    auto message = cli::text_of(why) + "; " + advice();
    throw troupe::error{why.code(), message, why.type()};
  }

  std::string advice() {
    auto now = app_.try_get_state({.thread_id = options_.thread});
    if (now && now->config.checkpoint_id.empty())
      return "nothing of it is stored: run the same command again";
    return "resume with: " + command_line("");
  }

  std::string command_line(const std::string& more) const {
    auto out = cli::shell_word(program_) + " --thread " + cli::shell_word(options_.thread);
    if (options_.data != options{}.data)
      out += " --data " + cli::shell_word(options_.data);
    return out + more;
  }

  std::optional<troupe::value> find_answer(const troupe::state_snapshot& now) {
    if (options_.answer)
      return std::exchange(options_.answer, std::nullopt);
    if (isatty(STDIN_FILENO) != 1 || options_.json)
      return std::nullopt;
    return ask(now.interrupts.front().value);
  }

  std::optional<troupe::value> ask(const troupe::value& question) {
    if (question["draft"].is_string())
      std::cerr << "\n" << question["draft"].as_string() << "\n";
    std::cerr << question["question"].as<std::string>() << " [yes/no] " << std::flush;
    std::string line;
    if (!std::getline(std::cin, line) || line.empty())
      return std::nullopt;
    return troupe::value(line);
  }

  int pause(const troupe::state_snapshot& now) {
    say("waits for an answer: " + now.interrupts.front().value["question"].as<std::string>()
        + "\n  yes: " + command_line(" --yes")
        + "\n  no:  " + command_line(" --resume " + cli::shell_word("\"no\"")));
    result("paused", now);
    return cli::exit_paused;
  }

  int end(const troupe::state_snapshot& now, const std::string& how) {
    if (!now.next.empty())
      fail({troupe::errc::cancelled, "stopped before " + now.next.front()});
    const auto& report = now.values["published"];
    bool published = report.is_string() && !report.empty();
    if (!published)
      say("the report was not written: the answer was no; --again starts over");
    else if (!options_.quiet && !options_.json)
      std::cout << how << ": " << report.as_string() << " (" << now.values["files"].size()
                << " files, " << now.values["words"] << " words)\n";
    result(published ? "done" : "declined", now);
    return cli::exit_done;
  }

  void result(std::string_view status, const troupe::state_snapshot& now) {
    if (options_.json)
      cli::print_line(
        cli::json_line("result", {{"status", troupe::to_json(status)},
                                  {"thread", troupe::to_json(options_.thread)},
                                  {"report", troupe::to_json(now.values["published"])},
                                  {"interrupts", troupe::to_json(cli::to_value(now.interrupts))}}));
  }

  std::string program_;
  options options_;
  cli::stop_signals& signals_;
  troupe::runtime runtime_;
  troupe::app<digest::state> app_;
};

int digest_main(int argc, char** argv, options& o) {
  CLI::App app{"Reads files and folders, drafts a Markdown report on them, asks, and writes it."};
  bool yes = false;
  std::string resume;
  add_flags(app, o, yes, resume);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() == 0)
      return app.exit(why);
    throw troupe::error{troupe::errc::invalid_config,
                        std::string{why.what()} + "; --help lists the flags"};
  }
  if (yes)
    o.answer = true;
  if (app.count("--resume") > 0) {
    auto answer = troupe::from_json(resume);
    if (!answer)
      throw troupe::error{answer.error().code(), "--resume: " + answer.error().message()};
    o.answer = *answer;
    o.resumes = true;
  }
  cli::stop_signals signals;
  return session{argv[0], o, signals}.run();
}

} // namespace

int main(int argc, char** argv) {
  options o;
  return cli::run_reporting("digest", o.json, [&] { return digest_main(argc, argv, o); });
}
