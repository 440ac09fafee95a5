#!/bin/sh
# Starts the kernel, from its start-up snapshot where there is one that fits:
#
#     /…/kernel/jupyter/start.sh CONNECTION_FILE /…/node [OPTION…]
#
# Node.js ends at once where a snapshot was made by another Node.js, for another processor, or is damaged; one that is older than
# the kernel's code holds other code, and one of a package that was moved other paths. All but damage is looked for before. A start that did not come as far as the kernel's
# code leaves its mark: the next one does without the snapshot.
connection=$1
shift
root=${0%/kernel/jupyter/start.sh}
main=$root/dist/kernel/jupyter/main.js
snapshot=$root/.p2plab/kernel.snapshot
mark=$snapshot.started

fits() {
  [ -z "$NODE_OPTIONS" ] && [ -r "$snapshot" ] || return 1
  { IFS= read -r folder && IFS= read -r node && IFS= read -r processor; } <"$snapshot.for" || return 1
  [ "$folder" = "$(cd "$root/dist" && pwd -P)" ] || return 1
  [ "$node" = "$(ls -Lis "$1")" ] || return 1
  [ "$processor" = "$(grep -m 1 '^flags' /proc/cpuinfo)" ] || return 1
  [ -z "$(find "$root/dist/kernel" "$root/node_modules/.package-lock.json" -name '*.js*' -newer "$snapshot" -print -quit)" ] || return 1
  if IFS= read -r last <"$mark" && ! kill -0 "$last"; then
    rm -f "$mark"
    return 1
  fi
} 2>/dev/null

# Of malloc: large pages, since reading the snapshot touches a hundred megabytes once; and what is free goes back to the system, where
# the compiler's short-lived memory would stay with the process: V8 takes it in pieces of 32 KiB, for one function up to 80 MB.
if [ -z "$GLIBC_TUNABLES" ]; then
  GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.trim_threshold=131072:glibc.malloc.mmap_threshold=32768
  P2PLAB_START_TUNABLES=$GLIBC_TUNABLES
  export GLIBC_TUNABLES P2PLAB_START_TUNABLES
fi

if fits "$1"; then
  { echo $$ >"$mark"; } 2>/dev/null
  export P2PLAB_START_MARK="$mark"
  exec "$@" --snapshot-blob "$snapshot" "$main" "$connection"
fi
exec "$@" "$main" "$connection"
