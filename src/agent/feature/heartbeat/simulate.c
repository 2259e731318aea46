/* simulate.c -- plays a recorded chat, line by line, through reply_propensity.c. */
#include "agent/feature/heartbeat/reply_propensity.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/opts.h"
#include "chela/heartbeat.h"
#include "json/json.h"
#include "json/writer.h"

struct chat {
    struct chat *next;
    struct ch_sv id; /* in the arena */
    enum chela_chat_kind kind;
    chela_willing *w;
};

struct play {
    struct chela_willing_opts group, direct;
    struct chela_willing_rules rules;
    struct ch_arena arena; /* memory of the whole simulation */
    struct chat *chats;
    size_t nchats;
};

static struct chela_str str(struct ch_sv s) {
    return (struct chela_str){s.p, s.n};
}

/* The chat of a line; kind is used if the chat is new. */
static struct chat *chat_of(struct play *p, struct ch_sv id, enum chela_chat_kind kind) {
    for (struct chat *c = p->chats; c; c = c->next)
        if (ch_sv_eq(c->id, id))
            return c;
    if (p->nchats == CH_LIMIT_HEARTBEAT_CHATS)
        return NULL;
    struct chat *c = ch_arena_zalloc(&p->arena, sizeof(*c));
    *c = (struct chat){.next = p->chats, .id = ch_arena_sv(&p->arena, id), .kind = kind};
    chela_willing_new(kind, kind == CHELA_CHAT_GROUP ? &p->group : &p->direct, &p->rules, &c->w,
                      NULL);
    p->chats = c;
    p->nchats++;
    return c;
}

static void simulate_release(struct play *p) {
    for (struct chat *c = p->chats; c; c = c->next)
        chela_willing_free(c->w);
    ch_arena_release(&p->arena);
}

static bool flag(const struct ch_json *v, const char *name) {
    return ch_json_bool(ch_json_get(v, name), false);
}

static int read_line(const struct ch_json *v, struct chela_simulated *s, struct chela_heard *h,
                     struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(v, "type"), chat = ch_json_get_str(v, "chat");
    if (!ch_json_is(v, CH_JSON_OBJECT))
        return ch_fail(err, CHELA_EPARSE, "line %zu: expected an object", s->line);
    if (!ch_json_as_int(ch_json_get(v, "ts"), &s->at) || s->at < 0)
        return ch_fail(err, CHELA_EPARSE, "line %zu: `ts` must be a time in milliseconds",
                       s->line);
    if (type.n && !ch_sv_is(type, "group") && !ch_sv_is(type, "direct"))
        return ch_fail(err, CHELA_EPARSE, "line %zu: `type` must be group or direct", s->line);
    s->kind = ch_sv_is(type, "direct") ? CHELA_CHAT_DIRECT : CHELA_CHAT_GROUP;
    s->chat = str(chat.n ? chat : CH_SV("chat"));
    s->name = str(ch_json_get_str(v, "name"));
    s->text = str(ch_json_get_str(v, "text"));
    *h = (struct chela_heard){.at = s->at,
                              .text = s->text,
                              .own = flag(v, "own"),
                              .bot = flag(v, "bot"),
                              .mention = flag(v, "mention"),
                              .quote = flag(v, "quote")};
    return 0;
}

static int play_line(struct play *p, struct ch_sv text, size_t line, chela_simulated_fn *fn,
                     void *user, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    struct chela_error why = {0};
    struct chela_simulated s = {.line = line};
    struct chela_heard h;
    const struct ch_json *v;
    if (ch_json_parse(&arena, text, CH_JSON_REPLACE, &v, NULL, &why) < 0)
        return ch_fail(err, CHELA_EPARSE, "line %zu: %s", line, why.message);
    int rc = read_line(v, &s, &h, err);
    if (rc < 0)
        return rc;
    struct chat *c = chat_of(p, ch_sv(s.chat.p, s.chat.n), s.kind);
    if (!c)
        return ch_fail(err, CHELA_ELIMIT, "line %zu: more than %d chats", line,
                       CH_LIMIT_HEARTBEAT_CHATS);
    if (ch_json_get_str(v, "type").n && s.kind != c->kind)
        return ch_fail(err, CHELA_EPARSE,
                       "line %zu: `type` is not the one of the chat's first line", line);
    s.kind = c->kind;
    s.before = chela_willing_at(c->w, s.at);
    chela_willing_hear(c->w, &h, &s.urge);
    if (s.urge.reply)
        chela_willing_said(c->w, s.at, 1);
    s.after = chela_willing_at(c->w, s.at);
    fn(&s, user);
    return 0;
}

int chela_heartbeat_simulate(const char *jsonl, size_t len,
                             const struct chela_heartbeat_opts *given, chela_simulated_fn *fn,
                             void *user, struct chela_error *err) {
    struct chela_heartbeat_opts o;
    struct play p = {0};
    struct ch_sv rest = ch_sv(jsonl, len);
    int rc = CH_OPTS_READ(chela_heartbeat_opts, &o, given, err);
    if (rc == 0)
        rc = ch_reply_propensity_read(CHELA_CHAT_GROUP, o.group, &p.group, err);
    if (rc == 0)
        rc = ch_reply_propensity_read(CHELA_CHAT_DIRECT, o.direct, &p.direct, err);
    if (rc == 0)
        rc = CH_OPTS_READ(chela_willing_rules, &p.rules, o.rules, err);
    for (size_t line = 1; rc == 0 && rest.n; line++) {
        struct ch_sv text = ch_sv_trim(ch_sv_split(&rest, '\n'));
        if (text.n)
            rc = play_line(&p, text, line, fn, user, err);
    }
    simulate_release(&p);
    return rc;
}

char *chela_simulated_json(const struct chela_simulated *s) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "line", (int64_t)s->line);
    ch_jw_kstr(&w, "chat", ch_sv(s->chat.p, s->chat.n));
    ch_jw_kcstr(&w, "type", s->kind == CHELA_CHAT_DIRECT ? "direct" : "group");
    ch_jw_kint(&w, "ts", s->at);
    ch_jw_kstr(&w, "name", ch_sv(s->name.p, s->name.n));
    ch_jw_kstr(&w, "text", ch_sv(s->text.p, s->text.n));
    ch_jw_kdouble(&w, "before", s->before);
    ch_jw_kdouble(&w, "willingness", s->urge.willingness);
    ch_jw_kdouble(&w, "probability", s->urge.probability);
    ch_jw_kdouble(&w, "roll", s->urge.roll);
    ch_jw_kdouble(&w, "share", s->urge.share);
    ch_jw_kbool(&w, "reply", s->urge.reply);
    ch_jw_kcstr(&w, "reason", chela_urge_name(s->urge.reason));
    ch_jw_kdouble(&w, "after", s->after);
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}
