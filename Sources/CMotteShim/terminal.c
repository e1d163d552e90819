/* See motte_shim_terminal.h. libedit's names are those of readline, which the same program could be run with. */
#define _GNU_SOURCE
#include "motte_shim_terminal.h"
#include <dlfcn.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------ Ctrl-C */

static volatile sig_atomic_t is_interrupted, is_reading;
static sigjmp_buf at_the_prompt;

static void interrupt(int number) {
    (void)number;
    if (is_reading) siglongjmp(at_the_prompt, 1);
    if (is_interrupted) _exit(130);
    is_interrupted = 1;
}

void motte_shim_catch_interruption(void) {
    struct sigaction action = {.sa_handler = interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

int motte_shim_is_interrupted(void) { return is_interrupted; }
void motte_shim_clear_interruption(void) { is_interrupted = 0; }

/* ------------------------------------------------------------------------------------------------ libedit */

typedef char *generator(const char *, int);
typedef char **attempt(const char *, int, int);

static struct {
    char *(*readline)(const char *);
    int (*add_history)(const char *);
    char **(*matches)(const char *, generator *);
    attempt **attempted;
    int *attempted_over;
    char **line;
    int *point;
    char **word_breaks;
    char **basic_word_breaks;
} edit;

static const struct {
    const char *name;
    void *target;
} names[] = {
    {"readline", &edit.readline},
    {"add_history", &edit.add_history},
    {"rl_completion_matches", &edit.matches},
    {"rl_attempted_completion_function", &edit.attempted},
    {"rl_attempted_completion_over", &edit.attempted_over},
    {"rl_line_buffer", &edit.line},
    {"rl_point", &edit.point},
    {"rl_completer_word_break_characters", &edit.word_breaks},
    {"rl_basic_word_break_characters", &edit.basic_word_breaks},
};

static motte_shim_completer completer;
static char *candidates, *next_candidate;

static char *each_candidate(const char *word, int state) {
    (void)word;
    if (state == 0) next_candidate = candidates;
    char *end = next_candidate ? strchr(next_candidate, '\n') : NULL;
    if (!end) return NULL;
    char *found = strndup(next_candidate, (size_t)(end - next_candidate));
    next_candidate = end + 1;
    return found;
}

static char **complete(const char *word, int start, int end) {
    (void)start;
    (void)end;
    size_t length = strlen(*edit.line);
    size_t point = *edit.point < 0 ? 0 : (size_t)*edit.point;
    char *before = strndup(*edit.line, point < length ? point : length);
    free(candidates);
    candidates = before ? completer(before, word) : NULL;
    free(before);
    if (!candidates) return NULL;
    *edit.attempted_over = 1;
    return edit.matches(word, each_candidate);
}

int motte_shim_edit_load(motte_shim_completer wanted) {
    static char breaks[] = " \t\n\"'`=<>!&|(){}[],;";
    const char *name = secure_getenv("MOTTE_LIBEDIT");
    int isNamed = name && *name;
    void *handle = dlopen(isNamed ? name : "libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle && !isNamed) handle = dlopen("libedit.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return -1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *address = dlsym(handle, names[i].name);
        if (!address) {
            edit.readline = NULL;
            return -1;
        }
        memcpy(names[i].target, &address, sizeof address);
    }
    /* Letters beyond ASCII are edited as what they are. */
    setlocale(LC_CTYPE, "");
    completer = wanted;
    *edit.attempted = complete;
    *edit.word_breaks = *edit.basic_word_breaks = breaks;
    return 0;
}

void motte_shim_edit_remember(const char *line) {
    if (edit.readline) edit.add_history(line);
}

static char *plain_line(const char *prompt) {
    char *line = NULL;
    size_t capacity = 0;
    fputs(prompt, stdout);
    fflush(stdout);
    ssize_t length = getline(&line, &capacity, stdin);
    if (length < 0) {
        free(line);
        return NULL;
    }
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) line[--length] = 0;
    return line;
}

char *motte_shim_read_line(const char *prompt, int *out_interrupted) {
    *out_interrupted = 0;
    if (sigsetjmp(at_the_prompt, 1)) {
        is_reading = 0;
        *out_interrupted = 1;
        return NULL;
    }
    is_reading = 1;
    char *line = edit.readline ? edit.readline(prompt) : plain_line(prompt);
    is_reading = 0;
    return line;
}
