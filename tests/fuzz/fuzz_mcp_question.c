/* fuzz_mcp_question.c -- requests of an MCP server for input, and the answers of people.
 *
 * Input: the requests of a server as a JSON object, or a damaged state that begins with "S"; then
 * an answer per line. A line that begins with '-' is a refusal. A refused request has a reason,
 * states and questions are valid JSON, and the questions end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "json/json.h"
#include "mcp/mcp_ask.h"
#include "mcp/mcp_sampling.h"

#define STEPS 4096 /* more than the questions of one input */

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void need(bool holds) {
    if (!holds)
        abort();
}

static int judge(int rc, const struct chela_error *err) {
    need(rc >= 0 || (err->message[0] && ch_utf8_valid(ch_sv_str(err->message))));
    return rc;
}

static const struct ch_json *parse(struct ch_arena *a, struct ch_sv text) {
    const struct ch_json *v = NULL;
    return ch_json_parse(a, ch_arena_sv(a, text), CH_JSON_STRICT, &v, NULL, NULL) < 0 ? NULL : v;
}

static void need_object(struct ch_sv text) {
    CH_ARENA_AUTO a = {0};
    need(ch_utf8_valid(text) && ch_json_is(parse(&a, text), CH_JSON_OBJECT));
}

static int answer_person(struct ch_buf *state, struct ch_sv *answers, struct chela_error *err) {
    struct ch_sv line = ch_sv_split(answers, '\n');
    bool refused = !line.n || line.p[0] == '-';
    return ch_mcp_ask_answer(state, line, refused, err);
}

static int answer_model(struct ch_buf *state, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *params = NULL;
    int rc = ch_mcp_ask_sample(ch_buf_sv(state), &a, &params, err);
    if (rc == 0)
        rc = judge(ch_mcp_sampling_check(params, err), err);
    return rc < 0 ? rc : ch_mcp_ask_sampled(state, CH_SV("{\"role\":\"assistant\"}"), err);
}

/* Answers everything; false: the state is damaged, or a person declined. */
static bool answer_all(struct ch_buf *state, struct ch_sv answers) {
    for (int i = 0; i < STEPS; i++) {
        CH_BUF_AUTO question = {0};
        struct chela_error err = {0};
        int due = judge(ch_mcp_ask_next(ch_buf_sv(state), "server", &question, &err), &err);
        if (due <= CH_MCP_DUE_NOTHING)
            return due == CH_MCP_DUE_NOTHING;
        if (due == CH_MCP_DUE_PERSON)
            need_object(ch_buf_sv(&question));
        int rc = due == CH_MCP_DUE_PERSON ? answer_person(state, &answers, &err)
                                          : answer_model(state, &err);
        if (judge(rc, &err) < 0)
            return false;
        need_object(ch_buf_sv(state));
    }
    abort();
}

static void check_end(struct ch_sv state, bool complete) {
    CH_BUF_AUTO object = {0}, response = {0};
    struct chela_error err = {0};
    unsigned round;
    ch_buf_addc(&object, '{');
    int rc = judge(ch_mcp_ask_members(state, &object, &round, &err), &err);
    ch_buf_addc(&object, '}');
    need(rc == 0 || !complete);
    if (rc == 0)
        need_object(ch_buf_sv(&object));
    if (judge(ch_mcp_ask_response(state, &response, &err), &err) == 0 && response.n)
        need_object(ch_buf_sv(&response));
}

static void ask(struct ch_sv state, struct ch_sv answers, bool nobody) {
    CH_BUF_AUTO now = {0};
    struct chela_error err = {0};
    ch_buf_add_sv(&now, state);
    if (nobody && judge(ch_mcp_ask_refuse(&now, &err), &err) < 0)
        return;
    bool complete = answer_all(&now, answers);
    check_end(ch_buf_sv(&now), complete);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static const struct ch_mcp_may all = {.roots = CH_SV("{\"roots\":[]}"), .samples = true};
    static const struct ch_mcp_may unasked = {.samples = true, .unasked = true};
    static const struct ch_mcp_may none = {.samples = false};
    static const struct ch_mcp_may *const mays[] = {&all, &unasked, &none};
    CH_ARENA_AUTO a = {0};
    struct ch_sv answers = ch_sv((const char *)p, n), first = ch_sv_split(&answers, '\n');
    if (first.n && first.p[0] == 'S') {
        ask(ch_sv(first.p + 1, first.n - 1), answers, false);
        return 0;
    }
    const struct ch_json *v = parse(&a, first);
    for (size_t i = 0; v && i < CH_LEN(mays); i++) {
        CH_BUF_AUTO state = {0};
        struct chela_error err = {0};
        if (judge(ch_mcp_ask_begin(&state, v, ch_json_get(v, "state"), 1, mays[i], &err), &err) < 0)
            continue;
        need_object(ch_buf_sv(&state));
        ask(ch_buf_sv(&state), answers, false);
        ask(ch_buf_sv(&state), answers, true);
    }
    return 0;
}
