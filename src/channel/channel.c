/* channel.c -- see channel.h. */
#include "channel/channel.h"

#include "base/say.h"
#include "base/error.h"
#include "base/log.h"
#include "channel/arrival.h"
#include "channel/attach.h"
#include "channel/channel_host.h"
#include "channel/posting.h"
#include "guard/leak.h"

#define LEAK_AGE_MS 2000 /* of what was read of the .env files of a workspace */
#define LEAK_OVERLAP 1024 /* bytes: longer than a secret that is written in any form */

static void channel_free(struct ch_channel *c) {
    ch_arrivals_release(c);
    ch_posting_release(c);
    ch_channel_host_release(c);
    ch_rules_release(&c->rules);
    if (c->echo)
        c->echo->channel = NULL;
    ch_free(c->account);
    ch_free(c->trouble);
    ch_free(c->last_error);
    ch_free(c);
}

/* Negative: none. */
static int64_t limit_or(int64_t given, int64_t otherwise, int64_t most) {
    return given < 0 ? 0 : CH_MIN(given ? given : otherwise, most);
}

int ch_channel_open(const struct chela_channel_ops *ops, const struct ch_channel_gateway *gateway,
                    const struct chela_channel_opts *o, struct ch_channel **out,
                    struct chela_error *err) {
    struct ch_channel *c = ch_alloc(sizeof(*c));
    struct ch_list *lists[] = {&c->timers,    &c->sockets,  &c->streams, &c->calls,
                               &c->fetchings, &c->sendings, &c->growths, &c->marks};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    c->ops = ops;
    c->gateway = *gateway;
    c->account = ch_strdup(o->account);
    c->streaming = o->streaming;
    c->language = o->language;
    c->said_lines = (size_t)limit_or(o->group_lines, CH_DEFAULT_SAID_LINES, CH_LIMIT_SAID_LINES);
    c->said_ms =
        60000 * limit_or(o->group_minutes, CH_DEFAULT_SAID_MINUTES, CH_LIMIT_SAID_MINUTES);
    ch_rules_init(&c->rules, o);
    ch_channel_host_init(c);
    int rc = ops->open(&c->host, o, &c->self, err);
    if (rc < 0)
        channel_free(c);
    else
        *out = c;
    return rc;
}

/* Closes the channel. No callback of its requests, sockets or timers follows. */
void ch_channel_close(struct ch_channel *c) {
    ch_channel_host_cancel(c);
    c->ops->close(c->self);
    channel_free(c);
}

bool ch_channel_leave(struct ch_channel *c) {
    bool idle = !c->ops->leave || c->ops->leave(c->self);
    return idle && ch_posting_is_idle(c) && ch_list_empty(&c->web.calls);
}

int ch_channel_recall(struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                      struct chela_channel_arrival *out, struct chela_error *err) {
    return c->ops->recall ? c->ops->recall(c->self, ch_text(data), a, out, err)
                          : ch_arrival_recall(c, data, a, out, err);
}

enum chela_channel_judgement ch_channel_judge(struct ch_channel *c,
                                              const struct chela_channel_arrival *in) {
    return c->ops->judge ? c->ops->judge(c->self, in) : ch_arrival_judge(c, in);
}

bool ch_channel_prepare(struct ch_channel *c, struct chela_channel_arrival *in, struct ch_arena *a,
                        const char *workspace, void (*done)(void *tag), void *tag) {
    if (!c->ops->recall)
        return ch_arrival_prepare(c, in, a, workspace, done, tag);
    if (!c->ops->prepare)
        return false;
    c->ops->prepare(c->self, in, a, workspace, done, tag);
    return true;
}

static const char *channel_workspace(const struct ch_channel *c) {
    return c->gateway.workspace ? c->gateway.workspace(c->gateway.user) : NULL;
}

bool ch_channel_mask(const struct ch_channel *c, struct ch_sv text, struct ch_buf *out,
                     struct ch_buf *name) {
    return ch_leak_mask(channel_workspace(c), text, out, name);
}

/* Whether a text would carry a secret to the service; *why: what to say instead. A question shows
 * a call to the person who decides: it has place-holders (ch_channel_mask). */
static bool channel_leaks(const struct ch_channel *c, struct ch_sv text, struct ch_buf *why) {
    CH_BUF_AUTO name = {0};
    if (!ch_leak_find(channel_workspace(c), LEAK_AGE_MS, text, &name))
        return false;
    ch_say_add(why, CH_SAY_ANSWER_HELD_BACK, ch_say_language(text),
               CH_SAY_VALUES(ch_buf_sv(&name)));
    return true;
}

void ch_channel_deliver(struct ch_channel *c, const struct chela_outbound *given) {
    CH_BUF_AUTO why = {0};
    CH_AUTOFREE char *text = ch_outbound_text(given);
    struct chela_outbound other = *given;
    const struct chela_outbound *m = given;
    if (given->approval)
        c->asked_in = ch_say_language_of_question(text);
    if (!given->approval && channel_leaks(c, ch_sv_str(text), &why)) {
        ch_log(CH_LOG_WARN, c->ops->name, "%s", ch_buf_str(&why));
        other.text = ch_buf_str(&why);
        other.error = NULL;
        other.nmedia = 0;
        m = &other;
    }
    if (c->ops->deliver)
        c->ops->deliver(c->self, m);
    else
        ch_posting_deliver(c, m);
}

/* Whether a growing answer holds a secret. What was searched before is searched again only as far
 * as a secret may begin there: a long answer grows by a thousand pieces. */
static bool channel_stream_leaks(struct ch_channel *c, const struct chela_channel_arrival *in,
                                 struct ch_sv text) {
    uint64_t of = ch_hash(0, ch_sv_str(in->id ? in->id : ""));
    struct ch_channel_searched *s = NULL;
    CH_BUF_AUTO why = {0};
    for (size_t i = 0; i < CH_LEN(c->searched) && !s; i++)
        if (c->searched[i].of == of)
            s = &c->searched[i];
    if (!s) {
        s = &c->searched[c->nsearched++ % CH_LEN(c->searched)];
        *s = (struct ch_channel_searched){.of = of};
    }
    size_t from = s->n <= text.n && s->n > LEAK_OVERLAP ? s->n - LEAK_OVERLAP : 0;
    bool leaks = channel_leaks(c, ch_sv(text.p + from, text.n - from), &why);
    s->n = leaks ? 0 : text.n;
    return leaks;
}

void ch_channel_stream(struct ch_channel *c, const struct chela_channel_arrival *in,
                       struct ch_sv text) {
    bool edits = c->ops->post && c->ops->edit_ms && c->streaming;
    if ((!c->ops->stream && !edits) || channel_stream_leaks(c, in, text))
        return;
    if (c->ops->stream)
        c->ops->stream(c->self, in, ch_text(text));
    else
        ch_posting_stream(c, in, text);
}

void ch_channel_working(struct ch_channel *c, const struct chela_channel_arrival *in,
                        bool at_work) {
    if (c->ops->working)
        c->ops->working(c->self, in, at_work);
    if (c->ops->post && !at_work)
        ch_posting_over(c, in);
}

bool ch_channel_is_owner(const struct ch_channel *c, const char *sender) {
    return c->ops->is_owner ? c->ops->is_owner(c->self, sender)
                            : ch_rules_is_owner(&c->rules, sender);
}

size_t ch_channel_most_question(const struct ch_channel *c) {
    return c->ops->most_question ? c->ops->most_question : c->ops->most_text;
}

void ch_channel_write(const char *p, size_t n, void *buf) {
    ch_buf_add(buf, p, n);
}

void ch_channel_decided(struct ch_channel *c, const struct chela_channel_decision *d,
                        const char *what, const struct chela_error *err, struct ch_buf *answer) {
    if (c->ops->decided)
        c->ops->decided(c->self, d, what, err, ch_channel_write, answer);
    else
        ch_posting_decided(d, what, err, answer);
}

void ch_channel_remind(struct ch_channel *c, const char *id, struct ch_sv data) {
    if (id[0] == CH_POSTING_NOTE)
        ch_posting_remind(c, id, data);
    else if (c->ops->remind)
        c->ops->remind(c->self, id, ch_text(data));
}

void ch_channel_reminded(struct ch_channel *c) {
    if (c->ops->post)
        ch_posting_reminded(c);
    if (c->ops->reminded)
        c->ops->reminded(c->self);
}

const char *ch_channel_trouble(const struct ch_channel *c) {
    return c->ops->trouble ? c->ops->trouble(c->self) : c->trouble;
}

bool ch_channel_is_connected(const struct ch_channel *c) {
    return c->last_seen && !ch_channel_trouble(c);
}
