// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kernel of a backend x every memory layout of the formats, on small pictures, against the
// CPU; with colour weighted by alpha, too, where there is alpha.
//
//   sweep cuda|cpu
//
// Small enough to be run whole under each of the compute-sanitizer tools. The masks are rational,
// so that the contract is equality.
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "kernels/convolver.h"
#include "tests/gpu/element_pipeline.h"

namespace cudaconvolve::gpu {
namespace {

struct Size {
  int width;
  int height;
};
constexpr Size kSizes[] = {{64, 48}, {33, 17}, {1, 1}};

struct SweepMask {
  const char* text;
  bool rank1;  ///< Only these are served by the separable kernel,
  bool equal;  ///< these by the box kernel,
  bool tap;    ///< and these by the shift kernel.
};
constexpr SweepMask kMasks[] = {{"binomial:5", true, false, false},
                                {"4x3: 1 2 3 -1; 0 4 -2 1; 2 1 0 5 / 16", false, false, false},
                                {"box:9,1", true, true, false},
                                {"box:4,6", true, true, false},
                                {"3x2: 0 0 0; 0 0 1 / 1", true, false, true},
                                {"4x3: 0 3 0 0; 0 0 0 0; 0 0 0 0 / 4", true, false, true}};
constexpr const char* kBorders[] = {"replicate", "zero", "reflect", "mirror", "wrap"};

/// One format of each layout in memory: planes, steps, sample sizes, byte orders, shifts, copied
/// components. format_table has them all.
constexpr GstVideoFormat kFormats[] = {
    GST_VIDEO_FORMAT_GRAY8,     GST_VIDEO_FORMAT_GRAY16_BE, GST_VIDEO_FORMAT_I420,
    GST_VIDEO_FORMAT_YUV9,      GST_VIDEO_FORMAT_A420,      GST_VIDEO_FORMAT_I420_10LE,
    GST_VIDEO_FORMAT_Y444_12BE, GST_VIDEO_FORMAT_NV12,      GST_VIDEO_FORMAT_P010_10LE,
    GST_VIDEO_FORMAT_P012_BE,   GST_VIDEO_FORMAT_YUY2,      GST_VIDEO_FORMAT_UYVY,
    GST_VIDEO_FORMAT_Y210,      GST_VIDEO_FORMAT_Y412_BE,   GST_VIDEO_FORMAT_v308,
    GST_VIDEO_FORMAT_RGBA,      GST_VIDEO_FORMAT_xRGB,      GST_VIDEO_FORMAT_ABGR64_LE,
};

class Sweep {
 public:
  explicit Sweep(std::string backend) : backend_(std::move(backend)) {}

  void run(GstVideoFormat format, Size size) {
    ElementPipeline tested("backend=" + backend_, format, size.width, size.height);
    ElementPipeline truth("backend=cpu", format, size.width, size.height);
    for (const SweepMask& mask : kMasks) {
      const char* border = kBorders[border_++ % std::size(kBorders)];
      const Bytes frame = random_frame(truth.info(), random_);
      for (ElementPipeline* pipeline : {&tested, &truth}) {
        pipeline->set("mask", mask.text);
        pipeline->set("border", border);
      }
      const std::string name = std::string(gst_video_format_to_string(format)) + " " +
                               std::to_string(size.width) + "x" + std::to_string(size.height) +
                               " " + mask.text + " " + border;
      const std::optional<Bytes> expected = filter(truth, frame);
      for (const convolve::KernelInfo& kernel : convolve::kKernels) {
        if (backend_ == "cuda" ? !kernel.on_cuda : !kernel.on_cpu) continue;
        if (kernel.kind == convolve::KernelKind::kSeparable && !mask.rank1) continue;
        if (kernel.kind == convolve::KernelKind::kBox && !mask.equal) continue;
        if (kernel.kind == convolve::KernelKind::kShift && !mask.tap) continue;
        if (kernel.kind == convolve::KernelKind::kTensor && !of_bytes(format)) continue;
        tested.set("kernel", kernel.nick);
        judge(filter(tested, frame), expected, tested, name, kernel.nick);
      }
      tested.set("kernel", "auto");
      if (has_alpha(format)) run_alpha_weighted(tested, truth, frame, name);
    }
  }

  int finish() const { return gpu::finish(passed_, failed_); }

 private:
  static bool of_bytes(GstVideoFormat format) {
    const GstVideoFormatInfo* info = gst_video_format_get_info(format);
    return GST_VIDEO_FORMAT_INFO_DEPTH(info, 0) == 8;
  }

  /// Y412 has alpha without the flag that says so.
  static bool has_alpha(GstVideoFormat format) {
    return GST_VIDEO_FORMAT_INFO_HAS_ALPHA(gst_video_format_get_info(format)) ||
           format == GST_VIDEO_FORMAT_Y412_BE;
  }

  void run_alpha_weighted(ElementPipeline& tested, ElementPipeline& truth, const Bytes& frame,
                          const std::string& name) {
    for (ElementPipeline* pipeline : {&tested, &truth})
      pipeline->set("alpha-mode", "premultiplied");
    judge(filter(tested, frame), filter(truth, frame), tested, name, "alpha-weighted");
    for (ElementPipeline* pipeline : {&tested, &truth})
      pipeline->set("alpha-mode", "straight");
  }

  bool names(const std::string& plan, const std::string& kernel) const {
    if (kernel == "alpha-weighted") return plan.find(kernel) != std::string::npos;
    return kernel == "auto" || plan.rfind(backend_ + " " + kernel, 0) == 0;
  }

  void judge(const std::optional<Bytes>& got, const std::optional<Bytes>& expected,
             ElementPipeline& tested, const std::string& name, const std::string& kernel) {
    std::string fault;
    const std::string plan = tested.active_plan();
    if (!got || !expected)
      fault = "no frame came: " + tested.messages().last;
    else if (*got != *expected)
      fault = "differs from the CPU";
    else if (!names(plan, kernel))
      fault = "another kernel ran: " + plan;
    if (fault.empty()) {
      ++passed_;
      return;
    }
    ++failed_;
    std::printf("FAIL %s %s %s: %s\n", backend_.c_str(), kernel.c_str(), name.c_str(),
                fault.c_str());
  }

  std::string backend_;
  std::mt19937 random_{7};
  std::size_t border_ = 0;
  long passed_ = 0;
  long failed_ = 0;
};

}  // namespace
}  // namespace cudaconvolve::gpu

int main(int argc, char** argv) {
  using namespace cudaconvolve::gpu;
  gst_init(&argc, &argv);
  if (argc != 2 || (std::strcmp(argv[1], "cuda") != 0 && std::strcmp(argv[1], "cpu") != 0)) {
    std::fprintf(stderr, "usage: sweep cuda|cpu\n");
    return 2;
  }
  Sweep sweep(argv[1]);
  for (const GstVideoFormat format : kFormats)
    for (const Size& size : kSizes)
      sweep.run(format, size);
  std::printf("figure: %zu formats x every %s kernel\n", std::size(kFormats), argv[1]);
  return sweep.finish();
}
