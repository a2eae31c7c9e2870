// thread_sweeper: pages of threads, and one commit for each that is due.
#include "server/runs/thread_sweeper.hpp"

#include "actors/log.hpp"
#include "server/rules/thread_ttl.hpp"

#include <troupe/server/limits.hpp>

#include <exception>
#include <utility>

namespace troupe::server {

thread_sweeper::thread_sweeper(std::shared_ptr<document_store> documents, run_service& runs,
                               std::shared_ptr<troupe::saver> saver)
  : documents_{std::move(documents)},
    runs_{runs},
    saver_{std::move(saver)} {}

sweep_report thread_sweeper::sweep() {
  sweep_report out;
  for (std::string_view strategy : {"delete", "keep_latest"})
    sweep_strategy(strategy, out);
  return out;
}

// The store selects threads with a time to live, so no others are read here.
void thread_sweeper::sweep_strategy(std::string_view strategy, sweep_report& into) {
  document_query query{
    .kind = document_kind::thread,
    .contains = value::map({{"ttl", value::map({{"strategy", strategy}})}}),
    .order_by = "created_at",
    .limit = limits::server_sweep_page,
  };
  for (;;) {
    auto page = documents_->search(query).value();
    for (const auto& one : page.documents)
      if (!end_thread(one, into))
        ++query.offset; // it stays before the next page
    if (page.documents.size() < limits::server_sweep_page)
      return;
  }
}

// Whether the thread is gone.
bool thread_sweeper::end_thread(const document& found, sweep_report& into) {
  auto thread = thread_record::of(found.body);
  auto due = due_end(thread, runs_.now());
  try {
    if (due == thread_end::removal) {
      bool is_gone = runs_.remove_thread(found.id, found.revision);
      into.removed += is_gone ? 1 : 0;
      return is_gone;
    }
    if (due == thread_end::pruning) {
      if (saver_)
        saver_->prune({found.id}, {.keep_latest = 1}).value();
      thread.pruned_as_of = thread.updated_at;
      documents_
        ->commit_and_wait({{document_kind::thread, found.id, thread.body(), found.revision}})
        .value();
      ++into.pruned;
    }
  } catch (const std::exception& e) {
    const auto* known = dynamic_cast<const error*>(&e);
    if (!known || known->code() != errc::conflict) // else it has changed, and lives on
      log_warning("end thread " + found.id + ": " + e.what());
  }
  return false;
}

} // namespace troupe::server
