/* gemini_args.c -- see gemini_args.h.
 *
 * The tree is an array of nodes with parent, first child and next sibling, so building and
 * writing need no recursion. Members keep their order of arrival. */
#include "model/vendor/gemini/gemini_args.h"

#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/pull.h"
#include "json/writer.h"

#define MAX_NODES 4096
#define MAX_STEPS (1u << 24) /* comparisons of names: as many as twice MAX_NODES names need */
#define MAX_SEGMENTS CH_LIMIT_PULL_DEPTH

enum kind { EMPTY, OBJECT, ARRAY, STRING, LITERAL };

struct ch_gemini_arg {
    enum kind kind;
    size_t parent, child, last, next; /* 0: none */
    size_t index;                     /* index within an array */
    size_t children;
    struct ch_buf key, text; /* text: a string's contents, or a literal */
};

void ch_gemini_args_clear(struct ch_gemini_args *a) {
    for (size_t i = 0; i < a->n; i++) {
        ch_buf_release(&a->nodes[i].key);
        ch_buf_release(&a->nodes[i].text);
    }
    a->n = a->growing = a->bytes = a->steps = 0;
    a->bad = false;
}

void ch_gemini_args_release(struct ch_gemini_args *a) {
    ch_gemini_args_clear(a);
    ch_free(a->nodes);
    *a = (struct ch_gemini_args){0};
}

static size_t new_node(struct ch_gemini_args *a, size_t parent) {
    CH_GROW(a->nodes, a->n, a->cap, 16);
    a->nodes[a->n] = (struct ch_gemini_arg){.parent = parent};
    return a->n++;
}

static void gemini_args_begin(struct ch_gemini_args *a) {
    if (a->n)
        return;
    size_t root = new_node(a, 0);
    a->nodes[root].kind = OBJECT;
}

/* --- paths: $.name, ['name'], [3] */

struct segment {
    bool index;
    size_t at;
    struct ch_sv name;
};

static bool take_index(struct ch_sv *path, struct segment *s) {
    size_t i = 0;
    s->index = true;
    s->at = 0;
    while (i < path->n && path->p[i] >= '0' && path->p[i] <= '9' && s->at < MAX_NODES)
        s->at = 10 * s->at + (size_t)(path->p[i++] - '0');
    if (!i || i == path->n || path->p[i] != ']')
        return false;
    *path = ch_sv(path->p + i + 1, path->n - i - 1);
    return true;
}

static bool take_quoted(struct ch_sv *path, struct segment *s) {
    char quote = *path->p;
    size_t i = 1;
    while (i < path->n && path->p[i] != quote)
        i++;
    if (i + 1 >= path->n || path->p[i + 1] != ']')
        return false;
    s->name = ch_sv(path->p + 1, i - 1);
    *path = ch_sv(path->p + i + 2, path->n - i - 2);
    return true;
}

static bool take_name(struct ch_sv *path, struct segment *s) {
    size_t i = 0;
    while (i < path->n && path->p[i] != '.' && path->p[i] != '[')
        i++;
    s->name = ch_sv(path->p, i);
    *path = ch_sv(path->p + i, path->n - i);
    return i > 0;
}

static bool take_segment(struct ch_sv *path, struct segment *s) {
    char c = *path->p;
    *s = (struct segment){0};
    *path = ch_sv(path->p + 1, path->n - 1);
    if (!path->n || (c != '.' && c != '['))
        return false;
    if (c == '.')
        return take_name(path, s);
    return *path->p == '\'' || *path->p == '"' ? take_quoted(path, s) : take_index(path, s);
}

/* --- the tree */

static bool is_named(const struct ch_gemini_arg *node, const struct segment *s) {
    return s->index ? node->index == s->at : ch_sv_eq(ch_buf_sv(&node->key), s->name);
}

/* Pieces usually belong to the newest child. */
static size_t find_child(struct ch_gemini_args *a, size_t parent, const struct segment *s) {
    const struct ch_gemini_arg *p = &a->nodes[parent];
    if (p->last && is_named(&a->nodes[p->last], s))
        return p->last;
    if (s->index && s->at >= p->children)
        return 0;
    for (size_t i = p->child; i; i = a->nodes[i].next, a->steps++)
        if (is_named(&a->nodes[i], s))
            return i;
    return 0;
}

/* The child that a segment names, created if necessary; 0: impossible. */
static size_t gemini_args_step(struct ch_gemini_args *a, size_t at, const struct segment *s) {
    enum kind want = s->index ? ARRAY : OBJECT;
    if (a->nodes[at].kind == EMPTY)
        a->nodes[at].kind = want;
    if (a->nodes[at].kind != want)
        return 0;
    size_t child = find_child(a, at, s);
    if (child)
        return child;
    if (a->n == MAX_NODES || (s->index && s->at != a->nodes[at].children))
        return 0;
    child = new_node(a, at);
    struct ch_gemini_arg *parent = &a->nodes[at], *node = &a->nodes[child];
    node->index = s->at;
    ch_buf_add_sv(&node->key, s->name);
    if (parent->last)
        a->nodes[parent->last].next = child;
    else
        parent->child = child;
    parent->last = child;
    parent->children++;
    return child;
}

static size_t gemini_args_walk(struct ch_gemini_args *a, struct ch_sv path) {
    size_t at = 0, segments = 0;
    if (!ch_sv_starts(path, "$"))
        return 0;
    path = ch_sv(path.p + 1, path.n - 1);
    while (path.n) {
        struct segment s;
        if (++segments > MAX_SEGMENTS || !take_segment(&path, &s) ||
            !(at = gemini_args_step(a, at, &s)))
            return 0;
    }
    return at;
}

struct piece {
    struct ch_sv path, string, literal;
    bool has_string, more;
};

/* A number, or a number as a string ("NaN"). The bytes of other values were not validated. */
static void take_literal(struct ch_pull *p, struct piece *x) {
    char first = ch_pull_peek(p);
    if (first == '"')
        x->has_string = ch_pull_str(p, &x->string);
    else if (first == '{' || first == '[')
        ch_pull_skip(p);
    else
        ch_pull_raw(p, &x->literal);
}

static void gemini_args_read_piece(struct ch_pull *p, struct piece *x) {
    struct ch_sv key;
    *x = (struct piece){0};
    if (!ch_pull_enter(p, '{'))
        return;
    while (ch_pull_key(p, &key)) {
        if (ch_sv_is(key, "jsonPath")) {
            ch_pull_str(p, &x->path);
        } else if (ch_sv_is(key, "stringValue")) {
            x->has_string = ch_pull_str(p, &x->string);
        } else if (ch_sv_is(key, "numberValue") || ch_sv_is(key, "boolValue")) {
            take_literal(p, x);
        } else if (ch_sv_is(key, "nullValue")) {
            ch_pull_skip(p);
            x->literal = CH_SV("null");
        } else if (ch_sv_is(key, "willContinue")) {
            ch_pull_bool(p, &x->more);
        } else {
            ch_pull_skip(p);
        }
    }
}

static void gemini_args_add_piece(struct ch_gemini_args *a, const struct piece *x) {
    struct ch_sv value = x->has_string ? x->string : x->literal;
    enum kind kind = x->has_string ? STRING : LITERAL;
    if (a->bad || (!x->has_string && !x->literal.n))
        return;
    size_t at = gemini_args_walk(a, x->path);
    struct ch_gemini_arg *node = &a->nodes[at];
    if (!at || a->steps > MAX_STEPS || (node->kind != EMPTY && node->kind != kind) ||
        value.n > CH_LIMIT_REPLY - a->bytes) {
        a->bad = true;
        return;
    }
    node->kind = kind;
    if (at != a->growing)
        ch_buf_clear(&node->text);
    ch_buf_add_sv(&node->text, value);
    a->bytes += value.n;
    a->growing = x->more ? at : 0;
}

void ch_gemini_args_add(struct ch_gemini_args *a, struct ch_sv array) {
    CH_BUF_AUTO scratch = {0};
    struct ch_pull p;
    struct piece x;
    gemini_args_begin(a);
    ch_pull_init(&p, array, &scratch);
    if (!ch_pull_enter(&p, '['))
        return;
    while (ch_pull_item(&p)) {
        gemini_args_read_piece(&p, &x);
        if (!ch_pull_failed(&p))
            gemini_args_add_piece(a, &x);
    }
}

/* --- writing */

static void open_node(const struct ch_gemini_arg *node, bool member, struct ch_jw *w) {
    if (member)
        ch_jw_key_sv(w, ch_buf_sv(&node->key));
    switch (node->kind) {
    case OBJECT:
    case ARRAY:
        ch_jw_begin(w, node->kind == OBJECT ? '{' : '[');
        break;
    case STRING:
        ch_jw_str(w, ch_buf_sv(&node->text));
        break;
    case LITERAL:
        ch_jw_raw(w, ch_buf_sv(&node->text));
        break;
    case EMPTY:
        ch_jw_null(w);
        break;
    }
}

static void close_node(const struct ch_gemini_arg *node, struct ch_jw *w) {
    if (node->kind == OBJECT || node->kind == ARRAY)
        ch_jw_end(w, node->kind == OBJECT ? '}' : ']');
}

void ch_gemini_args_write(const struct ch_gemini_args *a, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    size_t at = 0;
    if (a->bad || !a->n)
        return;
    open_node(&a->nodes[0], false, &w);
    for (;;) {
        size_t next = a->nodes[at].child;
        while (!next) {
            close_node(&a->nodes[at], &w);
            if (!at)
                return;
            next = a->nodes[at].next;
            at = a->nodes[at].parent;
        }
        open_node(&a->nodes[next], a->nodes[a->nodes[next].parent].kind == OBJECT, &w);
        at = next;
    }
}
