// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/named_masks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kernels/core/mask/mask_text.h"
#include "kernels/core/mask/named_formulas.h"

namespace convolve {
namespace {

constexpr int kMaxArguments = 2;

struct ArgumentRule {
  const char* name;
  double low;
  double high;
  bool whole;  ///< Only whole numbers.
};

/// What an argument that is left out stands for: another one, or a number.
enum class Default { kNone, kFirstArgument, kOne, kZero };

struct Entry {
  NamedMask mask;
  MaskFormula formula;
  int required;
  int count;
  ArgumentRule rules[kMaxArguments];
  Default second = Default::kNone;  ///< `first` takes kOne where it is not required.
};

// Ranges end where the mask would pass kMaxFactorLength a side, or kMaxMaskSide if it has no
// factors: 3 sigma rounded up for a Gaussian, 4 sigma for `log`.
constexpr ArgumentRule kBoxSide = {"size", 1, kMaxFactorLength, true};
constexpr ArgumentRule kSigma = {"sigma", 0, 500, false};
constexpr ArgumentRule kDenseSigma = {"sigma", 0, 42, false};
constexpr ArgumentRule kAmount = {"amount", 0, 100, false};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> kEntries = {
      {{"identity", "", "1: the picture as it is"}, identity_mask, 0, 0, {}},
      {{"box", ":W[,H]", "W x H times 1/(W H); H = W if left out"},
       box_mask,
       1,
       2,
       {kBoxSide, kBoxSide},
       Default::kFirstArgument},
      {{"gaussian", ":SIGMA[,SIGMA_Y]",
        "exp(-x^2/(2 SIGMA^2)) times the same in y, at whole pixels up to ceil(3 SIGMA), over the "
        "sum"},
       gaussian_mask,
       1,
       2,
       {kSigma, kSigma},
       Default::kFirstArgument},
      {{"binomial", ":N",
        "row of Pascal's triangle with N numbers, as column times row, over 4^(N-1)"},
       binomial_mask,
       1,
       1,
       {{"number of taps", 1, kMaxFactorLength, true}}},
      {{"disk", ":R", "exact area of each pixel within R pixels of the centre, over the sum"},
       disk_mask,
       1,
       1,
       {{"radius", 0.1, 127.5, false}}},
      {{"motion", ":LENGTH[,ANGLE]",
        "exact area of each pixel under a centred bar of LENGTH x 1 pixels, turned by ANGLE "
        "degrees "
        "counter-clockwise, over the sum"},
       motion_mask,
       1,
       2,
       {{"length", 1, 254, false}, {"angle", -360, 360, false}},
       Default::kZero},
      {{"laplacian", "", "0 -1 0; -1 4 -1; 0 -1 0"}, laplacian_mask, 0, 0, {}},
      {{"laplacian8", "", "-1 -1 -1; -1 8 -1; -1 -1 -1"}, laplacian8_mask, 0, 0, {}},
      {{"sharpen", "[:A]", "identity + A laplacian; A = 1 if left out"},
       sharpen_mask,
       0,
       1,
       {kAmount}},
      {{"unsharp", ":SIGMA[,A]", "identity + A (identity - gaussian:SIGMA); A = 1 if left out"},
       unsharp_mask,
       1,
       2,
       {kDenseSigma, kAmount},
       Default::kOne},
      {{"log", ":SIGMA",
        "(2 - r^2/SIGMA^2)/SIGMA^2 exp(-r^2/(2 SIGMA^2)) up to ceil(4 SIGMA), over the Gaussian's "
        "sum, "
        "less its mean: a smoothed laplacian"},
       log_mask,
       1,
       1,
       {{"sigma", 0.3, 31, false}}},
      {{"dog", ":S1,S2", "gaussian:S1 - gaussian:S2, less its mean"},
       dog_mask,
       2,
       2,
       {kDenseSigma, kDenseSigma}},
      {{"sobel-x", "", "-1 0 1; -2 0 2; -1 0 1"}, sobel_x_mask, 0, 0, {}},
      {{"sobel-y", "", "-1 -2 -1; 0 0 0; 1 2 1"}, sobel_y_mask, 0, 0, {}},
      {{"prewitt-x", "", "-1 0 1; -1 0 1; -1 0 1"}, prewitt_x_mask, 0, 0, {}},
      {{"prewitt-y", "", "-1 -1 -1; 0 0 0; 1 1 1"}, prewitt_y_mask, 0, 0, {}},
      {{"scharr-x", "", "-3 0 3; -10 0 10; -3 0 3"}, scharr_x_mask, 0, 0, {}},
      {{"scharr-y", "", "-3 -10 -3; 0 0 0; 3 10 3"}, scharr_y_mask, 0, 0, {}},
      {{"emboss", "", "-2 -1 0; -1 1 1; 0 1 2"}, emboss_mask, 0, 0, {}},
  };
  return kEntries;
}

/// Insertions, deletions and replacements that turn `a` into `b`, blind to case (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char c = static_cast<char>(a[i] >= 'A' && a[i] <= 'Z' ? a[i] - 'A' + 'a' : a[i]);
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (c == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

Status unknown_name(std::string_view name) {
  std::string message = "no mask is called " + quoted(name);
  // Long names are no slips of the finger, and the distance would be slow to find.
  if (name.size() <= kMaxQuotation) {
    std::string nearest;
    std::size_t best = name.size() / 2 + 1;
    for (const Entry& entry : entries()) {
      const std::size_t distance = edit_distance(name, entry.mask.name);
      if (distance >= best) continue;
      best = distance;
      nearest = entry.mask.name;
    }
    if (!nearest.empty()) message += "; did you mean '" + nearest + "'?";
  }
  message += " Known:";
  for (const Entry& entry : entries())
    message += std::string(" ") + entry.mask.name;
  return invalid_argument(message);
}

Status check_argument(const Entry& entry, double value, const ArgumentRule& rule) {
  if (std::isfinite(value) && value >= rule.low && value <= rule.high &&
      (!rule.whole || value == std::floor(value)))
    return {};
  return invalid_argument("'" + shortest_text(value) + "' as " + rule.name + " of " +
                          entry.mask.name + entry.mask.arguments + " is not " +
                          (rule.whole ? "a whole number " : "") + "within " +
                          shortest_text(rule.low) + " .. " + shortest_text(rule.high));
}

double default_value(const Entry& entry, const std::vector<double>& arguments) {
  if (arguments.empty()) return 1;
  if (entry.second == Default::kFirstArgument) return arguments[0];
  return entry.second == Default::kOne ? 1 : 0;
}

}  // namespace

const std::vector<NamedMask>& named_masks() {
  static const std::vector<NamedMask> kMasks = [] {
    std::vector<NamedMask> masks;
    for (const Entry& entry : entries())
      masks.push_back(entry.mask);
    return masks;
  }();
  return kMasks;
}

Result<MaskSource> make_named_mask(std::string_view name, const std::vector<double>& arguments,
                                   int* wrong) {
  if (wrong != nullptr) *wrong = -1;
  const auto entry = std::find_if(entries().begin(), entries().end(),
                                  [name](const Entry& e) { return name == e.mask.name; });
  if (entry == entries().end()) return unknown_name(name);
  const int count = static_cast<int>(std::min<std::size_t>(arguments.size(), 1000));
  if (count < entry->required || count > entry->count)
    return invalid_argument("'" + std::string(entry->mask.name) + "' is written " +
                            entry->mask.name + entry->mask.arguments + ", not with " +
                            std::to_string(count) + (count == 1 ? " argument" : " arguments"));
  for (int i = 0; i < count; ++i) {
    const Status status =
        check_argument(*entry, arguments[static_cast<std::size_t>(i)], entry->rules[i]);
    if (status.ok()) continue;
    if (wrong != nullptr) *wrong = i;
    return status;
  }
  std::vector<double> all = arguments;
  while (static_cast<int>(all.size()) < entry->count)
    all.push_back(default_value(*entry, all));
  return entry->formula(all);
}

}  // namespace convolve
