# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Sourced by .ci/run: runs steps, keeps their logs, and adds up what their tests say.

log_dir=$(mktemp -d)
passed=0
failed=0
steps_failed=()
skips=()
declare -A beside=()

stamp() { printf '[%s] %s\n' "$(date -u +%H:%M:%S)" "$*"; }

# account LOG: the last line `N passed, N failed`, behind the lines `beside: N things` and
# `skipped: PROGRAM (WHY)` that stand right before it.
account() {
  awk '/^(beside|skipped): / { block = block $0 "\n"; next }
       /^[0-9]+ passed, [0-9]+ failed$/ { last = block $0 }
       { block = "" }
       END { if (last != "") print last }' "$1"
}

# step NAME COMMAND...: a failing command fails the run, and the other steps still run. Output that
# has lines `N passed, N failed` counts as that many tests: the last such line decides, and 0 of
# both is a skip. What is counted beside the tests, and what was skipped, is kept for the end.
step() {
  local name=$1 status=0 counts='' log line number start=$SECONDS step_passed=0 step_failed=0
  shift
  log=$log_dir/${name//[^a-z0-9]/-}.log
  stamp "$name ..."
  # In the background, as bash forgets `set -e` within a function that stands before `||`: a storm
  # that failed went unnoticed because the tests after it passed.
  "$@" </dev/null >"$log" 2>&1 &
  wait $! || status=$?
  while read -r line; do
    case $line in
      beside:*)
        read -r _ number line <<<"$line"
        beside[$line]=$((${beside[$line]:-0} + number)) ;;
      skipped:*) skips+=("$line, in $name") ;;
      *) counts=$line ;;
    esac
  done < <(account "$log")
  if [[ -n $counts ]]; then
    read -r step_passed _ step_failed _ <<<"$counts"
    passed=$((passed + step_passed))
    failed=$((failed + step_failed))
    ((status != 0 || step_passed + step_failed > 0)) || skips+=("skipped: $name (ran nothing)")
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

# Prints the sums, that of the tests alone on the last line, and gives the run's exit status.
finish() {
  local things
  rm -rf "$log_dir"
  stamp "finished after $((SECONDS / 60)) min $((SECONDS % 60)) s"
  ((${#steps_failed[@]} == 0)) || printf 'failed step: %s\n' "${steps_failed[@]}"
  for things in "${!beside[@]}"; do
    printf 'beside: %d %s\n' "${beside[$things]}" "$things"
  done | sort -k3
  ((${#skips[@]} == 0)) || printf '%s\n' "${skips[@]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0 && passed > 0 && ${#steps_failed[@]} == 0))
}
