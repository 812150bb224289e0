// Signature Version 4 of Amazon S3, in the header, with the payload's SHA-256 ("Signature Calculations for the
// Authorization Header" of the Amazon S3 API reference).
#ifndef SIGNING_H
#define SIGNING_H

#include <curl/curl.h>

#include "digest.h"

#define FIELDS 16

struct field {
    // Lowercase.
    const char *name;
    const char *value;
};

struct request {
    const char *method;
    // Percent-encoded.
    const char *path;
    // Percent-encoded and in order, empty for none.
    const char *query;
    // Of the body, in hex.
    const char *payload;
    // In any order; those of the signature are added.
    struct field fields[FIELDS];
    int count;
};

// Reads the keys and the region from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN if
// there is one, AWS_REGION or us-east-1.
void signing_begin(const char *host);

void add_field(struct request *request, const char *name, const char *value);

// All fields of the request and its signature, as libcurl takes them.
struct curl_slist *sign(struct request *request);

// Adds everything that RFC 3986 does not call unreserved in percent-encoding. Slashes stay where they are kept.
void percent_encode(const char *text, int keeps_slashes, char *encoded, size_t room);

#endif
