/* http.c -- HTTP calls: one request, one response, four timeouts.
 *
 *   start --> CONNECT --ready--> FIRST_BYTE --bytes--> IDLE --last byte--> done
 *      \------ an idle connection -----^  \
 *                                          reused and dead: CONNECT, once more
 *
 * A call holds a connection for its lifetime. It returns the connection to the
 * pool only if the response ended cleanly: keep-alive agreed, request
 * completely sent, no excess byte. In all other cases it closes the connection.
 *
 * One timer serves all four timeouts. It is armed for the earliest possible
 * deadline and checks when it fires which deadline has passed, so arriving data
 * only stores a time. An expired timeout gets one more pass of the loop: if the
 * whole process was delayed, the data may have arrived without being read yet.
 *
 * Callbacks may cancel their own call. A call that is cancelled while its
 * response is being read stays allocated until the reader has returned. */
#include "net/http.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_route.h"
#include "net/pool.h"
#include "net/request.h"
#include "net/response.h"

enum phase { PHASE_CONNECT, PHASE_FIRST_BYTE, PHASE_IDLE };

struct ch_http_call {
    struct ch_http *http;
    struct ch_link link;               /* in calls of the client */
    const struct ch_http_request *req; /* borrowed until the end */
    struct ch_http_handler handler;
    void *user;

    struct ch_url url;            /* views into req->url */
    const struct ch_proxy *proxy; /* borrowed from the client; NULL: direct */
    struct ch_conn *conn;
    struct ch_response response;
    bool reused;  /* conn served another call before */
    bool retried; /* a reused connection was dead, sent again */
    bool reading; /* inside ch_response_feed */
    bool ended;   /* cancelled while reading; freed afterwards */

    enum phase phase;
    struct ch_timer timer;
    int64_t since; /* when the phase began, or the last byte came */
    int64_t total_due; /* 0: the call has not begun */
    bool overdue; /* a timeout has passed; one more pass of the loop */

    struct failure *failure; /* owned; NULL: the call could be started */
};

/* Reports, on the loop's next turn, why a call could not be started. */
struct failure {
    struct ch_task task;
    struct ch_http_call *call;
    struct chela_error err;
};

/* A configured proxy, or the reason why it is unusable. */
struct proxy_setting {
    struct ch_proxy *proxy;
    struct chela_error *bad;
};

struct ch_http {
    struct ch_transport transport;
    struct ch_shared *shared;
    struct ch_pool pool;
    struct ch_list calls;
    struct proxy_setting proxy_http, proxy_https;
    char *no_proxy;          /* owned */
    struct ch_buf last_text; /* the URL that was parsed last */
    struct ch_url last_url;  /* in last_text */
    struct ch_request_memo last_head;
};

static int64_t http_now(const struct ch_http *h) {
    return ch_mono_ms(ch_loop_clock(h->shared->loop));
}

/* --- the end of a call */

static void http_free_call(struct ch_http_call *call) {
    ch_response_release(&call->response);
    ch_free(call->failure);
    ch_free(call);
}

/* Remove the call from everything that refers to it. */
static void detach(struct ch_http_call *call) {
    struct ch_http *h = call->http;

    ch_list_del(&call->link);
    ch_timer_stop(h->shared->loop, &call->timer);
    if (call->failure)
        ch_task_cancel(h->shared->loop, &call->failure->task);
    ch_conn_close(CH_TAKE(call->conn));
}

/* The last action of a call, which is freed when this returns. */
static void http_finish(struct ch_http_call *call, const struct chela_error *err) {
    struct ch_http_handler handler = call->handler;
    void *user = call->user;

    detach(call);
    struct failure *failure = CH_TAKE(call->failure); /* err may point into it */
    http_free_call(call);
    handler.on_done(err, user);
    ch_free(failure);
}

static void http_fail_now(struct ch_task *task) {
    struct failure *f = CH_CONTAINER(task, struct failure, task);
    http_finish(f->call, &f->err);
}

static void http_fail_later(struct ch_http_call *call, const struct chela_error *err) {
    call->failure = ch_alloc(sizeof(*call->failure));
    *call->failure = (struct failure){.task.fn = http_fail_now, .call = call, .err = *err};
    ch_task_defer(call->http->shared->loop, &call->failure->task);
}

static void http_cancel(struct ch_transport *t, struct ch_http_call *call) {
    (void)t;
    detach(call);
    if (call->reading)
        call->ended = true;
    else
        http_free_call(call);
}

/* --- timeouts */

static int64_t http_or_default(int64_t ms, int standard) {
    return ms > 0 ? ms : standard;
}

static int64_t phase_limit(const struct ch_http_call *call) {
    const struct ch_http_timeouts *t = &call->req->timeouts;
    switch (call->phase) {
    case PHASE_CONNECT:
        return http_or_default(t->connect, CH_DEFAULT_CONNECT_MS);
    case PHASE_FIRST_BYTE:
        return http_or_default(t->first_byte, CH_DEFAULT_FIRST_BYTE_MS);
    case PHASE_IDLE:
        return http_or_default(t->idle, CH_DEFAULT_IDLE_MS);
    }
    CH_UNREACHABLE();
}

static const char *http_in_words(char out[32], int64_t ms) {
    if (ms % 1000)
        snprintf(out, 32, "%" PRId64 " ms", ms);
    else
        snprintf(out, 32, "%" PRId64 " s", ms / 1000);
    return out;
}

static void describe_timeout(const struct ch_http_call *call, bool total, struct chela_error *err) {
    static const char *const fmt[] = {
        [PHASE_CONNECT] = "connect timeout: no connection to %s within %s",
        [PHASE_FIRST_BYTE] = "first-byte timeout: no response from %s within %s",
        [PHASE_IDLE] = "idle timeout: nothing more from %s for %s",
    };
    const char *peer = call->conn ? call->conn->label : "the peer";
    char words[32];

    if (total)
        ch_fail(
            err, CHELA_ETIMEOUT, "total timeout: the response of %s took longer than %s", peer,
            http_in_words(words, http_or_default(call->req->timeouts.total, CH_DEFAULT_TOTAL_MS)));
    else
        ch_fail(err, CHELA_ETIMEOUT, fmt[call->phase], peer,
                http_in_words(words, phase_limit(call)));
    if (call->response.head_out)
        err->http_status = call->response.message.status;
}

static bool http_has_enough(const struct ch_http_call *call) {
    return call->req->enough && *call->req->enough;
}

static void http_on_timer(struct ch_timer *timer);

/* Arm the timer for the next possible deadline, if it is not due earlier. */
static void http_arm(struct ch_http_call *call) {
    int64_t due = CH_MIN(call->since + phase_limit(call), call->total_due);
    if (!ch_timer_armed(&call->timer) || due < call->timer.due)
        ch_timer_start_at(call->http->shared->loop, &call->timer, due, http_on_timer);
}

static void http_on_timer(struct ch_timer *timer) {
    struct ch_http_call *call = CH_CONTAINER(timer, struct ch_http_call, timer);
    int64_t at = http_now(call->http);
    bool total = at >= call->total_due;

    if (!total && at < call->since + phase_limit(call)) {
        http_arm(call);
        return;
    }
    if (!call->overdue) {
        call->overdue = true;
        ch_timer_start(call->http->shared->loop, timer, 1, http_on_timer);
        return;
    }
    struct chela_error err = {0};
    describe_timeout(call, total, &err);
    http_finish(call, http_has_enough(call) ? NULL : &err);
}

static void http_enter(struct ch_http_call *call, enum phase phase) {
    call->phase = phase;
    call->since = http_now(call->http);
    call->overdue = false;
    if (!call->total_due) /* the first phase */
        call->total_due = call->since + http_or_default(call->req->timeouts.total,
                                                        CH_DEFAULT_TOTAL_MS);
    http_arm(call);
}

/* --- sending the request */

static const struct ch_response_events response_events;
static const struct ch_conn_events conn_events;

static struct ch_conn_route http_route_of(const struct ch_http_call *call) {
    return (struct ch_conn_route){call->url.host, call->url.port, call->url.tls, call->proxy,
                                  call->req->filter, call->req->socket};
}

static void send_request(struct ch_http_call *call) {
    const struct ch_proxy *absolute = call->url.tls ? NULL : call->proxy;
    struct ch_buf head = {0};

    ch_response_init(&call->response, call->conn->label, &response_events, call);
    call->response.skip_body = strcmp(call->req->method, "HEAD") == 0;
    if (call->req->max_body)
        call->response.max_body = call->req->max_body;
    http_enter(call, PHASE_FIRST_BYTE);
    ch_request_head(&call->http->last_head, &head, call->req, &call->url, absolute);
    ch_conn_send(call->conn, &head, call->req->body, call->req->nbody);
}

static int connect_anew(struct ch_http_call *call, struct chela_error *err) {
    struct ch_conn_route route = http_route_of(call);
    http_enter(call, PHASE_CONNECT);
    return ch_conn_open(call->http->shared, &route, &conn_events, call, &call->conn, err);
}

/* A pooled connection was dead: the request cannot have been answered, so send
 * it again on a new connection. */
static void retry(struct ch_http_call *call) {
    struct chela_error err = {0};

    call->retried = true;
    call->reused = false;
    ch_conn_close(CH_TAKE(call->conn));
    ch_response_release(&call->response);
    if (connect_anew(call, &err) < 0)
        http_finish(call, &err);
}

static void http_on_ready(struct ch_conn *c, void *user) {
    (void)c;
    send_request(user);
}

static void http_on_sent(struct ch_conn *c, void *user) {
    struct ch_http_call *call = user;
    (void)c;
    if (call->phase == PHASE_FIRST_BYTE)
        call->since = http_now(call->http); /* a long upload does not count as a slow answer */
}

/* --- the response */

static bool on_response_head(const struct ch_http_head *head, void *user) {
    struct ch_http_call *call = user;
    if (call->proxy && !call->url.tls && head->status == 407)
        return false; /* a response of the proxy, not of the peer: on_bytes ends it */
    if (call->handler.on_head)
        call->handler.on_head(head, call->user);
    return !call->ended;
}

static bool on_response_data(struct ch_sv data, void *user) {
    struct ch_http_call *call = user;
    call->handler.on_data(data, call->user);
    if (call->ended)
        return false;
    if (http_has_enough(call)) {
        call->total_due = CH_MIN(call->total_due, http_now(call->http) + CH_LIMIT_HTTP_DRAIN_MS);
        http_arm(call);
    }
    return true;
}

static const struct ch_response_events response_events = {on_response_head, on_response_data};

/* Pooled connections were opened without the filter; a socket was passed for one call. */
static bool uses_own_connection(const struct ch_http_call *call) {
    return call->req->filter || call->req->socket > 0;
}

static void http_complete(struct ch_http_call *call, bool clean) {
    if (!uses_own_connection(call) && clean && call->response.keep_alive && !call->conn->sending)
        ch_pool_put(&call->http->pool, CH_TAKE(call->conn));
    http_finish(call, NULL);
}

static void finish_refused(struct ch_http_call *call) {
    struct chela_error err = {0};
    ch_proxy_refused(call->proxy, 407, call->conn->label, &err);
    http_finish(call, &err);
}

static bool may_retry(const struct ch_http_call *call) {
    return call->reused && !call->retried && !call->req->once;
}

static void http_on_bytes(struct ch_conn *c, char *bytes, size_t n, void *user) {
    struct ch_http_call *call = user;
    struct chela_error err;
    size_t used;

    (void)c;
    ch_error_clear(&err);
    call->reading = true;
    int rc = ch_response_feed(&call->response, bytes, n, &used, &err);
    call->reading = false;
    if (call->ended)
        http_free_call(call);
    else if (rc == CH_RESPONSE_DONE)
        http_complete(call, used == n);
    else if (rc == CH_RESPONSE_STOPPED)
        finish_refused(call);
    else if (rc < 0 && !ch_response_answered(&call->response) && may_retry(call))
        retry(call); /* data left over from the previous response */
    else if (rc < 0)
        http_finish(call, &err);
    else
        http_enter(call, PHASE_IDLE);
}

static void http_on_gone(struct ch_conn *c, const struct chela_error *err, void *user) {
    struct ch_http_call *call = user;
    struct chela_error why = {0};

    (void)c;
    if (!call->response.any && may_retry(call)) {
        retry(call);
        return;
    }
    if (err)
        why = *err;
    else if (ch_response_eof(&call->response, &why) == CH_RESPONSE_DONE) {
        http_finish(call, NULL);
        return;
    }
    if (call->response.head_out)
        why.http_status = call->response.message.status;
    http_finish(call, &why);
}

static const struct ch_conn_events conn_events = {
    .ready = http_on_ready, .sent = http_on_sent, .bytes = http_on_bytes, .gone = http_on_gone};

/* --- starting a call */

static int pick_proxy(const struct ch_http *h, const struct ch_url *url,
                      const struct ch_proxy **out, struct chela_error *err) {
    const struct proxy_setting *p = url->tls ? &h->proxy_https : &h->proxy_http;

    if ((!p->proxy && !p->bad) || ch_proxy_bypass(ch_sv_str(h->no_proxy), url))
        return CHELA_OK;
    if (p->bad) {
        *err = *p->bad;
        return err->code;
    }
    *out = p->proxy;
    return CHELA_OK;
}

/* The URL whose text moved. */
static struct ch_url http_moved(struct ch_url url, const char *from, const char *to) {
    url.host.p = to + (url.host.p - from);
    if (url.userinfo.p)
        url.userinfo.p = to + (url.userinfo.p - from);
    if (url.target.p)
        url.target.p = to + (url.target.p - from);
    return url;
}

/* Requests to a model repeat the same URL, which is parsed once. */
static int http_parse_url(struct ch_http_call *call, struct chela_error *err) {
    struct ch_http *h = call->http;
    struct ch_sv text = ch_sv_str(call->req->url);
    if (!text.n || !ch_sv_eq(text, ch_buf_sv(&h->last_text))) {
        int rc = ch_url_parse(text, &call->url, err);
        if (rc < 0)
            return rc;
        ch_buf_clear(&h->last_text);
        ch_buf_add_sv(&h->last_text, text);
        h->last_url = http_moved(call->url, text.p, h->last_text.p);
    }
    call->url = http_moved(h->last_url, h->last_text.p, text.p);
    return CHELA_OK;
}

static int http_prepare(struct ch_http_call *call, struct chela_error *err) {
    int rc = http_parse_url(call, err);
    if (rc < 0)
        return rc;
    if (call->url.userinfo.p)
        return ch_fail(err, CHELA_EINVAL,
                       "bad URL: credentials do not belong in it (before the '@')");
    rc = ch_request_check(&call->http->last_head, call->req, err);
    if (rc < 0 || uses_own_connection(call))
        return rc; /* a proxy would connect to addresses unknown to the filter */
    return pick_proxy(call->http, &call->url, &call->proxy, err);
}

static int launch(struct ch_http_call *call, struct chela_error *err) {
    int rc = http_prepare(call, err);
    if (rc < 0 && call->req->socket > 0)
        close(call->req->socket);
    if (rc < 0)
        return rc;
    struct ch_conn_route route = http_route_of(call);
    if (!uses_own_connection(call))
        call->conn = ch_pool_get(&call->http->pool, &route);
    if (!call->conn)
        return connect_anew(call, err);
    call->reused = true;
    ch_conn_hold(call->conn, &conn_events, call);
    send_request(call);
    return CHELA_OK;
}

static struct ch_http_call *http_start(struct ch_transport *t, const struct ch_http_request *req,
                                       const struct ch_http_handler *handler, void *user) {
    struct ch_http *h = CH_CONTAINER(t, struct ch_http, transport);
    struct ch_http_call *call = ch_alloc(sizeof(*call));
    struct chela_error err;

    ch_error_clear(&err);
    call->http = h;
    call->req = req;
    call->handler = *handler;
    call->user = user;
    ch_list_add(&h->calls, &call->link);
    if (launch(call, &err) < 0)
        http_fail_later(call, &err);
    return call;
}

/* --- the client */

static const struct ch_transport_ops http_ops = {
    .name = "http",
    .start = http_start,
    .cancel = http_cancel,
};

static struct proxy_setting read_proxy(const char *url) {
    struct proxy_setting p = {0};
    struct chela_error err = {0};
    if (url && *url && ch_proxy_new(url, &p.proxy, &err) < 0)
        p.bad = ch_memdup(&err, sizeof(err));
    return p;
}

struct ch_http *ch_http_new(struct ch_loop *loop, const struct ch_http_opts *opts) {
    static const struct ch_http_opts none;
    struct ch_http *h = ch_alloc(sizeof(*h));

    if (!opts)
        opts = &none;
    h->transport.ops = &http_ops;
    h->shared = ch_shared_new(loop, opts->ca_file, opts->module_path);
    ch_pool_init(&h->pool, loop);
    ch_list_init(&h->calls);
    h->proxy_http = read_proxy(opts->proxy_http);
    h->proxy_https = read_proxy(opts->proxy_https);
    h->no_proxy = ch_strdup(opts->no_proxy ? opts->no_proxy : "");
    return h;
}

void ch_http_close(struct ch_http *h) {
    if (!h)
        return;
    for (struct ch_http_call *c; (c = CH_LIST_FIRST(&h->calls, struct ch_http_call, link));)
        http_cancel(&h->transport, c);
    ch_pool_release(&h->pool);
    ch_proxy_free(h->proxy_http.proxy);
    ch_proxy_free(h->proxy_https.proxy);
    ch_free(h->proxy_http.bad);
    ch_free(h->proxy_https.bad);
    ch_buf_release(&h->last_text);
    ch_request_forget(&h->last_head);
    ch_free(h->no_proxy);
    ch_shared_unref(h->shared);
    ch_free(h);
}

struct ch_transport *ch_http_transport(struct ch_http *h) {
    return &h->transport;
}

/* --- for protocols that begin as HTTP */

int ch_http_route(const struct ch_http *h, const struct ch_url *url, struct ch_conn_route *out,
                  struct chela_error *err) {
    *out = (struct ch_conn_route){.host = url->host, .port = url->port, .tls = url->tls};
    return pick_proxy(h, url, &out->proxy, err);
}

struct ch_shared *ch_http_shared(const struct ch_http *h) {
    return h->shared;
}
