// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_picture.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "kernels/core/mask/mask_source.h"

namespace convolve {
namespace {

constexpr int kMaxSample = 65535;

constexpr char kSides[] = "1 .. 255";
static_assert(kMaxMaskSide == 255, "the messages say so");

bool is_space(char c) {
  return is_blank(c) || is_line_break(c) || c == '\v' || c == '\f';
}

/// Reads the header's words one by one.
class PictureReader {
 public:
  explicit PictureReader(const MaskText& in) : in_(in), at_(2) {}

  std::size_t offset() const { return at_; }

  /// The next word, after white space and (in PGM) comments.
  std::string_view word(bool comments) {
    while (at_ < in_.text.size()) {
      if (is_space(in_.text[at_])) {
        ++at_;
      } else if (comments && in_.text[at_] == '#') {
        while (at_ < in_.text.size() && !is_line_break(in_.text[at_]))
          ++at_;
      } else {
        break;
      }
    }
    begin_ = at_;
    while (at_ < in_.text.size() && !is_space(in_.text[at_]) && !(comments && in_.text[at_] == '#'))
      ++at_;
    return in_.text.substr(begin_, at_ - begin_);
  }

  /// A whole number of `low` .. `high`, of which `range` tells the user.
  Result<int> whole(const char* what, int low, int high, const char* range, bool comments) {
    const std::string_view text = word(comments);
    int value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty()) return error({"the picture ends before its ", what});
    if (read.ec == std::errc::invalid_argument || read.ptr != text.data() + text.size())
      return error({"what stands here is no ", what});
    if (read.ec != std::errc() || value < low || value > high)
      return error({"the ", what, " is not within ", range});
    return value;
  }

  /// The single white space between header and binary samples.
  std::string_view raster() {
    return at_ < in_.text.size() ? in_.text.substr(at_ + 1) : std::string_view();
  }

  /// At the word read last.
  Status error(std::initializer_list<const char*> words) const { return in_.error(begin_, words); }

 private:
  const MaskText& in_;
  std::size_t at_;
  std::size_t begin_ = 0;
};

Status check_raster(const MaskText& in, std::string_view raster, std::size_t expected) {
  if (raster.size() >= expected &&
      std::all_of(raster.begin() + static_cast<std::ptrdiff_t>(expected), raster.end(), is_space))
    return {};
  return invalid_argument(in.origin +
                          ": not as many bytes of samples as the picture's size asks for");
}

Result<MaskSource> parse_pgm(const MaskText& in) {
  PictureReader reader(in);
  const Result<int> width = reader.whole("width", 1, kMaxMaskSide, kSides, true);
  if (!width.ok()) return width.status();
  const Result<int> height = reader.whole("height", 1, kMaxMaskSide, kSides, true);
  if (!height.ok()) return height.status();
  const Result<int> largest = reader.whole("largest value", 1, kMaxSample, "1 .. 65535", true);
  if (!largest.ok()) return largest.status();

  MaskSource mask;
  mask.width = width.value();
  mask.height = height.value();
  const std::size_t count =
      static_cast<std::size_t>(mask.width) * static_cast<std::size_t>(mask.height);
  if (in.text[1] == '2') {
    while (mask.weights.size() < count) {
      const Result<int> sample =
          reader.whole("sample", 0, largest.value(), "0 .. the largest value", true);
      if (!sample.ok()) return sample.status();
      mask.weights.push_back(sample.value());
    }
    if (const std::string_view rest = reader.word(true); !rest.empty())
      return reader.error({"something stands after the last sample"});
    return mask;
  }
  const std::size_t bytes = largest.value() > 255 ? 2 : 1;
  const std::string_view raster = reader.raster();
  if (Status status = check_raster(in, raster, count * bytes); !status.ok()) return status;
  for (std::size_t i = 0; i < count; ++i) {
    int sample = static_cast<unsigned char>(raster[i * bytes]);
    if (bytes == 2) sample = sample << 8 | static_cast<unsigned char>(raster[i * bytes + 1]);
    if (sample > largest.value())
      return invalid_argument(in.origin + ": sample " + std::to_string(i + 1) +
                              " is beyond the largest value");
    mask.weights.push_back(sample);
  }
  return mask;
}

float decode_float(const char* bytes, bool little_endian) {
  std::uint32_t bits = 0;
  for (int i = 0; i < 4; ++i)
    bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i]))
            << (8 * (little_endian ? i : 3 - i));
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

Result<MaskSource> parse_pfm(const MaskText& in) {
  PictureReader reader(in);
  const Result<int> width = reader.whole("width", 1, kMaxMaskSide, kSides, false);
  if (!width.ok()) return width.status();
  const Result<int> height = reader.whole("height", 1, kMaxMaskSide, kSides, false);
  if (!height.ok()) return height.status();
  const std::string_view word = reader.word(false);
  const ReadNumber scale = parse_number(word);
  if (!scale.ok()) return reader.error({"the scale", scale.fault});
  if (scale.number.value == 0) return reader.error({"the scale is 0"});

  MaskSource mask;
  mask.width = width.value();
  mask.height = height.value();
  const std::string_view raster = reader.raster();
  const std::size_t row = static_cast<std::size_t>(mask.width);
  const std::size_t rows = static_cast<std::size_t>(mask.height);
  if (Status status = check_raster(in, raster, row * rows * 4); !status.ok()) return status;
  for (std::size_t y = rows; y-- > 0;)
    for (std::size_t x = 0; x < row; ++x) {
      const float sample = decode_float(&raster[(y * row + x) * 4], scale.number.value < 0);
      if (!std::isfinite(sample) || std::fabs(static_cast<double>(sample)) > kMaxWeight)
        return invalid_argument(in.origin + ": the sample in column " + std::to_string(x + 1) +
                                " of row " + std::to_string(rows - y) +
                                " is not a number within +-1e38");
      mask.weights.push_back(static_cast<double>(sample));
    }
  return mask;
}

}  // namespace

bool is_mask_picture(std::string_view bytes) {
  return bytes.size() >= 3 && bytes[0] == 'P' && is_space(bytes[2]) &&
         std::string_view("1234567fF").find(bytes[1]) != std::string_view::npos;
}

Result<MaskSource> parse_mask_picture(const MaskText& in) {
  const std::string_view magic = in.text.substr(0, 2);
  if (magic != "P2" && magic != "P5" && magic != "Pf")
    return in.error(0, {"a mask is a grey picture: PGM (P2, P5) or PFM (Pf)"});
  Result<MaskSource> mask = magic == "Pf" ? parse_pfm(in) : parse_pgm(in);
  if (!mask.ok()) return mask;
  mask.value().anchor_x = mask.value().width / 2;
  mask.value().anchor_y = mask.value().height / 2;
  return rotated(std::move(mask.value()));
}

}  // namespace convolve
