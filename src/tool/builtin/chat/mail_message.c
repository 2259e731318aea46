/* mail_message.c -- see mail_message.h. */
#include "tool/builtin/chat/mail_message.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#define LINE 76       /* maximum columns of a header line */
#define SAFE_LINE 900 /* maximum bytes of a body line, accepted by every server (RFC 5321: 998) */

/* --- addresses ------------------------------------------------------------------------ */

static bool mail_message_is_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* True for atoms separated by dots; others: characters of an atom besides letters and
 * digits. */
static bool is_dotted(struct ch_sv s, const char *others, size_t most) {
    struct ch_sv rest = s;

    do {
        struct ch_sv atom = ch_sv_split(&rest, '.');
        if (atom.n == 0 || atom.n > most)
            return false;
        for (size_t i = 0; i < atom.n; i++)
            if (!mail_message_is_alnum(atom.p[i]) && !(atom.p[i] && strchr(others, atom.p[i])))
                return false;
    } while (rest.p);
    return true;
}

static bool mail_message_is_address(struct ch_sv s) {
    const char *at = s.n ? memrchr(s.p, '@', s.n) : NULL;

    if (!at || s.n > CH_LIMIT_MAIL_ADDRESS)
        return false;
    struct ch_sv user = ch_sv(s.p, (size_t)(at - s.p)), host = ch_sv(at + 1, s.n - user.n - 1);
    return user.n <= 64 && is_dotted(user, "!#$%&'*+-/=?^_`{|}~", 64) && is_dotted(host, "-", 63) &&
           host.p[0] != '-';
}

static bool mail_message_has_control(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return true;
    return false;
}

/* The text up to the next comma outside of quotes. */
static struct ch_sv next_mailbox(struct ch_sv *rest) {
    bool quoted = false;
    size_t i = 0;

    for (; i < rest->n && (quoted || rest->p[i] != ','); i++)
        if (rest->p[i] == '"')
            quoted = !quoted;
    struct ch_sv one = ch_sv(rest->p, i);
    *rest = i < rest->n ? ch_sv(rest->p + i + 1, rest->n - i - 1) : ch_sv(NULL, 0);
    return ch_sv_trim(one);
}

static struct ch_sv mail_message_unquote(struct ch_sv s) {
    s = ch_sv_trim(s);
    return s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"' ? ch_sv(s.p + 1, s.n - 2) : s;
}

static int mail_message_add_one(struct ch_mailboxes *list, struct ch_sv text,
                                struct chela_error *err) {
    struct ch_sv addr = text, name = CH_SV("");
    const char *open = text.n ? memrchr(text.p, '<', text.n) : NULL;

    if (open && text.p[text.n - 1] == '>') {
        addr = ch_sv(open + 1, (size_t)(text.p + text.n - open) - 2);
        name = mail_message_unquote(ch_sv(text.p, (size_t)(open - text.p)));
    }
    struct ch_sv shown = ch_utf8_cut(text, 80);
    if (!mail_message_is_address(addr))
        return ch_fail(err, CHELA_EINVAL, "\"%.*s\" is not an e-mail address (user@host, ASCII)",
                       CH_SV_FMT(shown));
    if (mail_message_has_control(name) || !ch_utf8_valid(name) || name.n > CH_LIMIT_MAIL_ADDRESS)
        return ch_fail(err, CHELA_EINVAL, "the name of %.*s cannot be in a header",
                       CH_SV_FMT(addr));
    if (list->n == CH_LIMIT_MAIL_RECIPIENTS)
        return ch_fail(err, CHELA_ELIMIT, "more than %d recipients", CH_LIMIT_MAIL_RECIPIENTS);
    list->at = ch_realloc(list->at, (list->n + 1) * sizeof(*list->at));
    list->at[list->n++] =
        (struct ch_mailbox){.name = ch_strndup(name.p, name.n), .addr = ch_strndup(addr.p, addr.n)};
    return 0;
}

int ch_mailboxes_add(struct ch_mailboxes *list, struct ch_sv text, struct chela_error *err) {
    int rc = 0;

    do {
        struct ch_sv one = next_mailbox(&text);
        rc = mail_message_add_one(list, one, err);
    } while (rc == 0 && text.p);
    return rc;
}

void ch_mailboxes_release(struct ch_mailboxes *list) {
    for (size_t i = 0; i < list->n; i++) {
        ch_free(list->at[i].name);
        ch_free(list->at[i].addr);
    }
    ch_free(list->at);
    *list = (struct ch_mailboxes){0};
}

/* --- headers --------------------------------------------------------------------------- */

static bool mail_message_is_ascii(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

/* RFC 2047 encoded words separated by spaces; no character is split. */
static void mail_message_add_encoded(struct ch_buf *out, struct ch_sv s) {
    CH_BUF_AUTO valid = {0};

    ch_utf8_add_valid(&valid, s);
    struct ch_sv rest = ch_buf_sv(&valid);
    for (bool first = true; rest.n; first = false) {
        /* 52 characters of base64, 64 with the delimiters */
        struct ch_sv part = ch_utf8_cut(rest, 39);
        ch_buf_add_str(out, first ? "=?UTF-8?B?" : " =?UTF-8?B?");
        ch_base64_add(out, part);
        ch_buf_add_str(out, "?=");
        rest = ch_sv(rest.p + part.n, rest.n - part.n);
    }
}

static size_t longest_word(struct ch_sv s) {
    size_t longest = 0;

    while (s.n) {
        struct ch_sv word = ch_sv_split(&s, ' ');
        longest = CH_MAX(longest, word.n);
    }
    return longest;
}

/* Text as a header value: plain if possible, else encoded. */
static void mail_message_add_text(struct ch_buf *out, struct ch_sv s) {
    bool plain = mail_message_is_ascii(s) && longest_word(s) < LINE / 2 &&
                 ch_sv_eq(ch_sv_trim(s), s) && !(s.n && memmem(s.p, s.n, "=?", 2)) &&
                 !(s.n && memmem(s.p, s.n, "  ", 2));

    if (plain)
        ch_buf_add_sv(out, s);
    else
        mail_message_add_encoded(out, s);
}

enum { MOST_HEADERS = 8 };

struct headers {
    const char *lines[MOST_HEADERS + 1]; /* ended by NULL */
    size_t n;
    struct ch_arena *arena;
    struct chela_error *err;
};

/* Writes every header. Folds at spaces; rejects characters that could end the header early. */
static int mail_message_add_header(struct headers *h, const char *name, struct ch_sv value) {
    size_t column = strlen(name) + 1;
    CH_BUF_AUTO line = {0};

    if (mail_message_has_control(value) || !mail_message_is_ascii(value))
        return ch_fail(h->err, CHELA_EINVAL, "the header %s would hold a control character", name);
    ch_buf_addf(&line, "%s:", name);
    while (value.n) {
        struct ch_sv word = ch_sv_split(&value, ' ');
        if (word.n == 0)
            continue;
        bool fold = column + 1 + word.n > LINE && column > strlen(name) + 1;
        ch_buf_add_str(&line, fold ? "\r\n " : " ");
        column = (fold ? 0 : column) + 1 + word.n;
        ch_buf_add_sv(&line, word);
    }
    assert(h->n < MOST_HEADERS);
    h->lines[h->n++] = ch_arena_str(h->arena, ch_buf_sv(&line));
    return 0;
}

static void mail_message_add_name(struct ch_buf *out, struct ch_sv name) {
    static const char specials[] = "()<>[]:;@\\,.\"";

    if (!mail_message_is_ascii(name) || longest_word(name) >= LINE / 2 ||
        memmem(name.p, name.n, "=?", 2)) {
        mail_message_add_encoded(out, name);
        return;
    }
    bool quote = false;
    for (size_t i = 0; i < name.n; i++)
        quote = quote || strchr(specials, name.p[i]);
    ch_buf_add_str(out, quote ? "\"" : "");
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '"' || name.p[i] == '\\')
            ch_buf_addc(out, '\\');
        ch_buf_addc(out, name.p[i]);
    }
    ch_buf_add_str(out, quote ? "\"" : "");
}

static void add_mailbox(struct ch_buf *out, const struct ch_mailbox *m) {
    if (!m->name[0]) {
        ch_buf_add_str(out, m->addr);
        return;
    }
    mail_message_add_name(out, ch_sv_str(m->name));
    ch_buf_addf(out, " <%s>", m->addr);
}

static int add_mailboxes(struct headers *h, const char *name, const struct ch_mailboxes *list) {
    CH_BUF_AUTO value = {0};

    for (size_t i = 0; i < list->n; i++) {
        ch_buf_add_str(&value, i ? ", " : "");
        add_mailbox(&value, &list->at[i]);
    }
    return list->n ? mail_message_add_header(h, name, ch_buf_sv(&value)) : 0;
}

static void add_date(struct ch_buf *out, int64_t ms) {
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    gmtime_r(&t, &tm); /* not strftime, whose names depend on the locale */
    ch_buf_addf(out, "%.3s, %d %.3s %d %02d:%02d:%02d +0000", days + tm.tm_wday * 3, tm.tm_mday,
                months + tm.tm_mon * 3, tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void ch_mail_id(const struct ch_mail *m, struct ch_buf *out) {
    ch_buf_addf(out, "<%016" PRIx64 "%016" PRIx64 "%s>", m->id[0], m->id[1],
                strrchr(m->from->addr, '@'));
}

static int mail_message_add_headers(const struct ch_mail *m, struct headers *h) {
    CH_BUF_AUTO from = {0}, subject = {0}, id = {0}, date = {0};

    add_mailbox(&from, m->from);
    mail_message_add_text(&subject, m->subject);
    ch_mail_id(m, &id);
    add_date(&date, m->date_ms);
    int rc = mail_message_add_header(h, "Date", ch_buf_sv(&date));
    if (rc == 0)
        rc = mail_message_add_header(h, "From", ch_buf_sv(&from));
    if (rc == 0)
        rc = add_mailboxes(h, "To", &m->to);
    if (rc == 0)
        rc = add_mailboxes(h, "Cc", &m->cc);
    if (rc == 0)
        rc = mail_message_add_header(h, "Subject", ch_buf_sv(&subject));
    if (rc == 0)
        rc = mail_message_add_header(h, "Message-ID", ch_buf_sv(&id));
    return rc < 0 ? rc : mail_message_add_header(h, "Auto-Submitted", CH_SV("auto-generated"));
}

/* --- text and files ---------------------------------------------------------------------- */

/* Append s with all line ends converted to CR LF. */
static void add_crlf(struct ch_buf *out, struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++) {
        bool cr = s.p[i] == '\r';
        if (!cr && s.p[i] != '\n') {
            ch_buf_addc(out, s.p[i]);
            continue;
        }
        if (cr && i + 1 < s.n && s.p[i + 1] == '\n')
            i++;
        ch_buf_add_str(out, "\r\n");
    }
}

static bool is_seven_bit(struct ch_sv s) {
    struct ch_sv rest = s;

    while (rest.n)
        if (ch_sv_split(&rest, '\n').n > SAFE_LINE)
            return false;
    return mail_message_is_ascii(s) && !(s.n && memchr(s.p, '\0', s.n));
}

static struct chela_mail_part text_part(struct ch_sv body, struct ch_arena *a) {
    CH_BUF_AUTO valid = {0}, lines = {0};

    ch_utf8_add_valid(&valid, body);
    add_crlf(&lines, ch_buf_sv(&valid));
    struct ch_sv data = ch_arena_sv(a, ch_buf_sv(&lines));
    return (struct chela_mail_part){.type = "text/plain; charset=utf-8",
                                    .encoding = is_seven_bit(data) ? "7bit" : "base64",
                                    .data = data.p,
                                    .length = data.n};
}

static const char *mail_message_type_of(const char *name) {
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".pdf", "application/pdf"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".jpeg", "image/jpeg"},
        {".gif", "image/gif"},
        {".txt", "text/plain; charset=utf-8"},
        {".md", "text/markdown; charset=utf-8"},
        {".csv", "text/csv; charset=utf-8"},
        {".html", "text/html; charset=utf-8"},
        {".json", "application/json"},
        {".zip", "application/zip"},
    };
    size_t n = strlen(name);

    for (size_t i = 0; i < CH_LEN(types); i++) {
        size_t k = strlen(types[i].ending);
        if (n > k && ch_sv_eq_nocase(ch_sv(name + n - k, k), ch_sv_str(types[i].ending)))
            return types[i].type;
    }
    return "application/octet-stream";
}

/* RFC 2231 encoding, which leaves no special character in the name. */
static const char *disposition_of(const char *name, struct ch_arena *a) {
    CH_BUF_AUTO out = {0};

    ch_buf_add_str(&out, "attachment; filename*=UTF-8''");
    for (const char *c = name; *c; c++)
        if (mail_message_is_alnum(*c) || *c == '.' || *c == '-' || *c == '_')
            ch_buf_addc(&out, *c);
        else
            ch_buf_addf(&out, "%%%02X", (unsigned char)*c);
    return ch_arena_str(a, ch_buf_sv(&out));
}

static struct chela_mail_part file_part(const struct ch_mail_file *f, struct ch_arena *a) {
    return (struct chela_mail_part){.type = mail_message_type_of(f->name),
                                    .disposition = disposition_of(f->name, a),
                                    .encoding = "base64",
                                    .data = f->data.p,
                                    .length = f->data.n};
}

int ch_mail_compose(const struct ch_mail *m, struct ch_arena *a, struct chela_mail *out,
                    struct chela_error *err) {
    struct chela_mail_part *parts = ch_arena_alloc(a, (1 + m->nfiles) * sizeof(*parts));
    struct headers *h = CH_ARENA_NEW(a, struct headers);

    *h = (struct headers){.arena = a, .err = err};
    if (mail_message_has_control(m->subject))
        return ch_fail(err, CHELA_EINVAL, "the subject must be one line of text");
    int rc = mail_message_add_headers(m, h);
    if (rc < 0)
        return rc;
    parts[0] = text_part(m->body, a);
    for (size_t i = 0; i < m->nfiles; i++)
        parts[1 + i] = file_part(&m->files[i], a);
    out->headers = h->lines;
    out->parts = parts;
    out->nparts = 1 + m->nfiles;
    return 0;
}
