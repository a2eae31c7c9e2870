// Personal data in the parts of an answer, as they come.
#pragma once

#include "agents/pii.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace troupe {

/// A text that comes in pieces. Its end is kept back until it is clear that nothing begins in it.
class pii_text {
public:
  /// What may be shown, given what came.
  std::string take(const pii_guard& by, std::string_view more, bool last = false);
  bool holds() const noexcept { return !held_.empty(); }

private:
  std::string before_; // the end of what was shown, as it came
  std::string held_;
  bool blocked_ = false;
};

/// Passes on the parts of one answer, cleaned.
class pii_stream {
public:
  using reader = std::function<void(const value& part)>;
  pii_stream(std::shared_ptr<const pii_guard> by, reader out)
    : by_{std::move(by)},
      out_{std::move(out)} {}

  void part(const value& part);
  /// Passes on what was kept back.
  void finish();

private:
  value cleaned(const value& content);
  std::shared_ptr<const pii_guard> by_;
  reader out_;
  pii_text text_;
  std::map<std::string, std::pair<value, pii_text>> blocks_; // by index; the first part of each
  value last_;
};

} // namespace troupe
