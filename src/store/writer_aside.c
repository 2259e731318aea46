/* writer_aside.c -- see writer_private.h: changes whose rows another program keeps locked.
 *
 * They wait in a separate transaction, which is retried after a while. Their logs stay busy
 * meanwhile, so later changes of the same session cannot overtake them. */
#include "store/writer_private.h"

#define RETRY_MS 100 /* the first wait */
#define RETRY_MAX_MS 2000

void ch_writer_submit_aside(struct writer *w) {
    ch_timer_stop(w->loop, &w->retry);
    for (struct job *job = CH_TAKE(w->stuck), *next; job; job = next) {
        next = job->next;
        job->next = NULL;
        ch_loop_release_thread(w->loop);
        ch_writer_submit(w, job);
    }
}

static void on_retry(struct ch_timer *t) {
    ch_writer_submit_aside(CH_CONTAINER(t, struct writer, retry));
}

static bool is_locked(const struct job *job, size_t i) {
    return job->rc == CHELA_EBUSY || (job->rc == 0 && job->changes[i].rc == CHELA_ETIMEOUT);
}

void ch_writer_set_aside(struct writer *w, struct job *job) {
    size_t n = job->nparts + job->nextras, locked = 0, parts = 0, extras = 0;

    for (size_t i = 0; i < n; i++)
        locked += is_locked(job, i);
    if (!locked || w->shutting || ch_writer_boot_ms() - job->since > CH_WRITER_LOCKED_MS)
        return;
    struct job *later = ch_alloc(sizeof(*later));
    later->parts = ch_alloc((job->nparts + 1) * sizeof(*later->parts));
    later->extras = ch_alloc((job->nextras + 1) * sizeof(struct extra *));
    later->changes = ch_alloc(locked * sizeof(*later->changes));
    later->sync = job->sync;
    later->since = job->since;
    later->attempts = job->attempts + 1;
    for (size_t i = 0; i < n; i++) {
        bool moves = is_locked(job, i), part = i < job->nparts;
        size_t kept = parts + extras;
        if (moves)
            later->changes[later->nparts + later->nextras] = job->changes[i];
        else
            job->changes[kept] = job->changes[i];
        if (!moves && job->errs)
            job->errs[kept] = job->errs[i];
        if (moves && part)
            later->parts[later->nparts++] = job->parts[i];
        else if (moves)
            later->extras[later->nextras++] = job->extras[i - job->nparts];
        else if (part)
            job->parts[parts++] = job->parts[i];
        else
            job->extras[extras++] = job->extras[i - job->nparts];
    }
    job->nparts = parts;
    job->nextras = extras;
    later->next = w->stuck;
    w->stuck = later;
    ch_loop_hold_thread(w->loop);
    int64_t ms = RETRY_MS << CH_MIN(job->attempts, 5U);
    ch_timer_start(w->loop, &w->retry, CH_MIN(ms, RETRY_MAX_MS), on_retry);
}
