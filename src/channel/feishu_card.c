/* feishu_card.c -- cards with buttons for approving a call.
 *
 * The text to be approved is shown as plain text, byte for byte, never as Markdown, so
 * nothing in it can be disguised. A button contains a value of this channel; the service
 * returns the value with the id of the person who pressed the button. */
#include "channel/feishu_card.h"

#include "base/say.h"
#include "channel/decided.h"
#include "channel/feishu.h"
#include "json/writer.h"

static void feishu_card_add_plain(struct ch_jw *w, const char *key, const char *text) {
    ch_jw_kbegin(w, key, '{');
    ch_jw_kcstr(w, "tag", "plain_text");
    ch_jw_kcstr(w, "content", text);
    ch_jw_end(w, '}');
}

static void begin_card(struct ch_jw *w, const char *title, const char *colour, const char *text) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "schema", "2.0");
    ch_jw_kraw(w, "config", CH_SV("{\"update_multi\":true}"));
    ch_jw_kbegin(w, "header", '{');
    feishu_card_add_plain(w, "title", title);
    ch_jw_kcstr(w, "template", colour);
    ch_jw_end(w, '}');
    ch_jw_kbegin(w, "body", '{');
    ch_jw_kbegin(w, "elements", '[');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "tag", "div");
    feishu_card_add_plain(w, "text", text);
    ch_jw_end(w, '}');
}

static void end_card(struct ch_jw *w) {
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

/* The value has the language, in which somebody who may not decide is answered. */
static void feishu_card_add_button(struct ch_jw *w, enum chela_language to, enum ch_say label,
                                   const char *look, const char *word, const char *session,
                                   const char *approval) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "tag", "button");
    feishu_card_add_plain(w, "text", ch_say(label, to));
    ch_jw_kcstr(w, "type", look);
    ch_jw_kbegin(w, "behaviors", '[');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "callback");
    ch_jw_kbegin(w, "value", '{');
    ch_jw_kcstr(w, "chela", "approval");
    ch_jw_kcstr(w, "session", session);
    ch_jw_kcstr(w, "approval", approval);
    ch_jw_kcstr(w, "decision", word);
    if (to != CHELA_LANGUAGE_EN)
        ch_jw_kint(w, "language", to);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

void ch_feishu_card_ask(struct ch_buf *out, const char *text, const char *session,
                        const char *approval) {
    struct ch_jw w = ch_jw(out);
    enum chela_language to = ch_say_language_of_question(text);
    begin_card(&w, ch_say(CH_SAY_ASKS_TITLE, to), "orange", text);
    feishu_card_add_button(&w, to, CH_SAY_ALLOW_ONCE, "primary", "allow-once", session, approval);
    feishu_card_add_button(&w, to, CH_SAY_ALLOW_ALWAYS, "default", "allow-always", session,
                           approval);
    feishu_card_add_button(&w, to, CH_SAY_DENY, "danger", "deny", session, approval);
    end_card(&w);
}

static void add_toast(struct ch_jw *w, const char *type, const char *text) {
    ch_jw_kbegin(w, "toast", '{');
    ch_jw_kcstr(w, "type", type);
    ch_jw_kcstr(w, "content", text);
    ch_jw_end(w, '}');
}

void ch_feishu_card_toast(struct ch_buf *out, const char *type, const char *text) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    add_toast(&w, type, text);
    ch_jw_end(&w, '}');
}

void ch_feishu_card_decided(struct ch_buf *out, const struct chela_channel_decision *d,
                            const char *what, const struct chela_error *err) {
    struct ch_jw w = ch_jw(out);
    bool late = err && (err->code == CHELA_EEXIST || err->code == CHELA_ENOENT);
    enum chela_language to = ch_say_language_of_question(what);
    CH_BUF_AUTO title = {0};
    CH_BUF_AUTO words = {0};
    ch_decided_in_words(d, to, err, &words);
    const char *said = ch_buf_str(&words);
    ch_jw_begin(&w, '{');
    add_toast(&w, err ? "error" : "success", said);
    if (!err || late) {
        if (err)
            ch_buf_add_str(&title, said);
        else
            ch_decided_by(d, to, &title);
        ch_jw_kbegin(&w, "card", '{');
        ch_jw_kcstr(&w, "type", "raw");
        ch_jw_key(&w, "data");
        begin_card(&w, ch_buf_str(&title), err || strcmp(d->word, "deny") == 0 ? "grey" : "green",
                   *what ? what : d->approval);
        end_card(&w);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, '}');
}

/* --- a button was pressed */

static const char *feishu_card_text_of(const struct ch_json *v, const char *key,
                                       struct ch_arena *a) {
    struct ch_sv s = ch_json_get_str(v, key);
    return s.n && s.n <= 512 && !memchr(s.p, 0, s.n) ? ch_arena_str(a, s) : NULL;
}

bool ch_feishu_card_read(const struct ch_json *event, struct ch_arena *a,
                         struct ch_feishu_press *out) {
    const struct ch_json *value = ch_json_path(event, "action", "value", NULL);
    const struct ch_json *operator = ch_json_get(event, "operator");
    *out = (struct ch_feishu_press){
        .open_id = feishu_card_text_of(operator, "open_id", a),
        .chat = feishu_card_text_of(ch_json_get(event, "context"), "open_chat_id", a),
        .language = (enum chela_language)ch_json_int(ch_json_get(value, "language"), 0),
        .decision = {.session = feishu_card_text_of(value, "session", a),
                     .approval = feishu_card_text_of(value, "approval", a),
                     .word = feishu_card_text_of(value, "decision", a)}};
    out->decision.by = out->open_id;
    out->decision.chat = out->chat;
    return ch_sv_is(ch_json_get_str(value, "chela"), "approval") && out->open_id && out->chat &&
           out->decision.session && out->decision.approval && out->decision.word;
}
