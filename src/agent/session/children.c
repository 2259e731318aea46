/* children.c -- see children.h. */
#include "agent/session/children.h"

#include "agent/journal/run_journal.h"
#include "agent/run/driver.h"
#include "agent/run/parent.h"
#include "agent/session/session.h"
#include "base/error.h"
#include "tool/call/call.h"

int ch_children_approve(chela_run *run, const char *approval_id, enum chela_decision decision,
                        const char *reason, struct chela_error *err) {
    for (CH_LIST_EACH(k, &run->children)) {
        chela_session *s = CH_CONTAINER(k, struct ch_child_run, link)->session;
        int rc = chela_session_approve(s, approval_id, decision, reason, err);
        if (rc == CHELA_ENOENT)
            continue;
        if (rc == 0)
            ch_run_journal_answered(run->session, approval_id, decision, reason);
        return rc;
    }
    return ch_fail(err, CHELA_ENOENT, "no call waits for approval %s", approval_id);
}

int ch_children_answer(chela_run *run, const char *call_id, struct ch_sv content, bool is_error,
                       struct chela_error *err) {
    for (CH_LIST_EACH(k, &run->children)) {
        chela_session *s = CH_CONTAINER(k, struct ch_child_run, link)->session;
        int rc = chela_session_answer(s, call_id, content.p, content.n, is_error, err);
        if (rc == CHELA_ENOENT)
            continue;
        if (rc == 0)
            ch_run_journal_answered_below(run->session, call_id, content, is_error);
        return rc;
    }
    return ch_fail(err, CHELA_ENOENT, "no call %s waits for a result", call_id);
}

int ch_children_may_answer(const chela_run *run, const char *call_id, size_t n,
                           struct chela_error *err) {
    int rc = CHELA_ENOENT;
    for (CH_LIST_EACH(k, &run->children))
        if (rc == CHELA_ENOENT)
            rc = ch_session_may_answer(CH_CONTAINER(k, struct ch_child_run, link)->session,
                                       call_id, n, err);
    return rc;
}

void ch_children_detach(struct ch_child_run *c) {
    chela_call *call = CH_TAKE(c->call);
    chela_run *run = CH_TAKE(c->run);
    call->doing = NULL;
    ch_list_del(&c->link);
    ch_call_unref(call);
    ch_run_unref(run);
}

void ch_children_free(chela_session *s) {
    struct ch_child_run *c = CH_TAKE(s->child);
    if (c && c->run) /* the child was closed from outside */
        ch_children_detach(c);
    ch_free(c);
}
