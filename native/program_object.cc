#include "program_object.h"

#include <span>
#include <string>
#include <type_traits>

#include "arguments.h"
#include "errors.h"

namespace p2p {

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
  const Napi::Value handle = member("handles");
  const Napi::Uint8Array handles =
      handle.IsUndefined() ? Napi::Uint8Array::New(program.Env(), 0) : uint8ArrayOf(handle, where("handles"));
  const Napi::Value events = member("eventCount");
  if (!events.IsNumber()) throw usage(where("eventCount") + " must be a number, not " + describe(events), "");
  const double eventCount = events.As<Napi::Number>().DoubleValue();
  const Napi::Value graph = member("graph");
  if (!graph.IsBoolean()) throw usage(where("graph") + " must be a boolean, not " + describe(graph), "");
  // Getters above may have run code: lengths and addresses are taken only now, and nothing runs until they
  // are read.
  const auto view = [](const auto& array, const char* name) {
    const auto fresh = array.template As<std::decay_t<decltype(array)>>();
    if (fresh.ArrayBuffer().IsDetached()) throw usage(std::string(name) + " was transferred away", "");
    return std::span(fresh.Data(), fresh.ElementLength());
  };
  return readProgram({view(buffers, "buffers"), view(streams, "streams"), eventCount,
                      view(operations, "operations"), view(peers, "peers"), view(sources, "sources"),
                      view(checks, "checks"), graph.As<Napi::Boolean>().Value(), view(handles, "handles")});
}

}  // namespace p2p
