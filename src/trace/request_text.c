/* request_text.c -- see request_text.h. */
#include "trace/request_text.h"

#include <inttypes.h>
#include <time.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/writer.h"

static int64_t count(const struct ch_json *v, const char *name) {
    return ch_json_int(ch_json_get(v, name), 0);
}

static void add_member(struct ch_buf *out, const struct ch_json *v, const char *name) {
    ch_buf_add_sv(out, ch_json_get_str(v, name));
}

/* Text that ends with a line end. */
static void add_lines(struct ch_buf *out, struct ch_sv text) {
    ch_buf_add_sv(out, text);
    if (!text.n || text.p[text.n - 1] != '\n')
        ch_buf_addc(out, '\n');
}

static void add_json(struct ch_buf *out, const struct ch_json *v) {
    struct ch_jw w = ch_jw(out);
    ch_jw_value(&w, v);
}

static void add_head(struct ch_buf *out, const struct ch_json *v) {
    char when[32] = "?";
    time_t t = (time_t)(count(v, "ts") / 1000);
    struct tm tm;
    if (localtime_r(&t, &tm))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
    ch_buf_addf(out, "request %" PRId64 " of %" PRId64 "  ", count(v, "request"), count(v, "of"));
    add_member(out, v, "model");
    ch_buf_addf(out, "  %s\nrun ", when);
    add_member(out, v, "run");
    ch_buf_addf(out, ", turn %" PRId64, count(v, "turn"));
    if (ch_json_get(v, "attempt"))
        ch_buf_addf(out, ", attempt %" PRId64, count(v, "attempt") + 1);
    if (ch_json_get(v, "role")) {
        ch_buf_add_str(out, ", asked by ");
        add_member(out, v, "role");
    }
    ch_buf_addf(out, ", %" PRId64 " bytes, ", count(v, "bytes"));
    if (ch_json_bool(ch_json_get(v, "verified"), false)) {
        ch_buf_add_str(out, "the same bytes as sent\n");
    } else {
        ch_buf_add_str(out, "not the same bytes as sent: ");
        add_member(out, v, "not_verified");
        ch_buf_addc(out, '\n');
    }
}

static void add_sections(struct ch_buf *out, const struct ch_json *list) {
    ch_buf_addf(out, "\nSYSTEM PROMPT           TOKENS   BYTES  FROM\n");
    for (CH_JSON_EACH(s, list))
        ch_buf_addf(out, "%-22.*s %7" PRId64 " %7" PRId64 "  %.*s%s\n",
                    CH_SV_FMT(ch_json_get_str(s, "name")), count(s, "tokens"), count(s, "bytes"),
                    CH_SV_FMT(ch_json_get_str(s, "origin")),
                    ch_json_get(s, "of") ? ", shortened" : "");
}

static void add_cuts(struct ch_buf *out, const struct ch_json *list) {
    for (CH_JSON_EACH(c, list))
        ch_buf_addf(out, "cut: %.*s, %" PRId64 " of %" PRId64 " tokens left: %.*s\n",
                    CH_SV_FMT(ch_json_get_str(c, "what")), count(c, "tokens_after"),
                    count(c, "tokens_before"), CH_SV_FMT(ch_json_get_str(c, "why")));
}

static void add_tools(struct ch_buf *out, const struct ch_json *list) {
    if (list && list->n)
        ch_buf_addf(out, "\nTOOLS (%zu)\n", (size_t)list->n);
    for (CH_JSON_EACH(t, list)) {
        struct ch_sv about = ch_json_get_str(t, "description");
        struct ch_sv line = ch_utf8_cut(ch_sv_split(&about, '\n'), 100);
        ch_buf_addf(out, "%-22.*s %.*s\n", CH_SV_FMT(ch_json_get_str(t, "name")), CH_SV_FMT(line));
    }
}

static void add_block(struct ch_buf *out, const struct ch_json *b) {
    struct ch_sv type = ch_json_get_str(b, "type");
    if (ch_json_get(b, "text") && !ch_json_get(b, "arguments")) {
        if (!ch_sv_is(type, "text"))
            ch_buf_addf(out, "[%.*s]\n", CH_SV_FMT(type));
        add_lines(out, ch_json_get_str(b, "text"));
    } else if (ch_json_get(b, "arguments")) {
        ch_buf_addf(out, "-> %.*s ", CH_SV_FMT(ch_json_get_str(b, "name")));
        add_json(out, ch_json_get(b, "arguments"));
        ch_buf_addc(out, '\n');
    } else if (ch_json_is(ch_json_get(b, "content"), CH_JSON_STRING)) {
        ch_buf_addf(out, "[result of %.*s]\n", CH_SV_FMT(ch_json_get_str(b, "name")));
        add_lines(out, ch_json_get_str(b, "content"));
    } else {
        add_json(out, b);
        ch_buf_addc(out, '\n');
    }
}

static void add_content(struct ch_buf *out, const struct ch_json *content) {
    if (ch_json_is(content, CH_JSON_STRING))
        add_lines(out, ch_json_str(content));
    for (CH_JSON_EACH(b, ch_json_is(content, CH_JSON_ARRAY) ? content : NULL))
        add_block(out, b);
}

static void add_reply(struct ch_buf *out, const struct ch_json *v) {
    const struct ch_json *reply = ch_json_get(v, "reply"), *failure = ch_json_get(v, "failure");
    const struct ch_json *u = ch_json_get(v, "usage");
    ch_buf_addf(out, "\n--- %s", reply ? "reply" : "no reply");
    if (ch_json_get(v, "stop"))
        ch_buf_addf(out, ", %.*s", CH_SV_FMT(ch_json_get_str(v, "stop")));
    if (ch_json_get(v, "ms"))
        ch_buf_addf(out, ", %" PRId64 " ms", count(v, "ms"));
    if (u)
        ch_buf_addf(out,
                    ", %" PRId64 " tokens in (%" PRId64 " from the cache, %" PRId64
                    " written to it), %" PRId64 " out (%" PRId64 " reasoning)",
                    count(u, "input"), count(u, "cache_read"), count(u, "cache_write"),
                    count(u, "output"), count(u, "reasoning"));
    if (ch_json_get(v, "cost_usd"))
        ch_buf_addf(out, ", $%.6f", ch_json_double(ch_json_get(v, "cost_usd"), 0));
    ch_buf_addc(out, '\n');
    if (ch_json_is(reply, CH_JSON_STRING))
        add_lines(out, ch_json_str(reply));
    add_content(out, ch_json_get(reply, "content"));
    if (failure)
        ch_buf_addf(out, "%.*s: %.*s\n", CH_SV_FMT(ch_json_get_str(failure, "class")),
                    CH_SV_FMT(ch_json_get_str(failure, "text")));
}

int ch_request_text(struct ch_sv json, struct ch_buf *out, struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    size_t n = 0;
    int rc = ch_json_parse(&arena, json, CH_JSON_REPLACE, &v, NULL, err);
    if (rc < 0)
        return rc;
    add_head(out, v);
    add_sections(out, ch_json_get(v, "sections"));
    add_cuts(out, ch_json_get(v, "cut"));
    add_tools(out, ch_json_get(v, "tools"));
    ch_buf_add_str(out, "\nparameters ");
    add_json(out, ch_json_get(v, "parameters"));
    ch_buf_addc(out, '\n');
    for (CH_JSON_EACH(s, ch_json_get(v, "sections"))) {
        ch_buf_addf(out, "\n--- section %.*s\n", CH_SV_FMT(ch_json_get_str(s, "name")));
        add_lines(out, ch_sv_trim(ch_json_get_str(s, "text")));
    }
    for (CH_JSON_EACH(m, ch_json_get(v, "messages"))) {
        ch_buf_addf(out, "\n--- message %zu, %.*s\n", ++n, CH_SV_FMT(ch_json_get_str(m, "role")));
        add_content(out, ch_json_get(m, "content"));
    }
    if (ch_json_get(v, "note")) {
        ch_buf_add_str(out, "\n--- note of this request alone\n");
        add_lines(out, ch_json_get_str(v, "note"));
    }
    add_reply(out, v);
    return 0;
}
