#include "executor_object.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "addon_data.h"
#include "arguments.h"
#include "js_errors.h"
#include "promise_worker.h"

namespace p2p {

namespace {

constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
constexpr double kMaxTraced = 1e6;

// A call in flight: the right to it, and what it works on.
struct Flight {
  std::shared_ptr<Executor> executor;
  Executor::Call call;

  // Works on the pool's thread; the call is over when the work is, whether or not JavaScript still hears of
  // it.
  template <typename Work>
  auto run(Work work) {
    struct End {
      Executor::Call& call;
      ~End() { call.end(); }
    };
    const End end{call};
    return work(*executor, call);
  }

  static std::shared_ptr<Flight> begin(const std::shared_ptr<Executor>& executor) {
    return std::make_shared<Flight>(Flight{executor, executor->begin()});
  }
};

ProgramRows programOf(const Napi::Object& program) {
  const auto member = [&](const char* name) -> Napi::Value { return program.Get(name); };
  const auto where = [](const char* name) { return "prepare: program." + std::string(name); };
  const auto doubles = [&](const char* name) { return float64ArrayOf(member(name), where(name)); };
  const auto integers = [&](const char* name) { return int32ArrayOf(member(name), where(name)); };
  const Napi::Float64Array buffers = doubles("buffers");
  const Napi::Int32Array streams = integers("streams");
  const Napi::Float64Array operations = doubles("operations");
  const Napi::Int32Array peers = integers("peers");
  const Napi::Float64Array sources = doubles("sources");
  const Napi::Float64Array checks = doubles("checks");
  const Napi::Value events = member("eventCount");
  if (!events.IsNumber()) throw usage(where("eventCount") + " must be a number, not " + describe(events), "");
  const double eventCount = events.As<Napi::Number>().DoubleValue();
  // Getters above may have run code: lengths and addresses are taken only now, and nothing runs until they
  // are read.
  const auto view = [](const auto& array, const char* name) {
    const auto fresh = array.template As<std::decay_t<decltype(array)>>();
    if (fresh.ArrayBuffer().IsDetached()) throw usage(std::string(name) + " was transferred away", "");
    return std::span(fresh.Data(), fresh.ElementLength());
  };
  return readProgram({view(buffers, "buffers"), view(streams, "streams"), eventCount,
                      view(operations, "operations"), view(peers, "peers"), view(sources, "sources"),
                      view(checks, "checks")});
}

// Copies the first values of a result into the caller's array, which may have been detached meanwhile.
void fillArray(const Napi::ObjectReference& reference, const std::vector<double>& values, const char* name) {
  Napi::Float64Array array = float64ArrayOf(reference.Value(), std::string("time: ") + name);
  if (array.ElementLength() < values.size())
    throw usage(std::string("time: ") + name + " became shorter during the call",
                "Leave it alone until the call ends.");
  std::copy(values.begin(), values.end(), array.Data());
}

Napi::Float64Array arrayOf(Napi::Env env, const std::vector<double>& values) {
  Napi::Float64Array array = Napi::Float64Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

Napi::Value traceObject(Napi::Env env, const Trace& trace) {
  const std::size_t n = trace.records.size();
  Napi::Uint8Array kind = Napi::Uint8Array::New(env, n);
  Napi::Int32Array device = Napi::Int32Array::New(env, n);
  std::map<std::string, Napi::String> strings;
  Napi::Array name = Napi::Array::New(env, n);
  const auto column = [&](double TraceRecord::*field) {
    Napi::Float64Array values = Napi::Float64Array::New(env, n);
    for (std::size_t i = 0; i < n; ++i) values[i] = trace.records[i].*field;
    return values;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const TraceRecord& record = trace.records[i];
    kind[i] = static_cast<std::uint8_t>(record.kind);
    device[i] = record.device;
    auto [at, isNew] = strings.try_emplace(record.name);
    if (isNew) at->second = Napi::String::New(env, record.name);
    const Napi::HandleScope scope(env);
    name.Set(static_cast<std::uint32_t>(i), at->second);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("t0", arrayOf(env, trace.t0));
  result.Set("apiEnd", arrayOf(env, trace.apiEnd));
  result.Set("t4", arrayOf(env, trace.t4));
  result.Set("kind", kind);
  result.Set("startNs", column(&TraceRecord::startNs));
  result.Set("endNs", column(&TraceRecord::endNs));
  result.Set("bytes", column(&TraceRecord::bytes));
  result.Set("correlation", column(&TraceRecord::correlation));
  result.Set("device", device);
  result.Set("stream", column(&TraceRecord::stream));
  result.Set("name", name);
  result.Set("dropped", static_cast<double>(trace.dropped));
  result.Set("cancelled", trace.cancelled);
  return result;
}

Napi::Value checksArray(Napi::Env env, const std::vector<CheckResult>& checks) {
  Napi::Array list = Napi::Array::New(env, checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const CheckResult& check = checks[i];
    Napi::Object row = Napi::Object::New(env);
    row.Set("buffer", check.buffer);
    row.Set("bytes", static_cast<double>(check.bytes));
    row.Set("wrongByOwner", static_cast<double>(check.wrongByOwner));
    row.Set("wrongByReadBack", static_cast<double>(check.wrongByReadBack));
    row.Set("sentinelBytes", static_cast<double>(check.sentinelBytes));
    row.Set("firstWrong", static_cast<double>(check.firstWrong));
    list.Set(static_cast<std::uint32_t>(i), row);
  }
  return list;
}

}  // namespace

Napi::Function ExecutorObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeExecutor",
      {InstanceMethod<&ExecutorObject::time>("time"), InstanceMethod<&ExecutorObject::trace>("trace"),
       InstanceMethod<&ExecutorObject::verify>("verify"), InstanceMethod<&ExecutorObject::cancel>("cancel"),
       InstanceMethod<&ExecutorObject::close>("close")});
}

Napi::Value ExecutorObject::prepare(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "prepare", 1);
    auto program = std::make_shared<ProgramRows>(programOf(arguments.object(0, "program")));
    return PromiseWorker<std::shared_ptr<Executor>>::start(
        env, [program] { return std::make_shared<Executor>(*program); },
        [program](Napi::Env finishEnv, std::shared_ptr<Executor>& executor) -> Napi::Value {
          AddonData& data = addonData(finishEnv);
          for (const int gpu : program->streams) data.retain(gpu);
          return data.executorClass.New(
              {Napi::External<std::shared_ptr<Executor>>::New(finishEnv, &executor)});
        });
  });
}

ExecutorObject::ExecutorObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ExecutorObject>(info) {
  if (info.Length() != 1 || !info[0].IsExternal())
    throw toJsError(info.Env(), usage("an executor cannot be made by new", "Use prepare(program)."));
  executor_ = *info[0].As<Napi::External<std::shared_ptr<Executor>>>().Data();
  AddonData::track(addonData(info.Env()).executors, executor_);
}

Napi::Value ExecutorObject::time(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "time", 3);
    const Napi::Float64Array total = arguments.doubles(0, "totalNs");
    const Napi::Float64Array api = arguments.doubles(1, "apiNs");
    const double deadlineMs = arguments.number(2, "deadlineMs", 1e-3, kMaxDeadlineMs);
    if (total.ElementLength() != api.ElementLength())
      throw usage("time: totalNs and apiNs differ in length", "Give two arrays of the same length.");
    struct Samples {
      std::vector<double> total;
      std::vector<double> api;
      Timing timing;
    };
    // Measured into memory of our own: the caller's may be detached while the call runs.
    auto samples = std::make_shared<Samples>();
    samples->total.resize(total.ElementLength());
    samples->api.resize(api.ElementLength());
    auto totalRef = std::make_shared<Napi::ObjectReference>(Napi::Persistent(total.As<Napi::Object>()));
    auto apiRef = std::make_shared<Napi::ObjectReference>(Napi::Persistent(api.As<Napi::Object>()));
    auto flight = Flight::begin(executor_);
    return PromiseWorker<std::shared_ptr<Samples>>::start(
        env,
        [flight, samples, deadlineMs] {
          samples->timing = flight->run([&](Executor& executor, const Executor::Call& call) {
            return executor.time(call, samples->total, samples->api, deadlineMs);
          });
          return samples;
        },
        [totalRef, apiRef](Napi::Env finishEnv, std::shared_ptr<Samples>& done) -> Napi::Value {
          done->total.resize(done->timing.done);
          done->api.resize(done->timing.done);
          fillArray(*totalRef, done->total, "totalNs");
          fillArray(*apiRef, done->api, "apiNs");
          Napi::Object result = Napi::Object::New(finishEnv);
          result.Set("done", static_cast<double>(done->timing.done));
          result.Set("cancelled", done->timing.cancelled);
          return result;
        });
  });
}

Napi::Value ExecutorObject::trace(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "trace", 3);
    const std::uint64_t iterations = arguments.whole(0, "iterations", 1, kMaxTraced);
    const bool full = arguments.boolean(1, "full");
    const double deadlineMs = arguments.number(2, "deadlineMs", 1e-3, kMaxDeadlineMs);
    auto flight = Flight::begin(executor_);
    return PromiseWorker<Trace>::start(
        env,
        [flight, iterations, full, deadlineMs] {
          return flight->run([&](Executor& executor, const Executor::Call& call) {
            return executor.trace(call, iterations, full, deadlineMs);
          });
        },
        [](Napi::Env finishEnv, Trace& trace) { return traceObject(finishEnv, trace); });
  });
}

Napi::Value ExecutorObject::verify(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "verify", 1);
    const double deadlineMs = arguments.number(0, "deadlineMs", 1e-3, kMaxDeadlineMs);
    auto flight = Flight::begin(executor_);
    return PromiseWorker<std::vector<CheckResult>>::start(
        env,
        [flight, deadlineMs] {
          return flight->run([&](Executor& executor, const Executor::Call& call) {
            return executor.verify(call, deadlineMs);
          });
        },
        [](Napi::Env finishEnv, std::vector<CheckResult>& checks) { return checksArray(finishEnv, checks); });
  });
}

void ExecutorObject::cancel(const Napi::CallbackInfo&) {
  executor_->cancel();
}

void ExecutorObject::close(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] { executor_->close(); });
}

}  // namespace p2p
