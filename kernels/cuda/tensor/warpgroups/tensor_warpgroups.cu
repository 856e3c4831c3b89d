// SPDX-License-Identifier: LGPL-2.1-or-later
// Forms tensor-warpgroups and tensor-split-warpgroups, for compute capability 9.0: products of
// warpgroups (wgmma) with both operands in shared memory. They serve 8-bit and 16-bit samples that
// lie side by side, and packed 4:2:2, with masks whose weights and two tiles fit shared memory. A
// product makes 4 rows x 16 adjacent samples in each of the 16 row groups and 8 blocks of a tile.
//
// Operand A is a Toeplitz matrix, the same for all tiles: its 64 rows hold the mask as four rows of
// 16 outputs multiply a picture row. Operand B is the tile as it is: the column of block n in a row
// group is the 32 samples from the block's first window sample on, so that core matrices overlap,
// and one pass over K + 3 picture rows of a mask of K rows makes all outputs. The tensor cores load
// operands by themselves: no instruction aligns or moves a sample. Of the sums warp w of the
// warpgroup holds row w of each row group, and its lane l outputs 2 (l / 4), 2 (l / 4) + 1 of
// blocks 2 (l % 4) and 2 (l % 4) + 1 there.
//
// A block stays for as long as there are tiles, one block to a processor, and its warps specialise:
// producers load tiles into stages, consumers take turns in multiplying a tile and storing it.
// Consumers make the ghosts at the sides out of the tile where they can (tensor_ghosts.cuh), since
// producers that load single bytes would hold up all tiles behind.
//
// What binds: for small masks the loads and stores of tiles, which the other consumers and the next
// stages hide; for large ones the products. Compiled for sm_90a alone.
#include <algorithm>

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/warpgroups/tensor_ghosts.cuh"
#include "kernels/cuda/tensor/warpgroups/tensor_packed_tile.cuh"
#include "kernels/cuda/tensor/warpgroups/tensor_warpgroup_products.cuh"
#include "kernels/cuda/tensor/warpgroups/tensor_warpgroup_store.cuh"

namespace convolve {
namespace {

constexpr unsigned kPackedKinds = 1u << kPackedKind;

/// The warpgroups of a block. With more consumers each other's waits are hidden, as far as there
/// are registers: one component took 12.9 us with four and 14.4 with three (9x9, 4K, H100). Split
/// sums take twice the registers.
struct Roles {
  int producers, consumers;

  CONVOLVE_HD constexpr int warps() const { return kWarps * (producers + consumers); }
};
CONVOLVE_HD constexpr Roles roles(unsigned kinds, bool split) {
  return split                             ? Roles{1, 2}
         : kinds == 0b1                    ? Roles{1, 4}
         : warpgroup_producers(kinds) == 2 ? Roles{2, 2}
                                           : Roles{1, 3};
}

/// The barriers of a block, which stand in shared memory behind the stages and the weights.
struct Barriers {
  Barrier weights;                     ///< The weights have come.
  Barrier full[kMostWarpgroupStages];  ///< A stage has been filled.
  Barrier free[kMostWarpgroupStages];  ///< A stage may be filled again.
};
static_assert(sizeof(Barriers) <= kWarpgroupBarrierBytes, "there is no room for them");

/// The next tile of a producer or consumer, and its stage: tiles of a block go through the stages
/// one after the other, in a circular buffer.
struct PipelineState {
  int tile;
  int stage;
  unsigned parity = 0;  ///< Parity of the phase that the stage's barriers are in.

  __device__ __forceinline__ void advance(int count, int stages) {
    tile += count * static_cast<int>(gridDim.x);
    stage += count;
    while (stage >= stages) {
      stage -= stages;
      parity ^= 1;
    }
  }
};

/// The plane of a tile; `tile` becomes its number within the plane. Where there is one plane only,
/// the compiler knows the addresses of what is read of it.
template <bool kOnePlane>
__device__ __forceinline__ const TensorPlane& plane_of_tile(const TensorArguments& a, int& tile) {
  if (kOnePlane) return a.plane[0];
  const TensorPlane& plane = plane_of_block(a, tile);
  tile -= plane.first_block;
  return plane;
}

/// Tiles of a block that are prefetched to the L2 cache before the launch before is over. With six
/// the processor waits to ask (15.6 us for 11.1; 9x9, 4K, H100).
constexpr int kPrefetched = 2;

/// The number of a thread within its warpgroup.
__device__ __forceinline__ int thread_of_warpgroup() {
  return static_cast<int>(threadIdx.x + 32 * (threadIdx.y % kWarps));
}

/// Where the outputs of tile number `tile` of a plane begin.
__device__ __forceinline__ TileOrigin origin_of(const TensorPlane& plane, int tile) {
  const int row =
      static_cast<int>(plane.grid.tile_columns == 1
                           ? tile
                           : __umulhi(static_cast<unsigned>(tile), plane.grid.inner_reciprocal));
  return {(tile - row * plane.grid.tile_columns) * kTensorTileBytes, row * kWarpgroupTileRows};
}

/// Prefetches a tile to the L2 cache, as far as it lies inside the picture; all threads of a
/// warpgroup take part.
__device__ __forceinline__ void prefetch_tile(const TensorPlane& plane, const TensorTile& tile,
                                              HaloOrigin at) {
  const int planes = plane.period * plane.sample_bytes;
  const int begin = max(at.x, 0) * planes & ~15;
  const int end = min((at.x + kChunk * tile.chunks) * planes, plane.row_bytes) & ~15;
  if (begin >= end) return;
#pragma unroll 1
  for (int r = thread_of_warpgroup(); r < tile.rows; r += 32 * kWarps) {
    const int row = at.y + r;
    if (row >= 0 && row < plane.rows)
      prefetch_l2(plane.src + row * plane.src_pitch + begin, end - begin);
  }
}

/// Bytes of a sample of planes of these kinds.
CONVOLVE_HD constexpr int sample_bytes(unsigned kinds) {
  return kinds >= 0b10000 && kinds != kPackedKinds ? 2 : 1;
}

/// Calls work(components) for a plane of one of `kKinds`: the type of `components` holds the number
/// of its components.
template <unsigned kKinds, class Work>
__device__ __forceinline__ void with_kind(const TensorPlane& plane, const Work& work) {
  constexpr int kMost = kKinds == 0b100 ? 3 : kKinds == 0b1000 ? 4 : 2;
  constexpr bool kOne = kKinds == 0b1 || kKinds == 0b11 || kKinds == 0b10000 || kKinds == 0b110000;
  constexpr bool kAlwaysOne = kKinds == 0b1 || kKinds == 0b10000;
  if (kAlwaysOne || (kOne && plane.period == 1))
    work(Constant<1>{});
  else if constexpr (!kAlwaysOne)
    work(Constant<kMost>{});
}

/// Makes a tile that has come, and begins at column x, ready for products: its ghosts, and the
/// order of memory between threads and tensor cores.
template <unsigned kKinds>
__device__ __forceinline__ void complete_tile(const TensorArguments& a, const TensorPlane& plane,
                                              int x, std::uint8_t* samples) {
  bool ghosts = false;
  if constexpr (kKinds == kPackedKinds) {
    ghosts = has_packed_ghosts(plane, a.warpgroups.tile, x);
    if (ghosts) make_packed_ghosts(a, plane, a.warpgroups.tile, x, samples, thread_of_warpgroup());
  } else {
    with_kind<kKinds>(plane, [&](auto components) {
      constexpr int kComponents = decltype(components)::value, kBytes = sample_bytes(kKinds);
      const TensorTile& tile = a.warpgroups.tile;
      const int width = plane.row_bytes / (kComponents * kBytes);
      ghosts = plane.ghosts_in_tile && (x < 0 || x + kChunk * tile.chunks > width);
      if (ghosts)
        make_ghosts<kComponents, kBytes>(a, plane, tile, x, samples, thread_of_warpgroup());
    });
  }
  publish_to_products();
  if (ghosts) sync_warps(1 + static_cast<int>(threadIdx.y) / kWarps, kWarps);
}

/// Filters component k of a tile. After its last component all threads arrive at `free`, so that
/// the stage may be filled again.
template <unsigned kKinds, Quantiser kQuantiser, bool kSplit>
__device__ __forceinline__ void filter_component(const TensorArguments& a, const TensorPlane& plane,
                                                 int tile, int k, unsigned weights,
                                                 std::uint8_t* samples, Barrier& free) {
  constexpr int kBytes = sample_bytes(kKinds);
  constexpr bool kAlwaysOne = kKinds == 0b1 || kKinds == 0b10000;
  constexpr bool kPacked = kKinds == kPackedKinds;
  const TensorPhase& phase = plane.phase[kPacked ? packed_phase(plane, k) : k];
  const TensorTile& shape = a.warpgroups.tile;
  const TileOrigin origin = origin_of(plane, tile);
  const int row = threadIdx.y % kWarps;
  const int column = kWarpgroupUnit * (threadIdx.x / 4) + 4 * (threadIdx.x % 4);
  const int plane_bytes = shape.rows * shape.pitch;
  const PackedLayout packed(shape, k);
  const int offset = kPacked ? packed.offset : k * kBytes * plane_bytes;
  const int pitch = kPacked ? packed.pitch : shape.pitch;
  std::uint8_t* const own = samples + row * pitch + column;
  if (kBytes == 2 || phase.filtered) {
    int sum[kTileRowGroups][4];
    const unsigned own_samples = static_cast<unsigned>(__cvta_generic_to_shared(samples)) + offset;
    if constexpr (kSplit)
      multiply_split(a, plane.scale, phase.base, weights, own_samples, sum);
    else
      multiply_tile<kBytes>(a, phase.start, weights, own_samples, pitch, sum);
    if (!kPacked && (kAlwaysOne || plane.period == 1)) {
      const OutputRows<kBytes> out(plane, origin, column, row);
      if (out.whole) {
        if (threadIdx.x == 0) free.arrive(32);
        quantise_to_picture<kQuantiser, kSplit>(plane, out, sum);
        return;
      }
    }
    // All four warps' products must have read the tile before samples overwrite it.
    sync_warps(1 + static_cast<int>(threadIdx.y) / kWarps, kWarps);
    quantise_to_tile<kQuantiser, kSplit, kBytes>(plane, phase, own + offset, plane_bytes,
                                                 kWarpgroupOutputRows * pitch, sum);
  }
  if (k + 1 < plane.period) return;
  if constexpr (kPacked) {
    // A lane stores luma that other lanes of its warp have kept.
    __syncwarp();
    store_packed(a, plane, origin, samples);
  } else {
    with_kind<kKinds>(plane, [&](auto components) {
      constexpr int kComponents = decltype(components)::value;
      store_components<kBytes, kComponents>(
          a, plane, OutputRows<kComponents * kBytes>(plane, origin, column, row), own);
    });
  }
  free.arrive();
}

/// Starts filling the tile of a stage. All threads of a producer take part.
template <unsigned kKinds>
__device__ __forceinline__ void fill_stage(const TensorArguments& a, const TensorPlane& plane,
                                           HaloOrigin at, std::uint8_t* memory) {
  const TensorTile& tile = a.warpgroups.tile;
  if constexpr (kKinds == kPackedKinds) {
    fill_packed(a, plane, tile, at, memory, thread_of_warpgroup());
  } else {
    with_kind<kKinds>(plane, [&](auto components) {
      constexpr int kComponents = decltype(components)::value, kBytes = sample_bytes(kKinds);
      if (plane.ghosts_in_tile)
        fill_inner<kComponents, kBytes>(a, plane, tile, at, memory, thread_of_warpgroup());
      else
        fill_tile<kComponents, kBytes, true>(a, plane, tile, at, memory, thread_of_warpgroup());
    });
  }
}

/// kKinds: TensorWarpgroups::kinds. kQuantiser is a parameter, and no branch, because the first
/// tiles of a block also wait for the instructions of the kernel to be loaded: the fewer the
/// better.
template <unsigned kKinds, bool kOnePlane, Quantiser kQuantiser, bool kSplit = false>
__global__ void __launch_bounds__(32 * roles(kKinds, kSplit).warps(), 1)
    tensor_warpgroups_kernel(const __grid_constant__ TensorArguments a) {
  constexpr Roles kRoles = roles(kKinds, kSplit);
  extern __shared__ __align__(128) std::uint8_t memory[];
  const TensorWarpgroups& warpgroups = a.warpgroups;
  constexpr bool kPacked = kKinds == kPackedKinds;
  std::uint8_t* const weights = memory + warpgroups.stages * warpgroups.stage_bytes;
  std::uint8_t* const tiles = memory + (kPacked ? warpgroups.lead : 0);
  Barriers& barriers = *reinterpret_cast<Barriers*>(weights + warpgroups.weight_bytes);

  admit_next_launch();
  if (threadIdx.x + threadIdx.y == 0) {
    barriers.weights.initialise(1);
    for (int i = 0; i < warpgroups.stages; ++i) {
      // Full: each thread of a producer arrives when what it copies has come, and each warp with
      // what it has stored. Free: each thread of a consumer arrives, or one for its warp.
      barriers.full[i].initialise(32 * kWarps + kWarps);
      barriers.free[i].initialise(32 * kWarps);
    }
    publish_to_products();
    barriers.weights.arrive_with(weights, a.plane[0].fragments,
                                 static_cast<unsigned>(warpgroups.weight_bytes));
  }
  __syncthreads();
  // The role is taken from one lane, so that the compiler knows it to be the same in all of them.
  const int role = __shfl_sync(~0u, static_cast<int>(threadIdx.y) / kWarps, 0);
  PipelineState state{static_cast<int>(blockIdx.x), 0};
  if (role < kRoles.producers) {
    state.advance(role, warpgroups.stages);
    for (int i = role; i < kPrefetched; i += kRoles.producers) {
      int tile = static_cast<int>(blockIdx.x + i * gridDim.x);
      if (tile >= a.launch.blocks) break;
      const TensorPlane& plane = plane_of_tile<kOnePlane>(a, tile);
      if (plane.aligned16)
        prefetch_tile(plane, warpgroups.tile, origin_of(plane, tile).with_halo(a));
    }
    await_previous_launch();
    for (int n = role; state.tile < a.launch.blocks; n += kRoles.producers) {
      if (n >= warpgroups.stages) barriers.free[state.stage].wait(state.parity ^ 1);
      int tile = state.tile;
      const TensorPlane& plane = plane_of_tile<kOnePlane>(a, tile);
      fill_stage<kKinds>(a, plane, origin_of(plane, tile).with_halo(a),
                         tiles + state.stage * warpgroups.stage_bytes);
      barriers.full[state.stage].arrive_with_copies();
      __syncwarp();
      if (threadIdx.x == 0) barriers.full[state.stage].arrive();
      state.advance(kRoles.producers, warpgroups.stages);
    }
    wait_for_copies();
    return;
  }

  const int consumer = role - kRoles.producers;
  // A barrier tells two adjacent phases of a stage apart, not three, so there may be no more
  // consumers than stages.
  const int consumers = min(kRoles.consumers, warpgroups.stages);
  if (consumer >= consumers) return;
  barriers.weights.wait(0);
  const unsigned weights_at = static_cast<unsigned>(__cvta_generic_to_shared(weights));
  state.advance(consumer, warpgroups.stages);
  for (int k = 0; state.tile < a.launch.blocks;) {
    if (k == 0) {
      barriers.full[state.stage].wait(state.parity);
    }
    int tile = state.tile;
    const TensorPlane& plane = plane_of_tile<kOnePlane>(a, tile);
    if (k == 0)
      complete_tile<kKinds>(a, plane, origin_of(plane, tile).with_halo(a).x,
                            tiles + state.stage * warpgroups.stage_bytes);
    filter_component<kKinds, kQuantiser, kSplit>(a, plane, tile, k, weights_at,
                                                 tiles + state.stage * warpgroups.stage_bytes,
                                                 barriers.free[state.stage]);
    if (++k < plane.period) continue;
    k = 0;
    state.advance(consumers, warpgroups.stages);
  }
}

template <Quantiser kQuantiser>
TensorKernel select_kinds(const TensorArguments& a) {
  const bool one = a.warpgroups.one_plane;
  switch (a.warpgroups.kinds) {
    case 0b1:
      return one ? tensor_warpgroups_kernel<0b1, true, kQuantiser>
                 : tensor_warpgroups_kernel<0b1, false, kQuantiser>;
    case 0b100:
      return tensor_warpgroups_kernel<0b100, true, kQuantiser>;
    case 0b1000:
      return tensor_warpgroups_kernel<0b1000, true, kQuantiser>;
    case kPackedKinds:
      return tensor_warpgroups_kernel<kPackedKinds, true, kQuantiser>;
    case 0b10000:
      return one ? tensor_warpgroups_kernel<0b10000, true, kQuantiser>
                 : tensor_warpgroups_kernel<0b10000, false, kQuantiser>;
    case 0b100000:
    case 0b110000:
      return tensor_warpgroups_kernel<0b110000, false, kQuantiser>;
    default:
      return tensor_warpgroups_kernel<0b11, false, kQuantiser>;
  }
}

/// The kernel of split sums.
TensorKernel select_split(const TensorArguments& a) {
  if (a.warpgroups.kinds != 0b10000)
    return tensor_warpgroups_kernel<0b110000, false, Quantiser::kGeneral, true>;
  return a.warpgroups.one_plane
             ? tensor_warpgroups_kernel<0b10000, true, Quantiser::kGeneral, true>
             : tensor_warpgroups_kernel<0b10000, false, Quantiser::kGeneral, true>;
}

TensorKernel select_kernel(const TensorArguments& a, Quantiser quantiser) {
  if (a.form == Form::kTensorSplitWarpgroups) return select_split(a);
  return with_quantiser(quantiser, [&](auto of) { return select_kinds<decltype(of)::value>(a); });
}

std::size_t shared_bytes(const TensorArguments& a) {
  return a.warpgroups.bytes;
}

/// Enqueues one block for each processor, which stays until all tiles are filtered.
cudaError_t launch(const TensorArguments& arguments, cudaStream_t stream) {
  const bool split = arguments.form == Form::kTensorSplitWarpgroups;
  const int blocks = std::min(arguments.launch.blocks, arguments.launch.processors);
  return launch_overlapping(
      select_kernel(arguments, arguments.quantiser), dim3(static_cast<unsigned>(blocks)),
      dim3(32, static_cast<unsigned>(roles(arguments.warpgroups.kinds, split).warps())),
      arguments.warpgroups.bytes, stream, arguments);
}

}  // namespace

const TensorLauncher kTensorWarpgroupsLauncher = {load_quantisers<select_kernel, shared_bytes>,
                                                  nullptr, launch};

}  // namespace convolve
