// A trial in a child process.
#include "tests/fuzz/trial.hpp"

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::fuzz {
namespace {

constexpr unsigned seconds_max = 60; // for a plan; then it hangs

// One record a line: what is said in it has no line ends, but for the log, which comes last.
void say(int to, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    auto n = ::write(to, text.data() + done, text.size() - done);
    if (n <= 0)
      ::_exit(3);
    done += static_cast<std::size_t>(n);
  }
}

std::string one_line(std::string text) {
  for (auto& c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

void run_child(const plan& p, int to, bool with_log) {
  ::alarm(seconds_max);
  std::string log;
  std::optional<finding> found;
  {
    hosts on;
    try {
      found = try_plan(p, on, with_log ? &log : nullptr,
                       [to](std::size_t call) { say(to, "call " + std::to_string(call) + "\n"); });
    } catch (const error&) {
      // a graph that can't be built shows nothing
    }
  }
  if (found)
    say(to, "call " + std::to_string(found->call) + "\nfound " + one_line(found->what) + "\n");
  say(to, "log\n" + log);
  ::_exit(0);
}

std::string read_all(int from) {
  std::string out;
  char buffer[4096];
  for (;;) {
    auto n = ::read(from, buffer, sizeof buffer);
    if (n <= 0)
      return out;
    out.append(buffer, static_cast<std::size_t>(n));
  }
}

} // namespace

std::optional<finding> try_apart(const plan& p, std::string* log) {
  int ends[2];
  if (::pipe(ends) != 0)
    return std::nullopt;
  auto child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    run_child(p, ends[1], log != nullptr);
  }
  ::close(ends[1]);
  auto said = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);

  finding out;
  for (std::size_t at = 0; at < said.size();) {
    auto end = said.find('\n', at);
    auto line = said.substr(at, end - at);
    at = end == std::string::npos ? said.size() : end + 1;
    if (line.starts_with("call "))
      out.call = std::stoul(line.substr(5));
    else if (line.starts_with("found "))
      out.what = line.substr(6);
    else if (line == "log") {
      if (log)
        *log += said.substr(at);
      break;
    }
  }
  if (WIFSIGNALED(status))
    out.what = WTERMSIG(status) == SIGALRM
                 ? "error: troupe does not come back"
                 : std::string{"error: troupe ends by "} + ::strsignal(WTERMSIG(status));
  return out.what.empty() ? std::nullopt : std::optional{out};
}

} // namespace troupe::fuzz
