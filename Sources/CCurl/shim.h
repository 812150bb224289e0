// curl_easy_setopt and its relatives are variadic, and Swift cannot call such functions: one function for each type
// of argument. They do nothing else.
#ifndef LFS_CCURL_SHIM_H
#define LFS_CCURL_SHIM_H

#include <curl/curl.h>

static inline CURLcode lfs_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode lfs_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode lfs_easy_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode lfs_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode lfs_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*lfs_transfer_function)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode lfs_easy_set_transfer_function(CURL *easy, CURLoption option, lfs_transfer_function function) {
    return curl_easy_setopt(easy, option, function);
}

typedef int (*lfs_seek_function)(void *context, curl_off_t offset, int origin);

static inline CURLcode lfs_easy_set_seek_function(CURL *easy, CURLoption option, lfs_seek_function function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode lfs_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode lfs_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode lfs_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode lfs_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

#endif
