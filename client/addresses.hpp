// addresses: paths and queries of an Agent Server, and the places of its runs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A segment of a path, percent-encoded. A segment of dots alone is encoded, too, so that nobody
/// takes it for a step up.
/// Source: langgraph_sdk/_shared/utilities.py, _quote_path_param.
std::string escaped_segment(std::string_view text);

/// The path of these segments, each encoded: "/threads/ID/state".
std::string path_of(const std::vector<std::string_view>& segments);

/// A path with a query. Empty texts are left out.
class queried_path {
public:
  explicit queried_path(std::string path) : text_{std::move(path)} {}
  queried_path& add(std::string_view name, std::string_view text);
  queried_path& add(std::string_view name, std::uint64_t number);
  /// "true"; false is left out, since it is the default everywhere.
  queried_path& add_flag(std::string_view name, bool flag);
  const std::string& text() const noexcept { return text_; }

private:
  std::string text_;
  bool has_query_ = false;
};

/// The place of a run. Shape: `thread_id` is empty for a run without a thread.
struct run_place {
  std::string thread_id;
  std::string run_id;
  std::string path; ///< "/threads/T/runs/R" or "/runs/R"
};
/// Source: langgraph_sdk/_shared/utilities.py, _get_run_metadata_from_response.
std::optional<run_place> place_of_run(std::string_view content_location);

/// The URL of the run whose stream or join has this URL; empty when it has another form.
/// Source: langgraph_sdk/_shared/utilities.py, _run_url_from_stream_location.
std::string run_url_of(std::string_view joining_url);

/// Whether both URLs have one scheme, host and port.
bool has_same_origin(std::string_view a, std::string_view b);

} // namespace troupe
