#include "signing.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "failure.h"

static const char *host, *access_key, *secret_key, *session_token, *region;

// Of one day.
static unsigned char signing_key[SHA256_BYTES];
static char key_date[9];

// Text that grows in a buffer.
struct text {
    char bytes[8192];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(text->bytes + text->length, sizeof text->bytes - text->length, format, arguments);
    va_end(arguments);
    if (added < 0 || text->length + (size_t)added >= sizeof text->bytes) fail("a request is too long to be signed");
    text->length += (size_t)added;
}

static const char *environment(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    if (value && *value) return value;
    return otherwise;
}

void signing_begin(const char *name) {
    host = name;
    access_key = environment("AWS_ACCESS_KEY_ID", NULL);
    secret_key = environment("AWS_SECRET_ACCESS_KEY", NULL);
    session_token = environment("AWS_SESSION_TOKEN", NULL);
    region = environment("AWS_REGION", "us-east-1");
    if (!access_key || !secret_key) fail("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}

void add_field(struct request *request, const char *name, const char *value) {
    if (request->count == FIELDS) fail("a request has too many fields");
    request->fields[request->count++] = (struct field){name, value};
}

static void derive_key(const char *date) {
    static struct text first;
    unsigned char value[SHA256_BYTES];
    if (strcmp(date, key_date) == 0) return;
    first.length = 0;
    append(&first, "AWS4%s", secret_key);
    hmac_sha256(first.bytes, first.length, date, value);
    hmac_sha256(value, sizeof value, region, value);
    hmac_sha256(value, sizeof value, "s3", value);
    hmac_sha256(value, sizeof value, "aws4_request", signing_key);
    strcpy(key_date, date);
}

static int compare_names(const void *first, const void *second) {
    return strcmp(((const struct field *)first)->name, ((const struct field *)second)->name);
}

// The text of a request that both sides hash, and the names of the signed fields with `;` between them.
static void write_canonical(const struct request *request, struct text *canonical, struct text *names) {
    append(canonical, "%s\n%s\n%s\n", request->method, request->path, request->query);
    for (int i = 0; i < request->count; i++) {
        append(canonical, "%s:%s\n", request->fields[i].name, request->fields[i].value);
        append(names, "%s%s", i ? ";" : "", request->fields[i].name);
    }
    append(canonical, "\n%s\n%s", names->bytes, request->payload);
}

static struct curl_slist *list(struct curl_slist *fields, const char *line) {
    struct curl_slist *longer = curl_slist_append(fields, line);
    if (!longer) fail("no memory for a request");
    return longer;
}

struct curl_slist *sign(struct request *request) {
    static struct text canonical, names, line;
    char stamp[17], date[9], hex[SHA256_HEX];
    unsigned char value[SHA256_BYTES];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &parts);
    snprintf(date, sizeof date, "%.8s", stamp);
    add_field(request, "host", host);
    add_field(request, "x-amz-content-sha256", request->payload);
    add_field(request, "x-amz-date", stamp);
    if (session_token) add_field(request, "x-amz-security-token", session_token);
    qsort(request->fields, (size_t)request->count, sizeof *request->fields, compare_names);

    canonical.length = names.length = line.length = 0;
    write_canonical(request, &canonical, &names);
    sha256(canonical.bytes, canonical.length, value);
    to_hex(value, sizeof value, hex);
    append(&line, "AWS4-HMAC-SHA256\n%s\n%s/%s/s3/aws4_request\n%s", stamp, date, region, hex);
    derive_key(date);
    hmac_sha256(signing_key, sizeof signing_key, line.bytes, value);
    to_hex(value, sizeof value, hex);

    line.length = 0;
    append(&line, "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s/%s/s3/aws4_request, SignedHeaders=%s, ",
           access_key, date, region, names.bytes);
    append(&line, "Signature=%s", hex);
    struct curl_slist *fields = list(NULL, line.bytes);
    for (int i = 0; i < request->count; i++) {
        line.length = 0;
        append(&line, "%s: %s", request->fields[i].name, request->fields[i].value);
        // libcurl writes the host by itself, from the URL.
        if (strcmp(request->fields[i].name, "host") != 0) fields = list(fields, line.bytes);
    }
    // An empty field keeps libcurl from adding its own.
    fields = list(list(fields, "Expect:"), "Accept:");
    return fields;
}

void percent_encode(const char *text, int keeps_slashes, char *encoded, size_t room) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t length = 0;
    for (; *text; text++) {
        int is_plain = strchr(plain, *text) != NULL || (keeps_slashes && *text == '/');
        if (length + 4 > room) fail("a name is too long to be sent");
        length += (size_t)snprintf(encoded + length, 4, is_plain ? "%c" : "%%%02X", (unsigned char)*text);
    }
    encoded[length] = 0;
}
