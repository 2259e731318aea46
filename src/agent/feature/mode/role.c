/* role.c -- see role.h.
 *
 * The agents of roles are made once per agent and prompt, and are freed with the agent. */
#include "agent/feature/mode/role.h"

#include <stdio.h>

#include "agent/context/context.h"
#include "agent/context/role_prompts.h"
#include "agent/feature/mode/mode_settings.h"
#include "agent/feature/mode/role_reply.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/output.h"
#include "agent/machine/principal.h"
#include "agent/machine/run.h"
#include "model/provider/target.h"
#include "agent/run/feature.h"
#include "agent/run/feature_turn.h"
#include "agent/run/parent.h"
#include "agent/session/agent_override.h"
#include "agent/session/agent_parts.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"
#include "prompt/prompts_builtin.h"

struct ch_role {
    struct ch_role *next;
    char *key; /* owned: fingerprint of the prompt, or the inputs of ch_role_worker */
    enum ch_role_kind kind; /* not of a worker */
    chela_agent *agent;
};

struct ch_role_question {
    chela_run *run; /* the run on whose behalf the role is asked */
    const char *role;
    enum ch_role_kind kind;
    chela_session *session; /* NULL: freed, because the role's agent was closed */
    ch_role_answer_fn *fn;
    void *user;
};

const char *ch_role_name(enum ch_role_kind role) {
    static const char *const names[] = {"router", "planner", "executor", "reflector", "listener"};
    return names[role];
}

/* --- replies ---------------------------------------------------------------------- */

static const char *schema_of(struct ch_sv tool, void *user) {
    const chela_agent *base = user;
    const struct ch_tool *t = ch_registry_find(&base->registry, tool);
    return t ? t->schema : NULL;
}

static struct ch_role_tools role_tools(chela_agent *base) {
    return (struct ch_role_tools){schema_of, base};
}

static bool form_reply(void *user, struct ch_sv reply, struct ch_buf *json) {
    const struct ch_role *r = user;
    struct ch_role_tools tools = role_tools(r->agent->base);
    return ch_role_reply_read(r->kind, reply, &tools, json, NULL);
}

/* --- the agents ------------------------------------------------------------------- */

/* Removes the tools that only features call and the output tool, or all tools. */
static void remove_tools(chela_agent *a, bool all) {
    struct ch_sv own = ch_sv_str(ch_features_own_tools(a->base));
    ch_registry_remove(&a->registry, CH_OUTPUT_TOOL);
    while (own.n) {
        struct ch_sv name = ch_sv_split(&own, ',');
        CH_AUTOFREE char *copy = ch_strndup(name.p, name.n);
        ch_registry_remove(&a->registry, copy);
    }
    if (all)
        ch_registry_release(&a->registry);
}

/* Keeps only the hooks of tool calls. Hooks of model calls and of the end are called for the
 * run that the host sees. */
static void keep_tool_hooks(chela_agent *a) {
    for (size_t i = 0; i < a->nhooks; i++)
        a->hooks[i] = (struct chela_hooks){.size = a->hooks[i].size,
                                           .user = a->hooks[i].user,
                                           .invalid_call = a->hooks[i].invalid_call,
                                           .before_tool = a->hooks[i].before_tool,
                                           .after_tool = a->hooks[i].after_tool,
                                           .approve = a->hooks[i].approve};
}

static int make_agent(chela_agent *base, const struct ch_agent_override *patch, chela_agent **out,
                      struct chela_error *err) {
    struct ch_agent_override plain = *patch;
    chela_agent *a;
    plain.output_schema = NULL;
    int rc = ch_agent_override_new(base, &plain, &a, err);
    if (rc < 0)
        return rc;
    a->output = NULL;
    ch_features_detach_turns(a);
    a->timeout_ms = -1; /* the run's deadline applies */
    a->limits.sums_up = false;
    remove_tools(a, patch->output_schema != NULL);
    keep_tool_hooks(a);
    if (patch->output_schema) {
        a->limits.max_turns = CH_LIMIT_ROLE_TURNS;
        a->tool_choice = NULL;
        a->nhooks = 0;
        rc = ch_agent_output(a, patch->output_schema, CHELA_OUTPUT_BY_DEFAULT, err);
        if (rc == 0)
            ch_output_in_words(a->output);
        ch_registry_remove(&a->registry, CH_OUTPUT_TOOL);
    }
    if (rc < 0)
        ch_agent_close(a);
    else
        *out = a;
    return rc;
}

/* Frees the first role of the list. */
static void free_first(struct ch_role **list) {
    struct ch_role *r = *list;
    *list = r->next;
    ch_agent_close(r->agent);
    ch_free(r->key);
    ch_free(r);
}

static void free_agents(chela_agent *base, void *data) {
    (void)base;
    for (struct ch_role *list = data; list;)
        free_first(&list);
}

/* A feature that no run gets; it holds the agents of an agent's roles. */
static const struct ch_feature role_agents = {.name = "roles", .release_agent = free_agents};

static void keep_roles(chela_agent *base, struct ch_role *list) {
    ch_feature_detach(base, &role_agents);
    ch_feature_put(base, &role_agents, list);
}

static chela_agent *agent_for(chela_agent *base, const char *key, enum ch_role_kind kind,
                              const struct ch_agent_override *p, struct chela_error *err) {
    chela_agent *a;
    struct ch_role *first = ch_feature_of(base, &role_agents);
    for (struct ch_role *r = first; r; r = r->next)
        if (strcmp(r->key, key) == 0)
            return r->agent;
    if (make_agent(base, p, &a, err) < 0)
        return NULL;
    struct ch_role *r = ch_alloc(sizeof(*r));
    *r = (struct ch_role){first, ch_strdup(key), kind, a};
    if (a->output)
        ch_output_form_by(a->output, form_reply, r);
    keep_roles(base, r);
    return a;
}

bool ch_role_is_agent(const chela_agent *a) {
    const struct ch_role *r = a->base ? ch_feature_of(a->base, &role_agents) : NULL;
    while (r && r->agent != a)
        r = r->next;
    return r != NULL;
}

/* --- its events, as the run's ------------------------------------------------------ */

/* The text of the role's last message. */
static void last_reply(const chela_session *s, struct ch_buf *out) {
    const struct ch_transcript *t = &s->transcript;
    const struct ch_msg *m = t->n ? t->msgs[t->n - 1] : NULL;
    if (!m || m->kind != CH_MSG_ASSISTANT)
        return;
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_add_sv(out, m->blocks[i].text);
}

/* Notes how the reply was read, if the model did not write it in the form of its schema. */
static void note_form(const struct ch_role_question *q, struct ch_buf *notes) {
    const chela_agent *a = q->session->agent;
    struct ch_role_tools tools = role_tools(a->base);
    CH_BUF_AUTO reply = {0};
    CH_BUF_AUTO json = {0};
    last_reply(q->session, &reply);
    if (!a->output || !ch_output_fits(a->output, ch_buf_sv(&reply)))
        ch_role_reply_read(q->kind, ch_buf_sv(&reply), &tools, &json, notes);
}

static void role_keep(const struct ch_role_question *q, const struct chela_event *end) {
    const chela_session *s = q->session;
    struct ch_usage used = ch_own_usage(&end->end.usage);
    CH_BUF_AUTO notes = {0};
    if (end->end.reason == (enum chela_reason)CH_REASON_COMPLETED)
        note_form(q, &notes);
    ch_run_journal_role(q->run, q->role, s->agent->targets[s->run->m.model]->model, &used,
                        end->end.usage.cost_usd, ch_unstr(end->end.text), ch_buf_sv(&notes));
}

/* Reads the answer, and writes it in the form of the built-in schema: a prompt of the user may have
 * a schema with other names. */
static void read_answer(const struct ch_role_question *q, struct ch_arena *arena,
                        struct ch_role_answer *a) {
    struct ch_role_tools tools = role_tools(q->session->agent->base);
    CH_BUF_AUTO json = {0};
    if (ch_role_reply_read(q->kind, a->text, &tools, &json, NULL))
        a->text = ch_arena_sv(arena, ch_buf_sv(&json));
    ch_json_parse(arena, a->text, CH_JSON_REPLACE, &a->v, NULL, NULL);
}

static void answer(struct ch_role_question *q, const struct chela_event *ev) {
    CH_ARENA_AUTO arena = {0};
    struct ch_role_answer a = {.reason = (enum ch_reason)ev->end.reason,
                               .error = ch_arena_str(&arena, ch_unstr(ev->end.error))};
    ch_role_answer_fn *fn = q->fn;
    void *user = q->user;
    a.text = ch_arena_sv(&arena, ch_unstr(ev->end.text));
    if (a.reason == CH_REASON_COMPLETED && a.text.n)
        read_answer(q, &arena, &a);
    ch_role_close(q);
    fn(&a, user);
}

static void pass_on(struct ch_role_question *q, const struct chela_event *ev) {
    struct chela_event copy = *ev;
    if (ev->type == CHELA_EV_MODEL_REQUEST) {
        copy.request.turn = q->run->m.turns;
        copy.request.role = q->role;
    }
    ch_emit(q->run, &copy);
}

static void role_on_event(const struct chela_event *ev, void *user) {
    struct ch_role_question *q = user;
    switch (ev->type) {
    case CHELA_EV_TURN_END:
        ch_feature_turn_charge(q->run, &ev->turn.usage);
        return;
    case CHELA_EV_RUN_END:
        role_keep(q, ev);
        answer(q, ev);
        return;
    case CHELA_EV_MODEL_REQUEST:
    case CHELA_EV_RETRY:
    case CHELA_EV_FALLBACK:
    case CHELA_EV_WARNING:
        pass_on(q, ev);
        return;
    default:
        return;
    }
}

/* --- asking ----------------------------------------------------------------------- */

static struct ch_role_question *role_start(chela_run *run, chela_agent *agent,
                                           enum ch_role_kind kind,
                                           const struct ch_prompt *prompt, const char *system,
                                           struct ch_sv text, ch_role_answer_fn *fn, void *user,
                                           struct chela_error *err) {
    struct ch_role_question *q = ch_alloc(sizeof(*q));
    chela_run *inner;
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = role_on_event, .user = q, .may_redo = 1,
                                                .prompt = prompt->fingerprint);
    *q = (struct ch_role_question){
        .run = run, .role = prompt->name, .kind = kind, .fn = fn, .user = user};
    ch_principal_apply(ch_run_origin_principal(run), &opts);
    if (ch_session_open(agent, NULL, false, &q->session, err) < 0 ||
        chela_run_start(q->session, text.p, text.n, &opts, &inner, err) < 0) {
        ch_role_close(q);
        return NULL;
    }
    q->session->holder = &q->session;
    q->session->system = ch_strdup(system);
    q->session->asks_for = run;
    ch_parent_bind(run, inner);
    chela_run_free(inner);
    return q;
}

#define MOST_VALUES 16

static const char *usual_schema(struct ch_prompts *builtin, const char *name) {
    struct ch_prompt_query query = {.name = name};
    const struct ch_prompt *p =
        ch_prompts_builtin(builtin, NULL) < 0 ? NULL : ch_prompts_pick(builtin, &query, NULL);
    return p ? p->head.schema_text : NULL;
}

/* Writes the values under all their names; a prompt need not have a place for each. */
static size_t name_values(const struct ch_prompt_value *values, size_t n,
                          struct ch_prompt_value out[MOST_VALUES]) {
    size_t used = 0;
    for (size_t i = 0; i < n && used < MOST_VALUES; i++) {
        out[used] = values[i];
        out[used++].optional = true;
        for (size_t k = 0; k < ch_prompt_naliases && used < MOST_VALUES; k++)
            if (strcmp(values[i].name, ch_prompt_aliases[k].name) == 0) {
                out[used] = values[i];
                out[used].optional = true;
                out[used++].name = ch_prompt_aliases[k].other;
            }
    }
    return used;
}

static const struct ch_prompt_value *value_named(const struct ch_prompt_value *values, size_t n,
                                                 const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(values[i].name, name) == 0)
            return &values[i];
    return NULL;
}

/* A prompt without a place for the request is instructions alone: the request is the
 * message. */
static void ask_request(const struct ch_prompt *used, const struct ch_prompt_value *values,
                        size_t n, struct ch_prompt_text *text) {
    const struct ch_prompt_value *request = value_named(values, n, "request");
    for (size_t i = 0; i < n; i++) /* by any of its names */
        if (request && values[i].text.p == request->text.p &&
            ch_prompt_has(used, ch_sv_str(values[i].name)))
            return;
    if (!request)
        return;
    ch_buf_add_sv(&text->system, ch_buf_sv(&text->user));
    ch_buf_clear(&text->user);
    ch_buf_add_sv(&text->user, request->text);
}

struct ch_role_question *ch_role_ask(chela_run *run, enum ch_role_kind role,
                                     const struct ch_prompt_value *given, size_t ngiven,
                                     ch_role_answer_fn *fn, void *user, struct chela_error *err) {
    struct ch_prompt_value values[MOST_VALUES];
    size_t n = name_values(given, ngiven, values);
    chela_agent *base = run->session->agent;
    const struct ch_prompts *all = ch_role_prompts(base->rt, err);
    const char *model = ch_mode_settings(base)->models[role];
    struct ch_prompt_query query = {.name = ch_role_name(role),
                                    .model = model ? model : base->targets[0]->spec,
                                    .session = run->session->key};
    CH_PROMPT_TEXT_AUTO text = {0};
    const struct ch_prompt *used;
    if (!all || ch_prompts_render(all, &query, values, n, &text, &used, err) < 0)
        return NULL;
    struct ch_agent_override patch = {.output_schema = used->head.schema_text, .model = model};
    struct ch_prompts builtin = {0};
    if (!patch.output_schema) /* a prompt without a head answers as the built-in one does */
        patch.output_schema = usual_schema(&builtin, ch_role_name(role));
    chela_agent *agent = patch.output_schema ? agent_for(base, used->fingerprint, role, &patch, err)
                                             : NULL;
    if (!patch.output_schema)
        ch_fail(err, CHELA_EINVAL, "the prompt %s has no schema for its answer", used->where);
    ch_prompts_release(&builtin);
    if (!agent)
        return NULL;
    ask_request(used, values, n, &text);
    bool told = ch_prompt_has(used, CH_SV("rules")) || ch_prompt_has(used, CH_SV("persona"));
    ch_context_constraints(run, !told, &text.system);
    return role_start(run, agent, role, used, ch_buf_str(&text.system), ch_buf_sv(&text.user), fn,
                      user, err);
}

/* Frees the workers with other keys that have nothing to do: an MCP server may change its tools
 * at any time. */
static void drop_workers(chela_agent *base, const char *key) {
    struct ch_role *list = ch_feature_of(base, &role_agents);
    for (struct ch_role **at = &list; *at;)
        if (strchr((*at)->key, '#') || strcmp((*at)->key, key) == 0 ||
            !ch_list_empty(&(*at)->agent->sessions))
            at = &(*at)->next;
        else
            free_first(at);
    keep_roles(base, list);
}

chela_agent *ch_role_worker(chela_agent *base, struct chela_error *err) {
    char key[48]; /* tools, policy and hooks may change between runs */
    struct ch_agent_override patch = {.model = ch_mode_settings(base)->models[CH_ROLE_EXECUTOR]};
    snprintf(key, sizeof(key), "%llu/%zu", (unsigned long long)base->registry.revision,
             base->nhooks);
    drop_workers(base, key);
    return agent_for(base, key, CH_ROLE_EXECUTOR, &patch, err);
}

void ch_role_close(struct ch_role_question *q) {
    if (!q)
        return;
    if (q->session)
        q->session->holder = NULL;
    chela_session_close(q->session);
    ch_free(q);
}
