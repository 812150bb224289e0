// Uploads to a bucket of Amazon S3 or a server like it that keeps SHA-256 checksums.
#ifndef S3_H
#define S3_H

#include "file.h"

// Uploads all files below a prefix, with so many requests at once, and writes back what is proven: by the checksum
// that the server tells of an object, which it has computed itself. Returns how many.
size_t upload_to_s3(const struct files *files, int store, const char *endpoint, const char *bucket, const char *prefix,
                    int connections);

#endif
