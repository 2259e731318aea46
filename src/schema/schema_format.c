/* schema_format.c -- formats that need only the text, and the table of all
 * formats. Dates and times follow RFC 3339, mail addresses RFC 5321. */
#include "schema/schema_format.h"

#include "base/mem.h"
#include "schema/schema_ecma.h"
#include "schema/schema_format_host.h"
#include "schema/schema_format_uri.h"

static bool schema_format_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool schema_format_is_alpha(char c) {
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool schema_format_is_hex(char c) {
    return schema_format_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* --- reading from the front -------------------------------------------------- */

static bool schema_format_eat(struct ch_sv *s, char c) {
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = ch_sv(s->p + 1, s->n - 1);
    return true;
}

/* The number of exactly n digits, or -1. */
static int eat_number(struct ch_sv *s, size_t n) {
    int value = 0;
    if (s->n < n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!schema_format_is_digit(s->p[i]))
            return -1;
        value = value * 10 + (s->p[i] - '0');
    }
    *s = ch_sv(s->p + n, s->n - n);
    return value;
}

static size_t eat_digits(struct ch_sv *s) {
    size_t n = 0;
    while (n < s->n && schema_format_is_digit(s->p[n]))
        n++;
    *s = ch_sv(s->p + n, s->n - n);
    return n;
}

/* --- dates and times ---------------------------------------------------------- */

static bool eat_date(struct ch_sv *s) {
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = eat_number(s, 4);
    int month = year >= 0 && schema_format_eat(s, '-') ? eat_number(s, 2) : -1;
    int day = month >= 1 && month <= 12 && schema_format_eat(s, '-') ? eat_number(s, 2) : -1;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day >= 1 && day <= days[month - 1] && (month != 2 || day < 29 || leap);
}

/* Read Z or +hh:mm; *minutes is the offset to subtract to get UTC. */
static bool eat_offset(struct ch_sv *s, int *minutes) {
    *minutes = 0;
    if (schema_format_eat(s, 'Z') || schema_format_eat(s, 'z'))
        return true;
    int sign = schema_format_eat(s, '+') ? 1 : schema_format_eat(s, '-') ? -1 : 0;
    int hour = sign ? eat_number(s, 2) : -1;
    int minute = hour >= 0 && schema_format_eat(s, ':') ? eat_number(s, 2) : -1;
    *minutes = sign * (hour * 60 + minute);
    return hour <= 23 && minute >= 0 && minute <= 59;
}

/* A leap second must be the last second of a day in UTC. */
static bool eat_time(struct ch_sv *s) {
    int offset;
    int hour = eat_number(s, 2);
    int minute = hour >= 0 && schema_format_eat(s, ':') ? eat_number(s, 2) : -1;
    int second = minute >= 0 && schema_format_eat(s, ':') ? eat_number(s, 2) : -1;
    if (second < 0 || hour > 23 || minute > 59 || second > 60)
        return false;
    if (schema_format_eat(s, '.') && eat_digits(s) == 0)
        return false;
    if (!eat_offset(s, &offset))
        return false;
    return second < 60 || (hour * 60 + minute - offset + 2 * 1440) % 1440 == 1439;
}

static bool is_date(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return eat_date(&s) && s.n == 0;
}

static bool is_time(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return eat_time(&s) && s.n == 0;
}

static bool is_date_time(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return eat_date(&s) && (schema_format_eat(&s, 'T') || schema_format_eat(&s, 't')) &&
           eat_time(&s) && s.n == 0;
}

/* Read amounts whose units are adjacent in `units`: 1Y2M, not 1Y2D. */
static bool eat_amounts(struct ch_sv *s, const char *units) {
    const char *next = NULL;
    while (s->n && schema_format_is_digit(s->p[0])) {
        eat_digits(s);
        const char *unit = s->n && s->p[0] ? strchr(units, s->p[0]) : NULL;
        if (!unit || (next && unit != next))
            return false;
        next = unit + 1;
        schema_format_eat(s, *unit);
    }
    return next != NULL;
}

static bool is_duration(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    if (!schema_format_eat(&s, 'P'))
        return false;
    struct ch_sv weeks = s;
    if (eat_digits(&weeks) && schema_format_eat(&weeks, 'W') && weeks.n == 0)
        return true;
    bool date = s.n && s.p[0] != 'T';
    if (date && !eat_amounts(&s, "YMD"))
        return false;
    if (schema_format_eat(&s, 'T'))
        return eat_amounts(&s, "HMS") && s.n == 0;
    return date && s.n == 0;
}

/* --- addresses ------------------------------------------------------------------ */

static bool is_ipv4_address(struct ch_sv s) {
    int parts = 0;
    for (struct ch_sv rest = s; rest.p; parts++) {
        struct ch_sv part = ch_sv_split(&rest, '.');
        int value = part.n <= 3 ? eat_number(&(struct ch_sv){part.p, part.n}, part.n) : -1;
        if (part.n == 0 || value < 0 || value > 255 || (part.n > 1 && part.p[0] == '0'))
            return false;
    }
    return parts == 4;
}

static bool is_group(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (!schema_format_is_hex(s.p[i]))
            return false;
    return s.n >= 1 && s.n <= 4;
}

/* The number of 16-bit groups between colons, or -1; the last may be an IPv4
 * address. */
static int count_groups(struct ch_sv s, bool last) {
    int n = 0;
    if (s.n == 0)
        return 0;
    for (struct ch_sv rest = s; rest.p; n++) {
        struct ch_sv group = ch_sv_split(&rest, ':');
        if (is_group(group))
            continue;
        if (rest.p || !last || !is_ipv4_address(group))
            return -1;
        n++;
    }
    return n;
}

bool ch_format_ipv6(struct ch_sv s) {
    const char *gap = memmem(s.p, s.n, "::", 2);
    if (!gap)
        return count_groups(s, true) == 8;
    size_t before = (size_t)(gap - s.p), after = s.n - before - 2;
    int head = count_groups(ch_sv(s.p, before), false);
    int tail = count_groups(ch_sv(gap + 2, after), true);
    return head >= 0 && tail >= 0 && head + tail <= 7;
}

static bool is_ipv4(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return is_ipv4_address(s);
}

static bool is_ipv6(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    return ch_format_ipv6(s);
}

static bool is_atext(char c) {
    return schema_format_is_alpha(c) || schema_format_is_digit(c) ||
           (c && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

/* Whether s has the form a.b.c. With wide, characters beyond ASCII count as
 * letters. */
static bool is_dot_string(struct ch_sv s, bool wide) {
    for (struct ch_sv rest = s; rest.p;) {
        struct ch_sv atom = ch_sv_split(&rest, '.');
        for (size_t i = 0; i < atom.n; i++)
            if (!is_atext(atom.p[i]) && !(wide && atom.p[i] & 0x80))
                return false;
        if (atom.n == 0)
            return false;
    }
    return true;
}

/* Whether s is a quoted string such as "a b", including the quotes. */
static bool is_quoted_string(struct ch_sv s, bool wide) {
    if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '\\' && i + 2 < s.n)
            c = (unsigned char)s.p[++i];
        else if (c == '"' || c == '\\')
            return false;
        if (c < ' ' || c == 0x7f || (c > 0x7f && !wide))
            return false;
    }
    return true;
}

/* Whether s consists of labels of letters, digits and hyphens. Characters
 * beyond ASCII count as letters: mail domains need not be in the form used by
 * DNS. */
static bool is_wide_domain(struct ch_sv s) {
    for (struct ch_sv rest = s; rest.p;) {
        struct ch_sv label = ch_sv_split(&rest, '.');
        for (size_t i = 0; i < label.n; i++)
            if (!schema_format_is_alpha(label.p[i]) && !schema_format_is_digit(label.p[i]) &&
                !(label.p[i] & 0x80) && label.p[i] != '-')
                return false;
        if (label.n == 0 || label.p[0] == '-' || label.p[label.n - 1] == '-')
            return false;
    }
    return true;
}

static bool is_mail_domain(struct ch_sv s, bool wide, struct ch_patterns *room) {
    if (s.n < 2 || s.p[0] != '[' || s.p[s.n - 1] != ']')
        return ch_format_hostname(s, room) || (wide && is_wide_domain(s));
    struct ch_sv literal = ch_sv(s.p + 1, s.n - 2);
    if (ch_sv_starts(literal, "IPv6:"))
        return ch_format_ipv6(ch_sv(literal.p + 5, literal.n - 5));
    return is_ipv4_address(literal);
}

static bool is_mailbox(struct ch_sv s, bool wide, struct ch_patterns *room) {
    const char *at = memrchr(s.p, '@', s.n);
    if (!at)
        return false;
    struct ch_sv local = ch_sv(s.p, (size_t)(at - s.p));
    struct ch_sv domain = ch_sv(at + 1, s.n - local.n - 1);
    if (local.n == 0 || local.n > 64)
        return false;
    return (is_dot_string(local, wide) || is_quoted_string(local, wide)) &&
           is_mail_domain(domain, wide, room);
}

static bool is_email(struct ch_sv s, struct ch_patterns *room) {
    return is_mailbox(s, false, room);
}

static bool is_idn_email(struct ch_sv s, struct ch_patterns *room) {
    return is_mailbox(s, true, room);
}

/* --- identifiers ------------------------------------------------------------------ */

static bool schema_format_is_uuid(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !schema_format_is_hex(s.p[i]))
            return false;
    }
    return s.n == 36;
}

static bool is_json_pointer(struct ch_sv s, struct ch_patterns *room) {
    (void)room;
    if (s.n && s.p[0] != '/')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1')))
            return false;
    return true;
}

static bool is_relative_json_pointer(struct ch_sv s, struct ch_patterns *room) {
    bool zero = s.n && s.p[0] == '0';
    size_t digits = eat_digits(&s);
    if (digits == 0 || (zero && digits > 1))
        return false;
    return schema_format_eat(&s, '#') ? s.n == 0 : is_json_pointer(s, room);
}

static bool is_regex(struct ch_sv s, struct ch_patterns *room) {
    CH_BUF_AUTO out = {0};
    (void)room;
    return ch_ecma_translate(s, &out, NULL) == NULL;
}

/* --- the table --------------------------------------------------------------------- */

static const struct ch_format formats[] = {
    {"date-time", is_date_time, "2026-01-31T12:00:00Z"},
    {"date", is_date, "2026-01-31"},
    {"time", is_time, "12:00:00Z"},
    {"duration", is_duration, "P1DT12H"},
    {"email", is_email, "ada@example.com"},
    {"idn-email", is_idn_email, "ada@example.com"},
    {"hostname", ch_format_hostname, "www.example.com"},
    {"idn-hostname", ch_format_idn_hostname, "www.example.com"},
    {"ipv4", is_ipv4, "192.0.2.1"},
    {"ipv6", is_ipv6, "2001:db8::1"},
    {"uri", ch_format_uri, "https://example.com/path"},
    {"uri-reference", ch_format_uri_reference, "/path?query"},
    {"iri", ch_format_iri, "https://example.com/path"},
    {"iri-reference", ch_format_iri_reference, "/path?query"},
    {"uri-template", ch_format_uri_template, "/items/{id}"},
    {"uuid", schema_format_is_uuid, "2eb8aa08-aa98-11ea-b4aa-73b441d16380"},
    {"json-pointer", is_json_pointer, "/items/0/name"},
    {"relative-json-pointer", is_relative_json_pointer, "1/name"},
    {"regex", is_regex, "^[a-z]+$"},
};

const struct ch_format *ch_format_find(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(formats); i++)
        if (ch_sv_is(name, formats[i].name))
            return &formats[i];
    return NULL;
}
