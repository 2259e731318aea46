/* schema_emit.c -- turn the keywords of a subschema into checks.
 *
 * Each function handles some keywords: it rejects invalid values of the
 * keywords and adds checks for the types of values they apply to. Cheap checks
 * come first, then subschemas of the same value, and last the checks that need
 * the results of all others (unevaluated*). */
#include "schema/schema_emit.h"

#include "json/number.h"
#include "schema/schema_compile.h"
#include "schema/schema_format.h"

#define UNBOUNDED UINT64_MAX

static struct ch_arena *arena_of(struct ch_builder *b) {
    return &b->c->schema->arena;
}

static int must(struct ch_builder *b, enum ch_keyword k, const char *what) {
    return ch_builder_fail(b, k, CHELA_EINVAL, "must be %s", what);
}

static void add_sub(struct ch_builder *b, unsigned types, enum ch_op_code code, enum ch_keyword k,
                    const struct ch_sub *sub) {
    ch_builder_add(b, types, (struct ch_op){.code = code, .keyword = k, .sub = sub});
}

/* --- type ------------------------------------------------------------------ */

static const struct {
    const char *name;
    unsigned types;
} type_names[] = {
    {"null", CH_BIT_NULL},     {"boolean", CH_BIT_BOOLEAN}, {"integer", CH_BIT_NUMBER},
    {"number", CH_BIT_NUMBER}, {"string", CH_BIT_STRING},   {"array", CH_BIT_ARRAY},
    {"object", CH_BIT_OBJECT},
};

static unsigned bits_of(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(type_names); i++)
        if (ch_sv_is(name, type_names[i].name))
            return type_names[i].types;
    return 0;
}

unsigned ch_type_bits(const struct ch_json *type, bool *integer) {
    unsigned types = bits_of(ch_json_str(type));
    bool fractions = ch_sv_is(ch_json_str(type), "number");
    for (CH_JSON_EACH(e, type)) {
        types |= bits_of(ch_json_str(e));
        fractions |= ch_sv_is(ch_json_str(e), "number");
    }
    *integer = types & CH_BIT_NUMBER && !fractions;
    return types;
}

static int check_type(struct ch_builder *b, const struct ch_json *name) {
    if (!ch_json_is(name, CH_JSON_STRING))
        return must(b, CH_KW_TYPE, "a name or a list of names");
    if (bits_of(ch_json_str(name)))
        return 0;
    return ch_builder_fail(b, CH_KW_TYPE, CHELA_EINVAL,
                           "unknown type '%.*s'; there are null, boolean, integer, number, string, "
                           "array, object",
                           CH_SV_FMT(ch_json_str(name)));
}

static int emit_type(struct ch_builder *b) {
    const struct ch_json *v = b->kw[CH_KW_TYPE];
    if (!v)
        return 0;
    int rc = v->type == CH_JSON_ARRAY ? 0 : check_type(b, v);
    for (CH_JSON_EACH(e, v))
        if (rc == 0)
            rc = check_type(b, e);
    b->sub->types = (uint8_t)ch_type_bits(v, &b->sub->integer);
    if (b->sub->integer)
        ch_builder_add(b, CH_BIT_NUMBER,
                       (struct ch_op){.code = CH_OP_INTEGER, .keyword = CH_KW_TYPE});
    return rc;
}

/* --- numbers and strings ---------------------------------------------------- */

static int schema_emit_bound(struct ch_builder *b, enum ch_keyword k, const struct ch_json **out) {
    *out = b->kw[k];
    return *out && (*out)->type != CH_JSON_NUMBER ? must(b, k, "a number") : 0;
}

/* A bound for short integers; an exclusive bound moves by `step`. */
static bool schema_emit_whole(const struct ch_json *v, int64_t step, int64_t *out) {
    return ch_json_as_int(v, out) && !__builtin_add_overflow(*out, step, out);
}

static void summarise(struct ch_range *r) {
    int64_t at;
    r->least = INT64_MIN;
    r->most = INT64_MAX;
    r->quick = true;
    const struct ch_json *lower[] = {r->minimum, r->above}, *upper[] = {r->maximum, r->below};
    for (int i = 0; i < 2; i++) {
        if (lower[i] && schema_emit_whole(lower[i], i, &at))
            r->least = CH_MAX(r->least, at);
        else
            r->quick &= !lower[i];
        if (upper[i] && schema_emit_whole(upper[i], -i, &at))
            r->most = CH_MIN(r->most, at);
        else
            r->quick &= !upper[i];
    }
}

static int emit_range(struct ch_builder *b) {
    struct ch_range r = {0};
    int rc = schema_emit_bound(b, CH_KW_MINIMUM, &r.minimum);
    if (rc == 0)
        rc = schema_emit_bound(b, CH_KW_MAXIMUM, &r.maximum);
    if (rc == 0)
        rc = schema_emit_bound(b, CH_KW_EXCLUSIVE_MINIMUM, &r.above);
    if (rc == 0)
        rc = schema_emit_bound(b, CH_KW_EXCLUSIVE_MAXIMUM, &r.below);
    if (rc < 0 || (!r.minimum && !r.maximum && !r.above && !r.below))
        return rc;
    summarise(&r);
    struct ch_range *kept = CH_ARENA_NEW(arena_of(b), struct ch_range);
    *kept = r;
    ch_builder_add(b, CH_BIT_NUMBER, (struct ch_op){.code = CH_OP_RANGE, .range = kept});
    return 0;
}

static int emit_multiple(struct ch_builder *b) {
    const struct ch_json *v = b->kw[CH_KW_MULTIPLE_OF];
    if (!v)
        return 0;
    if (v->type != CH_JSON_NUMBER || !ch_number_can_divide(v))
        return must(b, CH_KW_MULTIPLE_OF, "a number above 0, of no more than 37 digits");
    ch_builder_add(
        b, CH_BIT_NUMBER,
        (struct ch_op){.code = CH_OP_MULTIPLE, .keyword = CH_KW_MULTIPLE_OF, .value = v});
    return 0;
}

/* Read a count. Counts beyond any possible value are clamped. */
static int schema_emit_count(struct ch_builder *b, enum ch_keyword k, uint64_t *out) {
    const struct ch_json *v = b->kw[k];
    int64_t n;
    if (!v)
        return 0;
    if (v->type != CH_JSON_NUMBER || v->s[0] == '-' || !ch_number_is_integer(v)) {
        if (!ch_json_as_int(v, &n) || n != 0)
            return must(b, k, "a whole number, 0 or more");
    }
    *out = ch_json_as_int(v, &n) && n < UINT32_MAX ? (uint64_t)n : UINT32_MAX;
    return 0;
}

static int emit_counts(struct ch_builder *b, enum ch_op_code code, unsigned type,
                       enum ch_keyword min, enum ch_keyword max) {
    uint64_t least = 0, most = UNBOUNDED;
    int rc = schema_emit_count(b, min, &least);
    if (rc == 0)
        rc = schema_emit_count(b, max, &most);
    if (rc < 0 || (least == 0 && most == UNBOUNDED))
        return rc;
    ch_builder_add(b, type, (struct ch_op){.code = code, .least = (uint32_t)least, .most = most});
    return 0;
}

static int compile_pattern(struct ch_builder *b, enum ch_keyword k, struct ch_sv source,
                           struct ch_pattern **out) {
    struct chela_error why = {0};
    int rc = ch_patterns_add(&b->c->schema->patterns, source, out, &why);
    return rc < 0 ? ch_builder_fail(b, k, rc, "%s", why.message) : 0;
}

static int emit_pattern(struct ch_builder *b) {
    const struct ch_json *v = b->kw[CH_KW_PATTERN];
    struct ch_pattern *p;
    if (!v)
        return 0;
    if (v->type != CH_JSON_STRING)
        return must(b, CH_KW_PATTERN, "a string");
    int rc = compile_pattern(b, CH_KW_PATTERN, ch_json_str(v), &p);
    if (rc == 0)
        ch_builder_add(
            b, CH_BIT_STRING,
            (struct ch_op){.code = CH_OP_PATTERN, .keyword = CH_KW_PATTERN, .pattern = p});
    return rc;
}

static int emit_format(struct ch_builder *b) {
    const struct ch_json *v = b->kw[CH_KW_FORMAT];
    if (!v)
        return 0;
    if (v->type != CH_JSON_STRING)
        return must(b, CH_KW_FORMAT, "a string");
    if (!b->c->opts->assert_format && !b->resource->dialect.assert_format)
        return 0;
    const struct ch_format *f = ch_format_find(ch_json_str(v));
    if (f)
        ch_builder_add(b, CH_BIT_STRING,
                       (struct ch_op){.code = CH_OP_FORMAT, .keyword = CH_KW_FORMAT, .format = f});
    return 0;
}

/* --- enum and const --------------------------------------------------------- */

/* list: the n values, as adjacent nodes. */
static void schema_emit_add_choices(struct ch_builder *b, enum ch_keyword k,
                                    const struct ch_json *keyword, const struct ch_json *first,
                                    size_t n) {
    struct ch_choices *c = ch_arena_zalloc(arena_of(b), sizeof(*c) + n * sizeof(c->others[0]));
    CH_AUTOFREE struct ch_sv *strings = ch_malloc((n + 1) * sizeof(strings[0]));
    unsigned settled = 0; /* null, true and false need no check if they are listed */
    size_t ns = 0;
    for (const struct ch_json *e = first; n > 0; n--, e = ch_json_next(e)) {
        if (e->type == CH_JSON_STRING)
            strings[ns++] = ch_json_str(e);
        else if (e->type <= CH_JSON_TRUE)
            settled |= 1u << e->type;
        else
            c->others[c->n++] = e;
    }
    c->strings = ch_names_new(arena_of(b), strings, ns);
    c->list = keyword;
    ch_builder_add(b, CH_BIT_ALL & ~settled,
                   (struct ch_op){.code = CH_OP_ENUM, .keyword = (uint16_t)k, .choices = c});
}

static int emit_choices(struct ch_builder *b) {
    const struct ch_json *list = b->kw[CH_KW_ENUM], *one = b->kw[CH_KW_CONST];
    if (list && list->type != CH_JSON_ARRAY)
        return must(b, CH_KW_ENUM, "a list of values");
    if (list)
        schema_emit_add_choices(b, CH_KW_ENUM, list, list + 1, list->n);
    if (one)
        schema_emit_add_choices(b, CH_KW_CONST, one, one, 1);
    return 0;
}

/* --- arrays ------------------------------------------------------------------ */

static int schema_emit_child(struct ch_builder *b, enum ch_keyword k, const struct ch_json *v,
                             const struct ch_sub **out) {
    *out = ch_builder_child(b, v);
    return *out ? 0 : must(b, k, "a schema: an object or a boolean");
}

/* Compile the subschema for all remaining values. `true` needs a check only if
 * evaluated members are tracked. */
static int schema_emit_rest(struct ch_builder *b, enum ch_keyword k, const struct ch_sub **out) {
    const struct ch_json *v = b->kw[k];
    *out = NULL;
    if (!v || (v->type == CH_JSON_TRUE && !b->c->tracks))
        return 0;
    return schema_emit_child(b, k, v, out);
}

static int add_items(struct ch_builder *b, enum ch_keyword list, enum ch_keyword others) {
    const struct ch_json *first = b->kw[list];
    size_t n = ch_json_is(first, CH_JSON_ARRAY) ? first->n : 0, i = 0;
    struct ch_items *items =
        ch_arena_zalloc(arena_of(b), sizeof(*items) + n * sizeof(items->first[0]));
    int rc = schema_emit_rest(b, others, &items->rest);
    items->n = n;
    for (CH_JSON_EACH(e, first))
        if (rc == 0)
            rc = schema_emit_child(b, list, e, &items->first[i++]);
    if (rc == 0 && (n || items->rest))
        ch_builder_add(
            b, CH_BIT_ARRAY,
            (struct ch_op){.code = CH_OP_ITEMS, .keyword = (uint16_t)others, .items = items});
    return rc;
}

static int emit_items(struct ch_builder *b) {
    const struct ch_json *first = b->kw[CH_KW_PREFIX_ITEMS], *items = b->kw[CH_KW_ITEMS];
    bool list = ch_json_is(items, CH_JSON_ARRAY);
    if (first && first->type != CH_JSON_ARRAY)
        return must(b, CH_KW_PREFIX_ITEMS, "a list of schemas");
    if (b->resource->dialect.draft != CH_DRAFT_2020)
        return list ? add_items(b, CH_KW_ITEMS, CH_KW_ADDITIONAL_ITEMS)
                    : add_items(b, CH_KW_NONE, CH_KW_ITEMS);
    if (list)
        return must(b, CH_KW_ITEMS, "a schema; lists of schemas are called prefixItems");
    return add_items(b, CH_KW_PREFIX_ITEMS, CH_KW_ITEMS);
}

static int emit_contains(struct ch_builder *b) {
    struct ch_contains c = {.least = 1, .most = UNBOUNDED};
    c.marks = b->resource->dialect.draft == CH_DRAFT_2020;
    int rc = schema_emit_count(b, CH_KW_MIN_CONTAINS, &c.least);
    if (rc == 0)
        rc = schema_emit_count(b, CH_KW_MAX_CONTAINS, &c.most);
    if (rc < 0 || !b->kw[CH_KW_CONTAINS])
        return rc;
    rc = schema_emit_child(b, CH_KW_CONTAINS, b->kw[CH_KW_CONTAINS], &c.sub);
    if (rc < 0 || (c.least == 0 && c.most == UNBOUNDED && !b->c->tracks))
        return rc;
    struct ch_contains *kept = CH_ARENA_NEW(arena_of(b), struct ch_contains);
    *kept = c;
    ch_builder_add(b, CH_BIT_ARRAY, (struct ch_op){.code = CH_OP_CONTAINS, .contains = kept});
    return 0;
}

static int emit_unique(struct ch_builder *b) {
    const struct ch_json *v = b->kw[CH_KW_UNIQUE_ITEMS];
    if (v && v->type != CH_JSON_TRUE && v->type != CH_JSON_FALSE)
        return must(b, CH_KW_UNIQUE_ITEMS, "a boolean");
    if (ch_json_bool(v, false))
        ch_builder_add(b, CH_BIT_ARRAY,
                       (struct ch_op){.code = CH_OP_UNIQUE, .keyword = CH_KW_UNIQUE_ITEMS});
    return 0;
}

static int emit_array(struct ch_builder *b) {
    int rc = emit_counts(b, CH_OP_COUNT, CH_BIT_ARRAY, CH_KW_MIN_ITEMS, CH_KW_MAX_ITEMS);
    if (rc == 0)
        rc = emit_items(b);
    if (rc == 0)
        rc = emit_contains(b);
    return rc == 0 ? emit_unique(b) : rc;
}

/* --- objects ------------------------------------------------------------------ */

static int names_only(struct ch_builder *b, enum ch_keyword k, const struct ch_json *list) {
    bool fine = ch_json_is(list, CH_JSON_ARRAY);
    for (CH_JSON_EACH(e, list))
        fine &= e->type == CH_JSON_STRING;
    return fine ? 0 : must(b, k, "a list of names");
}

static int map_only(struct ch_builder *b, enum ch_keyword k) {
    return b->kw[k] && b->kw[k]->type != CH_JSON_OBJECT ? must(b, k, "an object of schemas") : 0;
}

static struct ch_name *schema_emit_name_in(struct ch_names *names, const struct ch_json *name) {
    return (struct ch_name *)ch_names_find(names, NULL, name->s, name->n);
}

/* The properties, followed by the required names that are not properties. */
static struct ch_names *collect_names(struct ch_builder *b) {
    const struct ch_json *properties = b->kw[CH_KW_PROPERTIES], *required = b->kw[CH_KW_REQUIRED];
    size_t np = properties ? properties->n : 0, n = 0;
    CH_AUTOFREE struct ch_sv *list =
        ch_malloc((np + (required ? required->n : 0) + 1) * sizeof(*list));
    for (CH_JSON_MEMBERS(name, v, properties))
        list[n++] = ch_json_str(name);
    struct ch_names *names = ch_names_new(arena_of(b), list, n);
    for (CH_JSON_EACH(e, required))
        if (!schema_emit_name_in(names, e))
            list[n++] = ch_json_str(e);
    return n > np ? ch_names_new(arena_of(b), list, n) : names;
}

static int fill_properties(struct ch_builder *b, struct ch_names *names,
                           struct ch_schema_member *list) {
    for (CH_JSON_MEMBERS(key, v, b->kw[CH_KW_PROPERTIES])) {
        struct ch_name *name = schema_emit_name_in(names, key);
        list[name->index].declared = true;
        name->sub = NULL;
        int rc =
            v->type == CH_JSON_TRUE ? 0 : schema_emit_child(b, CH_KW_PROPERTIES, v, &name->sub);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static void fill_required(struct ch_builder *b, struct ch_members *m, struct ch_names *names,
                          struct ch_schema_member *list) {
    for (CH_JSON_EACH(e, b->kw[CH_KW_REQUIRED])) {
        struct ch_name *name = schema_emit_name_in(names, e);
        struct ch_schema_member *member = &list[name->index];
        if (member->order != CH_NOT_REQUIRED)
            continue;
        member->order = m->nrequired++;
        name->required = member->order < 64 ? UINT64_C(1) << member->order : 0;
        m->required |= name->required;
        if (!member->declared)
            name->sub = m->rest;
    }
}

static int fill_members(struct ch_builder *b, struct ch_members *m) {
    struct ch_names *names = collect_names(b);
    if (names->n == 0)
        return 0;
    size_t n = 0; /* indexes have gaps if a name occurs twice */
    for (const struct ch_name *at = names->first; at; at = at->next)
        n = at->index + 1;
    struct ch_schema_member *list = ch_arena_alloc(arena_of(b), n * sizeof(*list));
    for (size_t i = 0; i < n; i++)
        list[i] = (struct ch_schema_member){.order = CH_NOT_REQUIRED};
    m->names = names;
    m->list = list;
    int rc = fill_properties(b, names, list);
    if (rc == 0)
        fill_required(b, m, names, list);
    return rc;
}

static int fill_matching(struct ch_builder *b, struct ch_members *m) {
    const struct ch_json *map = b->kw[CH_KW_PATTERN_PROPERTIES];
    if (!map || map->n == 0)
        return 0;
    struct ch_matching *list = ch_arena_zalloc(arena_of(b), map->n * sizeof(*list));
    m->matching = list;
    for (CH_JSON_MEMBERS(source, v, map)) {
        struct ch_matching *at = &list[m->nmatching++];
        int rc = compile_pattern(b, CH_KW_PATTERN_PROPERTIES, ch_json_str(source), &at->pattern);
        if (rc == 0)
            rc = schema_emit_child(b, CH_KW_PATTERN_PROPERTIES, v, &at->sub);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int check_member_keywords(struct ch_builder *b) {
    const struct ch_json *required = b->kw[CH_KW_REQUIRED];
    int rc = map_only(b, CH_KW_PROPERTIES);
    if (rc == 0)
        rc = map_only(b, CH_KW_PATTERN_PROPERTIES);
    return rc == 0 && required ? names_only(b, CH_KW_REQUIRED, required) : rc;
}

static int emit_members(struct ch_builder *b) {
    struct ch_members m = {0};
    int rc = check_member_keywords(b);
    if (rc == 0)
        rc = schema_emit_rest(b, CH_KW_ADDITIONAL_PROPERTIES, &m.rest);
    if (rc == 0 && b->kw[CH_KW_PROPERTY_NAMES])
        rc = schema_emit_child(b, CH_KW_PROPERTY_NAMES, b->kw[CH_KW_PROPERTY_NAMES], &m.each_name);
    if (rc == 0)
        rc = fill_members(b, &m);
    if (rc == 0)
        rc = fill_matching(b, &m);
    if (rc < 0 || (!m.names && !m.rest && !m.matching && !m.each_name))
        return rc;
    m.simple = m.nrequired <= 64 && !m.matching && !m.each_name;
    struct ch_members *kept = CH_ARENA_NEW(arena_of(b), struct ch_members);
    *kept = m;
    ch_builder_add(b, CH_BIT_OBJECT, (struct ch_op){.code = CH_OP_MEMBERS, .members = kept});
    return 0;
}

static int add_needs(struct ch_builder *b, enum ch_keyword k, const struct ch_json *name,
                     const struct ch_json *list) {
    int rc = names_only(b, k, list);
    if (rc < 0 || list->n == 0)
        return rc;
    struct ch_needs *needs =
        ch_arena_zalloc(arena_of(b), sizeof(*needs) + list->n * sizeof(needs->names[0]));
    needs->name = ch_json_str(name);
    for (CH_JSON_EACH(e, list))
        needs->names[needs->n++] = ch_json_str(e);
    ch_builder_add(b, CH_BIT_OBJECT,
                   (struct ch_op){.code = CH_OP_NEEDS, .keyword = (uint16_t)k, .needs = needs});
    return 0;
}

static int add_with(struct ch_builder *b, enum ch_keyword k, const struct ch_json *name,
                    const struct ch_json *v) {
    struct ch_needs *needs = CH_ARENA_NEW(arena_of(b), struct ch_needs);
    needs->name = ch_json_str(name);
    int rc = ch_builder_same(b, k, v, &needs->sub);
    if (rc == 0)
        ch_builder_add(b, CH_BIT_OBJECT,
                       (struct ch_op){.code = CH_OP_WITH, .keyword = (uint16_t)k, .needs = needs});
    return rc;
}

static int emit_dependent(struct ch_builder *b, enum ch_keyword k) {
    int rc = map_only(b, k);
    for (CH_JSON_MEMBERS(name, v, b->kw[k])) {
        bool list =
            k == CH_KW_DEPENDENT_REQUIRED || (k == CH_KW_DEPENDENCIES && v->type == CH_JSON_ARRAY);
        if (rc == 0)
            rc = list ? add_needs(b, k, name, v) : add_with(b, k, name, v);
    }
    return rc;
}

static int emit_object(struct ch_builder *b) {
    int rc = emit_counts(b, CH_OP_SIZE, CH_BIT_OBJECT, CH_KW_MIN_PROPERTIES, CH_KW_MAX_PROPERTIES);
    if (rc == 0)
        rc = emit_members(b);
    if (rc == 0)
        rc = emit_dependent(b, CH_KW_DEPENDENT_REQUIRED);
    if (rc == 0)
        rc = emit_dependent(b, CH_KW_DEPENDENT_SCHEMAS);
    return rc == 0 ? emit_dependent(b, CH_KW_DEPENDENCIES) : rc;
}

/* --- subschemas of the same value ---------------------------------------------- */

/* Add a subschema of the same value, except for types that it does not check. */
static void add_same(struct ch_builder *b, enum ch_keyword k, const struct ch_sub *sub) {
    unsigned types = ch_sub_concerned(sub);
    if (types)
        add_sub(b, types, CH_OP_ALL, k, sub);
}

static int emit_references(struct ch_builder *b) {
    const struct ch_part part = b->c->parts[b->part];
    const struct ch_sub *sub;
    if (part.ref.at) {
        int rc = ch_builder_target(b, CH_KW_REF, &part.ref, &sub);
        if (rc < 0)
            return rc;
        add_same(b, CH_KW_REF, sub);
    }
    if (!part.dynamic_ref.at)
        return 0;
    if (!part.dynamic_ref.dynamic) {
        int rc = ch_builder_target(b, CH_KW_DYNAMIC_REF, &part.dynamic_ref, &sub);
        if (rc == 0)
            add_same(b, CH_KW_DYNAMIC_REF, sub);
        return rc;
    }
    struct ch_dynamic *d = CH_ARENA_NEW(arena_of(b), struct ch_dynamic);
    struct ch_sv name = part.dynamic_ref.anchor;
    d->name = ch_sources_intern(&b->c->sources, name.p ? name : CH_SV(""));
    d->otherwise = ch_builder_entry(b, &part.dynamic_ref);
    ch_builder_add(
        b, CH_BIT_ALL,
        (struct ch_op){.code = CH_OP_DYNAMIC, .keyword = CH_KW_DYNAMIC_REF, .dynamic = d});
    return 0;
}

static int emit_all_of(struct ch_builder *b) {
    const struct ch_json *list = b->kw[CH_KW_ALL_OF];
    const struct ch_sub *sub;
    if (list && list->type != CH_JSON_ARRAY)
        return must(b, CH_KW_ALL_OF, "a list of schemas");
    for (CH_JSON_EACH(e, list)) {
        int rc = ch_builder_same(b, CH_KW_ALL_OF, e, &sub);
        if (rc < 0)
            return rc;
        add_same(b, CH_KW_ALL_OF, sub);
    }
    return 0;
}

/* The alternatives that values of the type can satisfy. *free: one of them
 * accepts all such values. */
static const struct ch_subs *alternatives(struct ch_builder *b, const struct ch_subs *all,
                                          unsigned type, bool *free) {
    struct ch_subs *some =
        ch_arena_zalloc(arena_of(b), sizeof(*some) + all->n * sizeof(some->list[0]));
    *free = false;
    for (size_t i = 0; i < all->n; i++) {
        const struct ch_op *checks = all->list[i]->checks[type];
        *free |= !checks;
        if (!ch_op_refuses(checks))
            some->list[some->n++] = all->list[i];
    }
    return some;
}

/* Add anyOf or oneOf, reduced for each type of value. If no alternative is
 * possible, all stay, so that the message can name them. A single possible
 * alternative is checked directly. If an alternative accepts everything, there
 * is no check. */
static void add_choice(struct ch_builder *b, enum ch_op_code code, enum ch_keyword k,
                       const struct ch_subs *all) {
    unsigned same = 0; /* types for which all alternatives must be tried */
    for (unsigned t = 0; t < CH_TYPES; t++) {
        bool free;
        const struct ch_subs *some = alternatives(b, all, t, &free);
        if (b->c->tracks || some->n == 0 || some->n == all->n)
            same |= 1u << t;
        if (free && !b->c->tracks && (code == CH_OP_ANY || some->n == 1)) {
            same &= ~(1u << t);
            continue;
        }
        if (same >> t & 1)
            continue;
        if (some->n == 1)
            add_sub(b, 1u << t, CH_OP_ALL, k, some->list[0]);
        else
            ch_builder_add(
                b, 1u << t,
                (struct ch_op){.code = (uint16_t)code, .keyword = (uint16_t)k, .subs = some});
    }
    if (same)
        ch_builder_add(b, same,
                       (struct ch_op){.code = (uint16_t)code, .keyword = (uint16_t)k, .subs = all});
}

static int emit_choice(struct ch_builder *b, enum ch_op_code code, enum ch_keyword k) {
    const struct ch_json *list = b->kw[k];
    if (!list)
        return 0;
    if (list->type != CH_JSON_ARRAY || list->n == 0)
        return must(b, k, "a list of schemas, not an empty one");
    struct ch_subs *subs =
        ch_arena_zalloc(arena_of(b), sizeof(*subs) + list->n * sizeof(subs->list[0]));
    for (CH_JSON_EACH(e, list)) {
        int rc = ch_builder_same(b, k, e, &subs->list[subs->n++]);
        if (rc < 0)
            return rc;
    }
    add_choice(b, code, k, subs);
    return 0;
}

static int emit_not(struct ch_builder *b) {
    const struct ch_sub *sub;
    if (!b->kw[CH_KW_NOT])
        return 0;
    int rc = ch_builder_same(b, CH_KW_NOT, b->kw[CH_KW_NOT], &sub);
    if (rc == 0)
        add_sub(b, CH_BIT_ALL, CH_OP_NOT, CH_KW_NOT, sub);
    return rc;
}

static int emit_if(struct ch_builder *b) {
    static const enum ch_keyword keys[] = {CH_KW_IF, CH_KW_THEN, CH_KW_ELSE};
    if (!b->kw[CH_KW_IF])
        return 0;
    if (!b->kw[CH_KW_THEN] && !b->kw[CH_KW_ELSE] && !b->c->tracks)
        return 0;
    struct ch_subs *subs = ch_arena_zalloc(arena_of(b), sizeof(*subs) + 3 * sizeof(subs->list[0]));
    for (subs->n = 0; subs->n < CH_LEN(keys); subs->n++) {
        const struct ch_json *v = b->kw[keys[subs->n]];
        int rc = v ? ch_builder_same(b, keys[subs->n], v, &subs->list[subs->n]) : 0;
        if (rc < 0)
            return rc;
    }
    ch_builder_add(b, CH_BIT_ALL,
                   (struct ch_op){.code = CH_OP_IF, .keyword = CH_KW_IF, .subs = subs});
    return 0;
}

static int emit_same(struct ch_builder *b) {
    int rc = emit_references(b);
    if (rc == 0)
        rc = emit_all_of(b);
    if (rc == 0)
        rc = emit_choice(b, CH_OP_ANY, CH_KW_ANY_OF);
    if (rc == 0)
        rc = emit_choice(b, CH_OP_ONE, CH_KW_ONE_OF);
    if (rc == 0)
        rc = emit_not(b);
    return rc == 0 ? emit_if(b) : rc;
}

/* --- unevaluated ------------------------------------------------------------------ */

static int emit_unevaluated(struct ch_builder *b) {
    static const struct {
        enum ch_keyword k;
        unsigned types;
    } rows[] = {{CH_KW_UNEVALUATED_PROPERTIES, CH_BIT_OBJECT},
                {CH_KW_UNEVALUATED_ITEMS, CH_BIT_ARRAY}};
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        const struct ch_sub *sub;
        int rc = b->kw[rows[i].k] ? schema_emit_child(b, rows[i].k, b->kw[rows[i].k], &sub) : 0;
        if (rc < 0)
            return rc;
        if (b->kw[rows[i].k])
            add_sub(b, rows[i].types, CH_OP_UNEVALUATED, rows[i].k, sub);
    }
    return 0;
}

/* Start tracking evaluated members before all other checks. */
static void begin_tracking(struct ch_builder *b) {
    unsigned types = 0;
    types |= b->kw[CH_KW_UNEVALUATED_PROPERTIES] ? CH_BIT_OBJECT : 0;
    types |= b->kw[CH_KW_UNEVALUATED_ITEMS] ? CH_BIT_ARRAY : 0;
    if (types)
        ch_builder_add(b, types, (struct ch_op){.code = CH_OP_TRACK});
}

int ch_builder_emit(struct ch_builder *b) {
    begin_tracking(b);
    int rc = emit_type(b);
    if (rc == 0)
        rc = emit_choices(b);
    if (rc == 0)
        rc = emit_range(b);
    if (rc == 0)
        rc = emit_multiple(b);
    if (rc == 0)
        rc = emit_counts(b, CH_OP_LENGTH, CH_BIT_STRING, CH_KW_MIN_LENGTH, CH_KW_MAX_LENGTH);
    if (rc == 0)
        rc = emit_pattern(b);
    if (rc == 0)
        rc = emit_format(b);
    if (rc == 0)
        rc = emit_array(b);
    if (rc == 0)
        rc = emit_object(b);
    if (rc == 0)
        rc = emit_same(b);
    return rc == 0 ? emit_unevaluated(b) : rc;
}
