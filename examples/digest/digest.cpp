// digest: the graph. Every node can run again from its first line, since a killed process restarts
// with its unfinished tasks.
#include "digest.hpp"

#include "files.hpp"
#include "report.hpp"

#include <troupe/troupe.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

namespace digest {

namespace fs = std::filesystem;

namespace {

// Merges two maps of counts in one pass, since both are in key order.
troupe::value merge_counts(const troupe::value& a, const troupe::value& b) {
  auto left = a.entries();
  auto right = b.entries();
  std::vector<troupe::value::map_init> out;
  out.reserve(left.size() + right.size());
  auto take = [&out](auto& from, std::int64_t more) {
    out.emplace_back(std::string{from.front().key()}, from.front().val.as_int() + more);
    from = from.subspan(1);
  };
  while (!left.empty() || !right.empty()) {
    if (right.empty() || (!left.empty() && left.front().key() < right.front().key())) {
      take(left, 0);
    } else if (left.empty() || right.front().key() < left.front().key()) {
      take(right, 0);
    } else {
      auto more = right.front().val.as_int();
      right = right.subspan(1);
      take(left, more);
    }
  }
  return troupe::value::map(std::move(out));
}

// The part of the state that a node reads. A smaller part is faster to convert.
struct order {
  std::vector<std::string> sources;
  std::string base;
  std::string out;
  TROUPE_STATE(order, sources, base, out)
};

struct draft {
  std::vector<std::string> files;
  std::string base;
  std::string out;
  std::string report;
  TROUPE_STATE(draft, files, base, out, report)
};

fs::path out_path(const std::string& base, const std::string& out, const troupe::context& ctx) {
  if (const auto& now = ctx.run_context()["out"]; now.is_string())
    return fs::path{base} / now.as_string();
  return fs::path{base} / (out.empty() ? "digest.md" : out);
}

// Plans a digest. Clears the lists and counts of an earlier digest on the same thread.
troupe::update<state> plan(const order& s, troupe::context& ctx) {
  auto base = s.base.empty() ? fs::current_path().string() : s.base;
  auto found = find_files(base, s.sources, out_path(base, s.out, ctx));
  return troupe::set(&state::base, base)
    .set(&state::files, found.files)
    .set(&state::binary, found.binary)
    .set(&state::large, found.large)
    .set(&state::results, troupe::overwrite(troupe::value::of(found.problems)))
    .set(&state::words, troupe::overwrite(0))
    .set(&state::terms, troupe::overwrite(troupe::value::map()))
    .set(&state::approved, false)
    .set(&state::published, "");
}

// A task for each file, with all it needs.
troupe::destinations share_out(const troupe::state_view& s) {
  if (s["files"].empty())
    return "draft";
  std::vector<troupe::send> out;
  out.reserve(s["files"].size());
  for (const auto& file : s["files"].items())
    out.push_back({"read", troupe::value::map({{"file", file}, {"base", s["base"]}})});
  return out;
}

void pause(const troupe::context& ctx) {
  const auto& delay = ctx.run_context()["delay_ms"];
  auto left = std::chrono::milliseconds{delay.is_int() ? delay.as_int() : 0};
  while (left.count() > 0 && !ctx.stop_requested()) {
    auto slice = std::min(left, std::chrono::milliseconds{5});
    std::this_thread::sleep_for(slice);
    left -= slice;
  }
}

bool is_markdown(const fs::path& path) {
  auto ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".md" || ending == ".markdown";
}

troupe::update<state> read(const troupe::value& task, troupe::context& ctx) {
  auto file = task.at("file").as<std::string>();
  auto content = read_file(fs::path{task.at("base").as<std::string>()} / file);
  const auto& trace = ctx.run_context()["trace"];
  if (trace.is_string() && content.problem.empty())
    append_line(trace.as_string(), file);
  auto facts = measure(content.text, is_markdown(file));
  facts.file = file;
  facts.problem = content.problem;
  pause(ctx);
  return troupe::set(&state::results, std::vector{facts})
    .set(&state::words, facts.words)
    .set(&state::terms, facts.terms);
}

std::optional<bool> understood(const troupe::value& answer) {
  if (answer.is_bool())
    return answer.as_bool();
  if (!answer.is_string())
    return std::nullopt;
  auto text = answer.as<std::string>();
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  if (text == "yes" || text == "y")
    return true;
  if (text == "no" || text == "n")
    return false;
  return std::nullopt;
}

// Asks until an answer is valid.
troupe::update<state> approve(const draft& s, troupe::context& ctx) {
  auto out = out_path(s.base, s.out, ctx).string();
  auto question = "Publish the digest of " + std::to_string(s.files.size()) + " files as " + out
                  + "?";
  for (;;) {
    auto answer = ctx.interrupt(troupe::value::map({{"question", question},
                                                    {"answers", troupe::value::list({"yes", "no"})},
                                                    {"draft", excerpt_of(s.report)}}));
    if (auto yes = understood(answer))
      return troupe::set(&state::approved, *yes);
    question = "Answer \"yes\" or \"no\": publish the digest as " + out + "?";
  }
}

troupe::update<state> publish(const draft& s, troupe::context& ctx) {
  auto out = out_path(s.base, s.out, ctx);
  write_atomically(out, s.report, ctx.task_id().substr(0, 8));
  return troupe::set(&state::published, out.string());
}

} // namespace

const troupe::channel_spec add_counts = troupe::reduce("add_counts", merge_counts,
                                                       troupe::value::map());

troupe::typed_graph<state> build() {
  constexpr auto blocking = troupe::lane::blocking;
  troupe::state_graph<state> g;
  g.add_node("plan", plan, {.lane = blocking});
  g.add_node("read", read, {.lane = blocking});
  g.add_node("draft", [](const state& s) { return troupe::set(&state::report, write_report(s)); },
             {.lane = blocking});
  g.add_node("approve", approve);
  g.add_node("publish", publish, {.lane = blocking});
  g.add_edge(troupe::START, "plan");
  g.add_conditional_edges("plan", share_out, {"read", "draft"});
  g.add_edge("read", "draft");
  g.add_edge("draft", "approve");
  g.add_conditional_edges("approve",
                          [](const troupe::state_view& s) {
                            return s["approved"].as_bool() ? "publish" : troupe::END;
                          },
                          {"publish", troupe::END});
  g.add_edge("publish", troupe::END);
  return g.compile({.name = "digest"});
}

} // namespace digest
