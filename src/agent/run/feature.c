/* feature.c -- see feature.h. */
#include "agent/run/feature.h"

#include "base/mem.h"

struct agent_slot {
    const struct ch_feature *f;
    void *data;
    bool idle;  /* attached only for a run of an earlier process, or to hold data */
    bool owned; /* this agent owns `data`; otherwise its base does */
};

struct ch_agent_features {
    size_t n;
    struct agent_slot slots[];
};

struct run_slot {
    const struct ch_feature *f;
    void *data;
};

struct ch_run_features {
    size_t n;
    bool closed;
    struct run_slot slots[];
};

/* --- of agents ------------------------------------------------------------------------ */

static struct agent_slot *feature_find_slot(const chela_agent *a, const struct ch_feature *f) {
    for (size_t i = 0; a->features && i < a->features->n; i++)
        if (a->features->slots[i].f == f)
            return &a->features->slots[i];
    return NULL;
}

static void add_slot(chela_agent *a, struct agent_slot slot) {
    size_t n = a->features ? a->features->n : 0;
    a->features = ch_realloc(a->features, sizeof(*a->features) + (n + 1) * sizeof(slot));
    a->features->slots[n] = slot;
    a->features->n = n + 1;
}

static int feature_configure(chela_agent *a, const struct ch_feature *f,
                             const struct ch_agent_opts *opts, const struct ch_json *state,
                             struct chela_error *err) {
    struct agent_slot slot = {.f = f, .idle = !opts, .owned = true};
    int rc = f->configure ? f->configure(a, opts, state, &slot.data, err) : 0;
    if (rc == 0)
        add_slot(a, slot);
    return rc;
}

int ch_feature_attach(chela_agent *a, const struct ch_feature *f,
                      const struct ch_agent_opts *opts, struct chela_error *err) {
    return feature_configure(a, f, opts, NULL, err);
}

bool ch_feature_attached(const chela_agent *a, const struct ch_feature *f) {
    return feature_find_slot(a, f) != NULL;
}

void ch_feature_put(chela_agent *a, const struct ch_feature *f, void *data) {
    add_slot(a, (struct agent_slot){.f = f, .data = data, .idle = true, .owned = true});
}

void *ch_feature_of(const chela_agent *a, const struct ch_feature *f) {
    const struct agent_slot *s = feature_find_slot(a, f);
    return s ? s->data : NULL;
}

static void remove_slot(chela_agent *a, size_t i) {
    struct ch_agent_features *l = a->features;
    memmove(&l->slots[i], &l->slots[i + 1], (l->n - i - 1) * sizeof(l->slots[0]));
    l->n--;
}

void ch_feature_detach(chela_agent *a, const struct ch_feature *f) {
    const struct agent_slot *s = feature_find_slot(a, f);
    if (s)
        remove_slot(a, (size_t)(s - a->features->slots));
}

void ch_features_detach_turns(chela_agent *a) {
    for (size_t i = a->features ? a->features->n : 0; i > 0; i--)
        if (a->features->slots[i - 1].f->take_turn)
            remove_slot(a, i - 1);
}

void ch_features_inherit(chela_agent *a) {
    const struct ch_agent_features *from = a->base->features;
    a->features = NULL;
    for (size_t i = 0; from && i < from->n; i++) {
        struct agent_slot slot = from->slots[i];
        slot.owned = false;
        if (!slot.f->release_agent)
            add_slot(a, slot);
    }
}

void ch_features_release(chela_agent *a) {
    struct ch_agent_features *l = CH_TAKE(a->features);
    for (size_t i = 0; l && i < l->n; i++)
        if (l->slots[i].owned && l->slots[i].f->release_agent)
            l->slots[i].f->release_agent(a, l->slots[i].data);
    ch_free(l);
}

const char *ch_features_own_tools(const chela_agent *a) {
    for (size_t i = 0; a->features && i < a->features->n; i++)
        if (a->features->slots[i].f->own_tools)
            return a->features->slots[i].f->own_tools;
    return NULL;
}

static bool is_fixed(const chela_agent *a) {
    for (size_t i = 0; a->features && i < a->features->n; i++)
        if (a->features->slots[i].f->is_fixed)
            return true;
    return false;
}

int ch_features_recall(chela_agent *a, const struct ch_json *state, struct chela_error *err) {
    struct ch_sv mode = ch_json_get_str(state, "mode");
    for (const struct ch_feature *const *f = a->rt->features; mode.n && !is_fixed(a) && *f; f++)
        if ((*f)->is_mode && !(*f)->is_fixed && ch_sv_is(mode, (*f)->name) &&
            !feature_find_slot(a, *f))
            return feature_configure(a, *f, NULL, state, err);
    return 0;
}

/* --- of sessions and runs --------------------------------------------------------------- */

void ch_features_load(chela_session *s, const struct ch_json *state) {
    for (const struct ch_feature *const *f = s->agent->rt->features; *f; f++)
        if ((*f)->load && ch_json_get(state, (*f)->loads))
            (*f)->load(s, state);
}

/* True: a run that was stored in this mode can continue. */
static bool is_mode(const chela_agent *a, struct ch_sv name) {
    if (ch_sv_is(name, CH_MODE_PLAIN))
        return true;
    for (const struct ch_feature *const *f = a->rt->features; *f; f++)
        if ((*f)->is_mode && !(*f)->is_fixed && ch_sv_is(name, (*f)->name))
            return true;
    return false;
}

/* Whether a run gets the feature of the slot. A recovered run keeps the mode that it began
 * in. */
static bool feature_has(const chela_agent *a, const struct agent_slot *slot, struct ch_sv mode) {
    if (slot->f->is_mode && mode.n && !is_fixed(a) && is_mode(a, mode))
        return ch_sv_is(mode, slot->f->name);
    return !slot->idle;
}

int ch_features_open(chela_run *run, const struct chela_run_opts *opts,
                     const struct ch_json *state, struct chela_error *err) {
    const chela_agent *a = run->session->agent;
    struct ch_sv mode = ch_json_get_str(state, "mode");
    int rc = 0;
    if (!a->features)
        return 0;
    struct ch_run_features *l =
        ch_alloc(sizeof(*l) + a->features->n * sizeof(l->slots[0]));
    run->features = l;
    for (size_t i = 0; rc == 0 && i < a->features->n; i++) {
        if (!feature_has(a, &a->features->slots[i], mode))
            continue;
        struct run_slot *s = &l->slots[l->n++];
        s->f = a->features->slots[i].f;
        if (s->f->open)
            rc = s->f->open(run, opts, state, &s->data, err);
    }
    return rc;
}

void *ch_feature_join(chela_run *run, const struct ch_feature *f) {
    struct ch_run_features *l = run->features;
    const struct agent_slot *of_agent = feature_find_slot(run->session->agent, f);
    void *data = ch_feature_data(run, f);
    if (data || !of_agent || of_agent->idle || (l && l->closed))
        return data;
    if (f->open && f->open(run, NULL, NULL, &data, NULL) < 0)
        return NULL;
    size_t n = l ? l->n : 0;
    l = ch_realloc(l, sizeof(*l) + (n + 1) * sizeof(l->slots[0]));
    l->slots[n] = (struct run_slot){f, data};
    l->n = n + 1;
    l->closed = false;
    run->features = l;
    return data;
}

void ch_features_close(chela_run *run) {
    struct ch_run_features *l = run->features;
    if (!l || l->closed)
        return;
    l->closed = true;
    for (size_t i = 0; i < l->n; i++)
        if (l->slots[i].f->close)
            l->slots[i].f->close(run, CH_TAKE(l->slots[i].data));
}

void ch_features_free(chela_run *run) {
    ch_features_close(run);
    ch_free(CH_TAKE(run->features));
}

void *ch_feature_data(const chela_run *run, const struct ch_feature *f) {
    for (size_t i = 0; run->features && i < run->features->n; i++)
        if (run->features->slots[i].f == f)
            return run->features->slots[i].data;
    return NULL;
}

const char *ch_run_mode(const chela_run *run) {
    for (size_t i = 0; run->features && i < run->features->n; i++)
        if (run->features->slots[i].f->is_mode)
            return run->features->slots[i].f->name;
    return CH_MODE_PLAIN;
}

bool ch_features_keep_words(const chela_run *run) {
    for (size_t i = 0; run->features && i < run->features->n; i++)
        if (run->features->slots[i].f->words_private)
            return true;
    return false;
}

bool ch_features_end_by_actions(const chela_run *run) {
    for (size_t i = 0; run->features && i < run->features->n; i++)
        if (run->features->slots[i].f->ends_by)
            return true;
    return false;
}

bool ch_features_end_by(const chela_run *run, const struct ch_block *call) {
    for (size_t i = 0; run->features && i < run->features->n; i++) {
        const struct ch_feature *f = run->features->slots[i].f;
        if (f->ends_by && f->ends_by(run, call))
            return true;
    }
    return false;
}

void ch_features_save(const chela_run *run, struct ch_jw *w) {
    for (size_t i = 0; run->features && i < run->features->n; i++)
        if (run->features->slots[i].f->save)
            run->features->slots[i].f->save(run, w);
}

/* --- hooks ------------------------------------------------------------------------------- */

/* The i-th active feature; NULL: no more. Looked up on every step because a hook may close
 * the features or bind the run to another agent. */
static const struct ch_feature *at(const chela_run *run, size_t i) {
    const struct ch_run_features *l = run->features;
    return l && !l->closed && i < l->n ? l->slots[i].f : NULL;
}

void ch_features_abort(chela_run *run) {
    const struct ch_feature *f;
    for (size_t i = 0; (f = at(run, i)); i++)
        if (f->abort)
            f->abort(run);
}

bool ch_features_take_turn(chela_run *run) {
    const struct ch_feature *f;
    for (size_t i = 0; (f = at(run, i)); i++)
        if (f->take_turn && f->take_turn(run))
            return true;
    return false;
}

int ch_features_shape(chela_run *run, struct ch_model_request *req, struct chela_error *err) {
    const struct ch_feature *f;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (f = at(run, i)); i++)
        if (f->shape_request)
            rc = f->shape_request(run, req, err);
    return rc;
}

unsigned ch_features_reply(chela_run *run, struct ch_reply *reply, struct ch_buf *complaint) {
    const struct ch_feature *f;
    unsigned verdict = CH_REPLY_USE;
    for (size_t i = 0; !(verdict & CH_REPLY_REJECT) && (f = at(run, i)); i++)
        if (f->on_reply)
            verdict |= f->on_reply(run, reply, complaint);
    return verdict;
}

void ch_features_call(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                      bool failed) {
    const struct ch_feature *f;
    for (size_t i = 0; !run->dead && (f = at(run, i)); i++)
        if (f->on_call)
            f->on_call(run, call, phase, failed);
}

/* A later feature sees the arguments as changed by an earlier one. */
enum ch_before ch_features_before_call(chela_run *run, const struct ch_block *call,
                                       char **arguments, char **feedback) {
    const struct ch_feature *f;
    enum ch_before verdict = CH_BEFORE_RUN;
    for (size_t i = 0; verdict == CH_BEFORE_RUN && !run->dead && (f = at(run, i)); i++)
        if (f->before_call)
            verdict = f->before_call(run, call, arguments, feedback);
    return verdict;
}

bool ch_features_after_call(chela_run *run, const struct ch_block *call, const struct ch_result *r,
                            struct ch_buf *more) {
    const struct ch_feature *f;
    bool ready = true;
    for (size_t i = 0; ready && !run->dead && (f = at(run, i)); i++)
        if (f->after_call)
            ready = f->after_call(run, call, r, more);
    return ready;
}

bool ch_features_await_calls(const chela_run *run) {
    const struct ch_feature *f;
    for (size_t i = 0; (f = at(run, i)); i++)
        if (f->before_call)
            return true;
    return false;
}

bool ch_features_hold_compaction(chela_run *run) {
    const struct ch_feature *f;
    for (size_t i = 0; (f = at(run, i)); i++)
        if (f->hold_compaction && f->hold_compaction(run))
            return true;
    return false;
}

void ch_features_wait(chela_run *run, const char *kind, struct ch_sv what) {
    const struct ch_feature *f;
    for (size_t i = 0; !run->dead && (f = at(run, i)); i++)
        if (f->on_wait)
            f->on_wait(run, kind, what);
}

bool ch_features_results(chela_run *run, struct ch_input *in) {
    const chela_agent *agent = run->session->agent; /* a hook may bind the run to another one */
    const struct ch_feature *f;
    for (size_t i = 0; agent == run->session->agent && (f = at(run, i)); i++)
        if (f->on_results && !f->on_results(run, in))
            return false;
    return true;
}

bool ch_features_end(chela_run *run, struct chela_event *end) {
    const struct ch_feature *f;
    bool mail = true;
    for (size_t i = 0; (f = at(run, i)); i++)
        if (f->on_end)
            mail &= f->on_end(run, end);
    return mail;
}
