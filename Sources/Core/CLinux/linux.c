#define _GNU_SOURCE
#include "CLinux.h"

#ifdef __linux__

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int lfs_rename_exclusively(int folder, const char *name, int new_folder, const char *new_name) {
    // Not every C library has a function for it. The last argument is RENAME_NOREPLACE of linux/fs.h.
    return (int)syscall(SYS_renameat2, folder, name, new_folder, new_name, 1u);
}

int lfs_begin_writeback(int file, int64_t start, int64_t length) {
    return sync_file_range(file, start, length, SYNC_FILE_RANGE_WRITE);
}

int lfs_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }

int lfs_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int lfs_is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

#endif
