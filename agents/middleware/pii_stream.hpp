// Personal data in what readers are told as it comes: parts of an answer, output of a tool.
#pragma once

#include "agents/middleware/pii.hpp"
#include "agents/tools/tool_turn.hpp"

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

/// What one call says, cleaned: pieces of text as those of an answer, each other piece and the
/// result by itself. With `block`, what has personal data in it is told as null.
class pii_tool_events final : public tool_event_filter {
public:
  explicit pii_tool_events(std::shared_ptr<const pii_guard> by) : by_{std::move(by)} {}
  void event(const value& event, const std::function<void(const value&)>& out) override;

private:
  value cleaned(const value& v) const;
  std::shared_ptr<const pii_guard> by_;
  pii_text text_;
  value last_piece_; // whose text may be held
};

} // namespace troupe
