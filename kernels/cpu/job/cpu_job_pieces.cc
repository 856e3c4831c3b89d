// SPDX-License-Identifier: LGPL-2.1-or-later
// How a frame is split: a piece for each component, or for the components that are filtered
// together, and areas of each piece for the workers.
#include <algorithm>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/box.h"
#include "kernels/cpu/box/box_bytes.h"
#include "kernels/cpu/job/cpu_job.h"

namespace convolve {
namespace {

/// Areas for each worker, so that one that is held up does not hold up the frame.
constexpr int kAreasPerWorker = 4;

/// Least rows of an area: below, converting its halo costs as much as filtering it.
constexpr int kMinBandRows = 16;

/// The first of a plane's components that is filtered and `wanted`; there is one.
template <class Wanted>
const Component& first_filtered(const PlaneFormat& plane, const Wanted& wanted) {
  return *std::find_if(plane.components, plane.components + plane.component_count,
                       [&](const Component& any) { return any.filtered && wanted(any); });
}

/// `alpha`, made for the whole alpha plane, as it lies below a component `shift` coarser.
ComponentTask on_grid_of(const ComponentTask& component, ComponentTask alpha, GridShift shift) {
  alpha.src_pitch *= 1 << shift.y;
  alpha.step *= 1 << shift.x;
  alpha.channels *= 1 << shift.x;
  alpha.width = component.width;
  alpha.height = component.height;
  alpha.border = component.border;
  return alpha;
}

}  // namespace

CpuJob::Work CpuJob::work_of(const Component& component) const {
  if (plan_.weighted && component.weightable()) return Work::kWeight;
  return component.filtered ? Work::kFilter : Work::kCopy;
}

CpuJob::Piece* CpuJob::add_piece(const WeightedTask& task, Work work) {
  const int width = task.colour.width, height = task.colour.height;
  if (width <= 0 || height <= 0) return nullptr;
  Piece& piece = pieces_[piece_count_++];
  piece.task = task;
  piece.work = work;
  piece.strip_width = work == Work::kCopy     ? width
                      : work == Work::kWeight ? weighted_->strip_width()
                      : work == Work::kRows   ? row_filter_->strip_width()
                                              : strip_width_;
  piece.strips = divide_up(width, piece.strip_width);
  int least = kMinBandRows;
  // Each area of separable makes height - 1 row sums more than it has rows, and an area of box adds
  // up as many rows before its first.
  if ((work == Work::kFilter || work == Work::kRows) && !two_pass_ &&
      (plan_.passes() != Passes::kDirect || plan_.kernel() == KernelKind::kBox))
    least = std::min(std::max(least, 4 * mask().height), divide_up(height, workers_));
  if (work == Work::kWeight) least = std::max(least, weighted_->least_rows());
  const int wanted = workers_ == 1 ? 1 : workers_ * kAreasPerWorker;
  const int step = work == Work::kRows ? row_filter_->row_step() : kBlockRows;
  piece.band_rows = round_up(std::max({1, least, divide_up(height, wanted)}), step);
  piece.bands = divide_up(height, piece.band_rows);
  return &piece;
}

Epilogue CpuJob::epilogue_of(const Component& component, const RunArguments& arguments) const {
  const double scale = arguments.scale, bias = arguments.bias;
  if (const BoxWeight* weight = weights_->as<BoxWeight>())
    return make_box_epilogue(component, mask(), *weight, scale, bias, plan_.rational);
  if (const Shift* shift = weights_->as<Shift>())
    return make_box_epilogue(component, shift->tap, shift->weight, scale, bias, plan_.rational);
  if (weights_->as<SplineMask>() != nullptr)
    return make_spline_epilogue(component, mask(), scale, bias);
  return make_epilogue(component, mask(), scale, bias, plan_.rational, plan_.accumulator,
                       plan_.passes());
}

void CpuJob::set_epilogue(GroupPart& part, const PlaneFormat& plane, const Component& component,
                          const RunArguments& arguments) const {
  const double scale = arguments.scale, bias = arguments.bias;
  if (const DigitWeights* digits = weights_->as<DigitWeights>()) {
    part.digits = make_digit_epilogue(component, mask(), *digits, scale, bias, plan_.rational,
                                      DigitEpilogue::Quantiser::kBits);
    const Component& first = first_filtered(plane, [](const Component& /*any*/) { return true; });
    part.shares_epilogue =
        share_epilogue(first, component, mask(), *digits, scale, bias, plan_.rational);
  } else {
    if (const SeparableIntegers* integers = weights_->as<SeparableIntegers>())
      part.digits =
          make_separable_epilogue(component, mask(), *integers, scale, bias, plan_.rational);
    else
      part.digits.general = epilogue_of(component, arguments);
    // Luma and chroma of a macropixel, whose steps differ, have row passes of their own.
    const Component& first =
        first_filtered(plane, [&](const Component& any) { return any.step == component.step; });
    part.shares_epilogue = component.black == first.black &&
                           component.max_code() == first.max_code() &&
                           bias_code(component, bias) == bias_code(first, bias);
  }
  if (const BoxWeight* weight = weights_->as<BoxWeight>()) {
    part.division = make_box_division(component, mask(), *weight, scale, bias, plan_.rational);
    const std::int64_t largest = mask().taps() * component.max_code();
    part.narrow_division = make_narrow_division(part.division, largest);
    // Rows that the mask gains and loses, kBoxRows of each, change a sum by this at most; a pivot
    // is the code before them.
    const std::int64_t change = kBoxRows * mask().width * component.max_code();
    part.float_division = make_float_division(part.division, largest, change);
  }
  part.task.epilogue = part.digits.general;
  part.task.reciprocals = make_reciprocals(part.task.epilogue);
}

void CpuJob::add_plane(const FrameView& src, const FrameView& dst, int p,
                       const RunArguments& arguments) {
  const PlaneFormat& plane = src.format.planes[p];
  const auto make = [&](int in, const PlaneFormat& layout, const Component& component) {
    ComponentTask task =
        make_task(layout, component, src.data[in], src.pitch[in], dst.data[in], dst.pitch[in]);
    task.border = arguments.border;
    task.stop = stop_;
    return task;
  };

  const Component* end = plane.components + plane.component_count;
  if (std::none_of(plane.components, end, [](const Component& c) { return c.filtered; })) {
    // Nothing to do in this plane: its rows are copied whole.
    PlaneFormat bytes;
    Component row;
    row.filtered = false;
    row.width = plane.row_bytes;
    row.height = plane.rows;
    add_piece({make(p, bytes, row), {}, {}}, Work::kCopy);
    return;
  }
  if ((row_filter_ != nullptr && !plan_.weighted) || spline_)
    return add_groups(src, dst, p, arguments);
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    const Work work = work_of(component);
    WeightedTask task;
    task.colour = make(p, plane, component);
    if (work == Work::kFilter) {
      task.colour.epilogue = epilogue_of(component, arguments);
      task.colour.reciprocals = make_reciprocals(task.colour.epilogue);
    }
    if (work == Work::kWeight) {
      const PlaneFormat& alpha_plane = src.format.planes[alpha_location_.plane];
      const Component& alpha = alpha_plane.components[alpha_location_.component];
      task.alpha =
          on_grid_of(task.colour, make(alpha_location_.plane, alpha_plane, alpha), shifts_[p][c]);
      task.epilogue = make_weighted_epilogue(component, alpha.max_code(), mask(), *weights_->totals,
                                             arguments.scale, arguments.bias, *plan_.weighted);
    }
    if (work != Work::kFilter || row_filter_ == nullptr) {
      add_piece(task, work);
    } else if (Piece* piece = add_piece(task, Work::kRows)) {
      // Where colour is weighted no form is planned whose epilogue is another than the task's.
      GroupPart part;
      part.task = task.colour;
      piece->rows = {};
      piece->rows.groups[piece->rows.count++].add(part);
    }
  }
}

GroupTask CpuJob::make_group_task(const FrameView& src, const FrameView& dst,
                                  const ComponentGroup& group,
                                  const RunArguments& arguments) const {
  const int p = group.plane;
  const PlaneFormat& plane = src.format.planes[p];
  GroupTask task;
  for (int k = 0; k < group.count; ++k) {
    const Component& component = plane.components[group.component[k]];
    GroupPart part;
    part.task = make_task(plane, component, src.data[p], src.pitch[p], dst.data[p], dst.pitch[p]);
    part.task.border = arguments.border;
    part.task.stop = stop_;
    part.filtered = component.filtered;
    if (component.filtered) set_epilogue(part, plane, component, arguments);
    task.add(part);
  }
  return task;
}

void CpuJob::add_groups(const FrameView& src, const FrameView& dst, int p,
                        const RunArguments& arguments) {
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(src.format, groups);
  for (int g = 0; g < count; ++g) {
    if (groups[g].plane != p) continue;
    const GroupTask task = make_group_task(src, dst, groups[g], arguments);
    RowTask rows;
    rows.groups[rows.count++] = task;
    if (takes_turns_ && g + 1 < count && take_turns(src.format, groups[g], groups[g + 1])) {
      rows.groups[rows.count++] = make_group_task(src, dst, groups[++g], arguments);
    } else if (!groups[g].any_filtered) {
      for (int k = 0; k < task.count; ++k)
        add_piece({task.parts[k].task, {}, {}}, Work::kCopy);
      continue;
    }
    const Work work = spline_ ? Work::kSpline : Work::kRows;
    if (Piece* piece = add_piece({task.parts[0].task, {}, {}}, work)) piece->rows = rows;
  }
}

}  // namespace convolve
