// The driver binding for ad hoc work: its classes and functions, added to the exports.
#pragma once

#include <napi.h>

namespace p2p {

struct AddonData;

void installBinding(Napi::Env env, AddonData& data, Napi::Object exports);

}  // namespace p2p
