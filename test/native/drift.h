// What the drift checks compare with: shapes of calls, numbers.
#pragma once

#include <type_traits>

// Same size and same register class: a pointer for a pointer, a whole number or enum for a whole number or
// enum.
template <typename A, typename B>
constexpr bool sameShape = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
                           (std::is_integral_v<A> || std::is_enum_v<A>) ==
                               (std::is_integral_v<B> || std::is_enum_v<B>);

template <typename A, typename B>
struct SameCall : std::false_type {};

template <typename R1, typename... A1, typename R2, typename... A2>
struct SameCall<R1 (*)(A1...), R2 (*)(A2...)> {
  static constexpr bool test() {
    if constexpr (sizeof...(A1) == sizeof...(A2))
      return sameShape<R1, R2> && (sameShape<A1, A2> && ...);
    else
      return false;
  }
  static constexpr bool value = test();
};

#define SAME(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)
