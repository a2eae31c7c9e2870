// Labels: the recorded transcripts, with other identifiers in place of their labels, get the same
// labels again.
#include "tests/conformance/case_file.hpp"
#include "tests/conformance/labels.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <regex>

namespace troupe::conformance {
namespace {

constexpr const char* null_task = "00000000-0000-0000-0000-000000000000";

// An identifier without a label; a message's looks like a generated one.
std::string id_for(const std::string& label) {
  if (label == "t0")
    return null_task;
  auto digits = label.substr(1);
  return "f2c1a0de-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

std::string ids_in_ns(const std::string& ns) {
  static const std::regex task{":(t[0-9]+)"};
  std::string out;
  auto rest = ns.cbegin();
  for (std::sregex_iterator found{ns.begin(), ns.end(), task}, end; found != end; ++found) {
    out.append(rest, (*found)[0].first).append(1, ':').append(id_for((*found)[1]));
    rest = (*found)[0].second;
  }
  return out.append(rest, ns.cend());
}

// A recorded transcript as it was before it had labels.
class unlabelled {
public:
  explicit unlabelled(std::string given) : given_{std::move(given)} {}

  answer_json operator()(const answer_json& recorded) {
    auto out = answer_json::array();
    for (const auto& answer : recorded)
      out.push_back(document(answer));
    return out;
  }

private:
  answer_json document(const answer_json& labelled, const std::string& at = {}) {
    if (labelled.is_string())
      return text(labelled.get<std::string>(), at);
    if (labelled.is_object())
      return object(labelled, at);
    if (!labelled.is_array())
      return labelled;
    auto out = answer_json::array();
    for (const auto& item : labelled)
      out.push_back(at == "writes" ? write(item) : at == "events" ? event(item) : document(item));
    return out;
  }

  answer_json object(const answer_json& labelled, const std::string& at) {
    auto out = answer_json::object();
    for (const auto& [key, member] : labelled.items()) {
      if (at == "parents")
        out[marked_ns(ids_in_ns(key))] = marked(label_kind::checkpoint, id_for(member));
      else if (key == "id" && labelled.contains("role") && stands_in_case(member))
        out[key] = member;
      else
        out[key] = document(member, key);
    }
    return out;
  }

  answer_json write(const answer_json& item) {
    return answer_json::array(
      {marked(label_kind::task, id_for(item[0])), item[1], document(item[2])});
  }

  answer_json event(const answer_json& item) {
    auto ns = answer_json::array();
    for (const auto& segment : item[0])
      ns.push_back(marked_ns(ids_in_ns(segment)));
    return answer_json::array({ns, item[1], document(item[2])});
  }

  answer_json text(const std::string& label, const std::string& at) {
    static const std::regex checkpoint{"c[0-9]+"};
    static const std::regex other{"[tim][0-9]+"};
    if (at == "ns")
      return marked_ns(ids_in_ns(label));
    if ((at == "checkpoint" || at == "parent") && std::regex_match(label, checkpoint))
      return marked(label_kind::checkpoint, id_for(label));
    if (at == "id" && std::regex_match(label, other))
      return marked(static_cast<label_kind>(label[0]), id_for(label));
    return label;
  }

  bool stands_in_case(const answer_json& message_id) const {
    return given_.find(message_id.dump()) != given_.npos;
  }

  std::string given_;
};

std::vector<std::filesystem::path> all_cases() {
  std::vector<std::filesystem::path> out;
  std::filesystem::path folder{TROUPE_SOURCE_DIR "/tests/conformance/cases"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder})
    if (entry.path().extension() == ".json")
      out.push_back(entry.path());
  return out;
}

BOOST_AUTO_TEST_SUITE(conformance_labels)

BOOST_AUTO_TEST_CASE(recorded_transcripts_get_their_labels_again) {
  auto paths = all_cases();
  BOOST_TEST_REQUIRE(paths.size() > 500u);
  for (const auto& path : paths) {
    auto c = read_case(path);
    auto given = c.script.text();
    label_book book{given};
    auto answers = book.apply(unlabelled{given}(*c.expect));
    BOOST_TEST((answers == *c.expect), path.stem().string() << ": other labels");
  }
}

BOOST_AUTO_TEST_CASE(labels_are_given_in_the_order_of_sorted_members) {
  label_book book{""};
  auto labelled = book.apply({{"z", marked(label_kind::task, "A")},
                              {"a", marked(label_kind::task, "B")},
                              {"ns", marked_ns("sub:C|k:A")}});
  auto expected = answer_json{{"a", "t1"}, {"ns", "sub:t2|k:t3"}, {"z", "t3"}};
  BOOST_TEST((labelled == expected), labelled);
  BOOST_TEST(book.id("t1") == "B");
  BOOST_TEST(book.ns("sub:t2|k:t3") == "sub:C|k:A");
  BOOST_CHECK_THROW(book.id("t4"), unknown_label);
}

BOOST_AUTO_TEST_CASE(message_ids_of_the_case_stand_as_they_are) {
  const std::string given = "f2c1a0de-0000-4000-8000-000000000001";
  const std::string made = "f2c1a0de-0000-4000-8000-000000000002";
  label_book book{given};
  BOOST_TEST(book.apply(marked(label_kind::message, given)) == given);
  BOOST_TEST(book.apply(marked(label_kind::message, "hello")) == "hello");
  BOOST_TEST(book.apply(marked(label_kind::message, made)) == "m1");
}

BOOST_AUTO_TEST_CASE(the_null_task_is_not_counted) {
  label_book book{""};
  BOOST_TEST(book.apply(marked(label_kind::task, null_task)) == "t0");
  BOOST_TEST(book.apply(marked(label_kind::task, "A")) == "t1");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace
} // namespace troupe::conformance
