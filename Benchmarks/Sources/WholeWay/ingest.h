// Takes the files of a folder in: bytes first, then rows.
#ifndef INGEST_H
#define INGEST_H

#include "file.h"

// Copies each file of the folder into the store, a folder beside the database, and attaches it. A row is committed
// when its file and the file's name are durable, never before.
//
// Gives the store's descriptor.
int ingest(const char *source, const char *database, const char *namespace, struct files *files);

// Copies each file into the folder for files without a row, durable before the next one. There are no rows.
//
// Gives how many seconds each took, an array that is never freed.
double *ingest_each(const char *source, const char *database, struct files *files);

#endif
