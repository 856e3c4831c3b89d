// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/gst.h>

namespace cudaconvolve {

/// Holds the object lock for a scope.
class ObjectLock {
 public:
  explicit ObjectLock(gpointer object) : object_(object) { GST_OBJECT_LOCK(object_); }
  ~ObjectLock() { GST_OBJECT_UNLOCK(object_); }
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;

 private:
  gpointer object_;
};

}  // namespace cudaconvolve
