// A dispatcher whose host records its orders, and workers that send the messages of a test.
#pragma once

#include "tests/cluster/sent_messages.hpp"

#include "cluster/placement/dispatcher.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cluster {

using namespace std::chrono_literals;

inline const graph_offer research{.name = "research", .hash = std::string(32, 'a')};
inline const graph_offer other_research{.name = "research", .hash = std::string(32, 'b')};

struct dispatcher_bench : dispatcher_host, sent_messages {
  std::vector<link_number> ended;
  std::map<task_number, bytes> taken;
  std::map<task_number, std::string> taken_from;
  std::map<task_number, error> failed;
  std::vector<std::pair<task_number, message>> passed;
  std::vector<cluster_event> events;
  instant now = 1000s;
  dispatcher machine;
  run_number run = 0;

  /// `ahead`: orders that may wait at a worker.
  explicit dispatcher_bench(dispatcher_options options = {}, std::uint32_t ahead = 0)
    : machine{*this, named(options, ahead), now} {
    run = machine.open_run(research, {1, 2});
  }
  static dispatcher_options named(dispatcher_options o, std::uint32_t ahead) {
    o.incarnation = "home.1";
    o.ahead_max = ahead;
    return o;
  }

  void send(link_number link, message what) override { sent[link].push_back(std::move(what)); }
  void end_link(link_number link) override { ended.push_back(link); }
  void take(task_number task, bytes outcome, const std::string& worker) override {
    taken[task] = std::move(outcome);
    taken_from[task] = worker;
  }
  void fail(task_number task, error why) override { failed.emplace(task, std::move(why)); }
  void pass_on(task_number task, message what) override {
    passed.emplace_back(task, std::move(what));
  }
  void report(cluster_event what) override { events.push_back(std::move(what)); }
  std::optional<process_facts> look_at(std::uint32_t pid) override {
    auto at = processes.find(pid);
    return at == processes.end() ? std::nullopt : std::optional{at->second};
  }
  std::map<std::uint32_t, process_facts> processes; // of this host; others can't be looked at

  static hello who(std::string name, std::uint32_t capacity, std::vector<std::string> labels = {}) {
    return {.name = name,
            .incarnation = name + ".1",
            .labels = std::move(labels),
            .capacity = capacity,
            .graphs = {research}};
  }
  void present(link_number link, hello what) { machine.heard(link, std::move(what), now); }
  /// It answers when it is welcome.
  void join(link_number link, hello what) {
    present(link, std::move(what));
    if (!all<welcome>(link).empty())
      beat(link);
  }
  void join(link_number link, std::string name, std::uint32_t capacity,
            std::vector<std::string> labels = {}) {
    join(link, who(std::move(name), capacity, std::move(labels)));
  }

  result<task_number> try_submit(on_worker where = {}, run_number of = 0, std::size_t size = 1) {
    return machine.submit({.run = of == 0 ? run : of,
                           .task_id = "id",
                           .node = "work",
                           .task = bytes(size),
                           .where = std::move(where)},
                          now);
  }
  task_number submit(on_worker where = {}, run_number of = 0) {
    auto out = try_submit(std::move(where), of);
    BOOST_REQUIRE(out.has_value());
    return *out;
  }
  void outcome(link_number link, issue_number issue, std::uint8_t what = 9,
               std::uint64_t took_us = 0) {
    machine.heard(link, task_outcome{.issue = issue, .outcome = {what}, .took_us = took_us}, now);
  }
  void refuse(link_number link, issue_number issue, errc code = errc::overloaded) {
    machine.heard(link, task_refused{.issue = issue, .code = code, .why = "so"}, now);
  }
  void beat(link_number link, std::uint32_t foreign = 0) {
    auto said = all<heartbeat>(link);
    machine.heard(link,
                  heartbeat{.number = ++beats[link],
                            .answers = said.empty() || deaf.contains(link) ? 0 : said.back().number,
                            .foreign = foreign},
                  now);
  }
  std::map<link_number, std::uint64_t> beats;
  std::set<link_number> deaf; // these hear nothing of the home

  /// Time passes in ticks. Those in `alive` send heartbeats.
  void wait(nanoseconds how_long, const std::vector<link_number>& alive = {}) {
    for (auto end = now + how_long; now < end;) {
      now += std::min<nanoseconds>(250ms, end - now);
      for (auto link : alive)
        beat(link);
      machine.tick(now);
    }
  }

  std::size_t orders(link_number link) const { return all<task_order>(link).size(); }
  std::size_t reported(event_kind kind) const {
    return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [kind](auto& e) { return e.kind == kind; }));
  }
  dispatcher_status status() const { return machine.status(now); }
  errc failure(task_number task) const {
    auto at = failed.find(task);
    return at == failed.end() ? errc::ok : at->second.code();
  }
};

} // namespace troupe::cluster
