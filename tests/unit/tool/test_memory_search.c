/* test_memory_search.c -- notes and past turns found by meaning: with a service of
 * embeddings on the loopback, through the tool memory_search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/json.h"
#include "model/vendor/openai/openai.h"
#include "net/http.h"
#include "support/httpd.h"
#include "support/toolkit.h"
#include "tool/builtin/builtin.h"
#include "tool/memory/memory_search.h"
#include "tool/memory/passage_index.h"
#include "search/vectors_file.h"

/* --- a model that knows what a few words are about -------------------------------------- */

static const char *const topics[][4] = {
    {"tea", "beverage", "Darjeeling", "饮料"},
    {"heron", "machine", "staging", "host"},
    {"Friday", "deploy", "release", "schedule"},
};

struct env {
    struct kit kit;
    struct ch_http *http;
    struct httpd *server;
    struct ch_endpoint ep;
    struct ch_embedder embedder;
    struct ch_tool_settings *settings;
    char url[64];
    char *cache;
    int status;           /* of all answers */
    unsigned dim;         /* of vectors */
    struct ch_buf asked;  /* texts, a line each */
    size_t requests, texts, most;
};

static void add_vector(struct ch_buf *out, struct ch_sv text, unsigned dim) {
    for (unsigned i = 0; i < dim; i++) {
        bool is = i == dim - 1; /* what all texts have in common: little */
        for (size_t k = 0; i < CH_LEN(topics) && k < CH_LEN(topics[i]); k++)
            is |= ch_sv_contains_nocase(text, topics[i][k]);
        ch_buf_addf(out, "%s%s", i ? "," : "[", !is ? "0" : i == dim - 1 ? "0.1" : "2");
    }
    ch_buf_addc(out, ']');
}

static void serve(struct httpd_conn *c, struct ch_sv request, void *user) {
    struct env *e = user;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO body = {0}, out = {0};
    const struct ch_json *root;
    const char *json = strstr(request.p, "\r\n\r\n") + 4;
    size_t n = 0;
    struct ch_sv text = ch_sv(json, request.n - (size_t)(json - request.p));
    assert_int_equal(ch_json_parse(&arena, text, CH_JSON_STRICT, &root, NULL, NULL), 0);
    ch_buf_add_str(&body, "{\"data\":[");
    for (CH_JSON_EACH(t, ch_json_get(root, "input"))) {
        ch_buf_add_sv(&e->asked, ch_json_str(t));
        ch_buf_addc(&e->asked, '\n');
        ch_buf_addf(&body, "%s{\"embedding\":", n++ ? "," : "");
        add_vector(&body, ch_json_str(t), e->dim);
        ch_buf_addc(&body, '}');
    }
    ch_buf_add_str(&body, "]}");
    e->requests++;
    e->texts += n;
    e->most = CH_MAX(e->most, n);
    ch_buf_addf(&out, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s", e->status, body.n,
                ch_buf_str(&body));
    httpd_send(c, ch_buf_sv(&out));
}

/* --- past turns ---------------------------------------------------------------------------- */

static int find_said(const struct ch_recall_query *q, ch_recall_fn *fn, void *to, void *user) {
    static const struct ch_recalled said[] = {
        {"a", 3, 2, "We release every Friday at noon."},
        {"a", 4, 2, "Fine."},
    };
    (void)user;
    for (size_t i = 0; i < CH_LEN(said); i++)
        if (!q->text || ch_sv_contains_nocase(ch_sv_str(said[i].text), q->text))
            fn(&said[i], to);
    return 0;
}

static const struct ch_recall recall = {find_said, NULL};

/* --- the stage ------------------------------------------------------------------------------ */

static int set_up(void **state) {
    static const char *const list[] = {"memory.enabled=true", NULL};
    struct env *e = ch_alloc(sizeof(*e));
    struct httpd_opts server = {.on_request = serve, .user = e};
    struct ch_settings_opts opts = {
        .list = list, .recall = &recall, .embedder = &e->embedder};
    *state = e;
    kit_init(&e->kit);
    e->kit.opts.session = "a";
    e->status = 200;
    e->dim = 4;
    e->http = ch_http_new(e->kit.loop, NULL);
    e->server = httpd_new(ch_loop_uv(e->kit.loop), &server);
    snprintf(e->url, sizeof(e->url), "http://127.0.0.1:%u/v1", httpd_port(e->server));
    e->cache = kit_path(&e->kit, "../cache/vectors");
    e->ep = (struct ch_endpoint){
        .codec = &ch_codec_openai, .provider = "p", .base_url = e->url, .api_key = "sk-test"};
    e->embedder = (struct ch_embedder){.opts = {.transport = ch_http_transport(e->http),
                                                .endpoint = &e->ep,
                                                .model = CH_SV("small")},
                                       .spec = "p/small",
                                       .cache = e->cache};
    assert_int_equal(ch_settings_new(&opts, &e->settings, NULL), 0);
    assert_int_equal(
        ch_builtin_add_with(&e->kit.registry, e->settings, "memory_search", NULL, NULL), 0);
    kit_put(&e->kit, "MEMORY.md",
            "# Ann\n\nShe takes Darjeeling.\n\n# Bob\n\nHe plays chess.\n\n# Servers\n\nThe one "
            "for trials is heron.\n");
    return 0;
}

static int tear_down(void **state) {
    struct env *e = *state;
    ch_http_close(e->http);
    httpd_close(e->server);
    kit_free(&e->kit);
    ch_settings_unref(e->settings);
    ch_buf_release(&e->asked);
    ch_free(e->cache);
    ch_free(e);
    return 0;
}

static const char *search(struct env *e, const char *query) {
    CH_BUF_AUTO args = {0};
    ch_buf_addf(&args, "{\"query\":\"%s\"}", query);
    ch_buf_clear(&e->asked);
    e->requests = e->texts = 0;
    const char *got = kit_call(&e->kit, "memory_search", ch_buf_str(&args));
    assert_false(e->kit.is_error);
    return got;
}

static void has(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("no '%s' in: %s", part, text);
}

static void lacks(const char *text, const char *part) {
    if (strstr(text, part))
        fail_msg("'%s' in: %s", part, text);
}

/* --- the tests ----------------------------------------------------------------------------- */

/* No word in common; and what means something else is not given for want of
 * better. */
static void test_meaning(void **state) {
    struct env *e = *state;
    const char *got = search(e, "favourite beverage");
    has(got, "[MEMORY.md:3]\n# Ann\nShe takes Darjeeling.\n");
    lacks(got, "chess");
    lacks(got, "heron");
    lacks(e->kit.details, "warning");
    has(ch_buf_str(&e->asked), "# Ann\nShe takes Darjeeling.\n"); /* with its heading */
    has(search(e, "饮料"), "Darjeeling");
    got = search(e, "the weekly schedule");
    has(got, "[session a, turn 2]\nWe release every Friday at noon.\n");
    lacks(got, "Fine.");
    kit_put(&e->kit, "MEMORY.md", "The heron is grey.\n");
    has(search(e, "beverage"), "Nothing is written down"); /* the nearest is far */
}

/* Words alone, meaning alone, and both: that comes first. */
static void test_both(void **state) {
    struct env *e = *state;
    kit_mkdir(&e->kit, "memory");
    kit_put(&e->kit, "memory/2026-01-01.md",
            "A machine plays chess.\n\nChess is dull.\n\nThe host has a name.\n");
    const char *got = search(e, "chess machine");
    const char *both = strstr(got, "A machine plays chess."), *word = strstr(got, "Chess is dull."),
               *meant = strstr(got, "The host has a name.");
    assert_true(both && word && meant);
    assert_true(both < word && both < meant);
}

/* What was sent once is not sent again, in another process neither. */
static void test_kept(void **state) {
    struct env *e = *state;
    search(e, "beverage");
    assert_int_equal(e->texts, 1 + 3 + 2); /* the query, passages, turns */
    search(e, "machine");
    assert_string_equal(ch_buf_str(&e->asked), "machine\n");
    has(search(e, "beverage"), "Darjeeling"); /* by what was kept */
    assert_int_equal(kit_entries(&e->kit, "../cache/vectors"), 1);
    kit_put(&e->kit, "MEMORY.md",
            "# Ann\n\nShe takes Darjeeling.\n\n# Bob\n\nHe plays go.\n\n# Servers\n\nThe one for "
            "trials is heron.\n");
    search(e, "machine");
    assert_string_equal(ch_buf_str(&e->asked), "machine\n# Bob\nHe plays go.\n");
    e->embedder.spec = "p/large"; /* another model has vectors of its own */
    search(e, "machine");
    assert_int_equal(e->texts, 6);
    assert_int_equal(kit_entries(&e->kit, "../cache/vectors"), 2);
}

/* Damage costs requests, nothing else. */
static void test_damaged(void **state) {
    struct env *e = *state;
    struct ch_vectors vs = {0};
    static const float row[] = {0.6f, -0.8f};
    CH_AUTOFREE char *path = kit_path(&e->kit, "../kept");
    ch_vectors_add(&vs, CH_SV("one"), row, 2);
    ch_vectors_add(&vs, CH_SV("two"), row, 2);
    CH_BUF_AUTO left = {0}; /* by a program with the same id that was killed */
    ch_buf_addf(&left, "../kept.%ld", (long)getpid());
    kit_put_bytes(&e->kit, ch_buf_str(&left), "x", 1);
    assert_int_equal(ch_vectors_save(&vs, path), 0);
    ch_vectors_release(&vs);
    CH_BUF_AUTO file = {0};
    struct chela_error err = {0};
    assert_int_equal(ch_file_load(path, 1000, &file, &err), 0);
    ch_vectors_load(&vs, path);
    assert_int_equal(vs.n, 2);
    assert_float_equal(ch_vectors_find(&vs, CH_SV("two"))[0], 0.6, 0.01);
    assert_float_equal(ch_vectors_find(&vs, CH_SV("two"))[1], -0.8, 0.01);
    ch_vectors_release(&vs);
    for (size_t i = 0; i < file.n; i++) {
        file.p[i] ^= 0x41;
        kit_put_bytes(&e->kit, "../kept", file.p, file.n);
        ch_vectors_load(&vs, path);
        assert_int_equal(vs.n, 0);
        file.p[i] ^= 0x41;
        kit_put_bytes(&e->kit, "../kept", file.p, i);
        ch_vectors_load(&vs, path);
        assert_int_equal(vs.n, 0);
    }
}

/* A model that changed its mind about sizes. */
static void test_other_size(void **state) {
    struct env *e = *state;
    search(e, "beverage");
    e->dim = 6;
    search(e, "beverage"); /* what was kept is of no use */
    has(search(e, "beverage"), "Darjeeling");
    has(search(e, "machine"), "heron");
}

/* Never an error; and it is left alone for a while. */
static void test_failure(void **state) {
    struct env *e = *state;
    e->status = 503;
    has(search(e, "who plays chess"), "[MEMORY.md:7]\n# Bob\nHe plays chess.\n");
    has(e->kit.details, "embedding p/small: HTTP status 503; notes are found by words alone");
    has(search(e, "beverage"), "Nothing is written down");
    assert_int_equal(e->requests, 0);
    lacks(e->kit.details, "warning");
    e->embedder.again = 0;
    e->status = 200;
    has(search(e, "beverage"), "Darjeeling");
}

/* A request has 64 texts at most, a search 512 and the query; the next goes on. */
static void test_many(void **state) {
    struct env *e = *state;
    CH_BUF_AUTO text = {0};
    for (int i = 0; i < 400; i++)
        ch_buf_addf(&text, "Item %d is of no interest.\n\n", i);
    ch_buf_add_str(&text, "It is Darjeeling.\n");
    kit_put(&e->kit, "MEMORY.md", ch_buf_str(&text));
    search(e, "beverage");
    assert_int_equal(e->texts, 1 + CH_LIMIT_MEANT / 2 + 2);
    assert_int_equal(e->most, CH_LIMIT_EMBED_BATCH);
    has(search(e, "beverage"), "[MEMORY.md:801]\nIt is Darjeeling.\n");
    assert_int_equal(e->texts, 1 + 401 - CH_LIMIT_MEANT / 2);
    search(e, "beverage");
    assert_int_equal(e->texts, 1);
}

/* Where nothing can be kept it is asked for each time. */
static void test_no_cache(void **state) {
    struct env *e = *state;
    e->embedder.cache = NULL;
    has(search(e, "beverage"), "Darjeeling");
    search(e, "beverage");
    assert_int_equal(e->texts, 6);
    CH_AUTOFREE char *file = kit_path(&e->kit, "MEMORY.md/vectors"); /* no folder */
    e->embedder.cache = file;
    has(search(e, "beverage"), "Darjeeling");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_meaning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_both, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_cache, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
