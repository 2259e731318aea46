/* channel_probe.c -- see channel_probe.h. */
#include "gateway/chat/channel_probe.h"

#include <stdio.h>

#include "agent/api/diagnostics.h"
#include "agent/journal/outbox.h"
#include "base/error.h"
#include "channel/id.h"

#define MARK_BYTES 6

struct ch_channel_probe {
    struct ch_echo echo; /* its channel is the probe's; NULL: closed meanwhile */
    chela_runtime *rt;
    const char *title; /* title of the service */
    char name[64];
    char mark[2 * MARK_BYTES + 1];
    char key[32];
    bool echoes, heard, over;
    bool has_outcome; /* `what` and `note` hold the last outcome */
    enum chela_receipt what;
    char *note; /* owned; may be NULL */
    int64_t began, heard_ms;
    struct ch_timer timer;
    ch_channel_probe_fn *done;
    void *user;
};

static int64_t probe_now(const struct ch_channel_probe *p) {
    return ch_mono_ms(ch_loop_clock(p->rt->loop));
}

static bool probe_is_complete(const struct ch_channel_probe *p) {
    if (!p->has_outcome || p->what == CHELA_RECEIPT_UNCERTAIN)
        return false;
    return p->what != CHELA_RECEIPT_SENT || p->heard || !p->echoes;
}

static void probe_on_time(struct ch_timer *t) {
    struct ch_channel_probe *p = CH_CONTAINER(t, struct ch_channel_probe, timer);
    p->over = true;
    p->done(p, p->user);
}

/* Not at once: the caller may be the channel. */
static void probe_look(struct ch_channel_probe *p) {
    if (!p->over && probe_is_complete(p))
        ch_timer_start(p->rt->loop, &p->timer, 0, probe_on_time);
}

static void probe_on_echo(struct ch_echo *e) {
    struct ch_channel_probe *p = CH_CONTAINER(e, struct ch_channel_probe, echo);
    if (p->heard)
        return;
    p->heard = true;
    p->heard_ms = probe_now(p) - p->began;
    probe_look(p);
}

static void probe_tell(struct ch_channel_probe *p, enum chela_receipt what, const char *note) {
    p->has_outcome = true;
    p->what = what;
    ch_free(p->note);
    p->note = ch_strdup(note);
    probe_look(p);
}

static void probe_on_receipt(enum chela_receipt what, const char *note, void *user) {
    probe_tell(user, what, note);
}

static void probe_make_mark(struct ch_channel_probe *p, struct ch_channel *c) {
    unsigned char bytes[MARK_BYTES];
    c->host.random(bytes, sizeof(bytes), c);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(p->mark + 2 * i, 3, "%02x", bytes[i]);
    snprintf(p->key, sizeof(p->key), "test-%s", p->mark);
}

static int probe_send(struct ch_channel_probe *p, const char *chat, struct chela_error *err) {
    CH_BUF_AUTO to = {0}, text = {0}, session = {0};
    ch_id_add(&to, ch_sv_str(chat));
    ch_buf_addf(&text, "Test message of chela: %s", p->mark);
    ch_buf_addf(&session, "channels-test:%s", p->name);
    struct chela_outbound m =
        CHELA_OUTBOUND(.key = p->key, .session = ch_buf_str(&session), .channel = p->name,
                       .to = ch_buf_str(&to), .text = ch_buf_str(&text));
    int rc = chela_outbox_put(p->rt, &m, NULL, NULL, err);
    if (rc == 0)
        ch_outbox_watch(p->rt, p->key, probe_on_receipt, p);
    return rc;
}

int ch_channel_probe_start(struct ch_channel *c, const char *to, ch_channel_probe_fn *done,
                           void *user, struct ch_channel_probe **out, struct chela_error *err) {
    if (c->echo)
        return ch_fail(err, CHELA_EBUSY, "another test of this channel is in progress");
    struct ch_channel_probe *p = ch_alloc(sizeof(*p));
    p->rt = c->gateway.rt;
    p->title = c->ops->title ? c->ops->title : c->ops->name;
    snprintf(p->name, sizeof(p->name), "%s", c->ops->name);
    p->echoes = c->ops->features & CHELA_CHANNEL_ECHO;
    p->done = done;
    p->user = user;
    p->began = probe_now(p);
    probe_make_mark(p, c);
    p->echo = (struct ch_echo){.channel = c, .mark = p->mark, .heard = probe_on_echo};
    c->echo = &p->echo;
    int rc = probe_send(p, to, err);
    if (rc < 0) {
        ch_channel_probe_drop(p);
        return rc;
    }
    ch_timer_start(p->rt->loop, &p->timer, CH_CHANNEL_PROBE_MS, probe_on_time);
    *out = p;
    return 0;
}

void ch_channel_probe_drop(struct ch_channel_probe *p) {
    if (!p)
        return;
    if (p->echo.channel)
        p->echo.channel->echo = NULL;
    ch_outbox_watch(p->rt, p->key, NULL, NULL);
    ch_timer_stop(p->rt->loop, &p->timer);
    ch_free(p->note);
    ch_free(p);
}

/* --- the outcome */

void ch_channel_finding(struct ch_jw *w, const char *name, const char *status, const char *detail,
                        const char *mend) {
    ch_diagnostics_row(w, "channel", name, status, detail, mend);
}

static void probe_write_sending(const struct ch_channel_probe *p, struct ch_jw *w) {
    CH_BUF_AUTO out = {0};
    const char *note = p->note && *p->note ? p->note : NULL;
    bool sent = p->has_outcome && p->what == CHELA_RECEIPT_SENT;
    if (sent)
        ch_buf_addf(&out, "sent: %s took the message%s%s", p->title, note ? ", id " : "",
                    note ? note : "");
    else if (p->has_outcome && p->what == CHELA_RECEIPT_REFUSED)
        ch_buf_addf(&out, "%s refuses the message: %s", p->title, note ? note : "no reason given");
    else
        ch_buf_addf(&out, "the message is not sent yet: %s",
                    note ? note : "there is no answer from the service");
    ch_channel_finding(w, p->name, sent ? "ok" : "fail", ch_buf_str(&out),
                       sent                               ? NULL
                       : p->what == CHELA_RECEIPT_REFUSED ? "is the chat right (--to), and may "
                                                            "the bot write there?"
                       : p->what == CHELA_RECEIPT_ELSEWHERE
                           ? "test the gateway that is connected"
                           : "the gateway repeats the message");
}

void ch_channel_probe_write(const struct ch_channel_probe *p, struct ch_jw *w) {
    CH_BUF_AUTO out = {0};
    probe_write_sending(p, w);
    if (p->heard) {
        ch_buf_addf(&out, "heard: the message came back as an event after %lld ms",
                    (long long)p->heard_ms);
        ch_channel_finding(w, p->name, "ok", ch_buf_str(&out), NULL);
    } else if (!p->echoes) {
        ch_buf_addf(&out, "not tested: incoming messages; %s does not deliver a bot's own messages",
                    p->title);
        ch_channel_finding(w, p->name, "warn", ch_buf_str(&out),
                           "write to the bot, then look at 'chela channels list'");
    } else if (p->has_outcome && p->what == CHELA_RECEIPT_SENT) {
        ch_buf_addf(&out, "the message did not come back as an event within %d s",
                    CH_CHANNEL_PROBE_MS / 1000);
        ch_channel_finding(w, p->name, "fail", ch_buf_str(&out),
                           "is the bot a member of the chat, and does it get the events of "
                           "messages there?");
    }
}
