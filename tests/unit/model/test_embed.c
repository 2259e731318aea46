/* test_embed.c -- embeddings over the wire, from a server on the loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "model/wire/embed.h"
#include "net/http.h"
#include "support/httpd.h"

struct env {
    struct ch_loop *loop;
    struct ch_http *http;
    struct httpd *server;
    char url[64];
    struct ch_buf seen, answer, got; /* got: "0.60 0.80|" a row, or the error */
    int code;
    bool done;
};

static void serve(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    CH_BUF_AUTO out = {0};
    ch_buf_clear(&e->seen);
    ch_buf_add_sv(&e->seen, request);
    ch_buf_addf(&out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", e->answer.n,
                ch_buf_str(&e->answer));
    httpd_send(c, ch_buf_sv(&out));
}

static int set_up(void **state) {
    struct env *e = ch_alloc(sizeof(*e));
    struct httpd_opts opts = {.on_request = serve, .user = e};
    *state = e;
    assert_int_equal(ch_loop_new(NULL, NULL, &e->loop, NULL), 0);
    e->http = ch_http_new(e->loop, NULL);
    e->server = httpd_new(ch_loop_uv(e->loop), &opts);
    snprintf(e->url, sizeof(e->url), "http://127.0.0.1:%u/v1", httpd_port(e->server));
    return 0;
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_http_close(e->http);
    httpd_close(e->server);
    ch_loop_close(e->loop, NULL, NULL);
    ch_buf_release(&e->seen);
    ch_buf_release(&e->answer);
    ch_buf_release(&e->got);
    ch_free(e);
    return 0;
}

static void on_embedded(const struct ch_embedded *v, const struct chela_error *err, void *user) {
    struct env *e = user;
    assert_true((v != NULL) != (err != NULL));
    e->done = true;
    e->code = err ? err->code : 0;
    if (err)
        ch_buf_add_str(&e->got, err->message);
    for (size_t i = 0; v && i < v->n; i++) {
        for (size_t k = 0; k < v->dim; k++)
            ch_buf_addf(&e->got, "%.2f ", (double)v->rows[i * v->dim + k]);
        ch_buf_addc(&e->got, '|');
    }
}

static int ask(struct env *e, const char *answer, size_t n) {
    static const struct ch_sv texts[] = {CH_SV("one \"quoted\""), CH_SV("two")};
    struct ch_endpoint ep = {.codec = &ch_codec_openai, .provider = "p", .base_url = e->url,
                             .api_key = "sk-test"};
    struct ch_embed_opts o = {.transport = ch_http_transport(e->http), .endpoint = &ep,
                              .model = CH_SV("small")};
    struct ch_embed *job;
    ch_buf_clear(&e->answer);
    ch_buf_add_str(&e->answer, answer);
    ch_buf_clear(&e->got);
    e->done = false;
    assert_int_equal(ch_embed_start(&o, texts, n, on_embedded, e, &job, NULL), 0);
    assert_false(e->done);
    assert_int_equal(ch_loop_run(e->loop, &e->done), 0);
    return e->code;
}

static void test_answer(void **state) {
    struct env *e = *state;
    assert_int_equal(ask(e,
                         "{\"data\":[{\"index\":1,\"embedding\":[0,-2]},"
                         "{\"index\":0,\"embedding\":[3,4]}],\"usage\":{}}",
                         2),
                     0);
    assert_string_equal(ch_buf_str(&e->got), "0.60 0.80 |0.00 -1.00 |");
    const char *seen = ch_buf_str(&e->seen);
    assert_int_equal(strncmp(seen, "POST /v1/embeddings HTTP/1.1\r\n", 30), 0);
    assert_non_null(strcasestr(seen, "authorization: Bearer sk-test\r\n"));
    assert_non_null(strstr(seen, "{\"model\":\"small\",\"input\":[\"one \\\"quoted\\\"\",\"two\"],"
                                 "\"encoding_format\":\"float\"}"));
}

static void test_bad_answers(void **state) {
    struct env *e = *state;
    static const char *const bad[] = {
        "",
        "[]",
        "{\"data\":{}}",
        "{\"data\":[{\"embedding\":[1]}]}",
        "{\"data\":[{\"embedding\":[1]},{\"embedding\":[1,2]}]}",
        "{\"data\":[{\"embedding\":[1]},{\"embedding\":[0]}]}",
        "{\"data\":[{\"embedding\":[1]},{\"embedding\":[\"1\"]}]}",
        "{\"data\":[{\"embedding\":[]},{\"embedding\":[]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":0,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]},{\"index\":2,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":-1,\"embedding\":[1]},{\"index\":1,\"embedding\":[1]}]}",
        "{\"data\":[{\"embedding\":[1e999]},{\"embedding\":[1]}]}",
        "{\"data\":[{\"embedding\":[1e100]},{\"embedding\":[1]}]}",
    };
    for (size_t i = 0; i < CH_LEN(bad); i++)
        if (ask(e, bad[i], 2) != CHELA_EPROTO)
            fail_msg("%s: %s", bad[i], ch_buf_str(&e->got));
}

static void test_limits(void **state) {
    struct env *e = *state;
    struct ch_endpoint ep = {.codec = &ch_codec_anthropic, .provider = "p", .base_url = e->url};
    struct ch_embed_opts o = {.transport = ch_http_transport(e->http), .endpoint = &ep,
                              .model = CH_SV("m")};
    struct ch_embed *job;
    struct ch_sv text = CH_SV("x");
    assert_int_equal(ch_embed_start(&o, &text, 1, on_embedded, e, &job, NULL), CHELA_ECONFIG);
    ep.codec = &ch_codec_openai;
    assert_int_equal(ch_embed_start(&o, &text, 0, on_embedded, e, &job, NULL), CHELA_ELIMIT);
    assert_int_equal(ch_embed_start(&o, &text, 65, on_embedded, e, &job, NULL), CHELA_ELIMIT);
    assert_int_equal(ch_embed_start(&o, &text, 1, on_embedded, e, &job, NULL), 0);
    ch_embed_cancel(job, CHELA_ECANCELED);
    ch_embed_cancel(NULL, CHELA_ECANCELED);
    assert_false(e->done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
