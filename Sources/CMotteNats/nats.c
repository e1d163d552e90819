/* See motte_nats.h. Types of libnats stay opaque, so its headers are not needed. */
#define _GNU_SOURCE
#include "motte_nats.h"
#include "motte_shim_library.h"
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct client_options client_options;
typedef struct subscription subscription;
typedef struct client client;

struct motte_nats {
    client *client;
    subscription *listening;
};

static struct {
    int (*options_create)(client_options **);
    void (*options_destroy)(client_options *);
    int (*set_servers)(client_options *, const char **, int);
    int (*set_no_randomize)(client_options *, bool);
    int (*set_timeout)(client_options *, int64_t);
    int (*set_name)(client_options *, const char *);
    int (*set_max_reconnect)(client_options *, int);
    int (*set_reconnect_wait)(client_options *, int64_t);
    int (*set_ping_interval)(client_options *, int64_t);
    int (*set_send_asap)(client_options *, bool);
    int (*set_secure)(client_options *, bool);
    int (*load_authorities)(client_options *, const char *);
    int (*load_certificate)(client_options *, const char *, const char *);
    int (*set_credentials)(client_options *, const char *, const char *);
    int (*set_user)(client_options *, const char *, const char *);
    int (*set_token)(client_options *, const char *);
    int (*set_error_handler)(client_options *, void (*)(client *, subscription *, int, void *), void *);
    int (*connect)(client **, client_options *);
    void (*destroy)(client *);
    int64_t (*largest)(client *);
    int (*request)(motte_nats_message **, client *, motte_nats_message *, int64_t);
    int (*publish)(client *, const char *, const void *, int);
    int (*flush)(client *, int64_t);
    int (*subscribe)(subscription **, client *, const char *);
    int (*next)(motte_nats_message **, subscription *, int64_t);
    void (*unsubscribe)(subscription *);
    int (*inbox_create)(char **);
    void (*inbox_destroy)(char *);
    int (*publish_request)(client *, const char *, const char *, const void *, int);
    int (*message_create)(motte_nats_message **, const char *, const char *, const char *, int);
    void (*message_destroy)(motte_nats_message *);
    const char *(*data)(const motte_nats_message *);
    int (*size)(const motte_nats_message *);
    int (*header_set)(motte_nats_message *, const char *, const char *);
    int (*header_get)(motte_nats_message *, const char *, const char **);
    const char *(*text)(int);
} nats;

static const motte_shim_symbol functions[] = {
    {"natsOptions_Create", &nats.options_create},
    {"natsOptions_Destroy", &nats.options_destroy},
    {"natsOptions_SetServers", &nats.set_servers},
    {"natsOptions_SetNoRandomize", &nats.set_no_randomize},
    {"natsOptions_SetTimeout", &nats.set_timeout},
    {"natsOptions_SetName", &nats.set_name},
    {"natsOptions_SetMaxReconnect", &nats.set_max_reconnect},
    {"natsOptions_SetReconnectWait", &nats.set_reconnect_wait},
    {"natsOptions_SetPingInterval", &nats.set_ping_interval},
    {"natsOptions_SetSendAsap", &nats.set_send_asap},
    {"natsOptions_SetSecure", &nats.set_secure},
    {"natsOptions_LoadCATrustedCertificates", &nats.load_authorities},
    {"natsOptions_LoadCertificatesChain", &nats.load_certificate},
    {"natsOptions_SetUserCredentialsFromFiles", &nats.set_credentials},
    {"natsOptions_SetUserInfo", &nats.set_user},
    {"natsOptions_SetToken", &nats.set_token},
    {"natsOptions_SetErrorHandler", &nats.set_error_handler},
    {"natsConnection_Connect", &nats.connect},
    {"natsConnection_Destroy", &nats.destroy},
    {"natsConnection_GetMaxPayload", &nats.largest},
    {"natsConnection_RequestMsg", &nats.request},
    {"natsConnection_Publish", &nats.publish},
    {"natsConnection_FlushTimeout", &nats.flush},
    {"natsConnection_SubscribeSync", &nats.subscribe},
    {"natsSubscription_NextMsg", &nats.next},
    {"natsSubscription_Destroy", &nats.unsubscribe},
    {"natsInbox_Create", &nats.inbox_create},
    {"natsInbox_Destroy", &nats.inbox_destroy},
    {"natsConnection_PublishRequest", &nats.publish_request},
    {"natsMsg_Create", &nats.message_create},
    {"natsMsg_Destroy", &nats.message_destroy},
    {"natsMsg_GetData", &nats.data},
    {"natsMsg_GetDataLength", &nats.size},
    {"natsMsgHeader_Set", &nats.header_set},
    {"natsMsgHeader_Get", &nats.header_get},
    {"natsStatus_GetText", &nats.text},
};

/* The names that Debian and others have given it: the second number is in the name. */
static const char *const names[] = {
    "libnats.so",     "libnats.so.3.4", "libnats.so.3.3",  "libnats.so.3.5",  "libnats.so.3.6",  "libnats.so.3.7",
    "libnats.so.3.8", "libnats.so.3.9", "libnats.so.3.10", "libnats.so.3.11", "libnats.so.3.12", NULL,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_loaded;
static char problem[MOTTE_SHIM_PROBLEM_SIZE];

static void load(void) {
    is_loaded =
        !motte_shim_library_load("MOTTE_LIBNATS", names, functions, sizeof functions / sizeof functions[0], problem);
}

int motte_nats_load(void) {
    pthread_once(&once, load);
    return is_loaded ? 0 : -1;
}

const char *motte_nats_problem(void) { return problem; }
const char *motte_nats_text(int status) { return nats.text(status); }

/* What goes wrong in the background comes out of the next request; libnats would print it. */
static void overhear(client *from, subscription *on, int status, void *closure) {
    (void)from;
    (void)on;
    (void)status;
    (void)closure;
}

static int set_servers(client_options *options, const char *servers) {
    enum {
        MOST = 64
    };
    const char *urls[MOST];
    int count = 0, status = MOTTE_NATS_NO_MEMORY;
    char *rest = NULL, *copy = strdup(servers);
    if (copy) {
        for (char *url = strtok_r(copy, ",", &rest); url && count < MOST; url = strtok_r(NULL, ",", &rest))
            urls[count++] = url;
        status = nats.set_servers(options, urls, count);
    }
    free(copy);
    return status;
}

static int set(client_options *options, const motte_nats_options *wanted) {
    int status = set_servers(options, wanted->servers);
    /* The first one is the nearest. */
    if (!status) status = nats.set_no_randomize(options, true);
    if (!status) status = nats.set_name(options, "motte");
    if (!status) status = nats.set_timeout(options, wanted->timeout);
    /* For ever, every quarter of a second. */
    if (!status) status = nats.set_max_reconnect(options, -1);
    if (!status) status = nats.set_reconnect_wait(options, 250);
    /* A connection that is cut without a word is given up after three pings. */
    if (!status) status = nats.set_ping_interval(options, 2000);
    /* Else a message without an answer waits a millisecond for others. */
    if (!status) status = nats.set_send_asap(options, true);
    if (!status) status = nats.set_error_handler(options, overhear, NULL);
    if (!status && wanted->needs_tls) status = nats.set_secure(options, true);
    if (!status && wanted->user && wanted->password) status = nats.set_user(options, wanted->user, wanted->password);
    if (!status && wanted->user && !wanted->password) status = nats.set_token(options, wanted->user);
    if (!status && wanted->authorities) status = nats.load_authorities(options, wanted->authorities);
    if (!status && wanted->certificate) status = nats.load_certificate(options, wanted->certificate, wanted->key);
    if (!status && wanted->credentials) status = nats.set_credentials(options, wanted->credentials, NULL);
    return status;
}

int motte_nats_connect(const motte_nats_options *wanted, motte_nats **out) {
    *out = NULL;
    client_options *options = NULL;
    client *client = NULL;
    motte_nats *connection = calloc(1, sizeof *connection);
    int status = connection ? nats.options_create(&options) : MOTTE_NATS_NO_MEMORY;
    if (!status) status = set(options, wanted);
    if (!status) status = nats.connect(&client, options);
    nats.options_destroy(options);
    if (status) {
        free(connection);
        return status;
    }
    connection->client = client;
    *out = connection;
    return 0;
}

void motte_nats_close(motte_nats *connection) {
    if (!connection) return;
    nats.unsubscribe(connection->listening);
    nats.destroy(connection->client);
    free(connection);
}

int64_t motte_nats_largest_message(motte_nats *connection) { return nats.largest(connection->client); }

int motte_nats_request(motte_nats *connection, const char *subject, const void *bytes, size_t size,
                       const char *const *headers, int64_t timeout, motte_nats_message **out) {
    *out = NULL;
    if (size > INT_MAX) return MOTTE_NATS_TOO_LARGE;
    motte_nats_message *message = NULL;
    int status = nats.message_create(&message, subject, NULL, bytes, (int)size);
    for (; !status && headers && headers[0]; headers += 2) status = nats.header_set(message, headers[0], headers[1]);
    if (!status) status = nats.request(out, connection->client, message, timeout);
    nats.message_destroy(message);
    return status;
}

static bool has_one(const motte_nats_message *message, const char *const *texts) {
    const char *data = nats.data(message);
    int size = nats.size(message);
    for (; *texts; texts++)
        if (data && size > 0 && memmem(data, (size_t)size, *texts, strlen(*texts))) return true;
    return false;
}

int motte_nats_request_all(motte_nats *connection, const char *subject, const char *const *requests, size_t count,
                           const char *const *wanted, int64_t timeout, size_t *out_answered) {
    *out_answered = 0;
    char *inbox = NULL;
    subscription *answers = NULL;
    int status = nats.inbox_create(&inbox);
    if (!status) status = nats.subscribe(&answers, connection->client, inbox);
    for (size_t i = 0; !status && i < count; i++)
        status = nats.publish_request(connection->client, subject, inbox, requests[i], (int)strlen(requests[i]));
    for (size_t i = 0; !status && i < count; i++) {
        motte_nats_message *answer = NULL;
        status = nats.next(&answer, answers, timeout);
        if (!status && has_one(answer, wanted)) (*out_answered)++;
        nats.message_destroy(answer);
    }
    nats.unsubscribe(answers);
    nats.inbox_destroy(inbox);
    return status;
}

const void *motte_nats_message_bytes(const motte_nats_message *message, size_t *out_size) {
    int size = nats.size(message);
    *out_size = size > 0 ? (size_t)size : 0;
    return nats.data(message);
}

const char *motte_nats_message_header(motte_nats_message *message, const char *name) {
    const char *value = NULL;
    return nats.header_get(message, name, &value) ? NULL : value;
}

void motte_nats_message_free(motte_nats_message *message) { nats.message_destroy(message); }

int motte_nats_tell(motte_nats *connection, const char *subject) {
    return nats.publish(connection->client, subject, NULL, 0);
}

int motte_nats_listen(motte_nats *connection, const char *subject) {
    if (connection->listening) return 0;
    int status = nats.subscribe(&connection->listening, connection->client, subject);
    return status ? status : nats.flush(connection->client, 1000);
}

int motte_nats_wait(motte_nats *connection, int64_t timeout) {
    motte_nats_message *message = NULL;
    int status = nats.next(&message, connection->listening, timeout);
    nats.message_destroy(message);
    return status;
}
