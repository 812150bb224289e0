// Copies in one pass, and makes copies durable.
#ifndef COPY_H
#define COPY_H

#include "digest.h"

// Copies everything from one descriptor to the other, and gives how much that was and its SHA-256 in hex. A long file
// is handed to the device while it is being written.
long long copy_hashed(int from, int to, const char *path, char hex[SHA256_HEX]);

// Syncs copies, each of them, beside each other: a device that is asked to flush many times at once does it once.
void sync_copies(const int *descriptors, int count);

// Requires that a copy has all its bytes: a full disk may have taken fewer without an error.
void require_bytes(int descriptor, long long bytes, const char *path);

// Opens a folder, made with mode 0700 if it is missing. A new one's name is durable when this returns.
int open_folder(int parent, const char *name);

void sync_folder(int folder, const char *path);

#endif
