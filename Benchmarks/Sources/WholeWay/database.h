// The rows: SQLite in WAL mode with synchronous=FULL, with the columns and indexes that the library has for files and
// jobs. Its checks and triggers are not there: the values that they make are made here.
#ifndef DATABASE_H
#define DATABASE_H

#include <stddef.h>

#include "file.h"

// Makes the database, which must not be there, and gives the namespace of its keys.
void database_make(const char *path, char namespace[NAMESPACE_TEXT]);

void database_begin(void);
void database_commit(void);

// In a transaction: a row for the file, and one for its upload.
void database_attach(const struct file *file);
// In a transaction: how far an upload in parts is.
void database_note_progress(const struct file *file, const char *checkpoint, size_t bytes);
// In a transaction: the file is at the URL, proven; the row of its upload goes.
void database_note_upload(const struct file *file, const char *url);

// As a single file: SQLite takes the WAL in.
void database_close(void);

#endif
