#define _GNU_SOURCE
#include "copy.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failure.h"
#include "file.h"

#define CHUNK (256 * 1024)
#define WRITEBACK_STEP (8LL << 20)

static void write_all(int descriptor, const char *bytes, size_t count, const char *path) {
    while (count > 0) {
        ssize_t done = write(descriptor, bytes, count);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail_call("write", path);
        bytes += done;
        count -= (size_t)done;
    }
}

static void write_back(int descriptor, long long start, long long count) {
#ifdef SYNC_FILE_RANGE_WRITE
    // A hint: what counts is the sync, and only that tells of errors.
    (void)sync_file_range(descriptor, start, count, SYNC_FILE_RANGE_WRITE);
#else
    (void)descriptor, (void)start, (void)count;
#endif
}

long long copy_hashed(int from, int to, const char *path, char hex[SHA256_HEX]) {
    static char buffer[CHUNK];
    static struct digest digest;
    unsigned char value[SHA256_BYTES];
    long long total = 0, handed_over = 0;
    digest_begin(&digest);
    for (;;) {
        ssize_t count = read(from, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_call("read", path);
        if (count == 0) break;
        digest_add(&digest, buffer, (size_t)count);
        write_all(to, buffer, (size_t)count, path);
        total += count;
        if (total - handed_over >= WRITEBACK_STEP) {
            write_back(to, handed_over, total - handed_over);
            handed_over = total;
        }
    }
    digest_end(&digest, value);
    to_hex(value, sizeof value, hex);
    return total;
}

void sync_copies(const int *descriptors, int count) {
    static struct aiocb syncs[BATCH_FILES];
    // The device can begin with all of them while it is asked for the first.
    for (int i = 0; i < count; i++) write_back(descriptors[i], 0, 0);
    for (int i = 0; i < count; i++) {
        memset(&syncs[i], 0, sizeof syncs[i]);
        syncs[i].aio_fildes = descriptors[i];
        syncs[i].aio_sigevent.sigev_notify = SIGEV_NONE;
        if (aio_fsync(O_SYNC, &syncs[i]) != 0) fail_call("aio_fsync", "");
    }
    for (int i = 0; i < count; i++) {
        const struct aiocb *const sync = &syncs[i];
        while (aio_error(sync) == EINPROGRESS) aio_suspend(&sync, 1, NULL);
        if ((errno = aio_error(sync)) != 0) fail_call("fsync", "");
        aio_return(&syncs[i]);
    }
}

void require_bytes(int descriptor, long long bytes, const char *path) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) fail_call("fstat", path);
    if (status.st_size != bytes) fail("%s has %lld of %lld bytes", path, (long long)status.st_size, bytes);
}

int open_folder(int parent, const char *name) {
    int is_new = mkdirat(parent, name, 0700) == 0;
    if (!is_new && errno != EEXIST) fail_call("mkdir", name);
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) fail_call("open", name);
    if (is_new) {
        int above = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (above < 0) fail_call("open the folder of", name);
        sync_folder(above, name);
        close(above);
    }
    return folder;
}

void sync_folder(int folder, const char *path) {
    if (fsync(folder) != 0) fail_call("fsync the folder", path);
}
