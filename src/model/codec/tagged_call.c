/* tagged_call.c -- parses the text between the tags of a call; see tags.h.
 *
 * The prompt asks for one JSON object. Other formats that models have learnt are parsed
 * too:
 *
 *       {"name":"f","arguments":{..}}     also a list; parameters, args, input;
 *       {"function":{"name":..}}          arguments as a string of JSON
 *       <name>f</name><arguments>{..}</arguments>, or one element per parameter
 *       <function=f><parameter=k>v</parameter></function>
 *       <invoke name="f"><parameter name="k">v</parameter></invoke>
 *       f<arg_key>k</arg_key><arg_value>v</arg_value>     GLM
 *       f[ARGS]{..}                                       Mistral
 *
 * A value in XML is always a string; the tool's schema decides whether to convert it. */
#include "model/codec/tagged_call.h"

#include "base/limits.h"
#include "base/mem.h"
#include "model/message/message.h"
#include "model/codec/tags.h"
#include "json/writer.h"

struct found {
    void (*fn)(const struct ch_tagged_call *, void *);
    void *user;
    unsigned flags; /* flags of every call of this body */
};

static void tagged_call_tell(const struct found *f, struct ch_sv name, struct ch_sv arguments,
                             unsigned flags) {
    f->fn(&(struct ch_tagged_call){name, arguments, f->flags | flags}, f->user);
}

/* Strip an enclosing ```json ... ``` fence. */
static struct ch_sv without_fence(struct ch_sv s) {
    s = ch_sv_trim(s);
    if (!ch_sv_starts(s, "```"))
        return s;
    const char *eol = memchr(s.p, '\n', s.n);
    if (!eol)
        return s;
    s = ch_sv(eol + 1, s.n - (size_t)(eol + 1 - s.p));
    const char *end = memmem(s.p, s.n, "\n```", 4);
    for (const char *next = end; next;
         next = memmem(next + 1, s.n - (size_t)(next + 1 - s.p), "\n```", 4))
        end = next;
    return ch_sv_trim(end ? ch_sv(s.p, (size_t)(end - s.p)) : s);
}

/* --- JSON */

static const struct ch_json *tagged_call_first_member(const struct ch_json *v,
                                                      const char *const *names) {
    const struct ch_json *found = NULL;
    for (; *names && !found; names++)
        found = ch_json_get(v, *names);
    return found;
}

static const char *const name_members[] = {"name", "tool", "tool_name", "function", NULL};
static const char *const argument_members[] = {"arguments", "parameters", "args", "input", NULL};

static bool tagged_call_is_object(struct ch_sv text) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, NULL);
    return ch_json_is(v, CH_JSON_OBJECT);
}

static void tell_json(const struct found *f, const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    const struct ch_json *nested = ch_json_get(v, "function");
    if (ch_json_is(nested, CH_JSON_OBJECT))
        v = nested;
    struct ch_sv name = ch_json_str(tagged_call_first_member(v, name_members));
    const struct ch_json *args = tagged_call_first_member(v, argument_members);
    struct ch_sv text = ch_sv_trim(ch_json_str(args));
    if (!args || args->type == CH_JSON_NULL || (args->type == CH_JSON_STRING && !text.n)) {
        tagged_call_tell(f, name, CH_SV("{}"), name.n ? 0 : CH_F_INVALID);
        return;
    }
    bool packed = text.n && tagged_call_is_object(text);
    if (!packed) {
        struct ch_jw w = ch_jw(&out);
        ch_jw_value(&w, args);
        text = ch_buf_sv(&out);
    }
    bool good = name.n && (packed || args->type == CH_JSON_OBJECT);
    tagged_call_tell(f, name, text, good ? 0 : CH_F_INVALID);
}

static bool tagged_call_is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

size_t ch_tagged_name_length(struct ch_sv s) {
    size_t n = 0;
    while (n < s.n && n < CH_LIMIT_TOOL_NAME && tagged_call_is_name_char(s.p[n]))
        n++;
    return n;
}

/* The text after `mark` up to `end`, without leading white space, quotes and colons. */
static struct ch_sv after_mark(struct ch_sv s, const char *mark, char end) {
    size_t n = strlen(mark);
    const char *at = memmem(s.p, s.n, mark, n);
    if (!at)
        return CH_SV("");
    struct ch_sv rest = ch_sv(at + n, s.n - (size_t)(at + n - s.p));
    while (rest.n && strchr(" \t\r\n:\"'", *rest.p))
        rest = ch_sv(rest.p + 1, rest.n - 1);
    struct ch_sv name = ch_sv_split(&rest, end);
    return rest.p ? name : CH_SV("");
}

struct ch_sv ch_tagged_name(struct ch_sv body) {
    static const struct {
        const char *mark;
        char end;
    } forms[] = {{"\"name\"", '"'}, {"<function=", '>'}, {"<invoke name=", '"'}, {"<name>", '<'}};
    struct ch_sv name = ch_sv(body.p, ch_tagged_name_length(body));
    for (size_t i = 0; i < CH_LEN(forms) && !name.n; i++)
        name = after_mark(body, forms[i].mark, forms[i].end);
    return name.n <= CH_LIMIT_TOOL_NAME ? name : CH_SV("");
}

static void tagged_call_read_json(struct found *f, struct ch_sv s) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO repaired = {0};
    const struct ch_json *v = NULL;
    if (ch_json_parse(&arena, s, CH_JSON_STRICT, &v, NULL, NULL) < 0 &&
        ch_json_repair(s, &repaired) &&
        ch_json_parse(&arena, ch_buf_sv(&repaired), CH_JSON_STRICT, &v, NULL, NULL) == 0)
        f->flags |= CH_F_REPAIRED;
    if (ch_json_is(v, CH_JSON_OBJECT)) {
        tell_json(f, v);
    } else if (ch_json_is(v, CH_JSON_ARRAY) && v->n) {
        for (CH_JSON_EACH(e, v))
            tell_json(f, e);
    } else {
        tagged_call_tell(f, ch_tagged_name(s), s, CH_F_INVALID);
    }
}

/* --- the subset of XML that models write */

struct element {
    struct ch_sv tag, value, content; /* <tag=value> or <tag name="value"> */
};

static struct ch_sv tagged_call_unquoted(struct ch_sv s) {
    s = ch_sv_trim(s);
    if (s.n >= 2 && (*s.p == '"' || *s.p == '\'') && s.p[s.n - 1] == *s.p)
        return ch_sv(s.p + 1, s.n - 2);
    return s;
}

/* Parse the inside of <...>: the name, and its value if any. */
static void read_tag(struct ch_sv inside, struct element *e) {
    size_t n = 0;
    while (n < inside.n && tagged_call_is_name_char(inside.p[n]))
        n++;
    e->tag = ch_sv(inside.p, n);
    struct ch_sv rest = ch_sv(inside.p + n, inside.n - n);
    ch_sv_split(&rest, '=');
    e->value = rest.p ? tagged_call_unquoted(rest) : CH_SV("");
}

/* The next element; its content ends at the first closing tag of its name. False: none, or
 * unclosed. */
static bool next_element(struct ch_sv *rest, struct element *e) {
    const char *open = rest->n ? memchr(rest->p, '<', rest->n) : NULL;
    const char *end = rest->p + rest->n;
    const char *gt = open ? memchr(open, '>', (size_t)(end - open)) : NULL;
    if (!gt)
        return false;
    read_tag(ch_sv(open + 1, (size_t)(gt - open - 1)), e);
    CH_BUF_AUTO closer = {0};
    ch_buf_addf(&closer, "</%.*s>", CH_SV_FMT(e->tag));
    const char *close =
        e->tag.n ? memmem(gt + 1, (size_t)(end - gt - 1), closer.p, closer.n) : NULL;
    if (!close)
        return false;
    e->content = ch_sv(gt + 1, (size_t)(close - gt - 1));
    *rest = ch_sv(close + closer.n, (size_t)(end - close) - closer.n);
    return true;
}

/* Strip the line breaks around a value. */
static struct ch_sv tagged_call_value_of(struct ch_sv s) {
    if (ch_sv_starts(ch_sv_trim(s), "<![CDATA[")) {
        s = ch_sv_trim(s);
        bool whole = s.n >= 12 && memcmp(s.p + s.n - 3, "]]>", 3) == 0;
        return whole ? ch_sv(s.p + 9, s.n - 12) : s;
    }
    if (s.n && *s.p == '\n')
        s = ch_sv(s.p + 1, s.n - 1);
    if (s.n && s.p[s.n - 1] == '\n')
        s.n--;
    return s;
}

/* Write a JSON object from JSON content or from one element per parameter. */
static void tagged_call_write_arguments(struct ch_sv content, struct ch_buf *out) {
    struct ch_sv text = without_fence(content);
    if (ch_sv_starts(text, "{")) {
        ch_buf_add_sv(out, text);
        return;
    }
    struct element e;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    while (next_element(&content, &e)) {
        ch_jw_key_sv(&w, e.value.n ? e.value : e.tag);
        ch_jw_str(&w, tagged_call_value_of(e.content));
    }
    ch_jw_end(&w, '}');
}

static bool tagged_call_is_one_of(struct ch_sv s, const char *const *names) {
    for (; *names; names++)
        if (ch_sv_is(s, *names))
            return true;
    return false;
}

static void tell_xml(const struct found *f, struct ch_sv name, struct ch_sv arguments) {
    CH_BUF_AUTO repaired = {0};
    unsigned flags = name.n ? 0 : CH_F_INVALID;
    if (!tagged_call_is_object(arguments)) {
        bool good =
            ch_json_repair(arguments, &repaired) && tagged_call_is_object(ch_buf_sv(&repaired));
        flags |= good ? CH_F_REPAIRED : CH_F_INVALID;
        if (good)
            arguments = ch_buf_sv(&repaired);
    }
    tagged_call_tell(f, name, arguments, flags);
}

static void read_xml(const struct found *f, struct ch_sv body) {
    CH_BUF_AUTO arguments = {0};
    struct ch_sv rest = body, name = CH_SV("");
    struct element e;
    bool several = false;
    while (next_element(&rest, &e)) {
        if (ch_sv_is(e.tag, "invoke") || (ch_sv_is(e.tag, "function") && e.value.n)) {
            ch_buf_clear(&arguments);
            tagged_call_write_arguments(e.content, &arguments);
            tell_xml(f, e.value, ch_buf_sv(&arguments));
            several = true;
        } else if (tagged_call_is_one_of(e.tag, name_members)) {
            name = ch_sv_trim(e.content);
        } else if (tagged_call_is_one_of(e.tag, argument_members)) {
            ch_buf_clear(&arguments);
            tagged_call_write_arguments(e.content, &arguments);
        }
    }
    if (several)
        return;
    if (name.n)
        tell_xml(f, name, arguments.n ? ch_buf_sv(&arguments) : CH_SV("{}"));
    else
        tagged_call_tell(f, CH_SV(""), body, CH_F_INVALID);
}

/* --- formats that begin with the name */

static void write_pairs(struct ch_sv rest, struct ch_buf *out) {
    struct ch_sv key = CH_SV("");
    struct element e;
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    while (next_element(&rest, &e)) {
        if (ch_sv_is(e.tag, "arg_key")) {
            key = ch_sv_trim(e.content);
        } else if (ch_sv_is(e.tag, "arg_value") && key.n) {
            ch_jw_key_sv(&w, key);
            ch_jw_str(&w, tagged_call_value_of(e.content));
        }
    }
    ch_jw_end(&w, '}');
}

static bool read_named(const struct found *f, struct ch_sv body) {
    static const struct ch_sv mark = CH_SV("[ARGS]");
    CH_BUF_AUTO arguments = {0};
    size_t n = ch_tagged_name_length(body);
    struct ch_sv name = ch_sv(body.p, n), rest = ch_sv_trim(ch_sv(body.p + n, body.n - n));
    const char *at = rest.n ? memmem(rest.p, rest.n, mark.p, mark.n) : NULL;
    if (!n || (rest.n && *rest.p != '<' && (*rest.p != '[' || !at)))
        return false;
    if (rest.n && *rest.p == '[') {
        at += mark.n;
        tell_xml(f, name, ch_sv_trim(ch_sv(at, (size_t)(rest.p + rest.n - at))));
        return true;
    }
    write_pairs(rest, &arguments);
    tell_xml(f, name, ch_buf_sv(&arguments));
    return true;
}

void ch_tagged_calls(struct ch_sv body, void (*fn)(const struct ch_tagged_call *, void *),
                     void *user) {
    struct found f = {fn, user, 0};
    body = without_fence(body);
    if (ch_sv_starts(body, "<"))
        read_xml(&f, body);
    else if (!read_named(&f, body))
        tagged_call_read_json(&f, body);
}
