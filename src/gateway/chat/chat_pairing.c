/* chat_pairing.c -- see chat_pairing.h. The store is read for each message, on a worker
 * thread, so an approval or removal by any process takes effect at once. */
#include "gateway/chat/chat_pairing.h"

#include "base/log.h"
#include "channel/pairing.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_language.h"
#include "gateway/request/gateway_state.h"
#include "io/worker.h"

struct pairing_work {
    struct ch_work work;
    struct ch_chat_event *event; /* used on the loop thread only */
    chela_store *store;
    char *channel, *sender; /* owned */
    char *approve;          /* owned: the code to approve; NULL: check the sender */
    enum ch_pairing what;
    struct ch_buf text; /* the sender's code, or the sender whom the code belongs to */
    int rc;
    struct chela_error err;
};

static void pairing_free(struct ch_work *w) {
    struct pairing_work *m = CH_CONTAINER(w, struct pairing_work, work);
    ch_free(m->channel);
    ch_free(m->sender);
    ch_free(m->approve);
    ch_buf_release(&m->text);
    ch_free(m);
}

/* The gateway was closed: the inbox keeps the event. */
static void pairing_dropped(struct ch_work *w) {
    ch_chat_event_drop(CH_CONTAINER(w, struct pairing_work, work)->event);
    pairing_free(w);
}

static void pairing_submit(struct ch_chat_event *e, void (*run)(struct ch_work *),
                           void (*done)(struct ch_work *), struct ch_sv code) {
    struct pairing_work *m = ch_alloc(sizeof(*m));
    m->work = (struct ch_work){.run = run, .done = done, .dropped = pairing_dropped};
    m->event = e;
    m->store = e->chat->gw->store;
    m->channel = ch_strdup(e->chat->channel->ops->name);
    m->sender = ch_strdup(e->in.about.sender_id);
    m->approve = code.p ? ch_strndup(code.p, code.n) : NULL;
    e->accepting = true;
    ch_work_submit(e->chat->gw->rt->workers, &m->work);
}

/* --- an unknown sender */

static void pairing_run_check(struct ch_work *w) {
    struct pairing_work *m = CH_CONTAINER(w, struct pairing_work, work);
    m->rc = ch_pairing_meet(m->store, m->channel, m->sender, &m->what, &m->text, &m->err);
}

static void pairing_on_checked(struct ch_work *w) {
    struct pairing_work *m = CH_CONTAINER(w, struct pairing_work, work);
    struct ch_chat_event *e = m->event;
    e->accepting = false;
    if (m->rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "message %s waits: %s", e->in.id, m->err.message);
    if (!e->chat || m->rc < 0) {
        ch_chat_event_drop(e);
    } else if (m->what == CH_PAIRED) {
        e->chat->dispatch(e);
    } else if (m->what == CH_PAIRING) {
        ch_chat_language_reply(e, CH_SAY_PAIR_CODE, CH_SAY_VALUES(ch_buf_sv(&m->text)));
    } else {
        ch_chat_event_settle(e);
    }
    pairing_free(w);
}

void ch_chat_pairing_check(struct ch_chat_event *e) {
    pairing_submit(e, pairing_run_check, pairing_on_checked, ch_sv(NULL, 0));
}

/* --- /pair CODE */

static int pairing_note_sender(const struct chela_pairing *p, void *user) {
    ch_buf_add_str(user, p->sender);
    return 0;
}

/* Approves codes of this channel only: its owner has no say in others. */
static void pairing_run_approve(struct ch_work *w) {
    struct pairing_work *m = CH_CONTAINER(w, struct pairing_work, work);
    m->rc = ch_pairing_approve(m->store, m->channel, m->approve, pairing_note_sender, &m->text,
                               &m->err);
}

static void pairing_on_approved(struct ch_work *w) {
    struct pairing_work *m = CH_CONTAINER(w, struct pairing_work, work);
    struct ch_chat_event *e = m->event;
    struct ch_sv said = m->rc < 0 ? ch_sv_str(m->err.message) : ch_buf_sv(&m->text);
    e->accepting = false;
    if (e->chat)
        ch_chat_language_reply(e, m->rc < 0 ? CH_SAY_PAIR_FAILED : CH_SAY_PAIR_DONE,
                               CH_SAY_VALUES(said));
    else
        ch_chat_event_drop(e);
    pairing_free(w);
}

void ch_chat_pairing_command(struct ch_chat_event *e, struct ch_sv rest) {
    if (rest.n && rest.n <= 64)
        pairing_submit(e, pairing_run_approve, pairing_on_approved, rest);
    else
        ch_chat_language_tell(e, CH_SAY_PAIR_WHICH);
}
