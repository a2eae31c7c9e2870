// The callable traits: the parameter types of a callable.
#pragma once

#include <tuple>
#include <type_traits>

namespace troupe::detail {

// The parameters of a callable that has exactly one operator().
template <class F> struct callable_args {};
template <class F>
requires requires {
  &F::operator();
}
struct callable_args<F> : callable_args<decltype(&F::operator())> {};
template <class R, class... A> struct callable_args<R (*)(A...)> { using args = std::tuple<A...>; };
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...)> : callable_args<R (*)(A...)> {};
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...) const> : callable_args<R (*)(A...)> {};
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...) noexcept> : callable_args<R (*)(A...)> {};
template <class C, class R, class... A>
struct callable_args<R (C::*)(A...) const noexcept> : callable_args<R (*)(A...)> {};

template <class F>
concept plain_callable = requires {
  typename callable_args<std::decay_t<F>>::args;
};

} // namespace troupe::detail
