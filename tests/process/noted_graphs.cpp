// A graph whose steps note when they begin and end, in a pipe, and wait in between until the test
// lets them through: groups of steps, each group on some worker.
#include <troupe/troupe.hpp>

#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

using troupe::value;

struct group_state {
  std::string notes; // the pipe
  std::string gates; // the folder of the gates, a pipe for each process
  std::int64_t group = 0, steps = 0, done = 0;
  std::int64_t over = 0; // groups: all of a group that its home hears
  TROUPE_STATE(group_state, notes, gates, group, steps, done, (over, troupe::sum))
};

// B or E, group, step, process, time: one write is one line, whoever else writes.
void note(const group_state& s, char what) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  auto line = std::string(1, what) + " " + std::to_string(s.group) + " " + std::to_string(s.done)
              + " " + std::to_string(::getpid()) + " "
              + std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec) + "\n";
  int file = ::open(s.notes.c_str(), O_WRONLY | O_CLOEXEC);
  auto written = ::write(file, line.data(), line.size());
  ::close(file);
  if (written != static_cast<ssize_t>(line.size()))
    throw std::system_error{errno, std::generic_category(), "note a step in " + s.notes};
}

// Each byte in the pipe lets one step of this process through.
void wait_at_gate(const group_state& s) {
  auto name = s.gates + "/" + std::to_string(::getpid());
  int gate = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (gate < 0)
    throw std::system_error{errno, std::generic_category(), "open " + name};
  char byte = 0;
  auto got = ::read(gate, &byte, 1);
  while (got < 0 && errno == EINTR)
    got = ::read(gate, &byte, 1);
  auto why = got == 0 ? EPIPE : errno; // 0: the test has ended
  ::close(gate);
  if (got != 1)
    throw std::system_error{why, std::generic_category(), "wait at " + name};
}

troupe::update<group_state> step(const group_state& s) {
  note(s, 'B');
  wait_at_gate(s);
  note(s, 'E');
  return troupe::set(&group_state::done, s.done + 1)
    .set(&group_state::over, std::int64_t{s.done + 1 == s.steps});
}

troupe::compiled_graph group() {
  troupe::state_graph<group_state> g;
  g.add_node("step", step, {.lane = troupe::lane::blocking});
  g.add_edge(troupe::START, "step");
  g.add_conditional_edges("step", [](const group_state& s) -> std::string {
    return s.done < s.steps ? "step" : troupe::END;
  });
  g.output_schema({{"over", troupe::sum}});
  return g.compile({.name = "group"});
}

struct all_state {
  std::string notes, gates;
  std::int64_t groups = 0, over = 0;
  std::vector<std::int64_t> steps; // of the groups, in turn
  TROUPE_STATE(all_state, notes, gates, groups, (over, troupe::sum), steps)
};

std::vector<troupe::send> to_groups(const all_state& s) {
  std::vector<troupe::send> out;
  for (std::int64_t i = 0; i < s.groups; ++i)
    out.push_back(
      {"group", value{{"notes", s.notes},
                      {"gates", s.gates},
                      {"group", i},
                      {"steps", s.steps.at(static_cast<std::size_t>(i % std::ssize(s.steps)))},
                      {"done", 0}}});
  return out;
}

} // namespace

TROUPE_GRAPH(noted) {
  troupe::state_graph<all_state> g;
  g.add_node("group", group(), {.placement = troupe::on_worker{}});
  g.add_conditional_edges(troupe::START, to_groups);
  return g.compile({.name = "noted"});
}
