// Uploads into a folder that acts as the storage.
#ifndef FOLDER_H
#define FOLDER_H

#include "file.h"

// Copies each file from the store to TARGET/<namespace>/<id>: under another name first, checked against its recorded
// SHA-256, synced, renamed, the folder synced, and then written back. Returns how many.
size_t upload_to_folder(const struct files *files, int store, const char *target, const char *namespace);

#endif
