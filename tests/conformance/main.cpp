// conformance CASE.json…            says of each case whether its answers are the expected ones
// conformance --answers CASE.json   prints the answers of one case
// Exit status: 0 all passed, 1 one failed, 2 a file can't be read. See README.md beside this file.
#include "tests/conformance/calls.hpp"
#include "tests/conformance/case_file.hpp"
#include "tests/conformance/compare.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::conformance {
namespace {

enum class verdict { passed = 0, failed = 1, unreadable = 2 };

// Why the case fails, if it does. What it throws is a failure of this case alone.
std::optional<std::string> failure_of(const case_file& c) {
  try {
    auto answers = case_run{c.script}.answers();
    if (!c.expect)
      return "the case has no `expect`";
    auto found = first_difference(*c.expect, answers);
    return found ? std::optional{found->text()} : std::nullopt;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception of unknown kind";
  }
}

verdict check(const std::string& path) {
  std::optional<case_file> c;
  try {
    c = read_case(path);
  } catch (const unreadable_case& e) {
    std::cerr << e.what() << '\n';
    return verdict::unreadable;
  }
  auto failure = failure_of(*c);
  if (failure)
    std::cout << "FAIL " << c->script.name << ": " << *failure << std::endl;
  else
    std::cout << "ok " << c->script.name << std::endl;
  return failure ? verdict::failed : verdict::passed;
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

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "--answers")
    return static_cast<int>(print_answers(arguments[1]));
  if (arguments.empty() || arguments[0].starts_with("-")) {
    std::cerr << "usage: conformance CASE.json...\n       conformance --answers CASE.json\n";
    return static_cast<int>(verdict::unreadable);
  }
  auto worst = verdict::passed;
  for (const auto& path : arguments)
    worst = std::max(worst, check(path));
  return static_cast<int>(worst);
}

} // namespace
} // namespace troupe::conformance

int main(int argc, char** argv) {
  return troupe::conformance::run({argv + 1, argv + argc});
}
