/* test_posting.c -- answers as posts and messages as arrivals, for a service of the test's own
 * that fills only the small part of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/api/runtime.h"
#include "base/limits.h"
#include "channel/arrival.h"
#include "channel/attach.h"
#include "channel/channel.h"
#include "channel/posting.h"

#define MOST 16

static struct sent {
    char text[64], key[32], edit[16], reply[16], approval[16];
    int repeated, growing;
} posts[16];

static struct world {
    chela_runtime *rt;
    struct ch_channel *c;
    size_t n; /* posts */
    chela_channel_posted_fn *done;
    void *tag;
    chela_accepted_fn *noted;
    void *note_tag;
    char note[64], data[256];
    size_t nnotes;
    char session[64], id[64], stored[1024];
    size_t narrived;
} w;

static void keep(char *out, size_t size, const char *text) {
    snprintf(out, size, "%s", text ? text : "");
}

static int pigeon_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                       void **out, struct chela_error *err) {
    (void)host;
    (void)o;
    (void)err;
    *out = NULL;
    return 0;
}

static void pigeon_close(void *self) {
    (void)self;
}

static void pigeon_post(void *self, const struct chela_channel_post *p,
                        chela_channel_posted_fn *done, void *tag) {
    struct sent *s = &posts[w.n++];
    (void)self;
    assert_null(w.done);
    assert_true(w.n < sizeof(posts) / sizeof(posts[0]));
    keep(s->text, sizeof(s->text), p->text);
    keep(s->key, sizeof(s->key), p->key);
    keep(s->edit, sizeof(s->edit), p->edit);
    keep(s->reply, sizeof(s->reply), p->reply);
    keep(s->approval, sizeof(s->approval), p->approval);
    s->repeated = p->repeated;
    s->growing = p->growing;
    assert_string_equal(p->chat, "room 1");
    w.done = done;
    w.tag = tag;
}

static const struct chela_channel_ops pigeon = {.name = "pigeon",
                                                .open = pigeon_open,
                                                .close = pigeon_close,
                                                .post = pigeon_post,
                                                .most_text = MOST,
                                                .unit = CHELA_CHANNEL_CHARACTERS,
                                                .edit_ms = 1000};

static void on_note(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                    void *user) {
    (void)user;
    keep(w.note, sizeof(w.note), id);
    snprintf(w.data, sizeof(w.data), "%.*s", CH_SV_FMT(data.p ? data : CH_SV("(deleted)")));
    w.nnotes++;
    if (!done)
        return;
    w.noted = done;
    w.note_tag = tag;
}

static void on_arrived(const struct chela_channel_arrival *in, struct ch_arena *a,
                       chela_accepted_fn *done, void *tag, void *user) {
    (void)user;
    keep(w.session, sizeof(w.session), in->session);
    keep(w.id, sizeof(w.id), in->id);
    snprintf(w.stored, sizeof(w.stored), "%.*s", (int)in->data.n, in->data.p);
    w.narrived++;
    ch_arena_release(a);
    done(0, NULL, tag);
}

static int setup(void **state) {
    static const char *const rooms[] = {"room 1", NULL};
    struct chela_error err = {0};
    struct chela_channel_opts o =
        CHELA_CHANNEL_OPTS(.name = "pigeon", .streaming = 1, .dm_policy = CHELA_ACCESS_OPEN,
                           .groups = rooms);
    (void)state;
    memset(posts, 0, sizeof(posts));
    w = (struct world){0};
    assert_int_equal(chela_runtime_new(NULL, &w.rt, &err), 0);
    struct ch_channel_gateway gateway = {.rt = w.rt, .note = on_note, .arrived = on_arrived};
    return ch_channel_open(&pigeon, &gateway, &o, &w.c, &err);
}

static int teardown(void **state) {
    (void)state;
    ch_channel_close(w.c);
    chela_runtime_close(w.rt);
    return 0;
}

static void stored(int rc) {
    chela_accepted_fn *fn = CH_TAKE(w.noted);
    assert_non_null(fn);
    fn(rc, NULL, w.note_tag);
}

static void answer(enum chela_receipt what, const char *id) {
    chela_channel_posted_fn *fn = CH_TAKE(w.done);
    assert_non_null(fn);
    fn(&(struct chela_channel_posted){what, id, what == CHELA_RECEIPT_SENT ? NULL : "why", 0},
       w.tag);
}

static void deliver(const char *text, unsigned attempts, const char *approval) {
    struct chela_outbound m =
        CHELA_OUTBOUND(.key = "k1", .session = "pigeon:room~201", .channel = "pigeon",
                       .to = "room~201 m1", .text = text, .run = approval ? NULL : "run_1",
                       .approval = approval, .attempts = attempts);
    ch_channel_deliver(w.c, &m);
}

static void stream(const char *text) {
    struct chela_channel_arrival in = {.to = "room~201 m1", .session = "pigeon:room~201"};
    ch_channel_stream(w.c, &in, ch_sv_str(text));
}

/* --- posts */

static void test_parts(void **state) {
    (void)state;
    deliver("one two three\nfour five six\nseven", 0, NULL);
    assert_int_equal(w.n, 0); /* not before the note */
    assert_int_equal(w.note[0], CH_POSTING_NOTE);
    assert_string_equal(w.data, "0");
    stored(0);
    assert_string_equal(posts[0].text, "one two three");
    assert_string_equal(posts[0].reply, "m1");
    assert_int_equal(posts[0].repeated, 0);
    answer(CHELA_RECEIPT_SENT, "p1");
    assert_int_equal(w.n, 1);
    assert_string_equal(w.data, "1");
    stored(0);
    assert_string_equal(posts[1].text, "four five six");
    assert_string_equal(posts[1].reply, "");
    assert_string_not_equal(posts[0].key, posts[1].key);
    answer(CHELA_RECEIPT_SENT, "p2");
    stored(0);
    assert_string_equal(posts[2].text, "seven");
    answer(CHELA_RECEIPT_SENT, "p3");
    assert_string_equal(w.data, "(deleted)");
    assert_true(ch_posting_is_idle(w.c));
}

static void test_note_fails(void **state) {
    (void)state;
    deliver("one", 0, NULL);
    stored(CHELA_ESTATE);
    assert_int_equal(w.n, 0);
    assert_true(ch_posting_is_idle(w.c));
}

static void test_uncertain_is_repeated_with_its_key(void **state) {
    (void)state;
    deliver("one", 0, NULL);
    stored(0);
    answer(CHELA_RECEIPT_UNCERTAIN, NULL);
    assert_true(ch_posting_is_idle(w.c)); /* the outbox delivers again */
    deliver("one", 1, NULL);
    assert_int_equal(w.n, 2); /* the note is there already */
    assert_int_equal(posts[1].repeated, 1);
    assert_string_equal(posts[0].key, posts[1].key);
    answer(CHELA_RECEIPT_REFUSED, NULL);
    assert_string_equal(w.data, "(deleted)");
    assert_true(ch_posting_is_idle(w.c));
}

/* After the last attempt the outbox drops the message: its note and its growing message go too. */
static void test_last_attempt(void **state) {
    (void)state;
    deliver("one", CH_LIMIT_SENDS - 2, NULL);
    stored(0);
    answer(CHELA_RECEIPT_UNCERTAIN, NULL);
    assert_false(ch_list_empty(&w.c->marks));
    deliver("one", CH_LIMIT_SENDS - 1, NULL);
    answer(CHELA_RECEIPT_UNCERTAIN, NULL);
    assert_string_equal(w.data, "(deleted)");
    assert_true(ch_list_empty(&w.c->marks));
    stream("two");
    stored(0);
    answer(CHELA_RECEIPT_SENT, "p1");
    deliver("two", CH_LIMIT_SENDS - 2, NULL);
    answer(CHELA_RECEIPT_UNCERTAIN, NULL);
    assert_false(ch_list_empty(&w.c->growths));
    deliver("two", CH_LIMIT_SENDS - 1, NULL);
    answer(CHELA_RECEIPT_UNCERTAIN, NULL);
    assert_true(ch_list_empty(&w.c->growths));
    assert_int_equal(w.c->ngrowths, 0);
    assert_string_equal(w.data, "(deleted)");
    assert_true(ch_posting_is_idle(w.c));
}

/* The note of a process that died: one message was sent, the next may have been. */
static void test_crash(void **state) {
    char note[64];
    (void)state;
    deliver("one two three\nfour five six", 0, NULL);
    keep(note, sizeof(note), w.note);
    teardown(NULL);
    setup(NULL);
    ch_channel_remind(w.c, note, CH_SV("1"));
    ch_channel_reminded(w.c);
    deliver("one two three\nfour five six", 0, NULL);
    stored(0);
    assert_int_equal(w.n, 1);
    assert_string_equal(posts[0].text, "four five six");
    assert_int_equal(posts[0].repeated, 1);
    answer(CHELA_RECEIPT_SENT, "p2");
    assert_string_equal(w.data, "(deleted)");
    ch_channel_reminded(w.c);
    ch_channel_reminded(w.c);
    assert_true(ch_list_empty(&w.c->marks));
}

static void test_question(void **state) {
    (void)state;
    deliver("a call of *many* letters, in one piece", 0, "ap_1");
    stored(0);
    assert_string_equal(posts[0].text, "a call of *many* letters, in one piece");
    assert_string_equal(posts[0].approval, "ap_1");
    answer(CHELA_RECEIPT_SENT, "p1");
    assert_int_equal(w.n, 1);
}

static void test_growth(void **state) {
    (void)state;
    stream("one");
    assert_int_equal(w.n, 0);
    stored(0);
    assert_string_equal(posts[0].text, "one");
    assert_int_equal(posts[0].growing, 1);
    stream("one two"); /* while the first is under way */
    deliver("one two three\nfour", 0, NULL);
    assert_int_equal(w.n, 1); /* waits */
    answer(CHELA_RECEIPT_SENT, "p1");
    assert_int_equal(w.n, 2);
    assert_string_equal(posts[1].text, "one two three");
    assert_string_equal(posts[1].edit, "p1");
    answer(CHELA_RECEIPT_SENT, "p1");
    stored(0);
    assert_string_equal(posts[2].text, "four");
    assert_string_equal(posts[2].edit, "");
    answer(CHELA_RECEIPT_SENT, "p2");
    assert_true(ch_list_empty(&w.c->growths));
    assert_true(ch_posting_is_idle(w.c));
}

static void test_growth_is_gone(void **state) {
    (void)state;
    stream("one");
    stored(0);
    answer(CHELA_RECEIPT_SENT, "p1");
    deliver("one two", 0, NULL);
    assert_string_equal(posts[1].edit, "p1");
    answer(CHELA_RECEIPT_REFUSED, NULL); /* somebody deleted it */
    stored(0);
    assert_string_equal(posts[2].text, "one two");
    assert_string_equal(posts[2].edit, "");
    answer(CHELA_RECEIPT_SENT, "p2");
    assert_true(ch_posting_is_idle(w.c));
}

/* The growing message of a process that died is taken over by the answer. */
static void test_growth_after_a_crash(void **state) {
    char note[64], data[256];
    (void)state;
    stream("one");
    stored(0);
    answer(CHELA_RECEIPT_SENT, "p1");
    keep(note, sizeof(note), w.note);
    keep(data, sizeof(data), w.data);
    teardown(NULL);
    setup(NULL);
    ch_channel_remind(w.c, note, ch_sv_str(data));
    ch_channel_reminded(w.c);
    deliver("one two", 0, NULL);
    assert_string_equal(posts[0].edit, "p1");
    answer(CHELA_RECEIPT_SENT, "p1");
    assert_true(ch_list_empty(&w.c->growths));
    for (size_t i = 0; i < 3; i++)
        ch_channel_remind(w.c, i ? "~gbad" : "~sbad", i > 1 ? CH_SV("{") : CH_SV("{}"));
    ch_channel_reminded(w.c);
    assert_true(ch_list_empty(&w.c->growths));
}

/* --- arrivals */

static void on_accepted(int rc, const struct chela_error *err, void *tag) {
    (void)err;
    *(int *)tag = rc;
}

static int arrive(struct chela_channel_message m) {
    int rc = 1;
    int taken = w.c->host.message(&m, on_accepted, &rc, w.c);
    assert_int_equal(rc, taken ? 0 : 1);
    return taken;
}

static void test_arrivals(void **state) {
    (void)state;
    assert_true(arrive((struct chela_channel_message){
        .id = "m:1", .chat = "a/b", .sender = "ann", .direct = 1, .text = "hello"}));
    assert_string_equal(w.session, "pigeon:a~2Fb");
    assert_string_equal(w.id, "pigeon:a~2Fb:m~3A1");
    struct chela_channel_message m = {
        .id = "2", .chat = "room 1", .thread = "t", .sender = "ann", .text = "hi", .mentioned = 1};
    assert_true(arrive(m));
    assert_string_equal(w.session, "pigeon:room~201:t");
    m.mentioned = 0;
    assert_false(arrive(m));
    m.mentioned = m.program = 1;
    assert_false(arrive(m));
    m.program = 0;
    m.chat = "room 2";
    assert_false(arrive(m));
    m.chat = "room 1";
    m.text = "";
    m.mentioned = 1;
    assert_false(arrive(m));
    m.quoted = &(struct chela_beside){"1", "Ben", "said"};
    m.id = "3";
    assert_true(arrive(m));
    m.answers_us = 1;
    m.id = "4";
    assert_false(arrive(m));
    m.answers_us = m.mentioned = 0;
    assert_false(arrive(m));
    m.text = "hi";
    m.id = "";
    assert_false(arrive(m));
    m.id = "5";
    m.sender = NULL;
    assert_false(arrive(m));
    assert_int_equal(w.narrived, 3);
}

static void test_arrival_is_recalled(void **state) {
    struct chela_beside quoted = {"1", "Ben", "said \xff"};
    struct chela_channel_file file = {"h", "a.png", 5};
    CH_ARENA_AUTO a = {0};
    struct chela_channel_arrival in;
    (void)state;
    assert_true(arrive((struct chela_channel_message){.id = "2",
                                                      .chat = "c",
                                                      .sender = "ann",
                                                      .sender_name = "Ann",
                                                      .direct = 1,
                                                      .text = "look",
                                                      .ts = 7,
                                                      .handle = "h 1",
                                                      .quoted = &quoted,
                                                      .answers_us = 1,
                                                      .files = &file,
                                                      .nfiles = 1}));
    assert_int_equal(ch_channel_recall(w.c, ch_sv_str(w.stored), &a, &in, &(struct chela_error){0}),
                     0);
    assert_string_equal(in.id, w.id);
    assert_string_equal(in.session, w.session);
    assert_string_equal(in.text, "look\n[file: a.png]");
    assert_string_equal(in.about.sender, "Ann");
    assert_string_equal(in.about.quoted->text, "said \xef\xbf\xbd");
    assert_int_equal(in.about.ts, 7);
    struct ch_reply_address to = ch_reply_address_read(ch_sv_str(in.to), &a);
    assert_string_equal(to.chat, "c");
    assert_string_equal(to.message, "2");
    assert_null(to.thread);
    assert_string_equal(to.handle, "h 1");
    static const char *const bad[] = {
        "", "{", "7", "{}", "{\"id\":\"1\"}", "{\"id\":\"1\",\"chat\":\"c\\u0000\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_true(ch_channel_recall(w.c, ch_sv_str(bad[i]), &a, &in, &(struct chela_error){0}) <
                    0);
}

/* The text of an answer tells the ending already. A message of an older version may have only an
 * error, whose words are not for people. */
static void test_error_is_not_told(void **state) {
    static const struct {
        enum chela_status status;
        const char *text, *error, *want;
    } rows[] = {
        {CHELA_STATUS_DONE, "fine", NULL, "fine"},
        {CHELA_STATUS_STOPPED, "so far", "enough", "so far"},
        {CHELA_STATUS_ERROR, "", "no key",
         "The model service failed, so there is no complete answer. Please write again later."},
    };
    (void)state;
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        struct chela_outbound m = CHELA_OUTBOUND(.text = rows[i].text, .error = rows[i].error,
                                                 .status = rows[i].status,
                                                 .reason = CHELA_REASON_MODEL_ERROR);
        CH_AUTOFREE char *text = ch_outbound_text(&m);
        assert_string_equal(text, rows[i].want);
    }
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_parts),
        TEST(test_note_fails),
        TEST(test_uncertain_is_repeated_with_its_key),
        TEST(test_last_attempt),
        TEST(test_crash),
        TEST(test_question),
        TEST(test_growth),
        TEST(test_growth_is_gone),
        TEST(test_growth_after_a_crash),
        cmocka_unit_test(test_error_is_not_told),
        TEST(test_arrivals),
        TEST(test_arrival_is_recalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
