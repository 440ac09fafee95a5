// CUDA C++ source into device code for one GPU's architecture, by NVRTC.
#pragma once

#include <string>
#include <vector>

namespace p2p {

struct SourceRequest {
  std::string source;
  // What the compiler's messages call the source.
  std::string file = "cell.cu";
  // Further options of NVRTC, such as -DN=4; the architecture is chosen here.
  std::vector<std::string> options;
  // Kernels whose names in the device code are wanted: `touch`, `scale<float>`.
  std::vector<std::string> names;
  // Compute capability of the GPU, such as 9 and 0.
  int computeMajor = 0;
  int computeMinor = 0;
};

struct CompiledSource {
  std::string image;
  // Machine code of the GPU; otherwise PTX, for a GPU that is newer than the compiler.
  bool cubin = false;
  // What it was compiled for: `sm_90`, `compute_90`.
  std::string architecture;
  // Warnings; empty when there are none.
  std::string log;
  // Of each wanted name, the name in the device code.
  std::vector<std::string> loweredNames;
  // Version of the compiler, 13000 = CUDA 13.0.
  int compiler = 0;
};

// Throws a kCompile failure with the compiler's log, whose line numbers are those of the source; kUsage for
// an option that NVRTC does not know; kNotAvailable when there is no NVRTC or it does not know the GPU any
// more.
CompiledSource compileSource(const SourceRequest& request);

}  // namespace p2p
