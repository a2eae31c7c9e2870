// A memory in a folder.
//
// Invariants:
//  - every file is reached from the folder's descriptor, a name at a time, never through a symbolic
//    link: nothing between a check and its use can lead outside.
//  - a file is replaced whole or not at all.
#include <troupe/memory_tool.hpp>

#include <troupe/limits.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

constexpr std::string_view root = "/memories";
constexpr std::size_t lines_max = 999'999;
constexpr mode_t private_folder = 0700;
constexpr mode_t private_file = 0600;

[[noreturn]] void refuse(std::string text) {
  throw node_error{"ToolError", std::move(text)};
}

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw error{errc::storage_failed, "memory: " + what + ' ' + path + ": " + std::strerror(errno)};
}

class descriptor {
public:
  explicit descriptor(int fd = -1) noexcept : fd_{fd} {}
  descriptor(descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_;
};

using names = std::vector<std::string>;

// The names below the root. A name that leads elsewhere is refused, not resolved.
names names_of(const std::string& path) {
  bool below = path == root || path.starts_with(std::string{root} + '/');
  if (!below)
    refuse("Path must start with /memories, got: " + path);
  names out;
  std::string_view rest{path};
  rest.remove_prefix(root.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    auto name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(name.size());
    if (name == ".." || name.find('\0') != std::string_view::npos || name.size() > NAME_MAX)
      refuse("Path " + path + " would escape /memories directory");
    if (!name.empty() && name != ".")
      out.emplace_back(name);
    if (out.size() > limits::value_depth_max)
      refuse("Path " + path.substr(0, NAME_MAX) + "… is too deep");
  }
  return out;
}

descriptor open_folder(int at, const std::string& name) {
  return descriptor{::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

void refuse_link() {
  if (errno == ELOOP || errno == ENOTDIR)
    refuse("Path would escape /memories directory via symlink");
}

std::string read_all(int fd, const std::string& path) {
  std::string out;
  char buffer[1 << 16];
  while (true) {
    auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      fail("read", path);
    if (n == 0)
      return out;
    out.append(buffer, static_cast<std::size_t>(n));
    if (out.size() > limits::value_size_bytes_max)
      refuse("File " + path + " is too large.");
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    auto end = text.find('\n');
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return out;
    text.remove_prefix(end + 1);
  }
}

std::string numbered(const std::vector<std::string_view>& lines, std::size_t first,
                     std::size_t last) {
  std::string out;
  for (auto i = first; i < last; ++i) {
    char number[24];
    std::snprintf(number, sizeof number, "%6zu\t", i + 1);
    out += (i == first ? "" : "\n") + std::string{number} + std::string{lines[i]};
  }
  return out;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "K", "M", "G", "T"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit)
    size /= 1024;
  char text[32];
  bool whole = size == static_cast<double>(static_cast<std::uint64_t>(size));
  std::snprintf(text, sizeof text, whole ? "%.0f%s" : "%.1f%s", size, units[unit]);
  return text;
}

std::string missing(const std::string& path) {
  return "The path " + path + " does not exist. Please provide a valid path.";
}

class folder_memory final : public memory_backend {
public:
  explicit folder_memory(const std::filesystem::path& folder) {
    auto whole = folder / "memories";
    std::error_code failed;
    std::filesystem::create_directories(whole, failed);
    root_ = descriptor{::open(whole.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!root_)
      fail("open", whole.string());
    (void)::fchmod(root_.get(), private_folder);
  }

  std::string view(const std::string& path, std::optional<line_range> lines) override {
    std::lock_guard guard{mutex_};
    auto at = parts_of(path);
    auto what = kind_of(at, path);
    if (S_ISDIR(what.st_mode))
      return view_folder(at, path, what);
    auto text = read(at, path);
    auto all = lines_of(text);
    if (all.size() > lines_max)
      refuse("File " + path + " exceeds maximum line limit of 999,999 lines.");
    std::size_t first = 0;
    auto last = all.size();
    if (lines) {
      first = static_cast<std::size_t>(std::max<std::int64_t>(1, lines->first)) - 1;
      if (lines->second != -1)
        last = std::min(last, static_cast<std::size_t>(std::max<std::int64_t>(0, lines->second)));
    }
    return "Here's the content of " + path + " with line numbers:\n"
           + numbered(all, std::min(first, last), last);
  }

  std::string create(const std::string& path, const std::string& text) override {
    std::lock_guard guard{mutex_};
    auto at = parts_of(path, true);
    struct stat what {};
    if (at.name.empty() || status(at, what))
      refuse("File " + path + " already exists");
    write(at, path, text);
    return "File created successfully at: " + path;
  }

  std::string str_replace(const std::string& path, const std::string& old_text,
                          const std::string& new_text) override {
    std::lock_guard guard{mutex_};
    auto at = parts_of(path);
    require_file(at, path);
    auto text = read(at, path);
    auto place = text.find(old_text);
    if (place == std::string::npos || (old_text.empty() && !text.empty()))
      refuse("No replacement was performed, old_str `" + old_text + "` did not appear verbatim in "
             + path + ".");
    if (!old_text.empty() && text.find(old_text, place + 1) != std::string::npos)
      refuse("No replacement was performed. Multiple occurrences of old_str `" + old_text
             + "` in lines: " + lines_with(text, old_text) + ". Please ensure it is unique");
    text.replace(place, old_text.size(), new_text);
    write(at, path, text);
    return "The memory file has been edited. Here is the snippet showing the change (with line "
           "numbers):\n"
           + snippet(text, place, new_text);
  }

  std::string insert(const std::string& path, std::int64_t line, const std::string& text) override {
    std::lock_guard guard{mutex_};
    auto at = parts_of(path);
    require_file(at, path);
    auto old = read(at, path);
    if (old.ends_with('\n'))
      old.pop_back();
    auto lines = old.empty() ? std::vector<std::string_view>{} : lines_of(old);
    if (line < 0 || line > static_cast<std::int64_t>(lines.size()))
      refuse("Invalid `insert_line` parameter: " + std::to_string(line)
             + ". It should be within the range [0, " + std::to_string(lines.size()) + "].");
    std::string_view added{text};
    while (added.ends_with('\n'))
      added.remove_suffix(1);
    lines.insert(lines.begin() + line, added);
    std::string out;
    for (auto one : lines)
      out += std::string{one} + '\n';
    write(at, path, out);
    return "The file " + path + " has been edited.";
  }

  std::string remove(const std::string& path) override {
    std::lock_guard guard{mutex_};
    auto at = parts_of(path);
    if (at.name.empty())
      refuse("Cannot delete the /memories directory itself");
    struct stat what {};
    if (!status(at, what))
      refuse("The path " + path + " does not exist");
    remove_tree(at.folder.get(), at.name, path);
    return "Successfully deleted " + path;
  }

  std::string rename(const std::string& old_path, const std::string& new_path) override {
    std::lock_guard guard{mutex_};
    auto from = parts_of(old_path);
    auto to = parts_of(new_path, true);
    if (from.name.empty() || to.name.empty())
      refuse("Cannot rename the /memories directory itself");
    struct stat what {};
    if (!status(from, what))
      refuse("The path " + old_path + " does not exist");
    if (status(to, what))
      refuse("The destination " + new_path + " already exists");
    if (::renameat(from.folder.get(), from.name.c_str(), to.folder.get(), to.name.c_str()) != 0)
      fail("rename", old_path);
    return "Successfully renamed " + old_path + " to " + new_path;
  }

private:
  // A name and the folder it stands in; the root has no name.
  struct located {
    descriptor folder;
    std::string name;
  };

  located parts_of(const std::string& path, bool make_folders = false) const {
    auto below = names_of(path);
    located out{descriptor{::dup(root_.get())}, {}};
    if (!out.folder)
      fail("open", path);
    for (std::size_t i = 0; i + 1 < below.size(); ++i) {
      if (make_folders)
        (void)::mkdirat(out.folder.get(), below[i].c_str(), private_folder);
      auto next = open_folder(out.folder.get(), below[i]);
      if (!next) {
        refuse_link();
        refuse(missing(path));
      }
      out.folder = std::move(next);
    }
    if (!below.empty())
      out.name = below.back();
    return out;
  }

  static bool status(const located& at, struct stat& what) {
    const char* name = at.name.empty() ? "." : at.name.c_str();
    return ::fstatat(at.folder.get(), name, &what, AT_SYMLINK_NOFOLLOW) == 0;
  }

  static struct stat kind_of(const located& at, const std::string& path) {
    struct stat what {};
    if (!status(at, what))
      refuse(missing(path));
    if (S_ISLNK(what.st_mode))
      refuse("Path would escape /memories directory via symlink");
    if (!S_ISDIR(what.st_mode) && !S_ISREG(what.st_mode))
      refuse("Unsupported file type for " + path);
    return what;
  }

  static void require_file(const located& at, const std::string& path) {
    if (!S_ISREG(kind_of(at, path).st_mode))
      refuse("The path " + path + " is not a file.");
  }

  static std::string read(const located& at, const std::string& path) {
    descriptor file{
      ::openat(at.folder.get(), at.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (!file) {
      refuse_link();
      fail("open", path);
    }
    return read_all(file.get(), path);
  }

  static void write(const located& at, const std::string& path, const std::string& text) {
    if (text.size() > limits::value_size_bytes_max)
      refuse("File " + path + " is too large.");
    auto other = '.' + std::to_string(::getpid()) + ".troupe-memory"; // the lock is held
    descriptor file{::openat(at.folder.get(), other.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, private_file)};
    if (!file)
      fail("write", path);
    for (std::string_view rest{text}; !rest.empty();) {
      auto n = ::write(file.get(), rest.data(), rest.size());
      if (n < 0 && errno != EINTR)
        fail("write", path);
      rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    if (::fsync(file.get()) != 0
        || ::renameat(at.folder.get(), other.c_str(), at.folder.get(), at.name.c_str()) != 0)
      fail("write", path);
  }

  static void remove_tree(int folder, const std::string& name, const std::string& path) {
    if (::unlinkat(folder, name.c_str(), 0) == 0)
      return;
    auto inner = open_folder(folder, name);
    if (!inner)
      fail("delete", path);
    for (const auto& one : names_in(inner.get(), true))
      remove_tree(inner.get(), one, path + '/' + one);
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0)
      fail("delete", path);
  }

  // Sorted.
  static names names_in(int folder, bool hidden) {
    names out;
    DIR* listing = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!listing)
      fail("list", "a folder");
    while (const auto* one = ::readdir(listing)) {
      std::string name = one->d_name;
      if (name != "." && name != ".." && (hidden || !name.starts_with('.')))
        out.push_back(std::move(name));
    }
    ::closedir(listing);
    std::ranges::sort(out);
    return out;
  }

  std::string view_folder(const located& at, const std::string& path,
                          const struct stat& what) const {
    auto shown = path;
    while (shown.size() > root.size() && shown.ends_with('/'))
      shown.pop_back();
    auto out = "Here're the files and directories up to 2 levels deep in " + shown
               + ", excluding hidden items:\n" + size_text(static_cast<std::uint64_t>(what.st_size))
               + '\t' + shown;
    auto folder = open_folder(at.folder.get(), at.name.empty() ? "." : at.name);
    if (!folder)
      fail("list", path);
    list_into(out, folder.get(), shown, 2);
    return out;
  }

  static void list_into(std::string& out, int folder, const std::string& path, int levels) {
    for (const auto& name : names_in(folder, false)) {
      struct stat what {};
      if (::fstatat(folder, name.c_str(), &what, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      bool inner = S_ISDIR(what.st_mode);
      out += '\n' + size_text(static_cast<std::uint64_t>(what.st_size)) + '\t' + path + '/' + name
             + (inner ? "/" : "");
      if (!inner || levels < 2)
        continue;
      if (auto next = open_folder(folder, name))
        list_into(out, next.get(), path + '/' + name, levels - 1);
    }
  }

  static std::string lines_with(const std::string& text, const std::string& wanted) {
    std::string out;
    for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      auto line = 1
                  + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      out += (out.empty() ? "" : ", ") + std::to_string(line);
    }
    return out;
  }

  // The change with two lines before and behind.
  static std::string snippet(const std::string& text, std::size_t place,
                             const std::string& changed) {
    constexpr std::size_t around = 2;
    auto line_at = [&text](std::size_t at) {
      return static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    };
    auto lines = lines_of(text);
    auto first = line_at(place);
    auto last = line_at(place + changed.size()) + 1 + around;
    return numbered(lines, first > around ? first - around : 0, std::min(last, lines.size()));
  }

  descriptor root_;
  std::mutex mutex_;
};

} // namespace

std::shared_ptr<memory_backend> make_folder_memory(const std::filesystem::path& folder) {
  return std::make_shared<folder_memory>(folder);
}

} // namespace troupe
