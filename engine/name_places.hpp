// name_places: what the names of a page of checkpoints are in a graph. Each is looked up once.
#pragma once

#include "engine/stored_writes.hpp"
#include "graph/graph_plan.hpp"
#include "graph/names.hpp"
#include "persistence/checkpoint_page.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

class name_places {
public:
  struct place {
    channel_index channel = no_index;
    node_index node = no_index;
    write_kind kind = write_kind::output; // of a write to it
    bool is_input = false;                // of versions_seen
    bool is_interrupt = false;
  };

  /// Call it after each page that was filled.
  /// Owns: nothing; both must outlive it.
  void use(const graph_plan& plan, const page_names& names) {
    if (plan_ != &plan || names_ != &names || table_ != names.table())
      places_.clear();
    plan_ = &plan;
    names_ = &names;
    table_ = names.table();
    while (places_.size() < names.size())
      places_.push_back(find(names[places_.size()]));
  }
  /// Before the graph is gone.
  void forget() {
    plan_ = nullptr;
    places_.clear();
  }

  const place& operator[](std::uint32_t name) const { return places_[name]; }
  const std::string& text(std::uint32_t name) const { return (*names_)[name]; }

private:
  place find(std::string_view name) const {
    return {.channel = plan_->find_channel(name),
            .node = plan_->find_node(name),
            .kind = kind_of_write(name),
            .is_input = name == names::input,
            .is_interrupt = name == names::interrupt};
  }

  const graph_plan* plan_ = nullptr;
  const page_names* names_ = nullptr;
  std::uint64_t table_ = 0;
  std::vector<place> places_; // by number
};

} // namespace troupe
