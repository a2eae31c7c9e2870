// Recorded answers of real providers, through the whole client, compared with the reference's
// reading of the same bytes. See tests/agents/wire/README.md; departures.json there gives the
// reason for each intended difference.
#include "agents/messages/json_text.hpp"
#include "http/sse.hpp"
#include "tests/agents/wire/recordings.hpp"
#include "tests/fixtures/coroutine_body.hpp"
#include "tests/provider/fake_provider.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <optional>
#include <set>

namespace troupe {
namespace {

using test::all_recordings;
using test::bare;
using test::fake_provider;
using test::recording;
using test::string_or_none;

// ---- playing ------------------------------------------------------------------------------------

struct played {
  value answer;
  std::vector<value> parts;
  std::optional<model_error> failure;
};

// Places where a reader may stumble: in the midst of a character, in and around the ends of lines
// and events.
std::set<std::size_t> hostile_places(std::string_view body) {
  std::set<std::size_t> out;
  for (std::size_t i = 1; i < body.size(); ++i) {
    bool in_character = (static_cast<unsigned char>(body[i]) & 0xC0) == 0x80;
    bool at_end = body[i] == '\n' || body[i - 1] == '\n' || (i > 1 && body[i - 2] == '\n');
    bool in_escape = body[i - 1] == '\\';
    if (in_character || at_end || in_escape)
      out.insert(i);
  }
  return out;
}

test::raw_reply pieces_of_body(const std::string& body, const std::set<std::size_t>& cuts) {
  test::raw_reply out;
  std::size_t from = 0;
  for (auto to : cuts) {
    out.emplace_back(test::send_bytes{body.substr(from, to - from)});
    from = to;
  }
  out.emplace_back(test::send_bytes{body.substr(from)});
  return out;
}

played play(const recording& one, test::raw_reply body) {
  auto head = one.head();
  std::vector<test::header> headers;
  for (const auto& e : head["headers"].entries())
    headers.emplace_back(std::string{e.key()}, string_or_none(e.val));
  fake_provider server;
  server.always(test::replies({.status = static_cast<int>(head["status"].as_int()),
                               .headers = headers,
                               .body = std::move(body),
                               .chunked = true}));
  auto model = init_chat_model(one.is_anthropic() ? "anthropic:m" : "openai:m",
                               {.base_url = server.url() + (one.is_anthropic() ? "" : "/v1"),
                                .api_key_variable = "TROUPE_TEST_NO_SUCH_KEY",
                                .attempts_max = 1});
  runtime rt;
  played out;
  test::try_body(rt, [&](context& ctx) -> coro<value> {
    auto request = test::request_of(one);
    if (one.is_stream())
      request.on_part = [&out](const value& part) { out.parts.push_back(part); };
    try {
      auto call = model->invoke(std::move(request), ctx);
      out.answer = co_await call;
    } catch (const model_error& e) {
      out.failure = e;
    }
    co_return value{};
  }).value();
  return out;
}

// ---- one form for both --------------------------------------------------------------------------

// Content as blocks without numbers; calls stand beside it, and a text in parts is one.
std::vector<value> said_blocks(const value& content) {
  std::vector<value> out;
  auto add = [&out](const value& block) {
    if (block["type"] == value("text") && block["text"] == value(""))
      return;
    out.push_back(bare(block.without("index").without("partial_json")));
  };
  if (content.is_string())
    add(text_block(content.as_string()));
  for (const auto& block : content.items()) {
    if (block.is_string())
      add(text_block(block.as_string()));
    if (!block.is_map() || block["type"] == value("tool_use"))
      continue;
    auto input = block["input"].empty() ? block["partial_json"] : value{};
    add(input.is_string() ? block.with("input", read_arguments(input.as_string()).value()) : block);
  }
  return out;
}

value plain_calls_of(const value& calls) {
  std::vector<value> out;
  for (const auto& call : calls.items())
    out.push_back(value::map({{"name", call["name"]}, {"args", call["args"]}, {"id", call["id"]}}));
  return value::list(std::move(out));
}

std::vector<value> shown_standard(const value& blocks) {
  std::vector<value> out;
  for (const auto& block : blocks.items())
    if (block["text"] != value(""))
      out.push_back(bare(block.without("index")));
  return out;
}

void check_same(const char* what, const value& ours, const value& theirs) {
  BOOST_TEST_CONTEXT(what)
  BOOST_TEST(to_json(bare(ours)) == to_json(bare(theirs)));
}

void check_message(const value& ours, const value& expected) {
  auto json = message_to_json(ours);
  const auto& theirs = expected["message"];
  check_same("content", value::list(said_blocks(json["content"])),
             value::list(said_blocks(theirs["content"])));
  for (const auto* calls : {"tool_calls", "invalid_tool_calls"})
    check_same(calls, plain_calls_of(json[calls]), plain_calls_of(theirs[calls]));
  const auto& usage = expected["usage_of_whole"];
  check_same("usage", json["usage_metadata"], usage.is_null() ? theirs["usage_metadata"] : usage);
  for (const auto* name : {"refusal", "reasoning_content"})
    check_same(name, json["additional_kwargs"][name], theirs["additional_kwargs"][name]);
  for (const auto* name : {"stop_reason", "stop_sequence", "stop_details", "context_management",
                           "finish_reason", "model_name", "system_fingerprint", "logprobs"})
    if (const auto& told = theirs["response_metadata"][name]; !told.is_null())
      check_same(name, json["response_metadata"][name], told);
  if (theirs["response_metadata"]["model_provider"] == value("openai")) // Groq's client makes it up
    check_same("service_tier", json["response_metadata"]["service_tier"],
               theirs["response_metadata"]["service_tier"]);
  check_same("container", json["response_metadata"]["container"]["id"],
             theirs["response_metadata"]["container"]["id"]);
  check_same("content_blocks", value::list(shown_standard(content_blocks(ours))),
             value::list(shown_standard(expected["content_blocks"])));
}

// A class of the reference's by the one it is derived from.
std::string general_class(std::string name) {
  for (const auto* provider : {"Anthropic", "OpenAI"})
    if (name.starts_with(provider))
      name.erase(0, std::string_view{provider}.size());
  return name == "ModelNotFoundError"    ? "NotFoundError"
         : name == "InvalidRequestError" ? "BadRequestError"
                                         : name;
}

void check_failure(const model_error& ours, const value& expected) {
  BOOST_TEST(ours.type() == general_class(string_or_none(expected["error"])));
  if (!expected["status"].is_null())
    BOOST_TEST(ours.status() == expected["status"].as_int());
  auto said = string_or_none(expected["said"]);
  if (auto quoted = said.find(" - "); quoted != said.npos && said[quoted + 3] != '{')
    said.erase(0, quoted + 3); // "Error code: 404 - …"
  if (said.find("{'") == said.npos && said.find("Error code") == said.npos)
    BOOST_TEST((ours.message().find(said.substr(0, 100)) != std::string::npos
                || ours.message().find("repeats the request") != std::string::npos));
}

void check_played(const recording& one, const played& got) {
  auto expected = one.expected();
  if (expected.contains("error")) {
    BOOST_REQUIRE(got.failure);
    return check_failure(*got.failure, expected);
  }
  BOOST_REQUIRE_MESSAGE(!got.failure, (got.failure ? got.failure->message() : std::string{}));
  check_message(got.answer, expected);
  BOOST_TEST(got.parts.empty() != one.is_stream());
  auto without_faults = [](const value& message) { // parts don't name the fault of a call
    return to_json(message.payload().without("invalid_tool_calls"));
  };
  if (one.is_stream())
    BOOST_TEST(without_faults(join_chunks(got.parts)) == without_faults(got.answer));
}

const std::vector<recording> recorded_all = all_recordings();

} // namespace

BOOST_AUTO_TEST_SUITE(agents_wire_recorded)

BOOST_DATA_TEST_CASE(an_answer_is_what_the_reference_reads,
                     boost::unit_test::data::make(recorded_all), one) {
  check_played(one, play(one, pieces_of_body(one.body(), {})));
}

BOOST_DATA_TEST_CASE(an_answer_in_hostile_pieces_is_the_same,
                     boost::unit_test::data::make(recorded_all), one) {
  auto body = one.body();
  check_played(one, play(one, pieces_of_body(body, hostile_places(body))));
}

// As it would come out of a thread that the reference kept.
BOOST_DATA_TEST_CASE(a_message_of_the_reference_s_shows_the_same_blocks,
                     boost::unit_test::data::make(recorded_all), one) {
  auto expected = one.expected();
  if (expected.contains("error") || !one.departure().is_null())
    return;
  auto message = message_from_json(expected["message"].with("type", "ai"));
  check_same("content_blocks", value::list(shown_standard(content_blocks(message))),
             value::list(shown_standard(expected["content_blocks"])));
}

// Blocks of providers that ours do not speak to; the messages are made up, what they are shown as
// is the reference's.
BOOST_AUTO_TEST_CASE(blocks_of_other_clouds_are_shown_as_the_reference_shows_them) {
  auto rows = test::recorded_json("blocks.json");
  BOOST_TEST(rows.size() > 10u);
  for (const auto& row : rows.items())
    check_same(string_or_none(row["name"]).c_str(),
               content_blocks(message_from_json(row["message"])), row["content_blocks"]);
}

// Without a network: one cut at a time, as no network would promise.
BOOST_DATA_TEST_CASE(events_are_the_same_wherever_a_stream_is_cut,
                     boost::unit_test::data::make(recorded_all), one) {
  if (!one.is_stream())
    return;
  auto body = one.body();
  auto events_of_pieces = [&](std::size_t first) {
    sse_decoder decoder;
    std::vector<sse_event> out;
    decoder.feed(std::string_view{body}.substr(0, first), out).value();
    decoder.feed(std::string_view{body}.substr(first), out).value();
    return out;
  };
  auto whole = events_of_pieces(0);
  BOOST_TEST(whole.size() > 1u);
  for (auto at : hostile_places(body))
    if (events_of_pieces(at) != whole)
      BOOST_FAIL("other events when it is cut at byte " << at);
}

BOOST_DATA_TEST_CASE(a_stream_that_breaks_off_is_no_answer,
                     boost::unit_test::data::make(recorded_all), one) {
  if (!one.is_stream() || one.expected().contains("error"))
    return;
  auto body = one.body();
  auto end = one.is_anthropic() ? body.find("event: message_stop")
                                : body.find("\"finish_reason\":\"");
  BOOST_REQUIRE(end != body.npos);
  auto pieces = pieces_of_body(body.substr(0, end), {});
  pieces.emplace_back(test::hang_up{});
  auto got = play(one, std::move(pieces));
  BOOST_REQUIRE(got.failure);
  BOOST_TEST(got.failure->kind() == "connection");
}

BOOST_AUTO_TEST_CASE(every_departure_is_of_a_recording_and_says_why) {
  auto departures = test::recorded_json("departures.json");
  for (const auto& e : departures.entries()) {
    BOOST_TEST_CONTEXT(e.key()) {
      BOOST_TEST(std::ranges::any_of(recorded_all,
                                     [&](const recording& one) { return one.name == e.key(); }));
      BOOST_TEST(!string_or_none(e.val["why"]).empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
