// data_directory: paths of data directories, and the objects that this process has open in them.
#pragma once

#include "persistence/lmdb/lmdb_env.hpp"

#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace troupe {

/// The canonical path of a data directory. Makes the directory when it is missing (mode 0700), but
/// not its parents.
/// Errors: storage_failed, which names it.
result<std::string> make_data_directory(const std::filesystem::path& dir);

/// The canonical path of an existing data directory.
/// Errors: storage_failed, which names it.
result<std::string> find_data_directory(const std::filesystem::path& dir);

/// The open objects of one kind in this process, by data directory. An entry stays until its object
/// is destroyed, since LMDB must not open a file again before it has closed it.
/// Thread: any.
template <class T> class open_objects {
public:
  /// The objects of this process. Never destroyed, since an object may outlive the end of main.
  /// Each process has its own, since a child of fork() must not use objects that its parent opened.
  static open_objects& of_this_process() {
    static auto& mutex = *new std::mutex;
    static auto& by_process = *new std::map<pid_t, open_objects*>;
    std::scoped_lock lock{mutex};
    auto& mine = by_process[getpid()];
    if (!mine)
      mine = new open_objects;
    return *mine;
  }

  /// The open object of a directory, or else the result of `open`, a result<std::unique_ptr<T>>.
  /// Blocks: while the directory's object is being closed, and on `open`, which runs alone.
  template <class Open> result<std::shared_ptr<T>> find_or_open(const std::string& dir, Open open) {
    std::unique_lock lock{mutex_};
    for (auto at = open_.find(dir); at != open_.end(); at = open_.find(dir)) {
      if (auto there = at->second.lock())
        return there;
      closed_.wait(lock);
    }
    auto holder = std::make_shared<held>(dir); // comes first: this may fail
    result<std::unique_ptr<T>> opened = open();
    if (!opened)
      return opened.error();
    auto& entry = open_[dir];
    holder->object = std::move(*opened);
    std::shared_ptr<T> shared{holder, holder->object.get()};
    entry = shared;
    return shared;
  }

private:
  /// An open object. Its destructor removes the entry.
  struct held {
    explicit held(std::string where) : dir{std::move(where)} {}
    held(const held&) = delete;
    held& operator=(const held&) = delete;
    ~held() {
      if (!object)
        return;
      object.reset();
      of_this_process().closed(dir);
    }
    std::string dir;
    std::unique_ptr<T> object;
  };

  void closed(const std::string& dir) {
    std::scoped_lock lock{mutex_};
    open_.erase(dir);
    closed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable closed_;
  std::map<std::string, std::weak_ptr<T>> open_;
};

} // namespace troupe
