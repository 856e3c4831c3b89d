// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/pieces.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Pieces begin at multiples of so many rows or columns of the finest component. Every subsampled
/// component then has a whole number of them, and device addresses stay aligned.
constexpr int kUnit = 64;

/// One axis of a frame: the finest component's samples along it.
struct Axis {
  bool columns;

  int length(const Component& component) const {
    return columns ? component.width : component.height;
  }
  int longest(const FrameFormat& format) const {
    int most = 0;
    for (int p = 0; p < format.plane_count; ++p)
      for (int c = 0; c < format.planes[p].component_count; ++c)
        most = std::max(most, length(format.planes[p].components[c]));
    return most;
  }
  /// Samples of the finest component for each of this one: 1, 2 or 4.
  int ratio(const Component& component, int longest) const {
    const int own = length(component);
    return own == 0 ? 1 : std::max(1, (longest + own / 2) / own);
  }
  int coarsest(const FrameFormat& format, int longest) const {
    int most = 1;
    for (int p = 0; p < format.plane_count; ++p)
      for (int c = 0; c < format.planes[p].component_count; ++c)
        most = std::max(most, ratio(format.planes[p].components[c], longest));
    return most;
  }
  int before(const Mask& mask) const { return columns ? mask.anchor_x : mask.anchor_y; }
  int behind(const Mask& mask) const {
    return columns ? mask.width - 1 - mask.anchor_x : mask.height - 1 - mask.anchor_y;
  }
};

/// Samples of the finest component from `begin` to `end` - 1, which may lie outside.
struct Span {
  int begin, end;
};

/// Reach of the mask on one side, in samples of the finest component; one more than it sees, which
/// Border::kMirror leaves out.
int reach_of(int taps, int coarsest) {
  return round_up((taps + 1) * coarsest, kUnit);
}

/// A piece's outputs, and the inputs that they depend on.
struct Spans {
  Span wanted, seen;
};

/// The spans of piece `index`. With `wrap` inputs may lie outside the picture.
Spans spans_of(const FrameFormat& format, const Mask& mask, const Cut& cut, bool wrap, int index) {
  const Axis axis{cut.columns};
  const int longest = axis.longest(format), coarsest = axis.coarsest(format, longest);
  const auto boundary = [&](int i) {
    const std::int64_t at = std::int64_t{i} * longest / cut.count;
    return i == cut.count ? longest : std::min(longest, round_up(static_cast<int>(at), kUnit));
  };
  const Span wanted{boundary(index), boundary(index + 1)};
  const int before = reach_of(axis.before(mask), coarsest);
  const int behind = reach_of(axis.behind(mask), coarsest);
  Span seen{wanted.begin - before, wanted.end + behind};
  if (!wrap) {
    // A piece at the picture's border must see what the ghosts there repeat.
    seen = {std::max(0, seen.begin), std::min(longest, seen.end)};
    if (seen.begin == 0) seen.end = std::min(longest, std::max(seen.end, before));
    if (seen.end == longest)
      seen.begin = std::max(0, std::min(seen.begin, (longest - behind) / kUnit * kUnit));
  }
  return {wanted, seen};
}

/// `span` in samples of a component that has `own` of them.
Span scaled_to(Span span, int longest, int ratio, int own) {
  const auto scaled = [&](int at) {
    // The picture's end is each component's own.
    return at >= longest ? own + (at - longest) / ratio : std::min(own, at / ratio);
  };
  return {scaled(span.begin), scaled(span.end)};
}

}  // namespace

Cut choose_cut(const FrameFormat& format, const Mask& mask, bool wrap, double predicted_us,
               double longest_us) {
  Cut best;
  if (predicted_us <= longest_us) return best;
  double least = 0;  // What all pieces take.
  for (const bool columns : {false, true}) {
    if (columns && wrap) continue;
    const Axis axis{columns};
    const int longest = axis.longest(format), coarsest = axis.coarsest(format, longest);
    if (longest <= 2 * kUnit) continue;
    const double halo =
        reach_of(axis.before(mask), coarsest) + reach_of(axis.behind(mask), coarsest);
    // A piece that takes as long as is allowed has these outputs beside its halo. It never has so
    // few that most of the work would be thrown away.
    const double allowed = std::max(longest_us / predicted_us * longest - halo, halo / 2);
    const double outputs = std::max<double>(kUnit, std::floor(allowed / kUnit) * kUnit);
    const int count = static_cast<int>(std::ceil(longest / outputs));
    const double piece_us = predicted_us * (1.0 / count + halo / longest);
    if (piece_us > 0.75 * predicted_us) continue;
    if (best.count > 1 && piece_us * count >= least) continue;
    least = piece_us * count;
    best = {count, columns};
  }
  return best;
}

FramePiece frame_piece(const FrameFormat& format, const Mask& mask, const Cut& cut, bool wrap,
                       int index) {
  FramePiece piece;
  piece.format = format;
  const Axis axis{cut.columns};
  const int longest = axis.longest(format);
  const Spans spans = spans_of(format, mask, cut, wrap, index);
  for (int p = 0; p < format.plane_count; ++p) {
    PlaneFormat& plane = piece.format.planes[p];
    PlaneRect& seen = piece.seen[p];
    PlaneRect& wanted = piece.wanted[p];
    seen = wanted = {0, plane.rows, 0, plane.row_bytes};
    for (int c = 0; c < plane.component_count; ++c) {
      Component& component = plane.components[c];
      const int own = axis.length(component), ratio = axis.ratio(component, longest);
      const Span in = scaled_to(spans.seen, longest, ratio, own);
      const Span out = scaled_to(spans.wanted, longest, ratio, own);
      if (cut.columns) {
        component.width = in.end - in.begin;
        // The last piece has the bytes behind the last sample, too.
        const auto byte = [&](int at) { return at >= own ? plane.row_bytes : at * component.step; };
        seen.byte = byte(in.begin);
        seen.bytes = byte(in.end) - seen.byte;
        wanted.byte = byte(out.begin);
        wanted.bytes = byte(out.end) - wanted.byte;
      } else {
        component.height = in.end - in.begin;
        seen.row = in.begin;
        seen.rows = in.end - in.begin;
        wanted.row = out.begin;
        wanted.rows = out.end - out.begin;
      }
    }
    plane.rows = seen.rows;
    if (cut.columns) plane.row_bytes = seen.bytes;
  }
  return piece;
}

}  // namespace convolve
