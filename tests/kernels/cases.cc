// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/cases.h"

#include <utility>

namespace convolve::testing {
namespace {

struct Size {
  int width;
  int height;
};

const std::vector<Size> kShapes = {{1, 1},   {3, 3},  {5, 5},  {7, 7}, {9, 9}, {15, 15},
                                   {31, 31}, {1, 15}, {15, 1}, {2, 2}, {4, 3}, {5, 9}};
const std::vector<Size> kSizes = {{1, 1},  {1, 2},   {2, 1},   {3, 3},    {7, 5},    {1, 17},
                                  {17, 1}, {31, 33}, {64, 48}, {127, 65}, {320, 240}};
const std::vector<Size> kQuickSizes = {{1, 1}, {1, 2}, {7, 5}, {17, 1}, {31, 33}, {64, 48}};
const std::vector<Border> kAllBorders = {Border::kReplicate, Border::kZero, Border::kReflect,
                                         Border::kMirror, Border::kWrap};
const std::vector<Arrangement> kAllPacked = {Arrangement::kPacked1, Arrangement::kPacked2,
                                             Arrangement::kPacked3, Arrangement::kPacked4};
const std::vector<Arrangement> kVideo = {Arrangement::kRgba, Arrangement::kXrgb, Arrangement::kI420,
                                         Arrangement::kNv12, Arrangement::kYuy2};

/// Collects the cases of one suite at a time.
class Builder {
 public:
  explicit Builder(bool quick) : quick_(quick) {}

  void matrix();
  void rank1();
  void named_masks();
  void hostile_fills();
  void offsets();
  void layouts();
  void wide_weights();
  void large_masks();
  void widths();
  void boxes();
  void shifts();
  void residues();
  void tiles();
  void anchors();
  void factors();
  void fields();

  std::vector<Case> take() { return std::move(cases_); }

 private:
  Case& add(const char* suite, const TestMaskPtr& mask, Size size, SampleType samples = kU8) {
    Case c;
    c.suite = suite;
    c.mask = mask;
    c.width = size.width;
    c.height = size.height;
    c.samples = samples;
    c.borders = kAllBorders;
    cases_.push_back(std::move(c));
    return cases_.back();
  }

  const std::vector<Size>& sizes() const { return quick_ ? kQuickSizes : kSizes; }

  bool quick_;
  std::vector<Case> cases_;
};

/// The heart: shapes x classes x sizes x depths x channels x borders.
void Builder::matrix() {
  for (const Size shape : kShapes)
    for (const Weights weights : {Weights::kRational, Weights::kReal}) {
      const TestMaskPtr mask = random_mask(shape.width, shape.height, weights);
      for (const Size size : sizes())
        for (const SampleType samples : {kU8, kU16}) {
          Case& c = add("matrix", mask, size, samples);
          c.arrangements = kAllPacked;
          if (quick_) c.arrangements = {Arrangement::kPacked1, Arrangement::kPacked3};
        }
    }
}

/// The same for kernels that need a column times a row.
void Builder::rank1() {
  for (const Size shape : kShapes)
    for (const Weights weights : {Weights::kRational, Weights::kReal}) {
      const TestMaskPtr mask = random_rank1_mask(shape.width, shape.height, weights);
      for (const Size size : sizes())
        for (const SampleType samples : {kU8, kU16}) {
          Case& c = add("rank1", mask, size, samples);
          c.arrangements = kAllPacked;
          if (quick_) c.arrangements = {Arrangement::kPacked1, Arrangement::kPacked3};
          c.only = KernelKind::kSeparable;
        }
    }
}

void Builder::named_masks() {
  for (const char* text :
       {"identity", "box:5", "gaussian:2", "binomial:7", "disk:3.5", "motion:9,30", "sharpen",
        "unsharp:1.5,0.6", "log:1.4", "sobel-x", "emboss"})
    for (const SampleType samples : {kU8, kU16})
      add("named", parsed_mask(text), {53, 37}, samples);
}

/// Checkerboards and extremes; masks whose sums tie often, over even divisors.
void Builder::hostile_fills() {
  const TestMaskPtr masks[] = {
      typed_mask("half-1x2", 1, 2, {1, 1}, 2),
      typed_mask("half-2x1", 2, 1, {1, 1}, 2),
      typed_mask("sixth-3x1", 3, 1, {1, 1, 1}, 6),
      typed_mask("ties-3x3", 3, 3, {1, 2, 1, 2, -3, 2, 1, 2, 1}, 18),
      typed_mask("box-3x3", 3, 3, std::vector<double>(9, 1), 9),
      typed_mask("box-4x4", 4, 4, std::vector<double>(16, 1), 16),
      typed_mask("laplacian", 3, 3, {0, -1, 0, -1, 4, -1, 0, -1, 0}),
      typed_mask("sharpen-5x5", 5, 5, {0,  0,  -1, 0,  0,  0,  -1, -2, -1, 0,  -1, -2, 17,
                                       -2, -1, 0,  -1, -2, -1, 0,  0,  0,  -1, 0,  0}),
      random_mask(9, 9, Weights::kRational),
      random_mask(9, 9, Weights::kReal),
  };
  for (const TestMaskPtr& mask : masks)
    for (const Fill fill : {Fill::kRandom, Fill::kExtremes, Fill::kCheckerboard, Fill::kImpulse})
      for (const SampleType samples : {kU8, kU16}) {
        add("fills", mask, {67, 41}, samples).fill = fill;
        add("fills", mask, {4, 3}, samples).fill = fill;
      }
}

/// Scale, bias, black level and chroma's mid-grey.
void Builder::offsets() {
  const TestMaskPtr masks[] = {
      typed_mask("sobel", 3, 3, {-1, 0, 1, -2, 0, 2, -1, 0, 1}),
      typed_mask("laplacian", 3, 3, {0, -1, 0, -1, 4, -1, 0, -1, 0}),
      random_mask(5, 5, Weights::kRational),
      random_mask(5, 5, Weights::kReal),
  };
  const struct {
    double scale, bias;
  } values[] = {{1, 0.5},     {0.25, 0.5}, {1. / 3, 0.25},     {-1, 1},
                {2.5, -0.25}, {0, 0.5},    {0.7234567891, 0.1}};
  for (const TestMaskPtr& mask : masks)
    for (const auto& value : values)
      for (const Levels levels : {Levels::kFull, Levels::kLimited})
        for (const SampleType samples : {kU8, kU16, kU10High}) {
          Case& c = add("offsets", mask, {45, 29}, samples);
          c.levels = levels;
          c.scale = value.scale;
          c.bias = value.bias;
          c.arrangements = {Arrangement::kPacked3, Arrangement::kI420};
        }
}

/// Copied alpha and padding, planar and packed chroma, byte orders, samples in the high bits.
void Builder::layouts() {
  for (const Weights weights : {Weights::kRational, Weights::kReal})
    for (const SampleType samples :
         {kU8, kU16, kU16Big, kU10High, kU10HighBig, kU10LowBig, kU12Low})
      for (const Size size : {Size{1, 1}, Size{6, 4}, Size{37, 23}, Size{130, 34}})
        for (const TestMaskPtr& mask : {random_mask(5, 5, weights), random_mask(4, 3, weights),
                                        random_rank1_mask(7, 7, weights)}) {
          Case& c = add("layouts", mask, size, samples);
          c.levels = Levels::kLimited;
          c.arrangements = kVideo;
        }
}

/// Weights that cancel: only whole-digit sums see what is left.
void Builder::wide_weights() {
  const TestMaskPtr masks[] = {
      typed_mask("cancel-3x1", 3, 1, {1e38, 0.7351, -1e38}),
      typed_mask("cancel-1x3", 1, 3, {1e38, 0.7351, -1e38}),
      typed_mask("cancel-3x3", 3, 3, {3e37, 0.1234567, -3e37, 1e20, 0.4, -1e20, 1e-9, 0.3, -1e-9}),
      typed_mask("cancel-5x1", 5, 1, {1e38, -1e38, 0.87654321, -1e19, 1e19}),
      typed_mask("mixed-5x5", 5, 5,
                 {1e9, -1e9, 0.01, 2e9, -2e9, 1e5,   -1e5, 0.2, 1e7, -1e7, 1e3, -1e3, 0.31,
                  1e3, -1e3, 1e-3, 0,   0.11, -1e-3, 0,    5e8, 0,   0.05, 0,   -5e8}),
      typed_mask("huge-divisor", 3, 1, {999983, 1, -999979}, 2147483647),
      typed_mask("past-rational", 3, 1, {1, 999999, 1}, 4e9),
  };
  for (const TestMaskPtr& mask : masks)
    for (const Fill fill : {Fill::kConstantRows, Fill::kRandom})
      for (const SampleType samples : {kU8, kU16}) {
        Case& c = add("wide", mask, {35, 19}, samples);
        c.fill = fill;
        // A dark frame around the picture would not cancel.
        if (fill == Fill::kConstantRows)
          c.borders = {Border::kReplicate, Border::kReflect, Border::kMirror, Border::kWrap};
        c.arrangements = {Arrangement::kPacked1, Arrangement::kNv12};
      }
}

/// The size limit, masks larger than the picture, and one that is kept as factors.
void Builder::large_masks() {
  if (!quick_) {
    for (const Weights weights : {Weights::kRational, Weights::kReal})
      add("large", random_mask(255, 255, weights), {23, 17}, kU16).borders = {Border::kMirror};
    add("large", random_rank1_mask(255, 255, Weights::kRational), {150, 40}).borders = {
        Border::kReflect, Border::kZero};
    add("large", random_rank1_mask(255, 255, Weights::kReal), {40, 150}).borders = {Border::kWrap,
                                                                                    Border::kZero};
    add("large", parsed_mask("gaussian:60"), {48, 31}).borders = {Border::kReplicate};
  }
  for (const Weights weights : {Weights::kRational, Weights::kReal})
    for (const Size shape : {Size{33, 33}, Size{41, 41}, Size{64, 3}, Size{2, 65}})
      for (const Size size : {Size{1, 1}, Size{2, 3}, Size{5, 1}, Size{13, 40}})
        add("large", random_mask(shape.width, shape.height, weights), size,
            size.width == 2 ? kU16 : kU8);
}

/// Widths and heights around the mask's own size, and every residue of vectors and tiles.
void Builder::residues() {
  for (const TestMaskPtr& mask :
       {random_mask(3, 3, Weights::kRational), random_mask(7, 7, Weights::kReal),
        random_rank1_mask(5, 9, Weights::kRational), random_mask(4, 3, Weights::kRational)}) {
    const int reach_x = mask->mask.width / 2;
    const int reach_y = mask->mask.height / 2;
    for (int extent = 1; extent <= 2 * reach_x + 3; ++extent)
      add("residues", mask, {extent, 6});
    for (int extent = 1; extent <= 2 * reach_y + 3; ++extent)
      add("residues", mask, {6, extent});
    for (int width = 30; width <= (quick_ ? 40 : 140); ++width) {
      Case& c = add("residues", mask, {width, 5}, width % 2 != 0 ? kU8 : kU16);
      c.borders = {Border::kMirror};
      c.arrangements = {Arrangement::kPacked1, Arrangement::kPacked3};
    }
    for (int height = 30; height <= (quick_ ? 34 : 70); ++height)
      add("residues", mask, {9, height}).borders = {Border::kZero};
  }
}

/// Every way that coarsened ends a row of weights, in tiles inside the picture, too.
void Builder::widths() {
  for (int width = 1; width <= 21; ++width)
    for (const Weights weights : {Weights::kRational, Weights::kReal}) {
      Case& c = add("widths", random_mask(width, 4, weights), {150, 75}, width % 2 ? kU8 : kU16);
      c.borders = {Border::kReplicate, Border::kZero};
      c.only = KernelKind::kCoarsened;
    }
}

/// Masks of equal weights, for the kernel that takes no others: sizes, anchors, gains and sums at
/// their largest. Masks that every kernel takes are among the other suites.
void Builder::boxes() {
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
void Builder::shifts() {
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

/// Every tile width that a user may ask for.
void Builder::tiles() {
  for (const TestMaskPtr& mask :
       {random_mask(5, 5, Weights::kRational), random_mask(9, 9, Weights::kReal),
        random_mask(4, 3, Weights::kRational), random_mask(15, 1, Weights::kReal),
        random_rank1_mask(31, 31, Weights::kRational)})
    for (const Size size : {Size{7, 5}, Size{64, 64}, Size{131, 67}})
      for (const SampleType samples : {kU8, kU16}) {
        Case& c = add("tiles", mask, size, samples);
        c.tile_widths = {8, 16, 32, 64};
        c.arrangements = {Arrangement::kPacked1, Arrangement::kPacked4};
      }
}

void Builder::anchors() {
  const TestMaskPtr square = random_mask(3, 3, Weights::kRational);
  const TestMaskPtr even = random_mask(4, 3, Weights::kReal);
  const TestMaskPtr rank1 = random_rank1_mask(5, 9, Weights::kRational);
  for (const TestMaskPtr& mask : {anchored(square, 0, 0), anchored(square, 2, 0),
                                  anchored(even, 3, 0), anchored(rank1, 0, 8)})
    for (const Size size : {Size{2, 2}, Size{67, 35}})
      add("anchors", mask, size);
}

/// Long factors, beside and beyond those that a tile holds: 33 and 65 are the longest of one, two
/// and three chunks of 32 samples.
void Builder::factors() {
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

/// Frames smaller than the convolver was planned for, as fields are.
void Builder::fields() {
  for (const TestMaskPtr& mask :
       {random_mask(5, 5, Weights::kRational), random_rank1_mask(9, 9, Weights::kReal)})
    for (const int spare : {1, 40}) {
      Case& c = add("fields", mask, {61, 22});
      c.spare = spare;
      c.arrangements = {Arrangement::kPacked3, Arrangement::kI420};
    }
}

}  // namespace

std::string Case::name() const {
  return suite + " " + mask->name + " " + std::to_string(width) + "x" + std::to_string(height) +
         " " + samples.name;
}

double Case::cost() const {
  const double area = static_cast<double>(width) * height;
  const double taps = static_cast<double>(mask->mask.taps());
  return area * (20 + taps) * static_cast<double>(borders.size() * arrangements.size());
}

std::vector<Case> make_cases(bool quick) {
  Builder builder(quick);
  builder.matrix();
  builder.rank1();
  builder.named_masks();
  builder.hostile_fills();
  builder.offsets();
  builder.layouts();
  builder.wide_weights();
  builder.large_masks();
  builder.widths();
  builder.boxes();
  builder.shifts();
  builder.residues();
  builder.tiles();
  builder.anchors();
  builder.factors();
  builder.fields();
  return builder.take();
}

}  // namespace convolve::testing
