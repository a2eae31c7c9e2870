#include "tools/troupe/cluster/status_table.hpp"

#include "tools/troupe/terminal.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace troupe::cli {

namespace {

using row = std::array<std::string, 11>;

constexpr std::int64_t days_worth_saying =
  std::chrono::days{std::chrono::duration_cast<std::chrono::days>(limits::certificate_warning)}
    .count();

constexpr std::size_t build_digits = 12;  // that are shown; --json has all
constexpr double heartbeats_missed = 2.5; // from then on a home counts as silent

std::string text(const value& v) {
  return v.is_string() ? one_line(v.as_string()) : to_json(v);
}

std::string joined(const value& list) {
  std::string out;
  for (const auto& item : list.items())
    out += (out.empty() ? "" : ",") + text(item);
  return out.empty() ? "-" : out;
}

double number(const value& v) {
  return v.is_number() ? v.as_double() : 0.0;
}

std::string milliseconds(double ms) {
  char out[32];
  std::snprintf(out, sizeof out, ms < 100 ? "%.2f" : "%.0f", ms);
  return out;
}

// Without tasks the latency is missing.
std::string quantile(const value& latencies, const char* name) {
  return number(latencies["count"]) > 0 ? milliseconds(number(latencies[name])) : "-";
}

std::string with_certificate(std::string state, const value& status) {
  const auto& days = status["certificate_days"];
  if (!days.is_number() || number(days) >= days_worth_saying) // without TLS it is missing
    return state;
  if (number(days) < 0)
    return state + ", certificate expired";
  return state + ", certificate ends in " + text(days) + " days";
}

std::string used(const value& worker) {
  return text(worker["running"]) + "/" + text(worker["capacity"]);
}

// Tasks that a home has there; those that wait there for a place are shown apart.
std::string used_for_home(const value& worker) {
  auto ahead = worker["ahead"].as_int();
  return std::to_string(worker["running"].as_int() - ahead)
         + (ahead > 0 ? "+" + std::to_string(ahead) : "") + "/" + text(worker["capacity"]);
}

// How long ago a lease was renewed.
double silence(const value& peer) {
  return number(peer["lease_ms"]) - number(peer["lease_left_ms"]);
}

// How long ago the lease of the home that was heard least was renewed.
std::string lease_age(const value& homes) {
  double most = 0;
  for (const auto& home : homes.items())
    most = std::max(most, silence(home));
  return homes.empty() ? "-" : milliseconds(most);
}

// Homes that answer no more, and what the worker has of theirs.
std::string of_lost_homes(const value& w) {
  std::string out;
  for (const auto& home : w["homes"].items())
    if (silence(home) > heartbeats_missed * number(home["heartbeat_ms"]))
      out += ", a home silent for " + milliseconds(silence(home)) + " ms with "
             + text(home["tasks"]) + " tasks";
  if (number(w["left"]) > 0)
    out += ", " + text(w["left"]) + " tasks of a lost home for "
           + milliseconds(number(w["left_for_ms"])) + " ms";
  return out;
}

// The builds of its graphs, each once, which change with the code; and their versions.
std::string builds(const value& graphs) {
  std::vector<std::string> all;
  for (const auto& graph : graphs.items()) {
    auto one = text(graph["build"]).substr(0, build_digits);
    if (auto version = text(graph["version"]); !version.empty())
      one = text(graph["name"]) + " " + version + ":" + one;
    if (std::ranges::find(all, one) == all.end())
      all.push_back(std::move(one));
  }
  std::string out;
  for (const auto& one : all)
    out += (out.empty() ? "" : ",") + one;
  return out.empty() ? "-" : out;
}

row of_worker(const std::string& at, const value& w) {
  return {at,
          text(w["name"]),
          with_certificate((w["draining"].as_bool() ? "draining" : "up") + of_lost_homes(w), w),
          joined(w["labels"]),
          used(w),
          lease_age(w["homes"]),
          text(w["outcomes"]),
          quantile(w["tasks"], "p50_ms"),
          quantile(w["tasks"], "p99_ms"),
          std::to_string(w["homes"].size()),
          builds(w["graphs"])};
}

row of_home(const std::string& at, const value& home) {
  return {at,
          "(home)",
          with_certificate("up", home),
          "-",
          text(home["unfinished"]),
          "-",
          text(home["accepted"]),
          quantile(home["serving"], "p50_ms"),
          quantile(home["serving"], "p99_ms"),
          "-",
          "-"};
}

row of_its_worker(const value& w) {
  auto state = w["draining"].as_bool()    ? "draining"
               : w["reachable"].as_bool() ? "up"
                                          : "unreachable";
  return {"  its worker",
          text(w["name"]),
          state,
          joined(w["labels"]),
          used_for_home(w),
          milliseconds(silence(w)),
          text(w["outcomes"]),
          quantile(w["tasks"], "p50_ms"),
          quantile(w["tasks"], "p99_ms"),
          "-",
          builds(w["graphs"])};
}

std::vector<row> rows_of(const std::vector<cluster::peer_answer>& peers) {
  std::vector<row> out{{"ADDRESS", "WORKER", "STATE", "LABELS", "USED", "LEASE AGE MS", "TASKS",
                        "P50 MS", "P99 MS", "HOMES", "BUILD"}};
  for (const auto& [at, status, refused] : peers) {
    if (!status) {
      out.push_back({at, "-", "no answer", "-", "-", "-", "-", "-", "-", "-", "-"});
    } else if ((*status)["kind"] == value("home")) {
      out.push_back(of_home(at, *status));
      for (const auto& w : (*status)["workers"].items())
        out.push_back(of_its_worker(w));
    } else {
      out.push_back(of_worker(at, *status));
    }
  }
  return out;
}

} // namespace

std::vector<std::string> status_table(const std::vector<cluster::peer_answer>& peers) {
  auto rows = rows_of(peers);
  std::array<std::size_t, std::tuple_size_v<row>> widths{};
  for (const auto& cells : rows)
    for (std::size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  std::vector<std::string> out;
  for (const auto& cells : rows) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      line += cells[i];
      if (i + 1 < cells.size())
        line.append(widths[i] - cells[i].size() + 2, ' ');
    }
    out.push_back(std::move(line));
  }
  return out;
}

} // namespace troupe::cli
