// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/mask_bank.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/handles.h"

namespace convolve {

struct MaskBankEntry {
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool retired = false;  ///< Given back; free once `last_use` has passed.
  Event last_use;
};

namespace {

/// Fits every type of weight, and keeps the cache lines of one mask apart from its neighbours'.
constexpr std::size_t kAlignment = 256;

/// In order of offset.
using Entries = std::list<MaskBankEntry>;

/// First fit: the place before which a slot of `bytes` goes, and its offset in `offset`.
bool find_gap(Entries& entries, std::size_t bytes, Entries::iterator& place, std::size_t& offset) {
  offset = 0;
  for (place = entries.begin(); place != entries.end(); ++place) {
    if (place->offset - offset >= bytes) return true;
    offset = place->offset + place->bytes;
  }
  return kConstantBankBytes - offset >= bytes;
}

/// Whether the last frame that used `entry` is done, without waiting.
bool is_done(const MaskBankEntry& entry) {
  if (!cuda_usable()) return false;
  const cudaError_t error = cudaEventQuery(entry.last_use.get());
  if (error != cudaErrorNotReady) return cuda_status(error, "cudaEventQuery").ok();
  (void)cudaGetLastError();
  return false;
}

void sweep(Entries& entries) {
  for (auto entry = entries.begin(); entry != entries.end();)
    entry = entry->retired && is_done(*entry) ? entries.erase(entry) : std::next(entry);
}

bool any_retired(const Entries& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const MaskBankEntry& entry) { return entry.retired; });
}

/// How long a filter waits for frames in flight that still read slots given back.
constexpr std::chrono::seconds kLongestWait{1};
/// How long a thread that waits for room sleeps before it looks again.
constexpr std::chrono::microseconds kPause{50};

}  // namespace

class MaskBank {
 public:
  /// Never destroyed: nothing of CUDA may run in static destructors.
  static MaskBank& instance() {
    static MaskBank& bank = *new MaskBank;
    return bank;
  }

  Result<MaskSlot> take(const std::pair<std::uint64_t, KernelKind>& key, std::size_t bytes,
                        cudaStream_t stream) {
    const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (size > kConstantBankBytes) return MaskSlot();
    Result<Event> event = Event::make(cudaEventDisableTiming);
    if (!event.ok()) return event.status();

    MaskBankEntry entry;
    entry.bytes = size;
    entry.last_use = std::move(event.value());
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      bool more_to_come = false;
      if (MaskBankEntry* taken = try_take(key, entry, &more_to_come))
        return MaskSlot(taken, stream);
      if (!cuda_usable()) return cuda_unusable();
      if (!more_to_come || std::chrono::steady_clock::now() - begin > kLongestWait)
        return MaskSlot();
      std::this_thread::sleep_for(kPause);
    }
  }

  void give_back(MaskBankEntry& entry, cudaStream_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // A slot whose last use cannot be marked is never used again.
    entry.retired = CONVOLVE_CUDA(cudaEventRecord(entry.last_use.get(), stream)).ok();
  }

  void sweep_context(std::uint64_t context_id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto bank = banks_.begin(); bank != banks_.end();) {
      if (bank->first.first == context_id) sweep(bank->second);
      bank = bank->second.empty() ? banks_.erase(bank) : std::next(bank);
    }
  }

 private:
  /// Puts `entry` into the bank if there is room; `more_to_come`: there may be later. The lock is
  /// never held while the GPU is waited for: all filters of the process want it.
  MaskBankEntry* try_take(const std::pair<std::uint64_t, KernelKind>& key, MaskBankEntry& entry,
                          bool* more_to_come) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entries& entries = banks_[key];
    sweep(entries);
    Entries::iterator place;
    *more_to_come = any_retired(entries);
    if (!find_gap(entries, entry.bytes, place, entry.offset)) return nullptr;
    return &*entries.insert(place, std::move(entry));
  }

  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, KernelKind>, Entries> banks_;
};

MaskSlot::MaskSlot(MaskSlot&& other) noexcept {
  *this = std::move(other);
}

MaskSlot& MaskSlot::operator=(MaskSlot&& other) noexcept {
  std::swap(entry_, other.entry_);
  std::swap(stream_, other.stream_);
  return *this;
}

MaskSlot::~MaskSlot() {
  // In a forked child another thread of the parent may have held the lock for ever.
  if (entry_ != nullptr && cuda_usable()) MaskBank::instance().give_back(*entry_, stream_);
}

int MaskSlot::offset() const {
  return static_cast<int>(entry_->offset);
}

Result<MaskSlot> take_mask_slot(std::uint64_t context_id, KernelKind kernel, std::size_t bytes,
                                cudaStream_t stream) {
  return MaskBank::instance().take({context_id, kernel}, bytes, stream);
}

void sweep_mask_slots(std::uint64_t context_id) {
  if (cuda_usable()) MaskBank::instance().sweep_context(context_id);
}

}  // namespace convolve
