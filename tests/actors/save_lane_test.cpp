// The way of a run's requests to a saver with a thread of its own: one at a time, in order.
#include "actors/save_lane.hpp"
#include "tests/fixtures/small_graphs.hpp"

#include <troupe/saver.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace troupe {
namespace {

/// Keeps requests until the test answers them.
class hand_answered_saver : public forwarding_saver {
public:
  using forwarding_saver::forwarding_saver;

  void submit(save_request request, save_ack, std::function<void(result<void>)> done) override {
    taken.push_back(request.ref.checkpoint_id);
    held_.push_back(std::move(done));
  }
  void answer(const result<void>& how = {}) {
    auto done = std::move(held_.front());
    held_.pop_front();
    done(how);
  }
  std::size_t held() const { return held_.size(); }

  std::vector<std::string> taken; // ids of checkpoints

private:
  std::deque<std::function<void(result<void>)>> held_;
};

struct lane_of_a_run {
  void enter(const std::string& id) {
    BOOST_REQUIRE(claim->save_begins());
    lane->enter(saver, {{"thread", "", id}, {}, std::nullopt}, save_ack::accepted, claim,
                [this, id](const result<void>& how) {
                  heard.push_back(how ? id : id + ": " + how.error().message());
                  at_answer();
                });
  }

  hand_answered_saver saver{make_memory_saver()};
  std::shared_ptr<save_lane> lane = std::make_shared<save_lane>();
  std::shared_ptr<held_claim> claim = std::make_shared<held_claim>();
  std::vector<std::string> heard;
  std::function<void()> at_answer = [] {};
};

using texts = std::vector<std::string>;

BOOST_FIXTURE_TEST_SUITE(actors_save_lane, lane_of_a_run)

BOOST_AUTO_TEST_CASE(the_next_request_leaves_when_the_one_before_is_answered) {
  for (const char* id : {"1", "2", "3"})
    enter(id);
  BOOST_TEST(saver.taken == texts{"1"}, boost::test_tools::per_element());
  saver.answer();
  BOOST_TEST(saver.taken == (texts{"1", "2"}), boost::test_tools::per_element());
  BOOST_TEST(heard == texts{"1"}, boost::test_tools::per_element());
  saver.answer();
  saver.answer();
  BOOST_TEST(heard == (texts{"1", "2", "3"}), boost::test_tools::per_element());
  enter("4"); // nothing is before it
  BOOST_TEST(saver.held() == 1u);
}

BOOST_AUTO_TEST_CASE(a_failure_is_that_of_all_that_wait) {
  for (const char* id : {"1", "2", "3"})
    enter(id);
  saver.answer(error{errc::storage_full, "no room"});
  BOOST_TEST(saver.taken == texts{"1"}, boost::test_tools::per_element());
  BOOST_TEST(heard == (texts{"1: no room", "2: no room", "3: no room"}),
             boost::test_tools::per_element());
  claim->run_ended();
  BOOST_TEST(claim->over()); // each was answered once
}

BOOST_AUTO_TEST_CASE(what_waits_is_refused_when_another_run_takes_the_thread_over) {
  enter("1");
  enter("2");
  claim->revoked = true;
  saver.answer();
  BOOST_TEST(saver.taken == texts{"1"}, boost::test_tools::per_element());
  BOOST_REQUIRE(heard.size() == 2u);
  BOOST_TEST(heard[0].find("another run has started") != std::string::npos);
  claim->run_ended();
  BOOST_TEST(claim->over());
}

BOOST_AUTO_TEST_CASE(what_an_answer_leads_to_comes_after_the_request_that_waited) {
  enter("1");
  enter("2");
  at_answer = [this] {
    if (heard.size() == 1)
      saver.submit({{"thread", "inner", "of 2"}, {}, std::nullopt}, save_ack::accepted,
                   [](const result<void>&) {});
  };
  saver.answer();
  BOOST_TEST(saver.taken == (texts{"1", "2", "of 2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe
