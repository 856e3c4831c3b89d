// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of the element: their table, their types, and what a set of one means.
//
// The locking rule: Properties is guarded by the element's GST_OBJECT_LOCK. A value is parsed
// before the lock is taken (a mask may be read from a file), checked and applied under it,
// and reported after it is released. The streaming thread copies `settings` once a frame, under the
// lock, and works on the copy; masks are shared, immutable values.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kernels/convolver.h"
#include "plugin/formats.h"

namespace cudaconvolve {

enum class BackendChoice : int { kAuto, kCuda, kCpu };

enum PropertyId : guint {
  kPropMask = 1,
  kPropMaskMatrix,
  kPropOperation,
  kPropNormalize,
  kPropScale,
  kPropBias,
  kPropBorder,
  kPropChannels,
  kPropAlphaMode,
  kPropMaskFiles,
  kPropKernel,
  kPropTileWidth,
  kPropBackend,
  kPropCudaDeviceId,
  kPropThreads,
  kPropAsyncDepth,
  kPropActivePlan,
  kPropStats,
};

/// What the user asked for. A copy is a snapshot, taken for each frame: so the text of the mask,
/// which may be megabytes long, is shared as its weights are.
struct Settings {
  std::shared_ptr<const std::string> mask_text;
  std::shared_ptr<const convolve::MaskSource> mask;
  bool mask_from_file = false;
  bool mask_files = true;  ///< May `mask` name files? Once false it stays false.
  convolve::Operation operation = convolve::Operation::kCorrelate;
  convolve::Normalize normalize = convolve::Normalize::kAuto;
  double scale = 1;
  double bias = 0;
  convolve::Border border = convolve::Border::kReplicate;
  unsigned channels = kLuma | kChroma;
  convolve::AlphaMode alpha_mode = convolve::AlphaMode::kStraight;
  convolve::KernelKind kernel = convolve::KernelKind::kAuto;
  int tile_width = 0;
  int async_depth = -1;  ///< Frames in flight; -1 = chosen.

  /// Taken over at READY->PAUSED.
  BackendChoice backend = BackendChoice::kAuto;
  int cuda_device_id = -1;
  int threads = 0;

  /// Counts the sets that need a new plan; scale, bias and border are arguments of a frame.
  guint64 plan_generation = 0;

  Settings();
};

struct Properties {
  Settings settings;
  /// Between start() and stop(): refused values are warnings, not errors of the next start.
  bool started = false;
  /// Values refused while not started, by property; a value that is accepted later clears its own.
  std::map<guint, std::string> refusals;
};

/// A parsed value, to be applied under the lock.
struct Edit {
  std::function<void(Settings&)> apply;
  bool needs_plan = false;
  bool ready_only = false;
  /// Says whether the settings in force allow this edit, as `mask-files` decides over a mask that
  /// names a file. It runs under the lock, right before `apply`. Empty if every setting allows it.
  std::function<convolve::Status(const Settings&)> check = {};
};

/// Registers the types, adds all properties to `object_class`, marks the types for documentation.
void install_properties(GObjectClass* object_class);

/// Parses `value` for the writable property `id`. Takes no lock; reads the file of `@path` if
/// `mask_files` allows it.
convolve::Result<Edit> parse_property(guint id, const GValue* value, bool mask_files);

/// Applies `edit`; call under the lock. True if it was a READY-only property that changed while
/// started, so that the user must be told when it takes effect. Errors: what Edit::check says.
convolve::Result<bool> apply_edit(Properties& properties, guint id, const Edit& edit);

/// Sets a property of `element`, whose lock guards `properties`, and reports what is refused, or
/// waits for a start.
void set_property(GstElement* element, Properties& properties, guint id, const GValue* value,
                  const GParamSpec* spec);

/// What keeps the element from starting: a value that was refused, or a mask from a file if files
/// were switched off since. Empty if nothing does; call under the lock.
std::string refusal_of_start(const Properties& properties);

/// Writes the value of the writable property `id` as `settings` has it.
void read_property(const Settings& settings, guint id, GValue* value);

/// `mask` and `mask-matrix` are one value in two dresses: the id under which refusals are kept.
guint refusal_key(guint id);

}  // namespace cudaconvolve
