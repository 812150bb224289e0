#define _GNU_SOURCE
#include "upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database.h"
#include "failure.h"
#include "signing.h"

// As the library cuts files: a thousand parts of these sizes, in whole MiB.
#define MEBIBYTE (1LL << 20)
#define SMALLEST_PART (16 * MEBIBYTE)
#define LARGEST_PART (512 * MEBIBYTE)
#define PREFERRED_COUNT 1000

// What is digested between two looks at the connections.
#define SLICE (256 * 1024)

static long long part_bytes(long long bytes) {
    long long size = bytes / PREFERRED_COUNT + 1;
    size = size < SMALLEST_PART ? SMALLEST_PART : size > LARGEST_PART ? LARGEST_PART : size;
    return (size + MEBIBYTE - 1) / MEBIBYTE * MEBIBYTE;
}

struct upload *upload_make(const struct file *file, int store) {
    struct upload *upload = calloc(1, sizeof *upload);
    if (!upload) fail("no memory for an upload");
    upload->file = file;
    upload->descriptor = openat(store, file->id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (upload->descriptor < 0) fail_call("open", file->id);
    upload->part_bytes = part_bytes(file->bytes);
    upload->count = (int)((file->bytes + upload->part_bytes - 1) / upload->part_bytes);
    upload->parts = calloc((size_t)upload->count, sizeof *upload->parts);
    if (!upload->parts) fail("no memory for %d parts", upload->count);
    digest_begin(&upload->whole);
    digest_begin(&upload->current);
    return upload;
}

void upload_free(struct upload *upload) {
    digest_free(&upload->whole);
    digest_free(&upload->current);
    close(upload->descriptor);
    free(upload->completion);
    free(upload->parts);
    free(upload);
}

long long upload_part_bytes(const struct upload *upload, int part) {
    long long rest = upload->file->bytes - part * upload->part_bytes;
    return rest < upload->part_bytes ? rest : upload->part_bytes;
}

bool upload_digest(struct upload *upload) {
    static char slice[SLICE];
    unsigned char value[SHA256_BYTES];
    char hex[SHA256_HEX];
    if (upload->digested == upload->count || upload->digested > upload->sent) return false;
    int part = upload->digested;
    long long end = part * upload->part_bytes + upload_part_bytes(upload, part);
    long long left = end - upload->position;
    ssize_t count = pread(upload->descriptor, slice, left < SLICE ? (size_t)left : SLICE, upload->position);
    if (count < 0 && errno == EINTR) return true;
    if (count < 0) fail_call("read", upload->file->id);
    if (count == 0) fail("%s ends at byte %lld, too early", upload->file->id, upload->position);
    digest_add(&upload->whole, slice, (size_t)count);
    digest_add(&upload->current, slice, (size_t)count);
    upload->position += count;
    if (upload->position < end) return true;
    digest_end(&upload->current, value);
    to_hex(value, sizeof value, upload->parts[part].sha256);
    digest_begin(&upload->current);
    upload->digested++;
    if (upload->digested < upload->count) return true;
    digest_end(&upload->whole, value);
    to_hex(value, sizeof value, hex);
    if (strcmp(hex, upload->file->sha256) != 0) {
        fail("the local bytes of %s are not those that were taken in", upload->file->name);
    }
    return true;
}

// The text of an element of a short reply, nil when it is not there.
static const char *element(const char *reply, const char *name, char *text, size_t room) {
    char tag[64];
    snprintf(tag, sizeof tag, "<%s>", name);
    const char *start = strstr(reply, tag);
    if (!start) return NULL;
    start += strlen(tag);
    size_t length = strcspn(start, "<");
    if (length >= room) fail("the server's %s is too long", name);
    memcpy(text, start, length);
    text[length] = 0;
    return text;
}

void upload_created(struct upload *upload, const char *reply) {
    char id[512];
    if (!element(reply, "UploadId", id, sizeof id)) fail("the server began an upload and gave no id: %.1000s", reply);
    percent_encode(id, 0, upload->id, sizeof upload->id);
    upload->is_unsaved = true;
}

static bool is_checksum(const char *text, const char *hex) {
    unsigned char value[SHA256_BYTES];
    char wanted[SHA256_BASE64];
    sha256_from_hex(hex, value);
    sha256_to_base64(value, wanted);
    return strcmp(text, wanted) == 0;
}

void upload_took(struct upload *upload, int part, const char *tag, const char *checksum) {
    const char *name = upload->file->name;
    if (!tag || strlen(tag) >= TAG_TEXT) fail("the server took part %d of %s and gave no tag for it", part + 1, name);
    if (strpbrk(tag, "&<>")) fail("the tag of part %d of %s is none: %s", part + 1, name, tag);
    if (checksum && !is_checksum(checksum, upload->parts[part].sha256)) {
        fail("the server has other bytes than part %d of %s", part + 1, name);
    }
    strcpy(upload->parts[part].tag, tag);
    upload->taken++;
    upload->is_unsaved = true;
}

void upload_save(struct upload *upload) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) fail_call("open", "a stream in memory");
    fprintf(stream, "%s %lld %lld\n", upload->id, upload->file->bytes, upload->part_bytes);
    for (int part = 0; part < upload->count; part++) {
        if (!*upload->parts[part].tag) continue;
        fprintf(stream, "%d %s %s\n", part + 1, upload->parts[part].tag, upload->parts[part].sha256);
    }
    if (fclose(stream) != 0) fail_call("write", "a stream in memory");
    database_note_progress(upload->file, text, length);
    free(text);
    upload->is_unsaved = false;
}

const char *upload_completion(struct upload *upload) {
    size_t length = 0;
    FILE *stream = open_memstream(&upload->completion, &length);
    if (!stream) fail_call("open", "a stream in memory");
    fputs("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">", stream);
    for (int part = 0; part < upload->count; part++) {
        unsigned char value[SHA256_BYTES];
        char checksum[SHA256_BASE64];
        sha256_from_hex(upload->parts[part].sha256, value);
        sha256_to_base64(value, checksum);
        // A quote needs no escape in the text of an element.
        fprintf(stream, "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag><ChecksumSHA256>%s</ChecksumSHA256></Part>",
                part + 1, upload->parts[part].tag, checksum);
    }
    fputs("</CompleteMultipartUpload>", stream);
    if (fclose(stream) != 0) fail_call("write", "a stream in memory");
    return upload->completion;
}

bool upload_completed(const struct upload *upload, const char *reply) {
    char checksum[128];
    // S3 sends its status before it has put the parts together, so a 200 may carry an error.
    if (!strstr(reply, "CompleteMultipartUploadResult")) {
        fail("%s was not put together: %.1000s", upload->file->name, reply);
    }
    if (!element(reply, "ChecksumSHA256", checksum, sizeof checksum)) return false;
    if (!upload_is_proven_by(upload, checksum)) fail("the server has other bytes than %s", upload->file->name);
    return true;
}

bool upload_is_proven_by(const struct upload *upload, const char *checksum) {
    static struct digest digest;
    unsigned char value[SHA256_BYTES];
    char base64[SHA256_BASE64], numbered[SHA256_BASE64 + 16];
    digest_begin(&digest);
    for (int part = 0; part < upload->count; part++) {
        sha256_from_hex(upload->parts[part].sha256, value);
        digest_add(&digest, value, sizeof value);
    }
    digest_end(&digest, value);
    sha256_to_base64(value, base64);
    snprintf(numbered, sizeof numbered, "%s-%d", base64, upload->count);
    // Some servers leave the number of parts out.
    return strcmp(checksum, numbered) == 0 || strcmp(checksum, base64) == 0 ||
           is_checksum(checksum, upload->file->sha256);
}
