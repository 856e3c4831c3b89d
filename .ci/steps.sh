# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by .ci/run: runs steps, keeps their logs, and adds up what their tests say.

log_dir=$(mktemp -d)
passed=0
failed=0
steps_failed=()

stamp() { printf '[%s] %s\n' "$(date -u +%H:%M:%S)" "$*"; }

# step NAME COMMAND...: a failing command fails the run, and the other steps still run. Output that
# has lines `N passed, N failed` counts as that many tests: the last such line decides.
step() {
  local name=$1 status=0 counts log start=$SECONDS
  shift
  log=$log_dir/${name//[^a-z0-9]/-}.log
  stamp "$name ..."
  "$@" </dev/null >"$log" 2>&1 || status=$?
  counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n1) || true
  if [[ -n $counts ]]; then
    read -r step_passed _ step_failed _ <<<"$counts"
    passed=$((passed + step_passed))
    failed=$((failed + step_failed))
  fi
  if ((status != 0)); then
    [[ -n $counts && $step_failed -gt 0 ]] || failed=$((failed + 1))
    steps_failed+=("$name")
    stamp "$name FAILED with status $status after $((SECONDS - start)) s; its last lines:"
    tail -n 100 "$log"
  else
    grep -E '^figure: ' "$log" || true
    stamp "$name ok, $((SECONDS - start)) s${counts:+, $counts}"
  fi
}

# Prints the sum, alone on the last line, and gives the run's exit status.
finish() {
  rm -rf "$log_dir"
  stamp "finished after $((SECONDS / 60)) min $((SECONDS % 60)) s"
  ((${#steps_failed[@]} == 0)) || printf 'failed step: %s\n' "${steps_failed[@]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0 && ${#steps_failed[@]} == 0))
}
