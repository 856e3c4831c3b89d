// SPDX-License-Identifier: LGPL-2.1-or-later
// Numbers have a point in every locale, read and written.
#include <gtest/gtest.h>

#include <clocale>
#include <string>

#include "kernels/core/mask/mask_grammar.h"

namespace convolve {
namespace {

/// Switches to a locale, if the system has it, and back.
class ScopedLocale {
 public:
  explicit ScopedLocale(const char* name)
      : before_(std::setlocale(LC_ALL, nullptr)), found_(std::setlocale(LC_ALL, name) != nullptr) {}
  ~ScopedLocale() { std::setlocale(LC_ALL, before_.c_str()); }
  bool found() const { return found_; }

 private:
  std::string before_;
  bool found_;
};

// The build makes de_DE for this test where it can (meson.build); others are used if installed.
TEST(Locale, DecimalPointWhateverTheLocale) {
  int tried = 0;
  for (const char* name : {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8"}) {
    const ScopedLocale locale(name);
    if (!locale.found()) continue;
    ++tried;
    const Result<MaskSource> mask = parse_mask("0.25 1.5; 1e-1 .5 / 2.5");
    ASSERT_TRUE(mask.ok()) << name << ": " << mask.status().message();
    EXPECT_EQ(mask.value().weights, (std::vector<double>{0.25, 1.5, 0.1, 0.5})) << name;
    EXPECT_EQ(mask.value().divisor, 2.5) << name;
    EXPECT_EQ(format_mask(mask.value()), "1/4 1.5; 0.1 0.5 / 2.5") << name;
    EXPECT_FALSE(parse_mask("3x1: 0,25 1 0,25").ok()) << name;
    const std::string message = parse_mask("disk:127.75").status().message();
    EXPECT_NE(message.find("'127.75'"), std::string::npos) << name;
    EXPECT_NE(message.find("0.1 .. 127.5"), std::string::npos) << name;
  }
  RecordProperty("locales", tried);
}

}  // namespace
}  // namespace convolve
