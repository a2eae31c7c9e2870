// wrapped_saver: forwards every call to a saver in memory. Broken savers of tests change one of
// them.
#pragma once

#include "tests/fixtures/small_graphs.hpp"

namespace troupe::test {

class wrapped_saver : public forwarding_saver {
public:
  wrapped_saver() : wrapped_saver{make_memory_saver()} {}

  result<named<delta_history>> get_delta_channel_history(
    const checkpoint_ref& ref, const std::vector<std::string>& channels) override {
    return inner_->get_delta_channel_history(ref, channels);
  }
  result<prune_report> prune(const std::vector<std::string>& ids, const retention& keep) override {
    return inner_->prune(ids, keep);
  }
  result<void> copy_thread(const std::string& source, const std::string& target,
                           const std::string& up_to) override {
    return inner_->copy_thread(source, target, up_to);
  }
  result<prune_report> delete_for_runs(const std::vector<std::string>& run_ids,
                                       const std::vector<std::string>& thread_ids) override {
    return inner_->delete_for_runs(run_ids, thread_ids);
  }
  result<void> rewind(const std::string& thread_id, const rewind_point& to) override {
    return inner_->rewind(thread_id, to);
  }
  result<std::shared_ptr<void>> announce(std::uint32_t mark) override {
    return inner_->announce(mark);
  }
  result<std::optional<bool>> is_there(std::uint32_t mark) override {
    return inner_->is_there(mark);
  }

private:
  explicit wrapped_saver(std::shared_ptr<saver> inner)
    : forwarding_saver{inner},
      inner_{std::move(inner)} {}

  std::shared_ptr<saver> inner_;
};

} // namespace troupe::test
