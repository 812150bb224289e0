// An S3 server that keeps nothing: the other end of an upload that shows what the sender alone can do.
//
//   DiscardServer
//
// Speaks HTTP/1.1 on a loopback port that the kernel chooses, and prints its address as the first line. A request is
// answered when the last byte of its body is there; the bytes are thrown away in the kernel. Checks no signature, knows
// no object, answers a PUT with always the same ETag, and the calls of a multipart upload with what a client expects.
// On SIGTERM or SIGINT it prints the requests it answered, the bytes of their bodies, and how many bodies were cut off.
//
// One thread, Linux (epoll).
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAD_LIMIT (32 * 1024)
#define DISCARD_STEP (4 * 1024 * 1024)
#define ETAG "\"9b2cf535f27731c974343645a3985328\""
#define XML "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
#define NAMESPACE " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

struct connection {
    int socket;
    bool in_body;
    bool close_after;
    long long body_left;
    const char *status;
    const char *content;
    size_t filled;
    char head[HEAD_LIMIT];
};

static long long requests, body_bytes, cut_off;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void drop(struct connection *c) {
    if (c->in_body) cut_off++;
    close(c->socket);
    free(c);
}

// Replies are shorter than any send buffer: one that does not fit belongs to a client that does not read.
static bool reply(struct connection *c, const char *text, size_t length) {
    return send(c->socket, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool finish_request(struct connection *c) {
    char text[1024];
    int length = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nETag: " ETAG "\r\n%s", c->status,
                          c->close_after ? "Connection: close\r\n" : "");
    if (strncmp(c->status, "204", 3)) {
        length += snprintf(text + length, sizeof text - (size_t)length, "Content-Length: %zu\r\n", strlen(c->content));
    }
    length += snprintf(text + length, sizeof text - (size_t)length, "\r\n%s", c->content);
    c->in_body = false;
    requests++;
    return reply(c, text, (size_t)length) && !c->close_after;
}

static bool refuse(struct connection *c, const char *status) {
    c->status = status;
    c->content = "";
    c->close_after = true;
    return finish_request(c);
}

// The reply to a method and target; the target is the text up to the next space.
static void choose_reply(struct connection *c, const char *line) {
    char target[2048];
    char method[16];
    target[0] = method[0] = 0;
    sscanf(line, "%15s %2047s", method, target);
    const char *query = strchr(target, '?');
    c->status = "200 OK";
    c->content = "";
    if (!strcmp(method, "DELETE")) {
        c->status = "204 No Content";
    } else if (!strcmp(method, "GET")) {
        c->content = XML "<ListBucketResult" NAMESPACE "><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated>"
                         "</ListBucketResult>";
    } else if (!strcmp(method, "POST") && query && strstr(query, "uploadId=")) {
        c->content = XML "<CompleteMultipartUploadResult" NAMESPACE "><ETag>" ETAG "</ETag>"
                         "</CompleteMultipartUploadResult>";
    } else if (!strcmp(method, "POST") && query && strstr(query, "uploads")) {
        c->content = XML "<InitiateMultipartUploadResult" NAMESPACE "><Bucket>b</Bucket><Key>k</Key>"
                         "<UploadId>u</UploadId></InitiateMultipartUploadResult>";
    }
}

// Reads the head of `length` bytes at the start of the buffer, which ends with an empty line.
static bool begin_request(struct connection *c, size_t length) {
    long long content_length = 0;
    bool expects_continue = false;
    c->head[length - 1] = 0;
    choose_reply(c, c->head);
    c->close_after = false;
    for (char *line = strstr(c->head, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
        const char *field = line + 2;
        if (!strncasecmp(field, "content-length:", 15)) {
            char *end;
            errno = 0;
            content_length = strtoll(field + 15, &end, 10);
            if (errno || end == field + 15 || content_length < 0) return refuse(c, "400 Bad Request");
        } else if (!strncasecmp(field, "transfer-encoding:", 18)) {
            return refuse(c, "411 Length Required");
        } else if (!strncasecmp(field, "expect:", 7)) {
            expects_continue = true;
        } else if (!strncasecmp(field, "connection: close", 17)) {
            c->close_after = true;
        }
    }
    c->filled -= length;
    memmove(c->head, c->head + length, c->filled);
    c->body_left = content_length;
    c->in_body = true;
    if (expects_continue && content_length > 0 && c->filled == 0) {
        static const char proceed[] = "HTTP/1.1 100 Continue\r\n\r\n";
        return reply(c, proceed, sizeof proceed - 1);
    }
    return true;
}

// Takes what of the body came along with the head, then discards from the socket. Unlike other kernels Linux drops
// the bytes of a TCP socket when asked with MSG_TRUNC, without copying (man 7 tcp).
static bool read_body(struct connection *c) {
    static char nowhere[DISCARD_STEP];
    size_t here = c->filled < (unsigned long long)c->body_left ? c->filled : (size_t)c->body_left;
    if (here > 0) {
        c->filled -= here;
        memmove(c->head, c->head + here, c->filled);
        c->body_left -= (long long)here;
        body_bytes += (long long)here;
    }
    if (c->body_left > 0) {
        size_t step = c->body_left < DISCARD_STEP ? (size_t)c->body_left : DISCARD_STEP;
        ssize_t count = recv(c->socket, nowhere, step, MSG_TRUNC);
        if (count == 0) return false;
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        c->body_left -= count;
        body_bytes += count;
    }
    return c->body_left > 0 || finish_request(c);
}

// Goes as far as the bytes reach that are here. False ends the connection.
static bool advance(struct connection *c) {
    if (!c->in_body) {
        ssize_t count = recv(c->socket, c->head + c->filled, HEAD_LIMIT - c->filled, 0);
        if (count == 0) return false;
        if (count < 0) return errno == EAGAIN || errno == EINTR;
        c->filled += (size_t)count;
    } else if (!read_body(c)) {
        return false;
    }
    while (!c->in_body && c->filled > 0) {
        char *end = memmem(c->head, c->filled, "\r\n\r\n", 4);
        if (!end) return c->filled < HEAD_LIMIT || refuse(c, "431 Request Header Fields Too Large");
        if (!begin_request(c, (size_t)(end - c->head) + 4)) return false;
        if (c->in_body && !read_body(c)) return false;
    }
    return true;
}

static void accept_all(int listener, int epoll) {
    int socket;
    while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        struct connection *c = malloc(sizeof *c);
        if (!c) fail("malloc");
        c->socket = socket;
        c->in_body = false;
        c->filled = 0;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event)) fail("epoll_ctl");
    }
}

int main(void) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    int signals = signalfd(-1, &ends, SFD_CLOEXEC);

    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1024)) fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &size)) fail("getsockname");

    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &listener};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event)) fail("epoll_ctl");
    event.data.ptr = &signals;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, signals, &event)) fail("epoll_ctl");

    printf("http://127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            void *source = events[i].data.ptr;
            if (source == &signals) {
                printf("{\"requests\": %lld, \"bodyBytes\": %lld, \"cutOff\": %lld}\n", requests, body_bytes, cut_off);
                return 0;
            } else if (source == &listener) {
                accept_all(listener, epoll);
            } else if (!advance(source)) {
                drop(source);
            }
        }
    }
}
