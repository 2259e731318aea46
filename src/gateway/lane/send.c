/* send.c -- the tool `sessions_send`: an agent writes to another session.
 *
 * The message comes there as one of a user's would, within the bounds of whoever
 * the sender works for, and the answer is the result of the call. A session that
 * is at work is told at once, or after that if it works within other bounds, and
 * answers in its own time: so two that write to each other never wait for each
 * other. Which sessions may be written to is the agent's `sendTo`; how often a run
 * may, and how many messages may follow from one another, is bounded.
 *
 * A call that is made again after a crash sends nothing twice: its key is the id of
 * the event that the message is, by which the other session knows it. What became
 * of it is then looked for there: a run that was cut off is taken up and waited
 * for, an answer that was given is the result. */
#include "agent/machine/principal.h"
#include "agent/handle/driver.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/lane/lane.h"
#include "gateway/http/routes.h"
#include "tool/call/call.h"

struct sending {
    struct ch_lane_wait wait;
    struct ch_watcher watcher;
    chela_call *call;
    struct ch_buf text;
    struct ch_behalf behalf; /* of who sends */
    unsigned hops;           /* this message is the so-manyth in a row */
    char event[sizeof("send:") + 2 * CH_SHA256_SIZE]; /* what the message is known by */
};

/* --- the end of a call */

static void drop(struct sending *s) {
    s->call->doing = NULL;
    ch_list_del(&s->wait.link);
    ch_list_del(&s->watcher.link);
    ch_buf_release(&s->text);
    ch_behalf_release(&s->behalf);
    ch_free(s);
}

static void worked(chela_call *call) {
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

static void refuse(chela_call *call, const char *type, const char *why) {
    chela_result_error(call, type, "%s", why);
    worked(call);
}

static void fail(struct sending *s, const char *type, const char *why) {
    chela_call *call = s->call;
    chela_result_error(call, type, "%s", why);
    drop(s);
    worked(call);
}

static void on_event(struct ch_watcher *w, const struct chela_event *ev) {
    struct sending *s = CH_CONTAINER(w, struct sending, watcher);
    chela_call *call = s->call;
    if (ev->type != CHELA_EV_RUN_END)
        return;
    if (strcmp(ev->end.status, "done") != 0) {
        CH_BUF_AUTO why = {0};
        ch_buf_addf(&why, "The other session did not answer: %s.", ev->end.reason);
        fail(s, "unavailable", ch_buf_str(&why));
        return;
    }
    chela_result_text(call, ev->end.text.p, ev->end.text.n);
    drop(s);
    worked(call);
}

/* --- its way */

/* It joins the run there only within the bounds of that run; otherwise it waits
 * for one of its own, and its count with it. */
static int deliver(const struct sending *s, struct ch_lane *l, bool *waits,
                   struct chela_error *err) {
    struct chela_run_opts o = CHELA_RUN_OPTS(.user = NULL);
    CH_BUF_AUTO deny = {0};
    size_t before = ch_inflow_waiting(l->session);
    ch_behalf_apply(&s->behalf, &o);
    ch_lane_deny_acts(l, &o, &deny); /* the sender's chat is another */
    o.approve = o.approve ? o.approve : "ask";
    o.event_id = l->session->keep ? s->event : NULL;
    int rc = ch_lane_send(l, ch_buf_sv(&s->text), &o, err);
    if (rc < 0)
        return rc;
    size_t after = ch_inflow_waiting(l->session);
    *waits = after > before;
    if (after)
        l->due = CH_MAX(l->due, s->hops);
    if (!*waits)
        l->hops = CH_MAX(l->hops, s->hops);
    return 0;
}

static void leave_it(struct sending *s, bool waits) {
    chela_call *call = s->call;
    chela_result_printf(call, "That session is at work. %s, and will answer in its own time, "
                              "not here.", waits ? "It will be told after that" : "It was told");
    drop(s);
    worked(call);
}

static void wait_for_answer(struct sending *s, struct ch_lane *l) {
    s->watcher.event = on_event;
    ch_lane_watch(l, &s->watcher);
}

/* --- its way, once more after a crash */

static bool has_message(const struct ch_msg *m, struct ch_sv text) {
    for (uint32_t i = 0; m->kind == CH_MSG_USER && i < m->nblocks; i++)
        if (m->blocks[i].text.n && memmem(m->blocks[i].text.p, m->blocks[i].text.n, text.p, text.n))
            return true;
    return false;
}

/* The last words said there before somebody else wrote; NULL: none, or they answer
 * others as well, whose messages were joined with this one. */
static const struct ch_msg *answer_to(const struct ch_transcript *t, struct ch_sv text) {
    const struct ch_msg *answer = NULL;
    size_t i = t->n;
    while (i > 0 && !has_message(t->msgs[i - 1], text))
        i--;
    if (i > 0 && !ch_sv_eq(t->msgs[i - 1]->blocks[0].text, text))
        return NULL;
    for (; i > 0 && i < t->n && t->msgs[i]->kind != CH_MSG_USER; i++)
        if (t->msgs[i]->kind == CH_MSG_ASSISTANT)
            answer = t->msgs[i];
    return answer;
}

static void give_known(struct sending *s, const struct ch_lane *l) {
    const struct ch_msg *m = answer_to(&l->session->transcript, ch_buf_sv(&s->text));
    CH_BUF_AUTO text = {0};
    bool calls = false;
    for (uint32_t i = 0; m && i < m->nblocks; i++) {
        calls |= m->blocks[i].type == CH_BLOCK_TOOL_CALL;
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_add_sv(&text, m->blocks[i].text);
    }
    if (!m || calls) {
        fail(s, "interrupted", "Outcome unknown: the message was delivered, and then the program "
                               "was interrupted. It is not known here what was answered.");
        return;
    }
    chela_call *call = s->call;
    chela_result_text(call, text.p, text.n);
    drop(s);
    worked(call);
}

/* The message is there. took_up: with the run that is in progress since now. */
static void look_for_answer(struct sending *s, struct ch_lane *l, bool took_up) {
    struct chela_run_opts o = CHELA_RUN_OPTS(.user = NULL);
    bool begins = !l->running && ch_inflow_waiting(l->session) > 0 &&
                  ch_lane_send(l, ch_sv(NULL, 0), &o, NULL) == 0;
    if (took_up || begins)
        wait_for_answer(s, l);
    else if (l->running)
        leave_it(s, false);
    else if (strcmp(chela_session_status(l->session), "paused") == 0)
        fail(s, "unavailable", "The other session has the message, and waits for a person.");
    else
        give_known(s, l);
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *failed) {
    struct sending *s = CH_CONTAINER(w, struct sending, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    bool waits = false;
    if (failed) {
        fail(s, "unavailable", err.message);
        return;
    }
    bool took_up = ch_lane_was_cut_off(l) && ch_lane_resume(l, "ask", &err) == 0;
    bool at_work = l->running;
    int rc = deliver(s, l, &waits, &err);
    if (rc == CHELA_EEXIST)
        look_for_answer(s, l, took_up);
    else if (rc < 0)
        fail(s, "unavailable", err.message);
    else if (at_work)
        leave_it(s, waits);
    else
        wait_for_answer(s, l);
}

static struct sending *new_sending(chela_call *call, const struct ch_lane *from) {
    struct sending *s = ch_alloc(sizeof(*s));
    unsigned char digest[CH_SHA256_SIZE];
    struct chela_run_opts o = CHELA_RUN_OPTS(.user = NULL);
    s->call = call;
    s->hops = from->hops + 1;
    s->wait.ready = on_ready;
    ch_behalf_apply(&from->session->run->behalf, &o);
    s->behalf = ch_behalf_of(&o);
    ch_buf_addf(&s->text, "[from session %s] %.*s", from->session->key,
                CH_SV_FMT(ch_json_get_str(call->args, "message")));
    ch_sha256_of(ch_sv_str(call->key), digest);
    memcpy(s->event, "send:", 5);
    ch_sha256_hex(digest, s->event + 5);
    call->doing = s;
    return s;
}

struct post {
    chela_gateway *gw; /* NULL: it was closed */
    char *patterns;    /* owned */
};

/* Why not; NULL: it may be sent. */
static const char *obstacle(const struct post *p, const struct ch_lane *from, struct ch_sv to) {
    if (!from || !from->session->run)
        return "Only an agent in a session of its own can write to others.";
    if (ch_sv_is(to, from->session->key))
        return "This is the session itself.";
    if (!ch_tool_matches(ch_sv_str(p->patterns), to) || ch_lane_key_check(to, NULL) < 0)
        return "This session may not be written to from here.";
    if (from->hops >= CH_LIMIT_HOPS)
        return "Enough messages followed from one another. Answer, and do not write on.";
    return from->sends >= CH_LIMIT_RUN_SENDS ? "Enough messages were sent in this run." : NULL;
}

static void start(chela_call *call) {
    const struct post *p = call->tool->impl;
    struct ch_sv to = ch_json_get_str(call->args, "session");
    struct ch_lane *from = p->gw ? ch_lane_find(p->gw, ch_sv_str(call->session)) : NULL, *lane;
    struct chela_error err = {0};
    const char *why = obstacle(p, from, to);
    if (why) {
        refuse(call, "permission_denied", why);
        return;
    }
    CH_AUTOFREE char *key = ch_strndup(to.p, to.n);
    struct ch_lane_opts o = {.agent = p->gw->agents[0], .key = key};
    lane = ch_lane_find(p->gw, to);
    if (!lane && ch_lane_use(p->gw, &o, &lane, &err) < 0) {
        refuse(call, "unavailable", err.message);
        return;
    }
    from->sends++;
    ch_lane_when_ready(lane, &new_sending(call, from)->wait);
}

static void cancel(chela_call *call) {
    if (!call->doing)
        return;
    drop(call->doing); /* what it began there goes on */
    worked(call);
}

static void abandon(chela_call *call) {
    if (call->doing)
        drop(call->doing);
}

static void free_post(void *impl) {
    struct post *p = impl;
    ch_free(p->patterns);
    ch_free(p);
}

static const struct ch_tool_ops ops = {.name = "send",
                                       .start = start,
                                       .cancel = cancel,
                                       .abandon = abandon,
                                       .free = free_post};

#define NAME "sessions_send"

int ch_send_init(chela_gateway *gw, chela_agent *const *agents, struct chela_error *err) {
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = NAME,
            .description = "Write a message to another session, and get the answer of the agent "
                           "there.",
            .schema = "{\"type\":\"object\",\"properties\":{\"session\":{\"type\":\"string\","
                      "\"description\":\"its key\"},\"message\":{\"type\":\"string\","
                      "\"minLength\":1,\"maxLength\":65536}},\"required\":[\"session\","
                      "\"message\"],\"additionalProperties\":false}",
            .effect = CHELA_EFFECT_KEYED, .permission = CHELA_PERM_WRITE,
            .timeout_ms = CH_DEFAULT_SEND_MS, .max_retries = -1);
    int rc = 0;
    for (; rc == 0 && *agents; agents++) {
        const char *to = (*agents)->send_to;
        if (!to || ch_registry_find(&(*agents)->registry, ch_sv_str(tool.name)))
            continue;
        struct post *p = ch_alloc(sizeof(*p));
        *p = (struct post){gw, ch_strdup(to)};
        rc = ch_registry_add(&(*agents)->registry, &tool, &ops, p, err);
        if (rc < 0)
            free_post(p);
    }
    return rc;
}

void ch_send_release(const chela_gateway *gw, chela_agent *agent) {
    const struct ch_tool *t = ch_registry_find(&agent->registry, CH_SV(NAME));
    struct post *p = t && t->ops == &ops ? t->impl : NULL;
    if (!p || p->gw != gw)
        return;
    p->gw = NULL; /* agents made from this one may have it, too */
    ch_registry_remove(&agent->registry, NAME);
}
