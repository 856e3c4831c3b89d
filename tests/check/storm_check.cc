// SPDX-License-Identifier: LGPL-2.1-or-later
// Great numbers: renegotiations, state cycles, and properties written by two threads against a
// stream. CUDACONVOLVE_TEST_PERCENT takes more or less of each.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/element.h"
#include "tests/support/layout.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1};
const char* const kBorders[] = {"replicate", "zero", "reflect", "mirror", "wrap"};

template <class T>
const T& pick(std::mt19937& random, const std::vector<T>& from) {
  return from[random() % from.size()];
}
template <class T, std::size_t n>
const T& pick(std::mt19937& random, const T (&from)[n]) {
  return from[random() % n];
}

/// Every format of the element, sizes from 1x1 up, every interlace mode and layout of buffers; now
/// and then another mask or border, and a flush.
TEST(Renegotiations, AtRandomGiveThePictureOfTheirCaps) {
  const std::vector<oracle::Mask> masks = {
      kMask, {1, 1, {1}, 1}, {5, 1, {1, 2, 3, 2, 1}, 9}, {3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45}};
  const GstVideoInterlaceMode modes[] = {
      GST_VIDEO_INTERLACE_MODE_PROGRESSIVE, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
      GST_VIDEO_INTERLACE_MODE_MIXED, GST_VIDEO_INTERLACE_MODE_ALTERNATE};
  std::mt19937 random(1);
  Harness harness(Settings{{"mask", kMask.text()}});
  oracle::Mask mask = kMask;
  oracle::Options options;
  const int count = check::scaled(1000);
  for (int i = 0; i < count; ++i) {
    const GstVideoInfo info =
        video_info(pick(random, check::template_formats()), 1 + static_cast<int>(random() % 70),
                   1 + static_cast<int>(random() % 50), pick(random, modes));
    if (random() % 4 == 0) {
      mask = pick(random, masks);
      harness.set("mask", mask.text());
    }
    if (random() % 4 == 0) {
      options.border = pick(random, kBorders);
      harness.set("border", options.border);
    }
    options.fields = GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
    // Bits that belong to no code are cleared: passthrough would keep them.
    const oracle::Bytes frame = oracle::expected(
        info, oracle::random_frame(info, static_cast<unsigned>(i)), {1, 1, {1}, 1}, {});
    const check::Layout& layout = pick(random, check::honest_layouts());
    harness.set_caps(info);
    ASSERT_EQ(harness.push_buffer(check::lay_out(info, frame, layout)), GST_FLOW_OK);
    ASSERT_EQ(oracle::differing_samples(info, harness.pull(),
                                        oracle::expected(info, frame, mask, options)),
              0)
        << i << ": " << gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)) << " "
        << GST_VIDEO_INFO_WIDTH(&info) << "x" << GST_VIDEO_INFO_HEIGHT(&info) << " " << layout
        << " " << mask.text() << " " << options.border;
  }
  EXPECT_TRUE(harness.errors().empty());
  EXPECT_TRUE(harness.warnings().empty());
  std::printf("    %d renegotiations, 0 wrong frames\n", count);
}

/// What a process holds.
struct Holdings {
  long resident_kib = 0;
  long threads = 0;
  long files = 0;
};

Holdings holdings() {
  Holdings now;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::sscanf(line.c_str(), "VmRSS: %ld", &now.resident_kib);
    std::sscanf(line.c_str(), "Threads: %ld", &now.threads);
  }
  namespace fs = std::filesystem;
  now.files = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  return now;
}

/// One cycle with frames for three without, as pipelines are made and thrown away.
void cycle(GstElement* element, const GstVideoInfo& info, const oracle::Bytes& frame, int number) {
  if (number % 4 != 0) {
    ASSERT_EQ(gst_element_set_state(element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    ASSERT_EQ(gst_element_set_state(element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    return;
  }
  GstHarness* harness = gst_harness_new_with_element(element, "sink", "src");
  gst_harness_set_src_caps(harness, gst_video_info_to_caps(&info));
  ASSERT_EQ(gst_harness_push(harness, check::make_buffer(frame)), GST_FLOW_OK);
  GstBuffer* output = gst_harness_try_pull(harness);
  ASSERT_NE(output, nullptr);
  gst_buffer_unref(output);
  gst_harness_teardown(harness);
}

TEST(StateCycles, LeaveNothingBehind) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  GstElement* element = check::make_element({{"mask", "gaussian:2"}});
  const int count = check::scaled(10000);
  const int warm_up = count / 10;
  Holdings before;
  for (int i = 0; i < warm_up + count; ++i) {
    if (i == warm_up) before = holdings();
    cycle(element, info, frame, i);
  }
  const Holdings after = holdings();
  gst_object_unref(element);
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.files, before.files);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The sanitizers keep what was freed; valgrind does, too, and runs fewer cycles.
  if (count >= 1000) {
    EXPECT_LE(after.resident_kib - before.resident_kib, 1024);
  }
#endif
  std::printf("    %d cycles: memory %+ld KiB, threads %+ld, files %+ld\n", count,
              after.resident_kib - before.resident_kib, after.threads - before.threads,
              after.files - before.files);
}

/// The settings that two writers move between; every combination is legal.
struct Combination {
  std::size_t mask = 0;
  std::size_t border = 0;
  std::size_t bias = 0;
  std::size_t scale = 0;
  bool chroma = true;
};

/// Keeps two writers and a stream within some steps of each other: a busy machine would have all
/// writes between two frames, or no write between a thousand.
class Pace {
 public:
  /// Writer `w` is about to write; of the writes of one frame, some may fall before it, some after.
  void write(int w) {
    while (writes_[w] >= kWritesAFrame * (frames_ + 2))
      std::this_thread::yield();
    ++writes_[w];
  }
  void end(int w) { writes_[w] = std::numeric_limits<int>::max(); }

  /// The stream is about to filter; false once both writers have ended.
  bool frame() {
    while (std::min<int>(writes_[0], writes_[1]) < kWritesAFrame * frames_)
      std::this_thread::yield();
    ++frames_;
    return std::min<int>(writes_[0], writes_[1]) < std::numeric_limits<int>::max();
  }
  int frames() const { return frames_; }

 private:
  static constexpr int kWritesAFrame = 8;
  std::atomic<int> writes_[2] = {};
  std::atomic<int> frames_{0};
};

class PropertyStorm : public testing::Test {
 protected:
  const std::vector<oracle::Mask> masks_ = {{1, 1, {1}, 1},
                                            kMask,
                                            {5, 1, {1, 2, 3, 2, 1}, 9},
                                            {1, 3, {1, 0, 1}, 2},
                                            {3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45}};
  const std::vector<double> biases_ = {0, 0.25, -0.5};
  const std::vector<int> scale_eighths_ = {8, 4, 12};
  const GstVideoInfo info_ = video_info(GST_VIDEO_FORMAT_I420, 24, 16);
  const oracle::Bytes frame_ = oracle::random_frame(info_, 1);

  /// Samples of a picture; padding does not count.
  oracle::Bytes expected(const Combination& c) const {
    oracle::Options options;
    options.border = kBorders[c.border];
    options.bias = biases_[c.bias];
    options.scale_numerator = scale_eighths_[c.scale];
    options.scale_denominator = 8;
    options.chroma = c.chroma;
    return oracle::expected(info_, frame_, masks_[c.mask], options);
  }

  /// All pictures that may be seen.
  std::map<oracle::Bytes, int> legal_pictures() const {
    std::map<oracle::Bytes, int> legal;
    Combination c;
    for (c.mask = 0; c.mask < masks_.size(); ++c.mask)
      for (c.border = 0; c.border < std::size(kBorders); ++c.border)
        for (c.bias = 0; c.bias < biases_.size(); ++c.bias)
          for (c.scale = 0; c.scale < scale_eighths_.size(); ++c.scale)
            for (const bool chroma : {false, true}) {
              c.chroma = chroma;
              legal.emplace(expected(c), 0);
            }
    return legal;
  }

  void write_mask(GstElement* element, std::mt19937& random, Combination& c) const {
    c.mask = random() % masks_.size();
    const oracle::Mask& mask = masks_[c.mask];
    if (random() % 2 == 0 || mask.divisor != 1) {
      gst_util_set_object_arg(G_OBJECT(element), "mask", mask.text().c_str());
      return;
    }
    std::string rows = "<";
    for (int y = 0; y < mask.height; ++y) {
      rows += y == 0 ? "<" : ",<";
      for (int x = 0; x < mask.width; ++x)
        rows += (x == 0 ? "" : ",") +
                std::to_string(mask.weights[static_cast<std::size_t>(y * mask.width + x)]);
      rows += ">";
    }
    gst_util_set_object_arg(G_OBJECT(element), "mask-matrix", (rows + ">").c_str());
  }

  void write_number(GstElement* element, std::mt19937& random, Combination& c) const {
    switch (random() % 3) {
      case 0:
        c.bias = random() % biases_.size();
        g_object_set(element, "bias", biases_[c.bias], nullptr);
        break;
      case 1:
        c.scale = random() % scale_eighths_.size();
        g_object_set(element, "scale", scale_eighths_[c.scale] / 8.0, nullptr);
        break;
      default:
        c.border = random() % std::size(kBorders);
        gst_util_set_object_arg(G_OBJECT(element), "border", kBorders[c.border]);
        break;
    }
  }

  /// What changes how a picture is made and not what it is.
  static void write_means(GstElement* element, std::mt19937& random) {
    if (random() % 2 == 0)
      gst_util_set_object_arg(G_OBJECT(element), "kernel",
                              pick(random, {"auto", "basic", "coarsened"}));
    else
      gst_util_set_object_arg(G_OBJECT(element), "tile-width", pick(random, {"0", "16", "32"}));
  }

  static const char* pick(std::mt19937& random, std::initializer_list<const char*> from) {
    return from.begin()[random() % from.size()];
  }
};

/// A frame shows one moment of the settings, never half of a change; the last ones stay.
TEST_F(PropertyStorm, EveryFrameShowsSettingsThatWereSet) {
  std::map<oracle::Bytes, int> legal = legal_pictures();
  Harness harness;
  GstElement* element = harness.element();
  harness.set_caps(info_);
  const int writes_a_thread = check::scaled(50000);
  Combination of_masks, of_numbers;
  Pace pace;
  std::thread mask_writer([&] {
    std::mt19937 random(1);
    for (int i = 0; i < writes_a_thread; ++i) {
      pace.write(0);
      if (random() % 4 == 0) {
        of_masks.chroma = random() % 2 == 0;
        gst_util_set_object_arg(G_OBJECT(element), "channels",
                                of_masks.chroma ? "luma+chroma" : "luma");
      } else {
        write_mask(element, random, of_masks);
      }
    }
    pace.end(0);
  });
  std::thread number_writer([&] {
    std::mt19937 random(2);
    for (int i = 0; i < writes_a_thread; ++i) {
      pace.write(1);
      if (random() % 8 == 0)
        write_means(element, random);
      else
        write_number(element, random, of_numbers);
    }
    pace.end(1);
  });

  int wrong = 0;
  while (pace.frame()) {
    const oracle::Bytes picture = harness.filter(frame_, pace.frames());
    const auto found = legal.find(picture);
    if (found == legal.end())
      ++wrong;
    else
      ++found->second;
  }
  mask_writer.join();
  number_writer.join();
  EXPECT_EQ(wrong, 0);

  Combination last = of_numbers;
  last.mask = of_masks.mask;
  last.chroma = of_masks.chroma;
  EXPECT_EQ(harness.filter(frame_, pace.frames()), expected(last)) << "the last settings";
  EXPECT_TRUE(harness.errors().empty());
  EXPECT_TRUE(harness.warnings().empty());
  const auto seen = std::count_if(legal.begin(), legal.end(),
                                  [](const auto& picture) { return picture.second > 0; });
  EXPECT_GT(seen, std::min<long>(200, pace.frames() / 2))
      << "the stream saw hardly anything of the storm";
  std::printf("    %d writes, %d frames, %d wrong; %ld of %zu pictures seen\n", 2 * writes_a_thread,
              pace.frames(), wrong, static_cast<long>(seen), legal.size());
}

}  // namespace
