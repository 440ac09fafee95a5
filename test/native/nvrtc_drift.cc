// Holds native/nvrtc_api.h against a real nvrtc.h: it compiles, or they have drifted.
#include <nvrtc.h>

#include <type_traits>

#include "nvrtc_api.h"

namespace nvrtc = p2p::nvrtc;

namespace {

template <typename A, typename B>
constexpr bool sameShape = sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;

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

#define SAME_CALL(result, name, ...) \
  static_assert(SameCall<decltype(nvrtc::EntryPoints::name), decltype(&::name)>::value, #name);
P2P_NVRTC_ENTRY_POINTS(SAME_CALL)

#define SAME(ours, theirs) static_assert(static_cast<int>(nvrtc::ours) == static_cast<int>(theirs), #theirs)
SAME(kSuccess, NVRTC_SUCCESS);
SAME(kOutOfMemory, NVRTC_ERROR_OUT_OF_MEMORY);
SAME(kInvalidOption, NVRTC_ERROR_INVALID_OPTION);
SAME(kCompilation, NVRTC_ERROR_COMPILATION);
SAME(kBuiltinOperationFailure, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE);
SAME(kNameExpressionNotValid, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
SAME(kInternalError, NVRTC_ERROR_INTERNAL_ERROR);

}  // namespace
