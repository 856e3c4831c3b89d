// SPDX-License-Identifier: LGPL-2.1-or-later
// The text form of masks: what is read as what, and what is refused where and why.
#include "kernels/core/mask/mask_grammar.h"

#include <gtest/gtest.h>

#include <ostream>

namespace convolve {
namespace {

struct Accepted {
  const char* text;
  int width;
  int height;
  std::vector<double> weights;
  double divisor = 0;  ///< 0 = none.
};

std::ostream& operator<<(std::ostream& out, const Accepted& c) {
  return out << testing::PrintToString(std::string(c.text));
}

class Accepts : public testing::TestWithParam<Accepted> {};

TEST_P(Accepts, Text) {
  const Result<MaskSource> mask = parse_mask(GetParam().text);
  ASSERT_TRUE(mask.ok()) << mask.status().message();
  EXPECT_EQ(mask.value().width, GetParam().width);
  EXPECT_EQ(mask.value().height, GetParam().height);
  EXPECT_EQ(mask.value().weights, GetParam().weights);
  EXPECT_EQ(mask.value().divisor.value_or(0), GetParam().divisor);
  EXPECT_EQ(mask.value().anchor_x, GetParam().width / 2);
  EXPECT_EQ(mask.value().anchor_y, GetParam().height / 2);
  EXPECT_FALSE(mask.value().normalized);
}

INSTANTIATE_TEST_SUITE_P(
    Squares, Accepts,
    testing::Values(Accepted{"1", 1, 1, {1}}, Accepted{"  1\n", 1, 1, {1}},
                    Accepted{"0 -1 0 -1 5 -1 0 -1 0", 3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}},
                    Accepted{"1,2,3,4", 2, 2, {1, 2, 3, 4}},
                    Accepted{"1, 2 ,3 , 4", 2, 2, {1, 2, 3, 4}},
                    Accepted{"1\t2\t3\t4", 2, 2, {1, 2, 3, 4}},
                    Accepted{"1,2,3,4,", 2, 2, {1, 2, 3, 4}},
                    Accepted{"1 2 3 4;", 2, 2, {1, 2, 3, 4}}));

INSTANTIATE_TEST_SUITE_P(
    Rows, Accepts,
    testing::Values(Accepted{"1 2 1; 2 4 2", 3, 2, {1, 2, 1, 2, 4, 2}},
                    Accepted{"1 2 1;2 4 2;", 3, 2, {1, 2, 1, 2, 4, 2}},
                    Accepted{"1 2 1\n2 4 2\n", 3, 2, {1, 2, 1, 2, 4, 2}},
                    Accepted{"1 2 1\r\n2 4 2\r\n", 3, 2, {1, 2, 1, 2, 4, 2}},
                    Accepted{"\n\n1 2;\n\n3 4\n\n", 2, 2, {1, 2, 3, 4}},
                    Accepted{"1 2\n; 3 4", 2, 2, {1, 2, 3, 4}}, Accepted{"1;2;3", 1, 3, {1, 2, 3}},
                    Accepted{"9x1: 1 1 1 1 1 1 1 1 1", 9, 1, std::vector<double>(9, 1)},
                    Accepted{"1x4:1,2,3,4", 1, 4, {1, 2, 3, 4}},
                    Accepted{" 3x2:\n1 2 1\n2 4 2\n", 3, 2, {1, 2, 1, 2, 4, 2}},
                    Accepted{"03x02: 1 2 1 2 4 2", 3, 2, {1, 2, 1, 2, 4, 2}}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, Accepts,
    testing::Values(Accepted{"0.1 .5; 2. +3", 2, 2, {0.1, 0.5, 2, 3}},
                    Accepted{"1e-3 2E+3; -4e0 +.5e1", 2, 2, {0.001, 2000, -4, 5}},
                    Accepted{"1/9 -1/9; +1/3 0/5", 2, 2, {1.0 / 9, -1.0 / 9, 1.0 / 3, 0}},
                    Accepted{"1e38 -1e38; 5e-324 0", 2, 2, {1e38, -1e38, 5e-324, 0}},
                    Accepted{"1/9", 1, 1, {1.0 / 9}}, Accepted{"2x1: 0.5 1/2", 2, 1, {0.5, 0.5}},
                    Accepted{"2x1: 1/2 1", 2, 1, {0.5, 1}}));

INSTANTIATE_TEST_SUITE_P(
    Divisors, Accepts,
    testing::Values(Accepted{"1 2 1; 2 4 2; 1 2 1 / 16", 3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, 16},
                    Accepted{"1 2; 3 4 /10", 2, 2, {1, 2, 3, 4}, 10},
                    Accepted{"1 2\n3 4\n/ 10\n", 2, 2, {1, 2, 3, 4}, 10},
                    Accepted{"1 2; 3 4; / 10", 2, 2, {1, 2, 3, 4}, 10},
                    Accepted{"1 2 3 4 / 2.5", 2, 2, {1, 2, 3, 4}, 2.5},
                    Accepted{"1 2 3 4 / 1/3", 2, 2, {1, 2, 3, 4}, 1.0 / 3},
                    Accepted{"1 2 3 4 / -1e1", 2, 2, {1, 2, 3, 4}, -10},
                    Accepted{"2x1: 1/2 1/3 / 2", 2, 1, {0.5, 1.0 / 3}, 2}));

TEST(Grammar, Anchors) {
  const Result<MaskSource> mask = parse_mask("3x2+2+0: 1 2 3 4 5 6");
  ASSERT_TRUE(mask.ok());
  EXPECT_EQ(mask.value().anchor_x, 2);
  EXPECT_EQ(mask.value().anchor_y, 0);
}

TEST(Grammar, Names) {
  ASSERT_TRUE(parse_mask("sobel-x").ok());
  ASSERT_TRUE(parse_mask(" gaussian:2 \n").ok());
  const Result<MaskSource> motion = parse_mask("motion: 15 , 90");
  ASSERT_TRUE(motion.ok());
  EXPECT_EQ(motion.value().height, 15);
  EXPECT_EQ(motion.value().width, 1);
  EXPECT_TRUE(motion.value().normalized);
  ASSERT_TRUE(parse_mask("sharpen:1/3").ok());
}

TEST(Grammar, TheLargestSquare) {
  std::string text;
  for (int i = 0; i < 255 * 255; ++i)
    text += "1 ";
  EXPECT_TRUE(parse_mask(text).ok());
  const Result<MaskSource> more = parse_mask(text + "1");
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.status().message().find("column 130051: '1' is one number too many"),
            std::string::npos)
      << more.status().message();
}

struct Refused {
  const char* text;
  int line;
  int column;
  const char* says;  ///< Part of the message.
};

std::ostream& operator<<(std::ostream& out, const Refused& c) {
  return out << testing::PrintToString(std::string(c.text));
}

class Refuses : public testing::TestWithParam<Refused> {};

TEST_P(Refuses, Text) {
  const Result<MaskSource> mask = parse_mask(GetParam().text);
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.status().code(), Code::kInvalidArgument);
  const std::string place = "line " + std::to_string(GetParam().line) + ", column " +
                            std::to_string(GetParam().column) + ": ";
  EXPECT_EQ(mask.status().message().substr(0, place.size()), place) << mask.status().message();
  EXPECT_NE(mask.status().message().find(GetParam().says), std::string::npos)
      << mask.status().message();
  EXPECT_EQ(mask.status().message().find('\n'), std::string::npos) << "one line";
}

INSTANTIATE_TEST_SUITE_P(Separators, Refuses,
                         testing::Values(Refused{"", 1, 1, "empty"},
                                         Refused{" \n\t", 1, 1, "empty"},
                                         Refused{"1,,2", 1, 3, "',': a number is missing"},
                                         Refused{"1 , , 2", 1, 5, "a number is missing"},
                                         Refused{",1", 1, 1, "before the first number"},
                                         Refused{"; 1", 1, 1, "before the first number"},
                                         Refused{"1 2;; 3 4", 1, 5, "a row without numbers"},
                                         Refused{"1 2;\n;3 4", 2, 1, "a row without numbers"},
                                         Refused{"1 2 1;;", 1, 7, "a row without numbers"},
                                         Refused{"1 2,; 3 4", 1, 5, "beside a row's end"},
                                         Refused{"1 2;, 3 4", 1, 5, "beside a row's end"},
                                         Refused{"1, 2,\n3, 4", 1, 5, "end of a line"},
                                         Refused{"1 2|3 4", 1, 4, "reserved"},
                                         Refused{"sobel-x | sobel-y", 1, 9, "reserved"},
                                         Refused{"gaussian:2|box:3", 1, 11, "reserved"}));

INSTANTIATE_TEST_SUITE_P(
    Shapes, Refuses,
    testing::Values(
        Refused{"1 2 3", 1, 1, "3 numbers are no square"}, Refused{"1 2 1;", 1, 1, "no square"},
        Refused{"1 2 3; 4 5", 1, 8, "row 2 has 2 numbers, row 1 has 3"},
        Refused{"1 2\n3 4\n5 6 7", 3, 1, "row 3 has 3 numbers, row 1 has 2"},
        Refused{"1 2; 3", 1, 6, "row 2 has 1 number, row 1 has 2"},
        Refused{"3x3: 1 2 3", 1, 11, "3 numbers, the size 3x3 asks for 9"},
        Refused{"3x3: 1", 1, 7, "1 number, the size 3x3 asks for 9"},
        Refused{"3x3:", 1, 5, "0 numbers"},
        Refused{"3x3: 1 2 3; 4 5 6", 1, 13, "2 rows, the size says 3"},
        Refused{"9x1: 1 1 1; 1 1 1; 1 1 1", 1, 6, "row 1 has 3 numbers, the size says 9"},
        Refused{"3x1: 0,5 1 0,5", 1, 15, "5 numbers, the size 3x1 asks for 3; if a comma"},
        Refused{"0,5; 1; 0,5", 1, 6, "if a comma was meant as the decimal mark"},
        Refused{"300x300: 1", 1, 1, "'300' as a mask's width is not within 1 .. 255"},
        Refused{"3x256: 1", 1, 3, "'256' as a mask's height"},
        Refused{"0x3: 1", 1, 1, "not within 1 .. 255"},
        Refused{"99999999999999999999x3: 1", 1, 1, "not within 1 .. 255"},
        Refused{"3x3x3: 1", 1, 1, "reserved"}, Refused{"3x: 1", 1, 1, "is not a size"},
        Refused{"9: 1", 1, 1, "is not a size"},
        Refused{"3x3 1 2 3", 1, 1, "'3x3' is not a number; a size is followed by ':'"},
        Refused{"3x3+3+0: 1", 1, 4, "column is not within 0 .. 2"},
        Refused{"3x3+0+3: 1", 1, 4, "row is not within 0 .. 2"},
        Refused{"3x3-1+0: 1", 1, 4, "is not a size"}, Refused{"3x3+1: 1", 1, 4, "is not a size"},
        Refused{"3x3+1+1+1: 1", 1, 4, "is not a size"}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, Refuses,
    testing::Values(
        Refused{"nan", 1, 1, "'nan' is refused"}, Refused{"1 NaN 2 3", 1, 3, "'NaN'"},
        Refused{"-inf 1 2 3", 1, 1, "'-inf' is refused"},
        Refused{"1 2 3 Infinity", 1, 7, "'Infinity' is refused"},
        Refused{"1e999", 1, 1, "'1e999' is out of range"},
        Refused{"1.0001e38", 1, 1, "out of range"}, Refused{"1e-400", 1, 1, "out of range"},
        Refused{"0x10", 1, 1, "hexadecimal"}, Refused{"1 -0XA", 1, 3, "hexadecimal"},
        Refused{"1 2 x 4", 1, 5, "'x' is not a number"},
        Refused{"1 +-2", 1, 3, "'+-2' is not a number"}, Refused{"1 --2", 1, 3, "not a number"},
        Refused{"- 1", 1, 1, "not a number"}, Refused{"1e", 1, 1, "not a number"},
        Refused{"1.2.3", 1, 1, "not a number"}, Refused{".", 1, 1, "not a number"},
        Refused{"1 2:3", 1, 3, "not a number"}, Refused{"1 1.5/2", 1, 3, "two whole numbers"},
        Refused{"1 1/-2", 1, 3, "two whole numbers"}, Refused{"1 1/2/3", 1, 3, "two whole numbers"},
        Refused{"1 1/0", 1, 3, "'1/0' divides by 0"},
        Refused{"1 1/9007199254740993", 1, 3, "out of range"},
        Refused{"1 2 # 3", 1, 5, "'#' is not a number"},
        Refused{"1 \xE2\x88\x92"
                "1",
                1, 3, "is not a number"},
        Refused{"\xC3\xA4 \xC3\xA4", 1, 1, "is not a number"},
        Refused{"1 \xC3\xA4\xC3\xA4 x", 1, 3, "is not a number"}));

INSTANTIATE_TEST_SUITE_P(
    Divisors, Refuses,
    testing::Values(Refused{"1 2 1; 2 4 2; 1 2 1/16", 1, 19, "write a blank before '/'"},
                    Refused{"2x1: 1 1/2", 1, 8, "lone ratio"},
                    Refused{"1 2 3 4/ 10", 1, 7, "a ratio such as 1/9 has no blank"},
                    Refused{"1 2 3 4;/ 10", 1, 9, "blank before"},
                    Refused{"1 2 3 4 / 0", 1, 11, "'0' as divisor: it is 0"},
                    Refused{"1 2 3 4 / -0.0", 1, 11, "it is 0"},
                    Refused{"1 2 3 4 /", 1, 10, "missing"},
                    Refused{"1 2 3 4 / 10 5", 1, 14, "'5' after the divisor"},
                    Refused{"1 2 3 4 / 10 / 2", 1, 14, "after the divisor"},
                    Refused{"1 2 3 4 / nan", 1, 11, "finite"},
                    Refused{"/ 10", 1, 1, "a divisor without weights"},
                    Refused{"1 2\n3 4\n/ x", 3, 3, "'x' is not a number"}));

INSTANTIATE_TEST_SUITE_P(
    Names, Refuses,
    testing::Values(Refused{"gausian:2", 1, 1, "did you mean 'gaussian'?"},
                    Refused{"  Sobel-X", 1, 3, "did you mean 'sobel-x'?"},
                    Refused{"xyzzyxyzzy", 1, 1, "no mask is called 'xyzzyxyzzy' Known: identity"},
                    Refused{"gaussian", 1, 1, "'gaussian' is written gaussian:SIGMA[,SIGMA_Y]"},
                    Refused{"gaussian:", 1, 10, "an argument of 'gaussian' is missing"},
                    Refused{"gaussian:2,", 1, 12, "missing"},
                    Refused{"gaussian:,2", 1, 10, "missing"},
                    Refused{"gaussian:1,2,3", 1, 1, "3 arguments"},
                    Refused{"gaussian:1,2,3,4,5,6,7,8,9,10", 1, 26, "one argument too many"},
                    Refused{"gaussian:1000", 1, 10, "within 0 .. 500"},
                    Refused{"motion:15,400", 1, 11, "'400' as angle"},
                    Refused{"gaussian 2", 1, 10, "arguments follow a ':'"},
                    Refused{"gaussian:2 3", 1, 10, "'2 3' is not a number"},
                    Refused{"gaussian:2 / 3", 1, 10, "not a number"},
                    Refused{"gaussian:x", 1, 10, "'x' is not a number"},
                    Refused{"sobel-x:1", 1, 1, "1 argument"}));

// What is repeated of a hostile text is short and printable, and the answer comes at once.
TEST(Grammar, HostileTextsGiveShortMessages) {
  const std::string texts[] = {std::string(10 << 20, 'x'),
                               std::string(10 << 20, '7'),
                               std::string(10 << 20, '\xFF'),
                               std::string(10 << 20, '\0'),
                               "1 2 3 " + std::string(10 << 20, '\x1B'),
                               "gaussian:" + std::string(10 << 20, ','),
                               "gaussian:" + std::string(10 << 20, '1'),
                               "@" + std::string(10 << 20, 'a'),
                               std::string("@/tmp\0x", 7),
                               std::string(10 << 20, '/'),
                               std::string(10 << 20, '3') + "x3: 1",
                               "1 2 3 4 / 5 " + std::string(10 << 20, 'z')};
  for (const std::string& text : texts) {
    const Result<MaskSource> mask = parse_mask(text);
    ASSERT_FALSE(mask.ok());
    const std::string& message = mask.status().message();
    EXPECT_LT(message.size(), 700u) << message;
    for (char c : message)
      EXPECT_TRUE(c >= 0x20 && c < 0x7F) << message;
  }
}

}  // namespace
}  // namespace convolve
