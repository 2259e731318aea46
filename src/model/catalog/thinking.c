/* thinking.c -- see thinking.h. */
#include "model/catalog/thinking.h"

#include "base/limits.h"
#include "model/catalog/provider.h"

#define MIN_BUDGET 1024 /* minimum of the API */

static int64_t room_for(enum ch_effort effort) {
    return effort == CH_EFFORT_LOW ? 2048 : effort == CH_EFFORT_MEDIUM ? 8192 : 16384;
}

/* Thinking counts as output, so it gets additional room unless the caller set a limit. A
 * budget is incompatible with a forced tool; the forced tool takes precedence. */
struct ch_thinking ch_thinking_for(const struct ch_model_request *req) {
    struct ch_claude model = ch_claude_parse(req->model);
    int64_t most = ch_model_info(req->endpoint->provider, req->model).max_output;
    struct ch_thinking t = {.style = ch_claude_thinking(model)};
    bool budget = t.style == CH_THINK_BUDGET;
    t.off = req->effort == CH_EFFORT_OFF && t.style == CH_THINK_ADAPTIVE;
    t.on =
        req->effort > CH_EFFORT_OFF && t.style != CH_THINK_NONE && !(budget && ch_is_forced(req));
    t.max_tokens = req->max_output_tokens;
    if (t.max_tokens <= 0)
        t.max_tokens = req->kept_free;
    if (t.max_tokens <= 0)
        t.max_tokens = CH_DEFAULT_OUTPUT_TOKENS + (t.on ? room_for(req->effort) : 0);
    if (most && t.max_tokens > most)
        t.max_tokens = most;
    if (t.on && budget) {
        t.budget = CH_MIN(room_for(req->effort), t.max_tokens - MIN_BUDGET);
        t.on = t.budget >= MIN_BUDGET;
    }
    return t;
}

void ch_thinking_write(const struct ch_thinking *t, struct ch_jw *w) {
    if (!t->on && !t->off)
        return;
    ch_jw_kbegin(w, "thinking", '{');
    bool budget = t->on && t->style == CH_THINK_BUDGET;
    ch_jw_kcstr(w, "type", t->off ? "disabled" : budget ? "enabled" : "adaptive");
    if (budget)
        ch_jw_kint(w, "budget_tokens", t->budget);
    ch_jw_end(w, '}');
}

const char *ch_thinking_effort(const struct ch_model_request *req, const struct ch_thinking *t) {
    static const char *const efforts[] = {
        [CH_EFFORT_LOW] = "low", [CH_EFFORT_MEDIUM] = "medium", [CH_EFFORT_HIGH] = "high"};
    return t->on && t->style == CH_THINK_ADAPTIVE ? efforts[req->effort] : NULL;
}
