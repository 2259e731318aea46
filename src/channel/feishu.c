/* feishu.c -- the Feishu channel: receives events by callback or over the long connection.
 * feishu_out.c sends.
 *
 * The bot's open_id, which mentions refer to, is requested at the start; until it is known,
 * group messages wait. */
#include "base/error.h"
#include "base/log.h"
#include "base/say.h"
#include "channel/feishu.h"
#include "channel/feishu_act.h"
#include "channel/feishu_api.h"
#include "channel/feishu_card.h"
#include "channel/feishu_fetch.h"
#include "channel/feishu_line.h"
#include "channel/feishu_message.h"
#include "channel/feishu_out.h"
#include "channel/feishu_seal.h"
#include "channel/feishu_stream.h"
#include "channel/feishu_survey.h"
#include "channel/kit.h"
#include "io/module.h"
#include "json/writer.h"

#define ASK_AGAIN_MS 5000
#define ASK_LONGEST_MS 60000

struct feishu {
    struct chela_channel_host host;
    struct ch_feishu_keys keys; /* owned texts */
    struct ch_rules rules;
    struct ch_feishu_api *api; /* owned */
    char *bot;                 /* owned: the bot's open_id; NULL: not known yet */
    struct ch_timer ask;
    int64_t ask_ms;
    struct ch_buf trouble;     /* last error; empty if healthy or not tried */
    struct ch_feishu_out *out;     /* owned */
    struct ch_feishu_fetch *fetch; /* owned */
    struct ch_feishu_acts *acts;   /* owned */
    struct ch_feishu_line *line; /* owned; NULL: events arrive by callback */
    struct ch_feishu_stream *stream; /* owned */
    bool streams; /* stream answers; answers already begun as a stream are finished in any case */
};

static struct feishu *self(void *c) {
    return c;
}

/* --- incoming events */

/* Parse an event to an arrival. data: the event as JSON text, in the arena. */
static int feishu_read_arrival(const struct feishu *f, const struct ch_json *event,
                               struct ch_sv data, struct ch_arena *a,
                               struct chela_channel_arrival *out, struct chela_error *err) {
    struct ch_feishu_message *m = CH_ARENA_NEW(a, struct ch_feishu_message);
    int rc = ch_feishu_read(event, f->bot, a, m, err);
    if (rc < 0)
        return rc;
    struct ch_author who = ch_feishu_author(m, f->bot);
    *out = (struct chela_channel_arrival){
        .id = ch_arena_printf(a, "feishu:%s", m->id),
        .session = ch_rules_session(&f->rules, "feishu", &who, a),
        .to = ch_arena_printf(a, "%s %s%s", m->chat, m->id, m->thread ? " thread" : ""),
        .text = m->text.n ? ch_arena_str(a, m->text) : "",
        .data = ch_text(data),
        .message = m,
        .about = CHELA_INBOUND(.channel = "feishu", .account = f->keys.app_id,
                               .chat_type = m->direct ? "direct" : "group", .chat_id = m->chat,
                               .thread_id = m->thread, .message_id = m->id, .sender_id = m->open_id,
                               .sender = m->direct ? NULL : m->open_id, .ts = m->ts,
                               .mentioned = who.meant == CH_MEANT)};
    return 0;
}

static int feishu_recall(void *c, struct chela_text data, struct ch_arena *a,
                         struct chela_channel_arrival *out, struct chela_error *err) {
    CH_ARENA_AUTO scratch = {0};
    const struct ch_json *event;
    struct ch_sv copy = ch_arena_sv(a, ch_sv_of(data));
    int rc = ch_json_parse(&scratch, copy, CH_JSON_REPLACE, &event, NULL, err);
    return rc < 0 ? rc : feishu_read_arrival(self(c), event, copy, a, out, err);
}

static enum chela_channel_judgement feishu_judge(void *c, const struct chela_channel_arrival *in) {
    const struct feishu *f = self(c);
    struct ch_author who = ch_feishu_author(in->message, f->bot);
    enum chela_channel_judgement j = ch_rules_judge(&f->rules, &who);
    return j == CHELA_CHANNEL_TAKE && f->host.listens && !f->bot ? CHELA_CHANNEL_LATER : j;
}

static void feishu_prepare(void *c, struct chela_channel_arrival *in, struct ch_arena *a,
                           const char *workspace, void (*done)(void *), void *tag) {
    ch_feishu_prepare(self(c)->fetch, in, a, workspace, done, tag);
}

static void feishu_take_message(struct feishu *f, const struct ch_json *event, struct ch_arena *a,
                                struct chela_channel_verdict *out) {
    struct chela_error err = {0};
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    ch_jw_value(&w, event);
    struct ch_sv copy = ch_arena_sv(a, ch_buf_sv(&data));
    if (feishu_read_arrival(f, event, copy, a, &out->arrival, &err) < 0)
        ch_log(CH_LOG_WARN, "feishu", "a message cannot be parsed: %s", err.message);
    else
        out->arrived = feishu_judge(f, &out->arrival) != CHELA_CHANNEL_IGNORE;
    if (err.code || out->arrived)
        return;
    CH_BUF_AUTO why = {0};
    struct ch_author who = ch_feishu_author(out->arrival.message, f->bot);
    if (ch_rules_overhears(&f->rules, &who))
        f->host.overheard(&out->arrival, f->host.user);
    ch_rules_explain(&f->rules, &out->arrival.about, false, &why);
    ch_log(CH_LOG_INFO, "feishu", "%s", ch_buf_str(&why));
}

static void take_press(const struct feishu *f, const struct ch_json *event, struct ch_arena *a,
                       struct chela_channel_verdict *out) {
    struct ch_feishu_press *p = CH_ARENA_NEW(a, struct ch_feishu_press);
    CH_BUF_AUTO toast = {0};
    if (!ch_feishu_card_read(event, a, p))
        return;
    if (ch_rules_is_owner(&f->rules, p->open_id)) {
        out->decision = &p->decision;
        return;
    }
    ch_log(CH_LOG_WARN, "feishu", "%s, who may not decide, pressed a button in %s", p->open_id,
           p->chat);
    ch_feishu_card_toast(&toast, "error",
                         ch_say(CH_SAY_ONLY_OWNER_DECIDES, p->language));
    out->answer = ch_text(ch_arena_sv(a, ch_buf_sv(&toast)));
}

static int feishu_is_owner(void *c, const char *sender) {
    return ch_rules_is_owner(&self(c)->rules, sender);
}

static void feishu_decided(void *c, const struct chela_channel_decision *d, const char *what,
                           const struct chela_error *err, chela_channel_write_fn *write,
                           void *out) {
    CH_BUF_AUTO answer = {0};
    (void)c;
    ch_feishu_card_decided(&answer, d, what, err);
    write(answer.p, answer.n, out);
}

static void take_letter(struct feishu *f, const struct ch_feishu_letter *letter, struct ch_arena *a,
                        struct chela_channel_verdict *out) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (letter->challenge.p) {
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "challenge", letter->challenge);
        ch_jw_end(&w, '}');
        out->answer = ch_text(ch_arena_sv(a, ch_buf_sv(&text)));
    } else if (ch_sv_is(letter->type, "im.message.receive_v1")) {
        feishu_take_message(f, letter->event, a, out);
    } else if (ch_sv_is(letter->type, "card.action.trigger")) {
        take_press(f, letter->event, a, out);
    }
}

/* 0, or the HTTP status of the refusal. */
static int feishu_parse(const struct chela_channel_callback *in, struct ch_arena *a,
                        const struct ch_json **out, const char **why) {
    struct ch_sv type = ch_sv_of(in->header(in->request, "content-type"));
    if (strcmp(in->method, "POST") != 0) {
        *why = "method not allowed";
        return 405;
    }
    *why = "the content type must be application/json";
    if (!ch_sv_eq_nocase(ch_sv_trim(ch_sv_split(&type, ';')), CH_SV("application/json")))
        return 415;
    *why = "the body is not a JSON object";
    bool object = ch_json_parse(a, ch_sv_of(in->body), CH_JSON_REPLACE, out, NULL, NULL) == 0 &&
                  ch_json_is(*out, CH_JSON_OBJECT);
    return object ? 0 : 400;
}

static void feishu_receive(void *c, const struct chela_channel_callback *in, struct ch_arena *a,
                           struct chela_channel_verdict *out) {
    struct feishu *f = self(c);
    struct ch_feishu_letter letter;
    const struct ch_json *v;
    *out = (struct chela_channel_verdict){.status = 401,
                                          .why = "events come over the long connection",
                                          .answer = ch_text(CH_SV("{}"))};
    if (f->line)
        return;
    out->status = feishu_parse(in, a, &v, &out->why);
    if (!out->status)
        out->status = ch_feishu_unseal(&f->keys, in, v, a, &letter, &out->why);
    if (out->status)
        return;
    out->status = 200;
    take_letter(f, &letter, a, out);
}

/* --- incoming, over the long connection */

static void feishu_on_stored(int rc, const struct chela_error *err, void *user) {
    bool safe = rc == 0 || rc == CHELA_EEXIST;
    if (!safe)
        ch_log(CH_LOG_ERROR, "feishu", "an event cannot be stored: %s",
               err ? err->message : chela_error_text(rc));
    ch_feishu_line_ack(user, safe ? 200 : 500, ch_sv(NULL, 0));
}

static void feishu_on_decided(struct chela_text answer, void *tag) {
    ch_feishu_line_ack(tag, 200, ch_sv_of(answer));
}

static void feishu_on_event(struct ch_sv event, struct ch_feishu_ack *ack, void *user) {
    struct feishu *f = user;
    struct ch_arena arena = {0};
    struct ch_feishu_letter letter;
    struct chela_channel_verdict verdict = {.why = "it is no JSON", .answer = ch_text(CH_SV("{}"))};
    const struct ch_json *v;
    event = ch_arena_sv(&arena, event);
    if (ch_json_parse(&arena, event, CH_JSON_REPLACE, &v, NULL, NULL) == 0 &&
        ch_feishu_unwrap(&f->keys, v, &letter, &verdict.why) == 0)
        take_letter(f, &letter, &arena, &verdict);
    else
        ch_log(CH_LOG_WARN, "feishu", "an event is dropped: %s", verdict.why);
    if (verdict.arrived) {
        f->host.arrived(&verdict.arrival, &arena, feishu_on_stored, ack, f->host.user);
        return;
    }
    if (verdict.decision)
        f->host.decide(verdict.decision, feishu_on_decided, ack, f->host.user);
    else
        ch_feishu_line_ack(ack, 200,
                           ch_sv_is(ch_sv_of(verdict.answer), "{}") ? ch_sv(NULL, 0)
                                                                    : ch_sv_of(verdict.answer));
    ch_arena_release(&arena);
}

/* --- the bot's identity */

static void ask_again(struct feishu *f);

static void on_bot(const struct ch_feishu_answer *a, void *user) {
    struct feishu *f = user;
    struct ch_sv id = ch_json_get_str(ch_json_get(a->json, "bot"), "open_id");
    if (a->code != 0 || !id.n) {
        ch_buf_clear(&f->trouble);
        ch_buf_add_str(&f->trouble, a->why ? a->why : "no open_id came");
        f->host.trouble(ch_buf_str(&f->trouble), f->host.user);
        ch_log(CH_LOG_WARN, "feishu", "the id of the bot cannot be fetched: %s",
               ch_buf_str(&f->trouble));
        ask_again(f);
        return;
    }
    ch_buf_clear(&f->trouble);
    f->bot = ch_strndup(id.p, id.n);
    f->host.ready(f->host.user);
}

static void feishu_on_ask(struct ch_timer *t) {
    struct feishu *f = CH_CONTAINER(t, struct feishu, ask);
    ch_feishu_call(f->api, "GET", "/open-apis/bot/v3/info", NULL, on_bot, f);
}

static void ask_again(struct feishu *f) {
    ch_timer_start(f->host.rt->loop, &f->ask, f->ask_ms, feishu_on_ask);
    f->ask_ms = CH_MIN(2 * f->ask_ms, ASK_LONGEST_MS);
}

static const char *feishu_trouble(void *c) {
    const struct feishu *f = self(c);
    const char *of_line = f->line ? ch_feishu_line_trouble(f->line) : NULL;
    return of_line ? of_line : f->trouble.n ? ch_buf_str(&f->trouble) : NULL;
}

/* --- outgoing */

static void feishu_deliver(void *c, const struct chela_outbound *m) {
    ch_feishu_deliver(self(c)->out, m);
}

static void feishu_working(void *c, const struct chela_channel_arrival *in, int at_work) {
    const struct feishu *f = self(c);
    ch_feishu_working(f->out, in->about.message_id, in->about.ts, at_work);
    if (!at_work)
        ch_feishu_stream_over(f->stream, in->to);
}

static void feishu_stream(void *c, const struct chela_channel_arrival *in, struct chela_text text) {
    if (self(c)->streams)
        ch_feishu_stream_text(self(c)->stream, in, ch_sv_of(text));
}

static void feishu_remind(void *c, const char *id, struct chela_text data) {
    ch_feishu_stream_recall(self(c)->stream, id, ch_sv_of(data));
}

static void feishu_reminded(void *c) {
    ch_feishu_stream_recalled(self(c)->stream);
}

static void feishu_react(void *c, const char *chat, const char *message, const char *emoji,
                         chela_channel_acted_fn *done, void *tag) {
    (void)chat;
    ch_feishu_react(self(c)->out, message, emoji, done, tag);
}

static void feishu_unsend(void *c, const char *chat, const char *message,
                          chela_channel_acted_fn *done, void *tag) {
    (void)chat;
    ch_feishu_unsend(self(c)->acts, message, done, tag);
}

static void feishu_remove(void *c, const char *chat, const char *member,
                          chela_channel_acted_fn *done, void *tag) {
    ch_feishu_remove(self(c)->acts, chat, member, done, tag);
}

/* --- open and close */

static int feishu_need(const char *value, const char *what, struct chela_error *err) {
    if (value && *value)
        return 0;
    return ch_fail(err, CHELA_ECONFIG, "channel feishu needs %s", what);
}

const char *ch_feishu_base(const char *domain) {
    if (!domain || strcmp(domain, "feishu") == 0)
        return "https://open.feishu.cn";
    return strcmp(domain, "lark") == 0 ? "https://open.larksuite.com" : domain;
}

static bool feishu_is_line(const struct chela_channel_opts *o) {
    return o->mode == CHELA_TRANSPORT_WEBSOCKET;
}

static int feishu_check(const struct chela_channel_opts *o, struct chela_error *err) {
    int rc = feishu_need(o->account, "the app's id (appId)", err);
    if (rc == 0)
        rc = feishu_need(o->secret, "the app's secret (appSecretEnv)", err);
    if (rc == 0 && !feishu_is_line(o))
        rc = feishu_need(o->token,
                         "the verification token (verificationTokenEnv): without it anybody "
                         "could pass for the service",
                         err);
    const char *base = ch_feishu_base(o->domain);
    if (rc == 0 && !ch_kit_is_safe_url(base))
        rc = ch_fail(err, CHELA_ECONFIG, "channel feishu: domain is feishu, lark or an https URL");
    return rc;
}

static void feishu_close(void *c) {
    struct feishu *f = self(c);
    ch_timer_stop(f->host.rt->loop, &f->ask);
    ch_feishu_line_close(f->line);
    ch_feishu_api_close(f->api);
    ch_feishu_fetch_free(f->fetch);
    ch_feishu_stream_free(f->stream);
    ch_feishu_out_free(f->out);
    ch_feishu_acts_free(f->acts);
    ch_rules_release(&f->rules);
    ch_free((char *)f->keys.app_id);
    ch_free((char *)f->keys.token);
    ch_free((char *)f->keys.encrypt_key);
    ch_free(f->bot);
    ch_buf_release(&f->trouble);
    ch_free(f);
}

static int feishu_leave(void *c) {
    struct feishu *f = self(c);
    bool done = !f->line || ch_feishu_line_leave(f->line);
    ch_timer_stop(f->host.rt->loop, &f->ask);
    return done && ch_feishu_api_is_idle(f->api) && ch_feishu_stream_is_idle(f->stream);
}

static int feishu_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                       void **out, struct chela_error *err) {
    const void *cipher = NULL;
    bool sealed = o->encrypt_key && *o->encrypt_key && !feishu_is_line(o);
    int rc = feishu_check(o, err);
    if (rc == 0 && sealed)
        rc = ch_module_load("tls", "tls", host->rt->module_path, &cipher, err);
    if (rc < 0)
        return rc;
    struct feishu *f = ch_alloc(sizeof(*f));
    f->host = *host;
    f->keys = (struct ch_feishu_keys){.app_id = ch_strdup(o->account),
                                      .token = ch_strdup(o->token ? o->token : ""),
                                      .encrypt_key = sealed ? ch_strdup(o->encrypt_key) : NULL,
                                      .cipher = cipher};
    ch_rules_init(&f->rules, o);
    f->api = ch_feishu_api_new(host->rt, ch_feishu_base(o->domain), o->account, o->secret);
    f->acts = ch_feishu_acts_new(f->api);
    f->streams = o->streaming;
    f->stream = ch_feishu_stream_new(host, f->api);
    f->out = ch_feishu_out_new(host, f->api, f->stream);
    f->fetch = ch_feishu_fetch_new(host->rt, f->api);
    if (feishu_is_line(o))
        f->line = ch_feishu_line_new(host, f->api, o->account, o->secret, feishu_on_event, f);
    f->ask_ms = ASK_AGAIN_MS;
    ch_timer_start(host->rt->loop, &f->ask, 0, feishu_on_ask);
    *out = f;
    return 0;
}

static const struct chela_channel_option feishu_options[] = {
    {.name = "appId",
     .member = CHELA_CHANNEL_ACCOUNT,
     .enables = 1,
     .help = "id of the Feishu app; setting it enables the channel; see feishu.md"},
    {.name = "appSecret",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_KEY,
     .otherwise = "FEISHU_APP_SECRET",
     .help = "the App Secret"},
    {.name = "verificationToken",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_TOKEN,
     .otherwise = "FEISHU_VERIFICATION_TOKEN",
     .mode = "webhook",
     .help = "the Verification Token"},
    {.name = "encryptKey",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_ENCRYPT_KEY,
     .mode = "webhook",
     .may_lack = 1,
     .help = "the Encrypt Key; without a key, callbacks are neither encrypted nor signed"},
    {.name = "mode",
     .kind = CHELA_CHANNEL_CHOICE,
     .member = CHELA_CHANNEL_MODE,
     .words = "webhook|websocket",
     .otherwise = "webhook",
     .help = "how events arrive: as requests to `POST /channels/feishu/events`, or over a "
             "connection that chela opens"},
    {.name = "domain",
     .member = CHELA_CHANNEL_DOMAIN,
     .otherwise = "feishu",
     .help = "the open platform: `feishu`, `lark` or an https URL"},
    {.name = "streaming",
     .kind = CHELA_CHANNEL_BOOL,
     .member = CHELA_CHANNEL_STREAMING,
     .otherwise = "false",
     .help = "show an answer in a card while the model writes it"},
    {.name = NULL},
};

const struct chela_channel_ops ch_feishu_channel = {
    .name = "feishu",
    .title = "Feishu / Lark",
    .docs = "feishu.md",
    .features = CHELA_CHANNEL_BUTTONS,
    .setup = "Create an app at https://open.feishu.cn/app (Lark: https://open.larksuite.com/app). "
             "Add the bot ability.\n"
             "Permissions: im:message.p2p_msg:readonly, im:message.group_at_msg:readonly, "
             "im:message:send_as_bot, im:resource,\n"
             "  im:message.reactions:write_only.\n"
             "Events and callbacks: choose the long connection, subscribe to "
             "im.message.receive_v1. Publish a version.\n"
             "Credentials: copy the App ID and the App Secret.",
    .options = feishu_options,
    .open = feishu_open,
    .close = feishu_close,
    .leave = feishu_leave,
    .receive = feishu_receive,
    .recall = feishu_recall,
    .judge = feishu_judge,
    .prepare = feishu_prepare,
    .deliver = feishu_deliver,
    .react = feishu_react,
    .unsend = feishu_unsend,
    .remove = feishu_remove,
    .is_owner = feishu_is_owner,
    .most_question = CH_FEISHU_QUESTION,
    .decided = feishu_decided,
    .working = feishu_working,
    .stream = feishu_stream,
    .remind = feishu_remind,
    .reminded = feishu_reminded,
    .survey = ch_feishu_survey,
    .trouble = feishu_trouble,
};
