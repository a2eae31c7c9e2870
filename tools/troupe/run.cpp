// troupe run: runs a graph, or goes on with a thread of it.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/home_flags.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/run_output.hpp"
#include "tools/troupe/stop_signals.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

namespace troupe::cli {

namespace {

struct options {
  std::string graph, input, thread, data, resume;
  std::string durability = "async";
  std::vector<std::string> stream = {"updates"};
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  bool has_input = false, has_resume = false, actors = false;
  std::shared_ptr<home_flags> home;
};

// The text of FILE, or of standard input for `-`.
std::string read_text(const std::string& file) {
  auto fail = [&file] {
    throw error{errc::invalid_value,
                "--input: can't read " + file + ": " + std::generic_category().message(errno)};
  };
  auto close = [](std::FILE* f) { f != stdin ? std::fclose(f) : 0; };
  std::unique_ptr<std::FILE, decltype(close)> in{
    file == "-" ? stdin : std::fopen(file.c_str(), "rb"), close};
  if (!in)
    fail();
  std::string out;
  std::array<char, 65536> block;
  for (std::size_t got = 1; got > 0 && out.size() <= limits::json_size_bytes_max;) {
    got = std::fread(block.data(), 1, block.size(), in.get());
    out.append(block.data(), got);
  }
  if (std::ferror(in.get()))
    fail();
  return out;
}

value parse_flag(const std::string& flag, const std::string& text) {
  auto parsed = from_json(text);
  if (!parsed)
    throw error{parsed.error().code(), flag + ": " + parsed.error().message()};
  return *parsed;
}

class graph_run {
public:
  graph_run(options o, bool json, stop_signals& signals)
    : options_{std::move(o)},
      output_{json, options_.actors},
      signals_{signals},
      graph_{find_graph(options_.graph)} {
    if (!options_.thread.empty() && options_.data.empty())
      options_.data = data_dir_default;
    if (!options_.data.empty() && options_.thread.empty())
      options_.thread = new_thread_id(graph_.name());
  }

  int run() {
    auto given = given_input(); // before anything is opened: a typo changes nothing
    if (options_.has_resume && options_.data.empty())
      throw error{errc::no_saver, "--resume: nothing to resume without a kept --thread"};
    runtime rt{{.data_dir = options_.data, .workers = options_.home->workers()}};
    auto app = rt.load(graph_);
    if (!options_.data.empty())
      output_.note("thread " + options_.thread + ", kept in " + options_.data);
    auto input = choose_input(app, std::move(given));
    return input ? advance(app, *input) : exit_paused;
  }

private:
  std::optional<run_input> given_input() const {
    if (options_.has_resume)
      return command{.resume = parse_flag("--resume", options_.resume)};
    if (!options_.has_input)
      return std::nullopt;
    bool is_file = options_.input.starts_with('@');
    auto input = parse_flag("--input",
                            is_file ? read_text(options_.input.substr(1)) : options_.input);
    check_channels(input);
    return run_input(std::move(input));
  }

  // A run would drop what the graph does not know; at a keyboard that is a typo.
  void check_channels(const value& input) const {
    auto known = graph_.inputs();
    for (const auto& e : input.entries()) {
      if (std::find(known.begin(), known.end(), e.key()) != known.end())
        continue;
      std::string list;
      for (const auto& name : known)
        list += (list.empty() ? "`" : ", `") + name + "`";
      throw error{errc::invalid_value, "--input: graph " + graph_.name() + " has no channel `"
                                         + std::string{e.key()} + "` to write; it has " + list};
    }
  }

  // Without an input: goes on where the thread stopped, or starts with an empty one. Nothing when
  // the thread waits for an answer.
  std::optional<run_input> choose_input(const app<>& app, std::optional<run_input> given) const {
    if (options_.data.empty() || options_.has_input)
      return given ? given : run_input{};
    auto now = app.get_state({.thread_id = options_.thread});
    if (options_.has_resume) {
      if (now.created_at.empty())
        throw unknown_thread(options_.thread, options_.data);
      if (now.interrupts.empty())
        throw error{errc::unknown_interrupt, "--resume: nothing to resume: thread "
                                               + options_.thread + " waits for no answer"};
      return given;
    }
    if (!now.interrupts.empty()) {
      run_result waiting;
      waiting.output = now.values;
      waiting.questions = now.interrupts;
      waiting.next = now.next;
      paused(waiting);
      return std::nullopt;
    }
    // Not `next`: a kill can fall between a step's last task and its checkpoint.
    return now.tasks.empty() ? run_input() : run_input(nullptr);
  }

  run_config config(const run_control& control) const {
    return {.thread_id = options_.thread,
            .durability = parse_durability(options_.durability).value(),
            .recursion_limit = options_.recursion_limit,
            .control = control};
  }

  std::vector<stream_mode> modes() const {
    std::vector<stream_mode> out;
    for (const auto& name : options_.stream)
      out.push_back(parse_stream_mode(name).value());
    return out;
  }

  int advance(const app<>& app, const run_input& input) {
    run_control control;
    signals_.watch(control);
    auto parts = app.stream(input, config(control), modes());
    auto next = parts.try_next();
    for (; next && *next; next = parts.try_next())
      output_.part(**next, parts);
    signals_.watch(std::nullopt);
    if (!next)
      fail(next.error());
    return finished(parts.outcome());
  }

  [[noreturn]] void fail(const error& why) const {
    auto text = text_of(why);
    if (why.code() == errc::graph_recursion)
      text += "; raise --recursion-limit, or look for a loop without end";
    if (can_go_on(why.code()))
      text += "; go on with: " + command_line();
    throw error{why.code(), text, why.type()};
  }

  bool can_go_on(errc code) const {
    return !options_.data.empty() && exit_code_of(code) != exit_usage;
  }

  int finished(const run_result* run) {
    if (!run)
      throw error{errc::node_failed, "the run ended without a result"};
    if (run->paused())
      return paused(*run);
    output_.result(options_.thread, *run);
    return exit_done;
  }

  int paused(const run_result& run) const {
    output_.result(options_.thread, run);
    if (options_.data.empty())
      output_.note("paused, and nothing is kept: run it with --data to be able to go on");
    else if (run.interrupts().empty())
      output_.note("stopped before " + run.next.front() + "; go on with: " + command_line());
    else
      output_.note("waits for an answer; go on with: " + command_line() + " --resume JSON");
    return exit_paused;
  }

  std::string command_line() const {
    return "troupe run " + shell_word(options_.graph) + " --data " + shell_word(options_.data)
           + " --thread " + shell_word(options_.thread);
  }

  options options_;
  run_output output_;
  stop_signals& signals_;
  compiled_graph graph_;
};

std::string known_mode(const std::string& name) {
  auto mode = parse_stream_mode(name);
  return mode ? "" : mode.error().message();
}

void add_flags(CLI::App& command, options& o) {
  command.add_option("GRAPH", o.graph, "A built-in graph, or path/to/lib.so:name")->required();
  auto* input = command.add_option("--input", o.input,
                                   "The input, @FILE, or @- for standard input; "
                                   "without one a kept thread goes on");
  input->type_name("JSON|@FILE");
  command.add_option("--thread", o.thread, "The thread to keep the run on, or to go on with")
    ->type_name("ID");
  command
    .add_option("--data", o.data,
                std::string{"Where threads are kept; "} + data_dir_default
                  + " when only --thread is given, nowhere without both")
    ->type_name("DIR");
  command.add_option("--durability", o.durability, "When progress is stored: sync, async or exit")
    ->type_name("MODE")
    ->check(CLI::IsMember({"sync", "async", "exit"}))
    ->capture_default_str();
  command
    .add_option("--stream", o.stream, "What to print: values, updates, custom; several with commas")
    ->type_name("MODES")
    ->delimiter(',')
    ->allow_extra_args(false)
    ->check(known_mode);
  command.add_option("--resume", o.resume, "The answer to what the thread waits for")
    ->type_name("JSON")
    ->excludes(input);
  command
    .add_option("--recursion-limit", o.recursion_limit,
                "Super-steps a run may take; else as the graph says")
    ->type_name("N")
    ->check(CLI::PositiveNumber);
  command.add_flag("--actors", o.actors, "Print the live actors whenever they change");
}

} // namespace

void add_run(CLI::App& app, chosen_command& chosen) {
  auto* run = app.add_subcommand("run", "Run a graph, or go on with a thread");
  auto o = std::make_shared<options>();
  add_flags(*run, *o);
  o->home = add_home_flags(*run);
  run->add_flag("--json", chosen.json, "Print one JSON object a line");
  run->footer(exit_codes_help);
  run->callback([run, o, &chosen] {
    o->has_input = run->count("--input") > 0;
    o->has_resume = run->count("--resume") > 0;
    chosen.run = [o, &chosen] {
      stop_signals signals;
      return graph_run{*o, chosen.json, signals}.run();
    };
  });
}

} // namespace troupe::cli
