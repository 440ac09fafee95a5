// Set-up work on virtual memory: the steps from physical memory to an address that a GPU may use.
#include <unistd.h>

#include "clock.h"
#include "driver_library.h"
#include "ipc_memory.h"
#include "setup_costs.h"

namespace p2p {

namespace {

cu::MemoryAllocationProp propertiesOn(int gpu) {
  cu::MemoryAllocationProp properties{};
  properties.type = cu::kAllocationPinned;
  properties.location = {cu::kLocationDevice, gpu};
  return properties;
}

// `bytes` rounded up to what the GPU maps at once.
std::size_t wholeBytes(int gpu, std::uint64_t bytes) {
  const cu::MemoryAllocationProp properties = propertiesOn(gpu);
  std::size_t unit = 0;
  P2P_CALL(cuMemGetAllocationGranularity, &unit, &properties, cu::kGranularityMinimum);
  return (bytes + unit - 1) / unit * unit;
}

// Physical memory of a GPU.
class Physical {
 public:
  Physical(int gpu, std::size_t bytes, cu::MemoryHandleType handles = cu::kHandleNone) {
    cu::MemoryAllocationProp properties = propertiesOn(gpu);
    properties.requestedHandleTypes = handles;
    P2P_CALL(cuMemCreate, &handle_, bytes, &properties, 0);
  }
  ~Physical() { noteRelease(driver().cuMemRelease(handle_)); }
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  cu::MemoryHandle handle() const { return handle_; }

 private:
  cu::MemoryHandle handle_ = 0;
};

// Addresses with nothing behind them.
class AddressRange {
 public:
  explicit AddressRange(std::size_t bytes) : bytes_(bytes) {
    P2P_CALL(cuMemAddressReserve, &address_, bytes, 0, 0, 0);
  }
  ~AddressRange() { noteRelease(driver().cuMemAddressFree(address_, bytes_)); }
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  cu::DevicePtr address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  cu::DevicePtr address_ = 0;
  std::size_t bytes_;
};

// Physical memory at addresses; taken away by unmap(), or at the end.
class Mapping {
 public:
  Mapping(const AddressRange& range, const Physical& memory) : range_(range) {
    P2P_CALL(cuMemMap, range.address(), range.bytes(), 0, memory.handle(), 0);
  }
  ~Mapping() {
    if (mapped_) noteRelease(driver().cuMemUnmap(range_.address(), range_.bytes()));
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  cu::Result unmap() {
    mapped_ = false;
    return driver().cuMemUnmap(range_.address(), range_.bytes());
  }

 private:
  const AddressRange& range_;
  bool mapped_ = true;
};

class VmmWork : public SetupWork {
 public:
  // `owner` has the memory.
  VmmWork(int owner, std::uint64_t bytes) : owner_(owner), bytes_(wholeBytes(owner, bytes)) {}

  std::string checked() const override {
    return "of " + std::to_string(bytes_) + " bytes, the size rounded up to the granularity of the GPU";
  }

 protected:
  int owner_;
  std::size_t bytes_;
};

// vmm-create: cuMemCreate. Undone by cuMemRelease.
class Create : public VmmWork {
 public:
  using VmmWork::VmmWork;
  double once() override {
    const std::uint64_t t0 = nowNs();
    const Physical memory(owner_, bytes_);
    return static_cast<double>(nowNs() - t0);
  }
};

// vmm-map: cuMemAddressReserve and cuMemMap.
class Map : public VmmWork {
 public:
  Map(int owner, std::uint64_t bytes) : VmmWork(owner, bytes), memory_(owner, bytes_) {}
  double once() override {
    const std::uint64_t t0 = nowNs();
    const AddressRange range(bytes_);
    const Mapping mapping(range, memory_);
    return static_cast<double>(nowNs() - t0);
  }

 private:
  Physical memory_;
};

// vmm-access: cuMemSetAccess, read and write for one GPU, of a fresh mapping of the owner's memory.
class Access : public VmmWork {
 public:
  Access(int gpu, int owner, std::uint64_t bytes)
      : VmmWork(owner, bytes), gpu_(gpu), memory_(owner, bytes_) {}

  double once() override {
    const AddressRange range(bytes_);
    const Mapping mapping(range, memory_);
    const cu::MemoryAccessDesc grant{{cu::kLocationDevice, gpu_}, cu::kAccessReadWrite};
    const std::uint64_t t0 = nowNs();
    const cu::Result granted = driver().cuMemSetAccess(range.address(), range.bytes(), &grant, 1);
    const std::uint64_t t1 = nowNs();
    check(granted, "cuMemSetAccess");
    return static_cast<double>(t1 - t0);
  }

 private:
  int gpu_;
  Physical memory_;
};

// vmm-unmap: cuMemUnmap of a mapping that the owner could access. The addresses are freed outside of it.
class Unmap : public VmmWork {
 public:
  Unmap(int owner, std::uint64_t bytes) : VmmWork(owner, bytes), memory_(owner, bytes_) {}

  double once() override {
    const AddressRange range(bytes_);
    Mapping mapping(range, memory_);
    const cu::MemoryAccessDesc grant{{cu::kLocationDevice, owner_}, cu::kAccessReadWrite};
    P2P_CALL(cuMemSetAccess, range.address(), range.bytes(), &grant, 1);
    const std::uint64_t t0 = nowNs();
    const cu::Result unmapped = mapping.unmap();
    const std::uint64_t t1 = nowNs();
    check(unmapped, "cuMemUnmap");
    return static_cast<double>(t1 - t0);
  }

 private:
  Physical memory_;
};

// vmm-export: cuMemExportToShareableHandle, a new file descriptor each time.
class Export : public VmmWork {
 public:
  Export(int owner, std::uint64_t bytes)
      : VmmWork(owner, bytes), memory_(owner, bytes_, cu::kHandlePosixFile) {}

  double once() override {
    int file = -1;
    const std::uint64_t t0 = nowNs();
    const cu::Result exported =
        driver().cuMemExportToShareableHandle(&file, memory_.handle(), cu::kHandlePosixFile, 0);
    const std::uint64_t t1 = nowNs();
    check(exported, "cuMemExportToShareableHandle");
    close(file);
    return static_cast<double>(t1 - t0);
  }

 private:
  Physical memory_;
};

// vmm-import: cuMemImportFromShareableHandle of memory that another process exported. Undone by cuMemRelease.
class Import : public SetupWork {
 public:
  Import(const SetupRequest& request, const SetupContext& context) : request_(request) {
    const std::uint64_t wrong =
        wrongBytesOf(request.file, request.bytes, context, request.peer < 0 ? context->gpu() : request.peer);
    if (wrong == 0) return;
    throw usage(
        std::to_string(wrong) + " bytes of the memory that another process exported are wrong",
        "Imported memory must show what its owner wrote; look at the driver's version and the kernel log.");
  }

  double once() override {
    const std::uint64_t t0 = nowNs();
    const cu::MemoryHandle handle = importMemory(request_.file);
    const std::uint64_t t1 = nowNs();
    check(driver().cuMemRelease(handle), "cuMemRelease");
    return static_cast<double>(t1 - t0);
  }

  std::string checked() const override {
    return "another process imported the memory and read all " + std::to_string(request_.bytes) +
           " bytes as the owner wrote them";
  }

 private:
  SetupRequest request_;
};

}  // namespace

std::unique_ptr<SetupWork> setupOfVmm(const SetupRequest& request, const SetupContext& context) {
  switch (request.kind) {
    case SetupKind::kVmmCreate:
      return std::make_unique<Create>(context->gpu(), request.bytes);
    case SetupKind::kVmmMap:
      return std::make_unique<Map>(context->gpu(), request.bytes);
    case SetupKind::kVmmAccess:
      return std::make_unique<Access>(context->gpu(), request.peer, request.bytes);
    case SetupKind::kVmmExport:
      return std::make_unique<Export>(context->gpu(), request.bytes);
    case SetupKind::kVmmImport:
      return std::make_unique<Import>(request, context);
    default:
      return std::make_unique<Unmap>(context->gpu(), request.bytes);
  }
}

}  // namespace p2p
