# shellcheck shell=bash disable=SC2154  # run.sh sets `here` and `out`.
# SPDX-License-Identifier: LGPL-2.1-or-later
# The suites of the GPU runner. Each is a function that fails if anything in it does; its last line
# `figure: ...`, or else `N passed, N failed`, goes into the table.
# shellcheck disable=SC2034  # Read by run.sh.
all_suites=(conformance formats alpha decisions book boxes instances in_flight order owners check soak exits sweep memcheck racecheck
            initcheck synccheck residues start_stop contexts cuda_memory cuda_faults fault sizes epilogues alignments large giant storm
            pipelines benchmark speed grid pipelines_speed live mutants)

# Every kernel against the exact reference, all cases.
suite_conformance() {
  "$here/tests/conformance" --backend=cuda --full \
    --refusals="$here/data/refusals.txt" --forms="$here/data/forms.txt"
}

# Every format of the table through the element: all sizes, masks and borders.
suite_formats() { "$here/tests/format_table" cuda --every=1; }

# Colour weighted by alpha, against the exact reference.
suite_alpha() { "$here/tests/alpha_test" --backend=cuda; }

# Weighted colour whose sums are made again with twice the digits, however large the mask is.
suite_decisions() { "$here/tests/decisions_test"; }

# The worked numbers of the book and the lectures, given by every kernel.
suite_book() { "$here/tests/book_test"; }

# Boxes larger than the reference has time for, against the CPU.
suite_boxes() { "$here/tests/large_box_test"; }

# Many elements with masks of their own share the device; and that the test could fail.
suite_instances() {
  "$here/tests/shared_symbol"
  "$here/tests/instances_test"
  "$here/tests/many_devices_test"
  "$here/tests/element_instances" cuda 10000
}

# Several frames in flight on one device, through every kernel.
suite_in_flight() { "$here/tests/in_flight_test"; }

# Every height and width up to 400, in every way that kernels have, against the CPU.
suite_sizes() { "$here/tests/sizes_test"; }

# Every way in which sums become codes, on components that differ, against the CPU.
suite_epilogues() { "$here/tests/epilogues_test"; }

# Frames in device memory at every address and with pitches of every residue, against the CPU.
suite_alignments() { "$here/tests/alignments_test"; }

# Pictures of 3840x2160 in every way under all borders, against the CPU.
suite_large() { "$here/tests/large_pictures_test"; }

# Sides of 32,768 and planes of more than 2 GiB, which take 20 GiB of host memory a thread: for a
# release.
suite_giant() { "$here/tests/large_pictures_test" --giant --threads="${GIANT_THREADS:-4}"; }

# Launches that overlap keep their stream's order.
suite_order() { "$here/tests/order_test"; }

# Frames on the streams of those whose memory they are in.
suite_owners() { "$here/tests/owners_test"; }

# The element's tests, on CUDA.
suite_check() {
  local program status=0
  export GST_TRACERS=leaks G_DEBUG=fatal-warnings,fatal-criticals
  for program in "$here"/tests/*_check; do
    echo "-- $(basename "$program")"
    "$program" || status=1
  done
  echo "figure: $(grep -c '^\[       OK \]' "$out/check.log") passed," \
    "$(grep -c '^\[  FAILED  \].*ms)$' "$out/check.log") failed"
  return "$status"
}

# Minutes of one element while everything about it changes, every frame compared.
suite_soak() {
  GST_TRACERS=leaks G_DEBUG=fatal-warnings,fatal-criticals "$here/tests/soak" cuda "${SOAK_SECONDS:-600}"
}

# Stops with frames in flight.
suite_exits() {
  GST_TRACERS=leaks G_DEBUG=fatal-warnings,fatal-criticals \
    "$here/tests/start_stop" cuda "${EXITS:-1000}" in-flight
}

# Every kernel x memory layout of the element on small pictures, against the CPU.
suite_sweep() { "$here/tests/sweep" cuda; }

# sanitize SUITE TOOL OPTION... -- PROGRAM...: the program under a compute-sanitizer tool.
# Page-locked memory is kept until no device of the process works (kernels/cuda/runtime/page_locked.h): of
# what the tool calls leaks, that is none.
sanitize() {
  local log=$out/$1.log tool=$2 options=() status=0 errors kept
  shift 2
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  compute-sanitizer --tool "$tool" --error-exitcode 9 --launch-timeout 300 "${options[@]}" "$@" ||
    status=$?
  errors=$(sed -n 's/.* ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$log" | tail -n1)
  kept=$(grep -A2 'Leaked 1,048,576 bytes' "$log" | grep -c 'cuMemHostRegister') || true
  echo "figure: $(grep -E 'passed, [0-9]+ failed' "$log" | tail -n1);$(
    grep SUMMARY "$log" | tail -n1 | tr -d =)${errors:+, $kept of them buffers that are kept}"
  ((status == 0)) || ((status == 9 && errors == kept))
}
suite_memcheck() {
  sanitize memcheck memcheck --leak-check full --print-limit 1000 -- "$here/tests/sweep" cuda
}
# Blocks that use memory again are races to this tool where one lane arrives at a barrier for its
# warp: it forgets that __syncwarp() comes before.
suite_racecheck() { sanitize racecheck racecheck -- "$here/tests/sweep" cuda small; }
suite_initcheck() { sanitize initcheck initcheck -- "$here/tests/sweep" cuda; }
suite_synccheck() { sanitize synccheck synccheck -- "$here/tests/sweep" cuda; }

# Every form on widths and heights of every residue modulo 16 and at the edges of its tiles.
# initcheck forgets what was written to memory that another thread of the process has freed just
# before, so under it each process has one thread, and a part of the frames.
suite_residues() {
  local shards=8 status=0 k child
  local -a children=()
  sanitize residues memcheck -- "$here/tests/sizes_test" --residues --threads="$shards" || return 1
  for ((k = 0; k < shards; k++)); do
    compute-sanitizer --tool initcheck --error-exitcode 9 --launch-timeout 300 \
      "$here/tests/sizes_test" --residues --threads=1 --shard="$k/$shards" \
      >"$out/residues-$k.log" 2>&1 &
    children+=($!)
  done
  for child in "${children[@]}"; do wait "$child" || status=1; done
  cat "$out"/residues-?.log
  echo "figure: memcheck 0 errors; initcheck in $shards processes:" \
    "$(cat "$out"/residues-?.log | awk '/ passed, / { passed += $1; failed += $3 }
      /ERROR SUMMARY/ { errors += $4 }
      END { printf "%d passed, %d failed, %d errors", passed, failed, errors }')"
  return "$status"
}

# Device memory after 10,000 start/stop cycles.
suite_start_stop() { "$here/tests/start_stop" cuda "${START_STOP_CYCLES:-10000}"; }

# Two linked elements that start and stop at once, each asking the other for its CUDA context.
suite_contexts() { "$here/tests/context_cycles" cuda "${CONTEXT_CYCLES:-10000}"; }

# Every format in all four combinations of memory, a stream that changes its memories a thousand
# times, and then random streams of frames in CUDA memory:
# $CUDA_MEMORY_FRAMES of them (default 20,000), in four processes at once, as the driver makes one
# context at a time, each of which starts anew after 2,500 frames: a new process has new contexts.
# $CUDA_MEMORY_DEVICES GPUs take part.
suite_cuda_memory() {
  local frames=${CUDA_MEMORY_FRAMES:-20000} devices=${CUDA_MEMORY_DEVICES:-1} part=2500
  export G_DEBUG=fatal-warnings,fatal-criticals
  "$here/tests/cuda_memory_storm" every || return 1
  "$here/tests/cuda_memory_storm" changes 1000 1 || return 1
  seq 1 "$part" "$frames" | xargs -P 4 -I '{}' timeout 300 \
    "$here/tests/cuda_memory_storm" "$part" 200 '{}000' "$devices" 200 >"$out/cuda_memory_parts.log"
  local status=$?
  grep -v '^figure' "$out/cuda_memory_parts.log" || true
  awk '/^figure/ { frames += $2; cases += $5; failed += $(NF - 1) }
    END { printf "figure: %d frames in CUDA memory in %d cases, %d failed\n", frames, cases, failed }' \
    "$out/cuda_memory_parts.log"
  return "$status"
}

# No memory left on the device, and faults in the midst of streams of frames in CUDA memory, one
# after the other: each process must end by itself within 20 s. Where several meet a fault at once
# the driver now and then does not return to the test, which reads what was handed over.
suite_cuda_faults() {
  local fault memories settings status=0
  "$here/tests/cuda_exhausted" | tee "$out/cuda_exhausted.log" || status=1
  export CUDACONVOLVE_MODULE=$here/module-fault CUDACONVOLVE_FAULT_AT_FRAME=100
  # shellcheck source=tests/gpu/env.sh
  . "$here/env.sh"
  for fault in address memory poll; do
    for memories in 'cuda cuda' 'cuda system' 'system cuda'; do
      for settings in 'auto 2' 'cuda 0' 'cuda 2'; do
        echo "env CUDACONVOLVE_FAULT=$fault timeout --signal=KILL 20 $here/tests/cuda_fault $memories $settings 200"
      done
    done
  done | xargs -d '\n' -I '{}' bash -c '{} || { echo "FAIL $? {}"; exit 1; }' || status=1
  echo "figure: faults: $(grep -c '^1 passed, 0 failed$' "$out/cuda_faults.log") as promised," \
    "$(grep -c '^FAIL .*/tests/cuda_fault ' "$out/cuda_faults.log") not; no memory:" \
    "$(tail -n1 "$out/cuda_exhausted.log")"
  return "$status"
}

# Between neighbours that are slow on streams of their own. Only run if asked for, as GStreamer has
# streams from 1.24 on (pack-newer.sh).
suite_stream_order() { "$here/tests/stream_order" "${STREAM_ORDER_FRAMES:-300}"; }

# Frames of a decoder on the GPU, filtered where they lie, and how fast. Only run if asked for, as
# the driver may come without libnvcuvid; DECODER names another than nvh264dec.
suite_decode() {
  export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$here/nvcodec/lib
  export GST_PLUGIN_PATH_1_0=$GST_PLUGIN_PATH_1_0:$here/nvcodec/plugins
  export GST_REGISTRY_1_0=${GST_REGISTRY_1_0%.bin}-nvcodec.bin
  local decoder=${DECODER:-nvh264dec} long
  "$here/tests/decoded" "$decoder" "$here/data/film.h264"
  long=$(mktemp)
  for _ in 1 2 3 4 5 6 7 8; do cat "$here/data/film.h264"; done >"$long"
  "$here/tests/decoded" "$decoder" "$long" --rounds=5
  rm "$long"
}

# Faults at frame 100 of 300, with the module that can raise them: an illegal address, memory that
# is exhausted, a kernel that polls for ever, and one that hangs where only the host can see it. The
# process must end by itself within 10 s of the fault, and the 300 frames take less than 2.
suite_fault() {
  export CUDACONVOLVE_MODULE=$here/module-fault CUDACONVOLVE_FAULT_AT_FRAME=100
  # shellcheck source=tests/gpu/env.sh
  . "$here/env.sh"
  local fault backend start took slowest=0
  for fault in address memory poll hang; do
    for backend in auto cuda; do
      start=$(date +%s%N)
      # By lines, so that a process that must be killed has said how far it came.
      CUDACONVOLVE_FAULT=$fault timeout --signal=KILL 60 stdbuf -oL "$here/tests/fault" "$backend" 300
      took=$((($(date +%s%N) - start) / 1000000))
      echo "fault $fault, backend=$backend: the process ended after $took ms"
      ((took <= 12000))
      ((took <= slowest)) || slowest=$took
    done
  done
  echo "figure: 4 faults; auto: 300 right frames, one warning; cuda: one error; ended after $slowest ms at most"
}

# Random cases, each frame on CUDA beside the CPU: $STORM_PROCESSES storms (default 8) beside each
# other, of seeds from $SEED on (default the time), for $SECONDS (default 150). First the cases that
# have failed before.
suite_storm() {
  local status=0 first=${SEED:-$(date +%s)} processes=${STORM_PROCESSES:-8} k
  local -a children=() logs=()
  export G_DEBUG=fatal-warnings,fatal-criticals
  "$here/tests/storm" --backend=cuda --corpus="$here/data/storm" || status=1
  for ((k = 0; k < processes; k++)); do
    logs+=("$out/storm-$((first + k)).log")
    "$here/tests/storm" --backend=cuda --limit=60 --seed=$((first + k)) --seconds="$storm_seconds" \
      >"${logs[k]}" 2>&1 &
    children+=($!)
  done
  for k in "${children[@]}"; do wait "$k" || status=1; done
  cat "${logs[@]}"
  # figure: seed S: N cases, F frames, E element / G engine, ...
  awk -v processes="$processes" -v first="$first" '
    /^figure: seed / { cases += $4; frames += $6; element += $8; engine += $11 }
    /^FAIL / { failed++ }
    END { printf "figure: %d frames in %d cases, %d element / %d engine, %d failed, %d seeds from %s\n",
                 frames, cases, element, engine, failed, processes, first }' "${logs[@]}"
  return "$status"
}

# README's lines, on the GPU. Each must end by itself, without an error.
suite_pipelines() {
  local count=0
  launch() {
    echo "\$ gst-launch-1.0 $*"
    gst-launch-1.0 -q "$@"
    count=$((count + 1))
  }
  local work
  work=$(mktemp -d)
  launch filesrc location="$here/data/picture.png" ! pngdec ! videoconvert ! \
    cudaconvolve backend=cuda mask=gaussian:3 ! videoconvert ! pngenc ! \
    filesink location="$work/blurred.png"
  [[ $(head -c4 "$work/blurred.png") == $'\x89PNG' ]]
  local format mask
  for format in I420 NV12 RGBA; do
    for mask in sharpen box:5 'gaussian:2' '1 2 1; 2 4 2; 1 2 1'; do
      launch videotestsrc num-buffers=100 ! "video/x-raw,format=$format,width=1920,height=1080" ! \
        cudaconvolve backend=cuda mask="$mask" ! fakesink
    done
  done
  launch videotestsrc is-live=true num-buffers=60 ! \
    cudaconvolve backend=cuda mask=emboss ! fakesink sync=true
  launch videotestsrc num-buffers=90 ! video/x-raw,width=640,height=360 ! vp8enc deadline=1 ! \
    webmmux ! filesink location="$work/in.webm"
  launch filesrc location="$work/in.webm" ! matroskademux ! vp8dec ! \
    cudaconvolve backend=cuda mask=sharpen ! vp8enc deadline=1 ! webmmux ! \
    filesink location="$work/out.webm"
  launch filesrc location="$work/out.webm" ! matroskademux ! vp8dec ! fakesink
  rm -rf "$work"
  echo "figure: $count gst-launch lines"
}

# The book's kernels side by side; benchmark.log is the Markdown, benchmark.json one object a row.
suite_benchmark() {
  "$here/tests/bench_kernels" --backend=cuda --commit="$(<"$here/data/commit")" \
    --json="$out/benchmark.json"
  echo "figure: $(wc -l <"$out/benchmark.json") rows"
}

# What users wait for: whole frames of common formats, beside a copy, NPP, PyTorch and CuPy; speed.log
# is the Markdown, speed.json one object a row, which tests/benchmarks/plot.py draws.
suite_speed() {
  "$here/tests/bench_planes" --commit="$(<"$here/data/commit")" --seconds=0.05 \
    --json="$out/speed.json"
  if command -v python3 >/dev/null; then
    # It finds the machine's libraries, not the packed ones.
    env -u LD_LIBRARY_PATH python3 "$here/tests/peers_gpu.py" --seconds=0.05 \
      --commit="$(<"$here/data/commit")" --json="$out/peers.json"
    cat "$out/peers.json" >>"$out/speed.json"
  else
    echo 'no rows of PyTorch and CuPy: no python3'
  fi
  echo "figure: $(wc -l <"$out/speed.json") rows"
}

# What pipelines give a user, beside GStreamer's own way to the GPU and back, a pipeline that does
# nothing and the bus; pipelines_speed.log is the Markdown, pipelines.json one object a row. A round
# has 500 frames and takes $PIPELINES_SECONDS (default 0.5) at least.
suite_pipelines_speed() {
  local convolve='--elements=cudaconvolve backend=cuda mask=%MASK%' part=0 status=0
  local -a there_and_back=()
  export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$here/nvcodec/lib
  export GST_PLUGIN_PATH_1_0=$GST_PLUGIN_PATH_1_0:$here/nvcodec/plugins
  export GST_REGISTRY_1_0=${GST_REGISTRY_1_0%.bin}-nvcodec.bin
  if gst-inspect-1.0 --exists cudaupload && gst-inspect-1.0 --exists cudadownload; then
    there_and_back=('--elements=cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload')
  else
    echo 'no rows of cudaupload ! cudadownload: not packed, or no libnvcuvid here, without which nvcodec has nothing'
    gst-inspect-1.0 nvcodec || true
  fi
  rows() {
    part=$((part + 1))
    "$here/tests/bench_pipelines" --commit="$(<"$here/data/commit")" --rounds=3 --warm-up=40 \
      --frames=500 --seconds="${PIPELINES_SECONDS:-0.5}" --json="$out/pipelines-$part.part" "$@" ||
      status=1
  }
  rows --sizes=1080p,4k --pool=offered,foreign "$convolve" "${there_and_back[@]}" --elements=identity
  rows --sizes=4k --formats=RGBA,P010_10LE,I420 --pool=offered,foreign "$convolve" \
    "${there_and_back[@]}"
  rows --sizes=1080p,4k --masks=gaussian:10,reals-31 "$convolve"
  rows --sizes=1080p,4k --masks=reals-9,reals-31 --pool=cuda "$convolve" \
    '--elements=cudaconvolve backend=cuda async-depth=0 mask=%MASK%'
  rows --sizes=1080p,4k --pipelines=8,32 --pool=offered,foreign "$convolve"
  rows --sizes=1080p,4k --pipelines=8,32 "${there_and_back[@]}" --elements=identity
  cat "$out"/pipelines-*.part >"$out/pipelines.json"
  rm "$out"/pipelines-*.part
  echo "figure: $(wc -l <"$out/pipelines.json") rows"
  return "$status"
}

# When copies and kernels of frames ran, for tests/benchmarks/timeline.py. Only run if asked for.
suite_timeline() {
  local line name pool depth
  for line in 'in-flight offered -1' 'alone offered 0' 'foreign foreign -1'; do
    read -r name pool depth <<<"$line"
    CUDA_INJECTION64_PATH=$here/lib/libtimeline.so TIMELINE_JSON=$out/timeline-$name.json \
      "$here/tests/bench_pipelines" --commit="$(<"$here/data/commit")" --rounds=1 --warm-up=40 \
      --frames=300 --seconds=0.01 --sizes=1080p --pool="$pool" \
      "--elements=cudaconvolve backend=cuda async-depth=$depth mask=%MASK%"
    [[ -s $out/timeline-$name.json ]]
  done
  echo "figure: $(cat "$out"/timeline-*.json | wc -l) copies and kernels"
}

# Live sources: what a viewer waits for, beside the latency that the pipeline reports; a frame that
# comes too late to be shown fails its row.
suite_live() {
  local fps status=0
  for fps in 30 60 240; do
    "$here/tests/bench_pipelines" --commit="$(<"$here/data/commit")" --rounds=3 --warm-up=30 \
      --frames=$((fps * 3)) --live=$fps --sizes=1080p --json="$out/live-$fps.json" \
      '--elements=cudaconvolve backend=cuda mask=%MASK%' \
      '--elements=cudaconvolve backend=cuda async-depth=2 mask=%MASK%' \
      '--elements=cudaconvolve backend=cuda async-depth=4 mask=%MASK%' || status=1
  done
  echo "figure: $(cat "$out"/live-*.json | wc -l) rows"
  return "$status"
}

# What kernel=auto chooses and predicts, against the kernels that it chooses from; grid.log lists
# the cells where it is wrong.
suite_grid() {
  "$here/tests/bench_planes" --grid --commit="$(<"$here/data/commit")" --seconds=0.02 \
    --json="$out/grid.json"
}

# Faults planted in CUDA code, each of which some test must catch; compiles, so it wants many cores.
suite_mutants() { python3 "$here/mutants/relink.py" "$here"; }

# The planner's constants for this GPU: calibrate.log is the row. Only run if asked for.
suite_calibrate() {
  "$here/tests/bench_planes" --calibrate --commit="$(<"$here/data/commit")" --seconds=0.05 \
    --json="$out/calibrate.json"
  echo "figure: $(wc -l <"$out/calibrate.json") cases"
}
