// A conversation as a person reads it: texts as they come, tools on a line each.
#pragma once

#include "tools/troupe/terminal.hpp"

#include <troupe/agents/messages.hpp>
#include <troupe/runtime.hpp>

#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::cli {

/// Text that moves no cursor and changes no colours: of the control characters, line breaks and
/// tabs stay.
inline std::string harmless_text(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f))
      out += c;
  return out;
}

/// Prints to stdout; calls of tools go to stderr where stdout is not a terminal, so that a pipe
/// gets the answers alone.
class chat_view {
public:
  /// Which modes of a stream it reads.
  static std::vector<stream_mode> modes() { return {stream_mode::messages, stream_mode::updates}; }

  void part(const stream_part& part) {
    if (part.mode == stream_mode::messages)
      said(part.data[0], label_of(part));
    else if (part.mode == stream_mode::updates)
      each_message(part.data, 0, [this](const value& m) { tools_of(m); });
  }

  /// A message of the history.
  void past(const value& message) {
    if (message_role(message) == "user")
      std::cout << out_.paint(style::bold, "> " + harmless_text(message_text(message))) << '\n';
    else if (message_role(message) == "assistant" && !message_text(message).empty())
      std::cout << harmless_text(message_text(message)) << '\n';
    tools_of(message);
  }

  /// Ends the line of the last message.
  void end_line() {
    if (std::exchange(open_line_, false))
      std::cout << '\n';
    speaker_.clear();
    std::cout << std::flush;
  }

  void detail(const std::string& line) {
    end_line();
    auto& to = out_.is_tty() ? std::cout : std::cerr;
    to << out_.paint(style::faint, out_.cut(line)) << '\n' << std::flush;
  }

  const terminal& out() const noexcept { return out_; }

private:
  static constexpr std::size_t detail_chars_max = 200; // of a tool's result or arguments

  // The agent of a team that speaks: the innermost graph.
  static std::string label_of(const stream_part& part) {
    if (part.ns.empty())
      return {};
    const auto& inner = part.ns.back();
    auto node = inner.substr(0, inner.find(':'));
    return node == "tools" ? "sub-agent" : node; // an agent that is a tool
  }

  template <class F> static void each_message(const value& v, int depth, const F& f) {
    if (is_message(v))
      return f(v);
    if (depth > 3)
      return;
    if (v.is_list())
      for (const auto& item : v.items())
        each_message(item, depth + 1, f);
    else if (v.is_map())
      for (const auto& e : v.entries())
        each_message(e.val, depth + 1, f);
  }

  void said(const value& message, const std::string& label) {
    if (message_role(message) != "assistant")
      return;
    auto text = harmless_text(message_text(message));
    if (text.empty())
      return;
    const auto& id = message_member(message, "id");
    auto speaker = id.is_string() ? id.as<std::string>() : std::string{};
    if (speaker != speaker_ && open_line_)
      end_line();
    if (!open_line_ && !label.empty())
      std::cout << out_.paint(style::faint, '[' + label + "] ");
    speaker_ = std::move(speaker);
    open_line_ = true;
    std::cout << text << std::flush;
  }

  // Graphs within graphs tell of a message several times.
  bool is_new(const std::string& what) { return told_.insert(what).second; }

  void tools_of(const value& message) {
    auto text = [](const value& v) { return v.is_string() ? v.as<std::string>() : to_json(v); };
    for (const auto& call : message_tool_calls(message).items())
      if (is_new("call " + text(call["id"])))
        detail("  → " + shortened(text(call["name"]) + ' ' + to_json(call["args"])));
    if (message_role(message) != "tool")
      return;
    if (is_new("result " + text(message_member(message, "tool_call_id"))))
      detail((message_member(message, "status") == value("error") ? "  ✗ " : "  ← ")
             + shortened(text(message_member(message, "name")) + ": " + message_text(message)));
  }

  static std::string shortened(const std::string& text) {
    auto line = one_line(text);
    if (line.size() <= detail_chars_max)
      return line;
    auto end = detail_chars_max;
    while ((static_cast<unsigned char>(line[end]) & 0xc0) == 0x80)
      --end; // not within a character
    return line.substr(0, end) + "…";
  }

  terminal out_{STDOUT_FILENO};
  std::set<std::string> told_;
  std::string speaker_; // the id of the message whose line is open
  bool open_line_ = false;
};

} // namespace troupe::cli
