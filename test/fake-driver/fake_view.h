// A stretch of memory as the work of one GPU sees it: its own memory and page-locked host memory as they are,
// memory of other GPUs through the peer window with whatever P2PLAB_FAKE_MODE makes of it.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>

#include "fake_memory.h"
#include "fake_worker.h"

namespace fake {

class View {
 public:
  // Who touches it: kernels and stream memory operations (kThread), or a copy engine.
  enum class By { kThread, kCopyEngine };

  // Throws Broken{kIllegalAddress} when the GPU cannot reach all of the stretch.
  View(int gpu, p2p::cu::DevicePtr address, std::size_t bytes, By by = By::kThread);

  std::size_t bytes() const { return bytes_; }

  // For bulk work: where loads come from, and where stores go (nullptr: nowhere, they are lost).
  const std::byte* source() const { return seen(); }
  std::byte* target() const { return written(); }
  // Damages the byte that a corrupting path damages, where the stretch holds it.
  void damage(std::size_t offset, std::size_t bytes) const;

  void read(std::size_t offset, void* to, std::size_t bytes) const;
  void write(std::size_t offset, const void* from, std::size_t bytes) const;

  // Single words, at system scope: whole, and in order with everything else that the thread does.
  template <typename Word>
  Word load(std::size_t offset = 0) const {
    return std::atomic_ref(word<Word>(seen(), offset)).load();
  }

  template <typename Word>
  void store(Word value, std::size_t offset = 0) const {
    if (std::byte* const data = written()) std::atomic_ref(word<Word>(data, offset)).store(value);
    if (corrupts()) damage(offset, sizeof(Word));
  }

  // The value before. Where stores are lost, so is the sum.
  template <typename Word>
  Word add(Word value, std::size_t offset = 0) const {
    std::byte* const data = written();
    return data ? std::atomic_ref(word<Word>(data, offset)).fetch_add(value) : load<Word>(offset);
  }

  template <typename Word>
  Word exchange(Word value, std::size_t offset = 0) const {
    std::byte* const data = written();
    return data ? std::atomic_ref(word<Word>(data, offset)).exchange(value) : load<Word>(offset);
  }

  // Stores `value` where `expected` stands; the value before.
  template <typename Word>
  Word compareAndSwap(Word expected, Word value, std::size_t offset = 0) const {
    std::byte* const data = written();
    if (!data) return load<Word>(offset);
    std::atomic_ref(word<Word>(data, offset)).compare_exchange_strong(expected, value);
    return expected;
  }

 private:
  template <typename Word>
  Word& word(std::byte* data, std::size_t offset) const {
    requireInside(offset, sizeof(Word));
    if (reinterpret_cast<std::uintptr_t>(data + offset) % sizeof(Word) != 0) throw Broken{kMisaligned};
    return *reinterpret_cast<Word*>(data + offset);
  }

  std::byte* seen() const;
  std::byte* written() const;
  bool corrupts() const;
  void requireInside(std::size_t offset, std::size_t bytes) const;

  static constexpr p2p::cu::Result kMisaligned = 716;

  std::shared_ptr<Allocation> allocation_;
  std::size_t start_ = 0;
  std::size_t bytes_;
  int gpu_;
  bool window_;
  By by_;
};

}  // namespace fake
