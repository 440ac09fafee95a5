// What one JavaScript environment holds of the addon; destroyed when the environment ends.
#pragma once

#include <napi.h>

#include <map>
#include <memory>
#include <vector>

#include "context.h"
#include "executor.h"
#include "ipc_memory.h"
#include "memory_block.h"
#include "probe.h"
#include "setup_costs.h"

namespace p2p {

struct AddonData {
  Napi::FunctionReference executorClass;
  Napi::FunctionReference probeClass;
  Napi::FunctionReference bufferClass;
  Napi::FunctionReference setupClass;
  Napi::FunctionReference exportClass;
  // Contexts used once stay retained, because making one takes hundreds of milliseconds.
  std::map<int, std::shared_ptr<DeviceContext>> contexts;

  // What is open, to be closed when the process ends; the objects themselves belong to JavaScript.
  std::vector<std::weak_ptr<Executor>> executors;
  std::vector<std::weak_ptr<Probe>> probes;
  std::vector<std::weak_ptr<Block>> blocks;
  std::vector<std::weak_ptr<SetupCosts>> setups;
  std::vector<std::weak_ptr<Exported>> exports;

  template <typename T>
  static void track(std::vector<std::weak_ptr<T>>& list, const std::shared_ptr<T>& item) {
    std::erase_if(list, [](const std::weak_ptr<T>& known) { return known.expired(); });
    list.push_back(item);
  }

  // Cancels calls in flight, waits a moment for them to end, and lets go of everything. The driver takes
  // itself down when the process exits, and must not meet our calls then; collectors do not run at
  // process.exit().
  void closeAll();

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
