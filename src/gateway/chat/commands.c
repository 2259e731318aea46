/* commands.c -- what people can tell the gateway itself, in a chat.
 *
 * A message that begins with one of these words is no input for the agent. It is
 * answered through the outbox like everything else, and leaves the inbox only
 * then. Some are for the channel's owners alone. */
#include <time.h>

#include "agent/handle/driver.h"
#include "base/log.h"
#include "gateway/chat/channels.h"
#include "io/worker.h"

/* --- /stop */

static void stop(struct ch_parcel *p, struct ch_sv rest) {
    bool waited = ch_desk_deny(p->chat, p->in.session, p->in.about.sender_id);
    struct ch_lane *l = ch_lane_find(p->chat->gw, ch_sv_str(p->in.session));
    bool runs = l && l->running;
    (void)rest;
    if (runs)
        chela_cancel(l->run, "stopped by /stop");
    ch_parcel_answer(p, runs || waited ? "Stopped." : "Nothing is running here.");
}

/* --- /status */

static void status(struct ch_parcel *p, struct ch_sv rest) {
    (void)rest;
    chela_gateway *gw = p->chat->gw;
    struct ch_lane *l = ch_lane_find(gw, ch_sv_str(p->in.session));
    chela_agent *agent = l ? l->agent : ch_gateway_agent(gw, ch_sv_str(p->chat->agent));
    CH_BUF_AUTO text = {0};
    agent = agent ? agent : gw->agents[0];
    ch_buf_addf(&text, "agent: %s\nmodel: %s\nsession: %s\nnow: %s", agent->id ? agent->id : "-",
                agent->ntargets ? agent->targets[0]->spec : "-", p->in.session,
                l && l->running ? "working" : "idle");
    ch_parcel_answer(p, ch_buf_str(&text));
}

/* --- /new: what was said is kept under another key */

#define TRIES 50 /* our own hold on it may still be on its way to the store */

struct renewal {
    struct ch_work work;
    struct ch_parcel *parcel; /* read on the loop alone */
    chela_store *store;
    char *from, *to; /* owned */
    int rc;
    struct chela_error err;
};

static void renew(struct ch_work *w) {
    struct renewal *r = CH_CONTAINER(w, struct renewal, work);
    const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};
    r->rc = chela_store_fork(r->store, r->from, -1, r->to, &r->err);
    if (r->rc == CHELA_ENOENT) {
        r->rc = 0;
        return;
    }
    if (r->rc == CHELA_EEXIST)
        r->rc = 0; /* by a process that died before the next step */
    for (int i = 0; r->rc == 0 && i < TRIES; i++) {
        r->rc = chela_store_delete(r->store, r->from, &r->err);
        if (r->rc != CHELA_EBUSY)
            break;
        r->rc = i + 1 < TRIES ? 0 : r->rc;
        nanosleep(&moment, NULL);
    }
}

static void drop(struct ch_work *w) {
    struct renewal *r = CH_CONTAINER(w, struct renewal, work);
    ch_free(r->from);
    ch_free(r->to);
    ch_free(r);
}

static void renewed(struct ch_work *w) {
    struct renewal *r = CH_CONTAINER(w, struct renewal, work);
    struct ch_parcel *p = r->parcel;
    p->accepting = false;
    if (!p->chat) {
        ch_parcel_drop(p);
    } else if (r->rc == 0) {
        ch_parcel_answer(p, "This is a new conversation.");
    } else {
        ch_log(CH_LOG_WARN, "gateway", "session %s cannot begin anew: %s", r->from,
               r->err.message);
        ch_parcel_answer(p, "A new conversation cannot begin just now.");
    }
    drop(w);
}

static void begin_anew(struct ch_parcel *p, struct ch_sv rest) {
    (void)rest;
    struct ch_lane *l = ch_lane_find(p->chat->gw, ch_sv_str(p->in.session));
    struct renewal *r = ch_alloc(sizeof(*r));
    CH_BUF_AUTO to = {0};
    if (l)
        ch_lane_close(l);
    ch_buf_addf(&to, "%s~%s", p->in.session, p->in.about.message_id);
    r->work = (struct ch_work){.run = renew, .done = renewed, .dropped = drop};
    r->parcel = p;
    r->store = p->chat->gw->store;
    r->from = ch_strdup(p->in.session);
    r->to = ch_buf_take(&to);
    p->accepting = true;
    ch_work_submit(p->chat->gw->rt->workers, &r->work);
}

/* --- /compact [WHAT MATTERS] */

static void on_compacting(struct ch_watcher *w, const struct chela_event *ev) {
    struct ch_parcel *p = CH_CONTAINER(w, struct ch_parcel, watcher);
    if (ev->type == CHELA_EV_COMPACTION)
        p->in.text = ch_arena_printf(&p->arena, "Condensed: about %zu tokens instead of %zu.",
                                     ev->compaction.tokens_after, ev->compaction.tokens_before);
    if (ev->type != CHELA_EV_RUN_END)
        return;
    if (ev->end.error.n)
        p->in.text = ch_arena_printf(&p->arena, "It did not work: %.*s", (int)ev->end.error.n,
                                     ev->end.error.p);
    ch_parcel_answer(p, p->in.text);
}

static void on_compact_ready(struct ch_lane_wait *w, struct ch_lane *l,
                             const struct chela_error *failed) {
    struct ch_parcel *p = CH_CONTAINER(w, struct ch_parcel, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    struct ch_sv rest = ch_sv_trim(ch_sv_str(p->in.text));
    ch_sv_split(&rest, ' ');
    const char *focus = rest.p ? ch_arena_str(&p->arena, ch_sv_trim(rest)) : NULL;
    int rc = failed ? err.code : ch_lane_compact(l, focus, &err);
    if (rc < 0) {
        ch_parcel_answer(p, rc == CHELA_EBUSY || rc == CHELA_ESTATE
                                ? "The agent is at work here: say it again when it is done."
                                : err.message);
        return;
    }
    p->in.text = "There is nothing to condense.";
    p->watcher.event = on_compacting;
    ch_lane_watch(l, &p->watcher);
}

static void compact(struct ch_parcel *p, struct ch_sv rest) {
    struct chela_error err = {0};
    struct ch_lane *l;
    (void)rest;
    if (ch_chat_lane(p->chat, p->in.session, &l, &err) < 0) {
        ch_parcel_answer(p, err.message);
        return;
    }
    p->wait.ready = on_compact_ready;
    ch_lane_when_ready(l, &p->wait);
}

/* --- /approve [ID] [allow-once|allow-always|deny] */

static bool is_decision(struct ch_sv word) {
    return ch_sv_is(word, "allow-once") || ch_sv_is(word, "allow-always") ||
           ch_sv_is(word, "deny");
}

static void on_decided(struct ch_sv answer, void *tag) {
    struct ch_parcel *p = tag;
    p->accepting = false;
    if (p->chat)
        ch_parcel_answer(p, ch_arena_str(&p->arena, answer));
    else
        ch_parcel_drop(p);
}

static void approve(struct ch_parcel *p, struct ch_sv rest) {
    struct ch_sv id = ch_sv_split(&rest, ' '), word = ch_sv_trim(rest);
    if (is_decision(id) && !word.n) {
        word = id;
        id = ch_sv("", 0);
    }
    const char *found = ch_desk_find(p->chat, p->in.session, id);
    if (!found) {
        ch_parcel_answer(p, id.n ? "No call with that id waits here."
                                 : "Say which: /approve ID allow-once, allow-always or deny.");
        return;
    }
    struct ch_decision d = {.session = p->in.session, .approval = found,
                            .word = word.n ? ch_arena_str(&p->arena, word) : "allow-once",
                            .by = p->in.about.sender_id};
    p->accepting = true;
    ch_desk_decide_in_words(p->chat, &d, on_decided, p);
}

/* --- all of them */

static void help(struct ch_parcel *p, struct ch_sv rest);

static const struct {
    const char *name, *words, *help;
    bool owner; /* for owners alone */
    void (*run)(struct ch_parcel *p, struct ch_sv rest);
} commands[] = {
    {"/stop", "", "stop what the agent does here", false, stop},
    {"/new", "", "begin a new conversation", false, begin_anew},
    {"/compact", " [WHAT MATTERS]", "condense what was said so far", false, compact},
    {"/status", "", "which agent this is, and whether it works", false, status},
    {"/approve", " [ID] [allow-once|allow-always|deny]", "decide about a call that waits", true,
     approve},
    {"/pair", " CODE", "let somebody who was given this code write", true, ch_command_pair},
    {"/model", " [PROVIDER/MODEL|default]", "which model answers here", true, ch_command_model},
    {"/reasoning", " [off|low|medium|high|default]", "how much it thinks", true,
     ch_command_reasoning},
    {"/help", "", "these commands", false, help},
};

static void help(struct ch_parcel *p, struct ch_sv rest) {
    CH_BUF_AUTO text = {0};
    (void)rest;
    for (size_t i = 0; i < CH_LEN(commands); i++)
        ch_buf_addf(&text, "%s%s%s: %s", i ? "\n" : "", commands[i].name, commands[i].words,
                    commands[i].help);
    ch_parcel_answer(p, ch_buf_str(&text));
}

static bool is_owner(const struct ch_parcel *p) {
    const struct ch_channel *c = p->chat->channel;
    return c->ops->is_owner && p->in.about.sender_id &&
           c->ops->is_owner(p->chat->channel, p->in.about.sender_id);
}

bool ch_parcel_command(struct ch_parcel *p) {
    struct ch_sv rest = ch_sv_trim(ch_sv_str(p->in.text)), word = ch_sv_split(&rest, ' ');
    rest = rest.p ? ch_sv_trim(rest) : ch_sv("", 0);
    for (size_t i = 0; i < CH_LEN(commands); i++) {
        if (!ch_sv_eq_nocase(word, ch_sv_str(commands[i].name)) ||
            (rest.n && !*commands[i].words))
            continue;
        if (commands[i].owner && !is_owner(p))
            ch_parcel_answer(p, "Only an owner of this channel may do that.");
        else
            commands[i].run(p, rest);
        return true;
    }
    return false;
}
