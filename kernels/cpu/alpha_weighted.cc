// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/alpha_weighted.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/run_typed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/alpha_weighted.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/accumulate-inl.h"
#include "kernels/cpu/load_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// An area of a component, and what its worker has for it.
struct WeightedArea {
  const WeightedTask& task;
  const WeightedMask& mask;
  const WeightedScratch& scratch;
  Area area;
};

/// Fills lines of alpha and of products with `count` cells of picture row `y` from column `x` on.
/// False if all of them are transparent.
template <class Real, class Stored>
HWY_INLINE bool load_weighted(const WeightedArea& w, int y, int x, int count, Real* alpha,
                              Real* products) {
  const hn::ScalableTag<Real> d;
  Stored* samples = w.scratch.alpha.samples.at<Stored>(0);
  load_line(w.task.alpha, y, x, count, alpha, samples);
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto any = hn::Zero(d);
  int i = 0;
  for (; i + lanes <= count; i += lanes)
    any = hn::Max(any, hn::LoadU(d, alpha + i));
  bool opaque = !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
  for (; i < count; ++i)
    opaque = opaque || alpha[i] != 0;
  if (!opaque) {
    std::fill_n(products, count, Real(0));
    return false;
  }
  load_line(w.task.colour, y, x, count, products, samples);
  for (i = 0; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, alpha + i), hn::LoadU(d, products + i)), d, products + i);
  for (; i < count; ++i)
    products[i] *= alpha[i];
  return true;
}

/// Makes line `line` of the area, counted from the first one that its mask reaches: cells, or row
/// sums if there is a column pass, in the rings' place `place`.
template <class Real, class Stored>
HWY_INLINE void make_line(const WeightedArea& w, int line, int place) {
  const int y = w.area.y + line - w.mask.anchor_y;
  const int x = w.area.x - w.mask.anchor_x;
  const int count = w.area.width + w.mask.taps.width() - 1;
  if (!w.mask.two_passes) {
    w.scratch.opaque[place] =
        load_weighted<Real, Stored>(w, y, x, count, w.scratch.alpha.source.at<Real>(place),
                                    w.scratch.products.source.at<Real>(place));
    return;
  }
  Real* alpha = w.scratch.alpha.source.at<Real>(0);
  Real* products = w.scratch.products.source.at<Real>(0);
  w.scratch.opaque[place] = load_weighted<Real, Stored>(w, y, x, count, alpha, products);
  const auto sum = [&](const Real* cells, const Lines& ring) {
    Real* sums = ring.at<Real>(place);
    const Real* lines[] = {cells};
    if (w.scratch.opaque[place])
      accumulate<1>(lines, w.mask.taps, w.area.width, Lines{reinterpret_cast<std::byte*>(sums), 0});
    else
      std::fill_n(sums, w.area.width, Real(0));
  };
  sum(alpha, w.scratch.alpha.intermediate);
  sum(products, w.scratch.products.intermediate);
}

template <class Stored>
HWY_INLINE int code_at(const ComponentTask& task, int y, int x) {
  const std::uint8_t* at = task.src_row(y) + static_cast<std::ptrdiff_t>(x) * task.step;
  return decode_sample(read_sample<Stored>(at), task.layout);
}

/// The lines that an output row's mask lies on: cells, or row sums if there is a column pass.
template <class Real>
struct LinesBelow {
  const Real* const* alpha;
  const Real* const* products;
};

/// The output at column `i` of the area in picture row `y`, from the sums `s` and `t`, whatever it
/// takes.
template <class Real, class Stored>
HWY_NOINLINE int decide(const WeightedArea& w, int y, int i, const LinesBelow<Real>& below,
                        double s, double t) {
  const ComponentTask& colour = w.task.colour;
  const WeightedEpilogue& e = w.task.epilogue;
  const int x = w.area.x + i;
  int code = weighted_code(s, t, e);
  if (code == kUndecided && e.exact_rows)
    code = code_of_rows(w.mask.exact, e, [&](int k, double& alpha_sum, double& product_sum) {
      alpha_sum = static_cast<double>(below.alpha[k][i]);
      product_sum = static_cast<double>(below.products[k][i]);
    });
  else if (code == kUndecided)
    code = exact_weighted_code(w.mask.exact, e, [&](int k, int j, int& alpha, int& difference) {
      const int row = border_index(colour.border, y - w.mask.anchor_y + k, colour.height);
      const int column = border_index(colour.border, x - w.mask.anchor_x + j, colour.width);
      if (row == kNoSignal || column == kNoSignal) return;
      alpha = code_at<Stored>(w.task.alpha, row, column);
      difference = code_at<Stored>(colour, row, column) - colour.black;
    });
  return code == kKeepSample ? code_at<Stored>(colour, y, x) : code;
}

template <class Stored>
HWY_INLINE void store_code(const ComponentTask& task, int y, int x, int code) {
  write_sample(task.dst_row(y) + static_cast<std::ptrdiff_t>(x) * task.step,
               encode_sample<Stored>(code, task.layout));
}

/// Divides a line of sums and stores it: weighted_code() for many, and each lane that its bounds
/// leave open for itself.
template <class Real, class Stored>
HWY_INLINE void finish_weighted(const WeightedArea& w, int y, const LinesBelow<Real>& below,
                                const Real* s_line, const Real* t_line) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<Real, decltype(d)> d_sum;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const WeightedEpilogue& e = w.task.epilogue;
  const auto load = [&](const Real* at) {
    if constexpr (sizeof(Real) == sizeof(double))
      return hn::LoadU(d, at);
    else
      return hn::PromoteTo(d, hn::LoadU(d_sum, at));
  };
  const auto zero = hn::Zero(d);
  const auto high = hn::Set(d, e.max_code);
  const auto factor = hn::Set(d, e.factor);
  const auto magnitude = hn::Set(d, std::fabs(e.factor));
  double codes[hn::MaxLanes(d)];
  for (int i = 0; i < w.area.width; i += lanes) {
    auto s = hn::Set(d, e.alpha_max);
    auto sum_error = zero;
    auto above = hn::Eq(zero, zero);
    if (!e.zero_sum) {
      s = hn::Mul(load(s_line + i), hn::Set(d, e.orientation));
      sum_error = hn::MulAdd(hn::Set(d, e.relative_error), s, hn::Set(d, e.sum_error));
      above = hn::Gt(s, hn::Add(hn::Set(d, e.floor), sum_error));
    }
    const auto product_error =
        hn::MulAdd(hn::Set(d, e.relative_error * e.max_code), s, hn::Set(d, e.product_error));
    const auto quotient = hn::Div(load(t_line + i), s);
    const auto step = hn::Mul(factor, quotient);
    const auto value = hn::Add(step, hn::Set(d, e.base));
    const auto bounded = hn::Clamp(value, zero, high);
    const auto code = hn::Round(bounded);
    const auto error =
        hn::Add(hn::Div(hn::Mul(magnitude, hn::MulAdd(hn::Abs(quotient), sum_error, product_error)),
                        hn::Sub(s, sum_error)),
                hn::Mul(hn::Set(d, 0x1p-50), hn::Add(hn::Abs(step), hn::Abs(value))));
    const auto doubt =
        hn::Sub(hn::Add(hn::Abs(hn::Sub(bounded, code)), error), hn::Abs(hn::Sub(value, bounded)));
    const auto decided = hn::And(above, hn::Lt(doubt, hn::Set(d, 0.5 + e.tolerance)));
    hn::StoreU(code, d, codes);
    const int count = std::min(lanes, w.area.width - i);
    if (!hn::AllTrue(d, decided)) {
      // To decide one output under a large mask may take a millisecond.
      if (w.task.colour.stopped()) return;
      double sure[hn::MaxLanes(d)];
      hn::StoreU(hn::IfThenElseZero(decided, hn::Set(d, 1.0)), d, sure);
      for (int l = 0; l < count; ++l)
        if (sure[l] == 0)
          codes[l] = decide<Real, Stored>(w, y, i + l, below, static_cast<double>(s_line[i + l]),
                                          static_cast<double>(t_line[i + l]));
    }
    for (int l = 0; l < count; ++l)
      store_code<Stored>(w.task.colour, y, w.area.x + i + l, static_cast<int>(codes[l]));
  }
}

/// Output row `y` below a mask that nothing opaque lies below.
template <class Stored>
HWY_INLINE void keep_line(const WeightedArea& w, int y) {
  const ComponentTask& colour = w.task.colour;
  for (int x = w.area.x; x < w.area.x + w.area.width; ++x)
    store_code<Stored>(colour, y, x, code_at<Stored>(colour, y, x));
}

/// Walks down the area with rings of lines: each is made once per area.
template <class Real, class Stored>
struct FilterWeighted {
  static void run(const ComponentTask&, const WeightedArea& w) {
    const int ring = w.mask.exact.height + kBlockRows - 1;
    const bool two_passes = w.mask.two_passes;
    const MaskTaps& taps = two_passes ? w.mask.column : w.mask.taps;
    const Lines& alpha = two_passes ? w.scratch.alpha.intermediate : w.scratch.alpha.source;
    const Lines& products =
        two_passes ? w.scratch.products.intermediate : w.scratch.products.source;
    const auto alpha_lines = reinterpret_cast<const Real**>(w.scratch.alpha.table);
    const auto product_lines = reinterpret_cast<const Real**>(w.scratch.products.table);
    int made = 0;
    for (int y = 0, rows = 0; y < w.area.height; y += rows) {
      rows = w.area.height - y >= kBlockRows ? kBlockRows : 1;
      const int needed = w.mask.exact.height + rows - 1;
      for (; made < y + needed && !w.task.colour.stopped(); ++made)
        make_line<Real, Stored>(w, made, made % ring);
      if (w.task.colour.stopped()) return;
      bool opaque = w.task.epilogue.zero_sum;
      for (int i = 0; i < needed; ++i) {
        const int place = (y + i) % ring;
        alpha_lines[i] = alpha.at<Real>(place);
        product_lines[i] = products.at<Real>(place);
        opaque = opaque || w.scratch.opaque[place] != 0;
      }
      if (!opaque) {
        for (int r = 0; r < rows; ++r)
          keep_line<Stored>(w, w.area.y + y + r);
        continue;
      }
      const auto sum = [&](const Real* const* lines, const Lines& sums) {
        if (rows == kBlockRows)
          accumulate<kBlockRows>(lines, taps, w.area.width, sums);
        else
          accumulate<1>(lines, taps, w.area.width, sums);
      };
      if (!w.task.epilogue.zero_sum) sum(alpha_lines, w.scratch.alpha.sums);
      sum(product_lines, w.scratch.products.sums);
      for (int r = 0; r < rows; ++r)
        finish_weighted<Real, Stored>(w, w.area.y + y + r, {alpha_lines + r, product_lines + r},
                                      w.scratch.alpha.sums.at<Real>(r),
                                      w.scratch.products.sums.at<Real>(r));
    }
  }
};

void filter_weighted(const WeightedTask& task, const WeightedMask& mask,
                     const WeightedScratch& scratch, const Area& area) {
  run_typed<FilterWeighted>(mask.accumulator, task.colour, WeightedArea{task, mask, scratch, area});
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_weighted);

namespace {

/// Bytes of rings that stay in a core's second-level cache, both together.
constexpr std::size_t kRingBytes = 256 * 1024;

/// Columns of strips whose two rings of `lines` lines stay in the cache, each line wider by `halo`.
int strip_width_of_pair(int widest, int halo, int lines, std::size_t cell_bytes) {
  const int cells = static_cast<int>(kRingBytes / (2 * cell_bytes)) / lines - halo;
  const int strip = std::max(kStripStep, cells / kStripStep * kStripStep);
  return std::min(strip, (widest + kStripStep - 1) / kStripStep * kStripStep);
}

}  // namespace

void AlphaWeighted::encode(const Mask& mask, const WeightedSums& sums) {
  const Accumulator accumulator = sums.accumulator;
  mask_.accumulator = accumulator;
  mask_.two_passes = sums.passes == Passes::kRowColumn;
  mask_.anchor_x = mask.anchor_x;
  mask_.anchor_y = mask.anchor_y;
  if (mask_.two_passes) {
    const std::vector<std::byte> factors = encode_factors(mask, accumulator, sums.rational);
    const std::byte* column = factors.data() + mask.width * weight_bytes(accumulator);
    mask_.taps = MaskTaps(mask.width, 1, mask.anchor_x, 0, accumulator, factors.data());
    mask_.column = MaskTaps(1, mask.height, 0, mask.anchor_y, accumulator, column);
  } else {
    const std::vector<std::byte> weights = encode_weights(mask, accumulator, sums.rational);
    mask_.taps = MaskTaps(mask.width, mask.height, mask.anchor_x, mask.anchor_y, accumulator,
                          weights.data());
  }
  exact_weights_ = encode_exact_weights(mask, sums);
  mask_.exact = exact_weights(mask, sums, reinterpret_cast<const double*>(exact_weights_.data()));
}

Result<AlphaWeighted> AlphaWeighted::make(const Mask& mask, const WeightedSums& sums, int widest,
                                          int workers) {
  AlphaWeighted made;
  made.encode(mask, sums);

  const bool two_passes = made.mask_.two_passes;
  const int ring = mask.height + kBlockRows - 1;
  const int halo = mask.width - 1;
  WorkspaceShape shape;
  shape.cell_bytes = weight_bytes(sums.accumulator);
  made.strip_width_ = strip_width_of_pair(widest, two_passes ? 0 : halo, ring, shape.cell_bytes);
  shape.strip_width = made.strip_width_;
  shape.source_width = made.strip_width_ + halo;
  shape.source_lines = two_passes ? 1 : ring;
  shape.intermediate_lines = two_passes ? ring : 0;
  shape.table_lines = ring;
  Result<Workspaces> alpha = Workspaces::make(shape, workers);
  if (!alpha.ok()) return alpha.status();
  Result<Workspaces> products = Workspaces::make(shape, workers);
  if (!products.ok()) return products.status();
  made.alpha_ = std::move(alpha.value());
  made.products_ = std::move(products.value());
  made.opaque_.assign(static_cast<std::size_t>(workers),
                      std::vector<std::uint8_t>(static_cast<std::size_t>(ring)));
  return made;
}

int AlphaWeighted::least_rows() const {
  // A line of row sums costs as much as a row of outputs, a line of cells far less.
  return mask_.two_passes ? 2 * mask_.exact.height : mask_.exact.height;
}

void AlphaWeighted::filter(const WeightedTask& task, const Area& area, int worker) {
  const WeightedScratch scratch{alpha_[worker], products_[worker],
                                opaque_[static_cast<std::size_t>(worker)].data()};
  HWY_DYNAMIC_DISPATCH(filter_weighted)(task, mask_, scratch, area);
}

}  // namespace convolve
#endif
