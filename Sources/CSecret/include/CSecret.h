// What LFSSecretService needs of libsecret, which is loaded when the first secret is asked for: neither building nor
// running an app without one needs it, and its headers are not needed at all. Objects of GLib are void pointers here.
#ifndef LFS_CSECRET_H
#define LFS_CSECRET_H

#include <stddef.h>
#include <stdint.h>

// Loads libsecret, once. Returns NULL, or why that failed. Nothing else here may be called before.
const char *lfs_secret_load(void);

// MARK: GLib

// A main context of its own. It is never freed.
void *lfs_secret_context(void);
// Runs the context on this thread, for ever.
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
// The name of an error that came over the bus, for lfs_secret_free; NULL for all others.
char *lfs_secret_error_remote_name(const lfs_secret_error *error);
int lfs_secret_error_is_locked(const lfs_secret_error *error);
// Whether the object that was asked is not there.
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
// The list alone; its objects stay.
void lfs_secret_list_free(lfs_secret_list *list);

// MARK: Operations

// Each begins on the thread that runs the context, and tells there that it has ended; what it has said is taken out of
// the result by the function of its name with _finish, which sets the error where it failed.
typedef void (*lfs_secret_answer)(void *source, void *result, void *context);

// 1 when secrets are in the Secret Service, 0 when they are in libsecret's own file; 2 when the service is another process
// than before, or none: then ask again.
void lfs_secret_backend(void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_backend_finish(void *result, lfs_secret_error **error);

// The bus name of the process of which lfs_secret_backend_finish has said 1; NULL when there is none.
const char *lfs_secret_process(void);

// Gives up the session: the next call begins another one. What was found in it can be removed, and not be written.
void lfs_secret_disconnect(void);

// All items with the attributes, with what those keep that are not locked.
//
// is_ours: whether they have to have our schema.
void lfs_secret_search(void *attributes, int is_ours, void *cancellable, lfs_secret_answer answer, void *context);
lfs_secret_list *lfs_secret_search_finish(void *result, lfs_secret_error **error);

// For items and collections.
void lfs_secret_unlock(lfs_secret_list *objects, void *cancellable, lfs_secret_answer answer, void *context);
// How many were unlocked.
int lfs_secret_unlock_finish(void *result, lfs_secret_error **error);

// The default keyring; NULL when there is none.
void lfs_secret_collection(void *cancellable, lfs_secret_answer answer, void *context);
void *lfs_secret_collection_finish(void *result, lfs_secret_error **error);
int lfs_secret_collection_is_locked(void *collection);

void lfs_secret_store(
    void *attributes, const char *label, const char *text, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_store_finish(void *result, lfs_secret_error **error);

// Removes all that has the attributes, of libsecret's own file.
void lfs_secret_clear(void *attributes, int is_ours, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_clear_finish(void *result, lfs_secret_error **error);

// MARK: What was found

// Whether it is an item of the Secret Service. Those of libsecret's own file are not.
int lfs_secret_is_item(void *object);
// Whether the service has said what an item of it is. It has not when it ended meanwhile, and none of the next functions
// may be called then.
int lfs_secret_item_is_known(void *item);
// A copy of one attribute's value, for lfs_secret_free; NULL when the object has none of the name.
char *lfs_secret_attribute(void *object, const char *name);
// Seconds since 1970.
uint64_t lfs_secret_modified(void *object);

// What an item of the own file keeps: a value for lfs_secret_value_unref.
void lfs_secret_retrieve(void *object, void *cancellable, lfs_secret_answer answer, void *context);
void *lfs_secret_retrieve_finish(void *object, void *result, lfs_secret_error **error);

int lfs_secret_item_is_locked(void *item);
const char *lfs_secret_item_path(void *item);
// What the search has brought: a value for lfs_secret_value_unref, or NULL.
void *lfs_secret_item_value(void *item);
void lfs_secret_item_replace(
    void *item, const char *text, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_item_replace_finish(void *item, void *result, lfs_secret_error **error);
void lfs_secret_item_delete(void *item, void *cancellable, lfs_secret_answer answer, void *context);
int lfs_secret_item_delete_finish(void *item, void *result, lfs_secret_error **error);

const void *lfs_secret_value_bytes(void *value, size_t *count);
void lfs_secret_value_unref(void *value);

#endif
