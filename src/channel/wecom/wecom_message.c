/* wecom_message.c -- messages of people.
 *
 * The chat of a direct message is the sender: such a message names no chat. */
#include "channel/wecom/wecom_message.h"

#define FILES 16

const char *ch_wecom_chat(const struct ch_json *v, struct ch_arena *a) {
    const char *chat = ch_kit_word(v, "chatid", a);
    bool group = ch_sv_is(ch_json_get_str(v, "chattype"), "group");
    const char *person = ch_kit_word(ch_json_get(v, "from"), "userid", a);
    return group ? chat : person ? person : chat;
}

static void message_add(struct ch_buf *text, struct ch_sv more) {
    more = ch_sv_trim(more);
    if (more.n && text->n)
        ch_buf_addc(text, '\n');
    ch_buf_add_sv(text, more);
}

static void message_file(const struct ch_json *v, struct ch_arena *a,
                         struct chela_channel_file *files, size_t *n) {
    const char *url = ch_kit_word(v, "url", a), *key = ch_kit_word(v, "aeskey", a);
    if (url && *n < FILES)
        files[(*n)++] =
            (struct chela_channel_file){.handle = ch_arena_printf(a, "%s %s", key ? key : "-", url),
                                        .name = ch_kit_word(v, "filename", a)};
}

/* One content object: {msgtype, text|image|voice|file|video}. */
static void message_content(const struct ch_json *v, struct ch_arena *a, struct ch_buf *text,
                            struct chela_channel_file *files, size_t *n) {
    static const char *const kinds[] = {"image", "file", "video"};
    message_add(text, ch_json_get_str(ch_json_get(v, "text"), "content"));
    message_add(text, ch_json_get_str(ch_json_get(v, "voice"), "content"));
    for (size_t i = 0; i < CH_LEN(kinds); i++)
        message_file(ch_json_get(v, kinds[i]), a, files, n);
}

static void message_contents(const struct ch_json *v, struct ch_arena *a, struct ch_buf *text,
                             struct chela_channel_file *files, size_t *n) {
    message_content(v, a, text, files, n);
    for (CH_JSON_EACH(item, ch_json_path(v, "mixed", "msg_item", NULL)))
        message_content(item, a, text, files, n);
}

/* In a group the text begins with "@NAME", the name of the bot. */
static struct ch_sv message_unmention(struct ch_sv text) {
    if (!text.n || text.p[0] != '@')
        return text;
    size_t n = 1;
    while (n < text.n && text.p[n] != ' ' && text.p[n] != '\n' &&
           !(n + 2 < text.n && memcmp(text.p + n, "\xe2\x80\x85", 3) == 0))
        n++;
    if (n == text.n)
        return ch_sv("", 0);
    n += text.p[n] == ' ' || text.p[n] == '\n' ? 1 : 3;
    return ch_sv_trim(ch_sv(text.p + n, text.n - n));
}

/* A quote has neither id nor author. */
static const struct chela_beside *message_quote(const struct ch_json *quote, struct ch_arena *a) {
    struct chela_channel_file files[FILES];
    size_t n = 0;
    CH_BUF_AUTO text = {0};
    if (!quote)
        return NULL;
    message_contents(quote, a, &text, files, &n);
    struct chela_beside *q = CH_ARENA_NEW(a, struct chela_beside);
    q->text = text.n ? ch_arena_str(a, ch_buf_sv(&text)) : "[a message without text]";
    return q;
}

bool ch_wecom_read(const struct ch_json *v, struct ch_arena *a, struct chela_channel_message *out) {
    struct chela_channel_file *files = ch_arena_zalloc(a, FILES * sizeof(*files));
    const char *id = ch_kit_word(v, "msgid", a), *chat = ch_wecom_chat(v, a);
    const char *sender = ch_kit_word(ch_json_get(v, "from"), "userid", a);
    bool direct = !ch_sv_is(ch_json_get_str(v, "chattype"), "group");
    CH_BUF_AUTO text = {0};
    size_t n = 0;
    if (!id || !chat || !sender || ch_sv_is(ch_json_get_str(v, "msgtype"), "event"))
        return false;
    message_contents(v, a, &text, files, &n);
    struct ch_sv said = direct ? ch_buf_sv(&text) : message_unmention(ch_buf_sv(&text));
    *out =
        (struct chela_channel_message){.id = id,
                                       .chat = chat,
                                       .sender = sender,
                                       .direct = direct,
                                       .mentioned = 1,
                                       .text = ch_arena_str(a, said),
                                       .ts = 1000 * ch_json_int(ch_json_get(v, "create_time"), 0),
                                       .quoted = message_quote(ch_json_get(v, "quote"), a),
                                       .files = files,
                                       .nfiles = n};
    return true;
}

struct ch_wecom_file ch_wecom_file(const char *handle) {
    struct ch_sv rest = ch_sv_str(handle), key = ch_sv_split(&rest, ' ');
    return (struct ch_wecom_file){key, rest};
}

void ch_wecom_exact(struct ch_buf *out, struct ch_sv text) {
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        longest = CH_MAX(longest, run);
    }
    for (size_t i = 0; i <= longest; i++)
        ch_buf_addc(out, '`');
    ch_buf_addf(out, "\n%.*s\n", CH_SV_FMT(text));
    for (size_t i = 0; i <= longest; i++)
        ch_buf_addc(out, '`');
}
