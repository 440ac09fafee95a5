// What work in flight needs until it is done.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "memory_block.h"

namespace p2p {

struct Uses {
  // Memory that the work reads or writes.
  std::vector<Block> blocks;
  // Objects that must not be destroyed: kernels, events, graphs.
  std::vector<std::shared_ptr<const void>> objects;

  // Each thing is kept once, however often it is used.
  void add(const Uses& more) {
    const auto merge = [](auto& into, const auto& from) {
      for (const auto& item : from) {
        if (std::find(into.begin(), into.end(), item) == into.end()) into.push_back(item);
      }
    };
    merge(blocks, more.blocks);
    merge(objects, more.objects);
  }

  bool has(const MemoryBlock& block) const {
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](const Block& known) { return known.get() == &block; });
  }
};

}  // namespace p2p
