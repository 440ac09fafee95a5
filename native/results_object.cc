#include "results_object.h"

#include <algorithm>
#include <map>
#include <string>

namespace p2p {

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

Napi::Value graphCostsObject(Napi::Env env, const GraphCosts& costs) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("nodes", static_cast<double>(costs.nodes));
  result.Set("captureNs", arrayOf(env, costs.captureNs));
  result.Set("instantiateNs", arrayOf(env, costs.instantiateNs));
  result.Set("updateNs", arrayOf(env, costs.updateNs));
  return result;
}

}  // namespace p2p
