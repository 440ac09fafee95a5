// Many values of one GPU in one call, which lets NVML ask the driver once for all that it can.
#pragma once

#include <cstddef>
#include <vector>

#include "nvml_reading.h"

namespace p2p {

class FieldQuery {
 public:
  // Where the value will stand. The scope of a link's field is the link.
  std::size_t add(nvml::Field field, unsigned scope = 0);
  void run(nvml::Device device);
  Reading<double> at(std::size_t index) const;

 private:
  std::vector<nvml::FieldValue> values_;
  nvml::Result result_ = nvml::kNoData;
};

}  // namespace p2p
