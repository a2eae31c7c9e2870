// See line_editor.hpp.
#include "tools/troupe/agents/line_editor.hpp"

#include <troupe/error.hpp>

#include <histedit.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <langinfo.h>
#include <mutex>
#include <string_view>
#include <utility>

namespace troupe::cli {

namespace {

constexpr int lines_remembered = 500;
constexpr wchar_t not_utf_8 = 0xfffd;

std::wstring wide(const std::string& text) {
  std::wstring out;
  std::mbstate_t so_far{};
  for (std::string_view rest{text}; !rest.empty();) {
    wchar_t c = 0;
    auto n = std::mbrtowc(&c, rest.data(), rest.size(), &so_far);
    if (n == 0 || n > rest.size()) { // a NUL, or no UTF-8
      c = not_utf_8;
      n = 1;
      so_far = {};
    }
    out += c;
    rest.remove_prefix(n);
  }
  return out;
}

std::string narrow(std::wstring_view text) {
  std::string out;
  std::mbstate_t so_far{};
  char bytes[MB_LEN_MAX];
  for (auto c : text)
    if (auto n = std::wcrtomb(bytes, c, &so_far); n != static_cast<std::size_t>(-1))
      out.append(bytes, n);
  return out;
}

// The library counts columns by the locale's characters.
void speak_utf_8() {
  if (!std::setlocale(LC_CTYPE, "") || ::nl_langinfo(CODESET) != std::string_view{"UTF-8"})
    std::setlocale(LC_CTYPE, "C.UTF-8");
}

} // namespace

struct line_editor::state {
  EditLine* editor = nullptr;
  HistoryW* history = nullptr;
  int woken = -1;
  std::wstring prompt;
  std::mutex mutex;
  std::string note;
  termios before{};
  bool is_terminal = false;

  ~state() {
    if (editor)
      ::el_end(editor);
    if (history)
      ::history_wend(history);
    if (woken >= 0)
      ::close(woken);
  }

  static state& of(EditLine* editor) {
    state* out = nullptr;
    ::el_wget(editor, EL_CLIENTDATA, &out);
    return *out;
  }
  static wchar_t* prompt_of(EditLine* editor) { return of(editor).prompt.data(); }

  // For the library: 1 with the next character, 0 at the end, -1 for an error.
  static int next_character(EditLine* editor, wchar_t* to) { return of(editor).next(*to); }

  int next(wchar_t& to) {
    std::mbstate_t so_far{};
    while (true) {
      pollfd what[] = {{STDIN_FILENO, POLLIN, 0}, {woken, POLLIN, 0}};
      if (::poll(what, 2, -1) < 0 && errno != EINTR)
        return -1;
      if (what[1].revents != 0) {
        drop_line();
        so_far = {};
      }
      if (what[0].revents == 0)
        continue;
      char byte = 0;
      auto n = ::read(STDIN_FILENO, &byte, 1);
      if (n < 0 && (errno == EINTR || errno == EAGAIN))
        continue;
      if (n <= 0)
        return n < 0 ? -1 : 0;
      auto size = std::mbrtowc(&to, &byte, 1, &so_far);
      if (size == static_cast<std::size_t>(-2))
        continue; // the rest of the character is to come
      if (size == static_cast<std::size_t>(-1))
        to = not_utf_8;
      return 1;
    }
  }

  void drop_line() {
    std::uint64_t count = 0;
    (void)!::read(woken, &count, sizeof count);
    const auto* line = ::el_wline(editor);
    ::el_cursor(editor, static_cast<int>(line->lastchar - line->cursor));
    ::el_wdeletestr(editor, static_cast<int>(line->lastchar - line->buffer));
    std::lock_guard guard{mutex};
    std::fputs(note.c_str(), stdout);
    std::fflush(stdout);
    ::el_wset(editor, EL_REFRESH);
  }
};

line_editor::line_editor() : state_{std::make_unique<state>()} {
  speak_utf_8();
  auto& s = *state_;
  s.is_terminal = ::tcgetattr(STDIN_FILENO, &s.before) == 0;
  s.woken = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  s.editor = ::el_init("troupe", stdin, stdout, stderr);
  s.history = ::history_winit();
  if (s.woken < 0 || !s.editor || !s.history)
    throw error{errc::invalid_config, std::string{"the terminal: "} + std::strerror(errno)};
  HistEventW event{};
  ::history_w(s.history, &event, H_SETSIZE, lines_remembered);
  ::history_w(s.history, &event, H_SETUNIQUE, 1);
  ::el_wset(s.editor, EL_CLIENTDATA, &s);
  ::el_wset(s.editor, EL_EDITOR, L"emacs");
  ::el_wset(s.editor, EL_SIGNAL, 0);
  ::el_wset(s.editor, EL_HIST, history_w, s.history);
  ::el_wset(s.editor, EL_PROMPT_ESC, &state::prompt_of, L'\1');
  ::el_wset(s.editor, EL_GETCFN, &state::next_character);
  ::el_wset(s.editor, EL_BIND, L"^R", L"em-inc-search-prev", nullptr);
}

line_editor::~line_editor() = default;

bool line_editor::works_here() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && kind && *kind
         && kind != std::string_view{"dumb"};
}

std::optional<std::string> line_editor::read(const std::string& prompt) {
  state_->prompt = wide(prompt);
  ::el_wset(state_->editor, EL_PREP_TERM, 1); // before the prompt invites typing
  int count = 0;
  const auto* got = ::el_wgets(state_->editor, &count);
  if (!got || count <= 0)
    return std::nullopt;
  std::wstring_view line{got, static_cast<std::size_t>(count)};
  if (line.ends_with(L'\n'))
    line.remove_suffix(1);
  auto out = narrow(line);
  remember(out);
  return out;
}

void line_editor::remember(const std::string& line) {
  if (line.find_first_not_of(" \t\r\n") == std::string::npos)
    return;
  HistEventW event{};
  ::history_w(state_->history, &event, H_ENTER, wide(line).c_str());
}

void line_editor::begin_anew(std::string note) {
  {
    std::lock_guard guard{state_->mutex};
    state_->note = std::move(note);
  }
  std::uint64_t one = 1;
  (void)!::write(state_->woken, &one, sizeof one);
}

void line_editor::restore_terminal() const noexcept {
  if (state_->is_terminal)
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &state_->before);
}

} // namespace troupe::cli
