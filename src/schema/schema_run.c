/* schema_run.c -- run a compiled schema over a value.
 *
 * One interpreter serves two modes. For a verdict it stops at the first failed
 * check; for a report (r->report is set) it records each failed check and
 * continues. The two therefore cannot disagree. Subschemas of anyOf, not and if
 * always run in verdict mode.
 *
 * The run does not track the position in the value: nodes know their place, and
 * the report computes the path when needed.
 *
 * `unevaluated*` depends on which members or elements earlier checks evaluated.
 * Only then a struct track exists and is passed to the subschemas of the same
 * value; an alternative that fails leaves no marks.
 *
 * Bounds: `depth` counts nested subschemas, `fuel` counts all of them, with the
 * sizes of their values. When either is exhausted, the run ends as invalid. */
#include "schema/schema_run.h"

#include "base/limits.h"
#include "json/number.h"
#include "schema/schema_format.h"
#include "json/value.h"
#include "schema/schema_report.h"
#include "schema/schema_unique.h"

#define SMALL_TRACK 4     /* words of marks without allocation */
#define SMALL_REQUIRED 16 /* required names without allocation */
#define PATTERN_COST 32   /* fuel for one match */

/* The binary logarithm of the bytes, elements or members that cost one unit of
 * fuel, since most checks look at each. */
static const uint8_t unit[CH_TYPES] = {
    [CH_JSON_NUMBER] = 6, [CH_JSON_STRING] = 6, [CH_JSON_ARRAY] = 2, [CH_JSON_OBJECT] = 1};

struct scope {
    const struct ch_resource *resource;
    const struct scope *outer;
};

struct run {
    struct ch_schema *schema;
    struct ch_report *report; /* NULL: verdict mode */
    const struct scope *scope;
    int64_t fuel;
    bool given_up;
};

/* Which members or elements of one value are evaluated. */
struct track {
    uint64_t *bits; /* small, or owned */
    size_t words;
    uint64_t small[SMALL_TRACK];
};

static bool schema_run_op(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                          const struct ch_json *v, struct track *t, unsigned depth);

/* Whether the subschema accepts v, of any type. */
static inline bool schema_run_holds(struct run *r, const struct ch_sub *sub,
                                    const struct ch_json *v, struct track *t, unsigned depth) {
    const struct ch_op *checks = sub->checks[v->type];
    return !checks || schema_run_op(r, sub, checks, v, t, depth + 1);
}

/* Verdict mode, also during a report. */
static bool holds_quietly(struct run *r, const struct ch_sub *sub, const struct ch_json *v,
                          struct track *t, unsigned depth) {
    struct ch_report *report = r->report;
    r->report = NULL;
    bool held = schema_run_holds(r, sub, v, t, depth);
    r->report = report;
    return held;
}

/* --- failing ---------------------------------------------------------------- */

__attribute__((cold, noinline)) static bool schema_run_tell(struct run *r,
                                                            const struct ch_schema_finding *f) {
    if (!r->given_up)
        ch_report_add(r->report, f);
    return false;
}

#define TELL(...) (r->report ? schema_run_tell(r, &(struct ch_schema_finding){__VA_ARGS__}) : false)

static inline bool schema_run_fail(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                                   const struct ch_json *v) {
    return TELL(.sub = sub, .op = op, .v = v, .keyword = op->keyword);
}

__attribute__((cold, noinline)) static bool schema_run_give_up(struct run *r,
                                                               const struct ch_sub *sub,
                                                               const struct ch_json *v) {
    TELL(.sub = sub, .v = v);
    r->given_up = true;
    r->fuel = -1;
    return false;
}

/* --- tracks ------------------------------------------------------------------ */

static void open_track(struct track *t, const struct ch_json *v) {
    t->words = (v->n + 63) / 64;
    t->bits = t->small;
    if (t->words > SMALL_TRACK)
        t->bits = ch_malloc(t->words * sizeof(uint64_t));
    memset(t->bits, 0, t->words * sizeof(uint64_t));
}

static void close_track(struct track *t, struct track *into, bool keep) {
    for (size_t i = 0; into && keep && i < t->words; i++)
        into->bits[i] |= t->bits[i];
    if (t->bits != t->small)
        ch_free(t->bits);
}

static inline void schema_run_mark(struct track *t, size_t i) {
    if (t)
        t->bits[i / 64] |= UINT64_C(1) << i % 64;
}

static bool schema_run_marked(const struct track *t, size_t i) {
    return t->bits[i / 64] >> i % 64 & 1;
}

/* Run an alternative: its marks count only if it succeeds. */
static bool try_tracked(struct run *r, const struct ch_sub *sub, const struct ch_json *v,
                        struct track *t, unsigned depth) {
    struct track mine;
    r->fuel -= v->n / 256;
    open_track(&mine, v);
    bool held = holds_quietly(r, sub, v, &mine, depth);
    close_track(&mine, t, held);
    return held;
}

static inline bool try(struct run *r, const struct ch_sub *sub, const struct ch_json *v,
                       struct track *t, unsigned depth) {
    if (__builtin_expect(t != NULL, 0))
        return try_tracked(r, sub, v, t, depth);
    return holds_quietly(r, sub, v, NULL, depth);
}

/* --- numbers and strings ------------------------------------------------------ */

/* Check one bound exactly. */
static bool schema_run_within(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                              const struct ch_json *v, enum ch_keyword k,
                              const struct ch_json *bound) {
    if (!bound)
        return true;
    int order = ch_json_compare(v, bound);
    bool fits = k == CH_KW_MINIMUM             ? order >= 0
                : k == CH_KW_MAXIMUM           ? order <= 0
                : k == CH_KW_EXCLUSIVE_MINIMUM ? order > 0
                                               : order < 0;
    return fits || TELL(.sub = sub, .op = op, .v = v, .keyword = k, .other = bound);
}

__attribute__((noinline)) static bool in_range_exactly(struct run *r, const struct ch_sub *sub,
                                                       const struct ch_op *op,
                                                       const struct ch_json *v) {
    const struct ch_range *range = op->range;
    bool ok = schema_run_within(r, sub, op, v, CH_KW_MINIMUM, range->minimum);
    ok &= schema_run_within(r, sub, op, v, CH_KW_EXCLUSIVE_MINIMUM, range->above);
    ok &= schema_run_within(r, sub, op, v, CH_KW_MAXIMUM, range->maximum);
    return ok & schema_run_within(r, sub, op, v, CH_KW_EXCLUSIVE_MAXIMUM, range->below);
}

static inline bool schema_run_in_range(struct run *r, const struct ch_sub *sub,
                                       const struct ch_op *op, const struct ch_json *v) {
    int64_t n;
    if (op->range->quick && ch_number_short(v, &n) && n >= op->range->least && n <= op->range->most)
        return true;
    return in_range_exactly(r, sub, op, v);
}

static bool is_multiple(const struct ch_op *op, const struct ch_json *v) {
    int64_t n, of;
    if (ch_number_short(v, &n) && ch_number_short(op->value, &of))
        return n % of == 0;
    return ch_number_is_multiple(v, op->value);
}

__attribute__((noinline)) static size_t count_characters(const struct ch_json *v) {
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += ((unsigned char)v->s[i] & 0xc0) != 0x80;
    return n;
}

static inline bool length_fits(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                               const struct ch_json *v) {
    size_t n = v->flags & CH_JSON_PLAIN ? v->n : count_characters(v);
    if (n >= op->least && n <= op->most)
        return true;
    bool few = n < op->least;
    return TELL(.sub = sub, .op = op, .v = v, .have = n,
                .keyword = few ? CH_KW_MIN_LENGTH : CH_KW_MAX_LENGTH,
                .want = few ? op->least : op->most);
}

static bool pattern_matches(struct run *r, const struct ch_sub *sub, struct ch_pattern *p,
                            const struct ch_json *v) {
    r->fuel -= PATTERN_COST + v->n / 16;
    int found = r->fuel < 0 ? CHELA_ELIMIT : ch_pattern_match(p, ch_sv(v->s, v->n), &r->fuel);
    return found < 0 ? schema_run_give_up(r, sub, v) : found;
}

static bool has_format(struct run *r, const struct ch_op *op, const struct ch_json *v) {
    r->fuel -= v->n / 16;
    return op->format->check(ch_sv(v->n ? v->s : "", v->n), &r->schema->patterns);
}

__attribute__((noinline)) static bool is_other_choice(struct run *r, const struct ch_sub *sub,
                                                      const struct ch_choices *c,
                                                      const struct ch_json *v) {
    int64_t cost = v->type == CH_JSON_NUMBER ? v->n / 64 : ch_json_next(v) - v;
    for (size_t i = 0; i < c->n; i++) {
        if (c->others[i]->type != v->type)
            continue;
        r->fuel -= 1 + cost;
        if (r->fuel < 0)
            return schema_run_give_up(r, sub, v);
        if (ch_json_equal(c->others[i], v))
            return true;
    }
    return false;
}

static inline bool schema_run_is_choice(struct run *r, const struct ch_sub *sub,
                                        const struct ch_op *op, const struct ch_json *v) {
    if (v->type == CH_JSON_STRING)
        return ch_names_find(op->choices->strings, NULL, v->s, v->n) != NULL;
    return is_other_choice(r, sub, op->choices, v);
}

/* --- arrays -------------------------------------------------------------------- */

static bool count_fits(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                       const struct ch_json *v) {
    if (v->n >= op->least && v->n <= op->most)
        return true;
    bool few = v->n < op->least;
    return TELL(.sub = sub, .op = op, .v = v, .have = v->n,
                .keyword = few ? CH_KW_MIN_ITEMS : CH_KW_MAX_ITEMS,
                .want = few ? op->least : op->most);
}

static bool run_items(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                      const struct ch_json *v, struct track *t, unsigned depth) {
    const struct ch_items *items = op->items;
    bool ok = true;
    size_t i = 0;
    for (CH_JSON_EACH(e, v)) {
        const struct ch_sub *s = i < items->n ? items->first[i] : items->rest;
        const struct ch_op *checks = s ? s->checks[e->type] : NULL;
        if (s)
            schema_run_mark(t, i);
        i++;
        if (!checks)
            continue;
        bool surplus = checks->code == CH_OP_FALSE && s == items->rest;
        if (surplus ? schema_run_fail(r, sub, op, e)
                    : schema_run_op(r, s, checks, e, NULL, depth + 1))
            continue;
        if (!r->report)
            return false;
        ok = false;
    }
    return ok;
}

static bool run_contains(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                         const struct ch_json *v, struct track *t, unsigned depth) {
    const struct ch_contains *c = op->contains;
    uint64_t found = 0, i = 0;
    struct track *marks = c->marks ? t : NULL;
    for (CH_JSON_EACH(e, v)) {
        if (holds_quietly(r, c->sub, e, NULL, depth)) {
            found++;
            schema_run_mark(marks, i);
        }
        i++;
    }
    if (found >= c->least && found <= c->most)
        return true;
    bool few = found < c->least;
    enum ch_keyword k = !few            ? CH_KW_MAX_CONTAINS
                        : c->least == 1 ? CH_KW_CONTAINS
                                        : CH_KW_MIN_CONTAINS;
    return TELL(.sub = sub, .op = op, .v = v, .keyword = k, .have = found,
                .want = few ? c->least : c->most);
}

static bool run_unique(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                       const struct ch_json *v) {
    uint64_t a = 0, b = 0;
    bool unique = ch_all_unique(v, &r->fuel, &a, &b);
    if (r->fuel < 0)
        return schema_run_give_up(r, sub, v);
    return unique ||
           TELL(.sub = sub, .op = op, .v = v, .keyword = op->keyword, .have = a, .want = b);
}

/* --- objects ------------------------------------------------------------------- */

/* Members with the same name count once. */
__attribute__((noinline)) static size_t count_names(const struct ch_json *v) {
    CH_AUTOFREE const struct ch_json **keys = ch_json_sorted_keys(v);
    size_t n = v->n > 0;
    for (size_t i = 1; i < v->n; i++)
        n += !ch_json_same_name(keys[i - 1], keys[i]);
    return n;
}

static bool size_fits(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                      const struct ch_json *v) {
    size_t n = v->n > 1 ? count_names(v) : v->n;
    r->fuel -= v->n / 8;
    if (n >= op->least && n <= op->most)
        return true;
    bool few = n < op->least;
    return TELL(.sub = sub, .op = op, .v = v, .have = n,
                .keyword = few ? CH_KW_MIN_PROPERTIES : CH_KW_MAX_PROPERTIES,
                .want = few ? op->least : op->most);
}

/* Check a member's value, or reject the member. */
static inline bool run_member(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                              const struct ch_sub *s, const struct ch_json *value, unsigned depth) {
    const struct ch_op *checks = s->checks[value->type];
    if (!checks)
        return true;
    if (__builtin_expect(checks->code == CH_OP_FALSE && s == op->members->rest, 0))
        return TELL(.sub = sub, .op = op, .v = value, .keyword = CH_KW_ADDITIONAL_PROPERTIES,
                    .other = value - 1);
    return schema_run_op(r, s, checks, value, NULL, depth + 1);
}

/* The required names seen in one object. */
struct seen {
    uint64_t *bits, small[SMALL_REQUIRED];
    size_t n;
};

static void open_seen(struct seen *s, size_t n) {
    size_t words = (n + 63) / 64;
    s->bits = words > SMALL_REQUIRED ? ch_malloc(words * sizeof(uint64_t)) : s->small;
    s->n = 0;
    memset(s->bits, 0, words * sizeof(uint64_t));
}

static void schema_run_see(struct seen *s, uint32_t order) {
    if (order == CH_NOT_REQUIRED || s->bits[order / 64] >> order % 64 & 1)
        return;
    s->bits[order / 64] |= UINT64_C(1) << order % 64;
    s->n++;
}

static void close_seen(struct seen *s) {
    if (s->bits != s->small)
        ch_free(s->bits);
}

__attribute__((cold, noinline)) static bool tell_missing(struct run *r, const struct ch_sub *sub,
                                                         const struct ch_op *op,
                                                         const struct ch_json *v) {
    const struct ch_members *m = op->members;
    struct seen seen;
    if (!r->report)
        return false;
    open_seen(&seen, m->nrequired);
    for (CH_JSON_MEMBERS(k, value, v)) {
        const struct ch_name *name = ch_names_find(m->names, NULL, k->s, k->n);
        if (name)
            schema_run_see(&seen, m->list[name->index].order);
    }
    for (const struct ch_name *name = m->names->first; name; name = name->next) {
        uint32_t order = m->list[name->index].order;
        if (order != CH_NOT_REQUIRED && !(seen.bits[order / 64] >> order % 64 & 1))
            TELL(.sub = sub, .op = op, .v = v, .keyword = CH_KW_REQUIRED,
                 .name = ch_sv(name->s, name->n));
    }
    close_seen(&seen);
    return false;
}

/* The common case: named members, some of them required. */
static bool run_simple_members(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                               const struct ch_json *v, unsigned depth) {
    const struct ch_members *m = op->members;
    const struct ch_json *end = ch_json_next(v);
    const struct ch_name *name = NULL, *guess = m->names ? m->names->first : NULL;
    uint64_t missing = m->required;
    bool ok = true;
    for (const struct ch_json *k = v + 1; k != end; k = ch_json_next(k + 1)) {
        const struct ch_sub *s = m->rest;
        if (m->names)
            name = ch_names_find(m->names, guess, k->s, k->n);
        if (name) {
            missing &= ~name->required;
            guess = name->next;
            s = name->sub;
        }
        if (!s || run_member(r, sub, op, s, k + 1, depth))
            continue;
        if (!r->report)
            return false;
        ok = false;
    }
    return missing ? tell_missing(r, sub, op, v) : ok;
}

/* Check one member in the general case. *known: matched by name or pattern. */
static bool run_any_member(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                           const struct ch_json *k, struct seen *seen, bool *known,
                           unsigned depth) {
    const struct ch_members *m = op->members;
    const struct ch_name *name = m->names ? ch_names_find(m->names, NULL, k->s, k->n) : NULL;
    const struct ch_schema_member *member = name ? &m->list[name->index] : NULL;
    bool ok = true;
    *known = member && member->declared;
    if (member)
        schema_run_see(seen, member->order);
    if (m->each_name)
        ok &= schema_run_holds(r, m->each_name, k, NULL, depth);
    if (*known && name->sub)
        ok &= schema_run_holds(r, name->sub, k + 1, NULL, depth);
    for (size_t i = 0; i < m->nmatching && !r->given_up && (ok || r->report); i++) {
        if (!pattern_matches(r, sub, m->matching[i].pattern, k))
            continue;
        *known = true;
        ok &= schema_run_holds(r, m->matching[i].sub, k + 1, NULL, depth);
    }
    if (!*known && m->rest) {
        *known = true;
        ok &= run_member(r, sub, op, m->rest, k + 1, depth);
    }
    return ok;
}

__attribute__((noinline)) static bool run_all_members(struct run *r, const struct ch_sub *sub,
                                                      const struct ch_op *op,
                                                      const struct ch_json *v, struct track *t,
                                                      unsigned depth) {
    struct seen seen;
    bool ok = true, known;
    size_t i = 0;
    open_seen(&seen, op->members->nrequired);
    for (CH_JSON_MEMBERS(k, value, v)) {
        ok &= run_any_member(r, sub, op, k, &seen, &known, depth);
        if (known)
            schema_run_mark(t, i);
        i++;
        if (r->given_up || (!ok && !r->report))
            break;
    }
    if ((ok || r->report) && seen.n < op->members->nrequired)
        ok = tell_missing(r, sub, op, v);
    close_seen(&seen);
    return ok;
}

static inline bool run_members(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                               const struct ch_json *v, struct track *t, unsigned depth) {
    if (op->members->simple && !t)
        return run_simple_members(r, sub, op, v, depth);
    return run_all_members(r, sub, op, v, t, depth);
}

static bool run_needs(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                      const struct ch_json *v) {
    const struct ch_needs *needs = op->needs;
    bool ok = true;
    r->fuel -= v->n / 16;
    if (!ch_json_get_sv(v, needs->name))
        return true;
    r->fuel -= (int64_t)needs->n * (1 + v->n / 16);
    for (size_t i = 0; i < needs->n && r->fuel >= 0 && (ok || r->report); i++) {
        if (ch_json_get_sv(v, needs->names[i]))
            continue;
        ok = TELL(.sub = sub, .op = op, .v = v, .keyword = op->keyword, .name = needs->names[i],
                  .because = needs->name);
    }
    return ok;
}

/* --- alternatives ---------------------------------------------------------------- */

/* How far v is from satisfying the subschema: the number of violations. */
static size_t distance(struct run *r, const struct ch_sub *sub, const struct ch_json *v,
                       unsigned depth) {
    struct ch_report count = *r->report, *report = r->report;
    count.counting = true;
    count.count = 0;
    r->report = &count;
    schema_run_holds(r, sub, v, NULL, depth);
    r->report = report;
    return count.count;
}

/* No alternative succeeds: report this, and the violations of the closest
 * alternative. Its marks are kept, so that its members are not also reported as
 * unknown. */
__attribute__((cold, noinline)) static bool schema_run_explain(struct run *r,
                                                               const struct ch_sub *sub,
                                                               const struct ch_op *op,
                                                               const struct ch_json *v,
                                                               struct track *t, unsigned depth) {
    const struct ch_subs *subs = op->subs;
    size_t closest = subs->n, least = SIZE_MAX;
    for (size_t i = 0; i < subs->n && !r->report->counting; i++) {
        if (ch_op_refuses(subs->list[i]->checks[v->type]))
            continue;
        size_t far = distance(r, subs->list[i], v, depth);
        if (far < least) {
            least = far;
            closest = i;
        }
    }
    bool found = closest < subs->n;
    TELL(.sub = sub, .op = op, .v = v, .keyword = op->keyword, .closest = found ? closest + 1 : 0);
    if (found)
        schema_run_holds(r, subs->list[closest], v, t, depth);
    return false;
}

static bool run_any(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                    const struct ch_json *v, struct track *t, unsigned depth) {
    bool held = false;
    for (size_t i = 0; i < op->subs->n && (!held || t); i++)
        held |= try(r, op->subs->list[i], v, t, depth);
    if (held || !r->report)
        return held;
    return schema_run_explain(r, sub, op, v, t, depth);
}

static bool schema_run_one(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                           const struct ch_json *v, struct track *t, unsigned depth) {
    uint64_t held = 0;
    size_t n = 0;
    for (size_t i = 0; i < op->subs->n && (n < 2 || r->report); i++) {
        if (!try(r, op->subs->list[i], v, t, depth))
            continue;
        n++;
        held |= i < 64 ? UINT64_C(1) << i : 0;
    }
    if (n == 1 || !r->report)
        return n == 1;
    if (n == 0)
        return schema_run_explain(r, sub, op, v, t, depth);
    return TELL(.sub = sub, .op = op, .v = v, .keyword = op->keyword, .have = held, .want = n);
}

/* Apply the subschema that a member requires. */
static bool run_with(struct run *r, const struct ch_op *op, const struct ch_json *v,
                     struct track *t, unsigned depth) {
    r->fuel -= v->n / 16;
    return !ch_json_get_sv(v, op->needs->name) || schema_run_holds(r, op->needs->sub, v, t, depth);
}

static bool run_if(struct run *r, const struct ch_op *op, const struct ch_json *v, struct track *t,
                   unsigned depth) {
    const struct ch_sub *const *subs = op->subs->list;
    const struct ch_sub *next = try(r, subs[0], v, t, depth) ? subs[1] : subs[2];
    return !next || schema_run_holds(r, next, v, t, depth);
}

/* --- references and unevaluated --------------------------------------------------- */

static bool run_in_scope(struct run *r, const struct ch_op *op, const struct ch_json *v,
                         struct track *t, unsigned depth) {
    struct scope inner = {op->door->resource, r->scope};
    r->scope = &inner;
    bool held = schema_run_holds(r, op->door->sub, v, t, depth);
    r->scope = inner.outer;
    return held;
}

/* The outermost resource that has the anchor is the target. */
static bool run_dynamic(struct run *r, const struct ch_op *op, const struct ch_json *v,
                        struct track *t, unsigned depth) {
    const struct ch_sub *target = op->dynamic->otherwise;
    size_t seen = 0;
    for (const struct scope *s = r->scope; s; s = s->outer)
        for (const struct ch_anchor *a = s->resource->dynamic; a; a = a->next, seen++)
            if (a->name == op->dynamic->name && a->sub)
                target = a->sub;
    r->fuel -= seen / 4;
    return schema_run_holds(r, target, v, t, depth);
}

static bool run_unevaluated(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                            const struct ch_json *v, struct track *t, unsigned depth) {
    bool object = v->type == CH_JSON_OBJECT, ok = true;
    const struct ch_json *end = ch_json_next(v);
    size_t i = 0;
    for (const struct ch_json *e = v + 1 + object; e - object != end; i++) {
        const struct ch_op *checks = schema_run_marked(t, i) ? NULL : op->sub->checks[e->type];
        schema_run_mark(t, i);
        if (checks && checks->code == CH_OP_FALSE)
            ok = TELL(.sub = sub, .op = op, .v = e, .keyword = op->keyword,
                      .other = object ? e - 1 : NULL);
        else if (checks && !schema_run_op(r, op->sub, checks, e, NULL, depth + 1))
            ok = false;
        if (!ok && !r->report)
            return false;
        e = ch_json_next(e);
        e += object;
    }
    return ok;
}

__attribute__((noinline)) static bool run_tracked(struct run *r, const struct ch_sub *sub,
                                                  const struct ch_op *rest, const struct ch_json *v,
                                                  struct track *t, unsigned depth) {
    struct track mine;
    open_track(&mine, v);
    bool held = schema_run_op(r, sub, rest, v, &mine, depth + 1);
    close_track(&mine, t, true);
    return held;
}

/* --- the interpreter ----------------------------------------------------------------- */

static bool schema_run_op(struct run *r, const struct ch_sub *sub, const struct ch_op *op,
                          const struct ch_json *v, struct track *t, unsigned depth) {
    bool ok = true, held = true;
    r->fuel -= 1 + (v->n >> unit[v->type]);
    if (__builtin_expect(r->fuel < 0 || depth > CH_LIMIT_SCHEMA_DEPTH, 0))
        return schema_run_give_up(r, sub, v);
    for (;; op++) {
        switch ((enum ch_op_code)op->code) {
        case CH_OP_END:
            return ok;
        case CH_OP_TYPE:
        case CH_OP_FALSE:
            held = schema_run_fail(r, sub, op, v);
            break;
        case CH_OP_INTEGER:
            held = ch_number_is_integer(v) || schema_run_fail(r, sub, op, v);
            break;
        case CH_OP_RANGE:
            held = schema_run_in_range(r, sub, op, v);
            break;
        case CH_OP_MULTIPLE:
            held = is_multiple(op, v) || schema_run_fail(r, sub, op, v);
            break;
        case CH_OP_LENGTH:
            held = length_fits(r, sub, op, v);
            break;
        case CH_OP_PATTERN:
            held = pattern_matches(r, sub, op->pattern, v) || schema_run_fail(r, sub, op, v);
            break;
        case CH_OP_FORMAT:
            held = has_format(r, op, v) || schema_run_fail(r, sub, op, v);
            break;
        case CH_OP_ENUM:
            held = schema_run_is_choice(r, sub, op, v) || schema_run_fail(r, sub, op, v);
            break;
        case CH_OP_COUNT:
            held = count_fits(r, sub, op, v);
            break;
        case CH_OP_ITEMS:
            held = run_items(r, sub, op, v, t, depth);
            break;
        case CH_OP_CONTAINS:
            held = run_contains(r, sub, op, v, t, depth);
            break;
        case CH_OP_UNIQUE:
            held = run_unique(r, sub, op, v);
            break;
        case CH_OP_SIZE:
            held = size_fits(r, sub, op, v);
            break;
        case CH_OP_MEMBERS:
            held = run_members(r, sub, op, v, t, depth);
            break;
        case CH_OP_NEEDS:
            held = run_needs(r, sub, op, v);
            break;
        case CH_OP_WITH:
            held = run_with(r, op, v, t, depth);
            break;
        case CH_OP_ALL:
            held = schema_run_holds(r, op->sub, v, t, depth);
            break;
        case CH_OP_ANY:
            held = run_any(r, sub, op, v, t, depth);
            break;
        case CH_OP_ONE:
            held = schema_run_one(r, sub, op, v, t, depth);
            break;
        case CH_OP_NOT:
            held = !holds_quietly(r, op->sub, v, NULL, depth) || schema_run_fail(r, sub, op, v);
            break;
        case CH_OP_IF:
            held = run_if(r, op, v, t, depth);
            break;
        case CH_OP_SCOPE:
            held = run_in_scope(r, op, v, t, depth);
            break;
        case CH_OP_DYNAMIC:
            held = run_dynamic(r, op, v, t, depth);
            break;
        case CH_OP_TRACK:
            return run_tracked(r, sub, op + 1, v, t, depth);
        case CH_OP_UNEVALUATED:
            held = run_unevaluated(r, sub, op, v, t, depth);
            break;
        }
        if (held)
            continue;
        if (!r->report)
            return false;
        ok = false;
    }
}

static int64_t fuel_for(const struct ch_json *v) {
    int64_t nodes = ch_json_next(v) - v;
    return CH_LIMIT_SCHEMA_STEPS + CH_LIMIT_SCHEMA_STEPS_NODE * nodes;
}

/* 1: valid; 0: invalid; negative: a bound was reached. */
static int schema_run_verdict(struct ch_schema *s, const struct ch_json *v) {
    const struct ch_op *checks = s->root->checks[v->type];
    struct scope scope = {s->resource, NULL};
    struct run r = {.schema = s, .scope = &scope};
    if (!checks)
        return 1;
    r.fuel = fuel_for(v);
    bool held = schema_run_op(&r, s->root, checks, v, NULL, 1);
    return r.given_up || r.fuel < 0 ? CHELA_ELIMIT : held;
}

bool ch_schema_valid(struct ch_schema *s, const struct ch_json *v) {
    return schema_run_verdict(s, v) == 1;
}

/* A report runs alternatives more often than a verdict and gets more fuel, unless
 * the verdict needed too much. */
int ch_schema_check(struct ch_schema *s, const struct ch_json *v, struct ch_arena *arena,
                    struct ch_violations *out) {
    *out = (struct ch_violations){0};
    int verdict = schema_run_verdict(s, v);
    if (verdict == 1)
        return 0;
    struct ch_report report = {.arena = arena, .root = v, .out = out};
    struct scope scope = {s->resource, NULL};
    struct run r = {.schema = s, .report = &report, .scope = &scope, .fuel = fuel_for(v)};
    r.fuel *= verdict < 0 ? 1 : 4;
    int64_t start = r.fuel;
    bool held = schema_run_holds(&r, s->root, v, NULL, 0);
    s->spent = start - r.fuel;
    if (!held && !r.given_up && r.fuel >= 0)
        return CHELA_EINVAL;
    if (out->n == 0)
        ch_report_add(&report, &(struct ch_schema_finding){.sub = s->root, .v = v});
    return CHELA_ELIMIT;
}
