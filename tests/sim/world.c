/* world.c -- the other side of the network: clients, a chat service, a model, and the tool
 * whose effects are counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "gateway/lane/delivery.h"
#include "gateway/request/http_route.h"
#include "gateway/request/request.h"
#include "json/writer.h"
#include "sim/sim.h"
#include "store/store.h"
#include "support/fake_model.h"

#define AGAIN_US (8 * SIM_S) /* a client without an answer asks again */

static bool uses_tool(unsigned number) {
    return (sim.seed * 31 + number * 7) % 5 < 3;
}

/* --- clients */

static void acked(struct sim_node *node, struct sim_event *e) {
    bool first = e->acked < 0;
    if (first)
        e->acked = sim.now;
    sim_note("%s answers: event %u is accepted", node->name, e->number);
    if (first && !e->probe && sim_chance(sim.ack_dies))
        sim_kill(node);
}

static void refused(struct sim_event *e, const char *why) {
    sim_note("event %u is refused: %s", e->number, why);
    e->refused |= e->way == SIM_API;
}

static void hook_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                      const struct chela_error *err, void *user) {
    (void)l;
    ch_delivery_leave(d);
    if (stage == CH_DELIVERY_FAILED)
        refused(user, err->message);
    else
        acked(sim_here(), user);
}

static void ask_hook(struct sim_node *node, struct sim_event *e) {
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    char text[32];
    snprintf(text, sizeof(text), "ev%u#", e->number);
    ch_jw_kcstr(&w, "text", text);
    struct ch_delivery *d = ch_delivery_new(node->gw, NULL, e->id, sim.sessions[e->session], "main",
                                            ch_buf_sv(&data));
    ch_delivery_accept(d, hook_told, e);
}

static void api_answered(struct ch_request *req, int status, struct ch_sv json) {
    struct sim_event *e = req->response_user;
    char why[120];
    snprintf(why, sizeof(why), "%d %.*s", status, (int)CH_MIN(json.n, (size_t)100), json.p);
    if (status == 202)
        acked(sim_here(), e);
    else
        refused(e, why);
}

static void ask_api(struct sim_node *node, struct sim_event *e) {
    const struct ch_http_route *route = node->gw->routes;
    while (strcmp(route->path, "/api/sessions/{}/messages") != 0)
        route++;
    const struct ch_request from = {.gw = node->gw, .route = route};
    struct ch_request *req = ch_request_nested(&from, api_answered, e);
    CH_BUF_AUTO body = {0};
    ch_buf_addf(&body, "{\"text\":\"ev%u#\"}", e->number);
    req->param = ch_sv_str(sim.sessions[e->session]);
    ch_json_parse(&req->arena, ch_arena_sv(&req->arena, ch_buf_sv(&body)), CH_JSON_STRICT,
                  &req->json, NULL, NULL);
    route->run(req);
}

static void chat_accepted(int rc, const struct chela_error *err, void *user) {
    if (rc < 0 && rc != CHELA_EEXIST)
        refused(user, err ? err->message : chela_error_text(rc));
    else
        acked(sim_here(), user);
}

static int chat_recall(void *c, struct chela_text given, struct ch_arena *a,
                       struct chela_channel_arrival *out, struct chela_error *err) {
    struct ch_sv data = ch_sv_of(given);
    unsigned number = (unsigned)strtoul(ch_arena_str(a, data), NULL, 10);
    (void)c;
    if (number >= sim.nevents)
        return ch_fail(err, CHELA_EPARSE, "no such message");
    const struct sim_event *e = &sim.events[number];
    char text[32], to[48];
    snprintf(text, sizeof(text), "ev%u#", number);
    snprintf(to, sizeof(to), "%s %u", sim.sessions[e->session] + 4, number);
    *out = (struct chela_channel_arrival){
        .id = e->id,
        .session = sim.sessions[e->session],
        .to = ch_arena_str(a, ch_sv_str(to)),
        .text = ch_arena_str(a, ch_sv_str(text)),
        .data = ch_text(ch_arena_sv(a, data)),
        .about = CHELA_INBOUND(.channel = "sim", .chat_type = "direct",
                               .chat_id = sim.sessions[e->session] + 4, .message_id = e->id,
                               .sender_id = "p1")};
    return 0;
}

static void ask_chat(struct sim_node *node, struct sim_event *e) {
    struct ch_arena arena = {0};
    struct chela_channel_arrival in;
    struct chela_error err = {0};
    char data[16];
    snprintf(data, sizeof(data), "%u", e->number);
    chat_recall(NULL, ch_text(ch_arena_sv(&arena, ch_sv_str(data))), &arena, &in, &err);
    node->host.arrived(&in, &arena, chat_accepted, e, node->host.user);
}

static void arrive(struct sim_node *node, void *arg) {
    struct sim_event *e = arg;
    sim_note("%s gets event %u for %s", node->name, e->number, sim.sessions[e->session]);
    if (e->way == SIM_HOOK)
        ask_hook(node, e);
    else if (e->way == SIM_API)
        ask_api(node, e);
    else
        ask_chat(node, e);
}

static void ask(void *arg);

static void ask_later(struct sim_event *e, int64_t us) {
    sim_at(sim.now + us, ask, e);
}

/* A client that waits for the answers of its own earlier questions. */
static bool must_wait(const struct sim_event *e) {
    for (unsigned i = 0; sim.serial && i < e->number; i++) {
        const struct sim_event *before = &sim.events[i];
        if (before->session == e->session && before->acked < 0 && !before->refused &&
            !(before->way == SIM_API && before->tries && sim.now > before->asked + AGAIN_US))
            return true;
    }
    return false;
}

/* An event with an id of its own is sent again until it is answered; a message is not. */
static void ask(void *arg) {
    struct sim_event *e = arg;
    struct sim_node *node = &sim.nodes[sim_random(sim.nnodes)];
    if (e->acked >= 0 || e->refused)
        return;
    if (e->tries && e->way == SIM_API)
        return;
    if (must_wait(e) || !node->up || !node->gw) {
        ask_later(e, sim_between(10 * SIM_MS, SIM_S));
        return;
    }
    if (e->asked < 0)
        e->asked = sim.now;
    e->tries++;
    sim_call(node, arrive, e);
    ask_later(e, sim_chance(50) ? sim_between(SIM_MS, 50 * SIM_MS) : AGAIN_US);
}

static const char *const prefixes[] = {"hook/all/", "", "sim:m"};

static void plan_event(unsigned session, enum sim_way way, int64_t due, bool probe) {
    struct sim_event *e = &sim.events[sim.nevents];
    if (sim.nevents == SIM_EVENTS)
        return;
    *e = (struct sim_event){.number = sim.nevents++, .session = session, .way = way, .due = due,
                            .asked = -1, .acked = -1, .probe = probe};
    snprintf(e->id, sizeof(e->id), "%s%u", prefixes[way], e->number);
    sim_at(due, ask, e);
}

static enum sim_way way_of(unsigned session) {
    return session == 0 ? SIM_HOOK : session == 1 ? SIM_CHAT : SIM_API;
}

void sim_world_plan(void) {
    static const char *const keys[SIM_SESSIONS] = {"hook-all", "sim:c1", "api-1", "api-2"};
    bool burst = sim_chance(80);
    unsigned n = burst ? 80 : (unsigned)sim_between(4, 26);
    sim.nsessions = (unsigned)sim_between(1, SIM_SESSIONS);
    for (unsigned i = 0; i < SIM_SESSIONS; i++)
        snprintf(sim.sessions[i], sizeof(sim.sessions[i]), "%s", keys[i]);
    int64_t due = sim_between(0, SIM_S);
    unsigned only = (unsigned)sim_random(CH_MIN(sim.nsessions, 2u));
    for (unsigned i = 0; i < n; i++) {
        unsigned session = burst ? only : (unsigned)sim_random(sim.nsessions);
        plan_event(session, way_of(session), due, false);
        due += burst ? sim_between(0, 20 * SIM_MS)
               : sim_chance(500) ? sim_between(0, 200 * SIM_MS)
                                 : sim_between(0, 2 * sim.active / (int64_t)(n + 1));
    }
}

void sim_world_probe(void) {
    for (unsigned i = 0; i < sim.nsessions; i++)
        plan_event(i, way_of(i), sim.now + sim_between(0, SIM_S), true);
}

/* A node starts: what was on its way to its predecessor is gone. */
void sim_world_start(struct sim_node *node) {
    while (node->calls) {
        struct sim_call *c = node->calls;
        node->calls = *(struct sim_call **)(void *)c; /* its first member */
        free(c);
    }
    node->calls_end = &node->calls;
}

/* --- is all done? */

char sim_left[160]; /* the first thing that is left */

static int on_left(const struct chela_store_item *i, void *user) {
    bool *left = user;
    if (!*left && strcmp(i->state, "failed") != 0)
        snprintf(sim_left, sizeof(sim_left), "%s for %s waits (%s)", i->id, i->key, i->state);
    *left |= strcmp(i->state, "failed") != 0;
    return 0;
}

static int on_busy(const struct chela_store_session *s, void *user) {
    bool *left = user, busy = strcmp(s->status, "idle") != 0 && strcmp(s->status, "parked") != 0;
    if (!*left && busy)
        snprintf(sim_left, sizeof(sim_left), "session %s is %s", s->key, s->status);
    *left |= busy;
    return 0;
}

bool sim_world_rests(void) {
    static int64_t looked;
    struct chela_store_filter all = CHELA_STORE_FILTER(.limit = 0);
    bool left = false;
    if (sim.now - looked < 200 * SIM_MS)
        return false;
    looked = sim.now;
    for (unsigned i = 0; i < sim.nevents; i++) {
        const struct sim_event *e = &sim.events[i];
        bool over = e->acked >= 0 || e->refused ||
                    (e->way == SIM_API && e->tries && sim.now > e->asked + AGAIN_US);
        if (!left && !over)
            snprintf(sim_left, sizeof(sim_left), "event %u is not answered", e->number);
        left |= !over;
    }
    if (left)
        return false;
    ch_store_memory.items(sim_store_db, CHELA_STORE_INBOX, on_left, &left, NULL);
    ch_store_memory.items(sim_store_db, CHELA_STORE_OUTBOX, on_left, &left, NULL);
    ch_store_memory.list(sim_store_db, &all, on_busy, &left, NULL);
    return !left;
}

/* --- the chat service */

struct sim_sent sim_sent[4 * SIM_EVENTS];
size_t sim_nsent;

struct outgoing {
    struct sim_node *node;
    unsigned life;
    struct sim_sent m;
    bool lost;
};

static void receive(const struct sim_sent *m) {
    sim.sends++;
    for (size_t i = 0; i < sim_nsent; i++)
        if (strcmp(sim_sent[i].key, m->key) == 0) {
            if (strcmp(sim_sent[i].text, m->text) != 0)
                sim_violation("P3: two messages under the key %s: '%s' and '%s'", m->key,
                              sim_sent[i].text, m->text);
            return;
        }
    if (sim_nsent < sizeof(sim_sent) / sizeof(sim_sent[0]))
        sim_sent[sim_nsent++] = *m;
}

static void report(struct sim_node *node, void *arg) {
    struct outgoing *o = arg;
    struct chela_error err = {0};
    if (o->life == node->life)
        chela_outbox_receipt(node->rt, o->m.key,
                             o->lost ? CHELA_RECEIPT_UNCERTAIN : CHELA_RECEIPT_SENT, "m1", 0, &err);
    free(o);
}

static void answer_sender(void *arg) {
    struct outgoing *o = arg;
    if (o->node->up && o->life == o->node->life)
        sim_call(o->node, report, o);
    else
        free(o);
}

static void on_sent(void *arg) {
    struct outgoing *o = arg;
    sim_note("the chat gets %s: %s", o->m.key, o->m.text);
    receive(&o->m);
    o->lost = sim_chance(50);
    sim_at(sim.now + sim_between(SIM_MS, 80 * SIM_MS), answer_sender, o);
}

static void chat_deliver(void *c, const struct chela_outbound *m) {
    struct sim_node *node = c;
    struct outgoing *o = calloc(1, sizeof(*o));
    *o = (struct outgoing){.node = node, .life = node->life};
    snprintf(o->m.key, sizeof(o->m.key), "%s", m->key);
    snprintf(o->m.text, sizeof(o->m.text), "%s", m->text && *m->text ? m->text : m->error);
    sim_note("%s sends %s: %s", node->name, m->key, o->m.text);
    if (sim.now < node->mute) {
        o->lost = true;
        sim_at(sim.now + 2 * SIM_S, answer_sender, o);
    } else {
        sim_at(sim.now + sim_between(SIM_MS, 300 * SIM_MS), on_sent, o);
    }
}

static int chat_open(const struct chela_channel_host *host, const struct chela_channel_opts *opts,
                     void **out, struct chela_error *err) {
    struct sim_node *node = sim_here();
    (void)opts;
    (void)err;
    node->host = *host;
    *out = node;
    return 0;
}

static void chat_close(void *c) {
    (void)c;
}

static int chat_leave(void *c) {
    (void)c;
    return 1;
}

static enum chela_channel_judgement chat_judge(void *c, const struct chela_channel_arrival *in) {
    (void)c;
    (void)in;
    return CHELA_CHANNEL_TAKE;
}

const struct chela_channel_ops sim_channel = {.name = "sim",
                                              .open = chat_open,
                                              .close = chat_close,
                                              .leave = chat_leave,
                                              .recall = chat_recall,
                                              .judge = chat_judge,
                                              .deliver = chat_deliver};

/* Takes the place of the table of chat services. */
int __wrap_ch_channel_find(const char *name, const char *path, const struct chela_channel_ops **out,
                           struct chela_error *err);
int __wrap_ch_channel_find(const char *name, const char *path, const struct chela_channel_ops **out,
                           struct chela_error *err) {
    (void)path;
    (void)err;
    *out = &sim_channel;
    return strcmp(name, "sim") == 0 ? 0 : CHELA_ENOENT;
}

/* --- the tool */

int sim_tool(chela_call *call, void *user) {
    struct sim_node *node = user;
    const char *at = strstr(chela_call_arguments(call), "\"ev\":");
    unsigned number = at ? (unsigned)strtoul(at + 5, NULL, 10) : SIM_EVENTS;
    if (number >= sim.nevents)
        return chela_result_error(call, "invalid", "no such event");
    sim_note("%s runs the tool for event %u", node->name, number);
    if (sim.events[number].starts++)
        sim_violation("P2: the tool for event %u started %u times", number,
                      sim.events[number].starts);
    sim_sleep(sim_chance(100) ? sim_between(SIM_S, 12 * SIM_S) : sim_between(0, 400 * SIM_MS));
    chela_result_printf(call, "did ev%u#", number);
    return 0;
}

/* --- the model */

struct ch_http_call {
    struct sim_node *node;
    const struct ch_http_handler *handler;
    void *user;
    struct ch_timer timer;
    struct ch_buf reply;
    bool fails, calling, cancelled;
};

static size_t count(struct ch_sv body, const char *text) {
    size_t n = 0, len = strlen(text);
    const char *p = body.p, *end = body.p + body.n;
    for (; (p = memmem(p, (size_t)(end - p), text, len)); p += len)
        n++;
    return n;
}

static unsigned last_event(struct ch_sv body) {
    unsigned number = SIM_EVENTS;
    for (const char *p = body.p; (p = memmem(p, body.n - (size_t)(p - body.p), "ev", 2)); p += 2) {
        char *end;
        unsigned long n = strtoul(p + 2, &end, 10);
        if (end > p + 2 && *end == '#')
            number = (unsigned)n;
    }
    return number;
}

/* The tool is called once for each event that uses it; then comes an answer. No two answers
 * are alike. */
static void think(struct ch_http_call *c, struct ch_sv body) {
    unsigned number = last_event(body);
    char call[32];
    if (count(body, "\"type\":\"tool_use\"") != count(body, "\"type\":\"tool_result\""))
        sim_violation("P4: a request has %zu calls and %zu results",
                      count(body, "\"type\":\"tool_use\""),
                      count(body, "\"type\":\"tool_result\""));
    if (number >= sim.nevents)
        sim_violation("P4: a request has no message");
    snprintf(call, sizeof(call), "\"ev\":%u}", number);
    sim.replies++;
    if (uses_tool(number) && count(body, call) == 0)
        ch_buf_addf(&c->reply, A_USE("toolu_%u", "touch", "{\\\"ev\\\":%u}"), sim.replies, number);
    else
        ch_buf_addf(&c->reply, A_SAY("answer %u to event %u of %s"), sim.replies, number,
                    c->node->name);
}

static void model_free(struct ch_http_call *c) {
    ch_buf_release(&c->reply);
    ch_free(c);
}

static void model_replies(struct ch_timer *t) {
    struct ch_http_call *c = CH_CONTAINER(t, struct ch_http_call, timer);
    struct chela_error err = {0};
    struct ch_header type = {CH_SV("content-type"), CH_SV("text/event-stream")};
    struct ch_http_head head = {200, &type, 1};
    c->calling = true;
    if (!c->fails && c->handler->on_head)
        c->handler->on_head(&head, c->user);
    if (!c->cancelled && !c->fails)
        c->handler->on_data(ch_buf_sv(&c->reply), c->user);
    if (c->fails)
        ch_fail(&err, CHELA_ENET, "the model's service hangs up");
    if (!c->cancelled)
        c->handler->on_done(c->fails ? &err : NULL, c->user);
    model_free(c);
}

static struct ch_http_call *model_start(struct ch_transport *t, const struct ch_http_request *req,
                                        const struct ch_http_handler *handler, void *user) {
    struct ch_http_call *c = ch_alloc(sizeof(*c));
    CH_BUF_AUTO body = {0};
    c->node = CH_CONTAINER(t, struct sim_node, transport);
    c->handler = handler;
    c->user = user;
    c->fails = sim_chance(20);
    for (size_t i = 0; i < req->nbody; i++)
        ch_buf_add_sv(&body, req->body[i]);
    think(c, ch_sv(ch_buf_str(&body), body.n));
    int64_t ms = sim.now > sim.active ? sim_between(1, 200)
                 : sim_chance(60)  ? sim_between(5000, 45000)
                 : sim_chance(300) ? sim_between(500, 4000)
                                   : sim_between(1, 300);
    ch_timer_start(c->node->rt->loop, &c->timer, ms, model_replies);
    if (sim_chance(sim.call_stops)) {
        c->node->stopped = sim.now + sim_between(5 * SIM_S, 60 * SIM_S);
        sim.stops++;
        sim_note("%s is stopped in the call until %.3f", c->node->name,
                 (double)c->node->stopped / SIM_S);
    }
    return c;
}

static void model_cancel(struct ch_transport *t, struct ch_http_call *c) {
    (void)t;
    ch_timer_stop(c->node->rt->loop, &c->timer);
    if (c->calling)
        c->cancelled = true;
    else
        model_free(c);
}

const struct ch_transport_ops sim_model = {"sim", model_start, model_cancel};
