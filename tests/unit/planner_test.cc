// SPDX-License-Identifier: LGPL-2.1-or-later
// The planner's table of choices, pinned, and which forms serve what.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/core/plan/plan.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::cpu;
using unit::forced;
using unit::grey;
using unit::h100;
using unit::mask_of;
using unit::plan_text;

struct Choice {
  const char* mask;
  const char* cuda;
  const char* cpu;
};

// A change here is a change of what users run: it needs a measurement (tests/benchmarks).
TEST(Planner, TableOfChoices) {
  const Choice table[] = {
      {"identity", "cuda shift float32 rational parameter (1x1, one tap: samples are moved)",
       "cpu shift float32 rational host-memory (1x1, one tap: samples are moved)"},
      {"0 0 0; 0 0 0; 0 0.7234567891 0",
       "cuda shift float32 real parameter (3x3, one tap: samples are moved)",
       "cpu shift float32 real host-memory (3x3, one tap: samples are moved)"},
      {"2x1: 0 0", "cuda shift float32 rational parameter (2x1, all 0: nothing is read)",
       "cpu shift float32 rational host-memory (2x1, all 0: nothing is read)"},
      {"sobel-x", "cuda tensor-pairs 1 digit int32 rational global-memory (3x3, on tensor cores)",
       "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, rank 1 but small: dot "
       "products)"},
      {"laplacian", "cuda tensor-pairs 1 digit int32 rational global-memory (3x3, on tensor cores)",
       "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, dot products)"},
      {"box:5", "cuda tensor-pairs 1 digit int32 rational global-memory (5x5, on tensor cores)",
       "cpu box-runs int32 rational host-memory (5x5, equal weights: running sums)"},
      {"gaussian:2",
       "cuda separable-tensor-fused 2 digits int32 real global-memory (13x13, rank 1: 26 taps "
       "instead of "
       "169, on tensor cores)",
       "cpu separable-dots int32 real host-memory (13x13, rank 1: 26 taps instead of 169)"},
      {"motion:13",
       "cuda tensor-warpgroups tile 128x64 1 digit int32 rational global-memory (13x1, on tensor "
       "cores)",
       "cpu box-runs int32 rational host-memory (13x1, equal weights: running sums)"},
      {"disk:7.5",
       "cuda tensor-warpgroups tile 128x64 2 digits int32 real global-memory (15x15, on tensor "
       "cores)",
       "cpu coarsened-dots 2 digits int32 real host-memory (15x15, dot products)"},
      {"disk:127.5",
       "cuda tensor-tiles tile 256x32 1 digit int32 real global-memory (255x255, on tensor cores)",
       "cpu coarsened-dots 1 digit int32 real host-memory (255x255, dot products)"},
      {"gaussian:30",
       "cuda separable-tensor-two-pass 2 digits int32 real global-memory (181x181, rank 1: 362 "
       "taps "
       "instead of 32761, on tensor cores)",
       "cpu separable-spline 8x8 float32 real host-memory (181x181, rank 1: 362 taps instead of "
       "32761, smooth: on a coarse grid)"},
      {"box:300",
       "cuda box-bands tile 512x1 int32 rational parameter (300x300, equal weights: running sums)",
       "cpu box-runs int32 rational host-memory (300x300, equal weights: running sums)"},
      {"box:71",
       "cuda box-bands tile 512x1 int32 rational parameter (71x71, equal weights: running sums)",
       "cpu box-runs int32 rational host-memory (71x71, equal weights: running sums)"},
      {"box:25",
       "cuda box-bands tile 512x1 int32 rational parameter (25x25, equal weights: running sums)",
       "cpu box-runs int32 rational host-memory (25x25, equal weights: running sums)"},
      {"box:15",
       "cuda tensor-warpgroups tile 128x64 1 digit int32 rational global-memory (15x15, on tensor "
       "cores)",
       "cpu box-runs int32 rational host-memory (15x15, equal weights: running sums)"},
      {"2x1: 1e38 -1e38",
       "cuda separable-one-pass wide real constant-memory (2x1, rank 1: 3 taps instead of 2)",
       "cpu coarsened wide real host-memory (2x1, rank 1 but small: several outputs per thread)"},
  };
  for (const Choice& choice : table) {
    EXPECT_EQ(plan_text(choice.mask, h100()), choice.cuda);
    EXPECT_EQ(plan_text(choice.mask, cpu()), choice.cpu);
  }
}

TEST(Planner, TensorNeedsTensorCoresAndSamplesSideBySide) {
  const Options tensor = forced(KernelKind::kTensor);
  const Mask mask = mask_of("laplacian");
  DeviceCapabilities pascal = h100();
  pascal.compute_capability = 61;
  EXPECT_NE(make_plan(grey(64, 48), mask, tensor, pascal)
                .status()
                .message()
                .find("device: it has no INT8 tensor cores"),
            std::string::npos);
  EXPECT_EQ(make_plan(grey(64, 48), mask, {}, pascal).value().kernel(), KernelKind::kCoarsened);

  FrameFormat deep = grey(64, 48);
  deep.planes[0].sample_bytes = 2;
  deep.planes[0].row_bytes *= 2;
  deep.planes[0].components[0].step = 2;
  deep.planes[0].components[0].depth = 16;
  EXPECT_TRUE(make_plan(deep, mask, tensor, h100()).ok());
  std::string large = "255x255: 1";
  for (int i = 1; i < 255 * 255; ++i)
    large += " 0";
  EXPECT_NE(make_plan(deep, mask_of(large.c_str()), tensor, h100())
                .status()
                .message()
                .find("memory: a tile with the halo of a 255x255 mask"),
            std::string::npos);
  DeviceCapabilities ada = h100();
  ada.compute_capability = 89;
  EXPECT_NE(make_plan(deep, mask_of("disk:9"), tensor, ada)
                .status()
                .message()
                .find("size: the weights need more than 3"),
            std::string::npos)
      << "sums of real weights and 16 bits do not fit 32";
  EXPECT_EQ(make_plan(deep, mask_of("disk:9"), tensor, h100()).value().form,
            Form::kTensorSplitWarpgroups);
  const Plan split = make_plan(deep, mask_of("disk:3"), tensor, ada).value();
  EXPECT_EQ(split.form, Form::kTensorSplitOctets);
  // Every other sample is of nobody.
  deep.planes[0].components[0].step = 4;
  EXPECT_NE(make_plan(deep, mask, tensor, h100())
                .status()
                .message()
                .find("size: samples that are neither of 8 bits nor side by side"),
            std::string::npos);
  EXPECT_EQ(make_plan(deep, mask, {}, h100()).value().kernel(), KernelKind::kCoarsened);

  EXPECT_NE(plan_text("2x1: 1e38 -1e38", h100(), tensor).find("size: the weights need more than 3"),
            std::string::npos);
}

TEST(Planner, TensorShowsATileWhereItHasOne) {
  const auto tile = [](const FrameFormat& format, const char* mask,
                       const DeviceCapabilities& device) {
    const Plan plan = make_plan(format, mask_of(mask), forced(KernelKind::kTensor), device).value();
    return std::to_string(plan.tile_width) + "x" + std::to_string(plan.tile_height);
  };
  DeviceCapabilities gpu = h100();
  EXPECT_EQ(tile(grey(640, 480), "disk:7.5", gpu), "128x64");
  gpu.compute_capability = 80;
  EXPECT_EQ(tile(grey(3840, 2160), "disk:7.5", gpu), "256x32");
  EXPECT_EQ(tile(unit::nv12(640, 480), "disk:7.5", gpu), "256x32");
  EXPECT_EQ(tile(unit::rgba(640, 480), "disk:7.5", gpu), "128x32");
  EXPECT_EQ(tile(grey(640, 480), "laplacian", gpu), "0x0")
      << "rows slide through the registers of warps";
}

TEST(Planner, BoxIsForEqualWeights) {
  const Options box = forced(KernelKind::kBox);
  for (const DeviceCapabilities& device : {h100(), cpu()}) {
    EXPECT_NE(plan_text("1 1 1; 1 2 1; 1 1 1", device, box)
                  .find("rank: its weights are not all equal; on the "),
              std::string::npos);
    // 65,537 x 65,535 = 2^32 - 1.
    EXPECT_EQ(make_plan(grey(64, 48, 16), mask_of("box:256"), box, device).ok(), true);
    EXPECT_NE(plan_text("box:257", device, box, 16).find("size: sums of 66049 samples"),
              std::string::npos);
    EXPECT_EQ(make_plan(grey(64, 48, 16), mask_of("box:257"), {}, device).value().kernel(),
              KernelKind::kSeparable);
    FrameFormat transparent = unit::rgba(64, 48);
    Options weighted = box;
    weighted.alpha_mode = AlphaMode::kPremultiplied;
    EXPECT_NE(make_plan(transparent, mask_of("box:31"), weighted, device)
                  .status()
                  .message()
                  .find("alpha: "),
              std::string::npos);
  }
  DeviceCapabilities small = h100();
  small.shared_bytes = 48 * 1024;
  EXPECT_TRUE(make_plan(grey(64, 48), mask_of("box:800"), box, small).ok());
  EXPECT_NE(plan_text("box:1200", small, box).find("memory: sums of the columns below a 1200x1200"),
            std::string::npos);
}

TEST(Planner, ShiftIsForOneTap) {
  const Options shift = forced(KernelKind::kShift);
  for (const DeviceCapabilities& device : {h100(), cpu()}) {
    EXPECT_NE(plan_text("0 0 0; 0 1 0; 0 0 1", device, shift)
                  .find("rank: more than one of its weights is not 0; on the "),
              std::string::npos);
    EXPECT_EQ(make_plan(grey(64, 48, 16), mask_of("identity"), {}, device).value().kernel(),
              KernelKind::kShift);
    Options weighted = shift;
    weighted.alpha_mode = AlphaMode::kPremultiplied;
    EXPECT_NE(make_plan(unit::rgba(64, 48), mask_of("identity"), weighted, device)
                  .status()
                  .message()
                  .find("alpha: "),
              std::string::npos);
  }
  // Whose samples have others between them, one by one.
  EXPECT_NE(make_plan(unit::yuy2(3840, 2160), mask_of("identity"), {}, h100()).value().kernel(),
            KernelKind::kShift);
}

// Passes over rows and columns win where a mask of rank 1 is large or needs many digits.
TEST(Planner, SeparableTakesOverFromTensor) {
  EXPECT_NE(plan_text("gaussian:1", h100()).find("cuda tensor"), std::string::npos);
  EXPECT_NE(plan_text("gaussian:40", h100()).find("cuda separable"), std::string::npos);
}

TEST(Planner, SeparableRunsOnTensorCoresWhereTheseServe) {
  const auto plan_of = [](const FrameFormat& format, const char* mask,
                          const DeviceCapabilities& device) {
    return make_plan(format, mask_of(mask), forced(KernelKind::kSeparable), device).value();
  };
  const FrameFormat format = grey(640, 480);
  EXPECT_EQ(plan_of(format, "gaussian:5", h100()).digits, 2);
  EXPECT_EQ(plan_of(format, "box:9", h100()).digits, 1);
  EXPECT_EQ(plan_of(format, "gaussian:5", h100()).form, Form::kSeparableTensorFused);
  EXPECT_EQ(plan_of(format, "gaussian:20", h100()).form, Form::kSeparableTensorTwoPass);
  EXPECT_EQ(plan_of(grey(640, 480, 16), "gaussian:5", h100()).digits, 0) << "16-bit samples";
  EXPECT_EQ(plan_of(format, "binomial:15", h100()).digits, 0) << "it would not be exact";
  EXPECT_EQ(plan_of(format, "gaussian:5", cpu()).digits, 0);
  DeviceCapabilities device = h100();
  device.compute_capability = 70;
  EXPECT_EQ(plan_of(format, "gaussian:5", device).digits, 0);
  // What a block of the row pass holds.
  device = h100();
  device.compute_capability = 75;
  device.shared_bytes = 64 * 1024;
  EXPECT_EQ(plan_of(format, "gaussian:100,2", device).digits, 2);
  EXPECT_EQ(plan_of(format, "gaussian:350,2", device).digits, 0);
}

TEST(Planner, LargeSmoothMasksGoToACoarseGrid) {
  const auto spacing_of = [](const FrameFormat& format, const char* mask, Options options,
                             const DeviceCapabilities& device) {
    return make_plan(format, mask_of(mask), options, device).value().knot_spacing;
  };
  const FrameFormat format = grey(3840, 2160);
  EXPECT_EQ(spacing_of(format, "gaussian:100", {}, h100()), (KnotSpacing{8, 8, 32}));
  EXPECT_EQ(spacing_of(format, "gaussian:500", {}, h100()), (KnotSpacing{32, 32, 32}));
  EXPECT_EQ(spacing_of(format, "gaussian:25", {}, h100()), KnotSpacing{}) << "it costs more";
  EXPECT_EQ(spacing_of(format, "gaussian:100", {}, cpu()), (KnotSpacing{32, 16, 32}));
  EXPECT_EQ(spacing_of(format, "gaussian:15", {}, h100()), KnotSpacing{}) << "too short";
  EXPECT_EQ(spacing_of(format, "gaussian:15", {}, cpu()), (KnotSpacing{4, 4, 16})) << "end taps";
  EXPECT_EQ(spacing_of(format, "gaussian:10", {}, cpu()), KnotSpacing{}) << "too short";
  EXPECT_NE(make_plan(format, mask_of("gaussian:100"), {}, h100())
                .value()
                .to_string()
                .find("separable-spline 8x8 float32 real global-memory"),
            std::string::npos);
  Options asked;
  asked.kernel = KernelKind::kSeparable;
  asked.form = Form::kSeparableSpline;
  EXPECT_EQ(spacing_of(format, "gaussian:25", asked, h100()), (KnotSpacing{2, 2, 8}));
  EXPECT_FALSE(make_plan(format, mask_of("gaussian:5"), asked, h100()).ok());
  asked.form = Form::kSeparableTensorTwoPass;
  EXPECT_EQ(spacing_of(format, "gaussian:100", asked, h100()), KnotSpacing{});
  // Eight rows of the cross grid, and a line with its ghosts, are in shared memory.
  DeviceCapabilities device = h100();
  device.shared_bytes = 16 * 1024;
  EXPECT_EQ(spacing_of(format, "gaussian:100", {}, device), KnotSpacing{});
}

TEST(Planner, ForcedKernelsAreTaken) {
  for (const KernelInfo& info : kKernels) {
    if (info.kind == KernelKind::kAuto) continue;
    for (const DeviceCapabilities& device : {h100(), cpu()}) {
      const char* mask = info.kind == KernelKind::kBox     ? "box:3"
                         : info.kind == KernelKind::kShift ? "identity"
                                                           : "sobel-x";
      const Result<Plan> plan = make_plan(grey(64, 48), mask_of(mask), forced(info.kind), device);
      EXPECT_EQ(plan.ok(), has_kernel(device.backend, info.kind)) << info.nick;
      if (plan.ok()) {
        EXPECT_EQ(plan.value().kernel(), info.kind);
        EXPECT_EQ(plan.value().backend, device.backend);
      }
    }
  }
}

TEST(Planner, FormTableFollowsTheEnumAndNamesItsKernels) {
  for (int i = 0; i < kFormCount; ++i) {
    const FormInfo& info = kForms[i];
    EXPECT_EQ(static_cast<int>(info.form), i);
    EXPECT_EQ(std::string(info.name).rfind(kernel_info(info.kernel).nick, 0), 0u) << info.name;
    EXPECT_EQ(find_form(info.name), &info);
    const bool on_cpu_alone = info.form == Form::kSeparableAreas ||
                              info.form == Form::kSeparableDots ||
                              info.form == Form::kCoarsenedDots;
    EXPECT_EQ(info.on_cuda, !on_cpu_alone) << info.name;
    EXPECT_TRUE(info.on_cuda || info.on_cpu) << info.name;
  }
  EXPECT_EQ(find_form("tensor"), nullptr) << "a kernel";
}

TEST(Planner, UnalignedPlanesGoToFormsThatTakeThem) {
  for (const char* mask : {"laplacian", "box:9", "disk:5", "disk:9"})
    for (const FrameFormat& format :
         {grey(640, 480), unit::nv12(640, 480), unit::rgba(640, 480), unit::yuy2(640, 480)}) {
      Options options = forced(KernelKind::kTensor);
      const Plan aligned = make_plan(format, mask_of(mask), options, h100()).value();
      options.alignment = 1;
      const Plan unaligned = make_plan(format, mask_of(mask), options, h100()).value();
      EXPECT_EQ(form_info(unaligned.form).alignment, 1) << unaligned.to_string();
      options.form = aligned.form;
      const auto asked = make_plan(format, mask_of(mask), options, h100());
      EXPECT_EQ(asked.ok(), form_info(aligned.form).alignment == 1) << aligned.to_string();
      if (!asked.ok()) {
        EXPECT_NE(asked.status().message().find("lie on 16 bytes, and these lie on 1;"),
                  std::string::npos)
            << asked.status().message();
      }
    }
}

TEST(Planner, BandsWantAlignedPlanes) {
  Options options = forced(KernelKind::kBox);
  const FrameFormat format = grey(3840, 2160);
  ASSERT_EQ(make_plan(format, mask_of("box:71"), options, h100()).value().form, Form::kBoxBands);
  // Planes on 24 bytes lie on 8.
  for (const int alignment : {1, 8, 24}) {
    options.form.reset();
    options.alignment = alignment;
    EXPECT_NE(make_plan(format, mask_of("box:71"), options, h100()).value().form, Form::kBoxBands)
        << alignment;
    options.form = Form::kBoxBands;
    const auto asked = make_plan(format, mask_of("box:71"), options, h100());
    EXPECT_NE(
        asked.status().message().find("16 bytes, and these lie on " + std::to_string(alignment)),
        std::string::npos)
        << asked.status().message();
  }
}

// Where both serve, rows slide: predictions of the two are close, and of packed 4:2:2 those of
// columns are less.
TEST(Planner, RowsSlideWhereTheyCan) {
  DeviceCapabilities ampere = h100();
  ampere.compute_capability = 80;
  const FrameFormat format = unit::yuy2(3840, 2160);
  Options options = forced(KernelKind::kTensor);
  for (const char* mask : {"box:5,13", "box:5,17"})
    EXPECT_EQ(make_plan(format, mask_of(mask), options, ampere).value().form, Form::kTensorSliding)
        << mask;
  EXPECT_EQ(make_plan(format, mask_of("box:5,18"), options, ampere).value().form,
            Form::kTensorColumns);
  options.form = Form::kTensorColumns;
  EXPECT_EQ(make_plan(format, mask_of("box:5,13"), options, ampere).value().form,
            Form::kTensorColumns);
}

TEST(Planner, AFormWeightsNoColour) {
  Options options;
  options.alpha_mode = AlphaMode::kPremultiplied;
  options.form = Form::kCoarsened;
  EXPECT_NE(make_plan(unit::rgba(64, 48), mask_of("box:3"), options, h100())
                .status()
                .message()
                .find("alpha: it cannot weight colour"),
            std::string::npos);
  options.form = Form::kBasic;
  EXPECT_EQ(make_plan(unit::rgba(64, 48), mask_of("gaussian:5"), options, h100())
                .value()
                .weighted->passes,
            Passes::kDirect);
}

TEST(Planner, AFormIsOfItsKernel) {
  Options options;
  options.form = Form::kBoxRuns;
  EXPECT_EQ(make_plan(grey(64, 48), mask_of("box:3"), options, h100()).value().form,
            Form::kBoxRuns);
  options.kernel = KernelKind::kTensor;
  EXPECT_EQ(make_plan(grey(64, 48), mask_of("box:3"), options, h100()).status().message(),
            "box-runs is no form of kernel tensor");
  EXPECT_NE(make_plan(grey(64, 48), mask_of("box:3"), forced(KernelKind::kTensor), cpu())
                .status()
                .message()
                .find("device: the cpu backend does not have it"),
            std::string::npos);
}

TEST(Planner, KernelTableFollowsTheEnum) {
  for (int i = 0; i < kKernelCount; ++i)
    EXPECT_EQ(static_cast<int>(kKernels[i].kind), i);
}

// Whatever the mask, the scale and the depth, kernel=auto finds one.
TEST(Planner, AutoAlwaysServes) {
  for (const char* mask : {"1e38 -1e38; 1e38 1", "gaussian:500", "box:4097", "binomial:1000",
                           "disk:127.5", "motion:254,33", "0", "9007199254740991 1; 1 1"})
    for (double scale : {1.0, 1024.0, -0.1, 1e-9, 0.0})
      for (int depth : {8, 10, 16})
        for (const DeviceCapabilities& device : {h100(), cpu()}) {
          Options options;
          options.scale = scale;
          options.bias = -1;
          const Result<Plan> plan =
              make_plan(grey(64, 48, depth), mask_of(mask, Normalize::kNone), options, device);
          EXPECT_TRUE(plan.ok()) << mask << " " << scale << ": " << plan.status().message();
        }
}

TEST(Planner, PlansAreValues) {
  const Result<Plan> a = make_plan(grey(64, 48), mask_of("box:5"), {}, h100());
  const Result<Plan> b = make_plan(grey(3840, 2160), mask_of("box:5"), {}, h100());
  const Result<Plan> c = make_plan(grey(64, 48), mask_of("box:7"), {}, h100());
  EXPECT_NE(a.value().predicted_us, b.value().predicted_us);
  EXPECT_TRUE(a.value() == b.value()) << "they run the same, however long";
  EXPECT_FALSE(a.value() == c.value());
}

}  // namespace
}  // namespace convolve
