// SPDX-License-Identifier: LGPL-2.1-or-later
// GLib's mutexes as ThreadSanitizer must see them. They are futexes inside a library that is not
// instrumented, so that every correct use looks like a race. These stand before GLib's own, call
// them, and say what happens before what. Built with -Db_sanitize=thread only.
#include <dlfcn.h>
#include <glib.h>

extern "C" {

void __tsan_acquire(void* address);
void __tsan_release(void* address);
const char* __tsan_default_suppressions();

}  // extern "C"

namespace {

/// GLib's function of that name.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void g_mutex_lock(GMutex* mutex) {
  static auto* const lock = next<decltype(g_mutex_lock)>("g_mutex_lock");
  lock(mutex);
  __tsan_acquire(mutex);
}

gboolean g_mutex_trylock(GMutex* mutex) {
  static auto* const try_lock = next<decltype(g_mutex_trylock)>("g_mutex_trylock");
  const gboolean locked = try_lock(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

void g_mutex_unlock(GMutex* mutex) {
  static auto* const unlock = next<decltype(g_mutex_unlock)>("g_mutex_unlock");
  __tsan_release(mutex);
  unlock(mutex);
}

void g_cond_wait(GCond* condition, GMutex* mutex) {
  static auto* const wait = next<decltype(g_cond_wait)>("g_cond_wait");
  __tsan_release(mutex);
  wait(condition, mutex);
  __tsan_acquire(mutex);
}

gboolean g_cond_wait_until(GCond* condition, GMutex* mutex, gint64 end_time) {
  static auto* const wait = next<decltype(g_cond_wait_until)>("g_cond_wait_until");
  __tsan_release(mutex);
  const gboolean signalled = wait(condition, mutex, end_time);
  __tsan_acquire(mutex);
  return signalled;
}

/// GLib makes the lock inside a GRWLock at its first use and hands it on by an atomic pointer,
/// which cannot be seen from outside. Nor can the locks of its own tables (quarks), which it calls
/// within the library: what it copies and compares itself is left out.
const char* __tsan_default_suppressions() {
  return "race:g_rw_lock_\n"
         "called_from_lib:libglib-2.0.so\n";
}

}  // extern "C"
