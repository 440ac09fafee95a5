// One value that NVML tells, or which of its errors it gave instead. Every single one is optional.
#pragma once

#include <optional>
#include <string>
#include <type_traits>

#include "nvml_api.h"

namespace p2p {

// The call that gave no value. A call that this driver's NVML lacks counts as NVML_ERROR_FUNCTION_NOT_FOUND.
struct Unread {
  const char* call = "";
  nvml::Result result = nvml::kSuccess;
};

// `nvmlDeviceGetPowerUsage: NVML_ERROR_NOT_SUPPORTED`; of a call that is lacking also since when NVML has it.
std::string reasonOf(const Unread& unread);

template <typename T>
struct Reading {
  std::optional<T> value;
  // Meaningful when there is no value.
  Unread unread;
};

template <typename T>
Reading<T> unread(const char* call, nvml::Result result) {
  return {std::nullopt, {call, result}};
}

// Calls one entry point whose last parameter receives the value. `make` turns what it gave into what is told.
template <typename Raw, typename Call, typename Make>
auto readWith(const char* name, bool present, Call call, Make make)
    -> Reading<std::decay_t<decltype(make(std::declval<Raw&>()))>> {
  using T = std::decay_t<decltype(make(std::declval<Raw&>()))>;
  if (!present) return unread<T>(name, nvml::kFunctionNotFound);
  Raw raw{};
  if (const nvml::Result result = call(&raw); result != nvml::kSuccess) return unread<T>(name, result);
  return {make(raw), {}};
}

}  // namespace p2p

// Reads one value by an entry point of the table `entries`; the arguments are those before the receiving one.
#define P2P_NVML_READ(Raw, make, function, ...) \
  ::p2p::readWith<Raw>(                         \
      #function, entries.function != nullptr,   \
      [&](Raw* receiver) { return entries.function(__VA_ARGS__, receiver); }, make)
