// The results of conformance checks, and their report.
#pragma once

#include <troupe/limits.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace troupe {

/// How a check ended.
/// Errors: none.
/// Source: langgraph/checkpoint/conformance/report, with its skipped capabilities.
enum class check_outcome : std::uint8_t {
  passed,
  failed,
  not_supported, ///< the subject lacks an optional call, or can't be opened with the options
};

/// The name of an outcome: "passed", "failed", "not supported".
/// Errors: none.
/// Source: troupe.
const char* to_string(check_outcome outcome) noexcept;

/// The result of one check on one subject.
/// Shape:  `message`: of a failure the place in the check, the expected and the actual result; of
///         an unsupported check the missing call; else empty.
/// Errors: none.
/// Source: langgraph/checkpoint/conformance/report, CapabilityResult.
struct check_result {
  std::string group;
  std::string name;
  check_outcome outcome = check_outcome::passed;
  std::string message = {};
};

/// The settings of a conformance run.
/// Units:  `answer_wait`: the time within which a submit must be answered; then the check fails.
/// Errors: none.
/// Source: troupe.
struct conformance_options {
  std::chrono::milliseconds answer_wait = limits::conformance_answer_wait;
};

/// Prints a line for each check that failed or is not supported, then the counts. Returns the
/// number of failed checks.
/// Order:  that of `results`.
/// Errors: none.
/// Source: langgraph/checkpoint/conformance/report, CapabilityReport.print_report.
std::size_t print_conformance(std::ostream& out, const std::vector<check_result>& results);

} // namespace troupe
