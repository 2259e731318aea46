/* telegram_ask.c -- approval requests and presses of their buttons.
 *
 *       callback_query --owner--> decided --> a line for the person, and the
 *                                             request shows the decision
 *
 * The service identifies the person; only owners may decide. */
#include "channel/telegram_ask.h"

#include "base/log.h"
#include "base/say.h"
#include "base/utf8.h"
#include "channel/decided.h"
#include "channel/telegram.h"
#include "channel/telegram_api.h"

static void telegram_ask_add_button(struct ch_jw *w, const char *label, char letter,
                                    const char *approval) {
    CH_BUF_AUTO data = {0};
    ch_buf_addf(&data, "%c:%s", letter, approval); /* at most 64 bytes */
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "text", label);
    ch_jw_kstr(w, "callback_data", ch_buf_sv(&data));
    ch_jw_end(w, '}');
}

void ch_telegram_buttons(struct ch_jw *w, const char *question, const char *approval) {
    enum chela_language to = ch_say_language_of_question(question);
    ch_jw_kbegin(w, "reply_markup", '{');
    ch_jw_kbegin(w, "inline_keyboard", '[');
    ch_jw_begin(w, '[');
    telegram_ask_add_button(w, ch_say(CH_SAY_ALLOW_ONCE, to), 'o', approval);
    telegram_ask_add_button(w, ch_say(CH_SAY_ALLOW_ALWAYS, to), 'a', approval);
    telegram_ask_add_button(w, ch_say(CH_SAY_DENY, to), 'd', approval);
    ch_jw_end(w, ']');
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

/* --- pressed buttons */

struct press {
    struct ch_link link; /* linked until the decision is carried out */
    struct ch_telegram *t;
    char *id, *chat, *message; /* owned: ids of the query and of the request's message */
};

static void free_press(struct press *p) {
    ch_list_del(&p->link);
    ch_free(p->id);
    ch_free(p->chat);
    ch_free(p->message);
    ch_free(p);
}

static void note_press(struct ch_telegram *t, const char *query, struct ch_sv text) {
    CH_BUF_AUTO body = {0};
    struct ch_jw w = ch_jw(&body);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "callback_query_id", query);
    ch_jw_kstr(&w, "text", ch_utf8_cut(text, 180));
    ch_jw_end(&w, '}');
    ch_telegram_call(t, "answerCallbackQuery", &body, NULL, NULL);
}

/* answer: a line for the person, followed, if the request is settled, by the text that
 * replaces it. */
static void telegram_ask_on_decided(struct chela_text said, void *tag) {
    struct ch_sv answer = ch_sv_of(said);
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
        ch_jw_kraw(&w, "link_preview_options", ch_sv_str(CH_TELEGRAM_NO_PREVIEW));
        ch_jw_end(&w, '}');
        ch_telegram_call(p->t, "editMessageText", &body, NULL, NULL);
    }
    ch_telegram_stored(p->t);
    free_press(p);
}

void ch_telegram_decided(void *c, const struct chela_channel_decision *d, const char *what,
                         const struct chela_error *err, chela_channel_write_fn *write, void *out) {
    CH_BUF_AUTO answer = {0};
    enum chela_language to = ch_say_language_of_question(what);
    (void)c;
    struct ch_sv said = ch_sv_str(
        ch_say(strcmp(d->word, "deny") == 0 ? CH_SAY_DENIED : CH_SAY_ALLOWED, to));
    if (err) {
        ch_decided_in_words(d, to, err, &answer);
    } else {
        ch_buf_addf(&answer, "%.*s\n%s\n\n", CH_SV_FMT(said), what);
        ch_say_add(&answer, CH_SAY_DECIDED_BY, to, CH_SAY_VALUES(said, ch_sv_str(d->by)));
    }
    write(answer.p, answer.n, out);
}

static const char *telegram_ask_word_of(char letter) {
    return letter == 'o' ? "allow-once" : letter == 'a' ? "allow-always" : "deny";
}

void ch_telegram_pressed(struct ch_telegram *t, const struct ch_json *q) {
    CH_ARENA_AUTO a = {0};
    struct ch_sv data = ch_json_get_str(q, "data"), id = ch_json_get_str(q, "id");
    const struct ch_json *m = ch_json_get(q, "message");
    const char *who = ch_telegram_id(ch_json_get(q, "from"), "id", &a);
    const char *chat = ch_telegram_id(ch_json_get(m, "chat"), "id", &a);
    const char *message = ch_telegram_id(m, "message_id", &a);
    const char *question = ch_arena_str(&a, ch_json_get_str(m, "text"));
    if (!who || !chat || !message || !id.n || data.n < 3 || data.p[1] != ':' ||
        memchr(data.p, 0, data.n) || memchr(id.p, 0, id.n))
        return;
    const char *query = ch_arena_str(&a, id);
    if (!ch_rules_is_owner(&t->rules, who)) {
        ch_log(CH_LOG_WARN, "telegram", "%s, who may not decide, pressed a button", who);
        note_press(t, query,
                   ch_sv_str(ch_say(CH_SAY_ONLY_OWNER_DECIDES,
                                    ch_say_language_of_question(question))));
        return;
    }
    struct press *p = ch_alloc(sizeof(*p));
    struct chela_channel_decision d = {.approval = ch_arena_str(&a, ch_sv(data.p + 2, data.n - 2)),
                                       .chat = chat,
                                       .word = telegram_ask_word_of(data.p[0]),
                                       .by = who};
    p->t = t;
    p->id = ch_strdup(query);
    p->chat = ch_strdup(chat);
    p->message = ch_strdup(message);
    ch_list_add(&t->presses, &p->link);
    t->storing++;
    t->host.decide(&d, telegram_ask_on_decided, p, t->host.user);
}

void ch_telegram_ask_release(struct ch_telegram *t) {
    for (struct press *p; (p = CH_LIST_FIRST(&t->presses, struct press, link));)
        free_press(p);
}
