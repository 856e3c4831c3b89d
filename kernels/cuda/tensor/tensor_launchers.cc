// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/tensor_forms.h"
#include "kernels/cuda/tensor/tensor.h"

namespace convolve {

const TensorLauncher& tensor_launcher(Form form) {
  if (form == Form::kTensorPixelPairs || form == Form::kTensorPixelQuads)
    return kTensorPixelsLauncher;
  if (form == Form::kTensorPackedPairs || form == Form::kTensorPackedQuads)
    return kTensorPackedLauncher;
  if (makes_pairs(form) || makes_quads(form)) return kTensorPairsLauncher;
  if (form == Form::kTensorOctets) return kTensorOctetsLauncher;
  if (form == Form::kTensorSplitOctets) return kTensorSplitOctetsLauncher;
  if (form == Form::kTensorTiles) return kTensorTilesLauncher;
  return uses_shared_tiles(form) ? kTensorWarpgroupsLauncher : kTensorColumnsLauncher;
}

}  // namespace convolve
