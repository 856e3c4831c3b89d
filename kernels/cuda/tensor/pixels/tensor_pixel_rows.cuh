// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of pixels of three or four bytes in the shared memory of tensor_pixels.cu: from the picture
// into a warp's ring buffer, from there deinterleaved into words of one component, and samples back
// into the picture.
#pragma once

#include "kernels/cuda/device/copy_async.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"
#include "kernels/cuda/tensor/tile/tensor_tile.cuh"

namespace convolve {
namespace {

constexpr int kFiltered =
    3;  ///< Filtered components of a pixel, whether it has three bytes or four.
constexpr int kPixelStages = 4;    ///< Stages of eight rows: two that a step reads, two in flight.
constexpr int kVectorLength = 16;  ///< Bytes that a lane loads or stores at once.

/// A warp's shared memory: a ring buffer of picture rows, and the samples of a step.
template <int kPixelBytes>
struct PixelRing {
  static constexpr int kColumnBytes = 8 * kPixelBytes;
  static constexpr int kTileBytes = kColumns * kColumnBytes;
  static_assert(kTileBytes == kPixelTileWidth * kPixelBytes, "the host counts on another tile");
  static constexpr int kVectors = kTileBytes / kVectorLength;  ///< In a row of samples.
  /// Bytes of a row of the ring, with a vector of halo on either side. No two lanes that load at
  /// once meet in a bank: of three bytes because of this pitch, of four because the rows of a row
  /// group begin 0, 41, 20 and 61 vectors behind its beginning.
  static constexpr int kPitch = kTileBytes + 2 * kVectorLength;
  static constexpr int kRowGroupBytes =
      kPixelBytes == 3 ? kRowGroupRows * kPitch : 80 * kVectorLength;
  static constexpr int kStageBytes = 2 * kRowGroupBytes;

  std::uint8_t rows[kPixelStages * kStageBytes];
  std::uint8_t samples[kRows * kTileBytes];

  /// Bytes from the beginning of a stage to row r in it.
  static __device__ __forceinline__ int row_offset(int r) {
    const int row_group = r / kRowGroupRows, own = r % kRowGroupRows;
    return row_group * kRowGroupBytes +
           (kPixelBytes == 3 ? own * kPitch
                             : own % 2 * 41 * kVectorLength + own / 2 * 20 * kVectorLength);
  }

  /// Vector n of a row of samples. Of four bytes the vectors of a row are permuted, so that no two
  /// lanes meet in a bank here, either.
  __device__ __forceinline__ uint4* vector(int row, int n) {
    if constexpr (kPixelBytes == 4) n ^= n / 8 ^ row % 2 * 6;
    return reinterpret_cast<uint4*>(samples + row * kTileBytes) + n;
  }

  /// Keeps the samples of a column of a row, of which word(n) is word n.
  template <class Word>
  __device__ __forceinline__ void keep(int row, int column, const Word& word) {
    if constexpr (kPixelBytes == 3) {
      auto* const to = reinterpret_cast<uint2*>(samples + row * kTileBytes + kColumnBytes * column);
#pragma unroll
      for (int i = 0; i < kPixelBytes; ++i)
        to[i] = make_uint2(word(2 * i), word(2 * i + 1));
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        *vector(row, 2 * column + i) =
            make_uint4(word(4 * i), word(4 * i + 1), word(4 * i + 2), word(4 * i + 3));
    }
  }
};

/// Loads a warp's picture rows into its ring, stage by stage. Half a warp loads a row, so that
/// neighbouring lanes ask for neighbouring vectors: the number of requests to the L2 cache counts,
/// not the bytes alone.
template <int kPixelBytes>
class PixelRows {
  using Ring = PixelRing<kPixelBytes>;
  static constexpr int kLanes = 16;  ///< Lanes to a row.
  /// Of three bytes the lanes of a row load its halo, too; of four the vectors of the halo are
  /// loaded apart.
  static constexpr int kLead = kPixelBytes == 3 ? kVectorLength : 0;

 public:
  /// The outputs start at byte x, and read `count` rows from y on, a multiple of 4.
  __device__ PixelRows(const TensorArguments& a, const TensorPlane& plane, int x, int y, int count)
      : a_(a), plane_(plane), y_(y), left_(count) {
    const int lane = threadIdx.x, own = lane / kLanes;
    const int at = kVectorLength * (lane % kLanes) - kLead;
    const int side = lane % 2 == 0 ? -kVectorLength : Ring::kTileBytes;
    const auto room = [&](int from) {
      return x + from < 0 ? 0 : min(max(plane.row_bytes - x - from, 0), kVectorLength);
    };
    room_ = at <= Ring::kTileBytes ? room(at) : 0;
    side_room_ = kPixelBytes == 4 ? room(side) : 0;
    // Only the last vector of a row may be less than whole.
    whole_ = plane.row_bytes % kVectorLength == 0 ||
             x + Ring::kTileBytes + kVectorLength <= plane.row_bytes;
    to_ = Ring::row_offset(own) + kVectorLength + at;
    side_to_ = Ring::row_offset(lane / 2 % kRows) + kVectorLength + side;
    at_ = x + at;
    side_at_ = x + side;
    from_ = plane.src + (y + own) * plane.src_pitch + at_;
  }

  /// Starts copying the next stage to `stage`; all lanes must be done with what was there.
  __device__ __forceinline__ void start(std::uint8_t* stage) {
    const std::int64_t pitch = plane_.src_pitch;
    if (left_ > 0) {
      if (whole_ && y_ >= 0 && y_ + kRows <= plane_.rows) {
        if (room_ > 0) {
#pragma unroll
          for (int r = 0; r < kRows; r += 2)
            copy_16_async(stage + to_ + Ring::row_offset(r), from_ + r * pitch);
        }
        if constexpr (kPixelBytes == 4) {
          const int lane = threadIdx.x;
          if (lane < 2 * kRows && side_room_ > 0)
            copy_16_async(stage + side_to_, plane_.src + (y_ + lane / 2) * pitch + side_at_);
        }
      } else {
        start_edge(stage);
      }
    }
    end_stage();
    y_ += kRows;
    left_ -= kRows;
    from_ += kRows * pitch;
  }

 private:
  /// Copies a vector of picture row y, which may be a ghost. Out of line: instructions that nearly
  /// all warps skip would make them wait for those that follow.
  __device__ __noinline__ static void copy_edge(const TensorArguments& a, const TensorPlane& plane,
                                                int y, int at, int room, std::uint8_t* to) {
    const int row = border_index(a.border, y, plane.rows);
    const unsigned black = plane.ghosts.black;
    if (row == kNoSignal)
      *reinterpret_cast<uint4*>(to) = make_uint4(black, black, black, black);
    else
      copy_16_async(to, plane.src + row * plane.src_pitch + at, room);
  }

  /// Copies a stage of which some rows are ghosts, or the last vector is not whole.
  __device__ __forceinline__ void start_edge(std::uint8_t* stage) const {
    const int lane = threadIdx.x;
#pragma unroll 1
    for (int r = 0; r < kRows; r += 2)
      if (room_ > 0)
        copy_edge(a_, plane_, y_ + r + lane / kLanes, at_, room_,
                  stage + to_ + Ring::row_offset(r));
    if (lane < 2 * kRows && side_room_ > 0)
      copy_edge(a_, plane_, y_ + lane / 2, side_at_, side_room_, stage + side_to_);
  }

  const TensorArguments& a_;
  const TensorPlane& plane_;
  int y_, left_;
  int room_, side_room_;
  int to_, side_to_, at_, side_at_;
  const std::uint8_t* from_;
  bool whole_;
};

/// Makes the ghosts at the sides of a warp's tile, four pixels each: in each row of a stage a lane
/// makes one on either side. Which pixel that repeats is computed once for all rows: when warps at
/// the edges computed it row by row, they held up the whole launch (BGR 4K 5x5 32.4 us for 26.7 on
/// an H100).
template <int kPixelBytes>
class PixelGhosts {
  using Ring = PixelRing<kPixelBytes>;

 public:
  /// The outputs start at byte x.
  __device__ PixelGhosts(const TensorArguments& a, const TensorPlane& plane, int x)
      : a_(a), plane_(plane) {
    any_ = x == 0 || x + Ring::kTileBytes + kVectorLength > plane.row_bytes;
    if (!any_) return;
    const int t = threadIdx.x % 4, width = plane.row_bytes / kPixelBytes;
    if (x == 0) find(-1 - t, x, width, 0);
    if (x + Ring::kTileBytes + kVectorLength > plane.row_bytes) find(width + t, x, width, 1);
  }

  /// True if the tile has ghosts at its sides.
  __device__ bool any() const { return any_; }

  /// Makes the ghosts of a stage whose first row is y.
  __device__ __forceinline__ void make(int y, std::uint8_t* stage) const {
    const int r = threadIdx.x / 4;
    std::uint8_t* const row = stage + Ring::row_offset(r);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      if (to_[side] < 0) continue;
      std::uint8_t pixel[kPixelBytes];
      if (from_[side] >= 0) {
#pragma unroll
        for (int b = 0; b < kPixelBytes; ++b)
          pixel[b] = row[from_[side] + b];
      } else {
        const int own = border_index(a_.border, y + r, plane_.rows);
        const bool black = sample_[side] == kNoSignal || own == kNoSignal;
#pragma unroll
        for (int b = 0; b < kPixelBytes; ++b)
          pixel[b] =
              black ? static_cast<std::uint8_t>(plane_.ghosts.black)
                    : __ldg(plane_.src + own * plane_.src_pitch + kPixelBytes * sample_[side] + b);
      }
#pragma unroll
      for (int b = 0; b < kPixelBytes; ++b)
        row[to_[side] + b] = pixel[b];
    }
  }

 private:
  /// Finds where ghost `pixel` lies, and which pixel it repeats.
  __device__ __forceinline__ void find(int pixel, int x, int width, int side) {
    constexpr int kEnd = Ring::kTileBytes + 2 * kVectorLength;
    const int to = kPixelBytes * pixel - x + kVectorLength;
    if (to + kPixelBytes > kEnd) return;
    to_[side] = to;
    sample_[side] = border_index(a_.border, pixel, width);
    const int from = kPixelBytes * sample_[side] - x + kVectorLength;
    if (sample_[side] != kNoSignal && from >= 0 && from + kPixelBytes <= kEnd) from_[side] = from;
  }

  const TensorArguments& a_;
  const TensorPlane& plane_;
  bool any_;
  int to_[2] = {-1, -1};      ///< Where the ghost lies in a row of the ring; -1: there is none.
  int from_[2] = {-1, -1};    ///< Where the pixel that it repeats lies there; -1: not in the ring.
  int sample_[2] = {-1, -1};  ///< The number of that pixel; kNoSignal: there is none.
};

/// Words n of three components of sixteen pixels of four bytes, of which the first is byte `first`
/// of a pixel.
__device__ __forceinline__ void deinterleave_four(const unsigned (&pixels)[16], int n, int first,
                                                  unsigned (&words)[kFiltered]) {
  const unsigned both = 0x5140 + 0x1111 * first, last = 0x0062 + 0x0011 * first;
  const unsigned low = __byte_perm(pixels[4 * n], pixels[4 * n + 1], both);
  const unsigned high = __byte_perm(pixels[4 * n + 2], pixels[4 * n + 3], both);
  words[0] = __byte_perm(low, high, 0x5410);
  words[1] = __byte_perm(low, high, 0x7632);
  words[2] = __byte_perm(__byte_perm(pixels[4 * n], pixels[4 * n + 1], last),
                         __byte_perm(pixels[4 * n + 2], pixels[4 * n + 3], last), 0x5410);
}

/// What a lane's column reads in its row of a row group, from `from` on, deinterleaved: four words
/// of each filtered component, of which the first is byte `first` of a pixel.
template <int kPixelBytes>
__device__ __forceinline__ void deinterleave_pixels(const std::uint8_t* from, int first,
                                                    unsigned (&words)[kFiltered][4]) {
  Chunk<kPixelBytes> pixels;
  if constexpr (kPixelBytes == 3) {
    // The first four bytes of the vector on the left are not read by any output.
    unsigned all[14];
#pragma unroll
    for (int i = 0; i < 7; ++i) {
      const uint2 two = reinterpret_cast<const uint2*>(from)[i];
      all[2 * i] = two.x;
      all[2 * i + 1] = two.y;
    }
#pragma unroll
    for (int i = 0; i < 12; ++i)
      pixels.words[i] = all[1 + i];
#pragma unroll
    for (int c = 0; c < kFiltered; ++c)
#pragma unroll
      for (int n = 0; n < 4; ++n)
        words[c][n] = pixels.plane(c, n);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      reinterpret_cast<uint4*>(pixels.words)[i] = reinterpret_cast<const uint4*>(from)[i];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      unsigned components[kFiltered];
      deinterleave_four(pixels.words, n, first, components);
#pragma unroll
      for (int c = 0; c < kFiltered; ++c)
        words[c][n] = components[c];
    }
  }
}

/// Prefetches the columns of a tile to the L2 cache, `count` rows from y on.
template <int kPixelBytes>
__device__ __forceinline__ void prefetch_pixels(const TensorPlane& plane, int x, int y, int count) {
  const int lane = threadIdx.x, at = x + kSectorBytes * (lane % 8);
  if (lane % 8 >= PixelRing<kPixelBytes>::kTileBytes / kSectorBytes || at >= plane.row_bytes)
    return;
  const int end = min(y + count, plane.rows);
#pragma unroll 1
  for (int row = max(y, 0) + lane / 8; row < end; row += 4)
    prefetch_l2(plane.src + row * plane.src_pitch + at);
}

/// Stores the first `bytes` of a vector. Out of line, as PixelRows::copy_edge() is.
__device__ __noinline__ void store_some(std::uint8_t* to, int bytes, uint4 vector) {
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int b = 0; b < kVectorLength; ++b)
    if (b < bytes) to[b] = static_cast<std::uint8_t>(words[b / 4] >> (8 * (b % 4)));
}

/// Stores the samples that a warp keeps in its ring in the picture, half a warp to a row.
template <int kPixelBytes>
class PixelOutput {
  using Ring = PixelRing<kPixelBytes>;
  static constexpr int kLanes = 16, kRounds = kRows / 2;

 public:
  /// The outputs start at byte x of row y.
  __device__ PixelOutput(const TensorArguments& a, const TensorPlane& plane, Ring& ring, int x,
                         int y)
      : plane_(plane), kept_(plane.stores.kept), row_(y + threadIdx.x / kLanes) {
    // Lanes beyond the last vector of a row load it like that vector's own lane, and store nothing.
    const int mine = threadIdx.x % kLanes, own = threadIdx.x / kLanes;
    const int vector = min(mine, Ring::kVectors - 1);
    room_ = mine == vector ? plane.row_bytes - x - kVectorLength * vector : 0;
    whole_ = x + Ring::kTileBytes <= plane.row_bytes;
    to_ = plane.dst + row_ * plane.dst_pitch + x + kVectorLength * vector;
    samples_ = ring.vector(own, vector);
    if constexpr (kPixelBytes == 4) {
#pragma unroll
      for (int i = 0; i < kRounds; ++i) {
        const int r = a.anchor_y + 2 * i + own;
        far_ |= (r >= kRows) << i;
        source_[i] = Ring::row_offset(r % kRows) + kVectorLength * (1 + vector);
      }
    }
  }

  /// Stores the samples of a step that read the stages `near` and `far`, from which copied bytes
  /// are taken.
  __device__ __forceinline__ void store(const Ring& ring, int near, int far) {
    uint4 vectors[kRounds];
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      vectors[i] = samples_[2 * i * Ring::kVectors];
      if constexpr (kPixelBytes == 4) {
        const uint4 own = *reinterpret_cast<const uint4*>(
            ring.rows + ((far_ >> i & 1) != 0 ? far : near) + source_[i]);
        vectors[i].x = (vectors[i].x & ~kept_) | (own.x & kept_);
        vectors[i].y = (vectors[i].y & ~kept_) | (own.y & kept_);
        vectors[i].z = (vectors[i].z & ~kept_) | (own.z & kept_);
        vectors[i].w = (vectors[i].w & ~kept_) | (own.w & kept_);
      }
    }
    const std::int64_t pitch = plane_.dst_pitch;
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      if (room_ > 0 && row_ + 2 * i < plane_.rows) {
        if (whole_)
          *reinterpret_cast<uint4*>(to_ + 2 * i * pitch) = vectors[i];
        else
          store_some(to_ + 2 * i * pitch, room_, vectors[i]);
      }
    }
    row_ += kRows;
    to_ += kRows * pitch;
  }

 private:
  const TensorPlane& plane_;
  unsigned kept_;
  int row_, room_;
  bool whole_;
  std::uint8_t* to_;
  const uint4* samples_;
  int source_[kRounds] = {};
  unsigned far_ = 0;
};

}  // namespace
}  // namespace convolve
