/* git_config.c -- judges a Git configuration file, see repositories.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "guard/repositories.h"
#include "guard/repositories_private.h"

/* Settings that make Git run nothing and read no other file. A section with a dot at its end
 * has a name: [remote "origin"]. */
static const struct {
    const char *section, *keys; /* separated by blanks */
} plain[] = {
    {"core", "repositoryformatversion filemode bare logallrefupdates ignorecase symlinks "
             "precomposeunicode autocrlf eol safecrlf abbrev quotepath compression longpaths "
             "protecthfs protectntfs trustctime checkstat sharedrepository commentchar"},
    {"user", "name email useconfigonly"},
    {"author", "name email"},
    {"committer", "name email"},
    {"init", "defaultbranch"},
    {"extensions", "objectformat refstorage worktreeconfig compatobjectformat"},
    {"remote.", "url fetch push pushurl tagopt prune mirror"},
    {"branch.", "remote merge rebase description pushremote"},
    {"submodule.", "url active branch"},
    {"submodule", "active recurse"},
    {"push", "default autosetupremote followtags"},
    {"pull", "rebase ff"},
    {"fetch", "prune"},
    {"merge", "ff conflictstyle"},
    {"rebase", "autostash autosquash"},
    {"status", "short branch showuntrackedfiles"},
    {"color", "ui"},
    {"gc", "auto autodetach"},
    {"advice", "detachedhead"},
    {"index", "version"},
    {"feature", "manyfiles"},
};

static bool is_plain_key(struct ch_sv section, struct ch_sv key) {
    for (size_t i = 0; i < CH_LEN(plain); i++) {
        struct ch_sv rest = ch_sv_str(plain[i].keys);
        if (!ch_sv_eq_nocase(section, ch_sv_str(plain[i].section)))
            continue;
        while (rest.n)
            if (ch_sv_eq_nocase(ch_sv_split(&rest, ' '), key))
                return true;
    }
    return false;
}

/* "[core]" or "[remote \"x\"]": the section, with a dot if it has a name; p NULL: neither. */
static struct ch_sv read_section(struct ch_sv line, char out[32]) {
    if (line.n < 2)
        return ch_sv(NULL, 0);
    struct ch_sv inner = ch_sv(line.p + 1, line.n - 2);
    struct ch_sv word = ch_sv_split(&inner, ' ');
    bool named = inner.p != NULL;

    inner = ch_sv_trim(inner);
    if (word.n > 30 || line.p[line.n - 1] != ']')
        return ch_sv(NULL, 0);
    for (size_t i = 0; i < word.n; i++) /* "[core]\tfsmonitor=x]" is no name */
        if (!isalnum((unsigned char)word.p[i]) && word.p[i] != '-')
            return ch_sv(NULL, 0);
    if (named && (inner.n < 2 || inner.p[0] != '"' || inner.p[inner.n - 1] != '"' ||
                  memchr(inner.p + 1, '"', inner.n - 2) || memchr(inner.p, '\\', inner.n) ||
                  memchr(inner.p, ']', inner.n)))
        return ch_sv(NULL, 0);
    int n = snprintf(out, 32, "%.*s%s", CH_SV_FMT(word), named ? "." : "");
    return ch_sv(out, (size_t)n);
}

/* A value that is a word of text; a transport helper ("ext::sh -c ...") or an option is not. */
static bool is_plain_value(struct ch_sv value) {
    value = ch_sv_trim(value);
    return !(value.n && (value.p[0] == '-' || value.p[value.n - 1] == '\\')) &&
           !(value.n && memchr(value.p, '"', value.n)) && !ch_sv_contains_nocase(value, "::");
}

bool ch_git_config_is_plain(struct ch_sv text, struct ch_buf *why) {
    char buffer[32];
    struct ch_sv section = ch_sv(NULL, 0);

    ch_buf_add_str(why, "unusual text");
    if (text.n > CH_GUARD_FILE_MAX || (text.n && memchr(text.p, '\0', text.n)))
        return false;
    while (text.n) {
        struct ch_sv value = ch_sv_trim(ch_sv_split(&text, '\n'));
        if (!value.n || value.p[0] == '#' || value.p[0] == ';')
            continue;
        if (value.p[0] == '[') {
            section = read_section(value, buffer);
            if (!section.p)
                return false;
            continue;
        }
        struct ch_sv key = ch_sv_trim(ch_sv_split(&value, '='));
        if (section.p && is_plain_key(section, key) && is_plain_value(value))
            continue;
        ch_buf_clear(why);
        ch_buf_addf(why, "%.*s%s%.*s", CH_SV_FMT(section),
                    section.n && section.p[section.n - 1] == '.' ? "" : ".",
                    (int)CH_MIN(key.n, (size_t)60), key.p);
        return false;
    }
    ch_buf_clear(why);
    return true;
}
