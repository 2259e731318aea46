/* yaml_edit.c -- see yaml_edit.h.
 *
 * libyaml reports where each value begins and ends. The values are listed in
 * the order of the text, each with its container; of a mapping's children the
 * first, third, ... are keys. The path is followed through this list, and only
 * the text of the found value changes. */
#include "json/yaml_edit.h"

#include <yaml.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#define NOWHERE SIZE_MAX
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct value {
    enum { SCALAR, MAPPING, LIST, ALIAS } type;
    size_t in;         /* index of the container; NOWHERE: none */
    size_t start, end; /* byte offsets */
    unsigned line, column;
    bool exact; /* `end` is exact: not a block */
    bool fixed; /* has an anchor or a tag */
    char *text; /* owned; a scalar's text */
};

struct map { /* the values of a text */
    struct ch_sv text;
    size_t mark; /* bytes of a mark before the text, which libyaml would count as a column */
    const char *name;
    struct value *values; /* owned */
    size_t n, cap;
    size_t chars, bytes; /* the same position in libyaml's characters and in bytes */
    struct chela_error *err;
};

static int yaml_edit_refuse(const struct map *m, const struct value *v, const char *why) {
    return ch_fail(m->err, CHELA_EINVAL, "%s:%u: %s", m->name, v->line, why);
}

/* --- list of values */

static size_t offset_of(struct map *m, size_t chars) {
    if (chars < m->chars)
        m->chars = m->bytes = 0;
    for (; m->chars < chars && m->bytes < m->text.n; m->chars++) {
        struct ch_sv rest = ch_sv(m->text.p + m->bytes, m->text.n - m->bytes);
        m->bytes += CH_MAX(ch_utf8_next(rest, NULL), 1u);
    }
    return m->bytes;
}

static struct value *yaml_edit_add(struct map *m, const yaml_event_t *ev, size_t in) {
    CH_GROW(m->values, m->n, m->cap, 64);
    struct value *v = &m->values[m->n++];
    *v = (struct value){.in = in,
                        .start = offset_of(m, ev->start_mark.index),
                        .line = (unsigned)ev->start_mark.line + 1,
                        .column = (unsigned)ev->start_mark.column};
    v->end = offset_of(m, ev->end_mark.index);
    return v;
}

static void add_scalar(struct map *m, const yaml_event_t *ev, size_t in) {
    struct value *v = yaml_edit_add(m, ev, in);
    yaml_scalar_style_t style = ev->data.scalar.style;
    v->exact = style != YAML_LITERAL_SCALAR_STYLE && style != YAML_FOLDED_SCALAR_STYLE;
    v->fixed = ev->data.scalar.anchor || ev->data.scalar.tag;
    v->text = ch_strndup((const char *)ev->data.scalar.value, ev->data.scalar.length);
}

/* Add an event's value; returns the container of the next value, NOWHERE at the
 * end of the document. */
static size_t yaml_edit_take_event(struct map *m, const yaml_event_t *ev, size_t in) {
    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        add_scalar(m, ev, in);
        return in;
    case YAML_ALIAS_EVENT:
        yaml_edit_add(m, ev, in)->type = ALIAS;
        return in;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT: {
        bool mapping = ev->type == YAML_MAPPING_START_EVENT;
        struct value *v = yaml_edit_add(m, ev, in);
        v->type = mapping ? MAPPING : LIST;
        v->exact = mapping ? ev->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                           : ev->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
        v->fixed = mapping ? ev->data.mapping_start.anchor || ev->data.mapping_start.tag
                           : ev->data.sequence_start.anchor || ev->data.sequence_start.tag;
        return m->n - 1;
    }
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        m->values[in].end = offset_of(m, ev->end_mark.index);
        return m->values[in].in;
    default:
        return in;
    }
}

static int chart(struct map *m) {
    yaml_parser_t parser;
    yaml_event_t ev;
    size_t in = NOWHERE;
    bool over = false;
    int rc = 0;
    if (!yaml_parser_initialize(&parser))
        return ch_fail(m->err, CHELA_EINTERNAL, "%s: out of memory", m->name);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)m->text.p, m->text.n);
    while (rc == 0 && !over) {
        if (!yaml_parser_parse(&parser, &ev)) {
            rc = ch_fail(m->err, CHELA_EPARSE, "%s:%zu: %s", m->name,
                         parser.problem_mark.line + 1,
                         parser.problem ? parser.problem : "malformed YAML");
            break;
        }
        in = yaml_edit_take_event(m, &ev, in);
        over = ev.type == YAML_STREAM_END_EVENT || ev.type == YAML_DOCUMENT_END_EVENT;
        if (m->n > CH_LIMIT_YAML_NODES)
            rc = ch_fail(m->err, CHELA_ELIMIT, "%s: too many values", m->name);
        yaml_event_delete(&ev);
    }
    yaml_parser_delete(&parser);
    return rc;
}

static void yaml_edit_release(struct map *m) {
    for (size_t i = 0; i < m->n; i++)
        ch_free(m->values[i].text);
    ch_free(m->values);
}

/* --- following the path */

/* The child after `after` (`after` == `in`: the first child); NOWHERE: none. */
static size_t yaml_edit_child(const struct map *m, size_t in, size_t after) {
    for (size_t i = after + 1; i < m->n && m->values[i].start <= m->values[in].end; i++)
        if (m->values[i].in == in)
            return i;
    return NOWHERE;
}

static size_t yaml_edit_find_key(const struct map *m, size_t mapping, struct ch_sv key) {
    for (size_t k = yaml_edit_child(m, mapping, mapping); k != NOWHERE;) {
        size_t v = yaml_edit_child(m, mapping, k);
        if (v == NOWHERE)
            return NOWHERE;
        if (m->values[k].text && ch_sv_is(key, m->values[k].text))
            return v;
        k = yaml_edit_child(m, mapping, v);
    }
    return NOWHERE;
}

static size_t yaml_edit_find_item(const struct map *m, size_t list, struct ch_sv id) {
    for (size_t i = yaml_edit_child(m, list, list); i != NOWHERE; i = yaml_edit_child(m, list, i)) {
        size_t v = m->values[i].type == MAPPING ? yaml_edit_find_key(m, i, CH_SV("id")) : NOWHERE;
        if (v != NOWHERE && m->values[v].text && ch_sv_is(id, m->values[v].text))
            return i;
    }
    return NOWHERE;
}

static bool is_nothing(const struct value *v) {
    return v->type == SCALAR && v->text &&
           (!*v->text || strcmp(v->text, "null") == 0 || strcmp(v->text, "~") == 0);
}

/* Follow the path as far as it exists: *at is the last value, *steps the number
 * of steps done. */
static int yaml_edit_walk(const struct map *m, const struct ch_sv *path, size_t n, size_t *at,
                          size_t *steps) {
    for (*at = 0, *steps = 0; *steps < n; (*steps)++) {
        const struct value *v = &m->values[*at];
        struct ch_sv step = path[*steps];
        bool item = step.n > 2 && step.p[0] == '[';
        if (v->fixed || v->type == ALIAS)
            return yaml_edit_refuse(m, v, "value with an anchor: change it by hand");
        if (!item && is_nothing(v))
            return 0;
        if (v->type != (item ? LIST : MAPPING))
            return yaml_edit_refuse(m, v,
                                    item ? "the value is no list" : "the value is no mapping");
        size_t next = item ? yaml_edit_find_item(m, *at, ch_sv(step.p + 1, step.n - 2))
                           : yaml_edit_find_key(m, *at, step);
        if (next == NOWHERE && item)
            return ch_fail(m->err, CHELA_ENOENT, "%s: there is no entry with the id %.*s", m->name,
                           (int)step.n - 2, step.p + 1);
        if (next == NOWHERE)
            return 0;
        *at = next;
    }
    return 0;
}

/* --- editing */

/* "a: { b: VALUE }" */
static void yaml_edit_add_entry(struct ch_buf *out, const struct ch_sv *path, size_t n,
                                struct ch_sv value) {
    for (size_t i = 0; i < n; i++)
        ch_buf_addf(out, "%s%.*s: ", i ? "{ " : "", CH_SV_FMT(path[i]));
    ch_buf_add_sv(out, value);
    for (size_t i = 1; i < n; i++)
        ch_buf_add_str(out, " }");
}

static void splice(const struct map *m, size_t from, size_t to, struct ch_sv piece,
                   struct ch_buf *out) {
    ch_buf_add(out, m->text.p - m->mark, m->mark + from);
    ch_buf_add_sv(out, piece);
    ch_buf_add(out, m->text.p + to, m->text.n - to);
}

static int yaml_edit_replace(const struct map *m, const struct value *v, struct ch_sv piece,
                             struct ch_buf *out) {
    CH_BUF_AUTO spaced = {0};
    if (!v->exact || v->fixed || v->type == ALIAS)
        return yaml_edit_refuse(
            m, v, "the value spans several lines or has an anchor: change it by hand");
    if (v->start == v->end) /* the key has no value */
        ch_buf_addc(&spaced, ' ');
    ch_buf_add_sv(&spaced, piece);
    splice(m, v->start, v->end, ch_buf_sv(&spaced), out);
    return 0;
}

/* Insert before the closing brace, or before a comment in front of the brace. */
static void insert_in_flow(const struct map *m, size_t mapping, struct ch_sv entry,
                           struct ch_buf *out) {
    CH_BUF_AUTO piece = {0};
    size_t at = m->values[mapping].end - 1, last = m->values[mapping].start + 1;
    for (size_t k = mapping; (k = yaml_edit_child(m, mapping, k)) != NOWHERE;)
        last = m->values[k].end;
    if (memchr(m->text.p + last, '#', at - last))
        at = last;
    while (at > 0 && strchr(" \t\r\n", m->text.p[at - 1]))
        at--;
    bool first = m->text.p[at - 1] == '{' || m->text.p[at - 1] == ',';
    ch_buf_addf(&piece, "%s%.*s", first ? " " : ", ", CH_SV_FMT(entry));
    splice(m, at, at, ch_buf_sv(&piece), out);
}

static size_t end_of_line(const struct map *m, size_t at) {
    const char *end = memchr(m->text.p + at, '\n', m->text.n - at);
    return end ? (size_t)(end - m->text.p) + 1 : m->text.n;
}

/* The start of the line on which a value is the first text; NOWHERE if other
 * text precedes it. */
static size_t own_line(const struct map *m, const struct value *v) {
    size_t at = v->start;
    while (at > 0 && m->text.p[at - 1] == ' ')
        at--;
    return at == 0 || m->text.p[at - 1] == '\n' ? at : NOWHERE;
}

/* The offset at which an entry can be added: after the line of an entry whose
 * end is exact, else before the first entry. The root mapping ends with the
 * text. */
static size_t yaml_edit_find_gap(const struct map *m, size_t mapping) {
    size_t first = yaml_edit_child(m, mapping, mapping), value;
    if (mapping == 0)
        return m->text.n;
    for (size_t k = first; k != NOWHERE; k = yaml_edit_child(m, mapping, value)) {
        value = yaml_edit_child(m, mapping, k);
        if (value == NOWHERE)
            break;
        if (m->values[value].exact)
            return end_of_line(m, m->values[value].end);
    }
    return own_line(m, &m->values[first]);
}

static int insert_in_block(const struct map *m, size_t mapping, struct ch_sv entry,
                           struct ch_buf *out) {
    const struct value *first = &m->values[yaml_edit_child(m, mapping, mapping)];
    size_t at = yaml_edit_find_gap(m, mapping);
    CH_BUF_AUTO piece = {0};
    if (at == NOWHERE)
        return yaml_edit_refuse(m, first, "no safe place to insert the entry: change it by hand");
    if (at && m->text.p[at - 1] != '\n')
        ch_buf_addc(&piece, '\n');
    ch_buf_addf(&piece, "%*s%.*s\n", (int)first->column, "", CH_SV_FMT(entry));
    splice(m, at, at, ch_buf_sv(&piece), out);
    return 0;
}

static int yaml_edit_change(const struct map *m, const struct ch_sv *path, size_t n,
                            struct ch_sv value, struct ch_buf *out) {
    CH_BUF_AUTO piece = {0}, entry = {0};
    size_t at, gone;
    int rc = yaml_edit_walk(m, path, n, &at, &gone);
    if (rc < 0)
        return rc;
    yaml_edit_add_entry(&entry, path + gone, n - gone, value);
    const struct value *v = &m->values[at];
    if (gone == n)
        return yaml_edit_replace(m, v, value, out);
    if (v->type == SCALAR) {
        ch_buf_addf(&piece, "{ %s }", ch_buf_str(&entry));
        return yaml_edit_replace(m, v, ch_buf_sv(&piece), out);
    }
    if (!v->exact)
        return insert_in_block(m, at, ch_buf_sv(&entry), out);
    insert_in_flow(m, at, ch_buf_sv(&entry), out);
    return 0;
}

int ch_yaml_set(struct ch_sv text, const char *name, const struct ch_sv *path, size_t steps,
                struct ch_sv value, struct ch_buf *out, struct chela_error *err) {
    size_t mark = ch_sv_starts(text, BYTE_ORDER_MARK) ? strlen(BYTE_ORDER_MARK) : 0;
    struct map m = {
        .text = ch_sv(text.p + mark, text.n - mark), .mark = mark, .name = name, .err = err};
    int rc = chart(&m);
    if (rc == 0 && m.n)
        rc = yaml_edit_change(&m, path, steps, value, out);
    else if (rc == 0) { /* the text has only comments */
        ch_buf_add_sv(out, text);
        if (text.n && text.p[text.n - 1] != '\n')
            ch_buf_addc(out, '\n');
        yaml_edit_add_entry(out, path, steps, value);
        ch_buf_addc(out, '\n');
    }
    yaml_edit_release(&m);
    return rc;
}
