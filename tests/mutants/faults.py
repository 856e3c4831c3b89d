# SPDX-License-Identifier: LGPL-2.1-or-later
"""The faults: in `path`, the text `old`, which occurs once, becomes `new`.

Each is a slip that somebody could make. One whose text is gone is an error of the run, so that the
table moves with the code.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    name: str
    path: str
    old: str
    new: str
    cuda: bool = False


CORE = [
    # Borders: each off by one cell, or another one's rule.
    Fault("border-replicate-one-inside", "kernels/core/border.h",
          "return i < 0 ? 0 : n - 1;", "return i < 0 ? 0 : (n > 1 ? n - 2 : 0);"),
    Fault("border-zero-replicates", "kernels/core/border.h",
          "if (border == Border::kZero) return kNoSignal;",
          "if (border == Border::kZero) return i < 0 ? 0 : n - 1;"),
    Fault("border-reflect-skips-the-edge", "kernels/core/border.h",
          "return (border == Border::kReflect ? period - 1 : period) - m;",
          "return (n > 1 ? 2 * n - 2 : 0) - (n > 1 ? m : 0);"),
    Fault("border-mirror-period", "kernels/core/border.h", "n > 1 ? 2 * n - 2 : 1",
          "n > 1 ? 2 * n - 1 : 1"),
    Fault("border-wrap-reflects", "kernels/core/border.h",
          "border == Border::kWrap ? n :", "border == Border::kWrap ? 2 * n :"),

    # Rounding and clamping.
    Fault("truncation", "kernels/core/epilogue.h", "static_cast<int>(std::nearbyint(v))",
          "static_cast<int>(v)"),
    Fault("ties-away-from-zero", "kernels/core/epilogue.h", "static_cast<int>(std::nearbyint(v))",
          "static_cast<int>(std::round(v))"),
    Fault("clamp-missing", "kernels/core/epilogue.h",
          "return v < low ? low : (v > high ? high : v);",
          "return low < high ? v : high;"),
    Fault("tie-of-a-division-upwards", "kernels/core/epilogue.h",
          "if (twice > e.divisor || (twice == e.divisor && odd)) ++code;",
          "if (twice >= e.divisor) ++code;"),

    # Samples in memory.
    Fault("byte-swap-missing", "kernels/core/sample.h",
          "(layout.swap ? swap_bytes(stored) : stored) >> layout.shift",
          "stored >> layout.shift"),
    Fault("shift-missing", "kernels/core/sample.h",
          "static_cast<Stored>(code << layout.shift)", "static_cast<Stored>(code)"),

    # Arithmetic.
    Fault("bias-on-chroma", "kernels/core/arithmetic.cc",
          "if (component.role == Role::kChroma || component.role == Role::kAlpha) return 0;",
          "if (component.role == Role::kAlpha) return 0;"),
    Fault("bias-truncated", "kernels/core/arithmetic.cc",
          "static_cast<int>(std::nearbyint(bias * component.range))",
          "static_cast<int>(bias * component.range)"),
    Fault("black-level-not-added-back", "kernels/core/arithmetic.cc",
          "const int base = component.black + bias_code(component, bias);\n  const int max_code",
          "const int base = bias_code(component, bias);\n  const int max_code"),
    Fault("scale-ignored", "kernels/core/arithmetic.cc", "ratio_of(scale)", "ratio_of(1.0)"),
    Fault("even-divisor-multiplied", "kernels/core/arithmetic.cc",
          "const bool odd = gain.den % 2 != 0;", "const bool odd = gain.den > 0;"),
    Fault("passthrough-in-spite-of-bias", "kernels/core/arithmetic.cc",
          "bias_code(c, bias) == 0", "bias_code(c, bias) >= 0"),
    Fault("passthrough-of-a-shift", "kernels/core/arithmetic.cc",
          "return at_anchor * scale == 1.0 &&", "return mask.sum * scale == 1.0 &&"),

    # Masks: normalisation, orientation, factors.
    Fault("auto-divides-in-spite-of-divisor", "kernels/core/mask.cc",
          "if (s.divisor || s.normalized || magnitude == 0) return Division::kTyped;",
          "if (s.normalized || magnitude == 0) return Division::kTyped;"),
    Fault("auto-threshold", "kernels/core/mask.cc", "sum >= magnitude / 16",
          "sum > magnitude / 16"),
    Fault("divisor-multiplies", "kernels/core/mask.cc", "divide(gain, *divisor)",
          "multiply(gain, *divisor)"),
    Fault("abs-divides-by-the-sum", "kernels/core/mask.cc",
          "return make_ratio(s.divisor.value_or(1) < 0 ? -1 : 1, magnitude);",
          "return make_ratio(s.divisor.value_or(1) < 0 ? -1 : 1, sum);"),
    Fault("convolve-does-not-rotate", "kernels/core/mask_source.cc",
          "  std::reverse(s.weights.begin(), s.weights.end());\n", ""),
    Fault("convolve-keeps-the-anchor", "kernels/core/mask_source.cc",
          "s.anchor_x = s.width - 1 - s.anchor_x;", "s.anchor_x += 0;"),
    Fault("any-mask-is-of-rank-1", "kernels/core/mask_factors.cc",
          "if (Int128{multiple} * factors.row[x] != row[x]) return std::nullopt;",
          "if (Int128{multiple} * pivot != row[first_x]) return std::nullopt;"),
    Fault("gaussian-radius-rounded-down", "kernels/core/named_formulas.cc",
          "std::ceil(multiple * sigma)", "std::floor(multiple * sigma)"),
    Fault("motion-turns-clockwise", "kernels/core/mask_shapes.cc",
          "const Point along = {turn.x * length / 2, -turn.y * length / 2};\n"
          "  const Point across = {turn.y / 2, turn.x / 2};",
          "const Point along = {turn.x * length / 2, turn.y * length / 2};\n"
          "  const Point across = {-turn.y / 2, turn.x / 2};"),

    # Plans: what kernels cost, and which is taken.
    Fault("dearest-kernel", "kernels/core/planner.cc",
          "plan.value().predicted_us < best->predicted_us",
          "plan.value().predicted_us > best->predicted_us"),
    Fault("lone-tile-costs-nothing", "kernels/core/cost.cc", "most = std::max(most, sum);",
          "most = sum;"),
    Fault("work-at-the-rate-of-the-h100", "kernels/core/cost_table.cc",
          "terms[kCostWork] *= device * work;", "terms[kCostWork] *= device;"),
    Fault("tile-without-halo-rows", "kernels/core/cost.cc",
          "const double rows = plan.tile_height + mask.height - 1;",
          "const double rows = plan.tile_height;"),
    Fault("running-sums-at-the-cost-of-taps", "kernels/core/cost.cc",
          "1.0 * mask.width + mask.height};\n  }", "taps};\n  }"),

    # Texts and files.
    Fault("swapped-axes-of-a-size", "kernels/core/mask_list.cc",
          "    source_.width = size_->width;\n    source_.height = size_->height;",
          "    source_.width = size_->height;\n    source_.height = size_->width;"),
    Fault("anchor-of-even-masks", "kernels/core/mask_list.cc",
          "source_.anchor_x = source_.width / 2;", "source_.anchor_x = (source_.width - 1) / 2;"),
    Fault("position-off-by-one", "kernels/core/mask_text.cc", "std::size_t line = 1, column = 1;",
          "std::size_t line = 1, column = 0;"),
    Fault("numbers-by-the-locale", "kernels/core/mask_text.cc",
          "  double value = 0;\n"
          "  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);",
          "  char* stop = nullptr;\n"
          "  const std::string copy(digits);\n"
          "  const double value = strtod(copy.c_str(), &stop);\n"
          "  const std::from_chars_result read = {digits.data() + (stop - copy.c_str()), {}};"),
    Fault("point-spread-not-rotated", "kernels/core/mask_picture.cc",
          "return rotated(std::move(mask.value()));", "return mask;"),
    Fault("pfm-rows-top-down", "kernels/core/mask_picture.cc",
          "for (std::size_t y = rows; y-- > 0;)", "for (std::size_t y = 0; y < rows; ++y)"),
    Fault("pgm-16-bit-little-endian", "kernels/core/mask_picture.cc",
          "sample = sample << 8 | static_cast<unsigned char>(raster[i * bytes + 1]);",
          "sample |= static_cast<unsigned char>(raster[i * bytes + 1]) << 8;"),
    Fault("tensor-windows-two-samples-short", "kernels/core/tensor_tiles.cc",
          "window.left - shift + after + 1, samples)", "window.left - shift + after - 1, samples)"),
    Fault("tensor-pairs-for-any-epilogue", "kernels/core/tensor_mapping.cc",
          "if (!phases || !one_epilogue(plane)) return false;", "if (!phases) return false;"),

    # Masks of rank 1 on tensor cores.
    Fault("separable-row-sums-cut-off", "kernels/core/separable_digits.cc", " + 32768u;", ";"),
    Fault("separable-column-beyond-a-digit", "kernels/core/separable_digits.cc",
          "weight < -128 || weight > 127", "weight < -128 || weight > 128"),
    Fault("separable-row-sums-beyond-16-bits", "kernels/core/separable_digits.cc",
          "if (span >= kTwo16) return std::nullopt;",
          "if (span >= kTwo16 + 300) return std::nullopt;"),
]

CPU = [
    Fault("last-band-not-run", "kernels/cpu/cpu_job.cc", "run_bands(workers_, areas, [&]",
          "run_bands(workers_, areas > 1 ? areas - 1 : areas, [&]"),
    Fault("black-level-not-taken-off", "kernels/cpu/cpu_job.cc", "task.black = component.black;",
          "task.black = 0;"),
    Fault("wrong-component-offset", "kernels/cpu/cpu_job.cc",
          "task.src = src + component.offset;", "task.src = src + plane.components[0].offset;"),
    Fault("vector-tail-of-sums", "kernels/cpu/accumulate-inl.h",
          "for (; x < width; x += lanes)", "for (; x + lanes <= width; x += lanes)"),
    Fault("first-block-line-skipped", "kernels/cpu/accumulate-inl.h",
          "const int first = line < height ? 0 : line - height + 1;",
          "const int first = line < height ? 0 : line - height;"),
    Fault("vector-tail-of-stores", "kernels/cpu/finish_line-inl.h",
          "static_cast<std::size_t>(count - i) * sizeof(Stored)",
          "static_cast<std::size_t>(count - i - 1) * sizeof(Stored)"),
    Fault("vector-clamp-missing", "kernels/cpu/finish_line-inl.h",
          "return hn::Round(hn::Clamp(value, zero, max));",
          "return hn::Round(hn::Max(value, zero));"),
    Fault("vector-truncation", "kernels/cpu/finish_line-inl.h",
          "return hn::Round(hn::Clamp(value, zero, max));",
          "return hn::Trunc(hn::Clamp(value, zero, max));"),
    Fault("vector-swap-missing", "kernels/cpu/load_line-inl.h",
          "if (layout.swap) stored = hn::Or(hn::ShiftLeft<8>(stored), hn::ShiftRight<8>(stored));",
          "if (layout.swap) stored = hn::Or(stored, stored);"),
    Fault("wrong-channel", "kernels/cpu/load_line-inl.h", "return channel == 0 ? v0 : v1;",
          "return channel == 1 ? v0 : v1;"),
    Fault("ghosts-one-column-on", "kernels/cpu/load_line-inl.h",
          "border_index(task.border, x + i, task.width)",
          "border_index(task.border, x + i + 1, task.width)"),
    Fault("separable-ignores-the-anchor", "kernels/cpu/separable.cc",
          "area.y + loaded - column.anchor_y()", "area.y + loaded - column.height() / 2"),
    Fault("box-keeps-the-row-that-leaves", "kernels/cpu/box.cc",
          "    load(top + i);\n    accumulate_line<false>",
          "    load(top + i);\n    accumulate_line<true>"),
    Fault("box-ties-go-up", "kernels/core/box.h", "quotient &= ~1u;", "quotient &= ~0u;"),
    Fault("zero-span-cut-short", "kernels/cpu/mask_taps.cc", "return {begin, end};",
          "return {begin, end > begin + 1 ? end - 1 : end};"),
    Fault("alpha-weight-of-a-tail", "kernels/cpu/alpha_weighted.cc",
          "    products[i] *= alpha[i];", "    products[i] *= 1;"),
    Fault("transparent-samples-black", "kernels/cpu/alpha_weighted.cc",
          "return code == kKeepSample ? code_at<Stored>(colour, y, x) : code;",
          "return code == kKeepSample ? 0 : code;"),
    Fault("last-copied-sample-lost", "kernels/cpu/copy.cc",
          "for (int i = 0; i < count; ++i, src", "for (int i = 0; i + 1 < count; ++i, src"),
]

PLUGIN = [
    Fault("black-level-0", "plugin/formats.cc", "component.black = black[c];",
          "component.black = 0;"),
    Fault("odd-chroma-row-lost", "plugin/formats.cc",
          "component.height = GST_VIDEO_INFO_COMP_HEIGHT(&info, c);",
          "component.height = c == 0 ? GST_VIDEO_INFO_COMP_HEIGHT(&info, c)\n"
          "      : MAX(1, GST_VIDEO_INFO_HEIGHT(&info) >> GST_VIDEO_FORMAT_INFO_H_SUB(format, c));"),
    Fault("alpha-filtered-unasked", "plugin/formats.cc", "return (channels & kAlpha) != 0;",
          "return channels != 0;"),
    Fault("padding-not-copied", "plugin/formats.cc",
          "if (!covered) add_padding(plane, offset, group, plane.components[0].width);",
          "if (!covered) add_padding(plane, offset, group, plane.components[0].width - 1);"),
    Fault("wrong-plane", "plugin/frames.cc", "GST_VIDEO_INFO_PLANE_OFFSET(&info, p)",
          "GST_VIDEO_INFO_PLANE_OFFSET(&info, p == 2 ? 1 : p)"),
    Fault("meta-stride-ignored", "plugin/frames.cc",
          "meta ? meta->stride[p] : GST_VIDEO_INFO_PLANE_STRIDE(&info, p)",
          "GST_VIDEO_INFO_PLANE_STRIDE(&info, p)"),
    Fault("last-row-not-measured", "plugin/frames.cc", "std::int64_t{plane.rows} - 1",
          "std::max(std::int64_t{plane.rows} - 2, std::int64_t{0})"),
    Fault("wrong-field-parity", "plugin/frames.cc", "field.data[p] += parity * frame.pitch[p];",
          "field.data[p] += (1 - parity) * frame.pitch[p];"),
    Fault("last-row-of-a-field-lost", "plugin/frames.cc", "return (rows + 1 - parity) / 2;",
          "return rows / 2;"),
    Fault("mixed-flag-ignored", "plugin/session.cc",
          "return GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);",
          "return buffer != nullptr;"),
    Fault("operation-ignored", "plugin/session.cc",
          "Mask::make(*settings.mask, settings.normalize, settings.operation)",
          "Mask::make(*settings.mask, settings.normalize)"),
    Fault("normalize-ignored", "plugin/session.cc",
          "Mask::make(*settings.mask, settings.normalize, settings.operation)",
          "Mask::make(*settings.mask, convolve::Normalize::kAuto, settings.operation)"),
    Fault("bias-of-the-plan-stays", "plugin/session.cc",
          "arguments_ = {settings.scale, settings.bias, settings.border};",
          "arguments_ = {settings.scale, active_->settings.bias, settings.border};"),
    Fault("failed-frame-not-done-again", "plugin/session.cc",
          "active_ = std::move(planned.value());\n"
          "      status = run(source.view(), destination.view(), fields);",
          "active_ = std::move(planned.value());\n"
          "      status = {};"),
    Fault("lost-device-asked-again", "plugin/devices.cc",
          "if (cuda_status_.code() != Code::kOutOfMemory ||", "if (cuda_status_.ok() ||"),
    Fault("stale-mask", "plugin/properties.cc",
          "if (edit.needs_plan) ++properties.settings.plan_generation;",
          "if (edit.ready_only) ++properties.settings.plan_generation;"),
    Fault("matrix-transposed", "plugin/mask_matrix.cc", "weight_at(mask, y, x) / divisor",
          "weight_at(mask, x % mask.height, y % mask.width) / divisor"),
    Fault("matrix-without-the-divisor", "plugin/mask_matrix.cc", "weight_at(mask, y, x) / divisor",
          "weight_at(mask, y, x)"),
    Fault("refusal-forgotten", "plugin/gstcudaconvolve.cc",
          "if (!properties.refusals.empty()) refusal = properties.refusals.begin()->second;",
          "if (properties.started) refusal = properties.refusals.begin()->second;"),
]

CUDA = [
    Fault("cuda-ghosts-one-column-on", "kernels/cuda/kernel.cuh",
          "x = border_index(border, x, width);", "x = border_index(border, x < 0 ? x - 1 : x, width);",
          cuda=True),
    Fault("cuda-swapped-mask-axes", "kernels/cuda/tiled_output.cu",
          "weights[i * mask.width + j], row[j]", "weights[j * mask.height + i], row[j]", cuda=True),
    Fault("cuda-halo-column-missing", "kernels/cuda/cached_halo.cu",
          "cell_x >= 0 && cell_x < tile_width", "cell_x >= 0 && cell_x <= tile_width", cuda=True),
    Fault("cuda-tile-anchor-ignored", "kernels/cuda/tiled_input.cu",
          "cell_row<Cell, Stored>(group, channel, y - mask.anchor_y).at(x - mask.anchor_x)",
          "cell_row<Cell, Stored>(group, channel, y - mask.height / 2).at(x - mask.width / 2)",
          cuda=True),
    Fault("cuda-last-row-of-a-run-lost", "kernels/cuda/separable.cu",
          "if (y0 + y + j < group.height)", "if (y0 + y + j + 1 < group.height)", cuda=True),
    Fault("cuda-pair-ghosts-of-the-other-side", "kernels/cuda/tensor_pairs.cu",
          "first_ ? piece.own.x : piece.own.z", "first_ ? piece.own.z : piece.own.x", cuda=True),
    Fault("cuda-tile-ghost-rows-loaded", "kernels/cuda/tensor_tile.cuh",
          "const bool black = clipped && source(r) == kNoSignal;", "const bool black = false;",
          cuda=True),
    Fault("cuda-separable-ghosts-forgotten", "kernels/cuda/separable_fused.cu",
          "    filler.finish(memory + step % kStages * stage_bytes);\n", "", cuda=True),
]

FAULTS = CORE + CPU + PLUGIN + CUDA
