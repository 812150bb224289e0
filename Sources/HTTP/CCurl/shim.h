// Wrappers for curl_easy_setopt and related functions, which are variadic and therefore cannot be called from Swift.
// There is one wrapper for each type of argument, which does nothing else. Two more functions read the state of a
// socket, because those system calls are variadic too or take an argument of varying type.
#ifndef LFS_CCURL_SHIM_H
#define LFS_CCURL_SHIM_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif

// Constants with a fixed type. Swift imports libcurl's own names for them as an enumeration, Int or Int32, depending on
// the version of libcurl (7.88, 8.14 and 8.23 differ).
static const long lfs_http_version_1_1 = CURL_HTTP_VERSION_1_1;
static const long lfs_netrc_ignored = CURL_NETRC_IGNORED;
static const long lfs_tls_version_1_2 = CURL_SSLVERSION_TLSv1_2;

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

typedef int (*lfs_socket_function)(void *context, curl_socket_t socket, curlsocktype purpose);

static inline CURLcode lfs_easy_set_socket_function(CURL *easy, CURLoption option, lfs_socket_function function) {
    return curl_easy_setopt(easy, option, function);
}

// Returns the local port, or -1 if the descriptor is not, or no longer, an internet socket.
static inline int lfs_socket_port(curl_socket_t socket) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    if (getsockname(socket, (struct sockaddr *)&address, &size) != 0) return -1;
    if (address.ss_family == AF_INET) return ntohs(((struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
    return -1;
}

// Returns the number of bytes that the system holds and the peer has not acknowledged: tcp(7), SIOCOUTQ, on Darwin
// SO_NWRITE. Returns -1 if the system does not report it.
static inline int lfs_socket_unacknowledged(curl_socket_t socket) {
    int count = -1;
#ifdef __linux__
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
#else
    socklen_t size = sizeof count;
    return getsockopt(socket, SOL_SOCKET, SO_NWRITE, &count, &size) == 0 ? count : -1;
#endif
}

// Copies the bytes.
static inline CURLcode lfs_easy_set_bytes(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

typedef int (*lfs_debug_function)(CURL *easy, curl_infotype type, char *bytes, size_t count, void *context);

static inline CURLcode lfs_easy_set_debug_function(CURL *easy, CURLoption option, lfs_debug_function function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLMcode lfs_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

#endif
