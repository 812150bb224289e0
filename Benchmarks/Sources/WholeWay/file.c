#include "file.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "failure.h"

long long milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Ten random bytes, taken from the system in larger portions.
static const unsigned char *random_bytes(void) {
    static unsigned char pool[250]; // getentropy gives 256 at the most
    static size_t used = sizeof pool;
    if (used == sizeof pool) {
        if (getentropy(pool, sizeof pool) != 0) fail_call("getentropy", "");
        used = 0;
    }
    used += 10;
    return pool + used - 10;
}

double steady_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void make_id(char text[ID_TEXT], long long milliseconds) {
    unsigned char bytes[16];
    char digits[33];
    for (int i = 0; i < 6; i++) bytes[i] = (unsigned char)(milliseconds >> (40 - 8 * i));
    memcpy(bytes + 6, random_bytes(), 10);
    bytes[6] = 0x70 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    to_hex(bytes, sizeof bytes, digits);
    snprintf(text, ID_TEXT, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8, digits + 12, digits + 16, digits + 20);
}

void make_namespace(const char *database_id, char text[NAMESPACE_TEXT]) {
    unsigned char value[SHA256_BYTES];
    sha256(database_id, strlen(database_id), value);
    to_hex(value, (NAMESPACE_TEXT - 1) / 2, text);
}
