#!/usr/bin/env bash
# Runs any program under Nsight Systems, exports the report to SQLite and prints what it says about transfers.
#   nsys-program.sh OUT PROGRAM [ARGUMENT…]        writes OUT.nsys-rep and OUT.sqlite
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
[ $# -ge 2 ] || fail "usage: nsys-program.sh OUT PROGRAM [ARGUMENT…]"
need nsys "Install Nsight Systems (package nsight-systems-cli), or run this where the GPUs are and import its files here."
out=$1
shift
# What an earlier run left must not pass for what this one did.
rm -f "$out.nsys-rep" "$out.sqlite"
# No sampling of the CPU: it needs rights, costs time, and says nothing of transfers.
status=0
nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none --force-overwrite=true "--output=$out" "$@" || status=$?
[ -f "$out.nsys-rep" ] || fail "nsys wrote no report (exit code $status)." "  → What it printed above says why."
nsys export --type=sqlite --force-overwrite=true "--output=$out.sqlite" "$out.nsys-rep"
p2plab import "$out.sqlite"
exit "$status"
