// The GPUs of the stand-in machine. They are counted in two ways: as they stand in the machine, which is the
// order of NVML and of nvidia-smi, and as CUDA shows them, which is what CUDA_VISIBLE_DEVICES makes of it.
// UUID and PCI address belong to the GPU in the machine.
#pragma once

#include <array>
#include <string>

namespace fake {

using UuidBytes = std::array<unsigned char, 16>;

// In the machine (P2PLAB_FAKE_DEVICES).
int machineCount();

// As CUDA shows them: devices, and the place of each in the machine.
int deviceCount();
int placeOf(int device);

// The first GPU is split, and CUDA shows one instance of it and nothing else (P2PLAB_FAKE_MIG).
bool mig();

UuidBytes uuidOf(int place);
UuidBytes migUuid();
// As nvidia-smi writes them: GPU-… and MIG-…
std::string uuidText(const UuidBytes& uuid, const char* prefix);
int pciBus(int place);

}  // namespace fake
