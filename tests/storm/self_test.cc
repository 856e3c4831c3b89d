// SPDX-License-Identifier: LGPL-2.1-or-later
// Tests of the storm itself: cases as text, what is drawn, how cases shrink, and that faults
// planted in the program (plant.h) are found, whatever becomes of the worker.
//
//   storm_self_test PROGRAM
#include <gst/gst.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "plugin/formats.h"
#include "tests/storm/case.h"
#include "tests/storm/draw.h"
#include "tests/storm/shrink.h"

namespace storm {
namespace {

std::string program;

/// Calls visit(track, step) for the steps of many drawn cases.
template <class Visit>
void each_step(int cases, Visit&& visit) {
  for (int index = 0; index < cases; ++index)
    for (const Track& track : draw_case(1, static_cast<std::uint64_t>(index)).tracks)
      for (const Words& step : track.steps)
        visit(track, step);
}

TEST(CaseText, ReadsBackAsTheSameCase) {
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const Case drawn = draw_case(3, index);
    Case read;
    std::string error;
    ASSERT_TRUE(parse_line(to_line(drawn), &read, &error)) << error << ": " << to_line(drawn);
    ASSERT_TRUE(read == drawn) << to_line(drawn);
    ASSERT_EQ(to_line(read), to_line(drawn));
  }
}

TEST(CaseText, IsRefusedWhereItMeansNothing) {
  for (const char* line :
       {"", "element", "filter format=GRAY8 size=1x1 | q=0", "element format=GRAY8 size=1x1",
        "element size=1x1 | q=0", "element format=GRAY8 size=1x1 | q", "element format=GRAY8 | q=0",
        "element format=GRAY8 size=1x1 | mask=\"1 2", "element format=GRAY8 size=1x1 | q=0 ||"}) {
    Case c;
    std::string error;
    EXPECT_FALSE(parse_line(line, &c, &error)) << line;
    EXPECT_NE(error, "") << line;
  }
}

TEST(Draw, IsTheSameEverywhere) {
  EXPECT_EQ(Random(1, 2).bits(), Random(1, 2).bits());
  EXPECT_NE(Random(1, 2).bits(), Random(2, 1).bits());
  EXPECT_EQ(std::mt19937_64(5489).operator()(), 14514284786278117030u);
  EXPECT_EQ(Random(1, 2).bits(), 17589044363052957443u);
  EXPECT_EQ(to_line(draw_case(7, 11)), to_line(draw_case(7, 11)));
  EXPECT_NE(to_line(draw_case(7, 11)), to_line(draw_case(7, 12)));
  EXPECT_NE(to_line(draw_case(7, 11)), to_line(draw_case(8, 11)));
}

TEST(Draw, HasSidesOfEveryOrderOfMagnitude) {
  std::set<int> orders;
  std::int64_t largest = 0;
  Random random(1, 1);
  for (int k = 0; k < 3000; ++k) {
    const Extent extent = extent_of(draw_picture(random, 8 << 20));
    largest = std::max(largest, extent.pixels());
    for (const int side : {extent.width, extent.height}) {
      ASSERT_GE(side, 1);
      ASSERT_LE(side, 8192);
      int order = 0;
      while (side >> (order + 1) > 0)
        ++order;
      orders.insert(order);
    }
  }
  EXPECT_GE(orders.size(), 13u);
  EXPECT_LE(largest, 8 << 20);
  EXPECT_GE(largest, 4 << 20);
}

TEST(Draw, HasEveryFormatModePropertyAndMask) {
  std::set<std::string> formats, modes, words, names, kernels;
  int even = 0, anchored = 0, refused = 0, masks = 0;
  each_step(6000, [&](const Track& track, const Words& step) {
    formats.insert(track.head.get("format"));
    modes.insert(track.head.get("mode"));
    kernels.insert(step.get("kernel"));
    for (const Words::Word& word : step) {
      words.insert(word.first);
      if (word.first != "mask") continue;
      const auto mask = convolve::parse_mask(word.second);
      ++masks;
      refused += mask.ok() ? 0 : 1;
      if (!mask.ok()) continue;
      names.insert(word.second.substr(0, word.second.find(':')));
      even += mask.value().width % 2 == 0 ? 1 : 0;
      anchored += mask.value().anchor_x != mask.value().width / 2 ? 1 : 0;
    }
  });
  EXPECT_EQ(formats.size(), std::size(cudaconvolve::kFormats));
  EXPECT_EQ(modes.size(), 4u);
  for (const convolve::KernelInfo& kernel : convolve::kKernels)
    EXPECT_EQ(kernels.count(kernel.nick), 1u) << kernel.nick;
  for (const char* word :
       {"mask",      "mask-matrix", "border",     "channels", "scale",      "bias",
        "normalize", "operation",   "alpha-mode", "kernel",   "tile-width", "flush",
        "layout",    "interlaced",  "size",       "fill",     "memory",     "source",
        "target",    "view",        "spare",      "times",    "form",       "burst"})
    EXPECT_EQ(words.count(word), 1u) << word;
  for (const convolve::NamedMask& mask : convolve::named_masks())
    EXPECT_EQ(names.count(mask.name), 1u) << mask.name;
  EXPECT_GT(even, masks / 10);
  EXPECT_GT(anchored, masks / 20);
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, masks / 30);
}

TEST(Shrink, KeepsWhatTheFaultNeedsAndNothingElse) {
  Case c;
  std::string error;
  ASSERT_TRUE(
      parse_line("element format=RGBA size=640x125 mode=interleaved threads=3 | q=5 "
                 "border=wrap scale=3 | q=7 mask=\"5x4: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 "
                 "15 16 17 18 19 20 / 37\" bias=0.25 border=mirror layout=Shared | q=8 || "
                 "element format=GRAY8 size=64x64 | q=1",
                 &c, &error))
      << error;
  int played = 0;
  const auto play = [&](const Case& tried) -> std::string {
    ++played;
    for (const Track& track : tried.tracks)
      for (const Words& step : track.steps) {
        const auto mask = convolve::parse_mask(step.get("mask", "identity"));
        if (step.get("border") == "mirror" && extent_of(track.head).height % 64 == 61 &&
            mask.ok() && mask.value().width >= 3)
          return "frame 1: differs: there";
      }
    return {};
  };
  const Case smallest = shrink(c, play(c), play, Child::Seconds(60));
  EXPECT_EQ(to_line(smallest),
            "element format=GRAY8 size=1x61 | border=mirror mask=\"3x1: 1 1 1 / 1\"")
      << played;
}

TEST(Shrink, TellsFaultsApart) {
  EXPECT_TRUE(alike("frame 3: differs: a", "frame 1: differs: b"));
  EXPECT_FALSE(alike("differs", "no frame"));
  EXPECT_FALSE(alike("crash: x", ""));
}

struct Ending {
  int status = -1;
  std::string output;
  double seconds = 0;
};

/// The storm with a fault planted (or none), and what it prints.
Ending run(const std::string& plant, const std::string& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string command =
      "STORM_PLANT='" + plant + "' '" + program + "' " + arguments + " 2>/dev/null";
  Ending result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr)
    result.output += buffer.data();
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

/// What stands between --replay=' and the last ' of the line that begins with `begin`.
std::string replay_of(const std::string& output, const std::string& begin) {
  const std::size_t line = output.find(begin);
  if (line == std::string::npos) return {};
  const std::string text = output.substr(line, output.find('\n', line) - line);
  const std::size_t from = text.find("--replay='");
  return from == std::string::npos ? "" : text.substr(from + 10, text.rfind('\'') - from - 10);
}

struct Plant {
  const char* what;
  const char* fault;  ///< How the storm names it.
};

class Planted : public testing::TestWithParam<Plant> {};

TEST_P(Planted, FaultIsFoundShrunkAndReplayed) {
  const std::string plant = std::string(GetParam().what) + ":border=";
  const std::string quick = " --limit=5 --seed=1 --failures=1 --seconds=120";
  const Ending found = run(plant, "--shrink=20" + quick);
  EXPECT_EQ(found.status, 1) << found.output;
  EXPECT_NE(found.output.find("0 passed, 1 failed"), std::string::npos) << found.output;
  EXPECT_NE(found.output.find("FAIL case"), std::string::npos) << found.output;
  EXPECT_NE(found.output.find(GetParam().fault), std::string::npos) << found.output;
  const std::string first = replay_of(found.output, "FAIL case");
  const std::string shrunk = replay_of(found.output, "SHRUNK");
  ASSERT_NE(shrunk, "") << found.output;
  EXPECT_LT(shrunk.size(), first.size());
  EXPECT_NE(shrunk.find("border="), std::string::npos) << shrunk;
  EXPECT_NE(shrunk.find("size=1x1 "), std::string::npos) << shrunk;
  const std::string replay = "--limit=5 --replay='" + shrunk + "'";
  EXPECT_EQ(run(plant, replay).status, 1) << shrunk;
  EXPECT_EQ(run("", replay).status, 0) << shrunk;
}

INSTANTIATE_TEST_SUITE_P(All, Planted,
                         testing::Values(Plant{"byte", "differs"}, Plant{"hang", "no frame"},
                                         Plant{"crash", "crash"}),
                         [](const auto& row) { return row.param.what; });

TEST(Storm, OfSoundCasesPasses) {
  const Ending sound = run("", "--seed=1 --cases=12 --seconds=120");
  EXPECT_EQ(sound.status, 0) << sound.output;
  EXPECT_NE(sound.output.find("1 passed, 0 failed"), std::string::npos) << sound.output;
}

TEST(Storm, OfNoCaseFails) {
  EXPECT_EQ(run("", "--seed=1 --cases=0").status, 1);
}

TEST(Storm, EndsThoughTheWorkerHangs) {
  const Ending hung = run("hang:size",
                          "--limit=2 --shrink=0 --replay='element format=GRAY8 "
                          "size=4x4 | q=1'");
  EXPECT_EQ(hung.status, 1);
  EXPECT_NE(hung.output.find("no frame"), std::string::npos) << hung.output;
  EXPECT_LT(hung.seconds, 60);
}

}  // namespace
}  // namespace storm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  gst_init(&argc, &argv);
  if (argc != 2) {
    std::fputs("usage: storm_self_test PROGRAM\n", stderr);
    return 2;
  }
  storm::program = argv[1];
  return RUN_ALL_TESTS();
}
