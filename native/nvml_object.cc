#include "nvml_object.h"

#include <string>
#include <vector>

#include "arguments.h"
#include "js_errors.h"
#include "nvml_facts.h"
#include "nvml_library.h"
#include "nvml_pair.h"
#include "nvml_state.h"
#include "promise_worker.h"

namespace p2p {

namespace {

Napi::Value valueOf(Napi::Env env, double value) {
  return Napi::Number::New(env, value);
}

Napi::Value valueOf(Napi::Env env, bool value) {
  return Napi::Boolean::New(env, value);
}

Napi::Value valueOf(Napi::Env env, const std::string& value) {
  return Napi::String::New(env, value);
}

Napi::Value valueOf(Napi::Env env, unsigned long long events) {
  Napi::Array names = Napi::Array::New(env);
  for (const std::string& name : clocksEventNames(events)) names.Set(names.Length(), name);
  return names;
}

Napi::Value valueOf(Napi::Env env, const std::vector<GpuProcess>& processes) {
  Napi::Array list = Napi::Array::New(env);
  for (const GpuProcess& process : processes) {
    Napi::Object one = Napi::Object::New(env);
    one.Set("pid", process.pid);
    one.Set("memoryBytes",
            process.memoryBytes ? Napi::Value(Napi::Number::New(env, *process.memoryBytes)) : env.Null());
    one.Set("own", process.own);
    list.Set(list.Length(), one);
  }
  return list;
}

// An object of values, null where there is none, and why in `missing`.
template <typename Readings>
Napi::Object objectOf(Napi::Env env, const Readings& readings) {
  Napi::Object object = Napi::Object::New(env);
  Napi::Object missing = Napi::Object::New(env);
  visitReadings(readings, [&](const char* name, const auto& reading) {
    object.Set(name, reading.value ? valueOf(env, *reading.value) : env.Null());
    if (!reading.value) missing.Set(name, reasonOf(reading.unread));
  });
  object.Set("missing", missing);
  return object;
}

template <typename Link>
Napi::Array linksOf(Napi::Env env, const std::vector<Link>& links) {
  Napi::Array list = Napi::Array::New(env);
  for (const Link& link : links) {
    Napi::Object one = objectOf(env, link);
    one.Set("link", link.link);
    list.Set(list.Length(), one);
  }
  return list;
}

Napi::Object stateOf(Napi::Env env, const GpuState& state) {
  Napi::Object object = objectOf(env, state);
  object.Set("links", linksOf(env, state.links));
  return object;
}

}  // namespace

Napi::Object nvmlAvailability(Napi::Env env) {
  const NvmlLibraryState& state = nvmlLibraryState();
  const auto textOrNull = [&](const std::string& text) {
    return text.empty() ? env.Null() : Napi::Value(Napi::String::New(env, text));
  };
  Napi::Object library = Napi::Object::New(env);
  library.Set("available", state.available);
  library.Set("reason", textOrNull(state.reason));
  library.Set("version", textOrNull(state.version));
  library.Set("driverVersion", textOrNull(state.driverVersion));
  library.Set("path", textOrNull(state.path));
  return library;
}

Napi::Value nvmlFacts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "nvmlFacts", 1);
    const GpuFacts facts = gpuFacts(arguments.ordinal(0, "gpu"));
    Napi::Object object = objectOf(env, facts);
    object.Set("joinedBy", facts.joinedBy);
    object.Set("links", linksOf(env, facts.links));
    return object;
  });
}

Napi::Value nvmlState(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "nvmlState", 1);
    return stateOf(env, gpuState(arguments.ordinal(0, "gpu")));
  });
}

// Off the event loop: the counters of many links take the driver tens of milliseconds.
Napi::Value nvmlStateLater(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "nvmlStateLater", 1);
    return PromiseWorker<GpuState>::start(
        env, [gpu = arguments.ordinal(0, "gpu")] { return gpuState(gpu); },
        [](Napi::Env finishing, GpuState& state) -> Napi::Value { return stateOf(finishing, state); });
  });
}

Napi::Value nvmlClocks(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "nvmlClocks", 1);
    return objectOf(env, gpuClocks(arguments.ordinal(0, "gpu")));
  });
}

Napi::Value nvmlPair(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "nvmlPair", 2);
    return objectOf(env, gpuPair(arguments.ordinal(0, "from"), arguments.ordinal(1, "to")));
  });
}

}  // namespace p2p
