// The arguments of an export, checked by type and range; every refusal names the function, the argument, what
// was expected and what came.
#pragma once

#include <napi.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace p2p {

class Arguments {
 public:
  // Throws a kUsage failure when fewer than `count` arguments came.
  Arguments(const Napi::CallbackInfo& info, const char* function, std::size_t count);

  double number(std::size_t index, const char* name, double low, double high) const;
  // A whole number.
  std::uint64_t whole(std::size_t index, const char* name, double low, double high) const;
  int ordinal(std::size_t index, const char* name) const;
  bool boolean(std::size_t index, const char* name) const;
  // Which of the words it is.
  std::size_t oneOf(std::size_t index, const char* name, std::initializer_list<const char*> words) const;
  std::string text(std::size_t index, const char* name) const;
  // A list of texts.
  std::vector<std::string> texts(std::size_t index, const char* name) const;
  Napi::Value value(std::size_t index) const { return info_[index]; }
  Napi::Object object(std::size_t index, const char* name) const;
  Napi::Array list(std::size_t index, const char* name) const;
  Napi::Float64Array doubles(std::size_t index, const char* name) const;
  Napi::Uint8Array bytes(std::size_t index, const char* name) const;

  static constexpr double kMaxSafeInteger = 9007199254740991.0;

 private:
  const Napi::CallbackInfo& info_;
  const char* function_;
};

// An array of the given element type, attached and not shared between threads: a SharedArrayBuffer could
// change while it is read. `where` goes into the refusal.
Napi::Float64Array float64ArrayOf(const Napi::Value& value, const std::string& where);
Napi::Int32Array int32ArrayOf(const Napi::Value& value, const std::string& where);
Napi::Uint8Array uint8ArrayOf(const Napi::Value& value, const std::string& where);

// What a value is, for refusals: `string "x"`, `number NaN`, `undefined`.
std::string describe(const Napi::Value& value);

}  // namespace p2p
