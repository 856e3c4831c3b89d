#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the packed tests on a GPU machine, suite by suite, and prints one table.
#
#   run.sh [SUITE...]      without a suite, all of them; run.sh --list names them
#   SECONDS=1200 SEED=1 run.sh storm      as long as asked
#
# Output goes to $OUT, or ./gpu-results: a log for each suite, and table.txt, to which later runs of
# the same machine and commit add; tests/benchmarks/results.py makes RESULTS.md of it. A suite that takes longer than SUITE_LIMIT seconds (default 1200) has failed. So has one that
# skips: there is a GPU here, or there should be.
set -uo pipefail
# How long the storm shall go on: bash counts on from the value that it finds.
storm_seconds=$SECONDS
((storm_seconds > 1)) || storm_seconds=150
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/gpu/env.sh
. "$here/env.sh"
# shellcheck source=tests/gpu/suites.sh
. "$here/suites.sh"

if [[ ${1-} == --list ]]; then printf '%s\n' "${all_suites[@]}"; exit 0; fi
suites=("$@")
((${#suites[@]} > 0)) || suites=("${all_suites[@]}")
out=${OUT:-$PWD/gpu-results}
mkdir -p "$out"
export CUDACONVOLVE_REQUIRE_GPU=1 CUDACONVOLVE_TEST_BACKEND=cuda G_DEBUG=fatal-criticals
export here out storm_seconds

machine=$(
  echo "device: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader ||
    echo none)"
  echo "commit: $(<"$here/data/commit")"
)
echo "$machine"
# One folder holds one machine and one commit, as the tables that are made of it do.
if [[ -e $out/machine.txt && $(<"$out/machine.txt") != "$machine" ]]; then
  echo "run.sh: $out holds results of another machine or commit:" "$(<"$out/machine.txt")" >&2
  exit 2
fi
echo "$machine" >"$out/machine.txt"
# Makes the registry, too, so that no suite is charged for it.
gst-inspect-1.0 cudaconvolve >"$out/inspect.txt" || { cat "$out/inspect.txt"; exit 1; }

failures=0
table=$out/table.txt
[[ -e $table ]] || printf '%-16s %-6s %8s  %s\n' suite result seconds 'key figure' >"$table"
for suite in "${suites[@]}"; do
  if ! declare -F "suite_$suite" >/dev/null; then
    echo "run.sh: no suite $suite; there are: ${all_suites[*]}" >&2
    exit 2
  fi
  log=$out/$suite.log
  start=$SECONDS
  echo "== $suite"
  export -f "suite_$suite"
  limit=${SUITE_LIMIT:-1200}
  [[ $suite == storm ]] && limit=$((limit + storm_seconds))
  timeout --kill-after=10 "$limit" bash -euo pipefail -c \
    ". \"\$here/suites.sh\"; suite_$suite" >"$log" 2>&1 </dev/null
  status=$?
  result=ok
  if ((status == 124 || status == 137)); then
    result=TIME
  elif ((status != 0)) || grep -qiE '^(SKIP|\[  SKIPPED \])' "$log"; then
    result=FAIL
  fi
  if [[ $result != ok ]]; then
    failures=$((failures + 1))
    tail -n 40 "$log"
  fi
  figure=$(grep -E '^figure: ' "$log" | tail -n1 | cut -c9-)
  [[ -n $figure ]] ||
    figure=$(grep -E '^[0-9]+ passed, [0-9]+ failed$|^\[  (PASSED|FAILED)  \] [0-9]+ tests?' "$log" |
             tail -n1)
  printf '%-16s %-6s %8d  %s\n' "$suite" "$result" "$((SECONDS - start))" "$figure" | tee -a "$table"
done
echo
cat "$table"
((failures == 0))
