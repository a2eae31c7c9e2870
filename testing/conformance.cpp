// The outcome of a check, and the report of many.
#include <troupe/testing/conformance.hpp>

#include "testing/run_check.hpp"

#include <array>
#include <exception>
#include <ostream>

namespace troupe {

namespace testing {

check_result run_check(const std::string& group, const std::string& name,
                       const std::function<void()>& body) {
  auto ended = [&](check_outcome outcome, std::string message) {
    return check_result{group, name, outcome, std::move(message)};
  };
  try {
    body();
    return ended(check_outcome::passed, {});
  } catch (const check_failed& failure) {
    return ended(check_outcome::failed, failure.message);
  } catch (const check_not_supported& reason) {
    return ended(check_outcome::not_supported, reason.message);
  } catch (const error& err) {
    return ended(check_outcome::failed, "expected no error, came "
                                          + std::string{to_string(err.code())} + ": "
                                          + err.message());
  } catch (const std::exception& thrown) {
    return ended(check_outcome::failed,
                 "expected no exception, came " + std::string{thrown.what()});
  } catch (...) {
    return ended(check_outcome::failed, "expected no exception, came one of an unknown type");
  }
}

} // namespace testing

const char* to_string(check_outcome outcome) noexcept {
  switch (outcome) {
    case check_outcome::passed: return "passed";
    case check_outcome::failed: return "failed";
    case check_outcome::not_supported: return "not supported";
  }
  return "unknown";
}

std::size_t print_conformance(std::ostream& out, const std::vector<check_result>& results) {
  std::array<std::size_t, 3> counts{};
  for (const auto& result : results) {
    ++counts.at(static_cast<std::size_t>(result.outcome));
    if (result.outcome != check_outcome::passed)
      out << to_string(result.outcome) << ": " << result.name << ": " << result.message << "\n";
  }
  out << counts[0] << " passed, " << counts[1] << " failed, " << counts[2] << " not supported\n";
  return counts[1];
}

} // namespace troupe
