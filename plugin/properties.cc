// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/properties.h"

#include <utility>

#include "plugin/mask_matrix.h"
#include "plugin/object_lock.h"
#include "plugin/property_types.h"
#include "plugin/report.h"

namespace cudaconvolve {
namespace {

using convolve::invalid_argument;
using convolve::MaskSource;
using convolve::Result;
using convolve::Status;

constexpr GParamFlags flags(int extra) {
  return static_cast<GParamFlags>(G_PARAM_STATIC_STRINGS | extra);
}
constexpr GParamFlags kAnyTime = flags(G_PARAM_READWRITE | GST_PARAM_MUTABLE_PLAYING);
constexpr GParamFlags kAnimated =
    flags(G_PARAM_READWRITE | GST_PARAM_MUTABLE_PLAYING | GST_PARAM_CONTROLLABLE);
constexpr GParamFlags kReadyOnly = flags(G_PARAM_READWRITE | GST_PARAM_MUTABLE_READY);
constexpr GParamFlags kReadOnly = flags(G_PARAM_READABLE);

std::shared_ptr<const MaskSource> default_mask() {
  static const auto mask = [] {
    MaskSource identity;
    identity.weights = {1.0};
    identity.normalized = true;
    return std::make_shared<const MaskSource>(std::move(identity));
  }();
  return mask;
}

Status files_are_off() {
  return invalid_argument("files are switched off by mask-files=false");
}

Result<Edit> mask_edit(Result<MaskSource> parsed, std::string text, bool from_file) {
  if (!parsed.ok()) return parsed.status();
  auto mask = std::make_shared<const MaskSource>(std::move(parsed.value()));
  auto shared_text = std::make_shared<const std::string>(std::move(text));
  Edit edit;
  edit.apply = [mask, shared_text, from_file](Settings& settings) {
    settings.mask = mask;
    settings.mask_text = shared_text;
    settings.mask_from_file = from_file;
  };
  edit.needs_plan = true;
  // They may have been switched off while this one was read.
  if (from_file)
    edit.check = [](const Settings& settings) {
      return settings.mask_files ? Status() : files_are_off();
    };
  return edit;
}

Result<Edit> parse_mask_text(const char* text, bool mask_files) {
  if (text == nullptr) return invalid_argument("no mask given");
  const bool from_file = convolve::names_file(text);
  if (from_file && !mask_files) return files_are_off();
  return mask_edit(convolve::parse_mask(text), text, from_file);
}

Edit mask_files_edit(bool allowed) {
  Edit edit;
  edit.apply = [allowed](Settings& settings) { settings.mask_files = allowed; };
  if (allowed)
    edit.check = [](const Settings& settings) {
      return settings.mask_files ? Status()
                                 : invalid_argument("once false it stays false in this element");
    };
  return edit;
}

Result<Edit> parse_mask_matrix(const GValue* value) {
  Result<MaskSource> mask = mask_from_matrix(value);
  std::string text = mask.ok() ? convolve::format_mask(mask.value()) : std::string();
  return mask_edit(std::move(mask), std::move(text), /*from_file=*/false);
}

Edit number_edit(const GValue* value, double Settings::*member) {
  const double number = g_value_get_double(value);
  return Edit{[number, member](Settings& settings) { settings.*member = number; }};
}

Result<Edit> parse_tile_width(guint width) {
  if (width != 0 && width != 8 && width != 16 && width != 32 && width != 64)
    return invalid_argument(std::to_string(width) + " is none of 0 (chosen), 8, 16, 32, 64");
  return Edit{[width](Settings& settings) { settings.tile_width = static_cast<int>(width); },
              /*needs_plan=*/true};
}

template <class Enum>
Edit enum_edit(const GValue* value, Enum Settings::*member, bool needs_plan) {
  const Enum chosen = static_cast<Enum>(g_value_get_enum(value));
  return Edit{[chosen, member](Settings& settings) { settings.*member = chosen; }, needs_plan};
}

bool same_device(const Settings& a, const Settings& b) {
  return a.backend == b.backend && a.cuda_device_id == b.cuda_device_id && a.threads == b.threads;
}

}  // namespace

Settings::Settings()
    : mask_text(std::make_shared<const std::string>("identity")), mask(default_mask()) {}

void install_properties(GObjectClass* object_class) {
  const auto install = [object_class](PropertyId id, GParamSpec* spec) {
    g_object_class_install_property(object_class, id, spec);
  };
  const Settings defaults;
  install(
      kPropMask,
      g_param_spec_string(
          "mask", "Mask",
          "The weights: numbers ('0 -1 0 -1 5 -1 0 -1 0'), rows ('1 2 1; 2 4 2; 1 2 1'), with a "
          "size and anchor ('9x1: ...', '3x3+0+0: ...') or a divisor ('1 2 1 / 4'); a name with "
          "arguments ('gaussian:2', 'motion:15,30'); or '@file', unless mask-files is false. Any "
          "size up to 255x255",
          defaults.mask_text->c_str(), kAnyTime));
  install(kPropMaskMatrix,
          gst_param_spec_array(
              "mask-matrix", "Mask matrix",
              "The mask as an array of rows of double, '<<0,-1,0>,<-1,5,-1>,<0,-1,0>>'; the same "
              "value as mask, whichever was set last. Reads back empty for masks over 255 a side",
              nullptr, kAnyTime));
  install(kPropOperation,
          g_param_spec_enum("operation", "Operation", "How the mask is laid on",
                            operation_get_type(), static_cast<gint>(defaults.operation), kAnyTime));
  install(kPropNormalize,
          g_param_spec_enum("normalize", "Normalize", "What the weights are divided by",
                            normalize_get_type(), static_cast<gint>(defaults.normalize), kAnyTime));
  install(kPropScale, g_param_spec_double("scale", "Scale", "Factor for the weighted sum", -1024,
                                          1024, defaults.scale, kAnimated));
  install(kPropBias,
          g_param_spec_double("bias", "Bias",
                              "Added to luma, grey, red, green and blue, as a part of the nominal "
                              "range; rounded to a whole code",
                              -1, 1, defaults.bias, kAnimated));
  install(kPropBorder,
          g_param_spec_enum("border", "Border", "What lies outside the picture abcd",
                            border_get_type(), static_cast<gint>(defaults.border), kAnyTime));
  install(kPropChannels,
          g_param_spec_flags("channels", "Channels", "What is filtered; the rest is copied",
                             channels_get_type(), defaults.channels, kAnyTime));
  install(kPropMaskFiles,
          g_param_spec_boolean(
              "mask-files", "Mask files",
              "May mask name files? Once false it stays false: for masks that strangers write. "
              "Looked at whenever a mask is set, and at the start",
              defaults.mask_files, kAnyTime));
  install(
      kPropAlphaMode,
      g_param_spec_enum("alpha-mode", "Alpha mode",
                        "How colour is filtered in formats that have alpha; frames hold "
                        "straight, not premultiplied, colour in and out",
                        alpha_mode_get_type(), static_cast<gint>(defaults.alpha_mode), kAnyTime));
  install(kPropKernel,
          g_param_spec_enum("kernel", "Kernel",
                            "CUDA or CPU kernel that filters; an error if it cannot serve",
                            kernel_get_type(), static_cast<gint>(defaults.kernel), kAnyTime));
  install(kPropTileWidth,
          g_param_spec_uint("tile-width", "Tile width",
                            "Output tile of the tiled kernels in pixels: 8, 16, 32, 64; 0 = chosen",
                            0, 64, 0, kAnyTime));
  install(kPropBackend,
          g_param_spec_enum("backend", "Backend", "Where the filter runs", backend_get_type(),
                            static_cast<gint>(defaults.backend), kReadyOnly));
  install(kPropCudaDeviceId,
          g_param_spec_int("cuda-device-id", "CUDA device", "Index of the CUDA device; -1 = any",
                           -1, G_MAXINT, defaults.cuda_device_id, kReadyOnly));
  install(kPropThreads,
          g_param_spec_uint("threads", "Threads",
                            "This element's share of the process-wide CPU pool; 0 = all cores", 0,
                            1024, 0, kReadyOnly));
  install(kPropAsyncDepth,
          g_param_spec_int("async-depth", "Frames in flight",
                           "Frames that may be in flight on the GPU behind the one that comes in; "
                           "each is pushed as soon as it is finished, and as many durations are "
                           "reported as latency. 0 = none; -1 = 0 in live pipelines, where "
                           "framerate or latency are unknown, and from CUDA memory to CUDA memory "
                           "with GStreamer 1.24 or newer, else 3 for frames below 24 MiB and 2 for "
                           "larger ones",
                           -1, 8, defaults.async_depth, kAnyTime));
  install(kPropActivePlan,
          g_param_spec_string("active-plan", "Active plan",
                              "Backend, form, tile, accumulator, mask storage, expected "
                              "microseconds a frame on a GPU, and why; NULL before caps",
                              nullptr, kReadOnly));
  install(kPropStats,
          g_param_spec_boxed("stats", "Statistics",
                             "Since READY: frames, of these passthrough-frames, backend-switches, "
                             "bytes-in, bytes-out, kernel-ns-last (time in kernels for the last "
                             "frame that was timed, one of 16 until stats is read; 0 = unknown), "
                             "frames-in-flight now; of the last measured-frames "
                             "(up to 256, from the first reading on) host-copy-ns, upload-ns, "
                             "kernels-ns, download-ns and waiting-ns, each with -mean, -p50 and "
                             "-p99; all uint64",
                             GST_TYPE_STRUCTURE, kReadOnly));
}

Result<Edit> parse_property(guint id, const GValue* value, bool mask_files) {
  switch (id) {
    case kPropMask:
      return parse_mask_text(g_value_get_string(value), mask_files);
    case kPropMaskFiles:
      return mask_files_edit(g_value_get_boolean(value) != FALSE);
    case kPropMaskMatrix:
      return parse_mask_matrix(value);
    case kPropOperation:
      return enum_edit(value, &Settings::operation, true);
    case kPropNormalize:
      return enum_edit(value, &Settings::normalize, true);
    case kPropScale:
      return number_edit(value, &Settings::scale);
    case kPropBias:
      return number_edit(value, &Settings::bias);
    case kPropBorder:
      return enum_edit(value, &Settings::border, false);
    case kPropChannels: {
      const unsigned channels = g_value_get_flags(value);
      return Edit{[channels](Settings& settings) { settings.channels = channels; }, true};
    }
    case kPropAlphaMode:
      return enum_edit(value, &Settings::alpha_mode, true);
    case kPropKernel:
      return enum_edit(value, &Settings::kernel, true);
    case kPropTileWidth:
      return parse_tile_width(g_value_get_uint(value));
    case kPropBackend: {
      Edit edit = enum_edit(value, &Settings::backend, false);
      edit.ready_only = true;
      return edit;
    }
    case kPropCudaDeviceId: {
      const int device = g_value_get_int(value);
      return Edit{[device](Settings& settings) { settings.cuda_device_id = device; }, false, true};
    }
    case kPropThreads: {
      const int threads = static_cast<int>(g_value_get_uint(value));
      return Edit{[threads](Settings& settings) { settings.threads = threads; }, false, true};
    }
    case kPropAsyncDepth: {
      const int depth = g_value_get_int(value);
      return Edit{[depth](Settings& settings) { settings.async_depth = depth; }};
    }
    default:
      return invalid_argument("no such writable property");
  }
}

Result<bool> apply_edit(Properties& properties, guint id, const Edit& edit) {
  if (edit.check) {
    if (Status status = edit.check(properties.settings); !status.ok()) return status;
  }
  const Settings before = properties.settings;
  edit.apply(properties.settings);
  if (edit.needs_plan) ++properties.settings.plan_generation;
  properties.refusals.erase(refusal_key(id));
  return edit.ready_only && properties.started && !same_device(before, properties.settings);
}

void set_property(GstElement* element, Properties& properties, guint id, const GValue* value,
                  const GParamSpec* spec) {
  bool mask_files = false;
  {
    const ObjectLock lock(element);
    mask_files = properties.settings.mask_files;
  }
  const Result<Edit> edit = parse_property(id, value, mask_files);
  Status refusal = edit.status();
  bool started = false;
  bool waits_for_start = false;
  {
    const ObjectLock lock(element);
    started = properties.started;
    if (edit.ok()) {
      const Result<bool> applied = apply_edit(properties, id, edit.value());
      refusal = applied.status();
      waits_for_start = applied.ok() && applied.value();
    }
    if (!refusal.ok() && !started)
      properties.refusals[refusal_key(id)] = std::string(spec->name) + ": " + refusal.message();
  }
  if (!refusal.ok() && started) post_warning(element, spec->name, refusal, "the old value stays");
  if (waits_for_start)
    GST_ELEMENT_WARNING(element, LIBRARY, SETTINGS,
                        ("%s is kept for the next start: it changes in state READY", spec->name),
                        (nullptr));
}

std::string refusal_of_start(const Properties& properties) {
  if (!properties.refusals.empty()) return properties.refusals.begin()->second;
  if (properties.settings.mask_from_file && !properties.settings.mask_files)
    return "mask: " + files_are_off().message() + ", and the mask is that of a file";
  return {};
}

void read_property(const Settings& settings, guint id, GValue* value) {
  switch (id) {
    case kPropMask:
      g_value_set_string(value, settings.mask_text->c_str());
      break;
    case kPropMaskMatrix:
      matrix_from_mask(*settings.mask, value);
      break;
    case kPropOperation:
      g_value_set_enum(value, static_cast<gint>(settings.operation));
      break;
    case kPropNormalize:
      g_value_set_enum(value, static_cast<gint>(settings.normalize));
      break;
    case kPropScale:
      g_value_set_double(value, settings.scale);
      break;
    case kPropBias:
      g_value_set_double(value, settings.bias);
      break;
    case kPropBorder:
      g_value_set_enum(value, static_cast<gint>(settings.border));
      break;
    case kPropChannels:
      g_value_set_flags(value, settings.channels);
      break;
    case kPropMaskFiles:
      g_value_set_boolean(value, settings.mask_files ? TRUE : FALSE);
      break;
    case kPropAlphaMode:
      g_value_set_enum(value, static_cast<gint>(settings.alpha_mode));
      break;
    case kPropKernel:
      g_value_set_enum(value, static_cast<gint>(settings.kernel));
      break;
    case kPropTileWidth:
      g_value_set_uint(value, static_cast<guint>(settings.tile_width));
      break;
    case kPropBackend:
      g_value_set_enum(value, static_cast<gint>(settings.backend));
      break;
    case kPropCudaDeviceId:
      g_value_set_int(value, settings.cuda_device_id);
      break;
    case kPropThreads:
      g_value_set_uint(value, static_cast<guint>(settings.threads));
      break;
    case kPropAsyncDepth:
      g_value_set_int(value, settings.async_depth);
      break;
    default:
      break;
  }
}

guint refusal_key(guint id) {
  return id == kPropMaskMatrix ? guint{kPropMask} : id;
}

}  // namespace cudaconvolve
