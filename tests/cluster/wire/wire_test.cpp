#include "cluster/wire/wire.hpp"

#include <troupe/limits.hpp>

#include <msgpack.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <initializer_list>

namespace troupe::cluster {

namespace {

namespace most = troupe::limits;

const process_identity process{"6f1c2b1e-0000-4000-8000-0123456789ab", 4026531836, 7, 70};

// One of each kind, in the order of the variant.
std::vector<message> samples() {
  error failure{errc::node_failed, "node `a`: no", "std::out_of_range", "no"};
  return {hello{1,
                "w1",
                "i7",
                {"gpu", "eu"},
                8,
                {{"digest", std::string(32, 'a'), "0b1c", "2"}, {"x", "b"}},
                true,
                std::chrono::milliseconds{10000},
                std::chrono::milliseconds{2000},
                process},
          welcome{7, "h1", std::chrono::milliseconds{3000}, std::chrono::milliseconds{500},
                  process},
          refusal{errc::unknown_graph, "no"},
          heartbeat{9, 8, 2, std::chrono::microseconds{700}},
          run_opened{3, "abc", {1, 2}, "0b1c"},
          run_closed{3},
          task_order{5, 3, "id", "node", {1, 2, 3}, true, true},
          task_stop{5},
          task_outcome{5, {4}, 6},
          task_refused{5, errc::overloaded, "full"},
          save_order{5, 1, true, {7}},
          save_answer{5, 1, failure},
          call_order{5, 2, {8}},
          call_answer{5, 2, std::nullopt, {9}},
          task_part{5, {10}, true},
          part_credit{5, 100},
          task_sign{5},
          draining{"going"},
          status_request{},
          drain_request{"please", std::chrono::minutes{5}, "w1"},
          status_reply{"{}"},
          task_drain{5, "going"},
          task_withdraw{5},
          task_kept{5},
          step_opened{3, {1, 2}},
          graph_refused{"x", "abc", "0b1c", "2"},
          step_failed{5}};
}

result<std::vector<message>> read_all(const bytes& frame) {
  std::vector<message> all;
  auto ok = decode_frame(frame, [&all](message&& m) { all.push_back(std::move(m)); });
  if (!ok)
    return ok.error();
  return all;
}

template <class M> M through(const M& m) {
  return std::get<M>(read_all(encode_frame(m).value()).value().at(0));
}

error refused(const bytes& frame) {
  auto read = read_all(frame);
  BOOST_REQUIRE(!read);
  return read.error();
}

bool says(const error& why, errc code, std::initializer_list<std::string_view> words) {
  BOOST_TEST_CONTEXT(why.message()) {
    BOOST_TEST((why.code() == code));
    for (auto word : words)
      BOOST_TEST(why.message().find(word) != std::string::npos, "`" << word << "` is not named");
  }
  return true;
}

// A frame by hand, for what the writer would refuse.
class raw_frame {
public:
  raw_frame& array(std::size_t n) {
    pack().pack_array(static_cast<std::uint32_t>(n));
    return *this;
  }
  raw_frame& number(std::int64_t n) {
    pack().pack(n);
    return *this;
  }
  raw_frame& text(const std::string& s) {
    pack().pack(s);
    return *this;
  }
  raw_frame& texts(std::size_t n) {
    array(n);
    while (n-- > 0)
      text("x");
    return *this;
  }
  raw_frame& blob() {
    pack().pack_bin(1).pack_bin_body("x", 1);
    return *this;
  }
  void write(const char* data, std::size_t size) { out.insert(out.end(), data, data + size); }
  bytes out;

private:
  msgpack::packer<raw_frame> pack() { return msgpack::packer<raw_frame>{*this}; }
};

raw_frame one_message(int kind, std::size_t fields) {
  raw_frame frame;
  frame.array(1).array(1 + fields).number(kind);
  return frame;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_wire)

// ---- there and back -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_message_reads_back_as_it_was_written) {
  std::size_t kind = 0;
  for (const auto& m : samples()) {
    auto frame = encode_frame(m).value();
    auto read = read_all(frame).value();
    BOOST_REQUIRE_EQUAL(read.size(), 1u);
    BOOST_TEST(read[0].index() == kind);
    BOOST_TEST(frame[2] == kind); // a kind never changes its number
    BOOST_TEST(encode_frame(read[0]).value() == frame, boost::test_tools::per_element());
    ++kind;
  }
  BOOST_TEST(kind == std::variant_size_v<message>);
}

BOOST_AUTO_TEST_CASE(fields_come_back_in_their_places) {
  auto h = through(std::get<hello>(samples()[0]));
  BOOST_TEST(h.name == "w1");
  BOOST_TEST(h.incarnation == "i7");
  BOOST_TEST((h.labels == std::vector<std::string>{"gpu", "eu"}));
  BOOST_TEST(h.capacity == 8u);
  BOOST_TEST((h.graphs.at(1) == graph_offer{"x", "b"}));
  BOOST_TEST((h.process == process));
  auto w = through(std::get<welcome>(samples()[1]));
  BOOST_TEST(w.lease.count() == 3000);
  BOOST_TEST(w.heartbeat.count() == 500);
  BOOST_TEST((w.process == process));
  auto order = through(std::get<task_order>(samples()[6]));
  BOOST_TEST(order.issue == 5u);
  BOOST_TEST(order.run == 3u);
  BOOST_TEST(order.task_id == "id");
  BOOST_TEST(order.node == "node");
  BOOST_TEST((order.task == bytes{1, 2, 3}));
  BOOST_TEST(order.again);
  BOOST_TEST(order.ahead);
  BOOST_TEST(through(std::get<task_outcome>(samples()[8])).took_us == 6u);
  BOOST_TEST(through(std::get<heartbeat>(samples()[3])).held.count() == 700);
  BOOST_TEST(through(std::get<task_part>(samples()[14])).from_body);
  BOOST_TEST(through(std::get<save_order>(samples()[10])).durable);
}

BOOST_AUTO_TEST_CASE(a_message_is_an_array_of_its_kind_and_fields) {
  auto frame = encode_frame(task_order{300, 1, "t", "n", {9}}).value();
  bytes expected{0x91, 0x98, 6, 0xcd, 1, 44, 1, 0xa1, 't', 0xa1, 'n', 0xc4, 1, 9, 0xc2, 0xc2};
  BOOST_TEST(frame == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_id_of_a_task_is_sixteen_bytes_or_the_text_it_is) {
  std::string uuid = "6f1c2b1e-0000-4000-8000-0123456789ab";
  auto of = [](const std::string& id) { return task_order{1, 1, id, "n", {}}; };
  auto size = [&](const std::string& id) { return encode_frame(of(id)).value().size(); };
  BOOST_TEST(through(of(uuid)).task_id == uuid);
  BOOST_TEST(size(uuid) == size("") + 1 + 16);
  for (auto other : {"6f1c2b1e-0000-4000-8000-0123456789aB", "6f1c2b1e-0000-4000-8000-0123456789a",
                     "6f1c2b1e-0000-4000-800000123456789ab", "6f1c2b1e-0000-4000-8000-0123456789 b",
                     "6f1c2b1e-0000-4000-8000-0123456789-b", "", "t"})
    BOOST_TEST(through(of(other)).task_id == other);
  says(refused(one_message(6, 7).number(1).number(1).blob().texts(9).out), errc::protocol_mismatch,
       {"task_order.task_id", "16 bytes"});
}

BOOST_AUTO_TEST_CASE(messages_of_one_frame_arrive_in_their_order) {
  auto all = samples();
  auto read = read_all(encode_frame(all).value()).value();
  BOOST_REQUIRE_EQUAL(read.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    BOOST_TEST(read[i].index() == i);
  BOOST_TEST(read_all(encode_frame(std::span<const message>{}).value()).value().empty());
}

BOOST_AUTO_TEST_CASE(a_small_task_costs_less_than_a_hundred_bytes_beside_its_own) {
  std::string task_id = "6f1c2b1e-0000-4000-8000-0123456789ab";
  bytes task(50, 1), outcome(20, 2);
  auto order = encode_frame(task_order{1'000'000, 70'000, task_id, "summarize", task}).value();
  auto answer = encode_frame(task_outcome{1'000'000, outcome}).value();
  auto overhead = order.size() - task.size() + answer.size() - outcome.size();
  BOOST_TEST_MESSAGE("order and outcome: " << overhead << " bytes");
  BOOST_TEST(overhead < 100u);
}

BOOST_AUTO_TEST_CASE(numbers_are_whole_up_to_the_largest) {
  auto largest = ~std::uint64_t{0};
  auto beat = through(heartbeat{largest, 1ull << 63, 0xffff'ffff});
  BOOST_TEST(beat.number == largest);
  BOOST_TEST(beat.answers == 1ull << 63);
  BOOST_TEST(beat.foreign == 0xffff'ffffu);
}

// ---- errors -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_error_crosses_with_code_message_class_and_text) {
  error failure{errc::node_failed, "node `a`: boom", "my::oops", "boom"};
  auto made = through(save_answer{1, 2, failure}).failure;
  BOOST_REQUIRE(made);
  BOOST_TEST((made->code() == errc::node_failed));
  BOOST_TEST(made->message() == "node `a`: boom");
  BOOST_TEST(made->type() == "my::oops");
  BOOST_TEST(made->text() == "boom");
  auto plain = through(call_answer{1, 2, error{errc::conflict, "later"}, {}}).failure;
  BOOST_TEST(plain->text() == "later");
  BOOST_TEST(plain->type().empty());
}

BOOST_AUTO_TEST_CASE(a_code_that_is_not_known_here_stays_what_it_is) {
  auto later = static_cast<errc>(250);
  BOOST_TEST((through(refusal{later, ""}).code == later));
}

BOOST_AUTO_TEST_CASE(a_failure_is_never_ok) {
  says(encode_frame(refusal{errc::ok, ""}).error(), errc::invalid_value, {"refusal.code"});
  says(refused(one_message(2, 2).number(0).text("").out), errc::invalid_value, {"refusal.code"});
}

BOOST_AUTO_TEST_CASE(a_text_for_people_is_cut_at_its_limit_and_between_characters) {
  std::string text(most::cluster_text_bytes_max - 1, 'x');
  BOOST_TEST(through(draining{text + "y"}).why == text + "y");
  BOOST_TEST(through(draining{text + "yz"}).why == text + "y");
  BOOST_TEST(through(draining{text + "ä"}).why == text);
  auto failure = through(save_answer{1, 1, error{errc::node_failed, text + "€€"}}).failure;
  BOOST_TEST(failure->message() == text);
  auto longer = std::string(most::cluster_text_bytes_max + 1, 'x');
  says(refused(one_message(17, 1).text(longer).out), errc::invalid_value, {"draining.why"});
}

// ---- what does not fit --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_frame_that_ends_too_early_is_refused_at_every_byte) {
  for (const auto& m : samples()) {
    auto frame = encode_frame(m).value();
    for (std::size_t size = 0; size < frame.size(); ++size) {
      bytes prefix{frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size)};
      auto read = read_all(prefix);
      BOOST_REQUIRE(!read);
      BOOST_TEST((read.error().code() == errc::protocol_mismatch));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_changed_byte_gives_another_message_or_a_typed_error) {
  auto frame = encode_frame(samples()).value();
  std::size_t messages = 0, errors = 0;
  for (std::size_t at = 0; at < frame.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      auto changed = frame;
      changed[at] = static_cast<std::uint8_t>(byte);
      auto read = read_all(changed);
      ++(read ? messages : errors);
      if (!read)
        BOOST_REQUIRE(read.error().code() == errc::protocol_mismatch
                      || read.error().code() == errc::invalid_value);
      else if (changed == frame)
        BOOST_REQUIRE((encode_frame(*read).value() == frame));
    }
  BOOST_TEST(messages > frame.size()); // each byte as it was, and some of the changed ones
  BOOST_TEST(errors > frame.size());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
  says(refused({}), errc::protocol_mismatch, {"not an array"});
  says(refused({0xc0}), errc::protocol_mismatch, {"not an array"});
  says(refused({0x91, 0x90}), errc::protocol_mismatch, {"a message", "kind"});
  says(refused({0x90, 0x90}), errc::protocol_mismatch, {"after its messages"});
  says(refused(one_message(27, 0).out), errc::protocol_mismatch, {"unknown kind, 27"});
  says(refused(one_message(7, 0).out), errc::protocol_mismatch,
       {"task_stop", "0 fields instead of 1"});
  says(refused(one_message(7, 2).number(1).number(2).out), errc::protocol_mismatch,
       {"task_stop", "2 fields instead of 1"});
  says(refused(one_message(7, 1).text("5").out), errc::protocol_mismatch,
       {"task_stop.issue", "not a number"});
  says(refused(one_message(7, 1).number(-1).out), errc::protocol_mismatch, {"task_stop.issue"});
  says(refused(one_message(15, 2).number(1).number(1ll << 32).out), errc::invalid_value,
       {"part_credit.parts", "too large"});
  says(refused(one_message(8, 3).number(1).text("x").out), errc::protocol_mismatch,
       {"task_outcome.outcome", "not bytes"});
  says(refused(one_message(17, 1).blob().out), errc::protocol_mismatch, {"draining.why", "text"});
  says(refused(one_message(10, 4).number(1).number(1).number(1).blob().out),
       errc::protocol_mismatch, {"save_order.durable", "neither true nor false"});
  says(refused(one_message(11, 3).number(1).number(1).array(3).out), errc::protocol_mismatch,
       {"save_answer.failure", "four fields"});
}

BOOST_AUTO_TEST_CASE(messages_before_the_bad_one_are_given) {
  raw_frame frame;
  frame.array(2).array(2).number(7).number(5).array(1).number(99);
  std::vector<message> seen;
  auto ok = decode_frame(frame.out, [&seen](message&& m) { seen.push_back(std::move(m)); });
  BOOST_TEST(!ok);
  BOOST_REQUIRE_EQUAL(seen.size(), 1u);
  BOOST_TEST(std::get<task_stop>(seen[0]).issue == 5u);
}

BOOST_AUTO_TEST_CASE(a_count_beyond_the_bytes_is_refused_before_anything_is_made_of_it) {
  says(refused({0xdd, 0xff, 0xff, 0xff, 0xff}), errc::protocol_mismatch,
       {"shorter than its length"});
  auto labels = one_message(0, 13).number(1).text("worker").text("i").out;
  labels.insert(labels.end(), {0xdd, 0xff, 0xff, 0xff, 0xff});
  says(refused(labels), errc::protocol_mismatch, {"hello.labels", "shorter than its length"});
  auto text = one_message(17, 1).out;
  text.insert(text.end(), {0xdb, 0xff, 0xff, 0xff, 0xff, 'x'});
  says(refused(text), errc::protocol_mismatch, {"draining.why", "shorter than its length"});
  auto blob = one_message(8, 3).number(1).out;
  blob.insert(blob.end(), {0xc6, 0xff, 0xff, 0xff, 0xff, 'x'});
  says(refused(blob), errc::protocol_mismatch, {"task_outcome.outcome", "fewer than their length"});
}

BOOST_AUTO_TEST_CASE(a_worker_of_another_protocol_is_told_so_whatever_its_hello_looks_like) {
  says(refused(one_message(0, 9).number(4).text("as it was").out), errc::protocol_mismatch,
       {"the peer speaks protocol 4, this process 7"});
  says(refused(one_message(0, 14).number(8).text("and whatever else").out), errc::protocol_mismatch,
       {"the peer speaks protocol 8, this process 7"});
  says(refused(one_message(0, 5).number(7).text("and so on").out), errc::protocol_mismatch,
       {"hello", "5 fields instead of 13"});
}

// ---- limits -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_limit_holds_when_written) {
  auto text = [](std::size_t n) { return std::string(n, 'x'); };
  using texts = std::vector<std::string>;
  using offers = std::vector<graph_offer>;
  struct limited {
    const char* field;
    std::size_t max;
    std::function<message(std::size_t)> make;
  };
  auto labels = [](std::size_t n) { return hello{1, "w", "i", texts(n, "x"), 1, {}}; };
  auto graphs = [](std::size_t n) { return hello{1, "w", "i", {}, 1, offers(n, {"g", "h"})}; };
  auto graph = [](graph_offer g) { return hello{1, "w", "i", {}, 1, {std::move(g)}}; };
  auto lease = [](std::size_t ms) {
    return welcome{1, "h", std::chrono::milliseconds{ms}, std::chrono::milliseconds{1}};
  };
  auto lease_max = static_cast<std::size_t>(most::worker_lease_max.count());
  std::vector<limited> all{
    {"hello.name", most::worker_name_bytes_max,
     [&](auto n) { return hello{1, text(n), "i", {}, 1, {}}; }},
    {"hello.incarnation", most::worker_name_bytes_max,
     [&](auto n) { return hello{1, "w", text(n), {}, 1, {}}; }},
    {"hello.labels", most::worker_labels_max, labels},
    {"hello.labels", most::worker_label_bytes_max,
     [&](auto n) { return hello{1, "w", "i", {text(n)}, 1, {}}; }},
    {"hello.graphs", most::worker_graphs_max, graphs},
    {"hello.graphs.name", most::node_name_bytes_max,
     [&](auto n) {
       return graph({text(n), "h"});
     }},
    {"hello.graphs.hash", most::cluster_hash_bytes_max,
     [&](auto n) {
       return graph({"g", text(n)});
     }},
    {"hello.graphs.build", most::graph_build_bytes_max,
     [&](auto n) {
       return graph({"g", "h", text(n)});
     }},
    {"welcome.home", most::worker_name_bytes_max,
     [&](auto n) {
       return welcome{1, text(n), {}, {}};
     }},
    {"welcome.lease", lease_max, lease},
    {"hello.boot", most::boot_id_bytes,
     [&](auto n) {
       return hello{
         .name = "w", .incarnation = "i", .labels = {}, .graphs = {}, .process = {.boot = text(n)}};
     }},
    {"welcome.boot", most::boot_id_bytes,
     [&](auto n) { return welcome{.session = 1, .home = "h", .process = {.boot = text(n)}}; }},
    {"drain_request.patience", static_cast<std::size_t>(most::worker_drain_max.count()),
     [](std::size_t ms) {
       return drain_request{"why", std::chrono::milliseconds{ms}};
     }},
    {"run_opened.graph", most::cluster_hash_bytes_max,
     [&](auto n) {
       return run_opened{1, text(n), {}};
     }},
    {"task_order.task_id", most::task_id_bytes_max,
     [&](auto n) {
       return task_order{1, 1, text(n), "n", {}};
     }},
    {"task_order.node", most::node_name_bytes_max,
     [&](auto n) {
       return task_order{1, 1, "t", text(n), {}};
     }},
    {"status_reply.json", most::cluster_status_bytes_max,
     [&](auto n) { return status_reply{text(n)}; }},
  };
  for (const auto& [field, max, make] : all) {
    auto frame = encode_frame(make(max));
    BOOST_REQUIRE_MESSAGE(frame, field);
    BOOST_TEST(read_all(*frame).has_value(), field);
    says(encode_frame(make(max + 1)).error(), errc::invalid_value, {field});
  }
}

BOOST_AUTO_TEST_CASE(every_limit_holds_when_read) {
  std::string name(most::worker_name_bytes_max + 1, 'x');
  std::string node(most::node_name_bytes_max + 1, 'x');
  auto lease = most::worker_lease_max.count() + 1;
  auto to_labels = [] { return one_message(0, 13).number(1).text("w").text("i"); };
  auto graph = to_labels().texts(0).number(1).array(1).array(4);
  struct limited {
    const char* field;
    bytes frame;
  };
  std::vector<limited> all{
    {"hello.name", one_message(0, 13).number(1).text(name).out},
    {"hello.incarnation", one_message(0, 13).number(1).text("w").text(name).out},
    {"hello.labels", to_labels().texts(most::worker_labels_max + 1).out},
    {"hello.labels", to_labels().array(1).text(name).out},
    {"hello.graphs", to_labels().texts(0).number(1).texts(most::worker_graphs_max + 1).out},
    {"hello.graphs.name", graph.text(node).out},
    {"welcome.home", one_message(1, 8).number(1).text(name).out},
    {"welcome.lease", one_message(1, 8).number(1).text("h").number(lease).out},
    {"run_opened.graph", one_message(4, 4).number(1).text(name).out},
    {"task_order.task_id",
     one_message(6, 7).number(1).number(1).text(std::string(most::task_id_bytes_max + 1, 'x')).out},
    {"task_order.node", one_message(6, 7).number(1).number(1).text("t").text(node).out},
    {"status_reply.json",
     one_message(20, 1).text(std::string(most::cluster_status_bytes_max + 1, 'x')).out},
  };
  for (const auto& [field, frame] : all)
    says(refused(frame), errc::invalid_value, {field});
}

BOOST_AUTO_TEST_CASE(a_frame_has_a_limit) {
  constexpr std::size_t head = 10; // array, array, kind, issue, bin and its length
  bytes most_bytes(most::cluster_frame_bytes_max - head, 1);
  BOOST_TEST(encode_frame(task_outcome{1, most_bytes}).value().size()
             <= most::cluster_frame_bytes_max);
  most_bytes.resize(most::cluster_frame_bytes_max);
  says(encode_frame(task_outcome{1, most_bytes}).error(), errc::invalid_value, {"task_outcome"});
}

// ---- lanes --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(messages_that_refer_to_each_other_share_a_lane) {
  auto all = samples();
  for (std::size_t kind : {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24})
    BOOST_TEST((lane_of(all[kind]) == lane::bulk));
  for (std::size_t kind : {0, 1, 2, 3, 15, 16, 17, 18, 19})
    BOOST_TEST((lane_of(all[kind]) == lane::control));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
