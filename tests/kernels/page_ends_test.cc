// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames beside memory that nobody may touch: planes that begin where a page begins, behind one
// without access, or that end where a page ends, before another. A kernel that reads or writes a
// byte more than the frame has ends the test, with any set of instructions; the address sanitizer
// sees those alone that are compiled with it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

enum class Edge { kBegin, kEnd };

/// Memory between two pages without access, at one edge of which are the bytes.
class PagedBytes {
 public:
  PagedBytes(std::size_t bytes, Edge edge) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inner = (bytes + page - 1) / page * page;
    size_ = inner + 2 * page;
    void* const memory = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = static_cast<std::uint8_t*>(memory);
    if (mprotect(memory_ + page, inner, PROT_READ | PROT_WRITE) != 0) return;
    bytes_ = memory_ + page + (edge == Edge::kBegin ? 0 : inner - bytes);
  }
  ~PagedBytes() {
    if (memory_ != nullptr) munmap(memory_, size_);
  }
  PagedBytes(const PagedBytes&) = delete;
  PagedBytes& operator=(const PagedBytes&) = delete;

  std::uint8_t* get() const { return bytes_; }

 private:
  std::size_t size_ = 0;
  std::uint8_t* memory_ = nullptr;
  std::uint8_t* bytes_ = nullptr;
};

/// A frame whose rows lie side by side, with nothing before the first or behind the last.
class PagedFrame {
 public:
  PagedFrame(const FrameFormat& format, Edge edge) {
    view_.format = format;
    for (int p = 0; p < format.plane_count; ++p) {
      const PlaneFormat& plane = format.planes[p];
      planes_.push_back(std::make_unique<PagedBytes>(
          static_cast<std::size_t>(plane.row_bytes) * static_cast<std::size_t>(plane.rows), edge));
      view_.data[p] = planes_.back()->get();
      view_.pitch[p] = plane.row_bytes;
    }
  }

  const FrameView& view() const { return view_; }

 private:
  FrameView view_;
  std::vector<std::unique_ptr<PagedBytes>> planes_;
};

struct PagedCase {
  Arrangement arrangement;
  SampleType samples;
};

class PageEnds : public ::testing::TestWithParam<PagedCase> {
 protected:
  PageEnds() {
    DeviceOptions options;
    options.threads = 2;
    device_ = open_device(BackendKind::kCpu, options).value();
  }

  void expect_right_frame(int width, int height, Edge edge, const TestMask& mask,
                          const Options& options) {
    SCOPED_TRACE(mask.name + " " + std::to_string(width) + "x" + std::to_string(height) +
                 (edge == Edge::kBegin ? " begins" : " ends"));
    const FrameFormat format =
        make_format(GetParam().arrangement, GetParam().samples, Levels::kFull, width, height);
    const PagedFrame source(format, edge), made(format, edge);
    GuardedFrame wanted(format, 0, false);
    for (int p = 0; p < format.plane_count; ++p) {
      ASSERT_NE(source.view().data[p], nullptr);
      ASSERT_NE(made.view().data[p], nullptr);
    }
    fill_frame(source.view(), static_cast<std::uint64_t>(width * height));
    RunArguments arguments;
    arguments.border = static_cast<Border>(runs_++ % kBorderCount);
    reference_run(source.view(), wanted.view(), mask.mask, arguments);
    auto convolver = Convolver::create(format, mask.mask, options, device_);
    // A form may not serve.
    if (options.form && convolver.status().code() == Code::kUnsupported) return;
    if (options.form) ++served_[*options.form];
    ASSERT_TRUE(convolver.ok()) << convolver.status().message();
    ASSERT_TRUE(convolver.value()->run(source.view(), made.view(), arguments).ok());
    Tolerance tolerance;
    tolerance.neighbours = !mask.mask.rational;
    tolerance.exact = [&](int plane, int component) {
      return reference_filter(decode_component(source.view(), plane, component),
                              format.planes[plane].components[component], mask.mask, arguments)
          .samples;
    };
    ASSERT_EQ(find_fault(made.view(), wanted.view(), tolerance), "");
  }

  std::shared_ptr<Device> device_;
  int runs_ = 0;
  std::map<Form, int> served_;
};

/// Options by which a mask is filtered: those with which the planner chooses the form, and those
/// that ask for forms which it seldom chooses for pictures as small as these.
std::vector<Options> ways_to_filter(const TestMask& mask) {
  std::vector<Options> ways(1);
  // They multiply each tap, which takes long for thousands of them.
  if (mask.mask.width > 31) return ways;
  for (const Form form :
       {Form::kCoarsened, Form::kCoarsenedDots, Form::kSeparableAreas, Form::kSeparableDots}) {
    ways.emplace_back();
    ways.back().form = form;
  }
  return ways;
}

TEST_P(PageEnds, AreNotCrossed) {
  const std::vector<TestMaskPtr> masks = {random_mask(3, 3, Weights::kRational),
                                          random_mask(5, 5, Weights::kRational),
                                          random_mask(8, 9, Weights::kReal),
                                          random_rank1_mask(15, 13, Weights::kRational),
                                          box_mask(5, 7, Weights::kRational),
                                          random_mask(31, 1, Weights::kRational),
                                          tap_mask(5, 3, 4, 2, 1),
                                          parsed_mask("gaussian:12")};
  for (const TestMaskPtr& mask : masks)
    for (const int width : {1, 7, 33, 64, 129, 643, 663})
      for (const int height : {1, 9})
        for (const Edge edge : {Edge::kBegin, Edge::kEnd})
          for (const Options& options : ways_to_filter(*mask)) {
            expect_right_frame(width, height, edge, *mask, options);
            if (HasFailure()) return;
          }
  EXPECT_GT(served_[Form::kCoarsenedDots], 0);
  EXPECT_GT(served_[Form::kSeparableAreas], 0);
  EXPECT_EQ(served_[Form::kSeparableDots] > 0, GetParam().samples.bytes == 1);
}

class MacropixelEnds : public PageEnds {};

// A step may read the macropixels of several columns at once. Some of these rows end where one
// does.
TEST_P(MacropixelEnds, AreNotCrossed) {
  Options dots, separable_dots;
  dots.form = Form::kCoarsenedDots;
  separable_dots.form = Form::kSeparableDots;
  for (const int side : {3, 5, 7})
    for (int width = 60; width <= 80; width += 2)
      for (const Edge edge : {Edge::kBegin, Edge::kEnd}) {
        expect_right_frame(width, 9, edge, *unit_gain_mask(side, side, 100), dots);
        expect_right_frame(width, 9, edge, *random_rank1_mask(side, side, Weights::kReal),
                           separable_dots);
        if (HasFailure()) return;
      }
  EXPECT_GT(served_[Form::kCoarsenedDots], 0);
  EXPECT_GT(served_[Form::kSeparableDots], 0);
}

std::vector<PagedCase> all_cases() {
  std::vector<PagedCase> cases;
  for (int a = 0; a <= static_cast<int>(Arrangement::kUyvy); ++a)
    for (const SampleType& samples : {kU8, kU10High, kU16Big})
      cases.push_back({static_cast<Arrangement>(a), samples});
  return cases;
}

std::string name_of(const ::testing::TestParamInfo<PagedCase>& test) {
  std::string name = "A";
  for (const char c :
       std::string(arrangement_name(test.param.arrangement)) + "_" + test.param.samples.name)
    if (c != '-') name += c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Frames, PageEnds, ::testing::ValuesIn(all_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Frames, MacropixelEnds,
                         ::testing::Values(PagedCase{Arrangement::kYuy2, kU8},
                                           PagedCase{Arrangement::kUyvyLuma, kU8},
                                           PagedCase{Arrangement::kYvyuChroma, kU8},
                                           PagedCase{Arrangement::kUyvy, kU8}),
                         name_of);

}  // namespace
}  // namespace convolve::testing
