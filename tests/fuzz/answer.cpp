#include "tests/fuzz/answer.hpp"

#include <algorithm>
#include <sstream>

namespace troupe::fuzz {
namespace {

std::string text_of(const std::string& s) {
  return '"' + s + '"';
}
std::string text_of(const value& v) {
  return to_json(v);
}
std::string text_of(bool b) {
  return b ? "true" : "false";
}
std::string text_of(std::int64_t n) {
  return std::to_string(n);
}
std::string text_of(std::size_t n) {
  return std::to_string(n);
}
template <class T> std::string text_of(const std::optional<T>& x) {
  return x ? text_of(*x) : "none";
}
template <class T> std::string text_of(const std::vector<T>& items) {
  std::string out;
  for (const auto& i : items)
    out += (out.empty() ? "" : ", ") + text_of(i);
  return "[" + out + "]";
}
std::string text_of(const std::map<std::string, std::uint32_t>& counts) {
  std::string out;
  for (const auto& [name, n] : counts)
    out += (out.empty() ? "" : ", ") + name + ": " + std::to_string(n);
  return "{" + out + "}";
}

// Collects the first difference.
class comparison {
public:
  template <class T> comparison& of(const std::string& what, const T& expected, const T& got) {
    if (text_.empty() && !(expected == got))
      text_ = what + ": the interpreter says " + text_of(expected) + ", troupe " + text_of(got);
    return *this;
  }
  // troupe's text has more, such as the node that failed.
  comparison& text(const std::string& what, const std::optional<std::string>& expected,
                   const std::optional<std::string>& got) {
    bool same = expected && got ? got->find(*expected) != std::string::npos
                                : expected.has_value() == got.has_value();
    return same ? *this : of(what, expected, got);
  }
  comparison& add(const std::string& found) {
    if (text_.empty())
      text_ = found;
    return *this;
  }
  const std::string& text() const { return text_; }

private:
  std::string text_;
};

std::string difference(const std::string& where, const state_answer& expected,
                       const state_answer& got);

std::string difference(const std::string& where, const task_answer& expected,
                       const task_answer& got) {
  comparison out;
  out.of(where + " name", expected.name, got.name)
    .text(where + " error", expected.error, got.error)
    .of(where + " questions", expected.questions, got.questions)
    .of(where + " result", expected.result, got.result)
    .of(where + " has an inner state", expected.inner != nullptr, got.inner != nullptr);
  if (expected.inner && got.inner)
    out.add(difference(where + " inner", *expected.inner, *got.inner));
  return out.text();
}

std::string difference(const std::string& where, const state_answer& expected,
                       const state_answer& got) {
  comparison out;
  out.of(where + " source", expected.source, got.source)
    .of(where + " step", expected.step, got.step)
    .of(where + " place", expected.place, got.place)
    .of(where + " parent", expected.parent, got.parent)
    .of(where + " values", expected.values, got.values)
    .of(where + " next", expected.next, got.next)
    .of(where + " questions", expected.questions, got.questions)
    .of(where + " tasks", expected.tasks.size(), got.tasks.size());
  for (std::size_t i = 0; i < expected.tasks.size() && i < got.tasks.size(); ++i)
    out.add(difference(where + " task " + expected.tasks[i].name, expected.tasks[i], got.tasks[i]));
  return out.text();
}

void show(std::ostream& out, const std::string& what, const state_answer& s,
          const std::string& indent) {
  out << indent << what << " #" << s.place << " <- #" << s.parent << " " << s.source << " step "
      << s.step << " next " << text_of(s.next) << "\n"
      << indent << "    values " << text_of(s.values) << "\n";
  for (const auto& t : s.tasks) {
    out << indent << "    task " << t.name;
    if (t.error)
      out << " failed: " << *t.error;
    if (!t.questions.empty())
      out << " asks " << text_of(t.questions);
    if (t.result)
      out << " wrote " << text_of(*t.result);
    out << "\n";
    if (t.inner)
      show(out, "inner", *t.inner, indent + "      ");
  }
}

} // namespace

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

std::string difference(const answer& expected, const answer& got) {
  comparison out;
  out.of("error", expected.error, got.error)
    .of("error text", expected.error_text, got.error_text)
    .of("executions", expected.executions, got.executions)
    .of("output", expected.output, got.output)
    .of("paused", expected.paused, got.paused)
    .of("questions", expected.questions, got.questions)
    .of("next", sorted(expected.next), sorted(got.next))
    .of("looked", expected.seen.has_value(), got.seen.has_value())
    .of("state", expected.state.has_value(), got.state.has_value());
  if (expected.seen && got.seen)
    out.add(difference("seen", *expected.seen, *got.seen));
  if (expected.state && got.state)
    out.add(difference("state", *expected.state, *got.state));
  out.of("checkpoints", expected.history.size(), got.history.size());
  for (std::size_t i = 0; i < expected.history.size() && i < got.history.size(); ++i)
    out.add(difference("history #" + std::to_string(expected.history[i].place), expected.history[i],
                       got.history[i]));
  return out.text();
}

std::string show(const answer& a, bool whole) {
  std::ostringstream out;
  if (!a.error.empty())
    out << "    error " << a.error << " " << a.error_text << "\n";
  else if (!a.seen)
    out << "    output " << text_of(a.output) << (a.paused ? " paused" : "") << " questions "
        << text_of(a.questions) << " next " << text_of(a.next) << "\n";
  out << "    executions " << text_of(a.executions) << "\n";
  if (a.seen)
    show(out, "seen", *a.seen, "    ");
  if (a.state)
    show(out, "state", *a.state, "    ");
  for (std::size_t i = 0; whole && i < std::min<std::size_t>(a.history.size(), 12); ++i)
    show(out, "checkpoint", a.history[i], "    ");
  return out.str();
}

} // namespace troupe::fuzz
