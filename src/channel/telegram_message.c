/* telegram_message.c -- parses a message: author and chat, text without the bot's name, the
 * quoted message, the attached file. Pure.
 *
 * Names, texts and file names are untrusted. In a group without topics, a thread is only a
 * chain of replies and cannot be sent to. In a topic, a message that replies to nothing
 * refers to the topic's first message as its reply target. */
#include "channel/telegram_message.h"

#include "base/error.h"
#include "channel/telegram.h"
#include "channel/telegram_api.h"

/* A string in the arena; NULL: missing or invalid. */
static const char *telegram_message_word(const struct ch_json *v, const char *key,
                                         struct ch_arena *a) {
    struct ch_sv s = ch_json_get_str(v, key);
    return s.n && !memchr(s.p, 0, s.n) ? ch_arena_str(a, s) : NULL;
}

static bool is_in_name(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Find "@name" that is not the beginning of a longer name; NULL: none. */
static const char *find_name(struct ch_sv text, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; i + n < text.n; i++) {
        char behind = i + 1 + n < text.n ? text.p[i + 1 + n] : ' ';
        if (text.p[i] == '@' && !is_in_name(behind) &&
            ch_sv_eq_nocase(ch_sv(text.p + i + 1, n), ch_sv_str(name)))
            return text.p + i;
    }
    return NULL;
}

/* --- attached file */

static const struct kind {
    const char *key, *what;
} kinds[] = {
    {"photo", "picture"},        {"animation", "animation"},  {"document", "file"},
    {"voice", "voice message"},  {"audio", "audio file"},     {"video_note", "video"},
    {"video", "video"},          {"sticker", "sticker"},      {"location", "location"},
    {"contact", "contact"},      {"poll", "poll"},
};

static const struct kind *telegram_message_kind_of(const struct ch_json *m) {
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_json_get(m, kinds[i].key))
            return &kinds[i];
    return NULL;
}

/* The last size of an image is the largest. */
static const struct ch_json *telegram_message_file_of(const struct ch_json *m,
                                                      const struct kind *k) {
    const struct ch_json *v = ch_json_get(m, k->key), *last = v;
    if (ch_json_is(v, CH_JSON_ARRAY))
        for (CH_JSON_EACH(one, v))
            last = one;
    return ch_json_is(last, CH_JSON_OBJECT) ? last : NULL;
}

static void telegram_message_read_file(const struct ch_json *m, const struct kind *k,
                                       struct ch_arena *a, struct ch_telegram_file *out) {
    const struct ch_json *v = telegram_message_file_of(m, k);
    struct ch_sv name = ch_json_get_str(v, "file_name");
    out->id = telegram_message_word(v, "file_id", a);
    out->name = name.n && !memchr(name.p, 0, name.n) ? ch_arena_sv(a, name) : ch_sv("", 0);
    out->size = ch_json_int(ch_json_get(v, "file_size"), 0);
    out->picture = strcmp(k->key, "photo") == 0 || strcmp(k->key, "sticker") == 0 ||
                   ch_sv_starts(ch_json_get_str(v, "mime_type"), "image/");
}

/* --- text */

static struct ch_sv telegram_message_text_of(const struct ch_json *m) {
    struct ch_sv text = ch_json_get_str(m, "text"), caption = ch_json_get_str(m, "caption");
    return text.p ? text : caption.p ? caption : ch_sv("", 0);
}

/* "[file: report.pdf] caption", without the bot's name. */
static const char *telegram_message_words(const struct ch_json *m, const char *name,
                                          struct ch_arena *a) {
    struct ch_sv text = telegram_message_text_of(m);
    const struct kind *k = telegram_message_kind_of(m);
    struct ch_telegram_file file = {0};
    CH_BUF_AUTO out = {0};
    if (k)
        telegram_message_read_file(m, k, a, &file);
    if (k && file.name.n)
        ch_buf_addf(&out, "[%s: %.*s] ", k->what, CH_SV_FMT(file.name));
    else if (k)
        ch_buf_addf(&out, "[%s] ", k->what);
    const char *at = name ? find_name(text, name) : NULL;
    size_t before = at ? (size_t)(at - text.p) : text.n, skip = at ? 1 + strlen(name) : 0;
    ch_buf_add(&out, text.p, before);
    ch_buf_add(&out, text.p + before + skip, text.n - before - skip);
    return ch_arena_str(a, ch_sv_trim(ch_buf_sv(&out)));
}

/* --- quoted message */

static const struct ch_json *telegram_message_answered(const struct ch_json *m) {
    const struct ch_json *r = ch_json_get(m, "reply_to_message");
    return ch_json_get(r, "forum_topic_created") ? NULL : r;
}

/* The author may have selected a part of a long message as the quote. */
static const struct chela_beside *telegram_message_quoted(const struct ch_json *m,
                                                          struct ch_arena *a) {
    const struct ch_json *r = telegram_message_answered(m);
    const char *picked = telegram_message_word(ch_json_get(m, "quote"), "text", a);
    const char *text = picked ? picked : r ? telegram_message_words(r, NULL, a) : "";
    if (!*text)
        return NULL;
    struct chela_beside *b = CH_ARENA_NEW(a, struct chela_beside);
    b->message_id = ch_telegram_id(r, "message_id", a);
    b->sender = telegram_message_word(ch_json_get(r, "from"), "first_name", a);
    b->text = text;
    return b;
}

static bool answers(const struct ch_json *m, const char *me, struct ch_arena *a) {
    const char *whose = ch_telegram_id(ch_json_get(telegram_message_answered(m), "from"), "id", a);
    return me && whose && strcmp(whose, me) == 0;
}

int ch_telegram_read(const struct ch_json *m, const char *me, const char *name,
                     struct ch_arena *a, struct ch_telegram_message *out,
                     struct chela_error *err) {
    const struct ch_json *chat = ch_json_get(m, "chat"), *from = ch_json_get(m, "from");
    const struct kind *k = telegram_message_kind_of(m);
    bool topic = ch_json_bool(ch_json_get(m, "is_topic_message"), false);
    *out = (struct ch_telegram_message){.id = ch_telegram_id(m, "message_id", a),
                                        .ts = ch_json_int(ch_json_get(m, "date"), 0) * 1000,
                                        .name = telegram_message_word(from, "first_name", a),
                                        .quoted = telegram_message_quoted(m, a),
                                        .answers_us = answers(m, me, a),
                                        .news = !k && !telegram_message_text_of(m).n};
    out->who = (struct ch_author){
        .id = ch_telegram_id(from, "id", a),
        .chat = ch_telegram_id(chat, "id", a),
        .thread = topic ? ch_telegram_id(m, "message_thread_id", a) : NULL,
        .direct = ch_sv_is(ch_json_get_str(chat, "type"), "private"),
        .person = from && !ch_json_bool(ch_json_get(from, "is_bot"), false),
        .meant = !me ? CH_PERHAPS_MEANT
                 : out->answers_us || find_name(telegram_message_text_of(m), name) ? CH_MEANT
                                                                                   : CH_NOT_MEANT};
    if (!out->id || !out->who.chat)
        return ch_fail(err, CHELA_EPARSE, "the message has no id, or no chat");
    out->text = telegram_message_words(m, name, a);
    if (k)
        telegram_message_read_file(m, k, a, &out->file);
    return 0;
}
