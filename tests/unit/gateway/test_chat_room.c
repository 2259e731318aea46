/* test_chat_room.c -- chats that an agent listens to, on a clock of the test's own:
 * when a turn begins, what is shown and sent, and who goes on after whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "agent/feature/heartbeat/beat.h"
#include "agent/handle/agent.h"
#include "agent/handle/session.h"
#include "gateway/chat/chat_dispatch.h"
#include "gateway/chat/chat_event.h"
#include "gateway/chat/chat_recovery.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"
#include "gateway/server/gateway.h"
#include "store/store.h"

#define T0 (INT64_C(1700000000) * 1000)

/* A chat service in the test. */
struct world {
    int64_t now;
    int64_t wrong; /* our wall clock, by so much */
    struct ch_clock clock;
    chela_store *store;
    chela_runtime *rt;
    chela_gateway *gw;
    struct ch_chat_service *chat;
    struct ch_channel *channel;
    struct chela_heartbeat_opts *opts;
    char *rules; /* a file */
    struct ch_buf signs; /* "+m1": at work on it, "-m1": no more */
    struct ch_buf log;   /* "to:text;" */
    void (*sent)(struct world *w, const char *to, const char *text);
    void *tally;
};

static struct world *world_of(void *c) {
    return c;
}

static struct world *opened; /* by pigeon_open */

static int pigeon_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                       void **out, struct chela_error *err) {
    (void)host;
    (void)o;
    (void)err;
    *out = opened;
    return 0;
}

static void pigeon_close(void *c) {
    (void)c;
}

static int pigeon_recall(void *c, struct chela_text data, struct ch_arena *a,
                         struct chela_channel_arrival *out, struct chela_error *err) {
    const struct ch_json *v;
    int rc = ch_json_parse(a, ch_arena_sv(a, ch_sv_of(data)), CH_JSON_REPLACE, &v, NULL, err);
    if (rc < 0)
        return rc;
    const char *id = ch_arena_str(a, ch_json_get_str(v, "id"));
    const char *chat = ch_arena_str(a, ch_json_get_str(v, "chat"));
    const char *quoted = ch_arena_str(a, ch_json_get_str(v, "quoted"));
    struct chela_beside *b = CH_ARENA_NEW(a, struct chela_beside);
    *b = (struct chela_beside){.message_id = quoted, .sender = "Zoe", .text = "what it was"};
    (void)c;
    *out = (struct chela_channel_arrival){
        .id = ch_arena_printf(a, "pigeon:%s", id),
        .session = ch_arena_printf(a, "pigeon:%s", chat),
        .to = ch_arena_printf(a, "%s %s", chat, id),
        .text = ch_arena_str(a, ch_json_get_str(v, "text")),
        .data = ch_text(ch_arena_sv(a, ch_sv_of(data))),
        .about = CHELA_INBOUND(.channel = "pigeon", .chat_id = chat, .message_id = id,
                               .sender_id = "ann",
                               .chat_type = ch_json_bool(ch_json_get(v, "direct"), false) ? "direct"
                                                                                          : "group",
                               .ts = ch_json_int(ch_json_get(v, "ts"), 0),
                               .mentioned = ch_json_bool(ch_json_get(v, "mention"), false),
                               .quoted = *quoted ? b : NULL,
                               .answers_us = ch_json_bool(ch_json_get(v, "ours"), false))};
    return 0;
}

static enum chela_channel_judgement pigeon_judge(void *c, const struct chela_channel_arrival *in) {
    (void)c;
    (void)in;
    return CHELA_CHANNEL_TAKE;
}

static void pigeon_deliver(void *c, const struct chela_outbound *m) {
    struct world *w = world_of(c);
    ch_buf_addf(&w->log, "%s:%s;", m->to, *m->text ? m->text : m->error ? m->error : "");
    if (w->sent)
        w->sent(w, m->to, m->text);
    chela_outbox_receipt(w->rt, m->key, CHELA_RECEIPT_SENT, "", 0, NULL);
}

static void pigeon_working(void *c, const struct chela_channel_arrival *in, int at_work) {
    struct world *w = world_of(c);
    ch_buf_addf(&w->signs, "%c%s", at_work ? '+' : '-', in->about.message_id);
}

static const struct chela_channel_ops pigeon = {.name = "pigeon",
                                                .open = pigeon_open,
                                                .close = pigeon_close,
                                                .recall = pigeon_recall,
                                                .judge = pigeon_judge,
                                                .deliver = pigeon_deliver,
                                                .working = pigeon_working};

/* --- life */

static int64_t clock_now(void *user) {
    return ((struct world *)user)->now;
}

static int64_t wall_clock(void *user) {
    return ((struct world *)user)->now + ((struct world *)user)->wrong;
}

static void send_out(chela_runtime *rt, const struct chela_outbound *m, void *user) {
    (void)rt;
    pigeon_deliver(user, m);
}

/* All that can happen without time passing. */
static void settle(struct world *w) {
    bool never = false;
    assert_int_equal(ch_loop_run(w->rt->loop, &never), CHELA_ESTATE);
}

static chela_agent *new_agent(struct world *w, struct chela_heartbeat_opts *opts) {
    struct chela_error err = {0};
    chela_agent *agent;
    CH_BUF_AUTO model = {0};
    ch_buf_addf(&model, "scripted/%s", w->rules);
    struct chela_agent_opts o =
        CHELA_AGENT_OPTS(.id = "crab", .model = ch_buf_str(&model),
                         .mode = opts ? CHELA_MODE_HEARTBEAT : CHELA_MODE_REACT,
                         .tools = "calculate", .heartbeat = opts);
    if (chela_agent_new(w->rt, &o, &agent, &err) < 0)
        fail_msg("%s", err.message);
    return agent;
}

static void begin(struct world *w) {
    struct chela_error err = {0};
    assert_int_equal(ch_runtime_open(NULL, &w->clock, &w->rt, &err), 0);
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, &err), 0);
    chela_agent *agent = new_agent(w, w->opts);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .agents = (chela_agent *const[]){agent, NULL}, .store = w->store);
    if (ch_gateway_open_headless(w->rt, &o, &w->gw, &err) < 0)
        fail_msg("%s", err.message);
    w->chat = ch_chat_service_new(w->gw, ch_chat_dispatch_event);
    w->chat->agent = ch_strdup("");
    struct chela_channel_opts channel_opts = CHELA_CHANNEL_OPTS(.name = "pigeon");
    opened = w;
    assert_int_equal(ch_channel_open(&pigeon, &(struct ch_channel_gateway){.rt = w->rt},
                                     &channel_opts, &w->channel, &err),
                     0);
    w->chat->channel = w->channel;
    ch_list_add(&w->gw->chats, &w->chat->link);
    assert_int_equal(chela_outbox_channel(w->rt, "pigeon", send_out, w, &err), 0);
    ch_chat_recovery_start(w->gw);
    settle(w);
}

static void end(struct world *w) {
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
}

static void write_rules(struct world *w, const char *rules) {
    FILE *f = fopen(w->rules, "w");
    assert_non_null(f);
    fprintf(f, "%s", rules);
    fclose(f);
}

static void open_world(struct world *w, struct chela_heartbeat_opts *opts, const char *rules) {
    char path[] = "/tmp/chela-rooms-XXXXXX.yaml";
    int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    *w = (struct world){.now = T0, .opts = opts, .rules = ch_strdup(path)};
    w->clock = (struct ch_clock){wall_clock, clock_now, w};
    write_rules(w, rules);
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, NULL), 0);
    begin(w);
}

static void close_world(struct world *w) {
    end(w);
    chela_store_close(w->store);
    unlink(w->rules);
    ch_free(w->rules);
    ch_buf_release(&w->log);
    ch_buf_release(&w->signs);
}

/* --- what happens */

struct said {
    const char *chat, *id, *text, *quoted;
    bool direct, mention, ours;
};

static void on_accepted(int rc, const struct chela_error *err, void *user) {
    (void)err;
    assert_int_equal(rc, 0);
    *(bool *)user = true;
}

static void arrive(struct world *w, const struct said *s) {
    struct ch_chat_event *p = ch_alloc(sizeof(*p));
    struct chela_error err = {0};
    bool safe = false;
    CH_BUF_AUTO data = {0};
    struct ch_jw j = ch_jw(&data);
    ch_jw_begin(&j, '{');
    ch_jw_kcstr(&j, "id", s->id);
    ch_jw_kcstr(&j, "chat", s->chat ? s->chat : "team");
    ch_jw_kcstr(&j, "text", s->text);
    ch_jw_kcstr(&j, "quoted", s->quoted ? s->quoted : "");
    ch_jw_kbool(&j, "direct", s->direct);
    ch_jw_kbool(&j, "mention", s->mention);
    ch_jw_kbool(&j, "ours", s->ours);
    ch_jw_kint(&j, "ts", w->now);
    ch_jw_end(&j, '}');
    p->chat = w->chat;
    ch_list_add(&w->chat->events, &p->link);
    assert_int_equal(pigeon_recall(w, ch_text(ch_buf_sv(&data)), &p->arena, &p->in, &err), 0);
    struct chela_inbox_event e = CHELA_INBOX_EVENT(.id = p->in.id, .session = p->in.session,
                                                   .data = p->in.data.p, .n = p->in.data.n);
    assert_int_equal(chela_inbox_accept(w->rt, &e, on_accepted, &safe, &err), 0);
    assert_int_equal(ch_loop_run(w->rt->loop, &safe), 0);
    ch_chat_dispatch_event(p);
    settle(w);
}
#define ARRIVE(w, ...) arrive(w, &(struct said){__VA_ARGS__})

/* Timers fire when they are due, one after the other. */
static void pass(struct world *w, int64_t ms) {
    int64_t to = w->now + ms, due;
    while ((due = ch_loop_next_due(w->rt->loop)) >= 0 && w->now + due <= to) {
        w->now += due;
        settle(w);
    }
    w->now = to;
    settle(w);
}

/* What was shown and what was sent since the last time. */
static void expect(struct world *w, const char *signs, const char *sent) {
    assert_string_equal(ch_buf_str(&w->signs), signs);
    assert_string_equal(ch_buf_str(&w->log), sent);
    ch_buf_clear(&w->signs);
    ch_buf_clear(&w->log);
}

static struct ch_chat_room *room(struct world *w, const char *session) {
    for (CH_LIST_EACH(k, &w->chat->rooms)) {
        struct ch_chat_room *r = CH_CONTAINER(k, struct ch_chat_room, link);
        if (strcmp(r->session, session) == 0)
            return r;
    }
    fail_msg("there is no room %s", session);
    return NULL;
}

static double willingness(struct world *w) {
    return chela_willing_at(room(w, "pigeon:team")->willing, w->now);
}

static int count_item(const struct chela_store_item *i, void *user) {
    (void)i;
    ++*(size_t *)user;
    return 0;
}

static size_t in_inbox(const struct world *w) {
    size_t n = 0;
    assert_int_equal(chela_store_items(w->store, CHELA_STORE_INBOX, count_item, &n, NULL), 0);
    return n;
}

#define SAYS "rules: [{ call: { tool: send_message, args: { content: ok } } }]"
#define SLOW "rules: [{ delay_ms: 5000, call: { tool: send_message, args: { content: ok } } }]"

static const char *const names[] = {"crab", NULL};
static const struct chela_willing_rules called = CHELA_WILLING_RULES(.names = names);

/* One that speaks whenever it may. */
static struct chela_willing_opts eager(void) {
    struct chela_willing_opts o = CHELA_WILLING_OPTS(.text = 0);
    chela_willing_defaults(CHELA_CHAT_GROUP, &o, NULL);
    o.threshold = 0;
    o.slope = 1;
    o.share_high = 1;
    o.refractory_s = 0;
    return o;
}

/* --- when a turn begins */

static void test_debounce(void **state) {
    (void)state;
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 1000,
                                                         .rules = &called);
    struct world w;
    open_world(&w, &o, SAYS);
    ARRIVE(&w, .id = "m1", .text = "crab, what");
    pass(&w, 999);
    expect(&w, "", "");
    ARRIVE(&w, .id = "m2", .text = "is it?"); /* nobody is asked, but it was not quiet */
    pass(&w, 999);
    expect(&w, "", "");
    pass(&w, 1);
    expect(&w, "+m1-m1", "team m1:ok;");
    pass(&w, 10000);
    expect(&w, "", ""); /* one turn for both */
    assert_int_equal(in_inbox(&w), 0);
    close_world(&w);
}

/* However lively it is, who asks is answered. */
static void test_patience(void **state) {
    (void)state;
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 1000,
                                                         .rules = &called);
    struct world w;
    char id[16];
    open_world(&w, &o, SAYS);
    ARRIVE(&w, .id = "m0", .text = "crab?");
    for (int i = 1; i < 10; i++) {
        pass(&w, 500);
        snprintf(id, sizeof(id), "m%d", i);
        ARRIVE(&w, .id = id, .text = "blah");
    }
    pass(&w, 499);
    expect(&w, "", "");
    pass(&w, 1);
    expect(&w, "+m0-m0", "team m0:ok;");
    close_world(&w);
}

static void test_busy(void **state) {
    (void)state;
    static const struct {
        enum chela_busy busy;
        const char *signs, *sent;
        size_t left; /* a line that was skipped is for the next turn */
    } cases[] = {{CHELA_BUSY_WAIT, "-m1+m2-m2", "team m1:ok;team:ok;", 0},
                 {CHELA_BUSY_SKIP, "-m1", "team m1:ok;", 1}};
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_willing_opts group = eager();
        struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(
                .debounce_ms = 10, .busy = cases[i].busy, .group = &group,
                .rules = &called);
        struct world w;
        open_world(&w, &o, SLOW);
        ARRIVE(&w, .id = "m1", .text = "crab?");
        pass(&w, 1000); /* it thinks */
        expect(&w, "+m1", "");
        ARRIVE(&w, .id = "m2", .text = "anyway");
        pass(&w, 30000);
        expect(&w, cases[i].signs, cases[i].sent);
        assert_int_equal(in_inbox(&w), cases[i].left);
        close_world(&w);
    }
}

/* What is for it gets a turn of its own even where others are skipped. */
static void test_busy_but_asked(void **state) {
    (void)state;
    struct chela_willing_opts group = eager();
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .busy = CHELA_BUSY_SKIP,
                                                         .group = &group,
                                                         .rules = &called);
    struct world w;
    open_world(&w, &o, SLOW);
    ARRIVE(&w, .id = "m1", .text = "crab?");
    pass(&w, 1000);
    ARRIVE(&w, .id = "m2", .text = "anyway");
    ARRIVE(&w, .id = "m3", .text = "crab!");
    ARRIVE(&w, .id = "m4", .text = "so");
    pass(&w, 30000);
    expect(&w, "+m1-m1+m3-m3", "team m1:ok;team m3:ok;");
    assert_int_equal(in_inbox(&w), 0);
    close_world(&w);
}

/* However much is said before its turn, who asks is answered. */
static void test_asked_long_ago(void **state) {
    (void)state;
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .history = 4);
    struct world w;
    char id[16];
    open_world(&w, &o, SLOW);
    ARRIVE(&w, .id = "m1", .text = "you?", .mention = true);
    pass(&w, 1000);
    expect(&w, "+m1", "");
    ARRIVE(&w, .id = "m2", .text = "and this?", .mention = true);
    for (int i = 0; i < 60; i++) { /* more than a note remembers */
        snprintf(id, sizeof(id), "n%d", i);
        ARRIVE(&w, .id = id, .text = "blah");
    }
    assert_int_equal(room(&w, "pigeon:team")->nheard, 4);
    end(&w);
    ch_buf_clear(&w.signs);
    begin(&w);
    pass(&w, 60000);
    expect(&w, "+m2-m2", "team m1:ok;team m2:ok;");
    assert_int_equal(in_inbox(&w), 0);
    close_world(&w);
}

/* A mention is paid for when the turn begins: what others say while it thinks is no
 * reason for another turn. */
static void test_no_chain(void **state) {
    (void)state;
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10);
    struct world w;
    open_world(&w, &o, SLOW);
    ARRIVE(&w, .id = "m1", .text = "you?", .mention = true);
    pass(&w, 100);
    ARRIVE(&w, .id = "m2", .text = "lunch?");
    ARRIVE(&w, .id = "m3", .text = "pizza");
    pass(&w, 60000);
    expect(&w, "+m1-m1", "team m1:ok;");
    close_world(&w);
}

/* --- what is shown and sent */

static void test_sign_goes_with_an_error(void **state) {
    (void)state;
    struct chela_willing_opts group = eager();
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .group = &group);
    struct world w;
    open_world(&w, &o, "rules: [{ fail: { status: 400, message: broken } }]");
    ARRIVE(&w, .id = "m1", .text = "you?", .mention = true);
    pass(&w, 60000);
    assert_string_equal(ch_buf_str(&w.signs), "+m1-m1");
    assert_non_null(strstr(ch_buf_str(&w.log), "team m1:")); /* who asks is told */
    ch_buf_clear(&w.signs);
    ch_buf_clear(&w.log);
    ARRIVE(&w, .id = "m2", .text = "nice weather");
    pass(&w, 60000);
    expect(&w, "", ""); /* nobody else is bothered */
    close_world(&w);
}

static void test_silence_shows_nothing(void **state) {
    (void)state;
    struct chela_willing_opts group = eager();
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .group = &group);
    struct world w;
    open_world(&w, &o, "rules: [{ say: a thought }]");
    ARRIVE(&w, .id = "m1", .text = "nice weather");
    pass(&w, 10000);
    expect(&w, "", "");
    close_world(&w);
}

static void test_replies(void **state) {
    (void)state;
    struct chela_willing_opts group = eager();
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .typing = 10,
                                                         .group = &group);
    static const char rules[] =
        "rules:\n"
        "  - { when: { user: 'New lines[^#]*choose' }, call: { tool: send_message, args: { "
        "content: 'a<sep/>b', reply_to: m1 } } }\n"
        "  - { when: { user: 'error of send_message' }, call: { tool: send_message, args: { "
        "content: oh } } }\n"
        "  - { when: { user: 'New lines[^#]*nowhere' }, call: { tool: send_message, args: { "
        "content: x, reply_to: m99 } } }\n"
        "  - { when: { user: 'm3 answers m0 of Zoe, .what it was.[]] ann: quoting' }, call: { "
        "tool: send_message, args: { content: seen } } }\n"
        "  - { call: { tool: send_message, args: { content: 'a<sep/>b' } } }\n";
    struct world w;
    open_world(&w, &o, rules);
    ARRIVE(&w, .id = "m1", .text = "you?", .mention = true);
    pass(&w, 20000);
    expect(&w, "+m1-m1", "team m1:a;team:b;"); /* the first part answers, what follows goes on */
    ARRIVE(&w, .id = "m2", .text = "choose one");
    pass(&w, 20000);
    expect(&w, "+m2-m2", "team m1:a;team:b;"); /* also a line that it saw in an earlier turn */
    ARRIVE(&w, .id = "m3", .text = "quoting", .quoted = "m0");
    pass(&w, 20000);
    expect(&w, "+m3-m3", "team:seen;");
    ARRIVE(&w, .id = "m5", .text = "nowhere");
    pass(&w, 20000);
    expect(&w, "+m5-m5", "team:oh;"); /* it is told, and has another beat */
    end(&w);
    begin(&w); /* which lines there are is known after a restart, too */
    ARRIVE(&w, .id = "m4", .text = "choose again");
    pass(&w, 20000);
    expect(&w, "+m4-m4", "team m1:a;team:b;");
    close_world(&w);
}

static void test_answers_to_it_count(void **state) {
    (void)state;
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10);
    struct world w;
    open_world(&w, &o, SAYS);
    ARRIVE(&w, .id = "m1", .text = "well", .quoted = "m0");
    assert_true(willingness(&w) > 11.9 && willingness(&w) < 12.1);
    ARRIVE(&w, .id = "m2", .chat = "other", .text = "well", .quoted = "m0", .ours = true);
    double other = chela_willing_at(room(&w, "pigeon:other")->willing, w.now);
    assert_true(other > 26.9 && other < 27.1);
    close_world(&w);
}

/* --- time */

/* Our clock is wrong, and then is set right. */
static void test_wrong_clock(void **state) {
    (void)state;
    static const int64_t wrong[] = {3600000, -3600000};
    for (size_t i = 0; i < CH_LEN(wrong); i++) {
        struct chela_willing_opts group = eager();
        struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .group = &group);
        struct world w;
        group.refractory_s = 20;
        open_world(&w, &o, SLOW);
        w.wrong = wrong[i];
        ARRIVE(&w, .id = "m1", .text = "you?", .mention = true);
        pass(&w, 6000);
        expect(&w, "+m1-m1", "team m1:ok;");
        pass(&w, 10000); /* 11 s after it spoke */
        ARRIVE(&w, .id = "m2", .text = "well");
        pass(&w, 10000);
        expect(&w, "", "");
        w.wrong = 0;
        ARRIVE(&w, .id = "m3", .text = "well");
        pass(&w, 6000);
        expect(&w, "+m3-m3", "team:ok;");
        close_world(&w);
    }
}

/* --- who goes on after whom */

static void test_restart(void **state) {
    (void)state;
    struct chela_willing_opts group = CHELA_WILLING_OPTS(.text = 0);
    chela_willing_defaults(CHELA_CHAT_GROUP, &group, NULL);
    group.slope = 0;
    group.refractory_s = 100;
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .group = &group);
    struct world w;
    open_world(&w, &o, SAYS);
    ARRIVE(&w, .id = "m1", .text = "you?", .mention = true);
    pass(&w, 1000);
    expect(&w, "+m1-m1", "team m1:ok;");
    ARRIVE(&w, .id = "m2", .text = "well");
    ARRIVE(&w, .id = "m3", .text = "well");
    double before = willingness(&w);
    for (int i = 0; i < 3; i++) {
        end(&w);
        begin(&w);
        assert_int_equal(in_inbox(&w), 2);
        assert_true(willingness(&w) > before - 1e-6 && willingness(&w) < before + 1e-6);
    }
    group.slope = 1; /* it would speak, but it has just spoken: in another process */
    end(&w);
    begin(&w);
    ARRIVE(&w, .id = "m4", .text = "well");
    ARRIVE(&w, .id = "m5", .text = "well");
    ARRIVE(&w, .id = "m6", .text = "well");
    assert_true(willingness(&w) > group.threshold);
    pass(&w, 10000);
    expect(&w, "", "");
    pass(&w, 100000);
    ARRIVE(&w, .id = "m7", .text = "well");
    pass(&w, 1000);
    expect(&w, "+m7-m7", "team:ok;");
    assert_int_equal(in_inbox(&w), 0);
    close_world(&w);
}

/* What was to be answered is, once; what was not is not decided about again. */
static void test_restart_before_the_turn(void **state) {
    (void)state;
    struct chela_willing_opts group = eager();
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 5000, .group = &group,
                                                         .rules = &called);
    struct world w;
    group.slope = 0;
    open_world(&w, &o, SAYS);
    ARRIVE(&w, .id = "m1", .text = "well");
    ARRIVE(&w, .id = "m2", .text = "crab?");
    end(&w);
    group.slope = 1;
    begin(&w);
    pass(&w, 4999);
    expect(&w, "", "");
    pass(&w, 1);
    expect(&w, "+m2-m2", "team m2:ok;");
    pass(&w, 60000);
    expect(&w, "", "");
    assert_int_equal(in_inbox(&w), 0);
    ARRIVE(&w, .id = "m3", .chat = "other", .text = "well"); /* now it would be */
    pass(&w, 5000);
    expect(&w, "+m3-m3", "other:ok;");
    close_world(&w);
}

static void test_restart_inside_the_turn(void **state) {
    (void)state;
    struct chela_willing_opts group = CHELA_WILLING_OPTS(.text = 0);
    chela_willing_defaults(CHELA_CHAT_GROUP, &group, NULL);
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .group = &group);
    struct world w;
    open_world(&w, &o, SLOW);
    ARRIVE(&w, .id = "m1", .text = "you?", .mention = true);
    pass(&w, 1000);
    double before = willingness(&w);
    assert_true(before < 25); /* it was paid for */
    ARRIVE(&w, .id = "m2", .text = "anyway");
    end(&w);
    ch_buf_clear(&w.signs);
    begin(&w);
    assert_true(room(&w, "pigeon:team")->running);
    ARRIVE(&w, .id = "m3", .text = "well");
    pass(&w, 10000);
    expect(&w, "", "team m1:ok;");
    assert_false(room(&w, "pigeon:team")->running);
    assert_true(willingness(&w) > before && willingness(&w) < 60); /* by the two lines, once */
    ARRIVE(&w, .id = "m4", .text = "well"); /* right after it spoke */
    pass(&w, 5000);
    expect(&w, "", "");
    assert_int_equal(in_inbox(&w), 3);
    ARRIVE(&w, .id = "m5", .text = "and now?", .mention = true);
    pass(&w, 60000);
    expect(&w, "+m5-m5", "team m5:ok;");
    assert_int_equal(in_inbox(&w), 0);
    close_world(&w);
}

/* Two gateways, each with some of the lines: what one said is known to the other. */
static void test_two_gateways(void **state) {
    (void)state;
    struct chela_willing_opts group = CHELA_WILLING_OPTS(.text = 0);
    chela_willing_defaults(CHELA_CHAT_GROUP, &group, NULL);
    group.refractory_s = 600;
    group.share_high = 1;
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 10, .group = &group);
    struct world a, b;
    open_world(&a, &o, SAYS);
    struct chela_store_ops shared = *a.store->ops;
    shared.flags |= CHELA_STORE_SHARED;
    a.store->ops = &shared;
    b = a;
    b.log = b.signs = (struct ch_buf){0};
    b.clock = (struct ch_clock){clock_now, clock_now, &b};
    begin(&b);
    ARRIVE(&b, .id = "m0", .text = "well");
    ARRIVE(&a, .id = "m1", .text = "you?", .mention = true);
    pass(&a, 4000); /* it speaks, and lets the session go */
    expect(&a, "+m1-m1", "team m1:ok;");
    b.now = a.now;
    for (int i = 2; i < 12; i++) {
        char id[16];
        snprintf(id, sizeof(id), "m%d", i);
        ARRIVE(&b, .id = id, .text = "well");
    }
    assert_true(willingness(&b) > group.threshold + 1 / group.slope); /* p is 1 */
    pass(&b, 3000);
    expect(&b, "", "");
    b.now = a.now += 700 * 1000;
    ARRIVE(&b, .id = "n1", .text = "you?", .mention = true);
    pass(&b, 4000);
    expect(&b, "+n1-n1", "team n1:ok;");
    end(&b);
    ch_buf_release(&b.log);
    ch_buf_release(&b.signs);
    close_world(&a);
}

/* --- a reload */

static void test_reload(void **state) {
    (void)state;
    struct chela_willing_opts group = eager();
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 1000, .group = &group,
                                                         .rules = &called);
    struct world w;
    group.slope = 0;
    group.text = 20;
    open_world(&w, &o, SAYS);
    ARRIVE(&w, .id = "m1", .text = "well");
    group.slope = 1;
    group.text = 40;
    w.gw->agents[0] = new_agent(&w, &o);
    ARRIVE(&w, .id = "m2", .text = "well"); /* by the new settings, from where it was */
    assert_true(willingness(&w) > 80 && willingness(&w) < 86);
    pass(&w, 1000);
    expect(&w, "+m2-m2", "team:ok;");
    ARRIVE(&w, .id = "m3", .text = "crab?");
    write_rules(&w, "rules: [{ say: as anybody }]");
    w.gw->agents[0] = new_agent(&w, NULL);
    pass(&w, 10000);
    expect(&w, "+m3-m3", "team m3:as anybody;"); /* it is answered all the same */
    assert_int_equal(in_inbox(&w), 0);
    close_world(&w);
}

/* What an agent was made of may lie where that of another did. */
static void test_reload_in_place(void **state) {
    (void)state;
    struct chela_willing_opts group = eager();
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 1000, .group = &group);
    struct world w;
    group.slope = 0;
    open_world(&w, &o, SAYS);
    ARRIVE(&w, .id = "m1", .text = "well");
    group.slope = 1;
    *ch_companion_of(w.gw->agents[0]) = *ch_companion_of(new_agent(&w, &o));
    ARRIVE(&w, .id = "m2", .text = "well");
    pass(&w, 1000);
    expect(&w, "+m2-m2", "team:ok;");
    close_world(&w);
}

/* --- a long chat, all the way through */

struct tally {
    const bool *asks;   /* which lines did */
    bool answered[600]; /* ...and were */
    int64_t last;       /* time that it spoke in the group */
    unsigned own, unasked;
};

static void tally_sent(struct world *w, const char *to, const char *text) {
    struct tally *t = w->tally;
    unsigned line;
    bool asked = sscanf(to, "%*s m%u", &line) == 1;
    assert_string_equal(text, "ok");
    if (asked)
        t->answered[line] = true;
    if (strncmp(to, "team", 4) != 0)
        return;
    t->own++;
    t->unasked += !asked;
    if (!asked && t->last)
        assert_true(w->now - t->last >= 20000);
    t->last = w->now;
}

static unsigned next(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*seed >> 33);
}

static void test_long_chat(void **state) {
    (void)state;
    struct chela_willing_opts group = CHELA_WILLING_OPTS(.text = 0);
    chela_willing_defaults(CHELA_CHAT_GROUP, &group, NULL);
    group.threshold = 10; /* it would join in all the time */
    group.slope = 1;
    group.reply_cost = 0;
    struct chela_willing_rules seeded = CHELA_WILLING_RULES(.seed = 4);
    struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.debounce_ms = 100, .group = &group,
                                                         .rules = &seeded);
    uint64_t seed = 11;
    bool asks[600] = {0};
    unsigned team = 0, asked = 0;
    struct tally t = {.asks = asks};
    struct world w;
    open_world(&w, &o, SAYS);
    w.sent = tally_sent;
    w.tally = &t;
    for (unsigned i = 0; i < 500; i++) {
        unsigned dice = next(&seed) % 100;
        char id[16];
        snprintf(id, sizeof(id), "m%u", i);
        w.now += 900 + next(&seed) % 40000;
        ARRIVE(&w, .id = id, .chat = dice < 5 ? "dm" : "team", .text = "well",
               .direct = dice < 5, .mention = dice >= 5 && dice < 12);
        asks[i] = dice < 12;
        asked += asks[i];
        team += dice >= 5;
        w.now += 100;
        settle(&w);
    }
    for (unsigned i = 0; i < 500; i++)
        if (asks[i] != t.answered[i])
            fail_msg("line %u: asked %d, answered %d", i, asks[i], t.answered[i]);
    double share = (double)t.own / (double)(team + t.own);
    assert_true(asked > 30 && t.unasked > 0);
    assert_true(share >= 0.05 && share <= 0.2);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_debounce),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_busy_but_asked),
        cmocka_unit_test(test_asked_long_ago),
        cmocka_unit_test(test_no_chain),
        cmocka_unit_test(test_sign_goes_with_an_error),
        cmocka_unit_test(test_silence_shows_nothing),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_answers_to_it_count),
        cmocka_unit_test(test_wrong_clock),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_restart_before_the_turn),
        cmocka_unit_test(test_restart_inside_the_turn),
        cmocka_unit_test(test_two_gateways),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_reload_in_place),
        cmocka_unit_test(test_long_chat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
