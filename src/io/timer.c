/* timer.c -- timers in a binary heap, with one alarm, a timerfd, for the earliest.
 *
 * Network code postpones an idle timeout on every chunk it reads, and almost
 * none of these timers ever fires. Postponing is therefore lazy: only
 * timer->due changes. The heap is ordered by ch_due.at, which is never later
 * than the timer's due time. An entry that reaches the top too early moves to
 * its right place. The alarm is lazy too: it may fire with nothing due and is
 * then set again. While a timer of libuv is armed, the kernel starts and cancels
 * a timer in every poll; a timerfd is set once for many polls.
 *
 * A pass fires only timers that were armed before the pass began, so a timer
 * that re-arms itself with 0 ms cannot starve other work. */
#include "io/loop_private.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/mem.h"

static int64_t timer_now(const struct ch_loop *loop) {
    return ch_mono_ms(loop->clock);
}

static bool timer_before(const struct ch_due *a, const struct ch_due *b) {
    return a->at < b->at || (a->at == b->at && a->seq < b->seq);
}

static void timer_put(struct ch_timers *ts, size_t i, struct ch_due d) {
    ts->heap[i] = d;
    d.timer->place = i + 1;
}

static void sift_up(struct ch_timers *ts, size_t i, struct ch_due d) {
    while (i > 0) {
        size_t parent = (i - 1) / 2;
        if (!timer_before(&d, &ts->heap[parent]))
            break;
        timer_put(ts, i, ts->heap[parent]);
        i = parent;
    }
    timer_put(ts, i, d);
}

static void sift_down(struct ch_timers *ts, size_t i, struct ch_due d) {
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= ts->n)
            break;
        if (child + 1 < ts->n && timer_before(&ts->heap[child + 1], &ts->heap[child]))
            child++;
        if (!timer_before(&ts->heap[child], &d))
            break;
        timer_put(ts, i, ts->heap[child]);
        i = child;
    }
    timer_put(ts, i, d);
}

static void timer_insert(struct ch_timers *ts, struct ch_timer *t) {
    CH_GROW(ts->heap, ts->n, ts->cap, 16);
    ts->n++;
    sift_up(ts, ts->n - 1, (struct ch_due){t->due, ts->next_seq++, t});
}

static void take_out(struct ch_timers *ts, struct ch_timer *t) {
    size_t i = t->place - 1;
    struct ch_due last = ts->heap[--ts->n];

    t->place = 0;
    if (last.timer == t)
        return;
    if (i > 0 && timer_before(&last, &ts->heap[(i - 1) / 2]))
        sift_up(ts, i, last);
    else
        sift_down(ts, i, last);
}

/* The entry of the timer with the earliest due time; NULL if none is armed. */
static const struct ch_due *earliest(struct ch_timers *ts) {
    while (ts->n > 0) {
        struct ch_due d = ts->heap[0];
        if (d.timer->due == d.at)
            return &ts->heap[0];
        d.at = d.timer->due;
        sift_down(ts, 0, d);
    }
    return NULL;
}

static void set_alarm(struct ch_loop *loop) {
    struct ch_timers *ts = &loop->timers;

    if (loop->manual || loop->closing || ts->n == 0 || ts->heap[0].at >= ts->alarm_set)
        return;
    int64_t at = ts->heap[0].at;
    struct itimerspec when = {.it_value = {at / 1000, at % 1000 * 1000000}};
    timerfd_settime(ts->alarm_fd, TFD_TIMER_ABSTIME, &when, NULL);
    ts->alarm_set = ts->heap[0].at;
}

/* libuv polls between two alarms, so a timer that re-arms itself with 0 cannot starve other
 * work. */
static void on_alarm(uv_poll_t *alarm, int status, int events) {
    struct ch_loop *loop = alarm->data;
    uint64_t times;
    CH_LOOP_CALLBACK(loop);

    (void)status;
    (void)events;
    if (read(loop->timers.alarm_fd, &times, sizeof(times)) < 0)
        return; /* set again since the poll: the alarm follows */
    ch_timers_fire(loop);
    loop->timers.alarm_set = INT64_MAX;
    earliest(&loop->timers);
    set_alarm(loop);
}

int ch_timers_init(struct ch_loop *loop) {
    struct ch_timers *ts = &loop->timers;

    ts->alarm_set = INT64_MAX;
    ts->alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int rc = ts->alarm_fd < 0 ? -errno : uv_poll_init(loop->uv, &ts->alarm, ts->alarm_fd);
    if (rc < 0) {
        if (ts->alarm_fd >= 0)
            close(ts->alarm_fd);
        ts->alarm_fd = -1;
        return rc;
    }
    ts->alarm.data = loop;
    uv_poll_start(&ts->alarm, UV_READABLE, on_alarm);
    uv_unref((uv_handle_t *)&ts->alarm);
    return 0;
}

static void timers_drop(struct ch_timers *ts) {
    for (size_t i = 0; i < ts->n; i++)
        ts->heap[i].timer->place = 0;
    ch_free(ts->heap);
    ts->heap = NULL;
    ts->n = ts->cap = 0;
}

void ch_timers_close(struct ch_loop *loop, uv_close_cb closed) {
    timers_drop(&loop->timers);
    if (loop->timers.alarm_fd < 0)
        return;
    uv_close((uv_handle_t *)&loop->timers.alarm, closed);
    close(loop->timers.alarm_fd);
}

bool ch_timers_due(struct ch_loop *loop) {
    const struct ch_due *d = earliest(&loop->timers);
    return d && d->at <= timer_now(loop);
}

void ch_timers_fire(struct ch_loop *loop) {
    struct ch_timers *ts = &loop->timers;
    int64_t t0 = timer_now(loop);
    uint64_t limit = ts->next_seq;
    const struct ch_due *d;

    loop->calling++;
    while ((d = earliest(ts)) && d->at <= t0 && d->seq < limit) {
        struct ch_timer *t = d->timer;
        take_out(ts, t);
        t->fn(t);
    }
    loop->calling--;
}

void ch_timer_start(struct ch_loop *loop, struct ch_timer *t, int64_t ms,
                    void (*fn)(struct ch_timer *t)) {
    int64_t t0 = timer_now(loop);
    ch_timer_start_at(loop, t, ms <= 0 ? t0 : ms > INT64_MAX - t0 ? INT64_MAX : t0 + ms, fn);
}

void ch_timer_start_at(struct ch_loop *loop, struct ch_timer *t, int64_t due,
                       void (*fn)(struct ch_timer *t)) {
    struct ch_timers *ts = &loop->timers;

    if (loop->closing)
        return;
    t->fn = fn;
    t->due = due;
    if (!t->place) {
        timer_insert(ts, t);
    } else if (t->due < ts->heap[t->place - 1].at) {
        sift_up(ts, t->place - 1, (struct ch_due){t->due, ts->next_seq++, t});
    } else {
        return; /* later than before: handled when the old time comes */
    }
    set_alarm(loop);
}

/* The alarm stays set: one idle wake-up is cheaper than setting the alarm again
 * for the next request. */
void ch_timer_stop(struct ch_loop *loop, struct ch_timer *t) {
    if (t->place)
        take_out(&loop->timers, t);
}

int64_t ch_loop_next_due(const struct ch_loop *loop) {
    /* The cast is safe: reordering the heap changes no timer. */
    const struct ch_due *d = earliest((struct ch_timers *)&loop->timers);
    if (!d)
        return -1;
    int64_t wait = d->at - timer_now(loop);
    return wait > 0 ? wait : 0;
}
