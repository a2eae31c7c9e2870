#include "persistence/record/keys.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(persistence_keys)

BOOST_AUTO_TEST_CASE(numbers_sort_as_their_keys_and_read_back) {
  const std::vector<std::uint64_t> numbers{0,          1,          127,        128,
                                           255,        256,        0xffff,     0x10000,
                                           0xffffffff, 1ull << 32, 1ull << 63, 0xffffffffffffffff};
  std::string last;
  for (auto n : numbers) {
    store_key key;
    key.append_number(n);
    std::string bytes{key.view()};
    BOOST_TEST((last.empty() || last < bytes));
    last = bytes;
    key.append("rest");
    auto rest = key.view();
    BOOST_TEST((take_number(rest) == n));
    BOOST_TEST(rest == "rest");
  }
}

BOOST_AUTO_TEST_CASE(ids_read_back_whatever_their_bytes) {
  const std::vector<std::string> ids{"",
                                     "a",
                                     std::string("\0\0", 2),
                                     "\xff",
                                     "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
                                     "6BA7B810-9dad-11d1-80b4-00c04fd430c8",
                                     "6ba7b810-9dad-11d1-80b4-00c04fd430cg",
                                     "6ba7b810x9dad-11d1-80b4-00c04fd430c8",
                                     std::string(limits::task_id_bytes_max, 'x')};
  for (const auto& id : ids) {
    store_key key;
    key.append_id(id);
    key.append("rest");
    auto rest = key.view();
    BOOST_TEST((take_id(rest) == id));
    BOOST_TEST(rest == "rest");
  }
}

BOOST_AUTO_TEST_CASE(a_uuid_takes_seventeen_bytes) {
  store_key key;
  key.append_id("6ba7b810-9dad-11d1-80b4-00c04fd430c8");
  BOOST_TEST(key.view().size() == 17u);
}

BOOST_AUTO_TEST_CASE(damaged_numbers_and_ids_are_refused) {
  for (std::string bytes :
       {std::string{}, std::string{"\x02\x01", 2}, std::string{"\x09"}, std::string{"\xff\xff"}}) {
    std::string_view rest = bytes;
    BOOST_TEST(!take_number(rest).has_value());
  }
  for (std::string bytes : {std::string{},
                            std::string{"\x02"
                                        "a"},
                            std::string{"\xff"
                                        "short"}}) {
    std::string_view rest = bytes;
    BOOST_TEST(!take_id(rest).has_value());
  }
}

BOOST_AUTO_TEST_CASE(no_key_begins_with_another_of_its_kind) {
  std::vector<std::string> keys;
  for (std::uint64_t chain : {0ull, 1ull, 255ull, 256ull, 1ull << 40}) {
    for (const auto* id : {"a", "ab", "c", "\xff"})
      for (const auto* task : {"", "a", "b", "ab"})
        keys.emplace_back(writes_key(chain, id, task).view());
    for (std::uint64_t n : {0ull, 1ull, 256ull})
      for (std::uint64_t tag : {0ull, 1ull, ~0ull})
        for (std::uint64_t channel : {0ull, 1ull, 256ull})
          keys.emplace_back(value_key(chain, {n, tag}, channel).view());
  }
  std::ranges::sort(keys);
  for (std::size_t i = 1; i < keys.size(); ++i)
    BOOST_TEST(!keys[i].starts_with(keys[i - 1]));
}

BOOST_AUTO_TEST_CASE(the_key_of_a_value_says_where_it_is) {
  for (version at : {version{0, 0}, version{256, ~0ull}}) {
    auto small = read_value_key(small_values_key(300, at));
    BOOST_REQUIRE(small.has_value());
    BOOST_TEST((small->chain == 300u && small->at == at && !small->channel));
    for (std::uint64_t channel : {0ull, 1ull << 20}) {
      auto key = value_key(300, at, channel);
      BOOST_TEST((small_values_key(300, at).view() < key.view()));
      auto alone = read_value_key(key);
      BOOST_REQUIRE(alone.has_value());
      BOOST_TEST((alone->chain == 300u && alone->at == at && alone->channel == channel));
      BOOST_TEST(!read_value_key(std::string{key.view()} + 'x').has_value());
      BOOST_TEST(!read_value_key(key.view().substr(1)).has_value());
    }
  }
  auto key = value_key(300, {256, 7}, 1).view();
  auto whole = small_values_key(300, {256, 7}).view().size();
  for (std::size_t size = 0; size < key.size(); ++size)
    BOOST_TEST(read_value_key(value_key(300, {256, 7}, 1).view().substr(0, size)).has_value()
               == (size == whole));
  for (auto other : {meta_key(), thread_key("t"), checkpoint_key(1, "c"), writes_key(1, "c", "t")})
    BOOST_TEST(!read_value_key(other).has_value());
}

BOOST_AUTO_TEST_CASE(checkpoint_keys_sort_as_ids) {
  const std::vector<std::string> ids{
    "1ef4f797-8335-6428-8001-8a1503f9b875", "c", "c1", "c10", "c2", "\xff"};
  std::vector<std::string> keys;
  for (const auto& id : ids)
    keys.emplace_back(checkpoint_key(300, id).view());
  BOOST_TEST(std::ranges::is_sorted(keys));
}

BOOST_AUTO_TEST_CASE(behind_lies_behind_every_key_of_a_prefix_and_before_the_next) {
  auto prefix = chain_prefix(255, chain_part::checkpoints);
  auto end = behind(prefix);
  BOOST_TEST((checkpoint_key(255, std::string(8, '\xff')).view() < end.view()));
  BOOST_TEST((end.view() <= names_key(255, 0).view()));
  BOOST_TEST((behind(chain_prefix(255)).view() <= chain_prefix(256).view()));
}

BOOST_AUTO_TEST_CASE(the_writes_of_a_checkpoint_lie_between_it_and_the_next_one) {
  const std::vector<std::string> tasks{"", "a", std::string("\0", 1), std::string("\xff\xff"),
                                       "6ba7b810-9dad-11d1-80b4-00c04fd430c8"};
  const auto size = chain_prefix(7, chain_part::checkpoints).view().size();
  for (const auto& task : tasks) {
    auto key = writes_key(7, "b", task);
    BOOST_TEST((checkpoint_key(7, "b").view() < key.view()));
    BOOST_TEST((key.view() < checkpoint_key(7, "b\x01").view()));
    BOOST_TEST((key.view() < behind(writes_prefix(7, "b")).view()));
    auto parts = read_step_key(key.view().substr(size));
    BOOST_TEST(parts.checkpoint_id == "b");
    BOOST_REQUIRE(parts.task_id.has_value());
    BOOST_TEST((take_id(*parts.task_id) == task));
  }
  auto key = checkpoint_key(7, "b");
  auto alone = read_step_key(key.view().substr(size));
  BOOST_TEST(alone.checkpoint_id == "b");
  BOOST_TEST(!alone.task_id.has_value());
}

BOOST_AUTO_TEST_CASE(the_longest_ids_fit) {
  auto most = ~std::uint64_t{0};
  const std::string checkpoint(limits::checkpoint_id_bytes_max, 'c');
  const std::string task(limits::task_id_bytes_max, 't');
  BOOST_TEST(thread_key(std::string(limits::thread_id_bytes_max, 't')).view().size()
             <= store_key::size_max);
  BOOST_TEST(writes_key(most, checkpoint, task).view().size() <= store_key::size_max);
  BOOST_TEST(old_writes_key(most, checkpoint, task).view().size() <= store_key::size_max);
  BOOST_TEST(namespace_key(most, std::string(400, 'n')).view().size() <= store_key::size_max);
  BOOST_TEST(namespace_key(most, std::string(401, 'n')).view().size() < 40u);
  BOOST_TEST((namespace_key(1, std::string(401, 'n')).view()
              != namespace_key(1, std::string(402, 'n')).view()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
