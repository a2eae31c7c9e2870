// Commands of a WebSocket that wait.
#include "server/protocol/socket_commands.hpp"

#include <troupe/server/limits.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::server::test {
namespace {

namespace data = boost::unit_test::data;

std::string_view add(socket_commands& to, std::string text) {
  return to.add(text);
}

struct command_case {
  const char* json;
  value id;
};
std::ostream& operator<<(std::ostream& out, const command_case& c) {
  return out << c.json;
}
const std::vector<command_case> command_cases{
  {R"({"id":7,"method":"state.get"})", 7},
  {R"( { "method" : "a" , "params" : {"id":1,"x":["id",{"id":2}]} , "id" : -3 } )", -3},
  {R"({"method":"a \" b\\","id":9})", 9},
  {R"({"method":"id","id":4})", 4},
  {R"({"id":"7"})", {}},
  {R"({"id":7.5})", {}},
  {R"({"id":7e3})", {}},
  {R"({"id":99999999999999999999})", {}},
  {R"({"params":{"id":7}})", {}},
  {R"(["id"])", {}},
  {R"({"id")", {}},
  {R"({"id":)", {}},
  {R"({"id":7)", {}},
  {R"({"id\)", {}},
  {R"("id)", {}},
  {"", {}}};

} // namespace

BOOST_AUTO_TEST_SUITE(server_socket_commands)

BOOST_AUTO_TEST_CASE(commands_come_out_in_their_order) {
  socket_commands line;
  BOOST_TEST(line.empty());
  for (const char* text : {"a", "b", "c"})
    BOOST_TEST(add(line, text) == "");
  for (const char* text : {"a", "b", "c"})
    BOOST_TEST(line.next() == text);
  BOOST_TEST(line.empty());
}

BOOST_AUTO_TEST_CASE(the_number_of_commands_is_bounded) {
  socket_commands line;
  for (std::size_t i = 0; i < limits::server_socket_commands_max; ++i)
    BOOST_REQUIRE(add(line, std::to_string(i)) == "");
  std::string more = "more";
  BOOST_TEST(line.add(more) == "server_socket_commands_max");
  BOOST_TEST(more == "more");
  BOOST_TEST(line.next() == "0");
  BOOST_TEST(line.add(more) == "");
  BOOST_TEST(more.empty());
}

BOOST_AUTO_TEST_CASE(the_text_of_commands_is_bounded) {
  socket_commands line;
  constexpr auto half = limits::server_socket_commands_bytes_max / 2;
  BOOST_TEST(add(line, std::string(half, 'a')) == "");
  BOOST_TEST(add(line, std::string(half + 1, 'b')) == "server_socket_commands_bytes_max");
  BOOST_TEST(add(line, std::string(half, 'c')) == "");
  BOOST_TEST(add(line, "d") == "server_socket_commands_bytes_max");
  BOOST_TEST(line.next().front() == 'a');
  BOOST_TEST(add(line, "e") == "");
}

BOOST_DATA_TEST_CASE(the_id_of_a_command_is_found_without_reading_it, data::make(command_cases),
                     one) {
  BOOST_TEST(command_id(one.json) == one.id);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe::server::test
