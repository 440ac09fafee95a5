#!/usr/bin/env bash
# Runs a notebook under nvprof, for GPUs up to Volta, and prints what its file says about transfers.
#   nvprof-notebook.sh NOTEBOOK [OUT, default reports]
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
[ $# -ge 1 ] || fail "usage: nvprof-notebook.sh NOTEBOOK [OUT]"
need nvprof "nvprof comes with CUDA toolkits up to 12 and profiles GPUs up to Volta; for newer ones use nsys-notebook.sh."
p2plab run "$1" --out "${2:-reports}" --profile nvprof
