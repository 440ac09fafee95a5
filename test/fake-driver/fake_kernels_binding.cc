// The addon's kernel that holds a stream, and kernels that tests of the driver binding compile by these
// names.
#include <algorithm>

#include "fake_kernels.h"

using namespace fake;

namespace {

// touch(int* p): every thread adds 1.
const Kernel kTouch("touch", [](Launch& launch) {
  launch.view(0, sizeof(std::uint32_t)).add<std::uint32_t>(launch.blocks * launch.threads);
});

void scale(Launch& launch) {
  const auto factor = launch.value<float>(1);
  const auto count = launch.value<std::uint32_t>(2);
  const View data = launch.view(0, count * sizeof(float));
  std::vector<float> values(count);
  data.read(0, values.data(), count * sizeof(float));
  for (float& value : values) value *= factor;
  data.write(0, values.data(), count * sizeof(float));
}

// scale(float* p, float factor, int count), and scale<float>.
const Kernel kScale("scale", scale);
const Kernel kScaleFloat("_Zscale_float_", scale);

// echo(unsigned long long* out, …): the bytes of each further argument, one a word.
const Kernel kEcho("echo", [](Launch& launch) {
  const std::size_t count = launch.arguments.size() - 1;
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& bytes = launch.arguments[i + 1];
    std::memcpy(&words[i], bytes.data(), std::min(bytes.size(), sizeof(std::uint64_t)));
  }
  launch.view(0, count * sizeof(std::uint64_t)).write(0, words.data(), count * sizeof(std::uint64_t));
});

// pause(unsigned long long ns)
const Kernel kPause("pause", [](Launch& launch) { sleepNs(launch.value<std::uint64_t>(0)); });

// stuck(int* p): never ends.
const Kernel kStuck("stuck", [](Launch&) { waitUntil([] { return false; }); });

// fault(int* p): an illegal address, whatever it is given.
const Kernel kFault("fault", [](Launch&) { throw Broken{p2p::cu::kIllegalAddress}; });

// empty(): nothing.
const Kernel kEmpty("empty", [](Launch&) {});

}  // namespace
