// file_watch: folders and their events.
#include "server/reload/file_watch.hpp"

#include "actors/log.hpp"

#include <troupe/error.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace troupe::server {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t watched_events = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO
                                         | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF
                                         | IN_MOVE_SELF;
constexpr std::uint32_t folder_is_gone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;

error watch_failed(const fs::path& what, int why) {
  std::string remedy = why == ENOSPC || why == EMFILE
                         ? ": raise fs.inotify.max_user_watches or max_user_instances"
                         : "";
  return {errc::storage_failed, "watch " + what.string() + ": " + std::strerror(why) + remedy};
}

// A new name that no writer will close: a link to what was there before.
bool is_link(const fs::path& file) {
  struct stat info {};
  return ::lstat(file.c_str(), &info) == 0 && (S_ISLNK(info.st_mode) || info.st_nlink > 1);
}

// The paths whose change is a change of the file: its own and, of a link, that of its target.
std::vector<fs::path> places_of(const fs::path& file) {
  std::error_code failed;
  auto target = fs::canonical(file, failed);
  if (failed || target == file)
    return {file};
  return {file, target};
}

} // namespace

file_watch::file_watch(std::vector<fs::path> files, std::chrono::milliseconds quiet, report settled)
  : files_{std::move(files)},
    settled_{std::move(settled)},
    settling_{quiet},
    events_{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)},
    stop_{::eventfd(0, EFD_CLOEXEC)} {
  try {
    if (events_ < 0 || stop_ < 0)
      throw watch_failed("files", errno);
    watch_folders();
    thread_ = std::thread{[this] { run(); }};
  } catch (...) {
    ::close(events_);
    ::close(stop_);
    throw;
  }
}

file_watch::~file_watch() {
  ::eventfd_write(stop_, 1);
  thread_.join();
  ::close(events_);
  ::close(stop_);
}

void file_watch::run() {
  std::array<pollfd, 2> waits{{{events_, POLLIN, 0}, {stop_, POLLIN, 0}}};
  for (;;) {
    auto left = settling_.wait(clock::now());
    ::poll(waits.data(), waits.size(), left ? static_cast<int>(left->count()) : -1);
    if (waits[1].revents != 0)
      return;
    if (waits[0].revents != 0)
      read_events();
    auto settled = settling_.settle(clock::now());
    for (const auto& file : settled)
      settled_(file);
    if (settled.empty())
      continue;
    try {
      watch_folders(); // a link may have another target
    } catch (const error& why) {
      log_warning(why.message());
    }
  }
}

void file_watch::read_events() {
  alignas(inotify_event) std::array<char, 64 << 10> buffer;
  for (;;) {
    auto size = ::read(events_, buffer.data(), buffer.size());
    if (size <= 0)
      return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      at += sizeof event + event.len;
      try {
        take_event(event.wd, event.mask, event.len > 0 ? name : "");
      } catch (const error& why) {
        log_warning(why.message());
      }
    }
  }
}

void file_watch::take_event(int watch, std::uint32_t mask, const std::string& name) {
  if ((mask & IN_Q_OVERFLOW) != 0) // events were lost
    for (const auto& file : files_)
      settling_.change(file, true, clock::now());
  auto found = watches_.find(watch);
  if (found == watches_.end())
    return;
  if ((mask & folder_is_gone) != 0) {
    watches_.erase(found);
    ::inotify_rm_watch(events_, watch); // a renamed folder keeps its watch
    return watch_folders();
  }
  bool is_on_the_way = false;
  auto [first, last] = found->second.equal_range(name);
  for (auto at = first; at != last; ++at) {
    const auto& awaited = at->second;
    is_on_the_way |= !awaited.is_file;
    const bool is_being_written = (mask & IN_MODIFY) != 0
                                  || ((mask & IN_CREATE) != 0 && !is_link(awaited.place));
    if (awaited.is_file)
      settling_.change(awaited.file, !is_being_written, clock::now());
  }
  if (is_on_the_way)
    watch_folders();
}

// The nearest folders that exist, with the names in them.
std::map<fs::path, file_watch::awaited_names> file_watch::awaited_folders() const {
  std::map<fs::path, awaited_names> out;
  for (const auto& file : files_)
    for (const auto& place : places_of(file)) {
      auto folder = place.parent_path();
      auto name = place.filename();
      bool is_file = true;
      std::error_code failed;
      while (!fs::is_directory(folder, failed) && folder.has_relative_path()) {
        name = folder.filename();
        folder = folder.parent_path();
        is_file = false;
      }
      out[folder].emplace(name.string(), awaited_name{file, place, is_file});
    }
  return out;
}

// The watch of a folder; -1 for one that went away meanwhile.
int file_watch::add_watch(const fs::path& folder) const {
  auto watch = ::inotify_add_watch(events_, folder.c_str(), watched_events | IN_ONLYDIR);
  if (watch < 0 && errno != ENOENT && errno != ENOTDIR)
    throw watch_failed(folder, errno);
  return watch;
}

// Again until no folder has come or gone between the look and the watch. A file whose folder has
// come, gone or been replaced has changed, also when the events of that folder were not read.
void file_watch::watch_folders() {
  std::map<fs::path, awaited_names> folders;
  std::map<int, awaited_names> watches;
  std::map<fs::path, reached_file> reached;
  bool is_complete = false;
  while (!is_complete) {
    folders = awaited_folders();
    watches.clear();
    reached.clear();
    is_complete = true;
    for (const auto& [folder, names] : folders) {
      auto watch = add_watch(folder);
      is_complete &= watch >= 0;
      watches[watch].insert(names.begin(), names.end()); // two paths may lead to one folder
      for (const auto& [name, awaited] : names)
        if (awaited.is_file)
          reached.insert_or_assign(awaited.place, reached_file{awaited.file, watch});
    }
    is_complete = is_complete && folders == awaited_folders();
  }
  for (const auto& [watch, names] : watches_)
    if (!watches.contains(watch))
      ::inotify_rm_watch(events_, watch);
  watches_ = std::move(watches);
  std::error_code ignored;
  for (const auto& [place, now] : reached)
    if (auto before = reached_.find(place);
        before == reached_.end() ? fs::exists(place, ignored) : before->second.watch != now.watch)
      settling_.change(now.file, true, clock::now());
  for (const auto& [place, before] : reached_)
    if (!reached.contains(place))
      settling_.change(before.file, true, clock::now());
  reached_ = std::move(reached);
}

} // namespace troupe::server
