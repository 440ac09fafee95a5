// The exports of the addon that tell what NVML says.
#pragma once

#include <napi.h>

namespace p2p {

// `availability().nvml`.
Napi::Object nvmlAvailability(Napi::Env env);

Napi::Value nvmlFacts(const Napi::CallbackInfo& info);
Napi::Value nvmlState(const Napi::CallbackInfo& info);
Napi::Value nvmlStateLater(const Napi::CallbackInfo& info);
Napi::Value nvmlClocks(const Napi::CallbackInfo& info);
Napi::Value nvmlPair(const Napi::CallbackInfo& info);

}  // namespace p2p
