// NativeBuffer: memory of ad hoc work.
#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <type_traits>

#include "memory_block.h"

namespace p2p {

class BufferObject : public Napi::ObjectWrap<BufferObject> {
 public:
  static Napi::Function define(Napi::Env env);
  static Napi::Value alloc(const Napi::CallbackInfo& info);
  static void copy(const Napi::CallbackInfo& info);

  // The block behind an argument. Throws a kUsage failure when it is none of alloc(), or closed.
  static const Block& blockOf(const Napi::Value& value, const std::string& where);
  static bool is(const Napi::Value& value);

  // Called by alloc only; JavaScript cannot make one by itself.
  explicit BufferObject(const Napi::CallbackInfo& info);
  ~BufferObject() override;
  BufferObject(const BufferObject&) = delete;
  BufferObject& operator=(const BufferObject&) = delete;

 private:
  Napi::Value address(const Napi::CallbackInfo& info);
  Napi::Value bytes(const Napi::CallbackInfo& info);
  Napi::Value gpu(const Napi::CallbackInfo& info);
  Napi::Value kind(const Napi::CallbackInfo& info);
  void write(const Napi::CallbackInfo& info);
  Napi::Value read(const Napi::CallbackInfo& info);
  Napi::Value facts(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  // The block; throws a kUsage failure when the buffer is closed.
  const Block& open() const;

  // Shared with the environment, which empties it when the process ends.
  std::shared_ptr<Block> block_;
  // What it was, for the getters of a closed buffer.
  MemoryKind kind_ = MemoryKind::kPageable;
  int gpu_ = -1;
  std::uint64_t bytes_ = 0;
  std::uint64_t address_ = 0;
};

static_assert(!std::is_copy_constructible_v<BufferObject>);

}  // namespace p2p
