// What one JavaScript environment holds of the addon; destroyed when the environment ends.
#pragma once

#include <napi.h>

#include <map>
#include <memory>

#include "context.h"

namespace p2p {

struct AddonData {
  Napi::FunctionReference executorClass;
  Napi::FunctionReference bufferClass;
  // Contexts used once stay retained, because making one takes hundreds of milliseconds.
  std::map<int, std::shared_ptr<DeviceContext>> contexts;

  const std::shared_ptr<DeviceContext>& retain(int gpu) {
    std::shared_ptr<DeviceContext>& context = contexts[gpu];
    if (!context) context = DeviceContext::of(gpu);
    return context;
  }
};

inline AddonData& addonData(Napi::Env env) {
  return *env.GetInstanceData<AddonData>();
}

}  // namespace p2p
