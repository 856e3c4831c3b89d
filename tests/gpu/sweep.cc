// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kernel of a backend x every format of the element, on small pictures, against the CPU.
//
//   sweep cuda|cpu
//
// Small enough to be run whole under each of the compute-sanitizer tools. The masks are rational,
// so that the contract is equality.
#include <cstdio>
#include <cstring>
#include <string>
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
  bool rank1;  ///< Only these are served by the separable kernel.
};
constexpr SweepMask kMasks[] = {
    {"binomial:5", true}, {"4x3: 1 2 3 -1; 0 4 -2 1; 2 1 0 5 / 16", false}, {"box:9,1", true}};
constexpr const char* kBorders[] = {"replicate", "zero", "reflect", "mirror", "wrap"};

/// The formats that the element's own pad template names.
std::vector<GstVideoFormat> template_formats() {
  GstElementFactory* factory = gst_element_factory_find("cudaconvolve");
  std::vector<GstVideoFormat> formats;
  if (factory == nullptr) return formats;
  const auto* pad = static_cast<GstStaticPadTemplate*>(
      gst_element_factory_get_static_pad_templates(factory)->data);
  GstCaps* caps = gst_static_pad_template_get_caps(const_cast<GstStaticPadTemplate*>(pad));
  const GValue* list = gst_structure_get_value(gst_caps_get_structure(caps, 0), "format");
  for (guint k = 0; k < gst_value_list_get_size(list); ++k)
    formats.push_back(
        gst_video_format_from_string(g_value_get_string(gst_value_list_get_value(list, k))));
  gst_caps_unref(caps);
  gst_object_unref(factory);
  return formats;
}

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
      const std::optional<Bytes> expected = filter(truth, frame);
      for (const convolve::KernelInfo& kernel : convolve::kKernels) {
        if (backend_ == "cuda" ? !kernel.on_cuda : !kernel.on_cpu) continue;
        if (kernel.kind == convolve::KernelKind::kSeparable && !mask.rank1) continue;
        tested.set("kernel", kernel.nick);
        judge(filter(tested, frame), expected, tested,
              std::string(gst_video_format_to_string(format)) + " " + std::to_string(size.width) +
                  "x" + std::to_string(size.height) + " " + mask.text + " " + border,
              kernel.nick);
      }
      tested.set("kernel", "auto");
    }
  }

  int finish() const { return gpu::finish(passed_, failed_); }

 private:
  void judge(const std::optional<Bytes>& got, const std::optional<Bytes>& expected,
             ElementPipeline& tested, const std::string& name, const std::string& kernel) {
    std::string fault;
    const std::string plan = tested.active_plan();
    if (!got || !expected)
      fault = "no frame came: " + tested.messages().last;
    else if (*got != *expected)
      fault = "differs from the CPU";
    else if (kernel != "auto" && plan.rfind(backend_ + " " + kernel, 0) != 0)
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
  const std::vector<GstVideoFormat> formats = template_formats();
  for (const GstVideoFormat format : formats)
    for (const Size& size : kSizes)
      sweep.run(format, size);
  std::printf("figure: %zu formats x every %s kernel\n", formats.size(), argv[1]);
  return sweep.finish();
}
