#define _GNU_SOURCE
#include "ingest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy.h"
#include "database.h"
#include "failure.h"

// The files whose rows come with the next transaction, and their open copies.
struct batch {
    struct file *files[BATCH_FILES];
    int copies[BATCH_FILES];
    int count;
    long long bytes;
};

static void list(DIR *folder, const char *path, struct files *files) {
    size_t room = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(folder);
        if (!entry && errno) fail_call("readdir", path);
        if (!entry) return;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (files->count == room) {
            room = room ? 2 * room : 1024;
            files->all = realloc(files->all, room * sizeof *files->all);
            if (!files->all) fail("no memory for %zu files", room);
        }
        struct file *file = &files->all[files->count++];
        memset(file, 0, sizeof *file);
        file->name = strdup(entry->d_name);
    }
}

static int has_changed(const struct stat *before, const struct stat *after) {
    return before->st_size != after->st_size || before->st_mtim.tv_sec != after->st_mtim.tv_sec ||
           before->st_mtim.tv_nsec != after->st_mtim.tv_nsec;
}

// Returns the open copy.
static int copy_in(int source, int temporary, struct file *file) {
    struct stat before, after;
    int original = openat(source, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (original < 0) fail_call("open", file->name);
    if (fstat(original, &before) != 0) fail_call("fstat", file->name);
    if (!S_ISREG(before.st_mode)) fail("%s is not a file", file->name);
    int copy = openat(temporary, file->id, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (copy < 0) fail_call("create", file->id);
    file->bytes = copy_hashed(original, copy, file->name, file->sha256);
    if (fstat(original, &after) != 0) fail_call("fstat", file->name);
    if (has_changed(&before, &after) || file->bytes != before.st_size) fail("%s changed while it was read", file->name);
    close(original);
    return copy;
}

// Makes the batch durable, attaches it, and only then moves it to where it stays. The move needs no sync: both places
// follow from the id, so whichever a power cut leaves is found again.
static void finish(struct batch *batch, int temporary, int store) {
    sync_copies(batch->copies, batch->count);
    for (int i = 0; i < batch->count; i++) {
        require_bytes(batch->copies[i], batch->files[i]->bytes, batch->files[i]->id);
    }
    sync_folder(temporary, "temporary");
    database_begin();
    for (int i = 0; i < batch->count; i++) database_attach(batch->files[i]);
    database_commit();
    for (int i = 0; i < batch->count; i++) {
        const char *id = batch->files[i]->id;
        if (fchmod(batch->copies[i], 0400) != 0) fail_call("chmod", id);
        if (renameat(temporary, id, store, id) != 0) fail_call("rename", id);
        close(batch->copies[i]);
    }
    batch->count = 0;
    batch->bytes = 0;
}

static int open_store(const char *database, int *temporary) {
    char *path;
    if (asprintf(&path, "%s.lfs", database) < 0) fail("no memory");
    int store = open_folder(AT_FDCWD, path);
    *temporary = open_folder(store, "temporary");
    free(path);
    return store;
}

static DIR *open_source(const char *source, struct files *files) {
    DIR *folder = opendir(source);
    if (!folder) fail_call("open", source);
    list(folder, source, files);
    return folder;
}

int ingest(const char *source, const char *database, const char *namespace, struct files *files) {
    int temporary, store = open_store(database, &temporary);
    DIR *folder = open_source(source, files);
    struct batch batch = {.count = 0};
    for (size_t i = 0; i < files->count; i++) {
        struct file *file = &files->all[i];
        file->created = milliseconds();
        make_id(file->id, file->created);
        snprintf(file->key, sizeof file->key, "%s/%s", namespace, file->id);
        batch.copies[batch.count] = copy_in(dirfd(folder), temporary, file);
        batch.files[batch.count++] = file;
        batch.bytes += file->bytes;
        files->bytes += file->bytes;
        if (batch.count == BATCH_FILES || batch.bytes >= BATCH_BYTES) finish(&batch, temporary, store);
    }
    if (batch.count > 0) finish(&batch, temporary, store);
    closedir(folder);
    close(temporary);
    return store;
}

double *ingest_each(const char *source, const char *database, struct files *files) {
    int temporary, store = open_store(database, &temporary);
    DIR *folder = open_source(source, files);
    double *durations = calloc(files->count + 1, sizeof *durations);
    if (!durations) fail("no memory for %zu files", files->count);
    for (size_t i = 0; i < files->count; i++) {
        struct file *file = &files->all[i];
        double start = steady_seconds();
        make_id(file->id, milliseconds());
        int copy = copy_in(dirfd(folder), temporary, file);
        sync_copies(&copy, 1);
        require_bytes(copy, file->bytes, file->id);
        sync_folder(temporary, "temporary");
        close(copy);
        durations[i] = steady_seconds() - start;
        files->bytes += file->bytes;
    }
    closedir(folder);
    close(temporary);
    close(store);
    return durations;
}
