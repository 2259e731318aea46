/* telegram.c -- Telegram, by long polling: we ask, and wait, for what is new.
 *
 *   getMe --who we are--> getUpdates --some--> all of it stored --> getUpdates
 *                            ^-- none, or a failure and some rest ----/
 *
 * Asking with a higher offset confirms what came before it; so the next question
 * waits until the inbox has all of the last answer. What came again, because
 * this process died first, the inbox knows by its id. An answer that is too
 * large, or cannot be read, is asked for again one update at a time; one update
 * that is, is passed over: nobody can stop the bot with what they send.
 *
 * Answers go out as plain text, as the model wrote them, in parts of at most
 * PART bytes, each a reply to the message. The service has no idempotency keys:
 * an answer whose receipt is lost may be seen twice. Calls that need consent are
 * shown with buttons; who pressed one is told by the service. */
#include <sys/random.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "channel/rules.h"
#include "channel/web.h"
#include "json/writer.h"

#define DOMAIN "https://api.telegram.org"
#define POLL_S 50
#define UPDATES 8 /* at once; one is some 100 KB at most */
#define CALL_MS 30000
#define REST_MS 1000
#define REST_LONGEST_MS 60000
#define PART 4000 /* bytes: the service takes 4,096 characters */

struct telegram {
    struct ch_channel channel;
    struct ch_channel_host host;
    struct ch_rules rules;
    struct ch_web web, poll; /* what we tell, and what we ask for */
    bool leaving;            /* another asks */
    char *base;       /* owned: with the token in it, so never shown */
    char *me, *name;  /* owned: our id and user name; NULL: unknown yet */
    struct ch_timer rest;
    int64_t rest_ms;
    int64_t offset;   /* of the next update */
    unsigned most;    /* updates to ask for */
    int64_t newest;   /* of those that came */
    unsigned storing; /* updates on their way into the inbox */
    bool failed;      /* one of them cannot be stored: they must come again */
    struct ch_list sendings, presses, reactions;
};

static struct telegram *self(struct ch_channel *c) {
    return CH_CONTAINER(c, struct telegram, channel);
}

static void call_by(struct ch_web *web, const struct telegram *t, const char *method,
                    const struct ch_buf *body, int64_t wait_ms, ch_web_fn *fn, void *user) {
    CH_BUF_AUTO url = {0};
    ch_buf_addf(&url, "%s/%s", t->base, method);
    ch_web_post(web, ch_buf_str(&url), ch_buf_str(body), wait_ms, fn, user);
}

static void call(struct telegram *t, const char *method, const struct ch_buf *body,
                 int64_t wait_ms, ch_web_fn *fn, void *user) {
    call_by(&t->web, t, method, body, wait_ms, fn, user);
}

static bool is_ok(const struct ch_web_answer *a) {
    return ch_json_bool(ch_json_get(a->json, "ok"), false);
}

/* Why not; in the arena. */
static const char *why(const struct ch_web_answer *a, struct ch_arena *arena) {
    struct ch_sv text = ch_json_get_str(a->json, "description");
    if (a->why)
        return ch_arena_str(arena, ch_sv_str(a->why));
    return ch_arena_printf(arena, "HTTP %d%s%.*s", a->status, text.n ? ": " : "", CH_SV_FMT(text));
}

static int64_t asked_to_wait(const struct ch_web_answer *a) {
    const struct ch_json *p = ch_json_get(a->json, "parameters");
    return CH_MIN(ch_json_int(ch_json_get(p, "retry_after"), 0), 3600) * 1000;
}

/* --- what a message says */

struct letter {
    struct ch_author who;
    const char *id, *text, *name; /* name: of its sender, as they chose it */
    int64_t ts;
    const struct chela_beside *quoted; /* NULL: it answers no other */
    bool answers_us;
};

/* Ids are numbers; as text, in the arena. */
static const char *id_of(const struct ch_json *v, const char *key, struct ch_arena *a) {
    int64_t n = ch_json_int(ch_json_get(v, key), 0);
    return n ? ch_arena_printf(a, "%lld", (long long)n) : NULL;
}

/* "@name", and not the beginning of another name; NULL: not there. */
static const char *find_name(struct ch_sv text, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; i + n < text.n; i++) {
        char after = i + 1 + n < text.n ? text.p[i + 1 + n] : ' ';
        bool ends = !((after >= '0' && after <= '9') || (after >= 'a' && after <= 'z') ||
                      (after >= 'A' && after <= 'Z') || after == '_');
        if (text.p[i] == '@' && ends &&
            ch_sv_eq_nocase(ch_sv(text.p + i + 1, n), ch_sv_str(name)))
            return text.p + i;
    }
    return NULL;
}

static bool is_answer_to_us(const struct telegram *t, const struct ch_json *m,
                            struct ch_arena *a) {
    const char *whose = id_of(ch_json_path(m, "reply_to_message", "from", NULL), "id", a);
    return whose && strcmp(whose, t->me) == 0;
}

static const char *what_it_is(const struct ch_json *m) {
    static const struct {
        const char *key, *what;
    } kinds[] = {{"photo", "[picture]"},   {"document", "[file]"},     {"voice", "[voice message]"},
                 {"video", "[video]"},     {"sticker", "[sticker]"},   {"location", "[location]"},
                 {"contact", "[contact]"}, {"audio", "[audio file]"}};
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_json_get(m, kinds[i].key))
            return kinds[i].what;
    return "";
}

/* The words without our name, behind what else came. */
static const char *words(const struct telegram *t, const struct ch_json *m, struct ch_arena *a) {
    struct ch_sv text = ch_json_get_str(m, "text"), caption = ch_json_get_str(m, "caption");
    CH_BUF_AUTO out = {0};
    text = text.p ? text : caption.p ? caption : ch_sv("", 0);
    const char *name = t->name ? find_name(text, t->name) : NULL;
    ch_buf_add_str(&out, what_it_is(m));
    if (out.n && text.n)
        ch_buf_addc(&out, ' ');
    if (name) {
        ch_buf_add(&out, text.p, (size_t)(name - text.p));
        size_t skip = (size_t)(name - text.p) + 1 + strlen(t->name);
        ch_buf_add(&out, text.p + skip, text.n - skip);
    } else {
        ch_buf_add_sv(&out, text);
    }
    return ch_arena_str(a, ch_sv_trim(ch_buf_sv(&out)));
}

static const char *first_name(const struct ch_json *from, struct ch_arena *a) {
    struct ch_sv name = ch_json_get_str(from, "first_name");
    return name.n && !memchr(name.p, 0, name.n) ? ch_arena_str(a, name) : NULL;
}

/* Topics have their first message as the one that is answered. */
static const struct chela_beside *read_quoted(const struct telegram *t, const struct ch_json *m,
                                              struct ch_arena *a) {
    const struct ch_json *before = ch_json_get(m, "reply_to_message");
    const char *id = id_of(before, "message_id", a), *thread = id_of(m, "message_thread_id", a);
    if (!id || (thread && strcmp(id, thread) == 0))
        return NULL;
    struct chela_beside *b = CH_ARENA_NEW(a, struct chela_beside);
    *b = (struct chela_beside){.message_id = id,
                               .sender = first_name(ch_json_get(before, "from"), a),
                               .text = words(t, before, a)};
    return b;
}

static int read_letter(const struct telegram *t, const struct ch_json *m, struct ch_arena *a,
                       struct letter *out, struct chela_error *err) {
    const struct ch_json *chat = ch_json_get(m, "chat"), *from = ch_json_get(m, "from");
    *out = (struct letter){.id = id_of(m, "message_id", a),
                           .ts = ch_json_int(ch_json_get(m, "date"), 0) * 1000,
                           .name = first_name(from, a),
                           .quoted = read_quoted(t, m, a),
                           .answers_us = t->me && is_answer_to_us(t, m, a)};
    out->who = (struct ch_author){
        .id = id_of(from, "id", a),
        .chat = id_of(chat, "id", a),
        .thread = id_of(m, "message_thread_id", a),
        .direct = ch_sv_is(ch_json_get_str(chat, "type"), "private"),
        .person = from && !ch_json_bool(ch_json_get(from, "is_bot"), false)};
    if (!out->id || !out->who.chat)
        return ch_fail(err, CHELA_EPARSE, "the message has no id, or no chat");
    out->text = words(t, m, a);
    struct ch_sv text = ch_json_get_str(m, "text");
    out->who.meant = !t->me                               ? CH_PERHAPS_MEANT
                     : (text.n && find_name(text, t->name)) ||
                             out->answers_us              ? CH_MEANT
                                                          : CH_NOT_MEANT;
    return 0;
}

static int read_data(const struct telegram *t, struct ch_sv data, struct ch_arena *a,
                     struct letter *out, struct chela_error *err) {
    const struct ch_json *m;
    int rc = ch_json_parse(a, data, CH_JSON_REPLACE, &m, NULL, err);
    return rc < 0 ? rc : read_letter(t, m, a, out, err);
}

static int telegram_recall(struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                           struct ch_arrival *out, struct chela_error *err) {
    const struct telegram *t = self(c);
    struct letter l;
    data = ch_arena_sv(a, data);
    int rc = read_data(t, data, a, &l, err);
    if (rc < 0)
        return rc;
    *out = (struct ch_arrival){
        .id = ch_arena_printf(a, "telegram:%s:%s", l.who.chat, l.id),
        .session = ch_rules_session(&t->rules, "telegram", &l.who, a),
        .to = ch_arena_printf(a, "%s %s %s", l.who.chat, l.id, l.who.thread ? l.who.thread : ""),
        .text = l.text,
        .data = data,
        .about = CHELA_INBOUND(.channel = "telegram", .account = t->name,
                               .chat_type = l.who.direct ? "direct" : "group",
                               .chat_id = l.who.chat, .thread_id = l.who.thread,
                               .message_id = l.id, .sender_id = l.who.id,
                               .sender = l.who.direct ? NULL : l.name, .ts = l.ts,
                               .mentioned = l.who.meant == CH_MEANT, .quoted = l.quoted,
                               .answers_us = l.answers_us)};
    return 0;
}

static enum ch_judgement telegram_judge(struct ch_channel *c, const struct ch_arrival *in) {
    const struct telegram *t = self(c);
    CH_ARENA_AUTO arena = {0};
    struct letter l;
    return read_data(t, in->data, &arena, &l, NULL) < 0 ? CH_IGNORE
                                                        : ch_rules_judge(&t->rules, &l.who);
}

/* --- fetching */

static void on_rested(struct ch_timer *timer);

static int64_t at_random(int64_t below) {
    uint32_t n = 0;
    if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
        n = UINT32_MAX / 2;
    return (int64_t)((uint64_t)below * n >> 32);
}

static void try_later(struct telegram *t, const char *what, int64_t wait_ms) {
    int64_t ms = CH_MAX(wait_ms, t->rest_ms / 4 + at_random(t->rest_ms));
    ch_log(CH_LOG_WARN, "telegram", "asked again in %lld ms: %s", (long long)ms, what);
    t->rest_ms = CH_MIN(2 * t->rest_ms, REST_LONGEST_MS);
    ch_timer_start(t->host.rt->loop, &t->rest, ms, on_rested);
}

static void ask_now(struct telegram *t) {
    ch_timer_start(t->host.rt->loop, &t->rest, 0, on_rested);
}

static void end_of_batch(struct telegram *t) {
    if (t->storing)
        return;
    if (t->failed) {
        try_later(t, "what came cannot be stored", 0);
        return;
    }
    t->offset = CH_MAX(t->offset, t->newest + 1);
    ask_now(t);
}

static void on_stored(int rc, const struct chela_error *err, void *tag) {
    struct telegram *t = tag;
    t->storing--;
    if (rc < 0 && rc != CHELA_EEXIST) {
        t->failed = true;
        ch_log(CH_LOG_ERROR, "telegram", "a message cannot be stored: %s",
               err ? err->message : chela_error_text(rc));
    }
    end_of_batch(t);
}

static void take_message(struct telegram *t, const struct ch_json *m) {
    struct ch_arena arena = {0};
    struct ch_arrival in;
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    ch_jw_value(&w, m);
    if (telegram_recall(&t->channel, ch_buf_sv(&data), &arena, &in, NULL) == 0 &&
        telegram_judge(&t->channel, &in) != CH_IGNORE) {
        t->storing++;
        t->host.arrived(&in, &arena, on_stored, t, t->host.user);
        return;
    }
    ch_log(CH_LOG_INFO, "telegram", "a message is not for us, or its sender may not");
    ch_arena_release(&arena);
}

static void take_press(struct telegram *t, const struct ch_json *q);

/* The first id, also of an answer that is cut off; in a text of somebody's the
 * quotes would be escaped. 0: none. */
static int64_t find_update(struct ch_sv text) {
    static const char key[] = "\"update_id\":";
    const char *at = text.n ? memmem(text.p, text.n, key, strlen(key)) : NULL;
    int64_t id = 0;
    for (at = at ? at + strlen(key) : NULL; at && at < text.p + text.n; at++) {
        if (*at < '0' || *at > '9')
            return id;
        if (id > INT64_MAX / 10 - 1)
            return 0;
        id = 10 * id + (*at - '0');
    }
    return 0; /* it may have more digits */
}

/* What came cannot be read. false: nor is there a way around it. */
static bool pass_over(struct telegram *t, const struct ch_web_answer *a) {
    int64_t id = find_update(a->text);
    if (a->status != 200 || a->json || id < CH_MAX(t->offset, 1))
        return false;
    if (t->most == 1) {
        ch_log(CH_LOG_ERROR, "telegram", "update %lld cannot be read: passed over", (long long)id);
        t->offset = id + 1;
    }
    t->most = 1;
    ask_now(t);
    return true;
}

static void on_updates(const struct ch_web_answer *a, void *user) {
    struct telegram *t = user;
    CH_ARENA_AUTO arena = {0};
    if (!is_ok(a)) {
        if (!pass_over(t, a))
            try_later(t, why(a, &arena), asked_to_wait(a));
        return;
    }
    t->rest_ms = REST_MS;
    t->most = UPDATES;
    t->failed = false;
    t->storing = 1; /* until all have been looked at */
    for (CH_JSON_EACH(one, ch_json_get(a->json, "result"))) {
        const struct ch_json *m = ch_json_get(one, "message");
        const struct ch_json *q = ch_json_get(one, "callback_query");
        t->newest = CH_MAX(t->newest, ch_json_int(ch_json_get(one, "update_id"), 0));
        if (m)
            take_message(t, m);
        else if (q)
            take_press(t, q);
    }
    t->storing--;
    end_of_batch(t);
}

static void on_me(const struct ch_web_answer *a, void *user) {
    struct telegram *t = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *me = ch_json_get(a->json, "result");
    const char *id = id_of(me, "id", &arena);
    struct ch_sv name = ch_json_get_str(me, "username");
    if (!is_ok(a) || !id || !name.n) {
        try_later(t, why(a, &arena), asked_to_wait(a));
        return;
    }
    t->me = ch_strdup(id);
    t->name = ch_strndup(name.p, name.n);
    t->rest_ms = REST_MS;
    ch_log(CH_LOG_INFO, "telegram", "we are @%s", t->name);
    t->host.ready(&t->channel, t->host.user);
    ask_now(t);
}

static void on_rested(struct ch_timer *timer) {
    struct telegram *t = CH_CONTAINER(timer, struct telegram, rest);
    CH_BUF_AUTO body = {0};
    if (t->leaving)
        return;
    if (!t->me) {
        ch_buf_add_str(&body, "{}");
        call_by(&t->poll, t, "getMe", &body, CALL_MS, on_me, t);
        return;
    }
    ch_buf_addf(&body,
                "{\"offset\":%lld,\"limit\":%u,\"timeout\":%d,"
                "\"allowed_updates\":[\"message\",\"callback_query\"]}",
                (long long)t->offset, t->most, POLL_S);
    call_by(&t->poll, t, "getUpdates", &body, (POLL_S + 20) * 1000, on_updates, t);
}

/* --- answers */

struct sending {
    struct ch_link link;
    struct telegram *t;
    char *key, *chat, *message, *thread, *text, *approval; /* owned */
    struct ch_sv rest;
};

static void free_sending(struct sending *s) {
    ch_list_del(&s->link);
    ch_free(s->key);
    ch_free(s->chat);
    ch_free(s->message);
    ch_free(s->thread);
    ch_free(s->text);
    ch_free(s->approval);
    ch_free(s);
}

static void receipt(struct sending *s, enum chela_receipt what, const char *note, int64_t wait_ms) {
    if (what != CHELA_RECEIPT_SENT)
        ch_log(CH_LOG_WARN, "telegram", "an answer in chat %s %s: %s", s->chat,
               what == CHELA_RECEIPT_REFUSED ? "was refused" : "is sent again later", note);
    chela_outbox_receipt(s->t->host.rt, s->key, what, note, wait_ms, NULL);
    free_sending(s);
}

/* As much as fits, up to the end of a line if there is one in its second half. */
static struct ch_sv next_part(struct ch_sv *rest) {
    struct ch_sv part = ch_utf8_cut(*rest, PART);
    for (size_t n = part.n; part.n < rest->n && n > part.n / 2; n--)
        if (part.p[n - 1] == '\n') {
            part.n = n;
            break;
        }
    *rest = ch_sv(rest->p + part.n, rest->n - part.n);
    return part;
}

static void add_button(struct ch_jw *w, const char *label, char letter, const char *approval) {
    CH_BUF_AUTO data = {0};
    ch_buf_addf(&data, "%c:%s", letter, approval); /* at most 64 bytes */
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "text", label);
    ch_jw_kstr(w, "callback_data", ch_buf_sv(&data));
    ch_jw_end(w, '}');
}

static void add_buttons(struct ch_jw *w, const char *approval) {
    ch_jw_key(w, "reply_markup");
    ch_jw_begin(w, '{');
    ch_jw_key(w, "inline_keyboard");
    ch_jw_begin(w, '[');
    ch_jw_begin(w, '[');
    add_button(w, "Allow once", 'o', approval);
    add_button(w, "Allow always", 'a', approval);
    add_button(w, "Deny", 'd', approval);
    ch_jw_end(w, ']');
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

static void on_sent(const struct ch_web_answer *a, void *user);

static void send_next(struct sending *s, const char *note) {
    struct ch_sv part = ch_sv_trim(next_part(&s->rest));
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    if (!part.n) {
        receipt(s, CHELA_RECEIPT_SENT, note, 0);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", s->chat);
    ch_jw_kstr(&w, "text", part);
    if (*s->thread)
        ch_jw_kraw(&w, "message_thread_id", ch_sv_str(s->thread));
    if (*s->message) {
        ch_jw_key(&w, "reply_parameters");
        ch_jw_begin(&w, '{');
        ch_jw_kraw(&w, "message_id", ch_sv_str(s->message));
        ch_jw_kbool(&w, "allow_sending_without_reply", true);
        ch_jw_end(&w, '}');
    }
    if (s->approval)
        add_buttons(&w, s->approval);
    ch_jw_end(&w, '}');
    call(s->t, "sendMessage", &body, CALL_MS, on_sent, s);
}

static void on_sent(const struct ch_web_answer *a, void *user) {
    struct sending *s = user;
    CH_ARENA_AUTO arena = {0};
    const char *id = id_of(ch_json_get(a->json, "result"), "message_id", &arena);
    bool final = a->status >= 400 && a->status < 500 && a->status != 429 && a->status != 401;
    if (is_ok(a))
        send_next(s, id ? id : "");
    else
        receipt(s, final ? CHELA_RECEIPT_REFUSED : CHELA_RECEIPT_UNCERTAIN, why(a, &arena),
                asked_to_wait(a));
}

static char *text_of(const struct chela_outbound *m) {
    CH_BUF_AUTO text = {0};
    ch_buf_add_str(&text, m->text ? m->text : "");
    if (!text.n && m->error)
        ch_buf_addf(&text, "That did not work: %s", m->error);
    for (size_t i = 0; i < m->nmedia; i++)
        ch_buf_addf(&text, "%s%s", text.n ? "\n" : "", m->media[i]);
    return text.p ? ch_buf_take(&text) : ch_strdup("");
}

static char *next_word(struct ch_sv *rest) {
    struct ch_sv word = rest->p ? ch_sv_split(rest, ' ') : ch_sv("", 0);
    return ch_strndup(word.p, word.n);
}

static void telegram_deliver(struct ch_channel *c, const struct chela_outbound *m) {
    struct sending *s = ch_alloc(sizeof(*s));
    struct ch_sv to = ch_sv_str(m->to ? m->to : "");
    s->t = self(c);
    s->key = ch_strdup(m->key);
    s->chat = next_word(&to);
    s->message = next_word(&to);
    s->thread = next_word(&to);
    s->text = text_of(m);
    s->approval = m->approval ? ch_strdup(m->approval) : NULL;
    s->rest = ch_sv_str(s->text);
    if (s->approval)
        s->rest = ch_utf8_cut(s->rest, PART); /* a question is one message */
    ch_list_add(&s->t->sendings, &s->link);
    if (!*s->chat)
        receipt(s, CHELA_RECEIPT_REFUSED, "it does not say where to", 0);
    else
        send_next(s, "nothing to say");
}

static void telegram_working(struct ch_channel *c, const struct ch_arrival *in, bool at_work) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    if (!at_work)
        return; /* the sign fades by itself */
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", in->about.chat_id);
    if (in->about.thread_id)
        ch_jw_kraw(&w, "message_thread_id", ch_sv_str(in->about.thread_id));
    ch_jw_kcstr(&w, "action", "typing");
    ch_jw_end(&w, '}');
    call(self(c), "sendChatAction", &body, CALL_MS, NULL, NULL);
}

struct reaction {
    struct ch_link link;
    ch_acted_fn *done;
    void *tag;
};

static void on_reaction(const struct ch_web_answer *a, void *user) {
    struct reaction *r = user;
    ch_acted_fn *done = r->done;
    void *tag = r->tag;
    CH_ARENA_AUTO arena = {0};
    struct chela_error err = {0};
    bool ok = is_ok(a);
    if (!ok)
        ch_fail(&err, a->status >= 400 && a->status < 500 ? CHELA_EINVAL : CHELA_ENET, "%s",
                why(a, &arena));
    ch_list_del(&r->link);
    ch_free(r);
    done(ok ? NULL : &err, tag);
}

static void telegram_react(struct ch_channel *c, const char *chat, const char *message,
                           const char *emoji, ch_acted_fn *done, void *tag) {
    struct telegram *t = self(c);
    struct reaction *r = ch_alloc(sizeof(*r));
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    r->done = done;
    r->tag = tag;
    ch_list_add(&t->reactions, &r->link);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kcstr(&w, "message_id", message);
    ch_jw_key(&w, "reaction");
    ch_jw_begin(&w, '[');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "emoji");
    ch_jw_kcstr(&w, "emoji", emoji);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    call(t, "setMessageReaction", &body, CALL_MS, on_reaction, r);
}

/* --- what an administrator of a group may do */

static void act(struct telegram *t, const char *method, const struct ch_buf *body,
                ch_acted_fn *done, void *tag) {
    struct reaction *r = ch_alloc(sizeof(*r));
    r->done = done;
    r->tag = tag;
    ch_list_add(&t->reactions, &r->link);
    call(t, method, body, CALL_MS, on_reaction, r);
}

static void telegram_unsend(struct ch_channel *c, const char *chat, const char *message,
                            ch_acted_fn *done, void *tag) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kraw(&w, "message_id", ch_sv_str(message));
    ch_jw_end(&w, '}');
    act(self(c), "deleteMessage", &body, done, tag);
}

/* One that is left out of the permissions is taken away as well. */
static void telegram_mute(struct ch_channel *c, const char *chat, const char *member,
                          int64_t seconds, ch_acted_fn *done, void *tag) {
    struct telegram *t = self(c);
    int64_t until = ch_now_ms(ch_loop_clock(t->host.rt->loop)) / 1000 + seconds;
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kraw(&w, "user_id", ch_sv_str(member));
    ch_jw_key(&w, "permissions");
    ch_jw_begin(&w, '{');
    ch_jw_kbool(&w, "can_send_messages", false);
    ch_jw_end(&w, '}');
    ch_jw_kint(&w, "until_date", until);
    ch_jw_end(&w, '}');
    act(t, "restrictChatMember", &body, done, tag);
}

static void telegram_remove(struct ch_channel *c, const char *chat, const char *member,
                            ch_acted_fn *done, void *tag) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kraw(&w, "user_id", ch_sv_str(member));
    ch_jw_end(&w, '}');
    act(self(c), "banChatMember", &body, done, tag);
}

/* --- buttons */

struct press {
    struct ch_link link; /* until it was carried out */
    struct telegram *t;
    char *id, *chat, *message; /* owned: of the query, and of the question */
};

static void free_press(struct press *p) {
    ch_list_del(&p->link);
    ch_free(p->id);
    ch_free(p->chat);
    ch_free(p->message);
    ch_free(p);
}

static void note_press(struct telegram *t, const char *query, struct ch_sv text) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "callback_query_id", query);
    ch_jw_kstr(&w, "text", ch_utf8_cut(text, 180));
    ch_jw_end(&w, '}');
    call(t, "answerCallbackQuery", &body, CALL_MS, NULL, NULL);
}

/* answer: a line for who pressed, then, if the question is settled, what to show
 * in its place. */
static void on_decided(struct ch_sv answer, void *tag) {
    struct press *p = tag;
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    struct ch_sv line = ch_sv_split(&answer, '\n');
    note_press(p->t, p->id, line);
    if (answer.p) {
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "chat_id", p->chat);
        ch_jw_kraw(&w, "message_id", ch_sv_str(p->message));
        ch_jw_kstr(&w, "text", answer);
        ch_jw_end(&w, '}');
        call(p->t, "editMessageText", &body, CALL_MS, NULL, NULL);
    }
    free_press(p);
}

static void telegram_decided(struct ch_channel *c, const struct ch_decision *d, const char *what,
                             const struct chela_error *err, struct ch_buf *answer) {
    bool late = err && (err->code == CHELA_EEXIST || err->code == CHELA_ENOENT);
    const char *said = late                               ? "Decided before"
                       : err                              ? err->message
                       : strcmp(d->word, "deny") == 0     ? "Denied"
                                                          : "Allowed";
    (void)c;
    ch_buf_add_str(answer, said);
    if (!err)
        ch_buf_addf(answer, "\n%s\n\n%s by %s", what, said, d->by);
}

static const char *word_of(char letter) {
    return letter == 'o' ? "allow-once" : letter == 'a' ? "allow-always" : "deny";
}

static void take_press(struct telegram *t, const struct ch_json *q) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv data = ch_json_get_str(q, "data"), id = ch_json_get_str(q, "id");
    const struct ch_json *m = ch_json_get(q, "message");
    const char *who = id_of(ch_json_get(q, "from"), "id", &a);
    const char *chat = id_of(ch_json_get(m, "chat"), "id", &a);
    const char *message = id_of(m, "message_id", &a);
    if (!who || !chat || !message || !id.n || data.n < 3 || data.p[1] != ':' ||
        memchr(data.p, 0, data.n) || memchr(id.p, 0, id.n))
        return;
    const char *query = ch_arena_str(&a, id);
    if (!ch_rules_is_owner(&t->rules, who)) {
        ch_log(CH_LOG_WARN, "telegram", "%s, who may not decide, pressed a button", who);
        note_press(t, query, CH_SV("Only an owner of this channel may decide."));
        return;
    }
    struct press *p = ch_alloc(sizeof(*p));
    struct ch_decision d = {.approval = ch_arena_str(&a, ch_sv(data.p + 2, data.n - 2)),
                            .chat = chat, .word = word_of(data.p[0]), .by = who};
    p->t = t;
    p->id = ch_strdup(query);
    p->chat = ch_strdup(chat);
    p->message = ch_strdup(message);
    ch_list_add(&t->presses, &p->link);
    t->host.decide(&d, on_decided, p, t->host.user);
}

static bool telegram_is_owner(struct ch_channel *c, const char *sender) {
    return ch_rules_is_owner(&self(c)->rules, sender);
}

/* --- life */

static void telegram_close(struct ch_channel *c) {
    struct telegram *t = self(c);
    ch_timer_stop(t->host.rt->loop, &t->rest);
    ch_web_close(&t->poll);
    ch_web_close(&t->web);
    for (struct sending *s; (s = CH_LIST_FIRST(&t->sendings, struct sending, link));)
        free_sending(s);
    for (struct press *p; (p = CH_LIST_FIRST(&t->presses, struct press, link));)
        free_press(p);
    for (struct reaction *r; (r = CH_LIST_FIRST(&t->reactions, struct reaction, link));) {
        ch_list_del(&r->link);
        ch_free(r);
    }
    ch_rules_release(&t->rules);
    ch_free(t->base);
    ch_free(t->me);
    ch_free(t->name);
    ch_free(t);
}

/* What was fetched and not confirmed comes to who asks next. */
static bool telegram_leave(struct ch_channel *c) {
    struct telegram *t = self(c);
    t->leaving = true;
    ch_web_close(&t->poll);
    return ch_list_empty(&t->web.calls) && !t->storing;
}

static int check(const struct chela_channel_opts *o, struct chela_error *err) {
    const char *domain = o->domain ? o->domain : DOMAIN;
    if (!o->secret || !*o->secret)
        return ch_fail(err, CHELA_ECONFIG, "channel telegram needs the bot's token (tokenEnv)");
    for (const char *p = o->secret; *p; p++) /* it becomes a part of a path */
        if (!strchr("0123456789:_-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", *p))
            return ch_fail(err, CHELA_ECONFIG, "channel telegram: the bot's token is none");
    if (strncmp(domain, "https://", 8) != 0 && strncmp(domain, "http://127.0.0.1:", 17) != 0)
        return ch_fail(err, CHELA_ECONFIG, "channel telegram: domain is an https URL");
    return 0;
}

static int telegram_open(const struct ch_channel_host *host, const struct chela_channel_opts *o,
                         struct ch_channel **out, struct chela_error *err) {
    CH_BUF_AUTO base = {0};
    int rc = check(o, err);
    if (rc < 0)
        return rc;
    struct telegram *t = ch_alloc(sizeof(*t));
    t->channel.ops = &ch_telegram_channel;
    t->host = *host;
    ch_rules_init(&t->rules, o);
    ch_web_init(&t->web, host->rt);
    ch_web_init(&t->poll, host->rt);
    ch_buf_addf(&base, "%s/bot%s", o->domain ? o->domain : DOMAIN, o->secret);
    t->base = ch_buf_take(&base);
    t->rest_ms = REST_MS;
    t->most = UPDATES;
    ch_list_init(&t->sendings);
    ch_list_init(&t->presses);
    ch_list_init(&t->reactions);
    ask_now(t);
    *out = &t->channel;
    return 0;
}

const struct ch_channel_ops ch_telegram_channel = {
    .name = "telegram",
    .open = telegram_open,
    .close = telegram_close,
    .leave = telegram_leave,
    .recall = telegram_recall,
    .judge = telegram_judge,
    .deliver = telegram_deliver,
    .react = telegram_react,
    .unsend = telegram_unsend,
    .mute = telegram_mute,
    .remove = telegram_remove,
    .is_owner = telegram_is_owner,
    .decided = telegram_decided,
    .working = telegram_working,
};
