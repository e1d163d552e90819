/* SPDX-License-Identifier: Apache-2.0
 * A small web server over a database: GET /notes lists them as JSON, POST /notes adds the body as one, anything else is
 * 404. One thread and one realm; each request sees the newest version.  cc web.c $(pkg-config --cflags --libs motte)
 *
 *     web FILE [requests]      prints the port that the system chose, and ends after that many requests, if given
 */
#define _GNU_SOURCE
#include "example.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char schema[] = "Note { id: objectId key, text: string, at: timestamp indexed }";

typedef struct request {
    char bytes[16384];
    char *method, *path, *body;
    size_t body_size;
} request;

static void send_all(int client, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(client, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return; /* the client is gone */
        bytes += sent;
        size -= (size_t)sent;
    }
}

static void respond(int client, const char *status, const char *body, size_t size) {
    char head[200];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                          "Connection: close\r\n\r\n",
                          status, size);
    send_all(client, head, (size_t)length);
    send_all(client, body, size);
}

/* A mistake of the client's is an answer; the database says what it is. */
static void respond_error(int client, const char *status, const char *message) {
    char body[600];
    int length = snprintf(body, sizeof body, "{\"error\": \"%.500s\"}\n", message);
    respond(client, status, body, (size_t)length);
}

/* 0 if what came is no request. */
static int read_request(int client, request *in) {
    size_t used = 0, wanted = 0;
    char *end = NULL;
    while (!end || used < (size_t)(end - in->bytes) + wanted) {
        ssize_t got = recv(client, in->bytes + used, sizeof in->bytes - 1 - used, 0);
        if (got <= 0) return 0; /* also when it is too large: there is no room left to read into */
        used += (size_t)got;
        in->bytes[used] = '\0';
        if (!end && (end = strstr(in->bytes, "\r\n\r\n"))) {
            const char *length = strcasestr(in->bytes, "\r\nContent-Length:");
            end += 4;
            wanted = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
            if (wanted > sizeof in->bytes) return 0;
        }
    }
    in->body = end;
    in->body_size = wanted;
    in->method = strtok(in->bytes, " ");
    in->path = strtok(NULL, " ");
    return in->method && in->path;
}

static void list_notes(motte_realm *realm, int client) {
    MOTTE_OWNED motte_coll *notes = NULL;
    static const motte_str text = {"text", 4};
    motte_export_options options = {
        .struct_size = sizeof options, .format = MOTTE_FORMAT_JSON, .columns = &text, .column_count = 1};
    motte_buf json;
    DO(motte_realm_query(realm, "Note", "TRUEPREDICATE SORT(at ASC, id ASC)", NULL, 0, &notes));
    DO(motte_export_coll(notes, &options, NULL, NULL, NULL, &json));
    respond(client, "200 OK", json.data, json.size);
    motte_buf_dispose(&json);
}

static void add_note(motte_realm *realm, int client, const request *in) {
    struct timespec now;
    motte_object_id id;
    motte_status status;
    clock_gettime(CLOCK_REALTIME, &now);
    DO(motte_object_id_new(&id));
    DO(motte_realm_begin_write(realm, 10000));
    status = motte_realm_add(realm, "Note",
                             MOTTE_FIELDS({"id", motte_object_id_value(id)},
                                          {"text", motte_string_of(in->body, in->body_size)},
                                          {"at", motte_timestamp_value(now.tv_sec, (uint32_t)now.tv_nsec)}),
                             NULL);
    if (status < 0) {
        respond_error(client, "400 Bad Request", motte_error_text(status));
        DO(motte_realm_cancel(realm));
        return;
    }
    DO(motte_realm_commit(realm, 0, NULL));
    respond(client, "201 Created", "{}\n", 3);
}

static void serve(motte_realm *realm, int client) {
    static request in;
    struct timeval limit = {5, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (!read_request(client, &in)) {
        respond_error(client, "400 Bad Request", "this is no request");
    } else if (strcmp(in.path, "/notes") != 0) {
        respond_error(client, "404 Not Found", "there is nothing here");
    } else if (strcmp(in.method, "GET") == 0) {
        DO(motte_realm_refresh(realm, NULL));
        list_notes(realm, client);
    } else if (strcmp(in.method, "POST") == 0) {
        add_note(realm, client, &in);
    } else {
        respond_error(client, "405 Method Not Allowed", "GET and POST");
    }
}

int main(int argc, char **argv) {
    MOTTE_OWNED motte_realm *realm = NULL;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    long requests = argc > 2 ? strtol(argv[2], NULL, 10) : -1;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    DO(motte_open(argc > 1 ? argv[1] : "web.motte", schema, &realm));
    if (server < 0 || bind(server, (struct sockaddr *)&address, size) != 0 || listen(server, 16) != 0 ||
        getsockname(server, (struct sockaddr *)&address, &size) != 0) {
        perror("web");
        return 1;
    }
    printf("http://127.0.0.1:%d/notes\n", ntohs(address.sin_port));
    fflush(stdout);
    while (requests != 0) {
        int client = accept(server, NULL, NULL);
        if (client < 0) continue;
        serve(realm, client);
        close(client);
        if (requests > 0) requests--;
    }
    close(server);
    DO(motte_realm_close(realm));
    return 0;
}
