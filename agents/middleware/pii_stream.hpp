// pii_stream: hides personal data in streams: in parts of an answer, and in events of a tool.
#pragma once

#include "agents/middleware/pii.hpp"
#include "agents/tools/tool_turn.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace troupe {

/// A text that comes in pieces. Its end is kept back until it can't be the beginning of personal
/// data.
class pii_text {
public:
  /// The text that may be shown after this piece.
  std::string take(const pii_guard& by, std::string_view more, bool last = false);
  bool holds() const noexcept { return !held_.empty(); }

private:
  std::string before_; // the end of the shown text, as it came
  std::string held_;
  bool blocked_ = false;
};

/// Passes on the cleaned parts of one answer.
class pii_stream {
public:
  using reader = std::function<void(const value& part)>;
  pii_stream(std::shared_ptr<const pii_guard> by, reader out)
    : by_{std::move(by)},
      out_{std::move(out)} {}

  void part(const value& part);
  /// Passes on the text that was kept back.
  void finish();

private:
  value cleaned(const value& content);
  std::shared_ptr<const pii_guard> by_;
  reader out_;
  pii_text text_;
  std::map<std::string, std::pair<value, pii_text>> blocks_; // by index; with the first part of
                                                             // each block
  value last_;
};

/// The cleaned events of one call. Pieces of text are cleaned as those of an answer, each other
/// piece and the result by itself. With `block`, an event with personal data becomes null.
class pii_tool_events final : public tool_event_filter {
public:
  explicit pii_tool_events(std::shared_ptr<const pii_guard> by) : by_{std::move(by)} {}
  void event(const value& event, const std::function<void(const value&)>& out) override;

private:
  value cleaned(const value& v) const;
  std::shared_ptr<const pii_guard> by_;
  pii_text text_;
  value last_piece_; // its text may be kept back
};

} // namespace troupe
