/* fuzz_gitignore.c -- any rules, any path.
 *
 * Input: rules, a byte 0x01, a path. Whatever the rules say, one more rule at
 * the end that names the path exactly decides, "!" before it too; a comment
 * decides nothing; braces in the path's pattern stand for themselves. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "tool/builtin/files/gitignore.h"
#include "tool/builtin/files/glob.h"

static enum ch_ignored ask(struct ch_sv rules, const char *more, struct ch_sv path) {
    CH_BUF_AUTO text = {0};

    ch_buf_add_sv(&text, rules);
    ch_buf_add_str(&text, more);
    CH_AUTO(ch_ignore) ig = ch_ignore_new(ch_buf_sv(&text));
    ch_ignore_ask(ig, path, true);
    return ch_ignore_cut(ig) ? CH_IGNORE_SILENT : ch_ignore_ask(ig, path, false);
}

/* "/a\*b": the path and nothing else. */
static void add_exactly(struct ch_buf *out, struct ch_sv path) {
    ch_buf_addc(out, '/');
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] != '/')
            ch_buf_addc(out, '\\');
        ch_buf_addc(out, path.p[i]);
    }
    ch_buf_addc(out, '\n');
}

static bool is_tidy(struct ch_sv path) {
    if (path.n == 0 || path.n > 200 || path.p[0] == '/' || path.p[path.n - 1] == '/')
        return false;
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.p[i] < 0x20 || (unsigned char)path.p[i] >= 0x7f ||
            (path.p[i] == '/' && path.p[i + 1] == '/'))
            return false;
    return true;
}

static void check_exact(struct ch_sv rules, struct ch_sv path) {
    CH_BUF_AUTO yes = {0}, no = {0};
    size_t lines = 0;

    for (size_t i = 0; i < rules.n; i++)
        lines += rules.p[i] == '\n';
    if (lines >= CH_LIMIT_IGNORE_RULES)
        return;
    ch_buf_addc(&yes, '\n');
    add_exactly(&yes, path);
    ch_buf_add_str(&no, "\n!");
    add_exactly(&no, path);
    if (ask(rules, ch_buf_str(&yes), path) != CH_IGNORE_YES)
        abort();
    if (ask(rules, ch_buf_str(&no), path) != CH_IGNORE_NO)
        abort();
    if (ask(rules, "\n# x\n\n", path) != ask(rules, "", path))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ch_sv rest = ch_sv((const char *)data, size);
    struct ch_sv rules = ch_sv_split(&rest, 1);
    struct ch_sv path = rest.p ? rest : CH_SV("a");
    CH_ARENA_AUTO arena = {0};
    struct ch_globs globs;

    if (size > 20000)
        return 0;
    ask(rules, "", path);
    if (is_tidy(path))
        check_exact(rules, path);
    if (ch_globs_read(&globs, &arena, rules) == 0)
        ch_globs_match(&globs, path);
    return 0;
}
