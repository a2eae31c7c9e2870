// The things that the graphs and calls of one case share.
#pragma once

#include "tests/conformance/labels.hpp"
#include "tests/conformance/shuffle.hpp"
#include "tests/conformance/uses.hpp"

#include <troupe/node_cache.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::conformance {

class graph_book; // graph_book.hpp
class model_book; // model_book.hpp

/// A part of the language of the cases that this driver does not know.
struct unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thread: the members may be called from any thread, `labels` from the one that makes the calls.
class world {
public:
  explicit world(std::string given) : labels{std::move(given)} {}

  label_book labels;
  graph_book* graphs = nullptr; ///< null outside a run of a case
  model_book* models = nullptr;
  std::optional<conformance::shuffle> shuffle; ///< of a run whose tasks end out of order
  bool placed = false;                         ///< subgraphs run on a worker
  std::shared_ptr<node_cache> cache = make_memory_cache(); ///< of graphs that are compiled with one
  use_log uses;

  /// An error handler ran; all that did. Shape: their namespaces.
  void note_handler(const std::string& ns);
  std::vector<std::string> handlers() const;

  /// How often `name` was counted, from 1.
  std::int64_t count(const std::string& name);

  /// Throws unsupported, and remembers it: what a node body throws is only a failed node to the
  /// engine.
  [[noreturn]] void refuse(std::string_view what);
  /// Throws what was refused since the case began, if anything was.
  void check() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
  std::vector<std::string> handlers_;
  std::optional<unsupported> refused_;
};

} // namespace troupe::conformance
