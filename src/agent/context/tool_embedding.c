/* tool_embedding.c -- see tool_embedding.h.
 *
 * Requests are made one after the other; the first one holds the input. Vectors are kept as
 * soon as they arrive, so they are of use even if the wait ends early. If several runs
 * begin together, only one of them asks for the tools. */
#include "agent/context/tool_embedding.h"

#include "agent/context/tool_choice.h"
#include "agent/handle/run.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/run.h"
#include "model/provider/target.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/wire/embed.h"

struct ch_embedding_wait {
    chela_run *run;
    void (*done)(chela_run *run);
    struct ch_embed *embed;
    struct ch_timer patience;
    struct ch_arena arena; /* texts of the current request */
    struct ch_sv texts[CH_LIMIT_EMBED_BATCH];
    size_t n;
    bool asked; /* the current request holds the input */
    struct ch_sv input; /* borrowed from the transcript */
};

/* --- the agent's -------------------------------------------------------------- */

/* The cache directory of the user; NULL: there is none. */
static char *cache_of(const chela_runtime *rt) {
    const char *cache = ch_providers_env(&rt->providers, "XDG_CACHE_HOME");
    const char *home = ch_providers_env(&rt->providers, "HOME");
    CH_BUF_AUTO path = {0};

    if (cache && *cache == '/')
        ch_buf_addf(&path, "%s/chela/vectors", cache);
    else if (home && *home == '/')
        ch_buf_addf(&path, "%s/.cache/chela/vectors", home);
    return path.n ? ch_buf_take(&path) : NULL;
}

int ch_tool_embedding_new(chela_runtime *rt, const char *spec, struct ch_tool_embedding **out,
                          struct chela_error *err) {
    struct chela_error why = {0};
    struct ch_target *t;

    *out = NULL;
    int rc = ch_target_new(&rt->providers, spec, NULL, &t, &why);
    if (rc == CHELA_EAUTH) {
        ch_log(CH_LOG_WARN, "model", "embedding %s: %s; tools are chosen by words alone", spec,
               why.message);
        return 0;
    }
    if (rc < 0)
        return ch_fail(err, CHELA_ECONFIG, "embedding: %s", why.message);
    if (!ch_embed_possible(&t->ep)) {
        ch_target_free(t);
        return ch_fail(err, CHELA_ECONFIG,
                       "embedding: %s: the service must speak OpenAI's protocol", spec);
    }
    struct ch_tool_embedding *m = ch_alloc(sizeof(*m));
    m->target = t;
    m->cache = rt->cassette ? NULL : cache_of(rt); /* recorded requests must not depend on a
                                                      cache */
    m->embedder = (struct ch_embedder){.opts = {.transport = t->transport,
                                                .endpoint = &t->ep,
                                                .model = ch_sv_str(t->model),
                                                .observer = &rt->embed_observer},
                                       .spec = t->spec,
                                       .cache = m->cache};
    *out = m;
    return 0;
}

void ch_tool_embedding_free(struct ch_tool_embedding *m) {
    if (!m)
        return;
    ch_target_free(m->target);
    ch_free(m->cache);
    ch_vectors_release(&m->vectors);
    ch_free(m);
}

const struct ch_vectors *ch_tool_embedding_vectors(const struct ch_tool_embedding *m) {
    return &m->vectors;
}

void ch_tool_embedding_charge(chela_run *run, int64_t tokens) {
    const struct ch_tool_embedding *m = run->session->agent->embedding;
    struct ch_usage u = {.input = tokens};
    double cost = !tokens                          ? 0
                  : m && m->target->has_price ? ch_price_cost(&m->target->price, &u,
                                                              run->session->agent->cache)
                                              : -1;

    ch_run_spend(&run->m, &u, cost);
    ch_run_charge(&run->m, &u, cost);
    if (m)
        ch_run_journal_embedded(run, m->target->spec, tokens);
}

/* --- texts to embed ------------------------------------------------------------- */

static struct ch_tool_embedding *embedding_of(const chela_run *run) {
    return run->session->agent->embedding;
}

static int64_t tool_embedding_now(const chela_run *run) {
    return ch_mono_ms(ch_loop_clock(run->loop));
}

/* The last text that was not the model's. */
static struct ch_sv input_of(const chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;

    for (size_t i = t->n; i > 0; i--) {
        const struct ch_msg *m = t->msgs[i - 1];
        for (uint32_t k = 0; m->kind != CH_MSG_ASSISTANT && k < m->nblocks; k++)
            if (m->blocks[k].type == CH_BLOCK_TEXT && m->blocks[k].text.n)
                return m->blocks[k].text;
    }
    return CH_SV("");
}

static void tool_embedding_add_tools(struct ch_embedding_wait *p) {
    struct ch_tool_embedding *m = embedding_of(p->run);
    const struct ch_registry *r = &p->run->session->agent->registry;
    CH_BUF_AUTO text = {0};

    if (m->asking && m->asking != p->run)
        return;
    for (size_t i = 0; i < r->n && p->n < CH_LEN(p->texts) && !ch_vectors_full(&m->vectors); i++) {
        ch_buf_clear(&text);
        ch_tool_meaning(r->tools[i], &text);
        if (!ch_vectors_find(&m->vectors, ch_buf_sv(&text)))
            p->texts[p->n++] = ch_arena_sv(&p->arena, ch_buf_sv(&text));
    }
}

/* --- asking ----------------------------------------------------------------------- */

void ch_tool_embedding_abort(chela_run *run) {
    struct ch_embedding_wait *p = CH_TAKE(run->embedding);
    struct ch_tool_embedding *m = run->session ? embedding_of(run) : NULL;

    if (m && m->asking == run)
        m->asking = NULL;
    if (!p)
        return;
    ch_embed_cancel(p->embed, CHELA_ECANCELED);
    ch_timer_stop(run->loop, &p->patience);
    ch_arena_release(&p->arena);
    ch_free(p);
}

static void tool_embedding_go_on(chela_run *run, void (*done)(chela_run *run)) {
    ch_tool_embedding_abort(run);
    done(run);
}

static void tool_embedding_give_up(chela_run *run, const char *why) {
    struct ch_tool_embedding *m = embedding_of(run);
    bool asked = run->embedding->asked;
    void (*done)(chela_run *run) = run->embedding->done;

    m->embedder.again = tool_embedding_now(run) + CH_EMBEDDER_REST_MS;
    ch_tool_embedding_abort(run);
    ch_emit_warning(run, "embedding %s: %s; %s", m->target->spec, why,
                    asked ? "tools are chosen by words alone"
                          : "some tools are chosen by words alone");
    if (!run->dead)
        tool_embedding_go_on(run, done);
}

static void on_patience(struct ch_timer *t) {
    struct ch_embedding_wait *p = CH_CONTAINER(t, struct ch_embedding_wait, patience);

    ch_embed_cancel(CH_TAKE(p->embed), CHELA_ETIMEOUT);
    tool_embedding_give_up(p->run, "no answer in time");
}

static void tool_embedding_ask(struct ch_embedding_wait *p);

static void on_embedded(const struct ch_embedded *got, const struct chela_error *err, void *user) {
    struct ch_embedding_wait *p = user;
    struct ch_vectors *vs = &embedding_of(p->run)->vectors;

    p->embed = NULL;
    if (err) {
        tool_embedding_give_up(p->run, err->message);
        return;
    }
    ch_tool_embedding_charge(p->run, got->tokens);
    for (size_t i = 0; i < p->n; i++) {
        const float *row = got->rows + i * got->dim;
        if (p->asked && i == 0)
            ch_vectors_ask(vs, p->input, row, got->dim);
        else
            ch_vectors_add(vs, p->texts[i], row, got->dim);
    }
    p->asked = false;
    tool_embedding_ask(p);
}

/* Makes the next request, or continues the run if no vector is missing. */
static void tool_embedding_ask(struct ch_embedding_wait *p) {
    struct ch_tool_embedding *m = embedding_of(p->run);
    struct ch_embed_opts opts = m->embedder.opts;
    struct chela_error err = {0};

    ch_arena_clear(&p->arena);
    p->n = 0;
    if (p->asked)
        p->texts[p->n++] = p->input;
    tool_embedding_add_tools(p);
    if (p->n == 0) {
        tool_embedding_go_on(p->run, p->done);
        return;
    }
    if (p->n > p->asked)
        m->asking = p->run;
    opts.run = p->run->id;
    if (ch_embed_start(&opts, p->texts, p->n, on_embedded, p, &p->embed, &err) < 0)
        tool_embedding_give_up(p->run, err.message);
}

bool ch_tool_embedding_input(chela_run *run, void (*done)(chela_run *run)) {
    struct ch_tool_embedding *m = embedding_of(run);

    if (!m || ch_run_did(run, CH_RUN_SELECTED) || tool_embedding_now(run) < m->embedder.again ||
        !ch_run_once(run, CH_RUN_EMBEDDED))
        return false;
    struct ch_sv input = input_of(run);
    if (!input.n ||
        !ch_selection_ranks(ch_tool_choice_selection(run->session), &run->permit.policy))
        return false;
    struct ch_embedding_wait *p = ch_alloc(sizeof(*p));
    p->run = run;
    p->done = done;
    p->input = input;
    p->asked = true;
    run->embedding = p;
    ch_timer_start(run->loop, &p->patience, CH_DEFAULT_EMBED_MS, on_patience);
    tool_embedding_ask(p);
    return true;
}
