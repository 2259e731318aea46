/* tape.c -- see tape.h. Trees are walked in node order, so that a model's
 * output never drives recursion. */
#include "net/tape.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "net/eventstream.h"
#include "json/writer.h"

#define SHOWN 60 /* bytes shown of a value that differs */

/* --- placeholders */

void ch_tape_words_add(struct ch_tape_words *w, const char *text, const char *word) {
    if (w->n == CH_LEN(w->list) || strlen(text) < 2)
        return;
    w->list[w->n].text = ch_strdup(text);
    w->list[w->n++].word = ch_strdup(word);
}

void ch_tape_words_release(struct ch_tape_words *w) {
    for (size_t i = 0; i < w->n; i++) {
        ch_free(w->list[i].text);
        ch_free(w->list[i].word);
    }
    w->n = 0;
}

static void tape_replace(struct ch_sv text, const char *from, const char *to, struct ch_buf *out) {
    size_t n = strlen(from);
    const char *at;
    while (text.n && (at = memmem(text.p, text.n, from, n))) {
        ch_buf_add(out, text.p, (size_t)(at - text.p));
        ch_buf_add_str(out, to);
        text = ch_sv(at + n, text.n - (size_t)(at - text.p) - n);
    }
    ch_buf_add_sv(out, text);
}

static void replace_all(const struct ch_tape_words *w, bool hide, struct ch_sv text,
                        struct ch_buf *out) {
    CH_BUF_AUTO now = {0};
    CH_BUF_AUTO next = {0};
    ch_buf_add_sv(&now, text);
    for (size_t i = 0; i < w->n; i++) {
        ch_buf_clear(&next);
        tape_replace(ch_buf_sv(&now), hide ? w->list[i].text : w->list[i].word,
                     hide ? w->list[i].word : w->list[i].text, &next);
        struct ch_buf swap = now;
        now = next;
        next = swap;
    }
    ch_buf_add_sv(out, ch_buf_sv(&now));
}

void ch_tape_hide(const struct ch_tape_words *w, struct ch_sv text, struct ch_buf *out) {
    replace_all(w, true, text, out);
}

void ch_tape_show(const struct ch_tape_words *w, struct ch_sv text, struct ch_buf *out) {
    replace_all(w, false, text, out);
}

/* --- secrets */

static bool tape_is_one_of(struct ch_sv name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ch_sv_eq_nocase(name, ch_sv_str(names[i])))
            return true;
    return false;
}

static bool is_secret_name(struct ch_sv name) {
    static const char *const names[] = {
        "authorization",
        "proxy-authorization",
        "cookie",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "api_key",
        "apikey",
        "key",
        "token",
        "access_token",
        "refresh_token",
        "secret",
        "client_secret",
        "password",
        "signature",
        "sig",
        "x-amz-signature",
        "x-amz-credential",
        "x-amz-security-token",
    };
    return tape_is_one_of(name, names, CH_LEN(names));
}

/* Append a URL such as "https://user:pw@host/path?key=..&a=b" without password
 * and key. */
static void scrub_url(const char *url, struct ch_buf *out) {
    struct ch_sv query = ch_sv_str(url);
    struct ch_sv base = ch_sv_split(&query, '?');
    const char *host = memmem(base.p, base.n, "://", 3);
    const char *at = host ? memrchr(host + 3, '@', strcspn(host + 3, "/?#")) : NULL;
    if (at) {
        ch_buf_addf(out, "%.*s***", (int)(host + 3 - base.p), base.p);
        base = ch_sv(at, base.n - (size_t)(at - base.p));
    }
    ch_redact_copy(out, base);
    for (char gap = '?'; query.n; gap = '&') {
        struct ch_sv value = ch_sv_split(&query, '&');
        struct ch_sv name = ch_sv_split(&value, '=');
        ch_buf_addc(out, gap);
        ch_buf_add_sv(out, name);
        if (value.p)
            ch_buf_addc(out, '=');
        if (value.p && is_secret_name(name))
            ch_buf_add_str(out, "***");
        else if (value.p)
            ch_redact_copy(out, value);
    }
}

/* --- requests */

static void mask_members(struct ch_json *object) {
    for (CH_JSON_MEMBERS(k, v, object)) {
        if (v->type != CH_JSON_STRING || !is_secret_name(ch_json_str(k)))
            continue;
        struct ch_json *value = object + (v - object);
        value->s = "***";
        value->n = 3;
    }
}

static void clean_string(const struct ch_tape_words *w, struct ch_arena *a, struct ch_json *v) {
    CH_BUF_AUTO hidden = {0};
    CH_BUF_AUTO clean = {0};
    ch_tape_hide(w, ch_json_str(v), &hidden);
    ch_redact_copy(&clean, ch_buf_sv(&hidden));
    struct ch_sv s = ch_arena_sv(a, ch_buf_sv(&clean));
    v->s = s.p;
    v->n = (uint32_t)s.n;
    v->flags = 0;
}

/* The tree is a private copy in its own arena, so it may be changed. */
static void clean_tree(const struct ch_tape_words *w, struct ch_arena *a, const struct ch_json *v) {
    struct ch_json *nodes = (struct ch_json *)v;
    size_t n = v->type >= CH_JSON_ARRAY ? v->nodes : 1;
    for (size_t i = 0; i < n; i++) {
        if (nodes[i].type == CH_JSON_OBJECT)
            mask_members(&nodes[i]);
        else if (nodes[i].type == CH_JSON_STRING)
            clean_string(w, a, &nodes[i]);
    }
}

static void write_request_body(const struct ch_tape_words *w, const struct ch_http_request *req,
                               struct ch_jw *out) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO body = {0};
    CH_BUF_AUTO hidden = {0};
    CH_BUF_AUTO clean = {0};
    const struct ch_json *v;
    for (size_t i = 0; i < req->nbody; i++)
        ch_buf_add_sv(&body, req->body[i]);
    ch_jw_key(out, "body");
    if (ch_json_parse(&arena, ch_buf_sv(&body), CH_JSON_STRICT, &v, NULL, NULL) == 0) {
        clean_tree(w, &arena, v);
        ch_jw_value(out, v);
        return;
    }
    ch_tape_hide(w, ch_buf_sv(&body), &hidden);
    ch_redact_copy(&clean, ch_buf_sv(&hidden));
    ch_jw_str(out, ch_buf_sv(&clean));
}

void ch_tape_request(const struct ch_tape_words *w, const struct ch_http_request *req,
                     struct ch_buf *out) {
    CH_BUF_AUTO url = {0};
    struct ch_jw jw = ch_jw(out);
    scrub_url(req->url, &url);
    ch_jw_begin(&jw, '{');
    ch_jw_kcstr(&jw, "method", req->method);
    ch_jw_kstr(&jw, "url", ch_buf_sv(&url));
    ch_jw_kbegin(&jw, "headers", '{');
    for (size_t i = 0; i < req->nheaders; i++) {
        CH_BUF_AUTO value = {0};
        ch_redact_copy(&value, req->headers[i].value);
        ch_jw_key_sv(&jw, req->headers[i].name);
        ch_jw_str(&jw, is_secret_name(req->headers[i].name) ? CH_SV("***") : ch_buf_sv(&value));
    }
    ch_jw_end(&jw, '}');
    write_request_body(w, req, &jw);
    ch_jw_end(&jw, '}');
}

/* --- answers */

static bool tape_is_kept(struct ch_sv name) {
    static const char *const names[] = {"content-type",   "date",           "retry-after",
                                        "retry-after-ms", "x-should-retry", "x-amzn-errortype"};
    return tape_is_one_of(name, names, CH_LEN(names)) || ch_sv_starts(name, "x-ratelimit-") ||
           ch_sv_starts(name, "anthropic-ratelimit-");
}

void ch_tape_headers(const struct ch_http_head *head, struct ch_buf *out) {
    struct ch_jw jw = ch_jw(out);
    ch_jw_begin(&jw, '{');
    for (size_t i = 0; i < head->nheaders; i++) {
        CH_BUF_AUTO value = {0};
        if (!tape_is_kept(head->headers[i].name))
            continue;
        ch_redact_copy(&value, head->headers[i].value);
        ch_jw_key_sv(&jw, head->headers[i].name);
        ch_jw_str(&jw, ch_buf_sv(&value));
    }
    ch_jw_end(&jw, '}');
}

/* Write each event as one text, including the blank line that ends it. */
static void tape_write_events(struct ch_sv text, struct ch_jw *jw) {
    ch_jw_begin(jw, '[');
    while (text.n) {
        const char *gap = memmem(text.p, text.n, "\n\n", 2);
        size_t n = gap ? (size_t)(gap - text.p) + 2 : text.n;
        ch_jw_str(jw, ch_sv(text.p, n));
        text = ch_sv(text.p + n, text.n - n);
    }
    ch_jw_end(jw, ']');
}

static void mask(struct ch_sv text, struct ch_buf *out, void *words) {
    CH_BUF_AUTO hidden = {0};
    ch_tape_hide(words, text, &hidden);
    ch_redact_known(out, ch_buf_sv(&hidden));
}

static void tape_unmask(struct ch_sv text, struct ch_buf *out, void *words) {
    ch_tape_show(words, text, out);
}

/* The rest of a stream after a truncated or damaged message. Its sizes cannot
 * be corrected: if text in it must be replaced, the rest ends there. */
static void change_rest(struct ch_sv rest, ch_es_payload_fn *fn, void *words, struct ch_buf *out) {
    CH_BUF_AUTO changed = {0};
    fn(rest, &changed, words);
    size_t n = 0;
    while (n < rest.n && n < changed.n && rest.p[n] == changed.p[n])
        n++;
    ch_buf_add(out, rest.p, n);
}

static void change_bytes(const struct ch_tape_words *w, struct ch_sv bytes, ch_es_payload_fn *fn,
                         struct ch_buf *out) {
    void *words = (void *)w;
    size_t n = ch_eventstream_rewrite(bytes, fn, words, out);
    if (n)
        change_rest(ch_sv(bytes.p + n, bytes.n - n), fn, words, out);
    else
        fn(bytes, out, words);
}

void ch_tape_hide_bytes(const struct ch_tape_words *w, struct ch_sv bytes, struct ch_buf *out) {
    change_bytes(w, bytes, mask, out);
}

void ch_tape_show_bytes(const struct ch_tape_words *w, struct ch_sv bytes, struct ch_buf *out) {
    change_bytes(w, bytes, tape_unmask, out);
}

/* AWS event streams are binary: their sizes and checksums may look like text by chance, so
 * the headers decide. */
static bool is_eventstream(struct ch_sv headers) {
    return memmem(headers.p, headers.n, "amazon.eventstream", 18) != NULL;
}

void ch_tape_response(const struct ch_tape_words *w, int status, struct ch_sv headers,
                      struct ch_sv body, struct ch_buf *out) {
    CH_BUF_AUTO hidden = {0};
    CH_BUF_AUTO clean = {0};
    struct ch_jw jw = ch_jw(out);
    ch_jw_begin(&jw, '{');
    ch_jw_kint(&jw, "status", status);
    ch_jw_kraw(&jw, "headers", headers);
    ch_jw_key(&jw, "body");
    if (ch_utf8_valid(body) && !is_eventstream(headers)) {
        mask(body, &hidden, (void *)w);
        tape_write_events(ch_buf_sv(&hidden), &jw);
    } else {
        ch_tape_hide_bytes(w, body, &hidden);
        ch_base64_add(&clean, ch_buf_sv(&hidden));
        ch_jw_begin(&jw, '{');
        ch_jw_kstr(&jw, "base64", ch_buf_sv(&clean));
        ch_jw_end(&jw, '}');
    }
    ch_jw_end(&jw, '}');
}

/* --- comparing */

static bool is_same_node(const struct ch_json *a, const struct ch_json *b) {
    if (a->type != b->type || a->n != b->n)
        return false;
    return a->type < CH_JSON_NUMBER || a->type > CH_JSON_STRING || memcmp(a->s, b->s, a->n) == 0;
}

/* The offset of the first difference, minus some context. */
static size_t parting(struct ch_sv a, struct ch_sv b) {
    size_t i = 0;
    while (i < a.n && i < b.n && a.p[i] == b.p[i])
        i++;
    i = i > SHOWN / 3 ? i - SHOWN / 3 : 0;
    while (i > 0 && ((unsigned char)a.p[i < a.n ? i : 0] & 0xc0) == 0x80)
        i--;
    return i;
}

static void show_value(const struct ch_json *v, size_t from, struct ch_buf *out) {
    if (v->type == CH_JSON_STRING || v->type == CH_JSON_NUMBER) {
        struct ch_sv rest = from < v->n ? ch_sv(v->s + from, v->n - from) : CH_SV("");
        struct ch_sv cut = ch_utf8_cut(rest, SHOWN);
        const char *quote = v->type == CH_JSON_STRING ? "\"" : "";
        ch_buf_addf(out, "%s%s%.*s%s%s", from ? "..." : "", quote, CH_SV_FMT(cut),
                    cut.n < rest.n ? "..." : "", quote);
    } else if (v->type >= CH_JSON_ARRAY) {
        ch_buf_addf(out, "%s of %u", v->type == CH_JSON_ARRAY ? "an array" : "an object", v->n);
    } else {
        ch_buf_add_str(out, v->type == CH_JSON_NULL   ? "null"
                            : v->type == CH_JSON_TRUE ? "true"
                                                      : "false");
    }
}

/* Report the first node, in document order, that differs. */
static void tape_explain(const char *member, const struct ch_json *a, const struct ch_json *b,
                         struct ch_buf *why) {
    size_t n = a->type >= CH_JSON_ARRAY ? a->nodes : 1, i = 0;
    size_t m = b->type >= CH_JSON_ARRAY ? b->nodes : 1;
    while (i + 1 < n && i + 1 < m && is_same_node(a + i, b + i))
        i++;
    bool text = a[i].type == CH_JSON_STRING && b[i].type == CH_JSON_STRING;
    size_t from = text ? parting(ch_json_str(a + i), ch_json_str(b + i)) : 0;
    ch_buf_addf(why, "/%s", member);
    ch_json_pointer_to(a, a + i, why);
    ch_buf_add_str(why, " was ");
    show_value(a + i, from, why);
    ch_buf_add_str(why, ", now it is ");
    show_value(b + i, from, why);
}

bool ch_tape_same(const struct ch_json *recorded, const struct ch_json *now, struct ch_buf *why) {
    static const struct ch_json nothing = {.type = CH_JSON_NULL};
    static const char *const members[] = {"method", "url", "body"};
    for (size_t i = 0; i < CH_LEN(members); i++) {
        const struct ch_json *a = ch_json_get(recorded, members[i]);
        const struct ch_json *b = ch_json_get(now, members[i]);
        a = a ? a : &nothing;
        b = b ? b : &nothing;
        if (ch_json_equal(a, b))
            continue;
        if (why)
            tape_explain(members[i], a, b, why);
        return false;
    }
    return true;
}
