// A file on its way, and the ids that name it.
#ifndef FILE_H
#define FILE_H

#include <stddef.h>

#include "digest.h"

#define ID_TEXT 37        // a UUID with the NUL
#define NAMESPACE_TEXT 33 // 32 hex digits with the NUL
#define KEY_TEXT (NAMESPACE_TEXT + ID_TEXT)

// As many rows in a transaction, or files of so many bytes.
#define BATCH_FILES 64
#define BATCH_BYTES (64LL << 20)

struct file {
    char *name;
    char id[ID_TEXT];
    // The object's: namespace, slash, id.
    char key[KEY_TEXT];
    char sha256[SHA256_HEX];
    long long bytes;
    // Milliseconds since 1970.
    long long created;
};

struct files {
    struct file *all;
    size_t count;
    long long bytes;
};

// Milliseconds since 1970.
long long milliseconds(void);
// Seconds of a clock that nobody sets.
double steady_seconds(void);

// UUID version 7 in lowercase (RFC 9562, section 5.7).
void make_id(char text[ID_TEXT], long long milliseconds);

// What the keys of a database begin with: half a SHA-256 of its id.
void make_namespace(const char *database_id, char text[NAMESPACE_TEXT]);

#endif
