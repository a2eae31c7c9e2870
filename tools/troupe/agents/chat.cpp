// troupe chat: a conversation with a graph over `messages`, on a terminal or through a pipe.
#include "agents/messages/history.hpp"
#include "tools/troupe/agents/answer_end.hpp"
#include "tools/troupe/agents/chat_answers.hpp"
#include "tools/troupe/agents/chat_view.hpp"
#include "tools/troupe/agents/definitions.hpp"
#include "tools/troupe/agents/line_editor.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/home_flags.hpp"
#include "tools/troupe/number_checks.hpp"
#include "tools/troupe/run_output.hpp"
#include "tools/troupe/run_plan.hpp"
#include "tools/troupe/stop_signals.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

namespace troupe::cli {

namespace {

struct chat_flags {
  std::string graph = "chat", thread, model;
  std::shared_ptr<kept_place> place;
  std::size_t history = 3; // turns
  std::optional<std::uint32_t> recursion_limit = std::nullopt;
  std::shared_ptr<home_flags> home;
  std::optional<std::int64_t> max_tokens = std::nullopt;
  std::optional<unsigned> attempts = std::nullopt;
  std::optional<std::int64_t> model_seconds = std::nullopt, first_token_seconds = std::nullopt;

  bool sets_model() const noexcept {
    return !model.empty() || max_tokens || attempts || model_seconds || first_token_seconds;
  }
};

chat_model_options model_options(const chat_flags& o) {
  chat_model_options out{.max_tokens = o.max_tokens};
  if (o.attempts)
    out.attempts_max = *o.attempts;
  if (o.model_seconds)
    out.timeout = std::chrono::seconds{*o.model_seconds};
  if (o.first_token_seconds)
    out.first_token_timeout = std::chrono::seconds{*o.first_token_seconds};
  return out;
}

compiled_graph graph_of(const chat_flags& o) {
  if (o.sets_model() && o.graph != "chat")
    throw error{errc::invalid_config, std::string{o.model.empty() ? "flags of a model" : "--model"}
                                        + ": only for the built-in graph chat; " + o.graph
                                        + " has models of its own"};
  auto graph = o.sets_model() ? chat_graph(o.model, model_options(o)) : find_graph(o.graph);
  auto keys = graph.inputs();
  if (std::ranges::find(keys, "messages") != keys.end())
    return graph;
  std::string known;
  for (const auto& key : keys)
    known += (known.empty() ? "`" : ", `") + key + "`";
  throw error{errc::invalid_config, "chat with " + o.graph
                                      + ": the graph has no channel `messages` but " + known
                                      + "; use troupe run"};
}

runtime_options options_of(const chat_flags& o) {
  o.place->read_environment();
  o.place->use_default();
  auto out = o.place->options();
  out.workers = o.home->workers();
  return out;
}

class conversation {
public:
  conversation(chat_flags o, bool json, stop_signals& signals)
    : o_{std::move(o)},
      json_{json},
      signals_{signals},
      graph_{graph_of(o_)},
      rt_{options_of(o_)},
      app_{rt_.load(graph_)} {
    if (o_.thread.empty())
      o_.thread = new_thread_id("chat");
  }

  int run() {
    begin();
    while (!failed_) {
      if (waits_) {
        if (!answer())
          break;
        continue;
      }
      auto line = read_line('>');
      if (!line)
        break;
      if (line->find_first_not_of(" \t\r") != std::string::npos)
        turn(input_of(*line));
    }
    end();
    if (failed_ || waits_)
      return failed_.value_or(exit_paused);
    return not_whole_ && !talks_ ? exit_not_whole : exit_done;
  }

private:
  // -- the beginning and the end

  void begin() {
    auto now = app_.get_state({.thread_id = o_.thread});
    const auto& messages = now.values["messages"];
    if (talks_)
      std::cerr << view_.out().paint(style::faint, "thread " + o_.thread + ", kept in "
                                                     + o_.place->text()
                                                     + "; Ctrl-C stops an answer, Ctrl-D ends")
                << '\n';
    if (talks_ && messages.is_list())
      show(messages);
    if (editor_ && messages.is_list())
      for (const auto& m : messages.items())
        if (message_role(m) == "user")
          editor_->remember(one_line(message_text(m)));
    if (!now.interrupts.empty())
      return wait_for(now.interrupts, now.next);
    if (!was_cut_off())
      return;
    note("the last turn was cut off; it resumes");
    turn(run_input{nullptr});
  }

  bool was_cut_off() const {
    auto cut = app_.try_unfinished();
    return cut && std::ranges::find(*cut, o_.thread) != cut->end();
  }

  void show(const value& messages) {
    auto all = messages.items();
    auto first = all.size();
    for (auto turns = o_.history; turns > 0 && first > 0;)
      if (message_role(all[--first]) == "user")
        --turns;
    if (first > 0 && first < all.size())
      view_.detail("… " + std::to_string(first) + " earlier messages");
    for (const auto& m : all.subspan(first))
      view_.past(m);
    view_.end_line();
  }

  void end() {
    if (talks_)
      std::cout << '\n' << std::flush;
    if (waits_)
      note("the question waits; to be asked again: troupe chat " + shell_word(o_.graph) + " "
           + o_.place->flags() + " --thread " + shell_word(o_.thread));
  }

  void note(const std::string& text) const {
    if (!json_)
      std::cerr << text << '\n' << std::flush;
  }

  // -- lines

  static constexpr const char* ends_next = "\n(press again to end)\n";

  std::optional<std::string> read_line(char prompt) {
    if (!editor_)
      return plain_line(prompt);
    signals_.watch([this] { editor_->begin_anew(ends_next); }, {},
                   [this] { editor_->restore_terminal(); });
    auto line = editor_->read(view_.out().has_colours()
                                ? std::string{"\1\33[1m\1"} + prompt + "\1\33[0m\1 "
                                : std::string{prompt, ' '});
    signals_.watch(std::nullopt);
    return line;
  }

  std::optional<std::string> plain_line(char prompt) {
    auto shown = view_.out().paint(style::bold, prompt + std::string{" "});
    if (talks_) {
      // Before anybody sees that they may type.
      signals_.watch([shown] { std::cout << ends_next << shown << std::flush; }, {});
      std::cout << shown << std::flush;
    }
    std::string line;
    bool got = static_cast<bool>(std::getline(std::cin, line));
    signals_.watch(std::nullopt);
    if (!got)
      return std::nullopt;
    if (line.ends_with('\r'))
      line.pop_back();
    return line;
  }

  // The conversation; calls that a cancelled or failed turn left open are answered before.
  run_input input_of(const std::string& line) const {
    auto state = app_.get_state({.thread_id = o_.thread}).values;
    auto said = patch_of_tool_calls(state["messages"]);
    said.push_back(human_message(line));
    return value::map({{"messages", value::list(std::move(said))}});
  }

  // -- turns

  void turn(const run_input& input) {
    waits_ = false;
    run_control control;
    signals_.watch([control]() mutable { control.cancel(); }, {});
    auto parts = app_.stream(input, config(control), view_.modes());
    auto next = parts.try_next();
    for (; next && *next; next = parts.try_next())
      show(**next, parts);
    signals_.watch(std::nullopt);
    view_.end_line();
    if (!next)
      return say_failure(next.error());
    const auto& how = *parts.outcome();
    if (json_)
      output_.result(o_.thread, how);
    if (how.paused())
      return wait_for(how.interrupts(), how.next());
    if (auto why = why_last_not_whole(how.value()["messages"]); !why.empty()) {
      not_whole_ = true;
      if (!json_)
        view_.detail("  ! " + harmless_text(why));
    }
  }

  run_config config(const run_control& control) const {
    return {.thread_id = o_.thread,
            .durability = durability::sync, // the conversation is kept
            .recursion_limit = o_.recursion_limit,
            .subgraphs = true,
            .control = control};
  }

  void show(const stream_part& part, const part_stream& run) {
    if (json_)
      output_.part(part, run);
    else
      view_.part(part);
  }

  void say_failure(const error& why) {
    if (why.code() == errc::cancelled && talks_)
      return view_.detail("(cancelled)");
    auto said = why;
    if (why.code() == errc::conflict)
      said = {why.code(), "thread " + o_.thread
                            + " is in use: another process took it over; this turn is not kept"};
    report_failure("troupe", said, json_);
    auto code = exit_code_of_run(why);
    if (why.code() == errc::cancelled)
      failed_ = exit_stopped;
    else if (!talks_ || code == exit_storage)
      failed_ = code;
    else if (why.code() == errc::invalid_resume) // the question waits on
      ask_again();
  }

  // -- questions

  void ask_again() {
    auto now = app_.get_state({.thread_id = o_.thread});
    if (!now.interrupts.empty())
      wait_for(now.interrupts, now.next);
  }

  void wait_for(std::vector<interrupt> questions, const std::vector<std::string>& next) {
    waits_ = true;
    questions_ = std::move(questions);
    stopped_before_ = next.empty() ? std::string{"its end"} : next.front();
  }

  // Asks the questions of the run, and resumes it. False at the end of the input.
  bool answer() {
    if (questions_.empty())
      return go_on();
    auto answers = value::map();
    for (const auto& q : questions_) {
      auto given = asks_for_review(q.value)   ? review(q)
                   : asks_about_call(q.value) ? decide(q.value, allowed_decisions(q, 0))
                                              : ask(q);
      if (!given)
        return leaves_question();
      answers = answers.with(q.id, *given);
    }
    turn(command{.resume = answers});
    return true;
  }

  bool go_on() {
    auto line = ask_until("stopped before " + stopped_before_ + "; continue? yes or no",
                          [](const std::string& l) -> std::optional<value> {
                            if (l == "y" || l == "yes")
                              return value(true);
                            return l == "n" || l == "no" ? std::optional{value(false)}
                                                         : std::nullopt;
                          });
    if (!line)
      return leaves_question();
    if (*line == value(true))
      turn(run_input{nullptr});
    else
      waits_ = false;
    return true;
  }

  std::optional<value> ask(const interrupt& q) {
    auto text = q.value.is_string() ? q.value.as<std::string>() : to_json(q.value);
    if (!q.response_schema.is_null())
      text += "  " + to_json(q.response_schema);
    return ask_until(text, [](const std::string& line) { return plain_answer_of(line); });
  }

  // No answer was given: the end of the input, or the question stays open and a message follows.
  bool leaves_question() {
    if (!std::exchange(leaves_, false))
      return false;
    waits_ = false;
    note("the question stays open; a message as the next line discards it");
    return true;
  }

  // About a call {name, args …}.
  std::optional<value> decide(const value& request, const std::vector<std::string>& allowed,
                              bool all_at_once = false) {
    return ask_until(to_json(request["name"]) + ' ' + to_json(request["args"]) + ": "
                       + help_of(allowed),
                     [&](const std::string& line) -> std::optional<value> {
                       if (auto all = all_at_once ? all_decisions_of(line) : std::nullopt)
                         return all;
                       auto decision = decision_of(request, line);
                       bool fits = decision && allows(allowed, (*decision)["type"]);
                       return fits ? decision : std::nullopt;
                     });
  }

  std::optional<value> review(const interrupt& question) {
    std::vector<value> decisions;
    for (const auto& request : question.value["action_requests"].items()) {
      auto i = decisions.size();
      auto decision = decide(request, allowed_decisions(question, i), i == 0);
      if (!decision || (*decision)["decisions"].is_list())
        return decision; // all in one
      decisions.push_back(*decision);
    }
    return value::map({{"decisions", value::list(std::move(decisions))}});
  }

  template <class Read> std::optional<value> ask_until(const std::string& question, Read read) {
    view_.end_line();
    while (true) {
      if (!json_)
        std::cout << view_.out().paint(style::yellow, "asks") << "  " << harmless_text(question)
                  << '\n'
                  << std::flush;
      auto line = read_line('?');
      if (!line)
        return std::nullopt;
      if (*line == leave_word) {
        leaves_ = true;
        return std::nullopt;
      }
      if (auto given = read(*line))
        return given;
      if (!talks_)
        throw error{errc::invalid_value, "answer a question: not a valid answer: " + *line
                                           + "; the question: " + question};
    }
  }

  chat_flags o_;
  bool json_;
  bool talks_ = !json_ && isatty(STDIN_FILENO) == 1;
  std::unique_ptr<line_editor> editor_ = // before there are threads: it sets the locale
    talks_ && line_editor::works_here() ? std::make_unique<line_editor>() : nullptr;
  stop_signals& signals_;
  compiled_graph graph_;
  runtime rt_;
  app<> app_;
  chat_view view_;
  run_output output_{json_, false};
  bool waits_ = false;
  bool leaves_ = false; // the question that was asked last, without an answer
  std::vector<interrupt> questions_;
  std::string stopped_before_;
  std::optional<int> failed_;
  bool not_whole_ = false; // an answer
};

} // namespace

void define_chat(CLI::App* command, chosen_command& chosen) {
  auto o = std::make_shared<chat_flags>();
  command->add_option("GRAPH", o->graph, "A built-in graph, or path/to/lib.so:name")
    ->capture_default_str();
  command->add_option("--thread", o->thread, "The conversation to continue; default: a new one")
    ->type_name("ID")
    ->check(thread_name);
  o->place = add_kept_place(*command);
  command
    ->add_option("--model", o->model,
                 "The model of the built-in graph chat; default: TROUPE_MODEL, or an echo")
    ->type_name("PROVIDER:MODEL");
  command->add_option("--max-tokens", o->max_tokens, "Most tokens of one answer of that model")
    ->type_name("N")
    ->check(positive_number);
  command
    ->add_option("--model-attempts", o->attempts,
                 "Most attempts of one call of that model, with the first; default: 3")
    ->type_name("N")
    ->check(positive_number);
  command
    ->add_option(
      "--model-seconds", o->model_seconds,
      "Longest time of one call of that model with all attempts, in seconds; default: 600")
    ->type_name("N")
    ->check(CLI::Range(1, 86'400));
  command
    ->add_option("--first-token-seconds", o->first_token_seconds,
                 "Longest time until that model begins to answer, in seconds; default: 300")
    ->type_name("N")
    ->check(CLI::Range(1, 86'400));
  command->add_option("--history", o->history, "Turns to show at the beginning")
    ->type_name("N")
    ->capture_default_str();
  command
    ->add_option("--recursion-limit", o->recursion_limit,
                 "Most super-steps of a turn; default: the limit of the graph")
    ->type_name("N")
    ->check(positive_number);
  o->home = add_home_flags(*command);
  command->add_flag("--json", chosen.json, "Print one JSON object a line");
  command->footer(
    std::string{"Each line is a turn. On a terminal the answer appears as it is made; Ctrl-C stops "
                "it, Ctrl-D ends.\nThrough a pipe, lines are read and answers are printed; calls "
                "of tools are reported on stderr.\nThe next line answers a question, as JSON or "
                "text. Answers to a tool that waits for approval:\n"}
    + review_help
    + ".\nOnly answers that the question allows are accepted. /leave leaves a question open: the "
      "next line is "
      "a "
      "message.\n"
    + exit_codes_help);
  command->callback([o, &chosen] {
    chosen.run = [o, &chosen] {
      stop_signals signals{SIGTERM}; // before anything that starts threads
      return conversation{*o, chosen.json, signals}.run();
    };
  });
}

} // namespace troupe::cli
