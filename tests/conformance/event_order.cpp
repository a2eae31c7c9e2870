#include "tests/conformance/event_order.hpp"

#include <troupe/control.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace troupe::conformance {
namespace {

constexpr const char* signature_key = "$signed by";
constexpr const char* part_key = "$part";

using part_list = std::vector<stream_part>;

std::vector<std::string> split(std::string_view ns) {
  std::vector<std::string> out;
  while (true) {
    auto end = std::min(ns.find('|'), ns.size());
    out.emplace_back(ns.substr(0, end));
    if (end == ns.size())
      return out;
    ns.remove_prefix(end + 1);
  }
}

std::string segment_of(const value& task) {
  return std::string{task["name"].as_string()} + ':' + std::string{task["id"].as_string()};
}

// The namespace of the graph that a task of the graph at `depth` runs. The second and later calls
// of a graph within one task have a number after the task.
std::vector<std::string> inner_graph(const std::vector<std::string>& ns, std::size_t depth) {
  auto is_number = [](const std::string& segment) {
    return std::all_of(segment.begin(), segment.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  auto end = depth + 1;
  while (end < ns.size() && is_number(ns[end]))
    ++end;
  return {ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(end)};
}

// Segments of error handlers, and of the tasks whose failures they handle.
using handler_map = std::map<std::string, std::string>;

constexpr std::size_t behind_all = std::size_t{1} << 32; // ranks of handlers: after those of tasks

// The parts of one run of a graph.
class ordering {
public:
  ordering(const handler_map& handlers, std::size_t depth) : handlers_{handlers}, depth_{depth} {}

  void add(stream_part part) {
    if (workflow_)
      own(0, without_signature(std::move(part)));
    else if (part.ns.size() > depth_)
      own(rank_of(writer(part.ns)), std::move(part));
    else if (part.mode == stream_mode::custom)
      add_signed(std::move(part));
    else if (part.mode == stream_mode::messages)
      own(rank_of(writer(split(part.data[1]["langgraph_checkpoint_ns"].as_string()))),
          std::move(part));
    else if (part.mode == stream_mode::debug)
      add_debug(std::move(part));
    else if (part.mode == stream_mode::updates && part.data.contains("__metadata__"))
      add_between(std::move(part)); // from the cache, or of a finished task
    else
      open_.push_back(std::move(part));
  }

  part_list take() {
    close();
    return std::move(out_);
  }

private:
  // A task, and a graph with a state of its own, which stands without the id.
  void announce(const value& task) {
    auto rank = next_rank_++;
    ranks_[segment_of(task)] = rank;
    ranks_[std::string{task["name"].as_string()}] = rank;
    workflow_ |= task["triggers"] == value::list({value(START)});
  }

  std::size_t rank_of(const std::string& segment) {
    if (auto handler = handlers_.find(segment); handler != handlers_.end())
      return behind_all + rank_of(handler->second);
    auto [entry, unknown] = ranks_.emplace(segment, next_rank_);
    if (unknown)
      ++next_rank_;
    return entry->second;
  }

  // The task of this graph that something within `ns` belongs to. A handler stands under the task
  // that failed.
  std::string writer(const std::vector<std::string>& ns) const {
    bool handler = ns.size() > depth_ + 1 && handlers_.contains(ns[depth_ + 1]);
    return ns.at(handler ? depth_ + 1 : depth_);
  }

  void own(std::size_t rank, stream_part&& part) { owned_.emplace_back(rank, std::move(part)); }

  void add_signed(stream_part part) {
    auto rank = rank_of(writer(split(part.data.at(signature_key).as_string())));
    own(rank, without_signature(std::move(part)));
  }

  stream_part without_signature(stream_part part) const {
    if (part.ns.size() == depth_ && part.mode == stream_mode::custom)
      part.data = value(part.data.at(part_key));
    return part;
  }

  void add_debug(stream_part part) {
    auto type = part.data["type"];
    if (type == value("task"))
      announce(part.data["payload"]);
    if (type != value("task_result"))
      return add_between(std::move(part));
    auto rank = rank_of(segment_of(part.data["payload"]));
    for (auto& before : std::exchange(open_, {}))
      own(rank, std::move(before));
    own(rank, std::move(part));
  }

  void add_between(stream_part part) {
    close();
    out_.push_back(std::move(part));
  }

  void close() {
    std::stable_sort(owned_.begin(), owned_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto at = owned_.begin(); at != owned_.end();)
      at = emit(at);
    owned_.clear();
    std::move(open_.begin(), open_.end(), std::back_inserter(out_));
    open_.clear();
  }

  // One part, or all of a run of an inner graph.
  using owned_part = std::vector<std::pair<std::size_t, stream_part>>::iterator;
  owned_part emit(owned_part at) {
    if (at->second.ns.size() == depth_) {
      out_.push_back(std::move(at->second));
      return ++at;
    }
    auto rank = at->first;
    auto graph = inner_graph(at->second.ns, depth_);
    ordering inner{handlers_, graph.size()};
    for (; at != owned_.end() && at->first == rank && at->second.ns.size() > depth_
           && inner_graph(at->second.ns, depth_) == graph;
         ++at)
      inner.add(std::move(at->second));
    auto parts = inner.take();
    std::move(parts.begin(), parts.end(), std::back_inserter(out_));
    return at;
  }

  const handler_map& handlers_;
  std::size_t depth_;
  bool workflow_ = false; // one body and, one after another, the tasks it starts: all in order
  std::size_t next_rank_ = 0;
  std::map<std::string, std::size_t> ranks_;
  part_list out_;
  std::vector<std::pair<std::size_t, stream_part>> owned_;
  part_list open_; // they belong to the next result, if there is one
};

} // namespace

value signed_part(const value& part, const std::string& ns) {
  return value::map({{signature_key, ns}, {part_key, part}});
}

std::vector<stream_part> in_task_order(std::vector<stream_part> parts,
                                       const std::vector<std::string>& handlers) {
  handler_map handled;
  for (const auto& ns : handlers) {
    auto segments = split(ns);
    handled[segments.back()] = segments.at(segments.size() - 2);
  }
  ordering root{handled, 0};
  for (auto& part : parts)
    root.add(std::move(part));
  return root.take();
}

} // namespace troupe::conformance
