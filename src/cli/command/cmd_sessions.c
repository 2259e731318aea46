/* cmd_sessions.c -- `chela sessions`: lists and manages stored sessions. `sessions resume`
 * is a run (cmd_run.c). */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/support/draft.h"
#include "cli/support/local_time.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/state_path.h"
#include "cli/setup/setup.h"
#include "cli/term/pager.h"
#include "cli/term/table.h"
#include "cli/term/term.h"

#define IMPORT_MAX (512 << 20)
#define DAY_MS (24 * 3600 * 1000ll)
#define EXCERPT 200 /* bytes of a result printed by `show` */

struct flags {
    struct ch_setup_flags setup;
    const char *status, *prefix, *key, *format, *sender, *release, *drop;
    int64_t limit, at_turn;
    struct ch_real older_than;
    bool json;
};

#define AT(field) offsetof(struct flags, field)
#define WHERE CH_SETUP_OPTS_CONFIG(struct flags), CH_SETUP_OPTS_STORE(struct flags)
#define JSON_OPT(help) \
    { "json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", help }

static const struct ch_opt list_opts[] = {
    WHERE,
    {"status", 0, CH_OPT_CHOICE, AT(status), "idle|running|paused|parked", 0, 0, "Choice",
     "only sessions in this state"},
    {"prefix", 0, CH_OPT_TEXT, AT(prefix), "TEXT", 0, 0, "Choice",
     "only sessions whose key has this prefix"},
    {"limit", 0, CH_OPT_INT, AT(limit), "N", 1, 1e9, "Choice", "only the N sessions used last"},
    JSON_OPT("print a JSON array"),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt show_opts[] = {
    WHERE,
    JSON_OPT("print the session with its whole transcript as a JSON object"),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt fork_opts[] = {
    WHERE,
    {"at-turn", 0, CH_OPT_INT, AT(at_turn), "N", 0, 1e9, "Choice",
     "copy up to the end of this turn, counted over the session; 0: up to the first model call; "
     "default: everything"},
    {"key", 0, CH_OPT_TEXT, AT(key), "KEY", 0, 0, "Choice",
     "key of the new session; default: the old key with a number"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt export_opts[] = {
    WHERE,
    {"format", 0, CH_OPT_CHOICE, AT(format), "chela|atif|openai", 0, 0, "Output",
     "the journal, for 'chela sessions import' (chela, the default); a trajectory for other "
     "programs, version 1.7 of ATIF (atif); the messages as in a request to Chat Completions "
     "(openai)"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt import_opts[] = {
    WHERE,
    {"key", 0, CH_OPT_TEXT, AT(key), "KEY", 0, 0, "Choice",
     "key of the new session; default: the exported key"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt delete_opts[] = {
    WHERE,
    {"older-than", 0, CH_OPT_REAL, AT(older_than), "DAYS", 0, 100000, "Choice",
     "delete all sessions that were not used for this many days"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt erase_opts[] = {
    WHERE,
    {"older-than", 0, CH_OPT_REAL, AT(older_than), "DAYS", 0, 100000, "Choice",
     "erase all sessions that were not used for this many days"},
    {"sender", 0, CH_OPT_TEXT, AT(sender), "ID", 0, 0, "Choice",
     "erase all sessions that have a message of this person, with what others said in them"},
    JSON_OPT("print the receipt as a JSON object"),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt recover_opts[] = {
    WHERE,
    {"release", 0, CH_OPT_TEXT, AT(release), "KEY", 0, 0, "Choice",
     "let this session go on: its run is continued, its events are handled, its messages are sent"},
    {"drop", 0, CH_OPT_TEXT, AT(drop), "KEY", 0, 0, "Choice",
     "give up the events and messages of this session, and cancel its run"},
    JSON_OPT("print a JSON array"),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt search_opts[] = {
    WHERE,
    {"session", 0, CH_OPT_TEXT, AT(key), "KEY", 0, 0, "Choice", "search only this session"},
    {"limit", 0, CH_OPT_INT, AT(limit), "N", 1, 10000, "Choice", "matches to print, at most (20)"},
    JSON_OPT("print a JSON array"),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct sessions {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    chela_store *store; /* borrowed from the setup */
    struct ch_draft out;
    struct ch_table table;
    size_t n, turns;
    struct chela_error err;
};

/* --- shared ---------------------------------------------------------------------- */

static int sessions_with_store(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                               char **argv, enum ch_setup_store how,
                               int (*body)(struct sessions *s)) {
    struct sessions s = {.flags.at_turn = -1};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);

    if (code < 0) {
        ch_setup_begin(&s.setup, env, &s.flags.setup, &s.console);
        s.setup.uses = CH_USES_STORE;
        int rc = ch_setup_config(&s.setup, &s.err);
        if (rc == 0)
            rc = ch_setup_store(&s.setup, how, &s.err);
        s.store = s.setup.store;
        if (rc == 0)
            rc = body(&s);
        code = ch_setup_finish(&s.setup, rc, &s.err);
    }
    ch_args_release(&s.args);
    return code;
}

static int sessions_need_word(struct sessions *s, const char *usage) {
    if (s->args.n == 1)
        return CHELA_OK;
    return ch_problem(&s->err, CHELA_EINVAL, "usage: chela sessions %s", usage);
}

static void sessions_print_draft(struct sessions *s) {
    ch_draft_finish(&s->out);
    ch_console_page(&s->console, s->out.p, s->out.n);
    free(s->out.p);
}

/* --- list ------------------------------------------------------------------------ */

/* The first message was refused, or is not stored yet. */
static bool is_unused(const struct chela_store_session *row) {
    return !row->last && !*row->title;
}

static int sessions_list_json(const struct chela_store_session *row, void *user) {
    struct sessions *s = user;
    if (is_unused(row))
        return 0;
    char *json = chela_store_session_json(row);
    fprintf(s->out.f, "%s%s", s->n++ ? ",\n " : "", json);
    chela_free(json);
    return 0;
}

#define TITLE_COLUMNS 60

static int sessions_list_row(const struct chela_store_session *row, void *user) {
    struct sessions *s = user;
    if (is_unused(row))
        return 0;
    char time[CH_LOCAL_TIME], **cells = ch_table_row(&s->table);
    size_t n = ch_term_fit(row->title, strlen(row->title), TITLE_COLUMNS);
    s->n++;
    cells[0] = ch_dup(row->key);
    cells[1] = ch_dup(row->status);
    cells[2] = ch_format("%5llu", (unsigned long long)row->turns);
    cells[3] = ch_dup(ch_local_time(row->updated, time));
    cells[4] = ch_format("%.*s", (int)n, row->title);
    return 0;
}

static int sessions_list(struct sessions *s) {
    static const char *const heads[] = {"KEY", "STATUS", "TURNS", "LAST USED", "TITLE", NULL};
    const struct flags *f = &s->flags;
    s->table = (struct ch_table){.heads = heads, .columns = ch_console_columns(&s->console)};
    struct chela_store_filter filter = CHELA_STORE_FILTER(
        .prefix = f->prefix, .status = f->status, .limit = (size_t)f->limit);
    ch_draft_init(&s->out);
    if (f->json)
        fputc('[', s->out.f);
    int rc = chela_store_list(s->store, &filter, f->json ? sessions_list_json : sessions_list_row,
                              s, &s->err);
    if (f->json)
        fputs("]\n", s->out.f);
    else if (s->n)
        ch_table_print(&s->table, s->out.f);
    ch_table_release(&s->table);
    sessions_print_draft(s);
    if (rc == 0 && s->n == 0 && !f->json)
        ch_console_note(&s->console, "there are no sessions");
    return rc;
}

static int sessions_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                             char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_READ_OR_NEW, sessions_list);
}

/* --- show ------------------------------------------------------------------------ */

static char *sessions_get(const struct chela_store_record *r, const char *pointer) {
    return chela_json_get(r->data, r->n, pointer, NULL);
}

/* Print the beginning of a result, line by line. */
static void show_result(FILE *out, const char *name, const char *text) {
    size_t n = strlen(text);
    while (n && text[n - 1] == '\n')
        n--;
    bool cut = n > EXCERPT;
    if (cut)
        for (n = EXCERPT; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--; /* do not split a character */
    fprintf(out, "  <- %s: ", name ? name : "?");
    for (size_t i = 0; i < n; i++) {
        fputc(text[i], out);
        if (text[i] == '\n')
            fputs("     ", out);
    }
    fputs(cut ? "...\n" : "\n", out);
}

static int show_block(const char *block, size_t n, void *user) {
    struct sessions *s = user;
    char *type = chela_json_get(block, n, "/type", NULL);
    if (!type)
        return 1;
    bool call = strcmp(type, "tool_call") == 0, result = strcmp(type, "tool_result") == 0;
    char *text = chela_json_get(block, n, call     ? "/arguments"
                                          : result ? "/content"
                                                   : "/text", NULL);
    char *name = call || result ? chela_json_get(block, n, "/name", NULL) : NULL;
    if (!text)
        fprintf(s->out.f, "  (%s)\n", type);
    else if (call)
        fprintf(s->out.f, "  -> %s %s\n", name ? name : "?", text);
    else if (result)
        show_result(s->out.f, name, text);
    else
        fprintf(s->out.f, "%s%s\n", strcmp(type, "reasoning") == 0 ? "  (thinks) " : "", text);
    chela_free(type);
    chela_free(text);
    chela_free(name);
    return 0;
}

/* An input belongs to the turn that it starts; the reply ends the turn. */
static void show_message(struct sessions *s, const struct chela_store_record *r) {
    char *role = sessions_get(r, "/message/role"), time[CH_LOCAL_TIME];
    char *content = role ? sessions_get(r, "/message/content") : NULL;
    if (role && strcmp(role, "tool") != 0)
        fprintf(s->out.f, "\n%s  %s  turn %zu\n", role, ch_local_time(r->ts, time), s->turns + 1);
    s->turns += role && strcmp(role, "assistant") == 0;
    if (content)
        chela_json_each(content, strlen(content), show_block, s);
    chela_free(content);
    chela_free(role);
}

static int sessions_show_record(const struct chela_store_record *r, void *user) {
    struct sessions *s = user;
    const char *type = chela_store_record_name(r->type);
    if (strcmp(type, "inbound") == 0 || strcmp(type, "message") == 0 || strcmp(type, "done") == 0)
        show_message(s, r);
    if (strcmp(type, "asked") != 0)
        return 0;
    char *id = sessions_get(r, "/approval"), *summary = sessions_get(r, "/summary");
    fprintf(s->out.f, "\nneeds consent  %s\n%s\n", id ? id : "?", summary ? summary : "");
    chela_free(id);
    chela_free(summary);
    return 0;
}

static int sessions_show_row(const struct chela_store_session *row, void *user) {
    struct sessions *s = user;
    char time[CH_LOCAL_TIME];
    fprintf(s->out.f, "%s  %s\n%s, %llu turn%s, last used %s\n", row->key, row->title,
            row->status, (unsigned long long)row->turns, row->turns == 1 ? "" : "s",
            ch_local_time(row->updated, time));
    return 0;
}

static int sessions_show(struct sessions *s) {
    char *json;
    int rc = sessions_need_word(s, "show [flags] KEY");
    if (rc < 0)
        return rc;
    ch_draft_init(&s->out);
    if (s->flags.json) {
        rc = chela_store_show(s->store, s->args.words[0], &json, &s->err);
        if (rc == 0)
            fprintf(s->out.f, "%s\n", json);
        if (rc == 0)
            chela_free(json);
    } else {
        rc = chela_store_session(s->store, s->args.words[0], sessions_show_row, s, &s->err);
        if (rc == 0)
            rc = chela_store_records(s->store, s->args.words[0], 1, sessions_show_record, s,
                                     &s->err);
    }
    sessions_print_draft(s);
    return rc;
}

static int sessions_run_show(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                             char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_READ, sessions_show);
}

/* --- fork, export, import, delete ------------------------------------------------ */

static int fork_to(struct sessions *s, const char *from, const char *to) {
    s->err = (struct chela_error){0};
    return chela_store_fork(s->store, from, s->flags.at_turn, to, &s->err);
}

static int sessions_fork_session(struct sessions *s) {
    int rc = sessions_need_word(s, "fork [flags] KEY");
    if (rc < 0)
        return rc;
    const char *from = s->args.words[0];
    char *key = s->flags.key ? ch_dup(s->flags.key) : NULL;
    rc = key ? fork_to(s, from, key) : CHELA_EEXIST;
    for (int i = 2; !s->flags.key && rc == CHELA_EEXIST; i++) {
        free(key);
        key = ch_format("%s-%d", from, i);
        rc = fork_to(s, from, key);
    }
    ch_draft_init(&s->out);
    if (rc == 0)
        fprintf(s->out.f, "%s\n", key);
    sessions_print_draft(s);
    free(key);
    return rc;
}

static int run_fork(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_WANTED, sessions_fork_session);
}

static int export_line(const char *p, size_t n, void *user) {
    struct sessions *s = user;
    ch_console_print(&s->console, p, n);
    return ch_console_failure(&s->console);
}

/* Writes the session in the form of other programs. */
static int sessions_export_form(struct sessions *s, enum chela_export_form form) {
    char *text = NULL;
    int rc = chela_trace_export(s->store, s->args.words[0], form, &text, &s->err);
    if (rc == 0) {
        ch_console_print(&s->console, text, strlen(text));
        ch_console_print(&s->console, "\n", 1);
    }
    chela_free(text);
    return rc;
}

static int sessions_export_session(struct sessions *s) {
    const char *format = s->flags.format;
    int rc = sessions_need_word(s, "export [flags] KEY");
    if (rc == 0 && format && strcmp(format, "chela") != 0)
        return sessions_export_form(s, strcmp(format, "atif") == 0 ? CHELA_EXPORT_ATIF
                                                                   : CHELA_EXPORT_OPENAI);
    return rc < 0 ? rc : chela_store_export(s->store, s->args.words[0], export_line, s, &s->err);
}

static int run_export(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_READ, sessions_export_session);
}

static int import_session(struct sessions *s) {
    struct ch_cli_input in = {0};
    char *key = NULL;
    int rc = sessions_need_word(s, "import [flags] FILE");
    if (rc == 0)
        rc = ch_input_file(s->args.words[0], IMPORT_MAX, &in, &s->err);
    if (rc == 0)
        rc = chela_store_import(s->store, in.p, in.n, s->flags.key, &key, &s->err);
    if (rc < 0 && in.p)
        ch_problem_in(&s->err, s->args.words[0]);
    ch_input_release(&in);
    if (rc < 0)
        return rc;
    ch_console_print(&s->console, key, strlen(key));
    ch_console_print(&s->console, "\n", 1);
    chela_free(key);
    return CHELA_OK;
}

static int run_import(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_WANTED, import_session);
}

static int delete_sessions(struct sessions *s) {
    const struct ch_real *days = &s->flags.older_than;
    size_t n = 0;
    int rc = 0;
    if (days->set == (s->args.n > 0))
        return ch_problem(&s->err, CHELA_EINVAL,
                          "usage: chela sessions delete KEY..., or --older-than DAYS");
    if (days->set)
        rc = chela_store_prune(s->store, ch_wall_ms() - (int64_t)(days->value * DAY_MS), &n,
                               &s->err);
    for (size_t i = 0; rc == 0 && i < s->args.n; i++) {
        rc = chela_store_delete(s->store, s->args.words[i], &s->err);
        n += rc == 0;
    }
    ch_console_note(&s->console, "%zu session%s deleted", n, n == 1 ? "" : "s");
    return rc;
}

static int run_delete(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_WANTED, delete_sessions);
}

/* --- erase ----------------------------------------------------------------------- */

static int erase_line(const char *p, size_t n, void *user) {
    struct sessions *s = user;
    char *session = chela_json_get(p, n, "/session", NULL);
    char *why = chela_json_get(p, n, "/why", NULL);
    char *records = chela_json_get(p, n, "/records", NULL);
    if (session)
        fprintf(s->out.f, "%s %s: %s%s\n", why ? "refused" : "erased", session,
                why ? why : records ? records : "?", why ? "" : " records");
    else
        fprintf(s->out.f, "  %.*s\n", (int)n, p);
    chela_free(session);
    chela_free(why);
    chela_free(records);
    return 0;
}

static void erase_list(struct sessions *s, const char *receipt, const char *name,
                       const char *heading) {
    char *list = chela_json_get(receipt, strlen(receipt), name, NULL);
    if (list && strcmp(list, "[]") != 0 && *heading)
        fprintf(s->out.f, "%s\n", heading);
    if (list)
        chela_json_each(list, strlen(list), erase_line, s);
    chela_free(list);
}

static void erase_print(struct sessions *s, const char *receipt) {
    ch_draft_init(&s->out);
    if (s->flags.json) {
        fprintf(s->out.f, "%s\n", receipt);
    } else {
        erase_list(s, receipt, "/erased", "");
        erase_list(s, receipt, "/refused", "");
        erase_list(s, receipt, "/files", "removed files:");
        erase_list(s, receipt, "/files_left", "files that cannot be removed:");
        erase_list(s, receipt, "/remains", "what may remain:");
    }
    sessions_print_draft(s);
}

static int sessions_erase(struct sessions *s) {
    const struct flags *f = &s->flags;
    char *undo = ch_state_path(s->setup.env, "undo"), *receipt = NULL, here[4096];
    const char *const dirs[] = {getcwd(here, sizeof(here)), NULL};
    struct chela_erase_opts opts =
        CHELA_ERASE_OPTS(.key = s->args.n ? s->args.words[0] : NULL, .sender = f->sender,
                         .workspaces = dirs, .undo_dir = undo);
    int rc = 0;
    if ((s->args.n == 1) + f->older_than.set + (f->sender != NULL) != 1 || s->args.n > 1)
        rc = ch_problem(&s->err, CHELA_EINVAL,
                        "usage: chela sessions erase KEY, or --older-than DAYS, or --sender ID");
    if (f->older_than.set)
        opts.before = ch_wall_ms() - (int64_t)(f->older_than.value * DAY_MS);
    if (rc == 0)
        rc = chela_store_erase(s->store, &opts, &receipt, &s->err);
    if (receipt)
        erase_print(s, receipt);
    chela_free(receipt);
    free(undo);
    return rc;
}

static int run_erase(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_WANTED, sessions_erase);
}

/* --- recover ---------------------------------------------------------------------- */

static char *recover_text(const char *p, size_t n, const char *member) {
    char *text = chela_json_get(p, n, member, NULL);
    for (char *c = text; c && *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    return text ? text : ch_dup("");
}

struct recover_lines {
    struct sessions *s;
    const char *form; /* of a line: for two texts */
    const char *first, *second; /* members */
};

static int recover_line(const char *p, size_t n, void *user) {
    const struct recover_lines *l = user;
    char *first = recover_text(p, n, l->first), *second = recover_text(p, n, l->second);
    fprintf(l->s->out.f, "  %s %s (%s)\n", l->form, first, second);
    chela_free(first);
    chela_free(second);
    return 0;
}

static void recover_lines(struct sessions *s, const char *p, size_t n, const char *member,
                          struct recover_lines l) {
    char *list = chela_json_get(p, n, member, NULL);
    l.s = s;
    if (list)
        chela_json_each(list, strlen(list), recover_line, &l);
    chela_free(list);
}

static int recover_session(const char *p, size_t n, void *user) {
    struct sessions *s = user;
    char *key = recover_text(p, n, "/session"), *status = recover_text(p, n, "/status");
    char *updated = recover_text(p, n, "/updated");
    char time[CH_LOCAL_TIME];
    fprintf(s->out.f, "%s  %s, last change %s\n", key, status,
            ch_local_time(strtoll(updated, NULL, 10), time));
    if (strcmp(status, "running") == 0)
        fputs("  the run goes on: what it did after that time is done again\n", s->out.f);
    recover_lines(s, p, n, "/calls",
                  (struct recover_lines){.form = "may have taken effect: the call",
                                         .first = "/name", .second = "/effect"});
    recover_lines(s, p, n, "/events",
                  (struct recover_lines){.form = "may have been handled: the event",
                                         .first = "/id", .second = "/text"});
    recover_lines(s, p, n, "/messages",
                  (struct recover_lines){.form = "may have been sent: the message",
                                         .first = "/id", .second = "/text"});
    chela_free(key);
    chela_free(status);
    chela_free(updated);
    s->n++;
    return 0;
}

static int recover_list(struct sessions *s) {
    char *list = NULL;
    int rc = chela_store_held(s->store, &list, &s->err);
    ch_draft_init(&s->out);
    if (rc == 0 && s->flags.json)
        fprintf(s->out.f, "%s\n", list);
    else if (rc == 0)
        chela_json_each(list, strlen(list), recover_session, s);
    sessions_print_draft(s);
    chela_free(list);
    if (rc == 0 && !s->flags.json)
        ch_console_note(&s->console, "%s", s->n ? "--release KEY lets a session go on, --drop KEY "
                                                  "gives up what waits"
                                                : "no session waits");
    return rc;
}

static int sessions_recover(struct sessions *s) {
    const struct flags *f = &s->flags;
    const char *key = f->drop ? f->drop : f->release;
    if (s->args.n || (f->drop && f->release))
        return ch_problem(&s->err, CHELA_EINVAL,
                          "usage: chela sessions recover [--release KEY | --drop KEY]");
    if (!key)
        return recover_list(s);
    int rc = chela_store_release(s->store, key, f->drop != NULL, &s->err);
    if (rc == 0)
        ch_console_note(&s->console, "session %s %s", key, f->drop ? "was dropped" : "goes on");
    return rc;
}

static int run_recover(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_WANTED, sessions_recover);
}

/* --- search ---------------------------------------------------------------------- */

static int hit_json(const struct chela_store_hit *h, void *user) {
    struct sessions *s = user;
    char *json = chela_store_hit_json(h);
    fprintf(s->out.f, "%s%s", s->n++ ? ",\n " : "", json);
    chela_free(json);
    return 0;
}

static int hit_line(const struct chela_store_hit *h, void *user) {
    struct sessions *s = user;
    char time[CH_LOCAL_TIME];
    s->n++;
    fprintf(s->out.f, "%s  %s  turn %llu  ", h->key, ch_local_time(h->ts, time),
            (unsigned long long)h->turn);
    for (const char *c = h->excerpt; *c; c++)
        fputc(*c == '\x01' || *c == '\x02' ? '*' : *c == '\n' ? ' ' : *c, s->out.f);
    fputc('\n', s->out.f);
    return 0;
}

static int sessions_search(struct sessions *s) {
    const struct flags *f = &s->flags;
    struct ch_draft words;
    if (s->args.n == 0)
        return sessions_need_word(s, "search [flags] WORDS...");
    ch_draft_init(&words);
    for (size_t i = 0; i < s->args.n; i++)
        fprintf(words.f, "%s%s", i ? " " : "", s->args.words[i]);
    ch_draft_finish(&words);
    ch_draft_init(&s->out);
    if (f->json)
        fputc('[', s->out.f);
    int rc = chela_store_search(s->store, words.p, f->key, f->limit ? (size_t)f->limit : 20,
                                f->json ? hit_json : hit_line, s, &s->err);
    if (f->json)
        fputs("]\n", s->out.f);
    sessions_print_draft(s);
    if (rc == 0 && s->n == 0 && !f->json)
        ch_console_note(&s->console, "nothing matches");
    free(words.p);
    return rc;
}

static int run_search(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return sessions_with_store(cmd, env, argc, argv, CH_STORE_WANTED, sessions_search);
}

/* --- the commands ---------------------------------------------------------------- */

const struct ch_cmd ch_cmd_sessions_list = {
    .name = "sessions list",
    .args = "",
    .summary = "list the sessions of the store, last used first",
    .about = "Lists the sessions of the store with their state. idle: no run is in progress. "
             "running: a run is in progress, or was interrupted because its process died. paused: "
             "the run waits for an approval or an answer. parked: the run was interrupted again "
             "and again.",
    .opts = list_opts,
    .run = sessions_run_list,
};

const struct ch_cmd ch_cmd_sessions_show = {
    .name = "sessions show",
    .args = "KEY",
    .summary = "show the messages and calls of a session",
    .about = "Shows the messages, tool calls and results of a session.",
    .opts = show_opts,
    .run = sessions_run_show,
};

const struct ch_cmd ch_cmd_sessions_fork = {
    .name = "sessions fork",
    .args = "KEY",
    .summary = "copy a session, or its first turns",
    .about = "Copies a session, or its first turns, to a new session and prints the new key. A "
             "turn is a model call with its tool calls. If the copy ends inside a run, 'chela "
             "sessions resume' continues that run, and 'chela run --session' starts a new one.",
    .opts = fork_opts,
    .run = run_fork,
};

const struct ch_cmd ch_cmd_sessions_export = {
    .name = "sessions export",
    .args = "KEY",
    .summary = "write a session as JSON",
    .about = "Writes a session to standard output, one JSON object per line: the session, then "
             "every record of its journal. 'chela sessions import' reads this format. --format "
             "writes one object in the form of other programs instead, with keys redacted.",
    .opts = export_opts,
    .run = run_export,
};

const struct ch_cmd ch_cmd_sessions_import = {
    .name = "sessions import",
    .args = "FILE",
    .summary = "read an exported session",
    .about = "Reads the output of 'chela sessions export' from FILE ('-' is standard input) and "
             "prints the key of the new session.",
    .opts = import_opts,
    .run = run_import,
};

const struct ch_cmd ch_cmd_sessions_delete = {
    .name = "sessions delete",
    .args = "KEY...",
    .summary = "delete sessions",
    .about = "Deletes sessions permanently: the named ones, or all that were not used for some "
             "days. A session in use is not deleted.",
    .opts = delete_opts,
    .run = run_delete,
};

const struct ch_cmd ch_cmd_sessions_erase = {
    .name = "sessions erase",
    .args = "KEY",
    .summary = "remove sessions for good, with a receipt",
    .about = "Deletes sessions and removes their text: records, kept answers, the search index, "
             "files of long results and of messages, copies for /undo, and what deleted rows leave "
             "in the files of the database. Prints a receipt that says what was removed and what "
             "may remain where. Digests of the ids of events stay for a week, so that an old "
             "message is not taken again. A session in use is refused. If the command was cut off, "
             "run it again.",
    .opts = erase_opts,
    .run = run_erase,
};

const struct ch_cmd ch_cmd_sessions_recover = {
    .name = "sessions recover",
    .args = "",
    .summary = "list and release what waits after a restore",
    .about = "After 'chela serve --recovered' each session waits that had a run in progress, a "
             "paused run, a timer, an event or an unsent message in the restored store. Lists "
             "these sessions with what may have happened already, and would happen again. "
             "--release lets a session go on, --drop gives up what waits and cancels the run.",
    .opts = recover_opts,
    .run = run_recover,
};

const struct ch_cmd ch_cmd_sessions_search = {
    .name = "sessions search",
    .args = "WORDS...",
    .summary = "search the messages of sessions",
    .about = "Finds messages of users and models that contain all of the words or parts of words. "
             "Text in double quotes is searched as one word.",
    .opts = search_opts,
    .run = run_search,
};
