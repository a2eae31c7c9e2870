// Numbers of owners, and entering a thread.
#include "engine/thread_owners.hpp"

#include <algorithm>
#include <future>
#include <utility>

namespace troupe {

std::uint64_t thread_owners::add(const std::shared_ptr<held_claim>& claim) {
  constexpr std::size_t few = 1024;
  constexpr auto numbers = static_cast<std::uint32_t>(thread_at_rest) - 1;
  std::lock_guard lock{mutex_};
  if (on_.size() > std::max(few, 2 * kept_)) {
    std::erase_if(on_, [](const auto& e) { return e.second.expired(); });
    kept_ = on_.size();
  }
  last_ = last_ % numbers + 1;
  auto number = mark_ | last_;
  on_.insert_or_assign(number, claim);
  return number;
}

bool thread_owners::may_be_on(std::uint64_t owner) {
  constexpr std::uint64_t low_half = 0xffff'ffff;
  if (owner == 0 || (owner & thread_at_rest) != 0)
    return false;
  if ((owner & ~low_half) != mark_)
    return true;
  std::shared_ptr<held_claim> there; // destroyed after the lock is released
  std::lock_guard lock{mutex_};
  if (auto known = on_.find(owner); known != on_.end())
    there = known->second.lock();
  return there && !there->over();
}

result<void> store_durably(saver& store, save_request request) {
  auto answer = std::make_shared<std::promise<result<void>>>();
  auto stored = answer->get_future();
  store.submit(std::move(request), save_ack::durable,
               [answer](result<void> how) { answer->set_value(std::move(how)); });
  return stored.get();
}

result<void> enter_thread(saver& store, const std::string& thread_id, thread_owners& owners,
                          const std::shared_ptr<held_claim>& claim, thread_reading what,
                          std::optional<std::uint64_t> from) {
  auto owner = store.thread_owner(thread_id);
  if (!owner)
    return owner.error();
  if (from && *from != *owner)
    return error{errc::conflict,
                 "resume thread `" + thread_id + "`: another process took it over first"};
  claim->first = {*owner, owners.add(claim), what != thread_reading::older};
  if (what == thread_reading::newest || !owners.may_be_on(*owner))
    return {};
  save_request takes{{thread_id, {}, {}}, {}, std::nullopt, claim->first};
  takes.claim->from_newest = false; // nothing was read yet
  if (auto taken = store_durably(store, std::move(takes)); !taken)
    return taken;
  claim->held = true;
  return {};
}

} // namespace troupe
