/* tools_api.c -- POST /tools/invoke: calls one tool of an agent like a model would, with all
 * checks. A call that needs a person's consent is refused. */
#include "gateway/http/tools_api.h"

#include "agent/api/agent.h"
#include "base/random_id.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "tool/call/batch.h"

struct invocation {
    struct ch_request *request;
    struct ch_msg *reply;   /* owned */
    struct ch_batch *batch; /* owned */
    struct ch_buf out;
    chela_agent *agent; /* held: the client's request may outlive a reload of the agents */
    char run[24]; /* stands for a run in the key of the call */
};

static void free_invocation(struct invocation *i) {
    ch_batch_close(i->batch);
    ch_agent_release(i->agent);
    ch_msg_free(i->reply);
    ch_buf_release(&i->out);
    ch_free(i);
}

static void invocation_on_finished(const struct ch_block *call, const struct ch_result *r,
                                   void *user) {
    struct invocation *i = user;
    struct ch_jw w = ch_jw(&i->out);
    (void)call;
    ch_jw_begin(&w, '{');
    ch_result_write(r, &w);
    ch_jw_end(&w, '}');
}

static void invocation_on_over(size_t waiting, void *user) {
    struct invocation *i = user;
    struct ch_request *req = i->request;
    req->on_disconnect = NULL;
    if (waiting)
        ch_request_fail(req, 409, "client_tool", "the tool is run by a client");
    else
        ch_request_respond_json(req, 200, &i->out);
    free_invocation(i);
}

static void invocation_on_disconnect(struct ch_request *req) {
    free_invocation(req->user);
}

static const struct ch_batch_ops ops = {.finished = invocation_on_finished,
                                        .over = invocation_on_over};

static void invocation_start(struct ch_request *req, chela_agent *a, struct ch_sv name,
                             struct ch_sv args) {
    struct ch_block call = {
        .type = CH_BLOCK_TOOL_CALL, .id = CH_SV("call_1"), .name = name, .text = args};
    struct invocation *i = ch_alloc(sizeof(*i));
    i->request = req;
    i->agent = a;
    ch_agent_hold(a);
    i->reply = ch_msg_new(CH_MSG_ASSISTANT, &call, 1, 0);
    ch_random_id("call_", i->run);
    struct ch_batch_opts opts = {.loop = a->rt->loop,
                                 .workers = a->rt->workers,
                                 .registry = &a->registry,
                                 .workspace = a->workspace,
                                 .session = "gateway",
                                 .run = i->run,
                                 .max_calls = 1,
                                 .policy = &a->policy,
                                 .approvals = a->approvals,
                                 .ask_means = CH_CONSENT_DENY,
                                 .sandbox = a->sandbox,
                                 .ops = &ops,
                                 .user = i};
    req->user = i;
    req->on_disconnect = invocation_on_disconnect;
    i->batch = ch_batch_start(i->reply, &opts);
}

void ch_tools_invoke(struct ch_request *req) {
    struct ch_sv id = ch_request_agent_id(req, "agent"),
                 name = ch_json_get_str(req->json, "tool");
    const struct ch_json *args = ch_json_get(req->json, "args");
    chela_agent *agent = ch_gateway_agent(req->gw, id);
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (!agent) {
        ch_request_fail(req, 404, NULL, "there is no agent '%.*s'", CH_SV_FMT(id));
        return;
    }
    if (!name.n || (args && args->type != CH_JSON_OBJECT)) {
        ch_request_fail(req, 400, NULL, "`tool` must be a name and `args` an object");
        return;
    }
    if (args)
        ch_jw_value(&w, args);
    invocation_start(req, agent, name, args ? ch_buf_sv(&text) : CH_SV("{}"));
}
