/* cmd_login.c -- `chela login`: keeps the API key of a service for the user. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chela/json.h"
#include "chela/models.h"
#include "cli/command/cmd.h"
#include "cli/setup/setup.h"
#include "cli/support/array_member.h"
#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/support/login_keys.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/term/ask.h"

struct flags {
    struct ch_setup_flags setup;
    bool remove, no_test, json;
};

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"remove", 0, CH_OPT_SWITCH, offsetof(struct flags, remove), NULL, 0, 0, "Key",
     "forget the key instead"},
    {"no-test", 0, CH_OPT_SWITCH, offsetof(struct flags, no_test), NULL, 0, 0, "Key",
     "keep the key without asking the service whether it is valid"},
    {"json", 0, CH_OPT_SWITCH, offsetof(struct flags, json), NULL, 0, 0, "Output",
     "print a JSON object {provider, variable, file, models}"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct login {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    const struct ch_env *env;
    const char *provider;
    char *variable; /* owned: the first that the provider reads */
    char *key;      /* owned */
    size_t models;  /* that the service offers */
    bool tested;
    char *some;     /* owned: the first of them, as text */
    struct chela_error err;
};

/* --- the provider ------------------------------------------------------------------------ */

static int login_find_provider(struct login *l) {
    char *json = chela_models_json(l->setup.rt, NULL, &l->err);
    char *list = json ? chela_json_get(json, strlen(json), "/providers", NULL) : NULL;
    char *name, *variable = NULL;
    bool found = false;
    for (size_t i = 0; list && !found && (name = ch_array_member(list, i, "name")); i++) {
        found = strcmp(name, l->provider) == 0;
        variable = found ? ch_array_member(list, i, "key_env") : NULL;
        chela_free(name);
    }
    if (variable && strcmp(variable, "null") != 0) {
        variable[strcspn(variable, ", ")] = '\0';
        l->variable = ch_dup(variable);
    }
    chela_free(variable);
    chela_free(list);
    chela_free(json);
    if (!found)
        return ch_problem(&l->err, CHELA_EINVAL,
                          "there is no provider '%s' ('chela models list' shows them)",
                          l->provider);
    return l->variable ? CHELA_OK
                       : ch_problem(&l->err, CHELA_EINVAL,
                                    "%s reads no key from a variable: nothing to keep (a provider "
                                    "of the configuration names one with apiKeyEnv)",
                                    l->provider);
}

/* --- the key ------------------------------------------------------------------------------ */

static int login_take_key(struct login *l, const char *text) {
    size_t n = strcspn(text, "\r\n");
    while (n > 0 && strchr(" \t", text[n - 1]))
        n--;
    text += strspn(text, " \t");
    l->key = ch_format("%.*s", (int)n, text);
    if (!*l->key)
        return ch_problem(&l->err, CHELA_EINVAL, "there is no key");
    for (const char *p = l->key; *p; p++)
        if (*p <= ' ' || *p == 0x7f)
            return ch_problem(&l->err, CHELA_EINVAL, "a key has no spaces or control characters");
    return CHELA_OK;
}

static int login_read_key(struct login *l) {
    struct ch_cli_input in = {0};
    struct ch_asker asker;
    if (ch_input_piped()) {
        int rc = ch_input_stdin(64 << 10, -1, NULL, NULL, &in, &l->err);
        rc = rc < 0 ? rc : login_take_key(l, in.p ? in.p : "");
        ch_input_release(&in);
        return rc;
    }
    char *question = ch_format("Key of %s (%s; not shown): ", l->provider, l->variable);
    ch_asker_open(&asker, &l->console, NULL);
    const char *line = ch_asker_there(&asker) ? ch_asker_secret(&asker, question) : NULL;
    int rc = line ? login_take_key(l, line)
                  : ch_problem(&l->err, CHELA_EINVAL,
                               "nobody can be asked: give the key on standard input, as in 'chela "
                               "login %s <FILE'",
                               l->provider);
    ch_asker_close(&asker);
    free(question);
    return rc;
}

/* --- the test ------------------------------------------------------------------------------ */

static int login_count(const char *model, size_t n, void *user) {
    struct login *l = user;
    char *id = chela_json_get(model, n, "/model", NULL);
    if (id && l->models < 3) {
        char *more = ch_format("%s%s%s", l->some ? l->some : "", l->some ? ", " : "", id);
        free(l->some);
        l->some = more;
    }
    l->models++;
    chela_free(id);
    return 0;
}

/* The list of models is a request that needs the key. */
static int login_test(struct login *l) {
    l->setup.host->variable = l->variable;
    l->setup.host->value = l->key;
    char *json = chela_models_json(l->setup.rt, l->provider, &l->err);
    if (!json) {
        char *why = ch_dup(l->err.message);
        int code = l->err.code;
        l->err = (struct chela_error){0};
        ch_problem(&l->err, code == CHELA_EAUTH ? CHELA_EAUTH : CHELA_EINTERNAL,
                   "the key was not kept, because the service did not accept it or did not answer "
                   "(--no-test keeps it all the same): %s",
                   why);
        free(why);
        return l->err.code;
    }
    char *list = chela_json_get(json, strlen(json), "/models", NULL);
    if (list)
        chela_json_each(list, strlen(list), login_count, l);
    l->tested = true;
    chela_free(list);
    chela_free(json);
    return CHELA_OK;
}

/* --- the command ---------------------------------------------------------------------------- */

static void login_tell(struct login *l) {
    char *path = ch_login_keys_path(l->env, l->variable);
    struct ch_draft d;
    ch_draft_init(&d);
    if (l->flags.json) {
        fputs("{\"provider\":", d.f);
        ch_draft_quote(d.f, l->provider);
        fputs(",\"variable\":", d.f);
        ch_draft_quote(d.f, l->variable);
        fputs(",\"file\":", d.f);
        ch_draft_quote(d.f, path);
        if (l->tested)
            fprintf(d.f, ",\"models\":%zu}\n", l->models);
        else
            fputs(",\"models\":null}\n", d.f);
    } else {
        fprintf(d.f, "%s: the key is kept in %s, which only you can read\n", l->provider, path);
        if (l->tested)
            fprintf(d.f, "the service accepts the key and offers %zu model%s%s%s%s\n", l->models,
                    l->models == 1 ? "" : "s", l->some ? ": " : "", l->some ? l->some : "",
                    l->models > 3 ? ", ..." : "");
    }
    ch_draft_finish(&d);
    ch_console_print(&l->console, d.p, d.n);
    if (getenv(l->variable))
        ch_console_note(&l->console, "note: the environment sets %s, which counts before the file",
                        l->variable);
    free(d.p);
    free(path);
}

static int login_perform(struct login *l) {
    int rc = ch_setup_config(&l->setup, &l->err);
    if (rc == 0)
        rc = ch_setup_runtime(&l->setup, &l->err);
    if (rc == 0)
        rc = login_find_provider(l);
    if (rc == 0 && l->flags.remove) {
        rc = ch_login_keys_remove(l->env, l->variable, &l->err);
        if (rc == 0)
            ch_console_note(&l->console, "the key of %s (%s) is forgotten", l->provider,
                            l->variable);
        return rc;
    }
    if (rc == 0)
        rc = login_read_key(l);
    if (rc == 0 && !l->flags.no_test)
        rc = login_test(l);
    if (rc == 0)
        rc = ch_login_keys_write(l->env, l->variable, l->key, &l->err);
    if (rc == 0)
        login_tell(l);
    return rc;
}

static int login_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct login l = {.env = env};
    int code = ch_cmd_parse(cmd, env, argc, argv, &l.flags, &l.args);
    if (code < 0) {
        ch_setup_begin(&l.setup, env, &l.flags.setup, &l.console);
        l.setup.uses = CH_USES_MODEL;
        l.provider = l.args.n == 1 ? l.args.words[0] : NULL;
        int rc = l.provider ? login_perform(&l)
                            : ch_problem(&l.err, CHELA_EINVAL,
                                         "expected one provider; usage: chela login PROVIDER");
        code = ch_setup_finish(&l.setup, rc, &l.err);
    }
    if (l.key)
        explicit_bzero(l.key, strlen(l.key));
    free(l.key);
    free(l.variable);
    free(l.some);
    ch_args_release(&l.args);
    return code;
}

const struct ch_cmd ch_cmd_login = {
    .name = "login",
    .args = "PROVIDER",
    .summary = "keep the API key of a model service",
    .about =
        "Asks for the API key of a provider, or reads it from standard input, asks the service for "
        "its models to test the key, and keeps the key in a file that only you can read, in the "
        "folder secrets of your configuration. Other commands use the key where the environment "
        "does not set the provider's variable. The key is not passed to tools or programs.",
    .opts = opts,
    .run = login_run,
};
