#include "transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"

// All upload buffers together: beyond that they fall out of the processor's cache. More for one connection is no gain.
#define ALL_BUFFERS (4 * 1024 * 1024)
#define LARGEST_BUFFER (2 * 1024 * 1024)
#define SMALLEST_BUFFER (64 * 1024)

enum set_up { FOR_NOTHING, FOR_WHOLE, FOR_RANGE, FOR_QUESTION };

static CURLM *multi;
static const char *endpoint;
static long upload_buffer;

void transfers_begin(const char *url, int connections) {
    long buffer = ALL_BUFFERS / connections;
    endpoint = url;
    upload_buffer = buffer > LARGEST_BUFFER ? LARGEST_BUFFER : buffer < SMALLEST_BUFFER ? SMALLEST_BUFFER : buffer;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) fail("libcurl cannot begin");
    multi = curl_multi_init();
    if (!multi) fail("libcurl cannot begin");
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)connections);
}

void transfers_end(void) {
    curl_multi_cleanup(multi);
    curl_global_cleanup();
}

struct transfer *transfer_make(void) {
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer || !(transfer->easy = curl_easy_init())) fail("no memory for a connection");
    return transfer;
}

void transfer_free(struct transfer *transfer) {
    curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->fields);
    free(transfer);
}

static size_t read_range(char *buffer, size_t size, size_t items, void *context) {
    struct transfer *transfer = context;
    long long left = transfer->end - transfer->offset;
    size_t room = size * items;
    ssize_t count = pread(transfer->descriptor, buffer, left < (long long)room ? (size_t)left : room, transfer->offset);
    if (count < 0) return CURL_READFUNC_ABORT;
    transfer->offset += count;
    return (size_t)count;
}

static int seek_range(void *context, curl_off_t offset, int origin) {
    struct transfer *transfer = context;
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    transfer->offset = transfer->start + offset;
    return CURL_SEEKFUNC_OK;
}

static size_t keep_reply(char *data, size_t size, size_t items, void *context) {
    struct transfer *transfer = context;
    size_t count = size * items;
    if (count > REPLY_LIMIT - transfer->reply_length) return 0;
    memcpy(transfer->reply + transfer->reply_length, data, count);
    transfer->reply_length += count;
    return count;
}

// Only when it is another kind of request than the last one: the handle keeps its settings.
static void set_up(struct transfer *transfer, enum set_up kind) {
    CURL *easy = transfer->easy;
    if (transfer->is_set_up_for == (int)kind) return;
    transfer->is_set_up_for = (int)kind;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 15L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, 300L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_reply);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    if (kind == FOR_RANGE) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, upload_buffer);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_range);
        curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_range);
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, transfer);
    } else if (kind == FOR_QUESTION) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    }
}

static void start(struct transfer *transfer, struct request *request) {
    char url[8192];
    int length = snprintf(url, sizeof url, "%s%s%s%s", endpoint, request->path, *request->query ? "?" : "",
                          request->query);
    if (length < 0 || length >= (int)sizeof url) fail("a URL is too long");
    struct curl_slist *fields = sign(request);
    transfer->reply_length = 0;
    curl_easy_setopt(transfer->easy, CURLOPT_URL, url);
    curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, fields);
    curl_slist_free_all(transfer->fields);
    transfer->fields = fields;
    CURLMcode code = curl_multi_add_handle(multi, transfer->easy);
    if (code) fail("libcurl: %s", curl_multi_strerror(code));
}

void transfer_send(struct transfer *transfer, struct request *request, const void *body, size_t bytes) {
    set_up(transfer, FOR_WHOLE);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
    curl_easy_setopt(transfer->easy, CURLOPT_CUSTOMREQUEST, request->method);
    start(transfer, request);
}

void transfer_send_range(struct transfer *transfer, struct request *request, int descriptor, long long begin,
                         long long bytes) {
    set_up(transfer, FOR_RANGE);
    transfer->descriptor = descriptor;
    transfer->start = transfer->offset = begin;
    transfer->end = begin + bytes;
    curl_easy_setopt(transfer->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
    start(transfer, request);
}

void transfer_ask(struct transfer *transfer, struct request *request) {
    set_up(transfer, FOR_QUESTION);
    start(transfer, request);
}

void transfers_perform(void) {
    int running;
    CURLMcode code = curl_multi_perform(multi, &running);
    if (code) fail("libcurl: %s", curl_multi_strerror(code));
}

void transfers_wait(void) {
    CURLMcode code = curl_multi_poll(multi, NULL, 0, 1000, NULL);
    if (code) fail("libcurl: %s", curl_multi_strerror(code));
}

struct transfer *transfers_next(void) {
    int waiting;
    CURLMsg *message = curl_multi_info_read(multi, &waiting);
    if (!message) return NULL;
    CURL *easy = message->easy_handle;
    CURLcode code = message->data.result; // the message ends with the next call
    struct transfer *transfer;
    long status = 0;
    char *url = "";
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    curl_multi_remove_handle(multi, easy);
    transfer->reply[transfer->reply_length] = 0;
    if (code != CURLE_OK) fail("%s: %s", url, curl_easy_strerror(code));
    if (status != 200) fail("%s: status %ld\n%.1000s", url, status, transfer->reply);
    return transfer;
}

const char *transfer_field(struct transfer *transfer, const char *name) {
    struct curl_header *field;
    return curl_easy_header(transfer->easy, name, 0, CURLH_HEADER, -1, &field) == CURLHE_OK ? field->value : NULL;
}
