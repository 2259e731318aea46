/* charset.c -- see charset.h.
 *
 * The table holds the labels of the WHATWG Encoding Standard that still occur, with the
 * encodings that browsers use for them: latin-1 is windows-1252, gb2312 is its superset.
 * Other labels are ignored. The conversion tables are libc's, through iconv. */
#include "tool/builtin/web/charset.h"

#include <errno.h>
#include <iconv.h>

#include "base/mem.h"
#include "base/utf8.h"

#define PRESCAN 1024 /* bytes searched for an encoding declaration */

static const struct label {
    const char *label, *name; /* name: iconv's; NULL: UTF-8 */
} labels[] = {
    {"utf-8", NULL},
    {"utf8", NULL},
    {"unicode-1-1-utf-8", NULL},
    {"us-ascii", "CP1252"},
    {"ascii", "CP1252"},
    {"iso-8859-1", "CP1252"},
    {"iso8859-1", "CP1252"},
    {"latin1", "CP1252"},
    {"l1", "CP1252"},
    {"windows-1252", "CP1252"},
    {"cp1252", "CP1252"},
    {"x-cp1252", "CP1252"},
    {"iso-8859-2", "ISO-8859-2"},
    {"latin2", "ISO-8859-2"},
    {"iso-8859-3", "ISO-8859-3"},
    {"iso-8859-4", "ISO-8859-4"},
    {"iso-8859-5", "ISO-8859-5"},
    {"iso-8859-6", "ISO-8859-6"},
    {"iso-8859-7", "ISO-8859-7"},
    {"iso-8859-8", "ISO-8859-8"},
    {"iso-8859-9", "CP1254"},
    {"latin5", "CP1254"},
    {"iso-8859-10", "ISO-8859-10"},
    {"iso-8859-13", "ISO-8859-13"},
    {"iso-8859-15", "ISO-8859-15"},
    {"windows-1250", "CP1250"},
    {"windows-1251", "CP1251"},
    {"windows-1253", "CP1253"},
    {"windows-1254", "CP1254"},
    {"windows-1255", "CP1255"},
    {"windows-1256", "CP1256"},
    {"windows-1257", "CP1257"},
    {"windows-1258", "CP1258"},
    {"windows-874", "CP874"},
    {"tis-620", "CP874"},
    {"koi8-r", "KOI8-R"},
    {"koi8-u", "KOI8-U"},
    {"gb2312", "GB18030"},
    {"gb_2312-80", "GB18030"},
    {"gbk", "GB18030"},
    {"x-gbk", "GB18030"},
    {"gb18030", "GB18030"},
    {"big5", "BIG5-HKSCS"},
    {"big5-hkscs", "BIG5-HKSCS"},
    {"x-x-big5", "BIG5-HKSCS"},
    {"shift_jis", "CP932"},
    {"shift-jis", "CP932"},
    {"sjis", "CP932"},
    {"x-sjis", "CP932"},
    {"windows-31j", "CP932"},
    {"euc-jp", "EUC-JP"},
    {"iso-2022-jp", "ISO-2022-JP"},
    {"euc-kr", "UHC"},
    {"ks_c_5601-1987", "UHC"},
    {"windows-949", "UHC"},
    {"utf-16", "UTF-16LE"},
    {"utf-16le", "UTF-16LE"},
    {"utf-16be", "UTF-16BE"},
};

static const struct label *find_label(struct ch_sv text) {
    text = ch_sv_trim(text);
    for (size_t i = 0; text.n && i < CH_LEN(labels); i++)
        if (ch_sv_eq_nocase(text, ch_sv_str(labels[i].label)))
            return &labels[i];
    return NULL;
}

/* --- encoding from the headers ------------------------------------------------------- */

static struct ch_sv charset_unquote(struct ch_sv s) {
    s = ch_sv_trim(s);
    if (s.n && (s.p[0] == '"' || s.p[0] == '\'')) {
        const char *end = memchr(s.p + 1, s.p[0], s.n - 1);
        return ch_sv(s.p + 1, end ? (size_t)(end - s.p) - 1 : s.n - 1);
    }
    return s;
}

struct ch_sv ch_header_param(struct ch_sv header, const char *name) {
    ch_sv_split(&header, ';');
    while (header.n) {
        struct ch_sv value = ch_sv_split(&header, ';');
        struct ch_sv key = ch_sv_trim(ch_sv_split(&value, '='));
        if (value.p && ch_sv_eq_nocase(key, ch_sv_str(name)))
            return charset_unquote(value);
    }
    return ch_sv(NULL, 0);
}

/* --- encoding from the document -------------------------------------------------------- */

/* The text after word, "=" and quotes: for charset="x" it is x. */
static struct ch_sv value_after(struct ch_sv s, const char *word) {
    size_t n = strlen(word), i = 0;

    for (; s.n >= n && i <= s.n - n; i++)
        if (ch_sv_eq_nocase(ch_sv(s.p + i, n), ch_sv_str(word)))
            break;
    if (s.n < n || i > s.n - n)
        return ch_sv(NULL, 0);
    s = ch_sv(s.p + i + n, s.n - i - n);
    while (s.n && strchr(" \t\r\n", s.p[0]) && s.p[0])
        s = ch_sv(s.p + 1, s.n - 1);
    if (!s.n || s.p[0] != '=')
        return ch_sv(NULL, 0);
    s = ch_sv(s.p + 1, s.n - 1);
    while (s.n && s.p[0] && strchr(" \t\r\n\"'", s.p[0]))
        s = ch_sv(s.p + 1, s.n - 1);
    for (n = 0; n < s.n && s.p[n] && !strchr(" \t\r\n\"';/>?", s.p[n]);)
        n++;
    return ch_sv(s.p, n);
}

static const struct label *declared(struct ch_sv bytes) {
    struct ch_sv head = ch_sv(bytes.p, CH_MIN(bytes.n, PRESCAN));
    bool xml = ch_sv_starts(ch_sv_trim(head), "<?xml");
    const struct label *l = xml ? find_label(value_after(head, "encoding")) : NULL;

    for (; !l && head.n; head = ch_sv(head.p + 1, head.n - 1)) {
        const char *tag = memchr(head.p, '<', head.n);
        if (!tag)
            break;
        head = ch_sv(tag, head.n - (size_t)(tag - head.p));
        if (head.n < 5 || !ch_sv_eq_nocase(ch_sv(head.p, 5), CH_SV("<meta")))
            continue;
        const char *end = memchr(head.p, '>', head.n);
        l = find_label(
            value_after(ch_sv(head.p, end ? (size_t)(end - head.p) : head.n), "charset"));
        /* An ASCII-compatible document cannot be UTF-16. */
        if (l && l->name && strncmp(l->name, "UTF-16", 6) == 0)
            l = &labels[0];
    }
    return l;
}

/* Detect and remove a byte order mark. */
static const struct label *charset_marked(struct ch_sv *bytes) {
    static const struct {
        const char *mark;
        size_t n;
        const char *label;
    } marks[] = {
        {"\xef\xbb\xbf", 3, "utf-8"}, {"\xff\xfe", 2, "utf-16le"}, {"\xfe\xff", 2, "utf-16be"}};

    for (size_t i = 0; i < CH_LEN(marks); i++)
        if (bytes->n >= marks[i].n && memcmp(bytes->p, marks[i].mark, marks[i].n) == 0) {
            *bytes = ch_sv(bytes->p + marks[i].n, bytes->n - marks[i].n);
            return find_label(ch_sv_str(marks[i].label));
        }
    return NULL;
}

/* --- decoding ---------------------------------------------------------------------------- */

static void charset_decode(iconv_t cd, struct ch_sv bytes, size_t unit, struct ch_buf *out) {
    char *in = (char *)(uintptr_t)bytes.p;
    size_t left = bytes.n;

    while (left && !out->overflow) {
        size_t room = CH_MAX(left, (size_t)64) * 2;
        char *to = ch_buf_reserve(out, room), *at = to;
        if (!to)
            return;
        size_t rc = iconv(cd, &in, &left, &at, &room);
        int why = rc == (size_t)-1 ? errno : 0;
        ch_buf_commit(out, (size_t)(at - to));
        if (why == 0 || why == E2BIG)
            continue;
        ch_buf_add_str(out, "\xef\xbf\xbd");
        /* incomplete character at the end */
        size_t bad = why == EINVAL ? left : CH_MIN(unit, left);
        in += bad;
        left -= bad;
    }
}

static bool decode_as(const char *name, struct ch_sv bytes, struct ch_buf *out) {
    iconv_t cd = iconv_open("UTF-8", name);

    if (cd == (iconv_t)-1)
        return false; /* libc lacks this table */
    charset_decode(cd, bytes, strncmp(name, "UTF-16", 6) == 0 ? 2 : 1, out);
    iconv_close(cd);
    return true;
}

static void no_nul(struct ch_buf *out, size_t from) {
    for (size_t i = from; i < out->n; i++)
        if (out->p[i] == '\0')
            out->p[i] = ' ';
}

const char *ch_charset_decode(struct ch_sv bytes, struct ch_sv content_type, struct ch_buf *out) {
    const struct label *l = charset_marked(&bytes);
    size_t from = out->n;

    if (!l)
        l = find_label(ch_header_param(content_type, "charset"));
    if (!l)
        l = declared(bytes);
    if (!l)
        l = find_label(ch_utf8_valid(bytes) ? CH_SV("utf-8") : CH_SV("windows-1252"));
    if (!l->name || !decode_as(l->name, bytes, out))
        ch_utf8_add_valid(out, bytes);
    no_nul(out, from);
    return l->label;
}
