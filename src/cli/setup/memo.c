/* memo.c -- see memo.h. */
#include "cli/setup/memo.h"

#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"

#define TAIL 200 /* records at the end of a journal that are searched first */

/* --- reading ------------------------------------------------------------------------ */

static char *memo_text(const char *json, size_t n, const char *pointer) {
    char *text = chela_json_get(json, n, pointer, NULL);
    char *copy = text && *text ? ch_dup(text) : NULL;
    chela_free(text);
    return copy;
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
    char *base_url = memo_text(host, strlen(host), "/base_url");
    m->base_url = base_url && strcmp(base_url, "true") == 0;
    free(base_url);
    chela_free(host);
    return 0;
}

static int memo_on_session(const struct chela_store_session *s, void *user) {
    *(uint64_t *)user = s->last;
    return 0;
}

void ch_memo_load(struct ch_memo *m, chela_store *store, const char *key) {
    uint64_t last = 0;
    if (!store || !key || chela_store_session(store, key, memo_on_session, &last, NULL) < 0)
        return;
    uint64_t from = last > TAIL ? last - TAIL : 1;
    chela_store_records(store, key, from, memo_on_record, m, NULL);
    if (from > 1 && !m->model && !m->workspace && !m->approve)
        chela_store_records(store, key, 1, memo_on_record, m, NULL);
}

/* --- using -------------------------------------------------------------------------- */

static void memo_take(struct ch_draft *d, const char *flag, const char *kept, const char **value) {
    if (!kept || *value)
        return;
    *value = kept;
    fprintf(d->f, " %s %s", flag, kept);
}

void ch_memo_use(struct ch_memo *m, const char *key, struct ch_console *console,
                 const char **model, const char **workspace, const char **approve) {
    struct ch_draft d;
    bool strict = m->approve && strcmp(m->approve, "deny") == 0;
    ch_draft_init(&d);
    if (!m->base_url)
        memo_take(&d, "--model", m->model, model);
    memo_take(&d, "--workspace", m->workspace, workspace);
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
    if (m->approve && !strict && !*approve && strcmp(m->approve, "ask") != 0)
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

void ch_memo_keep(chela_agent *agent, const char *model, const char *workspace,
                  const char *approve, bool base_url) {
    struct ch_draft d;
    char *real = workspace ? realpath(workspace, NULL) : NULL;
    if (!model && !workspace && !approve)
        return;
    ch_draft_init(&d);
    fputc('{', d.f);
    memo_add(&d, "model", model);
    memo_add(&d, "workspace", real ? real : workspace);
    memo_add(&d, "approve", approve);
    if (base_url)
        fprintf(d.f, "%s\"base_url\":true", ftell(d.f) > 1 ? "," : "");
    fputc('}', d.f);
    ch_draft_finish(&d);
    chela_agent_memo(agent, d.p, NULL); /* too long a text is not kept */
    free(d.p);
    free(real);
}

void ch_memo_release(struct ch_memo *m) {
    free(m->model);
    free(m->workspace);
    free(m->approve);
    *m = (struct ch_memo){0};
}
