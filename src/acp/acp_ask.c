/* acp_ask.c -- questions to the editor's user.
 *
 * A call that needs consent becomes a session/request_permission, one after the other. A
 * question of the model (ask_user) becomes a form; without forms it is part of the answer,
 * and the next prompt is its answer. The run is paused meanwhile, in the store: if either
 * side dies, the questions are asked again when the session is loaded. */
#include "acp/acp_ask.h"

#include <stdlib.h>

#include "acp/acp_reply.h"
#include "acp/acp_session.h"
#include "acp/acp_turn.h"
#include "base/error.h"

static void free_ask(struct ch_acp_ask *a) {
    ch_free(a->approval);
    ch_free(a->call);
    ch_free(a->name);
    ch_free(a->arguments);
    ch_free(a->summary);
    ch_free(a->answer);
    ch_free(a);
}

static void decide(struct ch_acp_ask *a, enum chela_decision decision, const char *answer) {
    a->decided = true;
    a->decision = decision;
    ch_free(a->answer);
    a->answer = ch_strdup(answer);
}

void ch_acp_ask_add(struct ch_acp_session *s, const struct ch_acp_ask *fields) {
    struct ch_acp_ask *a = ch_memdup(fields, sizeof(*fields));
    a->session = s;
    if (!a->approval && strcmp(a->name, "ask_user") != 0)
        decide(a, CHELA_DENY, "This tool cannot be run in an editor.");
    ch_list_add(&s->asks, &a->link);
}

void ch_acp_ask_drop(struct ch_acp_ask *a) {
    if (a->request)
        ch_rpc_forget(a->session->acp->peer, a->request, true);
    ch_list_del(&a->link);
    free_ask(a);
}

void ch_acp_ask_drop_all(struct ch_acp_session *s) {
    for (struct ch_acp_ask *a; (a = CH_LIST_FIRST(&s->asks, struct ch_acp_ask, link));)
        ch_acp_ask_drop(a);
}

/* --- answers ----------------------------------------------------------------------------- */

/* The editor cannot ask its user: the calls still wait in the store. */
static void give_up(struct ch_acp_session *s, const char *why) {
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "a call needs consent, and the editor could not ask the user: %s", why);
    ch_acp_turn_end(s, s->cancelled ? "cancelled" : NULL, ch_buf_str(&text));
}

static void on_permission(const struct ch_rpc_message *m, const struct chela_error *err,
                          void *user) {
    struct ch_acp_ask *a = user;
    struct ch_acp_session *s = a->session;
    const struct ch_json *outcome =
        m && m->kind == CH_RPC_RESULT ? ch_json_get(m->result, "outcome") : NULL;
    struct ch_sv option = ch_json_get_str(outcome, "optionId");

    a->request = 0;
    if (!outcome) {
        CH_AUTOFREE char *why = m ? ch_strndup(m->text.p, m->text.n) : NULL;
        give_up(s, why ? why : err ? err->message : "no answer");
        return;
    }
    if (ch_sv_is(option, "allow"))
        decide(a, CHELA_ALLOW_ONCE, NULL);
    else if (ch_sv_is(option, "always"))
        decide(a, CHELA_ALLOW_ALWAYS, NULL);
    else
        decide(a, CHELA_DENY, "The user rejected this call.");
    if (!option.n) /* the user stopped the turn */
        s->cancelled = s->nprompts > 0;
    ch_acp_ask_next(s);
}

static void on_form(const struct ch_rpc_message *m, const struct chela_error *err, void *user) {
    struct ch_acp_ask *a = user;
    struct ch_acp_session *s = a->session;
    const struct ch_json *result = m && m->kind == CH_RPC_RESULT ? m->result : NULL;
    struct ch_sv answer = ch_json_str(ch_json_path(result, "content", "answer", NULL));

    a->request = 0;
    if (!result) {
        give_up(s, err ? err->message : "the editor refused the form");
        return;
    }
    bool accepted = ch_sv_is(ch_json_get_str(result, "action"), "accept") && answer.n > 0;
    CH_AUTOFREE char *text = ch_strndup(answer.p ? answer.p : "", answer.n);
    decide(a, accepted ? CHELA_ALLOW_ONCE : CHELA_DENY,
           accepted ? text : "The user declined to answer.");
    ch_acp_ask_next(s);
}

/* --- questions ----------------------------------------------------------------------------- */

static void write_option(struct ch_jw *w, const char *id, const char *name, const char *kind) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "optionId", id);
    ch_jw_kcstr(w, "name", name);
    ch_jw_kcstr(w, "kind", kind);
    ch_jw_end(w, '}');
}

static void ask_permission(struct ch_acp_ask *a) {
    struct ch_acp_session *s = a->session;
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionId", s->id);
    ch_jw_kbegin(&w, "toolCall", '{');
    ch_acp_update_call(&w, &s->shown, ch_sv_str(a->call), ch_sv_str(a->name),
                       ch_sv_str(a->arguments), ch_sv_str(a->summary));
    ch_jw_kcstr(&w, "status", "pending");
    ch_jw_end(&w, '}');
    ch_jw_kbegin(&w, "options", '[');
    write_option(&w, "allow", "Allow", "allow_once");
    if (a->can_remember)
        write_option(&w, "always", "Allow this call for the session", "allow_always");
    write_option(&w, "reject", "Reject", "reject_once");
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    a->request = ch_rpc_call(s->acp->peer, "session/request_permission", ch_buf_sv(&params), 0,
                             NULL, on_permission, a);
}

/* The question and its choices. The answer may be none of the choices. */
static void write_question(struct ch_buf *out, const struct ch_json *args) {
    unsigned n = 0;
    ch_buf_add_sv(out, ch_json_get_str(args, "question"));
    for (CH_JSON_EACH(c, ch_json_get(args, "choices")))
        ch_buf_addf(out, "\n%u. %.*s", ++n, CH_SV_FMT(ch_json_str(c)));
}

static void ask_form(struct ch_acp_ask *a, const struct ch_json *args) {
    struct ch_acp_session *s = a->session;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO params = {0};
    struct ch_jw w = ch_jw(&params);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionId", s->id);
    ch_jw_kcstr(&w, "toolCallId", a->call);
    ch_jw_kcstr(&w, "mode", "form");
    write_question(&text, args);
    ch_jw_kstr(&w, "message", ch_buf_sv(&text));
    ch_jw_kbegin(&w, "requestedSchema", '{');
    ch_jw_kcstr(&w, "type", "object");
    ch_jw_kbegin(&w, "properties", '{');
    ch_jw_kbegin(&w, "answer", '{');
    ch_jw_kcstr(&w, "type", "string");
    ch_jw_kcstr(&w, "title", "Answer");
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_jw_kraw(&w, "required", CH_SV("[\"answer\"]"));
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    a->request =
        ch_rpc_call(s->acp->peer, "elicitation/create", ch_buf_sv(&params), 0, NULL, on_form, a);
}

/* Without forms: the question ends the turn, and the next prompt answers it. */
static void ask_aloud(struct ch_acp_ask *a, const struct ch_json *args) {
    struct ch_acp_session *s = a->session;
    CH_BUF_AUTO text = {0};
    CH_BUF_AUTO update = {0};
    struct ch_jw w = ch_jw(&update);

    write_question(&text, args);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionUpdate", "agent_message_chunk");
    ch_jw_kbegin(&w, "content", '{');
    ch_jw_kcstr(&w, "type", "text");
    ch_jw_kstr(&w, "text", ch_buf_sv(&text));
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    ch_acp_send_update(ch_buf_sv(&update), s);
    a->spoken = true;
    ch_acp_turn_end(s, "end_turn", NULL);
}

static void ask_question(struct ch_acp_ask *a) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *args = NULL;
    ch_json_parse(&arena, ch_sv_str(a->arguments), CH_JSON_REPLACE, &args, NULL, NULL);
    if (a->session->acp->client.forms)
        ask_form(a, args);
    else
        ask_aloud(a, args);
}

/* The choice with the number in text; NULL: the text is not a number of a choice, but the
 * answer itself. */
static char *numbered_choice(const struct ch_acp_ask *a, const char *text) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *args = NULL;
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || n == 0)
        return NULL;
    ch_json_parse(&arena, ch_sv_str(a->arguments), CH_JSON_REPLACE, &args, NULL, NULL);
    struct ch_sv option = ch_json_str(ch_json_at(ch_json_get(args, "choices"), n - 1));
    return option.n ? ch_strndup(option.p, option.n) : NULL;
}

bool ch_acp_ask_answer(struct ch_acp_session *s, const char *text) {
    for (CH_LIST_EACH(k, &s->asks)) {
        struct ch_acp_ask *a = CH_CONTAINER(k, struct ch_acp_ask, link);
        if (!a->spoken || a->decided)
            continue;
        CH_AUTOFREE char *option = numbered_choice(a, text);
        decide(a, CHELA_ALLOW_ONCE, option ? option : text);
        return true;
    }
    return false;
}

bool ch_acp_ask_is_open(const struct ch_acp_session *s) {
    for (CH_LIST_EACH(k, &s->asks))
        if (CH_CONTAINER(k, struct ch_acp_ask, link)->request)
            return true;
    return false;
}

void ch_acp_ask_next(struct ch_acp_session *s) {
    bool any = false;
    if (s->trusting)
        return; /* on_trust continues, with the agent that the user chooses */
    for (CH_LIST_EACH(k, &s->asks)) {
        struct ch_acp_ask *a = CH_CONTAINER(k, struct ch_acp_ask, link);
        any = true;
        if (a->decided)
            continue;
        if (s->cancelled) {
            decide(a, CHELA_DENY, "The user interrupted.");
            continue;
        }
        if (a->request || a->spoken)
            return;
        if (a->approval)
            ask_permission(a);
        else
            ask_question(a);
        return;
    }
    if ((any || s->input) && !s->opening && !s->run)
        ch_acp_turn_open(s);
}

void ch_acp_ask_refuse(struct ch_acp_session *s) {
    for (CH_LIST_EACH(k, &s->asks)) {
        struct ch_acp_ask *a = CH_CONTAINER(k, struct ch_acp_ask, link);
        if (a->request)
            ch_rpc_forget(s->acp->peer, a->request, true);
        a->request = 0;
    }
    ch_acp_ask_next(s);
}

int ch_acp_ask_apply(struct ch_acp_session *s, struct chela_error *err) {
    int rc = CHELA_OK;
    for (struct ch_acp_ask *a; (a = CH_LIST_FIRST(&s->asks, struct ch_acp_ask, link));) {
        const char *answer = a->answer ? a->answer : "";
        int one = a->approval
                      ? chela_session_approve(s->session, a->approval, a->decision, a->answer, err)
                      : chela_session_answer(s->session, a->call, answer, strlen(answer),
                                             a->decision == CHELA_DENY, err);
        if (one < 0 && one != CHELA_EEXIST && one != CHELA_ENOENT)
            rc = one; /* an earlier decision from elsewhere remains valid */
        ch_acp_ask_drop(a);
    }
    return rc;
}

/* --- trust --------------------------------------------------------------------------------- */

static void on_trust(const struct ch_rpc_message *m, const struct chela_error *err, void *user) {
    struct ch_acp_session *s = user;
    struct chela_error why = {0};
    const struct ch_json *outcome =
        m && m->kind == CH_RPC_RESULT ? ch_json_get(m->result, "outcome") : NULL;
    (void)err;
    s->trusting = 0;
    if (ch_sv_is(ch_json_get_str(outcome, "optionId"), "trust")) {
        s->acp->inside++;
        int rc = s->acp->host.trust(s->place->given.handle, &why, s->acp->host.user);
        s->acp->inside--;
        if (rc == 0)
            rc = ch_acp_session_reenter(s, &why);
        if (rc < 0)
            ch_acp_notice(s, "error", why.message);
        else
            ch_acp_session_commands(s);
    }
    ch_acp_ask_next(s);
}

void ch_acp_ask_trust(struct ch_acp_session *s) {
    CH_BUF_AUTO params = {0};
    CH_BUF_AUTO title = {0};
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&params);

    ch_buf_addf(&title, "Trust %s?", s->place->given.untrusted);
    ch_buf_addf(&text, "%s came with this directory. It decides:\n%s", s->place->given.untrusted,
                s->place->given.settings ? s->place->given.settings : "");
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "sessionId", s->id);
    ch_jw_kbegin(&w, "toolCall", '{');
    ch_jw_kcstr(&w, "toolCallId", "trust");
    ch_jw_kstr(&w, "title", ch_buf_sv(&title));
    ch_jw_kcstr(&w, "kind", "other");
    ch_jw_kcstr(&w, "status", "pending");
    ch_jw_kbegin(&w, "content", '[');
    ch_acp_update_text(&w, ch_buf_sv(&text));
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    ch_jw_kbegin(&w, "options", '[');
    write_option(&w, "trust", "Trust this file", "allow_always");
    write_option(&w, "ignore", "Continue without its settings", "reject_once");
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    s->trusting = ch_rpc_call(s->acp->peer, "session/request_permission", ch_buf_sv(&params), 0,
                              NULL, on_trust, s);
}
