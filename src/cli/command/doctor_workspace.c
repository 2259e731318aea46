/* doctor_workspace.c -- see doctor_workspace.h. */
#include "cli/command/doctor_workspace.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command/doctor_machine.h"
#include "cli/setup/trust.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"

struct looking {
    struct ch_doctor *f;
    char *workspace; /* owned: real path of the workspace */
    const char *agent;
    size_t found;
};

/* The real path. For a file that does not exist: the real path of its directory, and its
 * name. NULL: the directory does not exist. The caller frees the result. */
static char *real_path(const char *path) {
    char *real = realpath(path, NULL);
    const char *slash = strrchr(path, '/');
    if (real)
        return real;
    char *above = !slash        ? ch_dup(".")
                  : slash == path ? ch_dup("/")
                                  : ch_must(strndup(path, (size_t)(slash - path)));
    real = realpath(above, NULL);
    char *joined = real ? ch_format("%s/%s", real, slash ? slash + 1 : path) : NULL;
    free(above);
    free(real);
    return joined;
}

static bool is_inside(const char *path, const char *dir) {
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || n == 1);
}

static void look_at(struct looking *l, const char *name, const char *path, const char *mend) {
    char *real = real_path(path);
    if (real && is_inside(real, l->workspace)) {
        ch_doctor_tell(
            l->f, "workspace", name, "warn",
            ch_format("%s is inside the workspace %s of agent %s", real, l->workspace, l->agent),
            mend);
        l->found++;
    }
    free(real);
}

static bool has_end(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Files that the configuration names: keys, and the program of a command, up to the comma. */
static void look_at_option(const char *key, const char *value, int from_file, void *user) {
    struct looking *l = user;
    if (!from_file || value[0] != '/')
        return;
    if (has_end(key, "File"))
        look_at(l, "key", value, "keep keys outside of workspaces");
    if (has_end(key, ".command")) {
        char *program = ch_must(strndup(value, strcspn(value, ",")));
        look_at(l, "program", program,
                "move the program out of the workspace: who can write the workspace decides what "
                "the tool does");
        free(program);
    }
}

static void look_at_store(struct looking *l, const struct ch_setup *s) {
    static const char scheme[] = "sqlite:";
    char *url = ch_setup_store_url(s);
    if (url && strncmp(url, scheme, strlen(scheme)) == 0)
        look_at(l, "store", url + strlen(scheme),
                "set store to a path outside, or remove the key: sessions are then kept in the "
                "user's state directory");
    free(url);
}

static void look_at_agent(struct ch_doctor *f, const struct ch_setup *s, const char *id) {
    struct chela_agent_opts opts = CHELA_AGENT_OPTS(.workspace = s->flags->workspace);
    struct chela_error err = {0};
    if (s->config && chela_config_agent(s->config, id, &opts, &err) < 0)
        return;
    struct looking l = {.f = f, .agent = id ? id : "main"};
    l.workspace = realpath(opts.workspace ? opts.workspace : ".", NULL);
    if (!l.workspace)
        return;
    if (s->config_path)
        look_at(&l, "config", s->config_path,
                "set workspaceDir to another directory, such as ./work, or keep the file elsewhere "
                "and name it with --config");
    look_at_store(&l, s);
    char *trust = ch_trust_directory(s->env, false);
    if (trust)
        look_at(&l, "trust", trust, "choose a workspace below the home directory, not above it");
    free(trust);
    if (s->config)
        chela_config_show(s->config, look_at_option, &l);
    if (!l.found)
        ch_doctor_tell(f, "workspace", l.agent, "ok",
                       ch_format("%s holds neither configuration nor store nor programs of tools",
                                 l.workspace),
                       NULL);
    free(l.workspace);
}

void ch_doctor_workspace(struct ch_doctor *f, struct ch_setup *s) {
    const char *id = NULL;
    if (s->flags->agent || !s->config || !chela_config_agent_id(s->config, 0)) {
        look_at_agent(f, s, s->flags->agent);
        return;
    }
    for (size_t i = 0; (id = chela_config_agent_id(s->config, i)); i++)
        look_at_agent(f, s, id);
}
