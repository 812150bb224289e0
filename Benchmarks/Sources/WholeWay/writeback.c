#include "writeback.h"

#include <stdio.h>

#include "database.h"
#include "failure.h"

static const char *base;
static const struct file *proven[BATCH_FILES];
static int count;
static size_t written;

static void write_rows(void) {
    char url[4096];
    database_begin();
    for (int i = 0; i < count; i++) {
        int length = snprintf(url, sizeof url, "%s/%s", base, proven[i]->key);
        if (length < 0 || length >= (int)sizeof url) fail("the URL of %s is too long", proven[i]->name);
        database_note_upload(proven[i], url);
    }
    database_commit();
    written += (size_t)count;
    count = 0;
}

void writeback_begin(const char *url) { base = url; }

void writeback_add(const struct file *file) {
    proven[count++] = file;
    if (count == BATCH_FILES) write_rows();
}

size_t writeback_end(void) {
    if (count > 0) write_rows();
    return written;
}
