/* mcp_server_call.c -- see mcp_server.h: a request that a function works on.
 *
 *   start -> function -> questions? -> yes, 2026-07-28: the answer lists the questions
 *              ^                       yes, older: the client is asked, then the function
 *              |____ answers ________________|     is called again
 *                                      no: the result
 *
 * The function may run on a thread. Until it has returned, the loop thread reads only members
 * that `lock` protects. */
#include "mcp/mcp_server_call.h"

#include "base/error.h"
#include "base/limits.h"
#include "io/loop_entry.h"
#include "mcp/mcp_server_connection.h"
#include "mcp/mcp_server_item.h"
#include "mcp/mcp_server_methods.h"
#include "mcp/mcp_server_result.h"
#include "mcp/mcp_server_state.h"

/* --- life */

static void call_free(chela_mcp_call *call) {
    struct ch_loop *loop = call->server->rt->loop;
    struct ch_buf *bufs[] = {&call->answers,  &call->keep,       &call->asked,  &call->blocks,
                             &call->error, &call->structured, &call->notices};

    ch_task_cancel(loop, &call->start);
    ch_task_cancel(loop, &call->cancel);
    ch_timer_stop(loop, &call->poll_timer);
    ch_loop_unpost(loop, &call->flush);
    ch_list_del(&call->link);
    for (size_t i = 0; i < CH_LEN(bufs); i++)
        ch_buf_release(bufs[i]);
    pthread_mutex_destroy(&call->lock);
    ch_arena_release(&call->arena);
    ch_free(call->principal);
    ch_mcp_item_unref(call->item);
    ch_mcp_server_unref(call->server);
    ch_free(call);
}

/* Forget the questions that the client has not answered. */
static void forget_questions(chela_mcp_call *call) {
    for (unsigned i = 0; i < CH_LIMIT_MCP_QUESTIONS; i++)
        if (call->questions[i].id && call->c && call->c->peer)
            ch_rpc_forget(call->c->peer, call->questions[i].id, true);
    memset(call->questions, 0, sizeof(call->questions));
    call->open = 0;
}

static void call_on_cancel(struct ch_task *t) {
    chela_mcp_call *call = CH_CONTAINER(t, chela_mcp_call, cancel);
    void (*fn)(chela_mcp_call *, void *) = CH_TAKE(call->on_cancel);

    if (fn && call->deferred && call->running)
        fn(call, call->on_cancel_user);
}

/* Free the call after its request was cancelled, unless its function still works. */
static void call_end(chela_mcp_call *call) {
    CH_BUF_AUTO nothing = {0};

    if (call->r)
        ch_mcp_reply(call->c, CH_TAKE(call->r), call->stream, &nothing);
    if (!call->running)
        call_free(call);
}

static void call_on_gone(struct ch_rpc_request *r) {
    chela_mcp_call *call = r->user;

    atomic_store(&call->cancelled, true);
    ch_task_defer(call->server->rt->loop, &call->cancel);
    if (call->open > 0 || ch_timer_armed(&call->poll_timer)) { /* waits for the client, or a task */
        forget_questions(call);
        call_end(call);
    }
}

void ch_mcp_call_orphan(chela_mcp_call *call) {
    struct ch_loop *loop = call->server->rt->loop;
    CH_BUF_AUTO nothing = {0};

    atomic_store(&call->cancelled, true);
    ch_list_del(&call->link);
    call->c = NULL;
    call->stream = NULL;
    if (call->r)
        ch_mcp_reply(NULL, CH_TAKE(call->r), NULL, &nothing);
    if (!call->running || ch_task_queued(&call->start)) {
        call_free(call);
    } else if (call->deferred) {
        ch_task_cancel(loop, &call->cancel);
        call_on_cancel(&call->cancel);
    }
}

/* --- sending while the function works */

static void send_notices(chela_mcp_call *call) {
    pthread_mutex_lock(&call->lock);
    struct ch_buf notices = call->notices;
    int64_t retry = call->retry_ms;
    ch_buf_init(&call->notices, CH_LIMIT_MCP_NOTICES);
    call->retry_ms = -1;
    pthread_mutex_unlock(&call->lock);
    struct ch_sv rest = ch_buf_sv(&notices);
    while (rest.n && call->c && !atomic_load(&call->cancelled)) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        call->c->ops->send(call->c, line, call->stream, 200, false);
    }
    ch_buf_release(&notices);
    if (retry >= 0 && call->c && call->c->ops->hang_up)
        call->c->ops->hang_up(call->c, call->stream, retry);
}

static void call_on_flush(struct ch_post *p) {
    send_notices(CH_CONTAINER(p, chela_mcp_call, flush));
}

static void call_notify(chela_mcp_call *call, const char *method, const struct ch_buf *params) {
    CH_BUF_AUTO line = {0};

    ch_rpc_write_notification(&line, method, ch_buf_sv(params));
    pthread_mutex_lock(&call->lock);
    bool fits = call->notices.n + line.n < CH_LIMIT_MCP_NOTICES;
    bool first = fits && call->notices.n == 0 && call->retry_ms < 0;
    if (fits) {
        ch_buf_add_sv(&call->notices, ch_buf_sv(&line));
        ch_buf_addc(&call->notices, '\n');
    }
    pthread_mutex_unlock(&call->lock);
    if (first)
        ch_loop_post(call->server->rt->loop, &call->flush);
}

void chela_mcp_call_log(chela_mcp_call *call, enum chela_mcp_level level, const char *text) {
    CH_NEEDS_OR(call, NULL, );
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);

    if (call->level < 0 || (int)level < call->level)
        return;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "level", chela_mcp_level_name(level));
    ch_jw_kcstr(&w, "logger", call->item->key);
    ch_jw_kcstr(&w, "data", text);
    ch_jw_end(&w, '}');
    call_notify(call, "notifications/message", &params);
}

void chela_mcp_call_progress(chela_mcp_call *call, double progress, double total,
                             const char *text) {
    CH_NEEDS_OR(call, NULL, );
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);

    if (!call->token || progress <= call->reported)
        return;
    call->reported = progress;
    ch_jw_begin(&w, '{');
    ch_jw_kvalue(&w, "progressToken", call->token);
    ch_jw_kdouble(&w, "progress", progress);
    if (total > 0) {
        ch_jw_kdouble(&w, "total", total);
    }
    if (text)
        ch_jw_kcstr(&w, "message", text);
    ch_jw_end(&w, '}');
    call_notify(call, "notifications/progress", &params);
}

void chela_mcp_call_hang_up(chela_mcp_call *call, int64_t retry_ms) {
    CH_NEEDS_OR(call, NULL, );
    pthread_mutex_lock(&call->lock);
    bool first = call->notices.n == 0 && call->retry_ms < 0;
    call->retry_ms = CH_MAX(retry_ms, 0);
    pthread_mutex_unlock(&call->lock);
    if (first)
        ch_loop_post(call->server->rt->loop, &call->flush);
}

/* --- questions */

static const struct {
    const char *method, *capability;
} questions[] = {
    {"elicitation/create", "elicitation"},
    {"sampling/createMessage", "sampling"},
    {"roots/list", "roots"},
};

static const char *capability_of(const char *method) {
    for (size_t i = 0; i < CH_LEN(questions); i++)
        if (strcmp(method, questions[i].method) == 0)
            return questions[i].capability;
    return NULL;
}

bool chela_mcp_call_can_ask(const chela_mcp_call *call, const char *method) {
    CH_NEEDS_OR(call, NULL, false);
    const char *capability = capability_of(method);

    return capability && ch_json_is(ch_json_get(call->capabilities, capability), CH_JSON_OBJECT);
}

/* elicitation {} means forms; a URL needs {url}. */
static bool can_answer(const chela_mcp_call *call, const char *method,
                       const struct ch_json *params) {
    const struct ch_json *can = ch_json_get(call->capabilities, "elicitation");
    bool url = ch_sv_is(ch_json_get_str(params, "mode"), "url");

    if (!chela_mcp_call_can_ask(call, method))
        return false;
    if (strcmp(method, "elicitation/create") != 0)
        return true;
    return ch_json_get(can, url ? "url" : "form") || (!url && !ch_json_get(can, "url"));
}

/* Is this an answer to the question? */
static bool is_answer(const char *method, const struct ch_json *params,
                      const struct ch_json *answer) {
    CH_AUTO(ch_schema) schema = NULL;
    struct ch_sv action = ch_json_get_str(answer, "action");
    const struct ch_json *content = ch_json_get(answer, "content");

    if (!ch_json_is(answer, CH_JSON_OBJECT))
        return false;
    if (strcmp(method, "roots/list") == 0)
        return ch_json_is(ch_json_get(answer, "roots"), CH_JSON_ARRAY);
    if (strcmp(method, "sampling/createMessage") == 0)
        return ch_json_get(answer, "content") != NULL;
    if (!ch_sv_is(action, "accept"))
        return ch_sv_is(action, "decline") || ch_sv_is(action, "cancel");
    if (ch_sv_is(ch_json_get_str(params, "mode"), "url"))
        return true;
    return ch_json_is(content, CH_JSON_OBJECT) &&
           ch_schema_new(ch_json_get(params, "requestedSchema"), NULL, &schema, NULL) == 0 &&
           ch_schema_valid(schema, content);
}

static const char *json_text(struct ch_arena *a, const struct ch_json *v) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    ch_jw_value(&w, v);
    return ch_arena_str(a, ch_buf_sv(&text));
}

static void add_member(struct ch_buf *out, const char *key, struct ch_sv json) {
    if (out->n)
        ch_buf_addc(out, ',');
    ch_json_quote(out, ch_sv_str(key));
    ch_buf_addc(out, ':');
    ch_buf_add_sv(out, json);
}

const char *chela_mcp_call_ask(chela_mcp_call *call, const char *key, const char *method,
                               const char *params) {
    CH_NEEDS_OR(call, NULL, NULL);
    const struct ch_json *p = NULL, *answer = ch_json_get(call->responses, key);

    if (ch_json_parse(&call->arena, ch_arena_sv(&call->arena, ch_sv_str(params ? params : "{}")),
                      CH_JSON_STRICT, &p, NULL, NULL) < 0 ||
        !capability_of(method)) {
        chela_mcp_result_error(call, "the question %s is invalid", key);
        return NULL;
    }
    if (!answer)
        answer = ch_json_get(call->before, key);
    if (answer && is_answer(method, p, answer)) {
        const char *text = json_text(&call->arena, answer);
        add_member(&call->answers, key, ch_sv_str(text));
        return text;
    }
    if (!can_answer(call, method, p)) {
        call->missing = capability_of(method);
        return NULL;
    }
    if (call->nasked < CH_LIMIT_MCP_QUESTIONS) {
        CH_BUF_AUTO q = {0};
        ch_buf_addf(&q, "{\"method\":\"%s\",\"params\":%s}", method, json_text(&call->arena, p));
        add_member(&call->asked, key, ch_buf_sv(&q));
        call->nasked++;
    }
    return NULL;
}

void chela_mcp_call_keep(chela_mcp_call *call, const char *name, const char *json) {
    CH_NEEDS_OR(call, NULL, );
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;

    if (ch_json_parse(&arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return;
    const char *text = json_text(&arena, v);
    add_member(&call->keep, name, ch_sv_str(text));
}

/* The last value of a name counts, so `keep` is read from its end. */
const char *chela_mcp_call_kept(chela_mcp_call *call, const char *name) {
    CH_NEEDS_OR(call, NULL, NULL);
    const struct ch_json *found = NULL;

    for (CH_JSON_MEMBERS(key, value, call->kept))
        if (ch_sv_is(ch_json_str(key), name))
            found = value;
    return found ? json_text(&call->arena, found) : NULL;
}

/* --- after the function */

static void call_run(chela_mcp_call *call);

/* Members of an object become the object in the arena. */
static const struct ch_json *take_members(chela_mcp_call *call, struct ch_buf *members) {
    const struct ch_json *v = NULL;
    char *text = ch_arena_printf(&call->arena, "{%s}", ch_buf_str(members));

    ch_json_parse(&call->arena, ch_sv_str(text), CH_JSON_STRICT, &v, NULL, NULL);
    ch_buf_release(members);
    return v;
}

static void ask_modern(chela_mcp_call *call) {
    CH_BUF_AUTO out = {0};
    CH_BUF_AUTO state = {0};
    struct ch_jw w = ch_mcp_result_begin(call->server, &out, true, "input_required");

    ch_jw_kbegin(&w, "inputRequests", '{');
    ch_buf_add_sv(&out, ch_buf_sv(&call->asked));
    ch_jw_end(&w, '}');
    if (call->answers.n || call->keep.n) {
        ch_mcp_state_seal(call, &state);
        ch_jw_kstr(&w, "requestState", ch_buf_sv(&state));
    }
    ch_jw_end(&w, '}');
    if (state.n > CH_LIMIT_MCP_STATE)
        ch_mcp_refuse(call->c, CH_TAKE(call->r), call->stream, CH_RPC_INTERNAL, ch_sv(NULL, 0),
                      "the state of the request is too large");
    else
        ch_mcp_reply(call->c, CH_TAKE(call->r), call->stream, &out);
    call_free(call);
}

static void call_fail(chela_mcp_call *call, const char *text);

static void call_on_answer(const struct ch_rpc_message *m, const struct chela_error *err,
                           void *user) {
    struct ch_mcp_question *q = user;
    chela_mcp_call *call = q->call;

    q->id = 0;
    call->open--;
    if (!m || m->kind == CH_RPC_ERROR) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "the client did not answer %s: %.*s", q->key,
                    m ? (int)CH_MIN(m->text.n, (size_t)200) : (int)strlen(err->message),
                    m ? (m->text.p ? m->text.p : "") : err->message);
        forget_questions(call);
        call_fail(call, ch_buf_str(&text));
        return;
    }
    const char *answer = json_text(&call->arena, m->result);
    add_member(&call->answers, q->key, ch_sv_str(answer));
    if (call->open == 0)
        call_run(call);
}

/* The answers given so far stay; the client is asked for the others. */
static void ask_legacy(chela_mcp_call *call) {
    const struct ch_json *asked = take_members(call, &call->asked);
    unsigned slot = 0;

    call->rounds++;
    if (call->rounds > CH_LIMIT_MCP_ROUNDS) {
        call_fail(call, "the client was asked too often");
        return;
    }
    for (CH_JSON_MEMBERS(key, q, asked)) {
        struct ch_mcp_question *one = &call->questions[slot++];
        const char *method = ch_arena_str(&call->arena, ch_json_get_str(q, "method"));
        const char *params = json_text(&call->arena, ch_json_get(q, "params"));
        *one = (struct ch_mcp_question){call, ch_arena_str(&call->arena, ch_json_str(key)), 0};
        call->open++;
        one->id = ch_rpc_call(call->c->peer, method, ch_sv_str(params), CH_DEFAULT_MCP_ASK_MS,
                              call, call_on_answer, one);
    }
}

static void answer_missing(chela_mcp_call *call) {
    CH_BUF_AUTO data = {0};

    if (!call->modern) {
        CH_BUF_AUTO text = {0};
        ch_buf_addf(&text, "the client does not support %s", call->missing);
        call_fail(call, ch_buf_str(&text));
        return;
    }
    ch_buf_addf(&data, "{\"requiredCapabilities\":{\"%s\":{}}}", call->missing);
    ch_mcp_refuse(call->c, CH_TAKE(call->r), call->stream, CH_MCP_MISSING_CAPABILITY,
                  ch_buf_sv(&data), "the request needs the client capability %s", call->missing);
    call_free(call);
}

void ch_mcp_call_task(chela_mcp_call *call, const struct ch_mcp_task *t) {
    call->task = *t;
    call->task.id = ch_arena_str(&call->arena, ch_sv_str(t->id));
    call->task.status = ch_arena_str(&call->arena, ch_sv_str(t->status));
    call->task.message = t->message ? ch_arena_str(&call->arena, ch_sv_str(t->message)) : NULL;
}

static void call_on_again(struct ch_timer *t) {
    call_run(CH_CONTAINER(t, chela_mcp_call, poll_timer));
}

/* A client of the older versions waits for the end of a task. */
static bool task_goes_on(const chela_mcp_call *call) {
    return call->verb == CH_MCP_TASK_RESULT && call->task.id &&
           strcmp(call->task.status, "working") == 0;
}

static void answer_result(chela_mcp_call *call) {
    CH_BUF_AUTO out = {0};

    ch_buf_init(&out, CH_LIMIT_RPC_MESSAGE);
    if (call->not_found && call->verb == CH_MCP_READ)
        ch_mcp_refuse_resource(call->c, CH_TAKE(call->r), call->stream, ch_sv_str(call->name),
                               call->modern);
    else if (ch_mcp_result_write(call, &out) && !out.overflow)
        ch_mcp_reply(call->c, CH_TAKE(call->r), call->stream, &out);
    else
        ch_mcp_refuse(call->c, CH_TAKE(call->r), call->stream,
                      call->not_found ? CH_RPC_INVALID_PARAMS : CH_RPC_INTERNAL, ch_sv(NULL, 0),
                      "%s", out.overflow ? "the result is too large" : ch_buf_str(&call->error));
    call_free(call);
}

/* Before a task is cancelled its state is read: the end of a task is final. */
static bool cancel_reads_state(const chela_mcp_call *call) {
    return call->verb == CH_MCP_TASK_CANCEL && call->task.id &&
           !(call->item->flags & CHELA_MCP_ON_LOOP);
}

static void cancel_task(chela_mcp_call *call) {
    if (strcmp(call->task.status, "working") == 0) {
        ch_mcp_item_unref(call->item);
        call->item = call->server->task_cancel;
        call->item->refs++;
        call_run(call);
    } else if (call->modern) {
        answer_result(call);
    } else {
        ch_mcp_refuse(call->c, CH_TAKE(call->r), call->stream, CH_RPC_INVALID_PARAMS,
                      ch_sv(NULL, 0), "the task has ended: %s", call->task.status);
        call_free(call);
    }
}

static void call_fail(chela_mcp_call *call, const char *text) {
    ch_mcp_result_clear(call);
    chela_mcp_result_error(call, "%s", text);
    answer_result(call);
}

/* The function has returned, or the program has finished the call. */
static void conclude(chela_mcp_call *call) {
    call->running = false;
    ch_loop_unpost(call->server->rt->loop, &call->flush);
    send_notices(call);
    if (atomic_load(&call->cancelled) || !call->c) {
        call_end(call);
        return;
    }
    if (call->rc < 0 && !call->failed)
        chela_mcp_result_error(call, "%s", chela_error_text(call->rc));
    if (cancel_reads_state(call))
        cancel_task(call);
    else if (call->failed)
        answer_result(call);
    else if (call->missing)
        answer_missing(call);
    else if (call->nasked > 0 && call->modern)
        ask_modern(call);
    else if (call->nasked > 0)
        ask_legacy(call);
    else if (task_goes_on(call))
        ch_timer_start(call->server->rt->loop, &call->poll_timer, CH_DEFAULT_MCP_POLL_MS,
                       call_on_again);
    else
        answer_result(call);
}

/* --- running the function */

static chela_mcp_fn *function_of(const chela_mcp_call *call) {
    if (call->verb == CH_MCP_LIST)
        return call->item->list;
    return call->verb == CH_MCP_COMPLETE ? call->item->complete : call->item->fn;
}

static void call_on_thread(struct ch_work *w) {
    chela_mcp_call *call = CH_CONTAINER(w, chela_mcp_call, work);

    call->rc = atomic_load(&call->cancelled) ? CHELA_ECANCELED
                                             : function_of(call)(call, call->item->user);
}

static void call_on_worked(struct ch_work *w) {
    conclude(CH_CONTAINER(w, chela_mcp_call, work));
}

static void call_on_start(struct ch_task *t) {
    chela_mcp_call *call = CH_CONTAINER(t, chela_mcp_call, start);

    if (!(call->item->flags & CHELA_MCP_ON_LOOP)) {
        call->work = (struct ch_work){
            .run = call_on_thread, .done = call_on_worked, .dropped = call_on_worked};
        ch_work_submit(call->server->rt->workers, &call->work);
        return;
    }
    call->deferred = false;
    call->on_cancel = NULL;
    call->inside = true;
    if (!atomic_load(&call->cancelled))
        call->rc = function_of(call)(call, call->item->user);
    call->inside = false;
    if (!call->deferred || call->rc < 0)
        conclude(call);
}

/* Call the function with the answers and values of earlier rounds. */
static void call_run(chela_mcp_call *call) {
    if (!call->modern && call->rounds > 0) {
        call->responses = take_members(call, &call->answers);
        call->kept = take_members(call, &call->keep);
    }
    ch_buf_clear(&call->asked);
    ch_buf_clear(&call->answers);
    ch_buf_clear(&call->keep);
    for (CH_JSON_MEMBERS(key, value, call->kept)) {
        if (ch_json_get_sv(call->kept, ch_json_str(key)) != value)
            continue; /* an older value of the name */
        CH_AUTOFREE char *name = ch_strndup(ch_json_str(key).p, ch_json_str(key).n);
        add_member(&call->keep, name, ch_sv_str(json_text(&call->arena, value)));
    }
    call->nasked = 0;
    call->missing = NULL;
    call->rc = 0;
    call->running = true;
    ch_mcp_result_clear(call);
    ch_task_defer(call->server->rt->loop, &call->start);
}

void chela_mcp_call_defer(chela_mcp_call *call) {
    CH_ENTER_OR(call, call->server->rt->loop, NULL, );
    if (call->item->flags & CHELA_MCP_ON_LOOP)
        call->deferred = true;
}

void chela_mcp_call_on_cancel(chela_mcp_call *call, void (*fn)(chela_mcp_call *call, void *user),
                              void *user) {
    CH_ENTER_OR(call, call->server->rt->loop, NULL, );
    call->on_cancel = fn;
    call->on_cancel_user = user;
}

void chela_mcp_call_finish(chela_mcp_call *call) {
    CH_ENTER_OR(call, call->server->rt->loop, NULL, );
    if (!call->deferred || !call->running)
        return;
    if (call->inside)
        call->deferred = false; /* the function is still on the stack */
    else
        conclude(call);
}

/* --- beginning */

bool ch_mcp_knows_tasks(const struct ch_mcp_incoming *in) {
    return ch_json_path(in->capabilities, "extensions", CH_MCP_TASKS, NULL) != NULL;
}

/* Requests of 2026-07-28 state that the client knows tasks; older ones ask for a task. */
static bool client_wants_task(const struct ch_mcp_incoming *in) {
    return in->modern ? ch_mcp_knows_tasks(in)
                      : ch_json_is(ch_json_get(in->params, "task"), CH_JSON_OBJECT);
}

/* The digest of the request that a state belongs to. */
static void make_digest(chela_mcp_call *call, const struct ch_mcp_incoming *in) {
    CH_BUF_AUTO text = {0};
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];

    ch_buf_addf(&text, "%s\n%.*s\n%s\n%s", call->principal, CH_SV_FMT(in->method), call->name,
                call->arguments_text);
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    call->digest = ch_arena_sv(&call->arena, ch_sv_str(hex));
}

/* The answers and the state that the client sends; false: invalid, and refused. */
static bool read_answers(chela_mcp_call *call, const struct ch_mcp_incoming *in) {
    const struct ch_json *responses = ch_json_get(in->params, "inputResponses"),
                         *state = ch_json_get(in->params, "requestState");
    const char *problem = NULL;

    if (!in->modern)
        return true;
    if (responses && responses->type != CH_JSON_OBJECT)
        problem = "inputResponses is not an object";
    for (CH_JSON_MEMBERS(key, value, responses)) {
        (void)key;
        if (value->type != CH_JSON_OBJECT)
            problem = "an input response is not an object";
    }
    if (!problem && state &&
        (!ch_json_is(state, CH_JSON_STRING) || !ch_mcp_state_open(call, ch_json_str(state))))
        problem = "requestState is not valid for this request";
    if (!problem && call->rounds > 2 * CH_LIMIT_MCP_ROUNDS)
        problem = "the request was repeated too often";
    if (problem) {
        ch_mcp_refuse(in->c, in->r, in->c->stream, CH_RPC_INVALID_PARAMS, ch_sv(NULL, 0), "%s",
                      problem);
        return false;
    }
    if (responses) {
        struct ch_sv text = ch_sv_str(json_text(&call->arena, responses));
        ch_json_parse(&call->arena, text, CH_JSON_STRICT, &call->responses, NULL, NULL);
    }
    return true;
}

/* Arguments that do not match the schema are an error that the client's model sees. */
static bool check_arguments(chela_mcp_call *call) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {0};
    struct ch_violations found;

    if (!call->item->schema || call->verb != CH_MCP_CALL ||
        ch_schema_check(call->item->schema, call->arguments, &arena, &found) == 0)
        return true;
    ch_violations_text(&found, &text);
    chela_mcp_result_error(call, "Invalid arguments:\n%s", ch_buf_str(&text));
    return false;
}

static const struct ch_json *copy_json(struct ch_arena *a, const struct ch_json *v) {
    const struct ch_json *copy = NULL;

    if (v)
        ch_json_parse(a, ch_sv_str(json_text(a, v)), CH_JSON_STRICT, &copy, NULL, NULL);
    return copy;
}

static chela_mcp_call *call_new(const struct ch_mcp_incoming *in, struct ch_mcp_item *item,
                                enum ch_mcp_verb verb, struct ch_sv name,
                                struct ch_sv arguments) {
    chela_mcp_call *call = ch_alloc(sizeof(*call));

    call->server = in->c->server;
    call->server->refs++;
    call->item = item;
    item->refs++;
    call->verb = verb;
    call->modern = in->modern;
    call->level = in->level;
    call->principal = ch_strdup(in->c->principal);
    call->name = ch_arena_str(&call->arena, name);
    call->arguments_text = ch_arena_str(&call->arena, arguments);
    ch_json_parse(&call->arena, ch_sv_str(call->arguments_text), CH_JSON_STRICT,
                  &call->arguments, NULL, NULL);
    call->capabilities = copy_json(&call->arena, in->capabilities);
    const struct ch_json *token = ch_json_get(in->meta, "progressToken");
    if (ch_json_is(token, CH_JSON_STRING) || ch_json_is(token, CH_JSON_NUMBER))
        call->token = copy_json(&call->arena, token);
    struct ch_sv key = ch_json_get_str(in->meta, "chela/idempotencyKey");
    if (key.n)
        call->key = ch_arena_str(&call->arena, key);
    struct ch_sv context = ch_json_get_str(in->meta, "traceparent");
    if (context.n && context.n <= CH_LIMIT_TRACEPARENT)
        call->traceparent = ch_arena_str(&call->arena, context);
    call->wants_task = item->flags & CH_MCP_TASKABLE && client_wants_task(in);
    call->reported = -1;
    call->retry_ms = -1;
    call->start.fn = call_on_start;
    call->cancel.fn = call_on_cancel;
    call->flush.fn = call_on_flush;
    pthread_mutex_init(&call->lock, NULL);
    ch_buf_init(&call->notices, CH_LIMIT_MCP_NOTICES);
    make_digest(call, in);
    return call;
}

void ch_mcp_call_start(const struct ch_mcp_incoming *in, struct ch_mcp_item *item,
                       enum ch_mcp_verb verb, struct ch_sv name, struct ch_sv arguments) {
    chela_mcp_call *call = call_new(in, item, verb, name, arguments);

    if (!read_answers(call, in)) {
        call_free(call);
        return;
    }
    call->c = in->c;
    call->r = in->r;
    call->stream = in->c->stream;
    in->r->user = call;
    in->r->gone = call_on_gone;
    ch_list_add(&in->c->calls, &call->link);
    ch_mcp_result_clear(call);
    if (!function_of(call) || !check_arguments(call))
        answer_result(call);
    else
        call_run(call);
}

void ch_mcp_call_list(const struct ch_mcp_incoming *in, struct ch_mcp_item *item,
                      struct ch_buf *out) {
    chela_mcp_call *call = call_new(in, item, CH_MCP_LIST, ch_sv_str(item->key), CH_SV("{}"));

    ch_mcp_result_clear(call);
    item->list(call, item->user);
    ch_buf_addf(out, "[%s]", ch_buf_str(&call->blocks));
    call_free(call);
}

/* --- getters for the function of a call */

const char *chela_mcp_call_name(const chela_mcp_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->name;
}

const char *chela_mcp_call_arguments(const chela_mcp_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->arguments_text;
}

const char *chela_mcp_call_argument(chela_mcp_call *call, const char *name) {
    CH_NEEDS_OR(call, NULL, NULL);
    const struct ch_json *v = ch_json_get(call->arguments, name);

    if (ch_json_is(v, CH_JSON_STRING))
        return ch_arena_str(&call->arena, ch_json_str(v));
    return v ? json_text(&call->arena, v) : NULL;
}

const char *chela_mcp_call_principal(const chela_mcp_call *call) {
    CH_NEEDS_OR(call, NULL, NULL);
    return call->principal;
}

bool chela_mcp_call_cancelled(const chela_mcp_call *call) {
    CH_NEEDS_OR(call, NULL, false);
    return atomic_load(&call->cancelled);
}
