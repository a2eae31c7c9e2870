// Streams: what arrives in which order, bounded memory, early ends.
#include "tests/fixtures/small_graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>

namespace troupe {
namespace {

using modes = std::vector<stream_mode>;

std::vector<std::string> texts_in(part_stream parts) {
  std::vector<std::string> out;
  for (auto& p : parts)
    out.push_back(std::string{to_string(p.mode)} + " " + to_json(p.data));
  return out;
}

compiled_graph writer(int parts, std::atomic<int>& written, lane where) {
  state_graph<> g{{{"n", last_value}}};
  g.add_node("w",
             [parts, &written](const state_view&, context& ctx) {
               for (int i = 0; i < parts; ++i) {
                 ctx.write(value(i));
                 ++written;
               }
               return state_update{{"n", parts}};
             },
             {.lane = where});
  g.add_edge(START, "w");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_SUITE(coordinator_stream)

BOOST_AUTO_TEST_CASE(updates_and_values_come_in_the_order_of_the_steps) {
  runtime rt;
  auto app = rt.load(three_nodes([](const auto&) {}));
  auto got = texts_in(app.stream({}, {}, {stream_mode::updates, stream_mode::values}));
  std::vector<std::string> expected{
    R"(updates {"a":{"log":["a"]}})", R"(values {"log":["a"]})",
    R"(updates {"b":{"log":["b"]}})", R"(values {"log":["a","b"]})",
    R"(updates {"c":{"log":["c"]}})", R"(values {"log":["a","b","c"]})",
  };
  BOOST_TEST(got == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(parts_are_numbered_from_one) {
  runtime rt;
  auto app = rt.load(three_nodes([](const auto&) {}));
  std::uint64_t expected = 0;
  for (auto& p : app.stream({}, {}, {stream_mode::updates, stream_mode::values}))
    BOOST_TEST(p.seq == ++expected);
  BOOST_TEST(expected == 6u);
}

BOOST_AUTO_TEST_CASE(a_writer_never_runs_further_ahead_of_its_reader_than_the_bound) {
  for (auto where : {lane::standard, lane::blocking}) {
    constexpr int all = 5000;
    std::atomic<int> written{0};
    runtime rt;
    auto parts = rt.load(writer(all, written, where)).stream({}, {}, {stream_mode::custom});
    int read = 0;
    // Waiting parts: a queue that is full, and one that the reader has taken over.
    auto bound = 2 * static_cast<int>(limits::stream_queue_parts_max) + 1;
    while (auto part = parts.next()) {
      BOOST_REQUIRE(part->data == value(read));
      ++read;
      BOOST_REQUIRE(written <= read + bound);
    }
    BOOST_TEST(read == all);
    BOOST_REQUIRE(parts.outcome());
    BOOST_TEST(parts.outcome()->value()["n"] == value(all));
  }
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_stops_the_run_at_its_steps_end) {
  std::vector<std::string> ran;
  auto store = make_memory_saver();
  runtime rt{{.saver = store}};
  auto app = rt.load(three_nodes([&ran](const std::string& node) { ran.push_back(node); }));
  for (auto& part : app.stream({}, {.thread_id = "t"}))
    if (part.data.contains("a"))
      break;
  BOOST_TEST(ran.size() < 3u);
  BOOST_TEST(app.invoke(nullptr, {.thread_id = "t"}).value()["log"] == words({"a", "b", "c"}));
  BOOST_TEST(ran.size() == 3u); // nothing ran twice
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_frees_a_body_that_waits_for_it) {
  std::atomic<int> written{0};
  {
    runtime rt;
    auto parts =
      rt.load(writer(100'000, written, lane::blocking)).stream({}, {}, {stream_mode::custom});
    BOOST_TEST(parts.next().has_value());
  }
  BOOST_TEST(written == 100'000); // the body ended by itself, its parts were dropped
}

BOOST_AUTO_TEST_CASE(parts_sent_before_a_failure_arrive_before_it) {
  runtime rt;
  auto app = rt.load(three_nodes([](const std::string& node) {
    if (node == "c")
      throw std::runtime_error{"end"};
  }));
  auto parts = app.stream({}, {});
  BOOST_TEST(parts.next()->data.contains("a"));
  BOOST_TEST(parts.next()->data.contains("b"));
  auto end = parts.try_next();
  BOOST_REQUIRE(!end);
  BOOST_TEST((end.error().code() == errc::node_failed));
  BOOST_TEST(parts.outcome() == nullptr);
}

BOOST_AUTO_TEST_CASE(custom_parts_cost_nothing_when_nobody_reads_them) {
  std::atomic<int> written{0};
  runtime rt;
  BOOST_TEST(rt.load(writer(1000, written, lane::standard)).invoke({}).value()["n"] == value(1000));
  auto parts =
    rt.load(writer(1000, written, lane::standard)).stream({}, {}, {stream_mode::updates});
  int count = 0;
  while (parts.next())
    ++count;
  BOOST_TEST(count == 1);
}

BOOST_AUTO_TEST_CASE(a_checkpoints_part_shows_the_configurable_members_of_its_run) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  run_config config{.thread_id = "t"};
  config.configurable = {{"user", "ada"}, {"__pregel_scratch", 1}, {"thread_id", "no"}};
  auto first = app.stream({}, config, {stream_mode::checkpoints}).next().value();
  const auto& shown = first.data["config"]["configurable"];
  BOOST_TEST(shown["user"] == value("ada"));
  BOOST_TEST(shown["thread_id"] == value("t"));
  BOOST_TEST(!shown["checkpoint_id"].is_null());
  BOOST_TEST(!shown.contains("__pregel_scratch"));
}

BOOST_AUTO_TEST_CASE(a_checkpoints_part_shows_the_metadata_of_a_config_when_it_was_loaded) {
  runtime rt{with_memory()};
  auto app = rt.load(three_nodes([](const auto&) {}));
  run_config config{.thread_id = "t", .metadata = {{"user", "ada"}}};
  config.interrupt_before = {"b"};
  auto shown_by = [&](const run_input& input) {
    std::string out;
    for (auto& part : app.stream(input, config, {stream_mode::checkpoints}))
      out += to_json(part.data["metadata"]["step"]) + to_json(part.data["metadata"]["user"]) + ' ';
    return out;
  };
  BOOST_TEST(shown_by(state_update{}) == "-1null 0null 1null ");
  config.interrupt_before.clear();
  BOOST_TEST(shown_by(nullptr) == R"(1"ada" 2null 3null )");
  BOOST_TEST(app.get_state(config).metadata["user"] == value("ada"));
}

BOOST_AUTO_TEST_CASE(a_pushed_message_needs_a_channel) {
  state_graph<> g{{{"messages", add_messages}}};
  g.add_node("n", [](const state_view&, context& ctx) {
    ctx.push_message(value::of(message{"assistant", "hi", "m"}), "letters");
  });
  g.add_edge(START, "n");
  runtime rt;
  auto nowhere = rt.load(g.compile()).try_invoke({});
  BOOST_REQUIRE(!nowhere);
  BOOST_TEST((nowhere.error().code() == errc::missing_key));
  BOOST_TEST(nowhere.error().message().find("`letters`") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(messages_of_a_muted_node_are_not_streamed) {
  state_graph<> g{{{"n", last_value}}};
  for (const char* name : {"loud", "muted"})
    g.add_node(name,
               [](const state_view&, context& ctx) {
                 ctx.stream_message(value::of(message{"assistant", "hi", "m"}));
               },
               {.metadata = name[0] == 'm' ? value{{"tags", value::list({"nostream"})}} : value{}});
  g.add_edge(START, "muted");
  g.add_edge("muted", "loud");
  runtime rt;
  std::vector<std::string> from;
  for (auto& part : rt.load(g.compile()).stream({}, {}, {stream_mode::messages}))
    from.push_back(part.data[1]["langgraph_node"].as<std::string>());
  BOOST_TEST(from == std::vector<std::string>{"loud"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_wrong_config_comes_out_of_the_first_read) {
  runtime rt{{.saver = make_memory_saver()}};
  auto app = rt.load(three_nodes([](const auto&) {}));
  auto parts = app.stream({}, {});
  auto first = parts.try_next();
  BOOST_REQUIRE(!first);
  BOOST_TEST((first.error().code() == errc::invalid_config));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
