// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/compare.h"

#include <cstring>

#include "kernels/core/base/sample.h"

namespace convolve::testing {
namespace {

template <class Stored>
Stored stored_at(const FrameView& frame, int plane, const Component& component, int x, int y) {
  Stored stored;
  std::memcpy(&stored,
              frame.data[plane] + y * frame.pitch[plane] + component.offset +
                  static_cast<std::ptrdiff_t>(x) * component.step,
              sizeof(stored));
  return stored;
}

void note_wrong(Comparison& result, int plane, int component, int x, int y, int given, int wanted) {
  if (result.wrong++ > 0) return;
  result.first_wrong = "plane " + std::to_string(plane) + " component " +
                       std::to_string(component) + " at (" + std::to_string(x) + "," +
                       std::to_string(y) + "): " + std::to_string(given) + ", not " +
                       std::to_string(wanted);
}

template <class Stored>
Comparison compare_filtered(const FrameView& output, int plane, int component,
                            const std::vector<Truth>& truth) {
  const PlaneFormat& format = output.format.planes[plane];
  const Component& c = format.components[component];
  const SampleLayout layout = sample_layout(format, c);
  Comparison result;
  std::size_t k = 0;
  for (int y = 0; y < c.height; ++y)
    for (int x = 0; x < c.width; ++x, ++k) {
      const Stored stored = stored_at<Stored>(output, plane, c, x, y);
      if (stored == encode_sample<Stored>(truth[k].code, layout)) continue;
      const int code = decode_sample(stored, layout);
      const bool clean = encode_sample<Stored>(code, layout) == stored;
      if (clean && allows(truth[k], code))
        ++result.neighbours;
      else
        note_wrong(result, plane, component, x, y, code, truth[k].code);
    }
  result.samples = static_cast<std::int64_t>(k);
  return result;
}

template <class Stored>
Comparison compare_bits(const FrameView& output, const FrameView& source, int plane,
                        int component) {
  const Component& c = output.format.planes[plane].components[component];
  Comparison result;
  for (int y = 0; y < c.height; ++y)
    for (int x = 0; x < c.width; ++x) {
      const Stored given = stored_at<Stored>(output, plane, c, x, y);
      const Stored wanted = stored_at<Stored>(source, plane, c, x, y);
      if (given != wanted) note_wrong(result, plane, component, x, y, given, wanted);
    }
  result.samples = static_cast<std::int64_t>(c.width) * c.height;
  return result;
}

}  // namespace

void Comparison::add(const Comparison& other) {
  if (wrong == 0) first_wrong = other.first_wrong;
  samples += other.samples;
  neighbours += other.neighbours;
  wrong += other.wrong;
}

Comparison compare_component(const FrameView& output, int plane, int component,
                             const std::vector<Truth>& truth) {
  return output.format.planes[plane].sample_bytes == 2
             ? compare_filtered<std::uint16_t>(output, plane, component, truth)
             : compare_filtered<std::uint8_t>(output, plane, component, truth);
}

Comparison compare_copied(const FrameView& output, const FrameView& source, int plane,
                          int component) {
  return output.format.planes[plane].sample_bytes == 2
             ? compare_bits<std::uint16_t>(output, source, plane, component)
             : compare_bits<std::uint8_t>(output, source, plane, component);
}

}  // namespace convolve::testing
