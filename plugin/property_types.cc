// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/property_types.h"

#include "kernels/convolver.h"
#include "plugin/properties.h"

namespace cudaconvolve {
namespace {

using convolve::AlphaMode;
using convolve::Border;
using convolve::kKernelCount;
using convolve::kKernels;
using convolve::Normalize;
using convolve::Operation;

template <class Enum>
constexpr gint value_of(Enum e) {
  return static_cast<gint>(e);
}

GType make_enum(const char* name, const GEnumValue* values) {
  const GType type = g_enum_register_static(name, values);
  gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
  return type;
}

const GEnumValue* kernel_values() {
  static GEnumValue values[kKernelCount + 1] = {};
  for (int k = 0; k < kKernelCount; ++k)
    values[k] = {value_of(kKernels[k].kind), kKernels[k].description, kKernels[k].nick};
  return values;
}

}  // namespace

GType operation_get_type() {
  static const GEnumValue values[] = {
      {value_of(Operation::kCorrelate), "what you type overlays the picture", "correlate"},
      {value_of(Operation::kConvolve), "mask and anchor rotated by 180 degrees", "convolve"},
      {0, nullptr, nullptr}};
  static const GType type = make_enum("GstCudaConvolveOperation", values);
  return type;
}

GType normalize_get_type() {
  static const GEnumValue values[] = {
      {value_of(Normalize::kAuto),
       "a typed divisor is final; else by the sum if it is at least 1/16 of the sum of magnitudes",
       "auto"},
      {value_of(Normalize::kNone), "weights as typed", "none"},
      {value_of(Normalize::kSum), "by the sum of the weights", "sum"},
      {value_of(Normalize::kAbs), "by the sum of their magnitudes", "abs"},
      {0, nullptr, nullptr}};
  static const GType type = make_enum("GstCudaConvolveNormalize", values);
  return type;
}

GType border_get_type() {
  static const GEnumValue values[] = {
      {value_of(Border::kReplicate), "aaa|abcd|ddd (also called clamp, nearest, edge)",
       "replicate"},
      {value_of(Border::kZero), "000|abcd|000, 0 = no signal (also called constant)", "zero"},
      {value_of(Border::kReflect), "cba|abcd|dcb (also called symmetric)", "reflect"},
      {value_of(Border::kMirror), "dcb|abcd|cba (also called reflect-101)", "mirror"},
      {value_of(Border::kWrap), "bcd|abcd|abc (also called tile, periodic)", "wrap"},
      {0, nullptr, nullptr}};
  static const GType type = make_enum("GstCudaConvolveBorder", values);
  return type;
}

GType channels_get_type() {
  static const GFlagsValue values[] = {{kLuma, "luma, grey, and red, green and blue", "luma"},
                                       {kChroma, "both colour differences", "chroma"},
                                       {kAlpha, "alpha", "alpha"},
                                       {0, nullptr, nullptr}};
  static const GType type = [] {
    const GType registered = g_flags_register_static("GstCudaConvolveChannels", values);
    gst_type_mark_as_plugin_api(registered, static_cast<GstPluginAPIFlags>(0));
    return registered;
  }();
  return type;
}

GType alpha_mode_get_type() {
  static const GEnumValue values[] = {
      {value_of(AlphaMode::kStraight), "every component for itself", "straight"},
      {value_of(AlphaMode::kPremultiplied),
       "weighted by alpha: transparent pixels give no colour, and no dark halo", "premultiplied"},
      {0, nullptr, nullptr}};
  static const GType type = make_enum("GstCudaConvolveAlphaMode", values);
  return type;
}

GType kernel_get_type() {
  static const GType type = make_enum("GstCudaConvolveKernel", kernel_values());
  return type;
}

GType backend_get_type() {
  static const GEnumValue values[] = {
      {value_of(BackendChoice::kAuto), "CUDA if a device works, else the CPU", "auto"},
      {value_of(BackendChoice::kCuda), "CUDA, or an error", "cuda"},
      {value_of(BackendChoice::kCpu), "the CPU; CUDA is not touched", "cpu"},
      {0, nullptr, nullptr}};
  static const GType type = make_enum("GstCudaConvolveBackend", values);
  return type;
}

}  // namespace cudaconvolve
