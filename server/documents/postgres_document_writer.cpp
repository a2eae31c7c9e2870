// postgres_document_writer: transactions of documents in Postgres.
#include "server/documents/postgres_document_writer.hpp"

#include "server/documents/document_conflict.hpp"

#include <troupe/server/limits.hpp>

#include <algorithm>

namespace troupe::server {

namespace {

constexpr std::size_t row_bytes = 256;           // a change's own: ids, messages, its log
constexpr std::size_t revisions_read_max = 1000; // of changes, in one answer
constexpr std::int64_t log_trimmed_every = 1000; // changes

} // namespace

postgres_document_writer::postgres_document_writer(const postgres_options& options,
                                                   const postgres_document_statements& sql,
                                                   const postgres_sealing& sealing,
                                                   std::int64_t origin)
  : options_{options},
    sql_{sql},
    origin_{origin},
    channel_{document_channel(options.schema)},
    cipher_{sealing} {}

void postgres_document_writer::expect(std::shared_ptr<posted_commit> commit) {
  std::scoped_lock lock{expected_mutex_};
  expected_.push_back(std::move(commit));
}

void postgres_document_writer::forget(const std::shared_ptr<posted_commit>& commit) {
  std::scoped_lock lock{expected_mutex_};
  auto at = std::ranges::find(expected_, commit); // usually the first
  if (at != expected_.end())
    expected_.erase(at);
}

// ---- the transaction ----------------------------------------------------------------------------

// While a server is unreachable, a job waits for one attempt at most. After a failure, no attempt
// is made for as long as the failed one took.
result<void> postgres_document_writer::connect() {
  if (connection_ && connection_->is_usable())
    return {};
  connection_.reset();
  auto began = clock::now();
  if (unreachable_ && began < no_attempt_before_)
    return *unreachable_;
  auto opened = open();
  if (!opened) {
    auto now = clock::now();
    no_attempt_before_ = now + (now - began);
    unreachable_ = opened.error();
    return opened.error();
  }
  unreachable_.reset();
  connection_ = std::move(*opened);
  return {};
}

result<std::unique_ptr<postgres_connection>> postgres_document_writer::open() const {
  auto opened = postgres_connection::open(options_);
  if (!opened || options_.keyring)
    return opened;
  static const auto hurry = "SET idle_in_transaction_session_timeout = "
                            + std::to_string(limits::server_idle_in_transaction.count());
  if (auto ok = (*opened)->send_once(hurry); !ok)
    return ok.error();
  return opened;
}

// A connection may have been lost while it was idle, so the first failure gets a second attempt.
result<void> postgres_document_writer::begin() {
  auto was_open = connection_ != nullptr;
  for (;;) {
    if (auto ok = connect(); !ok)
      return ok;
    auto locked = lock();
    auto is_lost = !locked && connection_->failure() == postgres_failure::lost;
    if (!locked)
      connection_.reset();
    if (locked || !is_lost || !std::exchange(was_open, false))
      return locked;
  }
}

// Asks for the revisions together with the lock. That statement sees what was committed before the
// lock was granted.
result<void> postgres_document_writer::lock() {
  revisions_.clear();
  if (auto ok = connection_->send(sql_.begin); !ok)
    return ok;
  if (auto ok = connection_->send(sql_.lock); !ok)
    return ok;
  auto asked = ask_revisions(nullptr);
  if (!asked)
    return asked.error();
  auto answers = connection_->finish();
  if (!answers)
    return answers.error();
  if (*asked) {
    note_revisions(answers->back());
    answers->pop_back();
  }
  auto& row = answers->back();
  if (row.size() != 1)
    return error{errc::checkpoint_corrupt, "change documents: documents_state has lost its row"};
  before_ = last_ = row.number(0, 0);
  auto stored = read_data_key(row, 0, 1);
  if (!stored)
    return stored.error();
  cipher_.set(std::move(*stored));
  return {};
}

result<void> postgres_document_writer::commit() {
  auto sent = last_ == before_ ? result<void>{} : send_log();
  if (sent)
    sent = connection_->send(sql_.commit);
  auto committed = sent ? connection_->finish() : sent.error();
  may_repeat_ = !committed && connection_->failure() != postgres_failure::statement;
  if (committed)
    return {};
  auto why = committed.error();
  connection_.reset();
  return why;
}

result<void> postgres_document_writer::send_log() {
  postgres_params last, trimmed, channel;
  last.number(last_);
  if (auto ok = connection_->send(sql_.set_last, last); !ok)
    return ok;
  if (last_ / log_trimmed_every != before_ / log_trimmed_every) {
    trimmed.number(last_ - static_cast<std::int64_t>(limits::document_changes_kept));
    if (auto ok = connection_->send(sql_.trim_log, trimmed); !ok)
      return ok;
  }
  channel.bytes(channel_);
  return connection_->send(sql_.notify, channel);
}

void postgres_document_writer::abort() {
  if (!connection_ || !connection_->is_usable() || !connection_->ask(sql_.rollback))
    connection_.reset();
}

// ---- one commit ---------------------------------------------------------------------------------

write_outcome postgres_document_writer::make(posted_commit& commit) {
  commit.refused.reset();
  auto stored = is_stored(commit);
  if (stored && *stored)
    return {};
  auto read = stored ? read_revisions(commit) : stored.error();
  if (!read)
    return {.answer = read.error(), .transaction_stands = false};
  if (auto ok = check(commit); !ok) {
    commit.refused = ok.error();
    return {};
  }
  if (auto ok = seal_from_now_on(); !ok)
    return {.answer = ok.error(), .transaction_stands = connection_->is_usable()};
  write_outcome outcome;
  outcome.answer = send(commit, outcome.bytes);
  outcome.transaction_stands = outcome.answer.has_value();
  return outcome;
}

// Whether an earlier transaction, the end of which was not known, has made this commit.
result<bool> postgres_document_writer::is_stored(const posted_commit& commit) {
  if (commit.number == 0)
    return false;
  postgres_params params;
  params.number(commit.number).number(origin_).bytes(commit.changes.back().id);
  auto rows = connection_->ask(sql_.was_logged, params);
  return rows ? result<bool>{rows->size() > 0} : rows.error();
}

// Whether there is something to ask for: what this commit needs, if one is given, and those to
// come.
result<bool> postgres_document_writer::ask_revisions(const posted_commit* commit) {
  std::vector<std::int64_t> kinds;
  std::vector<std::string> ids;
  auto add = [&](const posted_commit& one) {
    for (const auto& change : one.changes)
      if (revisions_.try_emplace({change.kind, change.id}, 0).second) {
        kinds.push_back(static_cast<std::int64_t>(change.kind));
        ids.push_back(change.id);
      }
  };
  if (commit)
    add(*commit);
  if (commit && ids.empty())
    return false;
  {
    std::scoped_lock lock{expected_mutex_};
    for (const auto& one : expected_)
      if (ids.size() < revisions_read_max)
        add(*one);
  }
  if (ids.empty())
    return false;
  postgres_params params;
  params.number_array(kinds).bytes_array(ids);
  auto sent = connection_->send(sql_.revisions, params);
  return sent ? result<bool>{true} : sent.error();
}

void postgres_document_writer::note_revisions(postgres_rows& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    revisions_[{static_cast<document_kind>(rows.number(row, 0)), rows.string(row, 1)}] =
      static_cast<std::uint64_t>(rows.number(row, 2));
}

result<void> postgres_document_writer::read_revisions(const posted_commit& commit) {
  auto asked = ask_revisions(&commit);
  if (!asked || !*asked)
    return asked ? result<void>{} : asked.error();
  auto answers = connection_->finish();
  if (!answers)
    return answers.error();
  note_revisions(answers->back());
  return {};
}

result<void> postgres_document_writer::check(const posted_commit& commit) {
  for (const auto& change : commit.changes)
    if (auto ok = check_revision(change, revisions_[{change.kind, change.id}]); !ok)
      return ok;
  return {};
}

result<void> postgres_document_writer::seal_from_now_on() {
  auto made = cipher_.make_if_missing();
  if (!made)
    return made.error();
  if (!*made)
    return {};
  postgres_params params;
  params.bytes((*made)->id).bytes((*made)->bytes);
  return connection_->send(sql_.set_data_key, params);
}

// Nothing waits here. The server's answers are read with those of the next question.
result<void> postgres_document_writer::send(posted_commit& commit, std::size_t& bytes) {
  std::vector<std::int64_t> kinds, put_kinds, removed_kinds, revisions;
  std::vector<std::string> ids, put_ids, removed_ids, bodies, members;
  for (const auto& change : commit.changes) {
    if (change.is_condition)
      continue;
    kinds.push_back(static_cast<std::int64_t>(change.kind));
    ids.push_back(change.id);
    auto& revision = revisions_[{change.kind, change.id}];
    if (!change.body) {
      removed_kinds.push_back(kinds.back());
      removed_ids.push_back(change.id);
      revision = 0;
      continue;
    }
    auto sealed = cipher_.seal(change.kind, change.id, *change.body);
    if (!sealed)
      return sealed.error();
    put_kinds.push_back(kinds.back());
    put_ids.push_back(change.id);
    revisions.push_back(static_cast<std::int64_t>(++revision));
    bodies.push_back(std::move(*sealed));
    members.push_back(change.members);
    bytes += bodies.back().size() + members.back().size();
  }
  bytes += row_bytes * ids.size();
  postgres_params put, removed, logged;
  put.number_array(put_kinds).bytes_array(put_ids).number_array(revisions);
  put.bytes_array(bodies).bytes_array(members);
  removed.number_array(removed_kinds).bytes_array(removed_ids);
  logged.number(last_).number(origin_).number_array(kinds).bytes_array(ids);
  if (!put_ids.empty())
    if (auto ok = connection_->send(sql_.put, put); !ok)
      return ok;
  if (!removed_ids.empty())
    if (auto ok = connection_->send(sql_.remove, removed); !ok)
      return ok;
  last_ += static_cast<std::int64_t>(ids.size());
  commit.number = last_;
  return connection_->send(sql_.log, logged);
}

} // namespace troupe::server
