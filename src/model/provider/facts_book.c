/* facts_book.c -- see facts_book.h. */
#include "model/provider/facts_book.h"

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "model/catalog/provider.h"

struct config_row {
    struct config_row *next;
    char *provider, *model;
    struct ch_some_facts some;
};

struct ch_facts_book {
    struct ch_facts_file file;
    struct ch_arena arena; /* texts of the configuration */
    struct config_row *rows; /* the newest first */
    bool loaded;
};

static struct ch_facts_book *book_of(struct ch_providers *ps) {
    if (!ps->facts)
        ps->facts = ch_alloc(sizeof(*ps->facts));
    return ps->facts;
}

/* --- the user's file */

char *ch_facts_book_path(const struct ch_providers *ps) {
    const char *config = ch_providers_env(ps, "XDG_CONFIG_HOME");
    const char *home = ch_providers_env(ps, "HOME");
    struct ch_buf path = {0};
    if (config && *config == '/')
        ch_buf_addf(&path, "%s/chela/models.json", config);
    else if (home && *home == '/')
        ch_buf_addf(&path, "%s/.config/chela/models.json", home);
    return path.n ? ch_buf_take(&path) : NULL;
}

static void facts_warn(const char *text, void *user) {
    (void)user;
    ch_log(CH_LOG_WARN, "model", "%s", text);
}

static void load(struct ch_facts_book *b, const struct ch_providers *ps) {
    CH_BUF_AUTO text = {0};
    CH_AUTOFREE char *path = ch_facts_book_path(ps);
    struct chela_error err = {0};
    b->loaded = true;
    int rc = path ? ch_file_load(path, CH_LIMIT_FACTS_FILE, &text, &err) : CHELA_ENOENT;
    if (rc == CHELA_ENOENT)
        return;
    if (rc == 0)
        rc = ch_facts_file_read(&b->file, ch_buf_sv(&text), path, facts_warn, NULL, &err);
    if (rc < 0)
        ch_log(CH_LOG_WARN, "model", "%s (the built-in facts about models are used)", err.message);
}

const struct ch_facts_file *ch_facts_book_file(struct ch_providers *ps) {
    struct ch_facts_book *b = book_of(ps);
    if (!b->loaded)
        load(b, ps);
    return &b->file;
}

/* --- the configuration */

int ch_facts_book_add(struct ch_providers *ps, const char *provider, const char *model,
                      const char *json, struct chela_error *err) {
    struct ch_facts_book *b = book_of(ps);
    const struct ch_json *v = NULL;
    struct ch_some_facts some = {0};
    int rc = ch_json_parse(&b->arena, ch_sv_str(json), CH_JSON_STRICT, &v, NULL, err);
    if (rc == 0 && v->type != CH_JSON_OBJECT)
        rc = ch_fail(err, CHELA_ECONFIG, "facts about a model are a JSON object");
    if (rc < 0)
        return rc;
    for (CH_JSON_MEMBERS(key, x, v)) {
        struct chela_error why = {0};
        enum ch_column c = ch_column_find(ch_json_str(key));
        if (c == CH_COLUMNS)
            return ch_fail(err, CHELA_ECONFIG, "%s/%s: there is no column '%.*s'", provider, model,
                           CH_SV_FMT(ch_json_str(key)));
        rc = ch_column_read(c, x, &b->arena, &some, &why);
        if (rc < 0)
            return ch_fail(err, rc, "%s/%s: %s: %s", provider, model, ch_column_name(c),
                           why.message);
    }
    struct config_row *row = ch_alloc(sizeof(*row));
    row->provider = ch_strdup(provider);
    row->model = ch_strdup(model);
    row->some = some;
    row->next = b->rows;
    b->rows = row;
    return 0;
}

static const struct config_row *find_configured(struct ch_providers *ps, const char *provider,
                                                struct ch_sv model, struct ch_sv asked) {
    const struct config_row *r = ps->facts ? ps->facts->rows : NULL;
    while (r && (strcmp(r->provider, provider) != 0 ||
                 !(ch_sv_is(model, r->model) || ch_sv_is(asked, r->model))))
        r = r->next;
    return r;
}

/* --- what counts */

/* True if the service of this name is the one of the row. */
static bool is_own(const struct ch_model_facts *f, const char *provider) {
    return f->provider && ch_provider_same(f->provider, provider);
}

/* The built-in facts. A price is its seller's; a local server serves what its owner loaded, with a
 * window of its own. */
bool ch_facts_book_built_in(const struct ch_providers *ps, const char *provider,
                            struct ch_sv model, struct ch_model_facts *out) {
    const struct ch_clock *clock = ps->loop ? ch_loop_clock(ps->loop) : &ch_clock_system;
    const struct ch_provider *p = ch_provider_find(ch_sv_str(provider));
    struct ch_price price = {0};
    bool known = ch_price_find(provider, model, ch_model_day(ch_now_ms(clock)), &price);
    *out = *ch_model_facts(model);
    out->price = price;
    out->later_from = NULL;
    if (p && p->local)
        out->window = out->output = 0;
    if (!is_own(out, provider)) /* others end it on a day of their own */
        out->ends = out->routed_to = NULL;
    return known;
}

bool ch_facts_book_get(struct ch_providers *ps, const char *provider, struct ch_sv model,
                       struct ch_sv asked, struct ch_model_facts *out) {
    bool priced = ch_facts_book_built_in(ps, provider, model, out);
    const struct ch_facts_row *row = ch_facts_file_find(ch_facts_book_file(ps), provider, model);
    const struct config_row *conf = find_configured(ps, provider, model, asked);
    if (row) {
        bool sells = !row->provider || strcmp(row->provider, provider) == 0;
        ch_column_set which = sells ? ~UINT64_C(0) : ~CH_COLUMNS_OF_PRICE;
        ch_columns_apply(out, &row->some, which);
        priced = priced || row->some.known & which & CH_COLUMN_BIT(price_in);
    }
    if (conf) {
        ch_columns_apply(out, &conf->some, ~UINT64_C(0));
        priced = priced || conf->some.known & CH_COLUMN_BIT(price_in);
    }
    return priced;
}

/* The file is read again: its faults were logged when the first model was needed. */
void ch_facts_book_faults(struct ch_providers *ps, ch_facts_complain *complain, void *user) {
    CH_BUF_AUTO text = {0};
    CH_AUTOFREE char *path = ch_facts_book_path(ps);
    struct ch_facts_file f = {0};
    struct chela_error err = {0};
    int rc = path ? ch_file_load(path, CH_LIMIT_FACTS_FILE, &text, &err) : CHELA_ENOENT;
    if (rc == 0)
        rc = ch_facts_file_read(&f, ch_buf_sv(&text), path, complain, user, &err);
    if (rc < 0 && rc != CHELA_ENOENT)
        complain(err.message, user);
    for (size_t i = 0; i < f.n; i++)
        if (ch_facts_row_is_idle(&f.rows[i])) {
            CH_BUF_AUTO line = {0};
            ch_buf_addf(&line, "%s: %s fits no known model", path, f.rows[i].match);
            complain(ch_buf_str(&line), user);
        }
    ch_facts_file_release(&f);
}

const char *ch_facts_book_source(struct ch_providers *ps, const char *provider,
                                 struct ch_sv model, const char **as_of) {
    const struct ch_facts_row *row = ch_facts_file_find(ch_facts_book_file(ps), provider, model);
    *as_of = row ? row->as_of : NULL;
    if (find_configured(ps, provider, model, model))
        return "config";
    if (row)
        return "file";
    bool known = ch_model_facts(model)->match;
    *as_of = known ? CH_MODEL_FACTS_AS_OF : NULL;
    return known ? "table" : NULL;
}

void ch_facts_book_free(struct ch_facts_book *b) {
    if (!b)
        return;
    for (struct config_row *r = b->rows; r;) {
        struct config_row *next = r->next;
        ch_free(r->provider);
        ch_free(r->model);
        ch_free(r);
        r = next;
    }
    ch_facts_file_release(&b->file);
    ch_arena_release(&b->arena);
    ch_free(b);
}
