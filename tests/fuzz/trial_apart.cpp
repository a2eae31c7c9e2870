// A trial in a child process.
#include "tests/fuzz/trial.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace troupe::fuzz {
namespace {

constexpr unsigned seconds_max = 60; // for a plan; then it hangs

// One record a line: its texts have no line ends, but for the log, which comes last.
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
  if (!with_log && !std::freopen("/dev/null", "w", stderr)) // a sanitizer's report, once more
    ::_exit(3);
  std::string log;
  std::optional<finding> found;
  {
    hosts on;
    try {
      trial_report report{.log = with_log ? &log : nullptr, .begins = [to](std::size_t call) {
                            say(to, "call " + std::to_string(call) + "\n");
                          }};
      found = try_plan(p, on, report);
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

std::string unexpected_end(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM
             ? "troupe does not come back"
             : std::string{"troupe ends by "} + ::strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "troupe ends the process"; // as a sanitizer does
}

std::optional<finding> try_apart(const plan& p, std::string* log) {
  int ends[2];
  if (::pipe(ends) != 0)
    throw std::system_error{errno, std::generic_category(), "pipe"};
  auto child = ::fork();
  if (child < 0)
    throw std::system_error{errno, std::generic_category(), "fork"};
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
  if (auto end = unexpected_end(status); !end.empty())
    out.what = "error: " + end;
  return out.what.empty() ? std::nullopt : std::optional{out};
}

} // namespace troupe::fuzz
