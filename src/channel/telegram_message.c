/* telegram_message.c -- parses a message: author and chat, text without the bot's name, the
 * quoted message, the attached file. Pure.
 *
 * Names, texts and file names are untrusted. In a group without topics, a thread is only a
 * chain of replies and cannot be sent to. In a topic, a message that replies to nothing
 * refers to the topic's first message as its reply target. */
#include "channel/telegram_message.h"

#include "base/error.h"
#include "base/utf8.h"
#include "channel/telegram.h"
#include "channel/telegram_api.h"

#define MOST_LINKS 100 /* of a message; the service allows as many entities */

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

/* --- links behind words */

struct links {
    struct {
        int64_t end; /* position after the words, in UTF-16 units */
        struct ch_sv url;
    } of[MOST_LINKS];
    size_t n;
};

static void links_read(const struct ch_json *m, struct links *out) {
    const char *key = ch_json_get(m, "text") ? "entities" : "caption_entities";
    for (CH_JSON_EACH(e, ch_json_get(m, key))) {
        struct ch_sv url = ch_json_get_str(e, "url");
        int64_t from = ch_json_int(ch_json_get(e, "offset"), -1);
        int64_t n = ch_json_int(ch_json_get(e, "length"), 0);
        if (!ch_sv_is(ch_json_get_str(e, "type"), "text_link") || !url.n || out->n == MOST_LINKS ||
            from < 0 || n < 1 || from > INT32_MAX || n > INT32_MAX)
            continue;
        out->of[out->n].end = from + n;
        out->of[out->n++].url = url;
    }
}

static void links_add(const struct links *l, int64_t at, struct ch_buf *out) {
    for (size_t i = 0; i < l->n; i++)
        if (l->of[i].end == at)
            ch_buf_addf(out, " (%.*s)", CH_SV_FMT(l->of[i].url));
}

/* Append the text without the bytes of `hole`, and each URL after the words that it is behind. */
static void telegram_message_add_text(const struct ch_json *m, struct ch_sv text, struct ch_sv hole,
                                      struct ch_buf *out) {
    struct links links = {.n = 0};
    int64_t units = 0;
    links_read(m, &links);
    for (size_t i = 0; i < text.n;) {
        uint32_t cp = 0;
        unsigned n = ch_utf8_next(ch_sv(text.p + i, text.n - i), &cp);
        n = n ? n : 1;
        if (text.p + i < hole.p || text.p + i >= hole.p + hole.n)
            ch_buf_add(out, text.p + i, n);
        i += n;
        units += cp > 0xffff ? 2 : 1;
        links_add(&links, units, out);
    }
}

/* --- words for what is no text */

static void telegram_message_add_place(const struct ch_json *m, struct ch_buf *out) {
    const struct ch_json *at = ch_json_get(m, "location"), *venue = ch_json_get(m, "venue");
    const struct ch_json *x = ch_json_get(at, "latitude"), *y = ch_json_get(at, "longitude");
    struct ch_sv title = ch_json_get_str(venue, "title"), road = ch_json_get_str(venue, "address");
    struct ch_jw w = ch_jw(out);
    if (title.n)
        ch_buf_addf(out, "%.*s, %.*s; ", CH_SV_FMT(title), CH_SV_FMT(road));
    if (!ch_json_is(x, CH_JSON_NUMBER) || !ch_json_is(y, CH_JSON_NUMBER))
        return;
    ch_jw_value(&w, x);
    ch_buf_add_str(out, ", ");
    w = ch_jw(out);
    ch_jw_value(&w, y);
}

/* A position, a person with a telephone number, the question and the choices of a poll. */
static void telegram_message_add_content(const struct ch_json *m, const struct kind *k,
                                         struct ch_buf *out) {
    const struct ch_json *v = ch_json_get(m, k->key);
    struct ch_sv first = ch_json_get_str(v, "first_name"), last = ch_json_get_str(v, "last_name");
    if (strcmp(k->key, "location") == 0)
        telegram_message_add_place(m, out);
    else if (strcmp(k->key, "contact") == 0)
        ch_buf_addf(out, "%.*s%s%.*s, %.*s", CH_SV_FMT(first), last.n ? " " : "", CH_SV_FMT(last),
                    CH_SV_FMT(ch_json_get_str(v, "phone_number")));
    else if (strcmp(k->key, "poll") == 0)
        ch_buf_add_sv(out, ch_json_get_str(v, "question"));
    if (strcmp(k->key, "poll") == 0)
        for (CH_JSON_EACH(choice, ch_json_get(v, "options")))
            ch_buf_addf(out, " / %.*s", CH_SV_FMT(ch_json_get_str(choice, "text")));
}

/* --- words of somebody else */

/* "[forwarded from Ann] ", "[via @bot] ": the sender passed the text on, or let a bot write it.
 * Such a text begins with no command and mentions nobody. "": the sender's own words. */
static const char *telegram_message_origin(const struct ch_json *m, struct ch_arena *a) {
    const struct ch_json *from = ch_json_get(m, "forward_origin"), *bot = ch_json_get(m, "via_bot");
    struct ch_sv who = ch_json_get_str(ch_json_get(from, "sender_user"), "first_name");
    who = who.n ? who : ch_json_get_str(from, "sender_user_name");
    who = who.n ? who : ch_json_get_str(ch_json_get(from, "sender_chat"), "title");
    who = who.n ? who : ch_json_get_str(ch_json_get(from, "chat"), "title");
    if (from || ch_json_get(m, "forward_date") || ch_json_get(m, "is_automatic_forward"))
        return ch_arena_printf(a, "[forwarded%s%.*s] ", who.n ? " from " : "", CH_SV_FMT(who));
    who = ch_json_get_str(bot, "username");
    return bot ? ch_arena_printf(a, "[via @%.*s] ", CH_SV_FMT(who)) : "";
}

/* "[file: report.pdf] caption", without the bot's name. */
static const char *telegram_message_words(const struct ch_json *m, const char *name,
                                          struct ch_arena *a) {
    struct ch_sv text = telegram_message_text_of(m);
    const struct kind *k = telegram_message_kind_of(m);
    struct ch_telegram_file file = {0};
    CH_BUF_AUTO out = {0}, content = {0};
    ch_buf_add_str(&out, telegram_message_origin(m, a));
    if (k) {
        telegram_message_read_file(m, k, a, &file);
        ch_buf_add_sv(&content, file.name);
        telegram_message_add_content(m, k, &content);
        ch_buf_addf(&out, "[%s%s%s] ", k->what, content.n ? ": " : "", ch_buf_str(&content));
    }
    const char *at = name ? find_name(text, name) : NULL;
    struct ch_sv hole = at ? ch_sv(at, 1 + strlen(name)) : ch_sv(text.p, 0);
    telegram_message_add_text(m, text, hole, &out);
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
    bool own = !*telegram_message_origin(m, a);
    *out = (struct ch_telegram_message){.id = ch_telegram_id(m, "message_id", a),
                                        .ts = ch_json_int(ch_json_get(m, "date"), 0) * 1000,
                                        .name = telegram_message_word(from, "first_name", a),
                                        .title = telegram_message_word(chat, "title", a),
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
                 : out->answers_us || (own && find_name(telegram_message_text_of(m), name))
                     ? CH_MEANT
                     : CH_NOT_MEANT};
    if (!out->id || !out->who.chat)
        return ch_fail(err, CHELA_EPARSE, "the message has no id, or no chat");
    out->text = telegram_message_words(m, name, a);
    if (k)
        telegram_message_read_file(m, k, a, &out->file);
    return 0;
}
