#!/bin/sh
# Starts the kernel, from its start-up snapshot where there is one that fits:
#
#     /…/kernel/jupyter/start.sh CONNECTION_FILE /…/node [OPTION…]
#
# Node.js ends at once where a snapshot was made by another Node.js, for another processor, or is damaged; and one that is older
# than the kernel's code holds other code. All but damage is looked for before. A start that did not come as far as the kernel's
# code leaves its mark: the next one does without the snapshot.
connection=$1
shift
root=${0%/kernel/jupyter/start.sh}
main=$root/dist/kernel/jupyter/main.js
snapshot=$root/.p2plab/kernel.snapshot
mark=$snapshot.started

fits() {
  [ -z "$NODE_OPTIONS" ] && [ -r "$snapshot" ] || return 1
  { IFS= read -r node && IFS= read -r processor; } <"$snapshot.for" || return 1
  [ "$node" = "$(ls -Lis "$1")" ] || return 1
  [ "$processor" = "$(grep -m 1 '^flags' /proc/cpuinfo)" ] || return 1
  [ -z "$(find "$root/dist/kernel" "$root/node_modules/.package-lock.json" -newer "$snapshot" -print -quit)" ] || return 1
  if IFS= read -r last <"$mark" && ! kill -0 "$last"; then
    rm -f "$mark"
    return 1
  fi
} 2>/dev/null

if fits "$1"; then
  { echo $$ >"$mark"; } 2>/dev/null
  P2PLAB_START_MARK=$mark
  # Large pages for what malloc hands out: reading the snapshot touches a hundred megabytes once.
  : "${GLIBC_TUNABLES:=glibc.malloc.hugetlb=1}"
  export P2PLAB_START_MARK GLIBC_TUNABLES
  exec "$@" --snapshot-blob "$snapshot" "$main" "$connection"
fi
exec "$@" "$main" "$connection"
