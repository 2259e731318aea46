/* conf.c -- see conf.h: functions on a configuration, for the files that read and apply it. */
#include "config/conf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "guard/secrets.h"

void chela_config_free(chela_config *cfg) {
    if (!cfg)
        return;
    chela_config_free(cfg->own);
    ch_arena_release(cfg->arena);
    ch_free(cfg->arena);
    ch_free(cfg);
}

const char *ch_conf_path(const chela_config *cfg, struct ch_sv path) {
    bool home = ch_sv_is(path, "~") || ch_sv_starts(path, "~/");
    if (home && cfg->home)
        return ch_arena_printf(cfg->arena, "%s%.*s", cfg->home, (int)path.n - 1, path.p + 1);
    if (home || (path.n && path.p[0] == '/'))
        return ch_arena_str(cfg->arena, path);
    if (ch_sv_starts(path, "./"))
        path = ch_sv(path.p + 2, path.n - 2);
    return ch_arena_printf(cfg->arena, "%s/%.*s", cfg->dir, CH_SV_FMT(path));
}

const char *ch_conf_store(const chela_config *cfg, const char *url) {
    struct ch_sv scheme = CH_SV("sqlite:"), path = ch_sv_str(url);
    if (!url || !ch_sv_starts(path, scheme.p) || path.n == scheme.n)
        return url;
    path = ch_sv(path.p + scheme.n, path.n - scheme.n);
    return ch_arena_printf(cfg->arena, "%s%s", scheme.p, ch_conf_path(cfg, path));
}

const char *chela_config_place(const chela_config *cfg, const char *value) {
    const char *equal = NULL;
    for (; cfg && value; cfg = cfg->own)
        for (const struct ch_conf_place *p = cfg->places; p; p = p->next)
            if (p->value == value)
                return p->place;
            else if (!equal && strcmp(p->value, value) == 0)
                equal = p->place;
    return equal;
}

/* A pipe without a writer would block. */
static int conf_load_key(const char *file, struct ch_buf *out, struct chela_error *err) {
    struct stat st;
    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode))
        return ch_fail(err, CHELA_ECONFIG, "%s: not a regular file", file);
    int rc = ch_file_load(file, CH_LIMIT_KEY_FILE, out, err);
    if (rc < 0)
        return rc;
    struct ch_sv key = ch_sv_trim(ch_buf_sv(out));
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= ' ' || key.p[i] == 0x7f)
            return ch_fail(err, CHELA_ECONFIG, "%s: expected one key and nothing else", file);
    if (key.n == 0)
        return ch_fail(err, CHELA_ECONFIG, "%s: the file is empty", file);
    ch_buf_consume(out, (size_t)(key.p - out->p));
    out->p[out->n = key.n] = '\0';
    ch_secret_add(out->p, "the key in %s", file);
    return 0;
}

int ch_conf_read_key(const chela_config *cfg, const char *file, struct ch_buf *out,
                     struct chela_error *err) {
    struct chela_error why = {0};
    int rc = conf_load_key(file, out, &why);
    return rc < 0 ? ch_fail(err, rc, "%s: %s", chela_config_place(cfg, file), why.message) : rc;
}

static int config_by_name(const void *a, const void *b) {
    const struct ch_conf_agent *const *x = a, *const *y = b;
    return strcmp((*x)->item.name, (*y)->item.name);
}

void ch_conf_sort_agents(chela_config *cfg) {
    const struct ch_conf_agent *agents = cfg->conf.agents.items;
    size_t n = cfg->conf.agents.n;
    cfg->by_name = ch_arena_alloc(cfg->arena, (n + 1) * sizeof(*cfg->by_name));
    for (size_t i = 0; i < n; i++)
        cfg->by_name[i] = &agents[i];
    qsort(cfg->by_name, n, sizeof(*cfg->by_name), config_by_name);
}
