/* fuzz_git_config.c -- any bytes as the configuration of a repository that a command made.
 *
 * A second reader, written after Git's own, lists the settings of the text. If the text is
 * called plain, none of these settings names a command, another file or a transport. Where
 * Git would give up, it runs nothing. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

#include "guard/repositories.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

struct reader {
    const uint8_t *p, *end;
    bool over;
    struct ch_buf name, value;
    size_t base;
};

static bool is_blank(int c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int next(struct reader *r) {
    if (r->p == r->end) {
        r->over = true;
        return '\n';
    }
    if (r->p[0] == '\r' && r->end - r->p > 1 && r->p[1] == '\n')
        r->p++;
    return *r->p++;
}

static bool is_key(int c) {
    return isalnum(c) || c == '-';
}

static bool read_name(struct reader *r) {
    int c = next(r);
    while (is_blank(c) && c != '\n')
        c = next(r);
    if (c != '"')
        return false;
    ch_buf_addc(&r->name, '.');
    for (;;) {
        c = next(r);
        if (c == '\n')
            return false;
        if (c == '"')
            return next(r) == ']';
        if (c == '\\' && (c = next(r)) == '\n')
            return false;
        ch_buf_addc(&r->name, (char)c);
    }
}

static bool read_section(struct reader *r) {
    ch_buf_clear(&r->name);
    for (;;) {
        int c = next(r);
        if (r->over)
            return false;
        if (c == ']')
            return true;
        if (is_blank(c)) {
            r->p -= c != '\n';
            return c != '\n' && read_name(r);
        }
        if (!is_key(c) && c != '.')
            return false;
        ch_buf_addc(&r->name, (char)tolower(c));
    }
}

static bool read_value(struct reader *r) {
    bool quote = false, comment = false;
    for (;;) {
        int c = next(r);
        if (c == '\n')
            return !quote;
        if (comment)
            continue;
        if (!quote && (c == ';' || c == '#')) {
            comment = true;
        } else if (c == '\\') {
            c = next(r);
            if (c == '\n')
                continue;
            if (!memchr("tbn\\\"", c, 5))
                return false;
            ch_buf_addc(&r->value, (char)c);
        } else if (c == '"') {
            quote = !quote;
        } else if (r->value.n || !is_blank(c)) {
            ch_buf_addc(&r->value, (char)c);
        }
    }
}

static bool read_setting(struct reader *r, int c) {
    r->name.n = r->base;
    ch_buf_clear(&r->value);
    for (; is_key(c) && !r->over; c = next(r))
        ch_buf_addc(&r->name, (char)tolower(c));
    while (c == ' ' || c == '\t')
        c = next(r);
    return c == '\n' || (c == '=' && read_value(r));
}

static void check(const struct reader *r) {
    static const char *const dangerous[] = {
        "fsmonitor", "sshcommand", "hookspath",    "pager",           "editor",     "textconv",
        "clean",     "smudge",     "process",      "external",        "driver",     "command",
        "helper",    "path",       "program",      "worktree",        "askpass",    "gitproxy",
        "cmd",       "update",     "templatedir",  "packobjectshook", "difffilter", "vcs",
        "allow",     "uploadpack", "receivepack",  "proxy",           "insteadof",  "partialclone",
        "promisor",  "status",     "attributesfile"};
    const char *name = ch_buf_str((struct ch_buf *)&r->name), *dot = strrchr(name, '.');
    const char *value = ch_buf_str((struct ch_buf *)&r->value);
    for (size_t i = 0; dot && i < CH_LEN(dangerous); i++)
        if (strcmp(dot + 1, dangerous[i]) == 0)
            abort();
    if (dot && strcmp(dot + 1, "url") == 0 && (strstr(value, "::") || value[0] == '-'))
        abort();
}

static void list(struct reader *r) {
    bool comment = false;
    while (!r->over) {
        int c = next(r);
        if (c == '\n')
            comment = false;
        if (comment || is_blank(c))
            continue;
        if (c == '#' || c == ';') {
            comment = true;
        } else if (c == '[') {
            if (!read_section(r))
                return;
            ch_buf_addc(&r->name, '.');
            r->base = r->name.n;
        } else if (isalpha(c) && read_setting(r, c)) {
            check(r);
        } else {
            return;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_BUF_AUTO why = {0};
    if (!ch_git_config_is_plain(ch_sv((const char *)p, n), &why)) {
        if (!why.n)
            abort();
        return 0;
    }
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3, n -= 3;
    struct reader r = {.p = p, .end = p + n};
    list(&r);
    ch_buf_release(&r.name);
    ch_buf_release(&r.value);
    return 0;
}
