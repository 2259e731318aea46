/* models_update.c -- brings the user's file of facts about models up to date; see chela/models.h.
 *
 * The sources are read whole before anything is compared, and the new file is read back before it
 * replaces the old one: a failure changes nothing. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "agent/handle/runtime.h"
#include "base/calendar.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela/models.h"
#include "io/loop_entry.h"
#include "model/catalog/facts_import.h"
#include "model/catalog/provider.h"
#include "model/provider/facts_book.h"
#include "model/provider/server_query.h"

struct update {
    chela_runtime *rt;
    char *path; /* of the user's file */
    char today[sizeof("2026-11-19")];
    struct ch_facts_file file; /* as it is, and then as it will be */
    size_t room;               /* of file.rows */
    struct ch_buf changes, warnings, sources, kept; /* elements of JSON arrays */
    size_t read;
};

static void add_text(struct ch_buf *list, const char *text) {
    if (list->n)
        ch_buf_addc(list, ',');
    struct ch_jw w = ch_jw(list);
    ch_jw_cstr(&w, text);
}

static void update_warn(const char *text, void *user) {
    add_text(&((struct update *)user)->warnings, text);
}

/* --- the user's file */

static int read_old_file(struct update *u, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    u->path = ch_facts_book_path(&u->rt->providers);
    if (!u->path)
        return ch_fail(err, CHELA_ECONFIG, "neither XDG_CONFIG_HOME nor HOME is set: there is no "
                                           "place for models.json");
    int rc = ch_file_load(u->path, CH_LIMIT_FACTS_FILE, &text, err);
    if (rc == CHELA_ENOENT) {
        if (err)
            *err = (struct chela_error){0};
        return 0;
    }
    if (rc == 0)
        rc = ch_facts_file_read(&u->file, ch_buf_sv(&text), u->path, update_warn, u, err);
    if (rc == 0 && u->warnings.n) /* what is left out of it would be lost */
        return ch_fail(err, CHELA_EPARSE, "%s has faults: mend them first (chela models list shows "
                                          "them)", u->path);
    u->room = u->file.n;
    return rc;
}

static struct ch_facts_row *row_of(struct update *u, const char *match) {
    for (size_t i = 0; i < u->file.n; i++)
        if (strcmp(u->file.rows[i].match, match) == 0)
            return &u->file.rows[i];
    return NULL;
}

static struct ch_facts_row *new_row(struct update *u, const struct ch_facts_row *like) {
    struct ch_facts_file *f = &u->file;
    if (f->n >= u->room) {
        u->room = 2 * u->room + 64;
        struct ch_facts_row *rows = ch_arena_alloc(&f->arena, u->room * sizeof(*rows));
        if (f->n)
            memcpy(rows, f->rows, f->n * sizeof(*rows));
        f->rows = rows;
    }
    f->rows[f->n] = (struct ch_facts_row){
        .match = like->match, .provider = like->provider, .name = like->name};
    return &f->rows[f->n++];
}

/* --- comparing */

static void write_change(struct update *u, const char *match, enum ch_column c,
                         const struct ch_model_facts *was, const struct ch_model_facts *is) {
    if (u->changes.n)
        ch_buf_addc(&u->changes, ',');
    struct ch_jw w = ch_jw(&u->changes);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "match", match);
    ch_jw_kcstr(&w, "column", ch_column_name(c));
    ch_jw_key(&w, "before");
    ch_column_write(&w, c, was);
    ch_jw_key(&w, "after");
    ch_column_write(&w, c, is);
    ch_jw_end(&w, '}');
}

/* One model of a source. A row that a person wrote, which has no source, stays as it is. */
static void take_row(struct update *u, const struct ch_facts_row *given, const char *source) {
    struct ch_model_facts base, was, is;
    struct ch_facts_row fresh = *given, *row = row_of(u, given->match);
    if (row && !row->source) {
        add_text(&u->kept, row->match);
        return;
    }
    ch_facts_book_built_in(&u->rt->providers, given->provider, ch_sv_str(given->name), &base);
    was = is = base;
    if (row) { /* what this source says takes the place of what another said */
        ch_columns_apply(&was, &row->some, ~UINT64_C(0));
        row->some.known &= ~given->some.known;
        ch_columns_apply(&is, &row->some, ~UINT64_C(0));
    }
    ch_columns_apply(&is, &given->some, ~UINT64_C(0));
    ch_column_set differ = ch_columns_compare(&was, &is);
    ch_facts_import_reduce(&fresh, &base);
    if (fresh.some.known && !row)
        row = new_row(u, given);
    if (fresh.some.known) {
        ch_columns_copy(&row->some, &fresh.some);
        row->source = source;
        row->as_of = ch_arena_str(&u->file.arena, ch_sv_str(u->today));
    }
    for (unsigned c = 0; c < CH_COLUMNS; c++)
        if (differ & UINT64_C(1) << c)
            write_change(u, given->match, (enum ch_column)c, &was, &is);
}

/* Rows of services that nobody uses here would fill the file. */
static bool is_of_use(const struct update *u, const char *provider) {
    const struct ch_provider *p = ch_provider_find(ch_sv_str(provider));
    const struct ch_model_facts *f;
    if (ch_providers_conf(&u->rt->providers, ch_sv_str(provider)) ||
        (p && ch_target_has_key(&u->rt->providers, p->key_env)))
        return true;
    for (size_t i = 0; (f = ch_model_facts_at(i)); i++)
        if (f->provider && strcmp(f->provider, provider) == 0)
            return true;
    return false;
}

static int take_list(struct update *u, struct ch_sv text, const char *provider,
                     const char *source, struct chela_error *err) {
    struct ch_facts_file list = {0};
    struct chela_error why = {0};
    int rc = ch_facts_import(&list, text, provider, update_warn, u, &why);
    if (rc < 0) {
        ch_facts_file_release(&list);
        return ch_fail(err, rc, "%s: %s", source, why.message);
    }
    source = ch_arena_str(&u->file.arena, ch_sv_str(source));
    add_text(&u->sources, source);
    for (size_t i = 0; i < list.n; i++) {
        struct ch_facts_row *row = &list.rows[i];
        if (!is_of_use(u, row->provider))
            continue;
        u->read++;
        row->provider = ch_arena_str(&u->file.arena, ch_sv_str(row->provider));
        row->match = ch_arena_str(&u->file.arena, ch_sv_str(row->match));
        row->name = ch_arena_str(&u->file.arena, ch_sv_str(row->name));
        ch_columns_own(&row->some, &u->file.arena);
        take_row(u, row, source);
    }
    ch_facts_file_release(&list);
    return 0;
}

/* --- sources */

static int take_url(struct update *u, const char *url, struct chela_error *err) {
    CH_BUF_AUTO body = {0};
    struct chela_error why = {0};
    const int ms = CH_LIMIT_FACTS_TIMEOUT_MS;
    struct ch_http_request http = {.method = "GET",
                                   .url = url,
                                   .max_body = CH_LIMIT_FACTS_SOURCE,
                                   .timeouts = {ms, ms, ms, ms}};
    int rc = ch_server_query(&u->rt->providers, &http, &body, &why);
    return rc < 0 ? ch_fail(err, rc, "%s: %s", url, why.message)
                  : take_list(u, ch_buf_sv(&body), NULL, url, err);
}

static int take_file(struct update *u, const char *path, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    int rc = ch_file_load(path, CH_LIMIT_FACTS_SOURCE, &text, err);
    return rc < 0 ? rc : take_list(u, ch_buf_sv(&text), NULL, path, err);
}

static int take_provider(struct update *u, const char *provider, struct chela_error *err) {
    CH_BUF_AUTO spec = {0};
    CH_BUF_AUTO body = {0};
    CH_AUTO(ch_target) t = NULL;
    struct chela_error why = {0};
    const struct ch_provider *known = ch_provider_find(ch_sv_str(provider));
    const char *any = known ? known->default_model : NULL;
    ch_buf_addf(&spec, "%s/%s", provider, any ? any : "any");
    int rc = ch_target_new(&u->rt->providers, ch_buf_str(&spec), NULL, &t, &why);
    if (rc == 0)
        rc = ch_server_query_models(&u->rt->providers, t, &body, &why);
    return rc < 0 ? ch_fail(err, rc, "%s: %s", provider, why.message)
                  : take_list(u, ch_buf_sv(&body), provider, provider, err);
}

/* The lists of all services for which there is a key. */
static int take_all(struct update *u, struct chela_error *err) {
    size_t n = 0;
    for (const struct ch_provider *p = ch_provider_table; p->name; p++) {
        bool second = p > ch_provider_table && ch_provider_same(p->name, p[-1].name);
        if (p->local || !p->base_url || strcmp(p->api, "bedrock") == 0 || second ||
            !ch_target_has_key(&u->rt->providers, p->key_env))
            continue;
        int rc = take_provider(u, p->name, err);
        if (rc < 0)
            return rc;
        n++;
    }
    return n ? 0
             : ch_fail(err, CHELA_ECONFIG,
                       "no key of a service is set whose list could be asked for; name a list, "
                       "such as --from https://models.dev/api.json");
}

static int take_sources(struct update *u, const char *from, struct chela_error *err) {
    struct ch_sv name = ch_sv_str(from);
    if (!from)
        return take_all(u, err);
    if (ch_sv_starts(name, "http://") || ch_sv_starts(name, "https://"))
        return take_url(u, from, err);
    if (ch_provider_find(name) || ch_providers_conf(&u->rt->providers, name))
        return take_provider(u, from, err);
    return take_file(u, from, err);
}

/* --- the new file */

static int make_folders(const char *path, struct chela_error *err) {
    CH_AUTOFREE char *part = ch_strdup(path);
    for (char *at = part; (at = strchr(at + 1, '/'));) {
        *at = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST)
            return ch_fail(err, CHELA_EIO, "%s: %s", part, strerror(errno));
        *at = '/';
    }
    return 0;
}

/* Rows of sources of which nothing is left to say. */
static void drop_empty_rows(struct ch_facts_file *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        if (f->rows[i].some.known || !f->rows[i].source)
            f->rows[n++] = f->rows[i];
    f->n = n;
}

static int write_new_file(struct update *u, struct chela_error *err) {
    CH_BUF_AUTO text = {0};
    struct ch_facts_file again = {0};
    drop_empty_rows(&u->file);
    ch_facts_file_write(&u->file, &text);
    int rc = text.n > CH_LIMIT_FACTS_FILE
                 ? ch_fail(err, CHELA_ELIMIT, "%s would be too large", u->path)
                 : ch_facts_file_read(&again, ch_buf_sv(&text), u->path, NULL, NULL, err);
    ch_facts_file_release(&again);
    if (rc == 0)
        rc = make_folders(u->path, err);
    return rc == 0 ? ch_file_save(u->path, ch_buf_sv(&text), err) : rc;
}

static char *write_update(const struct update *u, bool written) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "file", u->path);
    ch_jw_kint(&w, "models", (int64_t)u->read);
    ch_jw_kbool(&w, "written", written);
    ch_jw_end(&w, '}');
    out.n--; /* the lists are members, too */
    const struct {
        const char *name;
        const struct ch_buf *list;
    } lists[] = {{"sources", &u->sources},
                 {"changes", &u->changes},
                 {"kept", &u->kept},
                 {"warnings", &u->warnings}};
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_buf_addf(&out, ",\"%s\":[%.*s]", lists[i].name, (int)lists[i].list->n,
                    lists[i].list->n ? lists[i].list->p : "");
    ch_buf_addc(&out, '}');
    return ch_buf_take(&out);
}

char *chela_models_update(chela_runtime *rt, const char *from, int dry, struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct update u = {.rt = rt};
    struct ch_date d = ch_date_of(ch_now_ms(ch_loop_clock(rt->loop)) / 1000);
    char *report = NULL;
    snprintf(u.today, sizeof(u.today), "%04u-%02u-%02u", (unsigned)d.year % 10000,
             (unsigned)d.month % 100, (unsigned)d.day % 100);
    int rc = ch_loop_may_run(rt->loop, err);
    if (rc == 0)
        rc = read_old_file(&u, err);
    if (rc == 0)
        rc = take_sources(&u, from, err);
    bool write = rc == 0 && !dry && u.changes.n;
    if (write)
        rc = write_new_file(&u, err);
    if (rc == 0)
        report = write_update(&u, write);
    ch_free(u.path);
    ch_facts_file_release(&u.file);
    ch_buf_release(&u.changes);
    ch_buf_release(&u.warnings);
    ch_buf_release(&u.sources);
    ch_buf_release(&u.kept);
    return report;
}
