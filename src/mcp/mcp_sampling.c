/* mcp_sampling.c -- see mcp_sampling.h. */
#include "mcp/mcp_sampling.h"

#include "agent/context/side_query.h"
#include "agent/handle/agent.h"
#include "agent/handle/lookup.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/run.h"
#include "agent/run/parent.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "mcp/mcp_protocol.h"
#include "model/provider/target.h"
#include "prompt/measure.h"
#include "prompt/tokens.h"
#include "tool/call/call.h"

#define SHOWN_MAX 1500 /* bytes of one text that a person sees */

/* The requests and tokens that a server has used in one session. */
struct ch_mcp_used {
    struct ch_link link;
    char *session; /* owned */
    int64_t requests, tokens;
    unsigned open; /* requests in progress */
};

struct ch_mcp_sample {
    struct ch_link link; /* in the client's samples */
    chela_mcp *mcp;
    chela_run *run;
    struct ch_target *target;
    struct ch_side_query *query;
    struct ch_mcp_used *used;
    int64_t reserved, most; /* tokens: reserved in advance; limit of the answer */
    ch_mcp_sampled_fn *done;
    void *user;
};

/* --- parameters */

/* A message has one block or an array of blocks. Calls fn for each; false: fn stopped. */
static bool each_block(const struct ch_json *message,
                       bool (*fn)(const struct ch_json *block, void *user), void *user) {
    const struct ch_json *content = ch_json_get(message, "content");

    if (!ch_json_is(content, CH_JSON_ARRAY))
        return fn(content, user);
    for (CH_JSON_EACH(block, content))
        if (!fn(block, user))
            return false;
    return true;
}

static bool is_text_block(const struct ch_json *block, void *user) {
    (void)user;
    return ch_sv_is(ch_json_get_str(block, "type"), "text") &&
           ch_json_is(ch_json_get(block, "text"), CH_JSON_STRING);
}

static bool is_assistant(const struct ch_json *message) {
    return ch_sv_is(ch_json_get_str(message, "role"), "assistant");
}

int ch_mcp_sampling_check(const struct ch_json *params, struct chela_error *err) {
    const struct ch_json *messages = ch_json_get(params, "messages");

    if (!ch_json_is(messages, CH_JSON_ARRAY) || messages->n == 0)
        return ch_fail(err, CHELA_EPROTO, "the request to the model has no messages");
    if (ch_json_int(ch_json_get(params, "maxTokens"), 0) <= 0)
        return ch_fail(err, CHELA_EPROTO, "the request to the model has no maxTokens");
    if (ch_json_get(params, "tools") || ch_json_get(params, "toolChoice"))
        return ch_fail(err, CHELA_EPROTO, "tools of a request for an answer of the model are not "
                       "supported");
    for (CH_JSON_EACH(message, messages)) {
        if (!is_assistant(message) && !ch_sv_is(ch_json_get_str(message, "role"), "user"))
            return ch_fail(err, CHELA_EPROTO, "a message of the request has an unknown role");
        if (!each_block(message, is_text_block, NULL))
            return ch_fail(err, CHELA_EPROTO, "a message of the request is not text");
    }
    return 0;
}

static void tell_text(struct ch_buf *out, const char *who, struct ch_sv text) {
    CH_BUF_AUTO clean = {0};

    ch_mcp_clean(&clean, text);
    ch_buf_addf(out, "\n%s: ", who);
    ch_buf_add_sv(out, ch_utf8_cut(ch_buf_sv(&clean), SHOWN_MAX));
    if (clean.n > SHOWN_MAX || text.n > CH_LIMIT_MCP_TEXT)
        ch_buf_addf(out, " [... %zu bytes in all]", text.n);
}

static bool tell_block(const struct ch_json *block, void *user) {
    tell_text(user, "user", ch_json_get_str(block, "text"));
    return true;
}

static bool tell_answer(const struct ch_json *block, void *user) {
    tell_text(user, "assistant", ch_json_get_str(block, "text"));
    return true;
}

void ch_mcp_sampling_tell(struct ch_buf *out, const struct ch_json *params) {
    struct ch_sv system = ch_json_get_str(params, "systemPrompt");

    if (system.n)
        tell_text(out, "system", system);
    for (CH_JSON_EACH(message, ch_json_get(params, "messages")))
        each_block(message, is_assistant(message) ? tell_answer : tell_block, out);
}

/* --- the budget */

static int64_t most_requests(const chela_mcp *m) {
    return m->opts.sampling_requests ? m->opts.sampling_requests : CH_DEFAULT_MCP_SAMPLES;
}

static int64_t most_tokens(const chela_mcp *m) {
    return m->opts.sampling_tokens ? m->opts.sampling_tokens : CH_DEFAULT_MCP_SAMPLE_TOKENS;
}

static void free_used(struct ch_mcp_used *u) {
    ch_list_del(&u->link);
    ch_free(u->session);
    ch_free(u);
}

/* The counts of the session, created on first use; NULL: too many sessions. The session that was
 * not used for the longest time makes room. */
static struct ch_mcp_used *used_of(chela_mcp *m, const char *session) {
    struct ch_mcp_used *found = NULL, *idle = NULL;
    size_t n = 0;

    for (CH_LIST_EACH(k, &m->sampled)) {
        struct ch_mcp_used *u = CH_CONTAINER(k, struct ch_mcp_used, link);
        n++;
        if (strcmp(u->session, session) == 0)
            found = u;
        if (!idle && !u->open)
            idle = u;
    }
    if (found)
        ch_list_del(&found->link);
    else if (n >= CH_LIMIT_MCP_SAMPLED && !idle)
        return NULL;
    else {
        if (n >= CH_LIMIT_MCP_SAMPLED)
            free_used(idle);
        found = ch_alloc(sizeof(*found));
        found->session = ch_strdup(session);
    }
    ch_list_add(&m->sampled, &found->link);
    return found;
}

void ch_mcp_sampling_close(chela_mcp *m) {
    struct chela_error err = {0};

    ch_fail(&err, CHELA_ESTATE, "MCP server %s: the client is closed", m->opts.name);
    for (struct ch_mcp_sample *s; (s = CH_LIST_FIRST(&m->samples, struct ch_mcp_sample, link));) {
        ch_mcp_sampled_fn *done = s->done;
        void *user = s->user;
        ch_mcp_sampling_cancel(s);
        done(ch_sv(NULL, 0), &err, user);
    }
    for (struct ch_mcp_used *u; (u = CH_LIST_FIRST(&m->sampled, struct ch_mcp_used, link));)
        free_used(u);
}

static chela_run *run_of(const chela_mcp *m, const chela_call *call) {
    const struct ch_call_env *env = call->env;
    return env && env->run ? ch_run_find(m->rt, env->session, env->run) : NULL;
}

/* The counts of the session that people see; NULL with err: the server may not ask. */
static struct ch_mcp_used *find_room(chela_mcp *m, const chela_run *run,
                                     struct chela_error *err) {
    struct ch_mcp_used *u = run ? used_of(m, ch_parent_root(run)->key) : NULL;

    if (!run)
        ch_fail(err, CHELA_ESTATE, "the server asks for an answer of the model, and there is no "
                "conversation");
    else if (!u)
        ch_fail(err, CHELA_ELIMIT, "the server asks for answers of the model in too many sessions");
    else if (u->requests >= most_requests(m))
        ch_fail(err, CHELA_ELIMIT, "the server has asked for %lld answers of the model in this "
                "session; sampling.maxRequests allows no more", (long long)u->requests);
    else if (u->tokens >= most_tokens(m))
        ch_fail(err, CHELA_ELIMIT, "the server's answers of the model in this session took %lld "
                "tokens; sampling.maxTokens allows no more", (long long)u->tokens);
    else
        return u;
    return NULL;
}

bool ch_mcp_sampling_has_room(chela_mcp *m, const chela_call *call, struct chela_error *err) {
    return find_room(m, run_of(m, call), err);
}

/* --- the request */

static bool add_block_text(const struct ch_json *block, void *user) {
    struct ch_buf *out = user;

    if (out->n)
        ch_buf_addc(out, '\n');
    ch_buf_add_sv(out, ch_json_get_str(block, "text"));
    return true;
}

static struct ch_msg *to_msg(const struct ch_json *message) {
    CH_BUF_AUTO text = {0};

    each_block(message, add_block_text, &text);
    return ch_msg_text(is_assistant(message) ? CH_MSG_ASSISTANT : CH_MSG_USER, ch_buf_sv(&text), 0);
}

static void write_sample(struct ch_buf *out, const struct ch_mcp_sample *s, struct ch_sv text,
                         const struct ch_usage *u) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "role", "assistant");
    ch_jw_kbegin(&w, "content", '{');
    ch_jw_kcstr(&w, "type", "text");
    ch_jw_kstr(&w, "text", text);
    ch_jw_end(&w, '}');
    ch_jw_kcstr(&w, "model", s->target->model);
    ch_jw_kcstr(&w, "stopReason", u->output >= s->most ? "maxTokens" : "endTurn");
    ch_jw_end(&w, '}');
}

/* Charges the answer like a turn of the run. */
static void charge_sample(struct ch_mcp_sample *s, struct ch_sv text, const struct ch_usage *u) {
    bool free = !u->input && !u->output;
    double cost = free                  ? 0
                  : s->target->has_price ? ch_price_cost(&s->target->price, u, CH_CACHE_OFF)
                                         : -1;

    s->used->open--;
    s->used->tokens += u->input + u->output - s->reserved;
    ch_run_spend(&s->run->m, u, cost);
    ch_run_charge(&s->run->m, u, cost);
    ch_run_journal_role(s->run, "sampling", s->target->model, u, cost, text, CH_SV(""));
}

static void sample_on_done(struct ch_sv text, const char *failed, const struct ch_usage *usage,
                           void *user) {
    struct ch_mcp_sample *s = user;
    CH_BUF_AUTO result = {0};
    struct chela_error err = {0};

    charge_sample(s, text, usage);
    write_sample(&result, s, text, usage);
    if (*failed)
        ch_fail(&err, CHELA_EMODEL, "the model gave the server no answer: %s", failed);
    ch_list_del(&s->link);
    s->done(*failed ? ch_sv(NULL, 0) : ch_buf_sv(&result), *failed ? &err : NULL, s->user);
    ch_free(s);
}

/* Counts the tokens of the messages, and of the longest answer. */
static int reserve_tokens(struct ch_mcp_sample *s, struct ch_msg *const *msgs, size_t n,
                          const struct ch_json *params, struct chela_error *err) {
    struct ch_sv system = ch_json_get_str(params, "systemPrompt");
    int64_t left = most_tokens(s->mcp) - s->used->tokens;
    enum ch_counting how = (enum ch_counting)s->target->facts.counting;
    int64_t asked = (int64_t)ch_tokens_as(system, how);

    for (size_t i = 0; i < n; i++)
        asked += (int64_t)ch_msg_tokens(msgs[i], how);
    if (asked >= left)
        return ch_fail(err, CHELA_ELIMIT, "the server's messages to the model are about %lld "
                       "tokens, and sampling.maxTokens leaves %lld", (long long)asked,
                       (long long)left);
    s->most = CH_MIN(ch_json_int(ch_json_get(params, "maxTokens"), 1), left - asked);
    s->reserved = asked + s->most;
    return 0;
}

static int send_sample(struct ch_mcp_sample *s, const struct ch_json *params,
                       struct chela_error *err) {
    const struct ch_json *messages = ch_json_get(params, "messages");
    CH_AUTOFREE struct ch_msg **msgs = ch_malloc(messages->n * sizeof(struct ch_msg *));
    size_t n = 0;

    for (CH_JSON_EACH(message, messages))
        msgs[n++] = to_msg(message);
    if (reserve_tokens(s, msgs, n, params, err) < 0) {
        for (size_t i = 0; i < n; i++)
            ch_msg_free(msgs[i]);
        return err->code;
    }
    return ch_side_query_start(
        &(struct ch_side_query_opts){.run = s->run,
                                     .role = "sampling",
                                     .target = s->target,
                                     .system = ch_json_get_str(params, "systemPrompt"),
                                     .msgs = msgs,
                                     .n = n,
                                     .max_output_tokens = s->most,
                                     .done = sample_on_done,
                                     .user = s},
        &s->query, err);
}

int ch_mcp_sampling_start(chela_mcp *m, const chela_call *call, const struct ch_json *params,
                          ch_mcp_sampled_fn *done, void *user, struct ch_mcp_sample **out,
                          struct chela_error *err) {
    chela_run *run = run_of(m, call);
    struct ch_mcp_used *used = find_room(m, run, err);
    int rc = used ? ch_mcp_sampling_check(params, err) : err->code;

    if (rc < 0)
        return rc;
    struct ch_mcp_sample *s = ch_alloc(sizeof(*s));
    *s = (struct ch_mcp_sample){.mcp = m, .run = run, .used = used, .done = done, .user = user};
    s->target = run->target ? run->target : run->session->agent->targets[run->m.model];
    rc = send_sample(s, params, err);
    if (rc < 0) {
        ch_free(s);
        return rc;
    }
    ch_list_add(&m->samples, &s->link);
    used->requests++;
    used->open++;
    used->tokens += s->reserved;
    *out = s;
    return 0;
}

void ch_mcp_sampling_cancel(struct ch_mcp_sample *s) {
    if (!s)
        return;
    ch_list_del(&s->link);
    s->used->open--;
    ch_side_query_cancel(s->query); /* the tokens stay counted, because their number is unknown */
    ch_free(s);
}
