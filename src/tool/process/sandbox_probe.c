/* sandbox_probe.c -- finds chela-sandbox and tests its layers.
 *
 * `chela-sandbox --probe` tries every layer and prints a line about each. The result is
 * cached for the life of the process, because calls on any thread hold pointers into it. A
 * result that lacks descriptors or processes to run the probe is not used a second time.
 * There is one result per path of chela-sandbox, in practice one. This cache is
 * process-wide, not per runtime, because it describes the kernel. */
#include "tool/process/sandbox_probe.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "io/child.h"
#include "io/module.h"
#include "io/spawn.h"
#include "tool/process/sandbox_private.h"

#ifndef CHELA_LIBEXEC
#define CHELA_LIBEXEC "/usr/local/libexec/chela"
#endif
#define PROBE_MS 10000
#define ANSWER_MAX (16 * CH_KB)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ch_sandbox_facts *known; /* under lock; never freed */

/* --- finding chela-sandbox */

static bool is_program(const char *path) {
    return access(path, X_OK) == 0;
}

/* Searches next to the library in a build tree; below the prefix, also if moved; in the
 * configured installation directory. */
static char *find_helper(const char *given) {
    static const char *const beside[] = {"chela-sandbox", "../libexec/chela/sandbox",
                                         "../../libexec/chela/sandbox"};
    CH_BUF_AUTO dir = {0}, path = {0};

    if (given) { /* absolute, because the program starts in another directory */
        char *here = given[0] == '/' ? NULL : getcwd(NULL, 0);
        ch_buf_addf(&path, "%s%s%s", here ? here : "", here ? "/" : "", given);
        free(here);
        return is_program(ch_buf_str(&path)) ? ch_buf_take(&path) : NULL;
    }
    if (ch_module_directory(&dir) == 0)
        for (size_t i = 0; i < CH_LEN(beside); i++) {
            ch_buf_clear(&path);
            ch_buf_addf(&path, "%s/%s", ch_buf_str(&dir), beside[i]);
            if (is_program(ch_buf_str(&path)))
                return ch_buf_take(&path);
        }
    return is_program(CHELA_LIBEXEC "/sandbox") ? ch_strdup(CHELA_LIBEXEC "/sandbox") : NULL;
}

/* PATH is not used: the environment must not select the sandbox program. */
static const char *find_bwrap(void) {
    static const char *const places[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap",
                                         "/run/wrappers/bin/bwrap"};

    for (size_t i = 0; i < CH_LEN(places); i++)
        if (is_program(places[i]))
            return places[i];
    return NULL;
}

/* --- running the probe */

static bool sandbox_probe_read_some(int fd, int64_t until, struct ch_buf *out) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t left = until - ch_mono_ms(&ch_clock_system);
    char *at = ch_buf_reserve(out, CH_KB);

    if (!at || left <= 0)
        return false;
    int rc = poll(&p, 1, (int)left);
    if (rc < 0 && errno == EINTR)
        return true;
    ssize_t n = rc > 0 ? read(fd, at, CH_KB) : 0;
    ch_buf_commit(out, n > 0 ? (size_t)n : 0);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Run a program to its end and collect its output. Blocks. */
static int run_and_read(const char *const *argv, struct ch_buf *out, struct chela_error *err) {
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct ch_child_opts opts = {.argv = argv, .env = env, .cwd = "/", .merge = true};
    struct ch_spawn_fds io;
    pid_t pid;

    int rc = ch_spawn_fds_open(&io, &opts, err);
    if (rc < 0)
        return rc;
    rc = ch_spawn(&opts, &io, &pid, err);
    ch_spawn_fds_close_theirs(&io);
    int64_t until = ch_mono_ms(&ch_clock_system) + PROBE_MS;
    while (rc == 0 && sandbox_probe_read_some(io.ours[1], until, out))
        ;
    close(io.ours[1]);
    if (rc < 0)
        return rc;
    kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

/* --- parsing the result */

struct answer {
    bool ok;
    struct ch_sv why;
};

static struct answer find_answer(struct ch_sv text, const char *name) {
    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        if (!ch_sv_is(ch_sv_split(&line, '\t'), name))
            continue;
        bool ok = ch_sv_is(ch_sv_split(&line, '\t'), "ok");
        return (struct answer){.ok = ok, .why = line};
    }
    return (struct answer){.why = CH_SV("the probe did not say")};
}

static char *sandbox_probe_copy(struct ch_sv s) {
    return ch_strndup(s.p ? s.p : "", s.n);
}

static void sandbox_probe_set(struct ch_sandbox_facts *f, enum ch_sandbox_layer_id layer, bool ok,
                              const char *why) {
    f->layers[layer].ok = ok;
    f->layers[layer].why = why;
}

static void sandbox_probe_set_plain(struct ch_sandbox_facts *f, enum ch_sandbox_layer_id layer,
                                    struct ch_sv text) {
    struct answer a = find_answer(text, f->layers[layer].name);

    sandbox_probe_set(f, layer, a.ok, sandbox_probe_copy(a.why));
}

static void set_namespaces(struct ch_sandbox_facts *f, struct ch_sv text) {
    struct answer bwrap = find_answer(text, "bwrap"), own = find_answer(text, "namespaces");
    CH_BUF_AUTO why = {0};

    /* bubblewrap is one program more to start, for each command */
    f->own = own.ok;
    f->bwrap = bwrap.ok && !own.ok ? find_bwrap() : NULL;
    if (own.ok)
        ch_buf_add_str(&why, "made by chela-sandbox");
    else if (bwrap.ok)
        ch_buf_addf(&why, "bubblewrap (%s); not by chela-sandbox: %.*s", f->bwrap,
                    CH_SV_FMT(own.why));
    else
        ch_buf_addf(&why, "bubblewrap: %.*s; chela-sandbox: %.*s", CH_SV_FMT(bwrap.why),
                    CH_SV_FMT(own.why));
    sandbox_probe_set(f, CH_LAYER_NAMESPACES, bwrap.ok || own.ok, ch_buf_take(&why));
}

/* Set the layers that follow from the others. */
static void set_derived(struct ch_sandbox_facts *f) {
    bool boxed = f->bwrap || f->own;

    if (boxed)
        sandbox_probe_set(f, CH_LAYER_NETWORK, true, "an empty network namespace");
    else if (f->layers[CH_LAYER_SECCOMP].ok)
        sandbox_probe_set(f, CH_LAYER_NETWORK, true, "no sockets (seccomp)");
    else
        sandbox_probe_set(f, CH_LAYER_NETWORK, false, "needs namespaces or seccomp");
    sandbox_probe_set(f, CH_LAYER_PROTECTED, boxed,
                      boxed ? "read-only mounts" : "needs namespaces");
    sandbox_probe_set(f, CH_LAYER_TREE, true,
                      boxed ? "a PID namespace"
                            : "by looking for them: needs namespaces to be sure");
}

static void set_all_missing(struct ch_sandbox_facts *f, const char *why) {
    for (size_t i = 0; i < CH_LAYERS; i++)
        sandbox_probe_set(f, (enum ch_sandbox_layer_id)i, false, why);
}

static const struct ch_sandbox_layer rows[CH_LAYERS] = {
    [CH_LAYER_HELPER] = {.name = "helper", .needed = true},
    [CH_LAYER_NAMESPACES] = {.name = "namespaces", .needed = true},
    [CH_LAYER_LANDLOCK] = {.name = "landlock", .needed = true},
    [CH_LAYER_SECCOMP] = {.name = "seccomp", .needed = true},
    [CH_LAYER_PRIVILEGES] = {.name = "no_new_privs", .needed = true},
    [CH_LAYER_LIMITS] = {.name = "limits", .needed = true},
    [CH_LAYER_PROCESSES] = {.name = "processes"},
    [CH_LAYER_NETWORK] = {.name = "network", .needed = true},
    [CH_LAYER_PROTECTED] = {.name = "protected paths", .needed = true},
    [CH_LAYER_TREE] = {.name = "end of all processes"},
};

static struct ch_sandbox_facts *find_out(const char *given) {
    static const enum ch_sandbox_layer_id plain[] = {CH_LAYER_LANDLOCK, CH_LAYER_SECCOMP,
                                                     CH_LAYER_PRIVILEGES, CH_LAYER_LIMITS,
                                                     CH_LAYER_PROCESSES};
    struct ch_sandbox_facts *f = ch_alloc(sizeof(*f));
    CH_BUF_AUTO text = {.max = ANSWER_MAX}, bwrap = {0};
    struct chela_error err = {0};

    memcpy(f->layers, rows, sizeof(rows));
    f->given = given ? ch_strdup(given) : NULL;
    f->warned = ch_alloc(sizeof(*f->warned));
    atomic_init(f->warned, false);
    f->helper = find_helper(given);
    if (!f->helper) {
        set_all_missing(f, "chela-sandbox is not installed");
        return f;
    }
    ch_buf_addf(&bwrap, "--bwrap=%s", find_bwrap());
    const char *const argv[] = {f->helper, "--probe", find_bwrap() ? ch_buf_str(&bwrap) : NULL,
                                NULL};
    if (run_and_read(argv, &text, &err) < 0) {
        f->temporary = err.code == CHELA_ELIMIT;
        set_all_missing(f, ch_strdup(err.message));
        return f;
    }
    sandbox_probe_set(f, CH_LAYER_HELPER, true, f->helper);
    for (size_t i = 0; i < CH_LEN(plain); i++)
        sandbox_probe_set_plain(f, plain[i], ch_buf_sv(&text));
    set_namespaces(f, ch_buf_sv(&text));
    set_derived(f);
    return f;
}

static bool sandbox_probe_same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

const struct ch_sandbox_facts *ch_sandbox_facts(const char *helper) {
    struct ch_sandbox_facts *f;

    pthread_mutex_lock(&lock);
    for (f = known; f && (f->temporary || !sandbox_probe_same(f->given, helper)); f = f->next)
        ;
    if (!f) {
        f = find_out(helper);
        f->next = known;
        known = f;
    }
    pthread_mutex_unlock(&lock);
    return f;
}

const struct ch_sandbox_layer *ch_sandbox_probe(const char *helper, size_t *n) {
    *n = CH_LAYERS;
    return ch_sandbox_facts(helper)->layers;
}
