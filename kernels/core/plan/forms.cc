// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/forms.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace convolve {

const KernelInfo kKernels[kKernelCount] = {
    {KernelKind::kAuto, "auto", "The planner chooses (cuda, cpu)"},
    {KernelKind::kBasic, "basic",
     "A thread per output, mask and picture from global memory: PMPP 7.2, Fig. 7.6 in 2D (cuda, "
     "cpu)"},
    {KernelKind::kConstant, "constant", "Mask in constant memory: PMPP 7.3, Fig. 7.8 in 2D (cuda)"},
    {KernelKind::kTiledInput, "tiled-input",
     "Block = input tile with halo, inner threads compute: PMPP 7.6, Fig. 7.19-7.21; masks to 32 "
     "a side (cuda)"},
    {KernelKind::kTiledOutput, "tiled-output",
     "Block = output tile, threads load several cells: PMPP Fig. 7.11 in 2D (cuda)"},
    {KernelKind::kCachedHalo, "cached-halo",
     "Internal cells in shared memory, halo from L2: PMPP 7.5, Fig. 7.13-7.14 in 2D (cuda)"},
    {KernelKind::kCoarsened, "coarsened",
     "Several outputs per thread in registers: ECE408 lecture 9 (cuda, cpu)"},
    {KernelKind::kSeparable, "separable",
     "Rank-1 masks as a row pass and a column pass: PMPP 7.2-7.5 in 1D (cuda, cpu)"},
    {KernelKind::kTensor, "tensor",
     "Weights as 8-bit digits on the INT8 tensor cores, exactly: compute capability "
     "7.5 and up (cuda)"},
    {KernelKind::kBox, "box",
     "Masks of equal weights by running sums, at nearly one cost for all sizes (cuda, cpu)"},
    {KernelKind::kShift, "shift",
     "Masks with at most one weight that is not 0: samples are moved, not summed (cuda, cpu)"},
};

const FormInfo kForms[kFormCount] = {
    {Form::kBasic, KernelKind::kBasic, CostClass::kBasic, 1, "basic", "book", "any dense mask",
     true, true, 1},
    {Form::kConstant, KernelKind::kConstant, CostClass::kConstant, 1, "constant", "book",
     "any dense mask whose weights fit the constant bank", true, false, 1},
    {Form::kTiledInput, KernelKind::kTiledInput, CostClass::kTiledInput, 1, "tiled-input", "book",
     "dense masks up to 32 a side", true, false, 1},
    {Form::kTiledOutput, KernelKind::kTiledOutput, CostClass::kTiledOutput, 1, "tiled-output",
     "book", "dense masks whose tile with halo fits shared memory", true, false, 1},
    {Form::kCachedHalo, KernelKind::kCachedHalo, CostClass::kCachedHalo, 1, "cached-halo", "book",
     "any dense mask", true, false, 1},
    {Form::kCoarsened, KernelKind::kCoarsened, CostClass::kCoarsenedFloat32, 4, "coarsened",
     "coarsened", "any dense mask", true, true, 1},
    {Form::kCoarsenedDots, KernelKind::kCoarsened, CostClass::kCoarsenedInt32, 1, "coarsened-dots",
     "coarsened", "dense masks in whole digits of 8 bits, samples of 8 to 16 bits", false, true, 1},
    {Form::kSeparableFused, KernelKind::kSeparable, CostClass::kSeparableFusedFloat32, 3,
     "separable-fused", "separable",
     "masks of rank 1 whose tile, halo and row sums fit shared memory", true, false, 1},
    {Form::kSeparableTwoPass, KernelKind::kSeparable, CostClass::kSeparableTwoPass, 1,
     "separable-two-pass", "separable", "any mask of rank 1", true, true, 1},
    {Form::kSeparableAreas, KernelKind::kSeparable, CostClass::kSeparableTwoPass, 1,
     "separable-areas", "separable", "any mask of rank 1, both passes area by area", false, true,
     1},
    {Form::kSeparableDots, KernelKind::kSeparable, CostClass::kSeparableTwoPass, 1,
     "separable-dots", "separable",
     "masks of rank 1 whose factors are whole numbers of 16 bits, 8-bit samples", false, true, 1},
    {Form::kSeparableOnePass, KernelKind::kSeparable, CostClass::kSeparableOnePass, 1,
     "separable-one-pass", "separable",
     "masks of one row or column that are summed in whole digits", true, true, 1},
    {Form::kSeparableTensorFused, KernelKind::kSeparable, CostClass::kSeparableTensorFused, 1,
     "separable-tensor-fused", "separable", "masks of rank 1 up to about 65 a side, 8-bit samples",
     true, false, 1},
    {Form::kSeparableTensorTwoPass, KernelKind::kSeparable, CostClass::kSeparableTensorTwoPass, 1,
     "separable-tensor-two-pass", "separable", "larger masks of rank 1, 8-bit samples", true, false,
     1},
    {Form::kSeparableSpline, KernelKind::kSeparable, CostClass::kSeparableSpline, 1,
     "separable-spline", "spline", "large smooth masks of rank 1 and reals, 8-bit samples", true,
     true, 1},
    {Form::kTensorSliding, KernelKind::kTensor, CostClass::kTensorSliding, 1, "tensor-sliding",
     "tensor/columns", "8-bit samples, masks up to 17 rows whose window is 32 bytes", true, false,
     1},
    {Form::kTensorColumns, KernelKind::kTensor, CostClass::kTensorColumns, 1, "tensor-columns",
     "tensor/columns", "8-bit samples, any mask", true, false, 1},
    {Form::kTensorPairs, KernelKind::kTensor, CostClass::kTensorPairs, 1, "tensor-pairs",
     "tensor/pairs",
     "8-bit samples whose window is 8 bytes, masks up to 7x9; of two components also parted", true,
     false, 16},
    {Form::kTensorQuads, KernelKind::kTensor, CostClass::kTensorQuads, 1, "tensor-quads",
     "tensor/pairs", "8-bit samples of one or two components, masks up to 9x9", true, false, 16},
    {Form::kTensorLargeQuads, KernelKind::kTensor, CostClass::kTensorLargeQuads, 1,
     "tensor-large-quads", "tensor/pairs", "8-bit planes of one component, masks up to 17x13", true,
     false, 16},
    {Form::kTensorPixelPairs, KernelKind::kTensor, CostClass::kTensorPairs, 1, "tensor-pixel-pairs",
     "tensor/pixels", "pixels of three or four bytes whose window is larger, masks up to 7x5", true,
     false, 16},
    {Form::kTensorPixelQuads, KernelKind::kTensor, CostClass::kTensorQuads, 1, "tensor-pixel-quads",
     "tensor/pixels", "pixels of three or four bytes, masks up to 9x9", true, false, 16},
    {Form::kTensorPackedPairs, KernelKind::kTensor, CostClass::kTensorPairs, 1,
     "tensor-packed-pairs", "tensor/packed", "packed 4:2:2 of 8 bits, masks up to 7x9", true, false,
     16},
    {Form::kTensorPackedQuads, KernelKind::kTensor, CostClass::kTensorQuads, 1,
     "tensor-packed-quads", "tensor/packed", "packed 4:2:2 of 8 bits, masks up to 9x9", true, false,
     16},
    {Form::kTensorOctets, KernelKind::kTensor, CostClass::kTensorOctets, 1, "tensor-octets",
     "tensor/octets", "samples of two bytes, of one or two components, masks up to 9x9", true,
     false, 1},
    {Form::kTensorSplitOctets, KernelKind::kTensor, CostClass::kTensorOctets, 1,
     "tensor-split-octets", "tensor/octets", "the same, with real weights whose sums leave 32 bits",
     true, false, 1},
    {Form::kTensorTiles, KernelKind::kTensor, CostClass::kTensorTiles, 1, "tensor-tiles",
     "tensor/tile", "samples side by side, masks whose tile with halo fits shared memory", true,
     false, 1},
    {Form::kTensorWarpgroups, KernelKind::kTensor, CostClass::kTensorWarpgroups, 1,
     "tensor-warpgroups", "tensor/warpgroups",
     "samples side by side and packed 4:2:2, on compute capability 9.0", true, false, 16},
    {Form::kTensorSplitWarpgroups, KernelKind::kTensor, CostClass::kTensorWarpgroups, 1,
     "tensor-split-warpgroups", "tensor/warpgroups",
     "samples of two bytes, real weights whose sums leave 32 bits, on compute capability 9.0", true,
     false, 1},
    {Form::kBoxRuns, KernelKind::kBox, CostClass::kBoxRuns, 1, "box-runs", "box",
     "equal weights, any samples", true, true, 1},
    {Form::kBoxStrips, KernelKind::kBox, CostClass::kBoxStrips, 1, "box-strips", "box/strip",
     "equal weights, planes of one 8-bit component each", true, false, 1},
    {Form::kBoxStripsRuns, KernelKind::kBox, CostClass::kBoxRuns, 1, "box-strips-runs", "box/strip",
     "the same where only some planes of the frame are of one component: the others by runs", true,
     false, 1},
    {Form::kBoxBands, KernelKind::kBox, CostClass::kBoxBands, 1, "box-bands", "box/bands",
     "equal weights, planes of one 8-bit component whose rows fit a block", true, false, 16},
    {Form::kShift, KernelKind::kShift, CostClass::kShift, 1, "shift", "shift",
     "at most one weight that is not 0", true, true, 1},
};

const KernelInfo& kernel_info(KernelKind kind) {
  return kKernels[static_cast<int>(kind)];
}

const FormInfo& form_info(Form form) {
  return kForms[static_cast<int>(form)];
}

const FormInfo* find_form(const char* name) {
  const auto found = std::find_if(std::begin(kForms), std::end(kForms), [name](const FormInfo& f) {
    return std::strcmp(f.name, name) == 0;
  });
  return found == std::end(kForms) ? nullptr : found;
}

bool has_kernel(BackendKind backend, KernelKind kernel) {
  return kernel == KernelKind::kAuto ||
         std::any_of(std::begin(kForms), std::end(kForms), [&](const FormInfo& form) {
           return form.kernel == kernel &&
                  (backend == BackendKind::kCuda ? form.on_cuda : form.on_cpu);
         });
}

}  // namespace convolve
