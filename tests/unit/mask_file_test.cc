// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks from files: texts, pictures, and what is no regular file.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "kernels/core/mask_grammar.h"

namespace convolve {
namespace {

class MaskFile : public testing::Test {
 protected:
  void SetUp() override {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/unit-mask-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    path_ = directory_ + "/mask";
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }

  Result<MaskSource> read(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return parse_mask("@" + path_);
  }
  std::vector<double> weights(const std::string& bytes) {
    const Result<MaskSource> mask = read(bytes);
    EXPECT_TRUE(mask.ok()) << mask.status().message();
    return mask.ok() ? mask.value().weights : std::vector<double>();
  }
  /// The message without "mask file 'PATH'", which must begin it.
  std::string error(const std::string& bytes) {
    const Result<MaskSource> mask = read(bytes);
    EXPECT_FALSE(mask.ok());
    return mask.ok() ? "" : rest_of(mask.status().message());
  }
  std::string rest_of(const std::string& message) {
    const std::string begin = "mask file '" + path_ + "'";
    EXPECT_EQ(message.substr(0, begin.size()), begin) << message;
    return message.size() < begin.size() ? "" : message.substr(begin.size());
  }

  std::string directory_, path_;
};

using Weights = std::vector<double>;

TEST_F(MaskFile, TextWithComments) {
  const Result<MaskSource> mask =
      read("# a blur\n\n3x3+0+0:  # anchored\n1 2 1 # top\n2 4 2\n1 2 1\n/ 16\n");
  ASSERT_TRUE(mask.ok()) << mask.status().message();
  EXPECT_EQ(mask.value().weights, (Weights{1, 2, 1, 2, 4, 2, 1, 2, 1}));
  EXPECT_EQ(mask.value().divisor, 16);
  EXPECT_EQ(mask.value().anchor_x, 0);
  EXPECT_EQ(weights("\xEF\xBB\xBF"
                    "1 2\r\n3 4\r\n"),
            (Weights{1, 2, 3, 4}));
  EXPECT_TRUE(read("gaussian:2 # soft\n").ok());
}

TEST_F(MaskFile, ErrorsNameThePlace) {
  EXPECT_EQ(error("1 2 1 # x\n2 x4 2\n").substr(0, 25), ", line 2, column 3: 'x4' ");
  EXPECT_EQ(error("").substr(0, 21), ", line 1, column 1: '");
  EXPECT_NE(error("# nothing\n").find("empty"), std::string::npos);
  EXPECT_NE(error("\n@other").find("line 2, column 1: '@other': a file cannot name another"),
            std::string::npos);
  EXPECT_NE(error("\x89PNG\r\n").find("'\\x89PNG' is not a number"), std::string::npos);
}

TEST_F(MaskFile, OnlyRegularFiles) {
  EXPECT_EQ(rest_of(parse_mask("@" + path_).status().message()), ": No such file or directory");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(rest_of(parse_mask("@" + path_).status().message()), ": not a regular file");
  EXPECT_NE(parse_mask("@" + directory_).status().message().find("a directory"), std::string::npos);
  EXPECT_NE(parse_mask("@/dev/zero").status().message().find("not a regular file"),
            std::string::npos);
  EXPECT_NE(parse_mask("@").status().message().find("missing"), std::string::npos);
}

TEST_F(MaskFile, FourMebibytes) {
  const std::string mask = "1 2 3 4";
  EXPECT_TRUE(read(mask + std::string((4u << 20) - mask.size(), ' ')).ok());
  EXPECT_EQ(error(mask + std::string((4u << 20) + 1 - mask.size(), ' ')),
            ": larger than the limit of 4194304 bytes");
}

// A point-spread function is turned: correlating with the mask convolves with the picture.
TEST_F(MaskFile, PlainPgm) {
  const Result<MaskSource> mask = read("P2 # psf\n3 2\n# depth\n255\n1 2 3\n4 5 255\n");
  ASSERT_TRUE(mask.ok()) << mask.status().message();
  EXPECT_EQ(mask.value().width, 3);
  EXPECT_EQ(mask.value().height, 2);
  EXPECT_EQ(mask.value().weights, (Weights{255, 5, 4, 3, 2, 1}));
  EXPECT_EQ(mask.value().anchor_x, 1);
  EXPECT_EQ(mask.value().anchor_y, 0) << "pixel (1, 1) of the picture, turned";
  EXPECT_FALSE(mask.value().normalized);
  EXPECT_FALSE(mask.value().divisor);
  EXPECT_DOUBLE_EQ(Mask::make(mask.value()).value().sum, 1);
}

TEST_F(MaskFile, BinaryPgm) {
  EXPECT_EQ(weights(std::string("P5 2 2 255\n\x00\x01\x80\xFF", 15)), (Weights{255, 128, 1, 0}));
  EXPECT_EQ(weights(std::string("P5\n2 1\n65535\n\x01\x02\xFF\xFE", 17)), (Weights{65534, 258}));
  EXPECT_EQ(weights("P5 1 1 255\n#\n"), (Weights{35})) << "no comments among binary samples";
}

TEST_F(MaskFile, BrokenPgm) {
  EXPECT_NE(error("P2 2 2 255\n1 2 3").find("ends before its sample"), std::string::npos);
  EXPECT_NE(error("P2 2 2 255\n1 2 3 300").find("line 2, column 7: '300'"), std::string::npos);
  EXPECT_NE(error("P2 1 1 255\n1 2").find("'2' after the last sample"), std::string::npos);
  EXPECT_NE(error("P2 256 1 255\n").find("'256' as width is not within 1 .. 255"),
            std::string::npos);
  EXPECT_NE(error("P2 1 1 65536\n1").find("largest value"), std::string::npos);
  EXPECT_NE(error("P2 -1 1 255\n1").find("width"), std::string::npos);
  EXPECT_NE(error("P5 2 2 255\nabc").find("3 bytes of samples, the picture's size asks for 4"),
            std::string::npos);
  EXPECT_NE(error("P5 2 2 255\nabcde").find("5 bytes"), std::string::npos);
  EXPECT_NE(error("P5 2 1 100\na\x7F").find("sample 2 is 127"), std::string::npos);
  EXPECT_NE(error("P5 2").find("ends before its height"), std::string::npos);
  EXPECT_NE(error("P6 1 1 255\nabc").find("grey picture"), std::string::npos);
}

std::string float_bytes(float value, bool little_endian) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  std::string bytes;
  for (int i = 0; i < 4; ++i)
    bytes += static_cast<char>(bits >> 8 * (little_endian ? i : 3 - i) & 0xFF);
  return bytes;
}

// Rows come bottom-up, so the file's order is that of the turned picture but for the columns.
TEST_F(MaskFile, Pfm) {
  for (bool little : {true, false}) {
    std::string bytes = little ? "Pf\n2 2\n-1.0\n" : "Pf\n2 2\n1.0\n";
    for (float v : {0.25f, 0.5f, -1.5f, 2.f})
      bytes += float_bytes(v, little);
    EXPECT_EQ(weights(bytes), (Weights{0.5, 0.25, 2, -1.5}));
  }
}

TEST_F(MaskFile, BrokenPfm) {
  const std::string one = float_bytes(1, true);
  EXPECT_NE(error("Pf\n1 1\n0\n" + one).find("scale"), std::string::npos);
  EXPECT_NE(error("Pf\n1 1\nx\n" + one).find("line 3, column 1: 'x'"), std::string::npos);
  EXPECT_NE(error("Pf\n2 1\n-1\n" + one).find("4 bytes of samples"), std::string::npos);
  EXPECT_NE(error("PF\n1 1\n-1\n" + one + one + one).find("grey"), std::string::npos);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_NE(error("Pf\n1 2\n-1\n" + one + float_bytes(infinity, true)).find("column 1 of row 1"),
            std::string::npos);
  EXPECT_NE(error("Pf\n1 1\n-1\n" + float_bytes(3e38f, true)).find("1e38"), std::string::npos);
}

}  // namespace
}  // namespace convolve
