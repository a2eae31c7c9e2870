// conformance: runs recorded cases, and compares the answers.
//  - conformance CASE.json…: all cases
//  - conformance --shuffle SEED CASE.json…: the same, with tasks that end out of order
//  - conformance --placed CASE.json…: the same, with subgraphs on a worker
//  - conformance --answers CASE.json: prints the answers of one case
// Exit status: 0 all passed, 1 one failed, 2 a file can't be read. See README.md beside this file.
#include "tests/conformance/calls.hpp"
#include "tests/conformance/case_file.hpp"
#include "tests/conformance/compare.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::conformance {
namespace {

enum class verdict { passed = 0, failed = 1, unreadable = 2 };

// The report of a case.
struct report {
  std::string word; // "ok", "FAIL" or "skip"
  std::string why;

  void print(const std::string& name) const {
    std::cout << word << ' ' << name << (why.empty() ? "" : ": ") << why << std::endl;
  }
};

// The reason why a shuffled run is not compared, if there is one: bodies used something they share
// in another order than without shuffling, so their findings may differ.
std::optional<std::string> order_dependence(const script& s, const use_log& uses) {
  case_run in_order{s};
  in_order.answers();
  auto thing = uses.first_difference(in_order.uses());
  return thing ? std::optional{"used in another order: " + *thing} : std::nullopt;
}

report compared(const case_file& c, const case_mode& mode) {
  case_run run{c.script, mode};
  auto answers = run.answers();
  if (!c.expect)
    return {"FAIL", "the case has no `expect`"};
  auto found = first_difference(*c.expect, answers);
  if (!found)
    return {"ok", ""};
  if (auto why = mode.seed ? order_dependence(c.script, run.uses()) : std::nullopt)
    return {"skip", *why};
  return {"FAIL", found->text()};
}

// An exception of a case is a failure of this case alone.
report judged(const case_file& c, const case_mode& mode) {
  try {
    return compared(c, mode);
  } catch (const std::exception& e) {
    return {"FAIL", e.what()};
  } catch (...) {
    return {"FAIL", "an exception of unknown kind"};
  }
}

verdict check(const std::string& path, const case_mode& mode) {
  try {
    auto c = read_case(path);
    auto report = judged(c, mode);
    report.print(c.script.name);
    return report.word == "FAIL" ? verdict::failed : verdict::passed;
  } catch (const unreadable_case& e) {
    std::cerr << e.what() << '\n';
    return verdict::unreadable;
  }
}

verdict print_answers(const std::string& path) {
  try {
    auto c = read_case(path);
    auto answers = case_run{c.script}.answers();
    std::cout << answers.dump(-1, ' ', false, answer_json::error_handler_t::replace) << std::endl;
    return verdict::passed;
  } catch (const unreadable_case& e) {
    std::cerr << e.what() << '\n';
    return verdict::unreadable;
  } catch (const std::exception& e) {
    std::cerr << path << ": " << e.what() << '\n';
    return verdict::failed;
  }
}

std::optional<std::uint64_t> parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seed);
  bool whole = failure == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{seed} : std::nullopt;
}

int usage() {
  std::cerr << "usage: conformance [--shuffle SEED | --placed] CASE.json...\n"
               "       conformance --answers CASE.json\n";
  return static_cast<int>(verdict::unreadable);
}

int run(std::vector<std::string> arguments) {
  if (arguments.size() == 2 && arguments[0] == "--answers")
    return static_cast<int>(print_answers(arguments[1]));
  case_mode mode;
  if (arguments.size() > 2 && arguments[0] == "--shuffle") {
    mode.seed = parse_seed(arguments[1]);
    if (!mode.seed)
      return usage();
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  } else if (arguments.size() > 1 && arguments[0] == "--placed") {
    mode.placed = true;
    arguments.erase(arguments.begin());
  }
  if (arguments.empty() || arguments[0].starts_with("-"))
    return usage();
  auto worst = verdict::passed;
  for (const auto& path : arguments)
    worst = std::max(worst, check(path, mode));
  return static_cast<int>(worst);
}

} // namespace
} // namespace troupe::conformance

int main(int argc, char** argv) {
  return troupe::conformance::run({argv + 1, argv + argc});
}
