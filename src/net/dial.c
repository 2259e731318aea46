/* dial.c -- see dial.h.
 *
 * libuv keeps three kinds of memory until its own callbacks have run: the
 * lookup, the connect request and the socket. Each is an allocation of its own
 * with a pointer back to the dial, cut when the dial ends first; so ending a
 * dial is immediate and nothing is shared afterwards. */
#include "net/dial.h"

#include <netdb.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct attempt {
    uv_connect_t req;
    uv_tcp_t *tcp;
    struct ch_dial *dial; /* NULL: nobody waits any more */
    struct attempt *next;
};

struct lookup {
    uv_getaddrinfo_t req;
    struct ch_dial *dial; /* NULL: nobody waits any more */
};

struct ch_dial {
    struct ch_loop *loop;
    char *host; /* owned */
    uint16_t port;
    const char *what; /* static */
    ch_dial_fn *fn;
    void *user;
    struct lookup *lookup;
    struct attempt *attempts; /* in flight */
    size_t count, tried;
    struct ch_timer stagger;
    struct ch_task failing;
    int error; /* libuv's; see note_error */
    union address addresses[CH_LIMIT_ADDRESSES];
};

static void try_next(struct ch_dial *d);

static void free_handle(uv_handle_t *handle) {
    ch_free(handle);
}

void ch_tcp_close(uv_tcp_t *tcp) {
    uv_close((uv_handle_t *)tcp, free_handle);
}

void ch_dial_cancel(struct ch_dial *d) {
    if (!d)
        return;
    if (d->lookup) {
        d->lookup->dial = NULL;
        uv_cancel((uv_req_t *)&d->lookup->req);
    }
    for (struct attempt *a = d->attempts; a; a = a->next) {
        a->dial = NULL;
        ch_tcp_close(a->tcp);
    }
    ch_timer_stop(d->loop, &d->stagger);
    ch_task_cancel(d->loop, &d->failing);
    ch_free(d->host);
    ch_free(d);
}

static void describe(const struct ch_dial *d, struct chela_error *err) {
    const char *open = strchr(d->host, ':') ? "[" : "", *close = *open ? "]" : "";

    switch (d->error) {
    case UV_ECONNREFUSED:
        ch_fail(err, CHELA_ENET, "connection refused by %s%s%s%s:%u", d->what, open, d->host,
                close, d->port);
        return;
    case UV_EAI_NONAME:
    case UV_EAI_NODATA:
        ch_fail(err, CHELA_ENET, "cannot find %s%s: no such host", d->what, d->host);
        return;
    case UV_EAI_AGAIN:
        ch_fail(err, CHELA_ENET, "cannot find %s%s: name lookup does not work now", d->what,
                d->host);
        return;
    }
    ch_fail(err, CHELA_ENET, "cannot connect to %s%s%s%s:%u: %s", d->what, open, d->host, close,
            d->port, uv_strerror(d->error));
}

static void fail_now(struct ch_task *task) {
    struct ch_dial *d = CH_CONTAINER(task, struct ch_dial, failing);
    struct chela_error err = {0};
    ch_dial_fn *fn = d->fn;
    void *user = d->user;

    describe(d, &err);
    ch_dial_cancel(d);
    fn(NULL, &err, user);
}

static void fail_later(struct ch_dial *d) {
    d->failing.fn = fail_now;
    ch_task_defer(d->loop, &d->failing);
}

/* Of several addresses the one that answered "no" tells most; an address
 * family this machine cannot use tells least, and comes first. */
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

    if (d)
        unlink_attempt(d, a);
    ch_free(a);
    if (!d)
        return; /* the socket is being closed already */
    if (status < 0) {
        note_error(d, status);
        ch_tcp_close(tcp);
        try_next(d);
        return;
    }
    ch_dial_fn *fn = d->fn;
    void *user = d->user;
    ch_dial_cancel(d);
    fn(tcp, NULL, user);
}

static int begin_attempt(struct ch_dial *d, const union address *to) {
    uv_tcp_t *tcp = ch_alloc(sizeof(*tcp));
    struct attempt *a = ch_alloc(sizeof(*a));

    uv_tcp_init(ch_loop_uv(d->loop), tcp);
    uv_tcp_nodelay(tcp, 1);
    uv_tcp_keepalive(tcp, 1, CH_DEFAULT_TCP_KEEPALIVE_S);
    int rc = uv_tcp_connect(&a->req, tcp, &to->any, on_connect);
    if (rc < 0) {
        ch_free(a);
        ch_tcp_close(tcp);
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

static void try_next(struct ch_dial *d) {
    ch_timer_stop(d->loop, &d->stagger);
    while (d->tried < d->count) {
        int rc = begin_attempt(d, &d->addresses[d->tried++]);
        if (rc == 0)
            break;
        note_error(d, rc);
    }
    if (!d->attempts)
        fail_later(d);
    else if (d->tried < d->count)
        ch_timer_start(d->loop, &d->stagger, CH_DEFAULT_STAGGER_MS, on_stagger);
}

static const struct addrinfo *skip_to(const struct addrinfo *at, bool same, int family) {
    while (at && ((at->ai_family == family) != same ||
                  (at->ai_family != AF_INET && at->ai_family != AF_INET6)))
        at = at->ai_next;
    return at;
}

/* Keep the resolver's order within a family, alternate between the two. */
static void keep_addresses(struct ch_dial *d, const struct addrinfo *list) {
    int first = list->ai_family;
    const struct addrinfo *side[2] = {skip_to(list, true, first), skip_to(list, false, first)};

    for (unsigned turn = 0; d->count < CH_LIMIT_ADDRESSES && (side[0] || side[1]); turn++) {
        const struct addrinfo **from = &side[turn % 2];
        if (!*from)
            continue;
        memcpy(&d->addresses[d->count++], (*from)->ai_addr, (*from)->ai_addrlen);
        *from = skip_to((*from)->ai_next, turn % 2 == 0, first);
    }
}

static void on_lookup(uv_getaddrinfo_t *req, int status, struct addrinfo *list) {
    struct lookup *l = CH_CONTAINER(req, struct lookup, req);
    struct ch_dial *d = l->dial;

    ch_free(l);
    if (d) {
        d->lookup = NULL;
        if (status == 0 && list)
            keep_addresses(d, list);
        else
            d->error = status ? status : UV_EAI_NONAME;
    }
    uv_freeaddrinfo(list);
    if (d)
        try_next(d);
}

static void begin_lookup(struct ch_dial *d) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct lookup *l = ch_alloc(sizeof(*l));
    char port[8];

    snprintf(port, sizeof(port), "%u", d->port);
    int rc = uv_getaddrinfo(ch_loop_uv(d->loop), &l->req, on_lookup, d->host, port, &hints);
    if (rc < 0) {
        ch_free(l);
        note_error(d, rc);
        fail_later(d);
        return;
    }
    l->dial = d;
    d->lookup = l;
}

static bool literal(struct ch_dial *d, const char *text) {
    union address *to = &d->addresses[d->count];
    bool ok = uv_ip4_addr(text, d->port, &to->v4) == 0 || uv_ip6_addr(text, d->port, &to->v6) == 0;
    d->count += ok;
    return ok;
}

struct ch_dial *ch_dial_start(struct ch_loop *loop, const char *host, uint16_t port,
                              const char *what, ch_dial_fn *fn, void *user) {
    struct ch_dial *d = ch_alloc(sizeof(*d));

    *d = (struct ch_dial){.loop = loop, .host = ch_strdup(host), .port = port, .what = what,
                          .fn = fn, .user = user};
    if (strcasecmp(host, "localhost") == 0) {
        literal(d, "::1");
        literal(d, "127.0.0.1");
        try_next(d);
    } else if (literal(d, host)) {
        try_next(d);
    } else {
        begin_lookup(d);
    }
    return d;
}
