// Uploads with libcurl and nothing around it: no signing, no hashing, no database. The yardstick for the engine.
//
//   BareCurl URL-BASE FILE COUNT BYTES CONNECTIONS [BUFFER]
//
// PUTs COUNT objects of BYTES each, named URL-BASE/0 and so on, all with the first BYTES of FILE, CONNECTIONS at once
// on one multi handle. BUFFER is the size of curl's upload buffer, by default the one that was measured as fastest.
// Prints one line of JSON; GB are 10^9 bytes. Status 1 if any object was not answered with 200.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// libcurl sends a POST body of up to 64 KiB together with the head, a PUT body never. Objects up to this size go as
// such a POST, with PUT as its method: one system call each.
#define WHOLE_LIMIT (64 * 1024)

// All upload buffers together: beyond that they fall out of the processor's cache. More for one connection is no gain.
#define ALL_BUFFERS (4 * 1024 * 1024)
#define LARGEST_BUFFER (2 * 1024 * 1024)
#define SMALLEST_BUFFER (64 * 1024)

struct upload {
    CURL *easy;
    long long offset;
    char *whole;
};

static int file;
static long long count, bytes, next_object, finished, failures;
static const char *base;

static size_t read_file(char *buffer, size_t size, size_t items, void *context) {
    struct upload *upload = context;
    long long left = bytes - upload->offset;
    size_t room = size * items;
    ssize_t got = pread(file, buffer, left < (long long)room ? (size_t)left : room, upload->offset);
    if (got < 0) return CURL_READFUNC_ABORT;
    upload->offset += got;
    return (size_t)got;
}

static int seek_file(void *context, curl_off_t offset, int origin) {
    if (origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
    ((struct upload *)context)->offset = offset;
    return CURL_SEEKFUNC_OK;
}

static size_t discard(char *data, size_t size, size_t items, void *context) {
    (void)data;
    (void)context;
    return size * items;
}

// What a signed request carries, constant.
static struct curl_slist *headers(void) {
    static const char *const lines[] = {
        "Expect:",
        "Content-Type:",
        "x-amz-date: 20260101T000000Z",
        "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
        "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    };
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) list = curl_slist_append(list, lines[i]);
    return list;
}

static void configure(struct upload *upload, struct curl_slist *list, long buffer) {
    CURL *easy = upload->easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_PRIVATE, upload);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
    if (bytes <= WHOLE_LIMIT) {
        upload->whole = malloc(WHOLE_LIMIT);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, upload->whole);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PUT");
    } else {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, buffer);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_file);
        curl_easy_setopt(easy, CURLOPT_READDATA, upload);
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_file);
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, upload);
    }
}

static void begin(CURLM *multi, struct upload *upload) {
    char url[2048];
    if (next_object == count) return;
    snprintf(url, sizeof url, "%s/%lld", base, next_object++);
    upload->offset = 0;
    if (upload->whole && pread(file, upload->whole, (size_t)bytes, 0) != bytes) {
        perror("pread");
        exit(1);
    }
    curl_easy_setopt(upload->easy, CURLOPT_URL, url);
    curl_multi_add_handle(multi, upload->easy);
}

// Starts the next object for each that ended; whether there were any.
static bool collect(CURLM *multi) {
    bool any = false;
    CURLMsg *message;
    int waiting;
    while ((message = curl_multi_info_read(multi, &waiting))) {
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result; // the message ends with the next call
        struct upload *upload;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &upload);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (code != CURLE_OK || status != 200) {
            if (failures++ == 0) fprintf(stderr, "status %ld: %s\n", status, curl_easy_strerror(code));
        }
        curl_multi_remove_handle(multi, easy);
        begin(multi, upload);
        finished++;
        any = true;
    }
    return any;
}

static long best_buffer(int connections) {
    long buffer = ALL_BUFFERS / connections;
    return buffer > LARGEST_BUFFER ? LARGEST_BUFFER : buffer < SMALLEST_BUFFER ? SMALLEST_BUFFER : buffer;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: BareCurl URL-BASE FILE COUNT BYTES CONNECTIONS [BUFFER]\n");
        return 64;
    }
    base = argv[1];
    count = atoll(argv[3]);
    bytes = atoll(argv[4]);
    int connections = atoi(argv[5]);
    if (count < 1 || bytes < 1 || connections < 1) return 64;
    long buffer = argc > 6 ? atol(argv[6]) : best_buffer(connections);
    file = open(argv[2], O_RDONLY | O_CLOEXEC);
    if (file < 0 || lseek(file, 0, SEEK_END) < bytes) {
        fprintf(stderr, "%s is missing or shorter than %lld bytes\n", argv[2], bytes);
        return 1;
    }

    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)connections);
    struct curl_slist *list = headers();
    struct upload *uploads = calloc((size_t)connections, sizeof *uploads);
    double start = now();
    for (int i = 0; i < connections; i++) {
        configure(&uploads[i], list, buffer);
        begin(multi, &uploads[i]);
    }
    int running;
    do {
        if (curl_multi_perform(multi, &running)) return 1;
        if (collect(multi)) continue; // the new ones can send at once
        if (running && curl_multi_poll(multi, NULL, 0, 1000, NULL)) return 1;
    } while (running || finished < count);
    double elapsed = now() - start;

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"files\": %lld, \"bytes\": %lld, \"seconds\": %.3f, \"files_per_s\": %.1f, \"GB_per_s\": %.3f, "
           "\"cpu_user\": %.3f, \"cpu_sys\": %.3f, \"max_rss_kb\": %ld}\n",
           count - failures, bytes, elapsed, (double)count / elapsed, (double)count * (double)bytes / elapsed / 1e9,
           seconds(usage.ru_utime), seconds(usage.ru_stime), usage.ru_maxrss);
    for (int i = 0; i < connections; i++) {
        curl_easy_cleanup(uploads[i].easy);
        free(uploads[i].whole);
    }
    free(uploads);
    curl_multi_cleanup(multi);
    curl_slist_free_all(list);
    curl_global_cleanup();
    return failures > 0;
}
