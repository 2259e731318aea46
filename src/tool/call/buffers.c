/* buffers.c -- see buffers.h. A question lives on the stack of the thread that waits for its
 * answer; the list of questions and every question in it are under the lock. */
#include "tool/call/buffers.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/utf8.h"
#include "tool/call/call.h"

enum { CANCEL_LOOK_MS = 50 }; /* how often a waiting tool looks whether its call is cancelled */

struct question {
    struct ch_link link;
    uint64_t id;
    const char *path;
    const struct ch_sv *content; /* NULL: read */
    struct ch_buf *text;         /* takes the answer of a read */
    bool asked, answered;
    int rc;
};

struct ch_buffers {
    atomic_uint refs;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    struct ch_buffers_opts opts; /* loop: NULL after ch_buffers_close; under lock */
    struct ch_post post;
    bool posted;
    struct ch_list questions;
    uint64_t last; /* id */
};

/* --- the loop's side ---------------------------------------------------------------------- */

static struct question *first_unasked(struct ch_buffers *b) {
    for (CH_LIST_EACH(k, &b->questions)) {
        struct question *q = CH_CONTAINER(k, struct question, link);
        if (!q->asked)
            return q;
    }
    return NULL;
}

/* Ask the next question. The thread that waits may give up meanwhile, so texts are copied. */
static bool ask_next(struct ch_buffers *b) {
    CH_BUF_AUTO path = {0}, content = {0};
    uint64_t id = 0;
    bool writes = false;

    pthread_mutex_lock(&b->lock);
    struct question *q = b->opts.loop ? first_unasked(b) : NULL;
    if (q) {
        q->asked = true;
        id = q->id;
        ch_buf_add_str(&path, q->path);
        writes = q->content != NULL;
        if (writes)
            ch_buf_add_sv(&content, *q->content);
    }
    pthread_mutex_unlock(&b->lock);
    if (!q)
        return false;
    struct ch_sv text = ch_buf_sv(&content);
    b->opts.ask(id, ch_buf_str(&path), writes ? &text : NULL, b->opts.user);
    return true;
}

static void on_question_post(struct ch_post *p) {
    struct ch_buffers *b = CH_CONTAINER(p, struct ch_buffers, post);

    pthread_mutex_lock(&b->lock);
    b->posted = false;
    pthread_mutex_unlock(&b->lock);
    ch_buffers_ref(b); /* `ask` may close the connection */
    while (ask_next(b))
        ;
    ch_buffers_unref(b);
}

struct ch_buffers *ch_buffers_new(const struct ch_buffers_opts *opts) {
    struct ch_buffers *b = ch_alloc(sizeof(*b));
    pthread_condattr_t attr;

    atomic_init(&b->refs, 1);
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&b->answered, &attr);
    pthread_condattr_destroy(&attr);
    b->opts = *opts;
    b->post.fn = on_question_post;
    ch_list_init(&b->questions);
    return b;
}

void ch_buffers_ref(struct ch_buffers *b) {
    if (b)
        atomic_fetch_add(&b->refs, 1);
}

void ch_buffers_unref(struct ch_buffers *b) {
    if (!b || atomic_fetch_sub(&b->refs, 1) != 1)
        return;
    pthread_cond_destroy(&b->answered);
    pthread_mutex_destroy(&b->lock);
    ch_free(b);
}

void ch_buffers_close(struct ch_buffers *b) {
    pthread_mutex_lock(&b->lock);
    if (b->posted)
        ch_loop_unpost(b->opts.loop, &b->post);
    b->opts.loop = NULL;
    pthread_cond_broadcast(&b->answered);
    pthread_mutex_unlock(&b->lock);
}

void ch_buffers_answer(struct ch_buffers *b, uint64_t id, int rc, struct ch_sv text) {
    pthread_mutex_lock(&b->lock);
    for (CH_LIST_EACH(k, &b->questions)) {
        struct question *q = CH_CONTAINER(k, struct question, link);
        if (q->id != id || q->answered)
            continue;
        q->answered = true;
        q->rc = rc;
        if (rc == 0 && q->text)
            ch_buf_add_sv(q->text, text);
        pthread_cond_broadcast(&b->answered);
        break;
    }
    pthread_mutex_unlock(&b->lock);
}

/* --- the tool's side ---------------------------------------------------------------------- */

static struct timespec mono_after(int64_t ms) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += ms % 1000 * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

static bool is_past(const struct timespec *t) {
    struct timespec now = mono_after(0);

    return now.tv_sec > t->tv_sec || (now.tv_sec == t->tv_sec && now.tv_nsec >= t->tv_nsec);
}

/* Wait for the answer, under the lock. */
static int wait_answer(struct ch_buffers *b, const chela_call *call, const struct question *q) {
    struct timespec end = mono_after(CH_LIMIT_EDITOR_MS);

    while (!q->answered) {
        if (!b->opts.loop)
            return q->asked ? -ETIMEDOUT : -ENOTSUP;
        if (chela_call_cancelled(call))
            return -ECANCELED;
        if (is_past(&end))
            return -ETIMEDOUT;
        struct timespec look = mono_after(CANCEL_LOOK_MS);
        pthread_cond_timedwait(&b->answered, &b->lock, &look);
    }
    return q->rc;
}

static int buffers_ask(struct ch_buffers *b, const chela_call *call, struct question *q) {
    pthread_mutex_lock(&b->lock);
    int rc = b->opts.loop ? 0 : -ENOTSUP;
    if (rc == 0) {
        q->id = ++b->last;
        ch_list_add(&b->questions, &q->link);
        if (!b->posted)
            ch_loop_post(b->opts.loop, &b->post);
        b->posted = true;
        rc = wait_answer(b, call, q);
        ch_list_del(&q->link);
    }
    pthread_mutex_unlock(&b->lock);
    return rc;
}

/* The path of an open file or directory as the editor knows the path: below the workspace as
 * the session names it, without further links. False: the file lies elsewhere. */
static bool shown_path(const chela_call *call, int fd, struct ch_buf *out) {
    CH_BUF_AUTO root = {0}, real = {0};
    int workspace = open(call->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool known = workspace >= 0 && ch_path_of(workspace, &root) && ch_path_of(fd, &real);

    if (workspace >= 0)
        close(workspace);
    if (root.n == 1) /* "/" */
        root.n = 0;
    if (!known || !ch_sv_starts(ch_buf_sv(&real), ch_buf_str(&root)) ||
        (real.n > root.n && real.p[root.n] != '/'))
        return false;
    ch_buf_add_str(out, call->workspace);
    ch_buf_add(out, real.p + root.n, real.n - root.n);
    return true;
}

int ch_buffers_read(struct ch_buffers *b, const chela_call *call, int file, struct ch_buf *text) {
    CH_BUF_AUTO path = {0};

    if (!b || !b->opts.can_read || !shown_path(call, file, &path))
        return -ENOTSUP;
    struct question q = {.path = ch_buf_str(&path), .text = text};
    int rc = buffers_ask(b, call, &q);
    return rc == 0 || rc == -ECANCELED ? rc : -ENOTSUP; /* the file on disk counts */
}

int ch_buffers_write(struct ch_buffers *b, const chela_call *call, int dir, const char *leaf,
                     struct ch_sv text) {
    CH_BUF_AUTO path = {0};

    if (!b || !b->opts.can_write || !ch_utf8_valid(text) || !shown_path(call, dir, &path))
        return -ENOTSUP;
    ch_buf_addc(&path, '/');
    ch_buf_add_str(&path, leaf);
    struct question q = {.path = ch_buf_str(&path), .content = &text};
    return buffers_ask(b, call, &q);
}
