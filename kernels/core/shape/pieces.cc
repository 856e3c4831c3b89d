// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/pieces.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Pieces begin at multiples of so many rows or columns of the finest component. Every subsampled
/// component then has a whole number of samples in each piece, and device addresses stay aligned.
constexpr int kAlignment = 64;

/// One axis of a frame, measured in samples of the finest component.
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
  int after(const Mask& mask) const {
    return columns ? mask.width - 1 - mask.anchor_x : mask.height - 1 - mask.anchor_y;
  }
};

/// Samples of the finest component from `begin` to `end` - 1; they may lie outside the picture.
struct Span {
  int begin, end;
};

/// The halo on one side, in samples of the finest component: the mask's reach and one sample more,
/// as Border::kMirror does not repeat the outermost sample.
int reach_of(int taps, int coarsest) {
  return round_up((taps + 1) * coarsest, kAlignment);
}

/// A piece's output, and the input that it depends on.
struct Spans {
  Span output, input;
};

/// The spans of piece `index`. With `wrap` the input may lie outside the picture.
Spans spans_of(const FrameFormat& format, const Mask& mask, const Cut& cut, bool wrap, int index) {
  const Axis axis{cut.columns};
  const int longest = axis.longest(format), coarsest = axis.coarsest(format, longest);
  const auto boundary = [&](int i) {
    const std::int64_t at = std::int64_t{i} * longest / cut.count;
    return i == cut.count ? longest : std::min(longest, round_up(static_cast<int>(at), kAlignment));
  };
  const Span output{boundary(index), boundary(index + 1)};
  const int before = reach_of(axis.before(mask), coarsest);
  const int after = reach_of(axis.after(mask), coarsest);
  Span input{output.begin - before, output.end + after};
  if (!wrap) {
    // The input of a piece at the picture's edge must include the samples that ghosts there repeat.
    input = {std::max(0, input.begin), std::min(longest, input.end)};
    if (input.begin == 0) input.end = std::min(longest, std::max(input.end, before));
    if (input.end == longest)
      input.begin = std::max(0, std::min(input.begin, (longest - after) / kAlignment * kAlignment));
  }
  return {output, input};
}

/// `span`, converted to samples of a component that has `own` of them.
Span scaled_to(Span span, int longest, int ratio, int own) {
  const auto scaled = [&](int at) {
    // The end of a component is its own, as sizes need not be multiples of the subsampling.
    return at >= longest ? own + (at - longest) / ratio : std::min(own, at / ratio);
  };
  return {scaled(span.begin), scaled(span.end)};
}

}  // namespace

Cut choose_cut(const FrameFormat& format, const Mask& mask, bool wrap, double predicted_us,
               double longest_us) {
  Cut best;
  if (predicted_us <= longest_us) return best;
  double least = 0;  // What all pieces of the best cut take together.
  for (const bool columns : {false, true}) {
    if (columns && wrap) continue;
    const Axis axis{columns};
    const int longest = axis.longest(format), coarsest = axis.coarsest(format, longest);
    if (longest <= 2 * kAlignment) continue;
    const double halo =
        reach_of(axis.before(mask), coarsest) + reach_of(axis.after(mask), coarsest);
    // A piece that takes as long as is allowed has so many outputs beside its halo; but never so
    // few that most of the work would be thrown away.
    const double allowed = std::max(longest_us / predicted_us * longest - halo, halo / 2);
    const double outputs =
        std::max<double>(kAlignment, std::floor(allowed / kAlignment) * kAlignment);
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
    PlaneRect& input = piece.input[p];
    PlaneRect& output = piece.output[p];
    input = output = {0, plane.rows, 0, plane.row_bytes};
    for (int c = 0; c < plane.component_count; ++c) {
      Component& component = plane.components[c];
      const int own = axis.length(component), ratio = axis.ratio(component, longest);
      const Span in = scaled_to(spans.input, longest, ratio, own);
      const Span out = scaled_to(spans.output, longest, ratio, own);
      if (cut.columns) {
        component.width = in.end - in.begin;
        // The last piece also has the bytes of the row after the last sample.
        const auto byte = [&](int at) { return at >= own ? plane.row_bytes : at * component.step; };
        input.byte = byte(in.begin);
        input.bytes = byte(in.end) - input.byte;
        output.byte = byte(out.begin);
        output.bytes = byte(out.end) - output.byte;
      } else {
        component.height = in.end - in.begin;
        input.row = in.begin;
        input.rows = in.end - in.begin;
        output.row = out.begin;
        output.rows = out.end - out.begin;
      }
    }
    plane.rows = input.rows;
    if (cut.columns) plane.row_bytes = input.bytes;
  }
  return piece;
}

}  // namespace convolve
