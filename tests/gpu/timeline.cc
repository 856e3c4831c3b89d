// SPDX-License-Identifier: LGPL-2.1-or-later
// A library that the CUDA driver loads into any program, to note when copies and kernels ran:
//
//   CUDA_INJECTION64_PATH=libtimeline.so TIMELINE_JSON=FILE PROGRAM...
//
// FILE gets an object a line: what ("up", "down", "device" or a kernel's name), stream, bytes, and
// the nanoseconds at which it began and ended. tests/benchmarks/timeline.py draws them. The records
// are those of CUPTI, CUDA's profiling interface, so they cost the program some microseconds each.
#include <cupti.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

std::FILE* g_file = nullptr;
std::mutex g_mutex;

void write_line(const char* what, std::uint32_t stream, std::uint64_t bytes, std::uint64_t begin,
                std::uint64_t end) {
  std::fprintf(g_file,
               "{\"what\":\"%s\",\"stream\":%u,\"bytes\":%llu,\"begin\":%llu,\"end\":%llu}\n", what,
               stream, static_cast<unsigned long long>(bytes),
               static_cast<unsigned long long>(begin), static_cast<unsigned long long>(end));
}

const char* direction(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "up";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "down";
    default:
      return "device";
  }
}

void write_record(const CUpti_Activity& record) {
  if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy5&>(record);
    write_line(direction(copy.copyKind), copy.streamId, copy.bytes, copy.start, copy.end);
  } else if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel9&>(record);
    write_line(kernel.name, kernel.streamId, 0, kernel.start, kernel.end);
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  CUpti_Activity* record = nullptr;
  while (g_file != nullptr && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    write_record(*record);
  std::free(buffer);
}

void end() {
  (void)cuptiActivityFlushAll(1);
  const std::lock_guard<std::mutex> lock(g_mutex);
  std::fclose(g_file);
  g_file = nullptr;
}

}  // namespace

/// The driver calls this when it is initialised. Returns 1 if all is well.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* const path = std::getenv("TIMELINE_JSON");
  if (path == nullptr) return 1;
  g_file = std::fopen(path, "w");
  if (g_file == nullptr) {
    std::perror(path);
    return 0;
  }
  const bool ok = cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
                  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS &&
                  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
  std::atexit(end);
  return ok ? 1 : 0;
}
