/* approvals_api.c -- /api/approvals: calls that wait for a person.
 *
 * A paused run is stored before its events are emitted, so the store knows all waiting
 * calls, of this process and of others. A request with a decision finds the session in the
 * store; the run resumes when no other call waits. Calls that wait for their result are
 * listed beside those that need consent; their results are posted to the session
 * (sessions_api.c). */
#include "gateway/http/approvals_api.h"

#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/http/admission.h"
#include "gateway/http/session_open.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "store/paused_calls.h"

/* --- the list of waiting calls */

static void approvals_write_call(struct ch_buf *out, const struct ch_json *w, const char *key,
                                 const struct ch_json *agent) {
    struct ch_jw j = ch_jw(out);
    if (out->n)
        ch_buf_addc(out, ',');
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "session", key);
    ch_jw_kstr(&j, "agent", ch_json_str(agent));
    for (CH_JSON_MEMBERS(k, v, w)) {
        ch_jw_key_sv(&j, ch_json_str(k));
        ch_jw_value(&j, v);
    }
    ch_jw_end(&j, '}');
}

/* With l->key, an approval id: the session of its call becomes l->found. l->after: more calls
 * wait than an answer lists. */
static int approvals_add_call(const char *session, const struct ch_json *agent,
                              const struct ch_json *call, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_sv id = ch_json_get_str(call, "approval_id");
    if (l->last++ == CH_LIMIT_LISTED)
        return l->after = 1;
    approvals_write_call(id.n ? &l->out : &l->more, call, session, agent);
    l->found = l->key ? ch_strdup(session) : NULL;
    return l->key != NULL;
}

static int approvals_query(struct ch_store_lookup *l, struct chela_error *err) {
    struct ch_paused_search search = {.approval = l->key, .fn = approvals_add_call, .user = l};
    int rc = ch_paused_calls(l->store, &search, err);
    if (rc == 0 && l->key && !l->found)
        return ch_fail(err, CHELA_ENOENT, "no call with the approval id '%s' waits", l->key);
    return rc;
}

static void approvals_respond_list(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "{\"approvals\":[%s],\"unanswered\":[%s],\"truncated\":%s}",
                ch_buf_str(&l->out), ch_buf_str(&l->more), l->after ? "true" : "false");
    ch_request_respond_json(req, 200, &out);
}

void ch_approvals_list(struct ch_request *req) {
    ch_store_lookup_start(req, ch_sv(NULL, 0), 0, approvals_query, approvals_respond_list);
}

/* --- a decision */

/* CHELA_UNDECIDED: no decision. */
static enum chela_decision approvals_decision(struct ch_request *req) {
    struct ch_sv word = ch_json_get_str(req->json, "decision");
    return (enum chela_decision)ch_choice_of(CHELA_CHOICE_DECISION,
                                             ch_arena_str(&req->arena, word));
}

/* The member with the text that belongs to the decision. */
static const char *approvals_decision_member(enum chela_decision d) {
    return d == CHELA_EDIT        ? "arguments"
           : d == CHELA_ANSWER    ? "content"
           : d == CHELA_TAKE_OVER ? "text"
                                  : "reason";
}

/* NULL: none. */
static const char *approvals_decision_text(struct ch_request *req, enum chela_decision d) {
    const struct ch_json *given = ch_json_get(req->json, approvals_decision_member(d));
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (ch_json_is(given, CH_JSON_OBJECT))
        ch_jw_value(&w, given);
    else
        ch_buf_add_sv(&text, ch_json_str(given));
    return text.n ? ch_arena_str(&req->arena, ch_buf_sv(&text)) : NULL;
}

static void approvals_respond_decided(struct ch_request *req, struct ch_lane *l,
                                      const struct ch_delivery *d) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", d->key);
    ch_jw_kbool(&w, "resumed", d->action && *d->action);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, l ? 200 : 202, &out);
}

static void approvals_admit(struct ch_request *req, struct ch_lane *l, bool elsewhere) {
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    enum chela_decision decision = approvals_decision(req);
    const char *text = approvals_decision_text(req, decision);
    ch_jw_kstr(&w, "approval", req->session);
    ch_jw_kint(&w, "decision", decision);
    if (text)
        ch_jw_kcstr(&w, "text", text);
    ch_admission_begin(req, &ch_client_decision, ch_arena_str(&req->arena, req->param),
                       elsewhere ? "" : l->agent->id, &data, approvals_respond_decided);
}

/* The parameter becomes the key of the session, instead of the approval's id. */
static void approvals_open_session(struct ch_request *req, struct ch_store_lookup *l) {
    req->session = req->param;
    req->param = ch_sv_str(ch_arena_str(&req->arena, ch_sv_str(l->found)));
    ch_session_open_lane(req, false, approvals_admit);
}

void ch_approvals_decide(struct ch_request *req) {
    static const char members[] =
        "reason:string arguments:object|string content:string text:string";
    struct chela_error err = {0};
    enum chela_decision d = approvals_decision(req);
    if (ch_request_check_types(req->json, NULL, members, &err) < 0)
        ch_request_fail_with(req, &err);
    else if (d == CHELA_UNDECIDED)
        ch_request_fail(
            req, 400, NULL,
            "`decision` must be allow-once, allow-always, deny, edit, answer or take-over");
    else if (d >= CHELA_EDIT && !approvals_decision_text(req, d))
        ch_request_fail(req, 400, NULL, "`%s` is missing", approvals_decision_member(d));
    else
        ch_store_lookup_start(req, req->param, 0, approvals_query, approvals_open_session);
}
