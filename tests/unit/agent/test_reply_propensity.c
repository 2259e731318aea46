/* test_reply_propensity.c -- willingness: the curve, the rules, and a long chat. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "chela/heartbeat.h"
#include "chela/session.h"
#include "json/writer.h"

#define T0 (INT64_C(1700000000) * 1000)

static struct chela_willing_opts with(enum chela_chat_kind kind) {
    struct chela_willing_opts o = CHELA_WILLING_OPTS(.text = 0);
    assert_int_equal(chela_willing_defaults(kind, &o, NULL), 0);
    return o;
}

static chela_willing *make(enum chela_chat_kind kind, const struct chela_willing_opts *opts,
                           const struct chela_willing_rules *rules) {
    chela_willing *w = NULL;
    assert_int_equal(chela_willing_new(kind, opts, rules, &w, NULL), 0);
    return w;
}

static struct chela_heard said(int64_t at, const char *text) {
    return (struct chela_heard){.at = at, .text = {text, strlen(text)}};
}

static void near(double got, double want, double by) {
    if (fabs(got - want) > by)
        print_message("got %f, want %f\n", got, want);
    assert_true(fabs(got - want) <= by);
}

static unsigned next(uint64_t *seed) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*seed >> 33);
}

/* The figures known for these formulas, lines that come at once from nothing. */
static void test_curve(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool mention, quote;
        double w[6], p[6];
    } cases[] = {
        {"plain", false, false, {12, 23.8, 43.4, 62.7, 76.8, 85.2}, {0, 0, 0, .31, .87, 1}},
        {"quotes", false, true, {27, 71.8}, {0, .67}},
        {"a mention", true, false, {100}, {1}},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_willing_opts o = with(CHELA_CHAT_GROUP);
        o.share_high = 1;
        chela_willing *w = make(CHELA_CHAT_GROUP, &o, NULL);
        for (size_t k = 0; k < 6 && cases[i].w[k] > 0; k++) {
            struct chela_heard h = said(T0, "well");
            struct chela_urge u;
            h.mention = cases[i].mention;
            h.quote = cases[i].quote;
            chela_willing_hear(w, &h, &u);
            near(u.willingness, cases[i].w[k], 0.06);
            near(u.probability, cases[i].p[k], 0.006);
        }
        chela_willing_free(w);
    }
}

/* What a timer that fires each second would have left, by the known rule. */
static double by_seconds(double w, double threshold, double half_life, int seconds) {
    for (int s = 0; s < seconds; s++) {
        double lost = 1 - pow(0.5, 1 / half_life);
        lost *= w > threshold ? 0.5 : 1;
        lost *= s < 15 ? 0.3 : s < 60 ? 0.7 : 1;
        w *= 1 - lost;
    }
    return w < 0.01 ? 0 : w;
}

static void test_decay_is_that_of_a_timer(void **state) {
    (void)state;
    static const int seconds[] = {0, 1, 14, 15, 16, 59, 60, 61, 300, 600, 1500, 3600, 9000};
    struct chela_willing_opts o = with(CHELA_CHAT_GROUP);
    struct chela_urge u;
    for (size_t i = 0; i < CH_LEN(seconds); i++) {
        chela_willing *w = make(CHELA_CHAT_GROUP, &o, NULL);
        for (int k = 0; k < 5; k++) {
            struct chela_heard h = said(T0, "well");
            chela_willing_hear(w, &h, &u);
        }
        double all = chela_willing_at(w, T0 + seconds[i] * 1000);
        near(all, by_seconds(u.willingness, o.threshold, o.half_life_s, seconds[i]), 0.05);
        chela_willing_free(w);
    }
}

/* Asking more often changes nothing: pieces of time add up. */
static void test_decay_is_lazy(void **state) {
    (void)state;
    struct chela_urge u;
    chela_willing *a = make(CHELA_CHAT_GROUP, NULL, NULL);
    chela_willing *b = make(CHELA_CHAT_GROUP, NULL, NULL);
    struct chela_heard h = said(T0, "well"), own = {.own = true};
    for (int k = 0; k < 6; k++) {
        chela_willing_hear(a, &h, &u);
        chela_willing_hear(b, &h, &u);
    }
    for (int s = 1; s <= 2000; s++) {
        own.at = T0 + s * 1000;
        chela_willing_hear(b, &own, &u);
    }
    near(chela_willing_at(a, T0 + 2000000), chela_willing_at(b, T0 + 2000000), 1e-6);
    chela_willing_free(a);
    chela_willing_free(b);
}

static void test_rules(void **state) {
    (void)state;
    static const char *const names[] = {"Chela", "小蟹", NULL}, *const stop[] = {"be quiet", NULL};
    static const struct {
        const char *name, *text;
        bool own, bot, mention, direct, scored;
        enum chela_urge_reason want;
    } cases[] = {
        {"ours", "hello Chela", true, false, true, false, false, CHELA_URGE_OWN},
        {"a mention", "what now", false, false, true, false, false, CHELA_URGE_MENTION},
        {"a name", "ask chela, she knows", false, false, false, false, false, CHELA_URGE_NAMED},
        {"in Chinese", "问问小蟹吧", false, false, false, false, false, CHELA_URGE_NAMED},
        {"a part of a word", "Michelangelo", false, false, false, false, false, CHELA_URGE_LOW},
        {"first direct message", "hi", false, false, false, true, false, CHELA_URGE_DIRECT},
        {"direct, but scored", "hi", false, false, false, true, true, CHELA_URGE_LOW},
        {"another bot", "beep", false, true, false, false, false, CHELA_URGE_BOT},
        {"a bot that asks", "beep", false, true, true, false, false, CHELA_URGE_MENTION},
        {"be quiet", "chela, be quiet", false, false, true, false, false, CHELA_URGE_HUSHED},
        {"not meant for it", "be quiet", false, false, false, false, false, CHELA_URGE_LOW},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        enum chela_chat_kind kind = cases[i].direct ? CHELA_CHAT_DIRECT : CHELA_CHAT_GROUP;
        struct chela_willing_rules r = CHELA_WILLING_RULES(.names = names, .stop_words = stop);
        struct chela_willing_opts o = with(kind);
        struct chela_heard h = said(T0, cases[i].text);
        struct chela_urge u;
        o.answer_all &= !cases[i].scored;
        h.own = cases[i].own;
        h.bot = cases[i].bot;
        h.mention = cases[i].mention;
        chela_willing *w = make(kind, &o, &r);
        chela_willing_hear(w, &h, &u);
        if (u.reason != cases[i].want)
            print_message("%s: %s\n", cases[i].name, chela_urge_name(u.reason));
        assert_int_equal(u.reason, cases[i].want);
        assert_int_equal(u.reply, u.reason <= CHELA_URGE_WILLING);
        chela_willing_free(w);
    }
}

/* One answer to a mention is no reason to go on talking. */
static void test_no_chain_after_a_mention(void **state) {
    (void)state;
    struct chela_urge u;
    chela_willing *w = make(CHELA_CHAT_GROUP, NULL, NULL);
    struct chela_heard h = said(T0, "you there?");
    h.mention = true;
    chela_willing_hear(w, &h, &u);
    assert_true(u.reply);
    chela_willing_said(w, T0, 1);
    near(chela_willing_at(w, T0), 20, 1e-9);
    h = said(T0 + 5000, "lunch?");
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_REFRACTORY);
    h = said(T0 + 25000, "pizza");
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_LOW);
    chela_willing_free(w);
}

/* What a turn costs is paid when it begins: what others say while it thinks is no
 * reason for another. */
static void test_a_turn_is_paid_once(void **state) {
    (void)state;
    struct chela_urge u;
    chela_willing *w = make(CHELA_CHAT_GROUP, NULL, NULL);
    struct chela_heard h = said(T0, "you there?");
    h.mention = true;
    chela_willing_hear(w, &h, &u);
    chela_willing_turn(w, T0);
    near(chela_willing_at(w, T0), 20, 1e-9);
    h = said(T0 + 5000, "lunch?");
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_REFRACTORY);
    double before = chela_willing_at(w, T0 + 10000);
    chela_willing_said(w, T0 + 10000, 1);
    near(chela_willing_at(w, T0 + 10000), before, 1e-9);
    h = said(T0 + 29000, "pizza"); /* it begins anew with the end */
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_REFRACTORY);
    chela_willing_said(w, T0 + 29000, 1); /* without a turn */
    assert_true(chela_willing_at(w, T0 + 29000) < before);
    chela_willing_free(w);
}

/* --- another process goes on */

static chela_willing *reborn(chela_willing *w, uint64_t seed) {
    struct chela_willing_rules r = CHELA_WILLING_RULES(.seed = seed);
    char *json = chela_willing_save(w);
    chela_willing *next = make(CHELA_CHAT_GROUP, NULL, &r);
    assert_int_equal(chela_willing_restore(next, json, strlen(json), INT64_MAX, NULL), 0);
    char *again = chela_willing_save(next);
    assert_string_equal(json, again);
    chela_free(json);
    chela_free(again);
    chela_willing_free(w);
    return next;
}

static void test_goes_on_where_it_was(void **state) {
    (void)state;
    struct chela_willing_rules r = CHELA_WILLING_RULES(.seed = 5);
    struct chela_urge a, b;
    uint64_t dice = 11;
    chela_willing *one = make(CHELA_CHAT_GROUP, NULL, &r);
    chela_willing *many = reborn(make(CHELA_CHAT_GROUP, NULL, &r), 6);
    int64_t at = T0;
    for (int i = 0; i < 300; i++) {
        struct chela_heard h = said(at += (int64_t)(next(&dice) % 60000), "well");
        h.mention = next(&dice) % 12 == 0;
        h.bot = next(&dice) % 9 == 0;
        chela_willing_hear(one, &h, &a);
        chela_willing_hear(many, &h, &b);
        assert_int_equal(a.reason, b.reason);
        near(a.willingness, b.willingness, 1e-6);
        if (a.reply) {
            chela_willing_turn(one, at);
            chela_willing_turn(many, at);
            many = reborn(many, 100 + dice);
            at += 3000;
            chela_willing_said(one, at, 1 + i % 3);
            chela_willing_said(many, at, 1 + i % 3);
        }
        many = reborn(many, dice);
    }
    chela_willing_free(one);
    chela_willing_free(many);
}

/* What is written there by others does no harm. */
static void test_restore_what_it_is_not(void **state) {
    (void)state;
    static const char *const none[] = {"", "[]", "7", "{", "null"};
    static const char *const odd[] = {
        "{}",
        "{\"w\":50}",
        "{\"w\":1e400,\"at\":5,\"all\":-1,\"own\":7,\"lines\":-3,\"bots\":99999999999}",
        "{\"w\":50,\"at\":9223372036854775807,\"line\":-9223372036854775807}",
        "{\"w\":\"x\",\"at\":10,\"line\":20,\"dice\":\"y\",\"turn\":1}",
    };
    for (size_t i = 0; i < CH_LEN(none); i++) {
        struct chela_error err = {0};
        chela_willing *w = make(CHELA_CHAT_GROUP, NULL, NULL);
        char *before = chela_willing_save(w);
        assert_int_equal(chela_willing_restore(w, none[i], strlen(none[i]), T0, &err),
                         CHELA_EPARSE);
        char *after = chela_willing_save(w);
        assert_string_equal(before, after);
        chela_free(before);
        chela_free(after);
        chela_willing_free(w);
    }
    for (size_t i = 0; i < CH_LEN(odd); i++) {
        struct chela_urge u;
        chela_willing *w = make(CHELA_CHAT_GROUP, NULL, NULL);
        struct chela_heard h = said(T0, "well");
        assert_int_equal(chela_willing_restore(w, odd[i], strlen(odd[i]), T0, NULL), 0);
        chela_willing_hear(w, &h, &u);
        assert_true(u.willingness >= 0 && u.willingness <= 100);
        assert_true(u.share >= 0 && u.share <= 1);
        chela_willing_free(w);
    }
}

/* Whatever a clock said once, it speaks again in time. */
static void test_restore_bounds_rest(void **state) {
    (void)state;
    static const struct {
        int64_t at, refractory, hushed; /* after T0, s */
        int64_t rests; /* for how long, s */
    } cases[] = {
        {0, 20, -1, 20},
        {0, INT64_C(1) << 40, -1, 20},
        {3600, 3620, -1, 20},
        {3600, INT64_C(1) << 40, -1, 20},
        {-100, 0, -1, 0},
        {-100, INT64_C(1) << 40, -1, 0},
        {0, 0, INT64_C(1) << 40, 60},
        {3600, 0, 3660, 60},
    };
    struct chela_willing_rules r = CHELA_WILLING_RULES(.hush_s = 60);
    for (size_t i = 0; i < CH_LEN(cases); i++)
        for (int64_t late = -1; late <= 0; late++) {
            char json[256];
            struct chela_urge u;
            struct chela_heard h = said(T0 + cases[i].rests * 1000 + late, "well");
            chela_willing *w = make(CHELA_CHAT_GROUP, NULL, &r);
            snprintf(json, sizeof(json),
                     "{\"at\":%" PRId64 ",\"refractory\":%" PRId64 ",\"hushed\":%" PRId64 "}",
                     T0 + cases[i].at * 1000, T0 + cases[i].refractory * 1000,
                     T0 + cases[i].hushed * 1000);
            assert_int_equal(chela_willing_restore(w, json, strlen(json), T0, NULL), 0);
            chela_willing_hear(w, &h, &u);
            bool rests = u.reason == CHELA_URGE_REFRACTORY || u.reason == CHELA_URGE_HUSHED;
            assert_int_equal(rests, cases[i].rests > 0 && late < 0);
            chela_willing_free(w);
        }
}

static void test_hushed_until_asked(void **state) {
    (void)state;
    static const char *const stop[] = {"安静", NULL};
    struct chela_willing_rules r = CHELA_WILLING_RULES(.stop_words = stop, .hush_s = 60);
    struct chela_willing_opts o = with(CHELA_CHAT_GROUP);
    struct chela_urge u;
    struct chela_heard h = said(T0, "安静一会");
    o.answer_all = true;
    chela_willing *w = make(CHELA_CHAT_GROUP, &o, &r);
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_HUSHED);
    h = said(T0 + 1000, "hm");
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_DIRECT); /* every line is meant for it here */
    chela_willing_free(w);
    o.answer_all = false;
    o.threshold = 0;
    o.slope = 1;
    o.refractory_s = 0;
    w = make(CHELA_CHAT_GROUP, &o, &r);
    h = said(T0, "安静");
    h.mention = true;
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_HUSHED);
    h = said(T0 + 59000, "hm");
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_HUSHED);
    h = said(T0 + 60000, "hm");
    chela_willing_hear(w, &h, &u);
    assert_int_equal(u.reason, CHELA_URGE_WILLING);
    chela_willing_free(w);
}

static void test_quiet_hours(void **state) {
    (void)state;
    static const struct {
        const char *hours, *offset;
        int at; /* minute of the day in UTC */
        bool quiet;
    } cases[] = {
        {"23:00-07:30", "+00:00", 22 * 60 + 59, false}, {"23:00-07:30", "+00:00", 23 * 60, true},
        {"23:00-07:30", "+00:00", 0, true},             {"23:00-07:30", "+00:00", 450, false},
        {"12:00-13:00", "+00:00", 12 * 60 + 30, true},  {"12:00-13:00", "+00:00", 13 * 60, false},
        {"23:00-07:30", "+08:00", 15 * 60, true},       {"23:00-07:30", "-05:30", 23 * 60, false},
        {"08:00-08:00", "+00:00", 8 * 60, false},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_willing_rules r = CHELA_WILLING_RULES(.seed = 0);
        struct chela_willing_opts o = with(CHELA_CHAT_GROUP);
        struct chela_urge u;
        o.threshold = 0;
        o.slope = 1;
        assert_int_equal(
            chela_quiet_hours_read(cases[i].hours, &r.quiet_from, &r.quiet_to, NULL), 0);
        assert_int_equal(chela_utc_offset_read(cases[i].offset, &r.utc_offset, NULL), 0);
        chela_willing *w = make(CHELA_CHAT_GROUP, &o, &r);
        int64_t at = (T0 / 86400000 * 1440 + cases[i].at) * 60000;
        struct chela_heard h = said(at, "hm");
        chela_willing_hear(w, &h, &u);
        assert_int_equal(u.reason, cases[i].quiet ? CHELA_URGE_QUIET_HOURS : CHELA_URGE_WILLING);
        h.mention = true;
        chela_willing_hear(w, &h, &u);
        assert_int_equal(u.reason, CHELA_URGE_MENTION);
        chela_willing_free(w);
    }
}

static void test_bad_times(void **state) {
    (void)state;
    static const char *const hours[] = {"", "23", "23:00", "23:00-", "24:00-07:00", "23:60-07:00",
                                        "23:00-7:00", "23:00-07:000", "23:00 07:00", "ab:cd-ef:gh"};
    static const char *const offsets[] = {"", "8", "08:00", "+8:00", "+15:00", "+08:00 ", "-"};
    int a, b;
    for (size_t i = 0; i < CH_LEN(hours); i++)
        assert_int_equal(chela_quiet_hours_read(hours[i], &a, &b, NULL), CHELA_EINVAL);
    for (size_t i = 0; i < CH_LEN(offsets); i++)
        assert_int_equal(chela_utc_offset_read(offsets[i], &a, NULL), CHELA_EINVAL);
}

/* A clock that is far off gives no time beyond the greatest one. */
static void test_greatest_time(void **state) {
    chela_willing *w = make(CHELA_CHAT_DIRECT, NULL, NULL);
    struct chela_heard line = said(INT64_MAX, "hi");
    struct chela_urge urge;
    (void)state;
    chela_willing_hear(w, &line, &urge);
    assert_true(urge.reply);
    chela_willing_said(w, INT64_MAX, 1);
    char *saved = chela_willing_save(w);
    assert_non_null(strstr(saved, "\"at\":9007199254740992,"));
    assert_non_null(strstr(saved, "\"refractory\":9007199254760992,"));
    chela_free(saved);
    chela_willing_free(w);
}

/* Two bots do not keep each other busy for ever. */
static void test_bots(void **state) {
    (void)state;
    struct chela_urge u;
    chela_willing *w = make(CHELA_CHAT_GROUP, NULL, NULL);
    unsigned answers = 0;
    for (int i = 0; i < 10; i++) {
        struct chela_heard h = said(T0 + i * 1000, "and you?");
        h.bot = h.mention = true;
        chela_willing_hear(w, &h, &u);
        answers += u.reply;
    }
    assert_int_equal(answers, 3);
    struct chela_heard h = said(T0 + 20000, "stop it, you two");
    chela_willing_hear(w, &h, &u);
    h.bot = h.mention = true;
    chela_willing_hear(w, &h, &u);
    assert_true(u.reply);
    chela_willing_free(w);
}

/* --- a long chat, made by a small generator --------------------------------------- */

struct tally {
    size_t lines, direct, mentions, replies, free_replies;
    int64_t last; /* reply in the group */
    double refractory_ms;
    char *trace; /* of decisions */
};

static void make_chat(struct ch_buf *out, size_t lines, uint64_t seed) {
    static const char *const words[] = {"morning", "有人吗", "build is red again", "lunch?", "哈哈",
                                        "see the new release notes", "who broke main?"};
    int64_t at = T0;
    for (size_t i = 0; i < lines; i++) {
        unsigned dice = next(&seed) % 100;
        at += 1000 + next(&seed) % 40000;
        struct ch_jw w = ch_jw(out);
        ch_jw_begin(&w, '{');
        ch_jw_kint(&w, "ts", at);
        ch_jw_kcstr(&w, "type", dice < 5 ? "direct" : "group");
        ch_jw_kcstr(&w, "chat", dice < 5 ? "dm" : "team");
        ch_jw_kcstr(&w, "text", words[next(&seed) % CH_LEN(words)]);
        ch_jw_kbool(&w, "mention", dice >= 5 && dice < 12);
        ch_jw_end(&w, '}');
        ch_buf_add_str(out, "\n");
    }
}

static void tally_line(const struct chela_simulated *s, void *user) {
    struct tally *t = user;
    bool direct = s->kind == CHELA_CHAT_DIRECT, mention = s->urge.reason == CHELA_URGE_MENTION;
    t->lines += !direct;
    t->direct += direct;
    t->mentions += mention;
    if (direct)
        assert_true(s->urge.reply);
    if (t->trace)
        t->trace[s->line - 1] = (char)('A' + s->urge.reason);
    if (direct || !s->urge.reply)
        return;
    t->replies++;
    t->free_replies += !mention;
    if (!mention && t->last)
        assert_true((double)(s->at - t->last) >= t->refractory_ms);
    t->last = s->at;
}

/* Whatever the band: who asks is answered, nobody else is right after it spoke, and
 * what it says is that share of the chat. */
static void test_long_chat(void **state) {
    (void)state;
    static const struct {
        double low, high, refractory_s;
    } bands[] = {{.05, .2, 20}, {.1, .25, 45}, {.15, .3, 5}};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        CH_BUF_AUTO chat = {0};
        struct chela_willing_opts group = with(CHELA_CHAT_GROUP);
        size_t band = seed % CH_LEN(bands), mentions = 0;
        group.share_low = bands[band].low;
        group.share_high = bands[band].high;
        group.refractory_s = bands[band].refractory_s;
        struct tally t = {.refractory_ms = group.refractory_s * 1000};
        struct chela_willing_rules rules = CHELA_WILLING_RULES(.seed = seed);
        struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.group = &group, .rules = &rules);
        make_chat(&chat, 500, seed);
        assert_int_equal(
            chela_heartbeat_simulate(chat.p, chat.n, &o, tally_line, &t, NULL), 0);
        for (const char *p = chat.p; (p = strstr(p, "\"mention\":true")); p++)
            mentions++;
        assert_int_equal(t.lines + t.direct, 500);
        assert_true(t.direct > 0 && mentions > 0);
        assert_int_equal(t.mentions, mentions);
        double share = (double)t.replies / (double)(t.lines + t.replies);
        if (share < group.share_low || share > group.share_high)
            print_message("seed %d: %f\n", (int)seed, share);
        assert_true(share >= group.share_low && share <= group.share_high);
        assert_true(t.free_replies > 0);
    }
}

static void test_same_seed_same_decisions(void **state) {
    (void)state;
    char traces[3][501] = {{0}};
    static const uint64_t seeds[] = {7, 7, 8};
    CH_BUF_AUTO chat = {0};
    make_chat(&chat, 500, 3);
    for (size_t i = 0; i < 3; i++) {
        struct tally t = {.trace = traces[i]};
        struct chela_willing_rules rules = CHELA_WILLING_RULES(.seed = seeds[i]);
        struct chela_heartbeat_opts o = CHELA_HEARTBEAT_OPTS(.rules = &rules);
        assert_int_equal(
            chela_heartbeat_simulate(chat.p, chat.n, &o, tally_line, &t, NULL), 0);
    }
    assert_string_equal(traces[0], traces[1]);
    assert_string_not_equal(traces[0], traces[2]);
}

static void ignore(const struct chela_simulated *s, void *user) {
    (void)s;
    ++*(size_t *)user;
}

static void test_bad_chats(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"ts\":1,\"text\":\"a\"}\n{", "line 2: "},
        {"[]", "line 1: expected an object"},
        {"{\"text\":\"a\"}", "line 1: `ts` must be a time in milliseconds"},
        {"\n\n{\"ts\":\"x\"}", "line 3: `ts` must be a time in milliseconds"},
        {"{\"ts\":1,\"type\":\"room\"}", "line 1: `type` must be group or direct"},
    };
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct chela_error err = {0};
        size_t n = 0;
        assert_int_equal(chela_heartbeat_simulate(cases[i].text, strlen(cases[i].text), NULL,
                                                  ignore, &n, &err),
                         CHELA_EPARSE);
        assert_non_null(strstr(err.message, cases[i].want));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curve),
        cmocka_unit_test(test_decay_is_that_of_a_timer),
        cmocka_unit_test(test_decay_is_lazy),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_no_chain_after_a_mention),
        cmocka_unit_test(test_a_turn_is_paid_once),
        cmocka_unit_test(test_goes_on_where_it_was),
        cmocka_unit_test(test_restore_what_it_is_not),
        cmocka_unit_test(test_restore_bounds_rest),
        cmocka_unit_test(test_hushed_until_asked),
        cmocka_unit_test(test_quiet_hours),
        cmocka_unit_test(test_bad_times),
        cmocka_unit_test(test_greatest_time),
        cmocka_unit_test(test_bots),
        cmocka_unit_test(test_long_chat),
        cmocka_unit_test(test_same_seed_same_decisions),
        cmocka_unit_test(test_bad_chats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
