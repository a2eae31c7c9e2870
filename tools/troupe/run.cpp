// troupe run: runs a graph, or resumes a thread of it.
#include "tools/troupe/commands.hpp"
#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/failure.hpp"
#include "tools/troupe/graph_catalog.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/run_flags.hpp"
#include "tools/troupe/run_output.hpp"
#include "tools/troupe/run_plan.hpp"
#include "tools/troupe/stop_signals.hpp"
#include "tools/troupe/terminal.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <utility>

namespace troupe::cli {

namespace {

class graph_run {
public:
  graph_run(run_flags o, bool json, stop_signals& signals)
    : o_{std::move(o)},
      output_{json, o_.actors},
      signals_{signals},
      graph_{find_graph(o_.graph)} {
    o_.place->read_environment();
    if (o_.has_thread)
      o_.place->use_default();
    if (is_kept() && !o_.has_thread)
      o_.thread = new_thread_id(graph_.name());
  }

  int run() {
    config_ = o_.config(); // before anything is opened: a typo changes nothing
    auto given = given_input();
    if (o_.has_resume && !is_kept())
      throw error{errc::no_saver, "--resume: nothing to resume without a kept --thread"};
    if (o_.place->could_be_made()
        && next_move(thread_stage::fresh, wishes()) == run_move::refuse_fresh)
      throw nothing_stored(); // a look makes no data directory
    auto place = o_.place->options();
    place.workers = o_.home->workers();
    runtime rt{std::move(place)};
    auto app = rt.load(graph_);
    if (!is_kept())
      return advance(app, given ? *given : run_input{});
    auto now = look(app);
    if (!o_.checkpoint.empty() && stage_of(now) == thread_stage::fresh)
      throw unknown_checkpoint(app, o_.thread, o_.checkpoint, *o_.place);
    return make(next_move(stage_of(now), wishes()), app, now, std::move(given));
  }

private:
  bool is_kept() const { return o_.place->is_somewhere(); }

  run_wishes wishes() const {
    return {.has_input = o_.has_input,
            .has_answer = o_.has_resume,
            .once = o_.once,
            .travels = !o_.checkpoint.empty(),
            .is_named = o_.has_thread};
  }

  std::optional<run_input> given_input() {
    if (o_.has_resume)
      return command{.resume = o_.answer()};
    if (!o_.has_input)
      return std::nullopt;
    input_ = o_.input_for(graph_);
    return run_input(input_);
  }

  state_snapshot look(const app<>& app) const {
    return app.get_state({.thread_id = o_.thread, .checkpoint_id = o_.checkpoint});
  }

  int make(run_move move, const app<>& app, const state_snapshot& now,
           std::optional<run_input> given) {
    auto note_place = [&] {
      output_.note("thread " + one_line(o_.thread) + ", kept in " + o_.place->text());
    };
    had_input_ = false;
    before_ = newest(app);
    switch (move) {
      case run_move::refuse_fresh: throw nothing_stored();
      case run_move::refuse_answer:
        throw error{errc::unknown_interrupt, "--resume: nothing to resume: thread " + o_.thread
                                               + " does not wait for an answer"};
      case run_move::show_result: return note_place(), show_result(app, now);
      case run_move::show_question: return note_place(), show_question(app, now);
      case run_move::resume:
        note_place();
        if (o_.once)
          note_input(app, "resumes");
        return advance(app, nullptr);
      case run_move::answer: return note_place(), advance(app, *given);
      case run_move::begin_over:
        note_place();
        output_.note("the thread had not finished: it starts over with this input (without "
                     "--input, or with --once, it resumes)");
        [[fallthrough]];
      case run_move::begin:
        if (move == run_move::begin)
          note_place();
        had_input_ = true;
        return advance(app, given ? *given : run_input{});
    }
    return exit_failed;
  }

  // A supervisor needs an exit code of its own for this.
  failure nothing_stored() const {
    if (o_.has_resume)
      return {o_.place->unknown_thread(o_.thread), exit_usage};
    return {{errc::missing_key, "nothing is stored of thread `" + one_line(o_.thread) + "` in "
                                  + o_.place->text() + ": --input JSON starts it; "
                                  + o_.place->threads_command() + " lists the known threads"},
            exit_nothing_stored};
  }

  int show_result(const app<>& app, const state_snapshot& now) {
    output_.note("thread `" + one_line(o_.thread) + "` is finished; --input JSON "
                 + (o_.once ? "without --once " : "") + "starts it again");
    if (o_.once)
      note_input(app, "is finished");
    output_.result(o_.thread, run_result{{.output = shown(now.values),
                                          .checkpoint_id = now.config.checkpoint_id}});
    return exit_done;
  }

  // Those channels that a run of this graph gives.
  value shown(const value& state) const {
    auto members = graph_.output_jsonschema()["properties"];
    if (!state.is_map() || !members.is_map())
      return state;
    auto out = value::map();
    for (const auto& e : state.entries())
      if (members.contains(e.key()))
        out = out.with(std::string{e.key()}, e.val);
    return out;
  }

  int show_question(const app<>& app, const state_snapshot& now) {
    if (o_.once)
      note_input(app, "waits");
    return paused(run_result{
      {.output = now.values, .questions = now.interrupts, .next = now.next, .paused = true}});
  }

  // The input was given for a fresh thread only.
  void note_input(const app<>& app, const std::string& stage) const {
    auto begun = app.try_get_state_history(
      {.thread_id = o_.thread}, {.filter = value::map({{"source", "input"}}), .limit = 1});
    bool differs = false;
    if (begun)
      for (const auto& s : *begun)
        for (const auto& t : s.tasks)
          differs |= t.name == START && t.result && t.result->is_map() && *t.result != input_;
    if (differs)
      output_.note("the thread was started with another input; this one is ignored: "
                   + to_json(input_));
    else if (stage == "resumes")
      output_.note("the thread had not finished: it resumes, and --input is not used again");
  }

  int advance(const app<>& app, const run_input& input) {
    run_control control;
    auto config = config_;
    config.thread_id = o_.thread;
    config.control = control;
    signals_.watch(control);
    auto parts = app.stream(input, config, modes());
    auto next = parts.try_next();
    for (; next && *next; next = parts.try_next())
      output_.part(**next, parts);
    signals_.watch(std::nullopt);
    if (!next)
      fail(app, next.error());
    return finished(parts.outcome());
  }

  std::vector<stream_mode> modes() const {
    std::vector<stream_mode> out;
    for (const auto& name : o_.stream)
      out.push_back(parse_stream_mode(name).value());
    return out;
  }

  // The state at the thread's newest checkpoint; nothing where it can't be read.
  std::optional<state_snapshot> newest(const app<>& app) const {
    auto now = app.try_get_state({.thread_id = o_.thread});
    return now ? std::optional{std::move(*now)} : std::nullopt;
  }

  [[noreturn]] void fail(const app<>& app, const error& why) const {
    auto text = text_of(why);
    auto add = [&text](const std::string& what) {
      if (text.ends_with('.'))
        text.pop_back();
      text += "; " + what;
    };
    auto code = exit_code_of_run(why);
    if (o_.has_resume && code == exit_usage)
      text = "--resume: " + text;
    if (why.code() == errc::graph_recursion)
      add("--recursion-limit raises it");
    if (is_kept())
      switch (advice_for(app, why)) {
        case advice::none: break;
        case advice::resume: add("resume with: " + command_line()); break;
        case advice::answer: add("resume with: " + command_line() + " --resume JSON"); break;
        case advice::same_again:
          add("nothing of this run is stored: run the same command again");
          break;
      }
    throw failure{error{why.code(), text, why.type()}.with_details(why.details()), code};
  }

  advice advice_for(const app<>& app, const error& why) const {
    auto after = newest(app);
    if (!after || !before_)
      return advice::none;
    return advice_after(why.code(), stage_of(*after), had_input_,
                        after->config.checkpoint_id != before_->config.checkpoint_id);
  }

  int finished(const run_result* run) {
    if (!run)
      throw error{errc::node_failed, "the run ended without a result"};
    if (run->paused())
      return paused(*run);
    output_.result(o_.thread, *run);
    return exit_done;
  }

  int paused(const run_result& run) const {
    output_.result(o_.thread, run);
    if (!is_kept())
      output_.note("paused, but nothing is stored: run it with --data to resume it later");
    else if (run.interrupts().empty())
      output_.note("stopped before " + run.next().front() + "; resume with: " + command_line());
    else
      output_.note("waits for an answer; resume with: " + command_line() + " --resume JSON");
    return exit_paused;
  }

  std::string command_line() const {
    return "troupe run " + shell_word(o_.graph) + " " + o_.place->flags() + " --thread "
           + shell_word(o_.thread);
  }

  run_flags o_;
  run_output output_;
  stop_signals& signals_;
  compiled_graph graph_;
  run_config config_;
  value input_;
  bool had_input_ = true;
  std::optional<state_snapshot> before_;
};

} // namespace

error unknown_checkpoint(const app<>& app, const std::string& thread, const std::string& checkpoint,
                         const kept_place& place) {
  if (app.get_state({.thread_id = thread}).created_at.empty())
    return place.unknown_thread(thread);
  return {errc::checkpoint_missing, "thread " + one_line(thread) + " has no checkpoint "
                                      + one_line(checkpoint) + "; history lists them"};
}

void add_run(CLI::App& app, chosen_command& chosen) {
  auto* run = app.add_subcommand("run", "Run a graph, or resume a thread");
  auto o = add_run_flags(*run);
  run->add_flag("--json", chosen.json, "Print one JSON object a line");
  run->footer(std::string{"A supervisor repeats one command until it ends with 0: troupe run GRAPH "
                          "--thread T --input JSON --once\n"}
              + exit_codes_help);
  run->callback([run, o, &chosen] {
    o->has_input = run->count("--input") > 0;
    o->has_resume = run->count("--resume") > 0;
    o->has_thread = run->count("--thread") > 0;
    chosen.run = [o, &chosen] {
      stop_signals signals;
      return graph_run{*o, chosen.json, signals}.run();
    };
  });
}

} // namespace troupe::cli
