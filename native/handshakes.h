// The words by which streams and GPUs tell each other how far they are: signals, flags, the windows of puts
// and what puts and receives count on their GPUs. They start out, and start anew after a failure, as if no
// iteration had been run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "objects.h"
#include "program.h"
#include "resources.h"
#include "transfer_layout.h"

namespace p2p {

class Handshakes {
 public:
  Handshakes(const ProgramRows& program, const Resources& resources);
  Handshakes(const Handshakes&) = delete;
  Handshakes& operator=(const Handshakes&) = delete;

  // Of a put or receive: its cell on the GPU of its stream, which of the puts (receives) of its window it is,
  // and how many puts the window takes in an iteration.
  struct Place {
    cu::DevicePtr cell = 0;
    std::uint64_t index = 0;
    std::uint64_t puts = 0;
    cu::DevicePtr expired = 0;  // receive: the word that it sets when it gives up
  };
  const Place& place(int operation) const { return places_.at(operation); }

  // Puts everything back to the beginning; receives then wait at most `limitNs`. Nothing of the program may
  // be running.
  void reset(std::uint32_t number, std::uint64_t limitNs);
  std::uint64_t limitNs() const { return limitNs_; }

  // Whether a receive may have given up: one word to look at in a timed loop, true while the program has
  // none.
  bool allArrived() const noexcept {
    for (const std::uint32_t* word = first_; word != last_; ++word) {
      if (*static_cast<const volatile std::uint32_t*>(word) != 0) return false;
    }
    return true;
  }
  // The first operation that gave up; -1 when none did.
  int expiredOperation() const;

  // Lets every stream go on that waits for a signal, as if `number` had been signalled; false when the
  // program has none.
  bool releaseSignals(std::uint32_t number) const;

 private:
  void zero(int buffer, std::uint64_t bytes) const;
  void storeWord(const OperationRow& operation, std::uint32_t value) const;

  const ProgramRows& program_;
  const Resources& resources_;
  std::map<int, Place> places_;
  std::map<int, std::unique_ptr<DeviceMemory>> cells_;  // by GPU
  std::map<int, std::size_t> counts_;
  std::unique_ptr<PinnedMemory> words_;  // one an operation that receives, then a cell to copy from
  std::vector<int> receives_;
  std::uint32_t* first_ = nullptr;
  std::uint32_t* last_ = nullptr;
  std::uint64_t limitNs_ = 0;
};

}  // namespace p2p
