/* The few functions of a NATS client that shipping and following by a server take, from libnats, which is loaded when
 * one of them is first asked for and not before. JetStream is spoken to by requests, so that no struct of libnats is
 * needed, and any release of it since 3.0 will do. */
#ifndef MOTTE_NATS_H
#define MOTTE_NATS_H

#include <stddef.h>
#include <stdint.h>

/* Some of natsStatus, which are fixed for good. */
enum {
    MOTTE_NATS_OK = 0,
    MOTTE_NATS_NO_SERVER = 6,
    MOTTE_NATS_SECURE_WANTED = 8,
    MOTTE_NATS_SECURE_REQUIRED = 9,
    MOTTE_NATS_REFUSED = 11,
    MOTTE_NATS_NOT_PERMITTED = 12,
    MOTTE_NATS_INVALID = 16,
    MOTTE_NATS_TOO_LARGE = 21,
    MOTTE_NATS_NO_MEMORY = 24,
    MOTTE_NATS_TIMEOUT = 26,
    MOTTE_NATS_SSL = 29,
    MOTTE_NATS_NO_RESPONDERS = 34
};

typedef struct motte_nats motte_nats;
typedef struct motte_nats_message motte_nats_message;

/* Loads libnats, once. 0, or -1: `motte_nats_problem` says why. The environment variable MOTTE_LIBNATS names another
 * file than libnats.so.3.4 and those after it. Everything below is for afterwards. */
int motte_nats_load(void);
const char *motte_nats_problem(void);

/* Connects to one of the servers (URLs with commas between them), and from then on again whenever it must. NULL for
 * what is not wanted. Several threads may ask at a time, one waits. */
typedef struct {
    const char *servers; /* without logins */
    const char *user;    /* with its password, or without one a token */
    const char *password;
    const char *credentials; /* file with a token and a seed */
    const char *authorities; /* file with certificates of who vouches for servers */
    const char *certificate; /* of the client, with */
    const char *key;         /* its key */
    int needs_tls;
    int64_t timeout; /* milliseconds */
} motte_nats_options;

int motte_nats_connect(const motte_nats_options *options, motte_nats **out);
void motte_nats_close(motte_nats *connection);
int64_t motte_nats_largest_message(motte_nats *connection);

/* Sends bytes with headers (names and values in turn, closed by NULL) and waits for the answer. */
int motte_nats_request(motte_nats *connection, const char *subject, const void *bytes, size_t size,
                       const char *const *headers, int64_t timeout, motte_nats_message **out);
/* Borrowed until the message is freed. */
const void *motte_nats_message_bytes(const motte_nats_message *message, size_t *out_size);
/* NULL where there is no header of that name. */
const char *motte_nats_message_header(motte_nats_message *message, const char *name);
void motte_nats_message_free(motte_nats_message *message);

/* Sends requests at once, and waits until all have an answer; how many of these have one of the texts in them, which
 * are closed by NULL. */
int motte_nats_request_all(motte_nats *connection, const char *subject, const char *const *requests, size_t count,
                           const char *const *wanted, int64_t timeout, size_t *out_answered);

/* A message without bytes to whoever listens. */
int motte_nats_tell(motte_nats *connection, const char *subject);
/* Listens to a subject; `motte_nats_wait` waits for its next message. */
int motte_nats_listen(motte_nats *connection, const char *subject);
int motte_nats_wait(motte_nats *connection, int64_t timeout);

const char *motte_nats_text(int status);

#endif
