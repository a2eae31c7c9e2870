// shell: commands in a folder, bounded in time and output.
//
// Invariants:
//  - the program `timeout` bounds a command even when this process is killed.
#include "agents/messages/json_text.hpp"
#include "agents/workspace/child_process.hpp"
#include "agents/workspace/folder_search.hpp"

#include <troupe/agents/workspace.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

namespace troupe {
namespace {

using shell_clock = std::chrono::steady_clock;
using words = child_process::words;

constexpr std::chrono::milliseconds patience{20}; // between checks whether it has ended
constexpr std::chrono::seconds grace{3}; // gives `timeout` the time to end the command first
constexpr int timed_out_status = 124;    // the exit code of `timeout`

// A started program, or the reason why the command was not run.
std::unique_ptr<child_process> begun(words arguments, words environment, int folder) {
  try {
    return std::make_unique<child_process>(std::move(arguments), std::move(environment), folder);
  } catch (const std::system_error& why) {
    throw node_error{"ToolError", std::string{"The command was not run: "} + why.what()};
  }
}

// ---- what it prints -------------------------------------------------------------------------

// The first lines of an output.
class printed {
public:
  explicit printed(const shell_options& bounds) : bounds_{bounds} {}

  void add(std::string_view line, const char* mark) {
    ++lines;
    if (lines > bounds_.lines_max || by_bytes)
      return;
    auto room = bounds_.bytes_max - std::min(bounds_.bytes_max, text.size());
    auto whole = mark + std::string{line};
    by_bytes = whole.size() > room;
    text += whole.substr(0, room);
    text += by_bytes ? "" : "\n";
  }
  bool by_lines() const { return lines > bounds_.lines_max; }

  std::string text;
  std::size_t lines = 0;
  std::size_t bytes = 0;
  bool by_bytes = false;

private:
  const shell_options& bounds_;
};

// One of the two outputs, line by line.
class output_lines {
public:
  output_lines(pipe_end& from, const char* mark, printed& into)
    : from_{from},
      mark_{mark},
      into_{into} {}

  bool is_open() const { return from_.is_open(); }
  int descriptor() const { return from_.get(); }

  void read() {
    std::array<char, 8192> block;
    auto got = ::read(from_.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR)
      return;
    if (got <= 0)
      return end();
    std::string_view text{block.data(), static_cast<std::size_t>(got)};
    into_.bytes += text.size();
    while (!text.empty()) {
      auto at = std::min(text.find('\n'), text.size());
      if (line_.size() < line_max_)
        line_ += text.substr(0, at);
      begun_ = true;
      if (at < text.size())
        tell();
      text.remove_prefix(std::min(at + 1, text.size()));
    }
  }
  void end() {
    if (begun_)
      tell();
    from_.close();
  }

private:
  void tell() {
    into_.add(line_, mark_);
    line_.clear();
    begun_ = false;
  }

  static constexpr std::size_t line_max_ = 1u << 20; // kept of a line; the bound on bytes is lower
  pipe_end& from_;
  const char* mark_;
  printed& into_;
  std::string line_;
  bool begun_ = false;
};

// Reads the available bytes, or waits a little for some. False without any.
bool read_outputs(output_lines& out, output_lines& err, std::chrono::milliseconds wait) {
  pollfd what[2] = {{out.is_open() ? out.descriptor() : -1, POLLIN, 0},
                    {err.is_open() ? err.descriptor() : -1, POLLIN, 0}};
  if (::poll(what, 2, static_cast<int>(wait.count())) <= 0)
    return false;
  if (what[0].revents != 0)
    out.read();
  if (what[1].revents != 0)
    err.read();
  return true;
}

// ---- a command ------------------------------------------------------------------------------

struct shell_place {
  confined_folder files;
  std::string path;
  shell_options options;
  bool sandboxed;
};

words sandbox_of(const shell_place& in) {
  words out{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"};
  if (const char* home = std::getenv("HOME"); home && home[0] == '/' && home[1] != '\0')
    out.insert(out.end(), {"--tmpfs", home});
  out.insert(out.end(), {"--bind", in.path, in.path});
  for (const auto& name : in.options.hidden)
    out.insert(out.end(), {"--tmpfs", in.path + '/' + name});
  out.insert(out.end(),
             {"--unshare-all", "--die-with-parent", "--new-session", "--chdir", in.path, "--"});
  return out;
}

words command_line(const shell_place& in, const std::string& command) {
  auto out = in.sandboxed ? sandbox_of(in) : words{};
  out.insert(out.end(), {"timeout", "--kill-after=1", std::to_string(in.options.timeout.count()),
                         "/bin/sh", "-c", command});
  return out;
}

words shell_environment(const shell_place& in) {
  words out{"PATH=" + path_of_programs(), "HOME=" + in.path, "LANG=C.UTF-8", "TERM=dumb"};
  for (const auto& [name, text] : in.options.environment) {
    std::erase_if(out, [start = name + '='](const std::string& e) { return e.starts_with(start); });
    out.push_back(name + '=' + text);
  }
  return out;
}

struct command_end {
  std::optional<int> code; // nullopt: it was stopped
  bool timed_out = false;
};

command_end run_command(const shell_place& in, const std::string& command, printed& into,
                        const tool_runtime& runtime) {
  auto began = shell_clock::now(); // `timeout` may count before the child is known here
  auto child = begun(command_line(in, command), shell_environment(in), in.files.descriptor());
  output_lines out{child->out.read, "", into};
  output_lines err{child->err.read, "[stderr] ", into};
  auto code = child->exit_code();
  auto late = [&] { return shell_clock::now() - began >= in.options.timeout; };
  while (!code && shell_clock::now() - began < in.options.timeout + grace
         && !runtime.info().stop_requested()) {
    if (!read_outputs(out, err, patience) && !out.is_open() && !err.is_open())
      ::poll(nullptr, 0, static_cast<int>(patience.count())); // it has closed both outputs and
                                                              // still runs
    code = child->exit_code();
  }
  while ((out.is_open() || err.is_open()) && read_outputs(out, err, std::chrono::milliseconds{0})) {
  }
  out.end();
  err.end();
  bool killed = !code && late();
  return {code, killed || (code == timed_out_status && late())};
}

std::string told(const command_end& how, const printed& all, const shell_options& bounds) {
  auto text = readable_text(all.text);
  if (text.ends_with('\n'))
    text.pop_back();
  if (all.by_lines())
    text += "\n\n... Output truncated at " + std::to_string(bounds.lines_max) + " lines (observed "
            + std::to_string(all.lines) + ").";
  if (all.by_bytes)
    text += "\n\n... Output truncated at " + std::to_string(bounds.bytes_max) + " bytes (observed "
            + std::to_string(all.bytes) + ").";
  if (how.timed_out)
    return "Error: Command timed out after " + std::to_string(bounds.timeout.count())
           + ".0 seconds." + (text.empty() ? "" : "\n\n" + text);
  if (!how.code)
    return "Error: Command was stopped." + (text.empty() ? "" : "\n\n" + text);
  if (text.empty())
    text = "<no output>";
  return *how.code == 0 ? text : text + "\n\nExit code: " + std::to_string(*how.code);
}

value artifact_of(const command_end& how, const printed& all) {
  return value::map({{"exit_code", how.code && !how.timed_out ? value(*how.code) : value{}},
                     {"timed_out", how.timed_out},
                     {"total_lines", static_cast<std::int64_t>(all.lines)},
                     {"total_bytes", static_cast<std::int64_t>(all.bytes)},
                     {"truncated_by_lines", all.by_lines()},
                     {"truncated_by_bytes", all.by_bytes}});
}

tool_output answer_of(const shell_place& in, const std::string& command,
                      const tool_runtime& runtime) {
  printed all{in.options};
  auto how = run_command(in, command, all, runtime);
  bool good = how.code == 0 && !how.timed_out;
  auto message = tool_message(told(how, all, in.options), runtime.tool_call_id(),
                              text_in(runtime.call()["name"]), good ? "success" : "error");
  return tool_output{value::extension(value_kind::message,
                                      message.payload().with("artifact", artifact_of(how, all)))};
}

// ---- options --------------------------------------------------------------------------------

error no_shell(const std::string& why) {
  return {errc::invalid_config, "make a shell tool: " + why};
}

bool sandboxed_by(shell_sandbox wish) {
  bool there = wish != shell_sandbox::none && has_shell_sandbox();
  if (wish == shell_sandbox::required && !there)
    throw no_shell("commands must run under bubblewrap (bwrap), which does not work here");
  return there;
}

void require_bounds(const shell_options& options) {
  if (options.timeout.count() < 1 || options.timeout > limits::shell_timeout_max)
    throw no_shell("timeout must be 1 to " + std::to_string(limits::shell_timeout_max.count())
                   + " seconds");
  if (options.lines_max == 0 || options.bytes_max == 0)
    throw no_shell("lines_max and bytes_max must be at least 1");
}

} // namespace

bool has_shell_sandbox() {
  static const bool works = [] {
    try {
      auto trial = begun({"bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"},
                         {"PATH=" + path_of_programs()}, -1);
      while (!trial->exit_code())
        ::poll(nullptr, 0, 1);
      return *trial->exit_code() == 0;
    } catch (const node_error&) {
      return false;
    }
  }();
  return works;
}

tool shell_tool(const std::filesystem::path& folder, shell_options options) {
  require_bounds(options);
  bool sandboxed = sandboxed_by(options.sandbox);
  confined_folder files{folder, {.hidden = options.hidden}};
  auto in = std::make_shared<const shell_place>(shell_place{
    std::move(files), std::filesystem::canonical(folder).string(), std::move(options), sandboxed});
  auto name = in->options.name;
  return {name,
          "Runs a command of /bin/sh in the folder of the project, and returns its output.",
          [in](arg<"command", std::string> command, tool_runtime& runtime) {
            if (command->size() > limits::shell_command_bytes_max
                || command->find('\0') != std::string::npos)
              throw node_error{"ToolError", "The command is too long, or has a NUL in it"};
            return answer_of(*in, *command, runtime);
          },
          {.on_error = [](const error& e) -> std::optional<std::string> {
            if (e.type() == "ToolError")
              return "Error: " + e.text();
            return std::nullopt;
          }}};
}

middleware shell(const std::filesystem::path& folder, shell_options options) {
  middleware out;
  out.name = "shell";
  out.tools = {shell_tool(folder, std::move(options))};
  return out;
}

} // namespace troupe
