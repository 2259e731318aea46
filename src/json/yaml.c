/* yaml.c -- convert libyaml's events to nodes.
 *
 * libyaml parses without recursion and reports events. This file turns the
 * events into the flat node array of json.h. Nodes refer to each other only by
 * distance, so an alias is expanded by copying a slice of the array. The array
 * grows on the heap and moves to the arena when the whole text is valid. */
#include "json/yaml.h"

#include <yaml.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/value.h"
#include "json/yaml_scalar.h"

#define NO_ANCHOR SIZE_MAX
#define ANCHOR_STEP 16 /* anchors for which memory is added at a time */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define CORE_TAG "tag:yaml.org,2002:"

/* An open container. */
struct level {
    size_t node;
    size_t anchor;   /* index in anchors, or NO_ANCHOR */
    unsigned height; /* height of the highest container inside so far */
    bool has_key;    /* mapping: the key is read, the value is not */
};

struct anchor {
    struct ch_sv name;
    size_t node;
    unsigned height; /* levels of containers: 0 for a scalar */
    bool open;       /* the anchored container has not ended */
};

struct builder {
    struct ch_arena *arena;
    struct ch_sv text; /* without its byte order mark */
    const char *name;
    struct chela_error *err;
    yaml_parser_t parser;

    struct ch_json *nodes; /* owned, as are the next two */
    struct ch_json_where *marks;
    struct anchor *anchors;
    size_t n, cap, n_anchors;

    struct level levels[CH_LIMIT_JSON_DEPTH];
    unsigned depth, documents;
};

static int fail_at(struct builder *b, int code, struct ch_json_where w, const char *why) {
    return ch_fail(b->err, code, "%s:%u:%u: %s", b->name, w.line, w.column, why);
}

static struct ch_json_where yaml_place(const yaml_mark_t *m) {
    return (struct ch_json_where){.line = (unsigned)m->line + 1, .column = (unsigned)m->column + 1};
}

static int parser_failed(struct builder *b) {
    const yaml_parser_t *p = &b->parser;
    const char *why = p->problem ? p->problem : "malformed YAML";
    if (p->error == YAML_MEMORY_ERROR)
        return ch_fail(b->err, CHELA_EINTERNAL, "%s: out of memory", b->name);
    if (p->error == YAML_READER_ERROR) {
        size_t offset = CH_MIN(p->problem_offset, b->text.n);
        return fail_at(b, CHELA_EPARSE, ch_json_locate(b->text, offset), why);
    }
    if (p->context)
        why = ch_arena_printf(b->arena, "%s %s (from line %zu)", why, p->context,
                              p->context_mark.line + 1);
    return fail_at(b, CHELA_EPARSE, yaml_place(&p->problem_mark), why);
}

static int yaml_make_room(struct builder *b, size_t more, struct ch_json_where w) {
    if (more > CH_LIMIT_YAML_NODES - b->n)
        return fail_at(b, CHELA_ELIMIT, w, "too many values, aliases included");
    if (b->n + more <= b->cap)
        return 0;
    b->cap = CH_MAX(b->n + more, CH_MAX(b->cap * 2, 64));
    b->nodes = ch_realloc(b->nodes, b->cap * sizeof(b->nodes[0]));
    b->marks = ch_realloc(b->marks, b->cap * sizeof(b->marks[0]));
    return 0;
}

static bool yaml_is_key(const struct builder *b) {
    if (b->depth == 0)
        return false;
    const struct level *in = &b->levels[b->depth - 1];
    return b->nodes[in->node].type == CH_JSON_OBJECT && !in->has_key;
}

/* Count a complete node in its container. */
static void count_node(struct builder *b, unsigned height) {
    if (b->depth == 0)
        return;
    struct level *in = &b->levels[b->depth - 1];
    bool key = yaml_is_key(b);
    in->height = CH_MAX(in->height, height);
    in->has_key = key;
    b->nodes[in->node].n += !key;
}

static int yaml_add_anchor(struct builder *b, const yaml_char_t *name, bool open,
                           struct ch_json_where w, size_t *index) {
    *index = NO_ANCHOR;
    if (!name)
        return 0;
    if (b->n_anchors == CH_LIMIT_YAML_ANCHORS)
        return fail_at(b, CHELA_ELIMIT, w, "too many anchors");
    if (b->n_anchors % ANCHOR_STEP == 0)
        b->anchors = ch_realloc(b->anchors, (b->n_anchors + ANCHOR_STEP) * sizeof(b->anchors[0]));
    *index = b->n_anchors++;
    b->anchors[*index] = (struct anchor){
        .name = ch_arena_sv(b->arena, ch_sv_str((const char *)name)), .node = b->n, .open = open};
    return 0;
}

/* The last anchor with the name: later YAML anchors replace earlier ones. */
static const struct anchor *yaml_find_anchor(const struct builder *b, const char *name) {
    for (size_t i = b->n_anchors; i-- > 0;)
        if (ch_sv_is(b->anchors[i].name, name))
            return &b->anchors[i];
    return NULL;
}

static int on_alias(struct builder *b, const yaml_event_t *ev, struct ch_json_where w) {
    const char *name = (const char *)ev->data.alias.anchor;
    const struct anchor *a = yaml_find_anchor(b, name);
    if (!a)
        return fail_at(b, CHELA_EPARSE, w, "alias without an anchor of that name");
    if (a->open)
        return fail_at(b, CHELA_EPARSE, w, "alias inside its own anchor");
    if (yaml_is_key(b))
        return fail_at(b, CHELA_EPARSE, w, "an alias cannot be a key");
    if (b->depth + a->height > CH_LIMIT_JSON_DEPTH)
        return fail_at(b, CHELA_ELIMIT, w, "nested too deeply");
    size_t n = (size_t)(ch_json_next(&b->nodes[a->node]) - &b->nodes[a->node]);
    int rc = yaml_make_room(b, n, w);
    if (rc < 0)
        return rc;
    memcpy(b->nodes + b->n, b->nodes + a->node, n * sizeof(b->nodes[0]));
    memcpy(b->marks + b->n, b->marks + a->node, n * sizeof(b->marks[0]));
    b->n += n;
    count_node(b, a->height);
    return 0;
}

/* Apply a tag of the core schema to the scalar. */
static const char *apply_tag(struct builder *b, const char *tag, struct ch_sv text,
                             struct ch_json *out) {
    static const struct {
        const char *tag;
        enum ch_json_type types[2];
    } core[] = {
        {CORE_TAG "null", {CH_JSON_NULL, CH_JSON_NULL}},
        {CORE_TAG "bool", {CH_JSON_FALSE, CH_JSON_TRUE}},
        {CORE_TAG "int", {CH_JSON_NUMBER, CH_JSON_NUMBER}},
        {CORE_TAG "float", {CH_JSON_NUMBER, CH_JSON_NUMBER}},
    };
    *out = ch_yaml_string(text);
    if (strcmp(tag, "!") == 0 || strcmp(tag, CORE_TAG "str") == 0)
        return NULL;
    for (size_t i = 0; i < CH_LEN(core); i++) {
        if (strcmp(tag, core[i].tag) != 0)
            continue;
        const char *why = ch_yaml_plain(b->arena, text, out);
        bool fits = out->type == core[i].types[0] || out->type == core[i].types[1];
        return why ? why : fits ? NULL : "the value does not match its tag";
    }
    return ch_arena_printf(b->arena, "unknown tag %s", tag);
}

static const char *scalar_value(struct builder *b, const yaml_event_t *ev, struct ch_json *out) {
    const char *tag = (const char *)ev->data.scalar.tag;
    bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct ch_sv text =
        ch_arena_sv(b->arena, ch_sv((const char *)ev->data.scalar.value, ev->data.scalar.length));
    if (yaml_is_key(b)) {
        *out = ch_yaml_string(text);
        return plain && !tag && ch_sv_is(text, "<<") ? "merge keys (<<) are not supported" : NULL;
    }
    if (tag)
        return apply_tag(b, tag, text, out);
    if (plain)
        return ch_yaml_plain(b->arena, text, out);
    *out = ch_yaml_string(text);
    return NULL;
}

static int on_scalar(struct builder *b, const yaml_event_t *ev, struct ch_json_where w) {
    size_t anchor;
    struct ch_json node;
    const char *why = scalar_value(b, ev, &node);
    if (why)
        return fail_at(b, CHELA_EPARSE, w, why);
    int rc = yaml_make_room(b, 1, w);
    if (rc == 0)
        rc = yaml_add_anchor(b, ev->data.scalar.anchor, false, w, &anchor);
    if (rc < 0)
        return rc;
    b->marks[b->n] = w;
    b->nodes[b->n++] = node;
    count_node(b, 0);
    return 0;
}

static int open_container(struct builder *b, enum ch_json_type type, const yaml_char_t *name,
                          const yaml_char_t *tag, struct ch_json_where w) {
    size_t anchor;
    const char *own = type == CH_JSON_OBJECT ? CORE_TAG "map" : CORE_TAG "seq";
    if (tag && strcmp((const char *)tag, own) != 0 && strcmp((const char *)tag, "!") != 0)
        return fail_at(b, CHELA_EPARSE, w, ch_arena_printf(b->arena, "unknown tag %s", tag));
    if (yaml_is_key(b))
        return fail_at(b, CHELA_EPARSE, w, "a key must be a string");
    if (b->depth == CH_LIMIT_JSON_DEPTH)
        return fail_at(b, CHELA_ELIMIT, w, "nested too deeply");
    int rc = yaml_make_room(b, 1, w);
    if (rc == 0)
        rc = yaml_add_anchor(b, name, true, w, &anchor);
    if (rc < 0)
        return rc;
    b->levels[b->depth++] = (struct level){.node = b->n, .anchor = anchor};
    b->marks[b->n] = w;
    b->nodes[b->n++] = (struct ch_json){.type = (uint8_t)type};
    return 0;
}

static int yaml_check_names(struct builder *b, const struct ch_json *object) {
    CH_AUTOFREE const struct ch_json **keys = ch_json_sorted_keys(object);
    for (size_t i = 1; i < object->n; i++) {
        if (!ch_json_same_name(keys[i - 1], keys[i]))
            continue;
        const char *why =
            ch_arena_printf(b->arena, "duplicate key \"%.*s\" (first on line %u)", (int)keys[i]->n,
                            keys[i]->s, b->marks[keys[i - 1] - b->nodes].line);
        return fail_at(b, CHELA_EPARSE, b->marks[keys[i] - b->nodes], why);
    }
    return 0;
}

static int close_container(struct builder *b) {
    struct level *l = &b->levels[--b->depth];
    struct ch_json *node = &b->nodes[l->node];
    unsigned height = l->height + 1;
    node->nodes = b->n - l->node;
    if (l->anchor != NO_ANCHOR) {
        b->anchors[l->anchor].open = false;
        b->anchors[l->anchor].height = height;
    }
    count_node(b, height);
    return node->type == CH_JSON_OBJECT ? yaml_check_names(b, node) : 0;
}

static int yaml_on_event(struct builder *b, const yaml_event_t *ev) {
    struct ch_json_where w = yaml_place(&ev->start_mark);
    switch (ev->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->documents++)
            return fail_at(b, CHELA_EPARSE, w, "more than one document");
        return 0;
    case YAML_ALIAS_EVENT:
        return on_alias(b, ev, w);
    case YAML_SCALAR_EVENT:
        return on_scalar(b, ev, w);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(b, CH_JSON_ARRAY, ev->data.sequence_start.anchor,
                              ev->data.sequence_start.tag, w);
    case YAML_MAPPING_START_EVENT:
        return open_container(b, CH_JSON_OBJECT, ev->data.mapping_start.anchor,
                              ev->data.mapping_start.tag, w);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_container(b);
    default:
        return 0;
    }
}

static int yaml_build(struct builder *b) {
    bool ended = false;
    int rc = 0;
    while (rc == 0 && !ended) {
        yaml_event_t ev;
        if (!yaml_parser_parse(&b->parser, &ev))
            return parser_failed(b);
        ended = ev.type == YAML_STREAM_END_EVENT;
        rc = yaml_on_event(b, &ev);
        yaml_event_delete(&ev);
    }
    if (rc < 0 || b->n)
        return rc;
    struct ch_json_where start = {.line = 1, .column = 1};
    rc = yaml_make_room(b, 1, start);
    b->marks[0] = start;
    b->nodes[b->n++] = (struct ch_json){.type = CH_JSON_NULL};
    return rc;
}

static void *to_arena(struct ch_arena *a, const void *p, size_t n) {
    return memcpy(ch_arena_alloc(a, n), p, n);
}

int ch_yaml_parse(struct ch_arena *a, struct ch_sv text, const char *name, struct ch_yaml *out,
                  struct chela_error *err) {
    if (text.n > CH_LIMIT_YAML_FILE)
        return ch_fail(err, CHELA_ELIMIT, "%s:1:1: larger than %zu bytes", name,
                       CH_LIMIT_YAML_FILE);
    struct builder b = {.arena = a, .text = text.p ? text : CH_SV(""), .name = name, .err = err};
    size_t mark = ch_sv_starts(text, BYTE_ORDER_MARK) ? strlen(BYTE_ORDER_MARK) : 0;
    b.text = ch_sv(b.text.p + mark, b.text.n - mark);
    if (!yaml_parser_initialize(&b.parser))
        return ch_fail(err, CHELA_EINTERNAL, "%s: out of memory", name);
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)b.text.p, b.text.n);
    int rc = yaml_build(&b);
    if (rc == 0)
        *out = (struct ch_yaml){
            .root = to_arena(a, b.nodes, b.n * sizeof(b.nodes[0])),
            .name = ch_arena_str(a, ch_sv_str(name)),
            .marks = to_arena(a, b.marks, b.n * sizeof(b.marks[0])),
            .nodes = b.n,
        };
    yaml_parser_delete(&b.parser);
    ch_free(b.nodes);
    ch_free(b.marks);
    ch_free(b.anchors);
    return rc;
}

struct ch_json_where ch_yaml_where(const struct ch_yaml *y, const struct ch_json *v) {
    if (v < y->root || v >= y->root + y->nodes)
        return (struct ch_json_where){.line = 1, .column = 1};
    return y->marks[v - y->root];
}
