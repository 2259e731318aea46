/* schema_source.c -- see schema_source.h.
 *
 * All addresses (resources and their anchors) are in one hash table under
 * their full text. Resolving a reference: make it absolute, cut the fragment,
 * find the resource (or load its document), then follow the fragment. The
 * fragment is a JSON Pointer from the resource's root, or the name of an
 * anchor.
 *
 * Indexing recurses through nested schemas; the JSON reader's depth limit
 * bounds the recursion. */
#include "schema/schema_source.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/uri.h"
#include "json/get.h"
#include "schema/schema_meta.h"

#define META_CHAIN 8      /* meta-schemas of meta-schemas */
#define MOST_ANCHORS 1024 /* distinct names of dynamic anchors */
#define FEW_CHILDREN 16   /* the children of a value with more are listed */

struct ch_name_entry {
    struct ch_keyed keyed; /* complete address; has a fragment if it is an anchor */
    struct ch_resource *resource;
    const struct ch_json *at;
    bool dynamic;
};

void ch_sources_init(struct ch_sources *s, struct ch_arena *arena,
                     const struct ch_schema_opts *opts, struct chela_error *err) {
    *s = (struct ch_sources){.arena = arena, .opts = opts, .err = err};
}

void ch_sources_release(struct ch_sources *s) {
    for (size_t i = 0; i < s->nchildren; i++)
        ch_free(s->children[i]);
    ch_free(s->children);
    ch_free(s->names);
    ch_key_table_release(&s->addresses);
}

/* --- names ---------------------------------------------------------------- */

unsigned ch_sources_intern(struct ch_sources *s, struct ch_sv name) {
    for (size_t i = 0; i < s->nnames; i++)
        if (ch_sv_eq(s->names[i], name))
            return (unsigned)i;
    s->names = ch_realloc(s->names, (s->nnames + 1) * sizeof(s->names[0]));
    s->names[s->nnames] = name;
    return (unsigned)s->nnames++;
}

static struct ch_name_entry *schema_source_find(struct ch_sources *s, struct ch_sv uri) {
    struct ch_keyed *e = ch_key_table_find(&s->addresses, uri);
    return e ? CH_CONTAINER(e, struct ch_name_entry, keyed) : NULL;
}

/* If two schemas have the same address, the first keeps it. */
static void schema_source_add_name(struct ch_sources *s, struct ch_sv uri, struct ch_resource *r,
                                   const struct ch_json *at, bool dynamic) {
    struct ch_name_entry *known = schema_source_find(s, uri);
    if (known) {
        known->dynamic |= dynamic && known->at == at;
        return;
    }
    struct ch_name_entry *e = CH_ARENA_NEW(s->arena, struct ch_name_entry);
    *e = (struct ch_name_entry){.resource = r, .at = at, .dynamic = dynamic};
    ch_key_table_add(&s->addresses, &e->keyed, ch_arena_str(s->arena, uri));
}

static struct ch_sv with_fragment(struct ch_arena *a, struct ch_sv uri, struct ch_sv fragment) {
    return ch_sv_str(ch_arena_printf(a, "%.*s#%.*s", CH_SV_FMT(uri), CH_SV_FMT(fragment)));
}

static void schema_source_add_anchor(struct ch_sources *s, struct ch_resource *r, struct ch_sv name,
                                     const struct ch_json *at, bool dynamic) {
    if (!name.p)
        return;
    schema_source_add_name(s, with_fragment(s->arena, r->uri, name), r, at, dynamic);
    if (!dynamic)
        return;
    struct ch_anchor *a = CH_ARENA_NEW(s->arena, struct ch_anchor);
    *a = (struct ch_anchor){.next = r->dynamic, .name = ch_sources_intern(s, name), .at = at};
    r->dynamic = a;
}

/* --- dialects ------------------------------------------------------------- */

static const struct {
    const char *uri; /* without "http" or "https" and without fragment */
    enum ch_schema_draft draft;
} drafts[] = {
    {"://json-schema.org/draft/2020-12/schema", CH_DRAFT_2020},
    {"://json-schema.org/draft/2019-09/schema", CH_DRAFT_2019},
    {"://json-schema.org/draft-07/schema", CH_DRAFT_7},
    {"://json-schema.org/draft-06/schema", CH_DRAFT_7},
    {"://json-schema.org/draft-04/schema", CH_DRAFT_7},
};

static bool is_vocabulary(struct ch_sv uri, const char *name) {
    static const char *const roots[] = {"https://json-schema.org/draft/2020-12/vocab/",
                                        "https://json-schema.org/draft/2019-09/vocab/"};
    for (size_t i = 0; i < CH_LEN(roots); i++) {
        size_t n = strlen(roots[i]);
        if (ch_sv_starts(uri, roots[i]) && ch_sv_is(ch_sv(uri.p + n, uri.n - n), name))
            return true;
    }
    return false;
}

static const struct {
    const char *name;
    unsigned bits;
} vocabularies[] = {
    {"core", CH_VOCAB_CORE},
    {"applicator", CH_VOCAB_APPLICATOR | CH_VOCAB_UNEVALUATED}, /* one vocabulary in 2019-09 */
    {"unevaluated", CH_VOCAB_UNEVALUATED},
    {"validation", CH_VOCAB_VALIDATION},
    {"format", CH_VOCAB_FORMAT},
    {"format-annotation", CH_VOCAB_FORMAT},
    {"format-assertion", CH_VOCAB_FORMAT},
    {"meta-data", CH_VOCAB_META},
    {"content", CH_VOCAB_META},
};

static int add_vocabulary(struct ch_sources *s, struct ch_sv uri, bool required,
                          struct ch_dialect *d) {
    for (size_t i = 0; i < CH_LEN(vocabularies); i++) {
        if (!is_vocabulary(uri, vocabularies[i].name))
            continue;
        bool joint = d->draft == CH_DRAFT_2019 || vocabularies[i].bits != vocabularies[1].bits;
        d->vocabularies |= joint ? vocabularies[i].bits : CH_VOCAB_APPLICATOR;
        d->assert_format |= is_vocabulary(uri, "format-assertion");
        return 0;
    }
    if (!required)
        return 0;
    return ch_fail(s->err, CHELA_EINVAL,
                   "the meta-schema requires the vocabulary %.*s, which is not known",
                   CH_SV_FMT(uri));
}

/* The dialect of schemas written for the meta-schema r. */
static int dialect_from(struct ch_sources *s, const struct ch_resource *r, struct ch_dialect *d) {
    const struct ch_json *list = ch_json_get(r->root, "$vocabulary");
    bool assert_format = d->assert_format;
    *d = r->dialect;
    if (!ch_json_is(list, CH_JSON_OBJECT))
        return 0;
    d->vocabularies = CH_VOCAB_CORE;
    d->assert_format = assert_format;
    for (CH_JSON_MEMBERS(name, required, list)) {
        int rc = add_vocabulary(s, ch_json_str(name), ch_json_bool(required, false), d);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int find_resource(struct ch_sources *s, struct ch_sv uri, const struct ch_dialect *d,
                         struct ch_resource **out);

/* *d is the default dialect and receives the one that $schema names. */
static int choose_dialect(struct ch_sources *s, const struct ch_json *root, struct ch_dialect *d) {
    struct ch_sv uri = ch_json_get_str(root, "$schema");
    struct ch_resource *meta;
    if (!uri.p)
        return 0;
    struct ch_sv fragment = ch_uri_cut_fragment(&uri);
    size_t scheme = ch_sv_starts(uri, "https") ? 5 : ch_sv_starts(uri, "http") ? 4 : 0;
    for (size_t i = 0; scheme && fragment.n == 0 && i < CH_LEN(drafts); i++) {
        if (!ch_sv_is(ch_sv(uri.p + scheme, uri.n - scheme), drafts[i].uri))
            continue;
        d->draft = drafts[i].draft;
        d->vocabularies = CH_VOCAB_ALL;
        return 0;
    }
    if (s->meta_chain >= META_CHAIN)
        return ch_fail(s->err, CHELA_ELIMIT, "$schema %.*s: meta-schemas lead in a circle",
                       CH_SV_FMT(uri));
    s->meta_chain++;
    int rc = find_resource(s, uri, d, &meta);
    s->meta_chain--;
    return rc < 0 ? rc : dialect_from(s, meta, d);
}

/* --- indexing ------------------------------------------------------------- */

static int index_schema(struct ch_sources *s, struct ch_document *doc, const struct ch_json *v,
                        struct ch_resource *r);

static int index_list(struct ch_sources *s, struct ch_document *doc, const struct ch_json *list,
                      struct ch_resource *r) {
    for (CH_JSON_EACH(e, list)) {
        int rc = index_schema(s, doc, e, r);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int index_map(struct ch_sources *s, struct ch_document *doc, const struct ch_json *map,
                     struct ch_resource *r) {
    for (CH_JSON_MEMBERS(name, v, map)) {
        int rc = index_schema(s, doc, v, r);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int index_keyword(struct ch_sources *s, struct ch_document *doc, enum ch_keyword k,
                         const struct ch_json *v, struct ch_resource *r) {
    switch ((enum ch_operand)ch_keywords[k].shape) {
    case CH_SHAPE_NONE:
        return 0;
    case CH_SHAPE_ONE:
        return index_schema(s, doc, v, r);
    case CH_SHAPE_LIST:
        return index_list(s, doc, v, r);
    case CH_SHAPE_EITHER:
        return v->type == CH_JSON_ARRAY ? index_list(s, doc, v, r) : index_schema(s, doc, v, r);
    case CH_SHAPE_MAP:
    case CH_SHAPE_DEPENDS:
        return index_map(s, doc, v, r);
    }
    return 0;
}

/* The schema's $id, {NULL,0} if it has none. In draft 7 a $ref hides all its
 * siblings. */
static struct ch_sv schema_source_id_of(const struct ch_json *v, enum ch_schema_draft draft) {
    if (draft == CH_DRAFT_7 && ch_json_is(ch_json_get(v, "$ref"), CH_JSON_STRING))
        return ch_sv(NULL, 0);
    return ch_json_get_str(v, "$id");
}

static int new_resource(struct ch_sources *s, struct ch_document *doc, const struct ch_json *root,
                        struct ch_sv base, const struct ch_dialect *assumed,
                        struct ch_resource **out) {
    struct ch_dialect dialect = *assumed;
    int rc = choose_dialect(s, root, &dialect);
    if (rc < 0)
        return rc;
    struct ch_resource *r = CH_ARENA_NEW(s->arena, struct ch_resource);
    struct ch_sv id = schema_source_id_of(root, dialect.draft);
    ch_uri_cut_fragment(&id);
    *r = (struct ch_resource){.next = s->resources,
                              .uri = ch_uri_resolve(s->arena, base, id.p ? id : CH_SV("")),
                              .root = root,
                              .document = doc,
                              .dialect = dialect};
    s->resources = r;
    schema_source_add_name(s, r->uri, r, root, false);
    *out = r;
    return 0;
}

/* Whether v is a resource: it has an $id that is more than a fragment. */
static bool begins_resource(const struct ch_json *v, const struct ch_resource *r) {
    struct ch_sv id = schema_source_id_of(v, r->dialect.draft);
    ch_uri_cut_fragment(&id);
    return id.n > 0 && v != r->root;
}

static void index_anchors(struct ch_sources *s, const struct ch_json *v, struct ch_resource *r) {
    if (r->dialect.draft == CH_DRAFT_7) {
        struct ch_sv id = schema_source_id_of(v, CH_DRAFT_7);
        schema_source_add_anchor(s, r, ch_uri_cut_fragment(&id), v, false);
        return;
    }
    schema_source_add_anchor(s, r, ch_json_get_str(v, "$anchor"), v, false);
    if (r->dialect.draft == CH_DRAFT_2020)
        schema_source_add_anchor(s, r, ch_json_get_str(v, "$dynamicAnchor"), v, true);
    else if (v == r->root && ch_json_bool(ch_json_get(v, "$recursiveAnchor"), false))
        schema_source_add_anchor(s, r, CH_SV(""), v, true);
}

static int index_schema(struct ch_sources *s, struct ch_document *doc, const struct ch_json *v,
                        struct ch_resource *r) {
    struct ch_schema_place *place = ch_place_of(doc, v);
    bool object = v->type == CH_JSON_OBJECT;
    if (place->resource || (!object && v->type != CH_JSON_TRUE && v->type != CH_JSON_FALSE))
        return 0;
    if (++s->nplaces > CH_LIMIT_SCHEMA_PARTS)
        return ch_fail(s->err, CHELA_ELIMIT, "more than %d subschemas", CH_LIMIT_SCHEMA_PARTS);
    if (object && begins_resource(v, r)) {
        int rc = new_resource(s, doc, v, r->uri, &r->dialect, &r);
        if (rc < 0)
            return rc;
    }
    place->resource = r;
    if (object)
        index_anchors(s, v, r);
    if (s->nnames > MOST_ANCHORS)
        return ch_fail(s->err, CHELA_ELIMIT, "more than %d names of dynamic anchors", MOST_ANCHORS);
    for (CH_JSON_MEMBERS(name, value, v)) {
        enum ch_keyword k = ch_keyword_find(ch_json_str(name));
        int rc = ch_dialect_has(&r->dialect, k) ? index_keyword(s, doc, k, value, r) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

int ch_sources_add(struct ch_sources *s, struct ch_sv uri, const struct ch_json *root,
                   const struct ch_dialect *dialect, struct ch_resource **out) {
    if (++s->ndocuments > CH_LIMIT_SCHEMA_DOCS)
        return ch_fail(s->err, CHELA_ELIMIT, "more than %d schema documents", CH_LIMIT_SCHEMA_DOCS);
    if (root->type != CH_JSON_OBJECT && root->type != CH_JSON_TRUE && root->type != CH_JSON_FALSE)
        return ch_fail(s->err, CHELA_EINVAL, "%.*s: a schema is an object or a boolean, not %s",
                       CH_SV_FMT(uri.n ? uri : CH_SV("#")),
                       ch_json_type_name((enum ch_json_type)root->type));
    struct ch_document *doc = CH_ARENA_NEW(s->arena, struct ch_document);
    size_t nodes = (size_t)(ch_json_next(root) - root);
    *doc = (struct ch_document){
        .next = s->documents,
        .uri = uri,
        .root = root,
        .places = ch_arena_zalloc(s->arena, nodes * sizeof(struct ch_schema_place)),
    };
    s->documents = doc;
    struct ch_resource *r;
    int rc = new_resource(s, doc, root, uri, dialect, &r);
    if (rc < 0)
        return rc;
    schema_source_add_name(s, uri, r, root, false);
    *out = r;
    return index_schema(s, doc, root, r);
}

/* --- resolving ------------------------------------------------------------ */

static int load_text(struct ch_sources *s, struct ch_sv uri, struct ch_buf *text) {
    if (ch_metaschema(uri, text))
        return 0;
    int rc = s->opts->load ? s->opts->load(s->opts->user, uri, text, s->err) : CHELA_ENOENT;
    if (rc == CHELA_ENOENT)
        return ch_fail(s->err, rc, "the schema refers to %.*s, which is not known here",
                       CH_SV_FMT(uri));
    return rc;
}

static int schema_source_load(struct ch_sources *s, struct ch_sv uri, const struct ch_dialect *d,
                              struct ch_resource **out) {
    CH_BUF_AUTO text = {.max = CH_LIMIT_SCHEMA_TEXT};
    struct chela_error why = {0};
    const struct ch_json *root;
    int rc = load_text(s, uri, &text);
    if (rc < 0)
        return rc;
    struct ch_sv copy = ch_arena_sv(s->arena, ch_buf_sv(&text));
    rc = ch_json_parse(s->arena, copy, CH_JSON_STRICT, &root, NULL, &why);
    if (rc < 0)
        return ch_fail(s->err, rc, "%.*s: %s", CH_SV_FMT(uri), why.message);
    return ch_sources_add(s, uri, root, d, out);
}

static int find_resource(struct ch_sources *s, struct ch_sv uri, const struct ch_dialect *d,
                         struct ch_resource **out) {
    struct ch_name_entry *e = schema_source_find(s, uri);
    if (!e)
        return schema_source_load(s, ch_arena_sv(s->arena, uri), d, out);
    *out = e->resource;
    return 0;
}

static const struct ch_json **schema_source_elements(const struct ch_json *array) {
    const struct ch_json **list = ch_malloc(array->n * sizeof(list[0]));
    size_t i = 0;
    for (CH_JSON_EACH(e, array))
        list[i++] = e;
    return list;
}

/* The elements of an array, or the key nodes of an object, sorted. They are listed once: a schema
 * may have a reference to each of them. */
static const struct ch_json **schema_source_children(struct ch_sources *s, struct ch_document *doc,
                                                     const struct ch_json *v) {
    struct ch_schema_place *place = ch_place_of(doc, v);
    if (!place->children) {
        s->children = ch_realloc(s->children, (s->nchildren + 1) * sizeof(s->children[0]));
        s->children[s->nchildren++] =
            v->type == CH_JSON_ARRAY ? schema_source_elements(v) : ch_json_sorted_keys(v);
        place->children = (uint32_t)s->nchildren;
    }
    return s->children[place->children - 1];
}

/* The member, or element, that a token of a JSON Pointer names. */
static const struct ch_json *schema_source_step(struct ch_sources *s, struct ch_document *doc,
                                                const struct ch_json *at, struct ch_sv token) {
    if (at->type < CH_JSON_ARRAY || at->n <= FEW_CHILDREN)
        return ch_json_step(s->arena, at, token);
    const struct ch_json **list = schema_source_children(s, doc, at);
    if (at->type == CH_JSON_OBJECT)
        return ch_json_find_sorted(list, at->n, ch_json_unescape(s->arena, token));
    size_t i = ch_json_index(token);
    return i < at->n ? list[i] : NULL;
}

/* Follow a JSON Pointer; an $id on the way changes the resource. */
static int schema_source_follow(struct ch_sources *s, struct ch_resource *r, struct ch_sv pointer,
                                struct ch_schema_target *out) {
    const struct ch_json *at = r->root;
    struct ch_document *doc = r->document;
    struct ch_sv rest = pointer;
    for (ch_sv_split(&rest, '/'); at && rest.p;) {
        at = schema_source_step(s, doc, at, ch_sv_split(&rest, '/'));
        if (at && ch_place_of(doc, at)->resource)
            r = ch_place_of(doc, at)->resource;
    }
    int rc = at ? index_schema(s, doc, at, r) : 0;
    if (at && rc == 0)
        *out = (struct ch_schema_target){.at = at, .resource = ch_place_of(doc, at)->resource};
    return rc;
}

static void schema_source_find_anchor(struct ch_sources *s, struct ch_resource *r,
                                      struct ch_sv name, struct ch_schema_target *out) {
    struct ch_name_entry *e = schema_source_find(s, with_fragment(s->arena, r->uri, name));
    if (e)
        *out = (struct ch_schema_target){e->at, e->resource, e->dynamic, name};
}

int ch_sources_resolve(struct ch_sources *s, struct ch_resource *from, struct ch_sv ref,
                       struct ch_schema_target *out) {
    struct ch_resource *r;
    struct ch_sv uri = ch_uri_resolve(s->arena, from->uri, ref), whole = uri;
    struct ch_sv fragment = ch_uri_decode(s->arena, ch_uri_cut_fragment(&uri));
    int rc = find_resource(s, uri, &from->dialect, &r);
    if (rc < 0)
        return rc;
    *out = (struct ch_schema_target){0};
    if (fragment.n == 0)
        *out = (struct ch_schema_target){.at = r->root, .resource = r};
    else if (fragment.p[0] == '/')
        rc = schema_source_follow(s, r, fragment, out);
    else
        schema_source_find_anchor(s, r, fragment, out);
    if (rc < 0)
        return rc;
    if (!out->at)
        return ch_fail(s->err, CHELA_ENOENT, "%.*s leads nowhere", CH_SV_FMT(whole));
    if (!out->resource)
        return ch_fail(s->err, CHELA_EINVAL, "%.*s is no schema", CH_SV_FMT(whole));
    return 0;
}
