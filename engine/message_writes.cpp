// Giving ids to the messages in writes to delta channels.
#include "engine/message_writes.hpp"

#include "channels/message_ids.hpp"

namespace troupe {

result<void> give_message_ids(const graph_plan& plan, task_write_list& writes) {
  for (auto& w : writes) {
    if (w.channel == no_index || plan.channels[w.channel].spec.kind != channel_kind::delta)
      continue;
    auto stamped = with_message_ids(plan.channels[w.channel].spec, w.val);
    if (!stamped)
      return stamped.error();
    w.val = std::move(*stamped);
  }
  return {};
}

} // namespace troupe
