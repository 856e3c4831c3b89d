// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/mask_bank.h"

#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include "kernels/cuda/check.h"
#include "kernels/cuda/handles.h"

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

Status wait_for_retired(const Entries& entries) {
  for (const MaskBankEntry& entry : entries) {
    if (!entry.retired) continue;
    Status status = CONVOLVE_CUDA(cudaEventSynchronize(entry.last_use.get()));
    if (!status.ok()) return status;
  }
  return {};
}

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

    const std::lock_guard<std::mutex> lock(mutex_);
    Entries& entries = banks_[key];
    sweep(entries);
    MaskBankEntry entry;
    Entries::iterator place;
    if (!find_gap(entries, size, place, entry.offset)) {
      if (Status status = wait_for_retired(entries); !status.ok()) return status;
      sweep(entries);
      if (!find_gap(entries, size, place, entry.offset)) return MaskSlot();
    }
    entry.bytes = size;
    entry.last_use = std::move(event.value());
    return MaskSlot(&*entries.insert(place, std::move(entry)), stream);
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
