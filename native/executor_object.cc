#include "executor_object.h"

#include <algorithm>
#include <string>
#include <vector>

#include "addon_data.h"
#include "arguments.h"
#include "js_errors.h"
#include "program_object.h"
#include "promise_worker.h"
#include "results_object.h"

namespace p2p {

namespace {

constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
constexpr double kMaxTraced = 1e6;
constexpr double kMaxBatch = 1e6;
constexpr double kMaxRepetitions = 1e5;

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

// Copies the first values of a result into the caller's array, which may have been detached meanwhile.
void fillArray(const Napi::ObjectReference& reference, const std::vector<double>& values, const char* name) {
  Napi::Float64Array array = float64ArrayOf(reference.Value(), name);
  if (array.ElementLength() < values.size())
    throw usage(std::string(name) + " became shorter during the call", "Leave it alone until the call ends.");
  std::copy(values.begin(), values.end(), array.Data());
}

}  // namespace

Napi::Function ExecutorObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeExecutor",
      {InstanceMethod<&ExecutorObject::time>("time"), InstanceMethod<&ExecutorObject::trace>("trace"),
       InstanceMethod<&ExecutorObject::throughput>("throughput"),
       InstanceMethod<&ExecutorObject::graphCosts>("graphCosts"),
       InstanceAccessor<&ExecutorObject::timedStreams>("timedStreams"),
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
          for (const BufferRow& buffer : program->buffers) {
            if (buffer.gpu >= 0) data.retain(buffer.gpu);
          }
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
          fillArray(*totalRef, done->total, "time: totalNs");
          fillArray(*apiRef, done->api, "time: apiNs");
          Napi::Object result = Napi::Object::New(finishEnv);
          result.Set("done", static_cast<double>(done->timing.done));
          result.Set("cancelled", done->timing.cancelled);
          return result;
        });
  });
}

Napi::Value ExecutorObject::throughput(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "throughput", 6);
    const Napi::Float64Array total = arguments.doubles(0, "totalNs");
    const Napi::Float64Array api = arguments.doubles(1, "apiNs");
    const Napi::Float64Array streams = arguments.doubles(2, "streamNs");
    const std::uint64_t iterations = arguments.whole(3, "iterations", 0, kMaxBatch);
    const double gateMs = arguments.number(4, "gateMs", 0, kMaxDeadlineMs);
    const double deadlineMs = arguments.number(5, "deadlineMs", 1e-3, kMaxDeadlineMs);
    auto flight = Flight::begin(executor_);
    const std::size_t columns = executor_->timedStreams().size();
    if (total.ElementLength() != api.ElementLength() ||
        total.ElementLength() * columns != streams.ElementLength())
      throw usage(
          "throughput: the arrays do not fit each other",
          "Give one element a batch to totalNs and apiNs, and one a batch and timed stream to streamNs.");
    struct Samples {
      std::vector<double> total;
      std::vector<double> api;
      std::vector<double> streams;
      BatchTiming timing;
    };
    auto samples = std::make_shared<Samples>();
    samples->total.resize(total.ElementLength());
    samples->api.resize(api.ElementLength());
    samples->streams.resize(streams.ElementLength());
    const auto hold = [](const Napi::Float64Array& array) {
      return std::make_shared<Napi::ObjectReference>(Napi::Persistent(array.As<Napi::Object>()));
    };
    return PromiseWorker<std::shared_ptr<Samples>>::start(
        env,
        [flight, samples, iterations, gateMs, deadlineMs] {
          samples->timing = flight->run([&](Executor& executor, const Executor::Call& call) {
            return executor.throughput(call, {iterations, gateMs, deadlineMs}, samples->total, samples->api,
                                       samples->streams);
          });
          return samples;
        },
        [totalRef = hold(total), apiRef = hold(api), streamsRef = hold(streams), columns](
            Napi::Env finishEnv, std::shared_ptr<Samples>& done) -> Napi::Value {
          done->total.resize(done->timing.done);
          done->api.resize(done->timing.done);
          done->streams.resize(done->timing.done * columns);
          fillArray(*totalRef, done->total, "throughput: totalNs");
          fillArray(*apiRef, done->api, "throughput: apiNs");
          fillArray(*streamsRef, done->streams, "throughput: streamNs");
          Napi::Object result = Napi::Object::New(finishEnv);
          result.Set("done", static_cast<double>(done->timing.done));
          result.Set("cancelled", done->timing.cancelled);
          result.Set("gateGaveUp", done->timing.gateGaveUp);
          return result;
        });
  });
}

Napi::Value ExecutorObject::timedStreams(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return throwing(env, [&]() -> Napi::Value {
    const std::vector<int> streams = executor_->timedStreams();
    Napi::Int32Array list = Napi::Int32Array::New(env, streams.size());
    std::copy(streams.begin(), streams.end(), list.Data());
    return list;
  });
}

Napi::Value ExecutorObject::graphCosts(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "graphCosts", 2);
    const std::uint64_t repetitions = arguments.whole(0, "repetitions", 1, kMaxRepetitions);
    const double deadlineMs = arguments.number(1, "deadlineMs", 1e-3, kMaxDeadlineMs);
    auto flight = Flight::begin(executor_);
    return PromiseWorker<GraphCosts>::start(
        env,
        [flight, repetitions, deadlineMs] {
          return flight->run([&](Executor& executor, const Executor::Call& call) {
            return executor.graphCosts(call, repetitions, deadlineMs);
          });
        },
        [](Napi::Env finishEnv, GraphCosts& costs) { return graphCostsObject(finishEnv, costs); });
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
