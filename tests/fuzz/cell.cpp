#include "tests/fuzz/cell.hpp"

#include <algorithm>

namespace troupe::fuzz {
namespace {

failure refused() {
  return {"InvalidUpdateError", ""};
}

value folded(channel_rule how, const value& a, const value& b) {
  switch (how) {
    case channel_rule::sum: return a.as_int() + b.as_int();
    case channel_rule::maximum: return std::max(a.as_int(), b.as_int());
    case channel_rule::merge: {
      auto out = a;
      for (const auto& e : b.entries())
        out = out.with(e.key(), e.val);
      return out;
    }
    default: {
      std::vector<value> items(a.items().begin(), a.items().end());
      items.insert(items.end(), b.items().begin(), b.items().end());
      return value::list(std::move(items));
    }
  }
}

bool is_overwrite(const value& v) {
  return v.is(value_kind::overwrite);
}

} // namespace

std::optional<value> cell_rule::initial() const {
  if (is != reducer && is != delta)
    return std::nullopt;
  switch (fold) {
    case channel_rule::sum: return value(0);
    case channel_rule::maximum: return std::nullopt;
    case channel_rule::merge: return value::map();
    default: return value::list();
  }
}

cell_rule rule_of(channel_rule declared) {
  cell_rule out;
  out.fold = declared;
  switch (declared) {
    case channel_rule::last: out.is = cell_rule::last; break;
    case channel_rule::any: out.is = cell_rule::any; break;
    case channel_rule::ephemeral_unguarded: out.guard = false; [[fallthrough]];
    case channel_rule::ephemeral: out.is = cell_rule::ephemeral; break;
    case channel_rule::untracked_unguarded: out.guard = false; [[fallthrough]];
    case channel_rule::untracked: out.is = cell_rule::untracked; break;
    case channel_rule::topic_accumulating: out.accumulate = true; [[fallthrough]];
    case channel_rule::topic: out.is = cell_rule::topic; break;
    case channel_rule::delta_append: out.is = cell_rule::delta; break;
    default: out.is = cell_rule::reducer; break;
  }
  return out;
}

bool cell::available() const {
  if (rule_->is == cell_rule::barrier)
    return arrived_ == rule_->names && (!rule_->after_finish || finished_);
  if (rule_->is == cell_rule::last_after_finish)
    return held_ && finished_;
  if (rule_->is == cell_rule::topic)
    return held_ && !held_->empty();
  return held_.has_value();
}

bool cell::update(const std::vector<value>& writes) {
  switch (rule_->is) {
    case cell_rule::last:
    case cell_rule::untracked:
      if (writes.empty())
        return false;
      if (writes.size() > 1 && (rule_->is == cell_rule::last || rule_->guard))
        throw refused();
      held_ = writes.back();
      return true;
    case cell_rule::last_after_finish:
      if (writes.empty())
        return false;
      held_ = writes.back();
      finished_ = false;
      return true;
    case cell_rule::any:
    case cell_rule::ephemeral: {
      if (writes.empty()) {
        bool had = held_.has_value();
        held_.reset();
        return had;
      }
      if (writes.size() > 1 && rule_->is == cell_rule::ephemeral && rule_->guard)
        throw refused();
      held_ = writes.back();
      return true;
    }
    case cell_rule::topic: {
      bool changed = false;
      if (!held_)
        held_ = value::list();
      if (!rule_->accumulate) {
        changed = !held_->empty();
        held_ = value::list();
      }
      for (const auto& w : writes) {
        std::vector<value> more{w};
        if (w.is_list())
          more.assign(w.items().begin(), w.items().end());
        changed = changed || !more.empty();
        held_ = held_->append_all(more);
      }
      return changed;
    }
    case cell_rule::reducer:
    case cell_rule::delta: return fold(writes);
    case cell_rule::barrier: return arrive(writes);
  }
  return false;
}

bool cell::fold(const std::vector<value>& writes) {
  if (writes.empty())
    return false;
  if (std::count_if(writes.begin(), writes.end(), is_overwrite) > 1)
    throw refused();
  auto replaced = std::find_if(writes.begin(), writes.end(), is_overwrite);
  if (replaced != writes.end()) {
    held_ = replaced->payload();
    return true;
  }
  for (const auto& w : writes)
    held_ = held_ ? folded(rule_->fold, *held_, w) : w;
  return true;
}

bool cell::arrive(const std::vector<value>& writes) {
  bool changed = false;
  for (const auto& w : writes)
    changed = arrived_.insert(std::string{w.as_string()}).second || changed;
  return changed;
}

bool cell::consume() {
  if (rule_->is == cell_rule::barrier) {
    if (!available())
      return false;
    arrived_.clear();
    finished_ = false;
    return true;
  }
  if (rule_->is == cell_rule::last_after_finish && finished_) {
    held_.reset();
    finished_ = false;
    return true;
  }
  return false;
}

bool cell::finish() {
  bool waits = rule_->is == cell_rule::last_after_finish
                 ? held_.has_value()
                 : rule_->is == cell_rule::barrier && rule_->after_finish
                     && arrived_ == rule_->names;
  if (!waits || finished_)
    return false;
  finished_ = true;
  return true;
}

} // namespace troupe::fuzz
