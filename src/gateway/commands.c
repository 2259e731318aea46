/* commands.c -- what people can tell the gateway itself, in a chat.
 *
 * A message that is one of these words is no input for the agent. It is
 * answered through the outbox like everything else, and leaves the inbox only
 * then. */
#include <time.h>

#include "agent/driver.h"
#include "base/log.h"
#include "gateway/channels.h"
#include "io/worker.h"

/* --- /stop */

static void stop(struct ch_parcel *p) {
    struct ch_lane *l = ch_lane_find(p->chat->gw, ch_sv_str(p->in.session));
    bool runs = l && l->running;
    if (runs)
        chela_cancel(l->run, "stopped by /stop");
    ch_parcel_answer(p, runs ? "Stopped." : "Nothing is running here.");
}

/* --- /status */

static void status(struct ch_parcel *p) {
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

static void begin_anew(struct ch_parcel *p) {
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

/* --- /help */

static void help(struct ch_parcel *p);

static const struct {
    const char *name, *help;
    void (*run)(struct ch_parcel *p);
} commands[] = {
    {"/stop", "stop what the agent does here", stop},
    {"/new", "begin a new conversation", begin_anew},
    {"/status", "which agent this is, and whether it works", status},
    {"/help", "these commands", help},
};

static void help(struct ch_parcel *p) {
    CH_BUF_AUTO text = {0};
    for (size_t i = 0; i < CH_LEN(commands); i++)
        ch_buf_addf(&text, "%s%s: %s", i ? "\n" : "", commands[i].name, commands[i].help);
    ch_parcel_answer(p, ch_buf_str(&text));
}

bool ch_parcel_command(struct ch_parcel *p) {
    struct ch_sv word = ch_sv_trim(ch_sv_str(p->in.text));
    for (size_t i = 0; i < CH_LEN(commands); i++)
        if (ch_sv_eq_nocase(word, ch_sv_str(commands[i].name))) {
            commands[i].run(p);
            return true;
        }
    return false;
}
