#ifndef LFS_CLINUX_H
#define LFS_CLINUX_H

#ifdef __linux__

#include <stdint.h>

/// Renames a file. Fails with EEXIST if the new name exists: renameat2(2) with RENAME_NOREPLACE.
int lfs_rename_exclusively(int folder, const char *name, int new_folder, const char *new_name);

/// Starts the write-back of a range of a file without waiting for it: sync_file_range(2).
int lfs_begin_writeback(int file, int64_t start, int64_t length);

/// Names the calling thread, with at most 15 bytes: pthread_setname_np(3).
int lfs_name_thread(const char *name);

/// Forbids core dumps and other processes' reads of this process's memory: prctl(2), PR_SET_DUMPABLE.
int lfs_forbid_dumps(void);

/// Returns 0 if dumps are forbidden: prctl(2), PR_GET_DUMPABLE.
int lfs_is_dumpable(void);

#endif

#endif
