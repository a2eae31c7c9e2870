// cron_clock: the look at each minute.
#include "server/runs/cron_clock.hpp"

#include "actors/log.hpp"
#include "server/rules/cron_schedule.hpp"
#include "server/rules/ids.hpp"
#include "server/runs/document_changes.hpp"

namespace troupe::server {

namespace {

constexpr std::int64_t minute_micros = 60'000'000;

// Another server took this time of the cron, or a client changed it.
struct cron_changed : std::exception {
  const char* what() const noexcept override { return "the cron changed meanwhile"; }
};

} // namespace

value next_run_date(const cron_record& cron, std::int64_t micros) {
  if (!cron.enabled)
    return cron.next_run_date;
  auto schedule = parse_cron(cron.schedule);
  if (!schedule)
    return {};
  auto zone = cron.timezone.is_string() ? std::string{cron.timezone.as_string()} : std::string{};
  auto next = next_time(*schedule, micros, zone);
  if (!next)
    return {};
  auto text = time_text(*next);
  if (cron.end_time.is_string()) {
    auto end = parse_time(std::string{cron.end_time.as_string()});
    if (end && *next > *end)
      return {};
  }
  return text;
}

cron_clock::cron_clock(std::shared_ptr<document_store> documents, std::function<std::int64_t()> now,
                       start_run start)
  : documents_{std::move(documents)},
    now_{std::move(now)},
    start_{std::move(start)},
    thread_{[this] { serve(); }} {}

cron_clock::~cron_clock() {
  {
    std::lock_guard lock{mutex_};
    stops_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void cron_clock::serve() {
  std::unique_lock lock{mutex_};
  while (!stops_) {
    auto rest = minute_micros - now_() % minute_micros;
    if (stopped_.wait_for(lock, std::chrono::microseconds{rest}, [this] { return stops_; }))
      return;
    lock.unlock();
    try {
      look();
    } catch (const std::exception& e) {
      log_warning(std::string{"look for crons: "} + e.what());
    }
    lock.lock();
  }
}

void cron_clock::look() {
  auto now = now_();
  for (const auto& one : documents_->search({.kind = document_kind::cron}).value().documents) {
    auto cron = cron_record::of(one.body);
    if (!cron.enabled || !cron.next_run_date.is_string()
        || micros_of(std::string{cron.next_run_date.as_string()}) > now)
      continue;
    cron.next_run_date = next_run_date(cron, now);
    take(one, std::move(cron));
  }
}

bool cron_clock::is_orphan(const cron_record& cron) const {
  auto is_gone = [this](document_kind kind, const std::string& id) {
    return !documents_->get(kind, id).value();
  };
  return is_gone(document_kind::assistant, cron.assistant_id)
         || (cron.thread_id.is_string()
             && is_gone(document_kind::thread, std::string{cron.thread_id.as_string()}));
}

void cron_clock::take(const document& at, cron_record cron) {
  auto new_date = [&] {
    auto newest = documents_->get(document_kind::cron, at.id).value();
    if (!newest || newest->revision != at.revision)
      throw cron_changed{};
    return document_change{document_kind::cron, at.id, cron.body(), at.revision};
  };
  try {
    if (!is_orphan(cron))
      return start_(cron, new_date);
    commit_all(*documents_, {removal_of(document_kind::cron, at.id)});
    return log_warning("start cron " + at.id + ": its thread or assistant is gone; so is the cron");
  } catch (const cron_changed&) {
    return;
  } catch (const std::exception& e) {
    log_warning("start cron " + at.id + ": " + e.what());
  }
  try { // a run that can't be made is not tried again before the next date
    documents_->commit_and_wait({new_date()}).value();
  } catch (const std::exception& e) {
    log_warning("set the next date of cron " + at.id + ": " + e.what());
  }
}

} // namespace troupe::server
