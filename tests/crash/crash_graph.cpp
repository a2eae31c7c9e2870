#include "tests/crash/crash_graph.hpp"

#include <troupe/troupe.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <system_error>

namespace crash {

namespace {

constexpr std::int64_t rounds = 6;
constexpr std::int64_t parts = 4;
constexpr std::int64_t items_per_round = 8;

std::string label(const std::string& name, std::int64_t round) {
  return name + "@" + std::to_string(round);
}

// One execution of a node's body, noted at both ends.
class execution {
public:
  execution(const notes& to, std::string name, const troupe::context& ctx)
    : to_{to},
      text_{name + " " + std::to_string(ctx.node_attempt()) + " " + ctx.task_id()} {
    to_.add("S " + text_);
  }
  void ended() { to_.add("E " + text_); }

private:
  const notes& to_;
  std::string text_;
};

// A body that does nothing but say that it ran.
auto logging(const notes& to, const std::string& name) {
  return [&to, name](const state& s, troupe::context& ctx) {
    auto entry = label(name, s.round);
    execution now{to, entry, ctx};
    auto out =
      troupe::set(&state::log, std::vector{entry}).set(&state::trail, std::vector{entry + "'"});
    now.ended();
    return out;
  };
}

// ---- the graphs within --------------------------------------------------------------------------

struct deep_state {
  std::int64_t round = 0;
  std::vector<std::string> deep;
  TROUPE_STATE(deep_state, round, (deep, troupe::append))
};

struct middle_state {
  std::int64_t round = 0;
  std::vector<std::string> deep;
  std::vector<std::string> found;
  TROUPE_STATE(middle_state, round, deep, (found, troupe::append))
};

template <class S>
auto finding(const notes& to, const std::string& name, std::vector<std::string> S::*list) {
  return [&to, name, list](const S& s, troupe::context& ctx) {
    auto entry = label(name, s.round);
    execution now{to, entry, ctx};
    auto out = troupe::set(list, std::vector{entry});
    now.ended();
    return out;
  };
}

troupe::typed_graph<deep_state> deep_graph(const notes& to) {
  troupe::state_graph<deep_state> g;
  for (const char* name : {"deep one", "deep two", "deep three"})
    g.add_node(name, finding(to, name, &deep_state::deep));
  g.add_edge(troupe::START, "deep one");
  g.add_edge("deep one", "deep two");
  g.add_edge("deep one", "deep three");
  return g.compile({.name = "deep"});
}

troupe::typed_graph<middle_state> middle_graph(const notes& to) {
  troupe::state_graph<middle_state> g;
  g.add_node("before", finding(to, "before", &middle_state::found));
  g.add_node("deep", deep_graph(to));
  g.add_node("after", [&to](const middle_state& s, troupe::context& ctx) {
    execution now{to, label("after", s.round), ctx};
    auto out = troupe::set(&middle_state::found, s.deep);
    now.ended();
    return out;
  });
  g.add_edge(troupe::START, "before");
  g.add_edge("before", "deep");
  g.add_edge("deep", "after");
  return g.compile({.name = "middle"});
}

// ---- nodes of a round ---------------------------------------------------------------------------

auto open_round(const notes& to) {
  return [&to](const state& s, troupe::context& ctx) {
    auto entry = label("open", s.round);
    execution now{to, entry, ctx};
    auto out = troupe::set(&state::log, std::vector{entry})
                 .set(&state::text, std::string(1000 * static_cast<std::size_t>(s.round + 1), 'x'));
    now.ended();
    return out;
  };
}

troupe::destinations share_out(const state& s) {
  std::vector<troupe::send> out;
  for (std::int64_t i = 0; i < items_per_round; ++i)
    out.push_back({"item", troupe::value::map({{"round", s.round}, {"number", i}})});
  return out;
}

auto item(const notes& to) {
  return [&to](const troupe::value& task, troupe::context& ctx) {
    auto number = task.at("number").as_int();
    auto entry = label("item" + std::to_string(number), task.at("round").as_int());
    execution now{to, entry, ctx};
    auto out = troupe::set(&state::log, std::vector{entry})
                 .set(&state::items, number)
                 .set(&state::trail, std::vector{entry + "'"});
    now.ended();
    return out;
  };
}

auto flaky(const notes& to) {
  return [&to](const state& s, troupe::context& ctx) {
    auto entry = label("flaky", s.round);
    execution now{to, entry, ctx};
    if (ctx.node_attempt() == 1)
      throw std::runtime_error{"the first attempt always fails"};
    auto out = troupe::set(&state::log, std::vector{entry});
    now.ended();
    return out;
  };
}

auto ask(const notes& to) {
  return [&to](const state& s, troupe::context& ctx) {
    auto entry = label("ask", s.round);
    execution now{to, entry, ctx};
    if (s.round % 2 == 1)
      entry += " " + ctx.interrupt(troupe::value::map({{"round", s.round}})).as<std::string>();
    auto out = troupe::set(&state::log, std::vector{entry}).set(&state::round, s.round + 1);
    now.ended();
    return out;
  };
}

} // namespace

notes::notes(const std::string& file)
  : fd_{::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)} {
  if (fd_ < 0)
    throw std::system_error{errno, std::generic_category(), file};
}

void notes::add(const std::string& line) const {
  auto text = line + "\n";
  if (::write(fd_, text.data(), text.size()) != std::ssize(text))
    throw std::system_error{errno, std::generic_category(), "write a note"};
}

troupe::typed_graph<state> build(const notes& to) {
  using namespace std::chrono_literals;
  troupe::state_graph<state> g;
  g.add_node("begin", logging(to, "begin"));
  g.add_node("open", open_round(to));
  for (std::int64_t i = 0; i < parts; ++i) {
    auto name = "part" + std::to_string(i);
    g.add_node(name, logging(to, name),
               {.lane = i == 1 ? troupe::lane::blocking : troupe::lane::standard});
    g.add_edge("open", name);
  }
  g.add_node("close", logging(to, "close"));
  g.add_node("item", item(to));
  g.add_node("sum", logging(to, "sum"));
  g.add_node("middle", middle_graph(to));
  g.add_node("flaky", flaky(to),
             {.retry_policy = {.initial_interval = 1ms,
                               .max_attempts = 3,
                               .jitter = false,
                               .retry_on = {[](const troupe::error&) { return true; }}}});
  g.add_node("ask", ask(to));
  g.add_node("finish", logging(to, "finish"));
  g.add_edge(troupe::START, "begin");
  g.add_edge("begin", "open");
  g.add_edge({"part0", "part1", "part2", "part3"}, "close");
  g.add_conditional_edges("close", share_out, {"item"});
  g.add_edge("item", "sum");
  g.add_edge("sum", "middle");
  g.add_edge("middle", "flaky");
  g.add_edge("flaky", "ask");
  g.add_conditional_edges(
    "ask", [](const state& s) { return s.round < rounds ? "open" : "finish"; }, {"open", "finish"});
  return g.compile({.name = "crash"});
}

} // namespace crash
