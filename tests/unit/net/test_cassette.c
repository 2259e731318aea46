/* test_cassette.c -- what is on a tape and what is not, recording through a
 * transport that misbehaves, and playing back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/crc32.h"
#include "base/file.h"
#include "base/log.h"
#include "base/redact.h"
#include "net/cassette.h"
#include "net/eventstream.h"
#include "net/tape.h"

static char path[] = "/tmp/chela-cassette-XXXXXX";
static struct ch_loop *loop;

static int open_all(void **state) {
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return ch_loop_new(NULL, NULL, &loop, NULL);
}

static int close_all(void **state) {
    (void)state;
    ch_loop_close(loop, NULL, NULL);
    unlink(path);
    return 0;
}

/* --- tapes */

static void test_users_in_urls(void **state) {
    (void)state;
    static const struct {
        const char *url, *want;
    } rows[] = {
        {"https://h/users/@me", "https://h/users/@me"},
        {"https://me:a@bc@h/@you?a=@b", "https://***@h/@you?a=@b"},
        {"https://h?to=a@b", "https://h?to=a@b"},
        {"https://me@h", "https://***@h"},
    };
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct ch_http_request req = {.method = "GET", .url = rows[i].url};
        struct ch_tape_words words = {0};
        CH_BUF_AUTO out = {0}, want = {0};
        ch_tape_request(&words, &req, &out);
        ch_buf_addf(&want, "\"url\":\"%s\"", rows[i].want);
        if (!strstr(ch_buf_str(&out), ch_buf_str(&want)))
            fail_msg("%s: %s", rows[i].url, ch_buf_str(&out));
    }
}

static void test_secrets_stay_out(void **state) {
    (void)state;
    static const char secret[] = "hunter2-hunter2";
    struct ch_header headers[] = {{CH_SV("X-Api-Key"), CH_SV("abc")},
                                  {CH_SV("authorization"), CH_SV("Bearer abc")},
                                  {CH_SV("accept"), CH_SV("text/plain")},
                                  {CH_SV("x-note"), CH_SV("has hunter2-hunter2 in it")}};
    struct ch_sv body[] = {CH_SV("{\"api_key\":\"abc\",\"nested\":[{\"password\":\"abc\"}],"),
                           CH_SV("\"text\":\"say \\\"hunter2-hunter2\\\" and sk-abcdefghijklmnop\","
                                 "\"key\":5}")};
    struct ch_http_request req = {.method = "POST",
                                  .url = "https://me:abc@h/p?key=abc&a=hunter2-hunter2&b",
                                  .headers = headers,
                                  .nheaders = CH_LEN(headers),
                                  .body = body,
                                  .nbody = CH_LEN(body)};
    struct ch_tape_words words = {0};
    CH_BUF_AUTO out = {0};
    ch_redact_add(secret);
    ch_tape_request(&words, &req, &out);
    assert_string_equal(
        ch_buf_str(&out),
        "{\"method\":\"POST\",\"url\":\"https://***@h/p?key=***&a=***&b\",\"headers\":{"
        "\"X-Api-Key\":\"***\",\"authorization\":\"***\",\"accept\":\"text/plain\","
        "\"x-note\":\"has *** in it\"},\"body\":{\"api_key\":\"***\",\"nested\":[{\"password\":"
        "\"***\"}],\"text\":\"say \\\"***\\\" and ***\",\"key\":5}}");
    struct ch_header answered[] = {{CH_SV("set-cookie"), CH_SV("abc")},
                                   {CH_SV("content-type"), CH_SV("text/event-stream")},
                                   {CH_SV("anthropic-organization-id"), CH_SV("abc")}};
    struct ch_http_head head = {.status = 200, .headers = answered, .nheaders = 3};
    CH_BUF_AUTO h = {0};
    ch_tape_headers(&head, &h);
    ch_buf_clear(&out);
    ch_tape_response(&words, 200, ch_buf_sv(&h), CH_SV("data: hunter2-hunter2\n\ndata: b\n\nc"),
                     &out);
    assert_string_equal(ch_buf_str(&out),
                        "{\"status\":200,\"headers\":{\"content-type\":\"text/event-stream\"},"
                        "\"body\":[\"data: ***\\n\\n\",\"data: b\\n\\n\",\"c\"]}");
}

static void test_words(void **state) {
    (void)state;
    struct ch_tape_words words = {0};
    CH_BUF_AUTO hidden = {0};
    CH_BUF_AUTO shown = {0};
    ch_tape_words_add(&words, "/srv/at/w", "${workspace}");
    ch_tape_words_add(&words, "/", "${root}"); /* too short to mean anything */
    ch_tape_hide(&words, CH_SV("in /srv/at/w and /srv/at/w/a"), &hidden);
    assert_string_equal(ch_buf_str(&hidden), "in ${workspace} and ${workspace}/a");
    ch_tape_show(&words, ch_buf_sv(&hidden), &shown);
    assert_string_equal(ch_buf_str(&shown), "in /srv/at/w and /srv/at/w/a");
    ch_tape_words_release(&words);
}

/* --- a stream of bytes */

static void add_u32(struct ch_buf *out, uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8)
        ch_buf_addc(out, (char)(n >> shift));
}

static void add_message(struct ch_buf *out, const char *payload) {
    static const struct ch_sv headers = CH_SV("\x0b:event-type\x07\x00\x01x");
    size_t start = out->n;
    add_u32(out, (uint32_t)(16 + headers.n + strlen(payload)));
    add_u32(out, (uint32_t)headers.n);
    add_u32(out, ch_crc32(0, out->p + start, 8));
    ch_buf_add_sv(out, headers);
    ch_buf_add_str(out, payload);
    add_u32(out, ch_crc32(0, out->p + start, out->n - start));
}

static bool note_message(const struct ch_es_message *m, void *user) {
    ch_buf_addf(user, "%.*s=%.*s;", CH_SV_FMT(m->event), CH_SV_FMT(m->payload));
    return true;
}

/* The messages of a stream, each checked. */
static void read_stream(struct ch_sv bytes, struct ch_buf *out) {
    struct ch_eventstream s;
    struct chela_error err = {0};
    ch_buf_clear(out);
    ch_eventstream_init(&s, note_message, out);
    if (ch_eventstream_feed(&s, bytes, &err) < 0)
        ch_buf_addf(out, "%s", err.message);
    ch_eventstream_release(&s);
}

static void test_event_streams(void **state) {
    (void)state;
    struct ch_tape_words words = {0}, elsewhere = {0};
    CH_BUF_AUTO stream = {0};
    CH_BUF_AUTO line = {0};
    CH_BUF_AUTO hidden = {0};
    CH_BUF_AUTO shown = {0};
    CH_BUF_AUTO got = {0};
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    ch_redact_add("hunter2-hunter2");
    ch_tape_words_add(&words, "/srv/at/w", "${workspace}");
    ch_tape_words_add(&elsewhere, "/x", "${workspace}");
    add_message(&stream, "{\"text\":\"hunter2-hunter2\"}");
    add_message(&stream, "");
    add_message(&stream, "{\"input\":\"/srv/at/w/a.txt /srv/at/w\"}");
    size_t whole = stream.n;
    add_message(&stream, "cut, and hunter2-hunter2 is in it");
    stream.n -= 5;

    ch_tape_response(&words, 200,
                     CH_SV("{\"content-type\":\"application/vnd.amazon.eventstream\"}"),
                     ch_buf_sv(&stream), &line);
    assert_int_equal(ch_json_parse(&arena, ch_buf_sv(&line), CH_JSON_STRICT, &v, NULL, NULL), 0);
    struct ch_sv base64 = ch_json_get_str(ch_json_get(v, "body"), "base64");
    assert_true(ch_base64_read(base64, &hidden));
    assert_null(memmem(hidden.p, hidden.n, "hunter2", 7));
    read_stream(ch_buf_sv(&hidden), &got);
    assert_string_equal(ch_buf_str(&got), "x={\"text\":\"***\"};x=;"
                                          "x={\"input\":\"${workspace}/a.txt ${workspace}\"};");
    assert_non_null(memmem(hidden.p, hidden.n, "cut, and ", 9));

    ch_tape_show_bytes(&elsewhere, ch_buf_sv(&hidden), &shown);
    read_stream(ch_buf_sv(&shown), &got);
    assert_non_null(strstr(ch_buf_str(&got), "x={\"input\":\"/x/a.txt /x\"};"));

    stream.p[whole - 1] ^= 1; /* a damaged one stays damaged */
    ch_buf_clear(&hidden);
    ch_tape_hide_bytes(&words, ch_sv(stream.p, whole), &hidden);
    read_stream(ch_buf_sv(&hidden), &got);
    assert_null(strstr(ch_buf_str(&got), "input"));
    assert_null(memmem(hidden.p, hidden.n, "/srv", 4));
    ch_tape_words_release(&words);
    ch_tape_words_release(&elsewhere);
}

static void test_differences(void **state) {
    (void)state;
    static const struct {
        const char *a, *b, *why; /* NULL: none */
    } cases[] = {
        {"{\"method\":\"P\",\"body\":{\"a\":1,\"b\":2}}",
         "{\"body\":{\"b\":2,\"a\":1.0},\"method\":\"P\"}", NULL},
        {"{\"headers\":{\"a\":\"1\"}}", "{\"headers\":{}}", NULL},
        {"{\"url\":\"http://a\"}", "{\"url\":\"http://b\"}",
         "/url was \"http://a\", now it is \"http://b\""},
        {"{\"body\":{\"m\":[{\"t\":\"x\"}]}}", "{\"body\":{\"m\":[{\"t\":\"y\"}]}}",
         "/body/m/0/t was \"x\", now it is \"y\""},
        {"{\"body\":{\"m\":[1,2]}}", "{\"body\":{\"m\":[1,2,3]}}",
         "/body/m was an array of 2, now it is an array of 3"},
        {"{\"body\":true}", "{\"body\":null}", "/body was true, now it is null"},
        {"{\"body\":\"x\"}", "{}", "/body was \"x\", now it is null"},
        {"{\"body\":\"0123456789012345678901234567890 the end\"}",
         "{\"body\":\"0123456789012345678901234567890 an end\"}",
         "/body was ...\"2345678901234567890 the end\""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_ARENA_AUTO arena = {0};
        CH_BUF_AUTO why = {0};
        const struct ch_json *a, *b;
        ch_json_parse(&arena, ch_sv_str(cases[i].a), CH_JSON_STRICT, &a, NULL, NULL);
        ch_json_parse(&arena, ch_sv_str(cases[i].b), CH_JSON_STRICT, &b, NULL, NULL);
        bool same = ch_tape_same(a, b, &why);
        if (same != !cases[i].why || (!same && !strstr(ch_buf_str(&why), cases[i].why)))
            fail_msg("case %zu: %d, %s", i, same, ch_buf_str(&why));
    }
}

/* --- a service inside the test: what it does is in `now` */

struct play {
    const char *body;
    int status;
    int code; /* how it fails after the body; 0: not */
    bool hang;
};
struct ch_http_call {
    struct ch_task task;
    const struct ch_http_handler *handler;
    void *user;
};
static struct play now;
static struct ch_transport service;

static void serve(struct ch_task *task) {
    struct ch_http_call *call = CH_CONTAINER(task, struct ch_http_call, task);
    static const struct ch_header headers[] = {{CH_SV("content-type"), CH_SV("text/plain")},
                                               {CH_SV("retry-after"), CH_SV("3")}};
    struct ch_http_head head = {.status = now.status, .headers = headers, .nheaders = 2};
    if (now.status) {
        call->handler->on_head(&head, call->user);
        call->handler->on_data(ch_sv(now.body, strlen(now.body)), call->user);
    }
    if (now.hang)
        return;
    struct chela_error err = {.code = now.code, .message = "it broke"};
    const struct ch_http_handler *handler = call->handler;
    void *user = call->user;
    ch_free(call);
    handler->on_done(now.code ? &err : NULL, user);
}

static struct ch_http_call *service_start(struct ch_transport *t, const struct ch_http_request *req,
                                          const struct ch_http_handler *handler, void *user) {
    (void)t, (void)req;
    struct ch_http_call *call = ch_alloc(sizeof(*call));
    call->handler = handler;
    call->user = user;
    call->task.fn = serve;
    ch_task_defer(loop, &call->task);
    return call;
}

static void service_cancel(struct ch_transport *t, struct ch_http_call *call) {
    (void)t;
    ch_task_cancel(loop, &call->task);
    ch_free(call);
}

/* --- a client that writes down what it gets */

struct client {
    struct ch_buf log;
    bool done;
    const char *cancel_at; /* "head" or "data" */
    struct ch_transport *transport;
    struct ch_http_call *call;
};

static void leave(struct client *c, const char *at) {
    if (c->cancel_at && strcmp(c->cancel_at, at) == 0) {
        ch_transport_cancel(c->transport, c->call);
        c->done = true;
    }
}
static void on_head(const struct ch_http_head *head, void *user) {
    struct client *c = user;
    struct ch_sv after = ch_header_find(head->headers, head->nheaders, "retry-after");
    ch_buf_addf(&c->log, "%d(%.*s) ", head->status, CH_SV_FMT(after));
    leave(c, "head");
}
static void on_data(struct ch_sv data, void *user) {
    struct client *c = user;
    ch_buf_add_sv(&c->log, data);
    leave(c, "data");
}
static void on_done(const struct chela_error *err, void *user) {
    struct client *c = user;
    ch_buf_addf(&c->log, " %s", err ? err->message : "end");
    c->done = true;
}

static void ask(struct ch_transport *t, const char *body, const char *cancel_at,
                struct ch_buf *log) {
    static const struct ch_http_handler handler = {on_head, on_data, on_done};
    struct ch_sv parts[] = {ch_sv_str(body)};
    struct ch_http_request req = {.method = "POST", .url = "http://x/y", .body = parts, .nbody = 1};
    struct client c = {.transport = t, .cancel_at = cancel_at};
    c.call = ch_transport_start(t, &req, &handler, &c);
    assert_false(c.done); /* never inside start */
    assert_int_equal(ch_loop_run(loop, &c.done), 0);
    ch_buf_clear(log);
    ch_buf_add_sv(log, ch_buf_sv(&c.log));
    ch_buf_release(&c.log);
}

static const struct {
    const char *ask;
    struct play play;
    const char *cancel_at, *live, *played;
} talks[] = {
    {"{\"q\":1}", {"a\n\nb\n\n", 200, 0, false}, NULL, "200(3) a\n\nb\n\n end", NULL},
    {"{\"q\":1}", {"again", 200, 0, false}, NULL, "200(3) again end", NULL},
    {"{\"q\":2}",
     {"in /w/here", 200, 0, false},
     NULL,
     "200(3) in /w/here end",
     "200(3) in /else/w end"},
    {"{\"q\":3}", {"\xff\xfe bin", 200, 0, false}, NULL, "200(3) \xff\xfe bin end", NULL},
    {"{\"q\":4}", {"half", 200, CHELA_ENET, false}, NULL, "200(3) half it broke", NULL},
    {"{\"q\":5}", {NULL, 0, CHELA_ETIMEOUT, false}, NULL, " it broke", NULL},
    {"{\"q\":6}", {"x", 429, 0, false}, NULL, "429(3) x end", NULL},
    {"{\"q\":7}",
     {"part", 200, 0, true},
     "data",
     "200(3) part",
     "200(3) part the recorded call was cancelled here"},
    {"no json", {"y", 200, 0, false}, NULL, "200(3) y end", NULL},
};

static void test_record_and_replay(void **state) {
    (void)state;
    static const struct ch_transport_ops ops = {"service", service_start, service_cancel};
    struct ch_cassette *c;
    struct chela_error err = {0};
    CH_BUF_AUTO log = {0};
    service.ops = &ops;
    assert_int_equal(ch_cassette_record(loop, path, &service, &c, &err), 0);
    assert_false(ch_cassette_plays(c));
    ch_cassette_hide(c, "/w/here", "${workspace}");
    for (size_t i = 0; i < CH_LEN(talks); i++) {
        now = talks[i].play;
        ask(ch_cassette_transport(c), talks[i].ask, talks[i].cancel_at, &log);
        assert_string_equal(ch_buf_str(&log), talks[i].live);
    }
    ch_cassette_close(c);

    assert_int_equal(ch_cassette_replay(loop, path, &c, &err), 0);
    assert_true(ch_cassette_plays(c));
    ch_cassette_hide(c, "/else/w", "${workspace}");
    for (size_t i = 0; i < CH_LEN(talks); i++) {
        ask(ch_cassette_transport(c), talks[i].ask, NULL, &log);
        assert_string_equal(ch_buf_str(&log), talks[i].played ? talks[i].played : talks[i].live);
    }
    ask(ch_cassette_transport(c), "{\"q\":1}", NULL, &log);
    assert_non_null(strstr(ch_buf_str(&log), "holds no more than 9"));
    ch_cassette_close(c);

    /* cancelled in either callback, and what is asked for that never was */
    static const char *const at[] = {"head", "data"};
    assert_int_equal(ch_cassette_replay(loop, path, &c, &err), 0);
    for (size_t i = 0; i < CH_LEN(at); i++)
        ask(ch_cassette_transport(c), talks[0].ask, at[i], &log);
    ask(ch_cassette_transport(c), "{\"q\":99}", NULL, &log);
    assert_non_null(strstr(ch_buf_str(&log), ":4: /body/q was 2, now it is 99"));
    ch_cassette_close(c);
}

/* The calls before a full disk can be played. */
static void test_full_disk(void **state) {
    (void)state;
    struct ch_cassette *c;
    struct stat st;
    CH_BUF_AUTO log = {0};
    assert_int_equal(ch_cassette_record(loop, path, &service, &c, NULL), 0);
    now = talks[0].play;
    ask(ch_cassette_transport(c), talks[0].ask, NULL, &log);
    assert_int_equal(stat(path, &st), 0);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)st.st_size + 9, RLIM_INFINITY});
    ask(ch_cassette_transport(c), talks[0].ask, NULL, &log);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    ask(ch_cassette_transport(c), talks[0].ask, NULL, &log);
    ch_cassette_close(c);
    assert_int_equal(ch_cassette_replay(loop, path, &c, NULL), 0);
    ask(ch_cassette_transport(c), talks[0].ask, NULL, &log);
    assert_string_equal(ch_buf_str(&log), talks[0].live);
    ch_cassette_close(c);
}

static void test_bad_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", " is empty: nothing was recorded"},
        {"{}", ":1: no cassette"},
        {"{\"chela_cassette\":2}\n", ":1: no cassette"},
        {"{\"chela_cassette\":1}\nnonsense\n", ":2: "},
        {"{\"chela_cassette\":1}\n\n{\"response\":{}}\n", ":3: a line needs a \"request\""},
        {"{\"chela_cassette\":1}\n{\"request\":{}}\n", ":2: a line needs a \"response\""},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_cassette *c = NULL;
        struct chela_error err = {0};
        FILE *f = fopen(path, "w");
        fputs(cases[i].text, f);
        fclose(f);
        assert_int_equal(ch_cassette_replay(loop, path, &c, &err), CHELA_ECONFIG);
        if (!strstr(err.message, cases[i].why))
            fail_msg("case %zu: %s", i, err.message);
    }
    struct ch_cassette *c = NULL;
    struct chela_error err = {0};
    assert_int_equal(ch_cassette_replay(loop, "/nowhere/at/all", &c, &err), CHELA_ENOENT);
    assert_int_equal(ch_cassette_record(loop, "/nowhere/at/all", &service, &c, &err), CHELA_EIO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_users_in_urls),
        cmocka_unit_test(test_secrets_stay_out), cmocka_unit_test(test_words),
        cmocka_unit_test(test_differences),      cmocka_unit_test(test_record_and_replay),
        cmocka_unit_test(test_bad_files),        cmocka_unit_test(test_event_streams),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
