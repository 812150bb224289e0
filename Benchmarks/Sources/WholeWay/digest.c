#include "digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "failure.h"

// Fetched once: looking an algorithm up costs more than hashing a request.
static const EVP_MD *algorithm(void) {
    static EVP_MD *fetched;
    if (!fetched) fetched = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!fetched) fail("OpenSSL has no SHA-256");
    return fetched;
}

void digest_begin(struct digest *digest) {
    if (!digest->context) digest->context = EVP_MD_CTX_new();
    if (!digest->context || EVP_DigestInit_ex(digest->context, algorithm(), NULL) != 1) fail("SHA-256 cannot begin");
}

void digest_add(struct digest *digest, const void *bytes, size_t count) {
    if (EVP_DigestUpdate(digest->context, bytes, count) != 1) fail("SHA-256 takes no bytes");
}

void digest_end(struct digest *digest, unsigned char value[SHA256_BYTES]) {
    if (EVP_DigestFinal_ex(digest->context, value, NULL) != 1) fail("SHA-256 gives no value");
}

void digest_free(struct digest *digest) {
    EVP_MD_CTX_free(digest->context);
    digest->context = NULL;
}

void sha256(const void *bytes, size_t count, unsigned char value[SHA256_BYTES]) {
    static struct digest digest;
    digest_begin(&digest);
    digest_add(&digest, bytes, count);
    digest_end(&digest, value);
}

void hmac_sha256(const void *key, size_t length, const char *text, unsigned char value[SHA256_BYTES]) {
    if (!HMAC(algorithm(), key, (int)length, (const unsigned char *)text, strlen(text), value, NULL)) {
        fail("HMAC gives no value");
    }
}

void to_hex(const unsigned char *bytes, size_t count, char *text) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = 0;
}

void sha256_to_base64(const unsigned char value[SHA256_BYTES], char text[SHA256_BASE64]) {
    EVP_EncodeBlock((unsigned char *)text, value, SHA256_BYTES);
}

static unsigned char digit(char character) {
    return (unsigned char)(character <= '9' ? character - '0' : character - 'a' + 10);
}

void sha256_from_hex(const char *text, unsigned char value[SHA256_BYTES]) {
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        value[i] = (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    }
}
