/* dial.c -- see dial.h.
 *
 * libuv keeps the connect request and the socket of an attempt until its
 * callbacks have run. They are separate allocations with a pointer back to the
 * dial, which is cleared when the dial ends first. Ending a dial is therefore
 * immediate and leaves nothing shared. */
#include "net/dial.h"

#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

struct attempt {
    uv_connect_t req;
    uv_tcp_t *tcp;
    struct ch_dial *dial; /* NULL: the dial has ended */
    struct attempt *next;
};

struct ch_dial {
    struct ch_loop *loop;
    char *host; /* owned */
    uint16_t port;
    const char *what; /* static */
    ch_dial_fn *fn;
    void *user;
    struct ch_resolver *resolver; /* borrowed */
    struct ch_name_lookup lookup;
    struct attempt *attempts; /* in flight */
    size_t count, tried;
    struct ch_timer stagger;
    struct ch_task failing, opened;
    uv_tcp_t *given; /* owned: the socket that is connected already; NULL: none */
    const struct ch_address_filter *filter; /* borrowed; may be NULL */
    const char *refused;                    /* the kind of address it refused; static */
    int error;                              /* libuv's; see note_error */
    union ch_address *addresses;            /* owned; with the port */
};

static void try_next(struct ch_dial *d);

static void free_handle(uv_handle_t *handle) {
    ch_free(handle);
}

static void dial_close_socket(uv_tcp_t *tcp) {
    uv_close((uv_handle_t *)tcp, free_handle);
}

void ch_dial_cancel(struct ch_dial *d) {
    if (!d)
        return;
    ch_lookup_cancel(&d->lookup);
    for (struct attempt *a = d->attempts; a; a = a->next) {
        a->dial = NULL;
        dial_close_socket(a->tcp);
    }
    ch_timer_stop(d->loop, &d->stagger);
    ch_task_cancel(d->loop, &d->failing);
    ch_task_cancel(d->loop, &d->opened);
    if (d->given)
        dial_close_socket(d->given);
    ch_free(d->addresses);
    ch_free(d->host);
    ch_free(d);
}

static void dial_describe(const struct ch_dial *d, struct chela_error *err) {
    const char *open = strchr(d->host, ':') ? "[" : "", *close = *open ? "]" : "";

    if (d->refused && d->error == 0) {
        ch_fail(err, CHELA_EPERM,
                "%s%s%s%s resolves to an address (%s) that is not allowed", d->what,
                open, d->host, close, d->refused);
        return;
    }
    switch (d->error) {
    case UV_ECONNREFUSED:
        ch_fail(err, CHELA_ENET, "connection refused by %s%s%s%s:%u", d->what, open, d->host, close,
                d->port);
        return;
    case UV_EAI_NONAME:
    case UV_EAI_NODATA:
        ch_fail(err, CHELA_ENET, "cannot find %s%s: no such host", d->what, d->host);
        return;
    case UV_EAI_AGAIN:
        ch_fail(err, CHELA_ENET, "cannot find %s%s: name lookup failed temporarily", d->what,
                d->host);
        return;
    }
    ch_fail(err, CHELA_ENET, "cannot connect to %s%s%s%s:%u: %s", d->what, open, d->host, close,
            d->port, uv_strerror(d->error));
}

static void dial_fail_now(struct ch_task *task) {
    struct ch_dial *d = CH_CONTAINER(task, struct ch_dial, failing);
    struct chela_error err = {0};
    ch_dial_fn *fn = d->fn;
    void *user = d->user;

    dial_describe(d, &err);
    ch_resolver_forget(d->resolver, d->host);
    ch_dial_cancel(d);
    fn(NULL, &err, user);
}

static void dial_fail_later(struct ch_dial *d) {
    d->failing.fn = dial_fail_now;
    ch_task_defer(d->loop, &d->failing);
}

/* Keep the most informative error: a refusal by an address says most; an
 * address family that this machine cannot use says least. */
static void note_error(struct ch_dial *d, int error) {
    if (d->error != UV_ECONNREFUSED)
        d->error = error;
}

static void unlink_attempt(struct ch_dial *d, struct attempt *a) {
    struct attempt **at = &d->attempts;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
}

static void on_connect(uv_connect_t *req, int status) {
    struct attempt *a = CH_CONTAINER(req, struct attempt, req);
    struct ch_dial *d = a->dial;
    uv_tcp_t *tcp = a->tcp;
    CH_LOOP_CALLBACK(d ? d->loop : NULL);

    if (d)
        unlink_attempt(d, a);
    ch_free(a);
    if (!d)
        return; /* the socket is already being closed */
    if (status < 0) {
        note_error(d, status);
        dial_close_socket(tcp);
        try_next(d);
        return;
    }
    ch_dial_fn *fn = d->fn;
    void *user = d->user;
    ch_dial_cancel(d);
    fn(tcp, NULL, user);
}

static int begin_attempt(struct ch_dial *d, const union ch_address *to) {
    uv_tcp_t *tcp = ch_alloc(sizeof(*tcp));
    struct attempt *a = ch_alloc(sizeof(*a));

    uv_tcp_init(ch_loop_uv(d->loop), tcp);
    uv_tcp_nodelay(tcp, 1);
    uv_tcp_keepalive(tcp, 1, CH_DEFAULT_TCP_KEEPALIVE_S);
    int rc = uv_tcp_connect(&a->req, tcp, &to->any, on_connect);
    if (rc < 0) {
        ch_free(a);
        dial_close_socket(tcp);
        return rc;
    }
    a->tcp = tcp;
    a->dial = d;
    a->next = d->attempts;
    d->attempts = a;
    return 0;
}

static void on_stagger(struct ch_timer *timer) {
    try_next(CH_CONTAINER(timer, struct ch_dial, stagger));
}

static bool allowed(struct ch_dial *d, const union ch_address *to) {
    const char *kind = d->filter ? d->filter->refuse(&to->any, d->filter->user) : NULL;
    if (kind)
        d->refused = kind;
    return !kind;
}

static void try_next(struct ch_dial *d) {
    ch_timer_stop(d->loop, &d->stagger);
    while (d->tried < d->count) {
        const union ch_address *to = &d->addresses[d->tried++];
        if (!allowed(d, to))
            continue;
        int rc = begin_attempt(d, to);
        if (rc == 0)
            break;
        note_error(d, rc);
    }
    if (!d->attempts)
        dial_fail_later(d);
    else if (d->tried < d->count)
        ch_timer_start(d->loop, &d->stagger, CH_DEFAULT_STAGGER_MS, on_stagger);
}

static void set_addresses(struct ch_dial *d, const union ch_address *list, size_t n) {
    d->addresses = ch_memdup(list, n * sizeof(*list));
    d->count = n;
    for (size_t i = 0; i < n; i++) {
        if (list[i].any.sa_family == AF_INET)
            d->addresses[i].v4.sin_port = htons(d->port);
        else
            d->addresses[i].v6.sin6_port = htons(d->port);
    }
}

static void on_lookup(struct ch_name_lookup *l, const struct ch_addresses *list, int error) {
    struct ch_dial *d = CH_CONTAINER(l, struct ch_dial, lookup);

    if (list)
        set_addresses(d, list->at, list->n);
    else
        note_error(d, error);
    try_next(d);
}

/* Addresses that need no lookup: literals, and localhost (IPv6 and IPv4). */
static size_t literals(const char *host, union ch_address out[2]) {
    if (strcasecmp(host, "localhost") == 0) {
        uv_ip6_addr("::1", 0, &out[0].v6);
        uv_ip4_addr("127.0.0.1", 0, &out[1].v4);
        return 2;
    }
    return uv_ip4_addr(host, 0, &out->v4) == 0 || uv_ip6_addr(host, 0, &out->v6) == 0;
}

static void find_addresses(struct ch_dial *d) {
    const struct ch_addresses *list = NULL;
    union ch_address few[2];
    size_t n = literals(d->host, few);

    d->lookup.fn = on_lookup;
    int rc = n ? 0 : ch_resolver_ask(d->resolver, d->host, &d->lookup, &list);
    if (n)
        set_addresses(d, few, n);
    else if (list)
        set_addresses(d, list->at, list->n);
    else if (rc == 0)
        return; /* on_lookup continues */
    if (rc < 0)
        note_error(d, rc);
    try_next(d);
}

static void dial_on_opened(struct ch_task *task) {
    struct ch_dial *d = CH_CONTAINER(task, struct ch_dial, opened);
    uv_tcp_t *tcp = CH_TAKE(d->given);
    ch_dial_fn *fn = d->fn;
    void *user = d->user;

    ch_dial_cancel(d);
    fn(tcp, NULL, user);
}

static void dial_open(struct ch_dial *d, int socket) {
    d->given = ch_alloc(sizeof(*d->given));
    uv_tcp_init(ch_loop_uv(d->loop), d->given);
    int rc = uv_tcp_open(d->given, socket);
    if (rc < 0) {
        close(socket);
        note_error(d, rc);
        dial_fail_later(d);
        return;
    }
    d->opened.fn = dial_on_opened;
    ch_task_defer(d->loop, &d->opened);
}

struct ch_dial *ch_dial_start(const struct ch_dial_opts *opts, ch_dial_fn *fn, void *user) {
    struct ch_dial *d = ch_alloc(sizeof(*d));

    d->loop = opts->loop;
    d->resolver = opts->resolver;
    d->host = ch_strdup(opts->host);
    d->port = opts->port;
    d->what = opts->what;
    d->filter = opts->filter;
    d->fn = fn;
    d->user = user;
    if (opts->socket > 0)
        dial_open(d, opts->socket);
    else
        find_addresses(d);
    return d;
}
