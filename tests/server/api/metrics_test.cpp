// Counts as text for Prometheus, and as JSON.
#include "server/api/metrics.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

using namespace std::chrono_literals;

server_counts some_counts() {
  request_meter meter;
  meter.answered("GET", "/threads/{thread_id}", 200, 3ms);
  meter.answered("GET", "/threads/{thread_id}", 200, 30ms);
  meter.answered("GET", "/threads/{thread_id}", 404, 20s);
  meter.answered("", "", 404, 1ms);
  meter.rate_limited();
  meter.rate_limited();
  meter.turned_away();
  ended_runs ended;
  ended.count(run_status::success);
  ended.count(run_status::success);
  ended.count(run_status::error);
  return {.requests = meter.counts(),
          .load = {.connections = 9, .streams = 4, .sockets = 2, .queued_requests = 3},
          .ended = ended.counts(),
          .pending = 7,
          .running = 5,
          .carried = 1,
          .started_at = 1'700'000'000'500'000};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);)
    out.push_back(line);
  return out;
}

bool has_line(const std::string& text, const std::string& line) {
  for (const auto& one : lines_of(text))
    if (one == line)
      return true;
  return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(server_metrics)

BOOST_AUTO_TEST_CASE(requests_are_counted_by_method_route_and_status) {
  auto text = metrics_text(some_counts());
  BOOST_TEST(has_line(text, R"(troupe_http_requests_total{method="GET",)"
                            R"(route="/threads/{thread_id}",status="200"} 2)"),
             text);
  BOOST_TEST(has_line(text, R"(troupe_http_requests_total{method="",route="",status="404"} 1)"));
  BOOST_TEST(has_line(text, R"(troupe_http_requests_refused_total{reason="rate"} 2)"));
  BOOST_TEST(has_line(text, R"(troupe_http_requests_refused_total{reason="no_thread"} 1)"));
  BOOST_TEST(has_line(text, R"(troupe_http_requests_refused_total{reason="unauthenticated"} 0)"));
}

BOOST_AUTO_TEST_CASE(a_bucket_counts_those_before_it_too) {
  auto text = metrics_text(some_counts());
  std::string bucket{
    R"(troupe_http_request_duration_seconds_bucket{route="/threads/{thread_id}",)"};
  BOOST_TEST(has_line(text, bucket + R"(le="0.005"} 1)"), text);
  BOOST_TEST(has_line(text, bucket + R"(le="0.025"} 1)"));
  BOOST_TEST(has_line(text, bucket + R"(le="0.05"} 2)"));
  BOOST_TEST(has_line(text, bucket + R"(le="10"} 2)"));
  BOOST_TEST(has_line(text, bucket + R"(le="+Inf"} 3)"));
  BOOST_TEST(has_line(text,
                      R"(troupe_http_request_duration_seconds_sum{route="/threads/{thread_id}"} )"
                      R"(20.033)"));
  BOOST_TEST(has_line(
    text, R"(troupe_http_request_duration_seconds_count{route="/threads/{thread_id}"} 3)"));
}

BOOST_AUTO_TEST_CASE(runs_and_load_have_their_present_numbers) {
  auto text = metrics_text(some_counts());
  for (const auto* line :
       {R"(troupe_runs{status="pending"} 7)", R"(troupe_runs{status="running"} 5)",
        R"(troupe_runs_ended_total{status="success"} 2)",
        R"(troupe_runs_ended_total{status="timeout"} 0)", "troupe_runs_carried 1",
        "troupe_http_requests_queued 3", "troupe_http_connections 9", "troupe_http_streams 4",
        "troupe_http_sockets 2", "troupe_start_time_seconds 1700000000", "troupe_ready 1"})
    BOOST_TEST(has_line(text, line), line);
  BOOST_TEST(text.find("\ntroupe_build_info{version=\"") != text.npos);
}

BOOST_AUTO_TEST_CASE(every_count_belongs_to_a_family_with_help_and_type) {
  std::string family;
  for (const auto& line : lines_of(metrics_text(some_counts()))) {
    if (line.starts_with("# HELP "))
      family = line.substr(7, line.find(' ', 7) - 7);
    else if (line.starts_with("# TYPE "))
      BOOST_TEST(line.substr(7).starts_with(family + ' '), line);
    else
      BOOST_TEST(line.starts_with(family), line);
  }
}

BOOST_AUTO_TEST_CASE(a_label_cannot_end_its_line_or_itself) {
  server_counts counts;
  counts.requests.answered[{"GET", "a\"b\\c\nd", 200}] = 1;
  BOOST_TEST(has_line(metrics_text(counts), R"(troupe_http_requests_total{method="GET",)"
                                            R"(route="a\"b\\c\nd",status="200"} 1)"));
}

BOOST_AUTO_TEST_CASE(json_has_the_members_that_the_reference_names) {
  auto json = metrics_json(some_counts());
  BOOST_TEST(json["queue"]["num_pending"] == value(7));
  BOOST_TEST(json["queue"]["num_running"] == value(5));
  BOOST_TEST(json["workers"]["active"] == value(1));
  BOOST_TEST(json["workers"]["ended"]["success"] == value(2));
  BOOST_TEST(json["api"]["streams"] == value(4));
  BOOST_TEST(json["api"]["answered"].size() == 3u);
  BOOST_TEST(json["api"]["latencies"]["/threads/{thread_id}"]["count"] == value(3));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
