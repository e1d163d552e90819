/* Sealing pages: AES-256-CTR and HMAC-SHA-256 from OpenSSL's libcrypto, which is loaded when a key is first given and
 * not before, so that the library needs it only then. docs/FILE_FORMAT.md says what is sealed how. */
#ifndef MOTTE_SHIM_CIPHER_H
#define MOTTE_SHIM_CIPHER_H
#include <stddef.h>
#include <stdint.h>

enum {
    MOTTE_SHIM_CIPHER_KEY = 32,  /* bytes of each of the two keys, and of an authentication code */
    MOTTE_SHIM_CIPHER_LABEL = 32, /* bytes that say what is sealed and where */
    MOTTE_SHIM_CIPHER_TAG = 16
};

/* Loads libcrypto, once. 0, or -1: `motte_shim_cipher_problem` says why. The environment variable MOTTE_LIBCRYPTO
 * names another file than libcrypto.so.3. */
int motte_shim_cipher_load(void);
const char *motte_shim_cipher_problem(void);

/* HMAC-SHA-256 of the bytes. 0, or -1. Loaded before. */
int motte_shim_hmac(const void *key, size_t key_size, const void *bytes, size_t count, uint8_t out_code[32]);

/* Two keys made ready. One thread at a time uses it. NULL when there is no memory. */
typedef struct motte_shim_cipher motte_shim_cipher;
motte_shim_cipher *motte_shim_cipher_make(const uint8_t encryption_key[32], const uint8_t mac_key[32]);
void motte_shim_cipher_free(motte_shim_cipher *cipher);

/* Encrypts `count` bytes to `sealed`, which does not overlap them; the tag depends on every bit of label and bytes and
 * is where the counter begins. 0, or -1. */
int motte_shim_seal(motte_shim_cipher *cipher, const uint8_t label[32], const void *plain, size_t count, void *sealed,
                    uint8_t out_tag[16]);
/* The way back; `plain` may be `sealed`. 1: it is what was sealed under this label and these keys. 0: it is not, and
 * `plain` holds nothing. -1: failed. */
int motte_shim_unseal(motte_shim_cipher *cipher, const uint8_t label[32], const void *sealed, size_t count,
                      void *plain, const uint8_t tag[16]);

/* Zeros that the compiler does not leave out; and comparing in a time that does not depend on where they differ. */
void motte_shim_wipe(void *bytes, size_t count);
int motte_shim_equal(const void *left, const void *right, size_t count);
#endif
