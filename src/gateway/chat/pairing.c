/* pairing.c -- a message from somebody whom the channel does not know, where
 * such people are given a code (chela/pairing.h). The store is asked each time,
 * on a worker: who is approved or removed there, by whatever process, counts at
 * once. */
#include "channel/pairing.h"

#include "base/log.h"
#include "gateway/chat/channels.h"
#include "io/worker.h"

struct meeting {
    struct ch_work work;
    struct ch_parcel *parcel; /* read on the loop alone */
    chela_store *store;
    char *channel, *sender; /* owned */
    char *approve;          /* owned: a code to approve instead; NULL */
    enum ch_pairing what;
    struct ch_buf text; /* a code, or whom it was for */
    int rc;
    struct chela_error err;
};

static void drop(struct ch_work *w) {
    struct meeting *m = CH_CONTAINER(w, struct meeting, work);
    ch_free(m->channel);
    ch_free(m->sender);
    ch_free(m->approve);
    ch_buf_release(&m->text);
    ch_free(m);
}

static void submit(struct ch_parcel *p, void (*run)(struct ch_work *),
                   void (*done)(struct ch_work *), struct ch_sv code) {
    struct meeting *m = ch_alloc(sizeof(*m));
    m->work = (struct ch_work){.run = run, .done = done, .dropped = drop};
    m->parcel = p;
    m->store = p->chat->gw->store;
    m->channel = ch_strdup(p->chat->channel->ops->name);
    m->sender = ch_strdup(p->in.about.sender_id);
    m->approve = code.p ? ch_strndup(code.p, code.n) : NULL;
    p->accepting = true;
    ch_work_submit(p->chat->gw->rt->workers, &m->work);
}

/* --- a stranger */

static void meet(struct ch_work *w) {
    struct meeting *m = CH_CONTAINER(w, struct meeting, work);
    m->rc = ch_pairing_meet(m->store, m->channel, m->sender, &m->what, &m->text, &m->err);
}

static void met(struct ch_work *w) {
    struct meeting *m = CH_CONTAINER(w, struct meeting, work);
    struct ch_parcel *p = m->parcel;
    CH_BUF_AUTO text = {0};
    p->accepting = false;
    if (m->rc < 0)
        ch_log(CH_LOG_WARN, "gateway", "message %s waits: %s", p->in.id, m->err.message);
    if (!p->chat || m->rc < 0) {
        ch_parcel_drop(p);
    } else if (m->what == CH_PAIRED) {
        ch_parcel_take_in(p);
    } else if (m->what == CH_PAIRING) {
        ch_buf_addf(&text,
                    "I do not know you yet. Give this code to whoever runs me, within an hour: %s",
                    ch_buf_str(&m->text));
        ch_parcel_answer(p, ch_buf_str(&text));
    } else {
        ch_parcel_settle(p);
    }
    drop(w);
}

void ch_parcel_meet(struct ch_parcel *p) {
    submit(p, meet, met, ch_sv(NULL, 0));
}

/* --- /pair CODE */

static int note_whose(const struct chela_pairing *p, void *user) {
    ch_buf_add_str(user, p->sender);
    return 0;
}

/* An owner of one channel decides nothing about another. */
static void approve(struct ch_work *w) {
    struct meeting *m = CH_CONTAINER(w, struct meeting, work);
    m->rc = ch_pairing_approve(m->store, m->channel, m->approve, note_whose, &m->text, &m->err);
}

static void approved(struct ch_work *w) {
    struct meeting *m = CH_CONTAINER(w, struct meeting, work);
    struct ch_parcel *p = m->parcel;
    CH_BUF_AUTO text = {0};
    p->accepting = false;
    if (m->rc < 0)
        ch_buf_addf(&text, "That did not work: %s", m->err.message);
    else
        ch_buf_addf(&text, "%s may write from now on.", ch_buf_str(&m->text));
    if (p->chat)
        ch_parcel_answer(p, ch_buf_str(&text));
    else
        ch_parcel_drop(p);
    drop(w);
}

void ch_command_pair(struct ch_parcel *p, struct ch_sv rest) {
    if (rest.n && rest.n <= 64)
        submit(p, approve, approved, rest);
    else
        ch_parcel_answer(p, "Which code? /pair CODE");
}
