// metrics: families of counts, one after the other.
#include "server/api/metrics.hpp"

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::server {
namespace {

using labels = std::vector<std::pair<std::string_view, std::string_view>>;

std::string number_text(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", number);
  return text;
}

// A family's text: its help and type, then a line for each count.
class metric_family {
public:
  metric_family(std::string& out, std::string_view name, std::string_view type,
                std::string_view help)
    : out_{out},
      name_{name} {
    out_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    out_.append(name).append(" ").append(type).append("\n");
  }

  void add(const labels& of, const std::string& number, std::string_view suffix = {}) {
    out_.append(name_).append(suffix);
    char before = '{';
    for (const auto& [name, text] : of) {
      out_ += std::exchange(before, ',');
      out_.append(name).append("=\"");
      add_escaped(text);
      out_ += '"';
    }
    out_.append(of.empty() ? " " : "} ").append(number).append("\n");
  }
  void add(const labels& of, std::uint64_t number) { add(of, std::to_string(number)); }

private:
  void add_escaped(std::string_view text) {
    for (auto c : text) {
      if (c == '\\' || c == '"')
        out_ += '\\';
      if (c == '\n')
        out_ += "\\n";
      else
        out_ += c;
    }
  }

  std::string& out_;
  const std::string_view name_;
};

void add_requests(std::string& out, const request_counts& counts) {
  metric_family answered{out, "troupe_http_requests_total", "counter",
                         "Answered requests; status 499: the peer was gone first."};
  for (const auto& [of, n] : counts.answered) {
    const auto& [method, route, status] = of;
    auto code = std::to_string(status);
    answered.add({{"method", method}, {"route", route}, {"status", code}}, n);
  }
  metric_family latency{out, "troupe_http_request_duration_seconds", "histogram",
                        "Time from a request's last byte to the first one of its answer."};
  for (const auto& [route, of] : counts.latencies) {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < of.buckets.size(); ++i) {
      so_far += of.buckets[i];
      auto bound = i < latency_bounds.size() ? number_text(latency_bounds[i]) : "+Inf";
      latency.add({{"route", route}, {"le", bound}}, std::to_string(so_far), "_bucket");
    }
    latency.add({{"route", route}}, number_text(of.sum_seconds), "_sum");
    latency.add({{"route", route}}, std::to_string(of.count), "_count");
  }
  metric_family refused{out, "troupe_http_requests_refused_total", "counter",
                        "Requests without an answer of a handler, by the reason."};
  refused.add({{"reason", "no_thread"}}, counts.turned_away);
  refused.add({{"reason", "rate"}}, counts.rate_limited);
  refused.add({{"reason", "unauthenticated"}}, counts.unauthenticated);
}

void add_gauge(std::string& out, std::string_view name, std::string_view help, std::size_t now) {
  metric_family{out, name, "gauge", help}.add({}, now);
}

void add_run_counts(std::string& out, const server_counts& counts) {
  metric_family ended{out, "troupe_runs_ended_total", "counter",
                      "Runs that ended on this server, by their status."};
  for (const auto& [status, n] : counts.ended)
    ended.add({{"status", to_string(status)}}, n);
  metric_family waiting{out, "troupe_runs", "gauge", "Runs of the database, by their status."};
  waiting.add({{"status", "pending"}}, counts.pending);
  waiting.add({{"status", "running"}}, counts.running);
  add_gauge(out, "troupe_runs_carried", "Runs that this server carries out.", counts.carried);
}

} // namespace

std::map<run_status, std::uint64_t> ended_runs::counts() const {
  std::map<run_status, std::uint64_t> out;
  for (auto status :
       {run_status::success, run_status::error, run_status::timeout, run_status::interrupted})
    out[status] = counts_[static_cast<std::size_t>(status)];
  return out;
}

std::string metrics_text(const server_counts& counts) {
  std::string out;
  metric_family{out, "troupe_build_info", "gauge", "The version of the server."}.add(
    {{"version", TROUPE_VERSION}}, 1);
  metric_family{out, "troupe_start_time_seconds", "gauge", "The server's start, since 1970."}.add(
    {}, std::to_string(counts.started_at / 1'000'000));
  add_gauge(out, "troupe_ready", "1 while the server takes requests.", counts.is_ready ? 1 : 0);
  add_requests(out, counts.requests);
  add_gauge(out, "troupe_http_requests_queued", "Requests that wait for a handler thread.",
            counts.load.queued_requests);
  add_gauge(out, "troupe_http_connections", "Open connections.", counts.load.connections);
  add_gauge(out, "troupe_http_streams", "Answers that are being streamed.", counts.load.streams);
  add_gauge(out, "troupe_http_sockets", "Open WebSockets.", counts.load.sockets);
  add_run_counts(out, counts);
  return out;
}

value metrics_json(const server_counts& counts) {
  std::vector<value> answered;
  for (const auto& [of, n] : counts.requests.answered) {
    const auto& [method, route, status] = of;
    answered.push_back(
      value::map({{"method", method}, {"route", route}, {"status", status}, {"count", n}}));
  }
  auto latencies = value::map();
  for (const auto& [route, of] : counts.requests.latencies)
    latencies = latencies.with(route,
                               value::map({{"count", of.count}, {"sum_seconds", of.sum_seconds}}));
  auto ended = value::map();
  for (const auto& [status, n] : counts.ended)
    ended = ended.with(to_string(status), n);
  return value::map(
    {{"version", TROUPE_VERSION},
     {"ready", counts.is_ready},
     {"started_at", counts.started_at / 1'000'000},
     {"queue", value::map({{"num_pending", counts.pending}, {"num_running", counts.running}})},
     {"workers", value::map({{"active", counts.carried}, {"ended", ended}})},
     {"api", value::map({{"answered", value::list(std::move(answered))},
                         {"latencies", latencies},
                         {"turned_away", counts.requests.turned_away},
                         {"rate_limited", counts.requests.rate_limited},
                         {"unauthenticated", counts.requests.unauthenticated},
                         {"queued", counts.load.queued_requests},
                         {"connections", counts.load.connections},
                         {"streams", counts.load.streams},
                         {"sockets", counts.load.sockets}})}});
}

} // namespace troupe::server
