/* See motte_shim_cipher.h. The construction is SIV: the tag is a MAC over label and plain bytes, cut to 128 bits, and
 * the initial counter of AES-256-CTR. There is no nonce that could repeat: equal tags take equal plain bytes in an
 * equal place. Types of OpenSSL stay opaque, and only functions of its stable interface are named, so its headers are
 * not needed. */
#define _GNU_SOURCE
#include "motte_shim_cipher.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct evp_cipher evp_cipher;
typedef struct evp_cipher_ctx evp_cipher_ctx;
typedef struct evp_md evp_md;
typedef struct evp_md_ctx evp_md_ctx;

static struct {
    evp_cipher *(*cipher_fetch)(void *, const char *, const char *);
    evp_cipher_ctx *(*cipher_ctx_new)(void);
    void (*cipher_ctx_free)(evp_cipher_ctx *);
    int (*encrypt_init)(evp_cipher_ctx *, const evp_cipher *, void *, const unsigned char *, const unsigned char *);
    int (*encrypt_update)(evp_cipher_ctx *, unsigned char *, int *, const unsigned char *, int);
    evp_md *(*md_fetch)(void *, const char *, const char *);
    evp_md_ctx *(*md_ctx_new)(void);
    void (*md_ctx_free)(evp_md_ctx *);
    int (*md_ctx_copy)(evp_md_ctx *, const evp_md_ctx *);
    int (*digest_init)(evp_md_ctx *, const evp_md *, void *);
    int (*digest_update)(evp_md_ctx *, const void *, size_t);
    int (*digest_final)(evp_md_ctx *, unsigned char *, unsigned int *);
    /* Fetched once; they live as long as the process. */
    evp_cipher *aes;
    evp_md *sha;
} crypto;

static const struct {
    const char *name;
    void *target;
} functions[] = {
    {"EVP_CIPHER_fetch", &crypto.cipher_fetch},
    {"EVP_CIPHER_CTX_new", &crypto.cipher_ctx_new},
    {"EVP_CIPHER_CTX_free", &crypto.cipher_ctx_free},
    {"EVP_EncryptInit_ex", &crypto.encrypt_init},
    {"EVP_EncryptUpdate", &crypto.encrypt_update},
    {"EVP_MD_fetch", &crypto.md_fetch},
    {"EVP_MD_CTX_new", &crypto.md_ctx_new},
    {"EVP_MD_CTX_free", &crypto.md_ctx_free},
    {"EVP_MD_CTX_copy_ex", &crypto.md_ctx_copy},
    {"EVP_DigestInit_ex", &crypto.digest_init},
    {"EVP_DigestUpdate", &crypto.digest_update},
    {"EVP_DigestFinal_ex", &crypto.digest_final},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[256];

static void say(const char *what) { snprintf(problem, sizeof problem, "%s", what ? what : "unknown"); }

static void load(void) {
    const char *name = secure_getenv("MOTTE_LIBCRYPTO");
    void *library = dlopen(name && *name ? name : "libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        say(dlerror());
        return;
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address) {
            say(dlerror());
            return;
        }
        memcpy(functions[i].target, &address, sizeof address);
    }
    crypto.aes = crypto.cipher_fetch(NULL, "AES-256-CTR", NULL);
    crypto.sha = crypto.md_fetch(NULL, "SHA256", NULL);
    if (!crypto.aes || !crypto.sha) say("it has no AES-256-CTR or no SHA-256");
}

int motte_shim_cipher_load(void) {
    pthread_once(&once, load);
    return crypto.aes && crypto.sha ? 0 : -1;
}

const char *motte_shim_cipher_problem(void) { return problem; }

void motte_shim_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }

int motte_shim_equal(const void *left, const void *right, size_t count) {
    const volatile uint8_t *one = left, *other = right;
    uint8_t difference = 0;
    for (size_t i = 0; i < count; i++) difference |= one[i] ^ other[i];
    return difference == 0;
}

/* HMAC: the hash states after the padded key, from which every code starts. */
struct mac {
    evp_md_ctx *inner, *outer, *work;
};

static void mac_free(struct mac *mac) {
    if (mac->inner) crypto.md_ctx_free(mac->inner);
    if (mac->outer) crypto.md_ctx_free(mac->outer);
    if (mac->work) crypto.md_ctx_free(mac->work);
}

static int mac_make(struct mac *mac, const void *key, size_t key_size) {
    uint8_t block[64] = {0};
    unsigned int size = 0;
    mac->inner = crypto.md_ctx_new();
    mac->outer = crypto.md_ctx_new();
    mac->work = crypto.md_ctx_new();
    int ok = mac->inner && mac->outer && mac->work;
    if (ok && key_size > sizeof block)
        ok = crypto.digest_init(mac->work, crypto.sha, NULL) && crypto.digest_update(mac->work, key, key_size) &&
             crypto.digest_final(mac->work, block, &size);
    else if (ok && key_size > 0)
        memcpy(block, key, key_size);
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36;
    ok = ok && crypto.digest_init(mac->inner, crypto.sha, NULL) &&
         crypto.digest_update(mac->inner, block, sizeof block);
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36 ^ 0x5c;
    ok = ok && crypto.digest_init(mac->outer, crypto.sha, NULL) &&
         crypto.digest_update(mac->outer, block, sizeof block);
    explicit_bzero(block, sizeof block);
    return ok;
}

static int mac_code(struct mac *mac, const void *label, size_t label_size, const void *bytes, size_t count,
                    uint8_t code[32]) {
    unsigned int size = 0;
    return crypto.md_ctx_copy(mac->work, mac->inner) && crypto.digest_update(mac->work, label, label_size) &&
           crypto.digest_update(mac->work, bytes, count) && crypto.digest_final(mac->work, code, &size) &&
           crypto.md_ctx_copy(mac->work, mac->outer) && crypto.digest_update(mac->work, code, 32) &&
           crypto.digest_final(mac->work, code, &size);
}

int motte_shim_hmac(const void *key, size_t key_size, const void *bytes, size_t count, uint8_t out_code[32]) {
    struct mac mac = {0};
    int ok = mac_make(&mac, key, key_size) && mac_code(&mac, "", 0, bytes, count, out_code);
    mac_free(&mac);
    return ok ? 0 : -1;
}

struct motte_shim_cipher {
    struct mac mac;
    evp_cipher_ctx *aes;
};

void motte_shim_cipher_free(motte_shim_cipher *cipher) {
    if (!cipher) return;
    mac_free(&cipher->mac);
    if (cipher->aes) crypto.cipher_ctx_free(cipher->aes);
    free(cipher);
}

motte_shim_cipher *motte_shim_cipher_make(const uint8_t encryption_key[32], const uint8_t mac_key[32]) {
    motte_shim_cipher *cipher = calloc(1, sizeof *cipher);
    if (!cipher) return NULL;
    cipher->aes = crypto.cipher_ctx_new();
    if (cipher->aes && mac_make(&cipher->mac, mac_key, MOTTE_SHIM_CIPHER_KEY) &&
        crypto.encrypt_init(cipher->aes, crypto.aes, NULL, encryption_key, NULL))
        return cipher;
    motte_shim_cipher_free(cipher);
    return NULL;
}

/* Both ways are the same: the bytes with the key stream that begins at the tag. */
static int stream(motte_shim_cipher *cipher, const uint8_t *from, size_t count, uint8_t *to, const uint8_t tag[16]) {
    if (!crypto.encrypt_init(cipher->aes, NULL, NULL, NULL, tag)) return 0;
    while (count > 0) {
        int part = count < (1 << 30) ? (int)count : 1 << 30, done = 0;
        if (!crypto.encrypt_update(cipher->aes, to, &done, from, part) || done != part) return 0;
        from += part;
        to += part;
        count -= (size_t)part;
    }
    return 1;
}

int motte_shim_seal(motte_shim_cipher *cipher, const uint8_t label[32], const void *plain, size_t count, void *sealed,
                    uint8_t out_tag[16]) {
    uint8_t code[32];
    if (!mac_code(&cipher->mac, label, MOTTE_SHIM_CIPHER_LABEL, plain, count, code)) return -1;
    memcpy(out_tag, code, MOTTE_SHIM_CIPHER_TAG);
    return stream(cipher, plain, count, sealed, out_tag) ? 0 : -1;
}

int motte_shim_unseal(motte_shim_cipher *cipher, const uint8_t label[32], const void *sealed, size_t count,
                      void *plain, const uint8_t tag[16]) {
    uint8_t code[32];
    if (!stream(cipher, sealed, count, plain, tag)) return -1;
    if (!mac_code(&cipher->mac, label, MOTTE_SHIM_CIPHER_LABEL, plain, count, code)) return -1;
    if (motte_shim_equal(code, tag, MOTTE_SHIM_CIPHER_TAG)) return 1;
    memset(plain, 0, count);
    return 0;
}
