// The report of a failure: one line on stderr, with --json one on stdout too, and an exit code.
#pragma once

#include "tools/troupe/exit_codes.hpp"
#include "tools/troupe/json_lines.hpp"
#include "tools/troupe/terminal.hpp"

#include <exception>
#include <iostream>
#include <string>

namespace troupe::cli {

/// The message without the address of the reference's documentation, on one line.
inline std::string text_of(const error& why) {
  return one_line(why.message().substr(0, why.message().find("\nFor troubleshooting, visit: ")));
}

/// An error that ends the program with an exit code other than that of its errc.
struct failure {
  error why;
  exit_code code;
};

inline exit_code report_failure(const std::string& program, const error& why, bool json) {
  terminal out{STDERR_FILENO};
  auto text = out.paint(style::red, program) + ": " + text_of(why);
  if (std::string advice = advice_for(why.code()); !advice.empty())
    text += "; " + advice;
  std::cerr << text << "\n" << std::flush;
  if (json)
    print_line(json_line(why));
  return exit_code_of(why.code());
}

/// Runs `action` and reports the exception it throws.
template <class Action>
int run_reporting(const std::string& program, const bool& json, Action action) {
  try {
    return action();
  } catch (const failure& how) {
    report_failure(program, how.why, json);
    return how.code;
  } catch (const error& why) {
    return report_failure(program, why, json);
  } catch (const std::bad_alloc&) {
    return report_failure(program, {errc::node_failed, "out of memory"}, json);
  } catch (const std::exception& why) {
    return report_failure(program, {errc::node_failed, why.what()}, json);
  }
}

} // namespace troupe::cli
