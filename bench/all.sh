#!/usr/bin/env bash
# Every measurement, small by default: bench/all.sh [NAME…]   (bench/README.md has the sizes)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env

names=("$@")
[ ${#names[@]} -gt 0 ] || names=(recorder rolled hosts rate startup answers engine report pages zoom imports compare compact honesty faults mpstat nicstat pstime util memstat tamp lsync load
    observers overhead databases iopattern plockstat)
for name in "${names[@]}"; do
    printf '\n==> %s\n' "$name" >&2
    python3 "bench/$name.py"
done
