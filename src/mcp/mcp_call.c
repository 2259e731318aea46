/* mcp_call.c -- see mcp_call.h.
 *
 *   tools/call --result--> end
 *              --asks for input--> questions, answers of the model --> tools/call
 *              --task--> the id is stored --> tasks/get --ended--> result
 *                                                ^___________|__ asks for input: tasks/update
 *
 * A process that finds the id of a task continues at tasks/get; tools/call is not repeated. */
#include "mcp/mcp_call.h"

#include "agent/handle/listener.h"
#include "base/error.h"
#include "base/limits.h"
#include "mcp/mcp_ask.h"
#include "mcp/mcp_protocol.h"
#include "mcp/mcp_result.h"
#include "mcp/mcp_sampling.h"
#include "mcp/mcp_server_connection.h"
#include "tool/call/question.h"

#define SAMPLE_REFUSED (-1) /* the protocol's code for "the user rejected the request" */

struct ch_mcp_invocation {
    chela_call *call;
    chela_mcp *mcp; /* valid while op is set or the function of the tool runs */
    chela_runtime *rt;
    char *server, *name, *output; /* owned; output may be NULL */
    struct ch_mcp_op *op;         /* NULL: no request is open */
    struct ch_rpc_request *server_request; /* open request of the server; NULL: none */
    bool wants_sample;                     /* that request is for an answer of the model */
    struct ch_mcp_sample *sample; /* the request to the model; NULL: none */
    struct ch_buf state;          /* state of the questions (mcp_ask.h) */
    bool can_task;                /* of the target */
    const char *method;           /* method of the target; NULL: tools/call */
    char *task;                   /* owned: its id; NULL: the call is not a task */
    char *last_status, *last_questions; /* owned: of the task; NULL: none so far */
    unsigned failed_polls;        /* in a row */
    unsigned elicited;            /* requests of the server in the middle of the call */
    bool answers_unsent;          /* the server may not have the last answers */
    bool asking;                  /* a person is asked, and the call rests */
    bool ended;                   /* the request ended while the call rested: */
    struct ch_buf kept_result;    /* its result as JSON; empty: it failed */
    struct ch_mcp_reply kept_failure;
};

/* Answers the open request of the server, if any, with an error: nobody can supply the
 * input. */
static void refuse_asked(struct ch_mcp_invocation *v, const char *why) {
    struct ch_rpc_request *r = CH_TAKE(v->server_request);

    if (r && v->wants_sample)
        ch_rpc_refuse(r, SAMPLE_REFUSED, why, ch_sv(NULL, 0));
    else if (r)
        ch_rpc_reply(r, CH_SV("{\"action\":\"cancel\"}"));
}

static void free_invocation(struct ch_mcp_invocation *v) {
    refuse_asked(v, "the call has ended");
    ch_mcp_sampling_cancel(v->sample);
    if (v->op)
        ch_mcp_cancel(v->op);
    ch_buf_release(&v->state);
    ch_buf_release(&v->kept_result);
    ch_free(v->server);
    ch_free(v->name);
    ch_free(v->output);
    ch_free(v->task);
    ch_free(v->last_status);
    ch_free(v->last_questions);
    ch_free(v);
}

/* --- the end */

static void finish_call(struct ch_mcp_invocation *v, const struct ch_mcp_reply *r) {
    chela_call *call = v->call;

    if (r->result && v->method)
        ch_mcp_result_resources(call, r->result);
    else if (r->result)
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
    struct ch_mcp_reply r = v->kept_failure;

    if (v->kept_result.n)
        ch_json_parse(&arena, ch_arena_sv(&arena, ch_buf_sv(&v->kept_result)), CH_JSON_REPLACE,
                      &r.result, NULL, NULL);
    finish_call(v, &r);
}

static void task_on_cancelled(const struct ch_mcp_reply *r, void *user) {
    (void)r;
    (void)user;
}

/* Cancels a task after a person or a limit ended the call, which may rest. A process that exits
 * does not cancel its tasks. */
static void cancel_task(const struct ch_mcp_invocation *v) {
    chela_mcp *m = v->task && v->call->env ? chela_mcp_find(v->rt, v->server) : NULL;
    CH_BUF_AUTO members = {0};
    struct ch_jw w = ch_jw(&members);

    if (!m)
        return;
    ch_jw_kcstr(&w, "taskId", v->task);
    ch_mcp_start(m, &(struct ch_mcp_request){.method = "tasks/cancel",
                                             .members = ch_buf_sv(&members),
                                             .name = ch_sv_str(v->task),
                                             .takes_task = true,
                                             .timeout_ms = CH_DEFAULT_MCP_CALL_MS,
                                             .done = task_on_cancelled});
}

static void call_on_cancel(chela_call *call, void *user) {
    cancel_task(user);
    free_invocation(user);
    chela_call_finish(call);
}

/* --- questions */

static void drop_invocation(void *user) {
    cancel_task(user);
    free_invocation(user);
}

static void send_call(struct ch_mcp_invocation *v, struct ch_sv input);
static void look_at_task(struct ch_mcp_invocation *v, int64_t after_ms);
static void update_task(struct ch_mcp_invocation *v, struct ch_sv input);

static void call_on_progress(struct ch_sv text, void *user) {
    struct ch_mcp_invocation *v = user;
    CH_BUF_AUTO line = {0};

    ch_mcp_clean(&line, text);
    chela_call_progress(v->call, ch_buf_str(&line));
}

/* All questions are answered: sends the answers to the server. */
static void give_answers(struct ch_mcp_invocation *v) {
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    unsigned round;
    struct ch_sv state = ch_buf_sv(&v->state);

    if (v->server_request) {
        if (ch_mcp_ask_response(state, &out, &err) < 0)
            refuse_asked(v, err.message);
        else
            ch_rpc_reply(CH_TAKE(v->server_request), ch_buf_sv(&out));
        chela_call_on_cancel(v->call, call_on_cancel, v);
        return;
    }
    if (ch_mcp_ask_members(state, &out, &round, &err) < 0)
        fail_call(v, &err);
    else if (v->task)
        update_task(v, ch_buf_sv(&out));
    else
        send_call(v, ch_buf_sv(&out));
}

/* The server gets no answer. A server of the older versions continues without one. */
static void give_none(struct ch_mcp_invocation *v, const struct chela_error *err) {
    if (v->server_request && v->wants_sample) {
        refuse_asked(v, err->message);
        chela_call_on_cancel(v->call, call_on_cancel, v);
    } else
        fail_call(v, err);
}

static void ask_next(struct ch_mcp_invocation *v);

static void call_on_sampled(struct ch_sv result, const struct chela_error *failed, void *user) {
    struct ch_mcp_invocation *v = user;
    struct chela_error err = {0};

    v->sample = NULL;
    if (failed)
        give_none(v, failed);
    else if (ch_mcp_ask_sampled(&v->state, result, &err) < 0)
        give_none(v, &err);
    else
        ask_next(v);
}

static void ask_model(struct ch_mcp_invocation *v) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *params;
    struct chela_error err = {0};
    int rc = ch_mcp_ask_sample(ch_buf_sv(&v->state), &arena, &params, &err);

    chela_call_on_cancel(v->call, call_on_cancel, v);
    if (rc == 0)
        rc = ch_mcp_sampling_start(v->mcp, v->call, params, call_on_sampled, v, &v->sample, &err);
    if (rc < 0)
        give_none(v, &err);
}

/* Ask the next question, or continue the call. The call is deferred. */
static void ask_next(struct ch_mcp_invocation *v) {
    CH_BUF_AUTO question = {0};
    struct chela_error err = {0};
    int rc = 0;

    if (!ch_call_can_ask(v->call))
        rc = ch_mcp_ask_refuse(&v->state, &err);
    if (rc == 0)
        rc = ch_mcp_ask_next(ch_buf_sv(&v->state), v->server, &question, &err);
    if (rc < 0)
        give_none(v, &err);
    else if (rc == CH_MCP_DUE_NOTHING)
        give_answers(v);
    else if (rc == CH_MCP_DUE_MODEL)
        ask_model(v);
    else {
        v->asking = true;
        chela_call_on_cancel(v->call, NULL, NULL);
        /* a server of the older versions waits for the answer on its connection, so no other
         * process can continue the call */
        ch_call_question(v->call, ch_buf_str(&question),
                         v->server_request ? NULL : ch_buf_str(&v->state),
                         drop_invocation, v);
    }
}

/* The requests that the server may make. roots: memory for the text. */
static struct ch_mcp_may may_ask(const struct ch_mcp_invocation *v, struct ch_buf *roots) {
    const struct chela_mcp_opts *o = &v->mcp->opts;

    if (o->roots)
        ch_mcp_roots(roots, o->roots);
    return (struct ch_mcp_may){.roots = roots->n ? ch_buf_sv(roots) : ch_sv(NULL, 0),
                               .samples = o->sampling && !v->method,
                               .unasked = o->sampling_no_confirm};
}

/* Begins to ask for the input of the requests. A person is not asked about a request for
 * which the budget does not suffice. */
static int begin_asking(struct ch_mcp_invocation *v, const struct ch_json *requests,
                        const struct ch_json *request_state, unsigned round,
                        struct chela_error *err) {
    CH_BUF_AUTO roots = {0};
    struct ch_mcp_may may = may_ask(v, &roots);
    int rc = 0;

    ch_buf_clear(&v->state);
    for (CH_JSON_MEMBERS(key, request, requests)) {
        (void)key;
        if (rc == 0 && may.samples &&
            ch_sv_is(ch_json_get_str(request, "method"), "sampling/createMessage") &&
            !ch_mcp_sampling_has_room(v->mcp, v->call, err))
            rc = err->code;
    }
    return rc < 0 ? rc : ch_mcp_ask_begin(&v->state, requests, request_state, round, &may, err);
}

/* The result asks for input (2026-07-28). */
static void take_input(struct ch_mcp_invocation *v, const struct ch_json *result) {
    CH_BUF_AUTO unused = {0};
    struct chela_error err = {0};
    unsigned round = 0;

    if (v->state.n)
        ch_mcp_ask_members(ch_buf_sv(&v->state), &unused, &round, NULL);
    if (begin_asking(v, ch_json_get(result, "inputRequests"), ch_json_get(result, "requestState"),
                     round + 1, &err) < 0)
        fail_call(v, &err);
    else
        ask_next(v);
}

/* The server sends a request in the middle of the call (versions with a handshake). */
static bool call_on_elicit(struct ch_rpc_request *r, const struct ch_rpc_message *msg,
                           void *user) {
    struct ch_mcp_invocation *v = user;
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    const struct ch_json *requests;
    struct chela_error err = {0};

    if (v->asking || v->server_request)
        return false;
    /* as many as in version 2026-07-28 */
    if (++v->elicited > CH_LIMIT_MCP_ROUNDS * CH_LIMIT_MCP_QUESTIONS) {
        ch_rpc_refuse(r, CH_RPC_INTERNAL, "the server asked for input too often", ch_sv(NULL, 0));
        return true;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "it", '{');
    ch_jw_kstr(&w, "method", msg->method);
    if (msg->params) {
        ch_jw_kvalue(&w, "params", msg->params);
    }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    if (ch_json_parse(&arena, ch_buf_sv(&text), CH_JSON_REPLACE, &requests, NULL, NULL) < 0)
        return false;
    v->wants_sample = ch_sv_is(msg->method, "sampling/createMessage");
    int rc = begin_asking(v, requests, NULL, 1, &err);
    if (rc < 0 && !v->wants_sample)
        return false;
    v->server_request = r;
    if (rc < 0)
        give_none(v, &err);
    else
        ask_next(v);
    return true;
}

/* --- tasks */

static void remember(char **to, const struct ch_json *v) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (v)
        ch_jw_value(&w, v);
    ch_free(*to);
    *to = ch_buf_take(&text);
}

static bool is_same(const char *text, const struct ch_json *v) {
    CH_AUTOFREE char *other = NULL;

    remember(&other, v);
    return text && strcmp(text, other) == 0;
}

/* The server's interval between two looks. */
static int64_t poll_interval(const struct ch_json *task) {
    const struct ch_json *ms = ch_json_get(task, "pollIntervalMs");

    ms = ms ? ms : ch_json_get(task, "pollInterval");
    int64_t given = ch_json_int(ms, CH_DEFAULT_MCP_POLL_MS);
    return CH_MIN(CH_MAX(given, CH_DEFAULT_MCP_POLL_MS / 10), CH_LIMIT_MCP_INTERVAL_MS);
}

/* The state with which another process continues. */
static void store_task(struct ch_mcp_invocation *v) {
    CH_BUF_AUTO state = {0};
    struct ch_jw w = ch_jw(&state);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "task", v->task);
    ch_jw_end(&w, '}');
    ch_call_checkpoint(v->call, ch_buf_str(&state));
}

static void begin_task(struct ch_mcp_invocation *v, const struct ch_json *task) {
    struct ch_sv id = ch_json_get_str(task, "taskId");
    struct chela_error err = {0};

    if (!id.n || id.n > CH_LIMIT_MCP_TASK || memchr(id.p, '\0', id.n)) {
        ch_fail(&err, CHELA_EPROTO, "the server began a task and gave no valid id");
        fail_call(v, &err);
        return;
    }
    v->task = ch_strndup(id.p, id.n);
    store_task(v);
    look_at_task(v, poll_interval(task));
}

static void task_failed(struct ch_mcp_invocation *v, const struct ch_mcp_reply *r) {
    struct chela_error err = {0};

    if (r->code == 0 && v->mcp && !v->mcp->closed && ++v->failed_polls < CH_LIMIT_MCP_POLLS) {
        look_at_task(v, CH_MIN((int64_t)CH_DEFAULT_MCP_POLL_MS << v->failed_polls,
                               CH_LIMIT_MCP_INTERVAL_MS));
        return;
    }
    ch_fail(&err, r->err.code,
            "The server does not say what became of the task: %s Whether it took effect is "
            "unknown.", r->err.message);
    fail_call(v, &err);
}

/* Versions with a handshake: the result is fetched by a request that waits for the end. */
static void fetch_result(struct ch_mcp_invocation *v);

static void task_ended(struct ch_mcp_invocation *v, const struct ch_json *task,
                       struct ch_sv status) {
    const struct ch_json *error = ch_json_get(task, "error");
    struct ch_sv text = ch_json_get_str(error, "message");
    struct ch_sv why = text.n ? text : CH_SV("no reason is given");
    struct ch_mcp_reply r = {.result = ch_json_get(task, "result"),
                             .code = ch_json_int(ch_json_get(error, "code"), 0)};

    if (!ch_sv_is(status, "completed")) {
        r.result = NULL;
        ch_fail(&r.err, CHELA_EPROTO, "the task %s: %.*s",
                ch_sv_is(status, "cancelled") ? "was cancelled" : "failed",
                (int)CH_MIN(why.n, (size_t)500), why.p);
    } else if (!ch_json_is(r.result, CH_JSON_OBJECT)) {
        r.result = NULL;
        ch_fail(&r.err, CHELA_EPROTO, "the task has ended without a result");
    }
    finish_call(v, &r);
}

static void task_on_state(const struct ch_mcp_reply *r, void *user) {
    struct ch_mcp_invocation *v = user;
    struct ch_sv status = ch_json_get_str(r->result, "status"),
                 text = ch_json_get_str(r->result, "statusMessage");
    const struct ch_json *asks = ch_json_get(r->result, "inputRequests");
    bool is_modern = v->mcp->modern;

    v->op = NULL;
    if (!r->result) {
        task_failed(v, r);
        return;
    }
    v->failed_polls = 0;
    if (text.n && !is_same(v->last_status, ch_json_get(r->result, "statusMessage"))) {
        remember(&v->last_status, ch_json_get(r->result, "statusMessage"));
        call_on_progress(ch_sv(text.p, CH_MIN(text.n, (size_t)500)), v);
    }
    if (ch_sv_is(status, "working"))
        look_at_task(v, poll_interval(r->result));
    else if (!is_modern)
        fetch_result(v);
    else if (!ch_sv_is(status, "input_required"))
        task_ended(v, r->result, status);
    else if (asks && is_same(v->last_questions, asks) && v->answers_unsent)
        give_answers(v);
    else if (!asks || is_same(v->last_questions, asks)) /* the answers are on their way */
        look_at_task(v, poll_interval(r->result));
    else {
        remember(&v->last_questions, asks);
        take_input(v, r->result);
    }
}

static void send_for_task(struct ch_mcp_invocation *v, const char *method, struct ch_sv input,
                          int64_t after_ms, ch_mcp_done_fn *done) {
    CH_BUF_AUTO members = {0};
    struct ch_jw w = ch_jw(&members);
    bool waits = strcmp(method, "tasks/result") == 0;

    ch_jw_kcstr(&w, "taskId", v->task);
    if (input.n)
        ch_jw_raw(&w, input);
    chela_call_on_cancel(v->call, call_on_cancel, v);
    v->op = ch_mcp_start(v->mcp, &(struct ch_mcp_request){
                                     .method = method,
                                     .members = ch_buf_sv(&members),
                                     .name = ch_sv_str(v->task),
                                     .after_ms = after_ms,
                                     .timeout_ms = waits ? 0 : CH_DEFAULT_MCP_CALL_MS,
                                     .takes_task = true,
                                     .elicit = waits ? call_on_elicit : NULL,
                                     .done = done,
                                     .user = v,
                                 });
}

static void look_at_task(struct ch_mcp_invocation *v, int64_t after_ms) {
    send_for_task(v, "tasks/get", ch_sv(NULL, 0), after_ms, task_on_state);
}

static void task_on_updated(const struct ch_mcp_reply *r, void *user) {
    struct ch_mcp_invocation *v = user;

    v->op = NULL;
    v->answers_unsent = !r->result;
    if (r->result)
        look_at_task(v, CH_DEFAULT_MCP_POLL_MS);
    else
        task_failed(v, r);
}

static void update_task(struct ch_mcp_invocation *v, struct ch_sv input) {
    send_for_task(v, "tasks/update", input, 0, task_on_updated);
}

/* --- the request */

/* The task that a result of tools/call is; NULL: the result is final. */
static const struct ch_json *task_of(const struct ch_mcp_invocation *v,
                                     const struct ch_json *result) {
    if (v->mcp->modern)
        return ch_sv_is(ch_json_get_str(result, "resultType"), "task") ? result : NULL;
    return v->can_task ? ch_json_get(result, "task") : NULL;
}

static void call_on_done(const struct ch_mcp_reply *r, void *user) {
    struct ch_mcp_invocation *v = user;
    struct ch_jw w = ch_jw(&v->kept_result);

    v->op = NULL;
    if (v->asking) {
        v->ended = true;
        v->kept_failure = *r;
        v->kept_failure.result = v->kept_failure.input = NULL;
        if (r->result)
            ch_jw_value(&w, r->result);
    } else if (r->input)
        take_input(v, r->input);
    else if (!v->task && task_of(v, r->result))
        begin_task(v, task_of(v, r->result));
    else
        finish_call(v, r);
}

static void fetch_result(struct ch_mcp_invocation *v) {
    send_for_task(v, "tasks/result", ch_sv(NULL, 0), 0, call_on_done);
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

/* The parameters of the request; *name becomes the value of its header. */
static void write_call(struct ch_mcp_invocation *v, struct ch_jw *w, struct ch_buf *name) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *given;

    if (!v->method) {
        ch_buf_add_str(name, v->name);
        ch_jw_kcstr(w, "name", v->name);
        ch_jw_kraw(w, "arguments", ch_sv_str(chela_call_arguments(v->call)));
        return;
    }
    if (ch_json_parse(&arena, ch_sv_str(chela_call_arguments(v->call)), CH_JSON_REPLACE, &given,
                      NULL, NULL) < 0)
        return;
    ch_buf_add_sv(name, ch_json_get_str(given, "uri"));
    for (CH_JSON_MEMBERS(key, value, given)) {
        ch_jw_key_sv(w, ch_json_str(key));
        ch_jw_value(w, value);
    }
}

static void send_call(struct ch_mcp_invocation *v, struct ch_sv input) {
    CH_BUF_AUTO name = {0};
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
    write_call(v, &w, &name);
    if (input.n)
        ch_jw_raw(&w, input);
    ch_jw_kcstr(&m, "chela/idempotencyKey", chela_call_key(v->call));
    add_context(v, &m);
    if (v->mcp->opts.url)
        ch_mcp_call_headers(&headers, v->call->tool->schema, chela_call_arguments(v->call));
    chela_call_on_cancel(v->call, call_on_cancel, v);
    v->op = ch_mcp_start(v->mcp, &(struct ch_mcp_request){
                                     .method = v->method ? v->method : "tools/call",
                                     .members = ch_buf_sv(&members),
                                     .meta = ch_buf_sv(&meta),
                                     .name = ch_buf_sv(&name),
                                     .headers = ch_buf_sv(&headers),
                                     .takes_input = true,
                                     .takes_task = !v->method,
                                     .asks_task = v->can_task,
                                     .progress = call_on_progress,
                                     .elicit = call_on_elicit,
                                     .done = call_on_done,
                                     .user = v,
                                 });
}

/* The id of a task in the state that an earlier process left; NULL: none. */
static char *read_task(const char *left) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *state;

    if (!left || ch_json_parse(&arena, ch_arena_sv(&arena, ch_sv_str(left)), CH_JSON_STRICT,
                               &state, NULL, NULL) < 0)
        return NULL;
    struct ch_sv id = ch_json_get_str(state, "task");
    return id.n ? ch_strndup(id.p, id.n) : NULL;
}

static struct ch_mcp_invocation *new_invocation(chela_call *call, const struct ch_mcp_target *t) {
    struct ch_mcp_invocation *v = ch_alloc(sizeof(*v));

    v->call = call;
    v->rt = t->mcp->rt;
    v->server = ch_strdup(t->mcp->opts.name);
    v->name = ch_strdup(t->name);
    v->output = ch_strdup(t->output);
    v->can_task = t->task;
    v->method = t->method;
    v->task = read_task(call->left);
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
    if (!q && v->task) {
        store_task(v); /* the time limit of the call does not hold here, either */
        look_at_task(v, 0);
    } else if (!q)
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
