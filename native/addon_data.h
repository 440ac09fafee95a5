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
#include "work_stream.h"

namespace p2p {

// An ad hoc object that JavaScript holds.
struct OpenHandle {
  virtual ~OpenHandle() = default;
  virtual void close() noexcept = 0;
  // Keeps the object from being destroyed when the handle is.
  virtual std::shared_ptr<const void> content() const = 0;
};

// Work of ad hoc objects off the event loop; see jobs.h.
struct Job {
  virtual ~Job() = default;
  // Ends it soon; one that has not begun never will.
  virtual void cancel() = 0;
  // Whether it holds nothing any more.
  virtual bool over() = 0;
};

struct AddonData {
  Napi::FunctionReference executorClass;
  Napi::FunctionReference probeClass;
  Napi::FunctionReference bufferClass;
  Napi::FunctionReference setupClass;
  Napi::FunctionReference exportClass;
  Napi::FunctionReference streamClass;
  Napi::FunctionReference eventClass;
  Napi::FunctionReference moduleClass;
  Napi::FunctionReference kernelClass;
  Napi::FunctionReference graphClass;
  // Contexts used once stay retained, because making one takes hundreds of milliseconds.
  std::map<int, std::shared_ptr<DeviceContext>> contexts;

  // What is open, to be closed when the process ends; the objects themselves belong to JavaScript.
  std::vector<std::weak_ptr<Executor>> executors;
  std::vector<std::weak_ptr<Probe>> probes;
  std::vector<std::weak_ptr<Block>> blocks;
  std::vector<std::weak_ptr<SetupCosts>> setups;
  std::vector<std::weak_ptr<Exported>> exports;
  std::vector<std::weak_ptr<OpenHandle>> handles;
  std::vector<std::weak_ptr<WorkStream>> streams;
  std::vector<std::shared_ptr<Job>> jobs;

  template <typename T>
  static void track(std::vector<std::weak_ptr<T>>& list, const std::shared_ptr<T>& item) {
    std::erase_if(list, [](const std::weak_ptr<T>& known) { return known.expired(); });
    list.push_back(item);
  }

  void track(const std::shared_ptr<OpenHandle>& handle) { track(handles, handle); }
  void track(const std::shared_ptr<WorkStream>& stream) { track(streams, stream); }
  void add(const std::shared_ptr<Job>& job) {
    std::erase_if(jobs, [](const std::shared_ptr<Job>& known) { return known->over(); });
    jobs.push_back(job);
  }

  // The open block that holds an address; nullptr when none does.
  Block blockAt(std::uint64_t address) const;

  // Waits until no stream has work in flight that uses the block, or any work for nullptr. Throws kNotReady
  // after 10 s.
  void settle(const MemoryBlock* block);

  // Cancels calls in flight, waits a moment for all work to end, and lets go of everything; of nothing when
  // work goes on, because freeing memory would wait for it. The driver takes itself down when the process
  // exits, and must not meet our calls then; collectors do not run at process.exit().
  void closeAll();

  const std::shared_ptr<DeviceContext>& retain(int gpu) {
    std::shared_ptr<DeviceContext>& context = contexts[gpu];
    if (!context) context = DeviceContext::of(gpu);
    return context;
  }

 private:
  // Whether no work is in flight any more.
  bool quiet();
  void keepAll();
};

inline AddonData& addonData(Napi::Env env) {
  return *env.GetInstanceData<AddonData>();
}

}  // namespace p2p
