/* acp_forward.c -- prompts and decisions for a session that a gateway holds.
 *
 * The session cannot be opened here, so the user's prompt, decision or wish to stop becomes an
 * event in the inbox of the session, which the gateway takes up. Its records are shown as those of
 * any other process (acp_follow.c), and the prompt ends with the gateway's run. If nobody
 * takes the event up, the event is withdrawn, and the prompt fails. */
#include "acp/acp_forward.h"

#include "acp/acp_content.h"
#include "acp/acp_reply.h"
#include "agent/handle/agent.h"
#include "agent/machine/media.h"
#include "base/error.h"
#include "chela/mailbox.h"
#include "model/message/message_json.h"
#include "store/store.h"

#define EVENT_PREFIX "api/" /* prefix of events that a gateway handles like those of its own
                             * clients */

/* --- the event -------------------------------------------------------------------------- */

/* Stores the event before the function returns. So an event that the store does not have was
 * taken up. members: JSON of the event without braces. */
static int put_event(struct ch_acp_session *s, const char *kind, struct ch_sv members,
                     struct ch_buf *id, struct chela_error *err) {
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);

    ch_buf_addf(id, EVENT_PREFIX "acp:%s:%lld:%u", s->id, (long long)ch_store_now(), ++s->forwards);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "kind", kind);
    ch_jw_kcstr(&w, "agent", s->agent->id);
    if (members.n)
        ch_jw_raw(&w, members);
    ch_jw_end(&w, '}');
    if (data.n > CH_LIMIT_INPUT)
        return ch_fail(err, CHELA_ELIMIT, "the message is too long");
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = ch_buf_str(id),
                                   .key = s->id,
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_store_now()};
    int rc = ch_store_commit(s->place->given.store, &c, 1, true, err);
    return rc < 0 ? rc : c.rc;
}

/* --- prompts ------------------------------------------------------------------------------ */

bool ch_acp_forward_input(struct ch_acp_session *s) {
    CH_BUF_AUTO members = {0};
    CH_BUF_AUTO id = {0};
    struct ch_jw w = ch_jw(&members);
    struct chela_error err = {0};
    int64_t now = ch_store_now();

    if (!s->input)
        return false;
    const struct ch_media_input in = {
        .kind = CH_MSG_USER, .text = ch_buf_sv(&s->input->text), .ts = now};
    struct ch_msg *m;
    if (ch_media_message(&in, s->input->media, s->input->nmedia, &m, &err) < 0)
        return false;
    ch_jw_key(&w, "message");
    ch_msg_write(m, &w);
    ch_msg_free(m);
    if (put_event(s, "message", ch_buf_sv(&members), &id, &err) < 0)
        return false;
    ch_acp_input_free(CH_TAKE(s->input));
    s->forwarded = ch_buf_take(&id);
    s->forwarded_at = now;
    s->kept = true;
    return true;
}

struct ch_acp_search {
    const char *id;
    bool found;
};

static int match_item(const struct chela_store_item *i, void *user) {
    struct ch_acp_search *search = user;
    search->found |= strcmp(i->id, search->id) == 0;
    return search->found;
}

static void forward_forget(struct ch_acp_session *s, bool withdraw) {
    if (withdraw)
        chela_inbox_settle(s->agent->rt, s->forwarded, NULL);
    ch_free(CH_TAKE(s->forwarded));
}

bool ch_acp_forward_waits(struct ch_acp_session *s, bool *expired) {
    struct ch_acp_search search = {.id = s->forwarded};

    *expired = false;
    if (!s->forwarded)
        return false;
    int rc = chela_store_items(s->place->given.store, CHELA_STORE_INBOX, match_item, &search, NULL);
    bool taken = rc == 0 && !search.found;
    if (!taken && ch_store_now() - s->forwarded_at < CH_LIMIT_ACP_FORWARD_MS)
        return true;
    *expired = search.found;
    forward_forget(s, search.found);
    return false;
}

/* --- decisions ---------------------------------------------------------------------------- */

static void forward_decision(struct ch_acp_session *s, const struct ch_acp_ask *a) {
    CH_BUF_AUTO members = {0};
    CH_BUF_AUTO id = {0};
    struct ch_jw w = ch_jw(&members);
    struct chela_error err = {0};

    if (a->approval) {
        ch_jw_kcstr(&w, "approval", a->approval);
        ch_jw_kint(&w, "decision", a->decision);
        if (a->answer)
            ch_jw_kcstr(&w, "text", a->answer);
    } else {
        ch_jw_kbegin(&w, "results", '[');
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "id", a->call);
        ch_jw_kcstr(&w, "content", a->answer ? a->answer : "");
        ch_jw_kbool(&w, "is_error", a->decision == CHELA_DENY);
        ch_jw_end(&w, '}');
        ch_jw_end(&w, ']');
    }
    if (put_event(s, a->approval ? "decision" : "results", ch_buf_sv(&members), &id, &err) < 0)
        ch_acp_notice(s, "error", err.message);
}

void ch_acp_forward_decisions(struct ch_acp_session *s) {
    for (CH_LIST_EACH(k, &s->asks)) {
        const struct ch_acp_ask *a = CH_CONTAINER(k, struct ch_acp_ask, link);
        if (a->decided)
            forward_decision(s, a);
    }
}

bool ch_acp_forward_cancel(struct ch_acp_session *s) {
    CH_BUF_AUTO id = {0};
    struct chela_error err = {0};
    bool expired, waits = ch_acp_forward_waits(s, &expired);

    if (waits)
        forward_forget(s, true);
    if (waits || expired)
        return false;
    if (put_event(s, "cancel", ch_sv(NULL, 0), &id, &err) < 0)
        ch_acp_notice(s, "error", err.message);
    return true;
}
