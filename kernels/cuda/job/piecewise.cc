// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/job/piecewise.h"

#include <algorithm>
#include <utility>

#include "kernels/core/plan/cost.h"

namespace convolve {
namespace {

/// Frames are split so that no launch is expected to take longer than this. Predictions are within
/// 30 % where they are calibrated, and a launch may take about 100 ms.
constexpr double kLongestLaunchUs = 60000;

/// The expected time of a frame of this plan. Colour weighted by alpha has no prediction: it makes
/// two sums for each output, each about as `basic` does, 0.5 ps a tap on a busy H100. With a
/// rational mask all outputs may have to be decided again, from as many row sums as the mask has
/// rows or else from all taps; with a real mask only few outputs are.
double expected_us(const FrameFormat& format, const Mask& mask, const Plan& plan,
                   const DeviceCapabilities& device) {
  if (!plan.weighted) return plan.predicted_us;
  constexpr double kTapUs = 2e-6, kProcessors = 132, kClockMhz = 1980;
  const bool by_rows = plan.weighted->passes == Passes::kRowColumn &&
                       (!plan.weighted->rational || row_sums_exact(format, mask, *plan.weighted));
  const double taps =
      by_rows ? mask.width + mask.height : static_cast<double>(mask.width) * mask.height;
  double samples = 0;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c)
      samples += static_cast<double>(format.planes[p].components[c].width) *
                 format.planes[p].components[c].height;
  const bool known = device.processors > 0 && device.clock_mhz > 0;
  const double slower =
      known ? kProcessors * kClockMhz / (1.0 * device.processors * device.clock_mhz) : 4;
  return samples * taps * kTapUs * slower;
}

PlaneMemory part_of(const PlaneMemory& plane, const PlaneRect& part) {
  PlaneMemory moved = plane;
  moved.data += part.row * plane.pitch + part.byte;
  return moved;
}

}  // namespace

Result<std::optional<Piecewise>> Piecewise::make(const FrameFormat& format, const Mask& mask,
                                                 const Plan& plan, const DevicePlanes& on_device,
                                                 DeviceCore& core) {
  const double us = expected_us(format, mask, plan, core.capabilities());
  Piecewise made(mask, on_device, &core);
  made.cut_ = choose_cut(format, mask, /*wrap=*/false, us, kLongestLaunchUs);
  made.wrap_cut_ = choose_cut(format, mask, /*wrap=*/true, us, kLongestLaunchUs);
  if (made.cut_.count == 1 && made.wrap_cut_.count == 1) return std::optional<Piecewise>();
  if (Status status = made.reserve(format); !status.ok()) return status;
  return std::optional<Piecewise>(std::move(made));
}

Status Piecewise::reserve(const FrameFormat& format) {
  std::array<std::size_t, kMaxPlanes> outputs{}, gathered{};
  const auto count_pieces = [&](const Cut& cut, bool wrap) {
    for (int i = 0; cut.count > 1 && i < cut.count; ++i) {
      const FramePiece piece = frame_piece(format, *mask_, cut, wrap, i);
      for (int p = 0; p < format.plane_count; ++p) {
        const std::size_t n = static_cast<std::size_t>(p);
        if (!on_device_[n]) continue;
        const PlaneFormat& plane = piece.format.planes[p];
        const std::size_t bytes = aligned_pitch(static_cast<std::size_t>(plane.row_bytes)) *
                                  static_cast<std::size_t>(plane.rows);
        outputs[n] = std::max(outputs[n], bytes);
        if (wrap) gathered[n] = std::max(gathered[n], bytes);
      }
    }
  };
  count_pieces(cut_, false);
  count_pieces(wrap_cut_, true);
  const auto take = [&](std::size_t bytes, DeviceMemory& memory) -> Status {
    if (bytes == 0) return {};
    Result<DeviceMemory> taken = DeviceMemory::make(bytes, core_->stream());
    if (taken.ok()) memory = std::move(taken.value());
    return taken.status();
  };
  for (std::size_t p = 0; p < outputs.size(); ++p) {
    Status status = take(outputs[p], outputs_[p]);
    if (status.ok()) status = take(gathered[p], gathered_[p]);
    if (!status.ok()) return status;
  }
  for (Event& event : ended_) {
    Result<Event> ended = Event::make(cudaEventDisableTiming);
    if (!ended.ok()) return ended.status();
    event = std::move(ended.value());
  }
  return {};
}

/// Copies the part `needed` of a plane of `rows` rows that is repeated periodically.
Status Piecewise::gather(const PlaneMemory& plane, const PlaneRect& needed, const PlaneMemory& to,
                         int rows) {
  for (int done = 0; done < needed.rows;) {
    const int row = ((needed.row + done) % rows + rows) % rows;
    const int count = std::min(rows - row, needed.rows - done);
    if (Status status = copy_on_device(part_of(to, {done, count, 0, needed.bytes}),
                                       part_of(plane, {row, count, 0, needed.bytes}), needed.bytes,
                                       count, core_->stream());
        !status.ok())
      return status;
    done += count;
  }
  return {};
}

Status Piecewise::run(const FrameFormat& format, const FramePlanes& in, const FramePlanes& out,
                      Border border, const Launch& launch) {
  const bool wrap = border == Border::kWrap;
  const Cut& cut = wrap ? wrap_cut_ : cut_;
  if (cut.count == 1) return launch(format, in, out);
  for (int i = 0; i < cut.count; ++i) {
    // Only the piece before may still run, so that a stop takes effect soon.
    Event& ended = ended_[static_cast<std::size_t>(i % 2)];
    if (i >= 2)
      if (Status status = core_->wait(ended); !status.ok()) return status;
    if (core_->stopped()) return stopped();

    const FramePiece piece = frame_piece(format, *mask_, cut, wrap, i);
    FramePlanes inputs, outputs;
    for (int p = 0; p < format.plane_count; ++p) {
      const std::size_t n = static_cast<std::size_t>(p);
      const int row_bytes = piece.format.planes[p].row_bytes;
      if (!on_device_[n] || format.planes[p].rows == 0) continue;
      outputs[n] = device_plane(outputs_[n].data(), row_bytes);
      if (!wrap) {
        inputs[n] = part_of(in[n], piece.input[p]);
        continue;
      }
      inputs[n] = device_plane(gathered_[n].data(), row_bytes);
      if (Status status = gather(in[n], piece.input[p], inputs[n], format.planes[p].rows);
          !status.ok())
        return status;
    }
    Status status = launch(piece.format, inputs, outputs);
    for (int p = 0; status.ok() && p < format.plane_count; ++p) {
      const std::size_t n = static_cast<std::size_t>(p);
      // Planes that kernels only read, such as alpha, have no outputs.
      if (!on_device_[n] || !has_filtered(format.planes[p])) continue;
      const PlaneRect& wanted = piece.output[p];
      const PlaneRect inside{wanted.row - piece.input[p].row, wanted.rows,
                             wanted.byte - piece.input[p].byte, wanted.bytes};
      status = copy_on_device(part_of(out[n], wanted), part_of(outputs[n], inside), wanted.bytes,
                              wanted.rows, core_->stream());
    }
    if (status.ok()) status = CONVOLVE_CUDA(cudaEventRecord(ended.get(), core_->stream()));
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace convolve
