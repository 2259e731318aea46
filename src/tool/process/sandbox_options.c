/* sandbox_options.c -- converts the host's sandbox options to a policy. */
#include "tool/process/sandbox_options.h"

#include "chela/sandbox.h"

#include "base/choice.h"
#include "base/error.h"
#include "base/opts.h"
#include "egress/egress.h"
#include "tool/process/sandbox_policy.h"

static int read_mode(enum chela_sandbox_mode choice, enum ch_sandbox_mode *out,
                     struct chela_error *err) {
    *out = choice == CHELA_SANDBOX_REQUIRED ? CH_SANDBOX_REQUIRED
           : choice == CHELA_SANDBOX_OFF    ? CH_SANDBOX_OFF
                                            : CH_SANDBOX_AUTO;
    return ch_choice_check(CHELA_CHOICE_SANDBOX_MODE, choice, err);
}

static int read_network(enum chela_network choice, enum ch_sandbox_network *out,
                        struct chela_error *err) {
    *out = choice == CHELA_NETWORK_HOST   ? CH_SANDBOX_NET_HOST
           : choice == CHELA_NETWORK_NONE ? CH_SANDBOX_NET_NONE
                                          : CH_SANDBOX_NET_HOSTS;
    return ch_choice_check(CHELA_CHOICE_NETWORK, choice, err);
}

static int check_hosts(const char *hosts, struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(hosts);
    struct chela_error why = {0};

    while (rest.n) {
        struct ch_sv one = ch_sv_trim(ch_sv_split(&rest, ','));
        if (ch_egress_check(one, &why) < 0)
            return ch_fail(err, CHELA_EINVAL, "sandbox network: %s", why.message);
    }
    return 0;
}

static int check_paths(const char *what, const char *const *paths, struct chela_error *err) {
    for (; paths && *paths; paths++)
        if ((*paths)[0] != '/')
            return ch_fail(err, CHELA_EINVAL, "sandbox %s: '%s' is not an absolute path", what,
                           *paths);
    return 0;
}

static bool is_tidy(const char *path) {
    struct ch_sv rest = ch_sv_str(*path == '/' ? path + 1 : path);

    if (!rest.n)
        return false;
    while (rest.n) {
        struct ch_sv part = ch_sv_split(&rest, '/');
        if (!part.n || ch_sv_is(part, ".") || ch_sv_is(part, ".."))
            return false;
    }
    return true;
}

static int check_protected(const char *const *paths, struct chela_error *err) {
    for (; paths && *paths; paths++)
        if (!is_tidy(*paths))
            return ch_fail(err, CHELA_EINVAL,
                           "sandbox protect: '%s' is neither absolute nor below the workspace, "
                           "without . and ..",
                           *paths);
    return 0;
}

static size_t sandbox_options_count(const char *const *list) {
    size_t n = 0;

    while (list && list[n])
        n++;
    return n;
}

/* "workspace" is a keyword; all other entries are paths. */
static int read_writable(struct ch_arena *a, const char *const *given,
                         struct ch_sandbox_policy *out, struct chela_error *err) {
    size_t n = sandbox_options_count(given);

    if (!given)
        return 0;
    const char **list = ch_arena_zalloc(a, (n + 1) * sizeof(*list));
    out->workspace_read_only = true;
    n = 0;
    for (; *given; given++)
        if (strcmp(*given, "workspace") == 0)
            out->workspace_read_only = false;
        else
            list[n++] = *given;
    out->writable = list;
    return check_paths("writable", list, err);
}

/* The given list or the default one, plus additional paths. */
static const char *const *join_protected(struct ch_arena *a, const struct chela_sandbox_opts *o) {
    const char *const *first = o->protect ? o->protect : ch_sandbox_protected;
    size_t n = sandbox_options_count(first), more = sandbox_options_count(o->protect_more);

    if (!more)
        return o->protect;
    const char **list = ch_arena_zalloc(a, (n + more + 1) * sizeof(*list));
    memcpy(list, first, n * sizeof(*list));
    memcpy(list + n, o->protect_more, more * sizeof(*list));
    return list;
}

static uint64_t sandbox_options_limit(int64_t given) {
    return given < 0 ? UINT64_MAX : (uint64_t)given;
}

static uint64_t sandbox_options_seconds(int64_t ms) {
    return ms < 0 ? UINT64_MAX : ((uint64_t)ms + 999) / 1000;
}

int ch_sandbox_read(struct ch_arena *a, const struct chela_sandbox_opts *given,
                    struct ch_sandbox_policy **out, struct chela_error *err) {
    struct chela_sandbox_opts o;
    struct chela_sandbox_limits l;
    struct ch_sandbox_policy p = {0};

    int rc = CH_OPTS_READ(chela_sandbox_opts, &o, given, err);
    if (rc == 0)
        rc = CH_OPTS_READ(chela_sandbox_limits, &l, o.limits, err);
    if (rc == 0)
        rc = read_mode(o.mode, &p.mode, err);
    if (rc == 0)
        rc = read_network(o.network, &p.network, err);
    if (rc == 0)
        rc = check_hosts(o.network_hosts, err);
    if (rc == 0)
        rc = read_writable(a, o.writable, &p, err);
    if (rc == 0)
        rc = check_paths("readable", o.readable, err);
    if (rc == 0)
        rc = check_protected(o.protect, err);
    if (rc == 0)
        rc = check_protected(o.protect_more, err);
    if (rc == 0)
        rc = check_paths("ask", o.ask, err);
    if (rc == 0)
        rc = check_paths("hide", o.hide, err);
    if (rc < 0)
        return rc;
    p.readable = o.readable;
    p.home = o.home;
    p.hosts = o.network_hosts;
    p.protect = join_protected(a, &o);
    p.helper = o.helper;
    p.limits = (struct ch_sandbox_limits){
        .cpu_s = sandbox_options_seconds(l.cpu_ms),
        .memory = sandbox_options_limit(l.memory),
        .file_size = sandbox_options_limit(l.file_size),
        .files = sandbox_options_limit(l.files),
        .processes = sandbox_options_limit(l.processes),
        .tmp = sandbox_options_limit(l.tmp),
        .disk = sandbox_options_limit(l.disk),
        .disk_files = sandbox_options_limit(l.disk_files),
    };
    *out = ch_sandbox_copy(a, &p);
    for (const char *const *path = o.ask; path && *path; path++)
        ch_sandbox_add_ask(a, *out, *path);
    for (const char *const *path = o.hide; path && *path; path++)
        ch_sandbox_add_hide(a, *out, *path);
    return 0;
}
