// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/arguments.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/benchmarks/pipelines/mask_texts.h"

namespace cudaconvolve::pipelines {
namespace {

struct Size {
  std::string name;
  int width = 0;
  int height = 0;
};
constexpr int kLargestSide = 32768;
constexpr int kMostPipelines = 256;
constexpr int kMostDevices = 64;

/// Lists of which every combination is a row.
struct Lists {
  std::vector<std::string> elements;
  std::vector<std::string> formats = {"NV12"};
  std::vector<Size> sizes = {{"1080p", 1920, 1080}};
  std::vector<std::string> masks = {"reals-9"};
  std::vector<Pool> pools = {Pool::kOffered};
  std::vector<int> pipelines = {1};
  int devices = 1;  ///< Of every row.
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char c : list)
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

/// A whole number in words of `most` and less; 0 for anything else.
int whole(const std::string& word, int least, int most) {
  char* end = nullptr;
  const long value = std::strtol(word.c_str(), &end, 10);
  const bool good = !word.empty() && *end == '\0' && value >= least && value <= most;
  return good ? static_cast<int>(value) : 0;
}

bool parse_sizes(const std::string& list, std::vector<Size>* sizes) {
  sizes->clear();
  for (const std::string& word : words_of(list)) {
    const std::size_t cross = word.find('x');
    Size size;
    if (word == "1080p")
      size = {word, 1920, 1080};
    else if (word == "4k")
      size = {word, 3840, 2160};
    else if (cross != std::string::npos)
      size = {word, whole(word.substr(0, cross), 1, kLargestSide),
              whole(word.substr(cross + 1), 1, kLargestSide)};
    if (size.width == 0 || size.height == 0) return false;
    sizes->push_back(size);
  }
  return true;
}

bool parse_pools(const std::string& list, std::vector<Pool>* pools) {
  pools->clear();
  for (const std::string& word : words_of(list)) {
    const auto known = std::find_if(std::begin(kPools), std::end(kPools),
                                    [&](Pool pool) { return word == pool_name(pool); });
    if (known == std::end(kPools)) return false;
    pools->push_back(*known);
  }
  return true;
}

bool parse_pipelines(const std::string& list, std::vector<int>* pipelines) {
  pipelines->clear();
  for (const std::string& word : words_of(list))
    pipelines->push_back(whole(word, 1, kMostPipelines));
  return std::count(pipelines->begin(), pipelines->end(), 0) == 0;
}

bool parse_formats(const std::string& list, std::vector<std::string>* formats) {
  *formats = words_of(list);
  return std::all_of(formats->begin(), formats->end(), [](const std::string& format) {
    const GstVideoFormat known = gst_video_format_from_string(format.c_str());
    return known != GST_VIDEO_FORMAT_UNKNOWN && known != GST_VIDEO_FORMAT_ENCODED;
  });
}

bool parse_masks(const std::string& list, std::vector<std::string>* masks) {
  *masks = words_of(list);
  return std::none_of(masks->begin(), masks->end(), [](const std::string& name) {
    return mask_text(name).empty() || name.find('"') != std::string::npos;
  });
}

bool parse_effort(const std::string& name, const std::string& value, Effort* effort) {
  constexpr int kMost = 100'000'000;
  if (name == "--seconds") {
    effort->seconds = std::atof(value.c_str());
    return effort->seconds > 0 && effort->seconds < 3600;
  }
  const int number = whole(value, 1, kMost);
  if (name == "--frames")
    effort->frames = static_cast<std::uint64_t>(number);
  else if (name == "--warm-up")
    effort->warm_up = static_cast<std::uint64_t>(number);
  else if (name == "--rounds")
    effort->rounds = number;
  else if (name == "--live")
    effort->live_fps = number;
  else
    return false;
  return number > 0;
}

bool parse_word(const std::string& word, Lists* lists, Arguments* arguments) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (name == "--formats") return parse_formats(value, &lists->formats);
  if (name == "--sizes") return parse_sizes(value, &lists->sizes);
  if (name == "--masks") return parse_masks(value, &lists->masks);
  if (name == "--pool") return parse_pools(value, &lists->pools);
  if (name == "--pipelines") return parse_pipelines(value, &lists->pipelines);
  if (name == "--devices") {
    lists->devices = whole(value, 1, kMostDevices);
    return lists->devices > 0;
  }
  if (name == "--elements")
    lists->elements.push_back(value);
  else if (name == "--json")
    arguments->json = value;
  else if (name == "--commit")
    arguments->commit = value;
  else
    return parse_effort(name, value, &arguments->effort);
  return !value.empty();
}

std::vector<Case> cases_of(const Lists& lists) {
  std::vector<Case> cases;
  Case row;
  for (const Size& size : lists.sizes)
    for (const std::string& format : lists.formats)
      for (const int pipelines : lists.pipelines)
        for (const Pool pool : lists.pools)
          for (const std::string& elements : lists.elements) {
            row = {format, size.name, size.width, size.height, pool, elements, "", pipelines};
            row.devices = lists.devices;
            const bool masked = elements.find("%MASK%") != std::string::npos;
            for (const std::string& mask : masked ? lists.masks : std::vector<std::string>(1)) {
              row.mask = mask;
              cases.push_back(row);
            }
          }
  return cases;
}

}  // namespace

bool parse_arguments(int argc, char** argv, Arguments* arguments) {
  Lists lists;
  for (int k = 1; k < argc; ++k)
    if (!parse_word(argv[k], &lists, arguments)) {
      std::fprintf(stderr, "bench_pipelines: what is %s?\n", argv[k]);
      return false;
    }
  if (lists.elements.empty()) lists.elements = {"cudaconvolve backend=cuda mask=%MASK%"};
  arguments->cases = cases_of(lists);
  return true;
}

bool needs_gpu(const Case& asked) {
  const auto has = [&](const char* text) { return asked.elements.find(text) != std::string::npos; };
  return has("backend=cuda") || has("cudaupload") || has("cudadownload");
}

}  // namespace cudaconvolve::pipelines
