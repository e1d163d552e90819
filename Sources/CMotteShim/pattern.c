/* See motte_shim_pattern.h. The constants are part of the library's stable interface, so its header is not needed. */
#define _GNU_SOURCE
#include "motte_shim_pattern.h"
#include "motte_shim_library.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From pcre2.h. */
enum {
    UCP = 0x00020000u,
    UTF = 0x00080000u,
    CASELESS = 0x00000008u,
    MATCH_INVALID_UTF = 0x04000000u,
    NO_AUTO_CAPTURE = 0x00002000u,
    JIT_COMPLETE = 0x00000001u,
    NEWLINE_LF = 2,
    CONFIG_VERSION = 11,
    NO_MATCH = -1,
    FIRST_UTF_ERROR = -3,
    LAST_UTF_ERROR = -23,
    /* Of backtracking, for one text. */
    MOST_STEPS = 2000
};
#define ANCHORED 0x80000000u
#define ENDANCHORED 0x20000000u

typedef void code;
typedef void match_data;
typedef void match_context;
typedef void compile_context;

static struct {
    int (*config)(uint32_t, void *);
    compile_context *(*compile_context_create)(void *);
    void (*compile_context_free)(compile_context *);
    int (*set_newline)(compile_context *, uint32_t);
    code *(*compile)(const uint8_t *, size_t, uint32_t, int *, size_t *, compile_context *);
    void (*code_free)(code *);
    int (*jit_compile)(code *, uint32_t);
    match_context *(*match_context_create)(void *);
    void (*match_context_free)(match_context *);
    int (*set_match_limit)(match_context *, uint32_t);
    match_data *(*match_data_create)(uint32_t, void *);
    void (*match_data_free)(match_data *);
    int (*match)(const code *, const uint8_t *, size_t, size_t, uint32_t, match_data *, match_context *);
    int (*dfa_match)(const code *, const uint8_t *, size_t, size_t, uint32_t, match_data *, match_context *, int *,
                     size_t);
    size_t *(*get_ovector_pointer)(match_data *);
    int (*get_error_message)(int, uint8_t *, size_t);
} pcre;

static const motte_shim_symbol functions[] = {
    {"pcre2_config_8", &pcre.config},
    {"pcre2_compile_context_create_8", &pcre.compile_context_create},
    {"pcre2_compile_context_free_8", &pcre.compile_context_free},
    {"pcre2_set_newline_8", &pcre.set_newline},
    {"pcre2_compile_8", &pcre.compile},
    {"pcre2_code_free_8", &pcre.code_free},
    {"pcre2_jit_compile_8", &pcre.jit_compile},
    {"pcre2_match_context_create_8", &pcre.match_context_create},
    {"pcre2_match_context_free_8", &pcre.match_context_free},
    {"pcre2_set_match_limit_8", &pcre.set_match_limit},
    {"pcre2_match_data_create_8", &pcre.match_data_create},
    {"pcre2_match_data_free_8", &pcre.match_data_free},
    {"pcre2_match_8", &pcre.match},
    {"pcre2_dfa_match_8", &pcre.dfa_match},
    {"pcre2_get_ovector_pointer_8", &pcre.get_ovector_pointer},
    {"pcre2_get_error_message_8", &pcre.get_error_message},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t scratch_key;
static char problem[MOTTE_SHIM_PROBLEM_SIZE];
static int is_loaded;

static void free_scratch(void *scratch) { pcre.match_data_free(scratch); }

/* False, and `problem` says why. */
static int load_from(const char *name) {
    const char *const names[] = {name, NULL};
    if (motte_shim_library_load(NULL, names, functions, sizeof functions / sizeof functions[0], problem)) return 0;
    /* Matching bytes that are not UTF-8 came with 10.34. */
    char version[64] = "";
    int major = 0, minor = 0;
    if (pcre.config(CONFIG_VERSION, NULL) <= (int)sizeof version) pcre.config(CONFIG_VERSION, version);
    if (sscanf(version, "%d.%d", &major, &minor) != 2 || major < 10 || (major == 10 && minor < 34)) {
        snprintf(problem, sizeof problem, "version %s is older than 10.34", version);
        return 0;
    }
    return 1;
}

/* The one that packages carry beside libmotte.so, for systems that have none. */
static int load_beside_us(void) {
    static const char file[] = "libpcre2-8.so.0";
    char path[4096], said[sizeof problem];
    Dl_info us;
    if (!dladdr(&once, &us) || !us.dli_fname) return 0;
    const char *name = strrchr(us.dli_fname, '/');
    if (!name || strncmp(name, "/libmotte.so", 12)) return 0;
    size_t folder = (size_t)(name - us.dli_fname) + 1;
    if (folder + sizeof file > sizeof path) return 0;
    memcpy(path, us.dli_fname, folder);
    memcpy(path + folder, file, sizeof file);
    if (access(path, R_OK)) return 0;
    memcpy(said, problem, sizeof said);
    if (load_from(path)) return 1;
    memcpy(problem, said, sizeof said);
    return 0;
}

static void load(void) {
    const char *given = secure_getenv("MOTTE_LIBPCRE2");
    int is_given = given && *given;
    /* The system's first: that one is kept up to date. */
    if (!load_from(is_given ? given : "libpcre2-8.so.0") && (is_given || !load_beside_us())) return;
    if (pthread_key_create(&scratch_key, free_scratch)) {
        snprintf(problem, sizeof problem, "there are no keys for threads left");
        return;
    }
    is_loaded = 1;
}

int motte_shim_pattern_load(void) {
    pthread_once(&once, load);
    return is_loaded ? 0 : -1;
}

const char *motte_shim_pattern_problem(void) { return problem; }

struct motte_shim_pattern {
    /* Backtracks; compiled to machine code where the system lets it. */
    code *fast;
    match_context *limit;
    /* Follows all alternatives at once. One at a time, since what it works with is large. */
    code *steady;
    pthread_mutex_t lock;
    match_data *match;
    int *workspace;
    size_t workspace_count;
};

void motte_shim_pattern_free(motte_shim_pattern *pattern) {
    if (!pattern) return;
    if (pattern->fast) pcre.code_free(pattern->fast);
    if (pattern->limit) pcre.match_context_free(pattern->limit);
    if (pattern->steady) pcre.code_free(pattern->steady);
    if (pattern->match) pcre.match_data_free(pattern->match);
    free(pattern->workspace);
    pthread_mutex_destroy(&pattern->lock);
    free(pattern);
}

typedef struct {
    const uint8_t *bytes;
    size_t size;
} span;

static code *compiled(span text, uint32_t options, int *error, size_t *offset) {
    compile_context *context = pcre.compile_context_create(NULL);
    if (!context) return NULL;
    pcre.set_newline(context, NEWLINE_LF);
    code *made = pcre.compile(text.bytes, text.size, options | UTF | UCP | NO_AUTO_CAPTURE | ANCHORED | ENDANCHORED,
                              error, offset, context);
    pcre.compile_context_free(context);
    return made;
}

static motte_shim_pattern *made(span text, span steady, uint32_t options, size_t states, int *error, size_t *offset) {
    motte_shim_pattern *pattern = calloc(1, sizeof *pattern);
    if (!pattern) return NULL;
    if (pthread_mutex_init(&pattern->lock, NULL)) {
        free(pattern);
        return NULL;
    }
    pattern->fast = compiled(text, options | MATCH_INVALID_UTF, error, offset);
    if (pattern->fast) pattern->steady = compiled(steady, options, error, offset);
    /* Two lists of states of three ints each. A place adds up to three others before those that are there twice are
     * left out, and brackets are places too. */
    pattern->workspace_count = (states + 16) * 8 * 6;
    pattern->workspace = malloc(pattern->workspace_count * sizeof(int));
    pattern->match = pcre.match_data_create(1, NULL);
    pattern->limit = pcre.match_context_create(NULL);
    if (!pattern->steady || !pattern->workspace || !pattern->match || !pattern->limit) {
        motte_shim_pattern_free(pattern);
        return NULL;
    }
    pcre.set_match_limit(pattern->limit, MOST_STEPS);
    pcre.jit_compile(pattern->fast, JIT_COMPLETE);
    return pattern;
}

motte_shim_pattern *motte_shim_pattern_compile(const void *text, size_t size, const void *steady, size_t steady_size,
                                               int ignores_case, size_t states, char *message, size_t message_size,
                                               size_t *offset) {
    static const uint8_t nothing[1];
    int error = 0;
    message[0] = 0;
    *offset = 0;
    motte_shim_pattern *pattern =
        made((span){size ? text : nothing, size}, (span){steady_size ? steady : nothing, steady_size},
             ignores_case ? CASELESS : 0, states, &error, offset);
    /* Errors of patterns are above 100. */
    if (!pattern && error > 100) pcre.get_error_message(error, (uint8_t *)message, message_size);
    return pattern;
}

/* What a thread matches with, kept for its next texts. */
static match_data *scratch(void) {
    match_data *kept = pthread_getspecific(scratch_key);
    if (kept) return kept;
    kept = pcre.match_data_create(1, NULL);
    if (kept && pthread_setspecific(scratch_key, kept)) {
        pcre.match_data_free(kept);
        return NULL;
    }
    return kept;
}

static int answer(int status) {
    if (status >= 0) return 1;
    return status == NO_MATCH || (status <= FIRST_UTF_ERROR && status >= LAST_UTF_ERROR) ? 0 : -1;
}

int motte_shim_pattern_matches(motte_shim_pattern *pattern, const void *text, size_t size) {
    const uint8_t *bytes = size ? text : (const uint8_t *)"";
    match_data *own = scratch();
    if (own) {
        int found = answer(pcre.match(pattern->fast, bytes, size, 0, 0, own, pattern->limit));
        if (found >= 0) return found;
    }
    pthread_mutex_lock(&pattern->lock);
    int status = pcre.dfa_match(pattern->steady, bytes, size, 0, 0, pattern->match, NULL, pattern->workspace,
                                pattern->workspace_count);
    /* The longest match comes first. Where one ends before the text does, and another alternative goes on to the end of
     * it in vain, PCRE2 10.42 says "match" all the same. */
    if (status >= 0 && pcre.get_ovector_pointer(pattern->match)[1] != size) status = NO_MATCH;
    pthread_mutex_unlock(&pattern->lock);
    return answer(status);
}
