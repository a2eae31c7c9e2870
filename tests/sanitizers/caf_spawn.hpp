// Included ahead of every source in sanitized builds.
//
// CAF 0.17 keeps the arguments of a spawned function in a shared_ptr<tuple<…>>, leaves it null when
// it has no arguments, and then evaluates `*args` all the same. Nothing is read through it, yet the
// library's assertion and UBSan stop there, and rightly. With a tuple to refer to in this one case
// they can stay on, and fatal, everywhere else.
#pragma once

#include <memory>
#include <tuple>

namespace std {
template <_Lock_policy Policy> class __shared_ptr_access<tuple<>, Policy, false, false> {
public:
  using element_type = tuple<>;

  tuple<>& operator*() const noexcept {
    static tuple<> none;
    return get() ? *get() : none;
  }

  tuple<>* operator->() const noexcept { return get(); }

private:
  tuple<>* get() const noexcept {
    return static_cast<const __shared_ptr<tuple<>, Policy>*>(this)->get();
  }
};
} // namespace std
