// SPDX-License-Identifier: LGPL-2.1-or-later
// The allocator of page-locked memory, on a device that counts what it gave.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "plugin/frames/page_locked_allocator.h"
#include "plugin/log.h"

GST_DEBUG_CATEGORY(cuda_convolve_debug);

namespace {

constexpr char kPageLocked[] = "CudaConvolvePageLockedMemory";

class CountingDevice final : public convolve::Device {
 public:
  const convolve::DeviceCapabilities& capabilities() const override { return capabilities_; }
  convolve::Result<std::unique_ptr<convolve::Job>> prepare(const convolve::FrameFormat&,
                                                           const convolve::PreparedPlan&) override {
    return convolve::unsupported("not here");
  }
  convolve::Status finish() override { return {}; }
  std::uint64_t last_kernel_ns() const override { return 0; }
  convolve::Result<std::shared_ptr<std::uint8_t>> page_locked_memory(std::size_t bytes) override {
    if (refuses) return convolve::Status(convolve::Code::kOutOfMemory, "refused");
    *alive += 1;
    // Without the pages behind it: what is not touched takes no memory.
    return std::shared_ptr<std::uint8_t>(new std::uint8_t[bytes], [alive = alive](std::uint8_t* p) {
      *alive -= 1;
      delete[] p;
    });
  }

  bool refuses = false;
  std::shared_ptr<int> alive = std::make_shared<int>(0);

 private:
  convolve::DeviceCapabilities capabilities_;
};

class PageLocked : public testing::Test {
 protected:
  PageLocked()
      : device_(std::make_shared<CountingDevice>()),
        allocator_(cudaconvolve::new_page_locked_allocator(device_)) {}
  ~PageLocked() override {
    gst_clear_object(&allocator_);
    EXPECT_EQ(*alive_, 0) << "blocks were not given back";
  }

  static bool is_locked(GstMemory* memory) {
    EXPECT_EQ(cudaconvolve::is_page_locked(memory),
              gst_memory_is_type(memory, kPageLocked) != FALSE);
    return cudaconvolve::is_page_locked(memory);
  }

  std::shared_ptr<CountingDevice> device_;
  std::shared_ptr<int> alive_ = device_->alive;
  GstAllocator* allocator_;
};

TEST_F(PageLocked, MemoryComesFromTheDeviceAndGoesBack) {
  GstMemory* memory = gst_allocator_alloc(allocator_, 1000, nullptr);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(is_locked(memory));
  EXPECT_EQ(*alive_, 1);
  GstMapInfo map;
  ASSERT_TRUE(gst_memory_map(memory, &map, GST_MAP_WRITE));
  EXPECT_EQ(map.size, 1000u);
  std::memset(map.data, 7, map.size);
  gst_memory_unmap(memory, &map);
  gst_memory_unref(memory);
  EXPECT_EQ(*alive_, 0);
}

TEST_F(PageLocked, PrefixPaddingAndZerosAreAsAsked) {
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.flags =
      static_cast<GstMemoryFlags>(GST_MEMORY_FLAG_ZERO_PREFIXED | GST_MEMORY_FLAG_ZERO_PADDED);
  params.prefix = 16;
  params.padding = 24;
  params.align = 255;
  GstMemory* memory = gst_allocator_alloc(allocator_, 100, &params);
  gsize offset = 0, maxsize = 0;
  EXPECT_EQ(gst_memory_get_sizes(memory, &offset, &maxsize), 100u);
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(maxsize, 140u);
  gst_memory_resize(memory, -16, 140);
  GstMapInfo map;
  ASSERT_TRUE(gst_memory_map(memory, &map, GST_MAP_READ));
  ASSERT_EQ(map.size, 140u);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(map.data[i], 0) << i;
  for (int i = 116; i < 140; ++i)
    EXPECT_EQ(map.data[i], 0) << i;
  gst_memory_unmap(memory, &map);
  gst_memory_unref(memory);
}

TEST_F(PageLocked, PartsKeepTheWholeAndKnowThatTheyAreNeighbours) {
  GstMemory* memory = gst_allocator_alloc(allocator_, 100, nullptr);
  GstMapInfo map;
  ASSERT_TRUE(gst_memory_map(memory, &map, GST_MAP_WRITE));
  for (int i = 0; i < 100; ++i)
    map.data[i] = static_cast<std::uint8_t>(i);
  gst_memory_unmap(memory, &map);
  GstMemory* first = gst_memory_share(memory, 10, 20);
  GstMemory* second = gst_memory_share(memory, 30, -1);
  GstMemory* nested = gst_memory_share(second, 5, 10);
  gst_memory_unref(memory);
  for (GstMemory* part : {first, second, nested})
    EXPECT_TRUE(is_locked(part));
  EXPECT_EQ(*alive_, 1);
  gsize offset = 0;
  EXPECT_TRUE(gst_memory_is_span(first, second, &offset));
  EXPECT_EQ(offset, 10u);
  EXPECT_FALSE(gst_memory_is_span(second, first, nullptr));
  ASSERT_TRUE(gst_memory_map(second, &map, GST_MAP_READ));
  EXPECT_EQ(map.size, 70u);
  EXPECT_EQ(map.data[0], 30);
  gst_memory_unmap(second, &map);
  ASSERT_TRUE(gst_memory_map(nested, &map, GST_MAP_READ));
  EXPECT_EQ(map.size, 10u);
  EXPECT_EQ(map.data[0], 35);
  gst_memory_unmap(nested, &map);
  // A copy is one's own.
  GstMemory* copy = gst_memory_copy(nested, 0, -1);
  ASSERT_TRUE(gst_memory_map(copy, &map, GST_MAP_WRITE));
  EXPECT_EQ(map.data[9], 44);
  map.data[9] = 0;
  gst_memory_unmap(copy, &map);
  gst_memory_unref(copy);
  gst_memory_unref(first);
  gst_memory_unref(second);
  EXPECT_EQ(*alive_, 1);
  gst_memory_unref(nested);
  EXPECT_EQ(*alive_, 0);
}

TEST_F(PageLocked, BeyondTheMostOfAnElementThereIsOrdinaryMemory) {
  const gsize half = cudaconvolve::kMostPageLockedBytes / 2;
  GstMemory* first = gst_allocator_alloc(allocator_, half, nullptr);
  GstMemory* second = gst_allocator_alloc(allocator_, half, nullptr);
  GstMemory* third = gst_allocator_alloc(allocator_, 4096, nullptr);
  EXPECT_TRUE(is_locked(first));
  EXPECT_TRUE(is_locked(second));
  EXPECT_FALSE(is_locked(third));
  gst_memory_unref(third);
  gst_memory_unref(first);
  third = gst_allocator_alloc(allocator_, 4096, nullptr);
  EXPECT_TRUE(is_locked(third)) << "what was given back counts no more";
  gst_memory_unref(second);
  gst_memory_unref(third);
}

TEST_F(PageLocked, WhatTheDeviceRefusesIsOrdinaryMemory) {
  device_->refuses = true;
  GstMemory* memory = gst_allocator_alloc(allocator_, 100, nullptr);
  ASSERT_NE(memory, nullptr);
  EXPECT_FALSE(is_locked(memory));
  gst_memory_unref(memory);
  device_->refuses = false;
  memory = gst_allocator_alloc(allocator_, 100, nullptr);
  EXPECT_TRUE(is_locked(memory));
  gst_memory_unref(memory);
}

TEST_F(PageLocked, WiderAlignmentThanAPageIsServedByOrdinaryMemory) {
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  params.align = 65535;
  GstMemory* memory = gst_allocator_alloc(allocator_, 100, &params);
  ASSERT_NE(memory, nullptr);
  EXPECT_FALSE(is_locked(memory));
  GstMapInfo map;
  ASSERT_TRUE(gst_memory_map(memory, &map, GST_MAP_READ));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(map.data) & 65535u, 0u);
  gst_memory_unmap(memory, &map);
  gst_memory_unref(memory);
}

TEST_F(PageLocked, OnceClosedTheAllocatorLetsGoOfTheDeviceButNotOfMemory) {
  GstMemory* memory = gst_allocator_alloc(allocator_, 100, nullptr);
  cudaconvolve::close_page_locked_allocator(allocator_);
  EXPECT_EQ(device_.use_count(), 1);
  GstMemory* later = gst_allocator_alloc(allocator_, 100, nullptr);
  EXPECT_FALSE(is_locked(later));
  gst_memory_unref(later);
  gst_clear_object(&allocator_);
  EXPECT_TRUE(is_locked(memory));
  EXPECT_EQ(*alive_, 1);
  gst_memory_unref(memory);
}

}  // namespace
