/* findings.c -- see findings.h. */
#include "model/codec/findings.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/writer.h"

static const struct ch_citation *citations_of(const struct ch_findings *f, size_t *n) {
    *n = f->citations.n / sizeof(struct ch_citation);
    return (const struct ch_citation *)(const void *)f->citations.p;
}

size_t ch_findings_ncalls(const struct ch_findings *f) {
    return f->calls.n / sizeof(struct ch_server_call);
}

static struct ch_server_call *server_calls(struct ch_findings *f) {
    return (struct ch_server_call *)(void *)f->calls.p;
}

const struct ch_server_call *ch_findings_call_at(const struct ch_findings *f, size_t i) {
    return (const struct ch_server_call *)(const void *)f->calls.p + i;
}

void ch_findings_release(struct ch_findings *f) {
    ch_arena_release(&f->arena);
    ch_buf_release(&f->citations);
    ch_buf_release(&f->calls);
}

/* --- adding */

static struct ch_sv findings_copy(struct ch_findings *f, struct ch_sv s, size_t max) {
    return s.n ? ch_arena_sv(&f->arena, ch_utf8_cut(s, max)) : CH_SV("");
}

static bool is_repeated(const struct ch_findings *f, const struct ch_citation *c) {
    size_t n;
    const struct ch_citation *list = citations_of(f, &n);
    for (size_t i = 0; i < n; i++)
        if (list[i].start == c->start && list[i].end == c->end && ch_sv_eq(list[i].url, c->url) &&
            ch_sv_eq(list[i].title, c->title) && ch_sv_eq(list[i].text, c->text) &&
            ch_sv_eq(list[i].file, c->file))
            return true;
    return false;
}

void ch_findings_cite(struct ch_findings *f, const struct ch_citation *c) {
    size_t n;
    citations_of(f, &n);
    if (n >= CH_LIMIT_CITATIONS || (!c->url.n && !c->title.n && !c->text.n && !c->file.n))
        return;
    struct ch_citation copy = {.url = findings_copy(f, c->url, CH_LIMIT_URL),
                               .title = findings_copy(f, c->title, CH_LIMIT_CITED_TEXT),
                               .text = findings_copy(f, c->text, CH_LIMIT_CITED_TEXT),
                               .file = findings_copy(f, c->file, CH_LIMIT_CITED_TEXT),
                               .start = c->end > c->start && c->start >= 0 ? c->start : 0,
                               .end = c->end > c->start && c->start >= 0 ? c->end : 0};
    if (!is_repeated(f, &copy))
        ch_buf_add(&f->citations, &copy, sizeof(copy));
}

static struct ch_server_call *find_server_call(struct ch_findings *f, struct ch_sv id) {
    size_t n = ch_findings_ncalls(f);
    for (size_t i = n; i-- > 0;)
        if (!id.n || ch_sv_eq(server_calls(f)[i].id, id))
            return &server_calls(f)[i];
    return NULL;
}

void ch_findings_call_json(struct ch_findings *f, struct ch_sv id, struct ch_sv name,
                           struct ch_sv arguments) {
    struct ch_server_call *known = id.n ? find_server_call(f, id) : NULL;
    bool fits = arguments.n && arguments.n <= CH_LIMIT_SERVER_RESULT;
    struct ch_server_call call = {
        .id = findings_copy(f, id, CH_LIMIT_CALL_ID),
        .name = findings_copy(f, name, CH_LIMIT_TOOL_NAME),
        .arguments = fits ? ch_arena_sv(&f->arena, arguments) : CH_SV("{}")};
    if (known)
        *known = call;
    else if (ch_findings_ncalls(f) < CH_LIMIT_CALLS_PER_REPLY)
        ch_buf_add(&f->calls, &call, sizeof(call));
}

void ch_findings_call(struct ch_findings *f, struct ch_sv id, struct ch_sv name,
                      const struct ch_json *arguments) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    if (ch_json_is(arguments, CH_JSON_OBJECT))
        ch_jw_value(&w, arguments);
    ch_findings_call_json(f, id, name, ch_buf_sv(&json));
}

void ch_findings_result_text(struct ch_findings *f, struct ch_sv id, struct ch_sv text) {
    struct ch_server_call *call = find_server_call(f, id);
    if (call)
        call->result = findings_copy(f, text, CH_LIMIT_SERVER_RESULT);
}

void ch_findings_result(struct ch_findings *f, struct ch_sv id, const struct ch_json *result) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    if (!result || result->type == CH_JSON_NULL)
        return;
    if (result->type != CH_JSON_STRING)
        ch_jw_value(&w, result);
    ch_findings_result_text(f, id, json.n ? ch_buf_sv(&json) : ch_json_str(result));
}

/* --- positions */

int64_t ch_findings_chars(struct ch_sv s) {
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

int64_t ch_findings_position(const struct ch_findings *f, int64_t at) {
    int64_t chars = 0;
    if (at > CH_LIMIT_CITED_REPLY)
        return 0;
    for (uint32_t i = 0; i < f->msg->nblocks && at > 0; i++) {
        const struct ch_block *b = &f->msg->blocks[i];
        if (b->type != CH_BLOCK_TEXT)
            continue;
        chars += ch_findings_chars(ch_sv(b->text.p, CH_MIN(b->text.n, (size_t)at)));
        at -= (int64_t)b->text.n;
    }
    return chars;
}

/* --- writing */

static void findings_optional(struct ch_jw *w, const char *key, struct ch_sv s) {
    if (s.n)
        ch_jw_kstr(w, key, s);
}

void ch_findings_write(const struct ch_findings *f, struct ch_buf *out) {
    size_t n;
    const struct ch_citation *list = citations_of(f, &n);
    struct ch_jw w = ch_jw(out);
    if (!n)
        return;
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < n; i++) {
        ch_jw_begin(&w, '{');
        findings_optional(&w, "url", list[i].url);
        findings_optional(&w, "title", list[i].title);
        findings_optional(&w, "text", list[i].text);
        findings_optional(&w, "file", list[i].file);
        if (list[i].end) {
            ch_jw_kint(&w, "start", list[i].start);
            ch_jw_kint(&w, "end", list[i].end);
        }
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
}
