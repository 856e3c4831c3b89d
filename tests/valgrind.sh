#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The element's tests of hostile buffers, borrowed memory, metas, renegotiation and storms under
# valgrind: no bad access, no use of an unset byte, nothing leaked.
#
#   tests/valgrind.sh [BUILD [PROGRAM...]]      BUILD (default build-cpu) is a build
#                                               with tests: ./bootstrap.sh test --without-cuda
#
# Takes minutes. Ends with `N passed, N failed`, a clean program being one passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build-cpu}
(($# == 0)) || shift
programs=("$@")
((${#programs[@]} > 0)) ||
  programs=(hostile_check buffers_check metas_check interlaced_check animation_check stream_check
            storm_check)
[[ -x $build/tests/check/${programs[0]} ]] ||
  { echo "$build has no tests; ./bootstrap.sh test --without-cuda builds them" >&2; exit 2; }
command -v valgrind >/dev/null || { echo 'valgrind is not installed' >&2; exit 2; }

registry=$(mktemp -d)
trap 'rm -rf "$registry"' EXIT
export GST_PLUGIN_PATH_1_0=$PWD/$build/plugin GST_REGISTRY_1_0=$registry/registry.bin
# Scanned without valgrind once, and without a fork that it would follow.
gst-inspect-1.0 cudaconvolve >/dev/null
# valgrind knows no AVX-512; the engine asks the processor, and so runs its AVX2 code.
export GST_REGISTRY_UPDATE=no G_SLICE=always-malloc

passed=0
failed=0
for program in "${programs[@]}"; do
  log=$registry/$program.log
  started=$SECONDS
  if valgrind --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite \
    --suppressions=.ci/valgrind.supp "$build/tests/check/$program" >"$log" 2>&1 </dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    tail -n 60 "$log"
  fi
  echo "figure: $program, $((SECONDS - started)) s:$(grep 'ERROR SUMMARY' "$log" | sed 's/^[=0-9]*//')"
done
echo "$passed passed, $failed failed"
((failed == 0 && passed > 0))
