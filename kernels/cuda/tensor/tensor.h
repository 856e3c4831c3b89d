// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA kernel `tensor`, as the host side sees it: all filtered planes of a frame in one launch.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/border.h"
#include "kernels/core/base/sample.h"
#include "kernels/core/base/view.h"
#include "kernels/core/plan/forms.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_groups.h"
#include "kernels/core/shape/tensor_tiles.h"
#include "kernels/core/shape/tensor_windows.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// How sums become codes: the most general DigitEpilogue::Quantiser of the filtered components.
using Codes = DigitEpilogue::Quantiser;

/// How the sums of tensor_octets.cu, whose codes are wider than 8 bits, become codes.
enum class WideQuantiser : int {
  kGeneral,  ///< By the epilogue for any sum.
  kDouble,   ///< The same, where it divides nothing, and values fit 32 bits.
  kFloat,    ///< As Codes::kFloat says.
  kSplit,    ///< As SplitEpilogue says.
};

/// The component that the bytes of one phase belong to.
struct TensorPhase {
  int offset = 0;  ///< Bytes from the start of a row to its first sample,
  int step = 1;    ///< from there to its neighbour,
  int width = 0;   ///< and how many there are.
  int black = 0;   ///< What ghosts without signal hold.
  bool filtered = true;
  std::int32_t start = 0;  ///< DigitEpilogue::start, then its other members.
  float base = 0;
  Epilogue general;
};

struct TensorPlane {
  const std::uint8_t* src = nullptr;
  std::uint8_t* dst = nullptr;
  std::int64_t src_pitch = 0;
  std::int64_t dst_pitch = 0;
  int rows = 0;
  int row_bytes = 0;
  int whole_bytes = 0;  ///< Up to here every byte of a row is a sample.
  int left = 0;         ///< A column's window starts this many bytes before it: a multiple of 8.
  int segments = 1;     ///< Windows side by side that cover the mask.
  const uint4* fragments = nullptr;  ///< tensor_fragments.h, as the form asks.
  int parts = 1;                     ///< PairWindow::parts
  std::uint32_t pair_black = 0;      ///< Pairs, quads and octets: four ghosts without signal.
  /// There, too: __byte_perm() selectors that make the four ghosts left of the picture of a row's
  /// first eight bytes, and those right of it of the last eight; or samples of each component, if
  /// they are parted.
  std::uint32_t ghost_select[2] = {};
  /// Large quads see four more: left of these ones of a row's bytes 4 to 11, right of them ones of
  /// the last eight but four.
  std::uint32_t far_select[2] = {};
  std::uint32_t chroma_select[2] = {};  ///< Of packed 4:2:2.
  int columns = 0;        ///< Of 128 bytes. The inner ones, whose windows lie inside the picture:
  int inner_first = 0;    ///< the first
  int inner_columns = 0;  ///< and their number.
  std::uint32_t inner_reciprocal = 0;  ///< 2^32 / their number, rounded up; unused if that is 1.
  std::uint32_t edge_reciprocal = 0;   ///< Of the others.
  bool sixteen = true;                 ///< All planes lie on 16 bytes.
  bool ghosts_in_tile = false;  ///< Groups: ghosts at a tile's side are samples of the same tile.
  int first_block = 0;          ///< Of the launch's.
  int edge_blocks = 0;          ///< From there on.
  int period = 1;
  bool copies = false;  ///< Some phase is not filtered.
  bool tail = false;    ///< BytePhases::tail.
  bool uniform = true;  ///< The first phase's epilogue serves all that are filtered.
  /// One epilogue for all, and whole words to store, of which the bits `kept` are copied.
  bool plain = true;
  std::uint32_t kept = 0;
  float scale = 1;
  SampleLayout layout;  ///< Of two-byte samples, then.
  int sample_bytes = 1;
  TensorPhase phase[kMaxPeriod];
};

struct TensorArguments {
  Form form = Form::kTensorColumns;
  int plane_count = 0;
  int blocks = 0;        ///< Of threads; of warpgroups tiles, which fewer blocks take in turns.
  int processors = 1;    ///< Of the device.
  int march_blocks = 0;  ///< tensor_march_blocks()
  int steps = 1;         ///< Of 8 rows that a warp of an inner column takes.
  int early_steps = 1;   ///< Of these, whose rows come to the L2 cache before all else: of pairs.
  int pair_steps = 0;    ///< Of PairWindow.
  int pair_shift = 0;
  OctetWindow octets;   ///< Of octets.
  TensorTiles tiles;    ///< Of tiles.
  TensorGroups groups;  ///< Of warpgroups.
  int mask_height = 1;
  int anchor_y = 0;
  int digits = 1;
  Border border = Border::kReplicate;
  Codes codes = Codes::kGeneral;
  WideQuantiser wide_quantiser = WideQuantiser::kGeneral;  ///< Of octets.
  TensorPlane plane[kMaxPlanes];
};

/// Blocks of 8 picture rows that the kernel of the sliding form keeps in registers.
int tensor_march_blocks(int mask_height);

/// What a form of kernel tensor is to the host side. All functions work in the current context.
struct TensorLauncher {
  /// Forces the kernels that `arguments` may select to load now.
  cudaError_t (*load)(const TensorArguments& arguments);
  /// Thread blocks of them that the device holds at once; null where nobody asks.
  cudaError_t (*resident)(const TensorArguments& arguments, int* blocks);
  /// Enqueues the filter on `stream`.
  cudaError_t (*launch)(const TensorArguments& arguments, cudaStream_t stream);
};

/// The launcher of one of tensor's forms.
const TensorLauncher& tensor_launcher(Form form);

extern const TensorLauncher kTensorColumnsLauncher;
extern const TensorLauncher kTensorPairsLauncher;
extern const TensorLauncher kTensorPixelsLauncher;
extern const TensorLauncher kTensorPackedLauncher;
extern const TensorLauncher kTensorOctetsLauncher;
extern const TensorLauncher kTensorTilesLauncher;
extern const TensorLauncher kTensorWarpgroupsLauncher;

}  // namespace convolve
