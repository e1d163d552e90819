/* See motte_shim_terminal.h. libedit's names are those of readline, which the same program could be run with. */
#define _GNU_SOURCE
#include "motte_shim_terminal.h"
#include "motte_shim_library.h"
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------ Ctrl-C */

static volatile sig_atomic_t is_interrupted, is_reading, is_given_up, is_patient;

/* A signal ends a read that waits, and not one that is about to. So it comes again until the line is given up. */
static void repeat(int isWanted) {
    static const suseconds_t microseconds = 50000;
    struct timeval period = {.tv_usec = isWanted ? microseconds : 0};
    setitimer(ITIMER_REAL, &(struct itimerval){.it_interval = period, .it_value = period}, NULL);
}

static void pass(int number) { (void)number; }

/* It only notes what came: whoever reads or writes meanwhile may hold locks. Reading ends by it, with EINTR. */
static void interrupt(int number) {
    (void)number;
    if (is_reading) {
        is_given_up = 1;
        repeat(1);
        return;
    }
    if (is_interrupted && !is_patient) _exit(130);
    is_interrupted = 1;
}

static void handle(int number, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void motte_shim_catch_interruption(void) {
    handle(SIGALRM, pass);
    handle(SIGINT, interrupt);
}

void motte_shim_catch_end(int isWanted) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before;
        /* What whoever began the program has it pass over, as nohup does, it goes on to pass over. */
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue;
        handle(numbers[i], isWanted ? interrupt : SIG_DFL);
    }
}

void motte_shim_be_patient(int isPatient) { is_patient = isPatient; }
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

static const motte_shim_symbol names[] = {
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

/* Letters beyond ASCII are edited as what they are. Where no locale is named, or one that is not installed, they would
 * be lost; what terminals send is UTF-8 then. */
static void set_locale(void) {
    if (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") != 0) return;
    setlocale(LC_CTYPE, "C.UTF-8");
}

int motte_shim_edit_load(motte_shim_completer wanted) {
    static char breaks[] = " \t\n\"'`=<>!&|(){}[],;";
    static const char *const libraries[] = {"libedit.so.2", "libedit.so.0", NULL};
    char problem[MOTTE_SHIM_PROBLEM_SIZE];
    if (motte_shim_library_load("MOTTE_LIBEDIT", libraries, names, sizeof names / sizeof names[0], problem)) {
        edit.readline = NULL;
        return -1;
    }
    set_locale();
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
        /* After a signal there may be more to read. */
        if (errno == EINTR) clearerr(stdin);
        free(line);
        return NULL;
    }
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) line[--length] = 0;
    return line;
}

/* Ctrl-D while a statement ran, when the terminal put lines together itself: the end, which the editor would take for
 * another key. There is something to read and it has no bytes. */
static int has_ended(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    int count;
    char byte;
    return poll(&input, 1, 0) > 0 && ioctl(STDIN_FILENO, FIONREAD, &count) == 0 && count == 0 &&
           read(STDIN_FILENO, &byte, 1) == 0;
}

char *motte_shim_read_line(const char *prompt, int *out_interrupted) {
    char *line;
    *out_interrupted = 0;
    if (edit.readline && has_ended()) return NULL;
    is_given_up = 0;
    is_reading = 1;
    do {
        errno = 0;
        line = edit.readline ? edit.readline(prompt) : plain_line(prompt);
        /* Other signals than Ctrl-C, of a program that was stopped and goes on, end nothing. */
    } while (!line && errno == EINTR && !is_given_up);
    is_reading = 0;
    *out_interrupted = is_given_up;
    if (is_given_up) repeat(0);
    if (!is_given_up) return line;
    free(line);
    return NULL;
}
