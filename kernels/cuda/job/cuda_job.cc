// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/job/cuda_job.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "kernels/core/plan/box_choice.h"
#include "kernels/core/plan/prepared_plan.h"
#include "kernels/core/shape/box_tile.h"
#include "kernels/cuda/alpha/weighted_pass.h"
#include "kernels/cuda/device/variant.h"
#include "kernels/cuda/job/device_mask.h"
#include "kernels/cuda/job/intermediate.h"
#include "kernels/cuda/job/job_epilogues.h"
#include "kernels/cuda/job/overlapped_pieces.h"
#include "kernels/cuda/job/piecewise.h"
#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/fault.h"
#include "kernels/cuda/runtime/planes.h"
#include "kernels/cuda/runtime/transfer.h"
#include "kernels/cuda/tensor/tensor_pass.h"

namespace convolve {
namespace {

class CudaJob final : public Job {
 public:
  CudaJob(std::shared_ptr<DeviceCore> core, const FrameFormat& format, const PreparedPlan& planned)
      : core_(std::move(core)),
        format_(format),
        planned_(planned),
        plan_(planned_.plan),
        mask_(planned_.weights->mask),
        variant_(cuda_variant(plan_.form, plan_.accumulator)) {}
  ~CudaJob() override;

  Status prepare();
  MaskStorage storage() const override { return arguments_.storage; }
  Status run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) override;

 private:
  bool weighting() const { return plan_.weighted.has_value(); }
  bool is(Form form) const { return plan_.form == form; }
  bool is_box() const { return plan_.kernel() == KernelKind::kBox; }
  bool needs_device(int plane) const;
  Status prepare_mask();
  Status prepare_weighting();
  Status prepare_tensor();
  Status prepare_pieces();
  Status reserve_planes();
  Status reserve_intermediate();
  Status choose_box_tiles();
  void prepare_shift();
  Status load_kernels();
  LaunchArguments launch_arguments(const FrameFormat& format, const ComponentGroup& group,
                                   int index) const;
  void note_writes(const FrameFormat& format, const FramePlanes& out);
  Status launch(FrameSlot& slot, const FrameFormat& format, const FramePlanes& in,
                const FramePlanes& out, const RunArguments& arguments);
  Status enqueue(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
                 const RunArguments& arguments);
  bool goes_in_pieces(const FrameTransfer& transfer, const FrameFormat& format, Border border);
  FrameStreams streams_of(const FrameTransfer& transfer, const FrameFormat& format) const;
  Status run_overlapped(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
                        const FramePlanes& in, const RunArguments& arguments);
  Status launch_part(const FrameFormat& part, const FramePlanes& in, const FramePlanes& out,
                     const RunArguments& arguments, cudaStream_t stream);
  Status launch_whole(const FrameFormat& format, const FramePlanes& in, const FramePlanes& out,
                      const RunArguments& arguments, cudaStream_t stream);
  Status launch_groups(const FrameFormat& format, const FramePlanes& in, const FramePlanes& out,
                       Border border, cudaStream_t stream);

  std::shared_ptr<DeviceCore> core_;
  const FrameFormat format_;
  const PreparedPlan planned_;
  const Plan& plan_;  ///< Of planned_,
  const Mask& mask_;  ///< and of its weights.
  const Variant& variant_;

  DevicePlanes on_device_{};
  DeviceMask device_mask_;
  DeviceMemory intermediate_;
  std::optional<WeightedPass> weighted_;
  std::optional<TensorPass> tensor_;  ///< If the plan is kernel tensor: filters the whole frame.
  std::optional<Piecewise> pieces_;   ///< If a frame would take too long for one launch.
  std::optional<OverlappedPieces> overlapped_;  ///< If a frame that is alone goes in pieces.
  LaunchArguments arguments_;                   ///< The members that are the same in all launches.

  JobEpilogues epilogues_;         ///< Not of kernel tensor, which has its own.
  BoxTile box_tiles_[kMaxGroups];  ///< Kernel box: for each component group.
};

CudaJob::~CudaJob() {
  // Memory is freed behind the work of frames in flight, while the context is current.
  const CurrentContext current(core_->context());
  core_->order_frees();
  device_mask_ = DeviceMask();
  intermediate_ = DeviceMemory();
  weighted_.reset();
  tensor_.reset();
  pieces_.reset();
  overlapped_.reset();
}

/// True for planes that are filtered, and for alpha that kernels read to weight colour.
bool CudaJob::needs_device(int plane) const {
  return has_filtered(format_.planes[plane]) || (weighted_ && plane == weighted_->alpha_plane());
}

Status CudaJob::prepare() {
  if (plan_.kernel() == KernelKind::kTensor) {
    Status status = prepare_tensor();
    if (status.ok()) status = reserve_planes();
    return status.ok() ? prepare_pieces() : status;
  }
  arguments_.accumulator = plan_.accumulator;
  arguments_.tile_width = plan_.tile_width;
  arguments_.tile_height = plan_.tile_height;
  arguments_.mask.width = mask_.width;
  arguments_.mask.height = mask_.height;
  arguments_.mask.anchor_x = mask_.anchor_x;
  arguments_.mask.anchor_y = mask_.anchor_y;
  arguments_.form = plan_.form;
  Status status;
  if (is(Form::kShift))
    prepare_shift();
  else
    status = is_box() ? choose_box_tiles() : prepare_mask();
  if (status.ok()) status = prepare_weighting();
  if (status.ok()) status = reserve_planes();
  if (status.ok()) status = reserve_intermediate();
  if (status.ok()) status = prepare_pieces();
  return status.ok() ? load_kernels() : status;
}

Status CudaJob::prepare_mask() {
  Result<DeviceMask> made = DeviceMask::make(planned_, variant_, *core_, arguments_);
  if (!made.ok()) return made.status();
  device_mask_ = std::move(made.value());
  return {};
}

/// Chooses tiles for the planes of the planned format; fields of it use the same tiles.
Status CudaJob::choose_box_tiles() {
  arguments_.storage = MaskStorage::kParameter;
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format_, groups, weighting());
  for (int g = 0; g < count; ++g) {
    // A group that is only copied, in a plane that has filtered groups, too, is copied by box-runs.
    const Form form = groups[g].any_filtered ? plan_.form : Form::kBoxRuns;
    const std::optional<BoxTile> tile =
        choose_box_form(format_, groups[g], mask_, form, core_->capabilities());
    if (!tile) return unsupported("kernel box: no tile's sums fit shared memory");
    box_tiles_[g] = *tile;
  }
  return {};
}

void CudaJob::prepare_shift() {
  const Shift& shift = *planned_.weights->as<Shift>();
  arguments_.storage = MaskStorage::kParameter;
  arguments_.mask = MaskArguments{1, 1, -shift.x, -shift.y, 0, nullptr};
}

Status CudaJob::prepare_weighting() {
  if (!weighting()) return {};
  Result<WeightedPass> pass = WeightedPass::make(format_, planned_, *core_);
  if (!pass.ok()) return pass.status();
  weighted_ = std::move(pass.value());
  return {};
}

Status CudaJob::prepare_tensor() {
  Result<TensorPass> pass = TensorPass::make(format_, planned_, *core_);
  if (!pass.ok()) return pass.status();
  tensor_.emplace(std::move(pass.value()));
  arguments_.storage = MaskStorage::kGlobalMemory;
  return {};
}

Status CudaJob::prepare_pieces() {
  Result<std::optional<Piecewise>> pieces =
      Piecewise::make(format_, mask_, plan_, on_device_, *core_);
  if (!pieces.ok()) return pieces.status();
  pieces_ = std::move(pieces.value());
  if (pieces_) return {};
  if (!weighting())
    overlapped_ = OverlappedPieces::make(format_, mask_, on_device_, plan_.predicted_us);
  return {};
}

Status CudaJob::reserve_planes() {
  for (int p = 0; p < format_.plane_count; ++p)
    on_device_[static_cast<std::size_t>(p)] = needs_device(p);
  return core_->reserve_frames(device_frame_bytes(format_, on_device_), most_launches(plan_.form));
}

Status CudaJob::reserve_intermediate() {
  const IntermediateSize size = intermediate_size(format_, planned_, arguments_, box_tiles_);
  if (size.bytes == 0) return {};
  Result<DeviceMemory> memory = DeviceMemory::make(size.bytes, core_->stream());
  if (!memory.ok()) return memory.status();
  intermediate_ = std::move(memory.value());
  // The launches of separable-spline read ahead lines of coefficients that no launch has written.
  if (plan_.form == Form::kSeparableSpline) {
    const Status status =
        CONVOLVE_CUDA(cudaMemsetAsync(intermediate_.data(), 0, size.bytes, core_->stream()));
    if (!status.ok()) return status;
  }
  arguments_.intermediate = intermediate_.data();
  arguments_.intermediate_pitch = static_cast<std::int64_t>(size.pitch);
  return {};
}

Status CudaJob::load_kernels() {
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format_, groups, weighting());
  for (int g = 0; g < count; ++g) {
    if (!has_filtered(format_.planes[groups[g].plane]) || groups[g].weighted) continue;
    const LaunchArguments arguments = launch_arguments(format_, groups[g], g);
    if (Status status = CONVOLVE_CUDA(variant_.load(arguments)); !status.ok()) return status;
  }
  return {};
}

/// All arguments for component group `index` but the addresses of the planes and the border.
/// `format` may be a field of the planned one.
LaunchArguments CudaJob::launch_arguments(const FrameFormat& format, const ComponentGroup& group,
                                          int index) const {
  const PlaneFormat& plane = format.planes[group.plane];
  LaunchArguments arguments = arguments_;
  if (is_box()) {
    arguments.tile_width = box_tiles_[index].width;
    arguments.tile_height = box_tiles_[index].height;
    arguments.batch_rows = box_tiles_[index].rows;
    arguments.packed = box_packed(plane, mask_);
    arguments.box_form = box_tiles_[index].form;
  }
  arguments.group.width = group.width;
  arguments.group.height = group.height;
  arguments.group.step = group.step;
  arguments.group.channels = group.count;
  arguments.group.sample_bytes = plane.sample_bytes;
  for (int i = 0; i < group.count; ++i) {
    const int c = group.component[i];
    const Component& component = format_.planes[group.plane].components[c];
    ChannelArguments& channel = arguments.group.channel[i];
    channel.offset = component.offset;
    channel.filtered = component.filtered;
    channel.layout = sample_layout(plane, component);
    channel.black = component.black;
    epilogues_.fill(group.plane, c, channel);
  }
  return arguments;
}

Status CudaJob::run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) {
  const CurrentContext current(core_->context());
  if (!current.status().ok()) return current.status();
  for (const FrameView* frame : {&src, &dst})
    if (Status status = check_planes(*frame, on_device_, form_info(plan_.form)); !status.ok())
      return status;
  if (!tensor_) epilogues_.update(format_, planned_, arguments.scale, arguments.bias);
  Result<FrameSlot*> slot = core_->frame();
  if (!slot.ok()) return slot.status();
  FrameTransfer transfer(*core_, *slot.value(), src, dst, on_device_);
  Status status;
  try {
    status = enqueue(*slot.value(), transfer, src.format, arguments);
  } catch (const std::bad_alloc&) {
    status = Status(Code::kOutOfMemory, "host memory is exhausted");
  }
  // After run() the caller may free its memory, so nothing may still use it.
  if (!status.ok()) (void)core_->finish();
  return status;
}

Status CudaJob::enqueue(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
                        const RunArguments& arguments) {
  const bool overlapped = goes_in_pieces(transfer, format, arguments.border);
  Status status =
      core_->begin(slot, overlapped ? core_->streams_of_pieces() : streams_of(transfer, format));
  if (status.ok()) status = transfer.await_owners();
  FramePlanes in, out;
  if (status.ok()) status = transfer.place(in, out);
  if (status.ok() && overlapped) return run_overlapped(slot, transfer, format, in, arguments);
  if (status.ok()) status = transfer.bring(in);
  if (status.ok()) status = launch(slot, format, in, out, arguments);
  return status.ok() ? transfer.give_back(out) : status;
}

/// The streams of a frame that goes as a whole, or of a field. Pieces are copied on stream().
FrameStreams CudaJob::streams_of(const FrameTransfer& transfer, const FrameFormat& format) const {
  if (!transfer.crosses_bus() || transfer.brings_to_owner())
    return core_->streams_on_device(pieces_ ? nullptr : transfer.owner_that_may_wait());
  // The kernels of a second field wait for the first one's copy back.
  const bool field = format.planes[0].rows != format_.planes[0].rows;
  return core_->streams(/*may_share=*/transfer.crosses_twice() && !field && !pieces_);
}

/// Takes the memory for pieces with the first frame that wants it.
bool CudaJob::goes_in_pieces(const FrameTransfer& transfer, const FrameFormat& format,
                             Border border) {
  if (!overlapped_ || !core_->one_at_a_time() || !overlapped_->serves(transfer, format, border))
    return false;
  if (overlapped_->provide(*core_).ok()) return true;
  overlapped_.reset();
  return false;
}

/// Records the planes that a launch writes. Called before the launch, as a launch that fails may
/// have written, too.
void CudaJob::note_writes(const FrameFormat& format, const FramePlanes& out) {
  for (int p = 0; p < format.plane_count; ++p)
    if (needs_device(p) && out[static_cast<std::size_t>(p)].data != nullptr)
      core_->writes().add(rows_of(out[static_cast<std::size_t>(p)], format.planes[p]));
}

Status CudaJob::launch(FrameSlot& slot, const FrameFormat& format, const FramePlanes& in,
                       const FramePlanes& out, const RunArguments& arguments) {
  note_writes(format, out);
  if (Status status = slot.begin_kernels(); !status.ok()) return status;
  const cudaStream_t stream = slot.streams().kernels;
  const auto part = [&](const auto&... planes) {
    return launch_part(planes..., arguments, stream);
  };
  Status status = pieces_ ? pieces_->run(format, in, out, arguments.border, part)
                          : launch_whole(format, in, out, arguments, stream);
  if (status.ok()) status = CONVOLVE_CUDA(inject_fault_if_due(stream));
  return status.ok() ? slot.end_kernels() : status;
}

Status CudaJob::run_overlapped(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
                               const FramePlanes& in, const RunArguments& arguments) {
  const cudaStream_t stream = slot.streams().kernels;
  bool first = true;
  return overlapped_->run(
      slot, transfer, format, in,
      [&](const FrameFormat& part, const FramePlanes& inputs, const FramePlanes& outputs) {
        Status status = launch_part(part, inputs, outputs, arguments, stream);
        if (status.ok() && std::exchange(first, false))
          status = CONVOLVE_CUDA(inject_fault_if_due(stream));
        return status;
      });
}

Status CudaJob::launch_part(const FrameFormat& part, const FramePlanes& in, const FramePlanes& out,
                            const RunArguments& arguments, cudaStream_t stream) {
  note_writes(part, out);
  return launch_whole(part, in, out, arguments, stream);
}

Status CudaJob::launch_whole(const FrameFormat& format, const FramePlanes& in,
                             const FramePlanes& out, const RunArguments& arguments,
                             cudaStream_t stream) {
  return tensor_ ? tensor_->launch(format, in, out, arguments.scale, arguments.bias,
                                   arguments.border, stream)
                 : launch_groups(format, in, out, arguments.border, stream);
}

Status CudaJob::launch_groups(const FrameFormat& format, const FramePlanes& in,
                              const FramePlanes& out, Border border, cudaStream_t stream) {
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups, weighting());
  for (int g = 0; g < count; ++g) {
    const ComponentGroup& group = groups[g];
    const std::size_t p = static_cast<std::size_t>(group.plane);
    // A field may have no rows of a subsampled plane, and a grid without blocks is an error.
    if (!has_filtered(format.planes[p]) || group.width == 0 || group.height == 0) continue;
    LaunchArguments arguments = launch_arguments(format, group, g);
    arguments.group.src = in[p].data;
    arguments.group.src_pitch = in[p].pitch;
    arguments.group.dst = out[p].data;
    arguments.group.dst_pitch = out[p].pitch;
    arguments.group.border = border;
    arguments.settled = core_->writes().settled(rows_of(in[p], format.planes[p]));
    Status status = group.weighted
                        ? weighted_->launch(group, arguments.group,
                                            in[static_cast<std::size_t>(weighted_->alpha_plane())],
                                            epilogues_.scale(), epilogues_.bias(), stream)
                        : CONVOLVE_CUDA(variant_.launch(arguments, stream));
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Job>> prepare_cuda_job(std::shared_ptr<DeviceCore> core,
                                              const FrameFormat& format,
                                              const PreparedPlan& planned) {
  auto job = std::make_unique<CudaJob>(std::move(core), format, planned);
  if (Status status = job->prepare(); !status.ok()) return status;
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace convolve
