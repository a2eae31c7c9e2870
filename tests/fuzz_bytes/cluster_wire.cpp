// Frames from a peer: what reads is written in one form, that reads back as the same messages.
#include "tests/fuzz_bytes/target.hpp"

#include "cluster/wire/wire.hpp"

#include <span>

namespace troupe::fuzz_bytes {

namespace {

using cluster::message;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

result<std::vector<message>> read_all(std::span<const std::uint8_t> frame) {
  std::vector<message> all;
  auto ok = cluster::decode_frame(frame, [&all](message&& m) { all.push_back(std::move(m)); });
  if (!ok)
    return ok.error();
  return all;
}

} // namespace

void try_bytes(std::string_view bytes) {
  auto all = read_all(bytes_of(bytes));
  if (!all) {
    auto code = all.error().code();
    require(code == errc::protocol_mismatch || code == errc::invalid_value,
            "what does not read is a mismatch or an invalid value");
    return;
  }
  auto written = cluster::encode_frame(*all);
  require(written.has_value(), "what was read can be written");
  auto again = read_all(*written);
  require(again && again->size() == all->size(), "what was written reads back");
  require(*cluster::encode_frame(*again) == *written, "equal messages have equal bytes");
}

std::vector<std::string> seeds() {
  using namespace cluster;
  error failure{errc::node_failed, "node `a`: no", "std::out_of_range", "no"};
  std::vector<message> all{hello{1, "w1", "i7", {"gpu"}, 8, {{"digest", std::string(32, 'a')}}},
                           welcome{7, "h1", std::chrono::milliseconds{3000},
                                   std::chrono::milliseconds{500}},
                           refusal{errc::unknown_graph, "no"},
                           heartbeat{9, 8, 2},
                           run_opened{3, "abc", {1, 2}},
                           run_closed{3},
                           task_order{5, 3, "id", "node", {1, 2, 3}},
                           task_order{5, 3, "6f1c2b1e-0000-4000-8000-0123456789ab", "node", {1}},
                           task_stop{5},
                           task_outcome{5, {4}},
                           task_refused{5, errc::overloaded, "full"},
                           save_order{5, 1, true, {7}},
                           save_answer{5, 1, failure},
                           call_order{5, 2, {8}},
                           call_answer{5, 2, std::nullopt, {9}},
                           task_withdraw{5},
                           task_kept{5},
                           step_opened{3, {1}},
                           graph_refused{"x", "abc"},
                           step_failed{5},
                           task_part{5, {10}},
                           part_credit{5, 100},
                           task_sign{5},
                           draining{"going"},
                           status_request{},
                           drain_request{"please"},
                           status_reply{"{}"}};
  auto text = [](const bytes& frame) { return std::string{frame.begin(), frame.end()}; };
  std::vector<std::string> out;
  for (const auto& m : all)
    out.push_back(text(encode_frame(m).value()));
  out.push_back(text(encode_frame(all).value()));
  out.emplace_back("\xdd\xff\xff\xff\xff", 5); // four thousand million messages
  return out;
}

} // namespace troupe::fuzz_bytes
