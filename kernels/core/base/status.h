// SPDX-License-Identifier: LGPL-2.1-or-later
// How the engine reports failure: a code and a message, never an exception, an abort or a print.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace convolve {

enum class Code {
  kOk,
  kInvalidArgument,  ///< The caller asked for something that has no meaning; the message names the
                     ///< value.
  kUnsupported,      ///< Meaningful, but this kernel or device cannot do it; the message says which
                     ///< can.
  kNoDevice,         ///< No usable GPU: no driver, no device, or none that this build has code for.
  kOutOfMemory,      ///< Host or device memory ran out; the device stays usable.
  kDeviceError,      ///< One CUDA call failed; later calls may work.
  kDeviceLost,       ///< A sticky CUDA fault: no CUDA call of this process can succeed any more.
  kStopped,          ///< The caller's StopSignal was raised: the destination holds nothing of use.
};

/// The outcome of a call: `ok()`, or a code with a one-line message fit for a user.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

inline Status invalid_argument(std::string message) {
  return Status(Code::kInvalidArgument, std::move(message));
}
inline Status stopped() {
  return Status(Code::kStopped, "stopped before the frame was complete");
}
inline Status unsupported(std::string message) {
  return Status(Code::kUnsupported, std::move(message));
}

}  // namespace convolve
