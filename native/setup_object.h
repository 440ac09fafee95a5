// NativeSetup and NativeExport: the JavaScript faces of SetupCosts and ExportedMemory.
#pragma once

#include <napi.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "discard.h"
#include "ipc_memory.h"
#include "setup_costs.h"

namespace p2p {

class SetupObject : public Napi::ObjectWrap<SetupObject> {
 public:
  static Napi::Function define(Napi::Env env);
  // setup(): makes the work ready on another thread.
  static Napi::Value prepare(const Napi::CallbackInfo& info);

  // Called by prepare only; JavaScript cannot make one by itself.
  explicit SetupObject(const Napi::CallbackInfo& info);
  ~SetupObject() override { discard(std::move(costs_)); }
  SetupObject(const SetupObject&) = delete;
  SetupObject& operator=(const SetupObject&) = delete;

 private:
  Napi::Value time(const Napi::CallbackInfo& info);
  Napi::Value checked(const Napi::CallbackInfo& info);
  void cancel(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  // Shared with the work in flight, so that a collected object does not take it away.
  std::shared_ptr<SetupCosts> costs_;
};

class ExportObject : public Napi::ObjectWrap<ExportObject> {
 public:
  static Napi::Function define(Napi::Env env);
  // exportMemory(): allocates, fills and exports on another thread.
  static Napi::Value prepare(const Napi::CallbackInfo& info);

  // Called by prepare only; JavaScript cannot make one by itself.
  explicit ExportObject(const Napi::CallbackInfo& info);
  ~ExportObject() override { discard(std::move(memory_)); }
  ExportObject(const ExportObject&) = delete;
  ExportObject& operator=(const ExportObject&) = delete;

 private:
  Napi::Value handle(const Napi::CallbackInfo& info);
  Napi::Value file(const Napi::CallbackInfo& info);
  Napi::Value changedBytes(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  // Shared with the environment, which empties it when the process ends.
  std::shared_ptr<Exported> memory_;
};

static_assert(!std::is_copy_constructible_v<SetupObject> && !std::is_copy_constructible_v<ExportObject>);

}  // namespace p2p
