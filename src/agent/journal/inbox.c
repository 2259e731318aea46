/* inbox.c -- events from outside, each processed once; see chela/mailbox.h.
 *
 * An event is in the store's inbox before its sender gets the acknowledgement. One
 * transaction writes the record that takes the event up and removes the event from the
 * inbox. The store refuses the transaction unless the event waits for this session and this
 * process holds the lease. So an event is in the inbox or in the journal, never in both, and
 * in neither only if it was settled in another way. */

#include "agent/journal/inbox.h"

#include "agent/handle/lookup.h"
#include "agent/handle/session.h"
#include "agent/journal/run_journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "base/opts.h"
#include "io/loop_entry.h"

void ch_inbox_take(chela_session *s, const char *event) {
    struct ch_run_journal *k = ch_run_journal_of_session(s);

    if (event && k)
        s->agent->rt->journal->ops->take(k->log, event);
}

static void inbox_settle(struct ch_journal *j, const char *event) {
    struct chela_store_change c = {.kind = CHELA_STORE_SETTLE, .id = event};

    j->ops->change(j, &c, CH_SYNC_LATER, NULL, NULL);
}

/* --- for channels ---------------------------------------------------------------------- */

static bool is_text(const char *s, size_t max) {
    return s && *s && strlen(s) <= max && ch_utf8_valid(ch_sv_str(s));
}

struct accepting {
    chela_runtime *rt;
    chela_accepted_fn *fn;
    void *user;
};

static void on_accepted(int rc, const struct chela_error *err, void *user) {
    struct accepting a = *(struct accepting *)user;

    ch_free(user);
    a.fn(rc, err, a.user);
    ch_runtime_busy(a.rt, false);
}

int chela_inbox_accept(chela_runtime *rt, const struct chela_inbox_event *given,
                       chela_accepted_fn *fn, void *user, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    struct chela_inbox_event e;
    int rc = CH_OPTS_NEED(chela_inbox_event, &e, given, err);

    if (rc < 0)
        return rc;
    if (!rt->journal)
        return ch_fail(err, CHELA_ESTATE, "there is no store to keep events in");
    if (!is_text(e.id, CH_LIMIT_EVENT_ID) || !is_text(e.session, CH_LIMIT_SESSION_KEY))
        return ch_fail(err, CHELA_EINVAL, "an event needs an id and a session");
    if (e.n > CH_LIMIT_INPUT)
        return ch_fail(err, CHELA_ELIMIT, "the event is larger than %zu MB",
                       CH_LIMIT_INPUT / CH_MB);
    if (e.n && (!ch_utf8_valid(ch_sv(e.data, e.n)) || memchr(e.data, 0, e.n)))
        return ch_fail(err, CHELA_EINVAL, "the event is no text");
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = e.id,
                                   .key = e.session,
                                   .data = e.data,
                                   .n = e.n};
    struct accepting *a = ch_alloc(sizeof(*a));
    *a = (struct accepting){rt, fn, user};
    ch_runtime_busy(rt, true);
    rt->journal->ops->change(rt->journal, &c, rt->journal->gate, on_accepted, a);
    return 0;
}

int chela_inbox_settle(chela_runtime *rt, const char *id, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    if (!rt->journal)
        return ch_fail(err, CHELA_ESTATE, "there is no store to keep events in");
    inbox_settle(rt->journal, id);
    return 0;
}

int ch_inbox_check(chela_session *s, const struct chela_run_opts *o, struct chela_error *err) {
    const struct ch_run_journal *k = s->journal;

    if (!o->event_id && !o->answer_to)
        return 0;
    if (!k)
        return ch_fail(err, CHELA_ESTATE, "session '%s' is not kept in a store", s->key);
    if (k->state == CH_RUN_JOURNAL_OPENING)
        return ch_fail(err, CHELA_ESTATE, "session '%s' is still being opened", s->key);
    if (o->event_id && !is_text(o->event_id, CH_LIMIT_EVENT_ID))
        return ch_fail(err, CHELA_EINVAL, "an event's id is text of at most %d bytes",
                       CH_LIMIT_EVENT_ID);
    if (o->answer_to && !is_text(o->answer_to, CH_LIMIT_ADDRESS))
        return ch_fail(err, CHELA_EINVAL, "an address is text of at most %d bytes",
                       CH_LIMIT_ADDRESS);
    if (o->answer_to && !s->channel->name)
        return ch_fail(err, CHELA_ESTATE, "session '%s' has no channel to answer through", s->key);
    return 0;
}
