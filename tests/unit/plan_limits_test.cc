// SPDX-License-Identifier: LGPL-2.1-or-later
// How large the tiles of the book's kernels become, and what the planner refuses.
#include <gtest/gtest.h>

#include <string>

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

// PMPP 7.6: blocks of 32 x 32 threads load the input tile, so the output tile shrinks with the
// mask; each axis by its own extent.
TEST(PlanLimits, TiledInputTiles) {
  const auto tile = [](const char* mask, int width) {
    const Result<Plan> plan =
        make_plan(grey(64, 48), mask_of(mask), forced(KernelKind::kTiledInput, width), h100());
    return plan.ok() ? std::to_string(plan.value().tile_width) + "x" +
                           std::to_string(plan.value().tile_height)
                     : plan.status().message();
  };
  EXPECT_EQ(tile("box:5", 0), "28x28");
  EXPECT_EQ(tile("box:5", 16), "16x16");
  EXPECT_EQ(tile("box:31", 32), "2x2");
  EXPECT_EQ(tile("box:32", 0), "1x1");
  EXPECT_EQ(tile("box:32,1", 0), "1x32");
  EXPECT_NE(tile("box:33,1", 0).find("size: "), std::string::npos);
}

TEST(PlanLimits, TiledOutputShrinksUntilItFits) {
  const auto tile = [](const char* mask, int width) {
    const Result<Plan> plan =
        make_plan(grey(64, 48), mask_of(mask), forced(KernelKind::kTiledOutput, width), h100());
    return plan.ok() ? plan.value().tile_width : 0;
  };
  EXPECT_EQ(tile("disk:2", 0), 32);
  EXPECT_EQ(tile("disk:2", 64), 64);
  // (32 + 209 - 1)^2 x 4 bytes = 230,400 of 232,448; with 211 taps a side the tile halves.
  EXPECT_EQ(tile("disk:104.5", 0), 32);
  EXPECT_EQ(tile("disk:105.5", 0), 16);
  EXPECT_EQ(tile("disk:105.5", 32), 0) << "a tile asked for is not changed";
  EXPECT_EQ(tile("disk:127.5", 0), 0);
}

TEST(PlanLimits, RefusalsNameTheGroundAndWhoServes) {
  EXPECT_EQ(plan_text("laplacian", h100(), forced(KernelKind::kSeparable)),
            "kernel=separable cannot serve this mask: rank: the mask is not of rank 1, a column "
            "times a row; on the cuda backend these can: basic, constant, tiled-input, "
            "tiled-output, cached-halo, coarsened, tensor");
  EXPECT_EQ(plan_text("box:41", h100(), forced(KernelKind::kTiledInput)),
            "kernel=tiled-input cannot serve this mask: size: a block of 32 x 32 threads holds the "
            "input tile of masks up to 32x32, this one is 41x41; on the cuda backend these can: "
            "basic, constant, tiled-output, cached-halo, coarsened, separable, tensor, box");
  EXPECT_EQ(plan_text("disk:127.5", h100(), forced(KernelKind::kTiledOutput)),
            "kernel=tiled-output cannot serve this mask: memory: a tile of 8x8 with the halo of a "
            "255x255 mask takes 274576 bytes of shared memory, a block has 232448; on the cuda "
            "backend these can: basic, cached-halo, coarsened, tensor");
  EXPECT_NE(plan_text("disk:127.5", h100(), forced(KernelKind::kConstant))
                .find("size: a mask of 255x255 takes 520200 bytes, the constant bank has 65536"),
            std::string::npos);
  EXPECT_NE(
      plan_text("gaussian:500", h100(), forced(KernelKind::kBasic)).find("only kernel=separable"),
      std::string::npos);
  EXPECT_EQ(plan_text("sobel-x", cpu(), forced(KernelKind::kCachedHalo)),
            "kernel=cached-halo cannot serve this mask: device: the cpu backend does not have it; "
            "on the cpu backend these can: basic, coarsened, separable");
  const Result<Plan> plan =
      make_plan(grey(64, 48), mask_of("laplacian"), forced(KernelKind::kSeparable), cpu());
  EXPECT_EQ(plan.status().code(), Code::kUnsupported);
}

// Arithmetic is no ground to refuse: one pass of a one-dimensional mask is the mask itself.
TEST(PlanLimits, SeparableServesOneDimensionalMasksWhateverTheirWeights) {
  const Options separable = forced(KernelKind::kSeparable);
  EXPECT_EQ(plan_text("2x1: 1e38 -1e38", h100(), separable),
            "cuda separable-one-pass wide real constant-memory (2x1, as asked)");
  EXPECT_EQ(plan_text("1x2: 1e38 -1e38", cpu(), separable),
            "cpu separable-one-pass wide real host-memory (1x2, as asked)");
  for (const DeviceCapabilities& device : {h100(), cpu()})
    EXPECT_NE(plan_text("1e38 -1e38; -1e38 1e38", device, separable)
                  .find("rank: no column times a row is close enough"),
              std::string::npos);
}

// The constant bank of 65,536 bytes holds 16,384 floats: 128 x 128.
TEST(PlanLimits, ConstantBankEdge) {
  const auto constant = [](const char* mask) {
    return make_plan(grey(64, 48), mask_of(mask), forced(KernelKind::kConstant), h100()).ok();
  };
  EXPECT_TRUE(constant("box:128"));
  EXPECT_FALSE(constant("box:128,129"));
}

TEST(PlanLimits, TileWidthsAreFour) {
  for (int width : {0, 8, 16, 32, 64})
    EXPECT_TRUE(
        make_plan(grey(8, 8), mask_of("box:3"), forced(KernelKind::kTiledOutput, width), h100())
            .ok());
  for (int width : {-8, 1, 12, 128}) {
    const Result<Plan> plan =
        make_plan(grey(8, 8), mask_of("box:3"), forced(KernelKind::kTiledOutput, width), h100());
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace convolve
