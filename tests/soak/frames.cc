// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/soak/frames.h"

#include <algorithm>
#include <cstring>

#include "tests/support/element.h"

namespace soak {
namespace {

constexpr int kPictures = 3;

/// The rows of all planes without what lies between them; formats here have no padding within.
bool same_picture(GstBuffer* buffer, const GstVideoInfo& info, const Bytes& expected) {
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, const_cast<GstVideoInfo*>(&info), buffer, GST_MAP_READ))
    return false;
  bool same = true;
  for (guint p = 0; p < GST_VIDEO_FRAME_N_PLANES(&frame); ++p) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info.finfo, p, components);
    const std::ptrdiff_t pitch = GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
    const auto* row = static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, p));
    const std::uint8_t* wanted = expected.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, p);
    for (int y = 0; same && y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, components[0]); ++y)
      same = std::memcmp(
                 row + y * static_cast<std::ptrdiff_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p)),
                 wanted + y * pitch, static_cast<std::size_t>(pitch)) == 0;
  }
  gst_video_frame_unmap(&frame);
  return same;
}

}  // namespace

const std::vector<std::string>& masks() {
  static const std::vector<std::string> masks = {"1 2 1; 2 4 2; 1 2 1", "sharpen", "box:9",
                                                 "binomial:7",          "sobel-x", "laplacian"};
  return masks;
}

std::vector<Scene> make_scenes(std::mt19937& random) {
  std::vector<Scene> scenes;
  for (const GstVideoInfo& info : {check::video_info(GST_VIDEO_FORMAT_NV12, 1920, 1080),
                                   check::video_info(GST_VIDEO_FORMAT_I420, 1280, 720),
                                   check::video_info(GST_VIDEO_FORMAT_RGBA, 640, 480)}) {
    Scene scene{info, {}, {}};
    for (int p = 0; p < kPictures; ++p) {
      Bytes picture(GST_VIDEO_INFO_SIZE(&info));
      for (std::uint8_t& byte : picture)
        byte = static_cast<std::uint8_t>(random());
      scene.pictures.push_back(std::move(picture));
    }
    for (const std::string& mask : masks()) {
      check::Harness harness({{"backend", "cpu"}, {"mask", mask}});
      harness.set_caps(info);
      std::vector<Bytes> filtered;
      for (const Bytes& picture : scene.pictures)
        filtered.push_back(harness.filter(picture));
      scene.filtered.push_back(std::move(filtered));
    }
    scenes.push_back(std::move(scene));
  }
  return scenes;
}

void Pending::flush() {
  for (Frame& frame : frames_)
    frame.flushed = true;
}

std::string Pending::check(GstBuffer* buffer) {
  const std::uint64_t number = GST_BUFFER_PTS(buffer) / kFrameTime;
  while (!frames_.empty() && frames_.front().number != number) {
    const Frame& missing = frames_.front();
    if (!missing.flushed) return "frame " + std::to_string(missing.number) + " is lost";
    ++dropped_;
    frames_.pop_front();
  }
  if (frames_.empty()) return "frame " + std::to_string(number) + " came twice or out of order";
  const Frame frame = frames_.front();
  frames_.pop_front();
  const Scene& scene = scenes_[frame.scene];
  if (!same_picture(buffer, scene.info, scene.filtered[frame.mask][frame.picture]))
    return "frame " + std::to_string(number) + " (" + masks()[frame.mask] + ") is wrong";
  ++right_;
  return {};
}

std::string Pending::finish() {
  for (const Frame& frame : frames_) {
    if (!frame.flushed) return "frame " + std::to_string(frame.number) + " did not come out";
    ++dropped_;
  }
  frames_.clear();
  return {};
}

}  // namespace soak
