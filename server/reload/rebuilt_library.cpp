// rebuilt_library: copies of builds, and the graphs of the newest.
#include "server/reload/rebuilt_library.hpp"

#include "server/reload/library_bytes.hpp"

#include <troupe/graph_library.hpp>
#include <troupe/server/limits.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <functional>
#include <system_error>

namespace troupe::server {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view copy_mark = ".troupe-";

error not_loaded(errc code, const fs::path& library, const std::string& why) {
  return {code, "load " + library.string() + ": " + why};
}

/// An open file.
struct open_file {
  explicit open_file(int number) : fd{number} {}
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  ~open_file() {
    if (fd >= 0)
      ::close(fd);
  }
  int fd;
};

bool is_same_build(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec
         && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

bool read_all(int fd, std::string& into) {
  for (std::size_t at = 0; at < into.size();) {
    auto got = ::read(fd, into.data() + at, into.size() - at);
    if (got <= 0)
      return false;
    at += static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto put = ::write(fd, bytes.data(), bytes.size());
    if (put <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

// The bytes of a file that nobody changes meanwhile.
result<std::string> bytes_of_library(const fs::path& library) {
  open_file from{::open(library.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat before {
  }, after{};
  if (from.fd < 0 || ::fstat(from.fd, &before) != 0)
    return not_loaded(errc::unknown_graph, library, std::strerror(errno));
  if (!S_ISREG(before.st_mode))
    return not_loaded(errc::unknown_graph, library, "not a file, name the shared library itself");
  auto size = static_cast<std::size_t>(before.st_size);
  if (size > limits::server_library_bytes_max)
    return not_loaded(errc::invalid_config, library,
                      "larger than server_library_bytes_max, strip it of debug information");
  std::string bytes(size, '\0');
  if (!read_all(from.fd, bytes) || ::stat(library.c_str(), &after) != 0
      || !is_same_build(before, after))
    return not_loaded(errc::unknown_graph, library, "it is being written");
  if (is_cut_off(bytes))
    return not_loaded(errc::unknown_graph, library, "it was written in part, build it again");
  return bytes;
}

// Nobody knows the name of the copy: messages name the library.
error with_library_name(const error& why, const fs::path& copy, const fs::path& library) {
  auto text = why.message();
  for (std::size_t at = 0; (at = text.find(copy.string(), at)) != text.npos;) {
    text.replace(at, copy.string().size(), library.string());
    at += library.string().size();
  }
  return {why.code(), std::move(text)};
}

fs::path name_of_copy(const fs::path& library) {
  static std::atomic<unsigned> copies{0};
  return library.parent_path()
         / ('.' + library.filename().string() + std::string{copy_mark} + std::to_string(::getpid())
            + '-' + std::to_string(++copies));
}

void remove_copies_of_the_dead(const fs::path& library) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator{library.parent_path(), failed})
    if (auto owner = owner_of_copy(library.filename().string(), entry.path().filename().string());
        owner && ::kill(*owner, 0) != 0 && errno == ESRCH)
      fs::remove(entry.path(), failed);
}

} // namespace

std::optional<pid_t> owner_of_copy(std::string_view library_name, std::string_view file_name) {
  auto prefix = '.' + std::string{library_name} + std::string{copy_mark};
  if (!file_name.starts_with(prefix))
    return std::nullopt;
  auto rest = file_name.substr(prefix.size());
  pid_t owner = 0;
  auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), owner);
  if (failed != std::errc{} || owner <= 0 || end == rest.data() + rest.size() || *end != '-')
    return std::nullopt;
  return owner;
}

rebuilt_library::rebuilt_library(fs::path file, std::vector<exported_graph> graphs)
  : file_{std::move(file)},
    graphs_{std::move(graphs)} {
  remove_copies_of_the_dead(file_);
}

rebuilt_library::~rebuilt_library() {
  std::error_code ignored;
  for (const auto& one : copies_)
    fs::remove(one, ignored);
}

result<std::optional<named_graphs>> rebuilt_library::load() {
  auto bytes = bytes_of_library(file_);
  if (!bytes)
    return bytes.error();
  auto build = std::hash<std::string>{}(*bytes);
  if (loaded_ == build)
    return std::optional<named_graphs>{};
  auto at = copy(*bytes);
  if (!at)
    return at.error();
  auto loaded = load_from(*at);
  if (!loaded) {
    std::error_code ignored;
    fs::remove(*at, ignored);
    return with_library_name(loaded.error(), *at, file_);
  }
  copies_.push_back(std::move(*at));
  loaded_ = build;
  return std::optional{std::move(*loaded)};
}

result<fs::path> rebuilt_library::copy(const std::string& bytes) {
  auto separate = bytes;
  separate_symbols(separate);
  auto at = name_of_copy(file_);
  open_file to{::open(at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700)};
  if (to.fd >= 0 && write_all(to.fd, separate))
    return at;
  auto why = not_loaded(errc::storage_failed, file_,
                        std::string{"copy it beside itself: "} + std::strerror(errno)
                          + ": let this user write to its folder");
  if (to.fd >= 0)
    ::unlink(at.c_str());
  return why;
}

result<named_graphs> rebuilt_library::load_from(const fs::path& copy) const {
  named_graphs out;
  for (const auto& graph : graphs_) {
    auto loaded = load_graph(copy.string(), graph.name);
    if (!loaded)
      return loaded.error();
    out.emplace_back(graph.served_as, std::move(*loaded));
  }
  return out;
}

} // namespace troupe::server
