// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties of the element, and what the engine can be asked for beyond them.
#include <iterator>

#include "kernels/core/plan/plan.h"
#include "tests/storm/draw.h"
#include "tests/storm/surface.h"

namespace storm {
namespace {

const std::vector<std::string> kBorders = {"replicate", "zero", "reflect", "mirror", "wrap"};
const std::vector<std::string> kChannels = {"luma+chroma", "luma+chroma",       "luma",
                                            "chroma",      "luma+chroma+alpha", "luma+alpha",
                                            "alpha",       "chroma+alpha"};

std::string draw_scale(Random& random) {
  switch (random.integer(1, 6)) {
    case 1:
      return random.pick<std::string>({"2", "3", "0.5", "0.25", "0.125", "1.5", "0.75", "8"});
    case 2:
      return random.pick<std::string>({"0.7", "0.9", "0.18", "0.1", "1.3", "2.6", "0.333"});
    case 3:
      return random.pick<std::string>({"-1", "-0.5", "-2.75", "-0.3"});
    case 4:
      return "0." + std::to_string(100'000'000 + random.integer(0, 899'999'999));
    case 5:
      return random.pick<std::string>({"0", "1024", "-1024", "0.001", "100"});
    default:
      return "1";
  }
}

std::string draw_bias(Random& random) {
  if (random.chance(50)) return random.pick<std::string>({"0", "0.25", "0.5", "-0.25", "1", "-1"});
  const std::string sign = random.chance(30) ? "-" : "";
  return sign + "0." + std::to_string(random.integer(1000, 9999));
}

std::string draw_kernel(Random& random) {
  return convolve::kKernels[random.integer(0, convolve::kKernelCount - 1)].nick;
}

void draw_property(Random& random, const Extent& extent, int which, Words* step) {
  switch (which) {
    case 0:
      if (random.chance(4))
        step->add("mask-matrix", draw_matrix(random));
      else
        step->add("mask", draw_mask(random, extent, draw_work(random)));
      break;
    case 1:
      step->add("border", random.pick(kBorders));
      break;
    case 2:
      step->add("channels", random.pick(kChannels));
      break;
    case 3:
      step->add("scale", draw_scale(random));
      break;
    case 4:
      step->add("bias", draw_bias(random));
      break;
    case 5:
      step->add("normalize",
                random.pick<std::string>({"auto", "none", "auto", "none", "sum", "abs"}));
      break;
    case 6:
      step->add("operation", random.pick<std::string>({"correlate", "convolve"}));
      break;
    case 7:
      step->add("alpha-mode", random.pick<std::string>({"straight", "straight", "premultiplied"}));
      break;
    case 8:
      step->add("kernel", random.chance(60) ? "auto" : draw_kernel(random));
      break;
    default:
      step->add("tile-width", random.pick<std::string>({"0", "0", "8", "16", "32", "64"}));
      break;
  }
}

}  // namespace

void draw_properties(Random& random, const Extent& extent, bool first, Words* step) {
  // Masks, borders and numbers change most; a mask must fit the pictures that it meets first.
  static const std::vector<int> kOften = {0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9};
  if (first) draw_property(random, extent, 0, step);
  for (int k = first ? random.integer(0, 6) : random.integer(0, 3); k > 0; --k)
    draw_property(random, extent, random.pick(kOften), step);
}

void draw_ways(Random& random, Words* step) {
  // Two thirds of the forms are tensor's.
  if (random.chance(50)) {
    const convolve::FormInfo& form = convolve::kForms[random.integer(0, convolve::kFormCount - 1)];
    step->set("kernel", convolve::kernel_info(form.kernel).nick);
    step->add("form", form.name);
  } else {
    step->set("kernel", random.chance(40) ? "auto" : draw_kernel(random));
  }
  if (random.chance(60))
    step->add("memory", "cuda");
  else if (random.chance(50))
    step->add("memory", "locked");
  if (random.chance(30)) step->add("pieces", std::to_string(1024 << random.integer(0, 6)));
  if (random.chance(60)) step->add("source", std::to_string(random.integer(0, kPlaceLimit - 1)));
  if (random.chance(60)) step->add("target", std::to_string(random.integer(0, kPlaceLimit - 1)));
  if (random.chance(25)) step->add("view", random.chance(50) ? "top" : "bottom");
  if (random.chance(15)) step->add("spare", std::to_string(2 << random.integer(0, 5)));
  if (random.chance(25)) step->add("times", std::to_string(random.integer(2, 4)));
}

}  // namespace storm
