// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA kernel `tensor`, as the host side sees it: the weights as 8-bit digits in operand A of
// INT8 products, the picture in operand B, all filtered planes of a frame in one launch.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/border.h"
#include "kernels/core/base/sample.h"
#include "kernels/core/base/view.h"
#include "kernels/core/plan/forms.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_tiles.h"
#include "kernels/core/shape/tensor_warpgroups.h"
#include "kernels/core/shape/tensor_windows.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// How sums become samples: the least able DigitEpilogue::Quantiser of all filtered components, as
/// a launch has one quantiser.
using Quantiser = DigitEpilogue::Quantiser;

/// How the sums of the forms tensor-octets and tensor-split-octets become samples.
enum class WideQuantiser : int {
  kGeneral,  ///< By the epilogue for any sum.
  kDouble,   ///< In double without a division, where values fit 32 bits.
  kFloat,    ///< As Quantiser::kFloat says.
  kSplit,    ///< As SplitEpilogue says.
};

/// The component that the bytes of one phase belong to.
struct TensorPhase {
  int offset = 0;  ///< Bytes from the start of a row to its first sample.
  int step = 1;    ///< Bytes from a sample to its neighbour.
  int width = 0;   ///< Samples in a row.
  int black = 0;   ///< The value of ghosts where the border is no signal.
  bool filtered = true;
  std::int32_t start = 0;  ///< DigitEpilogue::start: what sums begin with.
  float base = 0;          ///< DigitEpilogue::base.
  Epilogue general;        ///< DigitEpilogue::general.
};

/// How the ghosts beside a plane are made. Selectors are those of __byte_perm(), [0] for the left
/// side and [1] for the right.
struct TensorGhosts {
  std::uint32_t black = 0;  ///< Pairs, quads and octets: a word of ghosts without signal.
  /// Pairs, quads and octets: the four ghosts left of the picture from the first eight bytes of a
  /// row, and the four right of it from the last eight; where components are deinterleaved, from
  /// samples of one component. Packed 4:2:2: the same for luma.
  std::uint32_t near_select[2] = {};
  /// Large quads: the same for the next four ghosts, which are made from bytes 4 to 11 of a row,
  /// and from the eight bytes that end four before its end.
  std::uint32_t far_select[2] = {};
  std::uint32_t chroma_select[2] = {};  ///< Packed 4:2:2: as near_select, for chroma.
};

/// How warps or blocks cover a plane. A warp's tile is kTensorTileBytes x 8 rows; tiles below each
/// other are a tile column. Inner tile columns are those whose windows lie inside the picture, so
/// that their warps load without asking for the border; the others are edges.
struct TensorGrid {
  int tile_columns = 0;
  int first_inner_tile_column = 0;
  int inner_tile_columns = 0;
  /// 2^32 / inner_tile_columns, rounded up, which divides by them; unused where there is one.
  std::uint32_t inner_reciprocal = 0;
  std::uint32_t edge_reciprocal = 0;  ///< The same for the edges.
};

/// How the samples of a plane are stored, which the kernels ask before each store.
struct TensorStores {
  bool copies = false;  ///< Some phase is copied, not filtered.
  bool tail = false;    ///< BytePhases::tail.
  bool uniform = true;  ///< The first phase's epilogue serves all filtered phases.
  /// Rows are stored in whole words by one epilogue, which spares warps all questions about phases.
  bool plain = true;
  std::uint32_t kept = 0;  ///< Bits of a word that are copied from the source, where `plain`.
};

/// A plane, what of it is read, and how it is covered and stored.
struct TensorPlane {
  const std::uint8_t* src = nullptr;
  std::uint8_t* dst = nullptr;
  std::int64_t src_pitch = 0;
  std::int64_t dst_pitch = 0;
  int rows = 0;
  int row_bytes = 0;
  int whole_bytes = 0;  ///< Every byte of a row before this one belongs to a sample.
  /// Sliding and columns: the windows; pairs, quads and octets: what inner tile columns may read
  /// and edges load, beside their outputs.
  TensorWindow window;
  const uint4* fragments = nullptr;  ///< The weights as tensor_fragments.h has them for the form.
  /// PairWindow::deinterleaved; of octets the bytes of a pixel.
  int deinterleaved = 1;
  TensorGhosts ghosts;
  TensorGrid grid;
  bool aligned16 = true;  ///< All planes lie on 16 bytes.
  /// Warpgroups: the samples that ghosts at a tile's sides repeat lie in the same tile.
  bool ghosts_in_tile = false;
  int first_block = 0;  ///< The plane's first block in the launch.
  int edge_blocks = 0;  ///< Blocks of the edges, which come before those of inner tile columns.
  int period = 1;       ///< BytePhases::period, or the components of samples of two bytes.
  TensorStores stores;
  float scale = 1;      ///< DigitEpilogue::scale, the same for all components.
  SampleLayout layout;  ///< Of samples of two bytes.
  int sample_bytes = 1;
  TensorPhase phase[kMaxPeriod];
};

/// How many blocks a launch has, and how far their warps go.
struct TensorLaunch {
  int blocks = 0;      ///< Thread blocks; of warpgroups tiles, which fewer blocks take in turns.
  int processors = 1;  ///< Multiprocessors of the device.
  int sliding_blocks = 0;  ///< Sliding: tensor_sliding_blocks().
  int steps = 1;           ///< Tiles of 8 rows that a warp of an inner tile column filters.
  /// Pairs, quads and octets: steps whose rows a warp prefetches to the L2 cache before all else.
  int prefetched_steps = 1;
};

/// The window of pairs, which is the same in all planes.
struct TensorPairs {
  int row_groups = 0;  ///< PairWindow::row_groups
  int shift = 0;       ///< PairWindow::shift
};

struct TensorArguments {
  Form form = Form::kTensorColumns;
  int plane_count = 0;
  TensorLaunch launch;
  TensorPairs pairs;            ///< Read by pairs only,
  OctetWindow octets;           ///< by octets only,
  TensorTiles tiles;            ///< by tiles only,
  TensorWarpgroups warpgroups;  ///< and by warpgroups only.
  int mask_height = 1;
  int anchor_y = 0;
  int digits = 1;  ///< Of the weights.
  Border border = Border::kReplicate;
  Quantiser quantiser = Quantiser::kGeneral;
  WideQuantiser wide_quantiser = WideQuantiser::kGeneral;  ///< Of octets, in place of `quantiser`.
  TensorPlane plane[kMaxPlanes];
};

/// Blocks of 8 picture rows that a warp of tensor-sliding keeps in registers for a mask of this
/// height: 2 or 3.
int tensor_sliding_blocks(int mask_height);

/// What the host side knows of a form. All functions work in the current context.
struct TensorLauncher {
  /// Forces the kernels that `arguments` may select to load now.
  cudaError_t (*load)(const TensorArguments& arguments);
  /// How many thread blocks of its kernel the device holds at once; null for forms whose launches
  /// do not depend on it.
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
extern const TensorLauncher kTensorSplitOctetsLauncher;
extern const TensorLauncher kTensorTilesLauncher;
extern const TensorLauncher kTensorWarpgroupsLauncher;

}  // namespace convolve
