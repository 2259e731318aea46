/* telegram_act.c -- typing indicator and actions of the model.
 *
 * The service shows the indicator for five seconds, so it is repeated until the work ends. */
#include "channel/telegram_act.h"

#include "base/error.h"
#include "channel/telegram.h"
#include "channel/telegram_api.h"

#define AGAIN_MS 4500
#define LONGEST_MS (10 * 60 * 1000)

/* --- typing indicator */

struct typing {
    struct ch_link link;
    struct ch_telegram *t;
    char *chat, *thread, *message; /* owned; thread may be NULL */
    struct ch_timer repeat_timer;
    int64_t until;
};

static void telegram_act_free_typing(struct typing *y) {
    ch_timer_stop(y->t->host.rt->loop, &y->repeat_timer);
    ch_list_del(&y->link);
    ch_free(y->chat);
    ch_free(y->thread);
    ch_free(y->message);
    ch_free(y);
}

static void telegram_act_show(struct ch_timer *timer) {
    struct typing *y = CH_CONTAINER(timer, struct typing, repeat_timer);
    struct ch_loop *loop = y->t->host.rt->loop;
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    if (ch_mono_ms(ch_loop_clock(loop)) >= y->until) {
        telegram_act_free_typing(y);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", y->chat);
    if (y->thread)
        ch_jw_kraw(&w, "message_thread_id", ch_sv_str(y->thread));
    ch_jw_kcstr(&w, "action", "typing");
    ch_jw_end(&w, '}');
    ch_telegram_call(y->t, "sendChatAction", &body, NULL, NULL);
    ch_timer_start(loop, &y->repeat_timer, AGAIN_MS, telegram_act_show);
}

static struct typing *telegram_act_find_typing(const struct ch_telegram *t,
                                               const struct chela_channel_arrival *in) {
    for (CH_LIST_EACH(k, &t->typings)) {
        struct typing *y = CH_CONTAINER(k, struct typing, link);
        if (strcmp(y->chat, in->about.chat_id) == 0 &&
            strcmp(y->message, in->about.message_id) == 0)
            return y;
    }
    return NULL;
}

void ch_telegram_working(void *c, const struct chela_channel_arrival *in, int at_work) {
    struct ch_telegram *t = ch_telegram_of(c);
    struct ch_loop *loop = t->host.rt->loop;
    struct typing *y = telegram_act_find_typing(t, in);
    if (y && !at_work)
        telegram_act_free_typing(y);
    if (y || !at_work)
        return;
    y = ch_alloc(sizeof(*y));
    y->t = t;
    y->chat = ch_strdup(in->about.chat_id);
    y->thread = in->about.thread_id ? ch_strdup(in->about.thread_id) : NULL;
    y->message = ch_strdup(in->about.message_id);
    y->until = ch_mono_ms(ch_loop_clock(loop)) + LONGEST_MS;
    ch_list_add(&t->typings, &y->link);
    telegram_act_show(&y->repeat_timer);
}

/* --- acts */

struct act {
    struct ch_link link;
    chela_channel_acted_fn *done;
    void *tag;
};

static void on_acted(const struct ch_web_answer *a, void *user) {
    struct act *one = user;
    chela_channel_acted_fn *done = one->done;
    void *tag = one->tag;
    CH_ARENA_AUTO arena = {0};
    struct chela_error err = {0};
    bool ok = ch_telegram_ok(a);
    if (!ok)
        ch_fail(&err, a->status >= 400 && a->status < 500 ? CHELA_EINVAL : CHELA_ENET, "%s",
                ch_telegram_why(a, &arena));
    ch_list_del(&one->link);
    ch_free(one);
    done(ok ? NULL : &err, tag);
}

static void telegram_act_call(struct ch_telegram *t, const char *method, const struct ch_buf *body,
                              chela_channel_acted_fn *done, void *tag) {
    struct act *one = ch_alloc(sizeof(*one));
    one->done = done;
    one->tag = tag;
    ch_list_add(&t->acts, &one->link);
    ch_telegram_call(t, method, body, on_acted, one);
}

void ch_telegram_react(void *c, const char *chat, const char *message, const char *emoji,
                       chela_channel_acted_fn *done, void *tag) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kcstr(&w, "message_id", message);
    ch_jw_kbegin(&w, "reaction", '[');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "type", "emoji");
    ch_jw_kcstr(&w, "emoji", emoji);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    telegram_act_call(ch_telegram_of(c), "setMessageReaction", &body, done, tag);
}

/* --- actions of a group administrator */

void ch_telegram_unsend(void *c, const char *chat, const char *message,
                        chela_channel_acted_fn *done, void *tag) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kraw(&w, "message_id", ch_sv_str(message));
    ch_jw_end(&w, '}');
    telegram_act_call(ch_telegram_of(c), "deleteMessage", &body, done, tag);
}

/* Permissions that are omitted are revoked too. */
void ch_telegram_mute(void *c, const char *chat, const char *member, int64_t seconds,
                      chela_channel_acted_fn *done, void *tag) {
    struct ch_telegram *t = ch_telegram_of(c);
    int64_t until = ch_now_ms(ch_loop_clock(t->host.rt->loop)) / 1000 + seconds;
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kraw(&w, "user_id", ch_sv_str(member));
    ch_jw_kbegin(&w, "permissions", '{');
    ch_jw_kbool(&w, "can_send_messages", false);
    ch_jw_end(&w, '}');
    ch_jw_kint(&w, "until_date", until);
    ch_jw_end(&w, '}');
    telegram_act_call(t, "restrictChatMember", &body, done, tag);
}

void ch_telegram_remove(void *c, const char *chat, const char *member, chela_channel_acted_fn *done,
                        void *tag) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "chat_id", chat);
    ch_jw_kraw(&w, "user_id", ch_sv_str(member));
    ch_jw_end(&w, '}');
    telegram_act_call(ch_telegram_of(c), "banChatMember", &body, done, tag);
}

void ch_telegram_act_release(struct ch_telegram *t) {
    for (struct typing *y; (y = CH_LIST_FIRST(&t->typings, struct typing, link));)
        telegram_act_free_typing(y);
    for (struct act *one; (one = CH_LIST_FIRST(&t->acts, struct act, link));) {
        ch_list_del(&one->link);
        ch_free(one);
    }
}
