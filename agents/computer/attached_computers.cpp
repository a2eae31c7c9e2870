// attached_computers: opening, finding and dropping computers.
#include "agents/computer/attached_computers.hpp"

#include <algorithm>

namespace troupe {

void attached_computers::require_fitting(const computer_instance& made) const {
  auto refuse = [](const std::string& why) {
    throw error{errc::invalid_config, "begin a computer: " + why};
  };
  if (!made.computer)
    refuse("the factory returned no computer");
  if (made.id.empty() || made.id.size() > limits::computer_instance_id_bytes_max)
    refuse("its id must have 1 to " + std::to_string(limits::computer_instance_id_bytes_max)
           + " bytes");
  if (auto size = made.computer->display(); size != display_)
    refuse("its display has " + std::to_string(size.width) + " x " + std::to_string(size.height)
           + " pixels, and the agent was made for " + std::to_string(display_.width) + " x "
           + std::to_string(display_.height));
}

attached_ptr attached_computers::keep(const computer_instance& made) {
  auto out = std::make_shared<attached_computer>();
  out->computer = made.computer;
  attached_ptr let_go; // destroyed outside the lock
  std::lock_guard guard{mutex_};
  auto known = std::ranges::find(kept_, made.id, [](const auto& one) { return one.first; });
  if (known != kept_.end())
    return known->second; // another thread was faster
  if (kept_.size() >= limits::computers_attached_max) {
    auto idle = std::ranges::find_if(kept_,
                                     [](const auto& one) { return one.second.use_count() == 1; });
    if (idle != kept_.end()) {
      let_go = std::move(idle->second);
      kept_.erase(idle);
    }
  }
  kept_.emplace_back(made.id, out);
  return out;
}

computer_instance attached_computers::begin() {
  auto made = factory_({});
  require_fitting(made);
  keep(made);
  return made;
}

attached_ptr attached_computers::get(const std::string& id) {
  {
    std::lock_guard guard{mutex_};
    auto known = std::ranges::find(kept_, id, [](const auto& one) { return one.first; });
    if (known != kept_.end()) {
      std::rotate(known, known + 1, kept_.end());
      return kept_.back().second;
    }
  }
  if (id.size() > limits::computer_instance_id_bytes_max)
    throw computer_lost{"its id is too long"};
  try {
    auto made = factory_(id);
    require_fitting(made);
    if (made.id != id)
      throw computer_lost{"the factory returned another computer"};
    return keep(made);
  } catch (const std::exception& why) {
    throw computer_lost{why.what()};
  }
}

void attached_computers::let_go(const std::string& id) {
  attached_ptr gone; // destroyed outside the lock
  std::lock_guard guard{mutex_};
  auto known = std::ranges::find(kept_, id, [](const auto& one) { return one.first; });
  if (known == kept_.end())
    return;
  gone = std::move(known->second);
  kept_.erase(known);
}

} // namespace troupe
