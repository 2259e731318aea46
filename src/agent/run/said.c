/* said.c -- see said.h. */
#include "agent/run/said.h"

#include "agent/handle/run.h"
#include "agent/run/parent.h"
#include "base/chars.h"
#include "json/json.h"
#include "net/join.h"

#define MOST_PAGES 8 /* pages that lead from one to the next */

/* --- an address in a text ---------------------------------------------------------------- */

/* Characters of an address; those at its end that usually belong to the sentence. */
static bool is_part(char c) {
    return ch_char_is(c, CH_CHAR_VISIBLE) && !strchr("<>\"'`()[]{}|\\^", c);
}

static bool ends_here(struct ch_sv rest) {
    size_t n = 0;

    while (n < rest.n && memchr(".,;:!?*", rest.p[n], 7))
        n++;
    return n == rest.n || !is_part(rest.p[n]);
}

/* An address may begin after its scheme, and where no other address goes on. */
static bool begins_here(struct ch_sv before, bool tls) {
    if (ch_sv_ends(before, tls ? "https://" : "http://"))
        return true;
    return !before.n || !is_part(before.p[before.n - 1]) ||
           memchr(",;*", before.p[before.n - 1], 3);
}

/* The address without its scheme, and without what an address may leave out at its end. */
static struct ch_sv said_core(struct ch_sv url, bool *tls) {
    struct ch_sv rest = url;

    *tls = ch_sv_starts(url, "https://");
    rest = ch_sv(url.p + (*tls ? 8 : 7), url.n - (*tls ? 8 : 7));
    const char *hash = memchr(rest.p, '#', rest.n);
    rest.n = hash ? (size_t)(hash - rest.p) : rest.n;
    while (rest.n && rest.p[rest.n - 1] == '/')
        rest.n--;
    return rest;
}

bool ch_said_in(struct ch_sv text, struct ch_sv url) {
    bool tls;

    if (!ch_sv_starts(url, "https://") && !ch_sv_starts(url, "http://"))
        return false;
    struct ch_sv core = said_core(url, &tls);
    for (const char *at = text.p; core.n && text.n && at;) {
        size_t left = text.n - (size_t)(at - text.p);
        at = memmem(at, left, core.p, core.n);
        if (!at)
            return false;
        struct ch_sv after = ch_sv(at + core.n, text.n - (size_t)(at + core.n - text.p));
        if (after.n && after.p[0] == '/')
            after = ch_sv(after.p + 1, after.n - 1);
        if (begins_here(ch_sv(text.p, (size_t)(at - text.p)), tls) && ends_here(after))
            return true;
        at++;
    }
    return false;
}

/* --- who said it --------------------------------------------------------------------------- */

static bool in_words(const struct ch_msg *m, struct ch_sv url) {
    for (uint32_t i = 0; i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TEXT && ch_said_in(m->blocks[i].text, url))
            return true;
    return false;
}

static bool by_person(const chela_session *s, struct ch_sv url) {
    for (size_t i = 0; i < s->transcript.n; i++)
        if (s->transcript.msgs[i]->kind == CH_MSG_USER && in_words(s->transcript.msgs[i], url))
            return true;
    return false;
}

/* The texts among the arguments of the call whose result this is, in the message before. */
static bool arguments_of(const chela_session *s, size_t at, struct ch_sv id, struct ch_buf *out) {
    const struct ch_msg *m = at ? s->transcript.msgs[at - 1] : NULL;

    for (uint32_t i = 0; m && i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        const struct ch_json *args;
        CH_ARENA_AUTO arena = {0};
        if (b->type != CH_BLOCK_TOOL_CALL || !ch_sv_eq(b->id, id) ||
            ch_json_parse(&arena, b->text, CH_JSON_STRICT, &args, NULL, NULL) < 0)
            continue;
        for (CH_JSON_MEMBERS(key, value, args)) {
            (void)key;
            ch_buf_add_sv(out, ch_json_str(value));
            ch_buf_addc(out, '\n');
        }
        return true;
    }
    return false;
}

static bool said_before(const chela_session *root, const chela_session *s, size_t before,
                        struct ch_sv url, unsigned pages);

/* One of the arguments is the address of the page; nothing else in them is an address. */
static bool page_was_said(const chela_session *root, const chela_session *s, size_t before,
                          struct ch_sv arguments, unsigned pages) {
    while (arguments.n) {
        struct ch_sv line = ch_sv_split(&arguments, '\n');
        CH_BUF_AUTO page = {0};
        ch_url_join(&page, CH_SV(""), line);
        if (ch_sv_starts(ch_buf_sv(&page), "http"))
            return said_before(root, s, before, ch_buf_sv(&page), pages);
    }
    return false;
}

/* Does this result name the address, and may it? */
static bool result_names(const chela_session *root, const chela_session *s, size_t at,
                         const struct ch_block *b, struct ch_sv url, unsigned pages) {
    CH_BUF_AUTO given = {0};
    bool search = ch_sv_is(b->name, "web_search");

    if (b->type != CH_BLOCK_TOOL_RESULT || b->flags & CH_F_UNDONE ||
        (!search && !ch_sv_is(b->name, "web_fetch")) || !ch_said_in(b->text, url) ||
        !arguments_of(s, at, b->id, &given) || ch_said_in(ch_buf_sv(&given), url))
        return false;
    return search || (pages && page_was_said(root, s, at, ch_buf_sv(&given), pages - 1));
}

static bool said_before(const chela_session *root, const chela_session *s, size_t before,
                        struct ch_sv url, unsigned pages) {
    if (by_person(root, url))
        return true;
    for (size_t i = before; i-- > 0;) {
        const struct ch_msg *m = s->transcript.msgs[i];
        for (uint32_t k = 0; m->kind == CH_MSG_RESULTS && k < m->nblocks; k++)
            if (result_names(root, s, i, &m->blocks[k], url, pages))
                return true;
    }
    return false;
}

bool ch_said(const chela_run *run, struct ch_sv url) {
    const chela_session *s = run->session;

    return said_before(ch_parent_root(run), s, s->transcript.n, url, MOST_PAGES);
}
