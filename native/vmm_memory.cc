#include "vmm_memory.h"

#include <cstdint>
#include <string>

#include "driver_library.h"

namespace p2p {

namespace {

cu::MemoryAllocationProp propertiesOf(int gpu) {
  cu::MemoryAllocationProp properties{};
  properties.type = cu::kAllocationPinned;
  properties.location = {cu::kLocationDevice, gpu};
  return properties;
}

std::string sized(std::size_t bytes) {
  return "(" + std::to_string(bytes) + " bytes)";
}

}  // namespace

std::size_t vmmSize(int gpu, std::size_t bytes) {
  int supported = 0;
  P2P_CALL(cuDeviceGetAttribute, &supported, cu::kAttributeVirtualMemorySupported, deviceOf(gpu));
  if (!supported)
    throw notAvailable("GPU " + std::to_string(gpu) + " has no virtual memory functions",
                       "Use the allocator \"malloc\".");
  const cu::MemoryAllocationProp properties = propertiesOf(gpu);
  std::size_t unit = 0;
  P2P_CALL(cuMemGetAllocationGranularity, &unit, &properties, cu::kGranularityRecommended);
  if (unit == 0 || bytes > SIZE_MAX - unit)
    throw usage(std::to_string(bytes) + " bytes cannot be mapped", "Use smaller buffers.");
  return (bytes + unit - 1) / unit * unit;
}

cu::MemoryHandle importMemory(int file) {
  cu::MemoryHandle handle = 0;
  P2P_CALL(cuMemImportFromShareableHandle, &handle,
           reinterpret_cast<void*>(static_cast<std::uintptr_t>(file)), cu::kHandlePosixFile);
  return handle;
}

PhysicalMemory::PhysicalMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes, bool exportable)
    : context_(std::move(context)), bytes_(bytes) {
  cu::MemoryAllocationProp properties = propertiesOf(context_->gpu());
  if (exportable) properties.requestedHandleTypes = cu::kHandlePosixFile;
  const cu::Result result = driver().cuMemCreate(&handle_, bytes, &properties, 0);
  if (result != cu::kSuccess) throw cudaFailure(result, "cuMemCreate", sized(bytes));
}

std::unique_ptr<PhysicalMemory> PhysicalMemory::imported(std::shared_ptr<DeviceContext> context,
                                                         std::size_t bytes, int file) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): its constructor is private
  return std::unique_ptr<PhysicalMemory>(new PhysicalMemory(std::move(context), bytes, importMemory(file)));
}

PhysicalMemory::~PhysicalMemory() {
  noteRelease(driver().cuMemRelease(handle_));
}

AddressRange::AddressRange(std::size_t bytes) : bytes_(bytes) {
  const cu::Result result = driver().cuMemAddressReserve(&address_, bytes, 0, 0, 0);
  if (result != cu::kSuccess) throw cudaFailure(result, "cuMemAddressReserve", sized(bytes));
}

AddressRange::~AddressRange() {
  noteRelease(driver().cuMemAddressFree(address_, bytes_));
}

MemoryMapping::MemoryMapping(const AddressRange& range, const PhysicalMemory& memory)
    : address_(range.address()), bytes_(memory.bytes()) {
  const cu::Result result = driver().cuMemMap(address_, bytes_, 0, memory.handle(), 0);
  if (result != cu::kSuccess) throw cudaFailure(result, "cuMemMap", sized(bytes_));
}

MemoryMapping::~MemoryMapping() {
  noteRelease(driver().cuMemUnmap(address_, bytes_));
}

void MemoryMapping::allow(int gpu, bool access) {
  const cu::MemoryAccessDesc wish{{cu::kLocationDevice, gpu},
                                  access ? cu::kAccessReadWrite : cu::kAccessNone};
  const cu::Result result = driver().cuMemSetAccess(address_, bytes_, &wish, 1);
  if (result != cu::kSuccess)
    throw cudaFailure(result, "cuMemSetAccess", "(for GPU " + std::to_string(gpu) + ")");
}

VmmMemory::VmmMemory(std::shared_ptr<DeviceContext> context, std::size_t bytes, std::span<const int> peers)
    : memory_(context, vmmSize(context->gpu(), bytes)), range_(memory_.bytes()), mapping_(range_, memory_) {
  mapping_.allow(context->gpu(), true);
  for (const int gpu : peers) mapping_.allow(gpu, true);
}

}  // namespace p2p
