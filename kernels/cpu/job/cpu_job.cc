// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/job/cpu_job.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "kernels/core/base/round.h"
#include "kernels/core/base/thread_pool.h"
#include "kernels/cpu/basic.h"
#include "kernels/cpu/coarsened.h"
#include "kernels/cpu/copy.h"
#include "kernels/cpu/job/row_filters.h"
#include "kernels/cpu/separable/two_passes.h"
#include "kernels/cpu/shift.h"

namespace convolve {
namespace {

/// Rows and columns of the largest component that `which` holds of.
struct Extent {
  int width = 1;
  int height = 1;
};

template <class Which>
Extent largest_component(const FrameFormat& format, Which&& which) {
  Extent largest;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      if (!which(component)) continue;
      largest.width = std::max(largest.width, component.width);
      largest.height = std::max(largest.height, component.height);
    }
  return largest;
}

/// Differences in size between the frames would be reads outside one of them.
bool same_size(const FrameFormat& a, const FrameFormat& b) {
  for (int p = 0; p < a.plane_count; ++p) {
    if (a.planes[p].rows != b.planes[p].rows || a.planes[p].row_bytes != b.planes[p].row_bytes)
      return false;
    for (int c = 0; c < a.planes[p].component_count; ++c) {
      const Component &one = a.planes[p].components[c], &other = b.planes[p].components[c];
      if (one.width != other.width || one.height != other.height) return false;
    }
  }
  return true;
}

/// True if the form sums dot products of whole numbers.
bool sums_dots(Form form) {
  return form == Form::kCoarsenedDots || form == Form::kSeparableDots;
}

/// True if the plan's kernel can read the mask.
bool readable(const Plan& plan, const FrameFormat& format, const PreparedWeights& weights) {
  const Mask& mask = weights.mask;
  if (plan.kernel() == KernelKind::kBox)
    return weights.as<BoxWeight>() != nullptr && box_sums_fit(format, mask);
  if (plan.kernel() == KernelKind::kShift) return weights.as<Shift>() != nullptr;
  if (plan.form == Form::kCoarsenedDots) return weights.as<DigitWeights>() != nullptr;
  if (plan.form == Form::kSeparableDots) return weights.as<SeparableIntegers>() != nullptr;
  if (plan.form == Form::kSeparableSpline) {
    const SplineMask* spline = weights.as<SplineMask>();
    return spline != nullptr && spline->column.ends.length > 0 && spline->row.ends.length > 0;
  }
  return plan.passes() != Passes::kDirect ? mask.rank1 : mask.dense();
}

}  // namespace

Result<std::unique_ptr<Job>> CpuJob::make(const FrameFormat& format, const PreparedPlan& planned,
                                          std::shared_ptr<const Device> device,
                                          const StopSignal* stop,
                                          std::atomic<std::uint64_t>* kernel_ns) {
  const Plan& plan = planned.plan;
  const DigitWeights* digits = planned.weights->as<DigitWeights>();
  const bool integers = plan.kernel() == KernelKind::kBox ||
                        (sums_dots(plan.form) && (digits == nullptr || !digits->wide));
  if (plan.backend != BackendKind::kCpu || !form_info(plan.form).on_cpu ||
      (plan.accumulator == Accumulator::kInt32) != integers)
    return unsupported("the cpu backend cannot run the plan " + plan.to_string());
  if (!readable(plan, format, *planned.weights))
    return unsupported("the mask does not fit the plan " + plan.to_string());

  std::unique_ptr<CpuJob> job(new CpuJob());
  job->workers_ = std::clamp(plan.threads, 1, device->capabilities().threads);
  job->device_ = std::move(device);
  job->stop_ = stop;
  job->kernel_ns_ = kernel_ns;
  job->plan_ = plan;
  job->weights_ = planned.weights;
  job->encode();
  Result<std::unique_ptr<RowFilter>> filter = make_row_filter(format, planned, job->workers_);
  if (!filter.ok()) return filter.status();
  job->row_filter_ = std::move(filter.value());
  if (Status status = job->allocate(format); !status.ok()) return status;
  return std::unique_ptr<Job>(std::move(job));
}

void CpuJob::encode() {
  const Mask& mask = weights_->mask;
  if (plan_.kernel() == KernelKind::kBox) {
    box_ = box_mask(mask);
    return;
  }
  if (plan_.kernel() == KernelKind::kShift || plan_.form == Form::kSeparableSpline ||
      plan_.form == Form::kSeparableAreas || sums_dots(plan_.form))
    return;
  const Accumulator accumulator = plan_.accumulator;
  if (plan_.passes() != Passes::kDirect) {
    FactorTaps factors = factor_taps(mask, accumulator, plan_.rational);
    taps_ = std::move(factors.row);
    column_taps_ = std::move(factors.column);
  } else {
    const std::vector<std::byte> weights = encode_weights(mask, accumulator, plan_.rational);
    taps_ = MaskTaps(mask.width, mask.height, mask.anchor_x, mask.anchor_y, accumulator,
                     weights.data());
  }
}

Status CpuJob::allocate(const FrameFormat& format) {
  if (plan_.weighted) {
    if (Status status = allocate_weighted(format); !status.ok()) return status;
  }
  if (row_filter_ != nullptr) {
    // Decided for the plan: frames may have fewer columns, and workspaces are as many as these
    // need.
    takes_turns_ = largest_group(format).groups > 1;
    return {};
  }
  if (const SplineMask* spline = weights_->as<SplineMask>()) {
    Result<SeparableSpline> made = SeparableSpline::make(format, *spline, workers_);
    if (!made.ok()) return made.status();
    spline_ = std::move(made.value());
    return {};
  }
  const Extent extent =
      largest_component(format, [this](const Component& c) { return work_of(c) == Work::kFilter; });
  int halo = taps_.width() - 1;
  const int block_lines = mask().height + kBlockRows - 1;
  WorkspaceShape shape;
  shape.cell_bytes = plan_.accumulator == Accumulator::kFloat32 ? sizeof(float) : sizeof(double);

  // Digits are summed by the scalar loop, whatever the kernel; it needs no scratch.
  vector_ = plan_.kernel() != KernelKind::kBasic && plan_.accumulator != Accumulator::kWide;
  if (!vector_) return {};
  shape.table_lines = block_lines;
  if (plan_.kernel() == KernelKind::kBox) {
    shape.cell_bytes = sizeof(double);
    halo = mask().width;
    strip_width_ = choose_strip_width(extent.width, halo, kBoxLines + 1, shape.cell_bytes);
    shape.source_lines = kBoxLines;
    shape.table_lines = 0;
  } else if (plan_.kernel() == KernelKind::kShift) {
    strip_width_ = choose_strip_width(extent.width, 0, 2, shape.cell_bytes);
    shape.source_lines = 1;
    shape.table_lines = 0;
  } else if (plan_.kernel() == KernelKind::kCoarsened) {
    strip_width_ = choose_strip_width(extent.width, halo, block_lines, shape.cell_bytes);
    shape.source_lines = block_lines;
  } else {
    two_pass_ = plan_.form == Form::kSeparableTwoPass;
    strip_width_ = choose_strip_width(extent.width, 0, kBlockRows, shape.cell_bytes);
    shape.source_lines = 1;
  }
  shape.strip_width = std::min(strip_width_, round_up(extent.width, kStripStep));
  shape.source_width = shape.strip_width + halo;

  Result<Workspaces> workspaces = Workspaces::make(shape, workers_);
  if (!workspaces.ok()) return workspaces.status();
  workspaces_ = std::move(workspaces.value());

  if (two_pass_) {
    plane_.stride = line_stride(extent.width, shape.cell_bytes);
    auto memory = allocate_lines(plane_.stride * static_cast<std::size_t>(extent.height));
    if (!memory.ok()) return memory.status();
    plane_memory_ = std::move(memory.value());
    plane_.data = plane_memory_.get();
  }
  return {};
}

Status CpuJob::allocate_weighted(const FrameFormat& format) {
  const Extent extent =
      largest_component(format, [](const Component& c) { return c.weightable(); });
  Result<AlphaWeighted> weighted =
      AlphaWeighted::make(mask(), *plan_.weighted, extent.width, workers_);
  if (!weighted.ok()) return weighted.status();
  weighted_ = std::move(weighted.value());
  alpha_location_ = find_alpha(format).value_or(AlphaLocation{});
  const Component& alpha =
      format.planes[alpha_location_.plane].components[alpha_location_.component];
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c)
      shifts_[p][c] = grid_shift(format.planes[p].components[c], alpha);
  return {};
}

Status CpuJob::run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) {
  if (!same_size(src.format, dst.format))
    return invalid_argument("source and destination frame differ in size");
  const auto start = std::chrono::steady_clock::now();
  piece_count_ = 0;
  for (int p = 0; p < src.format.plane_count; ++p)
    add_plane(src, dst, p, arguments);

  if (two_pass_ || spline_) {
    // One piece after the other: they share the planes between their passes.
    for (int i = 0; i < piece_count_; ++i) {
      if (pieces_[i].work == Work::kSpline) {
        run_spline(pieces_[i].rows.groups[0]);
      } else if (pieces_[i].work != Work::kFilter) {
        run_pieces(i, i + 1, Stage::kWhole);
      } else {
        run_pieces(i, i + 1, Stage::kRowPass);
        run_pieces(i, i + 1, Stage::kColumnPass);
      }
    }
  } else {
    run_pieces(0, piece_count_, Stage::kWhole);
  }
  const auto elapsed = std::chrono::steady_clock::now() - start;
  *kernel_ns_ = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  return stopped() ? convolve::stopped() : Status();
}

void CpuJob::run_pieces(int begin, int end, Stage stage) {
  int areas = 0;
  for (int i = begin; i < end; ++i)
    areas += pieces_[i].areas();
  run_bands(workers_, areas, [&](int index, int worker) {
    int i = begin;
    for (; index >= pieces_[i].areas(); ++i)
      index -= pieces_[i].areas();
    run_area(pieces_[i], index, stage, worker);
  });
}

void CpuJob::run_spline(const GroupTask& task) {
  for (const SeparableSpline::Stage stage : SeparableSpline::kStages)
    run_bands(workers_, spline_->units(task, stage), [&](int unit, int worker) {
      if (!stopped()) spline_->run(task, stage, unit, worker);
    });
}

void CpuJob::run_area(const Piece& piece, int index, Stage stage, int worker) {
  if (stopped()) return;
  const ComponentTask& task = piece.task.colour;
  Area area;
  area.y = index / piece.strips * piece.band_rows;
  area.height = std::min(piece.band_rows, task.height - area.y);
  area.x = index % piece.strips * piece.strip_width;
  area.width = std::min(piece.strip_width, task.width - area.x);
  switch (piece.work) {
    case Work::kCopy:
      return copy_area(task, area);
    case Work::kWeight:
      return weighted_->filter(piece.task, area, worker);
    case Work::kRows:
      return row_filter_->filter(piece.rows, area, worker);
    case Work::kSpline:
      return;  // Not an area's work: run_spline() does it.
    case Work::kFilter:
      break;
  }
  if (!vector_) return filter_basic(task, taps_, area);
  const Workspace& workspace = workspaces_[worker];
  if (plan_.kernel() == KernelKind::kBox)
    filter_box(task, box_, area, workspace);
  else if (plan_.kernel() == KernelKind::kShift)
    filter_shift(task, *weights_->as<Shift>(), area, workspace);
  else if (plan_.kernel() == KernelKind::kCoarsened)
    filter_coarsened(task, taps_, area, workspace);
  else if (stage == Stage::kRowPass)
    filter_separable_rows(task, taps_, area, workspace, plane_);
  else
    filter_separable_columns(task, column_taps_, area, workspace, plane_);
}

}  // namespace convolve
