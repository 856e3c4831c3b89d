// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kernel of a backend x every memory layout of the formats, on small pictures, against the
// CPU; with colour weighted by alpha, too, where there is alpha. On CUDA also every form of the
// kernels on tensor cores, and that each has run.
//
//   sweep cuda|cpu [small] [FORMAT...]      no large pictures; these formats alone
//
// Small enough to be run whole under each of the compute-sanitizer tools. Most masks are rational,
// so that the contract is equality.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
/// A mask for forms of one kernel, on tensor cores, that the small masks above do not take.
struct FormMask {
  const char* name;
  std::string text;
  const char* kernel;
  bool real = false;  ///< Codes may be one off.
};

/// Integers without any symmetry, over `divisor`.
std::string asymmetric(int width, int height, int divisor) {
  std::mt19937 random(static_cast<unsigned>(width * height));
  std::string text = std::to_string(width) + "x" + std::to_string(height) + ":";
  for (int k = 0; k < width * height; ++k)
    text += " " + std::to_string(static_cast<int>(random() % 19) - 9);
  return text + " / " + std::to_string(divisor);
}

std::vector<FormMask> form_masks() {
  return {{"9x9", asymmetric(9, 9, 64), "tensor"},
          {"13x13", asymmetric(13, 13, 64), "tensor"},
          {"31x31", asymmetric(31, 31, 128), "tensor"},
          {"box:71,3", "box:71,3", "separable"},
          {"gaussian:0.6", "gaussian:0.6", "tensor", true},
          {"gaussian:2", "gaussian:2", "tensor", true},
          {"gaussian:3", "gaussian:3", "tensor", true},
          {"gaussian:2", "gaussian:2", "separable", true},
          {"gaussian:12", "gaussian:12", "separable", true}};
}

/// With this mask and size each block has more tiles of RGBA or P010 than fit its memory.
FormMask large_mask() {
  return {"63x21", asymmetric(63, 21, 128), "tensor"};
}
constexpr Size kLargeSize = {2048, 1088};
constexpr GstVideoFormat kLargeFormats[] = {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12,
                                            GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_P010_10LE};

/// How the plans begin that must have been seen, with the format that has a kernel for them, on
/// compute capability 9.0. `tensor` stands for its forms that take no tiles, of which the GPU's
/// bandwidth decides which is the cheapest.
struct WantedPlan {
  const char* plan;
  GstVideoFormat format;
  bool large = false;  ///< Seen on large pictures alone.
};
constexpr WantedPlan kWantedPlans[] = {
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_GRAY8},
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_NV12},
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_YUY2},
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_RGBA},
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_BGR},
    {"cuda tensor 2 digits", GST_VIDEO_FORMAT_BGR},
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_GRAY16_BE},
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_I420_10LE},
    {"cuda tensor 1 digit", GST_VIDEO_FORMAT_P010_10LE},
    {"cuda tensor 2 digits", GST_VIDEO_FORMAT_YUY2},
    {"cuda tensor-tiles tile 256x32 1 digit", GST_VIDEO_FORMAT_NV12},
    {"cuda tensor-tiles tile 128x32 1 digit", GST_VIDEO_FORMAT_v308},
    {"cuda tensor-tiles tile 256x32 1 digit", GST_VIDEO_FORMAT_I420_10LE},
    {"cuda tensor-tiles tile 256x32 1 digit", GST_VIDEO_FORMAT_P010_10LE},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_GRAY8},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_I420},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_NV12},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_v308},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_RGBA},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_GRAY16_BE},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_I420_10LE},
    {"cuda tensor-warpgroups tile 128x64 1 digit", GST_VIDEO_FORMAT_P010_10LE, true},
    {"cuda tensor-warpgroups tile 128x64 2 digits", GST_VIDEO_FORMAT_GRAY8},
    {"cuda separable-tensor-fused 1 digit", GST_VIDEO_FORMAT_GRAY8},
    {"cuda separable-tensor-fused 2 digits", GST_VIDEO_FORMAT_GRAY8},
    {"cuda separable-tensor-two-pass 1 digit", GST_VIDEO_FORMAT_GRAY8},
    {"cuda separable-tensor-two-pass 2 digits", GST_VIDEO_FORMAT_GRAY8}};

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
    GST_VIDEO_FORMAT_BGR,
};

class Sweep {
 public:
  explicit Sweep(std::string backend) : backend_(std::move(backend)) {}

  void run(GstVideoFormat format, Size size) {
    ElementPipeline tested("backend=" + backend_, format, size.width, size.height);
    ElementPipeline truth("backend=cpu", format, size.width, size.height);
    for (const SweepMask& mask : kMasks) {
      const Bytes frame = random_frame(truth.info(), random_);
      const std::string name = name_of(format, size, mask.text) + prepare(tested, truth, mask.text);
      const std::optional<Bytes> expected = filter(truth, frame);
      for (const convolve::KernelInfo& kernel : convolve::kKernels) {
        if (!convolve::has_kernel(
                backend_ == "cuda" ? convolve::BackendKind::kCuda : convolve::BackendKind::kCpu,
                kernel.kind))
          continue;
        if (kernel.kind == convolve::KernelKind::kSeparable && !mask.rank1) continue;
        if (kernel.kind == convolve::KernelKind::kBox && !mask.equal) continue;
        if (kernel.kind == convolve::KernelKind::kShift && !mask.tap) continue;
        if (kernel.kind == convolve::KernelKind::kTensor && !tensor_serves(format)) continue;
        tested.set("kernel", kernel.nick);
        judge(filter(tested, frame), expected, tested, name, kernel.nick);
        note(format, tested);
      }
      tested.set("kernel", "auto");
      if (has_alpha(format)) run_alpha_weighted(tested, truth, frame, name);
    }
  }

  /// The kernels on tensor cores, with masks for their forms.
  void run_forms(GstVideoFormat format, Size size, const std::vector<FormMask>& masks) {
    ElementPipeline tested("backend=" + backend_, format, size.width, size.height);
    ElementPipeline truth("backend=cpu", format, size.width, size.height);
    for (const FormMask& mask : masks) {
      if (!tensor_serves(format) || (mask.real && !of_bytes(format))) continue;
      const Bytes frame = random_frame(truth.info(), random_);
      const std::string name = name_of(format, size, mask.name) + prepare(tested, truth, mask.text);
      tested.set("kernel", mask.kernel);
      judge(filter(tested, frame), filter(truth, frame), tested, name, mask.kernel, mask.real);
      note(format, tested);
    }
  }

  /// Fails for each form that no plan had; `small`: of small pictures.
  void check_forms(bool small) {
    for (const WantedPlan& form : kWantedPlans) {
      if (small && form.large) continue;
      if (seen_.count({form.plan, form.format}) != 0) continue;
      ++failed_;
      std::printf("FAIL no plan %s for %s\n", form.plan, gst_video_format_to_string(form.format));
    }
  }

  int finish() const { return gpu::finish(passed_, failed_); }

 private:
  static bool of_bytes(GstVideoFormat format) {
    const GstVideoFormatInfo* info = gst_video_format_get_info(format);
    return GST_VIDEO_FORMAT_INFO_DEPTH(info, 0) == 8;
  }

  /// Not where components of two bytes are copied, or are of two sizes.
  static bool tensor_serves(GstVideoFormat format) {
    const GstVideoFormatInfo* info = gst_video_format_get_info(format);
    return of_bytes(format) || GST_VIDEO_FORMAT_INFO_N_PLANES(info) > 1 ||
           GST_VIDEO_FORMAT_INFO_N_COMPONENTS(info) == 1;
  }

  static std::string name_of(GstVideoFormat format, Size size, const char* mask) {
    return std::string(gst_video_format_to_string(format)) + " " + std::to_string(size.width) +
           "x" + std::to_string(size.height) + " " + mask + " ";
  }

  /// Sets the mask and the next border, which it returns.
  const char* prepare(ElementPipeline& tested, ElementPipeline& truth, const std::string& mask) {
    const char* border = kBorders[border_++ % std::size(kBorders)];
    for (ElementPipeline* pipeline : {&tested, &truth}) {
      pipeline->set("mask", mask);
      pipeline->set("border", border);
    }
    return border;
  }

  /// Notes how the plan begins, up to its digits.
  void note(GstVideoFormat format, const ElementPipeline& tested) {
    std::string plan = tested.active_plan();
    plan.resize(std::min(plan.size(), plan.find(" int32")));
    const std::string tensor = backend_ + " tensor";
    if (plan.rfind(tensor, 0) == 0 && plan.find(" tile ") == std::string::npos)
      plan = tensor + plan.substr(plan.find(' ', tensor.size()));
    seen_.insert({plan, format});
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

  /// `real`: bytes may differ by 1.
  static bool agree(const Bytes& got, const Bytes& expected, bool real) {
    return std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                      [real](int a, int b) { return std::abs(a - b) <= (real ? 1 : 0); });
  }

  void judge(const std::optional<Bytes>& got, const std::optional<Bytes>& expected,
             ElementPipeline& tested, const std::string& name, const std::string& kernel,
             bool real = false) {
    std::string fault;
    const std::string plan = tested.active_plan();
    if (!got || !expected)
      fault = "no frame came: " + tested.messages().last;
    else if (!agree(*got, *expected, real))
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
  std::set<std::pair<std::string, GstVideoFormat>> seen_;  ///< Plans, as of Form.
  long passed_ = 0;
  long failed_ = 0;
};

/// True if the device has the units for all forms.
bool has_all_forms() {
  const auto device = convolve::open_device(convolve::BackendKind::kCuda, {});
  return device.ok() && device.value()->capabilities().compute_capability == 90;
}

int run(const std::string& backend, bool small, const std::vector<GstVideoFormat>& formats) {
  const bool cuda = backend == "cuda";
  Sweep sweep(backend);
  for (const GstVideoFormat format : formats)
    for (const Size& size : kSizes) {
      sweep.run(format, size);
      if (cuda) sweep.run_forms(format, size, form_masks());
    }
  for (const GstVideoFormat format : kLargeFormats)
    if (cuda && !small && std::find(formats.begin(), formats.end(), format) != formats.end())
      sweep.run_forms(format, kLargeSize, {large_mask()});
  if (cuda && formats.size() == std::size(kFormats) && has_all_forms()) sweep.check_forms(small);
  std::printf("figure: %zu formats x every %s kernel\n", formats.size(), backend.c_str());
  return sweep.finish();
}

}  // namespace
}  // namespace cudaconvolve::gpu

int main(int argc, char** argv) {
  using namespace cudaconvolve::gpu;
  gst_init(&argc, &argv);
  std::vector<GstVideoFormat> formats;
  bool usage = argc < 2 || (std::strcmp(argv[1], "cuda") != 0 && std::strcmp(argv[1], "cpu") != 0);
  const bool small = argc > 2 && std::strcmp(argv[2], "small") == 0;
  for (int k = small ? 3 : 2; k < argc; ++k) {
    formats.push_back(gst_video_format_from_string(argv[k]));
    usage = usage || formats.back() == GST_VIDEO_FORMAT_UNKNOWN;
  }
  if (usage) {
    std::fprintf(stderr, "usage: sweep cuda|cpu [small] [FORMAT...]\n");
    return 2;
  }
  if (formats.empty()) formats.assign(std::begin(kFormats), std::end(kFormats));
  return run(argv[1], small, formats);
}
