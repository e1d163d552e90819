/* Authenticated encryption of pages: XAES-256-GCM (c2sp.org/XAES-256-GCM) over AES from OpenSSL's libcrypto, version 3
 * or 1.1, which is loaded when a key is first given and not before, so that the library needs it only then. What is
 * encrypted how is said in docs/FILE_FORMAT.md, and why this way in docs/decisions/0031-encryption.md. */
#ifndef MOTTE_SHIM_CIPHER_H
#define MOTTE_SHIM_CIPHER_H
#include <stddef.h>
#include <stdint.h>

enum {
    MOTTE_SHIM_CIPHER_KEY = 32,
    MOTTE_SHIM_CIPHER_NONCE = 24,
    MOTTE_SHIM_CIPHER_TAG = 16,
    MOTTE_SHIM_REALM_KEY = 64,
    MOTTE_SHIM_REALM_CODE = 28
};

/* Loads libcrypto, once. 0, or -1: `motte_shim_cipher_problem` says why. The environment variable MOTTE_LIBCRYPTO
 * names another file than libcrypto.so.3 or libcrypto.so.1.1. */
int motte_shim_cipher_load(void);
const char *motte_shim_cipher_problem(void);

/* HMAC-SHA-256 of the bytes. 0, or -1. Loaded before. */
int motte_shim_hmac(const void *key, size_t key_size, const void *bytes, size_t count, uint8_t out_code[32]);

/* A key made ready. One thread at a time uses it. NULL when there is no memory. */
typedef struct motte_shim_cipher motte_shim_cipher;
motte_shim_cipher *motte_shim_cipher_make(const uint8_t key[32]);
void motte_shim_cipher_free(motte_shim_cipher *cipher);

/* What is authenticated and not encrypted: two runs of bytes, one behind the other. */
typedef struct {
    const void *first;
    size_t first_size;
    const void *second;
    size_t second_size;
} motte_shim_associated_data;

/* Encrypts `count` bytes to `sealed`, which may be `plain` and does not overlap it otherwise. A nonce is used once.
 * 0, or -1. */
int motte_shim_seal(motte_shim_cipher *cipher, const uint8_t nonce[24], const motte_shim_associated_data *data,
                    const void *plain, size_t count, void *sealed, uint8_t out_tag[16]);
/* The way back; `plain` may be `sealed`. 1: it is what was encrypted with this key, nonce and data. 0: it is not, and
 * `plain` holds zeros. -1: failed. */
int motte_shim_unseal(motte_shim_cipher *cipher, const uint8_t nonce[24], const motte_shim_associated_data *data,
                      const void *sealed, size_t count, void *plain, const uint8_t tag[16]);

/* Pages of encrypted Realm files, which are only read: AES-256-CBC without padding, and the HMAC-SHA-224 of the
 * encrypted bytes. One thread at a time uses one. NULL when there is no memory. */
typedef struct motte_shim_realm_pages motte_shim_realm_pages;
motte_shim_realm_pages *motte_shim_realm_pages_make(const uint8_t key[64]);
void motte_shim_realm_pages_free(motte_shim_realm_pages *pages);
/* 0, or -1. The caller compares the code before it decrypts. */
int motte_shim_realm_page_code(motte_shim_realm_pages *pages, const void *bytes, size_t count, uint8_t out_code[28]);
/* A multiple of 16 bytes; `plain` does not overlap `sealed`. 0, or -1. */
int motte_shim_realm_page_decrypt(motte_shim_realm_pages *pages, const uint8_t vector[16], const void *sealed,
                                  size_t count, void *plain);

/* Zeros that the compiler does not leave out; and comparing in a time that does not depend on where they differ. */
void motte_shim_wipe(void *bytes, size_t count);
int motte_shim_equal(const void *left, const void *right, size_t count);
#endif
