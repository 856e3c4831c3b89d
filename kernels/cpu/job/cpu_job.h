// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan bound to the CPU: weights encoded, scratch memory taken, the picture split into areas.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/core/plan/backend.h"
#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cpu/alpha_weighted.h"
#include "kernels/cpu/box/box.h"
#include "kernels/cpu/component_task.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/rows/row_filter.h"
#include "kernels/cpu/spline/separable_spline.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

class CpuJob final : public Job {
 public:
  /// `device` outlives the job by being held here; each run leaves its time in `kernel_ns`, which
  /// belongs to it, as `stop` does, which may be null. Errors: kUnsupported for a plan of another
  /// backend, or a mask that the kernel cannot read; kOutOfMemory.
  static Result<std::unique_ptr<Job>> make(const FrameFormat& format, const PreparedPlan& planned,
                                           std::shared_ptr<const Device> device,
                                           const StopSignal* stop,
                                           std::atomic<std::uint64_t>* kernel_ns);

  MaskStorage storage() const override { return MaskStorage::kHostMemory; }

  /// Synchronous: the destination is complete on return. kStopped if the stop signal was raised.
  Status run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) override;

 private:
  /// What one call of the pool works on.
  enum class Stage { kWhole, kRowPass, kColumnPass };

  /// What becomes of a component.
  enum class Work { kCopy, kFilter, kWeight, kRows, kSpline };

  /// One component, or an unfiltered plane, and the areas it is split into.
  struct Piece {
    WeightedTask task;  ///< Its alpha and epilogue are those of Work::kWeight.
    RowTask rows;       ///< Of Work::kRows, and of Work::kSpline, which has one group.
    Work work = Work::kCopy;
    int strip_width = 0;
    int strips = 0;
    int bands = 0;
    int band_rows = 0;

    int areas() const { return strips * bands; }
  };

  static constexpr int kMaxPieces = kMaxPlanes * kMaxComponents;

  CpuJob() = default;

  const Mask& mask() const { return weights_->mask; }
  void encode();
  Epilogue epilogue_of(const Component& component, const RunArguments& arguments) const;
  void set_epilogue(GroupPart& part, const PlaneFormat& plane, const Component& component,
                    const RunArguments& arguments) const;
  Status allocate(const FrameFormat& format);
  Status allocate_weighted(const FrameFormat& format);
  Work work_of(const Component& component) const;
  /// Null if there is nothing to do, as in the second field of one row.
  Piece* add_piece(const WeightedTask& task, Work work);
  void add_plane(const FrameView& src, const FrameView& dst, int plane,
                 const RunArguments& arguments);
  /// The task of a group of plane `group.plane`.
  GroupTask make_group_task(const FrameView& src, const FrameView& dst, const ComponentGroup& group,
                            const RunArguments& arguments) const;
  /// Adds the pieces of a plane whose components are filtered together.
  void add_groups(const FrameView& src, const FrameView& dst, int plane,
                  const RunArguments& arguments);
  void run_pieces(int begin, int end, Stage stage);
  void run_spline(const GroupTask& task);
  void run_area(const Piece& piece, int index, Stage stage, int worker);

  bool stopped() const { return stop_ != nullptr && stop_->raised(); }

  std::shared_ptr<const Device> device_;
  const StopSignal* stop_ = nullptr;
  std::atomic<std::uint64_t>* kernel_ns_ = nullptr;
  Plan plan_;
  std::shared_ptr<const PreparedWeights> weights_;
  int workers_ = 1;
  bool vector_ = false;           ///< Runs in vectors, with a workspace for each worker.
  int strip_width_ = kStripStep;  ///< Columns of an area.
  bool two_pass_ = false;         ///< separable: the row sums of a picture lie in `plane_`.
  MaskTaps taps_;                 ///< All taps, or those of the row pass.
  MaskTaps column_taps_;
  BoxMask box_;
  std::unique_ptr<RowFilter> row_filter_;  ///< If the form filters groups at once.
  bool takes_turns_ = false;               ///< Its workers have memory for two groups.
  std::optional<SeparableSpline> spline_;
  Workspaces workspaces_;
  hwy::AlignedFreeUniquePtr<std::byte[]> plane_memory_;
  Lines plane_;
  Piece pieces_[kMaxPieces];
  int piece_count_ = 0;

  /// Where colour is weighted by alpha: what does it, and the grids of the planned format.
  std::optional<AlphaWeighted> weighted_;
  AlphaLocation alpha_location_;
  GridShift shifts_[kMaxPlanes][kMaxComponents];
};

}  // namespace convolve
