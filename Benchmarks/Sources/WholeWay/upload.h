// A large file that goes up in parts: what is known of it, what the server has of it, and what proves the whole.
#ifndef UPLOAD_H
#define UPLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "file.h"

#define TAG_TEXT 128

struct part {
    char sha256[SHA256_HEX];
    // As the server gave it, with its quotes.
    char tag[TAG_TEXT];
};

struct upload {
    const struct file *file;
    int descriptor;
    // The server's, percent-encoded; empty before it has given one.
    char id[1024];
    long long part_bytes;
    int count;
    struct part *parts;
    // How many parts have a digest, are on their way or there, and are there.
    int digested, sent, taken;
    // How far the digests are.
    long long position;
    struct digest whole, current;
    // Whether the row knows less than this.
    bool is_unsaved;
    // The body of the request that completes it.
    char *completion;
};

struct upload *upload_make(const struct file *file, int store);
void upload_free(struct upload *upload);

long long upload_part_bytes(const struct upload *upload, int part);

// Computes a bit of the digests, one part ahead of those that are sent. Returns whether there was something to do.
// After the last part the whole has to be what was taken in.
bool upload_digest(struct upload *upload);

// Takes the server's answer to the beginning of it.
void upload_created(struct upload *upload, const char *reply);
// Takes the server's answer to a part, which must not contradict what was sent.
void upload_took(struct upload *upload, int part, const char *tag, const char *checksum);

// In a transaction: what the next try would need.
void upload_save(struct upload *upload);

// The body of the request that completes it.
const char *upload_completion(struct upload *upload);
// Whether the server's answer proves the whole. False when it says nothing of the bytes; what contradicts is an error.
bool upload_completed(const struct upload *upload, const char *reply);
// Whether a checksum of the server's is that of these parts, or of the whole.
bool upload_is_proven_by(const struct upload *upload, const char *checksum);

#endif
