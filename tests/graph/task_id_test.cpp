// Identities: the reference's own ids, recomputed.
#include "graph/task_id.hpp"

#include <troupe/error.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>

namespace troupe {
BOOST_AUTO_TEST_SUITE(graph_task_id)

std::string next_id(checkpoint_id_clock& clock, std::uint64_t now_ns, std::int64_t step,
                    std::uint64_t random, std::uint64_t above = 0) {
  std::string id;
  checkpoint_id(clock.next_ticks(now_ns, above), step, random, id);
  return id;
}

// The reference's deterministic checkpoint ids C1, C2, …
std::string checkpoint(int n) {
  char text[37];
  std::snprintf(text, sizeof text, "00000000-0000-6000-8000-%012d", n);
  return text;
}

std::string id_of(std::string_view checkpoint_id, const std::vector<std::string_view>& parts) {
  return task_id(checkpoint_id, parts);
}

BOOST_AUTO_TEST_CASE(hash_is_xxh3_128_in_canonical_order) {
  BOOST_TEST(xxh3_128_hex("") == "99aa06d3014798d86001c324468d497f");
  BOOST_TEST(xxh3_128_hex("a") == "a96faf705af16834e6c632b61e964e1f");
}

BOOST_AUTO_TEST_CASE(pulled_task_has_the_id_of_the_reference) {
  BOOST_TEST(id_of(checkpoint(2), {"__start__", "0", "__start__", "__pregel_pull", "__start__"})
             == "369e94cc-ca2c-1945-da11-18338a803176");
  BOOST_TEST(id_of(checkpoint(3), {"a", "1", "a", "__pregel_pull", "branch:to:a"})
             == "156f4c85-1564-a949-6d29-3e0f718e604b");
  BOOST_TEST(id_of(checkpoint(4), {"z", "2", "z", "__pregel_pull", "branch:to:z", "join:bad+ok:z"})
             == "823ea499-b01b-9ef7-e8ce-ded02377a189");
  BOOST_TEST(id_of(checkpoint(5), {"p:f26f3d9d-bc2a-ebf6-33cc-8defe8d0982a|__start__", "0",
                                   "__start__", "__pregel_pull", "__start__"})
             == "bacff7fa-efb4-7cbc-ac06-6a3ef3f6154b");
}

BOOST_AUTO_TEST_CASE(sent_task_has_the_id_of_the_reference) {
  BOOST_TEST(id_of(checkpoint(4), {"w", "2", "w", "__pregel_push", "0"})
             == "bf84b9f5-494b-27e4-9663-9ff6b135a389");
}

BOOST_AUTO_TEST_CASE(called_task_has_the_id_of_the_reference) {
  BOOST_TEST(id_of(checkpoint(2), {"wf:89b1724c-4859-ead8-fdec-35a8868dd35d|slow", "0", "slow",
                                   "__pregel_push", "~__pregel_pull, wf", "0"})
             == "31703ae8-dc9b-3be6-d6b8-8d204f4b39f7");
}

BOOST_AUTO_TEST_CASE(error_handler_has_the_id_of_the_reference) {
  BOOST_TEST(id_of(checkpoint(3), {"bad:4dd67b7d-1ef5-1c4f-0096-fbb95552f0b7|__error_handler__bad",
                                   "1", "__error_handler__bad", "__pregel_push",
                                   "node_error_handler", "4dd67b7d-1ef5-1c4f-0096-fbb95552f0b7"})
             == "7873757b-9407-a75b-ef56-35462e836113");
}

BOOST_AUTO_TEST_CASE(question_has_an_id_for_every_number_of_answers) {
  constexpr auto ns = "ask:ba5e940d-1c52-e615-cfa6-b6011e8a9bf8";
  BOOST_TEST(interrupt_id(ns, 0) == "d3926f6399722c124f643e89ec49ba68");
  BOOST_TEST(interrupt_id(ns, 1) == "c2a92d01e9b0f4222a274cfffe4d5e1b");
  BOOST_TEST(interrupt_id(ns, 2) == "76342576fc4a3570a59bd1dc80c44b2b");
  BOOST_TEST(interrupt_id("p:f26f3d9d-bc2a-ebf6-33cc-8defe8d0982a|"
                          "ask:2362cbcb-babb-e453-c149-a2a45bd87c17",
                          0)
             == "5ada2c5cee41bb65b4e75aaed4cb7cad");
}

BOOST_AUTO_TEST_CASE(update_has_the_id_of_the_reference) {
  BOOST_TEST(uuid5(checkpoint(4), "__interrupt__") == "527ebfab-f21c-56f5-ab8a-f2135c86bd86");
  BOOST_TEST(uuid5(checkpoint(4), "__interrupt__:1") == "4623b782-0d17-58f7-b242-6e29474aadb3");
  BOOST_TEST(uuid5(checkpoint(9), "__input__") == "8b32ff49-e075-590a-943f-a10464a53390");
}

// A task id hashes one text: how it is cut into parts makes no difference, whatever its length.
BOOST_DATA_TEST_CASE(task_id_does_not_depend_on_how_its_text_is_cut,
                     boost::unit_test::data::make({0, 1, 240, 495, 496, 497, 512, 513, 5000}),
                     size) {
  std::string text(static_cast<std::size_t>(size), 'x');
  auto half = std::string_view{text}.substr(0, text.size() / 2);
  auto rest = std::string_view{text}.substr(text.size() / 2);
  const std::string_view whole[] = {text};
  const std::string_view cut[] = {half, "", rest};
  std::vector<std::string_view> letters;
  for (std::size_t i = 0; i < text.size(); ++i)
    letters.push_back(std::string_view{text}.substr(i, 1));
  auto bytes = std::string("\0\0\0\0\0\0\x60\0\x80\0\0\0\0\0\0\x01", 16) + text;
  auto hex = task_id(checkpoint(1), whole);
  std::erase(hex, '-');
  BOOST_TEST(hex == xxh3_128_hex(bytes));
  BOOST_TEST(task_id(checkpoint(1), cut) == task_id(checkpoint(1), whole));
  BOOST_TEST(task_id(checkpoint(1), letters) == task_id(checkpoint(1), whole));
}

BOOST_AUTO_TEST_CASE(checkpoint_id_may_be_in_capitals_and_without_dashes) {
  BOOST_TEST(id_of("1EF0ABCD00006000800000000000000A", {"w"})
             == id_of("1ef0abcd-0000-6000-8000-00000000000a", {"w"}));
}

BOOST_AUTO_TEST_CASE(checkpoint_id_that_is_no_uuid_is_refused) {
  for (auto bad : {"", "not a uuid", "00000000-0000-6000-8000-00000000000",
                   "00000000-0000-6000-8000-0000000000000", "00000000-0000-6000-8000-00000000000g"})
    BOOST_CHECK_EXCEPTION(id_of(bad, {"w"}), error,
                          [](const error& e) { return e.code() == errc::invalid_value; });
}

BOOST_AUTO_TEST_CASE(path_text_pads_numbers_and_marks_nesting) {
  BOOST_TEST(task_path_str(pull_path("a")) == "~__pregel_pull, a");
  BOOST_TEST(task_path_str(push_path(2)) == "~__pregel_push, 0000000002, 0000000000");
  task_path call{{std::string{"__pregel_push"}}, {pull_path("wf")}, {std::int64_t{1}}, {true}};
  BOOST_TEST(task_path_str(call) == "~__pregel_push, ~__pregel_pull, wf, 0000000001, 0000000001");
  BOOST_TEST(task_path_str({}) == "~");
  BOOST_TEST(task_path_str({{std::int64_t{-5}}, {std::int64_t{12345678901}}})
             == "~-000000005, 12345678901");
}

BOOST_AUTO_TEST_CASE(path_text_orders_sends_by_number) {
  BOOST_TEST(task_path_str(push_path(9)) < task_path_str(push_path(10)));
  BOOST_TEST(task_path_str(pull_path("z")) < task_path_str(push_path(0)));
}

// ---- UUIDs ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(random_uuid_has_version_4_and_122_of_the_bits) {
  BOOST_TEST(uuid4(0, 0) == "00000000-0000-4000-8000-000000000000");
  BOOST_TEST(uuid4(~0ull, ~0ull) == "ffffffff-ffff-4fff-bfff-ffffffffffff");
  BOOST_TEST(uuid4(0x0123456789abcdef, 1ull << 63) == "01234567-89ab-4def-a000-000000000000");
}

BOOST_AUTO_TEST_CASE(checkpoint_id_holds_time_step_and_randomness) {
  checkpoint_id_clock clock;
  // 1970-01-01 is 0x01b21dd213814000 ticks of 100 ns after 1582-10-15.
  BOOST_TEST(next_id(clock, 0, 1, 0xabcdef) == "1b21dd21-3814-6000-8001-000000abcdef");
  BOOST_TEST(next_id(clock, 123'456'700, -2, ~0ull) == "1b21dd21-3941-6687-bffe-ffffffffffff");
}

BOOST_AUTO_TEST_CASE(checkpoint_ids_sort_in_the_order_they_were_made) {
  checkpoint_id_clock clock;
  std::vector<std::string> ids;
  for (std::uint64_t now : {1'000'000u, 1'000'050u, 1'000'000u, 0u, 1'000'500u, 9'000'000u})
    for (auto random : {~0ull, 0ull})
      ids.push_back(next_id(clock, now, -1, random));
  BOOST_TEST(std::ranges::is_sorted(ids));
  BOOST_TEST((std::ranges::adjacent_find(ids) == ids.end()));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_id_sorts_behind_one_of_a_clock_that_is_ahead) {
  constexpr std::uint64_t hour = 3600ull * 1'000'000'000;
  checkpoint_id_clock here, ahead, other;
  auto theirs = next_id(ahead, hour, 0, ~0ull);
  auto one = next_id(here, 0, 0, 0, id_ticks(theirs));
  auto two = next_id(here, 0, 0, 0, id_ticks(one));
  BOOST_TEST(theirs < one);
  BOOST_TEST(one < two);
  BOOST_TEST(next_id(here, 0, 0, 0) < theirs); // of another thread
  BOOST_TEST(next_id(here, 2 * hour, 0, 0, id_ticks(two)) == next_id(other, 2 * hour, 0, 0));
}

BOOST_AUTO_TEST_CASE(the_time_of_a_checkpoint_id_is_read_and_of_nothing_else) {
  BOOST_TEST(id_ticks("1b21dd21-3814-6000-8001-000000abcdef") == 0x01b2'1dd2'1381'4000u);
  for (auto other :
       {"", "c1", "1b21dd21-3814-4000-8001-000000abcdef", "1b21dd21x3814-6000-8001-000000abcdef",
        "1b21dd21-3814-6000-8001-000000abcdeg", "1b21dd21-3814-6000-8001-000000abcdef0",
        "ffffffff-ffff-6fff-8001-000000abcdef"})
    BOOST_TEST(id_ticks(other) == 0u);
  checkpoint_id_clock clock;
  BOOST_TEST(id_ticks(next_id(clock, 0, 0, 0, id_ticks_max - 1)) == id_ticks_max);
}

BOOST_AUTO_TEST_CASE(checkpoint_ids_carry_over_into_the_next_group_in_order) {
  checkpoint_id_clock clock;
  std::string last;
  for (int i = 0; i < 10'000; ++i) { // crosses the 12 bits after the version
    auto id = next_id(clock, 0, i, 0);
    BOOST_REQUIRE(last < id);
    BOOST_REQUIRE(id[14] == '6');
    last = id;
  }
}

BOOST_AUTO_TEST_SUITE_END()
} // namespace troupe
