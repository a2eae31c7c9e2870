// troupe-crash: runs a graph that may be killed at any moment, and shows what a store holds.
//
//   troupe-crash run DATA NOTES DURABILITY THREAD   goes on with the thread until it is finished
//   troupe-crash serve SECONDS                      commands on standard input, which may be
//   killed:
//                                                   fork_server.hpp
//   troupe-crash show                               data directories on standard input, one a line
//   troupe-crash look                               the same; a store that equals an earlier one is
//                                                   not printed again
//   troupe-crash race DATA RUNS WHO                 short runs on the thread "race"
//   troupe-crash take_over DATA NOTES GATES WHO DEPTH HOW
//                                                   one of two at a thread (HOW: all, alone)
//   troupe-crash agent DATA TOOL MODEL URL         an agent; the tool never ends
//   troupe-crash slow STEPS                         an async run over a saver that is slow
//   troupe-crash build                              "sanitized" if it is
#include "tests/crash/crash_agent.hpp"
#include "tests/crash/crash_graph.hpp"
#include "tests/crash/fork_server.hpp"
#include "tests/crash/slow_saver.hpp"
#include "tests/crash/store_contents.hpp"
#include "tests/crash/store_dump.hpp"
#include "tests/crash/takeover.hpp"

#include <troupe/troupe.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using crash::notes;
using troupe::value;

// ---- run ----------------------------------------------------------------------------------------

// A checkpoint, or a task's end, that was reported.
void note_part(const notes& to, const troupe::stream_part& part) {
  const auto& data = part.data;
  if (part.mode == troupe::stream_mode::checkpoints) {
    const auto& at = data["config"]["configurable"];
    to.add("C " + at["checkpoint_id"].as<std::string>() + " "
           + (part.ns.empty() ? crash::fingerprint(data["values"]) : "-"));
  } else if (data.contains("result") && data["error"].is_null() && data["interrupts"].empty()) {
    to.add("T " + data["id"].as<std::string>());
  }
}

std::optional<troupe::run_input> next_input(const troupe::state_snapshot& now) {
  if (now.config.checkpoint_id.empty())
    return troupe::run_input{value::map({{"round", 0}})};
  if (!now.interrupts.empty())
    return troupe::run_input{
      troupe::command{.resume = "answer " + to_json(now.interrupts[0].value["round"])}};
  if (now.tasks.empty())
    return std::nullopt;
  return troupe::run_input{nullptr};
}

// So that all three can be cut off, without changing the thread.
void prune_a_copy(troupe::saver& of, const std::string& thread) {
  auto copy = "copy of " + thread;
  of.delete_thread(copy).value();
  of.copy_thread(thread, copy).value();
  of.prune({copy}, {.keep_latest = 2, .keep_every = 7}).value();
}

// Notes `B` when it begins, `C`, `T` what is reported, `R` a run's last checkpoint when the run has
// returned, `F` when the thread is finished.
int run(const std::string& data, const notes& to, const std::string& durability,
        const std::string& thread) {
  to.add("B");
  troupe::runtime rt{{.data_dir = data, .worker_threads = 2}};
  auto app = rt.load(crash::build(to));
  troupe::run_config config{.thread_id = thread,
                            .durability = troupe::parse_durability(durability).value(),
                            .recursion_limit = 1000,
                            .subgraphs = true};
  using enum troupe::stream_mode;
  for (;;) {
    auto input = next_input(app.get_state(config));
    if (!input)
      break;
    auto parts = app.stream(*input, config, {tasks, checkpoints});
    while (auto part = parts.next())
      note_part(to, *part);
    to.add("R " + parts.outcome()->checkpoint_id());
    prune_a_copy(*rt.saver(), thread);
  }
  to.add("F");
  return 0;
}

// ---- show ---------------------------------------------------------------------------------------

value dumped(troupe::saver& saver) {
  auto dump = crash::dump_store(saver);
  return dump ? *dump : value::map({{"error", dump.error().message()}});
}

value shown(const std::string& data, std::shared_ptr<troupe::saver>& saver) {
  auto opened = troupe::open_lmdb_saver(data);
  if (!opened)
    return value::map({{"error", opened.error().message()}});
  saver = *opened;
  return dumped(*saver);
}

// The store named last stays open: who names it again sees it as a reader that stayed.
int show() {
  std::shared_ptr<troupe::saver> saver;
  std::string last;
  for (std::string line; std::getline(std::cin, line); last = line) {
    if (line != last)
      saver.reset();
    std::cout << to_json(shown(line, saver)) << std::endl;
  }
  return 0;
}

// The state that was read, and whether it equals the one before.
class contents_book {
public:
  struct entry {
    std::size_t number;
    bool is_new;
  };
  entry enter(std::string contents) {
    auto [at, is_new] = numbers_.try_emplace(std::move(contents), numbers_.size() + 1);
    return {at->second, is_new};
  }

private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

void look_at(const std::string& data, contents_book& seen) {
  auto opened = troupe::open_lmdb_saver(data);
  if (!opened)
    throw troupe::error{opened.error()};
  auto [number, is_new] = seen.enter(crash::store_contents(data + "/troupe.mdb"));
  if (is_new)
    std::cout << "new " << number << ' ' << to_json(dumped(**opened)) << std::endl;
  else
    std::cout << "same " << number << std::endl;
}

int look() {
  contents_book seen;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      look_at(line, seen);
    } catch (const std::exception& e) {
      std::cout << "new 0 " << to_json(value::map({{"error", e.what()}})) << std::endl;
    }
  }
  return 0;
}

// ---- race ---------------------------------------------------------------------------------------

// Two of these take a thread from each other: each run ends, or is told that it was too late.
int race(const std::string& data, int runs, const std::string& who) {
  troupe::runtime rt{{.data_dir = data, .worker_threads = 1}};
  troupe::state_graph<crash::state> g;
  g.add_node("sign", [](const value& task) { return value::map({{"log", task["text"]}}); });
  g.add_conditional_edges(troupe::START, [](const crash::state& s) {
    return troupe::send{"sign", value::map({{"text", value::list({s.text})}})};
  });
  auto app = rt.load(g.compile());
  std::string line;
  std::cout << "ready" << std::endl;
  std::getline(std::cin, line);
  for (int n = 0; n < runs; ++n) {
    auto name = who + std::to_string(n);
    auto how = app.try_invoke(value::map({{"text", name}}),
                              {.thread_id = "race", .durability = troupe::durability::sync});
    if (!how && how.error().code() != troupe::errc::conflict)
      throw troupe::error{how.error()};
    std::cout << (how ? "ok " : "conflict ") << name << "\n";
  }
  return 0;
}

// ---- slow ---------------------------------------------------------------------------------------

std::size_t resident_kib() {
#ifdef TROUPE_SANITIZE
  return 0; // memory that was freed counts for long
#endif
  std::ifstream statm{"/proc/self/statm"};
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  return resident * 4;
}

struct counting {
  std::int64_t step = 0;
  std::string text;
  TROUPE_STATE(counting, step, text)
};

// Prints how many checkpoints waited at most, how many requests there were, and the memory after a
// fifth of the steps and at the end.
int slow(int steps) {
  auto saver = std::make_shared<crash::slow_saver>();
  troupe::runtime rt{{.saver = saver, .worker_threads = 1}};
  std::size_t early = 0;
  troupe::state_graph<counting> g;
  g.add_node("count", [&early, steps](const counting& s) {
    if (s.step == steps / 5)
      early = resident_kib();
    return troupe::set(&counting::step, s.step + 1).set(&counting::text, std::string(4096, 'x'));
  });
  g.add_edge(troupe::START, "count");
  g.add_conditional_edges("count", [steps](const counting& s) {
    return s.step < steps ? "count" : troupe::END;
  });
  rt.load(g.compile())
    .invoke(value::map({{"step", 0}}),
            {.thread_id = "t", .recursion_limit = static_cast<std::uint32_t>(steps + 10)});
  std::cout << saver->checkpoints_max() << " " << saver->stored() << " " << early << " "
            << resident_kib() << "\n";
  return 0;
}

int name_build() {
#ifdef TROUPE_SANITIZE
  std::cout << "sanitized\n";
#endif
  return 0;
}

int run_command(const std::vector<std::string>& a) {
  if (a.size() == 5 && a[0] == "run")
    return run(a[1], notes{a[2]}, a[3], a[4]);
  if (a.size() == 2 && a[0] == "serve")
    return crash::serve(run_command, std::stod(a[1]));
  if (a.size() == 1 && a[0] == "show")
    return show();
  if (a.size() == 1 && a[0] == "look")
    return look();
  if (a.size() == 4 && a[0] == "race")
    return race(a[1], std::stoi(a[2]), a[3]);
  if (a.size() == 7 && a[0] == "take_over")
    return crash::take_over(a[1], notes{a[2]}, a[3], a[4], std::stoi(a[5]), a[6] == "alone");
  if (a.size() == 5 && a[0] == "agent")
    return crash::run_agent(a[1], a[2], a[3], a[4]);
  if (a.size() == 2 && a[0] == "slow")
    return slow(std::stoi(a[1]));
  if (a.size() == 1 && a[0] == "build")
    return name_build();
  std::cerr << "usage: see the top of tests/crash/main.cpp\n";
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run_command({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << "troupe-crash: " << e.what() << "\n";
    return 1;
  }
}
