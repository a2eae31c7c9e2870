// roster: adding, removing and listing cards.
#include "actors/roster.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {

namespace {

int rank(std::string_view kind) {
  if (kind == "run")
    return 0;
  if (kind == "channel")
    return 1;
  return kind == "node" ? 2 : 3;
}

} // namespace

card_ptr roster::add(const char* kind, std::string name, std::shared_ptr<group_card> group) {
  auto card = std::make_shared<actor_card>();
  card->kind = kind;
  card->name = std::move(name);
  card->group = std::move(group);
  std::lock_guard lock{mutex_};
  cards_.emplace(card.get(), card);
  return card;
}

void roster::remove(const actor_card& card) {
  std::lock_guard lock{mutex_};
  cards_.erase(&card);
  if (cards_.empty())
    empty_.notify_all();
}

std::vector<actor_info> roster::list(const group_card* group) const {
  std::vector<actor_info> out;
  {
    std::lock_guard lock{mutex_};
    for (const auto& [key, card] : cards_) {
      if (group && card->group.get() != group)
        continue;
      std::string thread;
      if (card->group) {
        std::lock_guard inner{card->group->mutex};
        thread = card->group->thread;
      }
      out.push_back({card->kind, card->name, card->running ? "running" : "idle", card->mailbox,
                     "local", std::move(thread)});
    }
  }
  std::sort(out.begin(), out.end(), [](const actor_info& a, const actor_info& b) {
    return std::tuple{rank(a.kind), std::string_view{a.name}, std::string_view{a.state}}
           < std::tuple{rank(b.kind), std::string_view{b.name}, std::string_view{b.state}};
  });
  return out;
}

std::size_t roster::size() const {
  std::lock_guard lock{mutex_};
  return cards_.size();
}

void roster::wait_until_empty() const {
  std::unique_lock lock{mutex_};
  empty_.wait(lock, [this] { return cards_.empty(); });
}

} // namespace troupe
