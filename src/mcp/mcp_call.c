/* mcp_call.c -- see mcp_call.h. */
#include "mcp/mcp_call.h"

#include "agent/handle/listener.h"
#include "base/error.h"
#include "base/limits.h"
#include "mcp/mcp_ask.h"
#include "mcp/mcp_protocol.h"
#include "mcp/mcp_result.h"
#include "tool/call/question.h"

struct ch_mcp_invocation {
    chela_call *call;
    chela_mcp *mcp; /* valid while op is set or the function of the tool runs */
    char *server, *name, *output; /* owned; output may be NULL */
    struct ch_mcp_op *op;         /* NULL: no request is open */
    struct ch_rpc_request *asked; /* open request of the server; NULL: none */
    struct ch_buf state;          /* of the questions (mcp_ask.h) */
    bool asking;                  /* the call rests */
    /* The request ended while the call rested. */
    bool ended;
    struct ch_buf kept; /* its result as JSON; empty: failed */
    struct ch_mcp_reply failed;
};

static void free_invocation(struct ch_mcp_invocation *v) {
    if (v->asked)
        ch_rpc_reply(v->asked, CH_SV("{\"action\":\"cancel\"}"));
    if (v->op)
        ch_mcp_cancel(v->op);
    ch_buf_release(&v->state);
    ch_buf_release(&v->kept);
    ch_free(v->server);
    ch_free(v->name);
    ch_free(v->output);
    ch_free(v);
}

/* --- the end */

static void finish_call(struct ch_mcp_invocation *v, const struct ch_mcp_reply *r) {
    chela_call *call = v->call;

    if (r->result)
        ch_mcp_result(call, r->result, v->output);
    else
        ch_mcp_result_failed(call, r);
    free_invocation(v);
    chela_call_finish(call);
}

static void fail_call(struct ch_mcp_invocation *v, const struct chela_error *err) {
    finish_call(v, &(struct ch_mcp_reply){.err = *err});
}

static void finish_with_kept(struct ch_mcp_invocation *v) {
    CH_ARENA_AUTO arena = {0};
    struct ch_mcp_reply r = v->failed;

    if (v->kept.n)
        ch_json_parse(&arena, ch_arena_sv(&arena, ch_buf_sv(&v->kept)), CH_JSON_REPLACE, &r.result,
                      NULL, NULL);
    finish_call(v, &r);
}

static void call_on_cancel(chela_call *call, void *user) {
    free_invocation(user);
    chela_call_finish(call);
}

/* --- questions */

static void drop_invocation(void *user) {
    free_invocation(user);
}

static void send_call(struct ch_mcp_invocation *v, struct ch_sv input);

static void call_on_progress(struct ch_sv text, void *user) {
    struct ch_mcp_invocation *v = user;
    CH_BUF_AUTO line = {0};

    ch_mcp_clean(&line, text);
    chela_call_progress(v->call, ch_buf_str(&line));
}

/* Everything is answered: tell the server. */
static void give_answers(struct ch_mcp_invocation *v) {
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    unsigned round;
    struct ch_sv state = ch_buf_sv(&v->state);

    if (v->asked) {
        if (ch_mcp_ask_response(state, &out, &err) < 0)
            ch_buf_add_str(&out, "{\"action\":\"cancel\"}");
        ch_rpc_reply(CH_TAKE(v->asked), ch_buf_sv(&out));
        chela_call_on_cancel(v->call, call_on_cancel, v);
        return;
    }
    if (ch_mcp_ask_members(state, &out, &round, &err) < 0)
        fail_call(v, &err);
    else
        send_call(v, ch_buf_sv(&out));
}

/* Ask the next question, or go on. The call is deferred. */
static void ask_next(struct ch_mcp_invocation *v) {
    CH_BUF_AUTO question = {0};
    struct chela_error err = {0};
    int rc = 0;

    if (!ch_call_can_ask(v->call))
        rc = ch_mcp_ask_refuse(&v->state, &err);
    if (rc == 0)
        rc = ch_mcp_ask_next(ch_buf_sv(&v->state), v->server, &question, &err);
    if (rc < 0)
        fail_call(v, &err);
    else if (rc == 0)
        give_answers(v);
    else {
        v->asking = true;
        chela_call_on_cancel(v->call, NULL, NULL);
        /* a server of the older versions waits for the answer on its connection, so no other
         * process can continue the call */
        ch_call_question(v->call, ch_buf_str(&question), v->asked ? NULL : ch_buf_str(&v->state),
                         drop_invocation, v);
    }
}

/* The result asks for input (2026-07-28). */
static void take_input(struct ch_mcp_invocation *v, const struct ch_json *result) {
    CH_BUF_AUTO unused = {0};
    struct chela_error err = {0};
    unsigned round = 0;

    if (v->state.n)
        ch_mcp_ask_members(ch_buf_sv(&v->state), &unused, &round, NULL);
    ch_buf_clear(&v->state);
    if (ch_mcp_ask_begin(&v->state, ch_json_get(result, "inputRequests"),
                         ch_json_get(result, "requestState"), round + 1, &err) < 0)
        fail_call(v, &err);
    else
        ask_next(v);
}

/* The server sends a request in the middle of the call (versions with a handshake). */
static bool call_on_elicit(struct ch_rpc_request *r, const struct ch_json *params, void *user) {
    struct ch_mcp_invocation *v = user;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    const struct ch_json *requests;

    if (v->asking || v->asked)
        return false;
    ch_jw_begin(&w, '{');
    ch_jw_key(&w, "it");
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "method", "elicitation/create");
    ch_jw_key(&w, "params");
    ch_jw_value(&w, params);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_buf_clear(&v->state);
    if (ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_REPLACE, &requests, NULL, NULL) < 0 ||
        ch_mcp_ask_begin(&v->state, requests, NULL, 1, NULL) < 0)
        return false;
    v->asked = r;
    ask_next(v);
    return true;
}

/* --- the request */

static void call_on_done(const struct ch_mcp_reply *r, void *user) {
    struct ch_mcp_invocation *v = user;
    struct ch_jw w = ch_jw(&v->kept);

    v->op = NULL;
    if (v->asking) {
        v->ended = true;
        v->failed = *r;
        v->failed.result = v->failed.input = NULL;
        if (r->result)
            ch_jw_value(&w, r->result);
    } else if (r->input)
        take_input(v, r->input);
    else
        finish_call(v, r);
}

void ch_mcp_call_headers(struct ch_buf *out, const char *schema, const char *arguments) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *s, *a;

    if (strstr(schema, "x-mcp-header") &&
        ch_json_parse(&arena, ch_sv_str(schema), CH_JSON_STRICT, &s, NULL, NULL) == 0 &&
        ch_json_parse(&arena, ch_sv_str(arguments), CH_JSON_STRICT, &a, NULL, NULL) == 0)
        ch_mcp_header_params(out, s, a);
}

/* Adds the trace context of the call to the request's metadata. */
static void add_context(struct ch_mcp_invocation *v, struct ch_jw *meta) {
    char context[CH_LISTENER_CONTEXT];

    if (v->call->env && ch_listeners_context(v->mcp->rt, v->call->env->run,
                                             ch_sv_str(v->call->id), context))
        ch_jw_kcstr(meta, "traceparent", context);
}

static void send_call(struct ch_mcp_invocation *v, struct ch_sv input) {
    CH_BUF_AUTO members = {0};
    CH_BUF_AUTO meta = {0};
    CH_BUF_AUTO headers = {0};
    struct ch_jw w = ch_jw(&members), m = ch_jw(&meta);

    if (!v->mcp) { /* closed while the call rested */
        struct chela_error err = {0};
        ch_fail(&err, CHELA_ESTATE, "MCP server %s: the client is closed", v->server);
        fail_call(v, &err);
        return;
    }
    ch_jw_kcstr(&w, "name", v->name);
    ch_jw_kraw(&w, "arguments", ch_sv_str(chela_call_arguments(v->call)));
    if (input.n)
        ch_jw_raw(&w, input);
    ch_jw_kcstr(&m, "chela/idempotencyKey", chela_call_key(v->call));
    add_context(v, &m);
    if (v->mcp->opts.url)
        ch_mcp_call_headers(&headers, v->call->tool->schema, chela_call_arguments(v->call));
    chela_call_on_cancel(v->call, call_on_cancel, v);
    v->op = ch_mcp_start(v->mcp, &(struct ch_mcp_request){
                                     .method = "tools/call",
                                     .members = ch_buf_sv(&members),
                                     .meta = ch_buf_sv(&meta),
                                     .name = ch_sv_str(v->name),
                                     .headers = ch_buf_sv(&headers),
                                     .takes_input = true,
                                     .progress = call_on_progress,
                                     .elicit = call_on_elicit,
                                     .done = call_on_done,
                                     .user = v,
                                 });
}

static struct ch_mcp_invocation *new_invocation(chela_call *call, const struct ch_mcp_target *t) {
    struct ch_mcp_invocation *v = ch_alloc(sizeof(*v));

    v->call = call;
    v->server = ch_strdup(t->mcp->opts.name);
    v->name = ch_strdup(t->name);
    v->output = ch_strdup(t->output);
    return v;
}

/* The person answered: continue, in this process or from the stored state. */
static void continue_call(struct ch_mcp_invocation *v, const struct ch_question *q) {
    struct chela_error err = {0};

    v->asking = false;
    if (v->ended) {
        finish_with_kept(v);
        return;
    }
    if (ch_mcp_ask_answer(&v->state, ch_sv_str(q->answer), q->is_error, &err) < 0)
        fail_call(v, &err);
    else
        ask_next(v);
}

int ch_mcp_call(chela_call *call, const struct ch_mcp_target *t) {
    struct ch_question *q = ch_call_answered(call);
    struct ch_mcp_invocation *v = q ? q->user : NULL;

    if (!v)
        v = new_invocation(call, t);
    v->mcp = t->mcp;
    chela_call_defer(call);
    if (!q)
        send_call(v, ch_sv(NULL, 0));
    else {
        if (!q->user)
            ch_buf_add_str(&v->state, q->state);
        q->dropped = NULL;
        q->user = NULL;
        continue_call(v, q);
    }
    return 0;
}
