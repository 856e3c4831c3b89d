#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# compile-products.sh COMPILER ARGUMENT...
#
# Compiles code with products of warpgroups. Fails where ptxas would have them wait for each other
# (C7520), which it says as a mere remark and which costs a sixth of the speed. Keeps to itself
# where it only brings warps together once more (C7519).
log=$("$@" 2>&1)
status=$?
printf '%s' "$log" | grep -v C7519
if printf '%s' "$log" | grep -q C7520; then
  echo "$0: products wait for each other" >&2
  exit 1
fi
exit "$status"
