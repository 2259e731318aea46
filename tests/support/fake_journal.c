/* fake_journal.c -- see fake_journal.h. */
#include "support/fake_journal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "agent/handle/runtime.h"
#include "base/error.h"
#include "base/mem.h"

struct ch_log {
    struct fake_journal *f;
    const struct ch_log_handler *handler;
    void *past, *user;
    bool opened, lost;
    struct ch_task task;
};

struct fake_change {
    struct fake_change *next;
    void (*done)(int rc, const struct chela_error *err, void *user);
    void *user;
};

static void note(struct fake_journal *f, const char *what, const char *id, const char *more) {
    ch_buf_addf(&f->log, "%s%s%s%s%s", f->log.n ? " " : "", what, id ? ":" : "", id ? id : "",
                more ? more : "");
}

/* --- opening */

static int fold_all(struct ch_log *log, struct chela_error *err) {
    int rc = log->f->open_rc;
    if (rc < 0)
        return ch_fail(err, rc, "the journal cannot be opened");
    for (size_t i = 0; rc == 0 && i < log->f->n; i++) {
        const struct fake_record *r = &log->f->records[i];
        struct chela_store_record row = {.seq = i + 1, .ts = 1000, .type = r->type,
                                         .data = r->json, .n = strlen(r->json)};
        rc = log->handler->fold(&row, log->past, err);
    }
    return rc;
}

static void on_open(struct ch_task *task) {
    struct ch_log *log = CH_CONTAINER(task, struct ch_log, task);
    struct chela_error err = {0};
    struct ch_log_head head = {.last = log->f->n};
    int rc = fold_all(log, &err);
    log->opened = true;
    log->handler->opened(&head, CH_TAKE(log->past), rc < 0 ? &err : NULL, log->user);
}

static struct ch_log *fake_open(struct ch_journal *j, const char *key, const char *agent,
                                const struct ch_log_handler *handler, void *past, void *user) {
    struct fake_journal *f = (struct fake_journal *)j;
    struct ch_log *log = ch_alloc(sizeof(*log));
    (void)key, (void)agent;
    *log = (struct ch_log){.f = f, .handler = handler, .past = past, .user = user};
    log->task.fn = on_open;
    ch_task_defer(f->loop, &log->task);
    return f->open = log;
}

static void fake_close(struct ch_log *log) {
    ch_task_cancel(log->f->loop, &log->task);
    if (!log->opened)
        log->handler->drop(log->past);
    if (log->f->open == log)
        log->f->open = NULL;
    ch_free(log);
}

/* --- writing */

static void answer_all(struct fake_journal *f) {
    struct chela_error err = {0};
    if (f->change_rc < 0)
        ch_fail(&err, f->change_rc, "the store refuses");
    for (struct fake_change *c; (c = f->changes);) {
        f->changes = c->next;
        c->done(f->change_rc, f->change_rc < 0 ? &err : NULL, c->user);
        ch_free(c);
    }
}

static void on_commit(struct ch_task *task) {
    struct fake_journal *f = CH_CONTAINER(task, struct fake_journal, task);
    if (f->hold)
        return;
    answer_all(f);
    if (f->open && f->open->opened && !f->open->lost)
        f->open->handler->committed(f->n, f->open->user);
}

static void wait_for(struct fake_journal *f,
                     void (*done)(int rc, const struct chela_error *err, void *user), void *user) {
    struct fake_change **at = &f->changes;
    ch_task_defer(f->loop, &f->task);
    if (!done)
        return;
    while (*at)
        at = &(*at)->next;
    *at = ch_alloc(sizeof(**at));
    **at = (struct fake_change){NULL, done, user};
}

static uint64_t fake_append(struct ch_log *log, enum ch_record_type type, struct ch_sv json,
                            enum ch_sync sync) {
    struct fake_journal *f = log->f;
    assert_true(log->opened && !log->lost && f->n < FAKE_RECORDS);
    f->records[f->n++] = (struct fake_record){type, sync, ch_strndup(json.p, json.n)};
    note(f, ch_record_name(type), NULL, NULL);
    ch_task_defer(f->loop, &f->task);
    return f->n;
}

static void fake_take(struct ch_log *log, const char *event) {
    note(log->f, "take", event, NULL);
}

static void fake_send(struct ch_log *log, const char *id, struct ch_sv data, enum ch_sync sync,
                      void (*done)(int rc, const struct chela_error *err, void *user),
                      void *user) {
    (void)data, (void)sync;
    note(log->f, "send", id, NULL);
    wait_for(log->f, done, user);
}

static uint64_t fake_token(const struct ch_log *log) {
    (void)log;
    return 7;
}

static enum ch_lease fake_lease(struct ch_journal *j, const char *key, uint64_t token) {
    (void)key;
    assert_int_equal(token, 7);
    return ((struct fake_journal *)j)->lease;
}

static void fake_owe(struct ch_journal *j, const char *key, int n) {
    (void)key;
    ((struct fake_journal *)j)->owed += n;
}

static void fake_note(struct ch_log *log, const struct chela_store_head *head) {
    if (head->title)
        note(log->f, "titled", head->title, NULL);
    if (head->status)
        note(log->f, "is", head->status, NULL);
}

static void fake_change(struct ch_journal *j, const struct chela_store_change *c,
                        enum ch_sync sync,
                        void (*done)(int rc, const struct chela_error *err, void *user),
                        void *user) {
    static const char *const names[] = {[CHELA_STORE_ACCEPT] = "accept",
                                        [CHELA_STORE_SETTLE] = "settle",
                                        [CHELA_STORE_INTENT] = "intent",
                                        [CHELA_STORE_RECEIPT] = "receipt"};
    struct fake_journal *f = (struct fake_journal *)j;
    (void)sync;
    CH_BUF_AUTO state = {0};
    if (c->state)
        ch_buf_addf(&state, "=%s", c->state);
    note(f, names[c->kind], c->id, c->state ? ch_buf_str(&state) : NULL);
    wait_for(f, done, user);
}

static int fake_recall(struct ch_journal *j, const struct ch_recall_query *q, ch_recall_fn *fn,
                       void *to) {
    (void)j, (void)q, (void)fn, (void)to;
    return 0;
}

static void fake_serve(struct ch_journal *j) {
    (void)j;
}

static void fake_shut(struct ch_journal *j) {
    struct fake_journal *f = (struct fake_journal *)j;
    assert_null(f->open);
    ch_task_cancel(f->loop, &f->task);
    answer_all(f);
}

static const struct ch_journal_ops ops = {
    .name = "fake",
    .open = fake_open,
    .append = fake_append,
    .take = fake_take,
    .send = fake_send,
    .token = fake_token,
    .lease = fake_lease,
    .owe = fake_owe,
    .note = fake_note,
    .change = fake_change,
    .recall = fake_recall,
    .close = fake_close,
    .serve = fake_serve,
    .shut = fake_shut,
};

/* --- for tests */

chela_session *fake_journal_session(struct stage *st, const char *key) {
    struct chela_error err = {0};
    chela_session *s;
    if (chela_session_new(st->agent, key, &s, &err) < 0)
        fail_msg("%s", err.message);
    for (int i = 0; i < 4; i++)
        ch_loop_tick(st->rt->loop);
    return s;
}

void fake_journal_attach(struct fake_journal *f, struct stage *st) {
    *f = (struct fake_journal){.j = {&ops, CH_SYNC_DISK, CH_SYNC_TOLD},
                               .loop = st->rt->loop,
                               .lease = CH_LEASE_HELD};
    f->task.fn = on_commit;
    st->rt->journal = &f->j;
    st->session = fake_journal_session(st, "t");
}

void fake_journal_commit(struct fake_journal *f) {
    f->hold = false;
    ch_task_defer(f->loop, &f->task);
}

void fake_journal_lose(struct fake_journal *f, int code) {
    struct chela_error err = {0};
    ch_fail(&err, code, "the journal was lost");
    assert_non_null(f->open);
    f->open->lost = true;
    f->open->handler->lost(&err, f->open->user);
}

void fake_journal_release(struct fake_journal *f) {
    for (size_t i = 0; i < f->n; i++)
        ch_free(f->records[i].json);
    ch_buf_release(&f->log);
}
