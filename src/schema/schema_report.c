/* schema_report.c -- describe violations in words that a model can act on.
 *
 * Each finding of a run becomes one violation: the place (a JSON Pointer for
 * programs, edits[0].path for readers), what the schema expects, what it
 * received, and a sentence with all of this. The message lists allowed names
 * and suggests the nearest one for a misspelt name. Messages are short whatever
 * the value contains. */
#include "schema/schema_report.h"

#include "base/limits.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "schema/schema_compile.h"
#include "schema/schema_format.h"
#include "schema/schema_run.h"
#include "json/value.h"
#include "json/writer.h"

#define SHOWN_TEXT 60   /* bytes shown of a string or number */
#define SHOWN_VALUES 20 /* values shown of an enum */
#define SHOWN_NAMES 30  /* allowed keys shown */
#define SHOWN_LIST 1200 /* bytes shown of either list */
#define COMPARED 256    /* names compared with a misspelt name */

/* --- describing values ----------------------------------------------------- */

static void schema_report_add_cut(struct ch_buf *out, struct ch_sv s) {
    struct ch_sv head = ch_utf8_cut(s, SHOWN_TEXT);
    ch_buf_add_sv(out, head);
    if (head.n < s.n)
        ch_buf_add_str(out, "\xe2\x80\xa6");
}

static void schema_report_add_quoted(struct ch_buf *out, struct ch_sv s) {
    struct ch_sv head = ch_utf8_cut(s, SHOWN_TEXT);
    ch_json_quote(out, head);
    if (head.n == s.n)
        return;
    out->n--; /* the ellipsis goes inside the quotes */
    ch_buf_add_str(out, "\xe2\x80\xa6\"");
}

/* Add a key in quotes. */
static void schema_report_add_name(struct ch_buf *out, struct ch_sv name) {
    ch_buf_addc(out, '\'');
    size_t before = out->n;
    schema_report_add_quoted(out, name);
    memmove(out->p + before, out->p + before + 1, out->n - before - 1);
    out->n -= 2;
    ch_buf_addc(out, '\'');
}

static void schema_report_add_value(struct ch_buf *out, const struct ch_json *v) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (v->type == CH_JSON_STRING) {
        schema_report_add_quoted(out, ch_json_str(v));
    } else if (v->type >= CH_JSON_ARRAY && ch_json_next(v) - v > SHOWN_TEXT) {
        ch_buf_add_str(out, v->type == CH_JSON_ARRAY ? "[\xe2\x80\xa6]" : "{\xe2\x80\xa6}");
    } else {
        ch_jw_value(&w, v);
        schema_report_add_cut(out, ch_buf_sv(&text));
    }
}

static void describe_object(struct ch_buf *out, const struct ch_json *v) {
    size_t n = 0;
    if (v->n == 0)
        ch_buf_add_str(out, "an empty object");
    for (CH_JSON_MEMBERS(name, value, v)) {
        if (n++ == 8) {
            ch_buf_add_str(out, ", \xe2\x80\xa6");
            break;
        }
        ch_buf_add_str(out, n == 1 ? "an object with " : ", ");
        schema_report_add_name(out, ch_json_str(name));
    }
}

/* "number 5", "an array of 2 items" */
static void schema_report_describe(struct ch_buf *out, const struct ch_json *v) {
    switch ((enum ch_json_type)v->type) {
    case CH_JSON_NULL:
        ch_buf_add_str(out, "null");
        break;
    case CH_JSON_ARRAY:
        ch_buf_addf(out, v->n ? "an array of %u item%s" : "an empty array", v->n,
                    v->n == 1 ? "" : "s");
        break;
    case CH_JSON_OBJECT:
        describe_object(out, v);
        break;
    default:
        ch_buf_addf(out, "%s ", ch_json_type_name((enum ch_json_type)v->type));
        schema_report_add_value(out, v);
    }
}

/* "a string, an integer or null" */
static void add_types(struct ch_buf *out, unsigned types, bool integer) {
    static const struct {
        unsigned bit;
        const char *words;
    } rows[] = {
        {CH_BIT_STRING, "a string"},  {CH_BIT_NUMBER, "a number"}, {CH_BIT_BOOLEAN, "a boolean"},
        {CH_BIT_OBJECT, "an object"}, {CH_BIT_ARRAY, "an array"},  {CH_BIT_NULL, "null"},
    };
    unsigned left = types;
    if (!types)
        ch_buf_add_str(out, "nothing");
    for (size_t i = 0; i < CH_LEN(rows); i++) {
        if (!(left & rows[i].bit))
            continue;
        bool first = left == types;
        left &= ~rows[i].bit;
        ch_buf_add_str(out, first ? "" : left ? ", " : " or ");
        ch_buf_add_str(out, integer && rows[i].bit == CH_BIT_NUMBER ? "an integer" : rows[i].words);
    }
}

/* Add a place such as edits[0].path; "the value" for the root, "the key NAME"
 * for a key. */
static void schema_report_add_place(struct ch_buf *out, const struct ch_json *root,
                                    const struct ch_json *at) {
    const struct ch_json *name = NULL;
    size_t i, start = out->n;
    if (root == at)
        ch_buf_add_str(out, "the value");
    while (root != at && name != at) {
        bool first = out->n == start;
        root = ch_json_toward(root, at, &name, &i);
        if (name == at)
            break;
        if (!name)
            ch_buf_addf(out, first ? "item [%zu]" : "[%zu]", i);
        else if (!first)
            ch_buf_addc(out, '.');
        if (name)
            schema_report_add_cut(out, ch_json_str(name));
    }
    if (name != at)
        return;
    CH_BUF_AUTO within = {0};
    ch_buf_add(&within, out->p ? out->p + start : "", out->n - start);
    out->n = start;
    ch_buf_add_str(out, "the key ");
    schema_report_add_name(out, ch_json_str(at));
    if (within.n)
        ch_buf_addf(out, " in %s", ch_buf_str(&within));
}

/* --- describing expectations ------------------------------------------------- */

/* The parts of a violation's sentence: PLACE SAYS, got RECEIVED. */
struct words {
    struct ch_buf expected; /* "a string" */
    struct ch_buf says;     /* "must be a string"; empty: built from expected */
    bool whole;             /* says is the whole sentence */
};

static void schema_report_add_choices(struct ch_buf *out, const struct ch_json *list) {
    size_t n = 0;
    for (CH_JSON_EACH(e, list)) {
        if (n == SHOWN_VALUES || out->n > SHOWN_LIST) {
            ch_buf_addf(out, ", \xe2\x80\xa6 (%u in all)", list->n);
            return;
        }
        ch_buf_add_str(out, n++ ? ", " : "");
        schema_report_add_value(out, e);
    }
}

static void say_enum(const struct ch_schema_finding *f, struct words *w) {
    const struct ch_json *list = f->op->choices->list;
    struct ch_nearest near = ch_nearest(ch_json_str(f->v));
    if (f->keyword == CH_KW_CONST) {
        schema_report_add_value(&w->expected, list);
        return;
    }
    if (list->n != 1)
        ch_buf_add_str(&w->expected, list->n ? "one of " : "nothing");
    schema_report_add_choices(&w->expected, list);
    for (CH_JSON_EACH(e, list->n <= COMPARED && f->v->type == CH_JSON_STRING ? list : NULL))
        if (e->type == CH_JSON_STRING)
            ch_nearest_try(&near, ch_json_str(e));
    if (near.best.n == 0)
        return;
    ch_buf_addf(&w->says, "must be %s (did you mean ", ch_buf_str(&w->expected));
    schema_report_add_quoted(&w->says, near.best);
    ch_buf_add_str(&w->says, "?)");
}

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

static void say_count(const struct ch_schema_finding *f, struct words *w, const char *what,
                      bool least) {
    ch_buf_addf(&w->expected, "at %s %llu %s%s", least ? "least" : "most",
                (unsigned long long)f->want, what, plural(f->want));
    ch_buf_addf(&w->says, "must have %s, has %llu", ch_buf_str(&w->expected),
                (unsigned long long)f->have);
}

static void say_bound(const struct ch_schema_finding *f, struct words *w, const char *relation) {
    ch_buf_addf(&w->expected, "%s ", relation);
    schema_report_add_value(&w->expected, f->other);
}

/* The type that a member must have, if known. */
static unsigned type_of_member(const struct ch_schema_finding *f, bool *integer) {
    const struct ch_members *m = f->op->code == CH_OP_MEMBERS ? f->op->members : NULL;
    const struct ch_name *name =
        m && m->names ? ch_names_find(m->names, NULL, f->name.p, f->name.n) : NULL;
    const struct ch_sub *sub = name ? name->sub : NULL;
    *integer = sub && sub->integer;
    return sub && sub->types != CH_BIT_ALL ? sub->types : 0;
}

static void add_within(struct ch_report *r, struct ch_buf *out, const struct ch_json *at) {
    if (at == r->root)
        return;
    ch_buf_add_str(out, " in ");
    schema_report_add_place(out, r->root, at);
}

/* The given key that may be a misspelling of the missing one: not declared, with a similar
 * name. */
static struct ch_sv misspelt(const struct ch_schema_finding *f) {
    const struct ch_members *m = f->op->code == CH_OP_MEMBERS ? f->op->members : NULL;
    struct ch_nearest near = ch_nearest(f->name);
    size_t left = COMPARED;
    for (CH_JSON_MEMBERS(key, value, f->v)) {
        struct ch_sv name = ch_json_str(key);
        (void)value;
        if (left-- == 0)
            break;
        if (m && !(m->names && ch_names_find(m->names, NULL, name.p, name.n)))
            ch_nearest_try(&near, name);
    }
    return near.best.n > 2 ? near.best : CH_SV("");
}

static void say_missing(struct ch_report *r, const struct ch_schema_finding *f, struct words *w) {
    bool integer;
    unsigned types = type_of_member(f, &integer);
    ch_buf_add_str(&w->expected, "key ");
    schema_report_add_name(&w->expected, f->name);
    if (types) {
        ch_buf_add_str(&w->expected, " (");
        add_types(&w->expected, types, integer);
        ch_buf_addc(&w->expected, ')');
    }
    ch_buf_addf(&w->says, "missing required %s", ch_buf_str(&w->expected));
    add_within(r, &w->says, f->v);
    if (f->because.p) {
        ch_buf_add_str(&w->says, ", which ");
        schema_report_add_name(&w->says, f->because);
        ch_buf_add_str(&w->says, " asks for");
    }
    struct ch_sv given = misspelt(f);
    if (given.n) {
        ch_buf_add_str(&w->says, "; the given key ");
        schema_report_add_name(&w->says, given);
        ch_buf_add_str(&w->says, " is unknown");
    }
    w->whole = true;
}

/* The allowed keys, including those of subschemas that apply to the same object. */
struct allowed {
    struct ch_buf *out;
    struct ch_nearest near;
    size_t n, left; /* names so far; subschemas that may still be visited */
};

static void allow_names(struct allowed *a, const struct ch_names *names,
                        const struct ch_schema_member *list) {
    const struct ch_name *at = names ? names->first : NULL;
    for (; at && a->n < COMPARED; at = at->next) {
        bool forbidden = at->sub && at->sub->at->type == CH_JSON_FALSE;
        if (!list[at->index].declared || forbidden)
            continue;
        ch_nearest_try(&a->near, ch_sv(at->s, at->n));
        if (a->n++ > SHOWN_NAMES || a->out->n > SHOWN_LIST)
            continue;
        ch_buf_add_str(a->out, a->n > 1 ? ", " : "");
        if (a->n > SHOWN_NAMES)
            ch_buf_add_str(a->out, "\xe2\x80\xa6");
        else
            schema_report_add_cut(a->out, ch_sv(at->s, at->n));
    }
}

static void allow_from(struct allowed *a, const struct ch_sub *sub, bool deep, unsigned depth) {
    const struct ch_op *op = sub ? sub->checks[CH_JSON_OBJECT] : NULL;
    if (!op || depth > 16 || a->left == 0)
        return;
    a->left--;
    for (; op->code != CH_OP_END; op++) {
        if (op->code == CH_OP_MEMBERS)
            allow_names(a, op->members->names, op->members->list);
        if (deep && op->code == CH_OP_ALL)
            allow_from(a, op->sub, deep, depth + 1);
        else if (deep && op->code == CH_OP_SCOPE)
            allow_from(a, op->door->sub, deep, depth + 1);
        else if (deep && op->code == CH_OP_WITH)
            allow_from(a, op->needs->sub, deep, depth + 1);
        bool list = op->code == CH_OP_ANY || op->code == CH_OP_ONE || op->code == CH_OP_IF;
        for (size_t i = 0; deep && list && i < op->subs->n; i++)
            allow_from(a, op->subs->list[i], deep, depth + 1);
    }
}

/* The object that contains a member's name. */
static const struct ch_json *object_of(const struct ch_json *root, const struct ch_json *key) {
    const struct ch_json *object = root, *name = NULL;
    size_t i;
    for (const struct ch_json *at = root; name != key;) {
        object = at;
        at = ch_json_toward(at, key, &name, &i);
    }
    return object;
}

static void say_unknown(struct ch_report *r, const struct ch_schema_finding *f, struct words *w) {
    struct allowed a = {.out = &w->expected, .near = ch_nearest(ch_json_str(f->other)), .left = 64};
    allow_from(&a, f->sub, f->keyword == CH_KW_UNEVALUATED_PROPERTIES, 0);
    ch_buf_add_str(&w->says, "unknown key ");
    schema_report_add_name(&w->says, ch_json_str(f->other));
    add_within(r, &w->says, object_of(r->root, f->other));
    if (a.n)
        ch_buf_addf(&w->says, "; allowed: %s", ch_buf_str(&w->expected));
    else
        ch_buf_add_str(&w->expected, "no such key");
    if (a.near.best.n > 2) {
        ch_buf_add_str(&w->says, " (did you mean ");
        schema_report_add_name(&w->says, a.near.best);
        ch_buf_add_str(&w->says, "?)");
    }
    w->whole = true;
}

static void say_surplus(const struct ch_schema_finding *f, struct words *w) {
    const struct ch_items *items = f->op->code == CH_OP_ITEMS ? f->op->items : NULL;
    if (items)
        ch_buf_addf(&w->expected, "no more than %zu item%s", items->n, plural(items->n));
    else
        ch_buf_add_str(&w->expected, "no such item");
    ch_buf_addf(&w->says, "is one too many (%s)", ch_buf_str(&w->expected));
}

/* The types that some alternative accepts. */
static unsigned schema_report_accepted(const struct ch_subs *subs, bool *integer) {
    unsigned types = 0;
    *integer = true;
    for (size_t i = 0; i < subs->n; i++) {
        for (unsigned t = 0; t < CH_TYPES; t++)
            types |= (unsigned)!ch_op_refuses(subs->list[i]->checks[t]) << t;
        bool number = !ch_op_refuses(subs->list[i]->checks[CH_JSON_NUMBER]);
        *integer &= !number || subs->list[i]->integer;
    }
    return types;
}

static void say_none(const struct ch_schema_finding *f, struct words *w) {
    bool integer;
    unsigned types = schema_report_accepted(f->op->subs, &integer);
    if (!f->closest && types && types != CH_BIT_ALL) {
        add_types(&w->expected, types, integer);
        return;
    }
    ch_buf_addf(&w->expected, "one of %zu forms", f->op->subs->n);
    ch_buf_addf(&w->says, "matches none of the %zu forms that are allowed", f->op->subs->n);
    if (f->closest)
        ch_buf_addf(&w->says, " (form %zu comes closest)", f->closest);
}

static void say_several(const struct ch_schema_finding *f, struct words *w) {
    bool first = true;
    ch_buf_addf(&w->expected, "exactly one of %zu forms", f->op->subs->n);
    ch_buf_addf(&w->says, "must match exactly one of %zu forms, matches %llu: forms",
                f->op->subs->n, (unsigned long long)f->want);
    for (unsigned i = 0; i < 64; i++) {
        if (!(f->have >> i & 1))
            continue;
        ch_buf_addf(&w->says, first ? " %u" : ", %u", i + 1);
        first = false;
    }
}

static void say_format(const struct ch_schema_finding *f, struct words *w) {
    ch_buf_addf(&w->expected, "a valid %s, such as %s", f->op->format->name,
                f->op->format->example);
}

static void say_pattern(const struct ch_schema_finding *f, struct words *w) {
    ch_buf_add_str(&w->expected, "a text that matches ");
    struct ch_sv source = ch_pattern_source(f->op->pattern);
    struct ch_sv shown = ch_utf8_cut(source, 4 * SHOWN_TEXT);
    ch_buf_add_sv(&w->expected, shown);
    ch_buf_add_str(&w->expected, shown.n < source.n ? "\xe2\x80\xa6" : "");
}

static void say_equal(const struct ch_schema_finding *f, struct words *w) {
    ch_buf_add_str(&w->expected, "items that all differ");
    ch_buf_addf(&w->says, "must have items that all differ; items %llu and %llu are equal",
                (unsigned long long)f->have, (unsigned long long)f->want);
}

static void say_contains(const struct ch_schema_finding *f, struct words *w) {
    bool least = f->keyword != CH_KW_MAX_CONTAINS;
    ch_buf_addf(&w->expected, "at %s %llu item%s that meet%s contains", least ? "least" : "most",
                (unsigned long long)f->want, plural(f->want), f->want == 1 ? "s" : "");
    ch_buf_addf(&w->says, "must have %s, has %llu", ch_buf_str(&w->expected),
                (unsigned long long)f->have);
}

/* Describes the schema of `not`, if it is short enough to show. */
static void say_not(const struct ch_schema_finding *f, struct words *w) {
    const struct ch_json *forbidden = ch_json_get(f->sub->at, "not");
    CH_BUF_AUTO text = {0};
    struct ch_jw jw = ch_jw(&text);
    ch_buf_add_str(&w->expected, "a value that does not match the schema under 'not'");
    ch_buf_add_str(&w->says, "must not match ");
    if (forbidden && ch_json_next(forbidden) - forbidden < SHOWN_TEXT)
        ch_jw_value(&jw, forbidden);
    ch_buf_add_str(&w->says, text.n && text.n < 4 * SHOWN_TEXT ? text.p : "the schema under 'not'");
}

static void schema_report_say(struct ch_report *r, const struct ch_schema_finding *f,
                              struct words *w) {
    switch (f->keyword) {
    case CH_KW_TYPE:
        add_types(&w->expected, f->sub->types, f->sub->integer);
        break;
    case CH_KW_ENUM:
    case CH_KW_CONST:
        say_enum(f, w);
        break;
    case CH_KW_MINIMUM:
        say_bound(f, w, "at least");
        break;
    case CH_KW_MAXIMUM:
        say_bound(f, w, "at most");
        break;
    case CH_KW_EXCLUSIVE_MINIMUM:
        say_bound(f, w, "more than");
        break;
    case CH_KW_EXCLUSIVE_MAXIMUM:
        say_bound(f, w, "less than");
        break;
    case CH_KW_MULTIPLE_OF:
        ch_buf_add_str(&w->expected, "a multiple of ");
        schema_report_add_value(&w->expected, f->op->value);
        break;
    case CH_KW_MIN_LENGTH:
    case CH_KW_MAX_LENGTH:
        say_count(f, w, "character", f->keyword == CH_KW_MIN_LENGTH);
        break;
    case CH_KW_MIN_ITEMS:
    case CH_KW_MAX_ITEMS:
        say_count(f, w, "item", f->keyword == CH_KW_MIN_ITEMS);
        break;
    case CH_KW_MIN_PROPERTIES:
    case CH_KW_MAX_PROPERTIES:
        say_count(f, w, "key", f->keyword == CH_KW_MIN_PROPERTIES);
        break;
    case CH_KW_PATTERN:
        say_pattern(f, w);
        break;
    case CH_KW_FORMAT:
        say_format(f, w);
        break;
    case CH_KW_UNIQUE_ITEMS:
        say_equal(f, w);
        break;
    case CH_KW_CONTAINS:
    case CH_KW_MIN_CONTAINS:
    case CH_KW_MAX_CONTAINS:
        say_contains(f, w);
        break;
    case CH_KW_REQUIRED:
    case CH_KW_DEPENDENT_REQUIRED:
    case CH_KW_DEPENDENCIES:
        say_missing(r, f, w);
        break;
    case CH_KW_ADDITIONAL_PROPERTIES:
    case CH_KW_UNEVALUATED_PROPERTIES:
        say_unknown(r, f, w);
        break;
    case CH_KW_ITEMS:
    case CH_KW_ADDITIONAL_ITEMS:
    case CH_KW_UNEVALUATED_ITEMS:
        say_surplus(f, w);
        break;
    case CH_KW_ANY_OF:
    case CH_KW_ONE_OF:
        f->want ? say_several(f, w) : say_none(f, w);
        break;
    case CH_KW_NOT:
        say_not(f, w);
        break;
    case CH_KW_NONE:
        ch_buf_add_str(&w->expected, f->op ? "no value here" : "a simpler value");
        ch_buf_add_str(&w->says,
                       f->op ? "is not allowed here" : "is too large or too deep to be checked");
        break;
    default:
        ch_buf_addf(&w->expected, "what %s asks for", ch_keyword_name(f->keyword));
        ch_buf_addf(&w->says, "does not meet %s", ch_keyword_name(f->keyword));
    }
}

/* --- the violation ------------------------------------------------------------ */

static unsigned types_of_choices(const struct ch_schema_finding *f) {
    const struct ch_json *list = f->op->choices->list;
    unsigned types = 0;
    if (f->keyword == CH_KW_CONST)
        return 1u << list->type;
    for (CH_JSON_EACH(e, list))
        types |= 1u << e->type;
    return types;
}

/* Record the accepted types, if the type is the problem. */
static void note_wanted(const struct ch_schema_finding *f, struct ch_violation *v) {
    unsigned types = 0;
    bool integer = false;
    if (f->keyword == CH_KW_TYPE) {
        types = f->sub->types;
        integer = f->sub->integer;
    } else if ((f->keyword == CH_KW_ANY_OF || f->keyword == CH_KW_ONE_OF) && !f->closest &&
               !f->want) {
        types = schema_report_accepted(f->op->subs, &integer);
    } else if (f->keyword == CH_KW_ENUM || f->keyword == CH_KW_CONST) {
        types = types_of_choices(f);
    }
    bool wrong_number = f->keyword == CH_KW_TYPE && f->v->type == CH_JSON_NUMBER;
    if (types >> f->v->type & 1 && !wrong_number)
        return;
    v->want = (unsigned char)types;
    v->want_integer = integer;
}

static struct ch_sv schema_report_keep(struct ch_report *r, const struct ch_buf *b) {
    return ch_arena_sv(r->arena, ch_buf_sv(b));
}

static void schema_report_write_message(struct ch_report *r, const struct ch_schema_finding *f,
                                        const struct words *w, const struct ch_buf *received,
                                        struct ch_buf *out) {
    if (w->whole) {
        ch_buf_add_sv(out, ch_buf_sv(&w->says));
        return;
    }
    schema_report_add_place(out, r->root, f->v);
    if (w->says.n)
        ch_buf_addf(out, " %s", ch_buf_str(&w->says));
    else
        ch_buf_addf(out, " must be %s", ch_buf_str(&w->expected));
    bool counted = f->want && f->keyword != CH_KW_ANY_OF && f->keyword != CH_KW_ONE_OF;
    if (!counted && f->keyword != CH_KW_UNIQUE_ITEMS && f->keyword != CH_KW_NONE)
        ch_buf_addf(out, ", got %s", ch_buf_str(received));
}

static bool told_before(const struct ch_violations *all, const struct ch_json *at,
                        struct ch_sv message) {
    for (size_t i = 0; i < all->n; i++)
        if (all->list[i].at == at && ch_sv_eq(all->list[i].message, message))
            return true;
    return false;
}

static void add_violation(struct ch_report *r, const struct ch_schema_finding *f) {
    struct words w = {0};
    CH_BUF_AUTO received = {0};
    CH_BUF_AUTO message = {0};
    CH_BUF_AUTO text = {0};
    struct ch_violations *all = r->out;
    schema_report_say(r, f, &w);
    schema_report_describe(&received, f->v);
    schema_report_write_message(r, f, &w, &received, &message);
    if (!told_before(all, f->v, ch_buf_sv(&message))) {
        if (!all->list)
            all->list = ch_arena_alloc(r->arena, CH_LIMIT_VIOLATIONS * sizeof(all->list[0]));
        struct ch_violation *v = &all->list[all->n++];
        *v = (struct ch_violation){.at = f->v, .keyword = f->keyword};
        ch_json_pointer_to(r->root, f->v, &text);
        v->path = schema_report_keep(r, &text);
        ch_buf_clear(&text);
        ch_sub_location(f->sub, f->keyword, &text);
        v->schema = schema_report_keep(r, &text);
        v->expected = schema_report_keep(r, &w.expected);
        v->received = schema_report_keep(r, &received);
        v->message = schema_report_keep(r, &message);
        v->unknown_key =
            f->keyword == CH_KW_ADDITIONAL_PROPERTIES || f->keyword == CH_KW_UNEVALUATED_PROPERTIES;
        note_wanted(f, v);
    }
    ch_buf_release(&w.expected);
    ch_buf_release(&w.says);
}

/* A wrong constant means that another alternative was intended. */
void ch_report_add(struct ch_report *r, const struct ch_schema_finding *f) {
    r->count += f->keyword == CH_KW_CONST ? 8 : 1;
    if (r->counting)
        return;
    if (r->out->total++ < CH_LIMIT_VIOLATIONS)
        add_violation(r, f);
}

/* --- output ----------------------------------------------------------------------- */

void ch_violations_text(const struct ch_violations *v, struct ch_buf *out) {
    for (size_t i = 0; i < v->n; i++) {
        ch_buf_add_str(out, i ? "\n" : "");
        ch_buf_add_sv(out, v->list[i].message);
    }
    if (v->total > CH_LIMIT_VIOLATIONS)
        ch_buf_addf(out, "\n(%zu more)", v->total - v->n);
}

void ch_violation_json(const struct ch_violation *v, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "path", v->path);
    ch_jw_kstr(&w, "schema", v->schema);
    ch_jw_kcstr(&w, "keyword", v->keyword ? ch_keyword_name(v->keyword) : NULL);
    ch_jw_kstr(&w, "expected", v->expected);
    ch_jw_kstr(&w, "received", v->received);
    ch_jw_kstr(&w, "message", v->message);
    ch_jw_end(&w, '}');
}
