/* schema_clean.c -- see schema_clean.h.
 *
 * The output is not written object by object but from a *view*: all schema
 * objects that apply to one value, because allOf is merged and, for some
 * vendors, $ref is inlined. A keyword of a view is taken from the first object
 * that has it; properties and required names are combined from all.
 *
 * Each vendor is a row: its supported keywords, and how it expresses the rest.
 * Recursion follows the nesting of the output, bounded by DEEPEST; a reference
 * that leads back into itself is cut there. */
#include "schema/schema_clean.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "json/number.h"
#include "schema/schema_emit.h"
#include "schema/schema_program.h"
#include "json/writer.h"

#define DEEPEST 32
#define MOST_PARTS 32
#define MOST_NODES 20000 /* of the input, and schemas of the output: above every vendor's limit */

struct vendor {
    const char *name;
    const char *keywords; /* copied scalar keywords, separated by spaces */
    const char *formats;  /* supported string formats */
    bool references;      /* $ref and $defs are understood */
    bool nullable;        /* null is expressed by "nullable": true */
    bool string_enums;    /* values of an enum must be strings */
    bool strict;          /* all members required, no others allowed */
    bool maps;            /* additionalProperties may be a schema */
    bool tuples;          /* prefixItems */
};

static const struct vendor vendors[] = {
    [CH_CLEAN_GEMINI] =
        {
            .name = "gemini",
            .keywords = " title description default minimum maximum minItems maxItems minLength "
                        "maxLength minProperties maxProperties pattern propertyOrdering ",
            .formats = " date-time enum ",
            .nullable = true,
            .string_enums = true,
        },
    [CH_CLEAN_GEMINI_JSON] =
        {
            .name = "gemini-json",
            .keywords = " title description minimum maximum minItems maxItems propertyOrdering ",
            .formats = " date-time date time ",
            .references = true,
            .maps = true,
            .tuples = true,
        },
    [CH_CLEAN_OPENAI_STRICT] =
        {
            .name = "openai-strict",
            .keywords = " title description minimum maximum exclusiveMinimum exclusiveMaximum "
                        "multipleOf minItems maxItems pattern ",
            .formats = " date-time time date duration email hostname ipv4 ipv6 uuid ",
            .references = true,
            .strict = true,
        },
    [CH_CLEAN_ANTHROPIC_STRICT] =
        {
            .name = "anthropic-strict",
            .keywords = " title description pattern ",
            .formats = " date-time time date duration email hostname ipv4 ipv6 uuid uri ",
            .strict = true,
        },
};

/* All schema objects that apply to one value. */
struct view {
    const struct ch_json *part[MOST_PARTS];
    struct ch_resource *resource[MOST_PARTS];
    size_t n;
};

struct cleaner {
    const struct vendor *vendor;
    struct ch_sources sources;
    struct ch_jw w;
    struct ch_buf *notes;      /* may be NULL */
    struct ch_key_table noted; /* the lines of notes */
    struct chela_error *err;
    const struct ch_json *inside[DEEPEST * MOST_PARTS]; /* schemas being written, outermost first */
    size_t ninside, depth, written; /* written: schemas of the output so far */
};

/* Replaces a schema that would have to contain itself. */
static const struct ch_json some_object[] = {
    {.type = CH_JSON_OBJECT, .n = 1, .nodes = 3},
    {.type = CH_JSON_STRING, .flags = CH_JSON_PLAIN, .n = 4, .s = "type"},
    {.type = CH_JSON_STRING, .flags = CH_JSON_PLAIN, .n = 6, .s = "object"},
};

bool ch_clean_find(struct ch_sv name, enum ch_clean *out) {
    for (size_t i = 0; i < CH_LEN(vendors); i++) {
        if (!ch_sv_is(name, vendors[i].name))
            continue;
        *out = (enum ch_clean)i;
        return true;
    }
    return false;
}

/* Whether the space-separated list contains the word. */
static bool schema_clean_listed(const char *list, struct ch_sv word) {
    for (const char *at = list; (at = strchr(at, ' ')) && at[1]; at++)
        if (strcspn(at + 1, " ") == word.n && memcmp(at + 1, word.p, word.n) == 0)
            return true;
    return false;
}

static void schema_clean_add_path(struct cleaner *c, const struct ch_json *at, struct ch_buf *out) {
    for (const struct ch_document *d = c->sources.documents; d; d = d->next)
        if (at >= d->root && at < ch_json_next(d->root))
            ch_json_pointer_to(d->root, at, out);
}

/* Append a note once: merging visits some schemas twice. */
CHELA_PRINTF(3, 4)
static void schema_clean_note(struct cleaner *c, const struct ch_json *at, const char *fmt, ...) {
    CH_BUF_AUTO line = {0};
    va_list ap;
    if (!c->notes)
        return;
    schema_clean_add_path(c, at, &line);
    ch_buf_add_str(&line, line.n ? ": " : "#: ");
    va_start(ap, fmt);
    ch_buf_vaddf(&line, fmt, ap);
    va_end(ap);
    ch_buf_addc(&line, '\n');
    if (ch_key_table_find(&c->noted, ch_buf_sv(&line)))
        return;
    ch_key_table_add(&c->noted, ch_arena_zalloc(c->sources.arena, sizeof(struct ch_keyed)),
                     ch_arena_str(c->sources.arena, ch_buf_sv(&line)));
    ch_buf_add_sv(c->notes, ch_buf_sv(&line));
}

static int schema_clean_refuse(struct cleaner *c, const struct ch_json *at, const char *why) {
    CH_BUF_AUTO path = {0};
    schema_clean_add_path(c, at, &path);
    return ch_fail(c->err, CHELA_EINVAL, "%s cannot express this: %s: %s", c->vendor->name,
                   path.n ? ch_buf_str(&path) : "#", why);
}

/* --- views ------------------------------------------------------------------- */

static const struct ch_json *schema_clean_get(const struct view *v, const char *keyword) {
    for (size_t i = 0; i < v->n; i++) {
        const struct ch_json *found = ch_json_get(v->part[i], keyword);
        if (found)
            return found;
    }
    return NULL;
}

static int schema_clean_gather(struct cleaner *c, struct view *v, const struct ch_json *schema,
                               struct ch_resource *r, unsigned depth);

static int gather_reference(struct cleaner *c, struct view *v, const struct ch_json *ref,
                            struct ch_resource *r, unsigned depth) {
    struct ch_schema_target target;
    int rc = ch_sources_resolve(&c->sources, r, ch_json_str(ref), &target);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < c->ninside; i++) {
        if (c->inside[i] != target.at)
            continue;
        schema_clean_note(c, ref, "would contain itself; became any object");
        return schema_clean_gather(c, v, some_object, r, depth + 1);
    }
    return schema_clean_gather(c, v, target.at, target.resource, depth + 1);
}

/* The resource of a schema inside of r: the schema may have an $id of its own. */
static struct ch_resource *schema_clean_home(const struct ch_json *schema, struct ch_resource *r) {
    const struct ch_document *d = r->document;
    bool inside = schema >= d->root && schema < ch_json_next(d->root);
    struct ch_resource *own = inside ? ch_place_of(d, schema)->resource : NULL;
    return own ? own : r;
}

/* Add the object to the view, and the objects it refers to for the same value. */
static int schema_clean_gather(struct cleaner *c, struct view *v, const struct ch_json *schema,
                               struct ch_resource *r, unsigned depth) {
    if (schema->type != CH_JSON_OBJECT)
        return 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->part[i] == schema)
            return 0;
    if (v->n == MOST_PARTS || depth > DEEPEST)
        return ch_fail(c->err, CHELA_ELIMIT, "too many schemas apply to one value");
    r = schema_clean_home(schema, r);
    v->part[v->n] = schema;
    v->resource[v->n++] = r;
    const struct ch_json *ref = ch_json_get(schema, "$ref");
    int rc = ch_json_is(ref, CH_JSON_STRING) ? gather_reference(c, v, ref, r, depth) : 0;
    for (CH_JSON_EACH(e, ch_json_get(schema, "allOf")))
        if (rc == 0)
            rc = schema_clean_gather(c, v, e, r, depth + 1);
    return rc;
}

/* The types that all parts allow; *integer: numbers must be integers. */
static unsigned types_of(const struct view *v, bool *integer) {
    unsigned types = CH_BIT_ALL;
    *integer = false;
    for (size_t i = 0; i < v->n; i++) {
        bool whole;
        unsigned own = ch_type_bits(ch_json_get(v->part[i], "type"), &whole);
        types &= own ? own : CH_BIT_ALL;
        *integer |= whole;
    }
    return types;
}

/* --- values -------------------------------------------------------------------- */

static const char *const type_words[] = {"null",   "boolean", "boolean", "number",
                                         "string", "array",   "object"};

static void schema_clean_write_type(struct cleaner *c, unsigned types, bool integer) {
    bool list = types & (types - 1) && types != CH_BIT_BOOLEAN;
    ch_jw_key(&c->w, "type");
    if (list)
        ch_jw_begin(&c->w, '[');
    for (unsigned t = CH_JSON_TRUE; t < CH_TYPES; t++)
        if (types >> t & 1)
            ch_jw_cstr(&c->w, t == CH_JSON_NUMBER && integer ? "integer" : type_words[t]);
    if (types & CH_BIT_NULL)
        ch_jw_cstr(&c->w, "null");
    if (list)
        ch_jw_end(&c->w, ']');
}

/* Write one value of an enum as the vendor expects it. */
static void write_choice(struct cleaner *c, const struct ch_json *e) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (!c->vendor->string_enums || e->type == CH_JSON_STRING) {
        ch_jw_value(&c->w, e);
        return;
    }
    ch_jw_value(&w, e);
    ch_jw_str(&c->w, ch_buf_sv(&text));
}

/* The allowed values: from enum, from const, or from alternatives that all are
 * enum or const. */
struct choices {
    const struct ch_json *list; /* an array of values, or of schemas */
    const struct ch_json *one;  /* const */
    bool of_schemas;
};

static bool is_constant(const struct ch_json *schema) {
    return ch_json_get(schema, "const") || ch_json_is(ch_json_get(schema, "enum"), CH_JSON_ARRAY);
}

static struct choices choices_of(const struct view *v, const struct ch_json *alternatives) {
    struct choices found = {.list = schema_clean_get(v, "enum"),
                            .one = schema_clean_get(v, "const")};
    if (found.one || ch_json_is(found.list, CH_JSON_ARRAY))
        return found;
    bool all = ch_json_is(alternatives, CH_JSON_ARRAY) && alternatives->n > 0;
    for (CH_JSON_EACH(e, alternatives))
        all &= is_constant(e);
    return (struct choices){.list = all ? alternatives : NULL, .of_schemas = all};
}

static void each_choice(const struct choices *from,
                        void (*fn)(void *user, const struct ch_json *value), void *user) {
    if (from->one)
        fn(user, from->one);
    for (CH_JSON_EACH(e, from->one ? NULL : from->list)) {
        if (!from->of_schemas) {
            fn(user, e);
            continue;
        }
        const struct ch_json *one = ch_json_get(e, "const");
        if (one)
            fn(user, one);
        for (CH_JSON_EACH(inner, one ? NULL : ch_json_get(e, "enum")))
            fn(user, inner);
    }
}

struct kinds {
    unsigned types;
    bool fractions;
};

static void collect_type(void *user, const struct ch_json *value) {
    struct kinds *k = user;
    k->types |= 1u << value->type;
    k->fractions |= value->type == CH_JSON_NUMBER && !ch_number_is_integer(value);
}

static void write_one_choice(void *user, const struct ch_json *value) {
    struct cleaner *c = user;
    bool empty = value->type == CH_JSON_STRING && value->n == 0;
    if (value->type == CH_JSON_NULL || (empty && c->vendor->nullable))
        return; /* null is written elsewhere; "" is rejected by vendors */
    write_choice(c, value);
}

static void write_choices(struct cleaner *c, const struct choices *from, bool null) {
    ch_jw_kbegin(&c->w, "enum", '[');
    each_choice(from, write_one_choice, c);
    if (null && !c->vendor->nullable)
        ch_jw_null(&c->w);
    ch_jw_end(&c->w, ']');
}

/* --- keywords -------------------------------------------------------------------- */

/* Keywords that have their own code, or that may be dropped silently. */
static bool is_handled(struct ch_sv k) {
    return schema_clean_listed(
        " $schema $id $ref $defs definitions $anchor $comment $dynamicAnchor type enum "
        "const properties required items prefixItems additionalItems anyOf oneOf allOf "
        "nullable examples example deprecated readOnly writeOnly format "
        "exclusiveMinimum exclusiveMaximum additionalProperties unevaluatedProperties ",
        k);
}

static bool loses_nothing(struct ch_sv k, const struct ch_json *v) {
    bool closed = ch_sv_is(k, "additionalProperties") || ch_sv_is(k, "unevaluatedProperties");
    return (closed && v->type != CH_JSON_OBJECT) || ch_sv_starts(k, "x-");
}

static bool looks_around(const struct ch_json *pattern) {
    struct ch_sv s = ch_json_str(pattern);
    return s.n &&
           (memmem(s.p, s.n, "(?=", 3) || memmem(s.p, s.n, "(?!", 3) || memmem(s.p, s.n, "(?<", 3));
}

static void copy_keyword(struct cleaner *c, const struct view *v, size_t part,
                         const struct ch_json *name, const struct ch_json *value) {
    struct ch_sv k = ch_json_str(name);
    for (size_t i = 0; i < part; i++)
        if (ch_json_get_sv(v->part[i], k))
            return; /* an earlier part has written it */
    bool understood = !c->vendor->strict || !ch_sv_is(k, "pattern") || !looks_around(value);
    if (schema_clean_listed(c->vendor->keywords, k) && understood) {
        ch_jw_key_sv(&c->w, k);
        ch_jw_value(&c->w, value);
    } else if (!is_handled(k) && !loses_nothing(k, value)) {
        schema_clean_note(c, value, "'%.*s' left out", CH_SV_FMT(k));
    }
}

static void copy_keywords(struct cleaner *c, const struct view *v) {
    for (size_t i = 0; i < v->n; i++)
        for (CH_JSON_MEMBERS(name, value, v->part[i]))
            copy_keyword(c, v, i, name, value);
}

static void write_format(struct cleaner *c, const struct view *v, unsigned types) {
    const struct ch_json *format = schema_clean_get(v, "format");
    if (!ch_json_is(format, CH_JSON_STRING))
        return;
    bool number = types & CH_BIT_NUMBER && c->vendor->nullable;
    bool known = number ? schema_clean_listed(" float double int32 int64 ", ch_json_str(format))
                        : schema_clean_listed(c->vendor->formats, ch_json_str(format));
    if (known)
        ch_jw_kstr(&c->w, "format", ch_json_str(format));
    else
        schema_clean_note(c, format, "format '%.*s' left out", CH_SV_FMT(ch_json_str(format)));
}

/* For integers, an exclusive bound is written as the next inclusive one. */
static void write_exclusive(struct cleaner *c, const struct view *v, bool integer,
                            const char *keyword, const char *inclusive, int step) {
    const struct ch_json *bound = schema_clean_get(v, keyword);
    int64_t n;
    if (!bound || schema_clean_listed(c->vendor->keywords, ch_sv_str(keyword)))
        return;
    if (!integer || schema_clean_get(v, inclusive) || !ch_json_as_int(bound, &n) ||
        n > INT64_MAX - 1 || n < INT64_MIN + 1) {
        schema_clean_note(c, bound, "'%s' left out", keyword);
        return;
    }
    ch_jw_kint(&c->w, inclusive, n + step);
}

/* --- structure --------------------------------------------------------------------- */

static int write_view(struct cleaner *c, struct view *v, bool null);

/* null: the value may also be null. */
static int write_schema_or_null(struct cleaner *c, const struct ch_json *schema,
                                struct ch_resource *r, bool null);

static int write_schema(struct cleaner *c, const struct ch_json *schema, struct ch_resource *r) {
    return write_schema_or_null(c, schema, r, false);
}

static int write_member_named(struct cleaner *c, const struct view *v, const struct ch_json *name,
                              bool optional);

static bool is_required(const struct view *v, struct ch_sv name) {
    for (size_t i = 0; i < v->n; i++)
        for (CH_JSON_EACH(e, ch_json_get(v->part[i], "required")))
            if (ch_sv_eq(ch_json_str(e), name))
                return true;
    return false;
}

static bool is_property(const struct view *v, struct ch_sv name, size_t parts) {
    for (size_t i = 0; i < parts; i++)
        if (ch_json_get_sv(ch_json_get(v->part[i], "properties"), name))
            return true;
    return false;
}

static size_t count_properties(const struct view *v) {
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        for (CH_JSON_MEMBERS(name, value, ch_json_get(v->part[i], "properties")))
            n += value->type != CH_JSON_FALSE;
    return n;
}

static int write_properties(struct cleaner *c, const struct view *v) {
    ch_jw_kbegin(&c->w, "properties", '{');
    for (size_t i = 0; i < v->n; i++) {
        for (CH_JSON_MEMBERS(name, value, ch_json_get(v->part[i], "properties"))) {
            struct ch_sv key = ch_json_str(name);
            if (is_property(v, key, i) || value->type == CH_JSON_FALSE)
                continue;
            bool optional = c->vendor->strict && !is_required(v, key);
            int rc = write_member_named(c, v, name, optional);
            if (rc < 0)
                return rc;
        }
    }
    ch_jw_end(&c->w, '}');
    return 0;
}

static void schema_clean_write_required(struct cleaner *c, const struct view *v) {
    bool any = false;
    for (size_t i = 0; i < v->n; i++) {
        for (CH_JSON_MEMBERS(name, value, ch_json_get(v->part[i], "properties"))) {
            struct ch_sv key = ch_json_str(name);
            if (is_property(v, key, i) || value->type == CH_JSON_FALSE)
                continue;
            if (!c->vendor->strict && !is_required(v, key))
                continue;
            if (!any) {
                ch_jw_kbegin(&c->w, "required", '[');
            }
            any = true;
            ch_jw_str(&c->w, key);
        }
    }
    if (!any && c->vendor->strict) {
        ch_jw_kbegin(&c->w, "required", '[');
        any = true;
    }
    if (any)
        ch_jw_end(&c->w, ']');
}

/* Write a property, combined from all parts that define it. */
static int write_member_named(struct cleaner *c, const struct view *v, const struct ch_json *name,
                              bool optional) {
    const struct ch_json *only = NULL;
    struct ch_resource *resource = NULL;
    struct view all = {.n = 0};
    int rc = 0;
    size_t n = 0;
    ch_jw_key_sv(&c->w, ch_json_str(name));
    for (size_t i = 0; i < v->n && rc == 0; i++) {
        const struct ch_json *own =
            ch_json_get_sv(ch_json_get(v->part[i], "properties"), ch_json_str(name));
        if (!own)
            continue;
        only = own;
        resource = v->resource[i];
        if (n++ == 0 && v->n == 1)
            break;
        rc = schema_clean_gather(c, &all, own, v->resource[i], 0);
    }
    if (rc < 0)
        return rc;
    return n == 1 ? write_schema_or_null(c, only, resource, optional)
                  : write_view(c, &all, optional);
}

static int schema_clean_write_object(struct cleaner *c, const struct view *v) {
    const struct ch_json *more = schema_clean_get(v, "additionalProperties");
    bool map = ch_json_is(more, CH_JSON_OBJECT);
    size_t n = count_properties(v);
    bool open = n == 0 && !schema_clean_get(v, "properties") && !ch_json_is(more, CH_JSON_FALSE);
    if (c->vendor->strict && (map || open || schema_clean_get(v, "patternProperties")))
        return schema_clean_refuse(c, v->part[0], "an object with keys of any name");
    int rc = n || c->vendor->strict ? write_properties(c, v) : 0;
    if (rc < 0)
        return rc;
    schema_clean_write_required(c, v);
    if (c->vendor->strict) {
        ch_jw_kbool(&c->w, "additionalProperties", false);
    } else if (map && c->vendor->maps) {
        ch_jw_key(&c->w, "additionalProperties");
        return write_schema(c, more, v->resource[0]);
    } else if (c->vendor->maps && more && !map) {
        ch_jw_kbool(&c->w, "additionalProperties", more->type == CH_JSON_TRUE);
    } else if (map) {
        schema_clean_note(c, more, "'additionalProperties' left out");
    }
    return 0;
}

static int write_list(struct cleaner *c, const char *keyword, const struct ch_json *schemas,
                      struct ch_resource *r) {
    int rc = 0;
    ch_jw_kbegin(&c->w, keyword, '[');
    for (CH_JSON_EACH(e, schemas))
        if (rc == 0)
            rc = write_schema(c, e, r);
    ch_jw_end(&c->w, ']');
    return rc;
}

/* Write the element schemas of a tuple as alternatives of one `items`. */
static int write_places(struct cleaner *c, const struct ch_json *places, struct ch_resource *r) {
    schema_clean_note(c, places, "places of a tuple became alternatives");
    ch_jw_key(&c->w, "items");
    if (places->n == 1)
        return write_schema(c, places + 1, r);
    ch_jw_begin(&c->w, '{');
    int rc = write_list(c, "anyOf", places, r);
    ch_jw_end(&c->w, '}');
    return rc;
}

static int write_array(struct cleaner *c, const struct view *v) {
    const struct ch_json *items = schema_clean_get(v, "items"),
                         *places = schema_clean_get(v, "prefixItems");
    struct ch_resource *r = v->resource[0];
    if (ch_json_is(items, CH_JSON_ARRAY)) {
        places = items;
        items = NULL;
    }
    if (ch_json_is(places, CH_JSON_ARRAY) && places->n)
        return c->vendor->tuples ? write_list(c, "prefixItems", places, r)
                                 : write_places(c, places, r);
    if (ch_json_is(items, CH_JSON_OBJECT)) {
        ch_jw_key(&c->w, "items");
        return write_schema(c, items, r);
    }
    if (c->vendor->strict)
        return schema_clean_refuse(c, v->part[0], "an array of anything");
    ch_jw_kraw(&c->w, "items", CH_SV("{\"type\":\"string\"}"));
    schema_clean_note(c, v->part[0], "items of any type became strings");
    return 0;
}

static bool is_null(const struct ch_json *schema) {
    bool whole;
    return ch_type_bits(ch_json_get(schema, "type"), &whole) == CH_BIT_NULL ||
           ch_json_is(ch_json_get(schema, "const"), CH_JSON_NULL);
}

/* The resource of the part that contains these alternatives. */
static struct ch_resource *schema_clean_owner_of(const struct view *v,
                                                 const struct ch_json *alternatives) {
    for (size_t i = 0; i < v->n; i++)
        if (ch_json_get(v->part[i], "anyOf") == alternatives ||
            ch_json_get(v->part[i], "oneOf") == alternatives)
            return v->resource[i];
    return v->resource[0];
}

/* Write anyOf without the null alternative. */
static int write_alternatives(struct cleaner *c, const struct view *v,
                              const struct ch_json *alternatives, bool null) {
    struct ch_resource *r = schema_clean_owner_of(v, alternatives);
    int rc = 0;
    ch_jw_kbegin(&c->w, "anyOf", '[');
    for (CH_JSON_EACH(e, alternatives))
        if (rc == 0 && !is_null(e))
            rc = write_schema(c, e, r);
    if (null && !c->vendor->nullable)
        ch_jw_raw(&c->w, CH_SV("{\"type\":\"null\"}"));
    ch_jw_end(&c->w, ']');
    return rc;
}

/* Write several types as alternatives, for vendors whose `type` is a single
 * name. */
static int write_types(struct cleaner *c, const struct view *v, unsigned types, bool integer) {
    int rc = 0;
    ch_jw_kbegin(&c->w, "anyOf", '[');
    for (unsigned t = CH_JSON_TRUE; t < CH_TYPES && rc == 0; t++) {
        if (!(types >> t & 1))
            continue;
        ch_jw_begin(&c->w, '{');
        schema_clean_write_type(c, t == CH_JSON_TRUE ? CH_BIT_BOOLEAN : 1u << t, integer);
        if (t == CH_JSON_ARRAY)
            rc = write_array(c, v);
        if (t == CH_JSON_OBJECT)
            rc = schema_clean_write_object(c, v);
        ch_jw_end(&c->w, '}');
    }
    ch_jw_end(&c->w, ']');
    return rc;
}

/* --- one schema ---------------------------------------------------------------------- */

/* The types that the keywords imply without `type`. */
static unsigned implied_types(const struct view *v, const struct choices *choices, bool *integer) {
    struct kinds kinds = {0};
    each_choice(choices, collect_type, &kinds);
    *integer = !kinds.fractions && kinds.types;
    if (kinds.types)
        return kinds.types & CH_BIT_BOOLEAN ? kinds.types | CH_BIT_BOOLEAN : kinds.types;
    if (schema_clean_get(v, "properties") || schema_clean_get(v, "additionalProperties") ||
        schema_clean_get(v, "required"))
        return CH_BIT_OBJECT;
    if (schema_clean_get(v, "items") || schema_clean_get(v, "prefixItems"))
        return CH_BIT_ARRAY;
    if (schema_clean_get(v, "pattern") || schema_clean_get(v, "minLength") ||
        schema_clean_get(v, "maxLength") || schema_clean_get(v, "format"))
        return CH_BIT_STRING;
    if (schema_clean_get(v, "minimum") || schema_clean_get(v, "maximum") ||
        schema_clean_get(v, "multipleOf"))
        return CH_BIT_NUMBER;
    return 0;
}

static int schema_clean_write_body(struct cleaner *c, struct view *v, const struct choices *choices,
                                   unsigned types, bool integer, bool null) {
    unsigned plain = types & ~CH_BIT_NULL;
    bool one = !(plain & (plain - 1)) || plain == CH_BIT_BOOLEAN;
    bool words = choices->one || choices->list;
    int rc = 0;
    if (words && c->vendor->string_enums && plain != CH_BIT_STRING) {
        ch_jw_kcstr(&c->w, "type", "string");
        ch_jw_kcstr(&c->w, "format", "enum");
    } else if (one || !c->vendor->nullable) {
        schema_clean_write_type(c, null && !c->vendor->nullable ? types | CH_BIT_NULL : plain,
                                integer);
        write_format(c, v, plain);
    } else if (!words) {
        return write_types(c, v, plain, integer);
    }
    if (words)
        write_choices(c, choices, null);
    if (plain & CH_BIT_NUMBER) {
        write_exclusive(c, v, integer, "exclusiveMinimum", "minimum", 1);
        write_exclusive(c, v, integer, "exclusiveMaximum", "maximum", -1);
    }
    if (plain & CH_BIT_OBJECT && !words)
        rc = schema_clean_write_object(c, v);
    if (rc == 0 && plain & CH_BIT_ARRAY && !words)
        rc = write_array(c, v);
    return rc;
}

static const struct ch_json *filled_list(const struct ch_json *v) {
    return ch_json_is(v, CH_JSON_ARRAY) && v->n ? v : NULL;
}

/* The alternatives of the first part from `first` on that has any. */
static const struct ch_json *alternatives_of(const struct view *v, size_t first) {
    for (size_t i = first; i < v->n; i++) {
        const struct ch_json *any = filled_list(ch_json_get(v->part[i], "anyOf"));
        const struct ch_json *one = filled_list(ch_json_get(v->part[i], "oneOf"));
        if (any || one)
            return any ? any : one;
    }
    return NULL;
}

/* Remove null from the alternatives. A single remaining alternative becomes one
 * more part of the view, which may have alternatives of its own. */
static int reduce(struct cleaner *c, struct view *v, const struct ch_json **alternatives,
                  bool *null) {
    while (*alternatives) {
        const struct ch_json *left = NULL;
        size_t n = 0, parts = v->n;
        for (CH_JSON_EACH(e, *alternatives)) {
            *null |= is_null(e);
            left = is_null(e) ? left : e;
            n += !is_null(e);
        }
        if (n != 1)
            return 0;
        int rc = schema_clean_gather(c, v, left, schema_clean_owner_of(v, *alternatives), 0);
        if (rc < 0)
            return rc;
        *alternatives = alternatives_of(v, parts);
    }
    return 0;
}

static int write_anything(struct cleaner *c, const struct view *v, const struct ch_json *at) {
    if (c->vendor->strict)
        return schema_clean_refuse(c, at, "a value of any type");
    if (c->vendor->nullable) {
        schema_clean_note(c, at, "any type became string, number or boolean");
        ch_jw_kraw(&c->w, "anyOf",
                   CH_SV("[{\"type\":\"string\"},{\"type\":\"number\"},{\"type\":\"boolean\"}]"));
    }
    copy_keywords(c, v);
    return 0;
}

static int write_parts(struct cleaner *c, struct view *v, bool null) {
    bool integer;
    const struct ch_json *at = v->part[0], *alternatives = alternatives_of(v, 0);
    int rc = reduce(c, v, &alternatives, &null);
    if (rc < 0)
        return rc;
    struct choices choices = choices_of(v, alternatives);
    unsigned types = types_of(v, &integer);
    if (types == CH_BIT_ALL && (!alternatives || choices.list))
        types = implied_types(v, &choices, &integer);
    null |= types != CH_BIT_ALL && types & CH_BIT_NULL;
    null |= ch_json_bool(schema_clean_get(v, "nullable"), false);
    ch_jw_begin(&c->w, '{');
    if (alternatives && !choices.list)
        rc = write_alternatives(c, v, alternatives, null);
    else if (!(types & ~CH_BIT_NULL))
        rc = write_anything(c, v, at);
    else
        rc = schema_clean_write_body(c, v, &choices, types, integer, null);
    if (types & ~CH_BIT_NULL || (alternatives && !choices.list))
        copy_keywords(c, v);
    if (null && c->vendor->nullable)
        ch_jw_kbool(&c->w, "nullable", true);
    ch_jw_end(&c->w, '}');
    return rc;
}

/* null: the value may also be null. */
static int write_view(struct cleaner *c, struct view *v, bool null) {
    size_t before = c->ninside;
    if (v->n == 0)
        return schema_clean_refuse(c, c->sources.documents->root, "this is no schema");
    if (++c->written > MOST_NODES) /* references multiply what they refer to */
        return ch_fail(c->err, CHELA_ELIMIT, "the schema has more than %d parts", MOST_NODES);
    if (c->depth == DEEPEST)
        return ch_fail(c->err, CHELA_ELIMIT, "schemas nested more than %d deep", DEEPEST);
    for (size_t i = 0; i < v->n; i++)
        c->inside[c->ninside++] = v->part[i];
    c->depth++;
    int rc = write_parts(c, v, null);
    c->depth--;
    c->ninside = before;
    return c->w.out->overflow ? ch_fail(c->err, CHELA_ELIMIT, "the schema is too large") : rc;
}

/* Write a reference; "#/definitions/a" becomes "#/$defs/a". */
static void write_reference(struct cleaner *c, struct ch_sv ref) {
    CH_BUF_AUTO text = {0};
    static const char old[] = "#/definitions/";
    ch_jw_key(&c->w, "$ref");
    if (!ch_sv_starts(ref, old)) {
        ch_jw_str(&c->w, ref);
        return;
    }
    ch_buf_addf(&text, "#/$defs/%.*s", (int)(ref.n - strlen(old)), ref.p + strlen(old));
    ch_jw_str(&c->w, ch_buf_sv(&text));
}

/* Whether a reference in r can stay: it leads into this document's definitions. */
static bool stays(const struct cleaner *c, const struct ch_json *ref, const struct ch_resource *r) {
    struct ch_sv s = ch_json_str(ref);
    return c->vendor->references && r->root == r->document->root &&
           (ch_sv_starts(s, "#/$defs/") || ch_sv_starts(s, "#/definitions/") || ch_sv_is(s, "#"));
}

static int write_kept_reference(struct cleaner *c, const struct ch_json *ref, bool null) {
    ch_jw_begin(&c->w, '{');
    if (null) {
        ch_jw_kbegin(&c->w, "anyOf", '[');
        ch_jw_begin(&c->w, '{');
    }
    write_reference(c, ch_json_str(ref));
    if (null) {
        ch_jw_end(&c->w, '}');
        ch_jw_raw(&c->w, CH_SV("{\"type\":\"null\"}"));
        ch_jw_end(&c->w, ']');
    }
    ch_jw_end(&c->w, '}');
    return 0;
}

static int write_schema_or_null(struct cleaner *c, const struct ch_json *schema,
                                struct ch_resource *r, bool null) {
    const struct ch_json *ref = ch_json_get(schema, "$ref");
    struct view v = {.n = 0};
    if (schema->type == CH_JSON_TRUE || (schema->type == CH_JSON_OBJECT && schema->n == 0)) {
        ch_jw_begin(&c->w, '{');
        int rc = write_anything(c, &v, schema);
        ch_jw_end(&c->w, '}');
        return rc;
    }
    if (ch_json_is(ref, CH_JSON_STRING) && stays(c, ref, schema_clean_home(schema, r)))
        return write_kept_reference(c, ref, null);
    int rc = schema_clean_gather(c, &v, schema, r, 0);
    return rc < 0 ? rc : write_view(c, &v, null);
}

/* --- the whole schema ------------------------------------------------------------- */

static int write_definitions(struct cleaner *c, const struct ch_json *root, struct ch_resource *r) {
    static const char *const keys[] = {"$defs", "definitions"};
    bool any = false;
    for (size_t i = 0; i < CH_LEN(keys); i++) {
        for (CH_JSON_MEMBERS(name, v, ch_json_get(root, keys[i]))) {
            if (!any) {
                ch_jw_kbegin(&c->w, "$defs", '{');
            }
            any = true;
            ch_jw_key_sv(&c->w, ch_json_str(name));
            int rc = write_schema(c, v, r);
            if (rc < 0)
                return rc;
        }
    }
    if (any)
        ch_jw_end(&c->w, '}');
    return 0;
}

/* The outermost object also holds the definitions. */
static int write_root(struct cleaner *c, const struct ch_json *root, struct ch_resource *r) {
    struct view v = {.n = 0};
    if (c->vendor->strict && (ch_json_get(root, "anyOf") || ch_json_get(root, "oneOf")))
        return schema_clean_refuse(c, root, "alternatives at the root");
    if (!c->vendor->references || root->type != CH_JSON_OBJECT)
        return write_schema(c, root, r);
    int rc = schema_clean_gather(c, &v, root, r, 0);
    if (rc == 0)
        rc = write_view(c, &v, false);
    if (rc < 0)
        return rc;
    struct ch_buf *out = c->w.out;
    out->n--; /* open the object again */
    c->w.comma = out->p[out->n - 1] != '{';
    rc = write_definitions(c, root, r);
    ch_buf_addc(out, '}');
    return rc;
}

int ch_schema_clean(const struct ch_json *schema, enum ch_clean target, struct ch_buf *out,
                    struct ch_buf *notes, struct chela_error *err) {
    static const struct ch_schema_opts opts = {0};
    static const struct ch_dialect dialect = {CH_DRAFT_2020, CH_VOCAB_ALL, false};
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO text = {.max = CH_LIMIT_SCHEMA_TEXT};
    struct ch_resource *r;
    struct cleaner c = {.vendor = &vendors[target], .w = ch_jw(&text), .notes = notes, .err = err};
    if (ch_json_next(schema) - schema > MOST_NODES)
        return ch_fail(err, CHELA_ELIMIT, "the schema has more than %d nodes", MOST_NODES);
    ch_sources_init(&c.sources, &arena, &opts, err);
    int rc = ch_sources_add(&c.sources, CH_SV(""), schema, &dialect, &r);
    if (rc == 0)
        rc = write_root(&c, schema, r);
    ch_sources_release(&c.sources);
    ch_key_table_release(&c.noted);
    if (rc == 0 && text.overflow)
        rc = ch_fail(err, CHELA_ELIMIT, "the schema is too large");
    return rc == 0 ? ch_buf_add_sv(out, ch_buf_sv(&text)) : rc;
}
