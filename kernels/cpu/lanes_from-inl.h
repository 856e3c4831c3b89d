// SPDX-License-Identifier: LGPL-2.1-or-later
// What a load from between two neighbouring vectors would give, taken out of registers: nearly all
// such loads of AVX-512 lie in two lines of the cache, and take as long as two loads.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_LANES_FROM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_LANES_FROM_INL_H_
#undef CONVOLVE_LANES_FROM_INL_H_
#else
#define CONVOLVE_LANES_FROM_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// A vector of lanes of 32 bits, or of as many bits in smaller ones, from number kFirst of `cells`
/// on; behind its last `next` goes on. kFirst: 0 .. 15.
template <int kFirst, class D>
HWY_INLINE hn::Vec<D> lanes_from(D d, hn::Vec<D> cells, hn::Vec<D> next) {
  // A shift by 0 would be an instruction, too: the compiler does not leave it out.
  if constexpr (kFirst == 0) return cells;
  const hn::Repartition<std::int32_t, D> words;
  return hn::BitCast(d, hn::Vec<decltype(words)>{_mm512_alignr_epi32(
                            hn::BitCast(words, next).raw, hn::BitCast(words, cells).raw, kFirst)});
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
