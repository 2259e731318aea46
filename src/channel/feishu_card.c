/* feishu_card.c -- cards with buttons for approving a call.
 *
 * The text to be approved is shown as plain text, byte for byte, never as Markdown, so
 * nothing in it can be disguised. A button contains a value of this channel; the service
 * returns the value with the id of the person who pressed the button. */
#include "channel/feishu_card.h"

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

static void feishu_card_add_button(struct ch_jw *w, const char *label, const char *look,
                                   const char *word, const char *session, const char *approval) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "tag", "button");
    feishu_card_add_plain(w, "text", label);
    ch_jw_kcstr(w, "type", look);
    ch_jw_kbegin(w, "behaviors", '[');
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "type", "callback");
    ch_jw_kbegin(w, "value", '{');
    ch_jw_kcstr(w, "chela", "approval");
    ch_jw_kcstr(w, "session", session);
    ch_jw_kcstr(w, "approval", approval);
    ch_jw_kcstr(w, "decision", word);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
    ch_jw_end(w, '}');
}

void ch_feishu_card_ask(struct ch_buf *out, const char *text, const char *session,
                        const char *approval) {
    struct ch_jw w = ch_jw(out);
    begin_card(&w, "May the agent do this?", "orange", text);
    feishu_card_add_button(&w, "Allow once", "primary", "allow-once", session, approval);
    feishu_card_add_button(&w, "Allow always", "default", "allow-always", session, approval);
    feishu_card_add_button(&w, "Deny", "danger", "deny", session, approval);
    end_card(&w);
}

static const char *feishu_card_in_words(const char *word) {
    return strcmp(word, "deny") == 0           ? "Denied"
           : strcmp(word, "allow-always") == 0 ? "Allowed always"
                                               : "Allowed once";
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
    const char *said = late ? "Decided before" : err ? err->message : feishu_card_in_words(d->word);
    CH_BUF_AUTO title = {0};
    ch_jw_begin(&w, '{');
    add_toast(&w, err ? "error" : "success", said);
    if (!err || late) {
        ch_buf_addf(&title, "%s%s%s", said, err ? "" : " by ", err ? "" : d->by);
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
        .decision = {.session = feishu_card_text_of(value, "session", a),
                     .approval = feishu_card_text_of(value, "approval", a),
                     .word = feishu_card_text_of(value, "decision", a)}};
    out->decision.by = out->open_id;
    out->decision.chat = out->chat;
    return ch_sv_is(ch_json_get_str(value, "chela"), "approval") && out->open_id && out->chat &&
           out->decision.session && out->decision.approval && out->decision.word;
}
