// The abilities of a terminal, and texts for the person in front of it.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <string_view>

namespace troupe::cli {

enum class style { plain, bold, faint, red, green, yellow };

/// One of the standard files, and whether a person sees it in colours.
class terminal {
public:
  explicit terminal(int fd) : fd_{fd}, is_tty_{isatty(fd) == 1} {
    auto set = [](const char* name) {
      return std::string_view{std::getenv(name) ? std::getenv(name) : ""};
    };
    colours_ = is_tty_ && set("NO_COLOR").empty() && set("TERM") != "dumb";
  }

  bool is_tty() const noexcept { return is_tty_; }
  bool has_colours() const noexcept { return colours_; }

  /// Units:  columns; 0 when it is not a terminal.
  std::size_t width() const noexcept {
    winsize size{};
    return is_tty_ && ioctl(fd_, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  }

  /// Units:  lines; 0 when it is not a terminal.
  std::size_t height() const noexcept {
    winsize size{};
    return is_tty_ && ioctl(fd_, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
  }

  std::string paint(style how, std::string_view text) const {
    static constexpr const char* codes[] = {"",        "\33[1m",  "\33[2m",
                                            "\33[31m", "\33[32m", "\33[33m"};
    if (!colours_ || how == style::plain)
      return std::string{text};
    return codes[static_cast<std::size_t>(how)] + std::string{text} + "\33[0m";
  }

  /// `text`, cut to the rest of a line of which `used` columns are taken. Whole when this is not a
  /// terminal.
  std::string fit(std::string_view text, std::size_t used) const {
    auto columns = width();
    if (columns == 0 || text.size() + used < columns || used + 20 > columns)
      return std::string{text};
    auto end = columns - used - 2;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
      --end; // not within a character
    return std::string{text.substr(0, end)} + "…";
  }

  /// `line`, as much of it as fits into one line.
  std::string cut(std::string_view line) const {
    auto columns = width();
    if (columns == 0 || line.size() < columns)
      return std::string{line};
    auto end = columns - 1;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80)
      --end; // not within a character
    return std::string{line.substr(0, end)};
  }

private:
  int fd_;
  bool is_tty_;
  bool colours_ = false;
};

/// A size as people read it: "12.3 MB".
inline std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units{"bytes", "KB", "MB", "GB", "TB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1000 && unit + 1 < units.size(); ++unit)
    size /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
  return text;
}

/// One line of `text`: control characters, which would move the cursor, become blanks.
inline std::string one_line(std::string_view text) {
  std::string out{text};
  for (auto& c : out)
    if (std::iscntrl(static_cast<unsigned char>(c)))
      c = ' ';
  return out;
}

/// `word` as a shell reads it back.
inline std::string shell_word(const std::string& word) {
  static constexpr std::string_view harmless =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%=";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string::npos)
    return word;
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

/// A thread id nobody used before: `prefix`, the time, and some random digits.
inline std::string new_thread_id(const std::string& prefix) {
  auto now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[40];
  auto size = std::strftime(text, sizeof text, "-%Y%m%d-%H%M%S-", &local);
  std::snprintf(text + size, sizeof text - size, "%04x", std::random_device{}() & 0xffffu);
  return prefix + text;
}

} // namespace troupe::cli
