/* mail_message.c -- see mail_message.h. */
#include "tool/builtin/chat/mail_message.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#define LINE 76       /* columns, of headers and of base64 */
#define SAFE_LINE 900 /* bytes of a body's line that every server takes (RFC 5321: 998) */

/* --- addresses ------------------------------------------------------------------------ */

static bool is_alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Atoms with dots between them; others: what may be in an atom besides letters
 * and digits. */
static bool is_dotted(struct ch_sv s, const char *others, size_t most) {
    struct ch_sv rest = s;

    do {
        struct ch_sv atom = ch_sv_split(&rest, '.');
        if (atom.n == 0 || atom.n > most)
            return false;
        for (size_t i = 0; i < atom.n; i++)
            if (!is_alnum(atom.p[i]) && !(atom.p[i] && strchr(others, atom.p[i])))
                return false;
    } while (rest.p);
    return true;
}

static bool is_address(struct ch_sv s) {
    const char *at = s.n ? memrchr(s.p, '@', s.n) : NULL;

    if (!at || s.n > CH_LIMIT_MAIL_ADDRESS)
        return false;
    struct ch_sv user = ch_sv(s.p, (size_t)(at - s.p)), host = ch_sv(at + 1, s.n - user.n - 1);
    return user.n <= 64 && is_dotted(user, "!#$%&'*+-/=?^_`{|}~", 64) && is_dotted(host, "-", 63) &&
           host.p[0] != '-';
}

static bool has_control(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return true;
    return false;
}

/* The text up to a comma that is not inside quotes. */
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

static struct ch_sv unquote(struct ch_sv s) {
    s = ch_sv_trim(s);
    return s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"' ? ch_sv(s.p + 1, s.n - 2) : s;
}

static int add_one(struct ch_mailboxes *list, struct ch_sv text, struct chela_error *err) {
    struct ch_sv addr = text, name = CH_SV("");
    const char *open = text.n ? memrchr(text.p, '<', text.n) : NULL;

    if (open && text.p[text.n - 1] == '>') {
        addr = ch_sv(open + 1, (size_t)(text.p + text.n - open) - 2);
        name = unquote(ch_sv(text.p, (size_t)(open - text.p)));
    }
    struct ch_sv shown = ch_utf8_cut(text, 80);
    if (!is_address(addr))
        return ch_fail(err, CHELA_EINVAL, "\"%.*s\" is not an e-mail address (user@host, ASCII)",
                       CH_SV_FMT(shown));
    if (has_control(name) || !ch_utf8_valid(name) || name.n > CH_LIMIT_MAIL_ADDRESS)
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
        rc = add_one(list, one, err);
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

static bool is_ascii(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

/* Words of RFC 2047 with spaces between them, each whole characters. */
static void add_encoded(struct ch_buf *out, struct ch_sv s) {
    CH_BUF_AUTO valid = {0};

    ch_utf8_add_valid(&valid, s);
    struct ch_sv rest = ch_buf_sv(&valid);
    for (bool first = true; rest.n; first = false) {
        struct ch_sv part = ch_utf8_cut(rest, 39); /* 52 in base64, 64 with what is around it */
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

/* Text as a header may have it: as it is, or encoded. */
static void add_text(struct ch_buf *out, struct ch_sv s) {
    bool plain = is_ascii(s) && longest_word(s) < LINE / 2 && ch_sv_eq(ch_sv_trim(s), s) &&
                 !(s.n && memmem(s.p, s.n, "=?", 2)) && !(s.n && memmem(s.p, s.n, "  ", 2));

    if (plain)
        ch_buf_add_sv(out, s);
    else
        add_encoded(out, s);
}

/* The one place that writes a header. Folded at spaces; refuses what could end
 * it early. */
static int add_header(struct ch_buf *out, const char *name, struct ch_sv value,
                      struct chela_error *err) {
    size_t column = strlen(name) + 1;

    if (has_control(value) || !is_ascii(value))
        return ch_fail(err, CHELA_EINVAL, "the header %s would hold a control character", name);
    ch_buf_addf(out, "%s:", name);
    while (value.n) {
        struct ch_sv word = ch_sv_split(&value, ' ');
        if (word.n == 0)
            continue;
        bool fold = column + 1 + word.n > LINE && column > strlen(name) + 1;
        ch_buf_add_str(out, fold ? "\r\n " : " ");
        column = (fold ? 0 : column) + 1 + word.n;
        ch_buf_add_sv(out, word);
    }
    ch_buf_add_str(out, "\r\n");
    return 0;
}

static void add_name(struct ch_buf *out, struct ch_sv name) {
    static const char specials[] = "()<>[]:;@\\,.\"";

    if (!is_ascii(name) || longest_word(name) >= LINE / 2 || memmem(name.p, name.n, "=?", 2)) {
        add_encoded(out, name);
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
    add_name(out, ch_sv_str(m->name));
    ch_buf_addf(out, " <%s>", m->addr);
}

static int add_mailboxes(struct ch_buf *out, const char *name, const struct ch_mailboxes *list,
                         struct chela_error *err) {
    CH_BUF_AUTO value = {0};

    for (size_t i = 0; i < list->n; i++) {
        ch_buf_add_str(&value, i ? ", " : "");
        add_mailbox(&value, &list->at[i]);
    }
    return list->n ? add_header(out, name, ch_buf_sv(&value), err) : 0;
}

static int add_date(struct ch_buf *out, int64_t ms, struct chela_error *err) {
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t t = (time_t)(ms / 1000);
    struct tm tm;
    CH_BUF_AUTO value = {0};

    gmtime_r(&t, &tm); /* not strftime: its names depend on the locale */
    ch_buf_addf(&value, "%.3s, %d %.3s %d %02d:%02d:%02d +0000", days + tm.tm_wday * 3, tm.tm_mday,
                months + tm.tm_mon * 3, tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return add_header(out, "Date", ch_buf_sv(&value), err);
}

void ch_mail_id(const struct ch_mail *m, struct ch_buf *out) {
    ch_buf_addf(out, "<%016" PRIx64 "%016" PRIx64 "%s>", m->id[0], m->id[1],
                strrchr(m->from->addr, '@'));
}

static int add_headers(const struct ch_mail *m, struct ch_buf *out, struct chela_error *err) {
    CH_BUF_AUTO from = {0}, subject = {0}, id = {0};

    add_mailbox(&from, m->from);
    add_text(&subject, m->subject);
    ch_mail_id(m, &id);
    int rc = add_date(out, m->date_ms, err);
    if (rc == 0)
        rc = add_header(out, "From", ch_buf_sv(&from), err);
    if (rc == 0)
        rc = add_mailboxes(out, "To", &m->to, err);
    if (rc == 0)
        rc = add_mailboxes(out, "Cc", &m->cc, err);
    if (rc == 0)
        rc = add_header(out, "Subject", ch_buf_sv(&subject), err);
    if (rc == 0)
        rc = add_header(out, "Message-ID", ch_buf_sv(&id), err);
    if (rc == 0)
        rc = add_header(out, "Auto-Submitted", CH_SV("auto-generated"), err);
    if (rc == 0)
        rc = add_header(out, "MIME-Version", CH_SV("1.0"), err);
    return rc;
}

/* --- body and files ---------------------------------------------------------------------- */

static void add_base64_lines(struct ch_buf *out, struct ch_sv data) {
    size_t step = LINE / 4 * 3;

    for (size_t i = 0; i < data.n; i += step) {
        ch_base64_add(out, ch_sv(data.p + i, CH_MIN(step, data.n - i)));
        ch_buf_add_str(out, "\r\n");
    }
}

/* Lines ended by CR LF, whatever ended them before. */
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
    if (s.n && s.p[s.n - 1] != '\n' && s.p[s.n - 1] != '\r')
        ch_buf_add_str(out, "\r\n");
}

static bool is_seven_bit(struct ch_sv s) {
    struct ch_sv rest = s;

    while (rest.n)
        if (ch_sv_split(&rest, '\n').n > SAFE_LINE)
            return false;
    return is_ascii(s) && !memchr(s.p, '\0', s.n);
}

static void add_body(struct ch_buf *out, struct ch_sv body) {
    bool plain = body.n == 0 || is_seven_bit(body);
    CH_BUF_AUTO valid = {0};

    ch_buf_addf(out,
                "Content-Type: text/plain; charset=utf-8\r\n"
                "Content-Transfer-Encoding: %s\r\n\r\n",
                plain ? "7bit" : "base64");
    if (plain) {
        add_crlf(out, body);
        return;
    }
    ch_utf8_add_valid(&valid, body);
    CH_BUF_AUTO lines = {0};
    add_crlf(&lines, ch_buf_sv(&valid));
    add_base64_lines(out, ch_buf_sv(&lines));
}

static const char *type_of(const char *name) {
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

/* RFC 2231, which leaves nothing in a name that could be read as something else. */
static int add_file(struct ch_buf *out, const struct ch_mail_file *f, struct chela_error *err) {
    CH_BUF_AUTO where = {0};

    ch_buf_add_str(&where, "attachment; filename*=UTF-8''");
    for (const char *c = f->name; *c; c++)
        if (is_alnum(*c) || *c == '.' || *c == '-' || *c == '_')
            ch_buf_addc(&where, *c);
        else
            ch_buf_addf(&where, "%%%02X", (unsigned char)*c);
    int rc = add_header(out, "Content-Type", ch_sv_str(type_of(f->name)), err);
    if (rc == 0)
        rc = add_header(out, "Content-Disposition", ch_buf_sv(&where), err);
    if (rc == 0)
        rc = add_header(out, "Content-Transfer-Encoding", CH_SV("base64"), err);
    if (rc < 0)
        return rc;
    ch_buf_add_str(out, "\r\n");
    add_base64_lines(out, f->data);
    return 0;
}

static int add_parts(const struct ch_mail *m, struct ch_buf *out, struct chela_error *err) {
    CH_BUF_AUTO boundary = {0};

    /* Nobody knew it when the texts were written, and "_" is in no base64. */
    ch_buf_addf(&boundary, "chela_%016" PRIx64 "%016" PRIx64, m->id[1], m->id[0]);
    ch_buf_addf(out, "Content-Type: multipart/mixed; boundary=%s\r\n\r\n--%s\r\n", boundary.p,
                boundary.p);
    add_body(out, m->body);
    for (size_t i = 0; i < m->nfiles; i++) {
        ch_buf_addf(out, "--%s\r\n", boundary.p);
        int rc = add_file(out, &m->files[i], err);
        if (rc < 0)
            return rc;
    }
    ch_buf_addf(out, "--%s--\r\n", boundary.p);
    return 0;
}

int ch_mail_build(const struct ch_mail *m, struct ch_buf *out, struct chela_error *err) {
    if (has_control(m->subject))
        return ch_fail(err, CHELA_EINVAL, "the subject must be one line of text");
    int rc = add_headers(m, out, err);
    if (rc < 0)
        return rc;
    if (m->nfiles)
        rc = add_parts(m, out, err);
    else
        add_body(out, m->body);
    if (rc == 0 && out->overflow)
        rc = ch_fail(err, CHELA_ELIMIT, "the message is too large");
    return rc;
}
