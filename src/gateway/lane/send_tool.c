/* send_tool.c -- the tool `sessions_send`: an agent writes to another session.
 *
 * The message begins a run there like a message of a user, with the permissions of the
 * sender's principal; the reply is the result of the call. If the other session has a run in
 * progress, the message joins that run, or is queued if the run has another principal; the
 * call then returns at once, so two sessions that write to each other never wait for each
 * other. The agent's `sendTo` lists the sessions it may write to. The number of messages
 * that a run sends, and that follow from one another, is limited.
 *
 * A call that is repeated after a crash does not send twice: the call's key is the id of the
 * message in the inbox, which accepts an id once. The call then looks for the outcome there: an
 * interrupted run is resumed and awaited, a stored reply becomes the result. */
#include "gateway/lane/send_tool.h"

#include "agent/handle/run_origin.h"
#include "agent/handle/session.h"
#include "agent/machine/principal.h"
#include "agent/session/input_queue.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"
#include "gateway/lane/tail.h"
#include "gateway/request/gateway_state.h"
#include "tool/call/call.h"

struct send_call {
    struct ch_lane_wait wait;
    struct ch_lane_watcher watcher;
    chela_gateway *gw;
    char *to; /* owned: key of the session */
    struct ch_delivery *delivery; /* being stored or delivered; else NULL */
    chela_call *call;
    struct ch_buf text;
    struct ch_principal principal; /* the principal of the sender */
    unsigned hops; /* messages of the chain that led here, including this message */
    char event[sizeof(CH_SEND_EVENT) + 2 * CH_SHA256_SIZE]; /* id of the message */
};

/* --- the end of a call */

static void send_free(struct send_call *s) {
    s->call->doing = NULL;
    ch_list_del(&s->wait.link);
    ch_lane_unwatch(&s->watcher);
    if (s->delivery)
        ch_delivery_leave(s->delivery);
    ch_free(s->to);
    ch_buf_release(&s->text);
    ch_principal_release(&s->principal);
    ch_free(s);
}

static void send_finish_call(chela_call *call) {
    ch_answer_conclude(&call->answer, 0, &call->made);
    ch_call_worked(call);
}

static void send_refuse(chela_call *call, const char *type, const char *why) {
    chela_result_error(call, type, "%s", why);
    send_finish_call(call);
}

static void send_fail(struct send_call *s, const char *type, const char *why) {
    chela_call *call = s->call;
    chela_result_error(call, type, "%s", why);
    send_free(s);
    send_finish_call(call);
}

static void send_on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct send_call *s = CH_CONTAINER(w, struct send_call, watcher);
    chela_call *call = s->call;
    if (ev->type != CHELA_EV_RUN_END)
        return;
    if (!ch_reason_answers((enum ch_reason)ev->end.reason)) {
        CH_BUF_AUTO why = {0};
        ch_buf_addf(&why, "The other session did not reply: %s.",
                    chela_reason_name(ev->end.reason));
        send_fail(s, "unavailable", ch_buf_str(&why));
        return;
    }
    chela_result_text(call, ev->end.text.p, ev->end.text.n);
    send_free(s);
    send_finish_call(call);
}

/* --- sending */

/* The message joins a run of the same principal; otherwise the message is queued together
 * with its hops. event: its id in the inbox; NULL: the session is not stored. */
static int send_into(struct ch_lane *l, struct ch_sv text, const struct ch_principal *principal,
                     unsigned hops, const char *event, bool *waits, struct chela_error *err) {
    struct chela_run_opts o = CHELA_RUN_OPTS(.user = NULL);
    CH_BUF_AUTO deny = {0};
    size_t before = ch_input_queue_waiting(l->session);
    ch_principal_apply(principal, &o);
    ch_lane_deny_chat_tools(l, &o, &deny); /* the sender does not write in this chat */
    o.approve = o.approve ? o.approve : CHELA_APPROVE_ASK;
    o.event_id = event;
    int rc = ch_lane_send(l, text, &o, err);
    if (rc < 0)
        return rc;
    size_t after = ch_input_queue_waiting(l->session);
    *waits = after > before;
    if (after)
        l->queued_hops = CH_MAX(l->queued_hops, hops);
    if (!*waits)
        l->hops = CH_MAX(l->hops, hops);
    return 0;
}

/* --- as an event of the inbox */

static int send_apply(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err) {
    struct ch_principal principal = ch_principal_read(d->data);
    bool waits = false, at_work = l->running;
    if (ch_lane_was_interrupted(l))
        at_work = ch_lane_resume(l, CHELA_APPROVE_ASK, err) == 0;
    int rc = send_into(l, ch_json_get_str(d->data, "text"), &principal,
                       (unsigned)ch_json_int(ch_json_get(d->data, "hops"), 1), d->id, &waits, err);
    d->action = waits ? "queued" : at_work ? "joined" : "run";
    ch_principal_release(&principal);
    return rc;
}

const struct ch_delivery_kind ch_send_message = {
    .name = "send", .turn = CH_TURN_JOINS, .apply = send_apply};

static void send_write(const struct send_call *s, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_kstr(&w, "text", ch_buf_sv(&s->text));
    ch_jw_kint(&w, "hops", s->hops);
    ch_principal_write(&s->principal, &w);
}

static void send_report_queued(struct send_call *s, bool waits) {
    chela_call *call = s->call;
    chela_result_printf(call, "That session is at work. %s, and will answer in its own time, "
                              "not here.", waits ? "It will be told after that" : "It was told");
    send_free(s);
    send_finish_call(call);
}

static void wait_for_answer(struct send_call *s, struct ch_lane *l) {
    ch_lane_unwatch(&s->watcher);
    s->watcher.event = send_on_event;
    ch_lane_watch(l, &s->watcher);
}

/* --- sending again after a crash */

static bool has_message(const struct ch_msg *m, struct ch_sv text) {
    for (uint32_t i = 0; m->kind == CH_MSG_USER && i < m->nblocks; i++)
        if (m->blocks[i].text.n && memmem(m->blocks[i].text.p, m->blocks[i].text.n, text.p, text.n))
            return true;
    return false;
}

/* The last reply to the message. NULL: none, or the message was joined with others, so that
 * the reply answers those, too. */
static const struct ch_msg *find_stored_answer(const struct ch_transcript *t, struct ch_sv text) {
    const struct ch_msg *answer = NULL;
    size_t i = t->n;
    while (i > 0 && !has_message(t->msgs[i - 1], text))
        i--;
    if (i > 0 && !ch_sv_eq(ch_msg_words(t->msgs[i - 1]), text))
        return NULL;
    for (; i > 0 && i < t->n && t->msgs[i]->kind != CH_MSG_USER; i++)
        if (t->msgs[i]->kind == CH_MSG_ASSISTANT)
            answer = t->msgs[i];
    return answer;
}

static void send_fail_unknown(struct send_call *s) {
    send_fail(s, "interrupted",
              "Outcome unknown: the message was delivered, then the program was "
              "interrupted. The reply is not known.");
}

static void give_stored_answer(struct send_call *s, const struct ch_lane *l) {
    const struct ch_msg *m = find_stored_answer(&l->session->transcript, ch_buf_sv(&s->text));
    CH_BUF_AUTO text = {0};
    bool calls = false;
    for (uint32_t i = 0; m && i < m->nblocks; i++) {
        calls |= m->blocks[i].type == CH_BLOCK_TOOL_CALL;
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_add_sv(&text, m->blocks[i].text);
    }
    if (!m || calls) {
        send_fail_unknown(s);
        return;
    }
    chela_call *call = s->call;
    chela_result_text(call, text.p, text.n);
    send_free(s);
    send_finish_call(call);
}

/* True if the newest run answers this message and no other one. */
static bool is_last_message(const struct ch_transcript *t, struct ch_sv text) {
    size_t i = t->n;
    while (i > 0 && t->msgs[i - 1]->kind != CH_MSG_USER)
        i--;
    return i > 0 && t->msgs[i - 1]->nblocks && ch_sv_eq(t->msgs[i - 1]->blocks[0].text, text);
}

/* The other session has the message. resumed: so has the run that was just resumed. */
static void look_for_answer(struct send_call *s, struct ch_lane *l, bool resumed) {
    bool begins = ch_lane_start_waiting(l);
    bool works = l->running && is_last_message(&l->session->transcript, ch_buf_sv(&s->text));
    if (resumed || begins || works)
        wait_for_answer(s, l);
    else if (l->running)
        send_report_queued(s, false);
    else if (chela_session_status(l->session) == CHELA_SESSION_PAUSED)
        send_fail(s, "unavailable",
                  "The other session received the message and waits for a person.");
    else
        give_stored_answer(s, l);
}

static void send_on_found(struct ch_lane_wait *w, struct ch_lane *l,
                          const struct chela_error *failed) {
    struct send_call *s = CH_CONTAINER(w, struct send_call, wait);
    struct chela_error err = {0};
    if (failed) { /* or another gateway has the session: the model must not send again */
        send_fail_unknown(s);
        return;
    }
    bool resumed =
        ch_lane_was_interrupted(l) && ch_lane_resume(l, CHELA_APPROVE_ASK, &err) == 0;
    if (!resumed && ch_lane_inbox_waits(l))
        wait_for_answer(s, l); /* the session will take up the message */
    else
        look_for_answer(s, l, resumed);
}

/* The message was sent before a crash: its session has it, or will. */
static void send_again(struct send_call *s, chela_gateway *gw, const char *key) {
    struct ch_lane_opts o = {.agent = gw->agents[0], .key = key, .own_agent = true};
    struct ch_lane *lane = ch_lane_find(gw, ch_sv_str(key));
    struct chela_error err = {0};
    s->wait.ready = send_on_found;
    if (!lane && ch_lane_use(gw, &o, &lane, &err) < 0)
        send_fail(s, "unavailable", err.message);
    else
        ch_lane_when_ready(lane, &s->wait);
}

/* Another gateway has the session: the outcome of the message is read from the journal. */
static void send_on_tail_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct send_call *s = CH_CONTAINER(w, struct send_call, watcher);
    const char *as = ch_tail_taken_as(w);
    if (as && strcmp(as, "start") != 0)
        send_report_queued(s, strcmp(as, "steer") != 0);
    else
        send_on_event(w, ev);
}

static void send_settled(const struct chela_error *err, void *user) {
    if (err)
        send_fail(user, "unavailable", err->message);
}

static void send_on_stage(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                      const struct chela_error *err, void *user) {
    struct send_call *s = user;
    if (stage == CH_DELIVERY_ACCEPTED)
        return;
    ch_delivery_leave(d);
    s->delivery = NULL;
    if (stage == CH_DELIVERY_TAKEN && strcmp(d->action, "run") == 0)
        wait_for_answer(s, l);
    else if (stage == CH_DELIVERY_TAKEN)
        send_report_queued(s, strcmp(d->action, "queued") == 0);
    else if (stage == CH_DELIVERY_QUEUED && s->watcher.tail)
        ch_tail_await(&s->watcher, d->id, true, send_settled, s);
    else if (stage == CH_DELIVERY_QUEUED)
        send_report_queued(s, true);
    else if (stage == CH_DELIVERY_DUPLICATE)
        send_again(s, d->gw, d->key);
    else
        send_fail(s, "unavailable", err->message);
}

/* A session that another gateway has gets the message through the store. */
static void send_accept(struct send_call *s, chela_gateway *gw, const char *key,
                        const char *agent) {
    CH_BUF_AUTO data = {0};
    send_write(s, &data);
    s->delivery =
        ch_delivery_new(gw, ch_send_message.name, s->event, key, agent, ch_buf_sv(&data));
    ch_delivery_accept(s->delivery, send_on_stage, s);
}

static void send_on_tail(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                         void *user) {
    struct send_call *s = user;
    (void)w;
    (void)gap;
    if (err)
        send_fail(s, "unavailable", err->message);
    else
        send_accept(s, s->gw, s->to, "");
}

static void send_on_ready(struct ch_lane_wait *w, struct ch_lane *l,
                          const struct chela_error *failed) {
    struct send_call *s = CH_CONTAINER(w, struct send_call, wait);
    struct chela_error err = failed ? *failed : (struct chela_error){0};
    bool waits = false, at_work = !failed && l->running;
    if (failed && failed->code == CHELA_EBUSY && s->gw->rt->journal) {
        s->watcher.event = send_on_tail_event;
        ch_tail_open(s->gw, s->to, CH_TAIL_AWAIT, CH_SV(""), &s->watcher, send_on_tail, s);
        return;
    }
    if (failed) {
        send_fail(s, "unavailable", err.message);
        return;
    }
    if (l->session->journal) {
        send_accept(s, s->gw, s->to, l->agent->id);
        return;
    }
    if (send_into(l, ch_buf_sv(&s->text), &s->principal, s->hops, NULL, &waits, &err) < 0)
        send_fail(s, "unavailable", err.message);
    else if (at_work)
        send_report_queued(s, waits);
    else
        wait_for_answer(s, l);
}

static struct send_call *send_call_new(chela_call *call, const struct ch_lane *from,
                                       const char *to) {
    struct send_call *s = ch_alloc(sizeof(*s));
    unsigned char digest[CH_SHA256_SIZE];
    struct chela_run_opts o = CHELA_RUN_OPTS(.user = NULL);
    s->gw = from->gw;
    s->to = ch_strdup(to);
    s->call = call;
    s->hops = from->hops + 1;
    s->wait.ready = send_on_ready;
    ch_principal_apply(ch_run_origin_principal(from->session->run), &o);
    CH_BUF_AUTO labels = {0};
    ch_buf_add_str(&labels, "agent");
    if (ch_labels_any(&from->session->labels))
        ch_labels_write_text(&from->session->labels, &labels);
    o.labels = ch_buf_str(&labels);
    s->principal = ch_principal_of(&o);
    ch_buf_addf(&s->text, "[from session %s] %.*s", from->session->key,
                CH_SV_FMT(ch_json_get_str(call->args, "message")));
    ch_sha256_of(ch_sv_str(call->key), digest);
    memcpy(s->event, CH_SEND_EVENT, strlen(CH_SEND_EVENT));
    ch_sha256_hex(digest, s->event + strlen(CH_SEND_EVENT));
    call->doing = s;
    return s;
}

struct send_tool {
    chela_gateway *gw; /* NULL: the gateway was closed */
    char *patterns;    /* owned */
};

/* NULL: the message may be sent. */
static const char *refusal_reason(const struct send_tool *p, const struct ch_lane *from,
                                  struct ch_sv to) {
    if (!from || !from->session->run)
        return "Only an agent in a session of its own can write to other sessions.";
    if (ch_sv_is(to, from->session->key))
        return "This is your own session.";
    if (!ch_tool_matches(ch_sv_str(p->patterns), to) || ch_lane_key_check(to, NULL) < 0)
        return "You may not write to this session.";
    if (from->hops >= CH_LIMIT_HOPS)
        return "Too many messages followed from one another. Reply instead of writing on.";
    return from->sends >= CH_LIMIT_RUN_SENDS ? "This run has sent its maximum of messages." : NULL;
}

static void send_start(chela_call *call) {
    const struct send_tool *p = call->tool->impl;
    struct ch_sv to = ch_json_get_str(call->args, "session");
    struct ch_lane *from = p->gw ? ch_lane_find(p->gw, ch_sv_str(call->session)) : NULL, *lane;
    struct chela_error err = {0};
    const char *why = refusal_reason(p, from, to);
    if (why) {
        send_refuse(call, "permission_denied", why);
        return;
    }
    CH_AUTOFREE char *key = ch_strndup(to.p, to.n);
    struct ch_lane_opts o = {.agent = p->gw->agents[0], .key = key, .own_agent = true};
    lane = ch_lane_find(p->gw, to);
    if (!lane && ch_lane_use(p->gw, &o, &lane, &err) < 0) {
        send_refuse(call, "unavailable", err.message);
        return;
    }
    from->sends++;
    ch_lane_when_ready(lane, &send_call_new(call, from, key)->wait);
}

static void send_cancel(chela_call *call) {
    if (!call->doing)
        return;
    send_free(call->doing); /* the run of the other session continues */
    send_finish_call(call);
}

static void send_abandon(chela_call *call) {
    if (call->doing)
        send_free(call->doing);
}

static void send_tool_free(void *impl) {
    struct send_tool *p = impl;
    ch_free(p->patterns);
    ch_free(p);
}

/* The answer is what another conversation holds. */
static void set_flow(struct ch_tool *t) {
    t->flow = CH_FLOW_READS | CH_FLOW_INGESTS;
    t->origin = ch_strdup("agent");
}

static const struct ch_tool_ops ops = {.name = "send",
                                       .start = send_start,
                                       .cancel = send_cancel,
                                       .abandon = send_abandon,
                                       .free = send_tool_free};

#define NAME "sessions_send"

int ch_send_tool_add(chela_gateway *gw, chela_agent *const *agents, struct chela_error *err) {
    struct chela_tool_opts tool = CHELA_TOOL_OPTS(
            .name = NAME,
            .description = "Write a message to another session, and get the answer of the agent "
                           "there.",
            .schema = "{\"type\":\"object\",\"properties\":{\"session\":{\"type\":\"string\","
                      "\"description\":\"its key\"},\"message\":{\"type\":\"string\","
                      "\"minLength\":1,\"maxLength\":65536}},\"required\":[\"session\","
                      "\"message\"],\"additionalProperties\":false}",
            .effect = CHELA_EFFECT_KEYED, .permission = CHELA_PERM_WRITE,
            .flags = CHELA_TOOL_SENDS,
            .timeout_ms = CH_DEFAULT_SEND_MS, .max_retries = -1);
    int rc = 0;
    for (; rc == 0 && *agents; agents++) {
        const char *to = (*agents)->send_to;
        if (!to || ch_registry_find(&(*agents)->registry, ch_sv_str(tool.name)))
            continue;
        struct send_tool *p = ch_alloc(sizeof(*p));
        *p = (struct send_tool){gw, ch_strdup(to)};
        rc = ch_registry_add(&(*agents)->registry, &tool, &ops, p, err);
        if (rc < 0)
            send_tool_free(p);
        else
            set_flow(ch_registry_find(&(*agents)->registry, ch_sv_str(tool.name)));
    }
    return rc;
}

void ch_send_tool_remove(const chela_gateway *gw, chela_agent *agent) {
    const struct ch_tool *t = ch_registry_find(&agent->registry, CH_SV(NAME));
    struct send_tool *p = t && t->ops == &ops ? t->impl : NULL;
    if (!p || p->gw != gw)
        return;
    p->gw = NULL; /* agents derived from this one share p */
    ch_registry_remove(&agent->registry, NAME);
}
