/* writer.c -- a runtime's journal: one thread writes for all sessions.
 *
 *   loop   append, append, close ...  -> flush (once an iteration) -> job
 *   thread                               job: one transaction      -> post
 *   loop   committed / lost           <- deliver
 *
 * This file is the loop's side, writer_thread.c the thread's side.
 *
 * One transaction is in progress at a time. Records that any session appends
 * meanwhile form the next transaction. The slower the disk, the larger the
 * groups: the number of fsyncs depends on the disk, not on the load.
 *
 * Only the thread calls the store and owns the leases: it renews them while it
 * has no jobs, also when the loop is busy or waits for a person. A store that
 * never blocks needs no thread: jobs then run in a deferred task. When the
 * runtime is closed, the thread ends before the sessions are released: handing
 * the last changes over would cost a short run more than the changes.
 *
 * A failed transaction is repeated change by change, so that a change which
 * cannot be made ends its own log only. A change whose row another transaction
 * keeps locked is repeated later, and keeps only its own log waiting. Opening
 * the session again reads its records back from the store. */
#include "store/writer.h"

#include <assert.h>

#include "agent/journal/journal.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/list.h"
#include "base/log.h"
#include "io/loop.h"
#include "store/owner.h"
#include "store/pending.h"
#include "store/search.h"
#include "store/store.h"
#include "store/writer_private.h"

#define SLACK_MS 1000 /* a lease counts as late this long before its end, because clocks differ a
                       * little */
#define PAUSE_MS 2 /* between transactions that no code waits for */

static void writer_wake(struct writer *w) { /* schedule a flush */
    ch_task_defer(w->loop, &w->task);
}

void ch_writer_submit(struct writer *w, struct job *job) {
    w->under_way++;
    if (!w->instant && !w->ending)
        ch_writer_start_thread(w);
    ch_loop_hold_thread(w->loop);
    pthread_mutex_lock(&w->lock);
    *w->todo_end = job;
    w->todo_end = &job->next;
    pthread_mutex_unlock(&w->lock);
    pthread_cond_signal(&w->more); /* after unlocking: the thread need not wait for the lock */
    if (w->instant)
        writer_wake(w);
}

/* Something happened to the log that may make a job necessary. */
static void writer_stir(struct ch_log *log) {
    ch_list_del(&log->link);
    ch_list_add(&log->w->logs, &log->link);
}

/* The first log of a session, which may have several: one that is closed, and one that waits
 * until the other is released. */
static struct ch_log *first_of(const struct writer *w, const char *key) {
    struct ch_keyed *e = ch_key_table_find(&w->by_key, ch_sv_str(key));
    return e ? CH_CONTAINER(e, struct ch_log, by_key) : NULL;
}

static struct ch_log *next_of(const struct ch_log *log) {
    struct ch_keyed *e = ch_key_table_next(&log->by_key);
    return e ? CH_CONTAINER(e, struct ch_log, by_key) : NULL;
}

static void free_log(struct ch_log *log) {
    ch_list_del(&log->link);
    ch_key_table_del(&log->w->by_key, &log->by_key);
    ch_pending_release(&log->pending);
    ch_free(log->status);
    ch_free(log->title);
    ch_free(log->key);
    ch_free(log->agent);
    ch_free(log);
}

static void writer_free_job(struct job *job) {
    for (size_t i = 0; i < job->nparts; i++) {
        ch_pending_release(&job->parts[i].records);
        ch_free(job->parts[i].status);
        ch_free(job->parts[i].title);
    }
    for (size_t i = 0; i < job->nextras; i++) {
        ch_arena_release(&job->extras[i]->arena);
        ch_free(job->extras[i]);
    }
    ch_free(job->parts);
    ch_free(job->extras);
    ch_free(job->changes);
    ch_free(job->errs);
    ch_free(job);
}

/* True for a closed log whose lease is kept until its messages are sent. */
static bool is_kept_for_mail(const struct ch_log *log) {
    return !log->handler && log->state == OPEN && !log->busy && log->owed > 0 &&
           ch_pending_is_empty(&log->pending) && !log->w->shutting;
}

/* Whether the log needs a transaction. A closed log must release its lease, even a lost one,
 * so the thread gets a job. */
static bool writer_is_due(const struct ch_log *log) {
    if (log->state <= OPENING || log->busy || !log->token || is_kept_for_mail(log))
        return false;
    return !log->handler ||
           (!ch_pending_is_empty(&log->pending) && log->wanted != CH_SYNC_LATER);
}

static struct part take_part(struct ch_log *log, struct chela_store_change *c) {
    int64_t now = ch_store_now();
    struct part p = {.log = log,
                     .records = log->pending,
                     .status = log->status,
                     .title = log->title,
                     .upto = log->next - 1,
                     .release = !log->handler && ch_pending_is_empty(&log->pending)};

    *c = (struct chela_store_change){.kind =
                                         p.release ? ch_writer_end_lease(log) : CHELA_STORE_APPEND,
                                     .key = log->key,
                                     .token = log->token,
                                     .now = now,
                                     .until = CH_LEASE_ENDED,
                                     .records = p.records.list,
                                     .nrecords = p.records.n,
                                     .head = log->head,
                                     .takes = p.records.takes,
                                     .ntakes = p.records.ntakes,
                                     .sends = p.records.sends,
                                     .nsends = p.records.nsends};
    log->pending = (struct ch_pending){0};
    log->status = log->title = NULL;
    log->head = (struct chela_store_head){0};
    log->wanted = CH_SYNC_LATER;
    log->busy = true;
    return p;
}

/* True if the log needs no job until writer_stir is called. */
static bool writer_rests(const struct ch_log *log) {
    return log->handler && log->state >= OPEN && !log->busy && !writer_is_due(log);
}

/* Counts the due changes, and puts the other logs to rest. */
static size_t count_due(struct writer *w, size_t *extras) {
    size_t n = 0;

    *extras = 0;
    for (struct ch_link *k = w->logs.head.next, *next; k != &w->logs.head; k = next) {
        struct ch_log *log = CH_CONTAINER(k, struct ch_log, link);
        next = k->next;
        n += writer_is_due(log);
        if (!writer_rests(log))
            continue;
        ch_list_del(k);
        ch_list_add(&w->resting, k);
    }
    for (CH_LIST_EACH(e, &w->extras))
        ++*extras;
    return n;
}

/* A session that was just closed is written and released before it is opened
 * again. */
static bool is_being_closed(const struct writer *w, const struct ch_log *log) {
    for (const struct ch_log *other = first_of(w, log->key); other; other = next_of(other))
        if (other != log && other->state != WAITING && !is_kept_for_mail(other))
            return true;
    return false;
}

static void open_waiting(struct writer *w) {
    for (struct ch_link *k = w->logs.head.next, *next; k != &w->logs.head; k = next) {
        struct ch_log *log = CH_CONTAINER(k, struct ch_log, link);
        next = k->next;
        if (log->state != WAITING || is_being_closed(w, log))
            continue;
        struct job *job = ch_alloc(sizeof(*job));
        log->state = OPENING;
        log->busy = true;
        job->open = log;
        job->handler = log->handler;
        job->since = ch_writer_boot_ms();
        ch_writer_submit(w, job);
    }
}

static bool needs_sync(const struct writer *w, enum ch_sync wanted) {
    return wanted == CH_SYNC_TOLD ? w->store->ops->flags & CHELA_STORE_LAZY
                                  : wanted == CH_SYNC_DISK;
}

/* Whether all due records may wait, because no code waits for them and a transaction ended just
 * now. Short turns then share a transaction, which costs several pages however small its
 * records are. */
static bool may_pause(const struct writer *w, int64_t passed) {
    if (passed >= PAUSE_MS || w->instant || w->shutting || !ch_list_empty(&w->extras))
        return false;
    for (CH_LIST_EACH(k, &w->logs)) {
        const struct ch_log *log = CH_CONTAINER(k, struct ch_log, link);
        if (writer_is_due(log) && (!log->handler || log->wanted > CH_SYNC_SOON))
            return false;
    }
    return true;
}

static void on_pause_end(struct ch_timer *t) {
    writer_wake(CH_CONTAINER(t, struct writer, pause));
}

/* Takes the due changes, n of logs and those in w->extras. */
static struct job *make_commit_job(struct writer *w, size_t n, size_t extras) {
    struct job *job = ch_alloc(sizeof(*job));
    job->parts = ch_alloc((n + 1) * sizeof(*job->parts));
    job->extras = ch_alloc((extras + 1) * sizeof(struct extra *));
    job->changes = ch_alloc((n + extras) * sizeof(*job->changes));
    for (CH_LIST_EACH(k, &w->logs)) {
        struct ch_log *log = CH_CONTAINER(k, struct ch_log, link);
        if (!writer_is_due(log))
            continue;
        job->sync |= needs_sync(w, log->wanted);
        job->parts[job->nparts] = take_part(log, &job->changes[job->nparts]);
        job->nparts++;
    }
    for (struct extra *e; (e = CH_LIST_FIRST(&w->extras, struct extra, link));) {
        ch_list_del(&e->link);
        job->sync |= needs_sync(w, e->sync);
        job->changes[job->nparts + job->nextras] = e->change;
        job->extras[job->nextras++] = e;
    }
    job->first = true;
    job->since = ch_writer_boot_ms();
    return job;
}

/* Passes all due changes of all sessions to the thread as one transaction. */
static void writer_hand_over(struct writer *w) {
    open_waiting(w);
    size_t extras, n = count_due(w, &extras);

    if (w->writing || n + extras == 0)
        return;
    int64_t passed = ch_mono_ms(ch_loop_clock(w->loop)) - w->ended;
    if (may_pause(w, passed)) {
        if (!ch_timer_armed(&w->pause))
            ch_timer_start(w->loop, &w->pause, PAUSE_MS - passed, on_pause_end);
        return;
    }
    ch_timer_stop(w->loop, &w->pause);
    w->writing = true;
    ch_writer_submit(w, make_commit_job(w, n, extras));
}

static void writer_lose(struct ch_log *log, const struct chela_error *err) {
    if (log->state == LOST)
        return;
    log->state = LOST;
    if (err->code == CHELA_EPERM)
        ch_log(CH_LOG_WARN, "store", "%s; its run ends here", err->message);
    struct ch_pending pending = log->pending;
    log->pending = (struct ch_pending){0};
    ch_pending_answer(&pending, err);
    ch_pending_release(&pending);
    if (log->handler)
        log->handler->lost(err, log->user);
}

/* The log takes over the unsent messages of an earlier log of the session that still has the
 * lease, if no other process held the lease in between. */
static void inherit_mail(struct ch_log *log, uint64_t stolen) {
    for (struct ch_log *other = first_of(log->w, log->key); other; other = next_of(other)) {
        if (other == log || other->state != OPEN)
            continue;
        if (other->token == stolen) {
            log->since = other->since;
            log->owed = other->owed;
        }
        other->owed = 0;
        if (!other->busy) /* otherwise the thread uses the log, and the end of its job frees it */
            free_log(other);
        return;
    }
}

static void deliver_open(struct job *job) {
    struct ch_log *log = job->open;
    void *past = CH_TAKE(log->past);

    log->since = log->token;
    if (job->rc == 0)
        inherit_mail(log, job->stolen);
    log->busy = false;
    log->state = job->rc < 0 ? LOST : OPEN;
    log->next = job->head.last + 1;
    if (log->handler) {
        log->handler->opened(&job->head, past, job->rc < 0 ? &job->err : NULL, log->user);
        return;
    }
    job->handler->drop(past);
    if (!log->token)
        free_log(log);
}

static const struct chela_error *writer_refusal(const struct job *job, size_t i,
                                                struct chela_error *err) {
    int rc = job->rc < 0 ? job->rc : job->changes[i].rc;

    if (rc == 0)
        return NULL;
    if (job->rc < 0)
        *err = job->err;
    else if (job->errs && job->errs[i].code)
        *err = job->errs[i];
    else if (rc == CHELA_ETIMEOUT)
        ch_fail(err, rc, "session '%s' cannot be written: its row was locked in the database for "
                "%d s", job->changes[i].key, CH_WRITER_LOCKED_MS / 1000);
    else if (rc == CHELA_EPERM)
        ch_fail(err, rc, "session '%s' was taken over by another process", job->changes[i].key);
    else if (rc == CHELA_EEXIST)
        ch_fail(err, rc, "session '%s' took up an event that no longer waits for it",
                job->changes[i].key);
    else
        ch_fail(err, rc, "session '%s' cannot be written: %s", job->changes[i].key,
                chela_error_text(rc));
    return err;
}

static void deliver_part(struct job *job, size_t i) {
    struct part *p = &job->parts[i];
    struct ch_log *log = p->log;
    struct chela_error err = {0};
    const struct chela_error *why = writer_refusal(job, i, &err);

    log->busy = false;
    ch_pending_answer(&p->records, why);
    if (p->release)
        free_log(log);
    else if (why)
        writer_lose(log, why);
    else if (log->handler)
        log->handler->committed(p->upto, log->user);
}

static void deliver_commit(struct writer *w, struct job *job) {
    if (job->first)
        w->writing = false;
    w->ended = ch_mono_ms(ch_loop_clock(w->loop));
    ch_writer_set_aside(w, job);
    for (size_t i = 0; i < job->nparts; i++)
        deliver_part(job, i);
    for (size_t i = 0; i < job->nextras; i++) {
        struct extra *e = job->extras[i];
        size_t at = job->nparts + i;
        const struct chela_error *why = job->rc < 0 ? &job->err
                                        : job->errs && job->errs[at].code ? &job->errs[at]
                                                                          : NULL;
        if (e->done)
            e->done(job->rc < 0 ? job->rc : job->changes[at].rc, why, e->user);
    }
}

static void deliver_job(struct writer *w, struct job *job) {
    if (job->lost) { /* not requested, so not counted and not held */
        writer_lose(job->lost, &job->err);
        writer_free_job(job);
        return;
    }
    w->under_way--;
    ch_loop_release_thread(w->loop);
    if (job->open)
        deliver_open(job);
    else
        deliver_commit(w, job);
    writer_free_job(job);
}

/* posted: the post was delivered, so the next one may be sent. */
static struct job *take_finished(struct writer *w, bool posted) {
    pthread_mutex_lock(&w->lock);
    struct job *list = w->finished;
    w->finished = NULL;
    w->finished_end = &w->finished;
    if (posted)
        w->posted = false;
    pthread_mutex_unlock(&w->lock);
    return list;
}

static void deliver_finished(struct writer *w, bool posted) {
    struct job *next;

    for (struct job *job = take_finished(w, posted); job; job = next) {
        next = job->next;
        deliver_job(w, job);
    }
}

static void on_post(struct ch_post *post) {
    struct writer *w = CH_CONTAINER(post, struct writer, post);

    deliver_finished(w, true);
    writer_hand_over(w);
}

/* Without a thread, or after its end: run the jobs here. */
static void run_instantly(struct writer *w) {
    struct job *job;

    while ((job = w->todo)) {
        w->todo = job->next;
        if (!w->todo)
            w->todo_end = &w->todo;
        ch_writer_run(w, job);
        deliver_job(w, job);
    }
    /* A log that was closed during its opening is released now, and a log that
     * waited for the release is opened: nothing else triggers either. */
    size_t extras;
    open_waiting(w);
    if (count_due(w, &extras) + extras > 0)
        writer_wake(w);
}

/* Wait one more iteration: the consequences of an event are often appended by
 * deferred tasks, such as the start of a reply's calls. */
static void writer_flush(struct ch_task *task) {
    struct writer *w = CH_CONTAINER(task, struct writer, task);

    w->lingered = !w->lingered;
    if (w->lingered) {
        writer_wake(w);
        return;
    }
    writer_hand_over(w);
    if (w->instant)
        run_instantly(w);
}

/* --- the journal's functions ------------------------------------------------------------ */

static struct ch_log *writer_open(struct ch_journal *j, const char *key, const char *agent,
                                  const struct ch_log_handler *handler, void *past, void *user) {
    struct writer *w = CH_CONTAINER(j, struct writer, base);
    struct ch_log *log = ch_alloc(sizeof(*log));

    log->w = w;
    log->key = ch_strdup(key);
    log->agent = ch_strdup(agent);
    log->handler = handler;
    log->user = user;
    log->past = past;
    ch_list_add(&w->logs, &log->link);
    ch_key_table_add(&w->by_key, &log->by_key, log->key);
    open_waiting(w);
    return log;
}

static uint64_t writer_append(struct ch_log *log, enum ch_record_type type, struct ch_sv json,
                              enum ch_sync sync) {
    uint64_t seq = log->next++;

    assert(log->state >= OPEN);
    if (log->state == LOST)
        return seq; /* `lost` was already called */
    ch_pending_add(&log->pending,
                   (struct chela_store_record){.seq = seq,
                                               .ts = ch_now_ms(ch_loop_clock(log->w->loop)),
                                               .type = type,
                                               .data = json.p,
                                               .n = json.n});
    log->wanted = CH_MAX(log->wanted, sync);
    writer_stir(log);
    if (sync != CH_SYNC_LATER)
        writer_wake(log->w);
    return seq;
}

static void writer_hurry(struct ch_log *log) {
    if (log->state == LOST || ch_pending_is_empty(&log->pending))
        return;
    log->wanted = CH_MAX(log->wanted, CH_SYNC_SOON);
    writer_stir(log);
    writer_wake(log->w);
}

static void writer_take(struct ch_log *log, const char *event) {
    if (log->state == LOST)
        return;
    ch_pending_take(&log->pending, event);
    log->wanted = CH_MAX(log->wanted, CH_SYNC_COMMIT);
    writer_stir(log);
    writer_wake(log->w);
}

static void writer_send(struct ch_log *log, const char *id, struct ch_sv data, enum ch_sync sync,
                        ch_change_fn *done, void *user) {
    assert(log->state == OPEN);
    ch_pending_send(&log->pending, id, data, done, user);
    log->wanted = CH_MAX(log->wanted, sync);
    writer_stir(log);
    writer_wake(log->w);
}

static uint64_t writer_token(const struct ch_log *log) {
    return log->token;
}

static struct ch_log *find_open(const struct writer *w, const char *key) {
    struct ch_log *log = first_of(w, key);

    while (log && log->state != OPEN)
        log = next_of(log);
    return log;
}

static enum ch_lease writer_lease(struct ch_journal *j, const char *key, uint64_t token) {
    struct ch_log *log = find_open(CH_CONTAINER(j, struct writer, base), key);

    if (!log || token < log->since || token > log->token)
        return CH_LEASE_GONE;
    return ch_writer_boot_ms() < atomic_load(&log->held) - SLACK_MS ? CH_LEASE_HELD : CH_LEASE_LATE;
}

static void writer_owe(struct ch_journal *j, const char *key, int n) {
    struct ch_log *log = find_open(CH_CONTAINER(j, struct writer, base), key);

    if (log)
        log->owed += n;
    writer_wake(CH_CONTAINER(j, struct writer, base));
}

static void writer_replace(char **mine, const char **field, const char *text) {
    if (!text)
        return;
    ch_free(*mine);
    *field = *mine = ch_strdup(text);
}

static void writer_note(struct ch_log *log, const struct chela_store_head *head) {
    writer_replace(&log->status, &log->head.status, head->status);
    if (head->status) {
        log->runs = strcmp(head->status, "running") == 0;
        log->inherits &= log->runs; /* a later run is not the gateway's */
    }
    writer_replace(&log->title, &log->head.title, head->title);
    log->head.window = CH_MAX(log->head.window, head->window);
    log->head.turns += head->turns;
    log->head.messages += head->messages;
}

static const char *copy_opt(struct ch_arena *a, const char *s) {
    return s ? ch_arena_str(a, ch_sv_str(s)) : NULL;
}

static void writer_change(struct ch_journal *j, const struct chela_store_change *c,
                          enum ch_sync sync, ch_change_fn *done, void *user) {
    struct writer *w = CH_CONTAINER(j, struct writer, base);
    struct extra *e = ch_alloc(sizeof(*e));

    e->change = *c;
    e->change.key = copy_opt(&e->arena, c->key);
    e->change.id = copy_opt(&e->arena, c->id);
    e->change.state = copy_opt(&e->arena, c->state);
    e->change.data = ch_arena_sv(&e->arena, ch_sv(c->data ? c->data : "", c->n)).p;
    e->change.now = c->now ? c->now : ch_store_now();
    e->sync = sync;
    e->done = done;
    e->user = user;
    ch_list_add(&w->extras, &e->link);
    writer_wake(w);
}

static int writer_recall(struct ch_journal *j, const struct ch_recall_query *q, ch_recall_fn *fn,
                         void *to) {
    struct chela_error err = {0};

    return ch_store_recall(CH_CONTAINER(j, struct writer, base)->store, q, fn, to, &err);
}

/* Call before any session is opened: the thread, which reads the owner's name,
 * starts later. */
static void writer_serve(struct ch_journal *j) {
    struct writer *w = CH_CONTAINER(j, struct writer, base);
    CH_BUF_AUTO owner = {0};

    if (ch_owner_serves(w->owner))
        return;
    ch_buf_addf(&owner, "%s" CH_OWNER_SERVES, w->owner);
    ch_free(w->owner);
    w->owner = ch_buf_take(&owner);
    if (!w->instant)
        ch_writer_start_thread(w); /* examines the store, also before the first session */
}

static void writer_close(struct ch_log *log) {
    struct writer *w = log->w;

    const struct ch_log_handler *handler = CH_TAKE(log->handler);
    writer_stir(log);
    if (log->state == WAITING)
        handler->drop(CH_TAKE(log->past));
    if (log->state == WAITING || (log->state == LOST && !log->token))
        free_log(log);
    writer_wake(w); /* another log may wait for the key */
}

static void writer_end_thread(struct writer *w) {
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->lock);
    if (w->started)
        pthread_join(w->thread, NULL);
}

static void writer_shut(struct ch_journal *j) {
    struct writer *w = CH_CONTAINER(j, struct writer, base);

    w->shutting = true;
    writer_end_thread(w); /* after its jobs; the last changes are made here */
    deliver_finished(w, false);
    ch_writer_submit_aside(w);
    while (writer_hand_over(w), w->under_way > 0)
        run_instantly(w);
    ch_timer_stop(w->loop, &w->pause);
    ch_task_cancel(w->loop, &w->task);
    ch_loop_unpost(w->loop, &w->post);
    for (struct ch_log *log; (log = CH_LIST_FIRST(&w->logs, struct ch_log, link)) ||
                             (log = CH_LIST_FIRST(&w->resting, struct ch_log, link));)
        free_log(log);
    ch_key_table_release(&w->by_key);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->more);
    chela_store_close(w->store);
    ch_free(w->leases);
    ch_free(w->owner);
    ch_free(w);
}

static const struct ch_journal_ops ops = {
    .name = "writer",
    .open = writer_open,
    .append = writer_append,
    .flush = writer_hurry,
    .take = writer_take,
    .send = writer_send,
    .token = writer_token,
    .lease = writer_lease,
    .owe = writer_owe,
    .note = writer_note,
    .change = writer_change,
    .recall = writer_recall,
    .close = writer_close,
    .serve = writer_serve,
    .shut = writer_shut,
};

struct ch_journal *ch_writer_new(struct ch_loop *loop, chela_store *store) {
    struct writer *w = ch_alloc(sizeof(*w));
    CH_BUF_AUTO owner = {0};
    pthread_condattr_t attr;

    w->base.ops = &ops;
    w->base.gate = CH_SYNC_DISK;
    w->base.end = CH_SYNC_TOLD;
    w->ended = -PAUSE_MS;
    w->loop = loop;
    w->store = store;
    ch_store_ref(store);
    w->instant = store->ops->flags & CHELA_STORE_INSTANT;
    ch_owner_make(&owner);
    w->owner = ch_buf_take(&owner);
    ch_list_init(&w->logs);
    ch_list_init(&w->resting);
    ch_list_init(&w->extras);
    w->todo_end = &w->todo;
    w->finished_end = &w->finished;
    w->task.fn = writer_flush;
    w->post.fn = on_post;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->more, &attr);
    pthread_condattr_destroy(&attr);
    return &w->base;
}
