/* exchange.c -- see server.h for the contract with the owner, exchange.h for
 * the parts.
 *
 * No callback of the owner fires inside a call of the owner: the end of an
 * exchange is deferred to the loop's next iteration. */
#include "net/exchange.h"

#include <time.h>

#include "base/limits.h"

static void exchange_on_deadline(struct ch_timer *t);

static struct ch_loop *exchange_loop_of(const struct ch_exchange *x) {
    return x->client->server->loop;
}

/* --- begin and end */

void ch_exchange_init(struct ch_exchange *x, struct ch_client *c,
                      const struct ch_carrier *carrier) {
    x->client = c;
    x->carrier = carrier;
}

struct ch_inbound *ch_exchange_begin(struct ch_exchange *x) {
    if (!x->opening) {
        x->opening = ch_alloc(sizeof(*x->opening));
        ch_inbound_init(&x->opening->in);
    }
    return &x->opening->in;
}

bool ch_exchange_has_begun(const struct ch_exchange *x) {
    return x->opening && ch_inbound_has_begun(&x->opening->in);
}

static void release_opening(struct ch_exchange *x) {
    struct ch_opening *o = CH_TAKE(x->opening);
    if (!o)
        return;
    x->client->server->bodies -= o->charged;
    ch_inbound_release(&o->in);
    ch_buf_release(&o->headers);
    ch_free(o);
}

void ch_exchange_release(struct ch_exchange *x) {
    x->phase = CH_CLOSED;
    ch_timer_stop(exchange_loop_of(x), &x->deadline);
    ch_task_cancel(exchange_loop_of(x), &x->next);
    release_opening(x);
}

void ch_exchange_leave(struct ch_exchange *x) {
    void (*gone)(struct ch_exchange *, void *) = CH_TAKE(x->gone);
    if (gone && !x->client->server->closed)
        gone(x, x->user);
    x->carrier->drop(x);
}

static void leave_task(struct ch_task *t) {
    ch_exchange_leave(CH_CONTAINER(t, struct ch_exchange, next));
}

void ch_exchange_leave_soon(struct ch_exchange *x) {
    x->left = true;
    x->carrier->hush(x);
    x->next.fn = leave_task;
    ch_task_defer(exchange_loop_of(x), &x->next);
}

void ch_exchange_wait(struct ch_exchange *x, int64_t ms) {
    ch_timer_start(exchange_loop_of(x), &x->deadline, ms, exchange_on_deadline);
}

/* --- answer */

void ch_exchange_header(struct ch_exchange *x, const char *name, const char *value) {
    if (x->opening && !strpbrk(value, "\r\n"))
        ch_buf_addf(&x->opening->headers, "%s: %s\r\n", name, value);
}

bool ch_exchange_has_header(const struct ch_exchange *x, const char *name) {
    struct ch_sv lines = ch_exchange_headers(x);
    while (lines.n) {
        struct ch_sv line = ch_sv_split(&lines, '\n');
        if (ch_sv_eq_nocase(ch_sv_split(&line, ':'), ch_sv_str(name)))
            return true;
    }
    return false;
}

struct ch_sv ch_exchange_headers(const struct ch_exchange *x) {
    return x->opening ? ch_buf_sv(&x->opening->headers) : ch_sv("", 0);
}

void ch_exchange_add_date(const struct ch_exchange *x, struct ch_buf *out) {
    char date[64]; /* "Sun Nov  6 08:49:37 1994\n"; the names of strftime depend on the locale */
    struct tm tm;
    time_t now = (time_t)(ch_now_ms(ch_loop_clock(exchange_loop_of(x))) / 1000);
    if (gmtime_r(&now, &tm) && asctime_r(&tm, date))
        ch_buf_addf(out, "%.3s, %02d %.3s %.4s %.8s GMT", date, tm.tm_mday, date + 4, date + 20,
                    date + 11);
}

/* False: the exchange was answered before, or has no client any more. */
static bool begin_answer(struct ch_exchange *x) {
    if (x->phase >= CH_STREAM || x->left)
        return false;
    x->headless = x->opening && x->opening->in.has_head &&
                  strcmp(ch_inbound_method(&x->opening->in), "HEAD") == 0;
    return true;
}

void ch_exchange_respond(struct ch_exchange *x, int status, const char *type, struct ch_sv body) {
    if (!begin_answer(x))
        return;
    x->client->served = false;
    x->carrier->respond(x, status, type, body);
}

static void exchange_begin_stream(struct ch_exchange *x) {
    x->phase = CH_STREAM;
    release_opening(x);
}

void ch_exchange_stream(struct ch_exchange *x, int status, const char *type) {
    if (!begin_answer(x))
        return;
    x->carrier->stream(x, status, type);
    exchange_begin_stream(x);
}

int ch_exchange_write(struct ch_exchange *x, struct ch_sv bytes) {
    if (x->phase != CH_STREAM || x->left)
        return CHELA_ESTATE;
    if (bytes.n == 0 || x->headless)
        return 0;
    if (!x->on_bytes && x->carrier->lag(x) > CH_LIMIT_CLIENT_BUFFER) {
        ch_exchange_leave_soon(x);
        return CHELA_ELIMIT;
    }
    x->carrier->write(x, bytes);
    return 0;
}

void ch_exchange_end(struct ch_exchange *x) {
    if (x->phase == CH_STREAM && !x->left)
        x->carrier->end(x);
}

size_t ch_exchange_lag(const struct ch_exchange *x) {
    return x->phase == CH_STREAM ? x->carrier->lag(x) : 0;
}

bool ch_exchange_can_upgrade(const struct ch_exchange *x) {
    return x->carrier->upgrade != NULL;
}

void ch_exchange_upgrade(struct ch_exchange *x,
                         void (*on_bytes)(struct ch_exchange *, struct ch_sv, void *), void *user) {
    if (!begin_answer(x))
        return;
    x->carrier->upgrade(x);
    exchange_begin_stream(x);
    x->on_bytes = on_bytes;
    x->on_bytes_user = user;
}

void ch_exchange_answered(struct ch_exchange *x) {
    x->gone = NULL;
    x->on_bytes = NULL;
    x->phase = CH_ANSWER;
    release_opening(x);
}

void ch_exchange_expel(struct ch_exchange *x) {
    if (x->phase != CH_CLOSED && !x->left)
        ch_exchange_leave_soon(x);
}

void ch_exchange_abort(struct ch_exchange *x) {
    if (x->phase == CH_CLOSED)
        return;
    x->gone = NULL;
    ch_exchange_leave_soon(x);
}

/* --- request */

void ch_exchange_refuse(struct ch_exchange *x, int status, const char *why) {
    const struct ch_server_opts *o = &x->client->server->opts;
    CH_BUF_AUTO body = {0};
    ch_buf_addf(&body, "%s\n", why);
    if (status == 503)
        ch_exchange_header(x, "Retry-After", "1");
    if (o->refuse && x->opening && x->opening->in.has_head)
        o->refuse(x, status, why, o->user);
    else
        ch_exchange_respond(x, status, "text/plain; charset=utf-8", ch_buf_sv(&body));
}

static void exchange_on_deadline(struct ch_timer *t) {
    struct ch_exchange *x = CH_CONTAINER(t, struct ch_exchange, deadline);
    if (x->left || x->phase == CH_CLOSED)
        return;
    if ((x->phase == CH_READ_HEAD && ch_exchange_has_begun(x)) || x->phase == CH_READ_BODY)
        ch_exchange_refuse(x, 408, "the request took too long");
    else
        ch_exchange_leave(x);
}

/* Show the head to the owner, who may answer at once. */
void ch_exchange_show_head(struct ch_exchange *x) {
    struct ch_server *s = x->client->server;
    struct ch_sv expect = ch_inbound_header(&x->opening->in, "expect");
    x->phase = CH_READ_BODY;
    ch_exchange_wait(x, CH_LIMIT_INBOUND_BODY_MS);
    s->opts.head(x, s->opts.user);
    if (x->phase != CH_READ_BODY)
        return;
    if (!ch_server_admit(x->client)) {
        ch_exchange_refuse(x, 503, "too many requests at once from this address");
        return;
    }
    ch_server_known(x->client);
    if (ch_sv_eq_nocase(expect, CH_SV("100-continue")))
        x->carrier->proceed(x);
}

void ch_exchange_charge_body(struct ch_exchange *x) {
    struct ch_server *s = x->client->server;
    struct ch_opening *o = x->opening;
    if (x->client->trusted || o->in.refused)
        return;
    s->bodies += o->in.body.n - o->charged;
    o->charged = o->in.body.n;
    if (s->bodies > CH_LIMIT_BODIES_UNKNOWN)
        ch_inbound_refuse(&o->in, 503, "too many request bodies at once");
}

void ch_exchange_show_request(struct ch_exchange *x) {
    struct ch_server *s = x->client->server;
    x->phase = CH_ANSWER;
    x->client->served = true;
    ch_timer_stop(s->loop, &x->deadline);
    s->opts.request(x, s->opts.user);
}

const struct ch_inbound *ch_exchange_inbound(const struct ch_exchange *x) {
    return &x->opening->in;
}

void ch_exchange_attach(struct ch_exchange *x, void (*gone)(struct ch_exchange *x, void *user),
                        void *user) {
    x->gone = gone;
    x->user = user;
}
