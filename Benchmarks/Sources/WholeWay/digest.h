// SHA-256 through OpenSSL's EVP, and the texts that its values are written as.
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>

#define SHA256_BYTES 32
#define SHA256_HEX 65    // with the NUL
#define SHA256_BASE64 45 // with the NUL

// A value that is being computed.
struct digest {
    void *context;
};

void digest_begin(struct digest *digest);
void digest_add(struct digest *digest, const void *bytes, size_t count);
// Gives the value; the digest can be begun again.
void digest_end(struct digest *digest, unsigned char value[SHA256_BYTES]);
void digest_free(struct digest *digest);

void sha256(const void *bytes, size_t count, unsigned char value[SHA256_BYTES]);
void hmac_sha256(const void *key, size_t length, const char *text, unsigned char value[SHA256_BYTES]);

// Lowercase, as many digits as the bytes have.
void to_hex(const unsigned char *bytes, size_t count, char *text);
void sha256_to_base64(const unsigned char value[SHA256_BYTES], char text[SHA256_BASE64]);
void sha256_from_hex(const char *text, unsigned char value[SHA256_BYTES]);

#endif
