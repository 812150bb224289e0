#define _GNU_SOURCE
#include "folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy.h"
#include "failure.h"
#include "writeback.h"

// No key begins with a dot.
#define PART_NAME ".%s.part"
#define PART_TEXT (ID_TEXT + 6)

struct batch {
    const struct file *files[BATCH_FILES];
    int copies[BATCH_FILES];
    int count;
    long long bytes;
};

// Returns the open copy, which has the recorded bytes.
static int copy_out(const struct file *file, int store, int folder) {
    char part[PART_TEXT], sha256[SHA256_HEX];
    snprintf(part, sizeof part, PART_NAME, file->id);
    int original = openat(store, file->id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (original < 0) fail_call("open", file->id);
    int copy = openat(folder, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (copy < 0) fail_call("create", part);
    if (copy_hashed(original, copy, file->id, sha256) != file->bytes || strcmp(sha256, file->sha256) != 0) {
        fail("the local bytes of %s are not those that were taken in", file->name);
    }
    close(original);
    return copy;
}

static void finish(struct batch *batch, int folder) {
    char part[PART_TEXT];
    sync_copies(batch->copies, batch->count);
    for (int i = 0; i < batch->count; i++) {
        const struct file *file = batch->files[i];
        require_bytes(batch->copies[i], file->bytes, file->id);
        close(batch->copies[i]);
        snprintf(part, sizeof part, PART_NAME, file->id);
        if (renameat(folder, part, folder, file->id) != 0) fail_call("rename", part);
    }
    sync_folder(folder, "of the objects");
    for (int i = 0; i < batch->count; i++) writeback_add(batch->files[i]);
    batch->count = 0;
    batch->bytes = 0;
}

size_t upload_to_folder(const struct files *files, int store, const char *target, const char *namespace) {
    char base[4096], path[4096];
    if (!realpath(target, path)) fail_call("open", target);
    int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) fail_call("open", path);
    int folder = open_folder(root, namespace);
    snprintf(base, sizeof base, "file://%.4000s", path);
    writeback_begin(base);
    struct batch batch = {.count = 0};
    for (size_t i = 0; i < files->count; i++) {
        const struct file *file = &files->all[i];
        batch.copies[batch.count] = copy_out(file, store, folder);
        batch.files[batch.count++] = file;
        batch.bytes += file->bytes;
        if (batch.count == BATCH_FILES || batch.bytes >= BATCH_BYTES) finish(&batch, folder);
    }
    if (batch.count > 0) finish(&batch, folder);
    close(folder);
    close(root);
    return writeback_end();
}
