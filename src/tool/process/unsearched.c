/* unsearched.c -- see unsearched.h. */
#include "tool/process/unsearched.h"

#include <pthread.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tool/process/sandbox_policy.h"

struct failure {
    struct failure *next;
    struct ch_arena arena;
    const char *const *tops;
    enum ch_file_kind least;
    const struct ch_repositories *before;
    struct timespec since;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct failure *failures; /* under lock; as many as commands that ran at the same time */

void ch_unsearched_keep(const char *const *tops, enum ch_file_kind least,
                        const struct ch_repositories *before, const struct timespec *since) {
    struct failure *f = ch_alloc(sizeof(*f));

    *f = (struct failure){.least = least, .since = *since};
    f->tops = ch_sandbox_copy_list(&f->arena, tops);
    f->before = ch_repositories_copy(&f->arena, before);
    pthread_mutex_lock(&lock);
    f->next = failures;
    failures = f;
    pthread_mutex_unlock(&lock);
}

static bool is_or_is_below(const char *path, const char *top) {
    size_t n = strlen(top);

    return strncmp(path, top, n) == 0 && (!path[n] || path[n] == '/');
}

static bool concerns(const struct failure *f, const char *const *tops) {
    for (; *tops; tops++)
        for (const char *const *top = f->tops; *top; top++)
            if (is_or_is_below(*top, *tops) || is_or_is_below(*tops, *top))
                return true;
    return false;
}

/* Takes a failure that concerns tops out of the list; NULL: none. */
static struct failure *take(const char *const *tops) {
    struct failure **at = &failures, *f;

    pthread_mutex_lock(&lock);
    while (*at && !concerns(*at, tops))
        at = &(*at)->next;
    f = *at;
    if (f)
        *at = f->next;
    pthread_mutex_unlock(&lock);
    return f;
}

void ch_unsearched_retry(struct ch_arena *arena, const char *const *tops,
                         struct ch_held_list *out) {
    struct failure *f, *still = NULL;

    while ((f = take(tops))) {
        struct ch_held_list held;
        ch_repositories_hold(arena, f->tops, f->least, f->before, &f->since, &held);
        ch_held_append(arena, out, &held);
        if (held.unsearched) {
            f->next = still;
            still = f;
        } else {
            ch_arena_release(&f->arena);
            ch_free(f);
        }
    }
    pthread_mutex_lock(&lock);
    while ((f = still)) {
        still = f->next;
        f->next = failures;
        failures = f;
    }
    pthread_mutex_unlock(&lock);
}

void ch_held_append(struct ch_arena *arena, struct ch_held_list *to,
                    const struct ch_held_list *more) {
    size_t room = to->n < CH_LIMIT_HELD ? CH_LIMIT_HELD - to->n : 0;
    size_t n = CH_MIN(more->n, room);
    struct ch_held *v = ch_arena_alloc(arena, (to->n + n + 1) * sizeof(*v));

    if (to->n)
        memcpy(v, to->v, to->n * sizeof(*v));
    if (n)
        memcpy(v + to->n, more->v, n * sizeof(*v));
    to->v = v;
    to->n = to->cap = to->n + n;
    to->more += more->more + (more->n - n);
    if (more->unsearched) {
        to->unsearched = more->unsearched;
        to->unsearched_error = more->unsearched_error;
    }
}
