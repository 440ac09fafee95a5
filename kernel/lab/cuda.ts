/**
 * Ad hoc work on real GPUs, preloaded in notebooks as `cuda`: what is there, memory, copies, peer access, streams, events,
 * graphs, and kernels compiled from CUDA C++. Without a driver {@link availability} says why, and everything else throws
 * `not-available` with the same reason.
 *
 *     const counter = cuda.alloc(0, 4); counter.as("i32").fill(0);
 *     const touch = cuda.compile(`extern "C" __global__ void touch(int* p) { atomicAdd(p, 1); }`, "touch");
 *     touch.launch({ grid: 1, block: 32 }, counter);
 *     counter.as("i32").get(0)                                  // 32
 */
export { CudaArray, type ElementArrays, type ElementOf, type ElementType } from "./cuda/array.js";
export {
  alloc,
  type CopyOffsets,
  CudaBuffer,
  copy,
  hostAlloc,
  managedAlloc,
  type PointerFacts,
} from "./cuda/buffer.js";
export { availability, devices, disablePeer, enablePeer, limits, memory, peer } from "./cuda/devices.js";
export { CudaGraph, graph } from "./cuda/graph.js";
export {
  CudaKernel,
  type Extent,
  type KernelArgument,
  type LaunchOptions,
  type TimeOptions,
} from "./cuda/kernel.js";
export { KernelTiming } from "./cuda/kernel-timing.js";
export { CudaModule, compile, type KernelOptions, type ModuleOptions, module } from "./cuda/module.js";
export type { ParameterType } from "./cuda/signature.js";
export {
  CudaEvent,
  CudaStream,
  event,
  type FillOptions,
  memset,
  stream,
  type WaitOptions,
} from "./cuda/stream.js";
export type { DeviceLimits, DeviceMemoryInfo, KernelFacts } from "./native-binding.js";
