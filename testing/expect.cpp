// The messages of expectations that do not hold, and the comparison of checkpoints.
#include "testing/expect.hpp"

namespace troupe::testing {

namespace {

constexpr std::size_t text_bytes_shown = 200;

std::string cut(std::string text) {
  if (text.size() <= text_bytes_shown)
    return text;
  auto size = text.size();
  text.resize(text_bytes_shown);
  return text + "… (" + std::to_string(size) + " bytes)";
}

} // namespace

std::string shown_text(std::string_view text) {
  return cut(to_json(value(text)));
}

std::string shown_value(const value& v) {
  try {
    return cut(to_json(v));
  } catch (const error&) {
    return "a value that is too deep to show";
  }
}

std::string shown_ref(const checkpoint_ref& ref) {
  return shown_text(ref.thread_id) + "/" + shown_text(ref.checkpoint_ns) + "/"
         + shown_text(ref.checkpoint_id);
}

std::string shown_write(const pending_write& write) {
  return shown_text(write.task_path) + "/" + shown_text(write.task_id) + "/"
         + shown_text(write.channel) + "=" + shown_value(write.value);
}

std::string shown_item(const store_item& item) {
  return shown(item.space) + " " + shown_text(item.key) + " " + shown_value(item.value)
         + " created " + item.created_at + ", updated " + item.updated_at + ", score "
         + shown(item.score);
}

void fail(std::string_view what, std::string_view expected, std::string_view came) {
  throw check_failed{
    std::string{what}.append(": expected ").append(expected).append(", came ").append(came)};
}

void fail_refusal(std::string_view what, errc expected, const error* came) {
  auto wanted = "the error " + std::string{to_string(expected)};
  if (came == nullptr)
    fail(what, wanted, "no error");
  fail(what, wanted, std::string{to_string(came->code())} + ": " + came->message());
}

void expect_same(const checkpoint& came, const checkpoint& expected) {
  auto of = [&expected](const char* member) {
    return "the " + std::string{member} + " of checkpoint " + expected.id;
  };
  expect_equal(of("id"), came.id, expected.id);
  expect_equal(of("v"), came.v, expected.v);
  expect_equal(of("ts"), came.ts, expected.ts);
  expect_equal(of("channel_values"), came.channel_values, expected.channel_values);
  expect_equal(of("channel_versions"), came.channel_versions, expected.channel_versions);
  expect_equal(of("versions_seen"), came.versions_seen, expected.versions_seen);
  expect_equal(of("updated_channels"), came.updated_channels, expected.updated_channels);
}

void expect_same(const checkpoint_tuple& came, const checkpoint_tuple& expected) {
  const auto& id = expected.ref.checkpoint_id;
  expect_equal("the namespace of checkpoint " + id, came.ref.checkpoint_ns,
               expected.ref.checkpoint_ns);
  expect_same(came.checkpoint, expected.checkpoint);
  expect_equal("the metadata of checkpoint " + id, came.metadata, expected.metadata);
  expect_equal("the parent of checkpoint " + id, came.parent_id, expected.parent_id);
  expect_equal("the writes after checkpoint " + id, came.pending_writes, expected.pending_writes);
}

void expect_same(const std::vector<checkpoint_tuple>& came,
                 const std::vector<checkpoint_tuple>& expected) {
  expect_equal("the number of checkpoints", came.size(), expected.size());
  for (std::size_t i = 0; i < came.size(); ++i)
    expect_same(came[i], expected[i]);
}

} // namespace troupe::testing
