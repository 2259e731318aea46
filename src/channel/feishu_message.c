/* feishu_message.c -- parses messages to text for a model.
 *
 * The content of a message is JSON in a string whose form depends on the message type.
 * Texts and posts are converted completely; images, files and similar types become a
 * one-line description. Mentions are placeholders (@_user_1) that a list resolves; the
 * names in the list are untrusted. */
#include "channel/feishu_message.h"

#include "base/error.h"
#include "base/limits.h"
#include "channel/feishu.h"

/* --- mentions */

static struct ch_sv mention_id(const struct ch_json *mention) {
    return ch_json_get_str(ch_json_get(mention, "id"), "open_id");
}

/* Matches "@_user_1" at the start of text, but not "@_user_10". */
static const struct ch_json *find_mention(const struct ch_json *mentions, struct ch_sv text,
                                          size_t *n) {
    const struct ch_json *found = NULL;
    *n = 0;
    for (CH_JSON_EACH(one, mentions)) {
        struct ch_sv key = ch_json_get_str(one, "key");
        if (key.n > *n && key.n <= text.n && memcmp(text.p, key.p, key.n) == 0) {
            found = one;
            *n = key.n;
        }
    }
    return found;
}

static bool is_bot(const char *bot, struct ch_sv id) {
    return bot && ch_sv_is(id, bot);
}

static void add_mentioned(struct ch_buf *out, const struct ch_json *mentions, const char *bot,
                          struct ch_sv text) {
    while (text.n) {
        size_t n = 0;
        const struct ch_json *who =
            text.p[0] == '@' ? find_mention(mentions, text, &n) : NULL;
        if (!who) {
            ch_buf_addc(out, text.p[0]);
            n = 1;
        } else if (!is_bot(bot, mention_id(who))) {
            ch_buf_addc(out, '@');
            ch_buf_add_sv(out, ch_json_get_str(who, "name"));
        }
        text = ch_sv(text.p + n, text.n - n);
    }
}

/* --- posts: paragraphs of marked pieces */

struct post {
    struct ch_buf *out;
    const struct ch_json *mentions;
    const char *bot;
};

static void add_at(const struct post *p, const struct ch_json *piece) {
    struct ch_sv id = ch_json_get_str(piece, "user_id");
    size_t n;
    const struct ch_json *who = id.p ? find_mention(p->mentions, id, &n) : NULL;
    if (is_bot(p->bot, id) || (who && is_bot(p->bot, mention_id(who))))
        return;
    struct ch_sv name = ch_json_get_str(piece, "user_name");
    ch_buf_addc(p->out, '@');
    ch_buf_add_sv(p->out, name.n ? name : who ? ch_json_get_str(who, "name") : id);
}

static void feishu_message_add_piece(const struct post *p, const struct ch_json *piece) {
    struct ch_sv tag = ch_json_get_str(piece, "tag"), text = ch_json_get_str(piece, "text");
    if (ch_sv_is(tag, "at"))
        add_at(p, piece);
    else if (ch_sv_is(tag, "a"))
        ch_buf_addf(p->out, "[%.*s](%.*s)", CH_SV_FMT(text),
                    CH_SV_FMT(ch_json_get_str(piece, "href")));
    else if (ch_sv_is(tag, "code_block"))
        ch_buf_addf(p->out, "```%.*s\n%.*s\n```", CH_SV_FMT(ch_json_get_str(piece, "language")),
                    CH_SV_FMT(text));
    else if (ch_sv_is(tag, "img"))
        ch_buf_addf(p->out, "[picture]");
    else if (ch_sv_is(tag, "media"))
        ch_buf_addf(p->out, "[video]");
    else if (ch_sv_is(tag, "hr"))
        ch_buf_addf(p->out, "---");
    else if (ch_sv_is(tag, "emotion"))
        ch_buf_addf(p->out, "[%.*s]", CH_SV_FMT(ch_json_get_str(piece, "emoji_type")));
    else
        add_mentioned(p->out, p->mentions, p->bot, text);
}

/* Some posts have a version per language; the first is used. */
static const struct ch_json *one_language(const struct ch_json *content) {
    if (ch_json_get(content, "content"))
        return content;
    for (CH_JSON_MEMBERS(name, value, content))
        if (ch_json_get(value, "content"))
            return value;
    return content;
}

static void add_post(const struct post *p, const struct ch_json *content) {
    const struct ch_json *post = one_language(content);
    struct ch_sv title = ch_json_get_str(post, "title");
    if (title.n)
        ch_buf_addf(p->out, "%.*s\n", CH_SV_FMT(title));
    for (CH_JSON_EACH(paragraph, ch_json_get(post, "content"))) {
        for (CH_JSON_EACH(piece, paragraph))
            feishu_message_add_piece(p, piece);
        ch_buf_addc(p->out, '\n');
    }
}

/* --- other types: a one-line description */

static void add_named(struct ch_buf *out, const char *what, struct ch_sv name) {
    if (name.n)
        ch_buf_addf(out, "[%s: %.*s]", what, CH_SV_FMT(name));
    else
        ch_buf_addf(out, "[%s]", what);
}

static void add_place(struct ch_buf *out, const struct ch_json *content) {
    struct ch_sv name = ch_json_get_str(content, "name"), x = ch_json_get_str(content, "latitude");
    struct ch_sv y = ch_json_get_str(content, "longitude");
    CH_BUF_AUTO place = {0};
    ch_buf_add_sv(&place, name);
    if (x.n && y.n)
        ch_buf_addf(&place, "%s%.*s, %.*s", name.n ? "; " : "", CH_SV_FMT(x), CH_SV_FMT(y));
    add_named(out, "location", ch_buf_sv(&place));
}

static void add_other(struct ch_buf *out, struct ch_sv type, const struct ch_json *content) {
    static const struct {
        const char *type, *what, *name;
    } kinds[] = {
        {"image", "picture", NULL},         {"file", "file", "file_name"},
        {"audio", "voice message", "speech_to_text"},
        {"media", "video", "file_name"},    {"sticker", "sticker", NULL},
        {"share_chat", "a group's card", "chat_id"},
        {"share_user", "a person's card", "user_id"},
        {"merge_forward", "forwarded messages", NULL},
        {"interactive", "a card", "title"},
    };
    if (ch_sv_is(type, "location")) {
        add_place(out, content);
        return;
    }
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        if (ch_sv_is(type, kinds[i].type)) {
            add_named(out, kinds[i].what,
                      kinds[i].name ? ch_json_get_str(content, kinds[i].name) : ch_sv("", 0));
            return;
        }
    add_named(out, "message of another kind", type);
}

/* --- the message */

static const char *feishu_message_opt(struct ch_arena *a, const struct ch_json *v,
                                      const char *key) {
    struct ch_sv text = ch_json_get_str(v, key);
    return text.n && !memchr(text.p, 0, text.n) ? ch_arena_str(a, text) : NULL;
}

/* Ids are checked, because they become parts of keys and paths. */
static const char *id(struct ch_arena *a, const struct ch_json *v, const char *key) {
    const char *text = feishu_message_opt(a, v, key);
    size_t n = 0;
    for (; text && text[n]; n++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=.", text[n]))
            return NULL;
    return n <= CH_LIMIT_CHANNEL_ID ? text : NULL;
}

static int64_t feishu_message_number(struct ch_sv digits) {
    int64_t n = 0;
    for (size_t i = 0; i < digits.n && i < 18; i++)
        n = digits.p[i] >= '0' && digits.p[i] <= '9' ? 10 * n + (digits.p[i] - '0') : n;
    return n;
}

static void read_sender(const struct ch_json *sender, struct ch_arena *a,
                        struct ch_feishu_message *m) {
    const struct ch_json *ids = ch_json_get(sender, "sender_id");
    m->open_id = id(a, ids, "open_id");
    m->union_id = id(a, ids, "union_id");
    m->user_id = id(a, ids, "user_id");
    m->from_person = ch_sv_is(ch_json_get_str(sender, "sender_type"), "user");
}

static void feishu_message_add_file(struct ch_feishu_message *m, const struct ch_json *v,
                                    const char *key, bool picture, struct ch_arena *a) {
    const char *file = id(a, v, key);
    if (file && m->nfiles < CH_LIMIT_MESSAGE_FILES)
        m->files[m->nfiles++] = (struct ch_feishu_file){
            file, ch_arena_sv(a, ch_json_get_str(v, "file_name")), picture};
}

/* Stickers and contents of forwarded messages cannot be downloaded. */
static void find_files(struct ch_feishu_message *m, struct ch_sv type,
                       const struct ch_json *content, struct ch_arena *a) {
    if (ch_sv_is(type, "image"))
        feishu_message_add_file(m, content, "image_key", true, a);
    else if (ch_sv_is(type, "file") || ch_sv_is(type, "audio") || ch_sv_is(type, "media"))
        feishu_message_add_file(m, content, "file_key", false, a);
}

static void add_mention(struct ch_feishu_message *m, struct ch_sv open_id, struct ch_arena *a) {
    struct ch_feishu_mention *one = CH_ARENA_NEW(a, struct ch_feishu_mention);
    *one = (struct ch_feishu_mention){ch_arena_sv(a, open_id), m->mentions};
    m->mentions = one;
}

/* Collect the files and mentions of a post. */
static void search_post(struct ch_feishu_message *m, const struct ch_json *content,
                        struct ch_arena *a) {
    for (CH_JSON_EACH(paragraph, ch_json_get(one_language(content), "content")))
        for (CH_JSON_EACH(piece, paragraph)) {
            struct ch_sv tag = ch_json_get_str(piece, "tag");
            if (ch_sv_is(tag, "img"))
                feishu_message_add_file(m, piece, "image_key", true, a);
            else if (ch_sv_is(tag, "media"))
                feishu_message_add_file(m, piece, "file_key", false, a);
            else if (ch_sv_is(tag, "at"))
                add_mention(m, ch_json_get_str(piece, "user_id"), a);
        }
}

static int feishu_message_say(struct ch_sv type, const struct ch_json *content,
                              const struct ch_json *mentions, const char *bot, struct ch_arena *a,
                              struct ch_sv *text, struct chela_error *err) {
    CH_BUF_AUTO out = {0};
    struct post post = {&out, mentions, bot};
    if (ch_sv_is(type, "text"))
        add_mentioned(&out, mentions, bot, ch_json_get_str(content, "text"));
    else if (ch_sv_is(type, "post"))
        add_post(&post, content);
    else
        add_other(&out, type, content);
    if (out.overflow || out.n > CH_LIMIT_INPUT)
        return ch_fail(err, CHELA_ELIMIT, "the message is too long");
    *text = ch_arena_sv(a, ch_sv_trim(ch_buf_sv(&out)));
    return 0;
}

int ch_feishu_words(struct ch_sv type, struct ch_sv text, const struct ch_json *mentions,
                    struct ch_arena *a, struct ch_sv *out) {
    const struct ch_json *content;
    int rc = ch_json_parse(a, ch_arena_sv(a, text.p ? text : ch_sv("", 0)), CH_JSON_REPLACE,
                           &content, NULL, NULL);
    return rc < 0 ? rc : feishu_message_say(type, content, mentions, NULL, a, out, NULL);
}

static int feishu_message_read_content(const struct ch_json *message, const char *bot,
                                       struct ch_arena *a, struct ch_feishu_message *m,
                                       struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(message, "message_type");
    const struct ch_json *content, *mentions = ch_json_get(message, "mentions");
    CH_ARENA_AUTO scratch = {0};
    int rc = ch_json_parse(&scratch, ch_json_get_str(message, "content"), CH_JSON_REPLACE,
                           &content, NULL, err);
    if (rc == 0)
        rc = feishu_message_say(type, content, mentions, bot, a, &m->text, err);
    if (rc < 0)
        return rc;
    find_files(m, type, content, a);
    if (ch_sv_is(type, "post"))
        search_post(m, content, a);
    for (CH_JSON_EACH(one, mentions))
        add_mention(m, mention_id(one), a);
    return 0;
}

int ch_feishu_read(const struct ch_json *event, const char *bot, struct ch_arena *a,
                   struct ch_feishu_message *m, struct chela_error *err) {
    const struct ch_json *message = ch_json_get(event, "message");
    *m = (struct ch_feishu_message){
        .id = id(a, message, "message_id"),
        .chat = id(a, message, "chat_id"),
        .thread = id(a, message, "thread_id"),
        .parent = id(a, message, "parent_id"),
        .ts = feishu_message_number(ch_json_get_str(message, "create_time"))};
    struct ch_sv chat_type = ch_json_get_str(message, "chat_type");
    if (!m->id || !m->chat)
        return ch_fail(err, CHELA_EPARSE, "the message has no id, or no chat");
    m->direct = ch_sv_is(chat_type, "p2p");
    if (!m->thread && ch_sv_is(chat_type, "topic_group"))
        m->thread = id(a, message, "root_id");
    read_sender(ch_json_get(event, "sender"), a, m);
    return feishu_message_read_content(message, bot, a, m, err);
}

static bool feishu_message_mentions(const struct ch_feishu_message *m, const char *open_id) {
    const struct ch_feishu_mention *one = m->mentions;
    while (one && !ch_sv_is(one->open_id, open_id))
        one = one->next;
    return one;
}

struct ch_author ch_feishu_author(const struct ch_feishu_message *m, const char *bot) {
    return (struct ch_author){
        .id = m->open_id,
        .others = {m->union_id, m->user_id},
        .chat = m->chat,
        .thread = m->thread,
        .direct = m->direct,
        .person = m->from_person && !(bot && m->open_id && strcmp(bot, m->open_id) == 0),
        .meant = !bot                         ? CH_PERHAPS_MEANT
                 : feishu_message_mentions(m, bot) ? CH_MEANT
                                              : CH_NOT_MEANT};
}
