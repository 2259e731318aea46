/* cmd_channels.c -- `chela channels`: the configured channels and their health. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chela/gateway.h"
#include "chela/json.h"
#include "cli/command/cmd.h"
#include "cli/command/cmd_doctor.h"
#include "cli/command/doctor_machine.h"
#include "cli/setup/channel.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/array_member.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    const char *url, *to;
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

static const struct ch_opt test_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"to", 0, CH_OPT_TEXT, offsetof(struct flags, to), "CHAT", 0, 0, "Test",
     "id of the chat that gets the message (default: the first of the channel's owners)"},
    {"url", 0, CH_OPT_TEXT, offsetof(struct flags, url), "URL", 0, 0, "Gateway",
     "address of the running gateway (default: gateway.listen of the configuration)"},
    {"json", 0, CH_OPT_SWITCH, offsetof(struct flags, json), NULL, 0, 0, "Output",
     "print a JSON array of {area, name, status, detail, mend}"},
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

/* The address and the token of the gateway. */
struct gateway_address {
    char *url; /* owned */
    const char *token;
};

static struct gateway_address channels_gateway(struct channels *s) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = NULL);
    const char *env = "CHELA_TOKEN";
    chela_config_gateway(s->setup.config, &o, &env, NULL, NULL);
    chela_config_token(s->setup.config, &o.token, NULL);
    return (struct gateway_address){s->flags.url
                                        ? ch_dup(s->flags.url)
                                        : ch_format("%s://%s", o.tls_cert ? "https" : "http",
                                                    o.listen ? o.listen : "127.0.0.1:8787"),
                                    o.token ? o.token : getenv(env)};
}

/* The reports of a running gateway, as findings; the caller frees it with chela_free. */
static char *channels_ask(struct channels *s) {
    struct gateway_address at = channels_gateway(s);
    char *json = chela_gateway_survey(s->setup.rt, at.url, at.token);
    free(at.url);
    return json;
}

/* The status and the detail of a channel; both are freed with chela_free, and may be NULL. */
static void channels_find(const char *json, const char *name, char **status, char **detail) {
    char *found;
    *status = *detail = NULL;
    for (size_t i = 0; !*status && (found = ch_array_member(json, i, "name")); i++) {
        if (strcmp(found, name) == 0) {
            *status = ch_array_member(json, i, "status");
            *detail = ch_array_member(json, i, "detail");
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
    ch_draft_quote(out->f, name);
    fputs(",\"status\":", out->f);
    ch_draft_quote(out->f, status);
    fputs(",\"detail\":", out->f);
    ch_draft_quote(out->f, detail);
    fputc('}', out->f);
}

/* findings: of the gateway. refused: why it does not tell; NULL: it does. */
static void channels_print(struct channels *s, const char *findings, const char *refused) {
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
        const char *is = status && !refused ? status : "unknown";
        const char *why = refused ? refused : detail ? detail : "no running gateway tells";
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
    if (!s->setup.config)
        return ch_problem(&s->err, CHELA_ECONFIG, "there is no configuration file");
    int rc = ch_setup_runtime(&s->setup, &s->err);
    if (rc < 0)
        return rc;
    char *findings = channels_ask(s), *status, *detail;
    channels_find(findings, "token", &status, &detail);
    bool refused = status && strcmp(status, "fail") == 0;
    channels_print(s, findings, refused ? "the gateway refuses the token" : NULL);
    if (refused)
        rc = ch_problem(&s->err, CHELA_EAUTH, "the gateway refuses the token: %s", detail);
    chela_free(status);
    chela_free(detail);
    chela_free(findings);
    return rc;
}

/* --- test */

/* The results are in a store that ends with the command. */
static int test_open_store(struct channels *s) {
    int rc = chela_store_open("memory:", NULL, &s->setup.store, &s->err);
    return rc < 0
               ? rc
               : chela_runtime_store(s->setup.rt, s->setup.store, CHELA_DURABILITY_TURN, &s->err);
}

static void test_add(struct ch_doctor *f, const char *name, char *json,
                     const struct chela_error *err) {
    if (json)
        ch_doctor_survey(f, json);
    else
        ch_doctor_tell(f, "channel", name, "fail", ch_dup(err->message), NULL);
    chela_free(json);
}

/* Whether a gateway answers at the address. */
static bool test_has_gateway(struct channels *s) {
    char *findings = channels_ask(s), *status, *detail;
    channels_find(findings, "reach", &status, &detail);
    bool there = status && strcmp(status, "ok") == 0;
    chela_free(status);
    chela_free(detail);
    chela_free(findings);
    return there;
}

/* Asks the service whether it accepts the secrets. Without the secrets only the gateway can test
 * the channel; missing says what is not there. */
static void test_secrets(struct channels *s, const struct chela_channel_opts *o,
                         const char *missing, const char *url, struct ch_doctor *f) {
    struct chela_error err = {0};
    if (!missing)
        test_add(f, o->name, chela_channel_survey(s->setup.rt, o, &err), &err);
    else if (test_has_gateway(s))
        ch_doctor_tell(f, "channel", o->name, "ok",
                       ch_format("not tested here: the secrets, which the running gateway has "
                                 "(%s)",
                                 missing),
                       NULL);
    else
        ch_doctor_tell(f, "channel", o->name, "fail",
                       ch_format("%s, and no gateway answers at %s", missing, url),
                       "put the app's secrets into the environment, or start the gateway");
}

static void test_channel(struct channels *s, const struct chela_channel_opts *o,
                         const char *missing, struct ch_doctor *f) {
    const char *to = s->flags.to ? s->flags.to : o->owners ? o->owners[0] : NULL;
    struct chela_error err = {0};
    struct gateway_address at = channels_gateway(s);
    test_secrets(s, o, missing, at.url, f);
    if (!f->failed) {
        test_add(f, o->name, chela_channel_test(s->setup.rt, o, to, at.url, at.token, &err), &err);
        if (!to)
            ch_doctor_tell(f, "channel", o->name, "warn",
                           ch_dup("not tested: sending, because no chat is known"),
                           "name a chat: --to CHAT");
    }
    free(at.url);
}

/* Channel `name` of the configuration. *missing, which the caller frees: why its secrets are not
 * known; NULL: they are. */
static int test_find(struct channels *s, const char *name, struct ch_setup_channel *c,
                     char **missing) {
    for (size_t i = 0;; i++) {
        struct chela_error err = {0};
        int rc = ch_setup_channel(s->setup.config, i, c, &err);
        if (rc == CHELA_ENOENT && !err.code)
            return ch_problem(&s->err, CHELA_EINVAL,
                              "channels.%s is not configured ('chela channels list' shows what is)",
                              name);
        if (strcmp(c->opts.name, name) == 0) {
            *missing = rc < 0       ? ch_dup(err.message)
                       : c->missing ? ch_format("%s: not set", c->missing)
                                    : NULL;
            return 0;
        }
        ch_setup_channel_release(c);
    }
}

static int channels_test(struct channels *s) {
    struct ch_setup_channel c;
    struct ch_doctor f = {0};
    char *missing = NULL;
    if (s->args.n != 1)
        return ch_problem(&s->err, CHELA_EINVAL, "usage: chela channels test NAME [flags]");
    if (!s->setup.config)
        return ch_problem(&s->err, CHELA_ECONFIG, "there is no configuration file");
    int rc = ch_setup_runtime(&s->setup, &s->err);
    if (rc == 0)
        rc = test_open_store(s);
    if (rc == 0)
        rc = test_find(s, s->args.words[0], &c, &missing);
    if (rc < 0)
        return rc;
    test_channel(s, &c.opts, missing, &f);
    ch_setup_channel_release(&c);
    free(missing);
    ch_doctor_print(&f, &s->console, s->flags.json, s->flags.setup.quiet);
    if (f.failed)
        rc = ch_problem(&s->err, CHELA_ENET, "%zu of %zu checks failed", f.failed, f.n);
    ch_doctor_release(&f);
    return rc;
}

/* --- the commands */

static int channels_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                        int (*run)(struct channels *s)) {
    struct channels s = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);
    if (code < 0) {
        ch_setup_begin(&s.setup, env, &s.flags.setup, &s.console);
        s.setup.uses = CH_USES_GATEWAY;
        int rc = ch_setup_config(&s.setup, &s.err);
        if (rc == 0)
            rc = run(&s);
        code = ch_setup_finish(&s.setup, rc, &s.err);
    }
    ch_args_release(&s.args);
    return code;
}

static int channels_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                             char **argv) {
    return channels_run(cmd, env, argc, argv, channels_list);
}

static int channels_run_test(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                             char **argv) {
    return channels_run(cmd, env, argc, argv, channels_test);
}

const struct ch_cmd ch_cmd_channels_list = {
    .name = "channels list",
    .args = "",
    .summary = "list the configured channels and their health",
    .about = "Lists the channels of the configuration file. If the gateway runs, its report is "
             "shown: whether the channel is connected, the time of the last event, and the last "
             "error. The token of the gateway is read as for 'chela serve'. The exit status is 2 "
             "if the gateway refuses the token.",
    .opts = list_opts,
    .run = channels_run_list,
};

const struct ch_cmd ch_cmd_channels_test = {
    .name = "channels test",
    .args = "NAME",
    .summary = "test a channel with a message",
    .about =
        "Asks the service whether it accepts the secrets of the channel, then sends a message "
        "to a chat. Slack and Discord deliver a bot's own messages: there the command waits "
        "until the message has come back as an event, at most 10 seconds. Each line says what "
        "was tested, and what was not.\n\n"
        "A running gateway sends the message over its own connection, and has the secrets: the "
        "command does not need them. If no gateway answers at the address, the command connects "
        "to the service itself. Do not do that while a "
        "gateway elsewhere serves the same bot: WeCom and Telegram allow one connection.\n\n"
        "The exit status is 1 if a check failed, 0 otherwise.",
    .opts = test_opts,
    .run = channels_run_test,
};
