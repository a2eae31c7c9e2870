#include "cluster/links/peer_names.hpp"

#include "cluster/links/name_lookup.hpp"

#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace troupe::cluster {

namespace {

using namespace std::chrono_literals;
using texts = std::vector<std::string>;

constexpr instant begin = 100s;
const endpoint name{"workers.internal", 7000};

texts wanted(const peer_names& names) {
  texts out;
  for (const auto& at : names.wanted())
    out.push_back(to_text(at));
  return out;
}

const looked_up nothing = error{errc::worker_lost, "look up `workers.internal`: no such name"};

} // namespace

BOOST_AUTO_TEST_SUITE(cluster_peer_names)

BOOST_AUTO_TEST_CASE(an_address_is_wanted_as_it_is_and_never_looked_up) {
  peer_names names;
  names.keep({"10.0.0.7", 1});
  names.keep({"::1", 2});
  BOOST_TEST(names.due(begin).empty());
  BOOST_TEST(wanted(names) == (texts{"10.0.0.7:1", "[::1]:2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_name_is_all_its_addresses_for_each_of_its_ports) {
  peer_names names;
  names.keep(name);
  names.keep({name.host, 7001});
  BOOST_TEST(wanted(names).empty());
  BOOST_TEST(names.due(begin) == texts{name.host}, boost::test_tools::per_element());
  names.answered(name.host, texts{"10.0.0.8", "10.0.0.7", "10.0.0.8"}, begin);
  BOOST_TEST(wanted(names)
               == (texts{"10.0.0.7:7000", "10.0.0.7:7001", "10.0.0.8:7000", "10.0.0.8:7001"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_name_is_looked_up_again_but_not_while_it_is) {
  peer_names names;
  names.keep(name);
  BOOST_TEST(names.due(begin).size() == 1U);
  BOOST_TEST(names.due(begin + 1h).empty()); // there is no answer yet
  names.answered(name.host, texts{"10.0.0.7"}, begin);
  BOOST_TEST(names.due(begin + limits::peer_lookup_interval - 1ms).empty());
  BOOST_TEST(names.due(begin + limits::peer_lookup_interval).size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_address_that_is_gone_from_the_answer_is_not_wanted) {
  peer_names names;
  names.keep(name);
  names.answered(name.host, texts{"10.0.0.7", "10.0.0.8"}, begin);
  names.answered(name.host, texts{"10.0.0.8", "10.0.0.9"}, begin);
  BOOST_TEST(wanted(names) == (texts{"10.0.0.8:7000", "10.0.0.9:7000"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_name_that_can_not_be_looked_up_any_more_means_what_it_meant) {
  peer_names names;
  names.keep(name);
  names.answered(name.host, texts{"10.0.0.7"}, begin);
  names.answered(name.host, nothing, begin);
  BOOST_TEST(wanted(names) == texts{"10.0.0.7:7000"}, boost::test_tools::per_element());
  BOOST_TEST(names.failure(name.host).find("no such name") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_name_that_means_nobody_yet_is_looked_up_sooner) {
  peer_names names;
  names.keep(name);
  names.due(begin);
  names.answered(name.host, nothing, begin);
  BOOST_TEST(names.due(begin + limits::peer_lookup_retry).size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_log_hears_of_a_name_when_it_changes) {
  peer_names names;
  names.keep(name);
  BOOST_TEST(names.answered(name.host, texts{"10.0.0.7"}, begin)
             == "`workers.internal` is 10.0.0.7");
  BOOST_TEST(names.answered(name.host, texts{"10.0.0.7"}, begin).empty());
  BOOST_TEST(names.answered(name.host, nothing, begin)
             == "look up `workers.internal`: no such name: the host stays 10.0.0.7");
  BOOST_TEST(names.answered(name.host, nothing, begin).empty());
}

BOOST_AUTO_TEST_CASE(what_two_peers_mean_is_wanted_until_both_are_forgotten) {
  peer_names names;
  names.keep(name);
  names.keep({"10.0.0.7", 7000});
  names.answered(name.host, texts{"10.0.0.7"}, begin);
  names.forget(name);
  BOOST_TEST(wanted(names).size() == 1U);
  names.forget({"10.0.0.7", 7000});
  BOOST_TEST(wanted(names).empty());
  names.answered(name.host, texts{"10.0.0.9"}, begin); // too late
  BOOST_TEST(wanted(names).empty());
}

BOOST_AUTO_TEST_CASE(of_a_name_with_too_many_addresses_the_rest_is_left_out) {
  texts many;
  for (int i = 0; i < 1000; ++i)
    many.push_back("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250));
  peer_names names;
  names.keep(name);
  names.answered(name.host, many, begin);
  BOOST_TEST(wanted(names).size() == limits::peer_addresses_max);
}

BOOST_AUTO_TEST_CASE(so_many_names_are_looked_up_at_a_time_and_the_others_behind_them) {
  struct {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t running = 0, most = 0;
    bool released = false;
  } at;
  std::size_t told = 0;
  {
    name_lookup lookup{[&at](const std::string& host) -> looked_up {
      std::unique_lock lock{at.mutex};
      at.most = std::max(at.most, ++at.running);
      at.changed.notify_all();
      at.changed.wait(lock, [&at] { return at.released; });
      --at.running;
      return texts{host};
    }};
    std::size_t all = 3 * limits::peer_lookups_max;
    for (std::size_t i = 0; i < all; ++i)
      lookup.ask("10.0.0." + std::to_string(i));
    {
      std::unique_lock lock{at.mutex};
      at.changed.wait(lock, [&at] { return at.running == limits::peer_lookups_max; });
      at.released = true;
      at.changed.notify_all();
    }
    for (; told < all; std::this_thread::yield())
      for (const auto& answer : lookup.answers()) {
        BOOST_TEST(answer.addresses.value() == texts{answer.host},
                   boost::test_tools::per_element());
        ++told;
      }
  }
  std::lock_guard lock{at.mutex};
  BOOST_TEST(at.most == limits::peer_lookups_max);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::cluster
