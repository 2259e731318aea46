/* writer_thread.c -- the thread of a writer: claims and renews leases, makes transactions.
 *
 * A job runs without the writer's lock, on the thread or, if the store never blocks, on the
 * loop. The job uses the leases, sightings and logs that are marked `busy`. The lock
 * protects the lists of jobs. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/log.h"
#include "store/owner.h"
#include "store/writer.h"
#include "store/writer_private.h"

#define LEASE_MS CH_LEASE_MS
#define BEAT_MS (LEASE_MS / 4)
#define CLAIMS 5 /* attempts to claim a session that others release and claim meanwhile */

int64_t ch_writer_boot_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* asked: ch_writer_boot_ms() before the store was asked to write the lease. */
static void hold_lease(struct ch_log *log, int64_t asked) {
    atomic_store(&log->held, log->w->instant ? INT64_MAX : asked + LEASE_MS);
}

static uint32_t sum_of(const struct ch_log *log) {
    return ch_checksum(0, log->key, strlen(log->key));
}

static void add_lease(struct writer *w, struct ch_log *log, uint64_t token) {
    w->leases = ch_realloc(w->leases, (w->nleases + 1) * sizeof(*w->leases));
    w->leases[w->nleases++] = (struct lease){.log = log, .token = token, .sum = sum_of(log)};
}

/* Forget the lease that another log of the session kept for its messages. */
static void drop_lease_before(struct writer *w, const struct ch_log *log) {
    uint32_t sum = sum_of(log);
    for (size_t i = 0; i < w->nleases; i++)
        if (w->leases[i].sum == sum && w->leases[i].log != log &&
            strcmp(w->leases[i].log->key, log->key) == 0) {
            w->leases[i] = w->leases[--w->nleases];
            return;
        }
}

static void drop_lease(struct writer *w, const struct ch_log *log) {
    for (size_t i = 0; i < w->nleases; i++)
        if (w->leases[i].log == log) {
            w->leases[i] = w->leases[--w->nleases];
            return;
        }
}

struct opening {
    uint64_t token, last, window, stolen;
    bool served; /* `stolen` was a gateway's */
    bool runs;   /* the session's status is "running" */
    int64_t until;
    bool seen; /* the row */
    struct ch_buf owner, agent;
    const struct job *job;
    int rc;
    struct chela_error *err;
};

static int writer_on_row(const struct chela_store_session *row, void *user) {
    struct opening *o = user;

    o->seen = true;
    o->token = row->token;
    o->last = row->last;
    o->window = row->window;
    o->until = row->until;
    o->runs = strcmp(row->status, "running") == 0;
    ch_buf_clear(&o->owner);
    ch_buf_add_str(&o->owner, row->owner);
    ch_buf_clear(&o->agent);
    ch_buf_add_str(&o->agent, row->agent);
    return 0;
}

static int writer_on_record(const struct chela_store_record *r, void *user) {
    struct opening *o = user;

    o->rc = o->job->handler->fold(r, o->job->open->past, o->err);
    return o->rc < 0;
}

static int say_busy(const struct ch_log *log, const struct opening *o, struct chela_error *err) {
    CH_BUF_AUTO who = {0};

    if (!o->seen)
        return ch_fail(err, CHELA_EBUSY, "session '%s' cannot be opened: its row is locked in the "
                       "database", log->key);
    if (!o->owner.n)
        return ch_fail(err, CHELA_EBUSY, "session '%s' is being opened and closed by other "
                       "processes: try again", log->key);
    ch_owner_show(ch_buf_str(&o->owner), &who);
    return ch_fail(err, CHELA_EBUSY, "session '%s' is in use by %s", log->key, ch_buf_str(&who));
}

/* Whether the lease was seen unchanged, on the boot clock, for as long as a lease lasts. */
static bool is_abandoned(struct writer *w, const char *key, const struct opening *o) {
    uint32_t sum = ch_checksum(0, key, strlen(key)) | 1;
    struct sighting *s = &w->seen[sum / 2 % SIGHTINGS];
    int64_t now = ch_writer_boot_ms();

    if (s->key != sum || s->token != o->token || s->until != o->until)
        *s = (struct sighting){sum, o->token, o->until, now};
    return now - s->since > LEASE_MS;
}

/* Whether another owner's lease may be taken. For an owner on this machine the
 * process is checked, for others the time. */
static bool is_over(struct writer *w, const char *key, const struct opening *o) {
    const char *owner = ch_buf_str(&o->owner);
    int64_t now = ch_store_now();

    if (ch_owner_is_held(owner))
        return false;
    /* A release failed earlier; no log here uses it. The mark of a gateway may follow. */
    if (strncmp(owner, w->owner, strlen(w->owner)) == 0)
        return true;
    if (o->until == CH_LEASE_ENDED)
        return true;
    if (ch_owner_is_dead(owner) || is_abandoned(w, key, o))
        return true;
    if (ch_owner_lives(owner))
        return o->until <= now && ch_owner_is_stopped(owner);
    return !ch_lease_is_current(o->until, now);
}

static int claim(struct writer *w, struct ch_log *log, struct opening *o,
                 struct chela_error *err) {
    int64_t now = ch_store_now();
    struct chela_store_claim c = {.key = log->key,
                                  .agent = log->agent ? log->agent : "",
                                  .owner = w->owner,
                                  .now = now,
                                  .until = w->instant ? INT64_MAX : now + LEASE_MS,
                                  .create = log->agent != NULL,
                                  .judge = 1};
    int rc = ch_store_open_session(w->store, &c, writer_on_row, o, err);
    CH_BUF_AUTO marked = {0};

    /* The previous holder may have gone meanwhile, and another may have come. */
    for (int i = 0; rc == CHELA_EBUSY && o->seen && i < CLAIMS; i++) {
        if (o->owner.n && !is_over(w, log->key, o))
            return say_busy(log, o, err);
        *err = (struct chela_error){0};
        o->stolen = c.steal = o->token;
        o->served = ch_owner_serves(ch_buf_str(&o->owner));
        log->inherits = o->served && o->runs && !ch_owner_serves(w->owner);
        ch_buf_clear(&marked);
        ch_buf_addf(&marked, "%s" CH_OWNER_SERVES, w->owner);
        c.owner = log->inherits ? ch_buf_str(&marked) : w->owner;
        rc = ch_store_open_session(w->store, &c, writer_on_row, o, err);
    }
    return rc == CHELA_EBUSY ? say_busy(log, o, err) : rc;
}

/* The row keeps its owner if the log failed, or if this process is a gateway, or took the run
 * over from one, and leaves the run: gateways resume the run. */
int ch_writer_end_lease(const struct ch_log *log) {
    bool marked = ch_owner_serves(log->w->owner) || log->inherits;
    bool keeps = log->state == LOST || (log->runs && marked);
    return keeps ? CHELA_STORE_RENEW : CHELA_STORE_RELEASE;
}

static void writer_release(struct writer *w, struct ch_log *log, uint64_t token) {
    struct chela_store_change c = {.kind = ch_writer_end_lease(log),
                                   .key = log->key,
                                   .token = token,
                                   .until = CH_LEASE_ENDED};
    struct chela_error ignored = {0};

    ch_store_write(w->store, &c, 1, false, &ignored); /* on failure the lease expires */
}

static void run_open(struct writer *w, struct job *job) {
    struct ch_log *log = job->open;
    struct opening o = {.job = job, .err = &job->err};
    int64_t asked = ch_writer_boot_ms();

    job->rc = claim(w, log, &o, &job->err);
    log->runs = o.runs;
    if (job->rc == 0 && o.last > 0) {
        job->rc = chela_store_records(w->store, log->key, o.window, writer_on_record, &o,
                                      &job->err);
        if (job->rc == 0)
            job->rc = o.rc;
        if (job->rc < 0 && job->rc != CHELA_ENET)
            writer_release(w, log, o.token);
    }
    ch_buf_release(&o.owner);
    ch_free(log->agent);
    log->agent = ch_buf_take(&o.agent);
    if (job->rc < 0)
        return;
    log->token = o.token;
    job->stolen = o.stolen;
    hold_lease(log, asked);
    drop_lease_before(w, log);
    job->head =
        (struct ch_log_head){.last = o.last, .served = o.served, .agent = log->agent};
    if (!w->instant)
        add_lease(w, log, o.token);
}

static void run_commit(struct writer *w, struct job *job) {
    size_t n = job->nparts + job->nextras;

    job->err = (struct chela_error){0};
    job->rc = ch_store_write(w->store, job->changes, n, job->sync, &job->err);
    if (ch_store_may_split(job->rc, n)) {
        job->rc = 0;
        ch_free(job->errs);
        job->errs = ch_alloc(n * sizeof(*job->errs));
        ch_store_commit_apart(w->store, job->changes, n, job->sync, job->errs);
    }
    for (size_t i = 0; i < job->nparts; i++)
        if (job->parts[i].release)
            drop_lease(w, job->parts[i].log);
}

/* Says once that the store is not the one that was opened. */
static void note_store(struct writer *w, const struct chela_error *err) {
    if (!w->foreign)
        ch_log(CH_LOG_ERROR, "store", "%s", err->message);
    w->foreign = true;
}

/* The server is gone: each further call would be retried for CH_LIMIT_STORE_CALL_MS. */
static void note_answer(struct writer *w, int rc) {
    if (rc != CHELA_ENET)
        return;
    w->failed = ch_writer_boot_ms();
    pthread_mutex_lock(&w->lock);
    w->gone |= w->ending;
    pthread_mutex_unlock(&w->lock);
}

void ch_writer_run(struct writer *w, struct job *job) {
    if (job->lost)
        return;
    if (w->gone || (job->open && job->since <= w->failed)) {
        job->rc = ch_fail(&job->err, CHELA_ENET, "the store does not answer");
        return;
    }
    if (job->open)
        run_open(w, job);
    else
        run_commit(w, job);
    if (job->rc == CHELA_EPROTO)
        note_store(w, &job->err);
    note_answer(w, job->rc);
}

static void notify(struct writer *w) {
    if (w->posted || w->ending)
        return;
    w->posted = true;
    ch_loop_post(w->loop, &w->post);
}

static void finish_job(struct writer *w, struct job *job) {
    job->next = NULL;
    *w->finished_end = job;
    w->finished_end = &job->next;
    notify(w);
}

static struct job *lost_lease(struct lease *lease, const struct chela_error *err,
                              struct job *next) {
    struct job *job = ch_alloc(sizeof(*job));

    lease->lost = true;
    job->lost = lease->log;
    job->rc = err->code;
    job->err = *err;
    job->next = next;
    return job;
}

/* The store is not the one that was opened: nothing more is started or sent for any session. */
static struct job *lose_all(struct writer *w, const struct chela_error *err) {
    struct job *lost = NULL;

    note_store(w, err);
    for (size_t i = 0; i < w->nleases; i++) {
        atomic_store(&w->leases[i].log->held, 0);
        if (!w->leases[i].lost)
            lost = lost_lease(&w->leases[i], err, lost);
    }
    return lost;
}

/* Renew the leases, without the lock; returns jobs that report the lost ones. */
static struct job *writer_renew(struct writer *w) {
    CH_AUTOFREE struct chela_store_change *changes = ch_alloc((w->nleases + 1) * sizeof(*changes));
    struct chela_error err = {0};
    struct job *lost = NULL;
    int64_t asked = ch_writer_boot_ms();

    for (size_t i = 0; i < w->nleases; i++)
        changes[i] = (struct chela_store_change){.kind = CHELA_STORE_RENEW,
                                                 .key = w->leases[i].log->key,
                                                 .token = w->leases[i].token,
                                                 .until = ch_store_now() + LEASE_MS};
    /* Without changes the store examines itself: an idle gateway has no lease. */
    int rc = ch_store_write(w->store, changes, w->nleases, false, &err);
    if (rc == CHELA_EPROTO)
        return lose_all(w, &err);
    if (ch_store_may_split(rc, w->nleases)) {
        CH_AUTOFREE struct chela_error *errs = ch_alloc(w->nleases * sizeof(*errs));
        ch_store_commit_apart(w->store, changes, w->nleases, false, errs);
    } else if (rc < 0) {
        note_answer(w, rc);
        return NULL; /* retried at the next renewal; otherwise appending fails */
    }
    for (size_t i = 0; i < w->nleases; i++) {
        if (changes[i].rc == 0)
            hold_lease(w->leases[i].log, asked);
        bool taken = changes[i].rc == CHELA_EPERM || changes[i].rc == CHELA_ENOENT;
        if (!taken || w->leases[i].lost)
            continue;
        ch_fail(&err, CHELA_EPERM, "session '%s' was taken over by another process",
                w->leases[i].log->key);
        lost = lost_lease(&w->leases[i], &err, lost);
    }
    return lost;
}

static bool writer_wait_for_work(struct writer *w, const struct timespec *beat) {
    int rc = 0;

    while (!w->todo && !w->ending && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&w->more, &w->lock, beat);
    return w->todo;
}

static void next_beat(struct timespec *beat) {
    clock_gettime(CLOCK_MONOTONIC, beat);
    beat->tv_sec += BEAT_MS / 1000;
}

static void beat_if_due(struct writer *w, struct timespec *beat) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec < beat->tv_sec || w->gone)
        return;
    pthread_mutex_unlock(&w->lock);
    struct job *lost = writer_renew(w);
    next_beat(beat);
    pthread_mutex_lock(&w->lock);
    while (lost) {
        struct job *next = lost->next;
        finish_job(w, lost);
        lost = next;
    }
}

static void *writer_thread_main(void *arg) {
    struct writer *w = arg;
    struct timespec beat;
    CH_LOG_SCOPE(ch_loop_log(w->loop));

    next_beat(&beat);
    pthread_mutex_lock(&w->lock);
    for (;;) {
        bool work = writer_wait_for_work(w, &beat);
        if (!work && w->ending)
            break;
        if (work) {
            struct job *job = w->todo;
            w->todo = job->next;
            if (!w->todo)
                w->todo_end = &w->todo;
            pthread_mutex_unlock(&w->lock);
            ch_writer_run(w, job);
            pthread_mutex_lock(&w->lock);
            finish_job(w, job);
        }
        beat_if_due(w, &beat);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void ch_writer_start_thread(struct writer *w) {
    sigset_t all, before;

    if (w->started)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    w->started = pthread_create(&w->thread, NULL, writer_thread_main, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!w->started)
        w->instant = true; /* no thread available: slower, but correct */
}
