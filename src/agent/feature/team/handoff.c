/* handoff.c -- see handoff.h. */
#include "agent/feature/team/handoff.h"

#include "agent/context/context.h"
#include "agent/context/tool_choice.h"
#include "agent/handle/lookup.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/run/driver.h"
#include "agent/run/feature.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "io/loop_entry.h"
#include "json/writer.h"
#include "model/codec/encoder.h"
#include "tool/call/call.h"

/* Agents that a conversation may be handed to. */
struct takers {
    chela_runtime *rt;
    struct ch_buf ids; /* ids, each NUL-terminated */
};

/* The state of a run. */
struct handoff {
    char *to;           /* owned: id of the next agent; NULL: no hand-over */
    struct ch_buf note; /* reason, for people */
    unsigned count;     /* hand-overs of the run so far; stored */
};

static struct handoff *handoff_of(const chela_run *run) {
    return ch_feature_data(run, &ch_handoff_feature);
}

static char *sv_dup(struct ch_sv s) {
    return ch_strndup(s.p ? s.p : "", s.n);
}

/* --- the session changes hands --------------------------------------------------------- */

/* Moves the session to another agent and discards the data made for the old agent. */
static void assign(chela_session *s, chela_agent *to) {
    ch_list_del(&s->link);
    ch_list_add(&to->sessions, &s->link);
    if (s->agent->own == s)
        s->agent->own = NULL;
    if (s->agent->base) /* an override: its limits hold for the conversation */
        s->bounds = s->agent->bounds;
    s->agent = to;
    s->handed = true;
    ch_encoder_release(&s->encoder);
    ch_tool_choice_renew(s);
    ch_context_release(&s->context);
    s->context = (struct ch_context){0};
    s->budget.gauged = NULL;
    s->budget.fixed = 0;
    s->revision++;
    s->registry_revision = 0;
}

static bool handoff_tell(chela_run *run, const char *from, struct ch_sv note) {
    struct chela_event ev = {.type = CHELA_EV_HANDOFF,
                             .fallback = {from, run->session->agent->id, ch_str(note)}};
    return ch_emit(run, &ev);
}

static bool handoff_on_results(chela_run *run, struct ch_input *in) {
    struct handoff *h = handoff_of(run);
    CH_AUTOFREE char *to = CH_TAKE(h->to);
    chela_agent *agent = to ? ch_agent_find(run->session->agent->rt, to) : NULL;
    CH_AUTOFREE char *from = ch_strdup(run->session->agent->id);
    struct chela_error err = {0};
    unsigned count = h->count + 1;
    (void)in;
    if (!agent || agent == run->session->agent)
        return true;
    CH_BUF_AUTO note = h->note; /* h is freed with the features of the old agent */
    h->note = (struct ch_buf){0};
    ch_features_abort(run);
    assign(run->session, agent);
    if (ch_run_rebind(run, &err) < 0) {
        ch_driver_break(run, &err);
        return false;
    }
    h = handoff_of(run);
    if (h) /* NULL: the new agent cannot hand over */
        h->count = count;
    ch_run_journal_acting(run, CH_SYNC_COMMIT); /* stored together with the result of the call */
    return handoff_tell(run, from, ch_buf_sv(&note));
}

/* --- the tool ------------------------------------------------------------------------------ */

static void handoff_finish(chela_call *call) {
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

static bool may_take(const struct takers *t, struct ch_sv id) {
    struct ch_sv rest = ch_buf_sv(&t->ids);
    while (rest.n)
        if (ch_sv_eq(ch_sv_split(&rest, '\0'), id))
            return true;
    return false;
}

static void take_note(struct handoff *h, struct ch_sv id, struct ch_sv note) {
    ch_free(h->to);
    h->to = ch_strndup(id.p, id.n);
    ch_buf_clear(&h->note);
    ch_buf_add_sv(&h->note, note);
}

static void handoff_start(chela_call *call) {
    const struct takers *t = call->tool->impl;
    struct ch_sv id = ch_json_get_str(call->args, "agent");
    chela_run *run = ch_run_find(t->rt, call->env->session, call->env->run);
    CH_AUTOFREE char *name = ch_strndup(id.p, id.n);
    struct handoff *h = run ? ch_feature_join(run, &ch_handoff_feature) : NULL;
    if (!h || !may_take(t, id) || !ch_agent_find(t->rt, name)) {
        chela_result_error(call, "not_found", "There is no agent \"%s\" to hand over to.", name);
    } else if (h->count >= CH_LIMIT_HANDOFFS) {
        chela_result_error(call, "permission_denied",
                           "This conversation changed hands often enough. Answer it yourself.");
    } else {
        take_note(h, id, ch_json_get_str(call->args, "note"));
        chela_result_printf(call,
                            "The conversation was handed over. From here on %.*s answers: go on "
                            "with what the user asked for.",
                            CH_SV_FMT(id));
    }
    handoff_finish(call);
}

static void free_takers(void *impl) {
    struct takers *t = impl;
    ch_buf_release(&t->ids);
    ch_free(t);
}

static const struct ch_tool_ops ops = {
    .name = "handoff", .start = handoff_start, .free = free_takers};

/* A hand-over that ended in an earlier process, perhaps before the session was moved. */
static void handoff_on_call(chela_run *run, const struct ch_block *call, enum ch_call_phase phase,
                            bool failed) {
    const struct ch_registry *tools = &run->session->agent->registry;
    const struct ch_tool *t = ch_registry_find(tools, call->name);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *args;
    if (phase != CH_PHASE_SETTLED || failed || !t || t->ops != &ops ||
        ch_json_parse(&arena, call->text, CH_JSON_REPLACE, &args, NULL, NULL) < 0)
        return;
    struct ch_sv id = ch_json_get_str(args, "agent");
    if (may_take(t->impl, id))
        take_note(handoff_of(run), id, ch_json_get_str(args, "note"));
}

/* Writes the agents as an enum, and a description of each. */
static void handoff_describe(const struct takers *t, struct ch_buf *schema, struct ch_buf *about) {
    struct ch_jw w = ch_jw(schema);
    struct ch_sv rest = ch_buf_sv(&t->ids);
    ch_buf_add_str(about, "Hand the conversation over to another agent, which goes on with it in "
                          "your place: ");
    ch_buf_add_str(schema, "{\"type\":\"object\",\"properties\":{\"agent\":{\"enum\":");
    ch_jw_begin(&w, '[');
    while (rest.n) {
        struct ch_sv id = ch_sv_split(&rest, '\0');
        CH_AUTOFREE char *name = ch_strndup(id.p, id.n);
        const chela_agent *a = ch_agent_find(t->rt, name);
        ch_jw_cstr(&w, name);
        ch_buf_addf(about, "%s%s", name, a && a->description ? " (" : "");
        if (a && a->description)
            ch_buf_addf(about, "%s)", a->description);
        ch_buf_add_str(about, rest.n ? ", " : ".");
    }
    ch_jw_end(&w, ']');
    ch_buf_add_str(schema, "},\"note\":{\"type\":\"string\",\"maxLength\":4096,\"description\":"
                           "\"why, for people\"}},\"required\":[\"agent\"],"
                           "\"additionalProperties\":false}");
}

int chela_agent_handoff(chela_agent *a, chela_agent *to, struct chela_error *err) {
    CH_ENTER(a, a->rt->loop, err);
    CH_NEEDS(to, err);
    static const struct ch_agent_opts none;
    CH_BUF_AUTO schema = {0};
    CH_BUF_AUTO about = {0};
    const struct ch_tool *before = ch_registry_find(&a->registry, CH_SV(CH_HANDOFF_TOOL));
    if (a->rt != to->rt)
        return ch_fail(err, CHELA_EINVAL, "agent %s belongs to another runtime", to->id);
    if (before && before->ops != &ops)
        return ch_fail(err, CHELA_EEXIST, "agent %s has another tool `handoff`", a->id);
    struct takers *t = ch_alloc(sizeof(*t));
    t->rt = a->rt;
    if (before)
        ch_buf_add_sv(&t->ids, ch_buf_sv(&((const struct takers *)before->impl)->ids));
    if (!may_take(t, ch_sv_str(to->id)))
        ch_buf_add(&t->ids, to->id, strlen(to->id) + 1);
    handoff_describe(t, &schema, &about);
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = CH_HANDOFF_TOOL, .description = ch_buf_str(&about),
            .schema = ch_buf_str(&schema), .effect = CHELA_EFFECT_READ,
            .permission = CHELA_PERM_READ, .flags = CHELA_TOOL_SEQUENTIAL);
    if (before)
        ch_registry_remove(&a->registry, CH_HANDOFF_TOOL);
    int rc = ch_registry_add(&a->registry, &tool, &ops, t, err);
    if (rc < 0)
        free_takers(t);
    if (rc == 0 && !ch_feature_attached(a, &ch_handoff_feature))
        rc = ch_feature_attach(a, &ch_handoff_feature, &none, err);
    return rc;
}

/* --- life ------------------------------------------------------------------------------------ */

/* True: hand-overs lead from the agent to the other one. The record may be an imported one, which
 * must not choose among all agents. */
static bool leads_to(const chela_agent *from, const char *to) {
    struct takers seen = {.rt = from->rt};
    ch_buf_add(&seen.ids, from->id, strlen(from->id) + 1);
    for (size_t at = 0; at < seen.ids.n; at += strlen(seen.ids.p + at) + 1) {
        const chela_agent *a = at ? ch_agent_find(from->rt, seen.ids.p + at) : from;
        const struct ch_tool *t = a ? ch_registry_find(&a->registry, CH_SV(CH_HANDOFF_TOOL)) : NULL;
        struct ch_sv rest = ch_sv(NULL, 0);
        if (t && t->ops == &ops)
            rest = ch_buf_sv(&((const struct takers *)t->impl)->ids);
        while (rest.n) {
            struct ch_sv id = ch_sv_split(&rest, '\0');
            if (!may_take(&seen, id))
                ch_buf_add(&seen.ids, id.p, id.n + 1);
        }
    }
    bool found = may_take(&seen, ch_sv_str(to));
    ch_buf_release(&seen.ids);
    return found;
}

static void load(chela_session *s, const struct ch_json *state) {
    CH_AUTOFREE char *id = sv_dup(ch_json_get_str(state, "agent"));
    chela_agent *agent =
        *id && strcmp(id, s->agent->id) != 0 ? ch_agent_find(s->agent->rt, id) : NULL;
    struct chela_error err = {0};
    if (agent && !leads_to(s->agent, id)) {
        ch_log(CH_LOG_WARN, "session", "%s: no hand-over leads to agent '%s': %s goes on with it",
               s->key, id, s->agent->id);
        return;
    }
    if (*id && !agent && strcmp(id, s->agent->id) != 0)
        ch_log(CH_LOG_WARN, "session", "%s: there is no agent '%s' any more: %s goes on with it",
               s->key, id, s->agent->id);
    if (!agent)
        return;
    assign(s, agent);
    if (s->run && !s->run->over && ch_run_rebind(s->run, &err) < 0)
        ch_log(CH_LOG_ERROR, "session", "%s: %s", s->key, err.message);
}

static int open_handoff(chela_run *run, const struct chela_run_opts *opts,
                        const struct ch_json *state, void **data, struct chela_error *err) {
    struct handoff *h = ch_alloc(sizeof(*h));
    (void)run;
    (void)opts;
    (void)err;
    h->count = (unsigned)ch_json_int(ch_json_get(state, "handoffs"), 0);
    *data = h;
    return 0;
}

static void close_handoff(chela_run *run, void *data) {
    struct handoff *h = data;
    (void)run;
    ch_free(h->to);
    ch_buf_release(&h->note);
    ch_free(h);
}

static void handoff_save(const chela_run *run, struct ch_jw *w) {
    const struct handoff *h = handoff_of(run);
    if (h && h->count)
        ch_jw_kint(w, "handoffs", h->count);
}

const struct ch_feature ch_handoff_feature = {
    .name = "handoff",
    .loads = "agent",
    .load = load,
    .save = handoff_save,
    .open = open_handoff,
    .close = close_handoff,
    .on_call = handoff_on_call,
    .on_results = handoff_on_results,
};
