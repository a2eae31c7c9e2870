// Every store: the reference's recorded answers, options, and namespaces as bytes. The duties of
// every store are in store_conformance_test.cpp.
#include "persistence/store/store_namespace.hpp"

#include "tests/persistence/store/store_kinds.hpp"

#include <troupe/store.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <fstream>
#include <iterator>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using test::require_error;
using test::store_kinds;
using namespaces = std::vector<store_namespace>;
using texts = std::vector<std::string>;
using boost::unit_test::data::make;

value json(std::string_view text) {
  return from_json(text).value();
}

// ---- recorded cases -----------------------------------------------------------------------------

value recorded_case(const std::string& name) {
  std::ifstream in{TROUPE_SOURCE_DIR "/tests/conformance/cases/store/" + name + ".json"};
  BOOST_REQUIRE(in.good());
  return json(std::string{std::istreambuf_iterator<char>{in}, {}});
}

std::size_t number_or(const value& v, std::size_t otherwise) {
  return v.is_null() ? otherwise : v.as<std::size_t>();
}

void run_puts(store& to, const value& the_case) {
  for (const auto& statement : the_case["graphs"]["main"]["nodes"]["a"]["run"].items()) {
    const auto& put = statement.at("put");
    to.put(put[0].as<texts>(), put[1].as<std::string>(), put[2]).value();
  }
}

value answer_store(store& from, const value& call) {
  std::vector<value> items;
  for (const auto& item : from
                            .search({.prefix = call["namespace"].as<texts>(),
                        .filter = call["filter"],
                        .limit = number_or(call["limit"], 10),
                        .offset = number_or(call["offset"], 0)})
                            .value())
    items.push_back(value::list({value::of(item.space), item.key, item.value}));
  return value{{"items", value::list(items)}};
}

value answer_namespaces(store& from, const value& call) {
  auto parts = [&call](const char* name) {
    return call[name].is_null() ? texts{} : call[name].as<texts>();
  };
  auto found =
    from.list_namespaces({.prefix = parts("prefix"),
                          .suffix = parts("suffix"),
                          .max_depth = call["max_depth"].as<std::optional<std::size_t>>(),
                          .limit = number_or(call["limit"], 100),
                          .offset = number_or(call["offset"], 0)});
  return value{{"namespaces", value::of(found.value())}};
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_store, test::store_fixture)

BOOST_DATA_TEST_CASE(the_recorded_answers_are_given,
                     make(store_kinds)
                       * make({"filter", "filter-compare", "limit", "namespaces",
                               "prefix-is-by-part"}),
                     kind, name) {
  use(kind);
  auto the_case = recorded_case(name);
  run_puts(*items, the_case);
  const auto calls = the_case["calls"].items();
  for (std::size_t i = 1; i < calls.size(); ++i) {
    auto answer = calls[i]["do"] == value("store") ? answer_store(*items, calls[i])
                                                   : answer_namespaces(*items, calls[i]);
    BOOST_TEST(answer == the_case["expect"][i]);
  }
}

BOOST_AUTO_TEST_CASE(namespaces_survive_their_bytes_and_no_others_are_taken) {
  const namespaces sorted{{std::string("\0", 1)},
                          {"a"},
                          {"a", std::string("\0\1", 2), "b"},
                          {"a", "b"},
                          {std::string("a\0", 2)},
                          {"a!"},
                          {"\xff\xff"}};
  std::string before;
  for (const auto& space : sorted) {
    auto bytes = namespace_bytes(space);
    BOOST_TEST((before < bytes));
    BOOST_TEST((namespace_of_bytes(bytes) == space));
    BOOST_TEST(!namespace_of_bytes(bytes.substr(0, bytes.size() - 1)).has_value());
    BOOST_TEST(!namespace_of_bytes(bytes + 'x').has_value());
    before = bytes;
  }
  BOOST_TEST(!namespace_of_bytes("").has_value());
  BOOST_TEST(!namespace_of_bytes(std::string_view{"a\0\2", 3}).has_value());
}

BOOST_AUTO_TEST_CASE(a_store_refuses_options_that_make_no_sense) {
  embed_function embed = [](const texts& t) { return std::vector<std::vector<float>>(t.size()); };
  const std::vector<store_options> all{
    {.now = nullptr},
    {.ttl = {.default_ttl = 0ms}},
    {.ttl = {.sweep_interval = -1ms}},
    {.index = store_index{.dims = 0, .embed = embed}},
    {.index = store_index{.dims = limits::store_vector_dims_max + 1, .embed = embed}},
    {.index = store_index{.dims = 3, .embed = nullptr}},
    {.index = store_index{.dims = 3, .embed = embed, .fields = {"a["}}},
    {.index = store_index{.dims = 3, .embed = embed, .fields = texts(65, "a")}}};
  for (const auto& options : all) {
    BOOST_CHECK_EXCEPTION(make_memory_store(options), error,
                          [](const error& err) { return err.code() == errc::invalid_config; });
    require_error(open_lmdb_store(directory.path(), {.store = options}), errc::invalid_config);
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
