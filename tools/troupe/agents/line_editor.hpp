// Lines that a person types, with what shells have for it: arrow keys, and what was typed before.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace troupe::cli {

/// Reads lines from the terminal, with libedit; the terminal is its own only while a line is read.
/// Thread: one; begin_anew() and restore_terminal() from any.
class line_editor {
public:
  line_editor();
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;
  ~line_editor();

  /// Whether lines can be edited here: stdin and stdout are a terminal that can move its cursor.
  static bool works_here();

  /// The next line, without its end, in UTF-8; nothing at the end of the input. It is remembered.
  /// Shape:  escape sequences for colours stand between two `\1` in `prompt`.
  std::optional<std::string> read(const std::string& prompt);
  /// Adds a line for the arrow keys to bring back. Order: the newest is remembered last.
  void remember(const std::string& line);

  /// Drops what was typed of a line so far, and shows `note` before the prompt comes again.
  void begin_anew(std::string note);
  /// Gives the terminal the modes it had, for who ends the process while a line is read.
  void restore_terminal() const noexcept;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace troupe::cli
