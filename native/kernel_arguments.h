// The arguments of one kernel launch: declared types, checked values, and the bytes that the driver copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace p2p {

enum class ParameterType : std::uint8_t {
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kF32,
  kF64,
  kBool,
  // 4 bytes of which only the size is known, as PTX has them: any 32-bit whole number.
  kB32,
  // 8 bytes of which only the size is known: an address or any 64-bit whole number.
  kB64,
  kPointer,
  // A structure passed by value.
  kBytes,
};

struct Parameter {
  ParameterType type = ParameterType::kI32;
  // Size in bytes; given by the type but for kBytes.
  std::size_t bytes = 4;
  // As the source declares it, such as `int* p`; for messages.
  std::string text;
};

// `i32`, `ptr`, `bytes:12`, … Throws a kUsage failure that lists the words.
Parameter parameterOf(const std::string& word, std::string text);

class KernelArguments {
 public:
  // `kernel` is named in messages.
  KernelArguments(std::string kernel, std::vector<Parameter> parameters);
  // The pointers lead into the storage: it moves with them, but a copy would share it.
  KernelArguments(KernelArguments&&) = default;
  KernelArguments& operator=(KernelArguments&&) = default;
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  std::size_t count() const { return parameters_.size(); }
  const Parameter& parameter(std::size_t index) const { return parameters_.at(index); }

  // Each stores one argument, or throws a kUsage failure that names the parameter and says what it takes.
  void setNumber(std::size_t index, double value);
  // A whole number of up to 64 bits: its sign and its magnitude, which `fits` in 64 bits or not.
  void setInteger(std::size_t index, bool negative, std::uint64_t magnitude, bool fits);
  void setBoolean(std::size_t index, bool value);
  void setAddress(std::size_t index, std::uint64_t address);
  void setBytes(std::size_t index, std::span<const std::byte> bytes);

  bool takesAddress(std::size_t index) const;
  // The refusal of a value, described by `came`.
  std::string refusal(std::size_t index, const std::string& came) const;

  // For cuLaunchKernel: a pointer to each argument's bytes. Valid as long as this object is.
  void** pointers() { return pointers_.data(); }

 private:
  void store(std::size_t index, const void* data, std::size_t bytes);
  [[noreturn]] void refuse(std::size_t index, const std::string& came) const;

  std::string kernel_;
  std::vector<Parameter> parameters_;
  // 16 bytes a unit, so that every argument is aligned for any type.
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  std::vector<Unit> storage_;
  std::vector<void*> pointers_;
};

}  // namespace p2p
