#include "probe_object.h"

#include <algorithm>
#include <string>
#include <vector>

#include "addon_data.h"
#include "arguments.h"
#include "js_errors.h"
#include "promise_worker.h"

namespace p2p {

namespace {

constexpr double kMaxDeadlineMs = 24 * 3600 * 1e3;
constexpr double kMaxRepetitions = 1e6;

// A call in flight: the right to it, and what it works on.
struct Flight {
  std::shared_ptr<Probe> probe;
  Probe::Call call;

  // Works on the pool's thread; the call is over when the work is, whether or not JavaScript still hears of
  // it.
  template <typename Work>
  auto run(Work work) {
    struct End {
      Probe::Call& call;
      ~End() { call.end(); }
    };
    const End end{call};
    return work(*probe, call);
  }

  static std::shared_ptr<Flight> begin(const std::shared_ptr<Probe>& probe) {
    return std::make_shared<Flight>(Flight{probe, probe->enter()});
  }
};

struct Measured {
  std::vector<double> ns;
  ProbeRun run;
};

const char* stateOf(const ProbeSide& side) {
  if (side.wrong) return "wrong";
  switch (side.state) {
    case ProbeState::kNeverRan:
      return "never-ran";
    case ProbeState::kDone:
      return "done";
    case ProbeState::kAlone:
      return "alone";
    case ProbeState::kExpired:
      return "expired";
    case ProbeState::kStopped:
      return "stopped";
  }
  return "wrong";
}

Napi::Float64Array arrayOf(Napi::Env env, const std::vector<double>& values) {
  Napi::Float64Array array = Napi::Float64Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

Napi::Value runObject(Napi::Env env, const Measured& measured) {
  const ProbeRun& run = measured.run;
  Napi::Array sides = Napi::Array::New(env, run.sides.size());
  for (std::size_t i = 0; i < run.sides.size(); ++i) {
    const ProbeSide& side = run.sides[i];
    Napi::Object row = Napi::Object::New(env);
    row.Set("state", stateOf(side));
    row.Set("done", static_cast<double>(side.done));
    row.Set("value", Napi::BigInt::New(env, side.value));
    row.Set("expected", Napi::BigInt::New(env, side.expected));
    sides.Set(static_cast<std::uint32_t>(i), row);
  }
  Napi::Float64Array counts = Napi::Float64Array::New(env, kProbeCounts);
  for (std::size_t i = 0; i < kProbeCounts; ++i) counts[i] = static_cast<double>(run.counts[i]);
  Napi::Int32Array sm = Napi::Int32Array::New(env, run.sm.size());
  std::copy(run.sm.begin(), run.sm.end(), sm.Data());
  Napi::Object result = Napi::Object::New(env);
  result.Set("ns", arrayOf(env, measured.ns));
  result.Set("cancelled", run.cancelled);
  result.Set("sides", sides);
  result.Set("counts", counts);
  result.Set("accesses", static_cast<double>(run.accesses));
  result.Set("clockGhz", arrayOf(env, run.ghz));
  result.Set("sm", sm);
  result.Set("byTimer", static_cast<double>(run.byTimer));
  result.Set("overheadNs", run.overheadNs);
  result.Set("timerStepNs", run.timerStepNs);
  result.Set("timerCostNs", run.timerCostNs);
  result.Set("clockCostNs", run.smClockCostNs);
  return result;
}

Napi::Value checksArray(Napi::Env env, const std::vector<ProbeCheck>& checks) {
  Napi::Array list = Napi::Array::New(env, checks.size());
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const ProbeCheck& check = checks[i];
    Napi::Object row = Napi::Object::New(env);
    row.Set("buffer", check.buffer);
    row.Set("bytes", static_cast<double>(check.bytes));
    row.Set("wrongByOwner", static_cast<double>(check.wrongByOwner));
    row.Set("wrongByReader", static_cast<double>(check.wrongByReader));
    row.Set("wrongByReadBack", static_cast<double>(check.wrongByReadBack));
    row.Set("ownerGpu", check.ownerGpu);
    row.Set("value", Napi::BigInt::New(env, check.value));
    list.Set(static_cast<std::uint32_t>(i), row);
  }
  return list;
}

ProbeRows rowsOf(const Napi::Object& probe) {
  const auto where = [](const char* name) { return "prepareProbe: probe." + std::string(name); };
  const Napi::Value kind = probe.Get("kind");
  if (!kind.IsNumber()) throw usage(where("kind") + " must be a number, not " + describe(kind), "");
  const Napi::Float64Array buffers = float64ArrayOf(probe.Get("buffers"), where("buffers"));
  const Napi::Int32Array gpus = int32ArrayOf(probe.Get("gpus"), where("gpus"));
  const Napi::Int32Array peers = int32ArrayOf(probe.Get("peers"), where("peers"));
  const Napi::Float64Array parameters = float64ArrayOf(probe.Get("parameters"), where("parameters"));
  // Getters above may have run code: lengths and addresses are taken only now, and nothing runs until they
  // are read.
  const auto view = [](const auto& array, const char* name) {
    if (array.ArrayBuffer().IsDetached()) throw usage(std::string(name) + " was transferred away", "");
    return std::span(array.Data(), array.ElementLength());
  };
  const auto fresh = [](const auto& array) { return array.template As<std::decay_t<decltype(array)>>(); };
  return readProbe({kind.As<Napi::Number>().DoubleValue(), view(fresh(buffers), "buffers"),
                    view(fresh(gpus), "gpus"), view(fresh(peers), "peers"),
                    view(fresh(parameters), "parameters")});
}

}  // namespace

Napi::Function ProbeObject::define(Napi::Env env) {
  return DefineClass(
      env, "NativeProbe",
      {InstanceMethod<&ProbeObject::measure>("measure"), InstanceMethod<&ProbeObject::check>("check"),
       InstanceMethod<&ProbeObject::cancel>("cancel"), InstanceMethod<&ProbeObject::close>("close")});
}

Napi::Value ProbeObject::prepare(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "prepareProbe", 1);
    auto rows = std::make_shared<ProbeRows>(rowsOf(arguments.object(0, "probe")));
    return PromiseWorker<std::shared_ptr<Probe>>::start(
        env, [rows] { return std::make_shared<Probe>(*rows); },
        [rows](Napi::Env finishEnv, std::shared_ptr<Probe>& probe) -> Napi::Value {
          AddonData& data = addonData(finishEnv);
          for (const int gpu : rows->gpus) data.retain(gpu);
          return data.probeClass.New({Napi::External<std::shared_ptr<Probe>>::New(finishEnv, &probe)});
        });
  });
}

ProbeObject::ProbeObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<ProbeObject>(info) {
  if (info.Length() != 1 || !info[0].IsExternal())
    throw toJsError(info.Env(), usage("a probe cannot be made by new", "Use prepareProbe(probe)."));
  probe_ = *info[0].As<Napi::External<std::shared_ptr<Probe>>>().Data();
  AddonData::track(addonData(info.Env()).probes, probe_);
}

Napi::Value ProbeObject::measure(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "measure", 2);
    const std::uint64_t repetitions = arguments.whole(0, "repetitions", 1, kMaxRepetitions);
    const double deadlineMs = arguments.number(1, "deadlineMs", 1e-3, kMaxDeadlineMs);
    auto flight = Flight::begin(probe_);
    return PromiseWorker<Measured>::start(
        env,
        [flight, repetitions, deadlineMs] {
          Measured measured;
          measured.ns.resize(repetitions);
          measured.run = flight->run([&](Probe& probe, const Probe::Call& call) {
            return probe.measure(call, measured.ns, deadlineMs);
          });
          measured.ns.resize(measured.run.done);
          return measured;
        },
        [](Napi::Env finishEnv, Measured& measured) { return runObject(finishEnv, measured); });
  });
}

Napi::Value ProbeObject::check(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return rejecting(env, [&]() -> Napi::Value {
    const Arguments arguments(info, "check", 1);
    const double deadlineMs = arguments.number(0, "deadlineMs", 1e-3, kMaxDeadlineMs);
    auto flight = Flight::begin(probe_);
    return PromiseWorker<std::vector<ProbeCheck>>::start(
        env,
        [flight, deadlineMs] {
          return flight->run(
              [&](Probe& probe, const Probe::Call& call) { return probe.check(call, deadlineMs); });
        },
        [](Napi::Env finishEnv, std::vector<ProbeCheck>& checks) { return checksArray(finishEnv, checks); });
  });
}

void ProbeObject::cancel(const Napi::CallbackInfo&) {
  probe_->cancel();
}

void ProbeObject::close(const Napi::CallbackInfo& info) {
  throwing(info.Env(), [&] { probe_->close(); });
}

}  // namespace p2p
