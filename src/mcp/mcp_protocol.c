/* mcp_protocol.c -- see mcp_protocol.h. */
#include "mcp/mcp_protocol.h"

#include <ctype.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/uri.h"
#include "base/utf8.h"

#define ALIAS_MAX 64
#define MARK "=?base64?"
#define MOST_PARAMS 32
#define SAFE_INTEGER 9007199254740991 /* 2^53 - 1 */

bool ch_mcp_is_legacy(struct ch_sv version) {
    static const char *const known[] = {CH_MCP_LEGACY, "2025-06-18", CH_MCP_BATCHES, "2024-11-05"};

    for (size_t i = 0; i < CH_LEN(known); i++)
        if (ch_sv_is(version, known[i]))
            return true;
    return false;
}

bool ch_mcp_contains(const struct ch_json *array, const char *text) {
    for (CH_JSON_EACH(e, array))
        if (ch_sv_is(ch_json_str(e), text))
            return true;
    return false;
}

/* --- headers */

static bool is_plain(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 0x20 || s.p[i] > 0x7e)
            return false;
    return s.n > 0 && s.p[0] != ' ' && s.p[s.n - 1] != ' ' && !ch_sv_starts(s, MARK);
}

void ch_mcp_header_value(struct ch_buf *out, struct ch_sv text) {
    if (is_plain(text)) {
        ch_buf_add_sv(out, text);
        return;
    }
    ch_buf_add_str(out, MARK);
    ch_base64_add(out, text);
    ch_buf_add_str(out, "?=");
}

bool ch_mcp_header_decode(struct ch_buf *out, struct ch_sv value) {
    size_t mark = sizeof(MARK) - 1;

    if (!ch_sv_starts(value, MARK) || value.n < mark + 2 ||
        memcmp(value.p + value.n - 2, "?=", 2) != 0) {
        ch_buf_add_sv(out, value);
        return true;
    }
    struct ch_sv text = ch_sv(value.p + mark, value.n - mark - 2);
    for (size_t i = 0; i < text.n; i++)
        if (!isalnum((unsigned char)text.p[i]) && !strchr("+/=", text.p[i]))
            return false;
    return text.n % 4 == 0 && ch_base64_read(text, out);
}

static bool is_token(struct ch_sv s) {
    for (size_t i = 0; i < s.n; i++)
        if (!isalnum((unsigned char)s.p[i]) && !strchr("!#$%&'*+-.^_`|~", s.p[i]))
            return false;
    return s.n > 0 && s.n <= CH_LIMIT_MCP_NAME && !memchr(s.p, '\0', s.n);
}

/* Annotations that were found, to compare their names. */
struct ch_mcp_params {
    struct ch_sv names[MOST_PARAMS];
    size_t n;
};

static int check_param(const struct ch_json *property, struct ch_mcp_params *found,
                       struct chela_error *err) {
    const struct ch_json *header = ch_json_get(property, "x-mcp-header");
    struct ch_sv name = ch_json_str(header), type = ch_json_get_str(property, "type");

    if (!header)
        return 0;
    if (!is_token(name))
        return ch_fail(err, CHELA_EPROTO, "an x-mcp-header is not the name of a header");
    if (!ch_sv_is(type, "string") && !ch_sv_is(type, "integer") && !ch_sv_is(type, "boolean"))
        return ch_fail(err, CHELA_EPROTO, "x-mcp-header %.*s is not of a simple type",
                       CH_SV_FMT(name));
    for (size_t i = 0; i < found->n; i++)
        if (ch_sv_eq_nocase(found->names[i], name))
            return ch_fail(err, CHELA_EPROTO, "x-mcp-header %.*s occurs twice", CH_SV_FMT(name));
    if (found->n == MOST_PARAMS)
        return ch_fail(err, CHELA_EPROTO, "more than %d x-mcp-header", MOST_PARAMS);
    found->names[found->n++] = name;
    return 0;
}

/* The properties below an object, at any depth; the depth of JSON bounds the recursion. */
static int check_properties(const struct ch_json *schema, unsigned depth,
                            struct ch_mcp_params *found, struct chela_error *err) {
    int rc = 0;

    if (depth > CH_LIMIT_PULL_DEPTH)
        return ch_fail(err, CHELA_EPROTO, "the schema is nested too deeply");
    for (CH_JSON_MEMBERS(key, property, ch_json_get(schema, "properties"))) {
        (void)key;
        if (rc == 0)
            rc = check_param(property, found, err);
        if (rc == 0)
            rc = check_properties(property, depth + 1, found, err);
    }
    return rc;
}

/* All nodes of a tree follow each other, so no recursion is needed. */
static size_t count_annotations(const struct ch_json *schema) {
    const struct ch_json *end = ch_json_next(schema);
    size_t n = 0;

    for (const struct ch_json *v = schema; v < end; v++)
        if (v->type == CH_JSON_OBJECT && ch_json_get(v, "x-mcp-header"))
            n++;
    return n;
}

int ch_mcp_header_check(const struct ch_json *schema, struct chela_error *err) {
    struct ch_mcp_params found = {.n = 0};
    size_t all = schema ? count_annotations(schema) : 0;

    if (all == 0)
        return 0;
    int rc = check_properties(schema, 0, &found, err);
    if (rc == 0 && found.n != all)
        rc = ch_fail(err, CHELA_EPROTO, "an x-mcp-header is not at a plain property");
    return rc;
}

/* The text of an argument in its header; false: the argument has none. */
static bool param_text(const struct ch_json *value, struct ch_buf *text) {
    int64_t number;

    switch (value->type) {
    case CH_JSON_STRING:
        ch_buf_add_sv(text, ch_json_str(value));
        return true;
    case CH_JSON_TRUE:
    case CH_JSON_FALSE:
        ch_buf_add_str(text, value->type == CH_JSON_TRUE ? "true" : "false");
        return true;
    case CH_JSON_NUMBER:
        if (!ch_json_as_int(value, &number) || number > SAFE_INTEGER || number < -SAFE_INTEGER)
            return false;
        ch_buf_addf(text, "%lld", (long long)number);
        return true;
    default:
        return false;
    }
}

static bool each_param(const struct ch_json *schema, const struct ch_json *arguments,
                       unsigned depth, ch_mcp_header_fn *fn, void *user) {
    if (depth > CH_LIMIT_PULL_DEPTH)
        return true;
    for (CH_JSON_MEMBERS(key, property, ch_json_get(schema, "properties"))) {
        const struct ch_json *value = ch_json_get_sv(arguments, ch_json_str(key));
        struct ch_sv name = ch_json_get_str(property, "x-mcp-header");
        CH_BUF_AUTO text = {0};
        bool has = name.n && value && param_text(value, &text);
        if (name.n ? !fn(name, has ? ch_buf_sv(&text) : ch_sv(NULL, 0),
                         ch_json_is(value, CH_JSON_NUMBER), user)
                   : !each_param(property, value, depth + 1, fn, user))
            return false;
    }
    return true;
}

bool ch_mcp_header_each(const struct ch_json *schema, const struct ch_json *arguments,
                        ch_mcp_header_fn *fn, void *user) {
    return each_param(schema, arguments, 0, fn, user);
}

static bool add_param(struct ch_sv name, struct ch_sv value, bool is_number, void *user) {
    struct ch_buf *out = user;

    (void)is_number;
    if (!value.p)
        return true;
    ch_buf_addf(out, "Mcp-Param-%.*s: ", CH_SV_FMT(name));
    ch_mcp_header_value(out, value);
    ch_buf_addc(out, '\n');
    return true;
}

void ch_mcp_header_params(struct ch_buf *out, const struct ch_json *schema,
                          const struct ch_json *arguments) {
    ch_mcp_header_each(schema, arguments, add_param, out);
}

/* --- names and texts */

void ch_mcp_alias(struct ch_buf *out, const char *server, struct ch_sv tool, bool force_digest) {
    CH_BUF_AUTO name = {0};
    unsigned char digest[CH_SHA256_SIZE];
    char hex[2 * CH_SHA256_SIZE + 1];

    ch_buf_addf(&name, "%s__", server);
    size_t start = name.n;
    ch_buf_add_sv(&name, tool);
    for (size_t i = start; i < name.n; i++)
        if (!isalnum((unsigned char)name.p[i]) && name.p[i] != '_' && name.p[i] != '-') {
            name.p[i] = '_';
            force_digest = true;
        }
    if (name.n <= ALIAS_MAX && !force_digest) {
        ch_buf_add_sv(out, ch_buf_sv(&name));
        return;
    }
    ch_sha256_of(tool, digest);
    ch_sha256_hex(digest, hex);
    ch_buf_add(out, name.p, CH_MIN(name.n, ALIAS_MAX - 9));
    ch_buf_addf(out, "_%.8s", hex);
}

/* Characters that people do not see: control characters, zero-width and directional marks,
 * tags, variation selectors. */
static bool is_invisible(uint32_t c) {
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0xad ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfe00 && c <= 0xfe0f) ||
           (c >= 0xe0000 && c <= 0xe0fff) || c == 0x180e || c == 0x61c;
}

void ch_mcp_clean(struct ch_buf *out, struct ch_sv text) {
    size_t before = out->n;
    uint32_t c;

    while (text.n) {
        unsigned n = ch_utf8_next(text, &c);
        struct ch_sv piece = n ? ch_sv(text.p, n) : CH_SV("\xef\xbf\xbd");
        if (out->n - before + piece.n > CH_LIMIT_MCP_TEXT)
            return;
        if (!n || !is_invisible(c))
            ch_buf_add_sv(out, piece);
        n = n ? n : 1;
        text = ch_sv(text.p + n, text.n - n);
    }
}

void ch_mcp_roots(struct ch_buf *out, const char *const *paths) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "roots", '[');
    for (size_t i = 0; paths[i]; i++) {
        CH_BUF_AUTO uri = {0};
        const char *name = strrchr(paths[i], '/');
        ch_buf_add_str(&uri, "file://");
        struct ch_sv rest = ch_sv_str(paths[i] + 1);
        do {
            ch_buf_addc(&uri, '/');
            ch_uri_encode(&uri, ch_sv_split(&rest, '/'));
        } while (rest.n);
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "uri", ch_buf_sv(&uri));
        ch_jw_kcstr(&w, "name", name && name[1] ? name + 1 : paths[i]);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
}

/* --- elicitation */

void ch_mcp_fill_defaults(struct ch_buf *out, const struct ch_json *params,
                          const struct ch_json *answer) {
    const struct ch_json *content = ch_json_get(answer, "content");
    struct ch_jw w = ch_jw(out);

    if (!ch_sv_is(ch_json_get_str(answer, "action"), "accept") ||
        ch_sv_is(ch_json_get_str(params, "mode"), "url")) {
        ch_jw_value(&w, answer);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "action", "accept");
    ch_jw_kbegin(&w, "content", '{');
    for (CH_JSON_MEMBERS(key, value, content)) {
        ch_jw_key_sv(&w, ch_json_str(key));
        ch_jw_value(&w, value);
    }
    for (CH_JSON_MEMBERS(name, property,
                         ch_json_path(params, "requestedSchema", "properties", NULL))) {
        const struct ch_json *otherwise = ch_json_get(property, "default");
        if (!otherwise || ch_json_get_sv(content, ch_json_str(name)))
            continue;
        ch_jw_key_sv(&w, ch_json_str(name));
        ch_jw_value(&w, otherwise);
    }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}
