/* schema_compile.c -- compile schema documents to a program.
 *
 *   reach    follow keywords and references from the root: every reachable
 *            subschema becomes a part; documents are loaded on the way
 *   compile  part by part; a subschema that applies to the same value as its
 *            parent (allOf, $ref, ...) is compiled first, so that its checks can
 *            be reused and endless cycles are detected
 *   anchor   assign compiled subschemas to the resources' dynamic anchors
 *
 * After reach it is known whether `unevaluated*` or the dynamic scope is used;
 * a schema without them does not pay for them. Compiling recurses only through
 * subschemas of one value, bounded by CH_LIMIT_SCHEMA_NESTING. */
#include "schema/schema_compile.h"

#include <stdarg.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "json/value.h"
#include "schema/schema_emit.h"

/* --- parts ---------------------------------------------------------------- */

static struct ch_part *part_at(struct ch_compiler *c, const struct ch_document *d,
                               const struct ch_json *at) {
    uint32_t part = ch_place_of(d, at)->part;
    return part ? &c->parts[part - 1] : NULL;
}

/* Make the schema a part, unless it already is one. */
static void want(struct ch_compiler *c, const struct ch_json *at, const struct ch_document *d) {
    struct ch_schema_place *place = ch_place_of(d, at);
    if (place->part || !place->resource)
        return;
    CH_GROW(c->parts, c->n, c->cap, 16);
    struct ch_sub *sub = CH_ARENA_NEW(&c->schema->arena, struct ch_sub);
    sub->types = CH_BIT_ALL;
    sub->at = at;
    sub->document = place->resource->document;
    c->parts[c->n++] = (struct ch_part){.at = at, .resource = place->resource, .sub = sub};
    place->part = (uint32_t)c->n;
    place->resource->entered = true;
}

/* --- reach ---------------------------------------------------------------- */

static void want_list(struct ch_compiler *c, const struct ch_json *list,
                      const struct ch_document *d) {
    for (CH_JSON_EACH(e, list))
        want(c, e, d);
}

static void want_map(struct ch_compiler *c, const struct ch_json *map,
                     const struct ch_document *d) {
    for (CH_JSON_MEMBERS(name, v, map))
        want(c, v, d);
}

static void want_keyword(struct ch_compiler *c, enum ch_keyword k, const struct ch_json *v,
                         const struct ch_document *d) {
    switch ((enum ch_operand)ch_keywords[k].shape) {
    case CH_SHAPE_NONE:
        break;
    case CH_SHAPE_ONE:
        want(c, v, d);
        break;
    case CH_SHAPE_EITHER:
    case CH_SHAPE_LIST:
        if (v->type == CH_JSON_ARRAY)
            want_list(c, v, d);
        else
            want(c, v, d);
        break;
    case CH_SHAPE_MAP:
    case CH_SHAPE_DEPENDS:
        want_map(c, v, d);
        break;
    }
}

static int schema_compile_resolve(struct ch_compiler *c, struct ch_part *p, enum ch_keyword k,
                                  const struct ch_json *ref, struct ch_schema_target *out) {
    struct ch_builder b = {.c = c, .sub = p->sub};
    struct chela_error why = {0}, *keep = c->sources.err;
    if (!ch_json_is(ref, CH_JSON_STRING))
        return ch_builder_fail(&b, k, CHELA_EINVAL, "must be a string");
    c->sources.err = &why;
    int rc = ch_sources_resolve(&c->sources, p->resource, ch_json_str(ref), out);
    c->sources.err = keep;
    if (rc < 0)
        return ch_builder_fail(&b, k, rc, "%s", why.message);
    want(c, out->at, out->resource->document);
    return 0;
}

/* Reach the part's references. Parts move while others are added. */
static int reach_references(struct ch_compiler *c, size_t i) {
    struct ch_part p = c->parts[i];
    const struct ch_dialect *d = &p.resource->dialect;
    const struct ch_json *ref = ch_json_get(p.at, "$ref");
    const struct ch_json *dynamic =
        ch_json_get(p.at, d->draft == CH_DRAFT_2019 ? "$recursiveRef" : "$dynamicRef");
    int rc = ref ? schema_compile_resolve(c, &p, CH_KW_REF, ref, &p.ref) : 0;
    if (rc == 0 && dynamic && d->draft != CH_DRAFT_7)
        rc = schema_compile_resolve(c, &p, CH_KW_DYNAMIC_REF, dynamic, &p.dynamic_ref);
    if (rc < 0)
        return rc;
    if (d->draft == CH_DRAFT_2019 && p.dynamic_ref.at)
        p.dynamic_ref.dynamic =
            ch_json_bool(ch_json_get(p.dynamic_ref.at, "$recursiveAnchor"), false);
    c->dynamic |= p.dynamic_ref.dynamic;
    c->parts[i] = p;
    return 0;
}

/* Definitions are reached only by reference; contents (contentSchema) are not
 * followed. */
static bool leads_on(enum ch_keyword k) {
    return k != CH_KW_DEFS && k != CH_KW_DEFINITIONS && k != CH_KW_CONTENT_SCHEMA;
}

static int reach_part(struct ch_compiler *c, size_t i) {
    const struct ch_json *at = c->parts[i].at;
    const struct ch_resource *r = c->parts[i].resource;
    if (at->type != CH_JSON_OBJECT)
        return 0;
    int rc = reach_references(c, i);
    bool alone = r->dialect.draft == CH_DRAFT_7 && c->parts[i].ref.at;
    if (rc < 0 || alone)
        return rc;
    for (CH_JSON_MEMBERS(name, v, at)) {
        enum ch_keyword k = ch_keyword_find(ch_json_str(name));
        if (!ch_dialect_has(&r->dialect, k))
            continue;
        c->tracks |= ch_keywords[k].vocabulary == CH_VOCAB_UNEVALUATED;
        if (leads_on(k))
            want_keyword(c, k, v, r->document);
    }
    return 0;
}

/* Reach all anchors whose name is referenced dynamically: any of them may be
 * the target. */
static void want_anchors(struct ch_compiler *c) {
    for (struct ch_resource *r = c->dynamic ? c->sources.resources : NULL; r; r = r->next)
        for (struct ch_anchor *a = r->entered ? r->dynamic : NULL; a; a = a->next)
            want(c, a->at, r->document);
}

static int reach(struct ch_compiler *c) {
    for (size_t i = 0; i < c->n;) {
        int rc = reach_part(c, i++);
        if (rc < 0)
            return rc;
        if (i == c->n)
            want_anchors(c);
    }
    return 0;
}

/* --- building one part ---------------------------------------------------- */

void ch_builder_add(struct ch_builder *b, unsigned types, struct ch_op op) {
    CH_GROW(b->ops, b->n, b->cap, 8);
    b->ops[b->n++] = (struct ch_draft_op){op, (uint8_t)types};
}

int ch_builder_fail(struct ch_builder *b, enum ch_keyword k, int code, const char *fmt, ...) {
    CH_BUF_AUTO where = {0};
    CH_BUF_AUTO why = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&why, fmt, ap);
    va_end(ap);
    ch_sub_location(b->sub, k, &where);
    return ch_fail(b->c->err, code, "%s: %s", ch_buf_str(&where), ch_buf_str(&why));
}

/* A subschema of another resource is entered through a door, so that the run
 * knows the dynamic scope. */
static const struct ch_sub *schema_compile_enter(struct ch_compiler *c,
                                                 const struct ch_resource *from,
                                                 struct ch_part *p) {
    if (!c->dynamic || p->resource == from)
        return p->sub;
    if (p->door)
        return p->door;
    struct ch_arena *a = &c->schema->arena;
    struct ch_schema_entry *door = CH_ARENA_NEW(a, struct ch_schema_entry);
    *door = (struct ch_schema_entry){p->resource, p->sub};
    struct ch_op *ops = ch_arena_zalloc(a, 2 * sizeof(*ops));
    ops[0] = (struct ch_op){.code = CH_OP_SCOPE, .door = door};
    p->door = CH_ARENA_NEW(a, struct ch_sub);
    p->door->types = CH_BIT_ALL;
    p->door->at = p->at;
    p->door->document = p->resource->document;
    for (size_t t = 0; t < CH_TYPES; t++)
        p->door->checks[t] = ops;
    return p->door;
}

const struct ch_sub *ch_builder_child(struct ch_builder *b, const struct ch_json *v) {
    struct ch_part *p = part_at(b->c, b->resource->document, v);
    return p ? schema_compile_enter(b->c, b->resource, p) : NULL;
}

const struct ch_sub *ch_builder_entry(struct ch_builder *b, const struct ch_schema_target *target) {
    return schema_compile_enter(b->c, b->resource,
                                part_at(b->c, target->resource->document, target->at));
}

static int compile_part(struct ch_compiler *c, size_t i);

static int compile_same(struct ch_builder *b, enum ch_keyword k, struct ch_part *p,
                        const struct ch_sub **out) {
    struct ch_compiler *c = b->c;
    size_t i = (size_t)(p - c->parts);
    if (p->state == CH_PART_OPEN)
        return ch_builder_fail(b, k, CHELA_EINVAL, "refers to itself endlessly");
    if (c->open >= CH_LIMIT_SCHEMA_NESTING)
        return ch_builder_fail(b, k, CHELA_ELIMIT, "more than %d subschemas for one value",
                               CH_LIMIT_SCHEMA_NESTING);
    int rc = p->state == CH_PART_NEW ? compile_part(c, i) : 0;
    if (rc == 0)
        *out = schema_compile_enter(c, b->resource, &c->parts[i]);
    return rc;
}

int ch_builder_same(struct ch_builder *b, enum ch_keyword k, const struct ch_json *v,
                    const struct ch_sub **out) {
    struct ch_part *p = part_at(b->c, b->resource->document, v);
    if (!p)
        return ch_builder_fail(b, k, CHELA_EINVAL, "must be a schema: an object or a boolean");
    return compile_same(b, k, p, out);
}

int ch_builder_target(struct ch_builder *b, enum ch_keyword k,
                      const struct ch_schema_target *target, const struct ch_sub **out) {
    return compile_same(b, k, part_at(b->c, target->resource->document, target->at), out);
}

/* --- from drafts to lists -------------------------------------------------- */

static const struct ch_op wrong_type[] = {{.code = CH_OP_TYPE, .keyword = CH_KW_TYPE},
                                          {.code = CH_OP_END}};
static const struct ch_op nothing[] = {{.code = CH_OP_FALSE}, {.code = CH_OP_END}};

/* Whether values of the two types have the same checks. */
static bool alike(const struct ch_builder *b, unsigned t, unsigned u) {
    for (size_t i = 0; i < b->n; i++)
        if ((b->ops[i].types >> t & 1) != (b->ops[i].types >> u & 1))
            return false;
    return true;
}

static const struct ch_op *list_for(struct ch_builder *b, unsigned type) {
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += b->ops[i].types >> type & 1;
    if (n == 0)
        return NULL;
    struct ch_op *list = ch_arena_zalloc(&b->c->schema->arena, (n + 1) * sizeof(*list));
    n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->ops[i].types >> type & 1)
            list[n++] = b->ops[i].op;
    return list;
}

/* Whether the subschema only refers to another subschema, and can be replaced
 * by it. */
static bool is_alias(const struct ch_builder *b) {
    return b->n == 1 && b->ops[0].op.code == CH_OP_ALL && b->sub->types == CH_BIT_ALL &&
           b->ops[0].types == ch_sub_concerned(b->ops[0].op.sub);
}

static void schema_compile_finish(struct ch_builder *b) {
    struct ch_sub *sub = b->sub;
    if (is_alias(b)) {
        *sub = *b->ops[0].op.sub;
        return;
    }
    for (unsigned t = 0; t < CH_TYPES; t++) {
        if (!(sub->types >> t & 1)) {
            sub->checks[t] = wrong_type;
            continue;
        }
        unsigned same = 0;
        while (same < t && !(sub->types >> same & 1 && alike(b, same, t)))
            same++;
        sub->checks[t] = same < t ? sub->checks[same] : list_for(b, t);
    }
}

static void collect_keywords(struct ch_builder *b, const struct ch_json *at) {
    const struct ch_dialect *d = &b->resource->dialect;
    bool alone = d->draft == CH_DRAFT_7 && ch_json_get(at, "$ref");
    for (CH_JSON_MEMBERS(name, v, at)) {
        enum ch_keyword k = ch_keyword_find(ch_json_str(name));
        if (k && ch_dialect_has(d, k) && (!alone || k == CH_KW_REF))
            b->kw[k] = v;
    }
}

static int compile_part(struct ch_compiler *c, size_t i) {
    struct ch_part *p = &c->parts[i];
    struct ch_builder b = {.c = c, .part = i, .resource = p->resource, .sub = p->sub};
    const struct ch_json *at = p->at;
    int rc = 0;
    p->state = CH_PART_OPEN;
    c->open++;
    if (at->type == CH_JSON_FALSE) {
        for (size_t t = 0; t < CH_TYPES; t++)
            p->sub->checks[t] = nothing;
    } else if (at->type == CH_JSON_OBJECT) {
        collect_keywords(&b, at);
        rc = ch_builder_emit(&b);
        if (rc == 0)
            schema_compile_finish(&b);
        ch_free(b.ops);
    }
    c->open--;
    c->parts[i].state = CH_PART_DONE;
    return rc;
}

static int schema_compile_all(struct ch_compiler *c) {
    for (size_t i = 0; i < c->n; i++) {
        int rc = c->parts[i].state == CH_PART_NEW ? compile_part(c, i) : 0;
        if (rc < 0)
            return rc;
    }
    for (struct ch_resource *r = c->dynamic ? c->sources.resources : NULL; r; r = r->next) {
        for (struct ch_anchor *a = r->entered ? r->dynamic : NULL; a; a = a->next)
            a->sub = schema_compile_enter(c, NULL, part_at(c, r->document, a->at));
    }
    return 0;
}

/* --- entry points ---------------------------------------------------------- */

static int schema_compile_build(struct ch_compiler *c, const struct ch_json *root) {
    const struct ch_schema_opts *o = c->opts;
    struct ch_dialect assumed = {o->draft ? o->draft : CH_DRAFT_2020, CH_VOCAB_ALL, false};
    struct ch_resource *r;
    struct ch_sv uri = ch_arena_sv(&c->schema->arena, o->uri.n ? o->uri : CH_SV(""));
    int rc = ch_sources_add(&c->sources, uri, root, &assumed, &r);
    if (rc < 0)
        return rc;
    want(c, root, r->document);
    rc = reach(c);
    if (rc == 0)
        rc = schema_compile_all(c);
    if (rc < 0)
        return rc;
    c->schema->root = part_at(c, r->document, root)->sub;
    c->schema->resource = r;
    return 0;
}

/* root is in s's arena. Takes ownership of s. */
static int compile_schema(struct ch_schema *s, const struct ch_json *root,
                          const struct ch_schema_opts *opts, struct ch_schema **out,
                          struct chela_error *err) {
    static const struct ch_schema_opts none = {0};
    struct ch_compiler c = {.schema = s, .opts = opts ? opts : &none, .err = err};
    ch_sources_init(&c.sources, &s->arena, c.opts, err);
    int rc = schema_compile_build(&c, root);
    ch_sources_release(&c.sources);
    ch_free(c.parts);
    if (rc < 0)
        ch_schema_free(s);
    else
        *out = s;
    return rc;
}

int ch_schema_new(const struct ch_json *root, const struct ch_schema_opts *opts,
                  struct ch_schema **out, struct chela_error *err) {
    struct ch_schema *s = ch_alloc(sizeof(*s));
    return compile_schema(s, ch_json_copy(&s->arena, root), opts, out, err);
}

int ch_schema_parse(struct ch_sv text, const struct ch_schema_opts *opts, struct ch_schema **out,
                    struct chela_error *err) {
    struct ch_schema *s = ch_alloc(sizeof(*s));
    const struct ch_json *root;
    int rc = CHELA_ELIMIT;
    if (text.n > CH_LIMIT_SCHEMA_TEXT)
        ch_fail(err, rc, "schema of %zu bytes, more than %zu", text.n, CH_LIMIT_SCHEMA_TEXT);
    else
        rc = ch_json_parse(&s->arena, ch_arena_sv(&s->arena, text), CH_JSON_STRICT, &root, NULL,
                           err);
    if (rc < 0) {
        ch_schema_free(s);
        return rc;
    }
    return compile_schema(s, root, opts, out, err);
}

void ch_schema_free(struct ch_schema *s) {
    if (!s)
        return;
    ch_patterns_release(&s->patterns);
    ch_arena_release(&s->arena);
    ch_free(s);
}

void ch_sub_location(const struct ch_sub *sub, enum ch_keyword k, struct ch_buf *out) {
    ch_buf_add_sv(out, sub->document->uri);
    ch_buf_addc(out, '#');
    ch_json_pointer_to(sub->document->root, sub->at, out);
    if (k != CH_KW_NONE)
        ch_buf_addf(out, "/%s", ch_keyword_name(k));
}
