/* rpc_peer.c -- see rpc_peer.h. */
#include "rpc/rpc_peer.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"

struct ch_rpc_pending {
    struct ch_link link;
    struct ch_rpc_peer *peer;
    int64_t id, timeout_ms;
    struct ch_timer timer;
    struct chela_error failed; /* reported by the timer if code is set */
    ch_rpc_done_fn *done;
    void *user;
};

/* Responses to the requests that arrived together. */
struct ch_rpc_batch {
    struct ch_buf text;
    unsigned open; /* requests without an answer, and one while the batch is read */
};

struct ch_rpc_peer {
    struct ch_rpc_peer_opts opts;
    struct ch_list pending;  /* struct ch_rpc_pending */
    struct ch_list requests; /* struct ch_rpc_request */
    size_t npending, nrequests;
    size_t batched; /* bytes of answers that wait for the rest of their batches */
    int64_t last_id;
    unsigned refs; /* 1, and one for each function of the peer on the stack */
    bool closed;
    bool batches; /* accepted */
};

/* --- life */

struct ch_rpc_peer *ch_rpc_peer_new(const struct ch_rpc_peer_opts *opts) {
    struct ch_rpc_peer *p = ch_alloc(sizeof(*p));

    p->opts = *opts;
    p->refs = 1;
    ch_list_init(&p->pending);
    ch_list_init(&p->requests);
    return p;
}

static void peer_unref(struct ch_rpc_peer *p) {
    if (--p->refs == 0)
        ch_free(p);
}

static void free_pending(struct ch_rpc_pending *c) {
    ch_timer_stop(c->peer->opts.loop, &c->timer);
    ch_list_del(&c->link);
    c->peer->npending--;
    ch_free(c);
}

static void detach_request(struct ch_rpc_request *r) {
    if (!r->peer)
        return;
    ch_list_del(&r->link);
    r->peer->nrequests--;
    r->peer = NULL;
}

static void report_gone(struct ch_rpc_request *r) {
    void (*gone)(struct ch_rpc_request *) = CH_TAKE(r->gone);

    r->cancelled = true;
    if (gone)
        gone(r);
}

void ch_rpc_peer_close(struct ch_rpc_peer *p) {
    if (!p || p->closed)
        return;
    p->closed = true;
    while (!ch_list_empty(&p->pending))
        free_pending(CH_LIST_FIRST(&p->pending, struct ch_rpc_pending, link));
    while (!ch_list_empty(&p->requests)) {
        struct ch_rpc_request *r = CH_LIST_FIRST(&p->requests, struct ch_rpc_request, link);
        detach_request(r);
        report_gone(r);
    }
    peer_unref(p);
}

/* --- calls of this side */

static struct ch_rpc_pending *find_pending(const struct ch_rpc_peer *p, int64_t id) {
    for (CH_LIST_EACH(k, &p->pending)) {
        struct ch_rpc_pending *c = CH_CONTAINER(k, struct ch_rpc_pending, link);
        if (c->id == id)
            return c;
    }
    return NULL;
}

static void end_call(struct ch_rpc_pending *c, const struct ch_rpc_message *m,
                     const struct chela_error *err) {
    ch_rpc_done_fn *done = c->done;
    void *user = c->user;

    free_pending(c);
    done(m, err, user);
}

static void tell_cancelled(struct ch_rpc_peer *p, int64_t id, const char *reason) {
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);

    if (!p->opts.cancel_method)
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "requestId", id);
    ch_jw_kcstr(&w, "reason", reason);
    ch_jw_end(&w, '}');
    ch_rpc_notify(p, p->opts.cancel_method, ch_buf_sv(&params));
}

static void on_call_timer(struct ch_timer *t) {
    struct ch_rpc_pending *c = CH_CONTAINER(t, struct ch_rpc_pending, timer);
    struct ch_rpc_peer *p = c->peer;
    struct chela_error err = c->failed;

    p->refs++;
    if (!err.code) {
        ch_fail(&err, CHELA_ETIMEOUT, "no response within %lld ms", (long long)c->timeout_ms);
        tell_cancelled(p, c->id, "timeout");
    }
    end_call(c, NULL, &err);
    peer_unref(p);
}

int64_t ch_rpc_next_id(const struct ch_rpc_peer *p) {
    return p->last_id + 1;
}

int64_t ch_rpc_call(struct ch_rpc_peer *p, const char *method, struct ch_sv params,
                    int64_t timeout_ms, void *tag, ch_rpc_done_fn *done, void *user) {
    CH_BUF_AUTO message = {0};
    const char *excess = p->npending >= CH_LIMIT_RPC_CALLS ? "too many requests are open" : NULL;
    struct ch_rpc_pending *c = ch_alloc(sizeof(*c));

    *c = (struct ch_rpc_pending){
        .peer = p, .id = ++p->last_id, .timeout_ms = timeout_ms, .done = done, .user = user};
    ch_list_add(&p->pending, &c->link);
    p->npending++;
    ch_buf_init(&message, CH_LIMIT_RPC_MESSAGE);
    ch_rpc_write_request(&message, c->id, method, params);
    if (message.overflow)
        excess = "the request is too large";
    int rc = excess ? CHELA_ELIMIT
                    : p->opts.send(ch_buf_sv(&message), c->id, tag, p->opts.user);
    if (rc < 0)
        ch_fail(&c->failed, rc, "%s", excess ? excess : "the request cannot be sent");
    if (rc < 0 || timeout_ms > 0)
        ch_timer_start(p->opts.loop, &c->timer, rc < 0 ? 0 : timeout_ms, on_call_timer);
    return c->id;
}

void ch_rpc_touch(struct ch_rpc_peer *p, int64_t id) {
    struct ch_rpc_pending *c = find_pending(p, id);

    if (c && c->timeout_ms > 0 && !c->failed.code)
        ch_timer_start(p->opts.loop, &c->timer, c->timeout_ms, on_call_timer);
}

void ch_rpc_forget(struct ch_rpc_peer *p, int64_t id, bool cancel) {
    struct ch_rpc_pending *c = find_pending(p, id);

    if (!c)
        return;
    bool is_open = !c->failed.code;
    free_pending(c);
    if (cancel && is_open)
        tell_cancelled(p, id, "cancelled");
}

void ch_rpc_fail(struct ch_rpc_peer *p, int64_t id, const struct chela_error *err) {
    struct ch_rpc_pending *c = find_pending(p, id);

    if (!c)
        return;
    c->failed = *err;
    ch_timer_start(p->opts.loop, &c->timer, 0, on_call_timer);
}

int ch_rpc_notify(struct ch_rpc_peer *p, const char *method, struct ch_sv params) {
    CH_BUF_AUTO message = {0};

    ch_buf_init(&message, CH_LIMIT_RPC_MESSAGE);
    ch_rpc_write_notification(&message, method, params);
    return message.overflow ? CHELA_ELIMIT
                            : p->opts.send(ch_buf_sv(&message), 0, NULL, p->opts.user);
}

/* --- requests of the other side */

/* Every answer of a batch finds room for an error without text. The batches of a peer share the
 * limit of one message. */
#define BATCH_RESERVE (CH_LIMIT_RPC_BATCH * 2 * CH_KB)

static size_t answer_room(const struct ch_rpc_peer *p, const struct ch_rpc_batch *b) {
    size_t used = b ? p->batched + BATCH_RESERVE : 0;

    return used < CH_LIMIT_RPC_MESSAGE ? CH_LIMIT_RPC_MESSAGE - used : 1;
}

static void send_answer(struct ch_rpc_peer *p, struct ch_rpc_batch *b, struct ch_sv message) {
    if (!b) {
        p->opts.send(message, 0, NULL, p->opts.user);
        return;
    }
    ch_buf_addc(&b->text, b->text.n ? ',' : '[');
    ch_buf_add_sv(&b->text, message);
    p->batched += message.n + 1;
}

static void send_error(struct ch_rpc_peer *p, struct ch_rpc_batch *b, struct ch_rpc_id id,
                       int64_t code, const char *text, struct ch_sv data) {
    CH_BUF_AUTO message = {0};

    if (b)
        ch_buf_init(&message, answer_room(p, b));
    ch_rpc_write_error(&message, id, code, ch_sv_str(text), data);
    if (message.overflow) {
        ch_buf_release(&message);
        ch_rpc_write_error(&message, id, code, CH_SV(""), ch_sv(NULL, 0));
    }
    send_answer(p, b, ch_buf_sv(&message));
}

/* p NULL: the peer is closed. */
static void leave_batch(struct ch_rpc_peer *p, struct ch_rpc_batch *b) {
    if (!b || --b->open > 0)
        return;
    if (p && b->text.n) {
        p->batched -= b->text.n;
        ch_buf_addc(&b->text, ']');
        p->opts.send(ch_buf_sv(&b->text), 0, NULL, p->opts.user);
    }
    ch_buf_release(&b->text);
    ch_free(b);
}

static void free_request(struct ch_rpc_request *r) {
    struct ch_rpc_peer *p = r->peer;

    detach_request(r);
    leave_batch(p, r->batch);
    ch_free((char *)r->id.text.p);
    ch_free(r);
}

static bool is_awaited(const struct ch_rpc_request *r) {
    return r->peer && (!r->cancelled || r->peer->opts.answers_cancelled);
}

bool ch_rpc_is_silent(const struct ch_rpc_request *r) {
    return r->cancelled && (!r->batch || (r->batch->open == 1 && r->batch->text.n == 0));
}

void ch_rpc_reply(struct ch_rpc_request *r, struct ch_sv result) {
    CH_BUF_AUTO message = {0};

    if (is_awaited(r)) {
        ch_buf_init(&message, answer_room(r->peer, r->batch));
        ch_rpc_write_result(&message, r->id, result);
        if (message.overflow)
            send_error(r->peer, r->batch, r->id, CH_RPC_INTERNAL, "the result is too large",
                       ch_sv(NULL, 0));
        else
            send_answer(r->peer, r->batch, ch_buf_sv(&message));
    }
    free_request(r);
}

void ch_rpc_refuse(struct ch_rpc_request *r, int64_t code, const char *text, struct ch_sv data) {
    if (is_awaited(r))
        send_error(r->peer, r->batch, r->id, code, text, data);
    free_request(r);
}

static struct ch_rpc_request *find_request(const struct ch_rpc_peer *p, struct ch_rpc_id id) {
    for (CH_LIST_EACH(k, &p->requests)) {
        struct ch_rpc_request *r = CH_CONTAINER(k, struct ch_rpc_request, link);
        if (ch_rpc_id_eq(r->id, id))
            return r;
    }
    return NULL;
}

static void take_request(struct ch_rpc_peer *p, const struct ch_rpc_message *m,
                         struct ch_rpc_batch *b) {
    if (!p->opts.request)
        send_error(p, b, m->id, CH_RPC_NO_METHOD, "no such method", ch_sv(NULL, 0));
    else if (find_request(p, m->id))
        send_error(p, b, m->id, CH_RPC_INVALID_REQUEST, "a request with this id is open",
                   ch_sv(NULL, 0));
    else if (p->nrequests >= CH_LIMIT_RPC_REQUESTS)
        send_error(p, b, m->id, CH_RPC_INTERNAL, "too many requests are open", ch_sv(NULL, 0));
    else {
        struct ch_rpc_request *r = ch_alloc(sizeof(*r));
        r->peer = p;
        r->id = (struct ch_rpc_id){ch_sv(ch_strndup(m->id.text.p, m->id.text.n), m->id.text.n),
                                   m->id.is_string};
        r->batch = b;
        if (b)
            b->open++;
        ch_list_add(&p->requests, &r->link);
        p->nrequests++;
        p->opts.request(r, m, p->opts.user);
    }
}

static void take_cancel(struct ch_rpc_peer *p, const struct ch_rpc_message *m) {
    const struct ch_json *id = ch_json_get(m->params, "requestId");
    bool is_string = ch_json_is(id, CH_JSON_STRING);

    if (!is_string && !ch_json_is(id, CH_JSON_NUMBER))
        return;
    struct ch_rpc_request *r =
        find_request(p, (struct ch_rpc_id){ch_sv(id->s, id->n), is_string});
    if (r && !r->cancelled)
        report_gone(r);
}

/* End the call that the response belongs to; false: there is none. */
static bool end_awaited(struct ch_rpc_peer *p, struct ch_rpc_id id, const struct ch_rpc_message *m,
                        const struct chela_error *err) {
    for (CH_LIST_EACH(k, &p->pending)) {
        struct ch_rpc_pending *c = CH_CONTAINER(k, struct ch_rpc_pending, link);
        if (ch_rpc_id_is(id, c->id) && !c->failed.code) {
            end_call(c, m, err);
            return true;
        }
    }
    return false;
}

static void take_response(struct ch_rpc_peer *p, const struct ch_rpc_message *m) {
    if (end_awaited(p, m->id, m, NULL))
        return;
    if (m->kind == CH_RPC_ERROR)
        CH_TRACE("rpc", "error without a call: %.*s", CH_SV_FMT(m->text));
    else
        CH_TRACE("rpc", "response without a call");
}

static void take_message(struct ch_rpc_peer *p, const struct ch_rpc_message *m,
                         struct ch_rpc_batch *b) {
    if (m->kind == CH_RPC_REQUEST)
        take_request(p, m, b);
    else if (m->kind != CH_RPC_NOTIFICATION)
        take_response(p, m);
    else if (p->opts.cancel_method && ch_sv_is(m->method, p->opts.cancel_method))
        take_cancel(p, m);
    else if (p->opts.notification)
        p->opts.notification(m, p->opts.user);
}

static void take_invalid(struct ch_rpc_peer *p, const struct ch_rpc_message *m,
                         struct ch_rpc_batch *b, int rc, const struct chela_error *why) {
    if (!(m->kind == CH_RPC_ERROR && end_awaited(p, m->id, NULL, why)) && p->opts.request)
        send_error(p, b, m->id, ch_rpc_code_of(rc), why->message, ch_sv(NULL, 0));
}

void ch_rpc_accept_batches(struct ch_rpc_peer *p, bool accept) {
    p->batches = accept;
}

static int receive_batch(struct ch_rpc_peer *p, const struct ch_json *messages,
                         struct chela_error *why) {
    struct ch_rpc_batch *b = ch_alloc(sizeof(*b));
    struct ch_rpc_message m;
    int result = 0;

    b->open = 1;
    for (CH_JSON_EACH(e, messages)) {
        int rc = p->closed ? 0 : ch_rpc_read_json(e, &m, why);
        if (rc < 0)
            take_invalid(p, &m, b, result = rc, why);
        else if (!p->closed)
            take_message(p, &m, b);
    }
    if (result == 0 && b->open == 1 && b->text.n == 0)
        result = 1;
    leave_batch(p->closed ? NULL : p, b);
    return result;
}

int ch_rpc_receive(struct ch_rpc_peer *p, struct ch_sv text, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct ch_rpc_message m = {0};
    const struct ch_json *messages;
    struct chela_error why = {0};
    bool is_batch = p->batches && ch_rpc_is_batch(text);

    p->refs++;
    int rc = is_batch ? ch_rpc_read_batch(&arena, text, &messages, &why)
                      : ch_rpc_read(&arena, text, &m, &why);
    if (rc < 0)
        take_invalid(p, &m, NULL, rc, &why);
    else if (is_batch)
        rc = receive_batch(p, messages, &why);
    else
        take_message(p, &m, NULL);
    if (rc < 0 && err)
        *err = why;
    peer_unref(p);
    return rc;
}
