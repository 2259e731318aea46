/* cmd_channels.c -- `chela channels`: the configured channels and their health. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chela/gateway.h"
#include "chela/json.h"
#include "cli/command/cmd.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    const char *url;
    bool json;
};

static const struct ch_opt list_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"url", 0, CH_OPT_TEXT, offsetof(struct flags, url), "URL", 0, 0, "Gateway",
     "address of the running gateway (default: gateway.listen of the configuration)"},
    {"json", 0, CH_OPT_SWITCH, offsetof(struct flags, json), NULL, 0, 0, "Output",
     "print a JSON array"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct channels {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    struct chela_error err;
};

/* The reports of a running gateway, as findings; the caller frees it with chela_free. */
static char *channels_ask(struct channels *s) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = NULL);
    const char *env = "CHELA_TOKEN";
    chela_config_gateway(s->setup.config, &o, &env, NULL, NULL);
    chela_config_token(s->setup.config, &o.token, NULL);
    char *url = s->flags.url ? ch_dup(s->flags.url)
                             : ch_format("%s://%s", o.tls_cert ? "https" : "http",
                                         o.listen ? o.listen : "127.0.0.1:8787");
    char *json = chela_gateway_survey(s->setup.rt, url, o.token ? o.token : getenv(env));
    free(url);
    return json;
}

/* The member of finding i; chela_free. */
static char *channels_member(const char *json, size_t i, const char *key) {
    char pointer[40];
    snprintf(pointer, sizeof(pointer), "/%zu/%s", i, key);
    return chela_json_get(json, strlen(json), pointer, NULL);
}

/* The status and the detail of a channel; both are freed with chela_free, and may be NULL. */
static void channels_find(const char *json, const char *name, char **status, char **detail) {
    char *found;
    *status = *detail = NULL;
    for (size_t i = 0; !*status && (found = channels_member(json, i, "name")); i++) {
        if (strcmp(found, name) == 0) {
            *status = channels_member(json, i, "status");
            *detail = channels_member(json, i, "detail");
        }
        chela_free(found);
    }
}

static void channels_row(struct ch_table *table, const char *name, const char *status,
                         const char *detail) {
    char **cells = ch_table_row(table);
    cells[0] = ch_dup(name);
    cells[1] = ch_dup(status);
    cells[2] = ch_dup(detail);
}

static void channels_object(struct ch_draft *out, bool first, const char *name, const char *status,
                            const char *detail) {
    fputs(first ? "{\"channel\":" : ",\n {\"channel\":", out->f);
    ch_draft_quote(out, name);
    fputs(",\"status\":", out->f);
    ch_draft_quote(out, status);
    fputs(",\"detail\":", out->f);
    ch_draft_quote(out, detail);
    fputc('}', out->f);
}

static void channels_print(struct channels *s, const char *findings) {
    static const char *const heads[] = {"CHANNEL", "STATUS", "DETAIL", NULL};
    struct ch_table table = {.heads = heads};
    struct chela_channel_opts c = CHELA_CHANNEL_OPTS(.name = NULL);
    struct chela_channel_env env = CHELA_CHANNEL_ENV(.secret = NULL);
    struct ch_draft out;
    size_t n = 0;
    ch_draft_init(&out);
    fputs(s->flags.json ? "[" : "", out.f);
    for (; chela_config_channel(s->setup.config, n, &c, &env, NULL) == 0; n++) {
        char *status, *detail;
        channels_find(findings, c.name, &status, &detail);
        const char *is = status ? status : "unknown";
        const char *why = detail ? detail : "no running gateway tells";
        if (s->flags.json)
            channels_object(&out, n == 0, c.name, is, why);
        else
            channels_row(&table, c.name, is, why);
        chela_free(status);
        chela_free(detail);
    }
    fputs(s->flags.json ? "]\n" : "", out.f);
    if (table.n)
        ch_table_print(&table, out.f);
    ch_draft_finish(&out);
    ch_console_print(&s->console, out.p, out.n);
    if (!n && !s->flags.json)
        ch_console_note(&s->console, "no channels are configured");
    free(out.p);
    ch_table_release(&table);
}

static int channels_list(struct channels *s) {
    if (s->args.n)
        return ch_problem(&s->err, CHELA_EINVAL, "usage: chela channels list [flags]");
    if (!s->setup.config)
        return ch_problem(&s->err, CHELA_ECONFIG, "there is no configuration file");
    int rc = ch_setup_runtime(&s->setup, &s->err);
    if (rc < 0)
        return rc;
    char *findings = channels_ask(s);
    channels_print(s, findings);
    chela_free(findings);
    return 0;
}

static int channels_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                             char **argv) {
    struct channels s = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);
    if (code < 0) {
        ch_setup_begin(&s.setup, env, &s.flags.setup, &s.console);
        s.setup.uses = CH_USES_GATEWAY;
        int rc = ch_setup_config(&s.setup, &s.err);
        if (rc == 0)
            rc = channels_list(&s);
        code = ch_setup_finish(&s.setup, rc, &s.err);
    }
    ch_args_release(&s.args);
    return code;
}

const struct ch_cmd ch_cmd_channels_list = {
    .name = "channels list",
    .args = "",
    .summary = "list the configured channels and their health",
    .about = "Lists the channels of the configuration file. If the gateway runs, its report is "
             "shown: whether the channel is connected, the time of the last event, and the last "
             "error. The token of the gateway is read as for 'chela serve'.",
    .opts = list_opts,
    .run = channels_run_list,
};
