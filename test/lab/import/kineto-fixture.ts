/** Traces as Kineto writes them, of synthetic content. */

/** The events of a peer copy of 1 MiB: call at 100 µs, copy at 108.25 to 112.5 µs, both since `baseUs`. */
export function peerCopyEvents(baseUs = "5154835492477"): string[] {
  const at = (offset: number, fraction: string) => `${BigInt(baseUs) + BigInt(offset)}.${fraction}`;
  return [
    `{"ph": "M", "name": "process_name", "pid": 563, "tid": 0, "ts": 0, "args": {"name": "python"}}`,
    `{"ph": "X", "cat": "user_annotation", "name": "exchange 交换", "pid": 563, "tid": 563, "ts": ${at(90, "000")}, "dur": 40.0, "args": {"External id": 1}}`,
    `{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 563, "tid": 563, "ts": ${at(100, "000")}, "dur": 5.5, "args": {"cbid": 41, "correlation": 63}}`,
    `{"ph": "s", "id": 63, "pid": 563, "tid": 563, "ts": ${at(100, "000")}, "cat": "ac2g", "name": "ac2g"}`,
    `{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)", "pid": 0, "tid": 7, "ts": ${at(108, "250")}, "dur": 4.25, "args": {"ts": 5, "fromDevice": 0, "inDevice": 0, "toDevice": 1, "fromContext": 1, "inContext": 1, "toContext": 2, "stream": 7, "correlation": 63, "bytes": 1048576, "memory bandwidth (GB/s)": 246.7}}`,
    `{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 563, "tid": 563, "ts": ${at(106, "000")}, "dur": 10, "args": {"cbid": 165, "correlation": 64}}`,
    `{"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": 7, "ts": ${at(106, "500")}, "dur": 9, "args": {"stream": -1, "correlation": 64}}`,
    `{"ph": "X", "cat": "overhead", "name": "Activity Buffer Request", "pid": -1, "tid": 0, "ts": ${at(95, "000")}, "dur": 2, "args": {}}`,
    `{"ph": "X", "cat": "python_function", "name": "forward", "pid": 563, "tid": 563, "ts": ${at(90, "000")}, "dur": 40, "args": {}}`,
  ];
}

export function kinetoTrace(events: readonly string[], more = ""): string {
  const device = `{"id": 0, "name": "synthetic GPU", "totalGlobalMem": 1000, "computeMajor": 9, "computeMinor": 0, "numSms": 10}`;
  return `{"schemaVersion": 1, "username": "someone", "host_name": "somewhere", "deviceProperties": [${device}, ${device}], "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790857026000000000, ${more}
  "traceEvents": [\n${events.join(",\n")}\n], "traceName": "synthetic"}`;
}
