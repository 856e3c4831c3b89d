// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/plane_arguments.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace convolve::benchmarks {
namespace {

constexpr int kSmallestSide = 3;
/// What sigma 500 takes; kinds that are not kept as factors end at kMaxMaskSide.
constexpr int kLargestSide = 3001;

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char c : list)
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

/// What the words of `list` name among `known`; empty if one names nothing.
template <class Item, class Name>
std::vector<Item> chosen(const std::string& list, const std::vector<Item>& known, Name&& name) {
  std::vector<Item> result;
  for (const std::string& word : words_of(list)) {
    const std::size_t before = result.size();
    for (const Item& item : known)
      if (name(item) == word) result.push_back(item);
    if (result.size() == before) return {};
  }
  return result;
}

std::vector<SizeCase> all_sizes() {
  std::vector<SizeCase> sizes(std::begin(kSizes), std::end(kSizes));
  sizes.push_back(kTinySize);
  return sizes;
}

std::vector<MaskKind> all_kinds() {
  std::vector<MaskKind> kinds;
  for (int k = 0; k < kMaskKindCount; ++k)
    kinds.push_back(static_cast<MaskKind>(k));
  return kinds;
}

std::vector<KernelKind> kernels_of(BackendKind backend) {
  std::vector<KernelKind> kernels;
  for (const KernelInfo& info : kKernels)
    if (has_kernel(backend, info.kind)) kernels.push_back(info.kind);
  return kernels;
}

std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (const FormInfo& info : kForms)
    forms.push_back(info.form);
  return forms;
}

std::vector<int> sides_of(const std::string& list) {
  std::vector<int> sides;
  for (const std::string& word : words_of(list)) {
    sides.push_back(std::atoi(word.c_str()));
    if (sides.back() < kSmallestSide || sides.back() > kLargestSide) return {};
  }
  return sides;
}

bool parse_value(const std::string& name, const std::string& value, PlaneArguments* arguments) {
  if (name == "--backend") {
    arguments->backend = value == "cpu" ? BackendKind::kCpu : BackendKind::kCuda;
    return value == "cpu" || value == "cuda";
  }
  if (name == "--formats") {
    const std::vector<FormatCase> all(std::begin(kFormats), std::end(kFormats));
    arguments->formats = chosen(value, all, [](const FormatCase& f) { return f.name; });
    return !arguments->formats.empty();
  }
  if (name == "--sizes") {
    arguments->sizes = chosen(value, all_sizes(), [](const SizeCase& s) { return s.name; });
    return !arguments->sizes.empty();
  }
  if (name == "--kinds") {
    arguments->kinds = chosen(value, all_kinds(), mask_kind_name);
    return !arguments->kinds.empty();
  }
  if (name == "--sides") {
    arguments->sides = sides_of(value);
    return !arguments->sides.empty();
  }
  if (name == "--kernels") {
    arguments->kernels = chosen(value, kernels_of(arguments->backend),
                                [](KernelKind kind) { return kernel_info(kind).nick; });
    return !arguments->kernels.empty();
  }
  if (name == "--forms") {
    arguments->forms = chosen(value, all_forms(), [](Form form) { return form_info(form).name; });
    return !arguments->forms.empty();
  }
  if (name == "--npp") {
    arguments->npp = value == "yes";
    return value == "yes" || value == "no";
  }
  if (name == "--seconds") {
    arguments->seconds = std::atof(value.c_str());
    return arguments->seconds > 0;
  }
  if (name == "--threads") {
    arguments->threads = std::atoi(value.c_str());
    return arguments->threads > 0;
  }
  if (name == "--commit")
    arguments->commit = value;
  else if (name == "--json")
    arguments->json = value;
  else
    return false;
  return true;
}

bool parse_word(const std::string& word, PlaneArguments* arguments) {
  if (word == "--grid" || word == "--calibrate") {
    const bool first = arguments->mode == PlaneMode::kSweep;
    arguments->mode = word == "--grid" ? PlaneMode::kGrid : PlaneMode::kCalibrate;
    return first;
  }
  const std::size_t equals = word.find('=');
  return equals != std::string::npos &&
         parse_value(word.substr(0, equals), word.substr(equals + 1), arguments);
}

}  // namespace

bool parse_arguments(int argc, char** argv, PlaneArguments* arguments) {
  for (int k = 1; k < argc; ++k)
    if (!parse_word(argv[k], arguments)) {
      std::fprintf(stderr, "bench_planes: what is %s?\n", argv[k]);
      return false;
    }
  return true;
}

}  // namespace convolve::benchmarks
