// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/host_copy.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/core/base/thread_pool.h"

namespace convolve {
namespace {

/// One thread brings some 10 GB/s to page-locked memory that the GPU reads, eight of them, on as
/// many cores with 16 threads, 42 GB/s: the memory is busy with both then.
constexpr int kThreads = 8;
/// What a thread takes at a time: some 20 us of work, as much as it takes to wake a thread.
constexpr std::size_t kBandBytes = std::size_t{192} << 10;
/// Shorter rows are not worth the parts of cache lines at both their ends.
constexpr std::size_t kLeastStreamed = 1024;
/// The bytes of a cache line of the host, which streaming stores fill as a whole.
constexpr std::size_t kLine = 64;

/// As memcpy, but what is written does not enter the caches: a line that the GPU has read, or is
/// about to read, would have to come back from there first.
void stream_copy(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
#ifdef __SSE2__
  if (bytes >= kLeastStreamed) {
    const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
    std::memcpy(to, from, head);
    std::size_t i = head;
    for (; i + kLine <= bytes; i += kLine) {
      const auto* const source = reinterpret_cast<const __m128i*>(from + i);
      auto* const line = reinterpret_cast<__m128i*>(to + i);
      const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(line, a);
      _mm_stream_si128(line + 1, b);
      _mm_stream_si128(line + 2, c);
      _mm_stream_si128(line + 3, d);
    }
    std::memcpy(to + i, from + i, bytes - i);
    _mm_sfence();
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

int rows_of_band(const HostRows& rows) {
  return std::max(1, static_cast<int>(kBandBytes / static_cast<std::size_t>(rows.row_bytes)));
}

int bands_of(const HostRows& rows) {
  const int most = rows_of_band(rows);
  return (rows.rows + most - 1) / most;
}

void copy_band(const HostRows& all, int band) {
  const int first = band * rows_of_band(all);
  const int rows = std::min(rows_of_band(all), all.rows - first);
  const std::size_t bytes = static_cast<std::size_t>(all.row_bytes);
  std::uint8_t* const to = all.to + first * all.to_pitch;
  const std::uint8_t* const from = all.from + first * all.from_pitch;
  if (all.to_pitch == all.row_bytes && all.from_pitch == all.row_bytes)
    stream_copy(to, from, bytes * static_cast<std::size_t>(rows));
  else
    for (int y = 0; y < rows; ++y)
      stream_copy(to + y * all.to_pitch, from + y * all.from_pitch, bytes);
}

}  // namespace

Status copy_host_rows(const std::vector<HostRows>& all, const StopSignal* stop) {
  int bands = 0;
  for (const HostRows& rows : all)
    bands += bands_of(rows);
  std::atomic<bool> stopping{false};
  run_bands(std::min({kThreads, bands, std::max(1, usable_cores() / 2)}), bands,
            [&](int band, int) {
              if (stop != nullptr && stop->raised()) stopping = true;
              if (stopping) return;
              auto rows = all.begin();
              for (; band >= bands_of(*rows); ++rows)
                band -= bands_of(*rows);
              copy_band(*rows, band);
            });
  return stopping ? stopped() : Status();
}

}  // namespace convolve
