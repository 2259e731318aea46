/* envelope.c -- see envelope.h. */
#include "prompt/envelope.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/utf8.h"
#include "json/writer.h"

/* --- breaking up marks ---------------------------------------------------------------- */

/* The beginnings of marks, without characters that are skipped in a text. */
static const struct {
    char open;
    const char *letters;
} marks[] = {
    {'<', "trustedmetadata"},
    {'<', "untrustedcontext"},
    {'<', "runtimenote"},
    {'<', "projectfile"},
    {'<', "skillfile"},
    {'[', "messageid"},
};

/* True for invisible characters and direction marks. */
static bool envelope_is_hidden(uint32_t c) {
    return c == 0xad || c == 0x34f || c == 0x61c || c == 0x180e || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) || c == 0xfeff ||
           (c >= 0xe0000 && c <= 0xe007f);
}

static bool is_skipped(uint32_t c) {
    return c <= ' ' || c == '/' || c == '_' || c == '-' || c == 0xa0 || c == 0x3000 ||
           (c >= 0x2000 && c <= 0x200a) || (c >= 0xfe00 && c <= 0xfe0f) || envelope_is_hidden(c);
}

/* The lower-case ASCII character that c looks like. */
static uint32_t folded(uint32_t c) {
    if (c >= 0xff01 && c <= 0xff5e)
        c -= 0xfee0;
    if (c == 0x3010 || c == 0x3014 || c == 0x3016 || c == 0x3018 || c == 0x301a || c == 0x27e6 ||
        c == 0x2772 || c == 0xfe47 || c == 0xfe5d)
        return '[';
    if (c == 0x2039 || c == 0x3008 || c == 0x300a || c == 0x27e8 || c == 0x276c || c == 0x276e ||
        c == 0x2770 || c == 0xfe64)
        return '<';
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* The next character, folded; an invalid UTF-8 byte stands for itself. */
static uint32_t envelope_next(struct ch_sv *s) {
    uint32_t c = 0;
    unsigned n = ch_utf8_next(*s, &c);
    if (!n)
        c = (unsigned char)s->p[0];
    s->p += n ? n : 1;
    s->n -= n ? n : 1;
    return folded(c);
}

static bool envelope_follows(struct ch_sv s, const char *letters) {
    while (*letters && s.n) {
        uint32_t c = envelope_next(&s);
        if (is_skipped(c))
            continue;
        if (c != (unsigned char)*letters)
            return false;
        letters++;
    }
    return !*letters;
}

static bool is_mark(uint32_t open, struct ch_sv rest) {
    for (size_t i = 0; i < CH_LEN(marks); i++)
        if ((unsigned char)marks[i].open == open && envelope_follows(rest, marks[i].letters))
            return true;
    return false;
}

void ch_envelope_quote(struct ch_sv text, struct ch_buf *out) {
    const char *from = text.p;
    while (text.n) {
        const char *at = text.p;
        uint32_t c = envelope_next(&text);
        if ((c != '<' && c != '[') || !is_mark(c, text))
            continue;
        ch_buf_add(out, from, (size_t)(at - from));
        ch_buf_add_str(out, c == '<' ? "&lt;" : "(");
        from = text.p;
    }
    ch_buf_add(out, from, (size_t)(text.p - from));
}

/* --- the line in the history ------------------------------------------------------------ */

/* One line without a colon, because the message text follows a colon. */
static void envelope_add_name(struct ch_sv name, struct ch_buf *out) {
    CH_BUF_AUTO line = {0};
    name = ch_utf8_cut(name, CH_LIMIT_INBOUND_NAME);
    while (name.n) {
        uint32_t c = 0;
        unsigned n = ch_utf8_next(name, &c);
        bool blank = !n || c < ' ' || c == 0x7f || c == ':' || c == 0xff1a || c == 0x2028 ||
                     c == 0x2029 || (c >= 0x80 && c <= 0x9f);
        if (blank)
            ch_buf_addc(&line, ' ');
        else if (!envelope_is_hidden(c) || c == 0x200d) /* joins emoji */
            ch_buf_add(&line, name.p, n);
        name = ch_sv(name.p + (n ? n : 1), name.n - (n ? n : 1));
    }
    ch_envelope_quote(ch_sv_trim(ch_buf_sv(&line)), out);
}

/* Ids are shortened and made plain. */
static void add_id(struct ch_sv id, struct ch_buf *out) {
    id = ch_sv(id.p, CH_MIN(id.n, CH_LIMIT_INBOUND_ID));
    for (size_t i = 0; i < id.n; i++) {
        unsigned char c = (unsigned char)id.p[i];
        bool odd = c <= ' ' || c >= 0x7f || strchr("[]<>", c);
        ch_buf_addc(out, odd ? '_' : (char)c);
    }
}

void ch_envelope_line(const struct chela_inbound *in, struct ch_sv text, struct ch_buf *out) {
    size_t start = out->n;
    if (in->message_id && *in->message_id) {
        ch_buf_add_str(out, "[message_id: ");
        add_id(ch_sv_str(in->message_id), out);
        ch_buf_add_str(out, "]");
    }
    CH_BUF_AUTO name = {0};
    envelope_add_name(ch_sv_str(in->sender), &name);
    if (name.n)
        ch_buf_addf(out, "%s%s:", out->n > start ? " " : "", ch_buf_str(&name));
    ch_buf_add_str(out, out->n > start ? " " : "");
    ch_envelope_quote(text, out);
}

/* --- the blocks --------------------------------------------------------------------------- */

static void add_id_member(struct ch_jw *w, const char *key, const char *id) {
    CH_BUF_AUTO plain = {0};
    if (!id || !*id)
        return;
    add_id(ch_sv_str(id), &plain);
    ch_jw_kstr(w, key, ch_buf_sv(&plain));
}

static void add_text_member(struct ch_jw *w, const char *key, const char *text, size_t max) {
    CH_BUF_AUTO quoted = {0};
    if (!text || !*text)
        return;
    ch_envelope_quote(ch_utf8_cut(ch_sv_str(text), max), &quoted);
    ch_jw_kstr(w, key, ch_buf_sv(&quoted));
}

static void add_trusted(const struct chela_inbound *in, const char *session, struct ch_jw *w) {
    size_t empty = w->out->n + 1;
    ch_jw_begin(w, '{');
    add_id_member(w, "channel", in->channel);
    add_id_member(w, "account", in->account);
    add_id_member(w, "chat_type", in->chat_type);
    add_id_member(w, "chat_id", in->chat_id);
    add_id_member(w, "thread_id", in->thread_id);
    add_id_member(w, "message_id", in->message_id);
    add_id_member(w, "sender_id", in->sender_id);
    add_id_member(w, "session", session);
    if (in->ts > 0)
        ch_jw_ktime(w, "time", in->ts);
    if (in->mentioned)
        ch_jw_kbool(w, "mentioned", true);
    if (w->out->n > empty)
        ch_jw_kcstr(w, "schema", CH_ENVELOPE_SCHEMA);
    ch_jw_end(w, '}');
}

static void add_beside(const struct chela_beside *b, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    add_id_member(w, "message_id", b->message_id);
    add_text_member(w, "sender", b->sender, CH_LIMIT_INBOUND_NAME);
    add_text_member(w, "text", b->text, CH_LIMIT_INBOUND_TEXT);
    ch_jw_end(w, '}');
}

static void add_said(const struct chela_said *s, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    if (s->ts > 0)
        ch_jw_ktime(w, "time", s->ts);
    add_id_member(w, "message_id", s->message_id);
    add_id_member(w, "sender_id", s->sender_id);
    add_text_member(w, "sender", s->sender, CH_LIMIT_INBOUND_NAME);
    add_text_member(w, "text", s->text, CH_LIMIT_SAID_TEXT);
    ch_jw_end(w, '}');
}

/* Index of the first line that fits. */
static size_t first_said(const struct chela_group *g) {
    size_t i = g->nsaid, left = CH_LIMIT_SAID_BYTES;
    while (i > 0 && g->nsaid - i < CH_LIMIT_SAID_LINES) {
        size_t n = g->said[i - 1].text ? strlen(g->said[i - 1].text) : 0;
        n = CH_MIN(n, CH_LIMIT_SAID_TEXT);
        if (n > left)
            break;
        left -= n;
        i--;
    }
    return i;
}

static void add_group(const struct chela_group *g, struct ch_jw *w) {
    add_text_member(w, "chat_topic", g->topic, CH_LIMIT_SAID_TEXT);
    if (g->member_count > 0)
        ch_jw_kint(w, "member_count", g->member_count);
    if (g->members && g->members[0])
        ch_jw_kbegin(w, "members", '[');
    for (size_t i = 0; g->members && g->members[i] && i < CH_LIMIT_GROUP_MEMBERS; i++) {
        CH_BUF_AUTO name = {0};
        ch_envelope_quote(ch_utf8_cut(ch_sv_str(g->members[i]), CH_LIMIT_INBOUND_NAME), &name);
        ch_jw_str(w, ch_buf_sv(&name));
    }
    if (g->members && g->members[0])
        ch_jw_end(w, ']');
    if (!g->said || !g->nsaid)
        return;
    ch_jw_kbegin(w, "said_before", '[');
    for (size_t i = first_said(g); i < g->nsaid; i++)
        add_said(&g->said[i], w);
    ch_jw_end(w, ']');
}

/* Index of the first earlier message that fits. */
static size_t first_shown(const struct chela_inbound *in) {
    size_t i = in->nrecent, left = CH_LIMIT_INBOUND_RECENT, most = CH_LIMIT_INBOUND_BLOCKS - 1;
    while (i > 0 && in->nrecent - i < most) {
        size_t n = in->recent[i - 1].text ? strlen(in->recent[i - 1].text) : 0;
        n = CH_MIN(n, CH_LIMIT_INBOUND_TEXT);
        if (n > left)
            break;
        left -= n;
        i--;
    }
    return i;
}

static void envelope_add_untrusted(const struct chela_inbound *in, struct ch_jw *w) {
    ch_jw_begin(w, '{');
    add_text_member(w, "sender", in->sender, CH_LIMIT_INBOUND_NAME);
    add_text_member(w, "chat", in->chat, CH_LIMIT_INBOUND_NAME);
    if (in->quoted) {
        ch_jw_key(w, "quoted");
        add_beside(in->quoted, w);
    }
    if (in->recent && in->nrecent) {
        ch_jw_kbegin(w, "recent", '[');
        for (size_t i = first_shown(in); i < in->nrecent; i++)
            add_beside(&in->recent[i], w);
        ch_jw_end(w, ']');
    }
    struct chela_group group;
    if (CH_OPTS_NEED(chela_group, &group, in->group, NULL) == 0)
        add_group(&group, w);
    ch_jw_end(w, '}');
}

static void envelope_add_block(const char *mark, struct ch_buf *json, struct ch_buf *out) {
    if (json->n > strlen("{}"))
        ch_buf_addf(out, "<%s>\n%s\n</%s>\n", mark, ch_buf_str(json), mark);
    ch_buf_clear(json);
}

void ch_envelope_blocks(const struct chela_inbound *in, const char *session, struct ch_buf *out) {
    CH_BUF_AUTO json = {0};
    struct ch_jw trusted = ch_jw(&json);
    add_trusted(in, session, &trusted);
    envelope_add_block("trusted_metadata", &json, out);
    struct ch_jw untrusted = ch_jw(&json);
    envelope_add_untrusted(in, &untrusted);
    envelope_add_block("untrusted_context", &json, out);
}
