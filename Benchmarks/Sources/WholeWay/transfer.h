// One request at a time over a handle of libcurl's that is used again and again, with others beside it.
#ifndef TRANSFER_H
#define TRANSFER_H

#include <curl/curl.h>

#include "file.h"
#include "signing.h"

// libcurl sends a POST body of up to 64 KiB together with the head, a PUT body never. Objects up to this size go as
// such a POST, with PUT as its method: one system call each.
#define WHOLE_LIMIT (64 * 1024)

#define REPLY_LIMIT (64 * 1024)

enum purpose { PUT_OBJECT, DESCRIBE_OBJECT, CREATE_UPLOAD, PUT_PART, COMPLETE_UPLOAD };

struct upload;

struct transfer {
    // What it is for; only the one who starts it reads that.
    enum purpose purpose;
    const struct file *file;
    struct upload *upload;
    int part;

    CURL *easy;
    struct curl_slist *fields;
    int is_set_up_for;
    // A range of a file that is being sent.
    int descriptor;
    long long start, offset, end;
    // Room for a body that is sent at once.
    char whole[WHOLE_LIMIT];
    char reply[REPLY_LIMIT + 1];
    size_t reply_length;
};

// ENDPOINT is scheme, host and port.
void transfers_begin(const char *endpoint, int connections);
void transfers_end(void);

struct transfer *transfer_make(void);
void transfer_free(struct transfer *transfer);

// Start a request with bytes that stay until it ends, with a range of a file, and without a body (HEAD).
void transfer_send(struct transfer *transfer, struct request *request, const void *body, size_t bytes);
void transfer_send_range(struct transfer *transfer, struct request *request, int descriptor, long long start,
                         long long bytes);
void transfer_ask(struct transfer *transfer, struct request *request);

// Sends and receives what can be sent and received now.
void transfers_perform(void);
// Waits until there is something to send or to receive.
void transfers_wait(void);
// One that has ended with status 200, nil when there is none.
struct transfer *transfers_next(void);

// A field of the reply, nil when it is not there.
const char *transfer_field(struct transfer *transfer, const char *name);

#endif
