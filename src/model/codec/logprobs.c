/* logprobs.c -- see logprobs.h. The decoder keeps the elements of the array; past
 * CH_LIMIT_REPLY further tokens are dropped. */
#include "model/codec/logprobs.h"

#include "base/limits.h"
#include "json/json.h"
#include "json/writer.h"

static void write_token(struct ch_jw *w, const struct ch_json *v, const char *member) {
    ch_jw_kstr(w, "token", ch_json_get_str(v, "token"));
    ch_jw_kdouble(w, "logprob", ch_json_double(ch_json_get(v, member), 0));
}

static void write_top(struct ch_jw *w, const struct ch_json *list, const char *member) {
    if (!ch_json_is(list, CH_JSON_ARRAY) || !list->n)
        return;
    ch_jw_kbegin(w, "top", '[');
    for (CH_JSON_EACH(v, list)) {
        ch_jw_begin(w, '{');
        write_token(w, v, member);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static void add_token(struct ch_decoder *d, const struct ch_json *v, const struct ch_json *top,
                      const char *member) {
    CH_BUF_AUTO one = {0};
    struct ch_jw w = ch_jw(&one);
    ch_jw_begin(&w, '{');
    write_token(&w, v, member);
    write_top(&w, top, member);
    ch_jw_end(&w, '}');
    if (d->logprobs.n + one.n >= CH_LIMIT_REPLY)
        return;
    ch_buf_addc(&d->logprobs, d->logprobs.n ? ',' : '[');
    ch_buf_add_sv(&d->logprobs, ch_buf_sv(&one));
}

void ch_logprobs_add(struct ch_decoder *d, struct ch_sv array) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *list;
    if (ch_json_parse(&arena, array, CH_JSON_REPLACE, &list, NULL, NULL) < 0)
        return;
    for (CH_JSON_EACH(v, list))
        add_token(d, v, ch_json_get(v, "top_logprobs"), "logprob");
}

void ch_logprobs_add_candidates(struct ch_decoder *d, struct ch_sv object) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    size_t i = 0;
    if (ch_json_parse(&arena, object, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return;
    const struct ch_json *tops = ch_json_get(v, "topCandidates");
    for (CH_JSON_EACH(chosen, ch_json_get(v, "chosenCandidates")))
        add_token(d, chosen, ch_json_get(ch_json_at(tops, i++), "candidates"), "logProbability");
}

struct ch_sv ch_logprobs_of(struct ch_decoder *d) {
    if (d->logprobs.n && d->logprobs.p[d->logprobs.n - 1] != ']')
        ch_buf_addc(&d->logprobs, ']');
    return ch_buf_sv(&d->logprobs);
}
