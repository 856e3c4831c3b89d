// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/settings.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "plugin/formats.h"

namespace storm {
namespace {

using convolve::KernelInfo;
using convolve::Result;

constexpr std::string_view kProperties[] = {"mask-matrix", "mask",   "operation", "normalize",
                                            "scale",       "bias",   "border",    "channels",
                                            "alpha-mode",  "kernel", "tile-width"};

/// The index of `value` among `names`; 0 if it is none of them.
template <class Enum, std::size_t n>
Enum index_of(const std::string& value, const std::string_view (&names)[n]) {
  const auto found = std::find(std::begin(names), std::end(names), value);
  return static_cast<Enum>(found == std::end(names) ? 0 : found - std::begin(names));
}

constexpr std::string_view kOperations[] = {"correlate", "convolve"};
constexpr std::string_view kNormalizes[] = {"auto", "none", "sum", "abs"};
constexpr std::string_view kBorders[] = {"replicate", "zero", "reflect", "mirror", "wrap"};
constexpr std::string_view kAlphaModes[] = {"straight", "premultiplied"};

unsigned channels_of(const std::string& value) {
  unsigned channels = 0;
  if (value.find("luma") != std::string::npos) channels |= cudaconvolve::kLuma;
  if (value.find("chroma") != std::string::npos) channels |= cudaconvolve::kChroma;
  if (value.find("alpha") != std::string::npos) channels |= cudaconvolve::kAlpha;
  return channels;
}

convolve::KernelKind kernel_of(const std::string& nick) {
  const auto found = std::find_if(std::begin(convolve::kKernels), std::end(convolve::kKernels),
                                  [&](const KernelInfo& info) { return info.nick == nick; });
  return found == std::end(convolve::kKernels) ? convolve::KernelKind::kAuto : found->kind;
}

double number(const Words& words, std::string_view name, const char* fallback) {
  return std::strtod(words.get(name, fallback).c_str(), nullptr);
}

}  // namespace

bool is_property(std::string_view name) {
  return std::find(std::begin(kProperties), std::end(kProperties), name) != std::end(kProperties);
}

Words::Word meaning(const Words::Word& word) {
  return {word.first == "mask-matrix" ? "mask" : word.first, word.second};
}

std::string property_text(const Words::Word& word) {
  if (word.first != "mask-matrix") return word.second;
  std::string text = "<<";
  for (const char c : word.second) {
    if (c == ' ' && text.back() == '<') continue;
    if (c == ';')
      text += ">,<";
    else
      text += c == ' ' ? ',' : c;
  }
  return text + ">>";
}

bool takes(const Words::Word& word) {
  return meaning(word).first != "mask" || convolve::parse_mask(word.second).ok();
}

Result<Settings> resolve(const Words& words) {
  const Result<convolve::MaskSource> source = convolve::parse_mask(words.get("mask", "identity"));
  if (!source.ok()) return source.status();
  Result<convolve::Mask> mask = convolve::Mask::make(
      source.value(), index_of<convolve::Normalize>(words.get("normalize"), kNormalizes),
      index_of<convolve::Operation>(words.get("operation"), kOperations));
  if (!mask.ok()) return mask.status();
  Settings settings;
  settings.mask = std::move(mask.value());
  settings.arguments.scale = number(words, "scale", "1");
  settings.arguments.bias = number(words, "bias", "0");
  settings.arguments.border = index_of<convolve::Border>(words.get("border"), kBorders);
  settings.channels = channels_of(words.get("channels", "luma+chroma"));
  settings.options.kernel = kernel_of(words.get("kernel", "auto"));
  settings.options.tile_width = std::atoi(words.get("tile-width", "0").c_str());
  settings.options.scale = settings.arguments.scale;
  settings.options.bias = settings.arguments.bias;
  settings.options.alpha_mode = index_of<convolve::AlphaMode>(words.get("alpha-mode"), kAlphaModes);
  return settings;
}

std::string ground_of(const std::string& message) {
  for (const char* ground : {"size", "memory", "rank", "device", "alpha"})
    if (message.find(": " + std::string(ground) + ": ") != std::string::npos) return ground;
  return {};
}

}  // namespace storm
