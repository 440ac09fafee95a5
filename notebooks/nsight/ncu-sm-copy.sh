#!/usr/bin/env bash
# Nsight Compute on the kernel that copies from GPU 0 into the memory of GPU 1: what limits it, and what goes over the links.
#   ncu-sm-copy.sh [OUT, default ncu-sm-copy.csv] [BYTES, default 16777216]
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
need ncu "Install Nsight Compute (it comes with the CUDA toolkit), or run this where the GPUs are and import its file here."
out=${1:-ncu-sm-copy.csv}
bytes=${2:-16777216}
case $out in /*) ;; *) out=$PWD/$out ;; esac
program='
import { lab } from "p2plab";
const bytes = Number(process.argv[1]);
const machine = await lab.open("cuda");
const copy = lab.program()
  .buffer("src", { gpu: 0, bytes }).buffer("dst", { gpu: 1, bytes })
  .stream("s", { gpu: 0 }).copy("s", "src", "dst", { engine: "kernel-write" }).sync("s", "spin");
await machine.run(copy, { sampling: { warmup: 1, minSamples: 5, maxSamples: 5 } });
await machine.close();
'
cd "$root"
rm -f "$out"
# Counters of the hardware may be closed to all but root: ncu writes so into its file, with the page that tells how to open them.
status=0
ncu --target-processes all --kernel-name p2p_copy --launch-skip 1 --launch-count 3 \
  --section SpeedOfLight --section MemoryWorkloadAnalysis --section WarpStateStats \
  --section Nvlink --section Nvlink_Tables \
  --csv --page raw --print-units base --log-file "$out" \
  node --input-type=module --eval "$program" "$bytes" || status=$?
[ -f "$out" ] || fail "ncu wrote no file (exit code $status)." "  → What it printed above says why."
p2plab import "$out"
exit "$status"
