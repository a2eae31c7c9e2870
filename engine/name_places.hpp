// name_places: what the names of a page of checkpoints are in a graph. Each is looked up once.
#pragma once

#include "engine/stored_writes.hpp"
#include "graph/graph_plan.hpp"
#include "graph/names.hpp"
#include "persistence/checkpoint_page.hpp"

#include <cstdint>
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
    bool is_known = false;
  };

  /// Call it before the first page, and after each page that was filled.
  /// Owns: nothing; both must outlive it.
  void use(const graph_plan& plan, const checkpoint_page& page) {
    if (plan_ != &plan || page_ != &page || table_ != page.table)
      places_.clear();
    plan_ = &plan;
    page_ = &page;
    table_ = page.table;
    places_.resize(page.names.size());
  }
  /// Before the graph is gone.
  void forget() { *this = {}; }

  const place& operator[](std::uint32_t name) {
    auto& found = places_[name];
    if (!found.is_known)
      found = find(page_->names[name]);
    return found;
  }

  const std::string& text(std::uint32_t name) const { return page_->names[name]; }

private:
  place find(std::string_view name) const {
    return {.channel = plan_->find_channel(name),
            .node = plan_->find_node(name),
            .kind = kind_of_write(name),
            .is_input = name == names::input,
            .is_interrupt = name == names::interrupt,
            .is_known = true};
  }

  const graph_plan* plan_ = nullptr;
  const checkpoint_page* page_ = nullptr;
  std::uint64_t table_ = 0;
  std::vector<place> places_; // by name
};

} // namespace troupe
