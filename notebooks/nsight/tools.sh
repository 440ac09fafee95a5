# What the scripts of this folder have in common; sourced by them.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# need TOOL HINT: the tool has to be on PATH or where the CUDA toolkit lies.
need() {
  command -v "$1" >/dev/null 2>&1 && return
  for folder in /usr/local/cuda/bin /opt/nvidia/nsight-systems/*/bin /opt/nvidia/nsight-compute/*; do
    if [ -x "$folder/$1" ]; then
      PATH=$PATH:$folder
      return
    fi
  done
  fail "$1 is not installed." "  → $2"
}

p2plab() {
  [ -f "$root/dist/kernel/cli/main.js" ] || fail "p2plab is not built." "  → Run npm run setup in $root."
  node "$root/dist/kernel/cli/main.js" "$@"
}
