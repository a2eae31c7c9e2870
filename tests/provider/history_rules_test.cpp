// Conversations that providers take, and refuse.
#include "tests/provider/history_rules.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <vector>

namespace troupe::test {
namespace {

struct history_case {
  model_format format;
  const char* messages;
  const char* fault;
};
std::ostream& operator<<(std::ostream& out, const history_case& c) {
  return out << c.messages;
}
constexpr auto a = model_format::anthropic;
constexpr auto o = model_format::openai;
const std::vector<history_case> history_cases{
  {a, "[]", "messages: none"},
  {a, R"([{"role":"user","content":"x"}])", ""},
  {a, R"([{"role":"user","content":""}])", "messages.0: content is empty"},
  {a, R"([{"role":"assistant","content":"x"}])", "messages.0: the first one is not the user's"},
  {a,
   R"([{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1"},{"type":"tool_use","id":"2"}]},
       {"role":"user","content":[{"type":"tool_result","tool_use_id":"2"},{"type":"tool_result","tool_use_id":"1"}]}])",
   ""},
  {a,
   R"([{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1"}]},{"role":"user","content":"y"}])",
   "messages.2: calls 1, answered none"},
  {a,
   R"([{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"1"}]}])",
   "messages.2: calls 1, answered none"},
  {a, R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}])",
   "messages.0: calls none, answered 1"},
  {o, R"([{"role":"system","content":"s"},{"role":"user","content":"x"}])", ""},
  {o, R"([{"role":"assistant","content":null}])", "messages.0: content is empty"},
  {o,
   R"([{"role":"assistant","content":null,"tool_calls":[{"id":"1"},{"id":"2"}]},{"role":"tool","tool_call_id":"1"},
       {"role":"tool","tool_call_id":"2"},{"role":"user","content":"x"}])",
   ""},
  {o,
   R"([{"role":"assistant","tool_calls":[{"id":"1"}]},{"role":"tool","tool_call_id":"1"},{"role":"tool","tool_call_id":"1"}])",
   "messages.3: calls 1, answered 1 1"},
  {o,
   R"([{"role":"assistant","tool_calls":[{"id":"1"}]},{"role":"user","content":"x"},{"role":"tool","tool_call_id":"1"}])",
   "messages.1: calls 1, answered none"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(provider_history_rules)

BOOST_DATA_TEST_CASE(each_call_is_answered_once_right_behind_it,
                     boost::unit_test::data::make(history_cases), c) {
  auto body = value::map({{"messages", from_json(c.messages).value()}});
  BOOST_TEST(history_fault(c.format, body) == c.fault);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::test
