/* See motte_shim_cipher.h. Each unit has a key of its own, derived from the file's key and half of the nonce, and is
 * encrypted with it by AES-256-GCM and the other half. Types of OpenSSL stay opaque, and only functions are named that
 * versions 1.1 and 3 have alike, so its headers are not needed. */
#define _GNU_SOURCE
#include "motte_shim_cipher.h"
#include "motte_shim_library.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct evp_cipher evp_cipher;
typedef struct evp_cipher_ctx evp_cipher_ctx;
typedef struct evp_md evp_md;
typedef struct evp_md_ctx evp_md_ctx;

/* EVP_CTRL_AEAD_GET_TAG and EVP_CTRL_AEAD_SET_TAG. */
enum {
    GET_TAG = 0x10,
    SET_TAG = 0x11,
    BLOCK = 16
};

static struct {
    const evp_cipher *(*aes_256_gcm)(void);
    const evp_cipher *(*aes_256_ecb)(void);
    const evp_cipher *(*aes_256_cbc)(void);
    evp_cipher_ctx *(*cipher_ctx_new)(void);
    void (*cipher_ctx_free)(evp_cipher_ctx *);
    int (*cipher_ctx_ctrl)(evp_cipher_ctx *, int, int, void *);
    int (*cipher_ctx_set_padding)(evp_cipher_ctx *, int);
    int (*cipher_init)(evp_cipher_ctx *, const evp_cipher *, void *, const unsigned char *, const unsigned char *, int);
    int (*cipher_update)(evp_cipher_ctx *, unsigned char *, int *, const unsigned char *, int);
    int (*cipher_final)(evp_cipher_ctx *, unsigned char *, int *);
    const evp_md *(*sha256)(void);
    const evp_md *(*sha224)(void);
    evp_md_ctx *(*md_ctx_new)(void);
    void (*md_ctx_free)(evp_md_ctx *);
    int (*md_ctx_copy)(evp_md_ctx *, const evp_md_ctx *);
    int (*digest_init)(evp_md_ctx *, const evp_md *, void *);
    int (*digest_update)(evp_md_ctx *, const void *, size_t);
    int (*digest_final)(evp_md_ctx *, unsigned char *, unsigned int *);
    int is_loaded;
} crypto;

static const motte_shim_symbol functions[] = {
    {"EVP_aes_256_gcm", &crypto.aes_256_gcm},         {"EVP_aes_256_ecb", &crypto.aes_256_ecb},
    {"EVP_aes_256_cbc", &crypto.aes_256_cbc},         {"EVP_sha224", &crypto.sha224},
    {"EVP_CIPHER_CTX_new", &crypto.cipher_ctx_new},   {"EVP_CIPHER_CTX_free", &crypto.cipher_ctx_free},
    {"EVP_CIPHER_CTX_ctrl", &crypto.cipher_ctx_ctrl}, {"EVP_CIPHER_CTX_set_padding", &crypto.cipher_ctx_set_padding},
    {"EVP_CipherInit_ex", &crypto.cipher_init},       {"EVP_CipherUpdate", &crypto.cipher_update},
    {"EVP_CipherFinal_ex", &crypto.cipher_final},     {"EVP_sha256", &crypto.sha256},
    {"EVP_MD_CTX_new", &crypto.md_ctx_new},           {"EVP_MD_CTX_free", &crypto.md_ctx_free},
    {"EVP_MD_CTX_copy_ex", &crypto.md_ctx_copy},      {"EVP_DigestInit_ex", &crypto.digest_init},
    {"EVP_DigestUpdate", &crypto.digest_update},      {"EVP_DigestFinal_ex", &crypto.digest_final},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[MOTTE_SHIM_PROBLEM_SIZE];

static void load(void) {
    static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", NULL};
    if (motte_shim_library_load("MOTTE_LIBCRYPTO", names, functions, sizeof functions / sizeof functions[0], problem))
        return;
    crypto.is_loaded = crypto.aes_256_gcm() && crypto.aes_256_ecb() && crypto.sha256();
    if (!crypto.is_loaded) snprintf(problem, sizeof problem, "it has no AES-256-GCM or no SHA-256");
}

int motte_shim_cipher_load(void) {
    pthread_once(&once, load);
    return crypto.is_loaded ? 0 : -1;
}

const char *motte_shim_cipher_problem(void) { return problem; }

void motte_shim_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }

int motte_shim_equal(const void *left, const void *right, size_t count) {
    const volatile uint8_t *one = left, *other = right;
    uint8_t difference = 0;
    for (size_t i = 0; i < count; i++) difference |= one[i] ^ other[i];
    return difference == 0;
}

/* HMAC: the hash states after the padded key, from which every code starts. Hashes of blocks of 64 bytes. */
struct mac {
    evp_md_ctx *inner, *outer, *work;
    unsigned int code_size;
};

static void mac_free(struct mac *mac) {
    if (mac->inner) crypto.md_ctx_free(mac->inner);
    if (mac->outer) crypto.md_ctx_free(mac->outer);
    if (mac->work) crypto.md_ctx_free(mac->work);
}

static int mac_make(struct mac *mac, const evp_md *hash, unsigned int code_size, const void *key, size_t key_size) {
    uint8_t block[64] = {0};
    unsigned int size = 0;
    mac->code_size = code_size;
    mac->inner = crypto.md_ctx_new();
    mac->outer = crypto.md_ctx_new();
    mac->work = crypto.md_ctx_new();
    int ok = mac->inner && mac->outer && mac->work;
    if (ok && key_size > sizeof block)
        ok = crypto.digest_init(mac->work, hash, NULL) && crypto.digest_update(mac->work, key, key_size) &&
             crypto.digest_final(mac->work, block, &size);
    else if (ok && key_size > 0) memcpy(block, key, key_size);
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36;
    ok = ok && crypto.digest_init(mac->inner, hash, NULL) && crypto.digest_update(mac->inner, block, sizeof block);
    for (size_t i = 0; i < sizeof block; i++) block[i] ^= 0x36 ^ 0x5c;
    ok = ok && crypto.digest_init(mac->outer, hash, NULL) && crypto.digest_update(mac->outer, block, sizeof block);
    explicit_bzero(block, sizeof block);
    return ok;
}

static int mac_code(struct mac *mac, const void *bytes, size_t count, uint8_t *code) {
    unsigned int size = 0;
    return crypto.md_ctx_copy(mac->work, mac->inner) && crypto.digest_update(mac->work, bytes, count) &&
           crypto.digest_final(mac->work, code, &size) && crypto.md_ctx_copy(mac->work, mac->outer) &&
           crypto.digest_update(mac->work, code, mac->code_size) && crypto.digest_final(mac->work, code, &size);
}

int motte_shim_hmac(const void *key, size_t key_size, const void *bytes, size_t count, uint8_t out_code[32]) {
    struct mac mac = {0};
    int ok = mac_make(&mac, crypto.sha256(), 32, key, key_size) && mac_code(&mac, bytes, count, out_code);
    mac_free(&mac);
    return ok ? 0 : -1;
}

struct motte_shim_cipher {
    /* AES-256 with the file's key, for deriving those of units. */
    evp_cipher_ctx *derive;
    evp_cipher_ctx *gcm;
    /* K1 of CMAC (NIST SP 800-38B). */
    uint8_t subkey[BLOCK];
};

void motte_shim_cipher_free(motte_shim_cipher *cipher) {
    if (!cipher) return;
    if (cipher->derive) crypto.cipher_ctx_free(cipher->derive);
    if (cipher->gcm) crypto.cipher_ctx_free(cipher->gcm);
    explicit_bzero(cipher, sizeof *cipher);
    free(cipher);
}

static int make_subkey(motte_shim_cipher *cipher) {
    uint8_t *subkey = cipher->subkey;
    int done = 0;
    if (!crypto.cipher_update(cipher->derive, subkey, &done, subkey, BLOCK) || done != BLOCK) return 0;
    uint8_t carry = subkey[0] >> 7;
    for (int i = 0; i < BLOCK - 1; i++) subkey[i] = (uint8_t)(subkey[i] << 1 | subkey[i + 1] >> 7);
    subkey[BLOCK - 1] = (uint8_t)(subkey[BLOCK - 1] << 1 ^ (carry ? 0x87 : 0));
    return 1;
}

motte_shim_cipher *motte_shim_cipher_make(const uint8_t key[32]) {
    motte_shim_cipher *cipher = calloc(1, sizeof *cipher);
    if (!cipher) return NULL;
    cipher->derive = crypto.cipher_ctx_new();
    cipher->gcm = crypto.cipher_ctx_new();
    if (cipher->derive && cipher->gcm && crypto.cipher_init(cipher->derive, crypto.aes_256_ecb(), NULL, key, NULL, 1) &&
        crypto.cipher_ctx_set_padding(cipher->derive, 0) && make_subkey(cipher) &&
        crypto.cipher_init(cipher->gcm, crypto.aes_256_gcm(), NULL, NULL, NULL, 1))
        return cipher;
    motte_shim_cipher_free(cipher);
    return NULL;
}

/* Counter, letter and half of the nonce through the PRF, twice: the key of this unit. */
static int begin(motte_shim_cipher *cipher, const uint8_t nonce[24], int is_sealing) {
    uint8_t blocks[2 * BLOCK], key[2 * BLOCK];
    int done = 0;
    for (int i = 0; i < 2; i++) {
        const uint8_t start[4] = {0, (uint8_t)(i + 1), 'X', 0};
        memcpy(blocks + BLOCK * i, start, 4);
        memcpy(blocks + BLOCK * i + 4, nonce, 12);
        for (int j = 0; j < BLOCK; j++) blocks[BLOCK * i + j] ^= cipher->subkey[j];
    }
    int ok = crypto.cipher_update(cipher->derive, key, &done, blocks, sizeof blocks) && done == sizeof blocks &&
             crypto.cipher_init(cipher->gcm, NULL, NULL, key, nonce + 12, is_sealing);
    explicit_bzero(key, sizeof key);
    return ok;
}

/* `to` NULL: associated data. */
static int update(motte_shim_cipher *cipher, const uint8_t *from, size_t count, uint8_t *to) {
    while (count > 0) {
        int part = count < (1 << 30) ? (int)count : 1 << 30, done = 0;
        if (!crypto.cipher_update(cipher->gcm, to, &done, from, part) || done != part) return 0;
        from += part;
        if (to) to += part;
        count -= (size_t)part;
    }
    return 1;
}

static int run(motte_shim_cipher *cipher, const uint8_t nonce[24], const motte_shim_associated_data *data,
               const void *from, size_t count, void *to, int is_sealing) {
    return begin(cipher, nonce, is_sealing) && update(cipher, data->first, data->first_size, NULL) &&
           update(cipher, data->second, data->second_size, NULL) && update(cipher, from, count, to);
}

int motte_shim_seal(motte_shim_cipher *cipher, const uint8_t nonce[24], const motte_shim_associated_data *data,
                    const void *plain, size_t count, void *sealed, uint8_t out_tag[16]) {
    uint8_t rest[BLOCK];
    int done = 0;
    int ok = run(cipher, nonce, data, plain, count, sealed, 1) && crypto.cipher_final(cipher->gcm, rest, &done) &&
             crypto.cipher_ctx_ctrl(cipher->gcm, GET_TAG, MOTTE_SHIM_CIPHER_TAG, out_tag);
    return ok ? 0 : -1;
}

int motte_shim_unseal(motte_shim_cipher *cipher, const uint8_t nonce[24], const motte_shim_associated_data *data,
                      const void *sealed, size_t count, void *plain, const uint8_t tag[16]) {
    uint8_t rest[BLOCK], copy[MOTTE_SHIM_CIPHER_TAG];
    int done = 0;
    memcpy(copy, tag, sizeof copy);
    if (!run(cipher, nonce, data, sealed, count, plain, 0) ||
        !crypto.cipher_ctx_ctrl(cipher->gcm, SET_TAG, sizeof copy, copy)) {
        memset(plain, 0, count);
        return -1;
    }
    if (crypto.cipher_final(cipher->gcm, rest, &done) > 0) return 1;
    memset(plain, 0, count);
    return 0;
}

/* Pages of a Realm file: half of the key is for AES-256-CBC, the other for HMAC-SHA-224. */
struct motte_shim_realm_pages {
    evp_cipher_ctx *cbc;
    struct mac mac;
};

void motte_shim_realm_pages_free(motte_shim_realm_pages *pages) {
    if (!pages) return;
    if (pages->cbc) crypto.cipher_ctx_free(pages->cbc);
    mac_free(&pages->mac);
    free(pages);
}

motte_shim_realm_pages *motte_shim_realm_pages_make(const uint8_t key[64]) {
    motte_shim_realm_pages *pages = calloc(1, sizeof *pages);
    if (!pages) return NULL;
    pages->cbc = crypto.cipher_ctx_new();
    if (pages->cbc && crypto.aes_256_cbc() && crypto.sha224() &&
        crypto.cipher_init(pages->cbc, crypto.aes_256_cbc(), NULL, key, NULL, 0) &&
        mac_make(&pages->mac, crypto.sha224(), MOTTE_SHIM_REALM_CODE, key + 32, 32))
        return pages;
    motte_shim_realm_pages_free(pages);
    return NULL;
}

int motte_shim_realm_page_code(motte_shim_realm_pages *pages, const void *bytes, size_t count,
                               uint8_t out_code[MOTTE_SHIM_REALM_CODE]) {
    return mac_code(&pages->mac, bytes, count, out_code) ? 0 : -1;
}

int motte_shim_realm_page_decrypt(motte_shim_realm_pages *pages, const uint8_t vector[16], const void *sealed,
                                  size_t count, void *plain) {
    int done = 0, rest = 0;
    uint8_t *to = plain;
    int ok = count <= (1 << 30) && crypto.cipher_init(pages->cbc, NULL, NULL, NULL, vector, 0) &&
             crypto.cipher_ctx_set_padding(pages->cbc, 0) &&
             crypto.cipher_update(pages->cbc, to, &done, sealed, (int)count) &&
             crypto.cipher_final(pages->cbc, to + done, &rest);
    return ok && (size_t)(done + rest) == count ? 0 : -1;
}
