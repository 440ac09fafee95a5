// What the tests of the stand-in driver have in common.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "context.h"
#include "driver_library.h"
#include "expect.h"
#include "kernel_list.h"
#include "objects.h"
#include "peers.h"
#include "verify.h"

#define EXPECT_RESULT(call, expected)                                                      \
  do {                                                                                     \
    const p2p::cu::Result result = (call);                                                 \
    if (result != (expected))                                                              \
      fail(__FILE__, __LINE__, std::string(#call) + " answers " + std::to_string(result)); \
  } while (false)

#define OK(call) EXPECT_RESULT(call, p2p::cu::kSuccess)

namespace p2p {

inline constexpr std::size_t kBytes = 4096;

using SharedContext = std::shared_ptr<DeviceContext>;

// Contexts of both GPUs, a stream and memory in each.
struct Two {
  SharedContext contexts[2] = {DeviceContext::of(0), DeviceContext::of(1)};
  Stream streams[2] = {Stream(contexts[0]), Stream(contexts[1])};
  DeviceMemory memory[2] = {DeviceMemory(contexts[0], kBytes), DeviceMemory(contexts[1], kBytes)};
};

inline cu::Result settle(cu::Stream stream) {
  return driver().cuStreamSynchronize(stream);
}

inline void peer(int from, int to) {
  Peers::instance().set({DeviceContext::of(from), DeviceContext::of(to), true});
}

// Fills memory with the pattern of a seed by a kernel of that GPU.
inline cu::Result fill(const SharedContext& context, cu::Stream stream, cu::DevicePtr address,
                       std::uint64_t seed, std::uint64_t bytes = kBytes) {
  std::uint64_t offset = 0;
  std::uint32_t complement = 0;
  void* arguments[] = {&address, &bytes, &seed, &offset, &complement};
  const CurrentContext current(*context);
  return driver().cuLaunchKernel(context->kernel(Kernel::kFill), 1, 1, 1, 32, 1, 1, 0, stream, arguments,
                                 nullptr);
}

// Bytes of device memory, read by its owner.
inline std::vector<std::byte> bytesOf(const SharedContext& owner, cu::DevicePtr address,
                                      std::size_t bytes = kBytes) {
  std::vector<std::byte> data(bytes);
  const CurrentContext current(*owner);
  const Stream stream(owner);
  OK(driver().cuMemcpyAsync(reinterpret_cast<cu::DevicePtr>(data.data()), address, bytes, stream.handle()));
  OK(settle(stream.handle()));
  return data;
}

inline std::uint64_t wrong(const std::vector<std::byte>& data, std::uint64_t seed) {
  return comparePattern(data.data(), data.size(), seed, 0).wrong;
}

inline std::uint32_t wordOf(const SharedContext& owner, cu::DevicePtr address) {
  std::uint32_t word = 0;
  const std::vector<std::byte> data = bytesOf(owner, address, sizeof word);
  std::memcpy(&word, data.data(), sizeof word);
  return word;
}

using Tests = std::map<std::string, std::function<void()>>;

// The tests of each file, by name.
Tests streamTests();
Tests memoryTests();

}  // namespace p2p
