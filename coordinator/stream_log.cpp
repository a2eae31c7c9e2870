// stream_log: keeping parts for later readers.
#include "coordinator/stream_log.hpp"

#include "graph/value_bytes.hpp"

namespace troupe {

namespace {

constexpr std::size_t values_measured_max = 8192; // of a log, so that its end takes no long time

// The parts that were not measured count as the others do.
std::size_t bytes_of(const part_list& parts) {
  std::size_t bytes = 0, measured = 0;
  auto looks = values_measured_max;
  for (; measured < parts.size() && looks != 0; ++measured)
    bytes += sizeof(stream_part) + value_bytes(parts[measured].data, looks);
  return measured == 0 ? 0 : bytes / measured * parts.size();
}

} // namespace

void thread_log::append(stream_part& part) {
  std::lock_guard lock{mutex_};
  part.seq = ++last_;
  parts_.push_back(part);
  if (parts_.size() > limits::stream_log_parts_max)
    parts_.pop_front();
  if (followers_ > 0)
    changed_.notify_all();
}

void thread_log::open() {
  std::lock_guard lock{mutex_};
  if (runs_++ == 0)
    count(0);
}

void thread_log::close() {
  {
    std::lock_guard lock{mutex_};
    if (--runs_ == 0)
      count(bytes_of(parts_));
  }
  changed_.notify_all();
}

void thread_log::count(std::size_t bytes) {
  if (!all_)
    return;
  all_->fetch_add(bytes - bytes_, std::memory_order_relaxed);
  bytes_ = bytes;
}

void thread_log::dropped() {
  std::lock_guard lock{mutex_};
  count(0);
  all_.reset();
}

bool thread_log::is_open() const {
  std::lock_guard lock{mutex_};
  return runs_ > 0;
}

std::size_t thread_log::bytes() const {
  std::lock_guard lock{mutex_};
  return bytes_;
}

result<part_list> thread_log::parts_after(std::uint64_t after) {
  std::unique_lock lock{mutex_};
  ++followers_;
  changed_.wait(lock, [&] { return runs_ == 0 || last_ > after; });
  --followers_;
  if (after > last_)
    return error{errc::missing_key, "follow a stream: its last part has number "
                                      + std::to_string(last_) + ", not " + std::to_string(after)};
  auto first = parts_.empty() ? last_ + 1 : parts_.front().seq;
  if (after + 1 < first)
    return error{errc::missing_key, "follow a stream: the parts before number "
                                      + std::to_string(first) + " were discarded"};
  return part_list{parts_.begin() + static_cast<std::ptrdiff_t>(after + 1 - first), parts_.end()};
}

std::shared_ptr<thread_log> stream_log::of(const std::string& thread_id) {
  std::lock_guard lock{mutex_};
  auto [at, is_new] = logs_.try_emplace(thread_id);
  if (is_new)
    at->second.log = std::make_shared<thread_log>(bytes_);
  else
    by_use_.erase(at->second.place);
  at->second.place = by_use_.insert(by_use_.end(), thread_id);
  auto out = at->second.log;
  for (auto old = by_use_.begin(); keeps_too_much_beside(*out) && old != by_use_.end();) {
    auto entry = logs_.find(*old);
    if (entry->second.log == out || entry->second.log->is_open()) {
      ++old;
      continue;
    }
    entry->second.log->dropped();
    logs_.erase(entry);
    old = by_use_.erase(old);
  }
  return out;
}

bool stream_log::keeps_too_much_beside(const thread_log& next) const {
  return logs_.size() > limits::stream_log_threads_max
         || bytes_->load(std::memory_order_relaxed) > limits::stream_log_bytes_max + next.bytes();
}

std::shared_ptr<thread_log> stream_log::find(const std::string& thread_id) {
  std::lock_guard lock{mutex_};
  auto at = logs_.find(thread_id);
  return at == logs_.end() ? nullptr : at->second.log;
}

} // namespace troupe
