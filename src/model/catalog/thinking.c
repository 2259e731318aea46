/* thinking.c -- see thinking.h. */
#include "model/catalog/thinking.h"

#include "base/limits.h"
#include "model/catalog/learnt.h"

#define MIN_BUDGET 1024 /* minimum of the API */

static int64_t room_for(enum ch_effort effort) {
    static const int64_t rooms[] = {
        [CH_EFFORT_MINIMAL] = 1024, [CH_EFFORT_LOW] = 2048,    [CH_EFFORT_MEDIUM] = 8192,
        [CH_EFFORT_HIGH] = 16384,   [CH_EFFORT_XHIGH] = 24576, [CH_EFFORT_MAX] = 32768};
    return rooms[effort];
}

/* The limit of the reply. Thinking counts as output, so it gets additional room unless the caller
 * set a limit. */
static int64_t reply_limit(const struct ch_model_request *req, int64_t most, int64_t room) {
    int64_t limit = req->max_output_tokens > 0 ? req->max_output_tokens : req->kept_free;
    if (limit <= 0)
        limit = CH_DEFAULT_OUTPUT_TOKENS + room;
    return most && limit > most ? most : limit;
}

/* Claude since 4.6. The text of thinking is asked for where the service would keep it back: some
 * models tell there what they do between two calls. */
static struct ch_thinking adaptive(const struct ch_model_request *req,
                                   const struct ch_model_facts *f) {
    enum ch_effort effort = ch_facts_effort(f, req->effort);
    bool off = effort == CH_EFFORT_OFF;
    struct ch_thinking t = {.on = !off && (effort != CH_EFFORT_DEFAULT || f->flags & CH_M_THINKS)};
    enum ch_effort room = effort == CH_EFFORT_DEFAULT ? CH_EFFORT_HIGH : effort;
    if (off)
        t.type = f->flags & CH_M_BETWEEN_TOOLS ? "between_tools" : "disabled";
    else if (t.on)
        t.type = "adaptive";
    t.effort = off ? NULL : ch_effort_name(effort);
    t.shown = t.on && req->effort != CH_EFFORT_OFF && f->flags & CH_M_HIDES;
    t.max_tokens = reply_limit(req, f->output, t.on ? room_for(room) : 0);
    return t;
}

/* Older models, and compatible services. A budget is incompatible with a forced tool; the forced
 * tool takes precedence. */
static struct ch_thinking budgeted(const struct ch_model_request *req,
                                   const struct ch_model_facts *f) {
    struct ch_thinking t = {0};
    enum ch_effort effort = req->effort;
    t.on = effort > CH_EFFORT_OFF && !(f->flags & CH_M_NO_THINKING) && !ch_is_forced(req);
    t.max_tokens = reply_limit(req, f->output, t.on ? room_for(effort) : 0);
    if (t.on)
        t.budget = CH_MIN(room_for(effort), t.max_tokens - MIN_BUDGET);
    t.on = t.budget >= MIN_BUDGET;
    if (t.on)
        t.type = "enabled";
    else
        t.budget = 0;
    return t;
}

struct ch_thinking ch_thinking_for(const struct ch_model_request *req) {
    const struct ch_model_facts *f = ch_request_facts(req);
    return f->flags & CH_M_ADAPTIVE ? adaptive(req, f) : budgeted(req, f);
}

enum ch_effort ch_thinking_effort(const struct ch_model_request *req) {
    const struct ch_model_facts *f = ch_request_facts(req);
    if (f->flags & CH_M_ADAPTIVE)
        return ch_facts_effort(f, req->effort);
    return ch_thinking_for(req).on ? req->effort : CH_EFFORT_OFF;
}

void ch_thinking_write(const struct ch_thinking *t, struct ch_jw *w) {
    if (!t->type)
        return;
    ch_jw_kbegin(w, "thinking", '{');
    ch_jw_kcstr(w, "type", t->type);
    if (t->budget)
        ch_jw_kint(w, "budget_tokens", t->budget);
    if (t->shown)
        ch_jw_kcstr(w, "display", "summarized");
    ch_jw_end(w, '}');
}
