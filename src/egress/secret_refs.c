/* secret_refs.c -- see secret_refs.h. */
#include "egress/secret_refs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "egress/egress.h"
#include "guard/secrets.h"

#define OPEN "{{secret:"
#define CLOSE "}}"

struct secret_ref {
    char *name, *value, *header; /* owned; header NULL: none */
    struct ch_egress *hosts;     /* owned */
};

struct ch_secret_refs {
    struct secret_ref v[CH_LIMIT_CONFIG_SECRETS];
    size_t n;
};

static void release_ref(struct secret_ref *r) {
    ch_free(r->name);
    ch_free(r->value);
    ch_free(r->header);
    ch_egress_free(r->hosts);
}

void ch_secret_refs_free(struct ch_secret_refs *list) {
    for (size_t i = 0; list && i < list->n; i++)
        release_ref(&list->v[i]);
    ch_free(list);
}

/* --- where a value comes from -------------------------------------------------------------- */

/* Reads until the end, or the time is over. */
static bool read_pipe(int fd, struct ch_buf *out) {
    int64_t due = ch_mono_ms(&ch_clock_system) + CH_LIMIT_SECRET_MS;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = due - ch_mono_ms(&ch_clock_system);
        if (left <= 0 || poll(&p, 1, (int)left) == 0)
            return false;
        char *room = ch_buf_reserve(out, 4096);
        ssize_t n = read(fd, room, 4096);
        if (n < 0 && errno != EINTR)
            return false;
        if (n == 0)
            return true;
        ch_buf_commit(out, n > 0 ? (size_t)n : 0);
        if (out->n > CH_LIMIT_SECRET_VALUE)
            return false;
    }
}

/* The program gets no input and no variables but PATH and HOME. */
static int run_command(const char *const *argv, const char *const *environment,
                       struct ch_buf *out) {
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    pid_t pid = 0;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    bool begun = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv,
                              (char *const *)environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    bool whole = begun && read_pipe(ends[0], out);
    close(ends[0]);
    if (begun && !whole)
        kill(pid, SIGKILL);
    while (begun && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int read_command(const struct ch_json *words,
                        const char *(*env)(const char *name, void *user), void *user,
                        struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const char **argv = ch_arena_zalloc(&arena, (words->n + 1) * sizeof(*argv));
    const char *environment[4] = {NULL};
    size_t n = 0, vars = 0;

    for (CH_JSON_EACH(word, words))
        argv[n++] = ch_arena_str(&arena, ch_json_str(word));
    static const char *const names[] = {"PATH", "HOME", "GNUPGHOME"};
    for (size_t i = 0; i < CH_LEN(names); i++) {
        const char *value = env ? env(names[i], user) : NULL;
        if (value)
            environment[vars++] = ch_arena_printf(&arena, "%s=%s", names[i], value);
    }
    return n ? run_command(argv, environment, out) : -1;
}

static int secret_read_value(const struct ch_json *source,
                             const char *(*env)(const char *name, void *user), void *user,
                             struct ch_buf *out) {
    struct ch_sv variable = ch_json_get_str(source, "env"), file = ch_json_get_str(source, "file");
    struct ch_sv credential = ch_json_get_str(source, "credential");
    CH_ARENA_AUTO arena = {0};

    if (variable.n) {
        const char *value = env ? env(ch_arena_str(&arena, variable), user) : NULL;
        ch_buf_add_str(out, value ? value : "");
    } else if (file.n) {
        ch_file_load(ch_arena_str(&arena, file), CH_LIMIT_SECRET_VALUE, out, NULL);
    } else if (credential.n) {
        const char *dir = env ? env("CREDENTIALS_DIRECTORY", user) : NULL;
        if (dir && !memchr(credential.p, '/', credential.n))
            ch_file_load(ch_arena_printf(&arena, "%s/%.*s", dir, CH_SV_FMT(credential)),
                         CH_LIMIT_SECRET_VALUE, out, NULL);
    } else if (ch_json_get(source, "command")) {
        if (read_command(ch_json_get(source, "command"), env, user, out) < 0)
            ch_buf_clear(out);
    }
    while (out->n && (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == '\r'))
        out->n--;
    return out->n && !memchr(out->p, '\n', out->n) && !memchr(out->p, '\0', out->n) ? 0
                                                                                  : CHELA_ENOENT;
}

/* --- the list ------------------------------------------------------------------------------- */

static int read_hosts(const struct ch_json *hosts, struct ch_egress **out,
                      struct chela_error *err) {
    CH_BUF_AUTO joined = {0};

    for (CH_JSON_EACH(host, hosts)) {
        if (ch_sv_is(ch_json_str(host), "*"))
            return ch_fail(err, CHELA_EINVAL, "\"*\" owns no secret: name the hosts");
        ch_buf_addf(&joined, "%s%.*s", joined.n ? "," : "", CH_SV_FMT(ch_json_str(host)));
    }
    if (!joined.n)
        return ch_fail(err, CHELA_EINVAL, "hosts: name the hosts that own it");
    return ch_egress_new(&(struct ch_egress_lists){.allow = ch_buf_str(&joined)}, out, err);
}

static int check_header(struct ch_sv header, struct chela_error *err) {
    const char *colon = header.n ? memchr(header.p, ':', header.n) : NULL;
    bool good = !header.n || (colon && colon > header.p && memmem(header.p, header.n, "{}", 2));

    for (size_t i = 0; i < header.n; i++)
        good &= (unsigned char)header.p[i] >= ' ' && header.p[i] != 127;
    return good ? 0 : ch_fail(err, CHELA_EINVAL, "header: expected \"Name: text {}\"");
}

int ch_secret_refs_add(struct ch_secret_refs **list, struct ch_sv name,
                       const struct ch_json *source,
                       const char *(*env)(const char *name, void *user), void *user,
                       struct chela_error *err) {
    struct chela_error why = {0};
    struct ch_sv header = ch_json_get_str(source, "header");
    CH_BUF_AUTO value = {0};

    if (*list && (*list)->n == CH_LIMIT_CONFIG_SECRETS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d secrets", CH_LIMIT_CONFIG_SECRETS);
    struct secret_ref r = {0};
    int rc = check_header(header, &why);
    if (rc == 0)
        rc = read_hosts(ch_json_get(source, "hosts"), &r.hosts, &why);
    if (rc == 0 && (rc = secret_read_value(source, env, user, &value)) < 0)
        ch_fail(&why, rc, "there is no value of one line at its source");
    if (rc < 0) {
        release_ref(&r);
        return ch_fail(err, rc, "secrets.%.*s: %s", CH_SV_FMT(name), why.message);
    }
    if (!*list)
        *list = ch_alloc(sizeof(**list));
    r.name = ch_strndup(name.p, name.n);
    r.value = ch_strndup(value.p, value.n);
    r.header = header.n ? ch_strndup(header.p, header.n) : NULL;
    ch_secret_add(r.value, "secret %s", r.name);
    (*list)->v[(*list)->n++] = r;
    return 0;
}

/* --- use -------------------------------------------------------------------------------------- */

static bool is_owner(const struct secret_ref *r, const struct ch_url *to) {
    struct ch_egress_finding f = ch_egress_judge(r->hosts, to);

    return f.verdict == CH_EGRESS_ALLOW && (to->tls || (f.named && ch_egress_is_inward(to)));
}

size_t ch_secret_refs_headers(const struct ch_secret_refs *list, const struct ch_url *to,
                              struct ch_arena *arena, const char **out, size_t max) {
    size_t n = 0;

    for (size_t i = 0; list && i < list->n && n < max; i++) {
        const struct secret_ref *r = &list->v[i];
        const char *at = r->header && is_owner(r, to) ? strstr(r->header, "{}") : NULL;
        if (at)
            out[n++] = ch_arena_printf(arena, "%.*s%s%s", (int)(at - r->header), r->header,
                                       r->value, at + 2);
    }
    return n;
}

static int fill_one(const struct ch_secret_refs *list, const struct ch_url *to, struct ch_sv name,
                    struct ch_buf *out, struct chela_error *err) {
    for (size_t i = 0; list && i < list->n; i++) {
        const struct secret_ref *r = &list->v[i];
        if (!ch_sv_is(name, r->name))
            continue;
        if (!is_owner(r, to))
            return ch_fail(err, CHELA_EPERM, "secret %s does not belong to %.*s", r->name,
                           CH_SV_FMT(to->host));
        ch_buf_add_str(out, r->value);
        return 0;
    }
    return ch_fail(err, CHELA_ENOENT, "there is no secret named %.*s",
                   CH_SV_FMT(ch_sv(name.p, CH_MIN(name.n, 64))));
}

int ch_secret_refs_fill(const struct ch_secret_refs *list, const struct ch_url *to,
                        struct ch_sv text, struct ch_buf *out, struct chela_error *err) {
    int rc = 0;

    while (rc == 0) {
        const char *open = memmem(text.p, text.n, OPEN, sizeof(OPEN) - 1);
        const char *from = open ? open + sizeof(OPEN) - 1 : NULL, *end = text.p + text.n;
        const char *close = open ? memmem(from, (size_t)(end - from), CLOSE, 2) : NULL;
        if (!close)
            break;
        ch_buf_add(out, text.p, (size_t)(open - text.p));
        rc = fill_one(list, to, ch_sv(from, (size_t)(close - from)), out, err);
        text = ch_sv(close + 2, (size_t)(end - close) - 2);
    }
    if (rc == 0)
        ch_buf_add_sv(out, text);
    return rc;
}
