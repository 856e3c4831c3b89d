// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable`, form separable-spline: 8-bit samples through a large smooth mask of rank 1,
// at a cost that hardly grows with the mask. core/weights/spline_mask.h says what is computed and
// bounds its error.
//
// Each factor of the mask is a cubic spline on a grid of knots 2 to 32 pixels apart, and a box. So
// the picture is reduced to B-spline coefficients at the knots (analysis), these are convolved with
// n / h weights in place of n taps, and pixels are made from them again (synthesis); running sums
// make the box. Four launches, with planes of floats between them that stay in the L2 cache:
//   analysis     inner products of the picture with B-splines, ghost cells included: for the main
//                term down the columns, for the cross term along the rows (spline_analysis.cuh);
//   rows         each line of analysis coefficients is filtered along itself (spline_rows.cuh);
//   convolution  of the coefficients down the columns (spline_synthesis.cuh);
//   synthesis    the picture, from the coefficients of both terms (spline_synthesis.cuh).
//
// What binds (H100): the launches wait for each other, 9 to 16 us each at 4K under gaussian:100;
// the analysis, which reads the picture, is the longest (RESULTS.md).
#include <algorithm>

#include "kernels/cuda/spline/spline_analysis.cuh"
#include "kernels/cuda/spline/spline_rows.cuh"
#include "kernels/cuda/spline/spline_synthesis.cuh"

namespace convolve {
namespace {

using CountedKernel = void (*)(LaunchArguments, int);

CountedKernel analysis_kernel(const LaunchArguments& a) {
  const int pairs = a.spline.column.spacing / 2;
  return pairs == 1   ? spline_analysis_kernel<1>
         : pairs == 2 ? spline_analysis_kernel<2>
                      : spline_analysis_kernel<4>;
}

CountedKernel synthesis_kernel(const LaunchArguments& a) {
  return a.spline.column.spacing < 4 ? spline_synthesis_kernel<true>
                                     : spline_synthesis_kernel<false>;
}

/// Rows of the picture that a thread of the synthesis makes: so many that all blocks are resident
/// at once, since a block of a second wave would load its part of both grids again. On small
/// pictures 8, or one interval between knots.
int synthesis_rows(const LaunchArguments& a) {
  constexpr int kBlocks = 3, kMostRows = 32;  // Resident blocks of a multiprocessor.
  const int least = std::max(8, a.spline.column.spacing);
  const int columns = divide_up(a.group.width, 4 * kSynthesisAcross) * a.group.channels;
  int rows = least;
  while (rows + least <= kMostRows && columns * divide_up(a.group.height, rows * kSynthesisDown) >
                                          kBlocks * a.separable.processors)
    rows += least;
  return rows;
}

std::size_t synthesis_bytes(const LaunchArguments& a) {
  return static_cast<std::size_t>(cross_tile_lines(a.spline.cross.spacing) *
                                  cross_tile_words(synthesis_rows(a))) *
         sizeof(float4);
}

std::size_t analysis_bytes(const LaunchArguments& a) {
  return cross_bytes(a);
}

std::size_t rows_bytes(const LaunchArguments& a) {
  return row_floats(a) * sizeof(float);
}

cudaError_t load(const LaunchArguments& arguments) {
  cudaError_t error = load_kernel(analysis_kernel(arguments), analysis_bytes(arguments));
  if (error == cudaSuccess) error = load_kernel(spline_rows_kernel, rows_bytes(arguments));
  if (error == cudaSuccess) error = load_kernel(spline_convolution_kernel, 0);
  return error == cudaSuccess ? load_kernel(synthesis_kernel(arguments), synthesis_bytes(arguments))
                              : error;
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const SplineArguments& spline = arguments.spline;
  LaunchArguments launched = arguments;
  launched.intermediate_pitch =
      static_cast<std::int64_t>(separable_spline_bytes(spline, group.width, group.height));
  const auto grid = [&group](int x, int y) {
    return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y),
                static_cast<unsigned>(group.channels));
  };
  const int across = cross_blocks(launched);
  cudaError_t error = launch_overlapping(
      analysis_kernel(launched), grid(across + line_blocks(launched), 1), dim3(kAnalysisThreads),
      analysis_bytes(launched), stream, launched, across);
  if (error != cudaSuccess) return error;
  const int lines = analysis_count(spline.column, group.height) + kZeroLines +
                    synthesis_count(spline.cross, group.width);
  error = launch_overlapping(spline_rows_kernel, grid(lines, 1), dim3(kRowThreads),
                             rows_bytes(launched), stream, launched);
  if (error != cudaSuccess) return error;
  error = launch_overlapping(
      spline_convolution_kernel,
      grid(divide_up(group.width, 2 * kConvolutionAcross),
           divide_up(synthesis_count(spline.column, group.height),
                     kConvolutionRun * kConvolutionDown)),
      dim3(kConvolutionThreads),
      static_cast<std::size_t>(round_up(spline.column.taps, 4)) * sizeof(float), stream, launched);
  if (error != cudaSuccess) return error;
  const int rows = synthesis_rows(launched);
  return launch_overlapping(synthesis_kernel(launched),
                            grid(divide_up(group.width, 4 * kSynthesisAcross),
                                 divide_up(group.height, rows * kSynthesisDown)),
                            dim3(kSynthesisThreads), synthesis_bytes(launched), stream, launched,
                            rows);
}

}  // namespace

std::size_t separable_spline_bytes(const SplineArguments& spline, int width, int height) {
  return static_cast<std::size_t>(spline_planes(spline, width, height, nullptr).floats) *
         sizeof(float);
}

const Variant kSeparableSplineVariant = {KernelKind::kSeparable, false, nullptr, load, launch};

}  // namespace convolve
