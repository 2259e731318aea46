/* test_callback_sweep.c -- every public function from every callback, in every
 * mode, stored and not; see support/sweep.h for modes, sites and rows.
 *
 *     test_callback_sweep [MODE [STORE [FUNCTION [SITE]]]]
 *
 * plays what the names select, for looking at one failure; "-" selects all.
 *
 * One process plays all sites of a row, each with a runtime of its own. A process
 * that dies or takes too long is a finding, named after function, site and mode;
 * another process goes on with the next site. Memory comes from guard_alloc.h,
 * and a case that leaves some of it behind is a finding too. */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* after the headers it needs */
#include <cmocka.h>

#include "support/guard_alloc.h"
#include "support/sweep.h"

#define ONE(name, value, text, member) +1
#define EVENT_TYPES (0 CHELA_EVENTS(ONE))
#define WORKERS 2 /* processes at once */
#define MOST_WORKERS 12
#define CASE_SECONDS 60 /* a case takes milliseconds; the machine may be busy */
#define MOST_DEATHS 8   /* of one row in one mode: then its other sites are not played; a
                           process that took too long counts for three */
#define SHARED_PARTS 8  /* cases for the rows that share one, if all sites are played: more
                           would be allocated in one case than can be guarded */
#define PROBLEMS 64
#define TEXT 400

/* What make check plays is a sample. A row has cases at one site in SAMPLE of a mode, for
 * each number of `cases`; which sites differs from row to row, from mode to mode and from
 * store to store. A row that is called at each site of one case has that case with one of
 * the three stores. Rows that share a case are called at one site in three, pure ones at one in
 * SAMPLE. With SWEEP_ALL
 * in the environment every row is played at every site with every store, and the ends of
 * allocations are guarded. */
#define SAMPLE 15
static const struct store {
    const char *name;
    unsigned number, cases, first; /* cases: of SAMPLE, beginning with the first */
} stores[] = {{"none", 0, 2, 0}, {"memory", 1, 1, 2}, {"sqlite", 2, 1, 3}};

/* What a process of the sweep tells the test, which outlives it. */
struct progress {
    unsigned nsites;
    char sites[SWEEP_SITES][96];
    unsigned lacks[SWEEP_SITES]; /* rows with one of these flags cannot be called there */
    unsigned site; /* index of the one that is played */
    char row[128], at[96]; /* the last call */
    unsigned calls, cases; /* so far */
    unsigned nproblems;
    struct problem {
        char row[128], at[96], text[TEXT];
    } problems[PROBLEMS];
    bool seen[EVENT_TYPES];
};

/* One process. row NULL: it records the sites; rows that are shared are played
 * together by one process. */
struct worker {
    pid_t pid;
    struct progress *progress; /* shared memory */
    const struct sweep_row *row;
    bool shared;
    unsigned serial; /* of the row, or of the part of the shared rows */
    unsigned from, deaths;
    FILE *err;
};

/* What was found at one or several sites of a row. */
struct finding {
    char *row, *text, *sites, *words; /* words: of a process before it died */
};

static struct {
    const char *mode, *store, *row, *site; /* selected; NULL: all */
    char dir[256];
    struct finding *findings;
    size_t nfindings;
    unsigned calls, cases;
    bool seen[EVENT_TYPES];
    struct progress *slots[MOST_WORKERS];
} sweep;

static const struct sweep_rows *const tables[] = {&sweep_rows_live, &sweep_rows_rest};
#define EACH_ROW(row)                                                           \
    for (size_t t_ = 0; t_ < sizeof(tables) / sizeof(tables[0]); t_++)          \
        for (const struct sweep_row *row = tables[t_]->rows;                    \
             row < tables[t_]->rows + tables[t_]->n; row++)

static bool selected(const char *filter, const char *name) {
    return !filter || strcmp(filter, "-") == 0 || strcmp(filter, name) == 0;
}

static char *build_dir(void) {
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n <= 0)
        abort();
    path[n] = '\0';
    char *tests = strstr(path, "/tests/sweep/");
    if (!tests)
        abort();
    *tests = '\0';
    return path;
}

/* --- inside a process -------------------------------------------------------------- */

/* Instead of the C library's, for SQLite: what is played here need not outlive the machine. */
__attribute__((visibility("default"))) int fdatasync(int fd) {
    (void)fd;
    return 0;
}

static struct {
    struct progress *progress;
    const struct sweep_row *row;
    const struct store *store;
    bool shared;
    unsigned part;   /* of the shared rows */
    unsigned target; /* site of the case */
    bool played[SWEEP_SITES]; /* of this case */
    pthread_mutex_t lock;
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sweep_problem(const char *fmt, ...) {
    struct progress *p = here.progress;
    va_list ap;
    if (p->nproblems == PROBLEMS)
        return;
    struct problem *found = &p->problems[p->nproblems++];
    memcpy(found->row, p->row, sizeof(found->row));
    memcpy(found->at, p->at, sizeof(found->at));
    va_start(ap, fmt);
    vsnprintf(found->text, sizeof(found->text), fmt, ap);
    va_end(ap);
}

#define ON_LOOP 512 /* as a flag of a row: neither pure, SWEEP_ANY_THREAD nor SWEEP_IN_CALL */

static unsigned lacks(const struct sweep *cx) {
    return (cx->call ? 0 : SWEEP_IN_CALL) | (cx->event ? 0 : SWEEP_IN_EVENT) |
           (cx->owner->store ? 0 : SWEEP_STORED) |
           (cx->napprovals || cx->ncalls ? 0 : SWEEP_ASKED) |
           (cx->outbound ? 0 : SWEEP_SENDING) | (cx->on_thread ? ON_LOOP : 0);
}

static bool fits(const struct sweep_row *row, unsigned missing) {
    unsigned needs = row->flags;
    if (!(needs & (SWEEP_ANY_THREAD | SWEEP_IN_CALL)) && (needs & SWEEP_PURE) != SWEEP_PURE)
        needs |= ON_LOOP;
    return row->fn && !(needs & missing);
}

static unsigned site_of(const char *site) {
    struct progress *p = here.progress;
    unsigned i = 0;
    while (i < p->nsites && strcmp(p->sites[i], site) != 0)
        i++;
    return i;
}

static void call(struct sweep *cx, const struct sweep_row *row, const char *site) {
    if (!fits(row, lacks(cx)))
        return;
    snprintf(here.progress->row, sizeof(here.progress->row), "%s%s%s%s", row->name,
             row->note ? " (" : "", row->note ? row->note : "", row->note ? ")" : "");
    snprintf(here.progress->at, sizeof(here.progress->at), "%s", site);
    if (row->flags & SWEEP_ROUND)
        here.progress->site = site_of(site);
    guard_frees(true);
    row->fn(cx);
    here.progress->calls++;
}

static bool wanted(const struct sweep_mode *mode, const char *site) {
    char word[100];
    snprintf(word, sizeof(word), " %s ", site);
    return !mode->only || strstr(mode->only, word);
}

/* Sites are noted while the mode is played for the first time. */
static void note_site(struct sweep *cx, const char *site) {
    struct progress *p = here.progress;
    pthread_mutex_lock(&here.lock);
    unsigned i = site_of(site);
    if (i == p->nsites && i < SWEEP_SITES && wanted(cx->mode, site)) {
        p->lacks[i] = lacks(cx);
        snprintf(p->sites[p->nsites++], sizeof(p->sites[0]), "%s", site);
    }
    if (cx->event) {
        p->seen[cx->event->type] = true;
        if (cx->event->type == CHELA_EV_CHILD)
            p->seen[cx->event->child.event->type] = true;
    }
    pthread_mutex_unlock(&here.lock);
}

static bool everything(void) {
    return getenv("SWEEP_ALL") || sweep.row || sweep.site;
}

/* The same for a row that shares its case. */
static bool due_shared(const struct sweep_row *row, unsigned number, unsigned site) {
    unsigned one_in = (row->flags & SWEEP_PURE) == SWEEP_PURE ? SAMPLE : 3;
    if (everything())
        return number % SHARED_PARTS == here.part;
    return (number + site) % one_in == here.store->number;
}

static bool due(const struct sweep_mode *mode, unsigned row, unsigned site) {
    unsigned turn = row + site + (unsigned)(mode - sweep_modes);
    if (here.row->flags & SWEEP_SENDING) /* few sites fit */
        return true;
    if (here.row->flags & SWEEP_ROUND || mode->only)
        return everything() || turn % 3 == here.store->number;
    return everything() || turn % SAMPLE - here.store->first < here.store->cases;
}

static void call_here(struct sweep *cx, const char *site) {
    unsigned i = site_of(site);
    if (i == here.progress->nsites || here.played[i])
        return; /* what the call before it led to */
    here.played[i] = true;
    if (!here.shared) {
        bool round = here.row->flags & SWEEP_ROUND && selected(sweep.site, site);
        if (round ? i >= here.target : i == here.target)
            call(cx, here.row, site);
        return;
    }
    EACH_ROW(row) {
        bool again = row > tables[t_]->rows && row[-1].fn == row->fn;
        if (row->flags & SWEEP_SHARED && selected(sweep.row, row->name) &&
            (!again || sweep.row) && due_shared(row, (unsigned)(row - tables[t_]->rows), i))
            call(cx, row, site);
    }
    snprintf(here.progress->row, sizeof(here.progress->row), "after all that share a case");
}

static void play(const struct sweep_mode *mode, const char *store_url, unsigned serial) {
    static struct sweep cx;
    size_t before = guard_live();
    cx = (struct sweep){.mode = mode, .dir = sweep.dir, .modules = build_dir(),
                        .store_url = store_url, .serial = serial,
                        .at = here.row || here.shared ? call_here : note_site};
    memset(here.played, 0, sizeof(here.played));
    here.progress->cases++;
    guard_frees(!here.row); /* until its call, a case does what the recording did */
    alarm(here.shared ? 10 * CASE_SECONDS : CASE_SECONDS);
    sweep_play(&cx);
    alarm(0);
    size_t left = guard_live() - before;
    if (left) {
        sweep_problem("%zu allocations were not freed", left);
        _exit(0); /* the next process goes on with clean memory */
    }
    guard_drop();
}

static void on_death(int sig) {
    void *frames[40];
    int n = backtrace(frames, 40);
    backtrace_symbols_fd(frames, n, 2);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* In a process of the sweep: cmocka would take a signal for the end of a test, and
 * go on with the next. */
static void leave_cmocka(void (*handler)(int)) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], handler);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

/* The library remembers secrets, to blank them out in messages, and what sandbox
 * the machine can make, for the whole process. Neither is a leak of the case that
 * comes first. */
static void warm_up(void) {
    struct chela_error err = {0};
    chela_runtime *rt = NULL;
    chela_agent *agents[2] = {NULL};
    chela_gateway *gw = NULL;
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo");
    struct chela_gateway_opts serve = CHELA_GATEWAY_OPTS(
            .listen = "127.0.0.1:0", .token = SWEEP_TOKEN, .agents = agents);
    struct chela_channel_opts chat = CHELA_CHANNEL_OPTS(
            .name = "feishu", .account = "a", .secret = "b", .domain = "http://127.0.0.1:9");
    if (chela_runtime_new(NULL, &rt, &err) == 0 &&
        chela_agent_new(rt, &opts, &agents[0], &err) == 0)
        chela_gateway_new(rt, &serve, &gw, &err);
    chela_free(chela_runtime_survey(rt, NULL));
    chela_free(chela_channel_survey(rt, &chat, NULL));
    chela_gateway_close(gw);
    chela_runtime_close(rt);
}

_Noreturn static void process(const struct worker *w, const struct sweep_mode *mode,
                              const struct store *store) {
    char url[300];
    snprintf(url, sizeof(url), "memory:");
    if (strcmp(store->name, "sqlite") == 0)
        snprintf(url, sizeof(url), "sqlite:%s/%d.db", sweep.dir, (int)getpid());
    dup2(fileno(w->err), 2);
    leave_cmocka(on_death);
    here.progress = w->progress;
    here.row = w->row;
    here.shared = w->shared;
    here.part = w->serial;
    here.store = store;
    const char *given = strcmp(store->name, "none") == 0 ? NULL : url;
    if (!w->row || w->shared) {
        w->progress->site = w->from;
        play(mode, given, 0);
        w->progress->site = SWEEP_SITES;
        _exit(0);
    }
    bool round = w->row->flags & SWEEP_ROUND;
    for (unsigned i = w->from; i < (round ? w->from + 1 : w->progress->nsites); i++) {
        w->progress->site = here.target = i;
        if (round ? due(mode, w->serial, 0)
                  : selected(sweep.site, w->progress->sites[i]) &&
                        fits(w->row, w->progress->lacks[i]) && due(mode, w->serial, i))
            play(mode, given, i);
    }
    w->progress->site = SWEEP_SITES;
    _exit(0);
}

/* --- the test's side ------------------------------------------------------------------ */

static char *copy(const char *text) {
    char *out = strdup(text);
    if (!out)
        abort();
    return out;
}

static void finding(const char *row, const char *site, const char *text, const char *words) {
    struct finding *f = sweep.findings, *end = f + sweep.nfindings;
    while (f < end && (strcmp(f->row, row) != 0 || strcmp(f->text, text) != 0))
        f++;
    if (f < end) {
        char *sites = NULL;
        if (asprintf(&sites, "%s, %s", f->sites, site) < 0)
            abort();
        free(f->sites);
        f->sites = sites;
        return;
    }
    f = realloc(sweep.findings, (sweep.nfindings + 1) * sizeof(*f));
    if (!f)
        abort();
    sweep.findings = f;
    f[sweep.nfindings++] = (struct finding){copy(row), copy(text), copy(site), copy(words)};
}

static void launch(struct worker *w, const struct sweep_mode *mode, const struct store *store) {
    w->progress->nproblems = w->progress->calls = w->progress->cases = 0;
    w->progress->site = 0;
    snprintf(w->progress->row, sizeof(w->progress->row), "no call");
    w->progress->at[0] = '\0';
    w->err = tmpfile();
    fflush(NULL);
    w->pid = fork();
    if (w->pid < 0)
        fail_msg("fork: %s", strerror(errno));
    if (w->pid == 0)
        process(w, mode, store);
}

/* The first lines of what the process wrote before it died. */
static void last_words(struct worker *w, char *out, size_t max) {
    rewind(w->err);
    size_t n = fread(out, 1, max - 2, w->err);
    while (n && out[n - 1] == '\n')
        n--;
    out[n] = '\0';
}

static void remove_database(pid_t pid) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    char path[300];
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(path, sizeof(path), "%s/%d.db%s", sweep.dir, (int)pid, ends[i]);
        unlink(path);
    }
}

/* The process has ended: note what it found. Is there more to play? */
static bool collect(struct worker *w, int status) {
    struct progress *p = w->progress;
    char words[3000];
    bool died = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
    last_words(w, words, sizeof(words));
    fclose(w->err);
    remove_database(w->pid);
    w->pid = 0;
    sweep.calls += p->calls;
    sweep.cases += p->cases;
    for (unsigned i = 0; i < p->nproblems; i++)
        finding(p->problems[i].row, p->problems[i].at, p->problems[i].text, "");
    for (size_t i = 0; i < EVENT_TYPES; i++)
        sweep.seen[i] |= p->seen[i];
    if (died)
        finding(p->row, p->at,
                !WIFSIGNALED(status)           ? "the process ended"
                : WTERMSIG(status) == SIGALRM ? "takes too long"
                                              : strsignal(WTERMSIG(status)),
                words);
    if (p->site == SWEEP_SITES || w->shared || !w->row)
        return false;
    w->from = p->site + 1;
    w->deaths += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? 3 : 1;
    return w->deaths < MOST_DEATHS;
}

static void run_worker(struct worker *w, const struct sweep_mode *mode,
                       const struct store *store) {
    int status;
    launch(w, mode, store);
    while (waitpid(w->pid, &status, 0) < 0)
        ;
    collect(w, status);
}

/* The next row that has cases of its own, after *i. */
static const struct sweep_row *next_row(size_t *i) {
    size_t k = 0;
    EACH_ROW(row) {
        if (k++ < *i || !row->fn || row->flags & SWEEP_SHARED || !selected(sweep.row, row->name))
            continue;
        *i = k;
        return row;
    }
    return NULL;
}

static void sweep_rows(const struct sweep_mode *mode, const struct store *store) {
    struct worker workers[MOST_WORKERS] = {0};
    size_t next = 0, busy = 0, n = mode->workers ? mode->workers : WORKERS;
    for (;;) {
        for (size_t i = 0; i < n; i++) {
            struct worker *w = &workers[i];
            if (w->pid)
                continue;
            const struct sweep_row *row = next_row(&next);
            if (!row)
                break;
            *w = (struct worker){.progress = sweep.slots[i], .row = row, .serial = (unsigned)next};
            launch(w, mode, store);
            busy++;
        }
        if (!busy)
            return;
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        for (size_t i = 0; i < n; i++)
            if (workers[i].pid == pid) {
                busy--;
                if (collect(&workers[i], status)) {
                    launch(&workers[i], mode, store);
                    busy++;
                }
            }
    }
}

static void report(void) {
    size_t n = sweep.nfindings;
    for (size_t i = 0; i < n; i++) {
        struct finding *f = &sweep.findings[i];
        fprintf(stderr, "%s: %s\n    at %s\n%s%s", f->row, f->text, f->sites, f->words,
                *f->words ? "\n" : "");
        free(f->row);
        free(f->text);
        free(f->sites);
        free(f->words);
    }
    free(sweep.findings);
    sweep.findings = NULL;
    sweep.nfindings = 0;
    if (n)
        fail_msg("%zu findings", n);
}

struct plan {
    const struct sweep_mode *mode;
    const struct store *store;
};

static bool have_sqlite(void) {
    char path[4200];
    snprintf(path, sizeof(path), "%s/libchela-store-sqlite.so", build_dir());
    return access(path, R_OK) == 0;
}

static void test_mode(void **state) {
    const struct plan *plan = *state;
    if (strcmp(plan->store->name, "sqlite") == 0 && !have_sqlite())
        skip();
    struct worker record = {.progress = sweep.slots[0]};
    struct worker shared = {.progress = sweep.slots[0], .shared = true};
    record.progress->nsites = 0;
    run_worker(&record, plan->mode, plan->store);
    for (size_t i = 1; i < MOST_WORKERS; i++)
        *sweep.slots[i] = *sweep.slots[0];
    if (!sweep.nfindings && !record.progress->nsites)
        finding("recording", "", "the mode has no sites", "");
    if (sweep.mode)
        for (unsigned i = 0; i < record.progress->nsites; i++)
            print_message("site %s\n", record.progress->sites[i]);
    if (!sweep.nfindings) {
        for (; shared.serial < (everything() ? SHARED_PARTS : 1); shared.serial++)
            run_worker(&shared, plan->mode, plan->store);
        sweep_rows(plan->mode, plan->store);
    }
    report();
}

/* --- completeness ---------------------------------------------------------------------- */

static bool has_row(const char *name) {
    EACH_ROW(row) {
        if (strcmp(row->name, name) == 0)
            return row->fn || row->note; /* exempt: with its reason */
    }
    return false;
}

/* The library's exported functions are read from the library. */
static void test_every_function_has_a_row(void **state) {
    char command[4200], name[128];
    unsigned n = 0, missing = 0;
    (void)state;
    snprintf(command, sizeof(command), "nm -D --defined-only '%s/libchela.so'", build_dir());
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fscanf(f, "%*s %*s %127s", name) == 1) {
        char *version = strchr(name, '@');
        if (version)
            *version = '\0';
        if (strncmp(name, "chela_", 6) != 0)
            continue;
        n++;
        if (!has_row(name)) {
            missing++;
            print_error("%s has no row in tests/support/sweep_rows_*.c\n", name);
        }
    }
    assert_int_equal(pclose(f), 0);
    assert_true(n > 100);
    assert_int_equal(missing, 0);
}

/* The sweep sees what it is there to see: a use after free ends the process. */
static void test_a_use_after_free_is_seen(void **state) {
    int status;
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, 2);
        leave_cmocka(SIG_DFL);
        guard_pages(true);
        char *text = chela_json_get("{\"a\":\"text\"}", 12, "/a", NULL);
        chela_free(text);
        (void)*(volatile char *)text;
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

/* Events about what only a vendor's service makes: the scripted model has none of it, and
 * tests/e2e/vendors.sh plays a service. Budgets are a gateway's, whose runs have no callback of
 * the host: tests/e2e/spending.sh. */
static bool is_seen_elsewhere(unsigned type) {
    return type == CHELA_EV_SERVER_TOOL || type == CHELA_EV_MEDIA || type == CHELA_EV_BUDGET;
}

/* Runs last: between them the modes pass through every other kind of event. */
static void test_every_event_is_a_site(void **state) {
    unsigned missing = 0;
    (void)state;
    for (unsigned i = 0; i < EVENT_TYPES; i++)
        if (!sweep.seen[i] && !is_seen_elsewhere(i) && ++missing)
            print_error("no mode passes through %s\n", chela_event_name(i));
    assert_int_equal(missing, 0);
    print_message("# %u calls in %u cases\n", sweep.calls, sweep.cases);
}

/* --- set-up ------------------------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int open_sweep(void **state) {
    const char *tmp = getenv("TMPDIR");
    (void)state;
    snprintf(sweep.dir, sizeof(sweep.dir), "%s/chela-sweep-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(sweep.dir))
        return -1;
    sweep_files(sweep.dir);
    guard_install(getenv("SWEEP_ALL") != NULL);
    guard_pages(false);
    warm_up();
    for (size_t i = 0; i < MOST_WORKERS; i++) {
        sweep.slots[i] = mmap(NULL, sizeof(struct progress), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (sweep.slots[i] == MAP_FAILED)
            return -1;
    }
    return 0;
}

static int close_sweep(void **state) {
    (void)state;
    return nftw(sweep.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv) {
    static struct CMUnitTest tests[64];
    static struct plan plans[60];
    static char names[60][64];
    size_t n = 0;
    sweep.mode = argc > 1 ? argv[1] : NULL;
    sweep.store = argc > 2 ? argv[2] : NULL;
    sweep.row = argc > 3 ? argv[3] : NULL;
    sweep.site = argc > 4 ? argv[4] : NULL;
    for (size_t m = 0; m < sweep_nmodes; m++)
        for (size_t s = 0; s < sizeof(stores) / sizeof(stores[0]); s++) {
            if (!selected(sweep.mode, sweep_modes[m].name) ||
                !selected(sweep.store, stores[s].name))
                continue;
            plans[n] = (struct plan){&sweep_modes[m], &stores[s]};
            snprintf(names[n], sizeof(names[n]), "%s, store %s", sweep_modes[m].name,
                     stores[s].name);
            tests[n] = (struct CMUnitTest){names[n], test_mode, NULL, NULL, &plans[n]};
            n++;
        }
    if (!n) {
        fprintf(stderr, "no such mode or store\n");
        return 2;
    }
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_every_function_has_a_row);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_a_use_after_free_is_seen);
    if (!sweep.mode)
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_every_event_is_a_site);
    return _cmocka_run_group_tests("callback_sweep", tests, n, open_sweep, close_sweep);
}
