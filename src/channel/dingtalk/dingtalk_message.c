/* dingtalk_message.c -- messages of people.
 *
 * The chat of a direct message is the sender, since answers are addressed to persons. A sender
 * from outside the organisation has no user id: the chat is the conversation, and the handle is
 * the address to which an answer is sent, with the time of its end. */
#include "channel/dingtalk/dingtalk_message.h"

#define FILES 16
#define TITLE 40 /* bytes */

bool ch_dingtalk_is_conversation(const char *chat) {
    return strncmp(chat, "cid", 3) == 0;
}

static bool message_flag(const struct ch_json *v, const char *key) {
    return ch_json_bool(ch_json_get(v, key), false);
}

static void message_add(struct ch_buf *text, struct ch_sv more) {
    more = ch_sv_trim(more);
    if (more.n && text->n)
        ch_buf_addc(text, '\n');
    ch_buf_add_sv(text, more);
}

static void message_file(const struct ch_json *v, struct ch_arena *a,
                         struct chela_channel_file *out, size_t *n) {
    const char *code = ch_kit_word(v, "downloadCode", a);
    if (code && *n < FILES)
        out[(*n)++] =
            (struct chela_channel_file){.handle = code,
                                        .name = ch_kit_word(v, "fileName", a),
                                        .size = ch_json_int(ch_json_get(v, "fileSize"), 0)};
}

/* The text and the files of content of any type. */
static void message_content(const struct ch_json *text, const struct ch_json *content,
                            struct ch_arena *a, struct ch_buf *out,
                            struct chela_channel_file *files, size_t *nfiles) {
    message_add(out, ch_json_get_str(text, "content"));
    message_add(out, ch_json_get_str(content, "recognition"));
    message_add(out, ch_json_get_str(content, "text"));
    message_file(content, a, files, nfiles);
    for (CH_JSON_EACH(part, ch_json_get(content, "richText"))) {
        message_add(out, ch_json_get_str(part, "text"));
        message_add(out, ch_json_get_str(part, "content"));
        message_file(part, a, files, nfiles);
    }
}

/* A card that is quoted has no text. */
static void message_quoted(const struct ch_json *v, struct ch_arena *a,
                           struct chela_channel_message *out) {
    const struct ch_json *text = ch_json_get(v, "text"), *said = ch_json_get(text, "repliedMsg");
    struct ch_sv me = ch_json_get_str(v, "chatbotUserId"), by = ch_json_get_str(said, "senderId");
    struct chela_channel_file files[FILES];
    size_t nfiles = 0;
    CH_BUF_AUTO words = {0};
    if (!said)
        return;
    message_content(NULL, ch_json_get(said, "content"), a, &words, files, &nfiles);
    struct chela_beside *q = CH_ARENA_NEW(a, struct chela_beside);
    q->message_id = ch_kit_word(said, "msgId", a);
    q->sender = ch_kit_word(said, "senderId", a);
    q->text = words.n ? ch_arena_str(a, ch_buf_sv(&words)) : "[a message without text]";
    out->quoted = q;
    out->answers_us = me.n && ch_sv_eq(me, by);
}

static const char *message_webhook(const struct ch_json *v, struct ch_arena *a) {
    const char *url = ch_kit_word(v, "sessionWebhook", a);
    int64_t until = ch_json_int(ch_json_get(v, "sessionWebhookExpiredTime"), 0);
    return url ? ch_arena_printf(a, "%lld %s", (long long)until, url) : NULL;
}

bool ch_dingtalk_read(const struct ch_json *v, struct ch_arena *a,
                      struct chela_channel_message *out) {
    struct chela_channel_file *files = ch_arena_zalloc(a, FILES * sizeof(*files));
    const char *id = ch_kit_word(v, "msgId", a), *staff = ch_kit_word(v, "senderStaffId", a);
    const char *conversation = ch_kit_word(v, "conversationId", a);
    const char *sender = ch_kit_word(v, "senderId", a);
    const char *me = ch_kit_word(v, "chatbotUserId", a);
    bool direct = ch_sv_is(ch_json_get_str(v, "conversationType"), "1");
    CH_BUF_AUTO text = {0};
    size_t nfiles = 0;
    if (!id || !conversation || (!staff && !sender))
        return false;
    message_content(ch_json_get(v, "text"), ch_json_get(v, "content"), a, &text, files, &nfiles);
    *out = (struct chela_channel_message){
        .id = id,
        .chat = direct && staff ? staff : conversation,
        .sender = staff ? staff : sender,
        .also = {staff ? sender : NULL},
        .sender_name = ch_kit_word(v, "senderNick", a),
        .chat_name = direct ? NULL : ch_kit_word(v, "conversationTitle", a),
        .direct = direct,
        .program = sender && me && strcmp(sender, me) == 0,
        .mentioned = direct || message_flag(v, "isInAtList"),
        .text = ch_arena_str(a, ch_buf_sv(&text)),
        .ts = ch_json_int(ch_json_get(v, "createAt"), 0),
        .handle = direct && !staff ? message_webhook(v, a) : NULL,
        .files = files,
        .nfiles = nfiles};
    message_quoted(v, a, out);
    return true;
}

void ch_dingtalk_title(struct ch_buf *out, struct ch_sv text) {
    size_t start = out->n;
    text = ch_sv_trim(text);
    for (size_t i = 0; i < text.n && text.p[i] != '\n'; i++) {
        bool begins = (text.p[i] & 0xc0) != 0x80;
        if (begins && out->n - start >= TITLE)
            break;
        if (!strchr("#*`>|_[]", text.p[i]) || !text.p[i])
            ch_buf_addc(out, text.p[i] ? text.p[i] : ' ');
    }
    if (!ch_sv_trim(ch_sv(ch_buf_str(out) + start, out->n - start)).n)
        ch_buf_add_str(out, "chela");
}
