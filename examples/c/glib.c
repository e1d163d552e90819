/* SPDX-License-Identifier: Apache-2.0
 * Motte in a GLib main loop, as GTK programs have one: a source for the queue, writes that do not block the loop.
 * cc glib.c $(pkg-config --cflags --libs motte glib-2.0)
 */
#include "example.h"

#include <glib-unix.h>
#include <glib.h>

static const char schema[] = "Task { title: string key, done: bool }";

typedef struct app {
    GMainLoop *loop;
    motte_queue *queue;
    motte_realm *realm;
    motte_coll *open_tasks;
} app;

/* The queue's descriptor is readable. */
static gboolean dispatch(gint fd, GIOCondition condition, gpointer data) {
    app *self = (app *)data;
    (void)fd, (void)condition;
    DO(motte_queue_dispatch(self->queue, 0, NULL));
    return G_SOURCE_CONTINUE;
}

static motte_status tasks_changed(void *userdata, const motte_changes *changes) {
    app *self = (app *)userdata;
    motte_changes_details details = {.struct_size = sizeof details};
    size_t count;
    DO(motte_changes_info(changes, &details));
    DO(motte_coll_count(self->open_tasks, &count));
    printf("%zu open\n", count);
    if (!(details.flags & MOTTE_CHANGES_INITIAL) && count == 0) g_main_loop_quit(self->loop);
    return MOTTE_OK;
}

/* Begun by the loop when nobody else writes; what it returns other than MOTTE_OK undoes the write. */
static motte_status add_tasks(void *userdata, motte_realm *realm) {
    (void)userdata;
    DO(motte_realm_add(realm, "Task", MOTTE_FIELDS({"title", motte_string("read")}), NULL));
    DO(motte_realm_add(realm, "Task", MOTTE_FIELDS({"title", motte_string("write")}), NULL));
    return MOTTE_OK;
}

static motte_status finish_tasks(void *userdata, motte_realm *realm) {
    MOTTE_OWNED motte_coll *tasks = NULL, *fixed = NULL;
    MOTTE_OWNED motte_object *task = NULL;
    size_t index = 0;
    (void)userdata;
    DO(motte_realm_query(realm, "Task", "done == false", NULL, 0, &tasks));
    /* Fixed, because what the loop changes would leave the results under it. */
    DO(motte_coll_snapshot(tasks, &fixed));
    while (DO(motte_coll_next(fixed, &index, &task)) == MOTTE_OK) DO(motte_object_set_bool(task, "done", 1));
    return MOTTE_OK;
}

/* How a queued write ended. */
static motte_status written(void *userdata, motte_status status, uint64_t version) {
    (void)userdata, (void)version;
    DO(status);
    return MOTTE_OK;
}

static gboolean queue_writes(gpointer data) {
    app *self = (app *)data;
    DO(motte_realm_queue_write(self->realm, add_tasks, written, NULL, NULL, NULL));
    DO(motte_realm_queue_write(self->realm, finish_tasks, written, NULL, NULL, NULL));
    return G_SOURCE_REMOVE;
}

/* Queued writes may have to wait for their turn without anybody's descriptor becoming readable. */
static gboolean keep_time(gpointer data) {
    DO(motte_queue_dispatch(((app *)data)->queue, 0, NULL));
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv) {
    MOTTE_OWNED motte_config *config = NULL;
    MOTTE_OWNED motte_schema *classes = NULL;
    MOTTE_OWNED motte_token *token = NULL;
    app self = {NULL, NULL, NULL, NULL};
    int32_t fd;

    DO(motte_queue_new(0, &self.queue));
    DO(motte_queue_fd(self.queue, &fd));
    DO(motte_config_new(&config));
    DO(motte_config_set_path(config, argc > 1 ? argv[1] : "glib.motte", MOTTE_NTS));
    DO(motte_schema_parse(schema, MOTTE_NTS, &classes));
    DO(motte_config_set_schema(config, classes, 0));
    DO(motte_config_set_queue(config, self.queue));
    DO(motte_realm_open(config, &self.realm));
    DO(motte_realm_query(self.realm, "Task", "done == false", NULL, 0, &self.open_tasks));
    DO(motte_observe_coll(self.open_tasks, 0, tasks_changed, &self, NULL, &token));

    self.loop = g_main_loop_new(NULL, FALSE);
    guint source = g_unix_fd_add(fd, G_IO_IN, dispatch, &self);
    guint timer = g_timeout_add(50, keep_time, &self);
    g_idle_add(queue_writes, &self);
    g_main_loop_run(self.loop);
    g_source_remove(source);
    g_source_remove(timer);
    g_main_loop_unref(self.loop);

    DO(motte_realm_close(self.realm));
    DO(motte_release(self.open_tasks));
    DO(motte_release(self.realm));
    DO(motte_release(self.queue));
    return 0;
}
