/* telegram.c -- the Telegram channel, by long polling.
 *
 *       getMe --identity--> getUpdates --some--> all stored --> getUpdates
 *                              ^-- none, or a failure and a delay ----/
 *
 * A request with a higher offset confirms the earlier updates, so the next request waits
 * until the inbox has stored the whole last response. Updates that arrive again after a
 * crash are recognized by their ids. A response that is too large or unparsable is
 * requested again one update at a time; a single such update is skipped, so that nobody can
 * block the bot.
 *
 * Only one program may poll for a bot. If another one polls or a webhook is set, the
 * service reports it, and the health check shows it. Edits of messages are not received.
 * telegram.h lists the files. */
#include "base/error.h"
#include "base/log.h"
#include "channel/kit.h"
#include "channel/telegram.h"
#include "channel/telegram_act.h"
#include "channel/telegram_api.h"
#include "channel/telegram_ask.h"
#include "channel/telegram_fetch.h"
#include "channel/telegram_message.h"
#include "channel/telegram_out.h"

#define DOMAIN "https://api.telegram.org"
#define POLL_S 50
#define UPDATES 8 /* per request; one is at most about 100 KB */
#define CALL_MS 30000
#define UNTOLD 2 /* failures in a row that are not reported yet */

/* Parse a message to an arrival. data: the message as JSON text, in the arena. */
static int telegram_read_arrival(const struct ch_telegram *t, const struct ch_json *m,
                                 struct ch_sv data, struct ch_arena *a,
                                 struct chela_channel_arrival *out, struct chela_error *err) {
    struct ch_telegram_message *l = CH_ARENA_NEW(a, struct ch_telegram_message);
    int rc = ch_telegram_read(m, t->me, t->name, a, l, err);
    if (rc < 0)
        return rc;
    *out = (struct chela_channel_arrival){
        .id = ch_arena_printf(a, "telegram:%s:%s", l->who.chat, l->id),
        .session = ch_rules_session(&t->rules, "telegram", &l->who, a),
        .to =
            ch_arena_printf(a, "%s %s %s", l->who.chat, l->id, l->who.thread ? l->who.thread : ""),
        .text = l->text,
        .data = ch_text(data),
        .message = l,
        .about = CHELA_INBOUND(.channel = "telegram", .account = t->name,
                               .chat_type = l->who.direct ? "direct" : "group",
                               .chat_id = l->who.chat, .thread_id = l->who.thread,
                               .message_id = l->id, .sender_id = l->who.id,
                               .sender = l->name, .chat = l->title, .ts = l->ts,
                               .quoted = l->quoted, .answers_us = l->answers_us,
                               .mentioned = l->who.meant == CH_MEANT)};
    return 0;
}

static int telegram_recall(void *c, struct chela_text data, struct ch_arena *a,
                           struct chela_channel_arrival *out, struct chela_error *err) {
    CH_ARENA_AUTO scratch = {0};
    const struct ch_json *m;
    struct ch_sv copy = ch_arena_sv(a, ch_sv_of(data));
    int rc = ch_json_parse(&scratch, copy, CH_JSON_REPLACE, &m, NULL, err);
    return rc < 0 ? rc : telegram_read_arrival(ch_telegram_of(c), m, copy, a, out, err);
}

static enum chela_channel_judgement telegram_judge(void *c,
                                                   const struct chela_channel_arrival *in) {
    const struct ch_telegram *t = ch_telegram_of(c);
    const struct ch_telegram_message *l = in->message;
    return l->news ? CHELA_CHANNEL_IGNORE : ch_rules_judge(&t->rules, &l->who);
}

/* --- polling */

static void telegram_on_rested(struct ch_timer *timer);

static void set_trouble(struct ch_telegram *t, const char *what) {
    ch_free(t->trouble);
    t->trouble = what ? ch_strdup(what) : NULL;
    t->host.trouble(what, t->host.user);
}

static void telegram_try_later(struct ch_telegram *t, const char *what, int64_t wait_ms) {
    int64_t ms = t->host.back_off(t->failures++, t->host.user);
    ms = CH_MAX(ms, wait_ms);
    ch_log(CH_LOG_WARN, "telegram", "not connected, next attempt in %lld ms: %s", (long long)ms,
           what);
    if (t->failures > UNTOLD)
        set_trouble(t, what);
    ch_timer_start(t->host.rt->loop, &t->poll_timer, ms, telegram_on_rested);
}

/* The token may be wrong or another program polls: waiting does not help. */
static void refused(struct ch_telegram *t, const struct ch_web_answer *a) {
    CH_ARENA_AUTO arena = {0};
    const char *what = ch_telegram_why(a, &arena);
    if (a->status == 409)
        what = ch_arena_printf(&arena,
                               "another program fetches this bot's messages, or a webhook is set "
                               "for it (%s)", what);
    if (a->status >= 400 && a->status < 500 && a->status != 429)
        set_trouble(t, what);
    telegram_try_later(t, what, ch_telegram_wait(a));
}

static void ask_now(struct ch_telegram *t) {
    ch_timer_start(t->host.rt->loop, &t->poll_timer, 0, telegram_on_rested);
}

static void end_of_batch(struct ch_telegram *t) {
    if (t->storing)
        return;
    if (t->failed) {
        telegram_try_later(t, "a received update cannot be stored", 0);
        return;
    }
    t->offset = CH_MAX(t->offset, t->newest + 1);
    ask_now(t);
}

void ch_telegram_stored(struct ch_telegram *t) {
    t->storing--;
    end_of_batch(t);
}

static void telegram_on_stored(int rc, const struct chela_error *err, void *tag) {
    struct ch_telegram *t = tag;
    if (rc < 0 && rc != CHELA_EEXIST) {
        t->failed = true;
        ch_log(CH_LOG_ERROR, "telegram", "a message cannot be stored: %s",
               err ? err->message : chela_error_text(rc));
    }
    ch_telegram_stored(t);
}

static void telegram_take_message(struct ch_telegram *t, const struct ch_json *m) {
    struct ch_arena arena = {0};
    struct chela_channel_arrival in = {0};
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    ch_jw_value(&w, m);
    struct ch_sv copy = ch_arena_sv(&arena, ch_buf_sv(&data));
    bool read = telegram_read_arrival(t, m, copy, &arena, &in, NULL) == 0;
    if (read && telegram_judge(t, &in) != CHELA_CHANNEL_IGNORE) {
        t->storing++;
        t->host.arrived(&in, &arena, telegram_on_stored, t, t->host.user);
        return;
    }
    CH_BUF_AUTO why = {0};
    const struct ch_telegram_message *l = in.message;
    if (read && !l->news && ch_rules_overhears(&t->rules, &l->who))
        t->host.overheard(&in, t->host.user);
    if (read)
        ch_rules_explain(&t->rules, &in.about, false, &why);
    else
        ch_buf_add_str(&why, "a message of an unknown form is ignored");
    ch_log(CH_LOG_INFO, "telegram", "%s", ch_buf_str(&why));
    ch_arena_release(&arena);
}

/* The first update id, also in a truncated response; quotes inside texts are escaped. 0:
 * none. */
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
    return 0; /* the number may be truncated */
}

/* Skip an unparsable response; false if that is impossible. */
static bool telegram_pass_over(struct ch_telegram *t, const struct ch_web_answer *a) {
    int64_t id = find_update(a->text);
    if (a->status != 200 || a->json || id < CH_MAX(t->offset, 1))
        return false;
    if (t->max_updates == 1) {
        ch_log(CH_LOG_ERROR, "telegram", "update %lld cannot be read: passed over", (long long)id);
        t->offset = id + 1;
    }
    t->max_updates = 1;
    ask_now(t);
    return true;
}

static void on_updates(const struct ch_web_answer *a, void *user) {
    struct ch_telegram *t = user;
    if (!ch_telegram_ok(a)) {
        if (!telegram_pass_over(t, a))
            refused(t, a);
        return;
    }
    set_trouble(t, NULL);
    t->failures = 0;
    t->max_updates = UPDATES;
    t->failed = false;
    t->storing = 1; /* guards until all updates were processed */
    for (CH_JSON_EACH(one, ch_json_get(a->json, "result"))) {
        const struct ch_json *m = ch_json_get(one, "message");
        const struct ch_json *q = ch_json_get(one, "callback_query");
        t->newest = CH_MAX(t->newest, ch_json_int(ch_json_get(one, "update_id"), 0));
        if (m)
            telegram_take_message(t, m);
        else if (q)
            ch_telegram_pressed(t, q);
    }
    ch_telegram_stored(t);
}

static void on_me(const struct ch_web_answer *a, void *user) {
    struct ch_telegram *t = user;
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *me = ch_json_get(a->json, "result");
    const char *id = ch_telegram_id(me, "id", &arena);
    struct ch_sv name = ch_json_get_str(me, "username");
    if (!ch_telegram_ok(a) || !id || !name.n) {
        refused(t, a);
        return;
    }
    t->me = ch_strdup(id);
    t->name = ch_strndup(name.p, name.n);
    t->failures = 0;
    ch_log(CH_LOG_INFO, "telegram", "the bot is @%s", t->name);
    t->host.ready(t->host.user);
    if (!t->host.others_fetch)
        ask_now(t);
}

static void telegram_on_rested(struct ch_timer *timer) {
    struct ch_telegram *t = CH_CONTAINER(timer, struct ch_telegram, poll_timer);
    CH_BUF_AUTO body = {0};
    if (t->leaving)
        return;
    if (!t->me) {
        ch_buf_add_str(&body, "{}");
        ch_telegram_poll(t, "getMe", &body, CALL_MS, on_me, t);
        return;
    }
    ch_buf_addf(&body,
                "{\"offset\":%lld,\"limit\":%u,\"timeout\":%d,"
                "\"allowed_updates\":[\"message\",\"callback_query\"]}",
                /* after trouble, return at once to see if it is over */
                (long long)t->offset, t->max_updates, t->trouble ? 0 : POLL_S);
    ch_telegram_poll(t, "getUpdates", &body, (POLL_S + 20) * 1000, on_updates, t);
}

static int telegram_is_owner(void *c, const char *sender) {
    return ch_rules_is_owner(&ch_telegram_of(c)->rules, sender);
}

/* --- open and close */

static void telegram_close(void *c) {
    struct ch_telegram *t = ch_telegram_of(c);
    ch_timer_stop(t->host.rt->loop, &t->poll_timer);
    ch_web_close(&t->poll);
    ch_web_close(&t->web);
    ch_telegram_fetch_release(t);
    ch_telegram_out_release(t);
    ch_telegram_act_release(t);
    ch_telegram_ask_release(t);
    ch_rules_release(&t->rules);
    ch_free(t->base);
    ch_free(t->files);
    ch_free(t->me);
    ch_free(t->name);
    ch_free(t->trouble);
    ch_free(t);
}

/* The next poller receives updates that were fetched but not confirmed. */
static int telegram_leave(void *c) {
    struct ch_telegram *t = ch_telegram_of(c);
    t->leaving = true;
    ch_web_close(&t->poll);
    return ch_list_empty(&t->web.calls) && ch_list_empty(&t->sendings) && !t->storing;
}

static int telegram_check(const struct chela_channel_opts *o, struct chela_error *err) {
    const char *domain = o->domain ? o->domain : DOMAIN;
    if (!o->secret || !*o->secret)
        return ch_fail(err, CHELA_ECONFIG, "channel telegram needs the bot's token (tokenEnv)");
    for (const char *p = o->secret; *p; p++) /* the token becomes part of a path */
        if (!strchr("0123456789:_-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", *p))
            return ch_fail(err, CHELA_ECONFIG, "channel telegram: the bot's token is not valid");
    if (!ch_kit_is_safe_url(domain))
        return ch_fail(err, CHELA_ECONFIG, "channel telegram: domain must be an https URL");
    return 0;
}

static int telegram_open(const struct chela_channel_host *host, const struct chela_channel_opts *o,
                         void **out, struct chela_error *err) {
    const char *domain = o->domain ? o->domain : DOMAIN;
    CH_BUF_AUTO base = {0}, files = {0};
    int rc = telegram_check(o, err);
    if (rc < 0)
        return rc;
    struct ch_telegram *t = ch_alloc(sizeof(*t));
    t->host = *host;
    ch_rules_init(&t->rules, o);
    ch_web_init(&t->web, host->rt);
    ch_web_init(&t->poll, host->rt);
    ch_buf_addf(&base, "%s/bot%s", domain, o->secret);
    ch_buf_addf(&files, "%s/file/bot%s", domain, o->secret);
    t->base = ch_buf_take(&base);
    t->files = ch_buf_take(&files);
    t->max_updates = UPDATES;
    struct ch_list *lists[] = {&t->fetchings, &t->sendings, &t->typings,
                               &t->acts,      &t->presses,  &t->begun};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    ask_now(t);
    *out = t;
    return 0;
}

/* --- doctor */

static void telegram_on_checked(const struct chela_channel_response *r, void *tag) {
    const struct chela_channel_survey *told = tag;
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v = NULL;
    if (ch_json_parse(&a, ch_sv_of(r->body), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        v = NULL;
    struct ch_sv name = ch_json_get_str(ch_json_get(v, "result"), "username");
    struct ch_sv why = ch_json_get_str(v, "description");
    if (r->why || !v)
        told->tell("warn",
                   ch_arena_printf(&a, "the service cannot be asked: %s",
                                   r->why ? r->why : "the answer is not JSON"),
                   NULL, told->user);
    else if (!ch_json_bool(ch_json_get(v, "ok"), false))
        told->tell("fail", ch_arena_printf(&a, "the bot token is refused: %.*s", CH_SV_FMT(why)),
                   "compare the token with the one of @BotFather", told->user);
    else
        told->tell("ok", ch_arena_printf(&a, "the service knows the bot: @%.*s", CH_SV_FMT(name)),
                   NULL, told->user);
}

static void telegram_survey(chela_runtime *rt, const struct chela_channel_opts *o,
                            const struct chela_channel_survey *told) {
    struct chela_error err = {0};
    CH_BUF_AUTO url = {0};
    (void)rt;
    if (telegram_check(o, &err) < 0) {
        told->tell("fail", err.message, NULL, told->user);
        return;
    }
    ch_buf_addf(&url, "%s/bot%s/getMe", o->domain ? o->domain : DOMAIN, o->secret);
    told->http(&(struct chela_channel_request){.method = "GET", .url = ch_buf_str(&url)},
               telegram_on_checked, (void *)(uintptr_t)told, told->user);
}

static const struct chela_channel_option telegram_options[] = {
    {.name = "token",
     .kind = CHELA_CHANNEL_SECRET,
     .member = CHELA_CHANNEL_KEY,
     .enables = 1,
     .help = "the bot token; setting it enables the channel; see telegram.md"},
    {.name = "domain",
     .member = CHELA_CHANNEL_DOMAIN,
     .otherwise = DOMAIN,
     .help = "URL of another Bot API server"},
    {.name = NULL},
};

const struct chela_channel_ops ch_telegram_channel = {
    .name = "telegram",
    .title = "Telegram",
    .docs = "telegram.md",
    .features = CHELA_CHANNEL_BUTTONS,
    .setup = "Write /newbot to @BotFather; it answers with the token.\n"
             "For groups: /setprivacy, if the bot should see messages that do not mention it.",
    .options = telegram_options,
    .open = telegram_open,
    .close = telegram_close,
    .leave = telegram_leave,
    .recall = telegram_recall,
    .judge = telegram_judge,
    .prepare = ch_telegram_prepare,
    .deliver = ch_telegram_deliver,
    .react = ch_telegram_react,
    .unsend = ch_telegram_unsend,
    .mute = ch_telegram_mute,
    .remove = ch_telegram_remove,
    .is_owner = telegram_is_owner,
    .most_question = CH_TELEGRAM_QUESTION,
    .decided = ch_telegram_decided,
    .working = ch_telegram_working,
    .remind = ch_telegram_remind,
    .reminded = ch_telegram_reminded,
    .survey = telegram_survey,
};
