/* memo.c -- see memo.h. */
#include "cli/setup/memo.h"

#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"

#define TAIL 200 /* records at the end of a journal that are searched first */

/* --- reading ------------------------------------------------------------------------ */

static char *memo_text(const char *json, size_t n, const char *pointer) {
    char *text = chela_json_get(json, n, pointer, NULL);
    char *copy = text && *text ? ch_dup(text) : NULL;
    chela_free(text);
    return copy;
}

static bool memo_is(const char *json, const char *pointer, const char *value) {
    char *text = memo_text(json, strlen(json), pointer);
    bool is = text && strcmp(text, value) == 0;
    free(text);
    return is;
}

static int memo_on_record(const struct chela_store_record *r, void *user) {
    struct ch_memo *m = user;
    if (strcmp(chela_store_record_name(r->type), "state") != 0)
        return 0;
    char *host = chela_json_get(r->data, r->n, "/host", NULL);
    if (!host)
        return 0;
    ch_memo_release(m);
    m->model = memo_text(host, strlen(host), "/model");
    m->workspace = memo_text(host, strlen(host), "/workspace");
    m->approve = memo_text(host, strlen(host), "/approve");
    m->directory = memo_text(host, strlen(host), "/directory");
    m->tools = chela_json_get(host, strlen(host), "/tools", NULL); /* may be "" */
    m->deny = memo_text(host, strlen(host), "/deny");
    m->base_url = memo_is(host, "/base_url", "true");
    m->questions = memo_is(host, "/questions", "true")    ? CH_MEMO_ASKS
                   : memo_is(host, "/questions", "false") ? CH_MEMO_SILENT
                                                          : CH_MEMO_UNKNOWN;
    chela_free(host);
    return 0;
}

static int memo_on_session(const struct chela_store_session *s, void *user) {
    *(uint64_t *)user = s->last > s->base + TAIL ? s->last - TAIL : 1;
    return 0;
}

void ch_memo_load(struct ch_memo *m, chela_store *store, const char *key) {
    uint64_t from = 1;
    if (!store || !key || chela_store_session(store, key, memo_on_session, &from, NULL) < 0)
        return;
    chela_store_records(store, key, from, memo_on_record, m, NULL);
    if (from > 1 && !m->model && !m->workspace && !m->approve && !m->directory && !m->questions)
        chela_store_records(store, key, 1, memo_on_record, m, NULL);
}

/* --- using -------------------------------------------------------------------------- */

static void memo_take(struct ch_draft *d, const char *flag, const char *kept, const char **value) {
    if (!kept || *value)
        return;
    *value = kept;
    fprintf(d->f, " %s %s", flag, *kept ? kept : "''");
}

void ch_memo_use(struct ch_memo *m, const char *key, struct ch_console *console,
                 const char **model, struct ch_setup_flags *flags, const char **approve) {
    struct ch_draft d;
    bool strict = m->approve &&
                  (strcmp(m->approve, "deny") == 0 || strcmp(m->approve, "plan") == 0);
    bool usual = m->approve &&
                 (strcmp(m->approve, "ask") == 0 || strcmp(m->approve, "edits") == 0);
    ch_draft_init(&d);
    if (!m->base_url)
        memo_take(&d, "--model", m->model, model);
    memo_take(&d, "--workspace", m->workspace, &flags->workspace);
    memo_take(&d, "--tools", m->tools, &flags->tools);
    memo_take(&d, "--deny", m->deny, &flags->deny);
    if (strict)
        memo_take(&d, "--approve", m->approve, approve);
    ch_draft_finish(&d);
    if (d.n)
        ch_console_note(console, "session %s goes on with%s, as before", key, d.p);
    if (m->base_url && !*model)
        ch_console_note(console,
                        "session %s was used with --model %s at another address: pass --model and "
                        "--base-url to go on with it",
                        key, m->model ? m->model : "NAME");
    if (m->approve && !strict && !usual && !*approve)
        ch_console_note(console, "--approve %s is not carried over: pass it again if you want it",
                        m->approve);
    free(d.p);
}

/* --- keeping ------------------------------------------------------------------------ */

static void memo_add(struct ch_draft *d, const char *name, const char *value) {
    if (!value)
        return;
    fprintf(d->f, "%s\"%s\":", ftell(d->f) > 1 ? "," : "", name);
    ch_draft_quote(d->f, value);
}

void ch_memo_keep(chela_agent *agent, const char *model, const struct ch_setup *setup,
                  const char *approve, bool base_url) {
    const char *workspace = setup->flags->workspace;
    struct ch_draft d;
    char *real = workspace ? realpath(workspace, NULL) : NULL, *here = realpath(".", NULL);
    ch_draft_init(&d);
    fputc('{', d.f);
    memo_add(&d, "model", model);
    memo_add(&d, "workspace", real ? real : workspace);
    memo_add(&d, "approve", approve);
    memo_add(&d, "directory", here);
    memo_add(&d, "tools", setup->flags->tools);
    memo_add(&d, "deny", setup->flags->deny);
    fprintf(d.f, "%s\"questions\":%s", ftell(d.f) > 1 ? "," : "", setup->silent ? "false" : "true");
    if (base_url)
        fputs(",\"base_url\":true", d.f);
    fputc('}', d.f);
    ch_draft_finish(&d);
    chela_agent_memo(agent, d.p, NULL); /* too long a text is not kept */
    free(d.p);
    free(real);
    free(here);
}

void ch_memo_release(struct ch_memo *m) {
    free(m->model);
    free(m->directory);
    free(m->workspace);
    free(m->approve);
    free(m->deny);
    chela_free(m->tools);
    *m = (struct ch_memo){0};
}

/* --- the latest --------------------------------------------------------------------- */

struct latest {
    const char *skip;
    char **keys; /* owned, newest first; a key may occur again */
    size_t n;
};

/* A session of a called agent means the conversation that it belongs to. */
static int latest_on_session(const struct chela_store_session *s, void *user) {
    struct latest *l = user;
    if (l->skip && strncmp(s->title, l->skip, strlen(l->skip)) == 0)
        return 0;
    l->keys = ch_must(realloc(l->keys, (l->n + 1) * sizeof(*l->keys)));
    l->keys[l->n++] = ch_format("%.*s", (int)chela_session_root(s->key), s->key);
    return 0;
}

static char *latest_here(const struct latest *l, chela_store *store) {
    char *here = realpath(".", NULL);
    const char *found = NULL;
    for (size_t i = 0; here && !found && i < l->n; i++) {
        struct ch_memo m = {0};
        if (i > 0 && strcmp(l->keys[i], l->keys[i - 1]) == 0)
            continue;
        ch_memo_load(&m, store, l->keys[i]);
        if (m.directory && strcmp(m.directory, here) == 0)
            found = l->keys[i];
        ch_memo_release(&m);
    }
    free(here);
    return found ? ch_dup(found) : NULL;
}

int ch_memo_latest(chela_store *store, const char *skip, char **key, struct chela_error *err) {
    struct chela_store_filter newest = CHELA_STORE_FILTER(.limit = 1000);
    struct latest l = {.skip = skip};
    int rc = chela_store_list(store, &newest, latest_on_session, &l, err);
    *key = rc < 0 ? NULL : latest_here(&l, store);
    if (rc == 0 && !*key && l.n > 0)
        rc = ch_problem(err, CHELA_EINVAL,
                        "no session of this directory to continue; the last one of another "
                        "directory: --session %s",
                        l.keys[0]);
    else if (rc == 0 && !*key)
        rc = ch_problem(err, CHELA_EINVAL, "there is no session to continue");
    for (size_t i = 0; i < l.n; i++)
        free(l.keys[i]);
    free(l.keys);
    return rc;
}
