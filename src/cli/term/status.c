/* status.c -- see status.h. */
#include "cli/term/status.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"

enum { TICK_MS = 100 };

struct ch_status {
    struct ch_console *console; /* borrowed */
    pthread_t ticker;
    pthread_cond_t stop_now;
    struct timespec started;

    pthread_mutex_t lock; /* protects the following members */
    bool stop;
    unsigned turn;
    unsigned running; /* number of running tools */
    char *tool;       /* owned: the last started tool, NULL */
    char *model;      /* owned: the requested model, NULL */
    int64_t input, output;
    double cost; /* USD, 0 while unknown */
};

/* --- the line --------------------------------------------------------------- */

static double elapsed(const struct ch_status *s) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - s->started.tv_sec) +
           (double)(now.tv_nsec - s->started.tv_nsec) / 1e9;
}

static void put_doing(const struct ch_status *s, FILE *out) {
    if (s->running > 1)
        fprintf(out, " | %s and %u more", s->tool, s->running - 1);
    else if (s->running == 1)
        fprintf(out, " | %s", s->tool);
    else if (s->model)
        fprintf(out, " | %s", s->model);
}

static void put_time(double seconds, FILE *out) {
    unsigned whole = (unsigned)seconds;
    if (whole < 60)
        fprintf(out, " | %.1fs", floor(seconds * 10) / 10);
    else
        fprintf(out, " | %um%02us", whole / 60, whole % 60);
}

/* Called under the lock; the caller frees the result. */
static char *compose(const struct ch_status *s) {
    struct ch_draft d;

    ch_draft_init(&d);
    fprintf(d.f, "turn %u", s->turn);
    put_doing(s, d.f);
    if (s->input + s->output > 0)
        fprintf(d.f, " | %lld in, %lld out", (long long)s->input, (long long)s->output);
    if (s->cost > 0)
        fprintf(d.f, " | $%.4f", s->cost);
    put_time(elapsed(s), d.f);
    ch_draft_finish(&d);
    return d.p;
}

/* --- the ticker -------------------------------------------------------------- */

static struct timespec soon(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += TICK_MS * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    return t;
}

static void *tick(void *user) {
    struct ch_status *s = user;

    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        struct timespec until = soon();
        pthread_cond_timedwait(&s->stop_now, &s->lock, &until);
        if (s->stop || s->turn == 0)
            continue;
        char *text = compose(s);
        pthread_mutex_unlock(&s->lock); /* the terminal may be slow */
        ch_console_status(s->console, text);
        free(text);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct ch_status *ch_status_new(struct ch_console *c) {
    if (!c->err.live || c->quiet)
        return NULL;
    struct ch_status *s = ch_must(calloc(1, sizeof(*s)));
    pthread_condattr_t attr;

    s->console = c;
    clock_gettime(CLOCK_MONOTONIC, &s->started);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->stop_now, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&s->ticker, NULL, tick, s) == 0)
        return s;
    pthread_cond_destroy(&s->stop_now);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL; /* the status line is optional */
}

void ch_status_free(struct ch_status *s) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_signal(&s->stop_now);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->ticker, NULL);
    ch_console_status(s->console, NULL);
    pthread_cond_destroy(&s->stop_now);
    pthread_mutex_destroy(&s->lock);
    free(s->tool);
    free(s->model);
    free(s);
}

/* --- events ------------------------------------------------------------------ */

/* Names are untrusted: stored in a safe form. */
static void status_replace(char **at, const char *p, size_t n) {
    free(*at);
    *at = ch_escape_whole(CH_ESCAPE_LINE, p, n, NULL);
}

void ch_status_event(struct ch_status *s, const struct chela_event *ev) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    switch (ev->type) {
    case CHELA_EV_TURN_START:
        s->turn = ev->turn.turn;
        break;
    case CHELA_EV_MODEL_REQUEST:
        status_replace(&s->model, ev->request.model, strlen(ev->request.model));
        break;
    case CHELA_EV_TOOL_START:
        s->running++;
        status_replace(&s->tool, ev->call.name.p, ev->call.name.n);
        break;
    case CHELA_EV_TOOL_RESULT:
        /* a denied or skipped call has a result but no start */
        s->running -= s->running > 0;
        break;
    case CHELA_EV_TURN_END:
        s->running = 0;
        s->input += ev->turn.usage.input;
        s->output += ev->turn.usage.output;
        s->cost += ev->turn.usage.cost_usd > 0 ? ev->turn.usage.cost_usd : 0;
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&s->lock);
}
