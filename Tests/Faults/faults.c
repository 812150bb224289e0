// Lets the n-th file operation of a process fail, or end the process: LD_PRELOAD for tests. Linux only.
//
//   LFS_FAULT_ROOT  operations on files below this folder count
//   LFS_FAULT_KIND  kill, EIO, ENOSPC, EMFILE or short
//   LFS_FAULT_AT    which one; 0 counts only
//
// Counting begins with faults_arm(). `kill` ends the process before the operation; `short` lets a write take half.
//
//   LFS_FAULT_INODE  alone, and from the start: no file with this number can be read, as on a bad sector
//
// A file system without a feature, from the start and as often as it is used below LFS_FAULT_ROOT. Each is an errno:
//
//   LFS_FAULT_FCHMOD     of fchmod()
//   LFS_FAULT_FSYNCDIR   of fsync() of a folder
//   LFS_FAULT_FLOCK      of flock()
//
//   LFS_FAULT_OWNER      the user who owns all files below LFS_FAULT_ROOT, as on a mount that stores no owners
//
//   LFS_FAULT_THREADS    how many threads the process may have: more cannot be made
//
// Calls for one file, from the start. `status` is fstat() of the open file.
//
//   LFS_FAULT_FILE       the last name in the path of the file
//   LFS_FAULT_CALL       open, read or status
//   LFS_FAULT_FROM       the first of these calls that is affected, and
//   LFS_FAULT_COUNT      how many are; without it all later ones
//   LFS_FAULT_ERRNO      their error, or
//   LFS_FAULT_COMMAND    a shell command that runs before the first of them. $PPID is this process.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum operation { OPENING = 1, WRITING = 2, SYNCING = 4, NAMING = 8, READING = 16 };

static int armed, at, operations, result_errno, is_kill, is_short;
static unsigned long long unreadable;
static long count, fired;
static char root[4096];

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

void faults_arm(void) {
    const char *kind = getenv("LFS_FAULT_KIND"), *number = getenv("LFS_FAULT_AT"), *folder = getenv("LFS_FAULT_ROOT");
    if (!kind || !number || !folder) return;
    snprintf(root, sizeof root, "%s/", folder);
    at = atoi(number);
    if (!strcmp(kind, "kill")) operations = OPENING | WRITING | SYNCING | NAMING, is_kill = 1;
    if (!strcmp(kind, "EIO")) operations = WRITING | SYNCING | READING, result_errno = EIO;
    if (!strcmp(kind, "ENOSPC")) operations = OPENING | WRITING | NAMING, result_errno = ENOSPC;
    if (!strcmp(kind, "EMFILE")) operations = OPENING, result_errno = EMFILE;
    if (!strcmp(kind, "short")) operations = WRITING, is_short = 1;
    __atomic_store_n(&armed, 1, __ATOMIC_SEQ_CST);
}

__attribute__((constructor)) static void find_unreadable(void) {
    const char *number = getenv("LFS_FAULT_INODE");
    if (number) unreadable = strtoull(number, NULL, 10);
}

// Whether this file cannot be read. Keeps errno otherwise.
static int is_unreadable(int file) {
    if (!unreadable) return 0;
    int before = errno;
    struct stat status;
    int found = fstat(file, &status) == 0 && status.st_ino == unreadable;
    errno = found ? EIO : before;
    return found;
}

// Whether this call for the one file fails. Runs the command before the first affected call. Keeps errno otherwise.
static int fails(const char *call, int file, const char *path) {
    static long calls;
    const char *name = getenv("LFS_FAULT_FILE"), *wanted = getenv("LFS_FAULT_CALL"), *from = getenv("LFS_FAULT_FROM");
    if (!name || !wanted || !from || strcmp(call, wanted)) return 0;
    int before = errno;
    char link[64], open_path[4096];
    if (!path) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, open_path, sizeof open_path - 1);
        open_path[length < 0 ? 0 : length] = 0, path = open_path;
    }
    const char *slash = strrchr(path, '/');
    // The system adds " (deleted)" to the path of a removed file.
    int is_other = strncmp(slash ? slash + 1 : path, name, strlen(name));
    errno = before;
    if (is_other) return 0;
    long number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST), first = atol(from);
    const char *most = getenv("LFS_FAULT_COUNT"), *code = getenv("LFS_FAULT_ERRNO");
    if (number < first || (most && number >= first + atol(most))) return 0;
    if (number == first && getenv("LFS_FAULT_COMMAND")) {
        if (system("exec env -u LD_PRELOAD sh -c \"$LFS_FAULT_COMMAND\"") != 0) abort();
        errno = before;
    }
    if (!code) return 0;
    errno = atoi(code);
    return 1;
}

long faults_count(void) { return count; }
long faults_fired(void) { return fired; }

static int is_ours(int folder, const char *name) {
    char path[4096];
    if (name && name[0] == '/') return !strncmp(name, root, strlen(root));
    if (folder == AT_FDCWD) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, path, sizeof path - 2);
    if (length < 0) return 0;
    path[length] = '/', path[length + 1] = 0;
    return !strncmp(path, root, strlen(root));
}

// Whether this operation fails. Keeps errno otherwise.
static int strikes(enum operation operation, int folder, const char *name) {
    if (!__atomic_load_n(&armed, __ATOMIC_SEQ_CST) || !(operations & operation)) return 0;
    int before = errno, ours = is_ours(folder, name);
    errno = before;
    if (!ours) return 0;
    if (__atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) != at) return 0;
    fired = 1;
    if (is_kill) kill(getpid(), SIGKILL);
    errno = result_errno;
    return 1;
}

#define OPENS(name, real, folder, path)                                             \
    int mode = 0;                                                                   \
    if (flags & (O_CREAT | O_TMPFILE)) {                                            \
        va_list arguments;                                                          \
        va_start(arguments, flags), mode = va_arg(arguments, int), va_end(arguments); \
    }                                                                               \
    if ((!is_kill || flags & O_CREAT) && strikes(OPENING, folder, path)) return -1; \
    if (fails("open", folder, path)) return -1;

int open(const char *path, int flags, ...) {
    OPENS(open, open, AT_FDCWD, path)
    return REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    OPENS(open64, open64, AT_FDCWD, path)
    return REAL(open64)(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    OPENS(openat, openat, folder, path)
    return REAL(openat)(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
    OPENS(openat64, openat64, folder, path)
    return REAL(openat64)(folder, path, flags, mode);
}

#define WRITES(call)                                              \
    if (strikes(WRITING, file, NULL)) {                           \
        if (!is_short) return -1;                                 \
        size = size / 2;                                          \
    }                                                             \
    return call;

ssize_t write(int file, const void *bytes, size_t size) { WRITES(REAL(write)(file, bytes, size)) }
ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
    WRITES(REAL(pwrite)(file, bytes, size, offset))
}
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
    WRITES(REAL(pwrite64)(file, bytes, size, offset))
}
ssize_t read(int file, void *bytes, size_t size) {
    return is_unreadable(file) || strikes(READING, file, NULL) || fails("read", file, NULL) ? -1 : REAL(read)(file, bytes, size);
}
ssize_t pread(int file, void *bytes, size_t size, off_t offset) {
    return is_unreadable(file) || strikes(READING, file, NULL) || fails("read", file, NULL) ? -1 : REAL(pread)(file, bytes, size, offset);
}
ssize_t pread64(int file, void *bytes, size_t size, off64_t offset) {
    return is_unreadable(file) || strikes(READING, file, NULL) || fails("read", file, NULL) ? -1 : REAL(pread64)(file, bytes, size, offset);
}
int ftruncate(int file, off_t length) { return !is_short && strikes(WRITING, file, NULL) ? -1 : REAL(ftruncate)(file, length); }
int ftruncate64(int file, off64_t length) {
    return !is_short && strikes(WRITING, file, NULL) ? -1 : REAL(ftruncate64)(file, length);
}
// Whether an open file, or a name in an open folder, is below LFS_FAULT_ROOT. Keeps errno.
static int is_below_root(int file, const char *name) {
    const char *folder = getenv("LFS_FAULT_ROOT");
    if (!folder) return 0;
    size_t size = strlen(folder);
    if (name && name[0] == '/') return !strncmp(name, folder, size);
    int before = errno;
    char link[64] = "/proc/self/cwd", path[4096];
    if (file != AT_FDCWD) snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = before;
    return length >= (ssize_t)size && !strncmp(path, folder, size);
}

// Replaces the owner in a status that was read without an error.
static int with_owner(int result, int file, const char *name, struct stat *status) {
    const char *owner = getenv("LFS_FAULT_OWNER");
    if (!result && owner && is_below_root(file, name)) status->st_uid = atoi(owner);
    return result;
}

int stat(const char *path, struct stat *status) {
    return with_owner(REAL(stat)(path, status), AT_FDCWD, path, status);
}
int lstat(const char *path, struct stat *status) {
    return with_owner(REAL(lstat)(path, status), AT_FDCWD, path, status);
}
int fstat(int file, struct stat *status) {
    return fails("status", file, NULL) ? -1 : with_owner(REAL(fstat)(file, status), file, NULL, status);
}
int fstatat(int folder, const char *path, struct stat *status, int flags) {
    return with_owner(REAL(fstatat)(folder, path, status, flags), folder, path, status);
}

// Whether a file system has no such call for this file. Then errno is set.
static int lacks(const char *variable, int file, int only_folders) {
    const char *number = getenv(variable), *folder = getenv("LFS_FAULT_ROOT");
    if (!number || !folder) return 0;
    int before = errno;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    struct stat status;
    int found = length >= (ssize_t)strlen(folder) && !strncmp(path, folder, strlen(folder));
    if (found && only_folders) found = fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
    errno = found ? atoi(number) : before;
    return found;
}

int fchmod(int file, mode_t mode) { return lacks("LFS_FAULT_FCHMOD", file, 0) ? -1 : REAL(fchmod)(file, mode); }
int flock(int file, int operation) { return lacks("LFS_FAULT_FLOCK", file, 0) ? -1 : REAL(flock)(file, operation); }

int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    const char *most = getenv("LFS_FAULT_THREADS");
    DIR *folder = most ? opendir("/proc/self/task") : NULL;
    if (folder) {
        int threads = 0;
        for (struct dirent *entry; (entry = readdir(folder));) threads += entry->d_name[0] != '.';
        closedir(folder);
        if (threads >= atoi(most)) return EAGAIN;
    }
    return REAL(pthread_create)(thread, attributes, start, argument);
}

int fsync(int file) {
    if (lacks("LFS_FAULT_FSYNCDIR", file, 1)) return -1;
    return strikes(SYNCING, file, NULL) ? -1 : REAL(fsync)(file);
}
int fdatasync(int file) { return strikes(SYNCING, file, NULL) ? -1 : REAL(fdatasync)(file); }
int unlink(const char *path) { return strikes(NAMING, AT_FDCWD, path) ? -1 : REAL(unlink)(path); }
int unlinkat(int folder, const char *path, int flags) {
    return strikes(NAMING, folder, path) ? -1 : REAL(unlinkat)(folder, path, flags);
}
int renameat(int from, const char *path, int to, const char *new_path) {
    return strikes(NAMING, from, path) ? -1 : REAL(renameat)(from, path, to, new_path);
}
int linkat(int from, const char *path, int to, const char *new_path, int flags) {
    return strikes(NAMING, to, new_path) ? -1 : REAL(linkat)(from, path, to, new_path, flags);
}
int mkdir(const char *path, mode_t mode) { return strikes(NAMING, AT_FDCWD, path) ? -1 : REAL(mkdir)(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) {
    return strikes(NAMING, folder, path) ? -1 : REAL(mkdirat)(folder, path, mode);
}
