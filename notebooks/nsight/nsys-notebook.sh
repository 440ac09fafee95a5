#!/usr/bin/env bash
# Runs a notebook under Nsight Systems, exports the report to SQLite and prints what it says about transfers.
#   nsys-notebook.sh NOTEBOOK [OUT, default reports]
source "$(dirname "${BASH_SOURCE[0]}")/tools.sh"
[ $# -ge 1 ] || fail "usage: nsys-notebook.sh NOTEBOOK [OUT]"
need nsys "Install Nsight Systems (package nsight-systems-cli), or run this where the GPUs are and import its files here."
p2plab run "$1" --out "${2:-reports}" --profile nsys
