/* argument_validation.c -- see argument_validation.h. */
#include "tool/registry/argument_validation.h"

#include "base/mem.h"
#include "json/writer.h"

struct ch_contract {
    struct ch_schema *schema;
    const char *synonyms; /* borrowed; may be NULL */
    bool unknown;         /* ch_contract_found_unknown */
};

/* True if the members of the schema decide about parameters that `properties` does not name. */
static bool decides_itself(const struct ch_json *schema) {
    static const char *const members[] = {
        "additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames",
        "dependentSchemas", "allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef",
    };
    for (size_t i = 0; i < CH_LEN(members); i++)
        if (ch_json_get(schema, members[i]))
            return true;
    const struct ch_json *named = ch_json_get(schema, "properties");
    return !named || named->n == 0; /* a schema that names none was not written to restrict */
}

/* Write a schema in which objects that name their members have no others, as deep as members and
 * items go. */
static void write_closed(struct ch_jw *w, const struct ch_json *schema) {
    if (schema->type != CH_JSON_OBJECT) {
        ch_jw_value(w, schema);
        return;
    }
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(key, member, schema)) {
        ch_jw_key_sv(w, ch_json_str(key));
        if (ch_sv_is(ch_json_str(key), "items")) {
            write_closed(w, member);
        } else if (ch_sv_is(ch_json_str(key), "properties") && member->type == CH_JSON_OBJECT) {
            ch_jw_begin(w, '{');
            for (CH_JSON_MEMBERS(name, property, member)) {
                ch_jw_key_sv(w, ch_json_str(name));
                write_closed(w, property);
            }
            ch_jw_end(w, '}');
        } else {
            ch_jw_value(w, member);
        }
    }
    if (!decides_itself(schema))
        ch_jw_kbool(w, "additionalProperties", false);
    ch_jw_end(w, '}');
}

static void close_schema(struct ch_sv schema, struct ch_buf *out) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v = NULL;
    struct ch_jw w = ch_jw(out);

    if (ch_json_parse(&arena, schema, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        ch_buf_add_sv(out, schema); /* ch_schema_parse says what is wrong */
    else
        write_closed(&w, v);
}

int ch_contract_new(struct ch_sv schema, const char *synonyms, struct ch_contract **out,
                    struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    CH_AUTO(ch_contract) c = ch_alloc(sizeof(*c));
    c->synonyms = synonyms;
    if (synonyms)
        close_schema(ch_sv_trim(schema), &text);
    int rc = ch_schema_parse(synonyms ? ch_buf_sv(&text) : schema, NULL, &c->schema, err);
    if (rc < 0)
        return rc;
    *out = CH_TAKE(c);
    return 0;
}

void ch_contract_free(struct ch_contract *c) {
    if (!c)
        return;
    ch_schema_free(c->schema);
    ch_free(c);
}

/* The name that a synonym "said=meant" of the tool stands for; otherwise the name itself. */
static struct ch_sv meant_by(const struct ch_contract *c, struct ch_sv said,
                             const struct ch_json *object) {
    struct ch_sv rest = ch_sv_str(c->synonyms ? c->synonyms : "");
    while (rest.n) {
        struct ch_sv meant = ch_sv_split(&rest, ' '), name = ch_sv_split(&meant, '=');
        if (meant.n && ch_sv_eq(name, said) && !ch_json_get_sv(object, meant))
            return meant;
    }
    return said;
}

/* Write v with names mapped in every object. The reader has bounded the depth of v. */
static void write_mapped(const struct ch_contract *c, struct ch_jw *w, const struct ch_json *v) {
    if (v->type == CH_JSON_OBJECT) {
        ch_jw_begin(w, '{');
        for (CH_JSON_MEMBERS(key, member, v)) {
            ch_jw_key_sv(w, meant_by(c, ch_json_str(key), v));
            write_mapped(c, w, member);
        }
        ch_jw_end(w, '}');
    } else if (v->type == CH_JSON_ARRAY) {
        ch_jw_begin(w, '[');
        for (CH_JSON_EACH(item, v))
            write_mapped(c, w, item);
        ch_jw_end(w, ']');
    } else {
        ch_jw_value(w, v);
    }
}

static void add_changes(const struct ch_changes *changes, struct ch_buf *words) {
    for (size_t i = 0; i < changes->n; i++)
        ch_buf_addf(words, "%s%.*s: %.*s", words->n ? "; " : "", CH_SV_FMT(changes->list[i].path),
                    CH_SV_FMT(changes->list[i].what));
}

/* Correct v. On success *args and *text are replaced; the text of v is kept if only names
 * changed. */
static bool corrected(struct ch_contract *c, struct ch_arena *arena, const struct ch_json *v,
                      struct ch_sv v_text, const struct ch_json **args, struct ch_sv *text,
                      struct ch_violations *left, struct ch_buf *words) {
    struct ch_changes changes = {0};
    struct ch_sv coerced = {NULL, 0};
    const struct ch_json *out = v;
    int rc =
        ch_schema_coerce(c->schema, v, CH_COERCE_DROP_NULL, arena, &out, &coerced, &changes, left);
    if (rc < 0)
        return false;
    add_changes(&changes, words);
    *args = out;
    *text = coerced.p ? coerced : v_text;
    return true;
}

static const struct ch_json *with_mapped_names(const struct ch_contract *c, struct ch_arena *arena,
                                               const struct ch_json *args, struct ch_sv text,
                                               struct ch_sv *mapped) {
    const struct ch_json *v;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    write_mapped(c, &w, args);
    if (out.overflow || ch_sv_eq(ch_buf_sv(&out), text))
        return NULL;
    *mapped = ch_arena_sv(arena, ch_buf_sv(&out));
    return ch_json_parse(arena, *mapped, CH_JSON_STRICT, &v, NULL, NULL) == 0 ? v : NULL;
}

static bool is_synonym(const struct ch_contract *c, struct ch_sv name) {
    struct ch_sv rest = ch_sv_str(c->synonyms ? c->synonyms : "");
    while (rest.n)
        if (ch_sv_eq(ch_sv_split(&rest, ' '), name))
            return true;
    return false;
}

static bool has_unknown(const struct ch_contract *c, const struct ch_violations *v) {
    for (size_t i = 0; i < v->n; i++) {
        struct ch_sv path = v->list[i].path, name = path;
        while (path.n)
            name = ch_sv_split(&path, '/');
        if (v->list[i].unknown_key && !is_synonym(c, name))
            return true;
    }
    return false;
}

bool ch_contract_found_unknown(const struct ch_contract *c) {
    return c->unknown;
}

enum ch_fit ch_contract_check(struct ch_contract *c, struct ch_arena *arena,
                              const struct ch_json **args, struct ch_sv *text,
                              struct ch_buf *words) {
    struct ch_violations left = {0}, ignored = {0};
    struct ch_sv mapped_text;
    c->unknown = false;
    if (ch_schema_valid(c->schema, *args))
        return CH_FITS;
    bool maps = c->synonyms && strchr(c->synonyms, '=');
    const struct ch_json *mapped =
        maps ? with_mapped_names(c, arena, *args, *text, &mapped_text) : NULL;
    if (mapped && corrected(c, arena, mapped, mapped_text, args, text, &ignored, words)) {
        if (words->n == 0)
            ch_buf_add_str(words, "argument names mapped");
        return CH_FITS_CORRECTED;
    }
    if (corrected(c, arena, *args, *text, args, text, &left, words))
        return CH_FITS_CORRECTED;
    c->unknown = has_unknown(c, mapped ? &ignored : &left);
    if (mapped && !c->unknown) {
        *args = mapped;
        *text = mapped_text;
    }
    /* With its names mapped, a call may have fewer faults. */
    ch_violations_text(mapped && ignored.n && ignored.n < left.n ? &ignored : &left, words);
    return CH_FITS_NOT;
}

static bool holds_open(const struct ch_json *v, bool (*open)(struct ch_sv string)) {
    const struct ch_json *end = ch_json_next(v);
    for (; v < end; v++)
        if (v->type == CH_JSON_STRING && open(ch_json_str(v)))
            return true;
    return false;
}

void ch_contract_check_open(struct ch_contract *c, const struct ch_json *args,
                            bool (*open)(struct ch_sv string), struct ch_buf *words) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO written = {0};
    CH_BUF_AUTO why = {0};
    struct ch_violations found = {0};
    struct ch_jw w = ch_jw(&written);
    ch_jw_value(&w, args);
    struct ch_sv text = ch_buf_sv(&written);
    if (ch_contract_check(c, &arena, &args, &text, &why) != CH_FITS_NOT ||
        ch_schema_check(c->schema, args, &arena, &found) == 0)
        return;
    for (size_t i = 0; i < found.n; i++) {
        const struct ch_violation *v = &found.list[i];
        if (!v->unknown_key && v->keyword != CH_KW_REQUIRED && holds_open(v->at, open))
            continue;
        ch_buf_addf(words, "%s%.*s", words->n ? "; " : "", CH_SV_FMT(v->message));
    }
}
