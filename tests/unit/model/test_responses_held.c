/* test_responses_held.c -- what of a request the service holds already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "model/vendor/responses/responses_held.h"

#define HEAD "{\"model\":\"m\",\"input\":["
#define TAIL "],\"store\":false}"
#define ASKED "{\"role\":\"user\",\"content\":\"go\"}"
#define RESULT "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"3\"}"
#define CALL(arguments)                                                                          \
    "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"add\",\"arguments\":\"" arguments \
    "\"}"
#define CALLED(arguments)                                                                    \
    "{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"completed\",\"name\":\"add\"," \
    "\"call_id\":\"c1\",\"arguments\":\"" arguments "\"}"
#define SAID(text)                                                                            \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"phase\":\"commentary\"," \
    "\"content\":[{\"type\":\"output_text\",\"text\":\"" text "\"}]}"
#define THOUGHT \
    "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"encrypted_content\":\"e\"}"

struct request {
    uint64_t history;
    const char *head, *items, *tail;
};

static void body_of(const struct request *r, struct ch_sv body[3]) {
    body[0] = ch_sv_str(r->head ? r->head : HEAD);
    body[1] = ch_sv_str(r->items);
    body[2] = ch_sv_str(r->tail ? r->tail : TAIL);
}

static void sent(struct ch_responses_held *h, const struct request *r) {
    struct ch_sv body[3];
    body_of(r, body);
    ch_responses_held_sent(h, r->history, body);
}

static void event(struct ch_responses_held *h, const char *type, const char *member,
                  const char *json) {
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "{\"type\": \"%s\", \"sequence_number\": 4, \"%s\": %s}", type, member,
                json);
    ch_responses_held_event(h, ch_sv_str(type), ch_buf_sv(&text));
}

/* A first request, and its reply with up to three items. */
static void replied(struct ch_responses_held *h, const char *const items[3]) {
    sent(h, &(struct request){.history = 1, .items = ASKED});
    event(h, "response.output_item.added", "item", "{\"type\":\"message\"}");
    for (size_t i = 0; i < 3 && items[i]; i++)
        event(h, "response.output_item.done", "item", items[i]);
    event(h, "response.completed", "response", "{\"status\":\"completed\",\"id\":\"resp_1\"}");
}

/* The part of a request that is to be sent; NULL: all of it. */
static const char *rest_of(const struct ch_responses_held *h, const struct request *r) {
    struct ch_sv body[3], rest = {0};
    body_of(r, body);
    return ch_responses_held_rest(h, r->history, body, &rest) ? rest.p : NULL;
}

static void test_what_is_added_to_a_reply(void **state) {
    (void)state;
    static const struct {
        const char *reply[3];
        const char *items, *rest;
    } cases[] = {
        {{CALLED("{}")}, ASKED "," CALL("{}") "," RESULT, RESULT},
        {{CALLED("{}")}, ASKED "," CALL("{}") "," RESULT "," ASKED, RESULT "," ASKED},
        {{CALLED("{ \\\"a\\\" : 1 }")}, ASKED "," CALL("{\\\"a\\\":1}") "," RESULT, RESULT},
        {{THOUGHT, CALLED("{}")}, ASKED "," THOUGHT "," CALL("{}") "," RESULT, RESULT},
        {{SAID("ab"), CALLED("{}")},
         ASKED ",{\"role\":\"assistant\",\"content\":\"ab\",\"phase\":\"commentary\"}," CALL(
             "{}") "," RESULT,
         RESULT},
        {{SAID("ab")},
         ASKED ",{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":["
               "{\"type\":\"output_text\",\"text\":\"a\"},{\"type\":\"output_text\",\"text\":\"b\"}"
               "]}," ASKED,
         ASKED},
        {{"{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"action\":{\"q\":1}}"},
         ASKED ",{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"action\":{\"q\":1}}," ASKED,
         ASKED},
        {{"{\"type\":\"reasoning\",\"summary\":[]}", CALLED("{}")},
         ASKED "," CALL("{}") "," RESULT,
         RESULT}, /* which is not sent back */
        /* other words than the service's */
        {{CALLED("{}")}, ASKED "," CALL("{\\\"a\\\":1}") "," RESULT, NULL},
        {{CALLED("{}")}, ASKED "," RESULT, NULL},
        {{CALLED("{}")}, ASKED "," CALL("{}") "," CALL("{}") "," RESULT, CALL("{}") "," RESULT},
        {{CALLED("{}"), CALLED("{}")}, ASKED "," CALL("{}") "," RESULT, NULL},
        {{SAID("ab")}, ASKED ",{\"role\":\"assistant\",\"content\":\"abc\"}," ASKED, NULL},
        {{SAID("ab")}, ASKED ",{\"role\":\"user\",\"content\":\"ab\"}," ASKED, NULL},
        {{SAID("ab")},
         ASKED ",{\"role\":\"assistant\",\"content\":\"ab\",\"phase\":\"final_answer\"}," ASKED,
         NULL},
        {{THOUGHT, CALLED("{}")}, ASKED "," CALL("{}") "," RESULT, NULL},
        {{"{\"type\":\"web_search_call\",\"id\":\"ws_1\"}"},
         ASKED ",{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"action\":{}}," ASKED,
         NULL},
        {{"null"}, ASKED "," CALL("{}") "," RESULT, NULL},
        {{"[[\"item\"]]"}, ASKED "," CALL("{}") "," RESULT, NULL},
        {{"{\"type\":\"function_call\",\"id\":"}, ASKED "," CALL("{}") "," RESULT, NULL},
        /* nothing is added */
        {{CALLED("{}")}, ASKED "," CALL("{}"), NULL},
        {{CALLED("{}")}, ASKED, NULL},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_responses_held h = {0};
        replied(&h, cases[i].reply);
        const char *rest = rest_of(&h, &(struct request){.history = 1, .items = cases[i].items});
        if (!rest != !cases[i].rest || (rest && strcmp(rest, cases[i].rest) != 0))
            fail_msg("case %zu: %s", i, rest ? rest : "the whole request");
        ch_responses_held_clear(&h);
    }
}

/* Another history, head or tail needs the whole request. */
static void test_what_must_be_the_same(void **state) {
    (void)state;
    static const char *const reply[3] = {CALLED("{}")};
    static const char items[] = ASKED "," CALL("{}") "," RESULT;
    struct ch_responses_held h = {0};
    assert_null(rest_of(&h, &(struct request){.history = 1, .items = items}));
    replied(&h, reply);
    assert_non_null(rest_of(&h, &(struct request){.history = 1, .items = items}));
    assert_null(rest_of(&h, &(struct request){.history = 2, .items = items}));
    assert_null(rest_of(&h, &(struct request){.history = 0, .items = items}));
    assert_null(rest_of(&h, &(struct request){1, "{\"model\":\"n\",\"input\":[", items, NULL}));
    assert_null(rest_of(&h, &(struct request){1, NULL, items, "],\"store\":true}"}));
    ch_responses_held_clear(&h);
    assert_null(rest_of(&h, &(struct request){.history = 1, .items = items}));
    ch_responses_held_clear(&h);
}

/* A reply that did not end well is not held, nor one whose request had items of its own. */
static void test_a_reply_that_is_not_held(void **state) {
    (void)state;
    static const char items[] = ASKED "," CALL("{}") "," RESULT;
    static const char padded[] = "," RESULT TAIL;
    static const struct {
        const char *type, *response, *tail;
    } cases[] = {
        {"response.incomplete", "{\"id\":\"resp_1\"}", NULL},
        {"response.failed", "{\"id\":\"resp_1\"}", NULL},
        {"response.completed", "{\"status\":\"completed\"}", NULL},
        {"response.completed", "{\"id\":7}", NULL},
        {"response.completed", "{\"id\":\"\"}", NULL},
        {"response.completed", "{\"id\":\"resp_1\"}", padded},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_responses_held h = {0};
        sent(&h, &(struct request){1, NULL, ASKED, cases[i].tail});
        event(&h, "response.output_item.done", "item", CALLED("{}"));
        event(&h, cases[i].type, "response", cases[i].response);
        if (rest_of(&h, &(struct request){1, NULL, items, cases[i].tail}))
            fail_msg("case %zu", i);
        ch_responses_held_clear(&h);
    }
}

/* Each request holds the one before it, and only that. */
static void test_the_last_reply_counts(void **state) {
    (void)state;
    static const char *const first[3] = {CALLED("{}")};
    static const char two[] = ASKED "," CALL("{}") "," RESULT;
    static const char three[] = ASKED "," CALL("{}") "," RESULT ",{\"role\":\"assistant\","
                                                     "\"content\":\"x\"}," ASKED;
    struct ch_responses_held h = {0};
    replied(&h, first);
    sent(&h, &(struct request){.history = 1, .items = two});
    assert_null(rest_of(&h, &(struct request){.history = 1, .items = three}));
    event(&h, "response.output_item.done", "item", SAID("x"));
    event(&h, "response.completed", "response", "{\"id\":\"resp_2\"}");
    assert_string_equal(rest_of(&h, &(struct request){.history = 1, .items = three}), ASKED);
    assert_string_equal(ch_buf_str(&h.id), "resp_2");
    ch_responses_held_clear(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_added_to_a_reply),
        cmocka_unit_test(test_what_must_be_the_same),
        cmocka_unit_test(test_a_reply_that_is_not_held),
        cmocka_unit_test(test_the_last_reply_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
