/* test_request_record.c -- what the journal stores of a request to a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/journal/request_record.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "model/catalog/model_facts.h"
#include "model/codec/encoder.h"
#include "model/provider/target.h"
#include "support/fake_journal.h"

#define SECRET "test-key-0123456789" /* the key of the stage's agent */

static const struct fake_reply hang[] = {{.hang = true}};
static const struct ch_tool_def tools[] = {
    {.name = CH_SV("save"),
     .description = CH_SV("Saves."),
     .schema = CH_SV("{\"type\":\"object\"}")},
    {.name = CH_SV("load"), .description = CH_SV("Loads."), .strict = true},
};

/* A run whose model call hangs, and a request of the test, recorded in the run's journal. */
struct world {
    struct stage st;
    struct fake_journal f;
    size_t from; /* records before the request */
    struct ch_endpoint ep;
    struct ch_msg *messages[3];
    struct ch_model_request req;
    struct ch_encoder encoder;
    struct ch_request_made made;
};

static void world_open(struct world *w) {
    static const struct ch_sv texts[] = {CH_SV("one"), CH_SV("two"), CH_SV("three")};
    STAGE_OPEN(&w->st, NULL, hang);
    fake_journal_attach(&w->f, &w->st);
    stage_start(&w->st, "go");
    for (int i = 0; i < 20 && w->st.model.nrequests == 0; i++)
        ch_loop_tick(w->st.rt->loop);
    assert_int_equal(w->st.model.nrequests, 1);
    w->from = w->f.n;
    w->ep = w->st.agent->targets[0]->ep;
    for (size_t i = 0; i < CH_LEN(texts); i++)
        w->messages[i] = ch_msg_text(i % 2 ? CH_MSG_ASSISTANT : CH_MSG_USER, texts[i], 0);
    w->req = (struct ch_model_request){.endpoint = &w->ep,
                                       .model = CH_SV("fake-2"),
                                       .messages = (const struct ch_msg *const *)w->messages,
                                       .nmessages = 1,
                                       .revision = 1000};
    w->encoder = (struct ch_encoder){0};
    w->made = (struct ch_request_made){.req = &w->req, .encoder = &w->encoder, .origin = "test"};
}

static void world_close(struct world *w) {
    for (size_t i = 0; i < CH_LEN(w->messages); i++)
        ch_msg_free(w->messages[i]);
    ch_encoder_release(&w->encoder);
    chela_cancel(w->st.run, NULL);
    stage_finish(&w->st);
    stage_close(&w->st);
    fake_journal_release(&w->f);
}

/* Records the request; the names of the new records. */
static const char *record(struct world *w) {
    struct chela_error err = {0};
    w->from = w->f.n;
    ch_buf_clear(&w->f.log);
    assert_int_equal(ch_encoder_update(&w->encoder, &w->req, &err), 0);
    ch_request_record(w->st.run, &w->made);
    for (size_t i = w->from; i < w->f.n; i++) {
        assert_int_equal(w->f.records[i].sync, CH_SYNC_LATER);
        assert_null(strstr(w->f.records[i].json, SECRET));
    }
    return ch_buf_str(&w->f.log);
}

static const char *newest(const struct world *w, size_t back) {
    assert_true(w->f.n > w->from + back);
    return w->f.records[w->f.n - 1 - back].json;
}

static void has(const char *json, const char *text, bool wanted) {
    if ((strstr(json, text) != NULL) != wanted)
        fail_msg("%s %s in %s", text, wanted ? "is not" : "is", json);
}

/* The record has the digest and the length of the body that is sent. */
static void has_digest(const struct world *w, const char *json) {
    CH_BUF_AUTO body = {0};
    struct ch_sv pieces[3];
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    ch_encoder_body(&w->encoder, pieces);
    for (size_t i = 0; i < CH_LEN(pieces); i++)
        ch_buf_add_sv(&body, pieces[i]);
    ch_sha256_of(ch_buf_sv(&body), digest);
    ch_sha256_hex(digest, hex);
    has(json, hex, true);
    size_t n = body.n;
    ch_buf_clear(&body);
    ch_buf_addf(&body, "\"bytes\":%zu,", n);
    has(json, ch_buf_str(&body), true);
}

/* Setup, system prompt and tools are stored once, each under the digest of its text. */
static void test_parts(void **state) {
    (void)state;
    struct world w;
    world_open(&w);
    w.req.system = CH_SV("Plan.");
    w.req.tools = tools;
    w.req.ntools = 2;
    w.made.role = "planner";
    assert_string_equal(record(&w), "part request");
    const char *json = newest(&w, 1);
    has(json, "\"kind\":\"system\",\"sections\":[{\"name\":\"system\",\"origin\":\"test\","
              "\"at\":0,\"bytes\":5}],\"text\":\"Plan.\"}", true);
    has(json, "\"kind\":\"tool\",\"name\":\"save\",\"description\":\"Saves.\","
              "\"parameters\":{\"type\":\"object\"}}", true);
    has(json, "\"kind\":\"tool\",\"name\":\"load\",\"description\":\"Loads.\","
              "\"strict\":true}", true);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    assert_int_equal(ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL), 0);
    const struct ch_json *parts = ch_json_get(v, "parts");
    size_t n = 0;
    for (CH_JSON_EACH(part, parts)) {
        n++;
        CH_BUF_AUTO text = {0};
        struct ch_jw jw = ch_jw(&text);
        ch_jw_value(&jw, part);
        size_t at = strlen("{\"id\":\"0123456789abcdef\",");
        uint64_t id = ch_part_id(ch_sv(text.p + at, text.n - at - 1));
        char hex[CH_PART_HEX];
        ch_part_id_write(id, hex);
        assert_true(ch_sv_is(ch_json_get_str(part, "id"), hex));
        /* the setup names its parts, and the request its setup */
        bool setup = ch_sv_is(ch_json_get_str(part, "kind"), "setup");
        has(setup ? newest(&w, 0) : strstr(json, "\"kind\":\"setup\""), hex, true);
    }
    assert_int_equal(n, 4);
    has(newest(&w, 0), "\"role\":\"planner\"", true);
    has(newest(&w, 0), "\"messages\":1,", true);
    has_digest(&w, newest(&w, 0));
    assert_string_equal(record(&w), "request");
    w.req.ntools = 1;
    w.req.revision++;
    assert_string_equal(record(&w), "part request"); /* the setup; its parts are stored */
    w.made.sections = "[{\"name\":\"a\"}]";
    w.req.revision++;
    assert_string_equal(record(&w), "part request");
    has(newest(&w, 1), "\"sections\":[{\"name\":\"a\"}],\"text\":\"Plan.\"", true);
    world_close(&w);
}

/* Messages are appended: the digest is that of the whole body, the setup is the same. */
static void test_digest_of_a_conversation(void **state) {
    (void)state;
    struct world w;
    world_open(&w);
    for (size_t n = 1; n <= CH_LEN(w.messages); n++) {
        w.req.nmessages = n;
        assert_string_equal(record(&w), n == 1 ? "part request" : "request");
        has_digest(&w, newest(&w, 0));
        has(newest(&w, 0), "\"turn\":1,\"setup\":", true); /* no role */
    }
    ch_encoder_clear(&w.encoder); /* the history was rewritten */
    w.req.nmessages = 1;
    w.req.note = CH_SV("It is noon.");
    assert_string_equal(record(&w), "request");
    has_digest(&w, newest(&w, 0));
    has(newest(&w, 0), "\"note\":\"It is noon.\"", true);
    world_close(&w);
}

/* Messages that are not those of the journal are in the record. Attempts are those of the
 * run, not of its roles. */
static void test_view_and_attempt(void **state) {
    (void)state;
    struct world w;
    world_open(&w);
    record(&w);
    has(newest(&w, 0), "\"view\":[{", true);
    has(newest(&w, 0), "\"attempt\"", false);
    ch_encoder_clear(&w.encoder);
    w.req.messages = (const struct ch_msg *const *)w.st.session->transcript.msgs;
    w.st.run->m.attempt = 3;
    record(&w);
    has(newest(&w, 0), "\"view\"", false);
    has(newest(&w, 0), "\"attempt\":3,", true);
    w.made.role = "planner";
    record(&w);
    has(newest(&w, 0), "\"attempt\"", false);
    w.st.run->m.attempt = 0;
    world_close(&w);
}

/* A view that is too large is left out, and the record says so. */
static void test_limit_of_a_view(void **state) {
    (void)state;
    CH_BUF_AUTO text = {0};
    struct world w;
    world_open(&w);
    memset(ch_buf_reserve(&text, CH_LIMIT_RECORD / 2), 'x', CH_LIMIT_RECORD / 2);
    ch_msg_free(w.messages[0]);
    w.messages[0] = ch_msg_text(CH_MSG_USER, ch_sv(text.p, CH_LIMIT_RECORD / 2), 0);
    assert_string_equal(record(&w), "part request");
    has(newest(&w, 0), "\"view\"", false);
    has(newest(&w, 0), "\"messages\":1,", true);
    has(newest(&w, 0), ",\"unstored\":true}", true);
    world_close(&w);
}

static void test_setup(void **state) {
    (void)state;
    static const struct ch_sv stops[] = {CH_SV("END"), CH_SV("\n")};
    static const struct {
        struct ch_model_request req;
        const char *member; /* of the setup with these options, not of a setup without them */
    } cases[] = {
        {{.has_temperature = true, .temperature = 0.5}, "\"temperature\":0.5"},
        {{.has_temperature = true}, "\"temperature\":0"},
        {{.has_top_p = true, .top_p = 0.25}, "\"top_p\":0.25"},
        {{.top_k = 40}, "\"top_k\":40"},
        {{.has_seed = true, .seed = -1}, "\"seed\":-1"},
        {{.has_seed = true}, "\"seed\":0"},
        {{.logprobs = 5}, "\"logprobs\":5"},
        {{.max_output_tokens = 99}, "\"max_output_tokens\":99"},
        {{.kept_free = 77}, "\"kept_free\":77"},
        {{.effort = CH_EFFORT_OFF}, "\"reasoning\":\"off\""},
        {{.effort = CH_EFFORT_HIGH}, "\"reasoning\":\"high\""},
        {{.stop = stops, .nstop = 2}, "\"stop\":[\"END\",\"\\n\"]"},
        {{.choice = CH_CHOICE_ANY}, "\"tool_choice\":\"any\""},
        {{.choice = CH_CHOICE_NONE}, "\"tool_choice\":\"none\""},
        {{.choice = CH_CHOICE_ONE, .choice_name = CH_SV("save")}, "\"tool_choice\":\"save\""},
        {{.no_parallel = true}, "\"parallel\":false"},
        {{.no_stream = true}, "\"stream\":false"},
        {{.no_calls = true}, "\"no_calls\":true"},
        {{.output_schema = CH_SV("{\"type\":\"null\"}")}, "\"output_schema\":{\"type\":\"null\"}"},
        {{.cache = CH_CACHE_OFF}, "\"cache\":\"off\""},
        {{.cache = CH_CACHE_LONG}, "\"cache\":\"long\""},
        {{.cache_key = CH_SV("k1")}, "\"cache_key\":\"k1\""},
    };
    struct world w;
    world_open(&w);
    w.made.role = "planner";
    record(&w);
    const char *plain = newest(&w, 1);
    has(plain, "\"cache\":\"short\"", true);
    has(plain, "\"model\":\"fake-2\"", true);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_model_request req = cases[i].req;
        req.endpoint = &w.ep;
        req.model = w.req.model;
        req.messages = w.req.messages;
        req.nmessages = 1;
        req.revision = w.req.revision + 1;
        w.req = req;
        assert_string_equal(record(&w), "part request");
        has(newest(&w, 1), cases[i].member, true);
        has(plain, cases[i].member, false);
    }
    world_close(&w);
}

/* The quirks are complete, and secrets in the address are not stored. */
static void test_endpoint(void **state) {
    (void)state;
    struct world w;
    world_open(&w);
    w.made.role = "planner";
    w.ep.quirks = CH_Q_BEARER | CH_Q_NO_CACHE_MARKS;
    w.ep.base_url = "http://127.0.0.1/" SECRET "/v1";
    w.ep.extra_body = CH_SV("\"a\":1,\"b\":[]");
    record(&w); /* fails if the key is in a record */
    has(newest(&w, 1), "\"quirks\":[\"=\",\"bearer\",", true);
    has(newest(&w, 1), "\"base_url\":\"http://127.0.0.1/", true);
    has(newest(&w, 1), "\"extra_body\":{\"a\":1,\"b\":[]}", true);
    w.ep.quirks = 0;
    w.ep.extra_body = CH_SV("");
    w.req.revision++;
    record(&w);
    has(newest(&w, 1), "\"quirks\":[\"=\"]", true);
    has(newest(&w, 1), "\"facts\"", false);
    struct ch_model_facts facts = *ch_model_facts(w.req.model);
    facts.price.input = 99; /* no byte of a request depends on it */
    w.ep.facts = &facts;
    w.req.revision++;
    assert_string_equal(record(&w), "request"); /* nothing new */
    facts.efforts = 1u << CH_EFFORT_XHIGH;
    w.req.revision++;
    record(&w);
    has(newest(&w, 1), "\"facts\":{\"efforts\":[\"xhigh\"]}", true);
    has(newest(&w, 1), "\"extra_body\"", false);
    world_close(&w);
}

static void test_failures(void **state) {
    (void)state;
    static const struct {
        const char *role;
        struct ch_reply reply;
        double cost;
        const char *json; /* after run and turn */
    } cases[] = {
        {NULL, {.error = {.cls = CH_ERR_SERVER}}, 0, "\"class\":\"server\",\"text\":\"why\"}"},
        {NULL, {.stop = CH_STOP_REFUSAL}, -1, "\"class\":\"refused\",\"text\":\"why\"}"},
        {NULL, {.error = {.cls = CH_ERR_REFUSED}}, 0, "\"class\":\"refused\",\"text\":\"why\"}"},
        {"planner",
         {.error = {.cls = CH_ERR_RATE_LIMIT, .status = 429, .retry_after_ms = 1500}},
         0,
         "\"role\":\"planner\",\"class\":\"rate_limit\",\"status\":429,\"retry_after_ms\":1500,"
         "\"text\":\"why\"}"},
        {NULL,
         {.error = {.cls = CH_ERR_OVERFLOW}, .usage = {.input = 10, .cache_read = 4}},
         0.5,
         "\"class\":\"context_overflow\",\"text\":\"why\",\"usage\":{\"input\":10,\"output\":0,"
         "\"cache_read\":4},\"cost\":0.5}"},
    };
    struct world w;
    world_open(&w);
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        CH_BUF_AUTO want = {0};
        w.from = w.f.n;
        ch_request_record_failure(w.st.run, cases[i].role, &cases[i].reply, CH_SV("why"),
                                  cases[i].cost);
        assert_int_equal(w.f.n, w.from + 1);
        assert_int_equal(w.f.records[w.from].type, CH_REC_FAILURE);
        ch_buf_addf(&want, "{\"run\":\"%s\",\"turn\":%u,%s", w.st.run->id,
                    (unsigned)w.st.run->m.turns, cases[i].json);
        assert_string_equal(newest(&w, 0), ch_buf_str(&want));
    }
    world_close(&w);
}

static void test_a_session_that_is_not_stored(void **state) {
    (void)state;
    static const struct ch_reply failed = {.error = {.cls = CH_ERR_SERVER}};
    struct world w;
    world_open(&w);
    struct ch_run_journal *k = w.st.session->journal;
    record(&w);
    size_t n = w.f.n;
    w.st.session->journal = NULL;
    w.made.role = "planner";
    w.req.revision++;
    ch_request_record(w.st.run, &w.made);
    ch_request_record_failure(w.st.run, NULL, &failed, CH_SV("why"), 1);
    w.st.session->journal = k;
    assert_int_equal(w.f.n, n);
    world_close(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_digest_of_a_conversation),
        cmocka_unit_test(test_view_and_attempt),
        cmocka_unit_test(test_limit_of_a_view),
        cmocka_unit_test(test_setup),
        cmocka_unit_test(test_endpoint),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_a_session_that_is_not_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
