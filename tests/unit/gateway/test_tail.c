/* test_tail.c -- the tail of a session whose message is being stored: no event reaches the watcher
 * before the message is awaited, and none of the message's own events is lost. Clients of a gateway
 * that reads the session of another one late, or cannot read it. */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/handle/agent.h"
#include "agent/journal/journal.h"
#include "base/error.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/tail.h"
#include "gateway/request/gateway_state.h"
#include "store/store.h"

struct world {
    chela_store *store;
    chela_runtime *rt;
    chela_agent *agent;
    chela_gateway *gw;
    struct ch_lane *lane;
    struct ch_lane_watcher keeps; /* the lane open */
    int ends;
};

struct seen {
    struct ch_lane_watcher watcher;
    int opened, events, starts, ends, deleted;
};

static void on_end(struct ch_lane_watcher *w, const struct chela_event *ev) {
    CH_CONTAINER(w, struct world, keeps)->ends += ev->type == CHELA_EV_RUN_END;
}

/* A gateway for w->store. */
static void open_gateway(struct world *w) {
    struct chela_error err = {0};
    assert_int_equal(chela_runtime_new(NULL, &w->rt, &err), 0);
    assert_int_equal(chela_runtime_store(w->rt, w->store, CHELA_DURABILITY_DEFAULT, &err), 0);
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "scripted/demo", .tools = "");
    assert_int_equal(chela_agent_new(w->rt, &opts, &w->agent, &err), 0);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(
            .listen = "127.0.0.1:0", .token = "0123456789abcdef",
            .agents = (chela_agent *const[]){w->agent, NULL}, .store = w->store);
    assert_int_equal(chela_gateway_new(w->rt, &o, &w->gw, &err), 0);
}

static void open_lane(struct world *w) {
    struct chela_error err = {0};
    struct ch_lane_opts l = {.agent = w->agent, .key = "s"};
    assert_int_equal(ch_lane_use(w->gw, &l, &w->lane, &err), 0);
    w->ends = 0;
    w->keeps = (struct ch_lane_watcher){.event = on_end};
    ch_lane_watch(w->lane, &w->keeps);
}

static void begin(struct world *w) {
    assert_int_equal(chela_store_open("memory:", NULL, &w->store, NULL), 0);
    open_gateway(w);
    open_lane(w);
}

static void end(struct world *w) {
    chela_gateway_close(w->gw);
    chela_runtime_close(w->rt);
    chela_store_close(w->store);
}

static void turn(struct world *w) {
    chela_runtime_poll(w->rt);
    poll(NULL, 0, 1);
}

static void say(struct world *w, const char *id) {
    struct ch_block text = {.type = CH_BLOCK_TEXT, .text = CH_SV("hello")};
    struct ch_msg *m = ch_msg_new(CH_MSG_USER, &text, 1, 1);
    CH_BUF_AUTO data = {0};
    struct ch_jw json = ch_jw(&data);
    int before = w->ends;
    ch_client_input_write(&json, m, CH_SV("run"));
    ch_msg_free(m);
    ch_client_input_accept(w->gw, &ch_client_message, "s", w->agent->id, &data, id, NULL, NULL);
    for (int i = 0; i < 20000 && w->ends == before; i++)
        turn(w);
    assert_int_equal(w->ends, before + 1);
}

static void on_event(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct seen *s = CH_CONTAINER(w, struct seen, watcher);
    s->events++;
    s->starts += ev->type == CHELA_EV_RUN_START;
    s->ends += ev->type == CHELA_EV_RUN_END;
}

static void on_opened(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                      void *user) {
    struct seen *s = user;
    (void)w;
    assert_false(gap);
    assert_null(err);
    s->opened++;
}

static void on_settled(const struct chela_error *err, void *user) {
    (void)user;
    assert_null(err);
}

static void open_tail(struct world *w, struct seen *s, enum ch_tail_start start) {
    *s = (struct seen){.watcher.event = on_event};
    ch_tail_open(w->gw, "s", start, CH_SV(""), &s->watcher, on_opened, s);
    for (int i = 0; i < 20000 && !s->opened; i++)
        turn(w);
    assert_int_equal(s->opened, 1);
}

static void wait_ends(struct world *w, struct seen *s, int n) {
    for (int i = 0; i < 20000 && s->ends < n; i++)
        turn(w);
    assert_int_equal(s->ends, n);
}

/* `plain` shows how far the tails have read. */
static void test_events_before_the_message_are_held(void **state) {
    (void)state;
    struct world w;
    struct seen awaiting, plain;
    begin(&w);
    say(&w, "first");
    open_tail(&w, &awaiting, CH_TAIL_AWAIT);
    open_tail(&w, &plain, CH_TAIL_NOW);
    for (int i = 1; i < 5; i++) {
        static const char *const ids[] = {"0", "1", "2", "3", "mine"};
        say(&w, ids[i]);
        wait_ends(&w, &plain, i);
    }
    assert_int_equal(awaiting.events, 0);
    ch_tail_await(&awaiting.watcher, CH_API_EVENT "mine", true, on_settled, NULL);
    wait_ends(&w, &awaiting, 1);
    assert_int_equal(awaiting.starts, 1);
    assert_string_equal(ch_tail_taken_as(&awaiting.watcher), "start");
    ch_lane_unwatch(&awaiting.watcher);
    ch_lane_unwatch(&plain.watcher);
    end(&w);
}

static void delete_session(struct world *w) {
    struct chela_error err = {0};
    int rc = CHELA_EBUSY;
    ch_lane_unwatch(&w->keeps);
    ch_lane_close(w->lane);
    for (int i = 0; i < 20000 && rc == CHELA_EBUSY; i++) {
        turn(w);
        rc = chela_store_delete(w->store, "s", &err);
    }
    assert_int_equal(rc, 0);
}

static void on_deleted(struct ch_lane_watcher *w) {
    CH_CONTAINER(w, struct seen, watcher)->deleted++;
}

/* A watcher that stays is told once, whether it watches a lane or a tail. */
static void test_a_deleted_session_ends_its_watchers(void **state) {
    (void)state;
    struct world w;
    struct seen tail, lane = {.watcher = {.event = on_event, .deleted = on_deleted}};
    begin(&w);
    say(&w, "first");
    open_tail(&w, &tail, CH_TAIL_NOW);
    tail.watcher.deleted = on_deleted;
    ch_lane_watch(w.lane, &lane.watcher);
    delete_session(&w);
    for (int i = 0; i < 20000 && !(tail.deleted && lane.deleted); i++)
        turn(&w);
    for (int i = 0; i < 20; i++)
        turn(&w);
    assert_int_equal(tail.deleted, 1);
    assert_int_equal(lane.deleted, 1);
    end(&w);
}

static bool told_gone;

static void on_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                    const struct chela_error *err, void *user) {
    (void)d, (void)l, (void)user;
    told_gone |= stage == CH_DELIVERY_REFUSED && err->code == CHELA_ENOENT;
}

static int is_free(const struct chela_store_session *s, void *user) {
    *(bool *)user = !*s->owner;
    return 0;
}

/* A result for a session that its gateway has just released is awaited: any gateway takes it up,
 * or refuses it. */
static void test_a_session_that_nobody_holds_is_awaited(void **state) {
    (void)state;
    struct world w;
    struct seen awaiting;
    bool unheld = false;
    begin(&w);
    say(&w, "first");
    ch_lane_unwatch(&w.keeps);
    ch_lane_close(w.lane);
    for (int i = 0; i < 20000 && !unheld; i++) {
        turn(&w);
        assert_int_equal(chela_store_session(w.store, "s", is_free, &unheld, NULL), 0);
    }
    assert_true(unheld);
    open_tail(&w, &awaiting, CH_TAIL_AWAIT); /* without a gap */
    ch_lane_unwatch(&awaiting.watcher);
    end(&w);
}

/* The request to release a session that was deleted meanwhile does not create it again. */
static void test_a_release_creates_no_session(void **state) {
    (void)state;
    struct world w;
    struct chela_error err = {0};
    bool unheld = false;
    CH_BUF_AUTO none = {0};
    begin(&w);
    say(&w, "first");
    delete_session(&w);
    ch_client_input_accept(w.gw, &ch_client_release, "s", "", &none, "r", on_told, NULL);
    for (int i = 0; i < 20000 && !told_gone; i++)
        turn(&w);
    assert_true(told_gone);
    assert_int_equal(chela_store_session(w.store, "s", is_free, &unheld, &err), CHELA_ENOENT);
    end(&w);
}

static int refused_with;

static void on_refused(const struct chela_error *err, void *user) {
    struct seen *s = user;
    assert_non_null(err);
    refused_with = err->code;
    ch_lane_unwatch(&s->watcher);
}

static void test_a_deleted_session_refuses(void **state) {
    (void)state;
    struct world w;
    struct seen awaiting, plain;
    begin(&w);
    say(&w, "first");
    open_tail(&w, &awaiting, CH_TAIL_AWAIT);
    open_tail(&w, &plain, CH_TAIL_NOW);
    delete_session(&w);
    wait_ends(&w, &plain, 1);
    for (int i = 0; i < 20; i++)
        turn(&w);
    assert_int_equal(awaiting.events, 0);
    assert_non_null(awaiting.watcher.tail);
    ch_tail_await(&awaiting.watcher, CH_API_EVENT "mine", true, on_refused, &awaiting);
    for (int i = 0; i < 20000 && !refused_with; i++)
        turn(&w);
    assert_int_equal(refused_with, CHELA_ENOENT);
    assert_int_equal(awaiting.events, 0);
    end(&w);
}

/* --- a client that was at another gateway */

static int note_token(const struct chela_store_session *s, void *user) {
    *(uint64_t *)user = s->token;
    return 0;
}

#define RESULT(id)                                                                          \
    {.type = CH_REC_DONE,                                                                   \
     .data = "{\"run\":\"r1\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"id\":\"" id \
             "\",\"content\":\"" id "\"}]}}"}
#define STATE(status, next) \
    {.type = CH_REC_STATE, .data = "{\"run\":\"r1\",\"status\":\"" status "\",\"seq\":" next "}"}

static void write_records(struct world *w, struct chela_store_record *list, size_t n) {
    struct chela_error err = {0};
    struct chela_store_claim claim = {
        .key = "s", .agent = "main", .owner = "x", .now = 1, .until = INT64_MAX, .create = 1};
    struct chela_store_change c = {.kind = CHELA_STORE_APPEND, .key = "s", .now = 1,
                                   .records = list, .nrecords = n};
    for (size_t i = 0; i < n; i++) {
        list[i].seq = i + 1;
        list[i].n = strlen(list[i].data);
        list[i].sum = ch_record_sum(&list[i]);
    }
    assert_int_equal(ch_store_open_session(w->store, &claim, note_token, &c.token, &err), 0);
    assert_int_equal(ch_store_commit(w->store, &c, 1, false, &err), 0);
    assert_int_equal(c.rc, 0);
}

struct returned {
    struct ch_lane_watcher watcher;
    bool opened;
    struct ch_buf got;
};

static void on_returned(struct ch_lane_watcher *w, const struct chela_event *ev) {
    struct returned *r = CH_CONTAINER(w, struct returned, watcher);
    ch_buf_addf(&r->got, "%s ", ev->type == CHELA_EV_TOOL_RESULT ? ev->result.id.p
                                                                : chela_event_name(ev->type));
}

static void on_return(struct ch_lane_watcher *w, bool gap, const struct chela_error *err,
                      void *user) {
    (void)w;
    assert_false(gap);
    assert_null(err);
    ((struct returned *)user)->opened = true;
}

/* The holder gave higher numbers than the records show: its client with event 15 has no result. All
 * events since the last state that is older than the client's event are sent. */
static void test_a_client_of_the_holder_misses_no_event(void **state) {
    static const struct {
        const char *after, *want;
    } cases[] = {
        {"r1:15", "tool_start c1 c2 turn_end turn_start text_delta turn_end run_end "},
        {"r1:39", "tool_start c1 c2 turn_end turn_start text_delta turn_end run_end "},
        {"r1:40", ""},
    };
    struct chela_store_record list[] = {
        {.type = CH_REC_INBOUND,
         .data = "{\"mode\":\"start\",\"run\":\"r1\",\"message\":{\"content\":[]}}"},
        STATE("running", "0"),
        {.type = CH_REC_MESSAGE,
         .data = "{\"run\":\"r1\",\"turn\":1,\"message\":{\"role\":\"assistant\",\"content\":["
                 "{\"type\":\"tool_call\",\"id\":\"c1\",\"name\":\"t\",\"arguments\":{}},"
                 "{\"type\":\"tool_call\",\"id\":\"c2\",\"name\":\"t\",\"arguments\":{}}]}}"},
        STATE("running", "8"),
        {.type = CH_REC_STARTED, .data = "{\"run\":\"r1\",\"id\":\"c1\"}"},
        RESULT("c1"),
        RESULT("c2"),
        {.type = CH_REC_MESSAGE,
         .data = "{\"run\":\"r1\",\"turn\":2,\"message\":{\"role\":\"assistant\",\"content\":["
                 "{\"type\":\"text\",\"text\":\"done\"}]}}"},
        STATE("done", "41"),
    };
    (void)state;
    for (size_t i = 0; i < 2 * CH_LEN(cases); i++) {
        struct world w = {0};
        struct returned r = {.watcher.event = on_returned};
        if (i == CH_LEN(cases))
            list[CH_LEN(list) - 1] = (struct chela_store_record)STATE("paused", "41");
        assert_int_equal(chela_store_open("memory:", NULL, &w.store, NULL), 0);
        open_gateway(&w);
        write_records(&w, list, CH_LEN(list));
        ch_tail_open(w.gw, "s", CH_TAIL_AFTER, ch_sv_str(cases[i % CH_LEN(cases)].after),
                     &r.watcher, on_return, &r);
        for (int k = 0; k < 20000 && !r.opened; k++)
            turn(&w);
        assert_true(r.opened);
        assert_string_equal(ch_buf_str(&r.got), cases[i % CH_LEN(cases)].want);
        ch_lane_unwatch(&r.watcher);
        ch_buf_release(&r.got);
        end(&w);
    }
}

/* --- two gateways */

static struct {
    const struct chela_store_ops *real;
    pthread_t loop;
    atomic_int ends; /* runs of the first gateway */
    atomic_int late; /* so many readings from now, a tail is opened late; 0: none */
    atomic_int rc;   /* of readings; 0: they succeed */
    struct world *taker;      /* gets the session before the next opening or append; NULL: none */
    const char *taken;        /* the taker's message */
} gate;

struct pair {
    struct world first, second;
    int fd;
    struct ch_buf got;
};

static chela_store *shared;

/* A late reading waits for the end of a run, for a second at most: the end may follow the
 * reading. */
static int read_session(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                        void *user, struct chela_error *err) {
    int before = atomic_load(&gate.ends), rc = atomic_load(&gate.rc);
    bool thread = !pthread_equal(pthread_self(), gate.loop);
    if (thread && rc)
        return ch_fail(err, rc, "the store cannot be read");
    if (thread && atomic_load(&gate.late) && atomic_fetch_sub(&gate.late, 1) == 1) {
        ch_store_leave(shared, 0);
        for (int i = 0; i < 500 && atomic_load(&gate.ends) == before; i++)
            poll(NULL, 0, 2);
        ch_store_enter(shared, err);
    }
    return gate.real->session(db, key, fn, user, err);
}

/* The first gateway takes the session over, runs its message and closes the session. */
static void take_over(struct world *taker) {
    ch_store_leave(shared, 0);
    open_lane(taker);
    say(taker, gate.taken);
    ch_store_enter(shared, NULL);
}

static int open_taken(struct chela_store_db *db, const struct chela_store_claim *claim,
                      chela_store_session_fn *fn, void *user, struct chela_error *err) {
    struct world *taker = CH_TAKE(gate.taker);
    if (taker)
        take_over(taker);
    return gate.real->open_session(db, claim, fn, user, err);
}

/* Ends the lease of the session, as if it had expired, and appends under the old one. */
static int append_late(struct chela_store_db *db, struct chela_store_change *changes, size_t n,
                       int sync, struct chela_error *err) {
    struct world *taker = changes[0].kind == CHELA_STORE_APPEND ? CH_TAKE(gate.taker) : NULL;
    if (taker) {
        struct chela_store_claim c = {.key = "s", .agent = "", .owner = "x", .until = INT64_MAX,
                                      .steal = changes[0].token};
        struct chela_store_change release = {.kind = CHELA_STORE_RELEASE, .key = "s"};
        assert_int_equal(gate.real->open_session(db, &c, note_token, &release.token, err), 0);
        assert_int_equal(gate.real->commit(db, &release, 1, 0, err), 0);
        take_over(taker);
    }
    return gate.real->commit(db, changes, n, sync, err);
}

static void connect_pair(struct pair *p) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *address = chela_gateway_address(p->second.gw);
    to.sin_port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->fd, (struct sockaddr *)&to, sizeof(to)), 0);
}

/* change: of the store's functions, before a thread uses them; NULL: none. */
static void open_pair_with(struct pair *p, void (*change)(struct chela_store_ops *ops)) {
    static struct chela_store_ops ops;
    *p = (struct pair){0};
    assert_int_equal(chela_store_open("memory:", NULL, &shared, NULL), 0);
    gate.real = shared->ops;
    gate.loop = pthread_self();
    ops = *shared->ops;
    ops.session = read_session;
    ops.open_session = open_taken;
    ops.commit = append_late;
    if (change)
        change(&ops);
    shared->ops = &ops;
    p->first.store = p->second.store = shared;
    open_gateway(&p->first);
    open_gateway(&p->second);
    p->first.gw->workers = p->second.gw->workers = 2;
    connect_pair(p);
}

static void open_pair(struct pair *p) {
    open_pair_with(p, NULL);
}

static void close_pair(struct pair *p) {
    close(p->fd);
    ch_buf_release(&p->got);
    chela_gateway_close(p->second.gw);
    chela_runtime_close(p->second.rt);
    atomic_store(&gate.rc, 0);
    end(&p->first);
}

static void send_text(struct pair *p, const char *text) {
    assert_int_equal(send(p->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void ask_for_socket(struct pair *p) {
    send_text(p, "GET /api/sessions/s/socket HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                 "Authorization: Bearer 0123456789abcdef\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n");
}

static bool has(const struct pair *p, const char *words) {
    return p->got.n && memmem(p->got.p, p->got.n, words, strlen(words));
}

/* Waits for the words; afterwards only what follows is looked at. */
static void expect(struct pair *p, const char *words) {
    for (int i = 0; i < 20000 && !has(p, words); i++) {
        char bytes[4096];
        turn(&p->first);
        chela_runtime_poll(p->second.rt);
        if (p->first.lane)
            ch_lane_inbox_refresh(p->first.lane); /* this store has no news */
        atomic_store(&gate.ends, p->first.ends);
        ssize_t n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n > 0)
            ch_buf_add(&p->got, bytes, (size_t)n);
    }
    if (!has(p, words))
        fail_msg("no %s", words);
    ch_buf_clear(&p->got);
}

/* The socket is older than the session, which the other gateway creates. */
static void test_a_socket_misses_no_event_of_its_message(void **state) {
    static const char frame[] = "\x81\xa0\0\0\0\0{\"type\":\"message\",\"text\":\"more\"}";
    struct pair p;
    (void)state;
    open_pair(&p);
    ask_for_socket(&p);
    expect(&p, "101 ");
    open_lane(&p.first);
    say(&p.first, "first");
    atomic_store(&gate.late, 1);
    assert_int_equal(send(p.fd, frame, sizeof(frame) - 1, 0), sizeof(frame) - 1);
    expect(&p, "\"ack\"");
    expect(&p, "\"run_end\"");
    close_pair(&p);
}

static void test_a_socket_misses_no_event_after_its_opening(void **state) {
    struct pair p;
    (void)state;
    open_pair(&p);
    open_lane(&p.first);
    say(&p.first, "first");
    atomic_store(&gate.late, 2); /* the first reading finds the session's agent */
    ask_for_socket(&p);
    expect(&p, "101 ");
    say(&p.first, "second");
    expect(&p, "\"run_end\"");
    close_pair(&p);
}

/* The store has the request, so the answer is no failure. */
static void test_an_outcome_that_cannot_be_read(void **state) {
    struct pair p;
    (void)state;
    open_pair(&p);
    open_lane(&p.first);
    say(&p.first, "first");
    atomic_store(&gate.rc, CHELA_EIO);
    send_text(&p, "POST /api/sessions/s/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                  "Authorization: Bearer 0123456789abcdef\r\nContent-Type: application/json\r\n"
                  "Content-Length: 14\r\n\r\n{\"results\":[]}");
    expect(&p, "HTTP/1.1 202 ");
    close_pair(&p);
}

/* --- a repeated request */

static int count_event(const struct chela_store_item *item, void *user) {
    (void)item;
    ++*(int *)user;
    return 0;
}

/* The client that asked for the stream of a message left before there was an answer. The holder has
 * not taken up the message, and may refuse it, so its repetition is not answered with 202. */
static void test_a_repeated_request_waits_for_its_outcome(void **state) {
    static const char request[] =
        "POST /api/sessions/s/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Authorization: Bearer 0123456789abcdef\r\nContent-Type: application/json\r\n"
        "Idempotency-Key: again\r\nContent-Length: 29\r\n\r\n{\"text\":\"more\",\"stream\":true}";
    struct pair p;
    struct chela_error err = {0};
    int stored = 0;
    (void)state;
    open_pair(&p);
    open_lane(&p.first);
    say(&p.first, "first");
    send_text(&p, request);
    for (int i = 0; i < 20000 && !stored; i++) {
        turn(&p.second);
        assert_int_equal(ch_store_waiting(shared, "s", 9, count_event, &stored, &err), 0);
    }
    assert_int_equal(stored, 1);
    close(p.fd);
    for (int i = 0; i < 50; i++)
        turn(&p.second);
    connect_pair(&p);
    send_text(&p, request);
    for (int i = 0; i < 300; i++) {
        char bytes[4096];
        turn(&p.second);
        assert_true(recv(p.fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0); /* no answer yet */
    }
    expect(&p, "\"run_end\"");
    assert_int_equal(p.first.ends, 2);
    close_pair(&p);
}

/* --- a session that is deleted after a reading has found it */

static atomic_uint found_late; /* attempts to open the session */

static const struct chela_store_session late_row = {.key = "late", .agent = "main", .title = "",
                                                    .status = "running", .parent = "",
                                                    .owner = "x" CH_OWNER_SERVES};

static int list_late(struct chela_store_db *db, const struct chela_store_filter *filter,
                     chela_store_session_fn *fn, void *user, struct chela_error *err) {
    if (!filter->status || strcmp(filter->status, "running") != 0)
        return gate.real->list(db, filter, fn, user, err);
    fn(&late_row, user);
    return 0;
}

static int find_late(struct chela_store_db *db, const char *key, chela_store_session_fn *fn,
                     void *user, struct chela_error *err) {
    if (strcmp(key, "late") != 0)
        return gate.real->session(db, key, fn, user, err);
    return fn(&late_row, user);
}

static int open_late(struct chela_store_db *db, const struct chela_store_claim *claim,
                     chela_store_session_fn *fn, void *user, struct chela_error *err) {
    atomic_fetch_add(&found_late, strcmp(claim->key, "late") == 0);
    return gate.real->open_session(db, claim, fn, user, err);
}

static void list_it(struct chela_store_ops *ops) {
    ops->open_session = open_late;
    ops->list = list_late;
}

static void find_it(struct chela_store_ops *ops) {
    ops->open_session = open_late;
    ops->session = find_late;
}

/* Neither the recovery of its run nor a client creates the session again. */
static void test_a_deleted_session_is_not_opened(void **state) {
    struct chela_error err = {0};
    struct pair p;
    (void)state;
    for (int client = 0; client < 2; client++) {
        atomic_store(&found_late, 0);
        open_pair_with(&p, client ? find_it : list_it);
        if (client) {
            send_text(&p, "GET /api/sessions/late/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                          "Authorization: Bearer 0123456789abcdef\r\n\r\n");
            expect(&p, "HTTP/1.1 404 ");
        }
        for (int i = 0; i < 20000 && !atomic_load(&found_late); i++)
            turn(&p.second);
        for (int i = 0; i < 20; i++)
            turn(&p.second);
        assert_int_equal(gate.real->session(shared->db, "late", note_token, &(uint64_t){0}, &err),
                         CHELA_ENOENT);
        close_pair(&p);
    }
}

/* An event that concerns a run is dropped with its session. */
static void test_an_event_of_a_run_creates_no_session(void **state) {
    struct chela_store_change c[] = {
        {.kind = CHELA_STORE_ACCEPT, .id = "api/d", .key = "late", .now = 1,
         .data = "{\"kind\":\"decision\",\"approval\":\"ap_1\",\"decision\":2}"},
        {.kind = CHELA_STORE_ACCEPT, .id = "timer/t", .key = "late", .now = 1,
         .data = "{\"kind\":\"timer\",\"agent\":\"main\"}"},
    };
    struct chela_error err = {0};
    struct pair p;
    int waiting = 2;
    (void)state;
    open_pair(&p);
    for (size_t i = 0; i < CH_LEN(c); i++) {
        c[i].n = strlen(c[i].data);
        assert_int_equal(ch_store_change(shared, &c[i], &err), 0);
    }
    for (int i = 0; i < 20000 && waiting; i++) {
        turn(&p.second);
        waiting = 0;
        assert_int_equal(ch_store_waiting(shared, "late", 9, count_event, &waiting, &err), 0);
    }
    assert_int_equal(waiting, 0);
    assert_int_equal(gate.real->session(shared->db, "late", note_token, &(uint64_t){0}, &err),
                     CHELA_ENOENT);
    close_pair(&p);
}

/* --- a session that another gateway has taken over */

static void watch_until(struct pair *p, struct seen *s, int ends) {
    for (int i = 0; i < 20000 && s->ends < ends; i++) {
        turn(&p->first);
        chela_runtime_poll(p->second.rt);
    }
    assert_int_equal(s->ends, ends);
}

/* Another gateway takes the session over and runs a message, while this one opens the session with
 * other options, or wants to store the beginning of a run. The watchers miss no event. */
static void test_the_watchers_of_a_lost_session_miss_no_event(void **state) {
    (void)state;
    for (int running = 0; running < 2; running++) {
        double warm = 0.5;
        struct pair p;
        struct chela_error err = {0};
        struct seen seen = {.watcher = {.event = on_event, .deleted = on_deleted}};
        struct chela_run_opts opts = CHELA_RUN_OPTS(.approve = CHELA_APPROVE_DENY);
        open_pair(&p);
        open_lane(&p.second);
        say(&p.second, "first");
        ch_lane_unwatch(&p.second.keeps);
        ch_lane_close(p.second.lane);
        for (int i = 0; i < 20; i++)
            turn(&p.second);
        open_lane(&p.second); /* remembers no event */
        while (!p.second.lane->ready)
            turn(&p.second);
        ch_tail_open(p.second.gw, "s", CH_TAIL_NOW, CH_SV(""), &seen.watcher, on_opened, &seen);
        while (!seen.opened)
            turn(&p.second);
        ch_lane_unwatch(&p.second.keeps);
        gate.taken = "second";
        gate.taker = &p.first;
        struct ch_lane_opts o = {.agent = p.second.agent, .key = "s", .patch.temperature = &warm};
        if (running)
            assert_int_equal(ch_lane_send(p.second.lane, CH_SV("hello"), &opts, &err), 0);
        else
            assert_int_equal(ch_lane_use(p.second.gw, &o, &p.second.lane, &err), 0);
        watch_until(&p, &seen, 1); /* the end of a run without records is a piece */
        ch_lane_unwatch(&seen.watcher);
        close_pair(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_before_the_message_are_held),
        cmocka_unit_test(test_a_deleted_session_refuses),
        cmocka_unit_test(test_a_deleted_session_ends_its_watchers),
        cmocka_unit_test(test_a_session_that_nobody_holds_is_awaited),
        cmocka_unit_test(test_a_release_creates_no_session),
        cmocka_unit_test(test_a_client_of_the_holder_misses_no_event),
        cmocka_unit_test(test_a_socket_misses_no_event_of_its_message),
        cmocka_unit_test(test_a_socket_misses_no_event_after_its_opening),
        cmocka_unit_test(test_an_outcome_that_cannot_be_read),
        cmocka_unit_test(test_the_watchers_of_a_lost_session_miss_no_event),
        cmocka_unit_test(test_a_repeated_request_waits_for_its_outcome),
        cmocka_unit_test(test_a_deleted_session_is_not_opened),
        cmocka_unit_test(test_an_event_of_a_run_creates_no_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
