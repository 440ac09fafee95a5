#include "probe_resources.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "clock.h"
#include "driver_library.h"

namespace p2p {

namespace {

constexpr std::size_t kServiceWords = 4;

}  // namespace

ProbeResources::ProbeResources(const ProbeRows& probe) : probe_(probe) {
  for (const int gpu : probe.gpus) contexts_[gpu];
  for (const BufferRow& buffer : probe.buffers) {
    if (buffer.place == Place::kDevice) contexts_[buffer.gpu];
  }
  for (const PeerRow& peer : probe.peers) {
    contexts_[peer.from];
    contexts_[peer.to];
  }
  DeviceContext::ofAll(contexts_);

  const std::shared_ptr<DeviceContext>& first = contexts_.at(probe.gpus.front());
  for (const BufferRow& buffer : probe.buffers) {
    if (buffer.place == Place::kDevice) {
      addDeviceMemory(buffer);
    } else {
      pinnedMemory_.push_back(std::make_unique<PinnedMemory>(first, buffer.bytes));
      addresses_.push_back(reinterpret_cast<cu::DevicePtr>(pinnedMemory_.back()->data()));
    }
  }
  shared_ = std::make_unique<PinnedMemory>(first, sizeof(Shared));
  new (shared_->data()) Shared{};
  for (const int gpu : probe.gpus) streams_.push_back(std::make_unique<Stream>(contexts_.at(gpu)));
  for (const auto& [gpu, context] : contexts_) {
    Service& service = services_[gpu];
    service.stream = std::make_unique<Stream>(context);
    service.words = std::make_unique<DeviceMemory>(context, kServiceWords * sizeof(std::uint64_t));
  }
}

// As in Resources: memory of pools and of the virtual memory functions is opened to exactly the GPUs that the
// probe lets access it.
void ProbeResources::addDeviceMemory(const BufferRow& buffer) {
  const std::shared_ptr<DeviceContext>& context = contexts_.at(buffer.gpu);
  std::vector<int> peers;
  for (const PeerRow& peer : probe_.peers) {
    if (peer.to == buffer.gpu && peer.enabled) peers.push_back(peer.from);
  }
  switch (buffer.allocator) {
    case Allocator::kMalloc:
      deviceMemory_.push_back(std::make_unique<DeviceMemory>(context, buffer.bytes));
      addresses_.push_back(deviceMemory_.back()->address());
      break;
    case Allocator::kPool:
      poolMemory_.push_back(std::make_unique<PoolMemory>(context, buffer.bytes, peers));
      addresses_.push_back(poolMemory_.back()->address());
      break;
    case Allocator::kVmm:
      vmmMemory_.push_back(std::make_unique<VmmMemory>(context, buffer.bytes, peers));
      addresses_.push_back(vmmMemory_.back()->address());
      break;
    case Allocator::kIpc:
      // The rows of a probe have no such place.
      throw std::logic_error("a probe was given memory of another process");
  }
}

void ProbeResources::reset() const {
  std::memset(shared().reports, 0, sizeof shared().reports);
  shared().meeting = {};
}

void ProbeResources::launch(int gpu, const Stream& stream, Kernel kernel, unsigned blocks, unsigned threads,
                            std::span<void*> arguments) const {
  const DeviceContext& context = *contexts_.at(gpu);
  const CurrentContext current(context);
  P2P_CALL(cuLaunchKernel, context.kernel(kernel), blocks, 1, 1, threads, 1, 1, 0, stream.handle(),
           arguments.data(), nullptr);
}

void ProbeResources::launchWide(int gpu, Kernel kernel, std::uint64_t count,
                                std::span<void*> arguments) const {
  constexpr unsigned kThreads = 256;
  const auto most = static_cast<std::uint64_t>(contexts_.at(gpu)->multiprocessors()) * 8;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::uint64_t>((count + kThreads - 1) / kThreads, 1, most));
  launch(gpu, service(gpu), kernel, blocks, kThreads, arguments);
}

void ProbeResources::wait(const Stream& stream, std::uint64_t limitNs, const char* what) const {
  const cu::Result result = stream.poll(nowNs() + limitNs);
  if (result == cu::kSuccess) return;
  throw cudaFailure(
      result, "cuStreamQuery",
      "(while " + std::string(what) + " on GPU " + std::to_string(stream.context()->gpu()) + ")");
}

void ProbeResources::putAt(int gpu, cu::DevicePtr address, std::uint64_t value, std::uint64_t limitNs) const {
  const CurrentContext current(*contexts_.at(gpu));
  shared().words[0] = value;
  P2P_CALL(cuMemcpyAsync, address, reinterpret_cast<cu::DevicePtr>(shared().words), sizeof value,
           service(gpu).handle());
  wait(service(gpu), limitNs, "setting a word");
}

void ProbeResources::put(std::size_t buffer, std::uint64_t value, std::uint64_t limitNs) const {
  if (probe_.buffers[buffer].place == Place::kDevice)
    putAt(probe_.buffers[buffer].gpu, address(buffer), value, limitNs);
  else
    std::memcpy(host(buffer), &value, sizeof value);
}

std::uint64_t ProbeResources::readWord(int gpu, cu::DevicePtr address, std::uint64_t limitNs) const {
  const CurrentContext current(*contexts_.at(gpu));
  P2P_CALL(cuMemcpyAsync, reinterpret_cast<cu::DevicePtr>(shared().words), address, sizeof(std::uint64_t),
           service(gpu).handle());
  wait(service(gpu), limitNs, "reading back a word");
  return shared().words[0];
}

std::vector<std::uint64_t> ProbeResources::readBack(std::size_t buffer, std::size_t count,
                                                    std::uint64_t limitNs) const {
  std::vector<std::uint64_t> values(count);
  const std::size_t bytes = count * sizeof(std::uint64_t);
  if (probe_.buffers[buffer].place != Place::kDevice) {
    std::memcpy(values.data(), host(buffer), bytes);
    return values;
  }
  const int gpu = probe_.buffers[buffer].gpu;
  const CurrentContext current(*contexts_.at(gpu));
  P2P_CALL(cuMemcpyAsync, reinterpret_cast<cu::DevicePtr>(shared().words), address(buffer), bytes,
           service(gpu).handle());
  wait(service(gpu), limitNs, "reading back");
  std::memcpy(values.data(), shared().words, bytes);
  return values;
}

void ProbeResources::clearWords(int gpu, std::uint64_t limitNs) const {
  putAt(gpu, words(gpu), 0, limitNs);
  putAt(gpu, words(gpu) + sizeof(std::uint64_t), 0, limitNs);
}

std::pair<std::uint64_t, std::uint64_t> ProbeResources::readWords(int gpu, std::uint64_t limitNs) const {
  const CurrentContext current(*contexts_.at(gpu));
  P2P_CALL(cuMemcpyAsync, reinterpret_cast<cu::DevicePtr>(shared().words), words(gpu),
           2 * sizeof(std::uint64_t), service(gpu).handle());
  wait(service(gpu), limitNs, "counting");
  return {shared().words[0], shared().words[1]};
}

cu::Result ProbeResources::drain(std::uint64_t deadlineNs) const {
  const auto poll = [&](const Stream& stream) {
    cu::Result result = driver().cuStreamQuery(stream.handle());
    while (result == cu::kNotReady && nowNs() < deadlineNs) {
      sched_yield();
      result = driver().cuStreamQuery(stream.handle());
    }
    return result;
  };
  for (const auto& stream : streams_) {
    if (const cu::Result result = poll(*stream); result != cu::kSuccess) return result;
  }
  for (const auto& [gpu, service] : services_) {
    if (const cu::Result result = poll(*service.stream); result != cu::kSuccess) return result;
  }
  return cu::kSuccess;
}

}  // namespace p2p
