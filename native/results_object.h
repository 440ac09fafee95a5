// Results of an executor as JavaScript gets them.
#pragma once

#include <napi.h>

#include <vector>

#include "executor.h"

namespace p2p {

Napi::Float64Array arrayOf(Napi::Env env, const std::vector<double>& values);
Napi::Value traceObject(Napi::Env env, const Trace& trace);
Napi::Value checksArray(Napi::Env env, const std::vector<CheckResult>& checks);
Napi::Value graphCostsObject(Napi::Env env, const GraphCosts& costs);

}  // namespace p2p
