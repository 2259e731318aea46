/* chat_view.c -- see chat_view.h. */
#include "agent/feature/heartbeat/chat_view.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "chela/heartbeat.h"
#include "json/json.h"
#include "prompt/envelope.h"

#define DAY_MIN (24 * 60)
#define NAME_BYTES 64
#define ID_BYTES 96
#define MEMBERS 128 /* number of speakers that a view can distinguish */
#define BY " by " /* between the ids of a line and of its sender */

/* --- lines */

void ch_chat_view_time(int64_t at, int utc_offset, struct ch_buf *out) {
    int64_t minute = (at / 60000 + utc_offset) % DAY_MIN;
    minute = minute < 0 ? minute + DAY_MIN : minute;
    ch_buf_addf(out, "%02d:%02d", (int)(minute / 60), (int)(minute % 60));
}

/* Adds a name or id without characters that have a meaning in a line. */
static void add_plain(struct ch_buf *out, struct ch_sv s, size_t most) {
    s = ch_utf8_cut(s, most);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool mark = c < 0x20 || c == 0x7f || c == '[' || c == ']' || c == ':';
        ch_buf_add(out, mark ? " " : s.p + i, 1);
    }
}

static void chat_view_add_text(struct ch_buf *out, struct ch_sv text) {
    CH_BUF_AUTO safe = {0};
    ch_envelope_quote(ch_utf8_cut(ch_sv_trim(text), CH_LIMIT_VIEW_LINE), &safe);
    for (size_t i = 0; i < safe.n; i++) {
        if (safe.p[i] == '\r')
            continue;
        ch_buf_add(out, safe.p + i, 1);
        if (safe.p[i] == '\n')
            ch_buf_add_str(out, "  ");
    }
    ch_buf_add_str(out, "\n");
}

void ch_chat_view_id(struct ch_sv id, struct ch_buf *out) {
    add_plain(out, id, ID_BYTES);
}

/* Adds a text, with characters escaped that could be taken for marks of the view. */
static void add_quoted(struct ch_buf *out, struct ch_sv text, size_t most) {
    CH_BUF_AUTO safe = {0};
    ch_envelope_quote(ch_utf8_cut(ch_sv_trim(text), most), &safe);
    add_plain(out, ch_buf_sv(&safe), safe.n);
}

static void add_answered(const struct ch_chat_line *l, struct ch_buf *out) {
    ch_buf_add_str(out, " answers ");
    ch_chat_view_id(l->quoted, out);
    if (l->quoted_name.n) {
        ch_buf_add_str(out, " of ");
        add_quoted(out, l->quoted_name, NAME_BYTES);
    }
    if (l->quoted_text.n) {
        ch_buf_add_str(out, ", \"");
        add_quoted(out, l->quoted_text, CH_LIMIT_VIEW_QUOTE);
        ch_buf_add_str(out, l->quoted_text.n > CH_LIMIT_VIEW_QUOTE ? "...\"" : "\"");
    }
}

static void add_sender(struct ch_sv sender, struct ch_buf *out) {
    ch_buf_add_str(out, BY);
    size_t from = out->n;
    add_plain(out, sender, ID_BYTES);
    for (char *p = out->p + from; p < out->p + out->n; p++)
        *p = *p == ' ' ? '_' : *p;
}

void ch_chat_view_line(const struct ch_chat_line *l, int utc_offset, struct ch_buf *out) {
    CH_BUF_AUTO who = {0};
    ch_envelope_quote(l->name, &who);
    ch_buf_add_str(out, "[");
    ch_chat_view_time(l->at, utc_offset, out);
    ch_buf_add_str(out, l->id.n ? " " : "");
    ch_chat_view_id(l->id, out);
    if (l->id.n && l->sender.n && !ch_sv_eq(l->sender, l->name))
        add_sender(l->sender, out);
    if (l->quoted.n)
        add_answered(l, out);
    ch_buf_add_str(out, "] ");
    add_plain(out, who.n ? ch_buf_sv(&who) : CH_SV("?"), NAME_BYTES);
    ch_buf_add_str(out, ": ");
    chat_view_add_text(out, l->text);
}

char *chela_heard_line(int64_t at, int utc_offset, const char *id, const char *name,
                       struct chela_str text) {
    struct ch_buf out = {0};
    struct ch_chat_line line = {
        .at = at, .id = ch_sv_str(id), .name = ch_sv_str(name), .text = ch_sv(text.p, text.n)};
    ch_chat_view_line(&line, utc_offset, &out);
    return ch_buf_take(&out);
}

bool ch_chat_view_part(struct ch_sv *rest, struct ch_sv *part) {
    size_t n = strlen(CH_SEPARATOR);
    while (rest->n) {
        const char *cut = memmem(rest->p, rest->n, CH_SEPARATOR, n);
        *part = ch_sv_trim(ch_sv(rest->p, cut ? (size_t)(cut - rest->p) : rest->n));
        *rest = cut ? ch_sv(cut + n, (size_t)(rest->p + rest->n - cut) - n) : ch_sv(NULL, 0);
        if (part->n)
            return true;
    }
    return false;
}

/* --- lines of a message */

static bool chat_view_is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* True: s has the form of a line of ch_chat_view_line. */
static bool is_line(struct ch_sv s) {
    return s.n > 8 && s.p[0] == '[' && chat_view_is_digit(s.p[1]) && chat_view_is_digit(s.p[2]) &&
           s.p[3] == ':' && chat_view_is_digit(s.p[4]) && chat_view_is_digit(s.p[5]) &&
           (s.p[6] == ' ' || s.p[6] == ']') && memmem(s.p, s.n, "] ", 2);
}

/* Takes the first line, with its indented continuation lines, from *rest. */
static struct ch_sv next_line(struct ch_sv *rest) {
    const char *end = rest->p + rest->n, *p = rest->p;
    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        if (end - p < 2 || p[0] != ' ' || p[1] != ' ')
            break;
    }
    struct ch_sv line = ch_sv(rest->p, p ? (size_t)(p - rest->p) : rest->n);
    *rest = ch_sv(line.p + line.n, rest->n - line.n);
    return line;
}

static struct ch_sv chat_view_name_of(struct ch_sv line) {
    const char *from = memmem(line.p, line.n, "] ", 2);
    struct ch_sv rest = from ? ch_sv(from + 2, (size_t)(line.p + line.n - from) - 2) : line;
    return ch_sv_split(&rest, ':');
}

static struct ch_sv chat_view_id_of(struct ch_sv line) {
    struct ch_sv id = ch_sv(line.p + 7, 0); /* behind "[10:02 " */
    while (id.p + id.n < line.p + line.n && !strchr(" ]", id.p[id.n]))
        id.n++;
    return id;
}

/* The sender's id; empty: the line has none. */
static struct ch_sv chat_view_sender_of(struct ch_sv line) {
    struct ch_sv id = chat_view_id_of(line);
    struct ch_sv rest = ch_sv(id.p + id.n, line.n - (size_t)(id.p + id.n - line.p));
    if (!ch_sv_starts(rest, BY))
        return CH_SV("");
    rest = ch_sv(rest.p + strlen(BY), rest.n - strlen(BY));
    size_t n = 0;
    while (n < rest.n && rest.p[n] != ' ' && rest.p[n] != ']')
        n++;
    return ch_sv(rest.p, n);
}

struct member { /* one who spoke */
    struct ch_sv name, id; /* in lines of the transcript, or in the arena */
};

struct making {
    struct ch_chat_view *v;
    struct ch_arena arena;
    struct member members[MEMBERS];
    size_t nmembers;
    size_t skip; /* lines at the beginning that are not shown */
    bool fresh;
};

static void add_member(struct making *m, struct ch_sv name, struct ch_sv id) {
    for (size_t i = 0; i < m->nmembers; i++)
        if (ch_sv_eq(m->members[i].name, name) && ch_sv_eq(m->members[i].id, id))
            return;
    if (m->nmembers < MEMBERS)
        m->members[m->nmembers++] =
            (struct member){ch_arena_sv(&m->arena, name), ch_arena_sv(&m->arena, id)};
}

/* True: the name alone does not say who it is. A name with a parenthesis may imitate a name
 * with an id. */
static bool is_ambiguous(const struct making *m, struct ch_sv name) {
    size_t n = 0;
    for (size_t i = 0; i < m->nmembers; i++)
        n += ch_sv_eq(m->members[i].name, name);
    return n != 1 || memchr(name.p, '(', name.n);
}

static void list_members(const struct making *m, struct ch_buf *out) {
    for (size_t i = 0; i < m->nmembers && out->n < CH_LIMIT_VIEW_MEMBERS; i++) {
        const struct member *one = &m->members[i];
        ch_buf_addf(out, "%s%.*s", out->n ? ", " : "", CH_SV_FMT(one->name));
        if (one->id.n)
            ch_buf_addf(out, " (%.*s)", CH_SV_FMT(one->id));
    }
}

/* Takes the senders' ids out of the brackets, and puts those that are needed beside names. */
static void show_senders(const struct making *m, struct ch_buf *lines) {
    struct ch_buf out = {0};
    struct ch_sv rest = ch_buf_sv(lines);
    while (rest.n) {
        struct ch_sv line = next_line(&rest);
        struct ch_sv id = is_line(line) && line.p[6] == ' ' ? chat_view_sender_of(line) : CH_SV("");
        if (!id.n) {
            ch_buf_add_sv(&out, line);
            continue;
        }
        struct ch_sv name = chat_view_name_of(line);
        const char *after = id.p + id.n, *text = name.p + name.n;
        ch_buf_add(&out, line.p, (size_t)(id.p - line.p) - strlen(BY));
        ch_buf_add(&out, after, (size_t)(text - after));
        if (is_ambiguous(m, name))
            ch_buf_addf(&out, " (%.*s)", CH_SV_FMT(id));
        ch_buf_add(&out, text, (size_t)(line.p + line.n - text));
    }
    ch_buf_release(lines);
    *lines = out;
}

/* Adds a line to the view. m NULL: only counts. */
static size_t take_line(struct making *m, struct ch_sv line, bool own) {
    if (!m)
        return 1;
    if (m->skip) {
        m->skip--;
        return 1;
    }
    struct ch_buf *out = m->fresh ? &m->v->fresh : &m->v->seen;
    ch_buf_add_sv(out, line);
    if (line.n && line.p[line.n - 1] != '\n')
        ch_buf_add_str(out, "\n");
    if (!own)
        add_member(m, chat_view_name_of(line),
                   is_line(line) && line.p[6] == ' ' ? chat_view_sender_of(line) : CH_SV(""));
    return 1;
}

static size_t take_heard(struct making *m, const struct ch_msg *msg, int utc_offset) {
    size_t n = 0;
    for (uint32_t i = 0; i < msg->nblocks; i++) {
        struct ch_sv rest = msg->blocks[i].text;
        if (msg->blocks[i].type != CH_BLOCK_TEXT || !rest.n)
            continue;
        if (is_line(rest)) {
            while (rest.n)
                n += take_line(m, next_line(&rest), false);
        } else { /* a direct chat: the text has no line format */
            CH_BUF_AUTO line = {0};
            ch_chat_view_line(
                &(struct ch_chat_line){.at = msg->ts, .name = CH_SV("user"), .text = rest},
                utc_offset, &line);
            n += take_line(m, ch_buf_sv(&line), false);
        }
    }
    return n;
}

static const struct ch_block *result_of(const struct ch_msg *results, struct ch_sv id) {
    for (uint32_t i = 0; results && i < results->nblocks; i++)
        if (results->blocks[i].type == CH_BLOCK_TOOL_RESULT && ch_sv_eq(results->blocks[i].id, id))
            return &results->blocks[i];
    return NULL;
}

static bool was_done(const struct ch_msg *results, struct ch_sv id) {
    const struct ch_block *r = result_of(results, id);
    return r && !ch_result_failed(r);
}

/* Adds the lines that the companion said and that were delivered. */
static size_t take_said(struct making *m, const struct ch_msg *msg, const struct ch_msg *results,
                        const struct ch_chat_view_opts *o) {
    size_t n = 0;
    for (uint32_t i = 0; i < msg->nblocks; i++) {
        CH_ARENA_AUTO arena = {0};
        const struct ch_block *b = &msg->blocks[i];
        const struct ch_json *v;
        if (b->type != CH_BLOCK_TOOL_CALL || !ch_sv_is(b->name, CH_SEND_ACTION))
            continue;
        if (!was_done(results, b->id) ||
            ch_json_parse(&arena, b->text, CH_JSON_REPLACE, &v, NULL, NULL) < 0)
            continue;
        struct ch_sv rest = ch_json_get_str(v, "content"), part;
        while (ch_chat_view_part(&rest, &part)) {
            CH_BUF_AUTO line = {0};
            ch_chat_view_line(
                &(struct ch_chat_line){
                    .at = msg->ts, .id = CH_SV("you"), .name = ch_sv_str(o->name), .text = part},
                o->utc_offset, &line);
            n += take_line(m, ch_buf_sv(&line), true);
        }
    }
    return n;
}

/* The results of the calls of message i. */
static const struct ch_msg *next_results(const struct ch_transcript *t, size_t i) {
    const struct ch_msg *next = i + 1 < t->n ? t->msgs[i + 1] : NULL;
    return next && next->kind == CH_MSG_RESULTS ? next : NULL;
}

static size_t take_message(struct making *m, const struct ch_chat_view_opts *o, size_t i) {
    const struct ch_transcript *t = o->transcript;
    const struct ch_msg *msg = t->msgs[i];
    if (msg->kind == CH_MSG_USER)
        return take_heard(m, msg, o->utc_offset);
    if (msg->kind == CH_MSG_ASSISTANT)
        return take_said(m, msg, next_results(t, i), o);
    return 0;
}

unsigned ch_chat_view_said(const struct ch_transcript *t) {
    const struct ch_chat_view_opts o = {.transcript = t, .name = ""};
    size_t lines = 0;
    for (size_t i = t->n; i > 0 && t->msgs[i - 1]->kind != CH_MSG_USER; i--)
        lines += take_message(NULL, &o, i - 1);
    return (unsigned)lines;
}

static void add_thoughts(const struct ch_msg *m, struct ch_buf *out) {
    for (uint32_t i = 0; m->kind == CH_MSG_ASSISTANT && i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TEXT)
            ch_buf_addf(out, "%s%.*s", out->n ? " " : "", CH_SV_FMT(m->blocks[i].text));
}

void ch_chat_view_thoughts(const struct ch_transcript *t, struct ch_buf *out) {
    CH_BUF_AUTO all = {0};
    size_t i = t->n;
    while (i > 0 && t->msgs[i - 1]->kind != CH_MSG_USER)
        i--;
    while (i < t->n && all.n < CH_LIMIT_LOG_THOUGHTS)
        add_thoughts(t->msgs[i++], &all);
    struct ch_sv cut = ch_utf8_cut(ch_sv_trim(ch_buf_sv(&all)), CH_LIMIT_LOG_THOUGHTS);
    for (size_t k = 0; k < cut.n; k++) {
        unsigned char c = (unsigned char)cut.p[k];
        ch_buf_add(out, c < 0x20 || c == 0x7f ? " " : cut.p + k, 1);
    }
}

static void tell_ids(struct ch_sv text, size_t *skip, void (*fn)(struct ch_sv id, void *user),
                     void *user) {
    while (text.n) {
        struct ch_sv line = next_line(&text);
        if (*skip)
            --*skip;
        else if (is_line(line) && line.p[6] == ' ')
            fn(chat_view_id_of(line), user);
    }
}

void ch_chat_view_ids(const struct ch_transcript *t, size_t lines,
                      void (*fn)(struct ch_sv id, void *user), void *user) {
    const struct ch_chat_view_opts o = {.transcript = t, .name = ""};
    size_t from = t->n, n = 0;
    while (from > 0 && n < lines)
        n += t->msgs[--from]->kind == CH_MSG_USER ? take_message(NULL, &o, from) : 0;
    size_t skip = n > lines ? n - lines : 0;
    for (; from < t->n; from++)
        for (uint32_t k = 0; t->msgs[from]->kind == CH_MSG_USER && k < t->msgs[from]->nblocks; k++)
            if (t->msgs[from]->blocks[k].type == CH_BLOCK_TEXT)
                tell_ids(t->msgs[from]->blocks[k].text, &skip, fn, user);
}

/* --- working memory */

static void add_row(struct ch_buf *out, const char *what, struct ch_sv name, struct ch_sv text) {
    struct ch_sv cut = ch_utf8_cut(ch_sv_trim(text), CH_LIMIT_VIEW_RESULT);
    if (!cut.n)
        return;
    ch_buf_addf(out, "- %s%.*s: ", what, CH_SV_FMT(name));
    chat_view_add_text(out, cut);
}

static void add_call(struct ch_buf *out, const struct ch_block *b, const struct ch_msg *results) {
    if (ch_sv_is(b->name, CH_SEND_ACTION) && was_done(results, b->id)) /* among the lines */
        return;
    ch_buf_addf(out, "- you called %.*s ", CH_SV_FMT(b->name));
    chat_view_add_text(out, ch_utf8_cut(b->text, CH_LIMIT_VIEW_RESULT));
}

/* results: what came of the calls of m; NULL: not known. */
static void add_work(const struct ch_msg *m, const struct ch_msg *results, struct ch_buf *out) {
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        bool said = b->type == CH_BLOCK_TOOL_RESULT && ch_sv_is(b->name, CH_SEND_ACTION);
        if (m->kind == CH_MSG_ASSISTANT && b->type == CH_BLOCK_TEXT)
            add_row(out, "you thought", CH_SV(""), b->text);
        else if (b->type == CH_BLOCK_TOOL_CALL)
            add_call(out, b, results);
        else if (b->type == CH_BLOCK_TOOL_RESULT &&
                 (!said || ch_result_failed(b)))
            add_row(out, b->flags & CH_F_ERROR ? "error of " : "result of ", b->name,
                    ch_sv_trim(b->text).n ? b->text : CH_SV("(empty)"));
        else if (m->kind == CH_MSG_EVENT && b->type == CH_BLOCK_TEXT)
            add_row(out, "note", CH_SV(""), b->text);
    }
}

/* Cuts the oldest rows so that at most `most` bytes are left. */
static void chat_view_keep_newest(struct ch_buf *b, size_t most) {
    if (b->n <= most)
        return;
    const char *from = memmem(b->p + b->n - most, most, "\n- ", 3);
    ch_buf_consume(b, from ? (size_t)(from + 1 - b->p) : b->n - most);
}

/* --- the view */

void ch_chat_view_make(const struct ch_chat_view_opts *o, struct ch_chat_view *out) {
    const struct ch_transcript *t = o->transcript;
    struct making m = {.v = out};
    size_t from = CH_MIN(o->begin, t->n), lines = 0;
    *out = (struct ch_chat_view){0};
    while (from > 0 && lines < o->lines)
        lines += take_message(NULL, o, --from);
    m.skip = lines > o->lines ? lines - o->lines : 0;
    for (; from < t->n; from++) {
        m.fresh = from >= o->begin;
        m.skip = m.fresh ? 0 : m.skip;
        take_message(&m, o, from);
        if (from > o->begin)
            add_work(t->msgs[from], next_results(t, from), &out->working);
    }
    list_members(&m, &out->members);
    show_senders(&m, &out->seen);
    show_senders(&m, &out->fresh);
    ch_arena_release(&m.arena);
    chat_view_keep_newest(&out->working, CH_LIMIT_VIEW_WORKING);
}

void ch_chat_view_release(struct ch_chat_view *v) {
    ch_buf_release(&v->seen);
    ch_buf_release(&v->fresh);
    ch_buf_release(&v->members);
    ch_buf_release(&v->working);
}
