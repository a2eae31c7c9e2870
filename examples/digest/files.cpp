// files: finds, reads and writes files. Uses regular files only.
#include "files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace digest {

namespace fs = std::filesystem;

namespace {

// Bytes in which a NUL byte makes a file binary, as for git.
constexpr std::size_t binary_probe_bytes = 8000;

class file_descriptor {
public:
  explicit file_descriptor(int fd) : fd_{fd} {}
  file_descriptor(const file_descriptor&) = delete;
  file_descriptor& operator=(const file_descriptor&) = delete;
  ~file_descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

private:
  int fd_;
};

[[noreturn]] void fail(const std::string& doing, const fs::path& path) {
  throw std::system_error{errno, std::generic_category(), doing + " " + path.string()};
}

std::string text_of(int code) {
  return std::generic_category().message(code);
}

// Without O_NONBLOCK, opening a pipe in a file's place would block.
int open_to_read(const fs::path& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

// Reads at most `size_max` bytes; false with errno.
bool read_some(int fd, std::size_t size_max, std::string& out) {
  std::array<char, 65536> block;
  while (out.size() < size_max) {
    auto got = read(fd, block.data(), std::min(block.size(), size_max - out.size()));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return false;
    if (got == 0)
      break;
    out.append(block.data(), static_cast<std::size_t>(got));
  }
  return true;
}

// An unreadable file does not count as binary, so that reading it reports the error.
bool is_binary(const fs::path& path) {
  file_descriptor file{open_to_read(path)};
  std::string head;
  return file && read_some(file.get(), binary_probe_bytes, head)
         && head.find('\0') != std::string::npos;
}

bool is_build_folder(const fs::path& folder) {
  static constexpr std::string_view names[] = {"build", "dist", "node_modules", "target",
                                               "__pycache__"};
  auto name = folder.filename().string();
  std::error_code ignored;
  return std::ranges::find(names, name) != std::end(names) || name.starts_with("cmake-build")
         || fs::exists(folder / "CMakeCache.txt", ignored);
}

// Collects the result of find_files. Paths stay as they were named; `base_` makes them absolute.
class finder {
public:
  finder(const fs::path& base, const fs::path& out)
    : base_{base},
      out_{fs::weakly_canonical(base / out, ignored_)} {}

  void add_source(const fs::path& source) {
    std::error_code why;
    auto status = fs::status(base_ / source, why);
    if (fs::is_directory(status))
      add_folder(source);
    else if (fs::is_regular_file(status))
      add_file(source);
    else
      add_problem(source, why ? text_of(why.value()) : "neither a file nor a folder");
  }

  file_plan take() {
    sort_unique(plan_.files);
    sort_unique(binary_);
    sort_unique(large_);
    std::ranges::sort(plan_.problems, {}, &file_facts::file);
    plan_.binary = std::ssize(binary_);
    plan_.large = std::ssize(large_);
    return std::move(plan_);
  }

private:
  void add_folder(const fs::path& folder) {
    std::error_code why;
    for (fs::directory_iterator i{base_ / folder, why}, end; !why && i != end; i.increment(why))
      add_entry(folder / i->path().filename(), *i);
    if (why)
      add_problem(folder, text_of(why.value()));
  }

  void add_entry(const fs::path& path, const fs::directory_entry& entry) {
    if (path.filename().string().starts_with('.'))
      return;
    if (entry.is_directory(ignored_)) {
      if (!entry.is_symlink(ignored_) && !is_build_folder(entry.path()))
        add_folder(path);
    } else if (entry.is_regular_file(ignored_) && !is_out(entry.path())) {
      add_file(path);
    }
  }

  bool is_out(const fs::path& path) {
    return path.filename() == out_.filename() && fs::weakly_canonical(path, ignored_) == out_;
  }

  void add_file(const fs::path& named) {
    auto path = base_ / named;
    auto name = named.lexically_normal().string();
    std::error_code why;
    if (auto size = fs::file_size(path, why); !why && size > file_size_bytes_max)
      large_.push_back(name);
    else if (is_binary(path))
      binary_.push_back(name);
    else
      plan_.files.push_back(name);
  }

  void add_problem(const fs::path& named, std::string problem) {
    file_facts facts;
    facts.file = named.lexically_normal().string();
    facts.problem = std::move(problem);
    plan_.problems.push_back(std::move(facts));
  }

  static void sort_unique(std::vector<std::string>& names) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

  fs::path base_;
  std::error_code ignored_;
  fs::path out_;
  file_plan plan_;
  std::vector<std::string> binary_, large_;
};

void write_all(int fd, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    auto sent = write(fd, text.data(), text.size());
    if (sent < 0 && errno != EINTR)
      fail("write", path);
    text.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
  }
}

void write_durably(const fs::path& path, const std::string& text) {
  file_descriptor file{
    open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)};
  if (!file)
    fail("create", path);
  write_all(file.get(), text, path);
  if (fsync(file.get()) != 0)
    fail("write", path);
}

// Removes a temporary file unless it was moved to its place.
struct temporary_file {
  fs::path path;
  bool moved = false;
  explicit temporary_file(fs::path p) : path{std::move(p)} {}
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() {
    if (!moved)
      unlink(path.c_str());
  }
};

} // namespace

file_plan find_files(const fs::path& base, const std::vector<std::string>& sources,
                     const fs::path& out) {
  finder found{base, out};
  for (const auto& source : sources)
    found.add_source(source);
  return found.take();
}

file_text read_file(const fs::path& path) {
  file_descriptor file{open_to_read(path)};
  struct stat status {};
  file_text out;
  if (!file || fstat(file.get(), &status) != 0)
    out.problem = text_of(errno);
  else if (!S_ISREG(status.st_mode))
    out.problem = "not a regular file";
  else if (!read_some(file.get(), file_size_bytes_max + 1, out.text))
    out.problem = text_of(errno);
  else if (out.text.size() > file_size_bytes_max)
    out.problem = "grew too large";
  if (!out.problem.empty())
    out.text.clear();
  return out;
}

void append_line(const fs::path& path, const std::string& line) {
  file_descriptor file{open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)};
  auto text = line + "\n";
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("append to", path);
}

void write_atomically(const fs::path& path, const std::string& text, const std::string& tag) {
  std::error_code ignored;
  if (auto status = fs::status(path, ignored); fs::exists(status) && !fs::is_regular_file(status)) {
    errno = fs::is_directory(status) ? EISDIR : EINVAL; // a rename would replace a device
    fail("write", path);
  }
  auto folder = path.has_parent_path() ? path.parent_path() : fs::path{"."};
  temporary_file temporary{folder / ("." + path.filename().string() + "." + tag + ".tmp")};
  write_durably(temporary.path, text);
  if (rename(temporary.path.c_str(), path.c_str()) != 0)
    fail("write", path);
  temporary.moved = true;
  file_descriptor parent{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!parent || fsync(parent.get()) != 0)
    fail("write", folder);
}

} // namespace digest
