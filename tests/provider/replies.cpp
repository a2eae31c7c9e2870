// Answers as bytes: their framing, and where they wait or break off.
#include "tests/provider/fake_provider.hpp"
#include "tests/provider/history_rules.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace troupe::test {

namespace {

const char* reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 529: return "Overloaded";
    default: return "Status";
  }
}

bool names(const std::vector<header>& headers, std::string_view name) {
  auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a))
           == std::tolower(static_cast<unsigned char>(b));
  };
  return std::ranges::any_of(headers, [&](const header& h) {
    return std::ranges::equal(h.first, name, same);
  });
}

std::string head_of(const http_reply& reply, std::size_t length) {
  auto out = "HTTP/1.1 " + std::to_string(reply.status) + ' ' + reason_of(reply.status) + "\r\n";
  for (const auto& h : reply.headers)
    out += h.first + ": " + h.second + "\r\n";
  if (reply.chunked)
    out += "Transfer-Encoding: chunked\r\n";
  else if (!names(reply.headers, "Content-Length"))
    out += "Content-Length: " + std::to_string(length) + "\r\n";
  return out + "\r\n";
}

std::string chunk_of(std::string_view bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string size;
  for (auto n = bytes.size(); n > 0; n /= 16)
    size.insert(size.begin(), digits[n % 16]);
  return size + "\r\n" + std::string{bytes} + "\r\n";
}

// Each piece of the body in pieces of at most `bytes`.
raw_reply split(raw_reply body, std::size_t bytes) {
  if (bytes == 0)
    return body;
  raw_reply out;
  for (auto& step : body) {
    const auto* piece = std::get_if<send_bytes>(&step);
    if (!piece) {
      out.push_back(std::move(step));
      continue;
    }
    for (std::size_t at = 0; at < piece->bytes.size(); at += bytes)
      out.emplace_back(send_bytes{piece->bytes.substr(at, bytes)});
  }
  return out;
}

// The body up to this many bytes.
raw_reply cut(raw_reply body, std::size_t bytes, bool reset) {
  raw_reply out;
  for (auto& step : body) {
    if (auto* piece = std::get_if<send_bytes>(&step)) {
      piece->bytes.resize(std::min(bytes, piece->bytes.size()));
      bytes -= piece->bytes.size();
    }
    out.push_back(std::move(step));
    if (bytes == 0)
      break;
  }
  out.emplace_back(hang_up{reset});
  return out;
}

std::size_t size_of(const raw_reply& body) {
  std::size_t out = 0;
  for (const auto& step : body)
    if (const auto* piece = std::get_if<send_bytes>(&step))
      out += piece->bytes.size();
  return out;
}

raw_reply body_of(std::vector<std::string> events, const delivery& how) {
  raw_reply out;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (how.before_event && i >= how.gated_from)
      out.emplace_back(wait_at{*how.before_event});
    if (auto time = i == 0 ? how.first_event : how.each_event; time.count() > 0)
      out.emplace_back(wait_time{time});
    out.emplace_back(send_bytes{std::move(events[i])});
  }
  return out;
}

bool is_streamed(const seen_request& request, const delivery& how) {
  return how.stream.value_or(request.body["stream"] == value(true));
}

raw_reply delivered(const seen_request& request, const model_answer& answer, const delivery& how) {
  auto format = format_of(request.target);
  http_reply out{.headers = how.headers};
  if (is_streamed(request, how)) {
    auto usage = request.body["stream_options"]["include_usage"] == value(true);
    out.headers.emplace_back("Content-Type", "text/event-stream; charset=utf-8");
    out.body = split(body_of(streamed_answer(format, answer, usage), how), how.chunk_bytes);
    out.chunked = true;
  } else {
    out.headers.emplace_back("Content-Type", "application/json");
    out.headers.emplace_back("Content-Length", std::to_string(whole_answer(format, answer).size()));
    out.body = body_of({whole_answer(format, answer)}, how);
  }
  if (how.cut_after)
    out.body = cut(std::move(out.body), *how.cut_after, how.reset);
  auto steps = to_raw(std::move(out));
  if (how.before_head)
    steps.insert(steps.begin(), wait_at{*how.before_head});
  if (how.close)
    steps.emplace_back(hang_up{how.reset});
  return steps;
}

} // namespace

std::string seen_request::header_of(std::string_view name) const {
  for (const auto& h : headers)
    if (names({h}, name))
      return h.second;
  return {};
}

raw_reply to_raw(http_reply reply) {
  raw_reply out{send_bytes{head_of(reply, size_of(reply.body))}};
  bool ends = true;
  for (auto& step : reply.body) {
    auto* piece = std::get_if<send_bytes>(&step);
    if (auto* again = std::get_if<send_again>(&step); again && reply.chunked)
      again->bytes = chunk_of(again->bytes);
    if (piece && piece->bytes.empty())
      continue;
    if (piece && reply.chunked)
      piece->bytes = chunk_of(piece->bytes);
    ends = ends && !std::holds_alternative<hang_up>(step);
    out.push_back(std::move(step));
  }
  if (reply.chunked && ends)
    out.emplace_back(send_bytes{"0\r\n\r\n"});
  return out;
}

responder says(model_answer answer, delivery how) {
  return [answer = std::move(answer), how = std::move(how)](const seen_request& request) {
    return delivered(request, answer, how);
  };
}

responder fails(int status, std::string message, std::vector<header> headers) {
  return [=](const seen_request& request) {
    http_reply out{.status = status, .headers = headers};
    out.headers.emplace_back("Content-Type", "application/json");
    out.body.emplace_back(send_bytes{error_body(format_of(request.target), status, message)});
    return to_raw(std::move(out));
  };
}

responder strictly(responder answers) {
  return [answers = std::move(answers)](const seen_request& request) {
    auto fault = history_fault(format_of(request.target), request.body);
    return fault.empty() ? answers(request) : fails(400, std::move(fault))(request);
  };
}

responder replies(http_reply reply) {
  return [reply = std::move(reply)](const seen_request&) { return to_raw(reply); };
}

responder raw(raw_reply steps) {
  return [steps = std::move(steps)](const seen_request&) { return steps; };
}

responder never_ends(model_answer answer) {
  return [answer = std::move(answer)](const seen_request& request) {
    auto format = format_of(request.target);
    auto events = streamed_answer(format, answer);
    // Before the first word Anthropic begins a message, pings and begins a block; the Responses API
    // begins a response and an item.
    std::size_t word = format == model_format::anthropic   ? 3
                       : format == model_format::responses ? 2
                                                           : 1;
    raw_reply body;
    for (std::size_t i = 0; i < word; ++i)
      body.emplace_back(send_bytes{events[i]});
    body.emplace_back(send_again{events[word]});
    return to_raw({.headers = {{"Content-Type", "text/event-stream"}},
                   .body = std::move(body),
                   .chunked = true});
  };
}

} // namespace troupe::test
