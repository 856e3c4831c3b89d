#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Packs what pack.sh packs of the element, but with a newer GStreamer: its libraries, tools and
# plugins, and the element's tests built against it, from a root that tests/newer-gstreamer.sh has
# made; and the modules of a pack, which were built against this machine's GStreamer.
#
#   tests/gpu/pack-newer.sh PACKED [SUITE]      default: trixie (1.26), into PACKED-trixie/
#
# There: PACKED-trixie/run.sh check cuda_memory cuda_faults stream_order decode contexts fault storm. Needs
# the pack and the root of one commit, and glibc 2.38 on the GPU machine.
set -euo pipefail
usage='usage: tests/gpu/pack-newer.sh PACKED [SUITE]'
packed=$(realpath -m "${1:?$usage}")
suite=${2-trixie}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly root=$PWD/build-newer/$suite dest=$packed-$suite
die() { printf '%s\n' "pack-newer: $*" >&2; exit 1; }
[[ -d $root/build/tests && -d $packed/module ]] || die "no $root/build or no $packed/module"
[[ $(<"$root/commit") == "$(<"$packed/data/commit")" ]] ||
  die "the root is of $(<"$root/commit"), the pack of $(<"$packed/data/commit")"

readonly plugins=(coreelements coretracers app videotestsrc videoconvertscale videorate
                  typefindfunctions playback imagefreeze png jpeg matroska vpx)
readonly tools=(gst-launch-1.0 gst-inspect-1.0)
readonly triplet=usr/lib/x86_64-linux-gnu

rm -rf "$dest"
mkdir -p "$dest"/{bin,lib,plugins,tests,data}
copy() { strip --strip-unneeded -o "$2/$(basename "$1")" "$1"; }
cp -r "$packed"/{module,module-fault} "$dest"

# Those that bring fakes stay away, and what has an engine of its own or measures device memory: the
# root's has no CUDA code.
list=$(mktemp)
folders=("$root"/build/tests/{check,cuda_memory,gpu})
find "${folders[@]}" -type f -executable ! -name '*.so*' ! -path '*.p/*' ! -name 'context*_fake' \
  ! -name contexts_check ! -name cuda_faults_check ! -name cuda_memory_check ! -name start_stop ! -name sweep >"$list"
while read -r program; do copy "$program" "$dest/tests"; done <"$list"
# These, built against the older GStreamer, know the bus and have an engine of their own.
for program in bench_pipelines storm; do
  [[ ! -f $packed/tests/$program ]] || cp "$packed/tests/$program" "$dest/tests"
done
for tool in "${tools[@]}"; do copy "$root/usr/bin/$tool" "$dest/bin"; done
copy "$root/$triplet/gstreamer1.0/gstreamer-1.0/gst-plugin-scanner" "$dest/bin"
for plugin in "${plugins[@]}"; do
  [[ ! -f $root/$triplet/gstreamer-1.0/libgst$plugin.so ]] ||
    copy "$root/$triplet/gstreamer-1.0/libgst$plugin.so" "$dest/plugins"
done

# NVIDIA's elements lie apart, as in the pack. In the root are their libraries, but no package that
# has them, as it brings half a desktop.
mkdir -p "$dest/nvcodec/plugins"
bad=$(mktemp -d)
chroot "$root" sh -c 'cd /tmp && apt-get update -qq && apt-get download -qq gstreamer1.0-plugins-bad' >/dev/null
dpkg -x "$root"/tmp/gstreamer1.0-plugins-bad_*.deb "$bad"
rm "$root"/tmp/gstreamer1.0-plugins-bad_*.deb
for plugin in nvcodec videoparsersbad; do
  copy "$bad/$triplet/gstreamer-1.0/libgst$plugin.so" "$dest/nvcodec/plugins"
done
rm -r "$bad"

# Their libraries, as the root's loader finds them. glibc, its loader and the driver's libraries stay
# the GPU machine's own; libhwy is that of the modules.
readonly own='^(ld-linux.*|lib(c|m|pthread|dl|rt|resolv)\.so.*|lib(cuda|nvidia|nvcuvid).*)$'
mkdir -p "$root/pack"
mount --bind "$dest" "$root/pack"
trap 'umount "$root/pack"; rm -f "$list"' EXIT
chroot "$root" find /pack -type f \( -executable -o -name '*.so' \) ! -path '/pack/module*' \
  -exec ldd {} + 2>/dev/null | awk '$3 ~ /^\// { print $3 }' | sort -u >"$list"
[[ -s $list ]] || die "no libraries in $root"
while read -r library; do
  [[ $(basename "$library") =~ $own ]] || copy "$root$library" "$dest/lib"
done <"$list"
for library in "$packed"/lib/libhwy*; do
  [[ ! -f $library ]] || cp -n "$library" "$dest/lib"
done

cp tests/gpu/{run.sh,env.sh,suites.sh} "$dest/"
cp "$packed/data/commit" "$dest/data"
cp -r "$packed/data/storm" "$dest/data"
for file in picture.png film.h264; do
  [[ ! -f $packed/data/$file ]] || cp "$packed/data/$file" "$dest/data"
done
du -sh "$dest"
