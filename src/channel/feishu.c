/* feishu.c -- the Feishu channel: callbacks in, posts out.
 *
 * A message is answered by a reply to it, in its topic if it has one; a reply
 * in several parts is sent part by part. Each part has an id made from the
 * answer's key, and the service takes one of each id: so an answer that is sent
 * again after a crash or a lost connection is not seen twice.
 *
 * Who we are (the open_id that others mention) is asked at the start; until it
 * is known, messages in groups wait. */
#include "base/error.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/log.h"
#include "base/sha256.h"
#include "channel/feishu.h"
#include "io/module.h"
#include "json/writer.h"

#define TYPING_MS (2 * 60 * 1000) /* older messages are not marked */
#define ASK_AGAIN_MS 5000
#define ASK_LONGEST_MS 60000

struct feishu {
    struct ch_channel channel;
    struct ch_channel_host host;
    struct ch_feishu_keys keys; /* owned texts */
    struct ch_feishu_rules rules;
    struct ch_feishu_api *api; /* owned */
    char *bot;                 /* owned: our open_id; NULL: unknown yet */
    struct ch_timer ask;
    int64_t ask_ms;
    struct ch_list sendings, typings;
};

static struct feishu *self(struct ch_channel *c) {
    return CH_CONTAINER(c, struct feishu, channel);
}

/* --- in */

static void describe(const struct feishu *f, const struct ch_feishu_message *m, struct ch_arena *a,
                     struct ch_arrival *out) {
    *out = (struct ch_arrival){
        .id = ch_arena_printf(a, "feishu:%s", m->id),
        .session = ch_feishu_session(&f->rules, m, a),
        .to = ch_arena_printf(a, "%s %s%s", m->chat, m->id, m->thread ? " thread" : ""),
        .text = m->text.n ? ch_arena_str(a, m->text) : "",
        .about = CHELA_INBOUND(.channel = "feishu", .account = f->keys.app_id,
                               .chat_type = m->direct ? "direct" : "group", .chat_id = m->chat,
                               .thread_id = m->thread, .message_id = m->id,
                               .sender_id = m->open_id, .sender = m->direct ? NULL : m->open_id,
                               .ts = m->ts,
                               .mentioned = f->bot && ch_feishu_mentions(m, f->bot))};
}

static int feishu_recall(struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                         struct ch_arrival *out, struct chela_error *err) {
    const struct feishu *f = self(c);
    const struct ch_json *event;
    struct ch_feishu_message m;
    data = ch_arena_sv(a, data);
    int rc = ch_json_parse(a, data, CH_JSON_REPLACE, &event, NULL, err);
    if (rc == 0)
        rc = ch_feishu_read(event, f->bot, a, &m, err);
    if (rc < 0)
        return rc;
    describe(f, &m, a, out);
    out->data = data;
    return 0;
}

static enum ch_judgement feishu_judge(struct ch_channel *c, const struct ch_arrival *in) {
    const struct feishu *f = self(c);
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *event;
    struct ch_feishu_message m;
    if (ch_json_parse(&arena, in->data, CH_JSON_REPLACE, &event, NULL, NULL) < 0 ||
        ch_feishu_read(event, f->bot, &arena, &m, NULL) < 0)
        return CH_IGNORE;
    return ch_feishu_judge(&f->rules, f->bot, &m);
}

static void take_message(struct feishu *f, const struct ch_json *event, struct ch_arena *a,
                         struct ch_verdict *out) {
    struct chela_error err = {0};
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    ch_jw_value(&w, event);
    if (feishu_recall(&f->channel, ch_buf_sv(&data), a, &out->arrival, &err) < 0)
        ch_log(CH_LOG_WARN, "feishu", "a message makes no sense: %s", err.message);
    else
        out->arrived = feishu_judge(&f->channel, &out->arrival) != CH_IGNORE;
    if (!err.code && !out->arrived)
        ch_log(CH_LOG_INFO, "feishu", "message %s is not for us, or its sender may not",
               out->arrival.about.message_id);
}

static void feishu_receive(struct ch_channel *c, const struct ch_callback *in, struct ch_arena *a,
                           struct ch_verdict *out) {
    struct feishu *f = self(c);
    struct ch_feishu_letter letter;
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    *out = (struct ch_verdict){.status = 200, .answer = CH_SV("{}")};
    int status = ch_feishu_unseal(&f->keys, in, a, &letter, &out->why);
    if (status) {
        out->status = status;
        return;
    }
    if (letter.challenge.p) {
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "challenge", letter.challenge);
        ch_jw_end(&w, '}');
        out->answer = ch_arena_sv(a, ch_buf_sv(&text));
    } else if (ch_sv_is(letter.type, "im.message.receive_v1")) {
        take_message(f, letter.event, a, out);
    }
}

/* --- who we are */

static void ask_again(struct feishu *f);

static void on_bot(const struct ch_feishu_answer *a, void *user) {
    struct feishu *f = user;
    struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "bot"), "open_id");
    if (a->code != 0 || !id.n) {
        ch_log(CH_LOG_WARN, "feishu", "who we are is not known yet: %s",
               a->why ? a->why : "no open_id came");
        ask_again(f);
        return;
    }
    f->bot = ch_strndup(id.p, id.n);
    f->host.ready(&f->channel, f->host.user);
}

static void on_ask(struct ch_timer *t) {
    struct feishu *f = CH_CONTAINER(t, struct feishu, ask);
    ch_feishu_call(f->api, "GET", "/open-apis/bot/v3/info", NULL, on_bot, f);
}

static void ask_again(struct feishu *f) {
    ch_timer_start(f->host.rt->loop, &f->ask, f->ask_ms, on_ask);
    f->ask_ms = CH_MIN(2 * f->ask_ms, ASK_LONGEST_MS);
}

/* --- out */

struct sending {
    struct ch_link link;
    struct feishu *f;
    char *key, *chat, *message, *text; /* owned */
    bool thread, top, plain;
    struct ch_feishu_rest rest;
    struct ch_buf content; /* of the part that is under way */
    unsigned part;
};

static void free_sending(struct sending *s) {
    ch_list_del(&s->link);
    ch_buf_release(&s->content);
    ch_free(s->key);
    ch_free(s->chat);
    ch_free(s->message);
    ch_free(s->text);
    ch_free(s);
}

static void receipt(struct sending *s, enum chela_receipt what, const char *note, int64_t wait_ms) {
    struct chela_error err = {0};
    if (what != CHELA_RECEIPT_SENT)
        ch_log(CH_LOG_WARN, "feishu", "an answer in chat %s %s: %s", s->chat,
               what == CHELA_RECEIPT_REFUSED ? "was refused" : "is sent again later", note);
    chela_outbox_receipt(s->f->host.rt, s->key, what, note, wait_ms, &err);
    free_sending(s);
}

static void add_uuid(struct ch_jw *w, const struct sending *s) {
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];
    CH_BUF_AUTO text = {0};
    ch_buf_addf(&text, "%s#%u", s->key, s->part);
    ch_sha256_of(ch_buf_sv(&text), digest);
    ch_sha256_hex(digest, hex);
    ch_jw_kstr(w, "uuid", ch_sv(hex, 40));
}

/* The words of a post as a plain text. */
static void add_plain(struct ch_jw *w, const struct sending *s) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO content = {0};
    struct ch_jw inner = ch_jw(&content);
    const struct ch_json *post = NULL;
    ch_json_parse(&arena, ch_buf_sv(&s->content), CH_JSON_REPLACE, &post, NULL, NULL);
    const struct ch_json *lines = ch_json_path(post, "zh_cn", "content", NULL);
    ch_jw_begin(&inner, '{');
    ch_jw_kstr(&inner, "text", ch_json_get_str(ch_json_at(ch_json_at(lines, 0), 0), "text"));
    ch_jw_end(&inner, '}');
    ch_jw_kstr(w, "content", ch_buf_sv(&content));
}

static void on_sent(const struct ch_feishu_answer *a, void *user);

static void send_part(struct sending *s) {
    CH_BUF_AUTO path = {0}, body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    if (s->top)
        ch_jw_kcstr(&w, "receive_id", s->chat);
    ch_jw_kcstr(&w, "msg_type", s->plain ? "text" : "post");
    if (s->plain)
        add_plain(&w, s);
    else
        ch_jw_kstr(&w, "content", ch_buf_sv(&s->content));
    if (!s->top && s->thread)
        ch_jw_kbool(&w, "reply_in_thread", true);
    add_uuid(&w, s);
    ch_jw_end(&w, '}');
    if (s->top)
        ch_buf_addf(&path, "/open-apis/im/v1/messages?receive_id_type=chat_id");
    else
        ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/reply", s->message);
    ch_feishu_call(s->f->api, "POST", ch_buf_str(&path), ch_buf_str(&body), on_sent, s);
}

static void send_next(struct sending *s, const char *note) {
    ch_buf_clear(&s->content);
    if (ch_feishu_part(&s->rest, &s->content))
        send_part(s);
    else
        receipt(s, CHELA_RECEIPT_SENT, note, 0);
}

static bool comes_too_fast(const struct ch_feishu_answer *a) {
    return a->status == 429 || a->code == 99991400 || a->code == 230020 || a->code == 11232;
}

/* The network, the service, or our token: none of it is about this message. */
static bool may_pass(const struct ch_feishu_answer *a) {
    return a->status == 0 || a->status >= 500 || a->code == -1 || a->code == 230049 ||
           (a->code >= 10000 && a->code < 10100) || (a->code >= 99991661 && a->code <= 99991671);
}

static bool is_target_gone(const struct ch_feishu_answer *a) {
    return a->code == 230011 || a->code == 231003;
}

static void on_sent(const struct ch_feishu_answer *a, void *user) {
    struct sending *s = user;
    CH_ARENA_AUTO arena = {0};
    if (a->code == 0) {
        struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "data"), "message_id");
        s->part++;
        send_next(s, ch_arena_str(&arena, id.p ? id : ch_sv("", 0)));
    } else if (comes_too_fast(a)) {
        receipt(s, CHELA_RECEIPT_UNCERTAIN, a->why, a->wait_ms ? a->wait_ms : 1000);
    } else if (is_target_gone(a) && !s->top && !s->thread) {
        s->top = true; /* never out of a topic into the group around it */
        send_part(s);
    } else if (a->code == 230001 && !s->plain) {
        s->plain = true;
        send_part(s);
    } else {
        receipt(s, may_pass(a) ? CHELA_RECEIPT_UNCERTAIN : CHELA_RECEIPT_REFUSED, a->why,
                a->wait_ms);
    }
}

static char *words(const struct chela_outbound *m) {
    CH_BUF_AUTO text = {0};
    ch_buf_add_str(&text, m->text ? m->text : "");
    if (!text.n && m->error)
        ch_buf_addf(&text, "That did not work: %s", m->error);
    for (size_t i = 0; i < m->nmedia; i++)
        ch_buf_addf(&text, "%s%s", text.n ? "\n" : "", m->media[i]);
    return text.p ? ch_buf_take(&text) : ch_strdup("");
}

static void feishu_deliver(struct ch_channel *c, const struct chela_outbound *m) {
    struct sending *s = ch_alloc(sizeof(*s));
    struct ch_sv rest = ch_sv_str(m->to ? m->to : ""), chat = ch_sv_split(&rest, ' ');
    struct ch_sv message = rest.p ? ch_sv_split(&rest, ' ') : ch_sv("", 0);
    s->f = self(c);
    s->key = ch_strdup(m->key);
    s->chat = ch_strndup(chat.p, chat.n);
    s->message = ch_strndup(message.p, message.n);
    s->thread = rest.p && ch_sv_is(rest, "thread");
    s->top = !message.n;
    s->text = words(m);
    s->rest.text = ch_sv_str(s->text);
    ch_list_add(&s->f->sendings, &s->link);
    if (!chat.n)
        receipt(s, CHELA_RECEIPT_REFUSED, "it does not say where to", 0);
    else
        send_next(s, "nothing to say");
}

/* --- a sign that somebody is at work: a reaction to the message */

struct typing {
    struct ch_link link;
    struct feishu *f;
    char *message, *reaction; /* owned; the latter NULL: not made yet */
    bool over;
};

static void free_typing(struct typing *t) {
    ch_list_del(&t->link);
    ch_free(t->message);
    ch_free(t->reaction);
    ch_free(t);
}

static void take_back(struct typing *t) {
    CH_BUF_AUTO path = {0};
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/reactions/%s", t->message, t->reaction);
    ch_feishu_call(t->f->api, "DELETE", ch_buf_str(&path), NULL, NULL, NULL);
    free_typing(t);
}

static void on_typing(const struct ch_feishu_answer *a, void *user) {
    struct typing *t = user;
    struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "data"), "reaction_id");
    if (a->code != 0 || !id.n || memchr(id.p, 0, id.n) || memchr(id.p, '/', id.n)) {
        free_typing(t); /* it is no more than a sign */
        return;
    }
    t->reaction = ch_strndup(id.p, id.n);
    if (t->over)
        take_back(t);
}

static struct typing *find_typing(const struct feishu *f, const char *message) {
    for (CH_LIST_EACH(k, &f->typings)) {
        struct typing *t = CH_CONTAINER(k, struct typing, link);
        if (!t->over && strcmp(t->message, message) == 0)
            return t;
    }
    return NULL;
}

static void feishu_working(struct ch_channel *c, const struct ch_arrival *in, bool at_work) {
    struct feishu *f = self(c);
    const char *message = in->about.message_id;
    struct typing *t = find_typing(f, message);
    if (!at_work) {
        if (t && t->reaction)
            take_back(t);
        else if (t)
            t->over = true;
        return;
    }
    if (t || ch_now_ms(ch_loop_clock(f->host.rt->loop)) - in->about.ts > TYPING_MS)
        return;
    CH_BUF_AUTO path = {0};
    t = ch_alloc(sizeof(*t));
    t->f = f;
    t->message = ch_strdup(message);
    ch_list_add(&f->typings, &t->link);
    ch_buf_addf(&path, "/open-apis/im/v1/messages/%s/reactions", message);
    ch_feishu_call(f->api, "POST", ch_buf_str(&path),
                   "{\"reaction_type\":{\"emoji_type\":\"Typing\"}}", on_typing, t);
}

/* --- life */

static int need(const char *value, const char *what, struct chela_error *err) {
    if (value && *value)
        return 0;
    return ch_fail(err, CHELA_ECONFIG, "channel feishu needs %s", what);
}

static enum ch_feishu_policy policy(const char *word) {
    return !word || strcmp(word, "allowlist") == 0 ? CH_FEISHU_LISTED
           : strcmp(word, "open") == 0             ? CH_FEISHU_OPEN
                                                   : CH_FEISHU_OFF;
}

static enum ch_feishu_scope scope(const char *word) {
    return !word || strcmp(word, "topic") == 0 ? CH_FEISHU_TOPIC
           : strcmp(word, "sender") == 0       ? CH_FEISHU_SENDER
                                               : CH_FEISHU_CHAT;
}

static const char *base_of(const char *domain) {
    if (!domain || strcmp(domain, "feishu") == 0)
        return "https://open.feishu.cn";
    return strcmp(domain, "lark") == 0 ? "https://open.larksuite.com" : domain;
}

static int check(const struct chela_channel_opts *o, struct chela_error *err) {
    int rc = need(o->account, "the app's id (appId)", err);
    if (rc == 0)
        rc = need(o->secret, "the app's secret (appSecretEnv)", err);
    if (rc == 0)
        rc = need(o->token, "the verification token (verificationTokenEnv): without it anybody "
                            "could pass for the service", err);
    const char *base = base_of(o->domain);
    if (rc == 0 && strncmp(base, "https://", 8) != 0 && strncmp(base, "http://127.0.0.1:", 17) != 0)
        rc = ch_fail(err, CHELA_ECONFIG, "channel feishu: domain is feishu, lark or an https URL");
    return rc;
}

static void feishu_close(struct ch_channel *c) {
    struct feishu *f = self(c);
    ch_timer_stop(f->host.rt->loop, &f->ask);
    ch_feishu_api_close(f->api);
    for (struct sending *s; (s = CH_LIST_FIRST(&f->sendings, struct sending, link));)
        free_sending(s);
    for (struct typing *t; (t = CH_LIST_FIRST(&f->typings, struct typing, link));)
        free_typing(t);
    ch_strings_free(f->rules.people);
    ch_strings_free(f->rules.groups);
    ch_free((char *)f->keys.app_id);
    ch_free((char *)f->keys.token);
    ch_free((char *)f->keys.encrypt_key);
    ch_free(f->bot);
    ch_free(f);
}

static int feishu_open(const struct ch_channel_host *host, const struct chela_channel_opts *o,
                       struct ch_channel **out, struct chela_error *err) {
    const void *cipher = NULL;
    bool sealed = o->encrypt_key && *o->encrypt_key;
    int rc = check(o, err);
    if (rc == 0 && sealed)
        rc = ch_module_load("tls", "tls", host->rt->module_path, &cipher, err);
    if (rc < 0)
        return rc;
    struct feishu *f = ch_alloc(sizeof(*f));
    f->channel.ops = &ch_feishu_channel;
    f->host = *host;
    f->keys = (struct ch_feishu_keys){.app_id = ch_strdup(o->account),
                                      .token = ch_strdup(o->token),
                                      .encrypt_key = sealed ? ch_strdup(o->encrypt_key) : NULL,
                                      .cipher = cipher};
    f->rules = (struct ch_feishu_rules){.direct = policy(o->dm_policy),
                                        .group = policy(o->group_policy),
                                        .people = ch_strings_dup(o->allow_from),
                                        .groups = ch_strings_dup(o->groups),
                                        .unasked = o->unasked,
                                        .scope = scope(o->group_session)};
    f->api = ch_feishu_api_new(host->rt, base_of(o->domain), o->account, o->secret);
    f->ask_ms = ASK_AGAIN_MS;
    ch_list_init(&f->sendings);
    ch_list_init(&f->typings);
    ch_timer_start(host->rt->loop, &f->ask, 0, on_ask);
    *out = &f->channel;
    return 0;
}

const struct ch_channel_ops ch_feishu_channel = {
    .name = "feishu",
    .open = feishu_open,
    .close = feishu_close,
    .receive = feishu_receive,
    .recall = feishu_recall,
    .judge = feishu_judge,
    .deliver = feishu_deliver,
    .working = feishu_working,
};
