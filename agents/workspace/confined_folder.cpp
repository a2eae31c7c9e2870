// confined_folder: files below one folder; no path leads outside.
#include <troupe/agents/confined_folder.hpp>

#include <troupe/error.hpp>
#include <troupe/limits.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr mode_t private_folder_mode = 0700;
constexpr mode_t private_file_mode = 0600;
constexpr mode_t open_folder_mode = 0777; // minus the umask
constexpr mode_t open_file_mode = 0666;

[[noreturn]] void refuse_path(std::string text) {
  throw node_error{"ToolError", std::move(text)};
}

class open_descriptor {
public:
  explicit open_descriptor(int fd = -1) noexcept : fd_{fd} {}
  open_descriptor(open_descriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  open_descriptor& operator=(open_descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~open_descriptor() {
    if (fd_ >= 0)
      ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_;
};

open_descriptor open_folder(int at, const std::string& name) {
  return open_descriptor{
    ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

// A name and the folder that it stands in; the root has an empty name.
struct located {
  open_descriptor folder;
  std::string name;
  const char* here() const { return name.empty() ? "." : name.c_str(); }
};

std::optional<struct stat> status_of(const located& at) {
  struct stat what {};
  if (::fstatat(at.folder.get(), at.here(), &what, AT_SYMLINK_NOFOLLOW) != 0)
    return std::nullopt;
  return what;
}

// The name of a temporary file that no other thread of this process writes.
std::string passing_name() {
  static std::atomic<unsigned> count{0};
  return '.' + std::to_string(::getpid()) + '-' + std::to_string(++count) + ".troupe-part";
}

} // namespace

struct confined_folder::parts {
  open_descriptor root;
  confined_folder_options options;

  std::string shown(const std::string& path) const {
    const auto& before = options.shown_as;
    if (before.empty())
      return path.empty() ? "." : path;
    return path.empty() || path.starts_with('/') ? before + path : before + '/' + path;
  }
  std::string outside() const {
    const auto& before = options.shown_as;
    return " would escape " + (before.empty() ? "the folder" : before + " directory");
  }
  bool hides(const std::string& name) const {
    return std::ranges::find(options.hidden, name) != options.hidden.end();
  }
  [[noreturn]] void fail(const char* what, const std::string& path) const {
    throw error{errc::storage_failed,
                std::string{what} + ' ' + shown(path) + ": " + std::strerror(errno)};
  }
  [[noreturn]] void missing(const std::string& path) const {
    refuse_path("The path " + shown(path) + " does not exist. Please provide a valid path.");
  }
  [[noreturn]] void gone(const std::string& path) const {
    refuse_path("The path " + shown(path) + " does not exist");
  }
  void refuse_link(const located& at) const {
    auto what = status_of(at);
    if (what && S_ISLNK(what->st_mode))
      refuse_path("Path" + outside() + " via symlink");
  }

  // A path that leads outside is refused, not resolved.
  std::vector<std::string> names_of(const std::string& path) const {
    std::vector<std::string> out;
    std::string_view rest{path};
    while (!rest.empty()) {
      auto name = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (name == ".." || name.find('\0') != std::string_view::npos || name.size() > NAME_MAX)
        refuse_path("Path " + shown(path) + outside());
      if (!name.empty() && name != ".")
        out.emplace_back(name);
      if (out.size() > limits::value_depth_max)
        refuse_path("Path " + shown(path).substr(0, NAME_MAX) + "… is too deep");
    }
    if (!out.empty() && hides(out.front()))
      refuse_path("Path " + shown(path) + " is hidden");
    return out;
  }

  // How a missing folder of a path is handled.
  enum class way : std::uint8_t { looked_for, made, given_up };

  located find(const std::string& path, way folders = way::looked_for) const {
    auto below = names_of(path);
    located out{open_descriptor{::fcntl(root.get(), F_DUPFD_CLOEXEC, 0)}, {}};
    if (!out.folder)
      fail("open", path);
    for (std::size_t i = 0; i + 1 < below.size(); ++i) {
      out.name = below[i];
      if (folders == way::made)
        (void)::mkdirat(out.folder.get(), out.here(),
                        options.private_files ? private_folder_mode : open_folder_mode);
      auto next = open_folder(out.folder.get(), below[i]);
      if (!next)
        refuse_folder(out, path, folders);
      out.folder = std::move(next);
      out.name.clear();
    }
    if (!below.empty())
      out.name = below.back();
    return out;
  }

  [[noreturn]] void refuse_folder(const located& at, const std::string& path, way folders) const {
    refuse_link(at);
    if (folders == way::made && status_of(at))
      refuse_path("Part of the path " + shown(path) + " is not a directory.");
    folders == way::given_up ? gone(path) : missing(path);
  }

  struct stat kind_of(const located& at, const std::string& path) const {
    auto what = status_of(at);
    if (!what)
      missing(path);
    if (S_ISLNK(what->st_mode))
      refuse_path("Path" + outside() + " via symlink");
    if (!S_ISDIR(what->st_mode) && !S_ISREG(what->st_mode))
      refuse_path("Unsupported file type for " + shown(path));
    return *what;
  }

  std::string read_all(int fd, const std::string& path) const {
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
        refuse_path("File " + shown(path) + " is too large.");
    }
  }

  void fill(int fd, const std::string& text, const std::string& path) const {
    for (std::string_view rest{text}; !rest.empty();) {
      auto n = ::write(fd, rest.data(), rest.size());
      if (n < 0 && errno != EINTR)
        fail("write", path);
      rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    if (::fsync(fd) != 0)
      fail("write", path);
  }

  std::vector<std::string> names_in(int folder, bool hidden, const std::string& path) const {
    std::vector<std::string> out;
    DIR* listing = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!listing)
      fail("list", path);
    while (const auto* one = ::readdir(listing)) {
      std::string name = one->d_name;
      if (name != "." && name != ".." && (hidden || !name.starts_with('.')))
        out.push_back(std::move(name));
    }
    ::closedir(listing);
    std::ranges::sort(out);
    return out;
  }

  void remove_tree(int folder, const std::string& name, const std::string& path) const {
    if (::unlinkat(folder, name.c_str(), 0) == 0)
      return;
    auto inner = open_folder(folder, name);
    if (!inner)
      fail("delete", path);
    for (const auto& one : names_in(inner.get(), true, path))
      remove_tree(inner.get(), one, path + '/' + one);
    if (::unlinkat(folder, name.c_str(), AT_REMOVEDIR) != 0)
      fail("delete", path);
  }
};

confined_folder::confined_folder(const std::filesystem::path& folder,
                                 confined_folder_options options)
  : parts_{std::make_unique<parts>(parts{open_descriptor{}, std::move(options)})} {
  for (const auto& name : parts_->options.hidden)
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
      throw error{errc::invalid_config,
                  "a hidden name must be a name in the folder: `" + name + '`'};
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  parts_->root = open_descriptor{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!parts_->root)
    throw error{errc::storage_failed, "open " + folder.string() + ": " + std::strerror(errno)};
  if (parts_->options.private_files)
    (void)::fchmod(parts_->root.get(), private_folder_mode);
}

confined_folder::confined_folder(confined_folder&&) noexcept = default;
confined_folder& confined_folder::operator=(confined_folder&&) noexcept = default;
confined_folder::~confined_folder() = default;

confined_folder::entry confined_folder::look(const std::string& path) const {
  auto at = parts_->find(path);
  auto what = status_of(at);
  if (!what)
    return {};
  auto is = S_ISDIR(what->st_mode)   ? kind::folder
            : S_ISREG(what->st_mode) ? kind::file
                                     : kind::other;
  auto modified = std::chrono::seconds{what->st_mtim.tv_sec}
                  + std::chrono::nanoseconds{what->st_mtim.tv_nsec};
  return {is, static_cast<std::uint64_t>(what->st_size), modified};
}

std::string confined_folder::read(const std::string& path) const {
  auto at = parts_->find(path);
  if (!S_ISREG(parts_->kind_of(at, path).st_mode))
    refuse_path("The path " + parts_->shown(path) + " is not a file.");
  open_descriptor file{
    ::openat(at.folder.get(), at.here(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  if (!file) {
    parts_->refuse_link(at);
    parts_->fail("open", path);
  }
  return parts_->read_all(file.get(), path);
}

void confined_folder::write(const std::string& path, const std::string& text) const {
  if (text.size() > limits::value_size_bytes_max)
    refuse_path("File " + parts_->shown(path) + " is too large.");
  auto at = parts_->find(path, parts::way::made);
  auto old = status_of(at);
  if (at.name.empty() || (old && !S_ISREG(parts_->kind_of(at, path).st_mode)))
    refuse_path("The path " + parts_->shown(path) + " is not a file.");
  auto other = passing_name();
  open_descriptor file{
    ::openat(at.folder.get(), other.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
             parts_->options.private_files ? private_file_mode : open_file_mode)};
  if (!file)
    parts_->fail("write", path);
  try {
    if (old && !parts_->options.private_files)
      (void)::fchmod(file.get(), old->st_mode & 0777);
    parts_->fill(file.get(), text, path);
    if (::renameat(at.folder.get(), other.c_str(), at.folder.get(), at.name.c_str()) != 0)
      parts_->fail("write", path);
  } catch (...) {
    (void)::unlinkat(at.folder.get(), other.c_str(), 0);
    throw;
  }
}

void confined_folder::remove(const std::string& path) const {
  auto at = parts_->find(path, parts::way::given_up);
  if (at.name.empty())
    refuse_path("Cannot delete the " + parts_->shown("") + " directory itself");
  if (!status_of(at))
    parts_->gone(path);
  parts_->remove_tree(at.folder.get(), at.name, path);
}

void confined_folder::rename(const std::string& from, const std::string& to) const {
  if (parts_->names_of(from).empty() || parts_->names_of(to).empty())
    refuse_path("Cannot rename the " + parts_->shown("") + " directory itself");
  auto old_place = parts_->find(from, parts::way::given_up);
  if (!status_of(old_place))
    parts_->gone(from);
  auto new_place = parts_->find(to, parts::way::made);
  if (status_of(new_place))
    refuse_path("The destination " + parts_->shown(to) + " already exists");
  if (::renameat(old_place.folder.get(), old_place.name.c_str(), new_place.folder.get(),
                 new_place.name.c_str())
      == 0)
    return;
  if (errno == EINVAL)
    refuse_path("Cannot move " + parts_->shown(from) + " into itself");
  parts_->fail("rename", from);
}

std::vector<std::string> confined_folder::list(const std::string& path, bool hidden) const {
  auto at = parts_->find(path);
  parts_->kind_of(at, path);
  auto folder = open_folder(at.folder.get(), at.here());
  if (!folder) {
    parts_->refuse_link(at);
    parts_->fail("list", path);
  }
  auto out = parts_->names_in(folder.get(), hidden, path);
  if (parts_->names_of(path).empty())
    std::erase_if(out, [this](const std::string& name) { return parts_->hides(name); });
  return out;
}

std::string confined_folder::shown(const std::string& path) const {
  return parts_->shown(path);
}

int confined_folder::descriptor() const noexcept {
  return parts_->root.get();
}

std::string readable_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i]);
    std::size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    auto is_rest = [&](std::size_t k) {
      auto byte = static_cast<unsigned char>(text[i + k]);
      bool surrogate_or_overlong =
        k == 1
        && ((lead == 0xe0 && byte < 0xa0) || (lead == 0xed && byte > 0x9f)
            || (lead == 0xf0 && byte < 0x90) || (lead == 0xf4 && byte > 0x8f));
      return (byte & 0xc0) == 0x80 && !surrogate_or_overlong;
    };
    bool good = size > 0 && lead < 0xf5 && i + size <= text.size();
    for (std::size_t k = 1; good && k < size; ++k)
      good = is_rest(k);
    out += good ? text.substr(i, size) : "\xef\xbf\xbd";
    i += good ? size : 1;
  }
  return out;
}

} // namespace troupe
