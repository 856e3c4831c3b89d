// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/cases.h"

#include "tests/kernels/case_builder.h"

namespace convolve::testing {
/// The heart: shapes x classes x sizes x depths x channels x borders.
void CaseBuilder::matrix() {
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
void CaseBuilder::rank1() {
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

void CaseBuilder::named_masks() {
  for (const char* text :
       {"identity", "box:5", "gaussian:2", "binomial:7", "disk:3.5", "motion:9,30", "sharpen",
        "unsharp:1.5,0.6", "log:1.4", "sobel-x", "emboss"})
    for (const SampleType samples : {kU8, kU16})
      add("named", parsed_mask(text), {53, 37}, samples);
}

/// Checkerboards and extremes; masks whose sums tie often, over even divisors.
void CaseBuilder::hostile_fills() {
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
void CaseBuilder::offsets() {
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
void CaseBuilder::layouts() {
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

/// Pictures so wide that kernels of the CPU which keep many lines cut them into strips: the ghost
/// cells of one may be copies of columns in another.
void CaseBuilder::strips() {
  for (const SampleType samples : {kU8, kU16}) {
    Case& c = add("strips", random_mask(5, 61, Weights::kRational), {4100, 3}, samples);
    c.only = KernelKind::kCoarsened;
    c.borders = {Border::kReflect, Border::kWrap};
  }
}

/// Weights that cancel: only whole-digit sums see what is left.
void CaseBuilder::wide_weights() {
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
void CaseBuilder::large_masks() {
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
  // Sums beyond 32 bits of weights in two digits.
  for (const int side : {27, 31}) {
    Case& c = add("large", random_mask(side, side, Weights::kReal), {150, 37}, kU10High);
    c.arrangements = {Arrangement::kPacked1, Arrangement::kNv12};
    c.borders = {Border::kReplicate, Border::kZero};
    c.only = KernelKind::kTensor;
  }
}

/// Boxes on pictures that give a band many rows, more than it has in a batch, sums of more than 16
/// bits, and a block more threads.
void CaseBuilder::tall_boxes() {
  struct Tall {
    const char* mask;
    Size size;
  };
  for (const Tall& tall :
       {Tall{"box:33,17", {40, 700}}, Tall{"box:4,40", {16, 1300}}, Tall{"box:3,41", {16, 2500}},
        Tall{"box:3,301", {16, 900}}, Tall{"box:9,41", {4104, 3}}, Tall{"box:301,3", {1999, 5}},
        Tall{"box:1101,3", {40, 5}}, Tall{"box:2,16", {2008, 1300}}, Tall{"box:2,16", {2008, 2400}},
        Tall{"box:301,3", {2040, 280}}, Tall{"box:302,2", {2033, 5}},
        Tall{"box:1031,256", {23, 7}}}) {
    Case& c = add("tall", parsed_mask(tall.mask), tall.size);
    c.arrangements = {Arrangement::kPacked1};
    if (tall.size.width < 1000) c.arrangements.push_back(Arrangement::kI420);
    c.only = KernelKind::kBox;
  }
}

/// Widths and heights around the mask's own size, and every residue of vectors and tiles.
void CaseBuilder::residues() {
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
    // A column of 16 bytes alone behind 128.
    add("residues", mask, {144, 9}).arrangements = {Arrangement::kPacked1, Arrangement::kNv12};
    for (int height = 30; height <= (quick_ ? 34 : 70); ++height)
      add("residues", mask, {9, height}).borders = {Border::kZero};
    // Sixteen bytes beyond 128.
    for (const Size size : {Size{144, 5}, Size{72, 5}})
      add("residues", mask, size, size.width == 72 ? kU16 : kU8).arrangements = {
          Arrangement::kPacked1, Arrangement::kPacked2};
  }
}

/// Every tile width that a user may ask for.
void CaseBuilder::tiles() {
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

void CaseBuilder::anchors() {
  const TestMaskPtr square = random_mask(3, 3, Weights::kRational);
  const TestMaskPtr even = random_mask(4, 3, Weights::kReal);
  const TestMaskPtr rank1 = random_rank1_mask(5, 9, Weights::kRational);
  for (const TestMaskPtr& mask : {anchored(square, 0, 0), anchored(square, 2, 0),
                                  anchored(even, 3, 0), anchored(rank1, 0, 8)})
    for (const Size size : {Size{2, 2}, Size{67, 35}})
      add("anchors", mask, size);
}

/// Frames smaller than the convolver was planned for, as fields are.
void CaseBuilder::fields() {
  for (const TestMaskPtr& mask :
       {random_mask(5, 5, Weights::kRational), random_rank1_mask(9, 9, Weights::kReal)})
    for (const int spare : {1, 40}) {
      Case& c = add("fields", mask, {61, 22});
      c.spare = spare;
      c.arrangements = {Arrangement::kPacked3, Arrangement::kI420};
    }
}

bool is_tiled(KernelKind kernel) {
  return kernel == KernelKind::kTiledInput || kernel == KernelKind::kTiledOutput ||
         kernel == KernelKind::kCachedHalo;
}

std::vector<int> Case::tile_widths_of(KernelKind kernel) const {
  return is_tiled(kernel) ? tile_widths : std::vector<int>{0};
}

Options Case::options(KernelKind kernel, std::optional<Form> form, int tile_width) const {
  Options options;
  options.kernel = kernel;
  options.form = form;
  options.tile_width = tile_width;
  options.scale = scale;
  options.bias = bias;
  return options;
}

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
  CaseBuilder builder(quick);
  builder.matrix();
  builder.rank1();
  builder.named_masks();
  builder.hostile_fills();
  builder.offsets();
  builder.layouts();
  builder.wide_weights();
  builder.strips();
  builder.large_masks();
  builder.tall_boxes();
  builder.widths();
  builder.boxes();
  builder.shifts();
  builder.packed();
  builder.residues();
  builder.tiles();
  builder.anchors();
  builder.factors();
  builder.coarse();
  builder.fields();
  return builder.take();
}

}  // namespace convolve::testing
