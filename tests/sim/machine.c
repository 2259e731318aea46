/* machine.c -- simulated time, and threads that one seed schedules.
 *
 * A thread of a node is a fiber of this process. A fiber runs until it waits: for a mutex, a
 * condition, time, or work for its loop. Then the scheduler chooses the next one by chance.
 * The functions __wrap_* take the place of the C library's for the objects under test (see
 * the linker's --wrap), so that these run unchanged.
 *
 * A process that crashes is never scheduled again; its memory is left as it was. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <ucontext.h>

#include "base/log.h"
#include "io/loop_private.h"
#include "sim/sim.h"

#define STACK_SIZE ((size_t)256 * 1024)
#define STEP_US 7           /* what a step costs */
#define EPOCH_MS 1700000000000

struct sim sim;

enum fiber_state { RUNNABLE, WAITING, LOOPING, ENDED };

struct sim_fiber {
    struct sim_fiber *next;
    struct sim_node *node;
    unsigned life; /* of the node: a fiber of an earlier life is dead */
    enum fiber_state state;
    const void *waits_for; /* WAITING; NULL: only for time */
    int64_t until;
    bool woken;
    void *(*fn)(void *);
    void *arg;
    const struct ch_log_sink *sink; /* bound to the thread while it does not run */
    ucontext_t context;
};

struct sim_call {
    struct sim_call *next;
    void (*fn)(struct sim_node *node, void *arg);
    void *arg;
};

struct moment {
    int64_t at;
    uint64_t order;
    void (*fn)(void *arg);
    void *arg;
};

static struct sim_fiber *fibers, *running;
static ucontext_t scheduler;
static struct moment moments[4096];
static size_t nmoments;
static uint64_t next_moment;

/* --- chance */

static uint64_t next_of(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint64_t sim_random(uint64_t below) {
    return next_of(&sim.dice) % below;
}

bool sim_chance(unsigned of_1000) {
    return of_1000 && sim_random(1000) < of_1000;
}

int64_t sim_between(int64_t low, int64_t high) {
    return low + (int64_t)sim_random((uint64_t)(high - low + 1));
}

/* --- what is printed */

static void print_line(const char *mark, const char *fmt, va_list ap) {
    const struct sim_node *node = sim_here();
    printf("%s%9.4f %-3s ", mark, (double)sim.now / SIM_S, node ? node->name : "");
    vprintf(fmt, ap);
    putchar('\n');
}

void sim_note(const char *fmt, ...) {
    va_list ap;
    if (!sim.trace)
        return;
    va_start(ap, fmt);
    print_line("  ", fmt, ap);
    va_end(ap);
}

void sim_violation(const char *fmt, ...) {
    va_list ap;
    if (!*sim.verdict) {
        va_start(ap, fmt);
        vsnprintf(sim.verdict, sizeof(sim.verdict), fmt, ap);
        va_end(ap);
    }
    if (!sim.trace)
        return;
    va_start(ap, fmt);
    print_line("! ", fmt, ap);
    va_end(ap);
}

/* --- fibers */

struct sim_node *sim_here(void) {
    return running ? running->node : NULL;
}

static void leave(void) {
    struct sim_fiber *me = running;
    me->sink = ch_log_bind(NULL);
    swapcontext(&me->context, &scheduler);
    ch_log_bind(me->sink);
}

static void fiber_main(unsigned high, unsigned low) {
    struct sim_fiber *f = (struct sim_fiber *)((uintptr_t)high << 32 | low);
    f->fn(f->arg);
    f->state = ENDED;
    sim_wake(f);
    leave();
}

struct sim_fiber *sim_spawn(struct sim_node *node, void *(*fn)(void *), void *arg) {
    struct sim_fiber *f = calloc(1, sizeof(*f));
    void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (!f || stack == MAP_FAILED)
        abort();
    *f = (struct sim_fiber){.node = node, .life = node->life, .fn = fn, .arg = arg};
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = STACK_SIZE;
    makecontext(&f->context, (void (*)(void))fiber_main, 2, (unsigned)((uintptr_t)f >> 32),
                (unsigned)(uintptr_t)f);
    struct sim_fiber **end = &fibers;
    while (*end)
        end = &(*end)->next;
    *end = f;
    return f;
}

static void resume(struct sim_fiber *f) {
    running = f;
    swapcontext(&scheduler, &f->context);
    running = NULL;
}

static bool is_dead(const struct sim_fiber *f) {
    return f->state == ENDED || f->life != f->node->life || !f->node->up;
}

bool sim_wait_for(const void *thing, int64_t until) {
    struct sim_fiber *me = running;
    me->state = WAITING;
    me->waits_for = thing;
    me->until = until;
    me->woken = false;
    leave();
    return me->woken;
}

void sim_wake(const void *thing) {
    for (struct sim_fiber *f = fibers; f; f = f->next)
        if (f->state == WAITING && f->waits_for == thing)
            f->woken = true;
}

void sim_sleep(int64_t us) {
    if (running)
        sim_wait_for(NULL, sim.now + us);
}

/* Another thread may run here. */
static void preempt(void) {
    if (running && sim_chance(60)) {
        running->state = RUNNABLE;
        leave();
    }
}

void sim_kill(struct sim_node *node) {
    if (!node->up)
        return;
    sim_note("%s is killed", node->name);
    node->up = false;
    node->stopped = node->ends = 0;
    sim.crashes++;
    if (running && running->node == node)
        leave();
}

bool sim_runs(const struct sim_node *node) {
    return node->up && sim.now >= node->stopped;
}

/* --- the loop of a node */

/* When the node's loop has work; at most now: at once. */
static int64_t loop_due(const struct sim_node *node) {
    const struct ch_loop *loop = node->rt->loop;
    if (node->calls || loop->posts || !ch_list_empty(&loop->queued) ||
        !ch_list_empty(&loop->batch))
        return sim.now;
    int64_t ms = ch_loop_next_due(loop), due = ms < 0 ? SIM_NEVER : sim.now + ms * SIM_MS;
    return node->ends ? CH_MIN(due, node->ends) : due;
}

void sim_call(struct sim_node *node, void (*fn)(struct sim_node *node, void *arg), void *arg) {
    struct sim_call *c = calloc(1, sizeof(*c));
    if (!c)
        abort();
    *c = (struct sim_call){.fn = fn, .arg = arg};
    *node->calls_end = c;
    node->calls_end = &c->next;
}

static void run_calls(struct sim_node *node) {
    CH_LOG_SCOPE(ch_loop_log(node->rt->loop));
    for (struct sim_call *c; (c = node->calls);) {
        node->calls = c->next;
        if (!node->calls)
            node->calls_end = &node->calls;
        c->fn(node, c->arg);
        free(c);
    }
}

void *sim_loop_main(void *arg);
void *sim_loop_main(void *arg) {
    struct sim_node *node = arg;
    sim_node_start(node);
    sim_world_start(node);
    for (;;) {
        running->state = LOOPING;
        leave();
        if (node->ends && sim.now >= node->ends)
            break;
        run_calls(node);
        ch_loop_tick(node->rt->loop);
    }
    sim_node_end(node);
    sim_kill(node);
    return NULL;
}

/* --- the scheduler */

void sim_at(int64_t when, void (*fn)(void *arg), void *arg) {
    if (nmoments == sizeof(moments) / sizeof(moments[0]))
        abort();
    moments[nmoments++] = (struct moment){when, next_moment++, fn, arg};
}

static size_t first_moment(void) {
    size_t best = 0;
    for (size_t i = 1; i < nmoments; i++)
        if (moments[i].at < moments[best].at ||
            (moments[i].at == moments[best].at && moments[i].order < moments[best].order))
            best = i;
    return best;
}

static bool run_moment(void) {
    if (!nmoments)
        return false;
    size_t i = first_moment();
    struct moment m = moments[i];
    if (m.at > sim.now)
        return false;
    moments[i] = moments[--nmoments];
    m.fn(m.arg);
    return true;
}

static int64_t fiber_due(const struct sim_fiber *f) {
    int64_t due = SIM_NEVER;
    if (f->state == RUNNABLE || (f->state == WAITING && f->woken))
        due = sim.now;
    else if (f->state == LOOPING)
        due = loop_due(f->node);
    else if (f->state == WAITING)
        due = f->until;
    return CH_MAX(due, f->node->stopped);
}

static void forget_dead(void) {
    for (struct sim_fiber **at = &fibers; *at;) {
        if (is_dead(*at))
            *at = (*at)->next; /* left as it is: others may wait for it */
        else
            at = &(*at)->next;
    }
}

/* The fiber that runs next; NULL: none now, and *when is the next time. */
static struct sim_fiber *choose(int64_t *when) {
    struct sim_fiber *due[256];
    size_t n = 0;
    *when = nmoments ? moments[first_moment()].at : SIM_NEVER;
    for (struct sim_fiber *f = fibers; f; f = f->next) {
        int64_t at = fiber_due(f);
        if (at <= sim.now && n < sizeof(due) / sizeof(due[0]))
            due[n++] = f;
        *when = CH_MIN(*when, at);
    }
    return n ? due[sim_random(n)] : NULL;
}

void sim_run(int64_t until, bool (*done)(void)) {
    while (sim.now < until && !*sim.verdict && !(done && done())) {
        int64_t when;
        sim.steps++;
        forget_dead();
        if (run_moment())
            continue;
        struct sim_fiber *f = choose(&when);
        if (!f) {
            sim.now = CH_MAX(sim.now, CH_MIN(when, until));
            continue;
        }
        sim.now += STEP_US;
        f->state = f->state == WAITING ? RUNNABLE : f->state;
        resume(f);
    }
}

/* --- clocks and random numbers of the objects under test */

int __wrap_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out) {
    const struct sim_node *node = sim_here();
    int64_t us = sim.now;
    if (id == CLOCK_REALTIME)
        us += EPOCH_MS * SIM_MS + (node ? node->skew : 0);
    else
        us += node ? node->uptime : 0;
    *out = (struct timespec){us / SIM_S, us % SIM_S * 1000};
    return 0;
}

ssize_t __wrap_getrandom(void *buf, size_t n, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t n, unsigned flags) {
    (void)flags;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)buf)[i] = (unsigned char)next_of(&sim.noise);
    return (ssize_t)n;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left) {
    (void)left;
    sim_sleep(t->tv_sec * SIM_S + t->tv_nsec / 1000);
    return 0;
}

/* --- threads of the objects under test */

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg) {
    (void)attr;
    *out = (pthread_t)(uintptr_t)sim_spawn(running->node, fn, arg);
    return 0;
}

int __wrap_pthread_join(pthread_t t, void **out);
int __wrap_pthread_join(pthread_t t, void **out) {
    const struct sim_fiber *f = (const struct sim_fiber *)(uintptr_t)t;
    (void)out;
    while (f->state != ENDED)
        sim_wait_for(f, SIM_NEVER);
    return 0;
}

/* A mutex holds whether it is locked; zero bytes, as of its initializer, mean unlocked. */
static int *locked(pthread_mutex_t *m) {
    return (int *)(void *)m;
}

int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr);
int __wrap_pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr) {
    (void)attr;
    *locked(m) = 0;
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *m);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *m) {
    (void)m;
    return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m) {
    preempt();
    while (*locked(m) && running)
        sim_wait_for(m, SIM_NEVER);
    *locked(m) = 1;
    return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m) {
    *locked(m) = 0;
    sim_wake(m);
    preempt();
    return 0;
}

int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr);
int __wrap_pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr) {
    (void)c;
    (void)attr;
    return 0;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *c);
int __wrap_pthread_cond_destroy(pthread_cond_t *c) {
    (void)c;
    return 0;
}

/* Waiting for a condition may end without cause, so waking all is allowed. */
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_signal(pthread_cond_t *c) {
    sim_wake(c);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c) {
    sim_wake(c);
    return 0;
}

static int wait_on(pthread_cond_t *c, pthread_mutex_t *m, int64_t until) {
    *locked(m) = 0;
    sim_wake(m);
    bool woken = sim_wait_for(c, until);
    while (*locked(m))
        sim_wait_for(m, SIM_NEVER);
    *locked(m) = 1;
    return woken ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
    return wait_on(c, m, SIM_NEVER);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                                  const struct timespec *until) {
    return wait_on(c, m, until->tv_sec * SIM_S + until->tv_nsec / 1000 - running->node->uptime);
}
