// Collects what is proven to be on the storage, and writes it into the rows, a batch in a transaction.
#ifndef WRITEBACK_H
#define WRITEBACK_H

#include <stddef.h>

#include "file.h"

// The base of the objects' URLs, without a slash at the end.
void writeback_begin(const char *base);
// The file is there, proven. The transaction comes with the batch's last one.
void writeback_add(const struct file *file);
// Writes what is left. Returns how many files were written back in all.
size_t writeback_end(void);

#endif
