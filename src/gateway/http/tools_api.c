/* tools_api.c -- POST /tools/invoke: one tool of an agent, through the whole
 * path of a call. What would need a person's consent is refused. */
#include "base/error.h"
#include "gateway/http/routes.h"
#include "tool/call/batch.h"

struct invocation {
    struct ch_visit *visit;
    struct ch_msg *reply;   /* owned */
    struct ch_batch *batch; /* owned */
    struct ch_buf out;
    chela_gateway *gw;
    struct ch_task bury;
};

static void free_invocation(struct ch_task *t) {
    struct invocation *i = CH_CONTAINER(t, struct invocation, bury);
    i->gw->ninvocations--;
    ch_batch_close(i->batch);
    ch_msg_free(i->reply);
    ch_buf_release(&i->out);
    ch_free(i);
}

static void on_finished(const struct ch_block *call, const struct ch_result *r, void *user) {
    struct invocation *i = user;
    struct ch_jw w = ch_jw(&i->out);
    (void)call;
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "name", r->name);
    ch_jw_kbool(&w, "is_error", r->is_error);
    ch_jw_kcstr(&w, "error_type", r->error_type);
    ch_jw_kbool(&w, "retryable", r->retryable);
    ch_jw_kstr(&w, "content", r->content);
    ch_jw_kraw(&w, "details", r->details.n ? r->details : CH_SV("null"));
    ch_jw_kbool(&w, "truncated", r->truncated);
    ch_jw_kint(&w, "duration_ms", r->duration_ms);
    ch_jw_end(&w, '}');
}

static void on_over(size_t waiting, void *user) {
    struct invocation *i = user;
    struct ch_visit *v = i->visit;
    i->bury.fn = free_invocation;
    ch_task_defer(i->gw->rt->loop, &i->bury);
    v->left = NULL;
    if (waiting)
        ch_visit_fail(v, 409, "client_tool", "that tool is run by somebody else");
    else
        ch_visit_json(v, 200, &i->out);
}

static void on_left(struct ch_visit *v) {
    free_invocation(&((struct invocation *)v->user)->bury);
}

static const struct ch_batch_ops ops = {.finished = on_finished, .over = on_over};

static void invoke(struct ch_visit *v, chela_agent *a, struct ch_sv name, struct ch_sv args) {
    struct ch_block call = {
        .type = CH_BLOCK_TOOL_CALL, .id = CH_SV("call_1"), .name = name, .text = args};
    struct invocation *i = ch_alloc(sizeof(*i));
    i->visit = v;
    i->gw = v->gw;
    v->gw->ninvocations++;
    i->reply = ch_msg_new(CH_MSG_ASSISTANT, &call, 1, NULL, CH_SV(""), 0);
    char run[24];
    ch_random_id("call_", run);
    struct ch_batch_opts opts = {.loop = a->rt->loop,
                                 .workers = a->rt->workers,
                                 .registry = &a->registry,
                                 .workspace = a->workspace,
                                 .session = "gateway",
                                 .run = run,
                                 .max_calls = 1,
                                 .policy = &a->policy,
                                 .approvals = a->approvals,
                                 .ask_means = CH_CONSENT_DENY,
                                 .sandbox = a->sandbox,
                                 .ops = &ops,
                                 .user = i};
    v->user = i;
    v->left = on_left;
    i->batch = ch_batch_start(i->reply, &opts);
}

void ch_tools_invoke(struct ch_visit *v) {
    struct ch_sv id = ch_json_get_str(v->json, "agent"), name = ch_json_get_str(v->json, "tool");
    const struct ch_json *args = ch_json_get(v->json, "args");
    chela_agent *agent = ch_gateway_agent(v->gw, id);
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (!agent) {
        ch_visit_fail(v, 404, NULL, "there is no agent '%.*s'", CH_SV_FMT(id));
        return;
    }
    if (!name.n || (args && args->type != CH_JSON_OBJECT)) {
        ch_visit_fail(v, 400, NULL, "`tool` is a name and `args` an object");
        return;
    }
    if (args)
        ch_jw_value(&w, args);
    invoke(v, agent, name, args ? ch_buf_sv(&text) : CH_SV("{}"));
}
