/* cmd_doctor.c -- `chela doctor`: checks the installation and suggests remedies.
 *
 * Prints findings with status ok, warn or fail: those of the library (survey.h), and those
 * of this program about the configuration, the store and the model. Keys are never shown,
 * and no model is called. */
#include "cli/command/cmd_doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chela/gateway.h"
#include "cli/command/cmd.h"
#include "cli/command/doctor.h"
#include "cli/command/doctor_machine.h"
#include "cli/command/doctor_workspace.h"
#include "cli/support/draft.h"
#include "cli/support/array_member.h"
#include "cli/support/mem.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/support/rule_conflict.h"
#include "cli/setup/setup.h"

struct flags {
    struct ch_setup_flags setup;
    const char *url, *ca_file;
    bool json;
};

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    {"url", 0, CH_OPT_TEXT, offsetof(struct flags, url), "URL", 0, 0, "Gateway",
     "check the running gateway at this URL, with the token that 'chela serve' would use here"},
    {"ca-file", 0, CH_OPT_TEXT, offsetof(struct flags, ca_file), "FILE", 0, 0, "Gateway",
     "trusted certificates (PEM) instead of the system's"},
    {"json", 0, CH_OPT_SWITCH, offsetof(struct flags, json), NULL, 0, 0, "Output",
     "print a JSON array of {area, name, status, detail, mend}"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

/* --- checks ------------------------------------------------------------------------- */

/* Returns false for an unreadable file; warnings do not matter. */
static bool look_at_config(struct ch_doctor *f, struct ch_setup *s) {
    struct chela_error err = {0};
    if (ch_setup_config(s, &err) < 0) {
        ch_doctor_tell(f, "config", "file", "fail", ch_dup(err.message),
                       "mend it, or name another: --config");
        return false;
    }
    if (s->untrusted)
        ch_doctor_tell(f, "config", "trust", "warn",
                       ch_format("%s is not trusted: %zu of its settings have no effect",
                                 s->untrusted, s->ignored),
                       "read the file, then run: chela trust");
    if (!s->config_path)
        ch_doctor_tell(f, "config", "file", "ok", ch_dup("none: the defaults hold"), NULL);
    else if (s->warnings)
        ch_doctor_tell(f, "config", "file", "warn",
                       ch_format("%s: %u warning%s", s->config_path, s->warnings,
                                 s->warnings == 1 ? "" : "s"),
                       "chela config check shows them");
    else
        ch_doctor_tell(f, "config", "file", "ok", ch_dup(s->config_path), NULL);
    return true;
}

static void check_integrity(struct ch_doctor *f, chela_store *store) {
    struct chela_error err = {0};
    size_t n = 0;

    if (chela_store_check(store, &n, &err) == 0)
        ch_doctor_tell(f, "store", "integrity", "ok",
                       ch_format("no damage in %zu session%s", n, n == 1 ? "" : "s"), NULL);
    else
        ch_doctor_tell(f, "store", "integrity", "fail", ch_dup(err.message),
                       "export the sessions that can be read, and import them into a new store");
}

/* An SQLite file that does not exist yet. Commands create the missing directories only of the
 * file that nobody chose. */
static void look_at_new_file(struct ch_doctor *f, const struct ch_setup *s, bool chosen) {
    char *url = ch_setup_store_url(s), *path = url + strcspn(url, ":") + 1;
    char *dir = ch_dup(path), *slash;
    int why;

    do {
        slash = strrchr(dir, '/');
        if (slash)
            slash[slash == dir] = '\0';
        why = access(slash ? dir : ".", W_OK | X_OK) == 0 ? 0 : errno;
    } while (why == ENOENT && !chosen && slash && slash != dir);
    if (why)
        ch_doctor_tell(f, "store", "sqlite", chosen ? "fail" : "warn",
                       ch_format("%s cannot be created: %s", path, strerror(why)),
                       "use a directory that can be written: --store, or store: in chela.yaml");
    else
        ch_doctor_tell(f, "store", "sqlite", "ok", ch_format("none yet: %s", path), NULL);
    free(dir);
    free(url);
}

/* Opened read-only: nothing is created; a server is asked about its persistence. */
static void look_at_store(struct ch_doctor *f, struct ch_setup *s) {
    struct chela_error err = {0};
    char *kind = ch_setup_store_kind(s);
    bool chosen = s->flags->store || (s->config && chela_config_store(s->config));
    int rc = ch_setup_store(s, CH_STORE_READ, &err);
    const char *note = s->store ? chela_store_note(s->store) : NULL;

    if (rc == 0) {
        ch_doctor_tell(f, "store", kind, note ? "warn" : "ok", ch_dup(note ? note : "it opens"),
                       "docs/promises.md has what rests on it");
        check_integrity(f, s->store);
    } else if (rc == CHELA_ENOENT && strcmp(kind, "sqlite") == 0)
        look_at_new_file(f, s, chosen);
    else if (rc == CHELA_ENOENT)
        ch_doctor_tell(f, "store", kind, "ok", ch_format("none yet: %s", err.message), NULL);
    else
        ch_doctor_tell(f, "store", kind, chosen ? "fail" : "warn", ch_dup(err.message), NULL);
    chela_store_close(s->store);
    s->store = NULL;
    free(kind);
}

static bool look_at_providers(struct ch_doctor *f, struct ch_setup *s) {
    struct chela_error err = {0};
    if (ch_setup_runtime(s, &err) == 0)
        return true;
    ch_doctor_tell(f, "config", "providers", "fail", ch_dup(err.message), NULL);
    return false;
}

static char *doctor_text(const char *json, size_t i, const char *member) {
    char *value = ch_array_member(json, i, member);
    char *copy = value ? ch_dup(value) : NULL;
    chela_free(value);
    return copy;
}

void ch_doctor_survey(struct ch_doctor *f, const char *json) {
    char *area;
    for (size_t i = 0; (area = doctor_text(json, i, "area")); i++)
        ch_doctor_add(f,
                      (struct ch_doctor_finding){.area = area,
                                                 .name = ch_must(doctor_text(json, i, "name")),
                                                 .status = ch_must(doctor_text(json, i, "status")),
                                                 .detail = ch_must(doctor_text(json, i, "detail")),
                                                 .mend = doctor_text(json, i, "mend")});
}

static void on_conflict(const char *rule, const char *tool, void *user) {
    ch_doctor_tell(user, "rule", tool, "warn",
                   ch_format("its description promises what the rule \"%s\" forbids", rule),
                   "the rule comes first in the prompt; tools.deny hides the tool");
}

/* Tools that the rules of the agent forbid. */
static void look_at_conflicts(struct ch_doctor *f, const struct chela_agent_opts *opt,
                              const chela_agent *agent) {
    char *tools = chela_agent_tools_json(agent);
    ch_rule_conflicts(opt->prompt ? opt->prompt->rules : NULL, opt->system, tools, on_conflict, f);
    chela_free(tools);
}

/* The checks of `chela run` before its first request. */
static chela_agent *look_at_agent(struct ch_doctor *f, struct ch_setup *s) {
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.id = NULL);
    struct chela_error err = {0};
    chela_agent *agent;
    if (ch_setup_agent(s, &opt, &agent, &err) < 0) {
        bool key = err.code == CHELA_EAUTH;
        ch_doctor_tell(f, key ? "model" : "agent", key ? "key" : "setup", "fail",
                       ch_dup(err.message), NULL);
        return NULL;
    }
    bool demo = strncmp(opt.model, "scripted/", 9) == 0;
    ch_doctor_tell(f, "model", "choice", demo ? "warn" : "ok", ch_dup(opt.model),
                   "it is offline and plays from a file: set a key or pass --model");
    look_at_conflicts(f, &opt, agent);
    return agent;
}

/* Reports the commands that each allow rule vouches for. agent NULL: the agent could not be made,
 * perhaps for want of a key. The rules are then read with another model, which is not called. */
static void look_at_rules(struct ch_doctor *f, struct ch_setup *s, chela_agent *agent) {
    static const char *const none[] = {NULL};
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = "scripted/demo", .fallbacks = none);
    struct chela_error err = {0};
    if (!agent && ch_setup_agent(s, &opt, &agent, &err) < 0)
        return;
    char *json = chela_agent_rules_json(agent);
    ch_doctor_survey(f, json);
    chela_free(json);
}

/* Check a running gateway as its clients see it. */
static void look_at_gateway(struct ch_doctor *f, struct ch_setup *s, const char *url) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = NULL);
    struct chela_error err = {0};
    const char *env = "CHELA_TOKEN";
    if (!look_at_config(f, s) || !look_at_providers(f, s))
        return;
    if (s->config)
        chela_config_gateway(s->config, &o, &env, NULL, NULL);
    if (s->config && chela_config_token(s->config, &o.token, &err) < 0)
        ch_doctor_tell(f, "gateway", "token", "fail", ch_dup(err.message), NULL);
    char *json = chela_gateway_survey(s->rt, url, o.token ? o.token : getenv(env));
    ch_doctor_survey(f, json);
    chela_free(json);
}

static void doctor_look(struct ch_doctor *f, struct ch_setup *s) {
    struct chela_agent_opts bounds = CHELA_AGENT_OPTS(.id = NULL);
    struct chela_error err = {0};

    ch_doctor_machine(f);
    ch_doctor_clock(f);
    if (!look_at_config(f, s))
        return;
    look_at_store(f, s);
    if (!look_at_providers(f, s))
        return;
    if (s->config)
        chela_config_agent(s->config, s->flags->agent, &bounds, &err);
    struct chela_sandbox_opts sandbox = CHELA_SANDBOX_OPTS(.helper = NULL);
    ch_setup_sandbox(s, &bounds, &sandbox);
    chela_agent *agent = look_at_agent(f, s);
    char *json = chela_runtime_survey(s->rt, bounds.sandbox); /* with the agent's models */
    ch_doctor_survey(f, json);
    chela_free(json);
    ch_doctor_disks(f, s->env, bounds.workspace);
    ch_doctor_workspace(f, s);
    ch_doctor_channels(f, s->config, s->rt);
    look_at_rules(f, s, agent);
}

/* --- output -------------------------------------------------------------------------- */

static void print_text(FILE *out, const struct ch_doctor *f, bool quiet) {
    for (size_t i = 0; i < f->n; i++) {
        const struct ch_doctor_finding *one = &f->p[i];
        bool ok = strcmp(one->status, "ok") == 0;
        if (quiet && ok)
            continue;
        int area = (int)strlen(one->area);
        fprintf(out, "%-4s  %-8s %-*s %s\n", one->status, one->area, area > 8 ? 29 - area : 21,
                one->name, one->detail);
        if (!ok && one->mend)
            fprintf(out, "%37s-> %s\n", "", one->mend);
    }
    if (!quiet)
        fprintf(out, "%zu checks: %zu warnings, %zu failures\n", f->n, f->warned, f->failed);
}

static void doctor_print_member(FILE *out, const char *name, const char *value) {
    if (!value)
        return;
    fprintf(out, "%s\"%s\":", strcmp(name, "area") == 0 ? "" : ",", name);
    ch_draft_quote(out, value);
}

static void doctor_print_json(FILE *out, const struct ch_doctor *f) {
    for (size_t i = 0; i < f->n; i++) {
        fputs(i ? ",\n {" : "[{", out);
        doctor_print_member(out, "area", f->p[i].area);
        doctor_print_member(out, "name", f->p[i].name);
        doctor_print_member(out, "status", f->p[i].status);
        doctor_print_member(out, "detail", f->p[i].detail);
        doctor_print_member(out, "mend", f->p[i].mend);
        fputc('}', out);
    }
    fputs("]\n", out);
}

void ch_doctor_print(const struct ch_doctor *f, struct ch_console *c, bool json, bool quiet) {
    struct ch_draft d;
    ch_draft_init(&d);
    if (json)
        doctor_print_json(d.f, f);
    else
        print_text(d.f, f, quiet);
    ch_draft_finish(&d);
    ch_console_print(c, d.p, d.n);
    free(d.p);
}

static int examine(const struct flags *flags, struct ch_console *c, const struct ch_env *env) {
    struct ch_setup setup = {
        .env = env,
        .flags = &flags->setup,
        .console = c,
        .ca_file = flags->ca_file,
        .uses = CH_USES_NOTHING};
    struct ch_doctor f = {0};

    if (flags->url)
        look_at_gateway(&f, &setup, flags->url);
    else
        doctor_look(&f, &setup);
    ch_doctor_print(&f, c, flags->json, flags->setup.quiet);
    int code = f.failed ? CH_EXIT_ERROR : CH_EXIT_DONE;
    ch_doctor_release(&f);
    ch_setup_release(&setup);
    return code;
}

static int doctor_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct flags f = {0};
    struct ch_args args;
    struct ch_console console;
    int code = ch_cmd_parse(cmd, env, argc, argv, &f, &args);

    if (code < 0) {
        ch_console_init(&console, env, ch_setup_verbosity(&f.setup), f.setup.no_color);
        code = ch_console_exit(&console, examine(&f, &console, env));
        ch_console_release(&console);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_doctor = {
    .name = "doctor",
    .args = "",
    .summary = "check this machine and the configuration",
    .about =
        "Checks the configuration, the store (that it opens, and that a server keeps data "
        "durable), the modules, the keys in the environment (that they are set; their values "
        "are not shown), the layers of the sandbox and whether commands can run unasked in it, "
        "what the allow rules of approvals vouch for, the clock, free disk space, whether the "
        "configuration, the store, keys or programs of tools lie inside a workspace, the "
        "channels (that their secrets are set and that the service accepts them; for Feishu also "
        "that the app has its permissions) and the model that 'chela run' would use. Each line is "
        "ok, warn (works with restrictions) or fail (does not work), with a remedy. No model "
        "call is made.\n\n"
        "With --url, a running gateway is checked instead, from the outside: whether it "
        "answers, whether it accepts the token, and which of its dependencies fails.\n\n"
        "The exit status is 1 if a check failed, 0 otherwise.",
    .opts = opts,
    .run = doctor_run,
};
