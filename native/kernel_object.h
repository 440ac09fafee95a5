// NativeKernel: a kernel of a module, its launches' arguments, and its timing.
#pragma once

#include "handle_object.h"
#include "work_stream.h"

namespace p2p {

class KernelObject : public HandleObject<KernelObject, DeviceKernel> {
 public:
  static constexpr napi_type_tag kTag = {0x70c9d2e845f61ab3, 0xad31fe8806b2957c};
  static constexpr const char* kWord = "kernel";
  static constexpr Napi::FunctionReference AddonData::*kClass = &AddonData::kernelClass;

  using HandleObject::HandleObject;
  static void install(Napi::Env env, AddonData& data);

 private:
  void close(const Napi::CallbackInfo&) { release(); }
  Napi::Value gpu(const Napi::CallbackInfo& info);
  Napi::Value facts(const Napi::CallbackInfo& info);
  Napi::Value time(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);

  // Of the timing in flight.
  std::weak_ptr<WorkStream> timing_;
};

// A launch as JavaScript asks for it, read and checked.
struct LaunchRequest {
  std::shared_ptr<DeviceKernel> kernel;
  LaunchShape shape;
  KernelArguments arguments;
  Uses uses;
};

// Reads three arguments from `first` on: the kernel; Float64Array of 7: grid x, y, z, block x, y, z, bytes of
// shared memory; the list of the kernel's arguments.
LaunchRequest launchRequest(const Arguments& arguments, std::size_t first, const char* function);

}  // namespace p2p
