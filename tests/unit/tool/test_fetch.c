/* test_fetch.c -- the guarded fetch. A canary listens on this machine; whatever
 * a URL, a name server or a redirect says, it must see no connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/http.h"
#include "support/fetch.h"
#include "support/httpd.h"
#include "support/modules.h"
#include "support/names.h"
#include "support/toolkit.h"
#include "tool/builtin/web/fetch.h"

static const struct name_row names[] = {
    {"private.example", "10.1.2.3 127.0.0.1"},
    {"loop.example", "127.0.0.1"},
    {"loop6.example", "::1"},
    {"mapped.example", "::ffff:127.0.0.1"},
    {"metadata.google.internal", "169.254.169.254"},
    {"flip.example", "198.51.100.7 127.0.0.1"},
    {"site.example", "127.0.0.1"},
    {NULL, NULL},
};

struct env {
    struct ch_loop *loop;
    struct ch_http *http;
    struct ch_transport *transport;
    struct httpd *canary, *server;
    struct ch_fetch_opts opts;

    /* of the last fetch */
    bool done;
    struct chela_error err;
    int status;
    unsigned redirects;
    bool cut;
    struct ch_buf url, type, body, seen;
};

static const char *const types[] = {"text/", "application/json", "+xml", NULL};

static void chirp(struct httpd_conn *c, struct ch_sv request, void *user) {
    (void)request, (void)user;
    httpd_sends(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret");
}

/* The path of a request says what is answered. */
static void serve(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    struct ch_sv rest = request, line = ch_sv_split(&rest, ' ');
    unsigned port = httpd_port(e->server);
    CH_BUF_AUTO out = {0};

    line = ch_sv_split(&rest, ' ');
    ch_buf_clear(&e->seen);
    ch_buf_add_sv(&e->seen, request);
#define OK(headers, body) \
    "HTTP/1.1 200 OK\r\n" headers "Content-Length: %zu\r\n\r\n%s", strlen(body), body
    if (ch_sv_is(line, "/page"))
        ch_buf_addf(&out, OK("Content-Type: text/html\r\n", "<p>hi"));
    else if (ch_sv_is(line, "/json"))
        ch_buf_addf(&out, OK("Content-Type: application/json; charset=utf-8\r\n", "{}"));
    else if (ch_sv_is(line, "/feed"))
        ch_buf_addf(&out, OK("Content-Type: application/atom+xml\r\n", "<x/>"));
    else if (ch_sv_is(line, "/untyped"))
        ch_buf_addf(&out, OK("", "text"));
    else if (ch_sv_is(line, "/image"))
        ch_buf_addf(&out, OK("Content-Type: image/png\r\n", "xxxx"));
    else if (ch_sv_is(line, "/gzip"))
        ch_buf_addf(&out, OK("Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", "xxxx"));
    else if (ch_sv_is(line, "/missing"))
        ch_buf_add_str(&out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    else if (ch_sv_is(line, "/busy"))
        ch_buf_add_str(&out, "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
    else if (ch_sv_is(line, "/hop"))
        ch_buf_add_str(&out, "HTTP/1.1 302 Found\r\nLocation: sub/../page#f\r\n\r\nignored body");
    else if (ch_sv_is(line, "/loop"))
        ch_buf_addf(&out, "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:%u/loop\r\n\r\n", port);
    else if (ch_sv_starts(line, "/to?")) /* wherever the query says */
        ch_buf_addf(&out, "HTTP/1.1 301 X\r\nLocation: %.*s\r\n\r\n", (int)line.n - 4, line.p + 4);
    else if (ch_sv_is(line, "/nowhere"))
        ch_buf_add_str(&out, "HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n");
    else if (ch_sv_is(line, "/slow"))
        ch_buf_add_str(&out, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
    else if (ch_sv_is(line, "/endless"))
        ch_buf_add_str(&out, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
    httpd_send(c, ch_buf_sv(&out));
    if (ch_sv_is(line, "/slow"))
        httpd_pause(c, 60000);
    for (int i = 0; ch_sv_is(line, "/endless") && i < 64; i++)
        httpd_sends(c, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
}

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    struct httpd_opts canary = {.on_request = chirp}, server = {.on_request = serve, .user = e};

    *state = e;
    test_names = names;
    assert_int_equal(ch_loop_new(NULL, NULL, &e->loop, NULL), 0);
    e->canary = httpd_new(ch_loop_uv(e->loop), &canary);
    e->server = httpd_new(ch_loop_uv(e->loop), &server);
    CH_AUTOFREE char *modules = modules_dir();
    e->http = ch_http_new(e->loop, &(struct ch_http_opts){.module_path = modules});
    e->transport = ch_http_transport(e->http);
    e->opts = (struct ch_fetch_opts){.loop = e->loop,
                                     .transport = e->transport,
                                     .rules = {.allow = "*:*"},
                                     .accept = "text/html",
                                     .types = types,
                                     .max_bytes = 1000,
                                     .timeout_ms = 5000};
    return 0;
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_http_close(e->http);
    httpd_close(e->canary);
    httpd_close(e->server);
    ch_loop_close(e->loop, NULL, NULL);
    ch_buf_release(&e->url);
    ch_buf_release(&e->type);
    ch_buf_release(&e->body);
    ch_buf_release(&e->seen);
    ch_free(e);
    return 0;
}

static void on_done(struct ch_fetch *f, const struct chela_error *err, void *user) {
    struct env *e = user;

    assert_false(e->done);
    e->done = true;
    e->err = err ? *err : (struct chela_error){0};
    e->status = f->status;
    e->redirects = f->redirects;
    e->cut = f->cut;
    ch_buf_clear(&e->url);
    ch_buf_clear(&e->type);
    ch_buf_clear(&e->body);
    ch_buf_add_sv(&e->url, ch_buf_sv(&f->url));
    ch_buf_add_sv(&e->type, ch_buf_sv(&f->type));
    ch_buf_add_sv(&e->body, ch_buf_sv(&f->body));
}

static void get(struct env *e, const char *url) {
    e->done = false;
    ch_fetch_start(ch_sv_str(url), &e->opts, on_done, e);
    assert_false(e->done);
    assert_int_equal(ch_loop_run(e->loop, &e->done), 0);
}

/* "%u" in text is a port. */
static const char *with_port(char out[512], const char *text, unsigned port) {
    const char *hole = strstr(text, "%u");
    if (hole)
        snprintf(out, 512, "%.*s%u%s", (int)(hole - text), text, port, hole + 2);
    else
        snprintf(out, 512, "%s", text);
    return out;
}

/* --- who is spoken to -------------------------------------------------------------- */

static const char *const forbidden[] = {
    "http://127.0.0.1:%u/",
    "http://127.1:%u/",
    "http://127.0.1:%u/",
    "http://127.255.255.254:%u/",
    "http://2130706433:%u/",
    "http://0x7f000001:%u/",
    "http://0x7f.0x0.0x0.0x1:%u/",
    "http://017700000001:%u/",
    "http://0177.0.0.1:%u/",
    "http://127.0.0.01:%u/",
    "http://127.0.0.1.:%u/",
    "http://0:%u/",
    "http://0.0.0.0:%u/",
    "http://localhost:%u/",
    "http://LOCALHOST:%u/",
    "http://localhost.:%u/",
    "http://a.localhost:%u/",
    "http://[::1]:%u/",
    "http://[0:0:0:0:0:0:0:1]:%u/",
    "http://[::]:%u/",
    "http://[::ffff:127.0.0.1]:%u/",
    "http://[::ffff:7f00:1]:%u/",
    "http://[::127.0.0.1]:%u/",
    "http://[64:ff9b::7f00:1]:%u/",
    "http://[2002:7f00:1::]:%u/",
    "http://[::1%25lo]:%u/",
    "http://[fe80::1]:%u/",
    "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1:%u/", /* full-width digits */
    "http://\xe2\x93\x9bocalhost:%u/",                       /* a circled letter */
    "http://127\xe3\x80\x82"
    "0\xe3\x80\x82"
    "0\xe3\x80\x82"
    "1:%u/", /* ideographic full stops */
    "http://%31%32%37.0.0.1:%u/",
    "http://good.example@127.0.0.1:%u/",
    "http://good.example:80@127.0.0.1:%u/",
    "http://127.0.0.1:%u\\@good.example/",
    "http://127.0.0.1:%u#@good.example/",
    "http://127.0.0.1:%u?@good.example/",
    "http:/127.0.0.1:%u/",
    "http:127.0.0.1:%u/",
    "//127.0.0.1:%u/",
    "127.0.0.1:%u/",
    " http://127.0.0.1:%u/ ",
    "ht\ntp://127.0.0.1:%u/",
    "HTTP://127.0.0.1:%u/",
    "http://private.example:%u/",
    "http://loop.example:%u/",
    "http://loop6.example:%u/",
    "http://mapped.example:%u/",
    "http://flip.example:%u/",
    "http://flip.example.:%u/",
    "http://FLIP.example:%u/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[fc00::1]/",
    "http://[ff02::1]/",
    "https://127.0.0.1:%u/",
    "https://localhost:%u/",
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "gopher://127.0.0.1:%u/_x",
    "ftp://127.0.0.1:%u/",
    "dict://127.0.0.1:%u/x",
    "ldap://127.0.0.1:%u/",
    "unix:/run/docker.sock",
    "http+unix://%2Frun%2Fdocker.sock/",
    "data:text/html,x",
    "javascript:alert(1)",
    "jar:http://127.0.0.1:%u/!/",
    "",
};

static void test_forbidden(void **state) {
    struct env *e = *state;
    char url[512];

    for (size_t i = 0; i < CH_LEN(forbidden); i++) {
        get(e, with_port(url, forbidden[i], httpd_port(e->canary)));
        if (e->err.code == 0 || e->status)
            fail_msg("%s was fetched", url);
        bool unknown = e->err.code == CHELA_ENET && strstr(e->err.message, "no such host");
        if (e->err.code != CHELA_EPERM && e->err.code != CHELA_EINVAL && !unknown)
            fail_msg("%s: %s", url, e->err.message);
    }
    assert_int_equal(httpd_accepted(e->canary), 0);
}

/* The same URLs do reach the canary where that is allowed: so it was the guard
 * that kept them away, not a server that nobody can reach. */
static void test_canary_lives(void **state) {
    struct env *e = *state;
    char url[512];
    unsigned reached = 0;

    e->opts.rules.allow_private = true;
    for (size_t i = 0; i < CH_LEN(forbidden); i++)
        if (strstr(forbidden[i], "http://") == forbidden[i] && strstr(forbidden[i], "%u")) {
            get(e, with_port(url, forbidden[i], httpd_port(e->canary)));
            reached += e->status == 200;
        }
    assert_true(reached >= 8);
    assert_int_equal(httpd_accepted(e->canary), reached);
}

/* A name that leads to a denied address is refused when it is connected to. */
static void test_denied_address(void **state) {
    struct env *e = *state;
    char url[512];

    e->opts.rules =
        (struct ch_fetch_rules){.allow = "*:*", .deny = "127.0.0.1", .allow_private = true};
    get(e, with_port(url, "http://loop.example:%u/", httpd_port(e->canary)));
    assert_int_equal(e->err.code, CHELA_EPERM);
    assert_non_null(strstr(e->err.message, "denied"));
    assert_int_equal(httpd_accepted(e->canary), 0);
    e->opts.rules.deny = "127.0.0.1:1";
    get(e, url);
    assert_int_equal(e->status, 200);
}

static void test_redirects_are_checked(void **state) {
    struct env *e = *state;
    char to[512], url[600];

    /* The first hop is let through by its port; no pattern names the next. */
    CH_BUF_AUTO allow = {0};
    ch_buf_addf(&allow, "127.0.0.1:%u", httpd_port(e->server));
    e->opts.rules = (struct ch_fetch_rules){.allow = allow.p, .allow_private = true};
    for (size_t i = 0; i < CH_LEN(forbidden); i++) {
        with_port(to, forbidden[i], httpd_port(e->canary));
        if (!strstr(to, "://") || strpbrk(to, " \n"))
            continue; /* means a page of the same server, or is no header */
        snprintf(url, sizeof(url), "http://127.0.0.1:%u/to?", httpd_port(e->server));
        for (const char *at = to; *at; at++)
            snprintf(url + strlen(url), sizeof(url) - strlen(url), "%c", *at == '#' ? '!' : *at);
        get(e, url);
        if (e->err.code == 0)
            fail_msg("%s was followed", to);
    }
    assert_int_equal(httpd_accepted(e->canary), 0);
    assert_true(httpd_requests(e->server) > 50);
}

/* A transport that plays the public site which redirects; everything else goes
 * to the real client, so the address of the second hop is judged for real. */
struct stage {
    struct ch_transport transport;
    struct env *env;
    const char *first, *location;
    struct ch_http_handler handler;
    void *user;
    struct ch_task task;
    bool live;
};

static void play(struct ch_task *task) {
    struct stage *s = CH_CONTAINER(task, struct stage, task);
    struct ch_header header = {CH_SV("location"), ch_sv_str(s->location)};
    struct ch_http_head head = {.status = 302, .headers = &header, .nheaders = 1};

    s->handler.on_head(&head, s->user);
}

static struct ch_http_call *stage_start(struct ch_transport *t, const struct ch_http_request *req,
                                        const struct ch_http_handler *handler, void *user) {
    struct stage *s = CH_CONTAINER(t, struct stage, transport);

    if (strcmp(req->url, s->first) != 0)
        return ch_transport_start(s->env->transport, req, handler, user);
    assert_non_null(req->filter);
    s->handler = *handler;
    s->user = user;
    s->live = true;
    s->task.fn = play;
    ch_task_defer(s->env->loop, &s->task);
    return (struct ch_http_call *)s;
}

static void stage_cancel(struct ch_transport *t, struct ch_http_call *call) {
    struct stage *s = CH_CONTAINER(t, struct stage, transport);

    if ((void *)call != (void *)s)
        ch_transport_cancel(s->env->transport, call);
    else
        ch_task_cancel(s->env->loop, &s->task);
}

static void test_public_site_redirects_inside(void **state) {
    static const struct ch_transport_ops ops = {"stage", stage_start, stage_cancel};
    static const struct {
        const char *first, *location, *message;
    } cases[] = {
        {"http://pub.example/", "http://127.0.0.1:%u/", "loopback"},
        {"http://pub.example/", "http://loop.example:%u/", "loopback"},
        {"http://pub.example/", "http://169.254.169.254/", "link-local"},
        {"http://pub.example/", "//localhost:%u/", "loopback"},
        {"https://pub.example/", "http://other.example/", "from https to http"},
        {"HTTPS://pub.example/", "http://pub.example/", "from https to http"},
        {"https://pub.example/", "https://u:p@pub.example/", "user name or password"},
        {"https://pub.example/", "file:///etc/passwd", "unsupported URL scheme"},
        {"https://pub.example/", "https://pub.example/\x01", NULL},
    };
    struct env *e = *state;

    for (size_t i = 0; i < CH_LEN(cases); i++) {
        char to[512];
        struct stage s = {.transport = {&ops},
                          .env = e,
                          .first = cases[i].first,
                          .location = with_port(to, cases[i].location, httpd_port(e->canary))};
        e->opts.transport = &s.transport;
        get(e, cases[i].first);
        if (e->err.code == 0 || (cases[i].message && !strstr(e->err.message, cases[i].message)))
            fail_msg("%s: %s", to, e->err.message);
    }
    assert_int_equal(httpd_accepted(e->canary), 0);
}

/* --- the operator's rules ------------------------------------------------------------- */

static const struct {
    const char *allow, *deny, *url;
    bool want;
} rules[] = {
    {NULL, NULL, "https://a.example/", true},
    {NULL, NULL, "https://a.example:443/", true},
    {NULL, NULL, "http://a.example:8080/", true},
    {NULL, NULL, "https://a.example:8443/", true},
    {NULL, NULL, "http://a.example:22/", false},
    {NULL, NULL, "http://a.example:6379/", false},
    {"", NULL, "https://a.example/", false},
    {"a.example", NULL, "https://a.example/", true},
    {"A.Example", NULL, "https://a.eXample./", true},
    {"a.example", NULL, "https://b.a.example/", false},
    {"a.example", NULL, "https://a.example.evil/", false},
    {"a.example", NULL, "https://aa.example/", false},
    {"a.example", NULL, "https://a.example@evil/", false},
    {"*.a.example", NULL, "https://b.a.example/", true},
    {"*.a.example", NULL, "https://c.b.a.example/", true},
    {"*.a.example", NULL, "https://a.example/", false},
    {"*.a.example", NULL, "https://xa.example/", false},
    {".a.example", NULL, "https://a.example/", true},
    {".a.example", NULL, "https://b.a.example/", true},
    {".a.example", NULL, "https://ba.example/", false},
    {"x, a.example ,y", NULL, "https://a.example/", true},
    {"a.example:9000", NULL, "http://a.example:9000/", true},
    {"a.example:9000", NULL, "http://a.example/", false},
    {"a.example:*", NULL, "http://a.example:1/", true},
    {"*", NULL, "http://a.example:9000/", false},
    {"*:*", NULL, "http://a.example:9000/", true},
    {"[2001:db8::1]:9000", NULL, "http://[2001:db8::1]:9000/", true},
    {"[2001:db8::1]", NULL, "http://[2001:db8::1]/", true},
    {"2001:db8::1", NULL, "http://[2001:db8::2]/", false},
    {"2001:db8::1", NULL, "http://[2001:db8::1]/", true},
    {NULL, "2001:db8::1", "http://[2001:db8::1]/", false},
    {NULL, "2001:db8::1", "http://[2001:0DB8:0:0::1]/", false},
    {NULL, "[2001:db8::1]:80", "http://[2001:db8:0:0:0:0:0:1]/", false},
    {NULL, "192.0.2.1", "http://[::ffff:192.0.2.1]/", false},
    {NULL, "192.0.2.1", "http://[::ffff:c000:201]/", false},
    {NULL, "192.0.2.1", "http://[64:ff9b::192.0.2.1]/", false},
    {NULL, "192.0.2.1", "http://192.0.2.2/", true},
    {NULL, "a.example.", "https://a.example/", false},
    {NULL, "*.a.example.", "https://b.a.example/", false},
    {NULL, "a.example", "https://a.example/", false},
    {NULL, "a.example", "http://a.example:8080/", false},
    {NULL, "a.example", "https://b.example/", true},
    {NULL, "*.a.example", "https://b.a.example/", false},
    {"*", "a.example", "https://a.example/", false},
    {"a.example:9000", "a.example", "http://a.example:9000/", false},
    {NULL, "a.example:8080", "https://a.example/", true},
    {NULL, "", "https://a.example/", true},
};

static void test_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(rules); i++) {
        struct ch_fetch_rules r = {.allow = rules[i].allow, .deny = rules[i].deny};
        struct chela_error err = {0};
        int rc = ch_fetch_check(ch_sv_str(rules[i].url), &r, NULL, &err);
        if ((rc == 0) != rules[i].want)
            fail_msg("%s (allow %s, deny %s): %s", rules[i].url,
                     rules[i].allow ? rules[i].allow : "-", rules[i].deny ? rules[i].deny : "-",
                     err.message);
    }
}

/* --- what comes back --------------------------------------------------------------------- */

static const struct {
    const char *path;
    int code, status;
    const char *want; /* body, or part of the message */
    const char *type; /* of the error */
} answers[] = {
    {"/page", 0, 200, "<p>hi", NULL},
    {"/json", 0, 200, "{}", NULL},
    {"/feed", 0, 200, "<x/>", NULL},
    {"/untyped", 0, 200, "text", NULL},
    {"/hop", 0, 200, "<p>hi", NULL},
    {"/image", CHELA_EINVAL, 200, "type image/png", "invalid_arguments"},
    {"/gzip", CHELA_EPROTO, 200, "compressed", "invalid_arguments"},
    {"/missing", CHELA_EPROTO, 404, "status 404", "not_found"},
    {"/busy", CHELA_EPROTO, 429, "status 429", "rate_limited"},
    {"/nowhere", CHELA_EPROTO, 302, "status 302", "invalid_arguments"},
    {"/loop", CHELA_ELIMIT, 307, "more than 5 redirects", "invalid_arguments"},
};

static void test_answers(void **state) {
    struct env *e = *state;
    char url[512];

    e->opts.rules.allow_private = true;
    for (size_t i = 0; i < CH_LEN(answers); i++) {
        snprintf(url, sizeof(url), "http://site.example:%u%s", httpd_port(e->server),
                 answers[i].path);
        get(e, url);
        const char *got = e->err.code ? e->err.message : ch_buf_str(&e->body);
        if (e->err.code != answers[i].code || e->status != answers[i].status ||
            !strstr(got, answers[i].want))
            fail_msg("%s: %d %d %s", answers[i].path, e->err.code, e->status, got);
        if (answers[i].type)
            assert_string_equal(ch_fetch_error_type(&e->err, e->err.http_status), answers[i].type);
    }
    assert_non_null(strstr(e->seen.p, "Accept-Encoding: identity\r\n"));
    assert_null(strstr(e->seen.p, "Authorization"));
    assert_null(strstr(e->seen.p, "Cookie"));
    assert_int_equal(test_lookups() > 0, 1);
}

static void test_redirect_is_told(void **state) {
    struct env *e = *state;
    char url[512], want[512];

    e->opts.rules.allow_private = true;
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/hop", httpd_port(e->server));
    snprintf(want, sizeof(want), "http://127.0.0.1:%u/page#f", httpd_port(e->server));
    get(e, url);
    assert_string_equal(e->url.p, want);
    assert_int_equal(e->redirects, 1);
    assert_string_equal(e->type.p, "text/html");
}

static void test_size(void **state) {
    struct env *e = *state;
    char url[512];

    e->opts.rules.allow_private = true;
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/endless", httpd_port(e->server));
    get(e, url);
    assert_int_equal(e->err.code, 0);
    assert_true(e->cut);
    assert_int_equal(e->body.n, 1000);
}

static void test_time(void **state) {
    struct env *e = *state;
    char url[512];
    int64_t start = kit_ms();

    e->opts.rules.allow_private = true;
    e->opts.timeout_ms = 150;
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/slow", httpd_port(e->server));
    get(e, url);
    assert_int_equal(e->err.code, CHELA_ETIMEOUT);
    assert_true(kit_ms() - start < 5000);
    /* Redirects do not win time. */
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/to?/to?/slow", httpd_port(e->server));
    start = kit_ms();
    get(e, url);
    assert_int_equal(e->err.code, CHELA_ETIMEOUT);
    assert_int_equal(e->redirects, 2);
    assert_true(kit_ms() - start < 5000);
}

static void test_cancel(void **state) {
    struct env *e = *state;
    char url[512];

    e->opts.rules.allow_private = true;
    snprintf(url, sizeof(url), "http://127.0.0.1:%u/slow", httpd_port(e->server));
    struct ch_fetch *f = ch_fetch_start(ch_sv_str(url), &e->opts, on_done, e);
    run_for(e->loop, 50);
    ch_fetch_cancel(f);
    f = ch_fetch_start(CH_SV("nonsense"), &e->opts, on_done, e);
    ch_fetch_cancel(f);
    run_for(e->loop, 50);
    assert_false(e->done);
    ch_fetch_cancel(NULL);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_forbidden),
        TEST(test_canary_lives),
        TEST(test_denied_address),
        TEST(test_redirects_are_checked),
        TEST(test_public_site_redirects_inside),
        cmocka_unit_test(test_rules),
        TEST(test_answers),
        TEST(test_redirect_is_told),
        TEST(test_size),
        TEST(test_time),
        TEST(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
