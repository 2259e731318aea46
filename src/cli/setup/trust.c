/* trust.c -- see trust.h. */
#include "cli/setup/trust.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/state_path.h"
#include "cli/term/ask.h"

/* --- the record --------------------------------------------------------------- */

char *ch_trust_directory(const struct ch_env *env, bool create) {
    char *path = ch_state_path(env, "trust");
    if (path && create)
        ch_state_make_parents(path, NULL);
    return path;
}

int ch_trust_add(const struct ch_env *env, const chela_config *cfg, struct chela_error *err) {
    char *dir = ch_trust_directory(env, false);
    int rc = dir ? ch_state_make_parents(dir, err)
                 : ch_problem(err, CHELA_EINVAL,
                              "there is no place for the trust record: HOME is not set; use "
                              "--config");
    if (rc == 0)
        rc = chela_trust_add(dir, cfg, err);
    free(dir);
    return rc;
}

void ch_trust_skills(const struct ch_setup *s, const char *workspace) {
    char *dir = ch_trust_directory(s->env, false);
    if (dir)
        chela_trust_skills(dir, workspace, s->rt, NULL); /* a run tells what is ignored */
    free(dir);
}

/* --- the settings ------------------------------------------------------------- */

static bool starts(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *text, const char *suffix) {
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* True if the provider of key "providers[NAME].x" is that of the model, or if the model is
 * not known yet. */
static bool is_provider_of(const char *key, const char *model) {
    static const char prompted[] = "prompted+";
    const char *name = key + strlen("providers[");
    if (!model)
        return true;
    if (starts(model, prompted))
        model += strlen(prompted);
    size_t n = strcspn(model, "/");
    return strncmp(name, model, n) == 0 && name[n] == ']';
}

/* True if the command would work differently without the setting. */
static bool depends(const struct ch_setup *s, const char *kind, const char *key) {
    unsigned uses = s->uses ? s->uses : CH_USES_ALL;
    if (strcmp(kind, "limit") == 0)
        return false; /* a lower limit counts, a higher one is not needed */
    if (strcmp(key, "store") == 0 || strcmp(key, "durability") == 0)
        return (uses & CH_USES_STORE) && !s->flags->store;
    if (starts(key, "gateway.") || starts(key, "channels.") || starts(key, "policies[") ||
        starts(key, "budgets["))
        return uses & CH_USES_GATEWAY;
    if (strcmp(kind, "schedule") == 0)
        return uses & CH_USES_SCHEDULES;
    if (starts(key, "providers["))
        return (uses & CH_USES_MODEL) && is_provider_of(key, s->model);
    if (ends(key, ".model") && strcmp(kind, "model") == 0 && !ends(key, ".compaction.model"))
        return (uses & CH_USES_MODEL) && !s->model;
    if (strcmp(kind, "model") == 0)
        return uses & CH_USES_MODEL;
    if (ends(key, ".workspaceDir"))
        return (uses & CH_USES_TOOLS) && !s->flags->workspace;
    if (strcmp(key, "sandbox.mode") == 0)
        return (uses & CH_USES_TOOLS) && !s->flags->sandbox;
    return uses & CH_USES_TOOLS;
}

struct claims {
    const struct ch_setup *s;
    size_t n, needed;
    /* of a file that was trusted before */
    bool prompts;  /* its prompts have changed */
    bool settings; /* something else than a program has changed */
    char *program; /* owned: the first program that has changed */
    char *first; /* owned: key of the last needed setting, the gravest */
};

static void count_claim(const char *kind, const char *key, const char *value, void *user) {
    struct claims *c = user;
    bool prompt = strcmp(kind, "prompt") == 0;
    (void)value;
    c->n += strcmp(kind, "limit") != 0 && !prompt;
    if (prompt ? !c->prompts : !depends(c->s, kind, key))
        return;
    c->needed++;
    free(c->first);
    c->first = ch_dup(key);
}

static void find_change(int change, const char *kind, const char *key, const char *value,
                        void *user) {
    struct claims *c = user;
    bool program = strcmp(kind, "program") == 0;
    (void)change;
    (void)key;
    c->prompts |= strcmp(kind, "prompt") == 0;
    c->settings |= !program;
    if (program && !c->program) {
        c->program = ch_dup(value);
        char *digest = strstr(c->program, " (sha256 ");
        if (digest)
            *digest = '\0';
    }
}

struct writing {
    FILE *out;
    bool changes; /* the file was trusted before */
    size_t n;
};

static void write_one_line(FILE *out, const char *text) {
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", out);
        else
            fputc(*text, out);
}

/* All settings are shown: one that is left out would be trusted unseen. */
static void write_change(int change, const char *kind, const char *key, const char *value,
                         void *user) {
    struct writing *w = user;
    w->n++;
    fprintf(w->out, "%s%-10s  ", w->changes ? change < 0 ? "- " : "+ " : "  ", kind);
    write_one_line(w->out, key);
    fputs(": ", w->out);
    write_one_line(w->out, value);
    fputc('\n', w->out);
}

size_t ch_trust_write(FILE *out, const struct ch_env *env, const chela_config *cfg) {
    struct chela_error err = {0};
    struct writing w = {.out = out};
    char *dir = ch_trust_directory(env, false);
    w.changes = dir && chela_trust_check(dir, cfg, &err) == CHELA_ESTATE;
    chela_trust_compare(dir, cfg, write_change, &w, &err);
    free(dir);
    return w.n;
}

/* --- the question -------------------------------------------------------------- */

enum answer { NOBODY, YES, NO, CANCELLED };

static enum answer ask(struct ch_setup *s, bool changed) {
    struct ch_asker asker;
    struct ch_draft d;
    enum answer answer = NOBODY;
    ch_asker_open(&asker, s->console, s->signals);
    if (!ch_asker_there(&asker)) {
        ch_asker_close(&asker);
        return NOBODY;
    }
    ch_draft_init(&d);
    fprintf(d.f, "\n%s %s:\n", s->config_path,
            changed ? "was changed since you trusted it" : "came with this directory. It decides");
    if (ch_trust_write(d.f, s->env, s->config) == 0)
        fputs("  the names or the order of its agents\n", d.f);
    fputs("Trust this file? [y]es, and remember it; [n]o, run without these settings: ", d.f);
    ch_draft_finish(&d);
    const char *line = ch_asker_line(&asker, d.p);
    for (; line && answer == NOBODY;) {
        line += strspn(line, " \t");
        if (strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0)
            answer = YES;
        else if (strcasecmp(line, "n") == 0 || strcasecmp(line, "no") == 0)
            answer = NO;
        else
            line = ch_asker_line(&asker, "[y]es or [n]o: ");
    }
    free(d.p);
    if (ch_asker_interrupted(&asker))
        answer = CANCELLED;
    ch_asker_close(&asker);
    return answer;
}

/* --- the gate ------------------------------------------------------------------- */

static int refuse(const struct ch_setup *s, const struct claims *c, bool changed,
                  struct chela_error *err) {
    char more[64] = "";
    if (c->program && !c->settings) {
        ch_console_note(s->console,
                        "%.200s was changed since %s, which names it as a program, was trusted: "
                        "calls of its own tools need consent, and its MCP servers do not start, "
                        "until you have read it and run 'chela trust'",
                        c->program, s->config_path);
        return CHELA_OK;
    }
    if (c->needed > 1)
        snprintf(more, sizeof(more), " and %zu more setting%s", c->needed - 1,
                 c->needed == 2 ? "" : "s");
    return ch_problem(err, CHELA_ECONFIG,
                      "%s %s, and this command depends on its %.100s%s: read the file, then run "
                      "'chela trust', or name the file with --config",
                      s->config_path,
                      changed ? "was changed since it was trusted" : "is not trusted", c->first,
                      more);
}

/* Continue with the user's own file and the harmless settings of this one. */
static int restrict_config(struct ch_setup *s, const char *own_path, size_t ignored,
                           struct chela_error *err) {
    chela_config *own = NULL;
    if (own_path && ch_setup_load(s, own_path, &own, err) < 0)
        return err->code = CHELA_ECONFIG;
    chela_config_restrict(s->config, own);
    s->untrusted = s->config_path;
    s->config_path = own_path ? ch_dup(own_path) : NULL;
    s->ignored = ignored;
    if (ignored)
        ch_console_note(s->console,
                        "%s is not trusted: only its names, prompts and lower limits count, and "
                        "no skills of the workspace ('chela trust' trusts the file)",
                        s->untrusted);
    else
        ch_console_note(s->console,
                        "%s is not trusted: its names, prompts and lower limits count, but no "
                        "skills of the workspace ('chela trust' trusts the file)",
                        s->untrusted);
    return CHELA_OK;
}

int ch_trust_gate(struct ch_setup *s, const char *own_path, struct chela_error *err) {
    struct chela_error why = {0};
    struct claims c = {.s = s};
    char *dir = ch_trust_directory(s->env, false);
    int rc = dir ? chela_trust_check(dir, s->config, &why) : CHELA_ENOENT;
    if (rc == CHELA_ESTATE)
        chela_trust_compare(dir, s->config, find_change, &c, &(struct chela_error){0});
    free(dir);
    unsigned uses = s->uses ? s->uses : CH_USES_ALL;
    /* The command runs no program; if one runs all the same, the library refuses it. */
    bool unused = c.program && !c.settings && !(uses & (CH_USES_TOOLS | CH_USES_NOTHING));
    if (rc == CHELA_OK || s->inspect || unused) {
        free(c.program);
        return CHELA_OK;
    }
    if (rc != CHELA_ENOENT && rc != CHELA_ESTATE)
        return ch_problem(err, CHELA_ECONFIG, "%s", why.message);
    bool changed = rc == CHELA_ESTATE;
    chela_config_claims(s->config, count_claim, &c);
    enum answer answer = c.needed && !s->reloading ? ask(s, changed) : NOBODY;
    if (answer == YES)
        rc = ch_trust_add(s->env, s->config, err);
    else if (answer == CANCELLED || ch_signals_caught(s->signals))
        rc = ch_problem(err, CHELA_ECANCELED, "cancelled");
    else if (answer == NOBODY && c.needed)
        rc = refuse(s, &c, changed, err);
    else
        rc = restrict_config(s, own_path, c.n, err);
    free(c.program);
    free(c.first);
    return rc;
}

void ch_trust_renew(const struct ch_env *env, const char *path, const chela_config *before) {
    struct chela_error err = {0}; /* a problem is reported when the file is read again */
    struct chela_config_opts how = CHELA_CONFIG_OPTS(.module_path = getenv("CHELA_MODULE_PATH"),
                                                     .home = env->home);
    chela_config *now = NULL;
    char *dir = ch_trust_directory(env, false);
    if (dir && chela_trust_check(dir, before, &err) == CHELA_OK &&
        chela_config_open(path, &how, &now, &err) == CHELA_OK &&
        chela_config_same_rights(before, now))
        chela_trust_add(dir, now, &err);
    chela_config_free(now);
    free(dir);
}
