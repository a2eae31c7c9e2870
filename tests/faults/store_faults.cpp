// A store used while its n-th call of a kind fails, for n = 1, 2, 3 … until a use passes untouched.
// Run with failing_calls.so preloaded: store_faults FOLDER KIND ERRNO once|forever [STEP [N]]
// leaves out all but every STEP-th n, or all but N.
//
// Every use is a process of its own, forked here. It may end with errors, but only of the store's
// codes (or std::bad_alloc on the thread that called), must be able to continue once the calls work
// again, and leaves a store that another process can read, with all that was acknowledged.
#include <troupe/saver.hpp>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <thread>

namespace troupe {

namespace {

namespace fs = std::filesystem;

constexpr unsigned puts_count = 4;
constexpr unsigned submits_count = 4;
constexpr std::size_t map_size = 1 << 20;
constexpr unsigned seconds_max = 20; // one use; else it hangs

/// The outcome of a use, seen by the process that checks it.
struct ledger {
  bool stored[puts_count + submits_count]; // of thread t, then of thread u: acknowledged as durable
  bool deleted;                            // thread gone
  std::atomic<int> errors;
  std::atomic<int> wrong;
  char what[400]; // the first thing that was wrong
  long calls;
};
ledger* book = nullptr;

void wrong(const char* where, const char* what) {
  if (book->wrong++ == 0)
    std::snprintf(book->what, sizeof book->what, "%s: %s", where, what);
}

/// Notes an error; only these codes may come of calls that fail.
void note(const char* where, const error& err) {
  ++book->errors;
  if (err.code() != errc::storage_failed && err.code() != errc::storage_full)
    wrong(where, err.what());
}

/// Calls something that gives a result; true when it went well.
template <class Fn> bool went_well(const char* where, Fn fn) {
  try {
    auto done = fn();
    if (!done)
      note(where, done.error());
    return done.has_value();
  } catch (const std::bad_alloc&) {
    ++book->errors;
  } catch (const std::exception& e) {
    wrong(where, e.what());
  }
  return false;
}

std::string id_of(unsigned n) {
  char text[40];
  std::snprintf(text, sizeof text, "1ef4f797-8335-6428-8001-%012x", n);
  return text;
}

/// Checkpoint `n` of a chain: a list that grows, so that some are stored as patches.
checkpoint_put put_of(unsigned n, std::size_t text_bytes = 10) {
  checkpoint_put put;
  put.parent_id = n == 0 ? "" : id_of(n - 1);
  put.metadata = value{{"step", n}};
  put.checkpoint.id = id_of(n);
  put.checkpoint.ts = "2026-11-21T20:21:07.123456+00:00";
  std::vector<value> log(30, value("an entry that a string of its own holds"));
  for (unsigned i = 0; i <= n; ++i)
    log.emplace_back(i);
  put.checkpoint.channel_values = {{"log", value::list(std::move(log))},
                                   {"text", value(std::string(text_bytes, 'x'))}};
  put.checkpoint.channel_versions = {{"log", {n + 1, 7}}, {"text", {n + 1, 7}}};
  put.new_versions = {"log", "text"};
  return put;
}

const save_request& request_of(unsigned n) {
  static const auto requests = [] {
    std::vector<save_request> all;
    for (unsigned i = 0; i < submits_count; ++i) {
      all.push_back({{"u", "inner:1", i == 0 ? "" : id_of(i - 1)}, {}, put_of(i)});
      if (i > 0) // writes are of the checkpoint before
        all.back().writes = {{"task", "~a", {{"log", value(i)}}}};
    }
    return all;
  }();
  return requests[n];
}

/// Submits all requests of thread u, the last one durable, and waits for the answers.
void submit_all(saver& to) {
  static std::atomic<int> left;
  static std::atomic<bool> accepted[submits_count];
  left = 0;
  for (unsigned i = 0; i < submits_count; ++i) {
    accepted[i] = false;
    auto is_last = i + 1 == submits_count;
    ++left;
    auto submitted = went_well("submit", [&] {
      to.submit(request_of(i), is_last ? save_ack::durable : save_ack::accepted,
                [i](result<void> r) { // too small to need memory
                  if (!r)
                    note("submit's answer", r.error());
                  accepted[i] = r.has_value();
                  --left;
                  left.notify_all();
                });
      return result<void>{};
    });
    if (!submitted)
      --left;
  }
  for (int n = left; n != 0; n = left)
    left.wait(n);
  // A durable one brings those before it along, back to one that failed: that one told what was
  // lost.
  for (unsigned i = submits_count; i-- > 0 && accepted[i];)
    book->stored[puts_count + i] = true;
}

bool is_whole(const checkpoint_tuple& tuple, unsigned n) {
  const auto& values = tuple.checkpoint.channel_values;
  return values.size() == 2 && values[0].second.size() == 31 + n
         && values[0].second.at(30 + n) == value(n) && values[1].second.is_string();
}

std::shared_ptr<saver> opened(const fs::path& dir, std::size_t size = map_size) {
  std::shared_ptr<saver> s;
  went_well("open", [&] {
    auto r = open_lmdb_saver(dir, {.map_size_bytes_max = size});
    if (r)
      s = std::move(*r);
    return r ? result<void>{} : r.error();
  });
  return s;
}

/// All calls that a runtime makes, some in a store that is full.
void use(const fs::path& dir) {
  auto s = opened(dir);
  if (!s)
    return;
  for (unsigned n = 0; n < puts_count; ++n)
    book->stored[n] = went_well("put", [&] { return s->put({"t", "", ""}, put_of(n)); });
  went_well("put_writes", [&] {
    return s->put_writes({"t", "", id_of(0)}, {"task", "~a", {{"log", value(1)}}});
  });
  submit_all(*s);
  went_well("get_tuple", [&] { return s->get_tuple({"u", "inner:1", ""}); });
  went_well("history", [&] { return s->get_delta_channel_history({"t", "", id_of(3)}, {"log"}); });
  went_well("list", [&] { return s->list({.thread_id = "t"}); });
  went_well("threads", [&] { return s->threads(); });
  auto gone = went_well("put", [&] { return s->put({"gone", "", ""}, put_of(0, 300'000)); });
  if (gone) // else it may be there nevertheless
    went_well("put beyond the map", [&] {
      auto put = s->put({"gone", "", ""}, put_of(1, 2 * map_size));
      return put || put.error().code() == errc::storage_full ? result<void>{} : put;
    });
  book->deleted = went_well("delete", [&] { return s->delete_thread("gone"); });
  s.reset();
  s = opened(dir, 4 * map_size);
  if (s)
    went_well("list again", [&] { return s->list({}); });
}

/// Whether the store takes a checkpoint now that the calls work again.
bool goes_on(const fs::path& dir) {
  for (int opening = 0; opening < 2; ++opening) {
    auto s = open_lmdb_saver(dir, {.map_size_bytes_max = 4 * map_size});
    if (!s)
      return false;
    for (int attempt = 0; attempt < 3; ++attempt) // the first may tell what was lost
      if ((**s).put({"after", "", ""}, put_of(0)))
        return true;
  }
  return false;
}

/// In a process of its own: what was acknowledged is there, and all that is there can be read.
void check(const fs::path& dir) {
  auto s = open_lmdb_saver(dir, {.map_size_bytes_max = 4 * map_size});
  if (!s)
    return wrong("open afterwards", s.error().what());
  auto all = (**s).list({});
  if (!all)
    return wrong("list afterwards", all.error().what());
  bool found[puts_count + submits_count] = {};
  for (const auto& tuple : *all) {
    const auto& thread = tuple.ref.thread_id;
    if (thread == "gone" && book->deleted)
      wrong("afterwards", "a deleted thread is there");
    for (unsigned n = 0; n < puts_count; ++n)
      if (tuple.ref.checkpoint_id == id_of(n)) {
        if (!is_whole(tuple, n))
          wrong("afterwards", "a checkpoint is not whole");
        if (thread == "t" || thread == "u")
          found[(thread == "u" ? puts_count : 0) + n] = true;
      }
  }
  for (unsigned i = 0; i < puts_count + submits_count; ++i)
    if (book->stored[i] && !found[i])
      wrong("afterwards", i < puts_count ? "a stored checkpoint is missing"
                                         : "an accepted checkpoint is missing");
  if (auto put = (**s).put({"t", "", ""}, put_of(9)); !put)
    wrong("put afterwards", put.error().what());
  if (auto threads = (**s).threads(); !threads)
    wrong("threads afterwards", threads.error().what());
}

/// Runs something in a forked process; what ended it too early, or nothing.
std::string apart(const std::function<void()>& body) {
  auto pid = fork();
  if (pid == 0) {
    alarm(seconds_max);
    body();
    std::_Exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "it hangs" : strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit code " + std::to_string(WEXITSTATUS(status));
}

int sweep(int argc, char** argv) {
  using fail_fn = void(const char*, long, int, bool);
  auto* fail = reinterpret_cast<fail_fn*>(dlsym(RTLD_DEFAULT, "troupe_fail"));
  auto* fail_no_more = reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, "troupe_fail_no_more"));
  if (argc < 5 || !fail || !fail_no_more) {
    std::fprintf(stderr,
                 "usage: LD_PRELOAD=failing_calls.so %s FOLDER KIND ERRNO once|forever "
                 "[STEP [N]]\n",
                 argv[0]);
    return 2;
  }
  const fs::path folder{argv[1]};
  const char* kind = argv[2];
  const auto error_number = std::atoi(argv[3]);
  const auto for_good = std::strcmp(argv[4], "forever") == 0;
  const auto step = argc > 5 ? std::atol(argv[5]) : 1;
  const auto only = argc > 6 ? std::atol(argv[6]) : 0;
  book = static_cast<ledger*>(
    mmap(nullptr, sizeof(ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int failures = 0;
  long points = 0;
  long with_errors = 0;
  static_cast<void>(request_of(0));
  for (long n = only ? only : 1;; n += step) {
    new (book) ledger{};
    auto dir = folder / (std::string{kind} + std::to_string(n));
    auto ended = apart([&] {
      fail(kind, n, error_number, for_good);
      use(dir);
      book->calls = fail_no_more();
      if (!goes_on(dir))
        wrong("going on", "the store takes nothing more");
    });
    auto untouched = ended.empty() && book->calls < n;
    points += !untouched;
    if (!ended.empty())
      wrong("while calls fail", ended.c_str());
    with_errors += book->errors != 0;
    if (auto checked = apart([&] { check(dir); }); !checked.empty())
      wrong("afterwards", checked.c_str());
    if (untouched && book->errors != 0)
      wrong("untouched", "there are errors where no call failed");
    if (book->wrong != 0) {
      ++failures;
      std::printf("%s %ld, %s, errno %d: %s\n", kind, n, argv[4], error_number, book->what);
    }
    std::error_code ignored;
    fs::remove_all(dir, ignored);
    if (untouched || only || failures > 20) {
      std::printf("%s, errno %d, %s: %ld points, %ld with errors, %d wrong\n", kind, error_number,
                  argv[4], points, with_errors, failures);
      return failures == 0 ? 0 : 1;
    }
  }
}

} // namespace

} // namespace troupe

int main(int argc, char** argv) {
  return troupe::sweep(argc, argv);
}
