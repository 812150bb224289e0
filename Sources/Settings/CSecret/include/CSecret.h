// The functions of libsecret that LFSSecretService uses. The library is loaded at run time for the first secret. So an
// app without secrets needs no libsecret to build or run, and its headers are never needed. GLib objects are void
// pointers.
#ifndef LFS_CSECRET_H
#define LFS_CSECRET_H

#include <stddef.h>
#include <stdint.h>

// Loads libsecret once. Returns NULL, or the reason of a failure. Must be called before all other functions.
const char *lfs_secret_load(void);

// MARK: GLib

// Creates a main context, which is never freed.
void *lfs_secret_context(void);
// Runs the context on this thread and never returns.
void lfs_secret_run(void *main_context);
// Calls the function once on the thread that runs the context.
void lfs_secret_enqueue(void *main_context, void (*function)(void *context), void *context);

void *lfs_secret_cancellable(void);
void lfs_secret_cancel(void *cancellable);
void lfs_secret_unref(void *object);

typedef struct {
    uint32_t domain;
    int code;
    const char *message;
} lfs_secret_error;

void lfs_secret_error_free(lfs_secret_error *error);
const char *lfs_secret_error_domain(const lfs_secret_error *error);
// Returns the name of an error that came over the bus, or NULL for any other error. Free it with lfs_secret_free.
char *lfs_secret_error_remote_name(const lfs_secret_error *error);
int lfs_secret_error_is_locked(const lfs_secret_error *error);
// Returns nonzero if the requested object does not exist.
int lfs_secret_error_is_of_absence(const lfs_secret_error *error);
int lfs_secret_error_is_bad_file(const lfs_secret_error *error);
int lfs_secret_error_is_of_protocol(const lfs_secret_error *error);
void lfs_secret_free(void *memory);

void *lfs_secret_attributes(void);
void lfs_secret_attributes_add(void *attributes, const char *name, const char *value);
void lfs_secret_attributes_unref(void *attributes);

typedef struct lfs_secret_list {
    void *object;
    struct lfs_secret_list *next;
    struct lfs_secret_list *previous;
} lfs_secret_list;

lfs_secret_list *lfs_secret_list_append(lfs_secret_list *list, void *object);
// Frees the list, but not its objects.
void lfs_secret_list_free(lfs_secret_list *list);

// MARK: Operations

// Each operation starts on the thread that runs the context, and calls `answer` there when it has ended. The function
// with the same name and the suffix _finish extracts the value from the result, or sets the error of a failure.
typedef void (*lfs_secret_answer)(void *source, void *result, void *context);

// Returns 1 if secrets are stored by the Secret Service, 0 if they are in libsecret's own file. Returns 2 if the
// service has ended or is another process than before. Then call it again.
void lfs_secret_backend(void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_backend_finish(void *result, lfs_secret_error **error);

// Returns the bus name of the service's process after lfs_secret_backend_finish has returned 1. NULL if it is unknown.
const char *lfs_secret_process(void);

// Ends the session. The next call starts another one. Items found in the old session can be removed but not written.
void lfs_secret_disconnect(void);

// Returns all items with the attributes, with the secrets of those that are not locked.
//
// is_ours: nonzero if the items must have the schema of LFS.
void lfs_secret_search(void *attributes, int is_ours, void *cancellable, lfs_secret_answer answer, void *context);
lfs_secret_list *lfs_secret_search_finish(void *result, lfs_secret_error **error);

// Unlocks items or collections.
void lfs_secret_unlock(lfs_secret_list *objects, void *cancellable, lfs_secret_answer answer, void *context);
// Returns the number of unlocked objects.
int lfs_secret_unlock_finish(void *result, lfs_secret_error **error);

// Returns the default keyring, or NULL if it does not exist.
void lfs_secret_collection(void *cancellable, lfs_secret_answer answer, void *context);
void *lfs_secret_collection_finish(void *result, lfs_secret_error **error);
int lfs_secret_collection_is_locked(void *collection);

void lfs_secret_store(
    void *attributes, const char *label, const char *text, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_store_finish(void *result, lfs_secret_error **error);

// Removes all items with the attributes from libsecret's own file.
void lfs_secret_clear(void *attributes, int is_ours, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_clear_finish(void *result, lfs_secret_error **error);

// MARK: Results

// Returns nonzero for an item of the Secret Service, and 0 for one of libsecret's own file.
int lfs_secret_is_item(void *object);
// Returns nonzero if the service has sent the properties of an item. It has not if it ended in the meantime. Then none
// of the following functions may be called.
int lfs_secret_item_is_known(void *item);
// Returns a copy of an attribute's value, or NULL if the object does not have it. Free it with lfs_secret_free.
char *lfs_secret_attribute(void *object, const char *name);
// Returns the time of the last change in seconds since 1970.
uint64_t lfs_secret_modified(void *object);

// Returns the secret of an item in libsecret's own file. Release it with lfs_secret_value_unref.
void lfs_secret_retrieve(void *object, void *cancellable, lfs_secret_answer answer, void *context);
void *lfs_secret_retrieve_finish(void *object, void *result, lfs_secret_error **error);

int lfs_secret_item_is_locked(void *item);
const char *lfs_secret_item_path(void *item);
// Returns the secret that the search has loaded, or NULL. Release it with lfs_secret_value_unref.
void *lfs_secret_item_value(void *item);
void lfs_secret_item_replace(
    void *item, const char *text, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_item_replace_finish(void *item, void *result, lfs_secret_error **error);
void lfs_secret_item_delete(void *item, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_item_delete_finish(void *item, void *result, lfs_secret_error **error);

const void *lfs_secret_value_bytes(void *value, size_t *count);
void lfs_secret_value_unref(void *value);

#endif
