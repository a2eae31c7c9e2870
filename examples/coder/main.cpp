// A coding agent on the command line: it reads, searches, edits and runs commands in one folder,
// and asks before it changes or runs anything.
//
//   coder FOLDER "TASK" [--thread T] [--model PROVIDER:MODEL] [--tool-grammar SERVER] [--allow
//   TOOL,…]
//
// After a kill the same command resumes. The coder's own files are in FOLDER/.coder.
#include "examples/coder/coder.hpp"
#include "tools/troupe/agents/answer_end.hpp"
#include "tools/troupe/agents/chat_answers.hpp"
#include "tools/troupe/agents/chat_view.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>
#include <optional>

namespace troupe {

namespace {

struct flags {
  std::string folder, task, thread = "main", model, tool_grammar;
  std::vector<std::string> allow;
  shell_options shell = coder::shell_of_project();
};

constexpr const char* how_to_answer = "yes, no [WHY], always, or edit {\"ARGUMENT\": …}";
constexpr std::uint32_t steps_max = 1000;         // of a run
constexpr const char* model_mark = "coder_model"; // in the metadata of checkpoints

// The coder's own folder. A link there is refused, since a stranger's project could lead out of the
// folder with it.
std::filesystem::path own_folder_of(const std::filesystem::path& project) {
  auto path = project / coder::own_folder;
  auto what = std::filesystem::symlink_status(path).type();
  if (what == std::filesystem::file_type::not_found)
    std::filesystem::create_directory(path);
  else if (what != std::filesystem::file_type::directory)
    throw error{errc::invalid_config, path.string() + " is not a folder"};
  return path;
}

class session {
public:
  session(const flags& f, cli::stop_signals& signals)
    : f_{f},
      signals_{signals},
      project_{std::filesystem::canonical(f.folder)},
      who_{coder::choose_minds(f.model, f.tool_grammar)},
      sandbox_{f.shell.sandbox != shell_sandbox::none && has_shell_sandbox()},
      rt_{{.data_dir = own_folder_of(project_) / "data"}},
      app_{rt_.load(coder::build_coder(project_, {.who = who_, .shell = f.shell}))} {}

  int run() {
    say("coder: " + who_.what);
    say(sandbox_ ? "coder: commands run in a sandbox: they write only " + project_.string()
                     + ", and have no network"
                 : "coder: commands are not in a sandbox: they run with your rights");
    auto now = app_.get_state({.thread_id = f_.thread});
    if (const auto& before = now.metadata[model_mark]; before.is_string() && before != who_.name)
      say("coder: thread " + f_.thread + " was with " + before.as<std::string>()
          + "; from now on it is with " + who_.name);
    if (!now.interrupts.empty())
      questions_ = now.interrupts;
    else if (!now.tasks.empty())
      turn(run_input{nullptr});
    else
      begin();
    if (!now.tasks.empty())
      note_other_task(now.values);
    while (!questions_.empty())
      if (auto answers = ask())
        turn(command{.resume = *answers});
      else
        return paused();
    return is_whole_ ? cli::exit_done : cli::exit_not_whole;
  }

private:
  void say(const std::string& line) { view_.detail(line); }

  void begin() {
    if (f_.task.empty())
      throw error{errc::empty_input, "there is nothing to resume: give a TASK"};
    auto input = value::map({{"messages", value::list({human_message(f_.task)})}});
    if (!f_.allow.empty())
      input = input.with("allowed", value::of(f_.allow));
    turn(input);
  }

  // Notes that a thread with unfinished work takes no other task.
  void note_other_task(const value& state) {
    std::string last;
    for (const auto& m : state["messages"].items())
      if (message_role(m) == "user")
        last = message_text(m);
    if (!f_.task.empty() && f_.task != last)
      std::cerr << "coder: thread " << f_.thread << " resumes: " << cli::harmless_text(last)
                << "\ncoder: for another task, name another --thread\n";
  }

  void turn(const run_input& input) {
    questions_.clear();
    run_control control;
    signals_.watch(control);
    auto parts = app_.stream(input,
                             {.thread_id = f_.thread,
                              .durability = durability::sync,
                              .recursion_limit = steps_max,
                              .subgraphs = true,
                              .metadata = value::map({{model_mark, who_.name}}),
                              .control = control},
                             cli::chat_view::modes());
    auto next = parts.try_next();
    for (; next && *next; next = parts.try_next())
      view_.part(**next);
    signals_.watch(std::nullopt);
    view_.end_line();
    if (!next)
      throw next.error();
    const auto& how = *parts.outcome();
    questions_ = how.interrupts();
    auto why = how.paused() ? std::string{} : cli::why_last_not_whole(how.value()["messages"]);
    is_whole_ = why.empty();
    if (!is_whole_)
      say("  ! " + cli::harmless_text(why));
  }

  // The person's answer to each waiting call; nullopt at the end of the input.
  std::optional<value> ask() {
    auto answers = value::map();
    for (const auto& q : questions_) {
      auto answer = ask_about(q.value);
      if (!answer)
        return std::nullopt;
      answers = answers.with(q.id, *answer);
    }
    return answers;
  }

  std::optional<value> ask_about(const value& question) {
    while (true) {
      std::cout << view_.out().paint(cli::style::yellow, "asks") << "  "
                << cli::harmless_text(question["name"].as<std::string>() + ' '
                                      + to_json(question["args"]))
                << "\n      " << how_to_answer << "\n? " << std::flush;
      std::string line;
      if (!std::getline(std::cin, line))
        return std::nullopt;
      if (line == "always" || line == "a")
        return value::map({{"type", "always"}});
      if (auto decision = cli::decision_of(question, line))
        return decision;
    }
  }

  int paused() {
    std::cout << '\n';
    std::cerr << "coder: a question waits for your answer; the same command asks it again\n";
    return cli::exit_paused;
  }

  const flags& f_;
  cli::stop_signals& signals_;
  std::filesystem::path project_;
  coder::minds who_;
  bool sandbox_;
  runtime rt_;
  app<> app_;
  cli::chat_view view_;
  std::vector<interrupt> questions_;
  bool is_whole_ = true; // the last answer
};

int coder_main(int argc, char** argv) {
  flags f;
  CLI::App app{"A coding agent: reads, searches, edits and runs commands in one folder, and asks "
               "before it changes or runs anything."};
  app.add_option("FOLDER", f.folder, "The project")->required()->check(CLI::ExistingDirectory);
  app.add_option("TASK", f.task, "The task; without it, the thread resumes");
  app.add_option("--thread", f.thread, "The conversation")->type_name("ID")->capture_default_str();
  app
    .add_option("--model", f.model,
                "The model; default: TROUPE_MODEL, then OPENAI_BASE_URL or ANTHROPIC_API_KEY; "
                "without any, a script takes its place")
    ->type_name("PROVIDER:MODEL");
  app
    .add_option("--tool-grammar", f.tool_grammar,
                "Hold a local model to text and valid calls, if its server is one of these")
    ->check(CLI::IsMember({"llama.cpp", "vllm"}))
    ->type_name("SERVER");
  app
    .add_option("--allow", f.allow, "Tools that run without asking: write_file, edit_file or shell")
    ->type_name("TOOL")
    ->delimiter(',')
    ->check(CLI::IsMember({"write_file", "edit_file", "shell"}));
  auto seconds = f.shell.timeout.count();
  bool no_sandbox = false;
  app.add_option("--shell-seconds", seconds, "How long a command may take")
    ->type_name("N")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app.add_flag("--no-sandbox", no_sandbox, "Run commands with your rights, without bubblewrap");
  app.footer(std::string{"An answer: "} + how_to_answer + ".\n" + cli::exit_codes_help);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() == 0)
      return app.exit(why);
    throw error{errc::invalid_config, why.what()};
  }
  f.shell.timeout = std::chrono::seconds{seconds};
  if (no_sandbox)
    f.shell.sandbox = shell_sandbox::none;
  cli::stop_signals signals; // before any threads start
  return session{f, signals}.run();
}

} // namespace

} // namespace troupe

int main(int argc, char** argv) {
  return troupe::cli::run_reporting("coder", false, [&] { return troupe::coder_main(argc, argv); });
}
