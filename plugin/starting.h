// SPDX-License-Identifier: LGPL-2.1-or-later
// Which of the values that are set around it a start of the element takes.
#pragma once

#include <string>

#include "plugin/object_lock.h"
#include "plugin/properties.h"

namespace cudaconvolve {

/// A start from the snapshot of its settings on. A property that is set before is part of it, one
/// that is set later finds the element started. Undone unless it succeeds.
class Starting {
 public:
  /// `properties` are guarded by the lock of `object`.
  Starting(gpointer object, Properties& properties) : object_(object), properties_(properties) {
    const ObjectLock lock(object_);
    settings_ = properties_.settings;
    refusal_ = refusal_of_start(properties_);
    properties_.started = true;
  }
  ~Starting() {
    if (succeeded_) return;
    const ObjectLock lock(object_);
    properties_.started = false;
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;

  const Settings& settings() const { return settings_; }

  /// Why there can be no start; empty if nothing stands against it.
  const std::string& refusal() const { return refusal_; }

  void succeed() { succeeded_ = true; }

 private:
  gpointer object_;
  Properties& properties_;
  Settings settings_;
  std::string refusal_;
  bool succeeded_ = false;
};

}  // namespace cudaconvolve
