/* handoff.c -- see handoff.h. */
#include "agent/feature/team/handoff.h"

#include "agent/context/context.h"
#include "agent/journal/run_journal.h"
#include "agent/feature/mode/mode.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "json/writer.h"
#include "model/codec/encoder.h"
#include "tool/call/call.h"

/* Who may take over from an agent. */
struct takers {
    chela_runtime *rt;
    struct ch_buf ids; /* each with its NUL */
};

/* --- the session changes hands --------------------------------------------------------- */

/* What was made for the agent before is of no use to this one. */
static void assign(chela_session *s, chela_agent *to) {
    ch_list_del(&s->link);
    ch_list_add(&to->sessions, &s->link);
    if (s->agent->own == s)
        s->agent->own = NULL;
    if (s->agent->base) /* made for this conversation: so are its bounds */
        s->bounds = s->agent->bounds;
    s->agent = to;
    s->handed = true;
    ch_encoder_release(&s->encoder);
    s->encoder = (struct ch_encoder){0};
    ch_selection_free(CH_TAKE(s->selection));
    s->selection_revision = 0;
    ch_context_release(&s->context);
    s->context = (struct ch_context){0};
    s->fill.gauged = NULL;
    s->fill.fixed = 0;
    s->revision++;
    s->registry_revision = 0;
}

static bool tell(chela_run *run, const char *from, struct ch_sv note) {
    struct chela_event ev = {.type = CHELA_EV_HANDOFF,
                             .fallback = {from, run->session->agent->id, ch_str(note)}};
    return ch_emit(run, &ev);
}

bool ch_handoff(chela_run *run) {
    CH_AUTOFREE char *to = CH_TAKE(run->handoff);
    chela_agent *agent = to ? ch_agent_find(run->session->agent->rt, to) : NULL;
    CH_AUTOFREE char *from = ch_strdup(run->session->agent->id);
    struct chela_error err = {0};
    if (!agent || agent == run->session->agent)
        return true;
    ch_mode_free(run);
    assign(run->session, agent);
    run->handoffs++;
    if (ch_run_rebind(run, &err) < 0) {
        ch_break(run, &err);
        return false;
    }
    ch_keep_acting(run, CH_SYNC_COMMIT); /* with the result that says so */
    return tell(run, from, ch_buf_sv(&run->handoff_note));
}

void ch_handoff_recall(chela_session *s, const char *id) {
    chela_agent *agent =
        *id && strcmp(id, s->agent->id) != 0 ? ch_agent_find(s->agent->rt, id) : NULL;
    struct chela_error err = {0};
    s->handed = *id != '\0';
    if (*id && !agent && strcmp(id, s->agent->id) != 0)
        ch_log(CH_LOG_WARN, "session", "%s: there is no agent '%s' any more: %s goes on with it",
               s->key, id, s->agent->id);
    if (!agent)
        return;
    assign(s, agent);
    if (s->run && !s->run->over && ch_run_rebind(s->run, &err) < 0)
        ch_log(CH_LOG_ERROR, "session", "%s: %s", s->key, err.message);
}

/* --- the tool ------------------------------------------------------------------------------ */

static void finish(chela_call *call) {
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

static void take_note(chela_run *run, struct ch_sv id, struct ch_sv note) {
    ch_free(run->handoff);
    run->handoff = ch_strndup(id.p, id.n);
    ch_buf_clear(&run->handoff_note);
    ch_buf_add_sv(&run->handoff_note, note);
}

static void start(chela_call *call) {
    const struct takers *t = call->tool->impl;
    struct ch_sv id = ch_json_get_str(call->args, "agent");
    chela_run *run = ch_run_find(t->rt, call->env->run);
    CH_AUTOFREE char *name = ch_strndup(id.p, id.n);
    if (!run || !may_take(t, id) || !ch_agent_find(t->rt, name)) {
        chela_result_error(call, "not_found", "There is no agent \"%s\" to hand over to.", name);
    } else if (run->handoffs >= CH_LIMIT_HANDOFFS) {
        chela_result_error(call, "permission_denied",
                           "This conversation changed hands often enough. Answer it yourself.");
    } else {
        take_note(run, id, ch_json_get_str(call->args, "note"));
        chela_result_printf(call,
                            "The conversation was handed over. From here on %.*s answers: go on "
                            "with what the user asked for.",
                            CH_SV_FMT(id));
    }
    finish(call);
}

static void free_takers(void *impl) {
    struct takers *t = impl;
    ch_buf_release(&t->ids);
    ch_free(t);
}

static const struct ch_tool_ops ops = {.name = "handoff", .start = start, .free = free_takers};

void ch_handoff_settled(chela_run *run, const struct ch_block *call, unsigned flags) {
    const struct ch_registry *tools = &run->session->agent->registry;
    const struct ch_tool *t = ch_registry_find(tools, call->name);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *args;
    if (!t || t->ops != &ops || flags & (CH_F_ERROR | CH_F_DENIED) ||
        ch_json_parse(&arena, call->text, CH_JSON_REPLACE, &args, NULL, NULL) < 0)
        return;
    struct ch_sv id = ch_json_get_str(args, "agent");
    if (may_take(t->impl, id))
        take_note(run, id, ch_json_get_str(args, "note"));
}

/* Names as an enum, and beside each what it is for. */
static void describe(const struct takers *t, struct ch_buf *schema, struct ch_buf *about) {
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
    ch_buf_add(&t->ids, to->id, strlen(to->id) + 1);
    describe(t, &schema, &about);
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = CH_HANDOFF_TOOL, .description = ch_buf_str(&about),
            .schema = ch_buf_str(&schema), .effect = CHELA_EFFECT_READ,
            .permission = CHELA_PERM_READ, .flags = CHELA_TOOL_SEQUENTIAL);
    if (before)
        ch_registry_remove(&a->registry, CH_HANDOFF_TOOL);
    int rc = ch_registry_add(&a->registry, &tool, &ops, t, err);
    if (rc < 0)
        free_takers(t);
    return rc;
}
