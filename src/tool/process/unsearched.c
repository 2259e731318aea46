/* unsearched.c -- see unsearched.h. */
#include "tool/process/unsearched.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
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

/* --- the file for other processes --------------------------------------------------- */

struct mark {
    struct timespec since;
    unsigned least;
    unsigned long long self, top; /* inode numbers */
};

#define MARK_HEAD \
    "A command that chela ran here left a directory that could not be searched for files that " \
    "others execute. No command runs here until the search succeeds; chela then removes this " \
    "file.\n"
#define MARK_LINE "since %lld.%09ld least %u self %llu top %llu\n"

static bool write_mark(int fd, const struct mark *m) {
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, MARK_HEAD MARK_LINE, (long long)m->since.tv_sec, m->since.tv_nsec, m->least,
                m->self, m->top);
    return ch_file_write(fd, ch_buf_sv(&text)) == 0;
}

static bool inode_of(int fd, unsigned long long *out) {
    struct stat st;

    if (fstat(fd, &st) < 0)
        return false;
    *out = st.st_ino;
    return true;
}

/* An earlier mark stays: its command started earlier. */
static void make_mark(const char *top, enum ch_file_kind least, const struct timespec *since) {
    struct mark m = {.since = *since, .least = (unsigned)least};
    int dir = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = dir < 0 ? -1
                     : openat(dir, CH_UNSEARCHED_MARK,
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd >= 0 && (!inode_of(fd, &m.self) || !inode_of(dir, &m.top) || !write_mark(fd, &m)))
        unlinkat(dir, CH_UNSEARCHED_MARK, 0);
    else if (fd < 0 && (dir < 0 || errno != EEXIST))
        ch_log(CH_LOG_WARN, "tool", "%s: other processes are not told that it was not searched: %s",
               top, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
}

static bool parse_mark(const char *text, struct mark *m) {
    const char *line = strstr(text, "\nsince ");
    long long sec;

    if (!line || sscanf(line + 1, MARK_LINE, &sec, &m->since.tv_nsec, &m->least, &m->self,
                        &m->top) != 5)
        return false;
    m->since.tv_sec = (time_t)sec;
    return m->least <= CH_KIND_EXECUTED;
}

/* A mark that came with a repository or a copy does not count. */
static bool read_mark(const char *top, struct mark *m) {
    unsigned long long self = 0, above = 0;
    char text[CH_LIMIT_UNSEARCHED_MARK + 1];
    int dir = open(top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = dir < 0 ? -1
                     : openat(dir, CH_UNSEARCHED_MARK,
                              O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool known = fd >= 0 && inode_of(fd, &self) && inode_of(dir, &above);
    ssize_t n = known ? read(fd, text, sizeof(text) - 1) : 0;

    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return parse_mark(text, m) && m->self == self && m->top == above;
}

static void remove_mark(const char *top) {
    CH_BUF_AUTO path = {0};
    struct mark m;

    ch_buf_addf(&path, "%s/" CH_UNSEARCHED_MARK, top);
    if (read_mark(top, &m))
        unlink(ch_buf_str(&path));
}

/* The directory, or one above it, with a mark, in the arena; NULL: none. */
static const char *find_mark(struct ch_arena *arena, const char *top, struct mark *m) {
    char *at = ch_arena_str(arena, ch_sv_str(top));

    for (char *slash; *at; *slash = '\0') {
        if (read_mark(at, m))
            return at;
        slash = strrchr(at, '/');
        if (!slash || slash == at)
            break;
    }
    return NULL;
}

/* --- failures of this process ---------------------------------------------------------- */

void ch_unsearched_keep(const char *const *tops, enum ch_file_kind least,
                        const struct ch_repositories *before, const struct timespec *since) {
    struct failure *f = ch_alloc(sizeof(*f));

    *f = (struct failure){.least = least, .since = *since};
    f->tops = ch_sandbox_copy_list(&f->arena, tops);
    f->before = ch_repositories_copy(&f->arena, before);
    for (const char *const *top = f->tops; *top; top++)
        make_mark(*top, least, since);
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

/* The search that another process could not end. What was there before the command is not known,
 * so files count that changed since then. */
static void retry_mark(struct ch_arena *arena, const char *top, const struct mark *m,
                       struct ch_held_list *out) {
    const char *const tops[] = {top, NULL};
    const struct ch_repositories before = {.unknown = true};
    struct ch_held_list held;

    ch_repositories_hold(arena, tops, (enum ch_file_kind)m->least, &before, &m->since, &held);
    ch_held_append(arena, out, &held);
    if (!held.unsearched)
        remove_mark(top);
}

static void retry_marks(struct ch_arena *arena, const char *const *tops, struct ch_held_list *out) {
    struct mark m;

    for (; *tops && !out->unsearched; tops++) {
        const char *last = NULL, *at = *tops;
        while (!out->unsearched && (at = find_mark(arena, at, &m))) {
            if (last && strcmp(last, at) == 0)
                break; /* searched, but the file cannot be removed */
            retry_mark(arena, last = at, &m, out);
        }
    }
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
            for (const char *const *top = f->tops; *top; top++)
                remove_mark(*top);
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
    retry_marks(arena, tops, out);
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
