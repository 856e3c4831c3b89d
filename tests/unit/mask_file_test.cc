// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks from files: texts, pictures, and what is no regular file.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "kernels/core/mask/mask_grammar.h"

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
  EXPECT_EQ(error("1 2 1 # x\n2 x4 2\n").substr(0, 36), ", line 2, column 3: what stands here");
  EXPECT_EQ(error("").substr(0, 21), ", line 1, column 1: '");
  EXPECT_NE(error("# nothing\n").find("empty"), std::string::npos);
  EXPECT_NE(error("\n@other").find("line 2, column 1: what stands here: a file cannot"),
            std::string::npos);
  EXPECT_NE(error("\x89PNG\r\n").find("what stands here is not a number"), std::string::npos);
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
  EXPECT_NE(error("P2 2 2 255\n1 2 3 300").find("line 2, column 7: the sample is not within"),
            std::string::npos);
  EXPECT_NE(error("P2 1 1 255\n1 2").find("something stands after the last sample"),
            std::string::npos);
  EXPECT_NE(error("P2 256 1 255\n").find("the width is not within 1 .. 255"), std::string::npos);
  EXPECT_NE(error("P2 1 1 65536\n1").find("largest value"), std::string::npos);
  EXPECT_NE(error("P2 -1 1 255\n1").find("width"), std::string::npos);
  EXPECT_NE(error("P5 2 2 255\nabc").find("not as many bytes of samples"), std::string::npos);
  EXPECT_NE(error("P5 2 2 255\nabcde").find("not as many bytes of samples"), std::string::npos);
  EXPECT_NE(error("P5 2 1 100\na\x7F").find("sample 2 is beyond"), std::string::npos);
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
  EXPECT_NE(error("Pf\n1 1\nx\n" + one).find("line 3, column 1: the scale is not"),
            std::string::npos);
  EXPECT_NE(error("Pf\n2 1\n-1\n" + one).find("not as many bytes of samples"), std::string::npos);
  EXPECT_NE(error("PF\n1 1\n-1\n" + one + one + one).find("grey"), std::string::npos);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_NE(error("Pf\n1 2\n-1\n" + one + float_bytes(infinity, true)).find("column 1 of row 1"),
            std::string::npos);
  EXPECT_NE(error("Pf\n1 1\n-1\n" + float_bytes(3e38f, true)).find("1e38"), std::string::npos);
}

/// What a file is refused for. All of it that is no more than syntax is a secret.
struct Refusal {
  std::string bytes;
  std::string message;  ///< Behind "mask file 'PATH'".
};

std::vector<Refusal> refusals() {
  const std::string here = "what stands here";
  std::vector<Refusal> all = {
      // Numbers.
      {"7531 root:x:0:0", ", line 1, column 6: " + here + " is not a number"},
      {"7531 -inf 2468", ", line 1, column 6: " + here + " is refused: numbers are finite"},
      {"7531 0xdeadbeef",
       ", line 1, column 6: " + here + " is not a number: hexadecimal is not accepted"},
      {"7531 86427/", ", line 1, column 6: " + here +
                          " is not a number: a ratio such as 1/9 has no blank in it, and a divisor "
                          "comes last, as '/ 9' after a blank"},
      {"7531 86427/pqr", ", line 1, column 6: " + here +
                             " is not a number: a ratio is made of two whole numbers, as 1/9 or "
                             "-1/9"},
      {"7531 5/86427975318642797531", ", line 1, column 6: " + here +
                                          " is out of range: the parts of a ratio go up to "
                                          "9007199254740992"},
      {"7531 86427/0", ", line 1, column 6: " + here + " divides by 0"},
      {"7531 4826x7", ", line 1, column 6: " + here +
                          " is not a number; a size is followed by ':', as in 3x3: 1 2 1 ..."},
      {"7531 8642e97", ", line 1, column 6: " + here +
                           " is out of range: numbers are 0, or 4.9e-324 to 1e38 in magnitude"},
      // Sizes.
      {"4826: 7531",
       ", line 1, column 1: " + here + " is not a size: write width x height, as in 3x3:"},
      {"-482x3: 7531", ", line 1, column 1: " + here + " is not a size: write WxH: or WxH+X+Y:"},
      {"3-482x: 7531", ", line 1, column 1: " + here + " is not a size: write WxH: or WxH+X+Y:"},
      {"482x3: 7531", ", line 1, column 1: " + here + " as a mask's width is not within 1 .. 255"},
      {"3x482: 7531", ", line 1, column 3: " + here + " as a mask's height is not within 1 .. 255"},
      {"3x3x482: 7531",
       ", line 1, column 1: " + here + ": masks in time, WxHxT:, are reserved for a later version"},
      {"3x3+482+1: 7531", ", line 1, column 4: the anchor lies outside the mask"},
      {"3x3+1+482: 7531", ", line 1, column 4: the anchor lies outside the mask"},
      {"3x3+1-482: 7531", ", line 1, column 4: " + here + " is not a size: write WxH: or WxH+X+Y:"},
      {"3x3+1+1+482: 7531",
       ", line 1, column 4: " + here + " is not a size: write WxH: or WxH+X+Y:"},
      // Separators.
      {"7531,,8642", ", line 1, column 6: ',': a number is missing between two commas"},
      {"7531;;8642", ", line 1, column 6: ';': a row without numbers"},
      {"7531,;8642", ", line 1, column 6: ';': a comma beside a row's end"},
      {"7531;,8642", ", line 1, column 6: ',': a comma beside a row's end"},
      {",7531", ", line 1, column 1: ',' before the first number"},
      {";7531", ", line 1, column 1: ';' before the first number"},
      {"7531,\n8642",
       ", line 1, column 5: ',' at the end of a line: the line's end separates rows "
       "by itself"},
      {"7531 | 8642", ", line 1, column 6: '|': lists of masks are reserved for a later version"},
      // Divisors.
      {"7531,/ 8642",
       ", line 1, column 6: '/': a divisor comes last and has a blank before its "
       "'/'"},
      {"/ 8642", ", line 1, column 1: '/': a divisor without weights before it"},
      {"7531 /", ", line 1, column 7: the divisor after '/' is missing"},
      {"7531 / secret", ", line 1, column 8: " + here + " is not a number"},
      {"7531 / 0.000", ", line 1, column 8: " + here + " as divisor: it is 0"},
      {"7531 / 8642 secret",
       ", line 1, column 13: " + here + " after the divisor, which comes last"},
      {"7531 8642 97531 86427/482",
       ", line 1, column 17: " + here +
           ", a lone ratio after whole numbers: if it is a divisor, write a blank before '/'; if "
           "not, write it as a decimal"},
      // Shapes.
      {"7531 8642; 975", ", line 1, column 12: the row is not as long as the first"},
      {"2x2: 7531 8642; 975", ", line 1, column 17: the row is not as long as the size says"},
      {"2x1: 7531 8642; 975 864",
       ", line 1, column 17: the last row: there are not as many as the size says"},
      {"123x45: 7531",
       ", line 1, column 13: the last number: there are not as many as the size asks for"},
      {"7531 8642",
       ", line 1, column 1: the numbers are no square: give each row a line or write "
       "the size first"},
      // Names.
      {"secretpassword", ", line 1, column 1: no mask has this name and that many arguments"},
      {"sobel-x:7531", ", line 1, column 1: no mask has this name and that many arguments"},
      {"gaussian:7531", ", line 1, column 10: this argument is not within its range"},
      {"box:3,97531", ", line 1, column 7: this argument is not within its range"},
      {"gaussian:secret", ", line 1, column 10: " + here + " is not a number"},
      {"secretname:1,,2", ", line 1, column 14: an argument is missing"},
      {"secretname:1,2,3,4,5,6,7,8,7531", ", line 1, column 28: one argument too many"},
      {"secretname password",
       ", line 1, column 12: after the name of a mask its arguments follow a ':'"},
      {"secretname | password",
       ", line 1, column 12: '|': lists of masks are reserved for a later version"},
      {"secretname: 7531 | password",
       ", line 1, column 18: '|': lists of masks are reserved for a later version"},
      {"@secretpath", ", line 1, column 1: " + here + ": a file cannot name another file"},
      // Pictures.
      {"P6 7531 8642", ", line 1, column 1: a mask is a grey picture: PGM (P2, P5) or PFM (Pf)"},
      {"P2 secret", ", line 1, column 4: what stands here is no width"},
      {"P2 7531", ", line 1, column 4: the width is not within 1 .. 255"},
      {"P2 3 secret", ", line 1, column 6: what stands here is no height"},
      {"P2 3 7531", ", line 1, column 6: the height is not within 1 .. 255"},
      {"P2 3 3 secret", ", line 1, column 8: what stands here is no largest value"},
      {"P2 3 3 97531", ", line 1, column 8: the largest value is not within 1 .. 65535"},
      {"P2 2 1 7531 864 secret", ", line 1, column 17: what stands here is no sample"},
      {"P2 2 1 7531 864 8642",
       ", line 1, column 17: the sample is not within 0 .. the largest value"},
      {"P2 2 1 7531 864", ", line 1, column 16: the picture ends before its sample"},
      {"P2 1 1 7531 864 secret", ", line 1, column 17: something stands after the last sample"},
      {"P5 3 3 255\nsecret", ": not as many bytes of samples as the picture's size asks for"},
      {"P5 3 1 97\nabz", ": sample 2 is beyond the largest value"},
      {"Pf 3 1 secret\n", ", line 1, column 8: the scale is not a number"},
      {"Pf 3 1 0.000\n", ", line 1, column 8: the scale is 0"},
      {"Pf 3 1 -1\nsecret", ": not as many bytes of samples as the picture's size asks for"},
      {"Pf 1 1 1\n" + float_bytes(3e38f, false),
       ": the sample in column 1 of row 1 is not a number within +-1e38"},
  };
  std::string many = "7531";
  for (int n = 0; n < 255 * 255; ++n)
    many += " 8642";
  all.push_back({many, ", line 1, column " + std::to_string(many.size() - 3) + ": " + here +
                           " is one number too many: a mask has at most 255 x 255"});
  std::string wide = "7531";
  for (int n = 0; n < 255; ++n)
    wide += " 8642";
  all.push_back({wide + "\n" + wide, ", line 1, column 1: the mask is larger than 255 a side"});
  return all;
}

TEST_F(MaskFile, NoErrorRepeatsWhatIsInIt) {
  for (const Refusal& refusal : refusals()) {
    SCOPED_TRACE(refusal.bytes.substr(0, 60));
    const std::string message = error(refusal.bytes);
    EXPECT_EQ(message, refusal.message);
    const std::string words = message.substr(std::min(message.find(": "), message.size()));
    for (const char* secret : {"753", "531", "864", "642", "975", "482", "sec", "cret", "pass",
                               "dead", "beef", "root", "pqr", "abz", "3e38"})
      EXPECT_EQ(words.find(secret), std::string::npos) << secret << " in " << message;
  }
}

/// What is wrong with the values shows only when the mask is made.
TEST_F(MaskFile, NoErrorOfItsMaskRepeatsWhatIsInIt) {
  for (const char* bytes : {"1e38 1e38 1e38 1e38 / 0.0007531",
                            "1e-300 1e-300 1e-300 1e-300 / 7531e30", "7531 -7531 8642 -8642"}) {
    const Result<MaskSource> source = read(bytes);
    ASSERT_TRUE(source.ok()) << source.status().message();
    const Result<Mask> mask = Mask::make(source.value(), Normalize::kSum);
    const Result<Mask> typed = Mask::make(source.value());
    ASSERT_FALSE(mask.ok() && typed.ok()) << bytes;
    const std::string message = mask.ok() ? typed.status().message() : mask.status().message();
    EXPECT_EQ(message.find("7531"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace convolve
