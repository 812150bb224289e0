#define _GNU_SOURCE
#include "s3.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database.h"
#include "failure.h"
#include "transfer.h"
#include "upload.h"
#include "writeback.h"

// As the library has it: files from this size on go in parts, so many parts at once, of all files together.
#define MULTIPART_BYTES (32LL << 20)
#define PARTS_AT_ONCE 6
// The second one is begun while the last parts of the first are on their way.
#define UPLOADS_AT_ONCE 2

static const char *const empty_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Where everything goes: `/bucket/prefix`, percent-encoded.
static char base_path[2048];
static int store;

// The next one of each kind; the others were begun.
static const struct files *files;
static size_t next_small, next_large, finished;

static struct upload *uploads[UPLOADS_AT_ONCE];
static int parts_under_way;

// MARK: Requests

// A request about an object. The path and the texts stay until it is signed.
static struct request about(const struct file *file, const char *method, const char *query, const char *payload) {
    static char path[sizeof base_path + KEY_TEXT];
    snprintf(path, sizeof path, "%s/%s", base_path, file->key);
    return (struct request){.method = method, .path = path, .query = query, .payload = payload};
}

// The fields that describe a new object.
static void describe(struct request *request, const struct file *file) {
    static char name[1024];
    percent_encode(file->name, 0, name, sizeof name);
    add_field(request, "content-type", "application/octet-stream");
    add_field(request, "x-amz-meta-lfs-sha256", file->sha256);
    add_field(request, "x-amz-meta-lfs-name", name);
}

static const char *base64(const char *sha256_hex) {
    static char text[SHA256_BASE64];
    unsigned char value[SHA256_BYTES];
    sha256_from_hex(sha256_hex, value);
    sha256_to_base64(value, text);
    return text;
}

static void read_whole(struct transfer *transfer, const struct file *file, int descriptor) {
    ssize_t count = pread(descriptor, transfer->whole, sizeof transfer->whole, 0);
    if (count < 0) fail_call("read", file->id);
    if (count != file->bytes) fail("%s has %zd of %lld bytes", file->id, count, file->bytes);
}

// The recorded checksum is signed and sent, so that the server refuses other bytes.
static void put_object(struct transfer *transfer, const struct file *file) {
    struct request request = about(file, "PUT", "", file->sha256);
    describe(&request, file);
    add_field(&request, "if-none-match", "*");
    add_field(&request, "x-amz-checksum-sha256", base64(file->sha256));
    transfer->purpose = PUT_OBJECT;
    transfer->file = file;
    transfer->upload = NULL;
    int descriptor = openat(store, file->id, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) fail_call("open", file->id);
    if (file->bytes > WHOLE_LIMIT) {
        transfer_send_range(transfer, &request, descriptor, 0, file->bytes);
    } else {
        read_whole(transfer, file, descriptor);
        close(descriptor);
        transfer->descriptor = -1;
        transfer_send(transfer, &request, transfer->whole, (size_t)file->bytes);
    }
}

// Many servers say more of an object when they are asked for it.
static void describe_object(struct transfer *transfer) {
    struct request request = about(transfer->file, "HEAD", "", empty_sha256);
    add_field(&request, "x-amz-checksum-mode", "ENABLED");
    transfer->purpose = DESCRIBE_OBJECT;
    transfer_ask(transfer, &request);
}

static void create_upload(struct transfer *transfer, struct upload *upload) {
    struct request request = about(upload->file, "POST", "uploads=", empty_sha256);
    describe(&request, upload->file);
    add_field(&request, "x-amz-checksum-algorithm", "SHA256");
    transfer->purpose = CREATE_UPLOAD;
    transfer->file = upload->file;
    transfer->upload = upload;
    transfer_send(transfer, &request, "", 0);
}

static void put_part(struct transfer *transfer, struct upload *upload) {
    char query[sizeof upload->id + 64];
    int part = upload->sent++;
    const char *sha256 = upload->parts[part].sha256;
    snprintf(query, sizeof query, "partNumber=%d&uploadId=%s", part + 1, upload->id);
    struct request request = about(upload->file, "PUT", query, sha256);
    add_field(&request, "x-amz-checksum-sha256", base64(sha256));
    transfer->purpose = PUT_PART;
    transfer->file = upload->file;
    transfer->upload = upload;
    transfer->part = part;
    parts_under_way++;
    transfer_send_range(transfer, &request, upload->descriptor, part * upload->part_bytes,
                        upload_part_bytes(upload, part));
}

static void complete_upload(struct transfer *transfer, struct upload *upload) {
    char query[sizeof upload->id + 64], payload[SHA256_HEX];
    unsigned char value[SHA256_BYTES];
    const char *body = upload_completion(upload);
    sha256(body, strlen(body), value);
    to_hex(value, sizeof value, payload);
    snprintf(query, sizeof query, "uploadId=%s", upload->id);
    struct request request = about(upload->file, "POST", query, payload);
    add_field(&request, "content-type", "application/xml");
    add_field(&request, "if-none-match", "*");
    transfer->purpose = COMPLETE_UPLOAD;
    transfer_send(transfer, &request, body, strlen(body));
}

// MARK: Replies

// The file is on the storage, by the server's own word.
static void prove(struct transfer *transfer) {
    for (int i = 0; i < UPLOADS_AT_ONCE; i++) {
        if (!transfer->upload || uploads[i] != transfer->upload) continue;
        upload_free(uploads[i]);
        uploads[i] = NULL;
    }
    writeback_add(transfer->file);
    finished++;
}

static bool is_proven(const struct transfer *transfer, const char *checksum) {
    return transfer->upload ? upload_is_proven_by(transfer->upload, checksum)
                            : strcmp(checksum, base64(transfer->file->sha256)) == 0;
}

// The server's checksum is required; it must be that of the bytes.
static void require_checksum(struct transfer *transfer, const char *checksum) {
    if (!checksum) fail("the server tells no checksum of %s, so nothing proves it", transfer->file->name);
    if (!is_proven(transfer, checksum)) fail("the server has other bytes than %s", transfer->file->name);
    prove(transfer);
}

// Takes a reply. Returns whether the handle has gone on with a question or another request.
static bool take(struct transfer *transfer) {
    struct upload *upload = transfer->upload;
    const char *checksum = transfer_field(transfer, "x-amz-checksum-sha256");
    switch (transfer->purpose) {
    case PUT_OBJECT:
        if (transfer->descriptor >= 0) close(transfer->descriptor);
        if (!checksum) return describe_object(transfer), true;
        require_checksum(transfer, checksum);
        return false;
    case DESCRIBE_OBJECT: {
        const char *length = transfer_field(transfer, "content-length");
        if (!length || atoll(length) != transfer->file->bytes) fail("%s has another length", transfer->file->name);
        require_checksum(transfer, checksum);
        return false;
    }
    case CREATE_UPLOAD: upload_created(upload, transfer->reply); return false;
    case PUT_PART:
        parts_under_way--;
        upload_took(upload, transfer->part, transfer_field(transfer, "etag"), checksum);
        return false;
    case COMPLETE_UPLOAD:
        if (!upload_completed(upload, transfer->reply)) return describe_object(transfer), true;
        prove(transfer);
        return false;
    }
    return false;
}

// MARK: The order

static bool is_large(const struct file *file) { return file->bytes >= MULTIPART_BYTES; }

static const struct file *next_of(size_t *next, bool large) {
    while (*next < files->count) {
        const struct file *file = &files->all[(*next)++];
        if (is_large(file) == large) return file;
    }
    return NULL;
}

// A part of a large file, or the beginning of the next one, or a small file. Returns whether there was something.
static bool begin_next(struct transfer *transfer) {
    for (int i = 0; i < UPLOADS_AT_ONCE; i++) {
        struct upload *upload = uploads[i];
        if (!upload) {
            const struct file *file = next_of(&next_large, true);
            if (!file) continue;
            uploads[i] = upload_make(file, store);
            create_upload(transfer, uploads[i]);
            return true;
        }
        if (*upload->id && !upload->is_unsaved && upload->sent < upload->digested && parts_under_way < PARTS_AT_ONCE) {
            put_part(transfer, upload);
            return true;
        }
        if (upload->taken == upload->count && !upload->is_unsaved && !upload->completion) {
            transfer->file = upload->file;
            transfer->upload = upload;
            complete_upload(transfer, upload);
            return true;
        }
    }
    const struct file *file = next_of(&next_small, false);
    if (file) put_object(transfer, file);
    return file != NULL;
}

// An upload's id is durable before its first part goes out, and its parts before it is completed.
static void save_progress(void) {
    bool any = false;
    for (int i = 0; i < UPLOADS_AT_ONCE; i++) {
        if (!uploads[i] || !uploads[i]->is_unsaved) continue;
        if (!any) database_begin();
        any = true;
        upload_save(uploads[i]);
    }
    if (any) database_commit();
}

static bool digest_ahead(void) {
    for (int i = 0; i < UPLOADS_AT_ONCE; i++) {
        if (uploads[i] && upload_digest(uploads[i])) return true;
    }
    return false;
}

size_t upload_to_s3(const struct files *all, int folder, const char *endpoint, const char *bucket, const char *prefix,
                    int connections) {
    char text[sizeof base_path], url[2 * sizeof base_path];
    const char *host = strstr(endpoint, "://");
    if (!host || strchr(host + 3, '/')) fail("'%s' is not of the form http://host:port", endpoint);
    if (snprintf(text, sizeof text, "/%s/%s", bucket, prefix) >= (int)sizeof text) fail("the prefix is too long");
    percent_encode(text, 1, base_path, sizeof base_path);
    snprintf(url, sizeof url, "%.1000s%s", endpoint, base_path);
    files = all;
    store = folder;
    signing_begin(host + 3);
    writeback_begin(url);
    transfers_begin(endpoint, connections);

    struct transfer **every = calloc((size_t)connections, sizeof *every);
    struct transfer **idle = calloc((size_t)connections, sizeof *idle);
    if (!every || !idle) fail("no memory for %d connections", connections);
    for (int i = 0; i < connections; i++) idle[i] = every[i] = transfer_make();
    int free_ones = connections;
    while (finished < files->count) {
        while (free_ones > 0 && begin_next(idle[free_ones - 1])) free_ones--;
        transfers_perform();
        struct transfer *transfer;
        bool any = false;
        while ((transfer = transfers_next())) {
            any = true;
            if (!take(transfer)) idle[free_ones++] = transfer;
        }
        save_progress();
        // New ones can send at once; while none can, there may be something to compute.
        if (!any && !digest_ahead() && finished < files->count) transfers_wait();
    }
    for (int i = 0; i < connections; i++) transfer_free(every[i]);
    free(every);
    free(idle);
    transfers_end();
    return writeback_end();
}
