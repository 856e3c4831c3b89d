// SPDX-License-Identifier: LGPL-2.1-or-later
// What programs may ask of the stand-in for NVIDIA's driver (fake_driver.cc), which is found as
// libcuda.so.1. Device memory is host memory that knows its context: a call that touches it while
// another context is current fails, as it would on a GPU.
#pragma once

extern "C" {

/// The context that is current in this thread, or null.
void* fake_driver_current(void);
/// The primary context of a device; null if there is no such device.
void* fake_driver_primary(int device);
int fake_driver_device_of(void* context);

/// The context in which the device memory at `address` was taken; null if there is none.
void* fake_driver_context_of(const void* address);

/// From now on `count` blocks of device memory can be taken, and no more; -1 = any number.
void fake_driver_allow(int count);

/// Copies on a stream are done so many milliseconds after they are asked for, one behind the other.
void fake_driver_delay(int milliseconds);
/// Waits until all copies on `stream` are done, as a stream of the device would.
void fake_driver_wait_for(void* stream);

/// Every call fails from now on, as after a sticky error; 0 ends it.
void fake_driver_break(int broken);
/// How often the last such driver was asked to free memory: of a lost device that may never return.
int fake_driver_frees_when_broken(void);

/// Device memory that was taken and not freed, and contexts that were made and not destroyed.
int fake_driver_blocks(void);
int fake_driver_contexts(void);
}
