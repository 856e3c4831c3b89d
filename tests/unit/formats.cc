// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/unit/formats.h"

#include <gtest/gtest.h>

#include "kernels/core/mask/mask_grammar.h"

namespace convolve::unit {
namespace {

Component component(Role role, int offset, int step, int width, int height) {
  Component c;
  c.role = role;
  c.offset = offset;
  c.step = step;
  c.width = width;
  c.height = height;
  return c;
}

void add(PlaneFormat& plane, const Component& c) {
  plane.components[plane.component_count++] = c;
}

}  // namespace

FrameFormat grey(int width, int height, int depth) {
  FrameFormat format;
  format.plane_count = 1;
  PlaneFormat& plane = format.planes[0];
  plane.sample_bytes = depth > 8 ? 2 : 1;
  plane.rows = height;
  plane.row_bytes = width * plane.sample_bytes;
  Component c = component(Role::kLuma, 0, plane.sample_bytes, width, height);
  c.depth = depth;
  c.range = c.max_code();
  add(plane, c);
  return format;
}

FrameFormat rgba(int width, int height, bool filter_alpha) {
  FrameFormat format;
  format.plane_count = 1;
  PlaneFormat& plane = format.planes[0];
  plane.rows = height;
  plane.row_bytes = width * 4;
  for (int i = 0; i < 3; ++i)
    add(plane, component(Role::kColour, i, 4, width, height));
  Component alpha = component(Role::kAlpha, 3, 4, width, height);
  alpha.filtered = filter_alpha;
  add(plane, alpha);
  return format;
}

FrameFormat nv12(int width, int height) {
  FrameFormat format = grey(width, height);
  const int chroma_width = (width + 1) / 2, chroma_height = (height + 1) / 2;
  format.plane_count = 2;
  PlaneFormat& chroma = format.planes[1];
  chroma.rows = chroma_height;
  chroma.row_bytes = chroma_width * 2;
  for (int i = 0; i < 2; ++i) {
    Component c = component(Role::kChroma, i, 2, chroma_width, chroma_height);
    c.black = 128;
    add(chroma, c);
  }
  return format;
}

FrameFormat i420(int width, int height) {
  FrameFormat format = grey(width, height);
  format.plane_count = 3;
  format.planes[1] = grey(width / 2, height / 2).planes[0];
  format.planes[1].components[0].role = Role::kChroma;
  format.planes[2] = format.planes[1];
  return format;
}

FrameFormat p010(int width, int height) {
  FrameFormat format = nv12(width, height);
  for (int p = 0; p < format.plane_count; ++p) {
    PlaneFormat& plane = format.planes[p];
    plane.sample_bytes = 2;
    plane.row_bytes *= 2;
    for (int c = 0; c < plane.component_count; ++c) {
      Component& component = plane.components[c];
      component.offset *= 2;
      component.step *= 2;
      component.depth = 10;
      component.shift = 6;
    }
  }
  return format;
}

FrameFormat yuy2(int width, int height) {
  FrameFormat format;
  format.plane_count = 1;
  PlaneFormat& plane = format.planes[0];
  const int pairs = (width + 1) / 2;
  plane.rows = height;
  plane.row_bytes = pairs * 4;
  add(plane, component(Role::kLuma, 0, 2, width, height));
  add(plane, component(Role::kChroma, 1, 4, pairs, height));
  add(plane, component(Role::kChroma, 3, 4, pairs, height));
  return format;
}

Mask mask_of(const std::string& text, Normalize normalize, Operation operation) {
  const Result<MaskSource> source = parse_mask(text);
  if (!source.ok()) {
    ADD_FAILURE() << text << ": " << source.status().message();
    return {};
  }
  const Result<Mask> mask = Mask::make(source.value(), normalize, operation);
  if (!mask.ok()) {
    ADD_FAILURE() << text << ": " << mask.status().message();
    return {};
  }
  return mask.value();
}

DeviceCapabilities h100() {
  DeviceCapabilities device;
  device.backend = BackendKind::kCuda;
  device.name = "H100";
  device.compute_capability = 90;
  device.shared_bytes = 227 * 1024;
  return device;
}

DeviceCapabilities cpu() {
  DeviceCapabilities device;
  device.name = "AVX2";
  device.threads = 4;
  return device;
}

Result<Plan> plan_of(const FrameFormat& format, const std::string& mask, KernelKind kernel) {
  Options options;
  options.kernel = kernel;
  return make_plan(format, mask_of(mask), options, h100());
}

Options forced(KernelKind kernel, int tile_width) {
  Options options;
  options.kernel = kernel;
  options.tile_width = tile_width;
  return options;
}

std::string plan_text(const char* mask, const DeviceCapabilities& device, Options options,
                      int depth) {
  Result<Plan> plan = make_plan(grey(3840, 2160, depth), mask_of(mask), options, device);
  if (!plan.ok()) return plan.status().message();
  plan.value().predicted_us = 0;
  return plan.value().to_string();
}

}  // namespace convolve::unit
