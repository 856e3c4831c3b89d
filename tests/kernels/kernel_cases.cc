// SPDX-License-Identifier: LGPL-2.1-or-later
// Cases for one kernel: what only it takes, or only it does in more than one way.
#include "tests/kernels/case_builder.h"

namespace convolve::testing {

/// Every way that coarsened ends a row of weights, after each number of chunks, in tiles inside the
/// picture, too; and rows of masks so tall that they come in several tiles.
void CaseBuilder::widths() {
  const auto add_mask = [this](int width, int height, const SampleType& samples) {
    for (const Weights weights : {Weights::kRational, Weights::kReal}) {
      Case& c = add("widths", random_mask(width, height, weights), {150, 75}, samples);
      c.borders = {Border::kReplicate, Border::kZero};
      c.only = KernelKind::kCoarsened;
    }
  };
  for (int width = 1; width <= 33; ++width)
    add_mask(width, 4, width % 2 ? kU8 : kU16);
  for (const Size shape : {Size{9, 89}, Size{25, 47}, Size{32, 51}})
    add_mask(shape.width, shape.height, kU8);
}

/// Masks of equal weights, for the kernel that takes no others: sizes, anchors, gains and sums at
/// their largest. Masks that every kernel takes are among the other suites.
void CaseBuilder::boxes() {
  const auto add_box = [this](const TestMaskPtr& mask, Size size, SampleType samples) -> Case& {
    Case& c = add("box", mask, size, samples);
    c.only = KernelKind::kBox;
    return c;
  };
  std::vector<Size> shapes = {{2, 2}, {7, 7}, {9, 1}, {1, 9}, {64, 2}};
  if (!quick_) shapes.insert(shapes.end(), {{1, 1}, {3, 3}, {4, 4}, {6, 3}, {31, 31}, {2, 65}});
  for (const Size shape : shapes)
    for (const Weights weights : {Weights::kRational, Weights::kReal}) {
      const TestMaskPtr mask = box_mask(shape.width, shape.height, weights);
      for (const Size size : sizes())
        for (const SampleType samples : {kU8, kU16})
          add_box(mask, size, samples).arrangements = {Arrangement::kPacked1,
                                                       Arrangement::kPacked3};
      for (const SampleType samples :
           {kU8, kU16, kU16Big, kU10High, kU10HighBig, kU10LowBig, kU12Low})
        for (const Size size : {Size{6, 4}, Size{37, 23}}) {
          Case& c = add_box(mask, size, samples);
          c.levels = Levels::kLimited;
          c.arrangements = kVideo;
        }
    }
  for (const TestMaskPtr& mask : {anchored(box_mask(5, 5, Weights::kRational), 0, 4),
                                  anchored(box_mask(6, 2, Weights::kReal), 5, 0)})
    for (int extent = 1; extent <= (quick_ ? 12 : 40); ++extent) {
      add_box(mask, {extent, 6}, kU8);
      add_box(mask, {150 + extent, 3}, extent % 2 != 0 ? kU8 : kU16);
      add_box(mask, {6, extent}, kU16);
    }
  // Gains of both signs, ties over even divisors, and numerators beyond 32 bits.
  const TestMaskPtr gains[] = {
      typed_mask("box-ties-2x2", 2, 2, std::vector<double>(4, 1), 8),
      typed_mask("box-negative-3x3", 3, 3, std::vector<double>(9, -1), 9),
      typed_mask("box-unnormalised-5x5", 5, 5, std::vector<double>(25, 1)),
      typed_mask("box-sixths-3x2", 3, 2, std::vector<double>(6, 5), 36),
      typed_mask("box-wide-3x3", 3, 3, std::vector<double>(9, 100003), 900028),
      typed_mask("box-huge-2x2", 2, 2, std::vector<double>(4, 1e38)),
  };
  for (const TestMaskPtr& mask : gains)
    for (const SampleType samples : {kU8, kU16, kU10High})
      for (const Fill fill : {Fill::kRandom, Fill::kExtremes, Fill::kWhite})
        for (const double scale : {1.0, -0.5, 0.7234567891}) {
          Case& c = add_box(mask, {35, 19}, samples);
          c.levels = Levels::kLimited;
          c.arrangements = {Arrangement::kPacked1, Arrangement::kI420};
          c.fill = fill;
          c.scale = scale;
          c.bias = scale == 1 ? 0 : 0.5;
        }
  for (const int spare : {1, 40}) {
    Case& c = add_box(box_mask(9, 9, Weights::kRational), {61, 22}, kU8);
    c.spare = spare;
    c.arrangements = {Arrangement::kPacked3, Arrangement::kI420};
  }
  // Several blocks and batches: windows with ends in one chunk of columns, in others, far apart.
  std::vector<Size> wide = {{26, 9}, {45, 31}, {90, 20}, {151, 70}};
  if (!quick_) wide.insert(wide.end(), {{33, 2}, {65, 65}, {128, 96}, {211, 101}});
  for (const Size shape : wide)
    for (const Size size : {Size{333, 67}, Size{70, 150}}) {
      const TestMaskPtr mask = box_mask(shape.width, shape.height, Weights::kRational);
      add_box(mask, size, kU8).arrangements = {Arrangement::kPacked1, Arrangement::kI420};
      Case& off = add_box(anchored(mask, shape.width - 1, 0), size, kU8);
      off.levels = Levels::kLimited;
      off.spare = 5;
    }
  // Bands: steps of rows before and between, several layers of them, windows of odd and even ends,
  // rows aslant, and sums of columns beyond 16 bits.
  std::vector<const char*> tall = {"box:5,49", "box:18,80", "box:77,300"};
  if (!quick_) tall.insert(tall.end(), {"box:4,64", "box:40,257", "box:7,258", "box:301,120"});
  for (const char* text : tall)
    for (const Size size : {Size{530, 150}, Size{72, 33}, Size{19, 600}}) {
      const TestMaskPtr mask = parsed_mask(text);
      add_box(mask, size, kU8).levels = Levels::kLimited;
      add_box(anchored(mask, 0, mask->mask.height - 1), size, kU8).spare = 5;
    }
  // Larger than the picture, sums up to 2^32 - 1, and kept as a column times a row.
  for (const Weights weights : {Weights::kRational, Weights::kReal})
    for (const Fill fill : {Fill::kRandom, Fill::kWhite}) {
      add_box(box_mask(255, 255, weights), {20, 13}, kU8).fill = fill;
      add_box(box_mask(255, 255, weights), {13, 10}, kU16).fill = fill;
    }
  add_box(box_mask(127, 63, Weights::kRational), {200, 40}, kU8);
  add_box(typed_mask("box-zero-3x3", 3, 3, std::vector<double>(9, 0)), {35, 19}, kU8);
  add_box(parsed_mask("box:300,5"), {70, 31}, kU8);
  add_box(parsed_mask("box:5,300"), {31, 20}, kU16);
  for (const SampleType samples : {kU8, kU16})
    add_box(parsed_mask("box:257"), {20, 31}, samples);
  if (!quick_) add_box(parsed_mask("box:4097,3"), {50, 9}, kU16);
}

/// Masks with one tap, or none, for the kernel that takes no others: codes that stay, that all
/// become one, that are mapped in float and with divisions, in all layouts and from all sides.
void CaseBuilder::shifts() {
  const auto add_shift = [this](const TestMaskPtr& mask, Size size, SampleType samples) -> Case& {
    Case& c = add("shift", mask, size, samples);
    c.only = KernelKind::kShift;
    return c;
  };
  const struct {
    double weight, divisor;
  } gains[] = {{1, 1}, {0, 1}, {1, 2}, {0.7234567891, 1}, {-1, 1}, {3, 7}, {1e38, 1}};
  const std::vector<SampleType> all_samples = {kU8,         kU16,       kU16Big, kU10High,
                                               kU10HighBig, kU10LowBig, kU12Low};
  for (const auto& gain : gains) {
    if (quick_ && &gain == gains + 4) break;
    const TestMaskPtr masks[] = {tap_mask(1, 1, 0, 0, gain.weight, gain.divisor),
                                 tap_mask(3, 5, 0, 4, gain.weight, gain.divisor),
                                 tap_mask(8, 2, 7, 0, gain.weight, gain.divisor)};
    for (const TestMaskPtr& mask : masks) {
      for (const Size size : sizes())
        for (const SampleType samples : {kU8, kU16}) {
          Case& c = add_shift(mask, size, samples);
          c.arrangements = kAllPacked;
          if (quick_) c.arrangements = {Arrangement::kPacked1, Arrangement::kPacked3};
        }
      for (const SampleType samples : all_samples)
        for (const Size size : {Size{6, 4}, Size{67, 23}}) {
          Case& c = add_shift(mask, size, samples);
          c.levels = Levels::kLimited;
          c.arrangements = kVideo;
          c.arrangements.push_back(Arrangement::kPacked3);
        }
    }
  }
  // Scale and bias make what keeps codes map them, and what maps them constant.
  for (const TestMaskPtr& mask : {tap_mask(3, 3, 2, 0, 1), tap_mask(3, 3, 0, 1, 2, 3)})
    for (const SampleType samples : {kU8, kU16, kU10High})
      for (const double scale : {1.0, 1. / 3, 0.0, 1.5, -0.7234567891})
        for (const double bias : {0.0, 0.25}) {
          if (quick_ && (scale == 1.5 || bias == 0) && scale != 1) continue;
          Case& c = add_shift(mask, {53, 18}, samples);
          c.levels = Levels::kLimited;
          c.arrangements = kVideo;
          c.scale = scale;
          c.bias = bias;
        }
  // Every residue of stretches, from the left and from the right.
  for (const TestMaskPtr& mask : {tap_mask(5, 1, 4, 0, 1), tap_mask(9, 3, 0, 2, 1, 2)})
    for (int width = 1; width <= (quick_ ? 40 : 120); ++width) {
      Case& c = add_shift(mask, {width, 19}, width % 3 != 0 ? kU8 : kU16);
      c.borders = {width % 2 != 0 ? Border::kZero : Border::kWrap};
      c.arrangements = {Arrangement::kPacked1, Arrangement::kPacked3, Arrangement::kRgba};
    }
  // Further than the picture, from an anchor elsewhere, and fields.
  add_shift(tap_mask(255, 255, 0, 254, 1), {20, 13}, kU8);
  add_shift(tap_mask(255, 3, 254, 0, 1, 2), {150, 31}, kU16);
  add_shift(anchored(tap_mask(7, 4, 6, 0, 1), 0, 3), {40, 9}, kU8);
  for (const int spare : {1, 40}) {
    Case& c = add_shift(tap_mask(3, 3, 0, 0, 1), {61, 22}, kU8);
    c.spare = spare;
    c.arrangements = {Arrangement::kPacked3, Arrangement::kI420};
  }
}

/// Packed 4:2:2 in the columns and the tiles of tensor, whose components differ in width: whole
/// tiles, pictures that end within one, between pieces of 16 bytes and within a pair of pixels;
/// masks that reach as far as columns see.
void CaseBuilder::packed() {
  std::vector<TestMaskPtr> masks = {random_mask(3, 3, Weights::kRational),
                                    random_mask(7, 7, Weights::kReal),
                                    random_mask(4, 3, Weights::kRational),
                                    random_mask(9, 9, Weights::kRational),
                                    random_mask(15, 15, Weights::kRational),
                                    anchored(random_mask(9, 9, Weights::kRational), 8, 0)};
  if (!quick_)
    masks.insert(masks.end(),
                 {random_mask(5, 5, Weights::kReal), random_mask(1, 1, Weights::kReal),
                  random_mask(15, 15, Weights::kReal), random_mask(31, 31, Weights::kReal),
                  random_mask(41, 41, Weights::kRational), random_mask(1, 15, Weights::kRational),
                  random_mask(9, 9, Weights::kReal), random_mask(8, 8, Weights::kReal),
                  anchored(random_mask(5, 5, Weights::kRational), 4, 0),
                  anchored(random_mask(5, 9, Weights::kReal), 0, 8),
                  anchored(random_mask(9, 9, Weights::kReal), 0, 8)});
  std::vector<Size> sizes = {{560, 70}, {262, 66}, {35, 9}};
  if (!quick_) sizes.insert(sizes.end(), {{512, 128}, {264, 65}, {259, 3}, {16, 64}, {24, 70}});
  for (const TestMaskPtr& mask : masks)
    for (const Size size : sizes) {
      Case& c = add("packed", mask, size);
      c.levels = Levels::kLimited;
      c.arrangements = {Arrangement::kYuy2, Arrangement::kUyvyLuma, Arrangement::kYvyuChroma};
      c.only = KernelKind::kTensor;
    }
}

/// Long factors, beside and beyond those that a tile holds: 33 and 65 are the longest of one, two
/// and three chunks of 32 samples.
void CaseBuilder::factors() {
  const auto add_factors = [this](const TestMaskPtr& mask, Size size) -> Case& {
    Case& c = add("factors", mask, size);
    c.only = KernelKind::kSeparable;
    return c;
  };
  std::vector<Size> shapes = {{33, 34}, {66, 3}, {1, 99}};
  if (!quick_)
    shapes.insert(shapes.end(),
                  {{32, 32}, {34, 33}, {65, 65}, {66, 66}, {5, 40}, {2, 67}, {99, 1}});
  for (const Size shape : shapes)
    for (const Weights weights : {Weights::kRational, Weights::kReal}) {
      const TestMaskPtr mask = random_rank1_mask(shape.width, shape.height, weights);
      for (const Size size : {Size{1, 1}, Size{37, 23}, Size{150, 70}})
        add_factors(mask, size).arrangements =
            quick_ ? std::vector<Arrangement>{Arrangement::kPacked1} : kAllPacked;
      for (const TestMaskPtr& moved :
           {anchored(mask, 0, shape.height - 1), anchored(mask, shape.width - 1, 0)})
        add_factors(moved, {37, 23}).borders = {Border::kMirror, Border::kZero};
      Case& video = add_factors(mask, {37, 23});
      video.levels = Levels::kLimited;
      video.arrangements = kVideo;
      for (const int spare : {1, 40})
        add_factors(mask, {61, 22}).spare = spare;
    }
  // Signed factors, ties, and sums at both ends of what 16 bits hold: 255 times 257.
  std::vector<double> full(128, 2);
  full[5] = 3;
  const TestMaskPtr masks[] = {
      typed_mask("factors-signed-3x3", 3, 3, {-1.5, 0.25, 1.4, -3, 0.5, 2.8, 1.5, -0.25, -1.4}),
      typed_mask("factors-full-128x1", 128, 1, full, 514),
      typed_mask("factors-minus-128x1", 128, 1, full, -514),
      parsed_mask("binomial:9"),
      parsed_mask("gaussian:12"),
      parsed_mask("gaussian:0.5,30"),
  };
  for (const TestMaskPtr& mask : masks)
    for (const Fill fill : {Fill::kRandom, Fill::kExtremes, Fill::kWhite})
      for (const double scale : {1.0, -0.7234567891}) {
        Case& c = add_factors(mask, {45, 39});
        c.fill = fill;
        c.scale = scale;
        c.bias = scale == 1 ? 0 : 0.5;
        c.levels = Levels::kLimited;
        c.arrangements = {Arrangement::kPacked1, Arrangement::kI420};
      }
  if (quick_) return;
  for (const char* text : {"gaussian:100", "gaussian:2,100"})
    add_factors(parsed_mask(text), {70, 21}).borders = {Border::kReplicate, Border::kZero};
  // Rows that fill shared memory, and more of them than blocks run at once.
  add_factors(parsed_mask("gaussian:350,0.5"), {5, 8700}).borders = {Border::kReplicate};
}

/// Smooth masks on coarse grids of 2, 4 and 8 pixels: pictures far smaller than the mask, and wider
/// than a block's piece of them.
void CaseBuilder::coarse() {
  const auto add_coarse = [this](const TestMaskPtr& mask, Size size) -> Case& {
    Case& c = add("coarse", mask, size);
    c.only = KernelKind::kSeparable;
    return c;
  };
  const TestMaskPtr smooth = parsed_mask("gaussian:25");
  for (const Size size : {Size{1, 1}, Size{45, 39}})
    add_coarse(smooth, size);
  // Other ends, other anchors: one that falls off more slowly on the right and below.
  const TestMaskPtr skewed = skewed_mask(193, 177);
  for (const TestMaskPtr& mask : {skewed, anchored(skewed, 0, 176), anchored(skewed, 192, 0)})
    add_coarse(mask, {37, 23}).borders = {Border::kZero, Border::kMirror};
  Case& video = add_coarse(smooth, {37, 23});
  video.levels = Levels::kLimited;
  video.arrangements = kVideo;
  video.borders = {Border::kZero, Border::kReflect};
  for (const Fill fill : {Fill::kExtremes, Fill::kWhite})
    for (const double scale : {1.0, -0.7234567891}) {
      Case& c = add_coarse(smooth, {45, 39});
      c.fill = fill;
      c.scale = scale;
      c.bias = scale == 1 ? 0 : 0.5;
      c.levels = Levels::kLimited;
      c.borders = {Border::kReplicate, Border::kZero};
    }
  for (const int spare : {1, 40}) {
    Case& c = add_coarse(smooth, {61, 22});
    c.spare = spare;
    c.borders = {Border::kWrap};
  }
  if (quick_) return;
  add_coarse(smooth, {37, 23}).arrangements = kAllPacked;
  for (const Size size : {Size{1100, 19}, Size{21, 1100}})
    add_coarse(smooth, size).borders = {Border::kMirror, Border::kZero};
  for (const char* text : {"gaussian:50", "gaussian:30,55", "gaussian:100,48"})
    add_coarse(parsed_mask(text), {83, 41}).borders = {Border::kZero, Border::kWrap};
  add_coarse(parsed_mask("gaussian:200"), {18, 11}).borders = {Border::kReflect};
}

}  // namespace convolve::testing
