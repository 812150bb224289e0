// Tells the thread sanitizer about Swift's Mutex on Linux.
//
// The fast path of Mutex is inlined and instrumented; its slow path lies in the runtime library, which is not. Without
// its edges every contended lock shows as a race (a correct program of ten lines does). This library stands before the
// two functions of the slow path, adds the edge that the sanitizer misses, and calls them. It hides no race: an access
// outside of the lock is reported as before, which Tests/Sanitizer/check shows.
//
// Preloaded by Tests/run-tests --sanitize=thread; nothing else uses it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

// Weak: the test runner's own processes are not built with the sanitizer.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);

typedef SWIFT void (*lock_function)(uint32_t, SELF);
typedef SWIFT void (*unlock_function)(SELF);

SWIFT void lock_slow(uint32_t thread, SELF) {
    ((lock_function)dlsym(RTLD_NEXT, LOCK_SLOW))(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF) {
    if (__tsan_release) __tsan_release(mutex);
    ((unlock_function)dlsym(RTLD_NEXT, UNLOCK_SLOW))(mutex);
}
