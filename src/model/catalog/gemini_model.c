/* gemini_model.c -- see gemini_model.h. */
#include "model/catalog/gemini_model.h"

#include "base/mem.h"
#include "model/catalog/learnt.h"
#include "model/catalog/model_facts.h"

static struct ch_sv last_segment(struct ch_sv s) {
    for (size_t i = s.n; i > 0; i--)
        if (s.p[i - 1] == '/')
            return ch_sv(s.p + i, s.n - i);
    return s;
}

static int take_int(struct ch_sv *s) {
    int n = 0;
    while (s->n && *s->p >= '0' && *s->p <= '9' && n < 1000) {
        n = 10 * n + (*s->p - '0');
        *s = ch_sv(s->p + 1, s->n - 1);
    }
    return n;
}

static enum ch_gemini_tier tier_of(struct ch_sv words) {
    if (ch_sv_starts(words, "pro"))
        return CH_GEMINI_PRO;
    if (ch_sv_starts(words, "flash-lite"))
        return CH_GEMINI_FLASH_LITE;
    return ch_sv_starts(words, "flash") ? CH_GEMINI_FLASH : CH_GEMINI_OTHER;
}

struct ch_gemini ch_gemini_parse(struct ch_sv model) {
    struct ch_sv s = last_segment(model);
    struct ch_gemini g = {0};
    if (!ch_sv_starts(s, "gemini-"))
        return g;
    s = ch_sv(s.p + 7, s.n - 7);
    g.major = take_int(&s);
    if (g.major && ch_sv_starts(s, ".")) {
        s = ch_sv(s.p + 1, s.n - 1);
        g.minor = take_int(&s);
    }
    if (g.major && ch_sv_starts(s, "-"))
        s = ch_sv(s.p + 1, s.n - 1);
    g.tier = tier_of(s);
    return g;
}

bool ch_gemini_from(struct ch_gemini g, int major, int minor) {
    if (g.tier == CH_GEMINI_NOT)
        return false;
    return !g.major || g.major > major || (g.major == major && g.minor >= minor);
}

bool ch_gemini_same(struct ch_sv a, struct ch_sv b) {
    struct ch_gemini x = ch_gemini_parse(a), y = ch_gemini_parse(b);
    if (x.tier == CH_GEMINI_NOT || y.tier == CH_GEMINI_NOT)
        return true;
    return x.tier == y.tier && (x.major == y.major || !x.major || !y.major);
}

/* Pro cannot disable thinking. */
static int64_t budget_for(struct ch_gemini g, enum ch_effort effort) {
    bool pro = g.tier == CH_GEMINI_PRO;
    switch (effort) {
    case CH_EFFORT_OFF:
        return 0;
    case CH_EFFORT_MINIMAL:
        return pro ? 128 : 512;
    case CH_EFFORT_LOW:
        return 2048;
    case CH_EFFORT_MEDIUM:
        return 8192;
    default:
        return pro ? 32768 : 24576;
    }
}

/* From Gemini 3 on, thinking takes a level and cannot be disabled. */
static const char *level_for(enum ch_effort effort) {
    static const char *const levels[] = {[CH_EFFORT_MINIMAL] = "MINIMAL",
                                         [CH_EFFORT_LOW] = "LOW",
                                         [CH_EFFORT_MEDIUM] = "MEDIUM",
                                         [CH_EFFORT_HIGH] = "HIGH"};
    return effort < CH_LEN(levels) ? levels[effort] : "HIGH";
}

struct ch_gemini_thinking ch_gemini_thinking(const struct ch_model_request *req) {
    struct ch_gemini_thinking t = {0};
    struct ch_gemini g = ch_gemini_parse(req->model);
    const struct ch_model_facts *f = ch_request_facts(req);
    enum ch_effort effort = req->effort;
    if (g.tier == CH_GEMINI_NOT || !f->efforts)
        return t;
    t.shown = effort != CH_EFFORT_OFF &&
              !(req->endpoint->learnt.omit & (CH_PART_SUMMARY | CH_PART_EFFORT));
    if (effort == CH_EFFORT_DEFAULT)
        return t;
    effort = ch_facts_effort(f, effort);
    t.has_budget = f->flags & CH_M_BUDGET;
    if (t.has_budget)
        t.budget = budget_for(g, effort);
    else
        t.level = level_for(effort);
    return t;
}

const char *ch_gemini_level(const struct ch_model_request *req) {
    struct ch_gemini_thinking t = ch_gemini_thinking(req);
    enum ch_effort effort = ch_facts_effort(ch_request_facts(req), req->effort);
    if (!t.has_budget)
        return t.level;
    return level_for(effort == CH_EFFORT_OFF ? CH_EFFORT_MINIMAL : effort);
}
