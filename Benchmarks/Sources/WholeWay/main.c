// The whole way of files in plain C: what the library does to take files in, upload them and write that back, and
// nothing around it. It is the limit that the library is measured against, so it gives the same promises. One thread;
// only the syncs of a batch run beside each other, through POSIX AIO.
//
//   whole-way SOURCE DATABASE s3 ENDPOINT BUCKET PREFIX CONNECTIONS
//   whole-way SOURCE DATABASE dir TARGET
//   whole-way SOURCE DATABASE ingest
//   whole-way SOURCE DATABASE each
//
// Each file of the folder SOURCE is copied with SHA-256 and fsync into the folder DATABASE.lfs; 64 rows at a time are
// committed to SQLite (WAL, synchronous FULL) once the files and their names are durable. Then the files are uploaded:
// to the bucket with CONNECTIONS requests at once, large files in parts, or into the folder TARGET. What is proven by
// the storage's own word on the bytes is written back, 64 files a transaction. DATABASE must not be there, objects of
// other databases are not touched. The server has to be one that keeps SHA-256 checksums, as Amazon S3 and SeaweedFS do.
// For S3 the keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the region from AWS_REGION.
//
// `ingest` ends before the upload. `each` copies the files one by one, each durable before the next one, and attaches
// none: what an app waits for that makes one file.
//
// What the library does beyond it: it checks rows that others have written, stamps them by triggers, resumes, retries,
// uploads while it takes further files in, and asks before an upload in parts whether an earlier try has left one. What
// its uploader does beyond that: a row of its own for each file.
//
// Prints one line of JSON. Status 1 at the first error, with a message.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "database.h"
#include "failure.h"
#include "folder.h"
#include "ingest.h"
#include "s3.h"

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static int usage(void) {
    fprintf(stderr, "usage: whole-way SOURCE DATABASE s3 ENDPOINT BUCKET PREFIX CONNECTIONS\n"
                    "       whole-way SOURCE DATABASE dir TARGET\n"
                    "       whole-way SOURCE DATABASE ingest\n"
                    "       whole-way SOURCE DATABASE each\n");
    return 64;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// The value of the nearest rank.
static double percentile(const double *sorted, size_t count, size_t percent) {
    size_t rank = (percent * count + 99) / 100;
    return count ? sorted[rank ? rank - 1 : 0] : 0;
}

static int take_each(const char *source, const char *database) {
    struct files files = {.count = 0};
    double start = steady_seconds();
    double *durations = ingest_each(source, database, &files);
    double end = steady_seconds();
    qsort(durations, files.count, sizeof *durations, compare);
    printf("{\"files\": %zu, \"seconds\": %.6f, \"p50\": %.6f, \"p99\": %.6f, \"longest\": %.6f}\n", files.count,
           end - start, percentile(durations, files.count, 50), percentile(durations, files.count, 99),
           percentile(durations, files.count, 100));
    return 0;
}

int main(int argc, char **argv) {
    int is_s3 = argc == 8 && strcmp(argv[3], "s3") == 0;
    int connections = is_s3 ? atoi(argv[7]) : 1;
    int is_ingest = argc == 4 && strcmp(argv[3], "ingest") == 0;
    if (argc == 4 && strcmp(argv[3], "each") == 0) return take_each(argv[1], argv[2]);
    if (!is_s3 && !is_ingest && !(argc == 5 && strcmp(argv[3], "dir") == 0)) return usage();
    if (connections < 1 || connections > 1000) return usage();
    if (is_s3 && (!*argv[6] || *argv[6] == '/' || argv[6][strlen(argv[6]) - 1] == '/')) return usage();

    char namespace[NAMESPACE_TEXT];
    struct files files = {.count = 0};
    double start = steady_seconds();
    database_make(argv[2], namespace);
    int store = ingest(argv[1], argv[2], namespace, &files);
    double ingested = steady_seconds();
    size_t uploaded = is_ingest ? files.count
                      : is_s3   ? upload_to_s3(&files, store, argv[4], argv[5], argv[6], connections)
                                : upload_to_folder(&files, store, argv[4], namespace);
    if (uploaded != files.count) fail("%zu of %zu files were written back", uploaded, files.count);
    database_close();
    double end = steady_seconds();

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"files\": %zu, \"bytes\": %lld, \"ok\": %zu, \"seconds\": %.3f, \"ingest_seconds\": %.3f, "
           "\"upload_seconds\": %.3f, \"cpu_user\": %.3f, \"cpu_sys\": %.3f, \"max_rss_kb\": %ld}\n",
           files.count, files.bytes, uploaded, end - start, ingested - start, end - ingested, seconds(usage.ru_utime),
           seconds(usage.ru_stime), usage.ru_maxrss);
    return 0;
}
