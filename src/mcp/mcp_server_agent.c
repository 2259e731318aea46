/* mcp_server_agent.c -- an agent behind a server: its tools, the agent itself, its skills, and
 * the files of its workspace.
 *
 * A call is executed like every tool call (tool/call/batch.h): schema, policy, approval,
 * shaping. A call that needs a person's consent is refused, because the client is a program.
 * The tool ask_AGENT starts a run of the agent in a new session. */
#include "mcp/mcp_server_agent.h"

#include <ctype.h>

#include "agent/api/agent.h"
#include "agent/handle/agent.h"
#include "agent/machine/event.h"
#include "base/error.h"
#include "base/random_id.h"
#include "io/loop_entry.h"
#include "mcp/mcp_server_prompts.h"
#include "mcp/mcp_server_skills.h"
#include "tool/call/batch.h"

#define SESSION_BYTES 64

/* An agent that a server offers; the items of the server share it. */
struct ch_mcp_offer {
    chela_agent *agent;  /* held */
    struct ch_list work; /* struct ch_mcp_work */
    unsigned refs;
};

/* One call of a tool, or one run of the agent. */
struct ch_mcp_work {
    struct ch_link link;
    struct ch_mcp_offer *offer;
    chela_mcp_call *call;   /* NULL: finished */
    struct ch_msg *reply;   /* owned: the call as a model makes it; NULL: a run */
    struct ch_batch *batch; /* owned */
    chela_session *session; /* owned; NULL: a call */
    chela_run *run;         /* owned handle */
    char *id;               /* owned: of the session, for the client */
    unsigned steps;         /* progress of the run */
    char call_run[24];      /* stands for a run in the key of a call */
    struct ch_task bury;
};

/* --- life */

static void work_free(struct ch_mcp_work *w) {
    ch_task_cancel(w->offer->agent->rt->loop, &w->bury);
    ch_list_del(&w->link);
    ch_batch_close(w->batch);
    ch_msg_free(w->reply);
    chela_run_free(w->run);
    chela_session_close(w->session);
    ch_free(w->id);
    ch_free(w);
}

static void work_on_bury(struct ch_task *t) {
    work_free(CH_CONTAINER(t, struct ch_mcp_work, bury));
}

static void work_on_cancel(chela_mcp_call *call, void *user) {
    struct ch_mcp_work *w = user;

    w->call = NULL;
    work_free(w);
    chela_mcp_call_finish(call);
}

static struct ch_mcp_work *work_new(struct ch_mcp_offer *o, chela_mcp_call *call) {
    struct ch_mcp_work *w = ch_alloc(sizeof(*w));

    w->offer = o;
    w->call = call;
    w->bury.fn = work_on_bury;
    ch_list_add(&o->work, &w->link);
    chela_mcp_call_defer(call);
    chela_mcp_call_on_cancel(call, work_on_cancel, w);
    return w;
}

/* The result is set. The batch or the run that reports its end is still in use. */
static void work_finish(struct ch_mcp_work *w) {
    chela_mcp_call *call = CH_TAKE(w->call);

    ch_task_defer(w->offer->agent->rt->loop, &w->bury);
    if (call)
        chela_mcp_call_finish(call);
}

static void offer_release(void *user) {
    struct ch_mcp_offer *o = user;
    struct ch_mcp_work *w;

    if (--o->refs > 0)
        return;
    while ((w = CH_LIST_FIRST(&o->work, struct ch_mcp_work, link)))
        work_free(w);
    ch_agent_release(o->agent);
    ch_free(o);
}

/* --- tools */

static void offer_on_finished(const struct ch_block *block, const struct ch_result *r,
                              void *user) {
    struct ch_mcp_work *w = user;

    (void)block;
    if (!w->call)
        return;
    if (r->is_error && r->error_type && strcmp(r->error_type, "not_found") == 0)
        chela_mcp_result_not_found(w->call);
    if (r->is_error)
        chela_mcp_result_error(w->call, "%.*s", CH_SV_FMT(r->content));
    else
        chela_mcp_result_text(w->call, r->content.p, r->content.n);
}

static void offer_on_over(size_t waiting, void *user) {
    struct ch_mcp_work *w = user;

    if (waiting && w->call)
        chela_mcp_result_error(w->call, "the tool needs a person, or is run by another program");
    work_finish(w);
}

static void offer_on_progress(const struct ch_block *block, struct ch_sv text, void *user) {
    struct ch_mcp_work *w = user;
    CH_AUTOFREE char *line = ch_strndup(text.p, text.n);

    (void)block;
    if (w->call)
        chela_mcp_call_progress(w->call, ++w->steps, 0, line);
}

static const struct ch_batch_ops offer_ops = {
    .finished = offer_on_finished, .over = offer_on_over, .progress = offer_on_progress};

static int start_tool(struct ch_mcp_offer *o, chela_mcp_call *call, struct ch_sv name,
                      struct ch_sv arguments) {
    struct ch_block block = {
        .type = CH_BLOCK_TOOL_CALL, .id = CH_SV("call_1"), .name = name, .text = arguments};
    chela_agent *a = o->agent;
    struct ch_mcp_work *w = work_new(o, call);

    ch_random_id("call_", w->call_run);
    w->reply = ch_msg_new(CH_MSG_ASSISTANT, &block, 1, 0);
    w->batch = ch_batch_start(w->reply, &(struct ch_batch_opts){.loop = a->rt->loop,
                                                                .workers = a->rt->workers,
                                                                .registry = &a->registry,
                                                                .workspace = a->workspace,
                                                                .session = "mcp",
                                                                .run = w->call_run,
                                                                .max_calls = 1,
                                                                .policy = &a->policy,
                                                                .approvals = a->approvals,
                                                                .ask_means = CH_CONSENT_DENY,
                                                                .sandbox = a->sandbox,
                                                                .ops = &offer_ops,
                                                                .user = w});
    return 0;
}

static int offer_call(chela_mcp_call *call, void *user) {
    return start_tool(user, call, ch_sv_str(chela_mcp_call_name(call)),
                      ch_sv_str(chela_mcp_call_arguments(call)));
}

/* --- files: read by the agent's tool, so that its policy holds */

static int offer_read(chela_mcp_call *call, void *user) {
    CH_BUF_AUTO arguments = {0};
    struct ch_jw w = ch_jw(&arguments);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "file_path", chela_mcp_call_argument(call, "path"));
    ch_jw_end(&w, '}');
    return start_tool(user, call, CH_SV("read"), ch_buf_sv(&arguments));
}

/* --- the agent */

static void write_outcome(chela_mcp_call *call, const char *id, enum chela_status status,
                          enum chela_reason reason, struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    struct ch_jw j = ch_jw(&out);

    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "session", id);
    ch_jw_kcstr(&j, "status", chela_status_name(status));
    ch_jw_kcstr(&j, "reason", chela_reason_name(reason));
    ch_jw_kstr(&j, "text", text);
    ch_jw_end(&j, '}');
    chela_mcp_result_json(call, ch_buf_str(&out));
}

void ch_mcp_ask_outcome(chela_mcp_call *call, const char *id, enum chela_status status,
                        enum chela_reason reason, struct ch_sv text) {
    write_outcome(call, id, status, reason, text);
    chela_mcp_result_text(call, text.p ? text.p : "", text.n);
    if (status == CHELA_STATUS_PAUSED)
        chela_mcp_result_printf(call, "The run waits for a person (session mcp:%s).", id);
}

void ch_mcp_ask_result(chela_mcp_call *call, const char *id, const struct chela_event *ev) {
    struct ch_sv text = ch_unstr(ev->end.text), ending = ch_unstr(ev->end.ending);
    bool partial = ev->end.status == CHELA_STATUS_STOPPED && text.n > 0;

    if (ending.n == 0) {
        ch_mcp_ask_outcome(call, id, ev->end.status, ev->end.reason, text);
        return;
    }
    write_outcome(call, id, ev->end.status, ev->end.reason, text);
    if (text.n)
        chela_mcp_result_text(call, text.p, text.n);
    chela_mcp_result_text(call, ending.p, ending.n);
    call->classed = true;
    if (ev->end.error.n > 0 && !partial)
        chela_mcp_result_error(call, "%.*s", CH_SV_FMT(ending));
}

static void offer_on_event(const struct chela_event *ev, void *user) {
    struct ch_mcp_work *w = user;

    if (!w->call)
        return;
    if (ev->type == CHELA_EV_TOOL_CALL) {
        CH_AUTOFREE char *name = ch_strndup(ev->call.name.p, ev->call.name.n);
        chela_mcp_call_progress(w->call, ++w->steps, 0, name);
    }
    if (ev->type != CHELA_EV_RUN_END)
        return;
    ch_event_log_end(w->id, ev);
    ch_mcp_ask_result(w->call, w->id, ev);
    work_finish(w);
}

bool ch_mcp_is_session_id(const char *id) {
    size_t n = strlen(id);

    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)id[i]) && id[i] != '_' && id[i] != '-')
            return false;
    return n > 0 && n <= SESSION_BYTES;
}

static int offer_ask(chela_mcp_call *call, void *user) {
    struct ch_mcp_offer *o = user;
    const char *text = chela_mcp_call_argument(call, "message"),
               *id = chela_mcp_call_argument(call, "session");
    struct chela_error err = {0};
    char made[24];

    ch_random_id("ask_", made);
    id = id ? id : made;
    if (!ch_mcp_is_session_id(id))
        return chela_mcp_result_error(call, "session is an id that an earlier call returned");
    struct ch_mcp_work *w = work_new(o, call);
    CH_AUTOFREE char *key = NULL;
    CH_BUF_AUTO name = {0};
    ch_buf_addf(&name, "mcp:%s", id);
    key = ch_buf_take(&name);
    w->id = ch_strdup(id);
    struct chela_run_opts opts = CHELA_RUN_OPTS(.on_event = offer_on_event, .user = w,
                                                .traceparent = call->traceparent);
    int rc = chela_session_new(o->agent, key, &w->session, &err);
    if (rc == 0)
        rc = chela_run_start(w->session, text, strlen(text), &opts, &w->run, &err);
    if (rc < 0) {
        chela_mcp_result_error(call, "%s", err.message);
        work_finish(w);
    }
    return 0;
}

/* --- skills */

static int offer_skill(chela_mcp_call *call, void *user) {
    const struct ch_mcp_offer *o = user;
    const char *input = chela_mcp_call_argument(call, "input");
    struct chela_error err = {0};
    CH_BUF_AUTO command = {0};

    ch_buf_addf(&command, "/skill %s", chela_mcp_call_name(call));
    if (input)
        ch_buf_addf(&command, " %s", input);
    char *text = chela_agent_expand(o->agent, command.p, command.n, &err);
    if (!text)
        return chela_mcp_result_error(call, "%s", err.message);
    chela_mcp_result_text(call, text, strlen(text));
    chela_free(text);
    return 0;
}

/* --- offering */

static int add_tools(chela_mcp_server *s, struct ch_mcp_offer *o, struct chela_error *err) {
    const chela_agent *a = o->agent;

    for (size_t i = 0; i < a->registry.n; i++) {
        const struct ch_tool *t = a->registry.tools[i];
        struct chela_mcp_tool_opts opts = CHELA_MCP_TOOL_OPTS(
            .name = t->name, .description = t->description, .schema = t->schema,
            .annotations = t->effect == CHELA_EFFECT_READ ? "{\"readOnlyHint\":true}" : NULL,
            .fn = offer_call, .user = o, .flags = CHELA_MCP_ON_LOOP, .release = offer_release);
        if (!t->ops || !ch_policy_allows(&a->policy, ch_sv_str(t->name), t->permission))
            continue; /* run by a host, or not allowed */
        int rc = chela_mcp_server_tool(s, &opts, err);
        if (rc < 0)
            return rc;
        o->refs++;
    }
    return 0;
}

int ch_mcp_server_ask_tool(chela_mcp_server *s, const chela_agent *agent,
                           const struct chela_mcp_tool_opts *base, struct chela_error *err) {
    struct chela_mcp_tool_opts opts = *base;
    CH_BUF_AUTO name = {0};
    CH_BUF_AUTO about = {0};

    ch_buf_addf(&name, "ask_%s", agent->id);
    for (size_t i = 0; i < name.n; i++)
        if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_' && name.p[i] != '-')
            name.p[i] = '_';
    ch_buf_addf(&about,
                "Give the agent %s a task and get its answer. The answer names a session; a later "
                "call with this session continues the conversation.%s%s",
                agent->id, agent->description ? " " : "",
                agent->description ? agent->description : "");
    opts.name = name.p;
    opts.description = about.p;
    opts.schema = "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\","
                  "\"minLength\":1,\"description\":\"the task, complete in itself\"},\"session\":{"
                  "\"type\":\"string\",\"description\":\"id of a session that an earlier call "
                  "returned\"}},\"required\":[\"message\"],\"additionalProperties\":false}";
    return chela_mcp_server_tool(s, &opts, err);
}

static int add_agent(chela_mcp_server *s, struct ch_mcp_offer *o, struct chela_error *err) {
    struct chela_mcp_tool_opts opts = CHELA_MCP_TOOL_OPTS(
        .fn = offer_ask, .user = o, .flags = CHELA_MCP_ON_LOOP, .release = offer_release);
    int rc = ch_mcp_server_ask_tool(s, o->agent, &opts, err);
    if (rc == 0)
        o->refs++;
    return rc;
}

static int add_files(chela_mcp_server *s, struct ch_mcp_offer *o, struct chela_error *err) {
    const struct ch_tool *t = ch_registry_find(&o->agent->registry, CH_SV("read"));
    struct chela_mcp_resource_opts opts = CHELA_MCP_RESOURCE_OPTS(
        .uri = "workspace:///{+path}", .name = "workspace",
        .description = "A file of the agent's workspace, as its tool `read` shows it.",
        .mime_type = "text/plain", .fn = offer_read, .user = o, .flags = CHELA_MCP_ON_LOOP,
        .release = offer_release);

    if (!t || !t->ops ||
        !ch_policy_allows(&o->agent->policy, CH_SV("read"), t->permission))
        return 0;
    int rc = chela_mcp_server_resource(s, &opts, err);
    if (rc == 0)
        o->refs++;
    return rc;
}

static int add_skills(chela_mcp_server *s, struct ch_mcp_offer *o, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *list = NULL;
    char *json = chela_agent_skills_json(o->agent);
    int rc = ch_json_parse(&arena, ch_sv_str(json), CH_JSON_REPLACE, &list, NULL, err);

    for (CH_JSON_EACH(skill, list)) {
        struct chela_mcp_prompt_opts opts = CHELA_MCP_PROMPT_OPTS(
            .name = ch_arena_str(&arena, ch_json_get_str(skill, "name")),
            .description = ch_arena_str(&arena, ch_json_get_str(skill, "description")),
            .arguments = "[{\"name\":\"input\",\"description\":\"what the skill works on\"}]",
            .fn = offer_skill, .user = o, .flags = CHELA_MCP_ON_LOOP, .release = offer_release);
        if (rc < 0 || !ch_json_bool(ch_json_get(skill, "used"), false) ||
            !ch_json_bool(ch_json_get(skill, "user_invocable"), true))
            continue;
        rc = chela_mcp_server_prompt(s, &opts, err);
        o->refs += rc == 0;
    }
    if (rc == 0)
        rc = ch_mcp_server_skills(s, list, err);
    if (rc == 0)
        rc = ch_mcp_server_prompts(s, err);
    chela_free(json);
    return rc;
}

int chela_mcp_server_agent(chela_mcp_server *s, chela_agent *agent, unsigned what,
                           struct chela_error *err) {
    CH_ENTER(s, s->rt->loop, err);
    CH_NEEDS(agent, err);
    int rc = 0;

    if (agent->rt != s->rt)
        return ch_fail(err, CHELA_EINVAL, "the agent and the server have different runtimes");
    what = what ? what : ~0u;
    struct ch_mcp_offer *o = ch_alloc(sizeof(*o));
    o->agent = agent;
    o->refs = 1;
    ch_list_init(&o->work);
    ch_agent_hold(agent);
    if (what & CHELA_MCP_OFFER_AGENT)
        rc = add_agent(s, o, err);
    if (rc == 0 && (what & CHELA_MCP_OFFER_TOOLS))
        rc = add_tools(s, o, err);
    if (rc == 0 && (what & CHELA_MCP_OFFER_FILES))
        rc = add_files(s, o, err);
    if (rc == 0 && (what & CHELA_MCP_OFFER_SKILLS))
        rc = add_skills(s, o, err);
    offer_release(o);
    return rc;
}
