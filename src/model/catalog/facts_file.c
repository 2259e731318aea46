/* facts_file.c -- see facts_file.h. */
#include "model/catalog/facts_file.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"

struct reading {
    struct ch_facts_file *file;
    const char *path;
    ch_facts_complain *complain;
    void *user;
    size_t row, complaints;
    struct ch_sv match;
};

static void __attribute__((format(printf, 2, 3))) facts_complain(struct reading *r,
                                                                 const char *fmt, ...) {
    CH_BUF_AUTO text = {0};
    va_list ap;
    if (++r->complaints > CH_LIMIT_CONFIG_WARNINGS || !r->complain)
        return;
    ch_buf_addf(&text, "%s: models[%zu]", r->path, r->row);
    if (r->match.n)
        ch_buf_addf(&text, " (%.*s)", (int)CH_MIN(r->match.n, 80), r->match.p);
    ch_buf_add_str(&text, ": ");
    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    ch_redact_line(text.p);
    r->complain(text.p, r->user);
}

static void unknown_column(struct reading *r, struct ch_sv name) {
    struct ch_nearest near = ch_nearest(name);
    for (unsigned c = 0; c < CH_COLUMNS; c++)
        ch_nearest_try(&near, ch_sv_str(ch_column_name((enum ch_column)c)));
    facts_complain(r, "there is no column '%.*s'%s%.*s%s", (int)CH_MIN(name.n, 60), name.p,
                   near.best.n ? ", did you mean " : "", CH_SV_FMT(near.best),
                   near.best.n ? "?" : "");
}

/* A '*' after a version stands for what may follow a name, not for another version. */
static const char *pattern_of(struct ch_arena *a, struct ch_sv name) {
    bool star = name.n > 1 && name.p[name.n - 1] == '*';
    char before = star ? name.p[name.n - 2] : 0;
    if (before >= '0' && before <= '9')
        name.n--;
    return ch_arena_str(a, name);
}

static bool facts_read_match(struct reading *r, const struct ch_json *v,
                             struct ch_facts_row *row) {
    struct ch_arena *a = &r->file->arena;
    struct ch_sv match = ch_json_str(v), name = match;
    const char *slash = match.n ? memchr(match.p, '/', match.n) : NULL;
    if (!ch_json_is(v, CH_JSON_STRING) || !match.n || match.n > CH_LIMIT_FACT_TEXT ||
        memchr(match.p, 0, match.n) || slash == match.p || match.p[match.n - 1] == '/') {
        facts_complain(r, "match: expected a pattern such as anthropic/claude-opus-5-5*");
        return false;
    }
    r->match = match;
    row->match = ch_arena_str(a, match);
    if (slash) {
        row->provider = ch_arena_str(a, ch_sv(match.p, (size_t)(slash - match.p)));
        name = ch_sv(slash + 1, match.n - (size_t)(slash + 1 - match.p));
    }
    row->name = pattern_of(a, name);
    return true;
}

/* A fact about the row itself: where it is from. */
static const char *about(struct reading *r, const struct ch_json *v, const char *otherwise) {
    struct ch_sv s = ch_json_str(v);
    if (!v)
        return otherwise;
    if (v->type == CH_JSON_STRING && s.n <= CH_LIMIT_URL && !memchr(s.p, 0, s.n))
        return ch_arena_str(&r->file->arena, s);
    facts_complain(r, "source and as_of are texts");
    return otherwise;
}

static void read_columns(struct reading *r, const struct ch_json *v, struct ch_facts_row *row) {
    for (CH_JSON_MEMBERS(key, x, v)) {
        struct chela_error err = {0};
        struct ch_sv name = ch_json_str(key);
        enum ch_column c = ch_column_find(name);
        if (ch_sv_is(name, "match") || ch_sv_is(name, "source") || ch_sv_is(name, "as_of"))
            continue;
        if (c == CH_COLUMNS)
            unknown_column(r, name);
        else if (x->type != CH_JSON_NULL &&
                 ch_column_read(c, x, &r->file->arena, &row->some, &err) < 0)
            facts_complain(r, "%s: %s", ch_column_name(c), err.message);
    }
}

static void facts_read_row(struct reading *r, const struct ch_json *v) {
    struct ch_facts_file *f = r->file;
    struct ch_facts_row *row = &f->rows[f->n];
    r->match = CH_SV("");
    *row = (struct ch_facts_row){.source = f->source, .as_of = f->as_of};
    if (v->type != CH_JSON_OBJECT) {
        facts_complain(r, "expected an object, not %s", ch_json_type_name(v->type));
        return;
    }
    if (!facts_read_match(r, ch_json_get(v, "match"), row))
        return;
    row->source = about(r, ch_json_get(v, "source"), f->source);
    row->as_of = about(r, ch_json_get(v, "as_of"), f->as_of);
    read_columns(r, v, row);
    f->n++;
}

int ch_facts_file_read(struct ch_facts_file *f, struct ch_sv text, const char *path,
                       ch_facts_complain *complain, void *user, struct chela_error *err) {
    struct reading r = {f, path, complain, user, 0, 0, CH_SV("")};
    struct chela_error why = {0};
    const struct ch_json *v = NULL;
    if (ch_json_parse(&f->arena, text, CH_JSON_STRICT, &v, NULL, &why) < 0)
        return ch_fail(err, CHELA_EPARSE, "%s: %s", path, why.message);
    const struct ch_json *models = ch_json_get(v, "models");
    if (!ch_json_is(models, CH_JSON_ARRAY))
        return ch_fail(err, CHELA_EPARSE,
                       "%s: this is no file of facts about models: it needs {\"format\": 1, "
                       "\"models\": [...]}", path);
    if (ch_json_int(ch_json_get(v, "format"), 0) != 1)
        return ch_fail(err, CHELA_EPARSE, "%s: format: expected 1", path);
    if (models->n > CH_LIMIT_FACTS_ROWS)
        return ch_fail(err, CHELA_ELIMIT, "%s: more than %d models", path, CH_LIMIT_FACTS_ROWS);
    f->source = about(&r, ch_json_get(v, "source"), NULL);
    f->as_of = about(&r, ch_json_get(v, "as_of"), NULL);
    f->rows = ch_arena_alloc(&f->arena, (models->n + 1) * sizeof(*f->rows));
    for (CH_JSON_EACH(e, models)) {
        facts_read_row(&r, e);
        r.row++;
    }
    return 0;
}

void ch_facts_file_release(struct ch_facts_file *f) {
    ch_arena_release(&f->arena);
    *f = (struct ch_facts_file){0};
}

/* The maker of a model, whose facts hold wherever the model is sold. */
static bool is_maker(const char *provider, struct ch_sv model) {
    const char *maker = ch_model_facts(model)->provider;
    return maker && strcmp(maker, provider) == 0;
}

const struct ch_facts_row *ch_facts_file_find(const struct ch_facts_file *f, const char *provider,
                                              struct ch_sv model) {
    const struct ch_facts_row *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct ch_facts_row *row = &f->rows[i];
        bool own = row->provider && strcmp(row->provider, provider) == 0;
        size_t n = 4 * strlen(row->name) + (own ? 2 : 0) + !strchr(row->name, '*');
        if (n <= longest || !(ch_sv_is(model, row->name) || ch_model_fits(row->name, model)))
            continue;
        if (own || !row->provider || is_maker(row->provider, model)) {
            best = row;
            longest = n;
        }
    }
    return best;
}

bool ch_facts_row_is_idle(const struct ch_facts_row *row) {
    const struct ch_model_facts *f;
    if (!strchr(row->match, '*'))
        return false;
    for (size_t i = 0; (f = ch_model_facts_at(i)); i++)
        if (f->provider && (!row->provider || strcmp(row->provider, f->provider) == 0) &&
            ch_model_fits(row->name, ch_sv_str(f->match)))
            return false;
    return true;
}

static void write_about(struct ch_jw *w, const char *key, const char *text, const char *file) {
    if (text && !(file && strcmp(text, file) == 0))
        ch_jw_kcstr(w, key, text);
}

/* One line for each model, so that people can read and compare it. */
void ch_facts_file_write(const struct ch_facts_file *f, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_buf_add_str(out, "{\"format\": 1");
    for (int i = 0; i < 2; i++) {
        const char *text = i ? f->source : f->as_of;
        if (!text)
            continue;
        ch_buf_add_str(out, i ? ", \"source\": " : ", \"as_of\": ");
        w = ch_jw(out);
        ch_jw_cstr(&w, text);
    }
    ch_buf_add_str(out, ",\n \"models\": [");
    for (size_t i = 0; i < f->n; i++) {
        const struct ch_facts_row *row = &f->rows[i];
        ch_buf_add_str(out, i ? ",\n  " : "\n  ");
        w = ch_jw(out);
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "match", row->match);
        write_about(&w, "as_of", row->as_of, f->as_of);
        write_about(&w, "source", row->source, f->source);
        ch_some_facts_write(&w, &row->some);
        ch_jw_end(&w, '}');
    }
    ch_buf_add_str(out, "]}\n");
}
