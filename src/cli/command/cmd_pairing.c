/* cmd_pairing.c -- `chela pairing`: manages senders that may write to the gateway's
 * channels. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "chela/pairing.h"
#include "cli/command/cmd.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    bool json;
};

static const struct ch_opt list_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    {"json", 0, CH_OPT_SWITCH, offsetof(struct flags, json), NULL, 0, 0, "Output", "print a JSON "
                                                                                   "array"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt pairing_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct pairing {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    struct ch_table table;
    struct ch_draft out;
    size_t n; /* rows in out */
    struct chela_error err;
};

static int pairing_with_store(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                              char **argv, enum ch_setup_store how,
                              int (*body)(struct pairing *s)) {
    struct pairing s = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);

    if (code < 0) {
        ch_setup_begin(&s.setup, env, &s.flags.setup, &s.console);
        s.setup.uses = CH_USES_STORE;
        int rc = ch_setup_config(&s.setup, &s.err);
        if (rc == 0)
            rc = ch_setup_store(&s.setup, how, &s.err);
        if (rc == 0)
            rc = body(&s);
        code = ch_setup_finish(&s.setup, rc, &s.err);
    }
    ch_args_release(&s.args);
    return code;
}

static int pairing_need_words(struct pairing *s, size_t n, const char *usage) {
    if (s->args.n == n)
        return CHELA_OK;
    return ch_problem(&s->err, CHELA_EINVAL, "usage: chela pairing %s", usage);
}

/* --- list -------------------------------------------------------------------------- */

static int pairing_list_row(const struct chela_pairing *p, void *user) {
    struct pairing *s = user;
    char **cells = ch_table_row(&s->table);
    cells[0] = ch_dup(p->channel);
    cells[1] = ch_dup(p->sender);
    cells[2] = ch_dup(p->code ? p->code : "approved");
    return 0;
}

static int pairing_list_json(const struct chela_pairing *p, void *user) {
    struct pairing *s = user;
    fputs(s->n++ ? ",\n {\"channel\":" : "{\"channel\":", s->out.f);
    ch_draft_quote(s->out.f, p->channel);
    fputs(",\"sender\":", s->out.f);
    ch_draft_quote(s->out.f, p->sender);
    fprintf(s->out.f, ",\"approved\":%s", p->code ? "false,\"code\":" : "true");
    if (p->code)
        ch_draft_quote(s->out.f, p->code);
    fputc('}', s->out.f);
    return 0;
}

static int pairing_list(struct pairing *s) {
    static const char *const heads[] = {"CHANNEL", "SENDER", "CODE", NULL};
    bool json = s->flags.json;
    int rc = pairing_need_words(s, 0, "list [flags]");
    if (rc < 0)
        return rc;
    s->table = (struct ch_table){.heads = heads};
    ch_draft_init(&s->out);
    fputs(json ? "[" : "", s->out.f);
    rc =
        chela_pairing_list(s->setup.store, json ? pairing_list_json : pairing_list_row, s, &s->err);
    fputs(json ? "]\n" : "", s->out.f);
    if (s->table.n)
        ch_table_print(&s->table, s->out.f);
    ch_draft_finish(&s->out);
    ch_console_print(&s->console, s->out.p, s->out.n);
    if (rc == 0 && !json && !s->table.n)
        ch_console_note(&s->console, "no pending and no approved senders");
    free(s->out.p);
    ch_table_release(&s->table);
    return rc;
}

/* --- approve, remove --------------------------------------------------------------- */

static int pairing_tell(const struct chela_pairing *p, void *user) {
    struct pairing *s = user;
    ch_console_note(&s->console, "%s of channel %s may write from now on", p->sender, p->channel);
    return 0;
}

static int pairing_approve(struct pairing *s) {
    int rc = pairing_need_words(s, 1, "approve [flags] CODE");
    return rc < 0
               ? rc
               : chela_pairing_approve(s->setup.store, s->args.words[0], pairing_tell, s, &s->err);
}

static int remove_one(struct pairing *s) {
    int rc = pairing_need_words(s, 2, "remove [flags] CHANNEL SENDER");
    return rc < 0 ? rc
                  : chela_pairing_remove(s->setup.store, s->args.words[0], s->args.words[1],
                                         &s->err);
}

/* --- commands ---------------------------------------------------------------------- */

static int pairing_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                            char **argv) {
    return pairing_with_store(cmd, env, argc, argv, CH_STORE_READ_OR_NEW, pairing_list);
}

static int run_approve(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return pairing_with_store(cmd, env, argc, argv, CH_STORE_WANTED, pairing_approve);
}

static int pairing_run_remove(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                              char **argv) {
    return pairing_with_store(cmd, env, argc, argv, CH_STORE_WANTED, remove_one);
}

const struct ch_cmd ch_cmd_pairing_list = {
    .name = "pairing list",
    .args = "",
    .summary = "list pairing codes and approved people",
    .about = "Lists people with a valid pairing code, and people who were approved. People get a "
             "code when they write to a channel with 'dmPolicy: pairing'.",
    .opts = list_opts,
    .run = pairing_run_list,
};

const struct ch_cmd ch_cmd_pairing_approve = {
    .name = "pairing approve",
    .args = "CODE",
    .summary = "approve a pairing code",
    .about = "Approves the person who received this code: the agent answers that person from now "
             "on. A running gateway needs no reload.",
    .opts = pairing_opts,
    .run = run_approve,
};

const struct ch_cmd ch_cmd_pairing_remove = {
    .name = "pairing remove",
    .args = "CHANNEL SENDER",
    .summary = "withdraw an approval",
    .about = "Withdraws an approval of 'chela pairing approve', with immediate effect.",
    .opts = pairing_opts,
    .run = pairing_run_remove,
};
