#!/bin/sh
# Builds kernels.ptx from kernels.cu. nvcc emits the PTX version of its own age for an architecture it still knows; the
# header is lowered to what drivers since CUDA 11.0 load on GPUs since Volta, and ptxas proves that the text keeps to it.
# Usage: native/build-ptx.sh [OUTPUT]   (NVCC and PTXAS name other tools)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=${1:-$here/kernels.ptx}
nvcc=${NVCC:-nvcc}
ptxas=${PTXAS:-ptxas}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for arch in 70 75 80; do
  if (cd "$here" && "$nvcc" -std=c++17 -ptx -arch="compute_$arch" kernels.cu -o "$work/raw.ptx") 2>"$work/log"; then
    break
  fi
done
[ -s "$work/raw.ptx" ] || { cat "$work/log" >&2; exit 1; }
sed -e '/^\/\//d' -e '/^$/d' -e 's/^\.version .*/.version 7.0/' -e 's/^\.target .*/.target sm_70/' \
  "$work/raw.ptx" >"$work/kernels.ptx"
known=$("$nvcc" --list-gpu-code)
assembled=0
for arch in 70 75 80 86 89 90 100 120; do
  if echo "$known" | grep -qx "sm_$arch"; then
    "$ptxas" -arch="sm_$arch" "$work/kernels.ptx" -o "$work/kernels.cubin"
    assembled=$((assembled + 1))
  fi
done
[ "$assembled" -gt 0 ] || { echo "nvcc knows none of the architectures" >&2; exit 1; }
mv "$work/kernels.ptx" "$output"
