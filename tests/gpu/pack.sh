#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Packs the build, its tests and this machine's GStreamer into a folder that runs on a bare x86-64
# GPU machine with the same or a newer glibc, an NVIDIA driver and a CUDA toolkit.
#
#   tests/gpu/pack.sh DEST [--tar]      --tar also writes DEST.tar.xz
#
# There: DEST/run.sh [SUITE...]. Builds in build-pack/ and, for the fault suite, build-pack-fault/;
# CUDA_ARCHS (default 90) names the compute capabilities, JOBS the parallel compilations.
set -euo pipefail
usage='usage: tests/gpu/pack.sh DEST [--tar]'
dest=$(realpath -m "${1:?$usage}")
tar=${2-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly archs=${CUDA_ARCHS:-90}
readonly plugins=(coreelements coretracers app videotestsrc videoconvertscale videorate
                  typefindfunctions playback imagefreeze png jpeg matroska vpx)
readonly tools=(gst-launch-1.0 gst-inspect-1.0)

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[[ -x $nvcc ]] || { echo 'pack: no nvcc in PATH or /usr/local/cuda/bin' >&2; exit 1; }
export NVCC=$nvcc PATH=$PATH:${nvcc%/*}

# build FOLDER TARGETS OPTION...; no targets means all.
build() {
  local folder=$1 targets=$2
  shift 2
  [[ -f $folder/build.ninja ]] ||
    meson setup "$folder" -Dcuda=enabled -Dcuda-archs="$archs" -Dpeers=disabled "$@"
  # shellcheck disable=SC2086  # Several targets are several words.
  ninja -C "$folder" ${JOBS:+-j "$JOBS"} $targets
}
build build-pack '' -Dtests=enabled -Dbenchmarks=auto
build build-pack-fault plugin/libgstcudaconvolve.so -Dfault-injection=true -Dtests=disabled \
  -Dbenchmarks=disabled -Dexamples=disabled

# What `relink.py --compile` has made stays: it takes minutes, and knows itself what is out of date.
mkdir -p "$dest/mutants/objects"
find "$dest" -mindepth 1 ! -path "$dest/mutants" ! -path "$dest/mutants/objects*" -delete
mkdir -p "$dest"/{bin,lib,plugins,module,module-fault,tests,data}

# Programs and our module, without their debug information.
copy() { strip --strip-unneeded -o "$2/$(basename "$1")" "$1"; }
copy build-pack/plugin/libgstcudaconvolve.so "$dest/module"
copy build-pack-fault/plugin/libgstcudaconvolve.so "$dest/module-fault"
while read -r program; do
  copy "$program" "$dest/tests"
done < <(find build-pack/tests -type f -executable ! -name '*.so*' ! -name '*.p' \
  ! -name fallback_check ! -name in_flight_check ! -name staging_test ! -name 'context*_fake' ! -name contexts_check ! -name cuda_faults_check ! -name cuda_memory_check)  # These bring fakes.
for tool in "${tools[@]}"; do copy "$(command -v "$tool")" "$dest/bin"; done
copy "$(pkg-config --variable=pluginscannerdir gstreamer-1.0)/gst-plugin-scanner" "$dest/bin"
plugin_dir=$(pkg-config --variable=pluginsdir gstreamer-1.0)
for plugin in "${plugins[@]}"; do copy "$plugin_dir/libgst$plugin.so" "$dest/plugins"; done

if [[ -f build-pack/tests/gpu/libtimeline.so ]]; then
  copy build-pack/tests/gpu/libtimeline.so "$dest/lib"
fi

# Their libraries. glibc, its loader and the driver's libraries stay the GPU machine's own.
readonly own='^(ld-linux.*|lib(c|m|pthread|dl|rt|resolv)\.so.*|lib(cuda|nvidia|nvcuvid).*)$'
# copy_libraries BELOW FOLDER: what files below BELOW need and lib/ has not yet, into FOLDER.
copy_libraries() {
  find "$1" -type f \( -executable -o -name '*.so' \) -exec ldd {} + 2>/dev/null |
    awk '$3 ~ /^\// {print $3}' | sort -u | while read -r library; do
    [[ $(basename "$library") =~ $own || -e $dest/lib/$(basename "$library") ]] ||
      copy "$library" "$2"
  done
}
copy_libraries "$dest" "$dest/lib"

# GStreamer's own CUDA elements, which pipelines_speed holds ours against. They lie apart: their
# plugin opens the driver and brings half a desktop, and no other suite is to see either.
if [[ -f $plugin_dir/libgstnvcodec.so ]]; then
  mkdir -p "$dest"/nvcodec/{plugins,lib}
  copy "$plugin_dir/libgstnvcodec.so" "$dest/nvcodec/plugins"
  copy "$plugin_dir/libgstvideoparsersbad.so" "$dest/nvcodec/plugins"
  copy_libraries "$dest/nvcodec/plugins" "$dest/nvcodec/lib"
fi

# What tests/mutants/relink.py compiles and links faulty kernels with: the sources, and the objects
# of the build without their debug information. Meson's archives are thin and only name them.
mkdir -p "$dest"/{link,source}
cp -r kernels "$dest/source"
cp tests/mutants/*.py "$dest/mutants"
cp /usr/lib/*/libgtest.a /usr/lib/*/libgtest_main.a "$dest/link"
while read -r archive; do
  whole=$dest/link/$(basename "$archive")
  printf '%s\n' "create $whole" "addlib $archive" save end | ar -M
  strip --strip-debug "$whole"
done < <(find build-pack/kernels build-pack/tests/kernels -name '*.a')
for program in build-pack/tests/kernels/*.p; do
  [[ $program != *.a.p ]] || continue
  mkdir "$dest/link/$(basename "$program" .p)"
  for object in "$program"/*.o; do
    strip --strip-debug -o "$dest/link/$(basename "$program" .p)/$(basename "$object")" "$object"
  done
done

# A film for the decoder, if there is an encoder.
if command -v ffmpeg >/dev/null; then
  ffmpeg -hide_banner -loglevel error -y -f lavfi -i mandelbrot=size=1920x1080:rate=60:end_scale=0.01 \
    -f lavfi -i testsrc2=size=1920x1080:rate=60 -filter_complex \
    '[0][1]blend=all_mode=average,noise=alls=6:allf=t,format=yuv420p' \
    -frames:v 120 -c:v libx264 -bf 3 -b:v 8M "$dest/data/film.h264"
fi

cp tests/gpu/run.sh tests/gpu/env.sh tests/gpu/suites.sh "$dest/"
cp tests/benchmarks/peers_gpu.py "$dest/tests/"
cp tests/examples/contact-sheet.png "$dest/data/picture.png"
cp tests/kernels/refusals.txt tests/kernels/forms.txt "$dest/data/"
cp -r tests/storm/corpus "$dest/data/storm"
{ git describe --always --dirty 2>/dev/null || echo unknown; } >"$dest/data/commit"

du -sh "$dest"
if [[ $tar == --tar ]]; then
  tar -C "$(dirname "$dest")" -cJf "$dest.tar.xz" "$(basename "$dest")"
  du -sh "$dest.tar.xz"
fi
