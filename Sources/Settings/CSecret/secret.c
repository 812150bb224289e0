#include "CSecret.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

// The functions of libsecret 0.20 and of GLib 2.66 and later, as their documentation has them: result, name, arguments.
// A gboolean and a gint are an int, a gsize is a size_t, a GType is a size_t, a GQuark is a uint32_t.
#define FUNCTIONS(F) \
    F(void *, g_main_context_new, (void)) \
    F(void, g_main_context_push_thread_default, (void *context)) \
    F(void *, g_main_loop_new, (void *context, int is_running)) \
    F(void, g_main_loop_run, (void *loop)) \
    F(void *, g_idle_source_new, (void)) \
    F(void, g_source_set_priority, (void *source, int priority)) \
    F(void, g_source_set_callback, (void *source, int (*function)(void *), void *data, void (*notify)(void *))) \
    F(unsigned, g_source_attach, (void *source, void *context)) \
    F(void, g_source_unref, (void *source)) \
    F(void *, g_hash_table_new_full, \
        (unsigned (*hash)(const void *), int (*equal)(const void *, const void *), void (*free_key)(void *), \
         void (*free_value)(void *))) \
    F(int, g_hash_table_replace, (void *table, void *key, void *value)) \
    F(void *, g_hash_table_lookup, (void *table, const void *key)) \
    F(void, g_hash_table_unref, (void *table)) \
    F(unsigned, g_str_hash, (const void *text)) \
    F(int, g_str_equal, (const void *left, const void *right)) \
    F(char *, g_strdup, (const char *text)) \
    F(void, g_free, (void *memory)) \
    F(void *, g_list_append, (void *list, void *data)) \
    F(void, g_list_free, (void *list)) \
    F(void, g_error_free, (void *error)) \
    F(const char *, g_quark_to_string, (uint32_t quark)) \
    F(void, g_object_unref, (void *object)) \
    F(int, g_type_check_instance_is_a, (void *instance, size_t type)) \
    F(void *, g_cancellable_new, (void)) \
    F(void, g_cancellable_cancel, (void *cancellable)) \
    F(int, g_dbus_error_is_remote_error, (const void *error)) \
    F(char *, g_dbus_error_get_remote_error, (const void *error)) \
    F(const char *, g_dbus_proxy_get_object_path, (void *proxy)) \
    F(char *, g_dbus_proxy_get_name_owner, (void *proxy)) \
    F(void *, g_dbus_proxy_get_cached_property, (void *proxy, const char *name)) \
    F(void, g_variant_unref, (void *value)) \
    F(uint32_t, secret_error_get_quark, (void)) \
    F(size_t, secret_service_get_type, (void)) \
    F(size_t, secret_item_get_type, (void)) \
    F(void *, secret_schema_newv, (const char *name, int flags, void *attribute_types)) \
    F(void, secret_backend_get, (int flags, void *cancellable, lfs_secret_answer answer, void *context)) \
    F(void *, secret_backend_get_finish, (void *result, lfs_secret_error **error)) \
    F(void, secret_service_disconnect, (void)) \
    F(void, secret_password_searchv, \
        (const void *schema, void *attributes, int flags, void *cancellable, lfs_secret_answer answer, \
         void *context)) \
    F(void *, secret_password_search_finish, (void *result, lfs_secret_error **error)) \
    F(void, secret_password_storev, \
        (const void *schema, void *attributes, const char *collection, const char *label, const char *password, \
         void *cancellable, lfs_secret_answer answer, void *context)) \
    F(int, secret_password_store_finish, (void *result, lfs_secret_error **error)) \
    F(void, secret_password_clearv, \
        (const void *schema, void *attributes, void *cancellable, lfs_secret_answer answer, void *context)) \
    F(int, secret_password_clear_finish, (void *result, lfs_secret_error **error)) \
    F(void, secret_service_unlock, \
        (void *service, void *objects, void *cancellable, lfs_secret_answer answer, void *context)) \
    F(int, secret_service_unlock_finish, (void *service, void *result, void **unlocked, lfs_secret_error **error)) \
    F(void, secret_collection_for_alias, \
        (void *service, const char *alias, int flags, void *cancellable, lfs_secret_answer answer, void *context)) \
    F(void *, secret_collection_for_alias_finish, (void *result, lfs_secret_error **error)) \
    F(int, secret_collection_get_locked, (void *collection)) \
    F(void *, secret_retrievable_get_attributes, (void *object)) \
    F(uint64_t, secret_retrievable_get_modified, (void *object)) \
    F(void, secret_retrievable_retrieve_secret, \
        (void *object, void *cancellable, lfs_secret_answer answer, void *context)) \
    F(void *, secret_retrievable_retrieve_secret_finish, (void *object, void *result, lfs_secret_error **error)) \
    F(int, secret_item_get_locked, (void *item)) \
    F(void *, secret_item_get_secret, (void *item)) \
    F(void, secret_item_set_secret, \
        (void *item, void *value, void *cancellable, lfs_secret_answer answer, void *context)) \
    F(int, secret_item_set_secret_finish, (void *item, void *result, lfs_secret_error **error)) \
    F(void, secret_item_delete, (void *item, void *cancellable, lfs_secret_answer answer, void *context)) \
    F(int, secret_item_delete_finish, (void *item, void *result, lfs_secret_error **error)) \
    F(void *, secret_value_new, (const char *text, ptrdiff_t length, const char *content_type)) \
    F(const void *, secret_value_get, (void *value, size_t *count)) \
    F(void, secret_value_unref, (void *value))

#define MEMBER(RESULT, NAME, ARGUMENTS) RESULT(*NAME) ARGUMENTS;
static struct {
    FUNCTIONS(MEMBER)
    void *schema;
} of;

static const char *failure = NULL;

static void load(void) {
    // Never closed: GLib cannot be unloaded.
    void *library = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        failure = dlerror();
        failure = failure == NULL ? "libsecret-1.so.0 is not there" : failure;
        return;
    }
#define FIND(RESULT, NAME, ARGUMENTS) \
    if ((of.NAME = (RESULT(*) ARGUMENTS)dlsym(library, #NAME)) == NULL) { \
        failure = "libsecret-1.so.0 is too old: it has no " #NAME; \
        return; \
    }
    FUNCTIONS(FIND)
    // The types of the attributes are all text, SECRET_SCHEMA_ATTRIBUTE_STRING, which is 0.
    void *types = of.g_hash_table_new_full(of.g_str_hash, of.g_str_equal, NULL, NULL);
    of.g_hash_table_replace(types, "install", NULL);
    of.g_hash_table_replace(types, "key", NULL);
    of.schema = of.secret_schema_newv("lfs.settings", 0, types);
    of.g_hash_table_unref(types);
}

const char *lfs_secret_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return failure;
}

// MARK: GLib

void *lfs_secret_context(void) { return of.g_main_context_new(); }

void lfs_secret_run(void *main_context) {
    of.g_main_context_push_thread_default(main_context);
    of.g_main_loop_run(of.g_main_loop_new(main_context, 0));
}

struct work {
    void (*function)(void *);
    void *context;
};

// GLib's own locks are not seen by the thread sanitizer: this one says that work is done after it was handed over.
static pthread_mutex_t handing_over = PTHREAD_MUTEX_INITIALIZER;

static int work_once(void *data) {
    struct work *work = data;
    pthread_mutex_lock(&handing_over);
    pthread_mutex_unlock(&handing_over);
    work->function(work->context);
    return 0;
}

void lfs_secret_enqueue(void *main_context, void (*function)(void *), void *context) {
    struct work *work = malloc(sizeof *work);
    if (work == NULL) abort();
    *work = (struct work){function, context};
    pthread_mutex_lock(&handing_over);
    pthread_mutex_unlock(&handing_over);
    void *source = of.g_idle_source_new();
    of.g_source_set_priority(source, 0);
    of.g_source_set_callback(source, work_once, work, free);
    of.g_source_attach(source, main_context);
    of.g_source_unref(source);
}

void *lfs_secret_cancellable(void) { return of.g_cancellable_new(); }
void lfs_secret_cancel(void *cancellable) { of.g_cancellable_cancel(cancellable); }
void lfs_secret_unref(void *object) { of.g_object_unref(object); }

void lfs_secret_error_free(lfs_secret_error *error) { of.g_error_free(error); }

const char *lfs_secret_error_domain(const lfs_secret_error *error) { return of.g_quark_to_string(error->domain); }

char *lfs_secret_error_remote_name(const lfs_secret_error *error) {
    return of.g_dbus_error_is_remote_error(error) ? of.g_dbus_error_get_remote_error(error) : NULL;
}

int lfs_secret_error_is_of_protocol(const lfs_secret_error *error) {
    return error->domain == of.secret_error_get_quark();
}

// SECRET_ERROR_IS_LOCKED and SECRET_ERROR_INVALID_FILE_FORMAT.
int lfs_secret_error_is_locked(const lfs_secret_error *error) {
    return lfs_secret_error_is_of_protocol(error) && error->code == 2;
}
int lfs_secret_error_is_bad_file(const lfs_secret_error *error) {
    return lfs_secret_error_is_of_protocol(error) && error->code == 5;
}

// SECRET_ERROR_NO_SUCH_OBJECT; G_DBUS_ERROR_UNKNOWN_METHOD and G_DBUS_ERROR_UNKNOWN_OBJECT.
int lfs_secret_error_is_of_absence(const lfs_secret_error *error) {
    if (lfs_secret_error_is_of_protocol(error)) return error->code == 3;
    const char *domain = lfs_secret_error_domain(error);
    return domain != NULL && of.g_str_equal(domain, "g-dbus-error-quark") && (error->code == 19 || error->code == 41);
}

void lfs_secret_free(void *memory) { of.g_free(memory); }

void *lfs_secret_attributes(void) {
    return of.g_hash_table_new_full(of.g_str_hash, of.g_str_equal, of.g_free, of.g_free);
}

void lfs_secret_attributes_add(void *attributes, const char *name, const char *value) {
    of.g_hash_table_replace(attributes, of.g_strdup(name), of.g_strdup(value));
}

void lfs_secret_attributes_unref(void *attributes) { of.g_hash_table_unref(attributes); }

lfs_secret_list *lfs_secret_list_append(lfs_secret_list *list, void *object) {
    return of.g_list_append(list, object);
}

void lfs_secret_list_free(lfs_secret_list *list) { of.g_list_free(list); }

// MARK: Operations

void lfs_secret_backend(void *cancellable, lfs_secret_answer answer, void *context) {
    of.secret_backend_get(0, cancellable, answer, context);
}

// The bus name of the service's process. On the thread of the context alone.
static char *last_owner = NULL;

int lfs_secret_backend_finish(void *result, lfs_secret_error **error) {
    // Not given back: libsecret 0.20 keeps this very reference as its own the first time. The object is one for a
    // session, and sessions are few.
    void *backend = of.secret_backend_get_finish(result, error);
    if (backend == NULL || !of.g_type_check_instance_is_a(backend, of.secret_service_get_type())) return 0;
    char *owner = of.g_dbus_proxy_get_name_owner(backend);
    int is_another = last_owner != NULL && (owner == NULL || !of.g_str_equal(owner, last_owner));
    of.g_free(last_owner);
    last_owner = is_another ? NULL : owner;
    if (!is_another) return 1;
    // libsecret would go on with the session that the former process knew.
    of.g_free(owner);
    of.secret_service_disconnect();
    return 2;
}

const char *lfs_secret_process(void) { return last_owner; }

void lfs_secret_disconnect(void) { of.secret_service_disconnect(); }

void lfs_secret_search(void *attributes, int is_ours, void *cancellable, lfs_secret_answer answer, void *context) {
    // SECRET_SEARCH_ALL and SECRET_SEARCH_LOAD_SECRETS.
    of.secret_password_searchv(is_ours ? of.schema : NULL, attributes, 2 | 8, cancellable, answer, context);
}

lfs_secret_list *lfs_secret_search_finish(void *result, lfs_secret_error **error) {
    return of.secret_password_search_finish(result, error);
}

void lfs_secret_unlock(lfs_secret_list *objects, void *cancellable, lfs_secret_answer answer, void *context) {
    of.secret_service_unlock(NULL, objects, cancellable, answer, context);
}

int lfs_secret_unlock_finish(void *result, lfs_secret_error **error) {
    return of.secret_service_unlock_finish(NULL, result, NULL, error);
}

void lfs_secret_collection(void *cancellable, lfs_secret_answer answer, void *context) {
    of.secret_collection_for_alias(NULL, "default", 0, cancellable, answer, context);
}

void *lfs_secret_collection_finish(void *result, lfs_secret_error **error) {
    return of.secret_collection_for_alias_finish(result, error);
}

int lfs_secret_collection_is_locked(void *collection) { return of.secret_collection_get_locked(collection); }

void lfs_secret_store(
    void *attributes, const char *label, const char *text, void *cancellable, lfs_secret_answer answer, void *context) {
    of.secret_password_storev(of.schema, attributes, "default", label, text, cancellable, answer, context);
}

int lfs_secret_store_finish(void *result, lfs_secret_error **error) {
    return of.secret_password_store_finish(result, error);
}

void lfs_secret_clear(void *attributes, int is_ours, void *cancellable, lfs_secret_answer answer, void *context) {
    of.secret_password_clearv(is_ours ? of.schema : NULL, attributes, cancellable, answer, context);
}

int lfs_secret_clear_finish(void *result, lfs_secret_error **error) {
    return of.secret_password_clear_finish(result, error);
}

// MARK: What was found

int lfs_secret_is_item(void *object) { return of.g_type_check_instance_is_a(object, of.secret_item_get_type()); }

char *lfs_secret_attribute(void *object, const char *name) {
    void *table = of.secret_retrievable_get_attributes(object);
    if (table == NULL) return NULL;
    char *value = of.g_strdup(of.g_hash_table_lookup(table, name));
    of.g_hash_table_unref(table);
    return value;
}

uint64_t lfs_secret_modified(void *object) { return of.secret_retrievable_get_modified(object); }

void lfs_secret_retrieve(void *object, void *cancellable, lfs_secret_answer answer, void *context) {
    of.secret_retrievable_retrieve_secret(object, cancellable, answer, context);
}

void *lfs_secret_retrieve_finish(void *object, void *result, lfs_secret_error **error) {
    return of.secret_retrievable_retrieve_secret_finish(object, result, error);
}

int lfs_secret_item_is_known(void *item) {
    static const char *const names[] = {"Attributes", "Locked", "Modified"};
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        void *value = of.g_dbus_proxy_get_cached_property(item, names[index]);
        if (value == NULL) return 0;
        of.g_variant_unref(value);
    }
    return 1;
}

int lfs_secret_item_is_locked(void *item) { return of.secret_item_get_locked(item); }
const char *lfs_secret_item_path(void *item) { return of.g_dbus_proxy_get_object_path(item); }
void *lfs_secret_item_value(void *item) { return of.secret_item_get_secret(item); }

void lfs_secret_item_replace(
    void *item, const char *text, void *cancellable, lfs_secret_answer answer, void *context) {
    void *value = of.secret_value_new(text, -1, "text/plain");
    of.secret_item_set_secret(item, value, cancellable, answer, context);
    of.secret_value_unref(value);
}

int lfs_secret_item_replace_finish(void *item, void *result, lfs_secret_error **error) {
    return of.secret_item_set_secret_finish(item, result, error);
}

void lfs_secret_item_delete(void *item, void *cancellable, lfs_secret_answer answer, void *context) {
    of.secret_item_delete(item, cancellable, answer, context);
}

int lfs_secret_item_delete_finish(void *item, void *result, lfs_secret_error **error) {
    return of.secret_item_delete_finish(item, result, error);
}

const void *lfs_secret_value_bytes(void *value, size_t *count) { return of.secret_value_get(value, count); }
void lfs_secret_value_unref(void *value) { of.secret_value_unref(value); }
