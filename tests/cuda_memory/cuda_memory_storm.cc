// SPDX-License-Identifier: LGPL-2.1-or-later
// Random streams of frames in CUDA memory and in system memory, each frame compared with the exact
// picture: formats, sizes, masks, borders, frames in flight, where planes lie, the context that
// they are in, and changes of all of these in mid-stream.
//
//   cuda_memory_storm FRAMES SECONDS SEED DEVICES [MOST]
//   cuda_memory_storm every              each format in each combination of memories instead
//   cuda_memory_storm changes COUNT SEED      one stream that changes its memories COUNT times
//
// Ends after FRAMES frames or SECONDS seconds, whichever comes first. The contexts are on as many
// GPUs as DEVICES. MOST (6) frames come under the same caps at most: on a GPU a case takes a second
// for its contexts, however many frames it has. A case that fails prints the line that replays it
// alone.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"

namespace {

using cuda_frames::Context;
using cuda_frames::kAllMemories;
using cuda_frames::Line;
using cuda_frames::Memories;

class Case {
 public:
  Case(unsigned seed, int devices, int most_frames)
      : random_(seed), devices_(devices), most_frames_(most_frames) {}

  /// Plays the stream; what is wrong, or nothing.
  std::string play() {
    Line line(draw_settings());
    if (below(2) == 0) {
      context_ = cuda_frames::new_context(below(devices_));
      GstContext* context = cuda_frames::as_gst_context(context_);
      gst_element_set_context(line.element(), context);
      gst_context_unref(context);
    }
    const int turns = 1 + below(4);
    for (int turn = 0; turn < turns; ++turn) {
      const GstVideoFormat format = pick(cuda_frames::formats());
      const Memories memories = pick<Memories>({std::begin(kAllMemories), std::end(kAllMemories)});
      if (std::string problem = play_turn(line, format, memories); !problem.empty()) return problem;
    }
    return end(line);
  }

  /// Plays one stream whose memories change `count` times; what is wrong, or nothing.
  std::string play_changes(int count) {
    turns_of_context_ = 50;
    Line line(draw_settings());
    int memories = below(4);
    for (int turn = 0; turn <= count; ++turn) {
      if (std::string problem =
              play_turn(line, pick(cuda_frames::formats()), kAllMemories[memories]);
          !problem.empty())
        return "after " + std::to_string(turn) + " changes: " + problem;
      memories = (memories + 1 + below(3)) % 4;
    }
    return end(line);
  }

  /// Plays all formats with some kernels, in `memories`; what is wrong, or nothing.
  std::string play_formats(const Memories& memories) {
    for (const char* kernel : {"auto", "coarsened", "basic"}) {
      Line line(draw_settings());
      line.harness().set("kernel", kernel);
      for (const GstVideoFormat format : cuda_frames::formats())
        if (std::string problem = play_turn(line, format, memories); !problem.empty())
          return problem;
      if (std::string problem = end(line); !problem.empty()) return problem;
    }
    return "";
  }

  int frames() const { return frames_; }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  template <class Value>
  Value pick(const std::vector<Value>& values) {
    return values[random_() % values.size()];
  }

  check::Settings draw_settings() {
    mask_ = draw_mask();
    options_.border = pick<std::string>({"replicate", "zero", "reflect", "mirror", "wrap"});
    return {{"backend", "cuda"},
            {"mask", mask_.text()},
            {"border", options_.border},
            {"kernel", pick<std::string>({"auto", "auto", "auto", "coarsened", "basic"})},
            {"async-depth", std::to_string(below(9) - 1)}};
  }

  static std::string end(Line& line) {
    line.use_context(nullptr);
    for (const check::Message& message : line.harness().problems())
      return "the element says: " + message.text;
    return "";
  }

  oracle::Mask draw_mask() {
    oracle::Mask mask;
    mask.width = 1 + below(9);
    mask.height = 1 + below(9);
    int sum = 0;
    const int most = pick<int>({1, 9, 100, 3000});
    for (int n = 0; n < mask.width * mask.height; ++n) {
      mask.weights.push_back(below(2 * most + 1) - most / 2);
      sum += std::abs(mask.weights.back());
    }
    mask.divisor = std::max(1, sum / (1 + below(3)));
    return mask;
  }

  /// Caps, and some frames under them.
  std::string play_turn(Line& line, GstVideoFormat format, const Memories& memories) {
    // GStreamer 1.22 gives rows of chroma of odd heights less room than they take.
    const bool subsampled = GST_VIDEO_FORMAT_INFO_H_SUB(gst_video_format_get_info(format), 1) > 0;
    const int height = 1 + below(90);
    const GstVideoInfo info =
        check::video_info(format, 1 + below(140), subsampled ? (height + 1) / 2 * 2 : height,
                          below(8) == 0 ? GST_VIDEO_INTERLACE_MODE_INTERLEAVED
                                        : GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);
    options_.fields = GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
    if (below(3) == 0) {
      mask_ = draw_mask();
      line.harness().set("mask", mask_.text());
    }
    line.set_caps(info, memories);
    if (memories.in_cuda && below(turns_of_context_) == 0)
      context_ = cuda_frames::new_context(below(devices_));
    if (memories.in_cuda && context_ == nullptr) context_ = line.context();
    line.use_context(context_);
    const int count = 1 + below(most_frames_);
    const int first = frames_;
    for (int n = first; n < first + count; ++n) {
      const oracle::Bytes frame = oracle::random_frame(info, static_cast<unsigned>(n));
      GstBuffer* buffer = !memories.in_cuda ? check::make_buffer(frame, n)
                          : below(3) == 0
                              ? cuda_frames::upload_anywhere(context_, info, frame, n, random_)
                              : cuda_frames::upload(context_, info, frame, n);
      if (buffer == nullptr) return "no device memory for frame " + std::to_string(n);
      if (line.push_buffer(buffer) != GST_FLOW_OK)
        return "frame " + std::to_string(n) + " of " + describe(info, memories) +
               " is refused: " + errors_of(line);
    }
    for (int n = first; n < first + count; ++n, ++frames_)
      if (std::string problem = line.take(n, mask_, memories.out_cuda, options_); !problem.empty())
        return problem + describe(info, memories);
    return "";
  }

  static std::string errors_of(Line& line) {
    std::string text;
    for (const check::Message& message : line.harness().problems())
      text += message.text + "; ";
    return text;
  }

  std::string describe(const GstVideoInfo& info, const Memories& memories) const {
    return std::string(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info))) + " " +
           std::to_string(GST_VIDEO_INFO_WIDTH(&info)) + "x" +
           std::to_string(GST_VIDEO_INFO_HEIGHT(&info)) + ", " + text(memories) + ", mask '" +
           mask_.text() + "', border " + options_.border;
  }

  std::mt19937 random_;
  const int devices_;
  const int most_frames_;  ///< Of a turn.
  oracle::Mask mask_{1, 1, {1}, 1};
  oracle::Options options_;
  Context context_;
  int frames_ = 0;
  int turns_of_context_ = 4;  ///< About so many come in one context: to make one takes a GPU long.
};

/// The exit status.
int play_every() {
  unsigned seed = 1;
  constexpr int kMostFrames = 3;
  const std::size_t count = cuda_frames::formats().size();
  std::size_t passed = 0, failed = 0;
  for (const Memories& memories : kAllMemories) {
    Case one(seed++, 1, kMostFrames);
    const std::string problem = one.play_formats(memories);
    (problem.empty() ? passed : failed) += count;
    if (!problem.empty()) std::printf("FAIL %s\n", problem.c_str());
  }
  std::printf("every format in all four combinations: %zu passed, %zu failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

/// The exit status.
int play_changes(int count, unsigned seed) {
  Case one(seed, 1, 3);
  const std::string problem = one.play_changes(count);
  if (!problem.empty()) std::printf("FAIL %s\n", problem.c_str());
  std::printf("%d changes of memories in one stream from seed %u, %d frames: %d failed\n", count,
              seed, one.frames(), problem.empty() ? 0 : 1);
  return problem.empty() && one.frames() > count ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  if (argc == 2 && std::string(argv[1]) == "every") return play_every();
  const auto number = [&](int n) {
    return static_cast<unsigned>(std::strtoul(argv[n], nullptr, 10));
  };
  if (argc == 4 && std::string(argv[1]) == "changes")
    return play_changes(static_cast<int>(number(2)), number(3));
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr,
                 "usage: cuda_memory_storm FRAMES SECONDS SEED DEVICES [MOST], or every, or "
                 "changes COUNT SEED\n");
    return 2;
  }
  const int wanted = std::atoi(argv[1]), most_frames = argc == 6 ? std::atoi(argv[5]) : 6;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[2]));
  const unsigned first = number(3);
  int frames = 0, cases = 0, failed = 0;
  for (; frames < wanted && std::chrono::steady_clock::now() < end; ++cases) {
    const unsigned seed = first + static_cast<unsigned>(cases);
    Case one(seed, std::atoi(argv[4]), most_frames);
    const std::string problem = one.play();
    frames += one.frames();
    if (problem.empty()) continue;
    ++failed;
    std::printf("FAIL cuda_memory_storm 1 %s %u %s %d: %s\n", argv[2], seed, argv[4], most_frames,
                problem.c_str());
    if (failed == 10) break;
  }
  std::printf("figure: %d frames in %d cases from seed %u, %d failed\n", frames, cases, first,
              failed);
  return failed == 0 && frames > 0 ? 0 : 1;
}
