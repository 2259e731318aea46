/* context_budget.c -- see context_budget.h. */
#include "agent/context/context_budget.h"
#include "agent/handle/lookup.h"
#include "model/provider/target.h"

#include "model/codec/compacted.h"
#include "model/codec/encoder.h"
#include "model/message/ids.h"

#define REPLY_MOST 32000  /* most tokens that are kept free for a reply without a limit */
#define UNSURE_PERCENT 8  /* margin of a guess */
#define SURE_PERCENT 3    /* margin of a guess that was corrected */
#define PER_TOOL 8        /* tokens that protocols add per tool */
#define BYTES_PER_TOKEN 4 /* of a text that is not counted */
#define COLD_MS (5 * 60 * 1000)
#define COLD_LONG_MS (60 * 60 * 1000)

static int64_t context_budget_now(const chela_run *run) {
    return ch_mono_ms(ch_loop_clock(run->loop));
}

static enum ch_counting counting_of(const chela_run *run) {
    return (enum ch_counting)run->session->transcript.counting;
}

static size_t fixed_tokens(const struct ch_model_request *req, enum ch_counting how) {
    size_t n = ch_tokens_as(req->system, how);
    for (size_t i = 0; i < req->ntools; i++)
        if (!req->tools[i].deferred) /* the model does not read these */
            n += PER_TOOL + ch_tokens_as(req->tools[i].name, how) +
                 ch_tokens_as(req->tools[i].description, how) +
                 ch_tokens_as(req->tools[i].schema, how);
    return n;
}

static uint64_t hash_of(const struct ch_model_request *req) {
    uint64_t h = ch_hash(0, req->system);
    for (size_t i = 0; i < req->ntools; i++) {
        h = ch_hash(h, req->tools[i].name);
        h = ch_hash(h, req->tools[i].description);
        h = ch_hash(h, req->tools[i].schema) + req->tools[i].deferred;
    }
    return h;
}

/* Counting takes ten times as long as hashing, and most sessions of an agent have the same
 * head. So the root agent remembers the count of the last head. */
static size_t head_tokens(chela_run *run, const struct ch_model_request *req) {
    struct ch_context_conf *known = &ch_agent_root(run->session->agent)->context;
    uint64_t hash = hash_of(req) + counting_of(run);
    if (known->counted != hash) {
        known->tokens = fixed_tokens(req, counting_of(run));
        known->counted = hash;
    }
    return known->tokens;
}

size_t ch_context_budget_from(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    struct ch_model_request req = {.endpoint = run->target ? &run->target->ep : NULL,
                                   .messages = (const struct ch_msg *const *)t->msgs,
                                   .nmessages = t->compacted};
    if (t->compacted && run->target)
        ch_compacted_settle(&req);
    return req.from;
}

/* Guesses those of the first n messages that are sent. */
static size_t guess_history(const chela_run *run, size_t n) {
    chela_session *s = run->session;
    size_t from = CH_MIN(ch_context_budget_from(run), n);
    struct ch_transcript sent = s->transcript;
    if (s->budget.from != from)
        s->budget.meter = (struct ch_meter){0};
    s->budget.from = from;
    sent.n = n - from;
    sent.msgs += from;
    return ch_meter_read(&s->budget.meter, &sent);
}

size_t ch_context_budget_history(const chela_run *run) {
    return guess_history(run, run->session->transcript.n);
}

static size_t guess(const chela_run *run) {
    const struct ch_context_budget *c = &run->session->budget;
    return c->fixed + c->note + ch_context_budget_history(run);
}

/* Forgets what was learned from another model: models count differently. */
static void use_target(chela_run *run) {
    struct ch_context_budget *c = &run->session->budget;
    if (c->gauged == run->target)
        return;
    c->gauged = run->target;
    run->session->transcript.counting = run->target->facts.counting;
    c->revision = 0;
    c->gauge = (struct ch_gauge){0};
    c->ceiling = c->counted = 0;
}

/* Guesses the whole request for run->target; returns the tokens that the service is
 * expected to count. */
static size_t measure(chela_run *run, const struct ch_model_request *req) {
    struct ch_context_budget *c = &run->session->budget;
    if (c->revision != req->revision) {
        c->revision = req->revision;
        c->fixed = head_tokens(run, req);
    }
    c->note = ch_tokens_as(req->note, counting_of(run));
    c->output_limit = (size_t)CH_MAX(req->max_output_tokens, 0);
    c->guessed = guess(run);
    return ch_gauge_expect(&c->gauge, c->guessed);
}

size_t ch_context_budget_tokens(const chela_run *run) {
    return ch_gauge_expect(&run->session->budget.gauge, guess(run));
}

/* The context window, or the size of a request that this model refused if that is smaller. 0: not
 * known, also before a run that began with a role has chosen its model. */
static size_t window_of(const chela_run *run) {
    const struct ch_context_budget *c = &run->session->budget;
    size_t window = run->target ? (size_t)ch_target_window(run->target) : 0;
    size_t ceiling = c->gauged == run->target ? c->ceiling : 0;
    return ceiling && (!window || ceiling < window) ? ceiling : window;
}

size_t ch_context_budget_reply(const chela_run *run) {
    size_t share = window_of(run) * run->session->agent->context.output_share / 100;
    return CH_MIN(share, (size_t)REPLY_MOST);
}

struct ch_context_room ch_context_budget_room(const chela_run *run) {
    const struct ch_context_budget *c = &run->session->budget;
    struct ch_context_room b = {.window = window_of(run)};
    if (!b.window)
        return b;
    bool sure = c->gauge.factor != 0;
    size_t reply =
        c->output_limit ? CH_MIN(c->output_limit, b.window / 2) : ch_context_budget_reply(run);
    b.request = b.window - reply -
                b.window * (sure ? SURE_PERCENT : UNSURE_PERCENT) / 100;
    size_t guessed = guess(run), expected = ch_gauge_expect(&c->gauge, guessed);
    size_t all = expected ? (size_t)((double)b.request * (double)guessed / (double)expected)
                          : b.request;
    size_t rest = c->fixed + c->note;
    b.history = all > rest ? all - rest : 0;
    return b;
}

/* Corrects the guess by the service's count. A count that is far off the guess counts
 * something else and is ignored. */
static void correct(struct ch_context_budget *c, size_t guessed, size_t counted) {
    if (counted >= guessed / 2 && counted <= guessed * 2)
        ch_gauge_learn(&c->gauge, guessed, counted);
}

void ch_context_budget_learn(chela_run *run, const struct ch_usage *u) {
    struct ch_context_budget *c = &run->session->budget;
    size_t counted = u->input > 0 ? (size_t)u->input : 0;
    c->warm = context_budget_now(run);
    c->counted = c->guessed ? 0 : counted;
    c->messages = run->session->transcript.n;
    if (c->guessed)
        correct(c, c->guessed, counted);
}

/* Learns from the last request that was counted by the service but not here. */
static void catch_up(chela_run *run) {
    chela_session *s = run->session;
    if (!s->budget.counted || s->budget.messages > s->transcript.n)
        return;
    size_t guessed =
        s->budget.fixed + s->budget.note + guess_history(run, s->budget.messages);
    correct(&s->budget, guessed, s->budget.counted);
    s->budget.counted = 0;
}

void ch_context_budget_overflowed(chela_run *run) {
    struct ch_context_budget *c = &run->session->budget;
    if (!c->guessed) { /* there was no need to count the request */
        catch_up(run);
        c->guessed = guess(run);
    }
    size_t tokens = ch_gauge_expect(&c->gauge, c->guessed);
    if (tokens && (!c->ceiling || tokens < c->ceiling))
        c->ceiling = tokens;
}

/* The service's cache has expired, so rewriting the history costs nothing extra. */
static bool is_cold(const chela_run *run) {
    const struct ch_context_budget *c = &run->session->budget;
    bool lasts = ch_target_cache(run->target, run->session->agent->cache) == CH_CACHE_LONG;
    return c->warm && context_budget_now(run) - c->warm > (lasts ? COLD_LONG_MS : COLD_MS);
}

static size_t head_bytes(const struct ch_model_request *req) {
    size_t bytes = req->system.n;
    for (size_t i = 0; i < req->ntools; i++)
        bytes += req->tools[i].deferred ? 0 : req->tools[i].description.n + req->tools[i].schema.n;
    return bytes;
}

/* True if the request need not be counted, which would take most of the time that small
 * sessions spend here: its model has no known limit, or the request is small in bytes. A text
 * has at most as many tokens as bytes. */
static bool fits_uncounted(const chela_run *run, const struct ch_model_request *req) {
    const chela_session *s = run->session;
    size_t window = (size_t)ch_target_window(run->target);
    size_t bytes = s->transcript.bytes + head_bytes(req) + req->note.n;
    return !s->budget.ceiling && (!window || bytes < window / 4);
}

enum ch_context_fit ch_context_budget_fit(chela_run *run, const struct ch_model_request *req,
                                          size_t *tokens) {
    struct ch_context_budget *c = &run->session->budget;
    use_target(run);
    c->guessed = 0;
    if (fits_uncounted(run, req)) {
        if (c->revision != req->revision)
            c->fixed = head_bytes(req) / BYTES_PER_TOKEN;
        return CH_CONTEXT_FITS;
    }
    *tokens = measure(run, req);
    struct ch_context_room b = ch_context_budget_room(run);
    if (!b.window || run->session->agent->compact_mode == CH_COMPACTION_OFF)
        return CH_CONTEXT_FITS;
    if (*tokens > b.request)
        return CH_CONTEXT_TOO_LARGE;
    return *tokens < b.window * 3 / 10 || !is_cold(run) ? CH_CONTEXT_FITS : CH_CONTEXT_COLD;
}

void ch_context_budget_rewritten(chela_session *s) {
    s->budget.meter = (struct ch_meter){0};
    s->budget.counted = 0;
    ch_encoder_clear(&s->encoder);
    s->revision++;
}
