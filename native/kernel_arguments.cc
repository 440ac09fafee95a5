#include "kernel_arguments.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "errors.h"

namespace p2p {

namespace {

struct TypeFacts {
  ParameterType type;
  const char* word;
  std::size_t bytes;
  // For whole numbers: the range, as the magnitude of the least (0 for unsigned) and the greatest value.
  std::uint64_t below;
  std::uint64_t above;
  const char* takes;
};

constexpr std::array<TypeFacts, 14> kTypes = {{
    {ParameterType::kI8, "i8", 1, 1ull << 7, INT8_MAX, "a whole number from -128 to 127"},
    {ParameterType::kU8, "u8", 1, 0, UINT8_MAX, "a whole number from 0 to 255"},
    {ParameterType::kI16, "i16", 2, 1ull << 15, INT16_MAX, "a whole number from -32768 to 32767"},
    {ParameterType::kU16, "u16", 2, 0, UINT16_MAX, "a whole number from 0 to 65535"},
    {ParameterType::kI32, "i32", 4, 1ull << 31, INT32_MAX, "a whole number from -2147483648 to 2147483647"},
    {ParameterType::kU32, "u32", 4, 0, UINT32_MAX, "a whole number from 0 to 4294967295"},
    {ParameterType::kI64, "i64", 8, 1ull << 63, INT64_MAX, "a whole number of 64 bits, a BigInt beyond 2^53"},
    {ParameterType::kU64, "u64", 8, 0, UINT64_MAX, "a whole number from 0 to 2^64 - 1, a BigInt beyond 2^53"},
    {ParameterType::kF32, "f32", 4, 0, 0, "a number that a float holds"},
    {ParameterType::kF64, "f64", 8, 0, 0, "a number"},
    {ParameterType::kBool, "bool", 1, 0, 0, "true or false"},
    {ParameterType::kB32, "b32", 4, 1ull << 31, UINT32_MAX,
     "a whole number of 32 bits (declare the parameter f32 to pass a float)"},
    {ParameterType::kB64, "b64", 8, 1ull << 63, UINT64_MAX,
     "a buffer of cuda.alloc() or a whole number of 64 bits"},
    {ParameterType::kPointer, "ptr", 8, 0, UINT64_MAX,
     "a buffer of cuda.alloc() or cuda.hostAlloc(), or an address as a BigInt"},
}};

constexpr double kMaxSafeInteger = 9007199254740991.0;
// A kernel takes at most 32,764 bytes of parameters, and 4,096 on older GPUs.
constexpr std::size_t kMaxBytes = 32764;

const TypeFacts* factsOf(ParameterType type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.type == type) return &facts;
  }
  return nullptr;
}

bool isInteger(ParameterType type) {
  const TypeFacts* facts = factsOf(type);
  return facts && facts->above > 0 && type != ParameterType::kPointer;
}

}  // namespace

Parameter parameterOf(const std::string& word, std::string text) {
  for (const TypeFacts& facts : kTypes) {
    if (word == facts.word) return {facts.type, facts.bytes, std::move(text)};
  }
  if (word.starts_with("bytes:") && word.size() < 12) {
    char* end = nullptr;
    const unsigned long bytes = std::strtoul(word.c_str() + 6, &end, 10);
    if (*end == '\0' && word[6] >= '0' && word[6] <= '9' && bytes >= 1 && bytes <= kMaxBytes)
      return {ParameterType::kBytes, bytes, std::move(text)};
  }
  std::string list;
  for (const TypeFacts& facts : kTypes) list += std::string(facts.word) + ", ";
  throw usage(
      "\"" + word.substr(0, 60) + "\" is no type of a kernel parameter",
      "Types: " + list + "bytes:N (a structure of N bytes, at most " + std::to_string(kMaxBytes) + ").");
}

KernelArguments::KernelArguments(std::string kernel, std::vector<Parameter> parameters)
    : kernel_(std::move(kernel)), parameters_(std::move(parameters)) {
  std::size_t units = 0;
  for (const Parameter& parameter : parameters_) units += (parameter.bytes + sizeof(Unit) - 1) / sizeof(Unit);
  storage_.resize(units);
  std::size_t at = 0;
  for (const Parameter& parameter : parameters_) {
    pointers_.push_back(&storage_[at]);
    at += (parameter.bytes + sizeof(Unit) - 1) / sizeof(Unit);
  }
}

std::string KernelArguments::refusal(std::size_t index, const std::string& came) const {
  const Parameter& wanted = parameter(index);
  const TypeFacts* facts = factsOf(wanted.type);
  const std::string takes =
      facts ? facts->takes : "a Uint8Array of " + std::to_string(wanted.bytes) + " bytes, the structure";
  return kernel_ + ": argument " + std::to_string(index + 1) + " (" + wanted.text + ") must be " + takes +
         ", not " + came;
}

void KernelArguments::refuse(std::size_t index, const std::string& came) const {
  throw usage(refusal(index, came), "The kernel's parameters are given in its signature, in order.");
}

void KernelArguments::store(std::size_t index, const void* data, std::size_t bytes) {
  std::memcpy(pointers_.at(index), data, bytes);
}

void KernelArguments::setNumber(std::size_t index, double value) {
  const ParameterType type = parameter(index).type;
  const auto shown = [&] {
    const std::string text = std::to_string(value);
    return "number " +
           (value == std::floor(value) && std::abs(value) < 1e15 ? text.substr(0, text.find('.')) : text);
  };
  if (type == ParameterType::kF64) return store(index, &value, sizeof value);
  if (type == ParameterType::kF32) {
    if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) refuse(index, shown());
    const auto narrow = static_cast<float>(value);
    return store(index, &narrow, sizeof narrow);
  }
  if (!isInteger(type) || value != std::floor(value) || !(std::abs(value) <= kMaxSafeInteger))
    refuse(index, shown());
  setInteger(index, value < 0, static_cast<std::uint64_t>(std::abs(value)), true);
}

void KernelArguments::setInteger(std::size_t index, bool negative, std::uint64_t magnitude, bool fits) {
  const Parameter& wanted = parameter(index);
  const TypeFacts* facts = factsOf(wanted.type);
  const auto shown = [&] {
    return fits ? (negative ? "-" : "") + std::to_string(magnitude) : std::string("a BigInt of more bits");
  };
  if (!isInteger(wanted.type) || !fits || magnitude > (negative ? facts->below : facts->above))
    refuse(index, shown());
  // Two's complement, of which a little-endian machine stores the low bytes first.
  const std::uint64_t word = negative ? ~magnitude + 1 : magnitude;
  store(index, &word, wanted.bytes);
}

void KernelArguments::setBoolean(std::size_t index, bool value) {
  if (parameter(index).type != ParameterType::kBool) refuse(index, value ? "true" : "false");
  const std::uint8_t byte = value ? 1 : 0;
  store(index, &byte, sizeof byte);
}

bool KernelArguments::takesAddress(std::size_t index) const {
  const ParameterType type = parameter(index).type;
  return type == ParameterType::kPointer || type == ParameterType::kB64;
}

void KernelArguments::setAddress(std::size_t index, std::uint64_t address) {
  if (!takesAddress(index)) refuse(index, "a buffer");
  store(index, &address, sizeof address);
}

void KernelArguments::setBytes(std::size_t index, std::span<const std::byte> bytes) {
  const Parameter& wanted = parameter(index);
  if (wanted.type != ParameterType::kBytes || wanted.bytes != bytes.size())
    refuse(index, "a Uint8Array of " + std::to_string(bytes.size()) + " bytes");
  store(index, bytes.data(), bytes.size());
}

}  // namespace p2p
