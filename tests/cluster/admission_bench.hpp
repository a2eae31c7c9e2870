// An admission whose host records its orders, and homes that send the messages of a test.
#pragma once

#include "tests/cluster/sent_messages.hpp"

#include "cluster/placement/task_admission.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe::cluster {

using namespace std::chrono_literals;

struct admission_bench : admission_host, sent_messages {
  std::vector<link_number> ended;
  std::vector<std::pair<home_number, errc>> over;
  std::vector<local_run> opened, closed;
  std::map<local_task, task_order> begun;
  std::map<local_task, bytes> steps;
  std::vector<local_task> stopped, asked_back;
  std::vector<std::pair<local_task, message>> passed;
  std::vector<cluster_event> events;
  std::shared_ptr<lease_end> until; // of the run that was opened last
  int drains_ended = 0;
  instant now = 1000s;
  task_admission machine{*this,
                         {.name = "w",
                          .incarnation = "w.1",
                          .labels = {"gpu"},
                          .capacity = 2,
                          .graphs = {{.name = "g", .hash = "g1"}}}};

  void send(link_number link, message what) override { sent[link].push_back(std::move(what)); }
  void end_link(link_number link) override { ended.push_back(link); }
  void session_over(home_number home, const error& why) override {
    over.emplace_back(home, why.code());
  }
  void open_run(local_run run, home_number, run_opened, std::shared_ptr<lease_end> end) override {
    opened.push_back(run);
    until = std::move(end);
  }
  void close_run(local_run run) override { closed.push_back(run); }
  void begin(local_task task, local_run, task_order what, const bytes& step) override {
    begun[task] = std::move(what);
    steps[task] = step;
  }
  void stop(local_task task) override { stopped.push_back(task); }
  void give_back(local_task task) override { asked_back.push_back(task); }
  void pass_on(local_task task, message what) override {
    passed.emplace_back(task, std::move(what));
  }
  void report(cluster_event what) override { events.push_back(std::move(what)); }
  std::optional<process_facts> look_at(std::uint32_t pid) override {
    auto at = processes.find(pid);
    return at == processes.end() ? std::nullopt : std::optional{at->second};
  }
  std::map<std::uint32_t, process_facts> processes; // of this host; others can't be looked at
  void drained() override { ++drains_ended; }

  static welcome terms(session_number session = 1, std::string home = "h.1") {
    return {.session = session, .home = std::move(home), .lease = 2500ms, .heartbeat = 500ms};
  }
  /// A session with a home, and a run of it.
  void work_for(home_number home, link_number link) {
    machine.link_made(home, link, now);
    machine.heard(link, terms(), now);
    machine.heard(link, run_opened{.run = 1, .graph = "g1"}, now);
  }
  void order(link_number link, issue_number issue, std::uint64_t run = 1) {
    machine.heard(link, task_order{.issue = issue, .run = run, .task_id = "t", .node = "n"}, now);
  }
  void order_ahead(link_number link, issue_number issue, std::size_t size = 0) {
    task_order what{.issue = issue, .run = 1, .task_id = "t", .node = "n"};
    what.task = bytes(size);
    what.ahead = true;
    machine.heard(link, what, now);
  }
  local_task begin_one(link_number link, issue_number issue) {
    order(link, issue);
    BOOST_REQUIRE(!begun.empty());
    BOOST_REQUIRE(begun.rbegin()->second.issue == issue);
    return begun.rbegin()->first;
  }
  bool refused(link_number link, issue_number issue, errc code) const {
    auto out = all<task_refused>(link);
    return std::any_of(out.begin(), out.end(),
                       [&](const auto& r) { return r.issue == issue && r.code == code; });
  }
  /// The home answers heartbeats, but for `deaf` ones.
  void wait(nanoseconds how_long, const std::vector<link_number>& answering = {}) {
    for (auto end = now + how_long; now < end;) {
      now += std::min<nanoseconds>(250ms, end - now);
      machine.tick(now);
      for (auto link : answering)
        if (auto out = all<heartbeat>(link); !out.empty())
          machine.heard(link, heartbeat{.number = out.back().number, .answers = out.back().number},
                        now);
    }
  }
  admission_status status() const { return machine.status(now); }
};

} // namespace troupe::cluster
