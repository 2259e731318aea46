/* eval_stub.c -- see eval_stub.h. */
#include "eval/eval_stub.h"

#include "agent/handle/agent.h"
#include "base/error.h"
#include "base/grow.h"
#include "json/writer.h"
#include "tool/registry/registry.h"

struct stub { /* a replaced tool; lives as long as the stubs */
    struct ch_eval_stubs *all;
    const struct ch_eval_tool *tool; /* NULL: the case does not name it */
    struct stub *next;
};

struct ch_eval_stubs {
    const struct ch_eval_case *c;
    struct stub *list; /* owned */
    bool *used;        /* owned, one for each recorded result */
    struct ch_eval_stub_counts counts;
    unsigned holds; /* replaced tools that are in use */
    bool freed;     /* freed by its owner: lives until its last tool is released */
};

static void stubs_drop(struct ch_eval_stubs *s) {
    if (!s->freed || s->holds)
        return;
    for (struct stub *k = s->list, *next; k; k = next) {
        next = k->next;
        ch_free(k);
    }
    ch_free(s->used);
    ch_free(s);
}

void ch_eval_stubs_free(struct ch_eval_stubs *s) {
    if (!s)
        return;
    s->freed = true;
    stubs_drop(s);
}

struct ch_eval_stub_counts ch_eval_stubs_counts(const struct ch_eval_stubs *s) {
    return s ? s->counts : (struct ch_eval_stub_counts){0};
}

static void stub_release(void *user) {
    struct stub *k = user;
    k->all->holds--;
    stubs_drop(k->all);
}

/* --- calls ------------------------------------------------------------------------------- */

static int answer_with(chela_call *call, const struct ch_json *result, bool is_error) {
    CH_BUF_AUTO text = {0};
    if (result)
        ch_json_add_text(&text, result);
    if (is_error)
        return chela_result_error(call, "internal", "%s", ch_buf_str(&text));
    chela_result_text(call, ch_buf_str(&text), text.n);
    return 0;
}

/* The first unused result of the same call; if all are used, the last one again. */
static const struct ch_json *find_recorded(struct ch_eval_stubs *s, struct ch_sv name,
                                           const struct ch_json *arguments) {
    const struct ch_json *last = NULL;
    size_t i = 0;
    for (CH_JSON_EACH(e, s->c->recorded)) {
        const struct ch_json *args = ch_json_get(e, "arguments");
        bool same = ch_sv_eq(ch_json_get_str(e, "name"), name) &&
                    (!args || ch_json_equal(args, arguments));
        size_t at = i++;
        if (!same)
            continue;
        last = e;
        if (s->used[at])
            continue;
        s->used[at] = true;
        return e;
    }
    return last;
}

static int answer_recorded(chela_call *call, struct ch_eval_stubs *s) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *arguments = NULL;
    ch_json_parse(&arena, ch_sv_str(chela_call_arguments(call)), CH_JSON_REPLACE, &arguments, NULL,
                  NULL);
    const struct ch_json *e = find_recorded(s, ch_sv_str(chela_call_name(call)), arguments);
    if (e)
        return answer_with(call, ch_json_get(e, "result"), ch_json_bool(ch_json_get(e, "is_error"),
                                                                       false));
    s->counts.unrecorded++;
    return chela_result_error(call, "unavailable",
                              "There is no recorded result for a call with these arguments.");
}

static int stub_answer(chela_call *call, void *user) {
    struct stub *k = user;
    if (!k->tool) {
        k->all->counts.simulated++;
        chela_result_printf(call, "The call was simulated: %s was not run.",
                            chela_call_name(call));
        return 0;
    }
    if (k->tool->source == CH_EVAL_RECORDED)
        return answer_recorded(call, k->all);
    return answer_with(call, k->tool->result, k->tool->is_error);
}

/* --- replacing --------------------------------------------------------------------------- */

/* Calls of these tools change at most the workspace of the trial. */
static bool stays_inside_trial(const struct ch_tool *t) {
    bool own = t->flags & CH_TOOL_CONSTANT && t->permission != CHELA_PERM_ADMIN;
    return ch_tool_is_run(t) || t->effect == CHELA_EFFECT_READ || t->flags & CHELA_TOOL_CLIENT ||
           (own && !(t->flags & CHELA_TOOL_SENDS));
}

static int add_command(chela_agent *agent, const struct ch_eval_tool *tool,
                       const struct chela_tool_opts *opts, const char *folder,
                       struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const char **argv = ch_arena_zalloc(&arena, (tool->result->n + 1) * sizeof(*argv));
    size_t n = 0;
    for (CH_JSON_EACH(e, tool->result))
        argv[n++] = ch_arena_text(&arena, ch_json_str(e));
    struct chela_command_opts command =
        CHELA_COMMAND_OPTS(.tool = opts, .argv = argv, .cwd = *folder ? folder : ".");
    return chela_agent_add_command(agent, &command, err);
}

static int replace_tool(struct ch_eval_stubs *s, chela_agent *agent, struct ch_tool *t,
                        const struct ch_eval_tool *tool, struct chela_error *err) {
    bool command = tool && tool->source == CH_EVAL_COMMAND;
    CH_AUTOFREE char *name = ch_strdup(t->name), *about = ch_strdup(t->description),
                     *schema = ch_strdup(t->schema);
    struct stub *k = ch_alloc(sizeof(*k));
    *k = (struct stub){.all = s, .tool = tool, .next = s->list};
    s->list = k;
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = name, .description = about, .schema = schema,
                        .fn = command ? NULL : stub_answer, .user = command ? NULL : k,
                        .release = command ? NULL : stub_release, .effect = CHELA_EFFECT_READ,
                        .permission = t->permission,
                        .flags = command ? 0 : CHELA_TOOL_ON_LOOP);
    int rc = chela_agent_remove_tool(agent, name, err);
    if (rc == 0)
        rc = command ? add_command(agent, tool, &opts, s->c->folder, err)
                     : chela_agent_add_tool(agent, &opts, err);
    s->holds += rc == 0 && !command;
    return rc;
}

static int replace_tools(struct ch_eval_stubs *s, chela_agent *agent, struct chela_error *err) {
    size_t n = agent->registry.n;
    CH_AUTOFREE char **names = ch_alloc((n + 1) * sizeof(*names));
    for (size_t i = 0; i < n; i++)
        names[i] = ch_strdup(agent->registry.tools[i]->name);
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        struct ch_tool *t = ch_registry_find(&agent->registry, ch_sv_str(names[i]));
        const struct ch_eval_tool *tool = ch_eval_case_tool(s->c, ch_sv_str(names[i]));
        bool keep = tool ? tool->source == CH_EVAL_REAL : stays_inside_trial(t);
        if (rc == 0 && t && !keep)
            rc = replace_tool(s, agent, t, tool, err);
        ch_free(names[i]);
    }
    return rc;
}

static int need_tool(const struct ch_eval_case *c, const chela_agent *agent, struct ch_sv name,
                     struct chela_error *err) {
    if (ch_registry_find(&agent->registry, name))
        return 0;
    return ch_fail(err, CHELA_ENOENT, "case '%s' needs the tool %.*s, which the agent %s lacks",
                   c->name, CH_SV_FMT(name), agent->id);
}

static int need_tools(const struct ch_eval_case *c, const chela_agent *agent,
                      struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->ntools; i++)
        rc = need_tool(c, agent, ch_sv_str(c->tools[i].name), err);
    for (size_t i = 0; rc == 0 && i < c->nchecks; i++) {
        const struct ch_eval_check *k = &c->checks[i];
        if (k->kind == CH_EVAL_INCLUDE)
            rc = need_tool(c, agent, ch_sv_str(k->text), err);
        for (CH_JSON_EACH(e, k->kind == CH_EVAL_ORDER ? k->json : NULL))
            rc = rc == 0 ? need_tool(c, agent, ch_json_str(e), err) : rc;
    }
    return rc;
}

int ch_eval_stubs_new(const struct ch_eval_case *c, chela_agent *const *agents,
                      struct ch_eval_stubs **out, struct chela_error *err) {
    size_t recorded = c->recorded ? c->recorded->n : 0;
    int rc = need_tools(c, agents[0], err);
    if (rc < 0)
        return rc;
    struct ch_eval_stubs *s = ch_alloc(sizeof(*s));
    s->c = c;
    s->used = ch_alloc(recorded + 1);
    for (size_t i = 0; rc == 0 && agents[i]; i++)
        rc = replace_tools(s, agents[i], err);
    if (rc < 0)
        ch_eval_stubs_free(s);
    else
        *out = s;
    return rc;
}
