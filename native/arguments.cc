#include "arguments.h"

#include <cmath>

#include "errors.h"

namespace p2p {

namespace {

constexpr const char* kHint = "See NativeAddon in kernel/lab/native.ts for what each function takes.";

Failure expected(const std::string& where, const std::string& what, const Napi::Value& came) {
  return usage(where + " must be " + what + ", not " + describe(came), kHint);
}

template <typename Array>
Array arrayOf(const Napi::Value& value, napi_typedarray_type type, const char* name,
              const std::string& where) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type)
    throw expected(where, name, value);
  const Array array = value.As<Array>();
  const Napi::Value buffer = value.As<Napi::Object>().Get("buffer");
  if (!buffer.IsArrayBuffer()) throw usage(where + " must not be shared between threads", "Copy it first.");
  if (buffer.As<Napi::ArrayBuffer>().IsDetached())
    throw usage(where + " was transferred away (detached)", "Pass an array that still has its memory.");
  return array;
}

}  // namespace

Arguments::Arguments(const Napi::CallbackInfo& info, const char* function, std::size_t count)
    : info_(info), function_(function) {
  if (info.Length() < count) {
    throw usage(std::string(function) + " takes " + std::to_string(count) + " arguments, not " +
                    std::to_string(info.Length()),
                kHint);
  }
}

double Arguments::number(std::size_t index, const char* name, double low, double high) const {
  const Napi::Value value = info_[index];
  const double read = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
  if (!(read >= low && read <= high)) {
    throw expected(std::string(function_) + ": " + name,
                   "a number from " + std::to_string(low) + " to " + std::to_string(high), value);
  }
  return read;
}

std::uint64_t Arguments::whole(std::size_t index, const char* name, double low, double high) const {
  const Napi::Value value = info_[index];
  const double read = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : std::nan("");
  if (!(read >= low && read <= high) || read != std::floor(read)) {
    throw expected(std::string(function_) + ": " + name,
                   "a whole number from " + std::to_string(static_cast<long long>(low)) + " to " +
                       std::to_string(static_cast<long long>(high)),
                   value);
  }
  return static_cast<std::uint64_t>(read);
}

int Arguments::ordinal(std::size_t index, const char* name) const {
  return static_cast<int>(whole(index, name, 0, 1023));
}

bool Arguments::boolean(std::size_t index, const char* name) const {
  const Napi::Value value = info_[index];
  if (!value.IsBoolean()) throw expected(std::string(function_) + ": " + name, "true or false", value);
  return value.As<Napi::Boolean>().Value();
}

std::size_t Arguments::oneOf(std::size_t index, const char* name,
                             std::initializer_list<const char*> words) const {
  const Napi::Value value = info_[index];
  std::string list;
  std::size_t at = 0;
  const std::string came = value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
  for (const char* word : words) {
    if (value.IsString() && came == word) return at;
    list += (list.empty() ? "\"" : ", \"") + std::string(word) + "\"";
    ++at;
  }
  throw expected(std::string(function_) + ": " + name, "one of " + list, value);
}

std::string Arguments::text(std::size_t index, const char* name) const {
  const Napi::Value value = info_[index];
  if (!value.IsString()) throw expected(std::string(function_) + ": " + name, "a text", value);
  return value.As<Napi::String>().Utf8Value();
}

std::vector<std::string> Arguments::texts(std::size_t index, const char* name) const {
  const Napi::Array values = list(index, name);
  std::vector<std::string> read;
  for (std::uint32_t i = 0; i < values.Length(); ++i) {
    const Napi::Value value = values.Get(i);
    if (!value.IsString()) {
      throw expected(std::string(function_) + ": " + name + "[" + std::to_string(i) + "]", "a text", value);
    }
    read.push_back(value.As<Napi::String>().Utf8Value());
  }
  return read;
}

Napi::Array Arguments::list(std::size_t index, const char* name) const {
  const Napi::Value value = info_[index];
  if (!value.IsArray()) throw expected(std::string(function_) + ": " + name, "an array", value);
  return value.As<Napi::Array>();
}

Napi::Object Arguments::object(std::size_t index, const char* name) const {
  const Napi::Value value = info_[index];
  if (!value.IsObject()) throw expected(std::string(function_) + ": " + name, "an object", value);
  return value.As<Napi::Object>();
}

Napi::Float64Array Arguments::doubles(std::size_t index, const char* name) const {
  return float64ArrayOf(info_[index], std::string(function_) + ": " + name);
}

Napi::Uint8Array Arguments::bytes(std::size_t index, const char* name) const {
  return uint8ArrayOf(info_[index], std::string(function_) + ": " + name);
}

Napi::Float64Array float64ArrayOf(const Napi::Value& value, const std::string& where) {
  return arrayOf<Napi::Float64Array>(value, napi_float64_array, "a Float64Array", where);
}

Napi::Int32Array int32ArrayOf(const Napi::Value& value, const std::string& where) {
  return arrayOf<Napi::Int32Array>(value, napi_int32_array, "an Int32Array", where);
}

Napi::Uint8Array uint8ArrayOf(const Napi::Value& value, const std::string& where) {
  return arrayOf<Napi::Uint8Array>(value, napi_uint8_array, "a Uint8Array", where);
}

std::string describe(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_undefined:
      return "undefined";
    case napi_null:
      return "null";
    case napi_boolean:
      return value.As<Napi::Boolean>().Value() ? "true" : "false";
    case napi_number:
      return "number " + value.ToString().Utf8Value();
    case napi_string:
      return "string \"" + value.As<Napi::String>().Utf8Value().substr(0, 60) + "\"";
    case napi_symbol:
      return "a symbol";
    case napi_function:
      return "a function";
    case napi_bigint:
      return "a bigint";
    default:
      return value.IsArray() ? "an array" : "an object";
  }
}

}  // namespace p2p
