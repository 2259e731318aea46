/* cmd_mcp.c -- `chela mcp`: the MCP servers of the configuration, their tools, one call. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/chat/chat_mcp.h"
#include "cli/command/cmd.h"
#include "cli/report/out_json.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/state_path.h"
#include "cli/term/table.h"

struct flags {
    struct ch_setup_flags setup;
    bool json, accept;
    const char *args, *output, *show;
    struct ch_texts env, headers;
};

#define AT(field) offsetof(struct flags, field)
#define MCP_JSON {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print JSON"}

static const struct ch_opt list_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    MCP_JSON,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt tools_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"accept", 0, CH_OPT_SWITCH, AT(accept), NULL, 0, 0, "Tools",
     "accept the definitions as the server gives them now"},
    MCP_JSON,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt skills_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"show", 0, CH_OPT_TEXT, AT(show), "SKILL", 0, 0, "Skills",
     "print the instructions of this skill"},
    {"accept", 0, CH_OPT_SWITCH, AT(accept), NULL, 0, 0, "Skills",
     "accept the skills as the server lists them now"},
    MCP_JSON,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt call_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"args", 0, CH_OPT_TEXT, AT(args), "JSON|-|@FILE", 0, 0, "Tools",
     "arguments: a JSON object, standard input, or a file; default: none"},
    {"output", 0, CH_OPT_CHOICE, AT(output), "text|json", 0, 0, "Output",
     "print the text of the result, or the whole result as a JSON object"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt login_opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt add_opts[] = {
    {"env", 0, CH_OPT_TEXTS, AT(env), "NAME=VALUE", 0, 0, "Server",
     "environment variable of the program; may be given several times"},
    {"header", 0, CH_OPT_TEXTS, AT(headers), "NAME: VALUE", 0, 0, "Server",
     "header of every request to the URL; may be given several times"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt remove_opts[] = {
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct mcp {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    struct chela_error err;
};

/* --- set-up ------------------------------------------------------------------------- */

static int mcp_open(struct mcp *m) {
    int rc = ch_setup_config(&m->setup, &m->err);
    return rc == 0 ? ch_setup_runtime(&m->setup, &m->err) : rc;
}

static int mcp_with(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv,
                    unsigned uses, int (*body)(struct mcp *m)) {
    struct mcp m = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &m.flags, &m.args);

    if (code < 0) {
        ch_console_init(&m.console, env, ch_setup_verbosity(&m.flags.setup),
                        m.flags.setup.no_color);
        m.setup = (struct ch_setup){
            .env = env, .flags = &m.flags.setup, .console = &m.console, .uses = uses};
        code = uses && mcp_open(&m) < 0 ? CH_EXIT_ERROR : body(&m);
        if (m.err.code) {
            ch_console_error(&m.console, "%s", m.err.message);
            /* a server's failure is not a usage error */
            bool usage = m.err.code == CHELA_EINVAL || m.err.code == CHELA_ECONFIG;
            code = usage ? ch_problem_exit(&m.err) : CH_EXIT_ERROR;
        }
        ch_setup_release(&m.setup);
        code = ch_console_exit(&m.console, code);
        ch_console_release(&m.console);
    }
    ch_args_release(&m.args);
    return code;
}

static int mcp_usage(struct mcp *m, const char *problem) {
    ch_console_error(&m->console, "%s", problem);
    return CH_EXIT_USAGE;
}

/* The name of server i of all files; NULL after the last. */
static const char *server_name(const struct mcp *m, size_t i) {
    const chela_config *files[] = {m->setup.config, m->setup.mcp[0], m->setup.mcp[1]};
    for (size_t f = 0; f < 3; f++)
        for (size_t k = 0; files[f] && chela_config_mcp_name(files[f], k); k++)
            if (i-- == 0)
                return chela_config_mcp_name(files[f], k);
    return NULL;
}

static chela_mcp *find_server(struct mcp *m, const char *name) {
    chela_mcp *client = chela_mcp_find(m->setup.rt, name);
    if (!client)
        ch_problem(&m->err, CHELA_EINVAL,
                   "there is no MCP server '%s' ('chela mcp list' shows them)", name);
    return client;
}

static char *mcp_field(const char *json, size_t n, const char *pointer) {
    char *value = chela_json_get(json, n, pointer, NULL);
    if (value && strcmp(value, "null") == 0) {
        chela_free(value);
        value = NULL;
    }
    return value;
}

static int count_accepted(const char *tool, size_t n, void *user) {
    size_t *counts = user;
    char *accepted = mcp_field(tool, n, "/accepted");
    counts[accepted && strcmp(accepted, "true") == 0]++;
    chela_free(accepted);
    return 0;
}

static size_t count_tools(const char *state, bool accepted) {
    size_t counts[2] = {0};
    ch_chat_mcp_each(state, "/tools", count_accepted, counts);
    return counts[accepted];
}

/* --- list --------------------------------------------------------------------------- */

static void list_json(struct mcp *m, FILE *out) {
    const char *name;
    fputc('[', out);
    for (size_t i = 0; (name = server_name(m, i)); i++) {
        char *state = chela_mcp_state_json(chela_mcp_find(m->setup.rt, name));
        fprintf(out, "%s%s", i ? ",\n" : "", state);
        chela_free(state);
    }
    fputs("]\n", out);
}

static void note_no_server(struct mcp *m) {
    ch_console_note(&m->console, "no MCP server is configured; 'chela mcp add' adds one");
}

static int mcp_list(struct mcp *m) {
    static const char *const heads[] = {"NAME", "TRANSPORT", "TOOLS", NULL};
    struct ch_table table = {.heads = heads, .columns = ch_console_columns(&m->console)};
    struct ch_draft d;
    const char *name;

    ch_draft_init(&d);
    if (m->flags.json)
        list_json(m, d.f);
    for (size_t i = 0; !m->flags.json && (name = server_name(m, i)); i++) {
        char *state = chela_mcp_state_json(chela_mcp_find(m->setup.rt, name));
        char *known = mcp_field(state, strlen(state), "/known"), **cells = ch_table_row(&table);
        cells[0] = ch_dup(name);
        cells[1] = mcp_field(state, strlen(state), "/transport");
        cells[2] = strcmp(known, "true") == 0 ? ch_format("%zu", count_tools(state, true))
                                              : ch_dup("not listed yet");
        chela_free(known);
        chela_free(state);
    }
    if (table.n)
        ch_table_print(&table, d.f);
    ch_draft_finish(&d);
    ch_console_print(&m->console, d.p, d.n);
    if (!m->flags.json && !table.n)
        note_no_server(m);
    free(d.p);
    ch_table_release(&table);
    return CH_EXIT_DONE;
}

/* --- tools --------------------------------------------------------------------------- */

static void print_change(const char *tool, size_t n, const char *key, FILE *out) {
    char *was_at = ch_format("/was/%s", key);
    char *now = chela_json_get(tool, n, was_at + strlen("/was"), NULL);
    char *was = chela_json_get(tool, n, was_at, NULL);
    if (was && now && strcmp(was, now) != 0)
        fprintf(out, "    - %s: %s\n    + %s: %s\n", key, was, key, now);
    free(was_at);
    chela_free(now);
    chela_free(was);
}

static int mcp_print_tool(const char *tool, size_t n, void *out) {
    char *alias = mcp_field(tool, n, "/alias");
    char *text = mcp_field(tool, n, "/description");
    char *accepted = mcp_field(tool, n, "/accepted");
    char *was = mcp_field(tool, n, "/was");
    const char *mark = strcmp(accepted, "true") == 0 ? "" : was ? " (changed)" : " (new)";

    if (text)
        text[strcspn(text, "\n")] = '\0';
    fprintf(out, "%s%s  %s\n", alias, mark, text ? text : "");
    if (was) {
        print_change(tool, n, "description", out);
        print_change(tool, n, "schema", out);
        print_change(tool, n, "outputSchema", out);
    }
    chela_free(alias);
    chela_free(text);
    chela_free(accepted);
    chela_free(was);
    return 0;
}

static void print_tools(struct mcp *m, chela_mcp *client) {
    char *state = chela_mcp_state_json(client);
    struct ch_draft d;

    ch_draft_init(&d);
    if (m->flags.json)
        fprintf(d.f, "%s\n", state);
    else
        ch_chat_mcp_each(state, "/tools", mcp_print_tool, d.f);
    ch_draft_finish(&d);
    ch_console_print(&m->console, d.p, d.n);
    size_t open = count_tools(state, false);
    if (open)
        ch_console_note(&m->console, "%zu of the tools are not offered until you accept them: "
                        "--accept", open);
    free(d.p);
    chela_free(state);
}

static int mcp_tools(struct mcp *m) {
    if (m->args.n != 1)
        return mcp_usage(m, "which server? usage: chela mcp tools [flags] NAME");
    chela_mcp *client = find_server(m, m->args.words[0]);
    if (!client || chela_mcp_refresh(client, m->flags.accept, &m->err) < 0)
        return CH_EXIT_ERROR;
    print_tools(m, client);
    return CH_EXIT_DONE;
}

/* --- skills -------------------------------------------------------------------------- */

struct skill_list {
    FILE *out;   /* NULL: only count */
    size_t open; /* skills that are not offered */
};

static int mcp_print_skill(const char *skill, size_t n, void *user) {
    struct skill_list *l = user;
    char *name = chela_json_get(skill, n, "/name", NULL); /* may be "null" */
    char *text = mcp_field(skill, n, "/description");
    char *state = mcp_field(skill, n, "/state");
    bool offered = strcmp(state, "accepted") == 0;
    l->open += strcmp(state, "new") == 0 || strcmp(state, "changed") == 0;
    if (l->out)
        fprintf(l->out, "%s%s%s%s  %s\n", name, offered ? "" : " (", offered ? "" : state,
                offered ? "" : ")", text ? text : "");
    chela_free(name);
    chela_free(text);
    chela_free(state);
    return 0;
}

/* Returns the number of skills that are not offered. */
static size_t print_skills(struct mcp *m, const char *list) {
    struct ch_draft d;

    ch_draft_init(&d);
    struct skill_list l = {.out = m->flags.json ? NULL : d.f};
    if (m->flags.json)
        fprintf(d.f, "%s\n", list);
    chela_json_each(list, strlen(list), mcp_print_skill, &l);
    ch_draft_finish(&d);
    ch_console_print(&m->console, d.p, d.n);
    free(d.p);
    return l.open;
}

static int mcp_show_skill(struct mcp *m, chela_mcp *client) {
    char *text = chela_mcp_skill_read(client, m->flags.show, NULL, &m->err);
    if (!text)
        return CH_EXIT_ERROR;
    ch_console_print(&m->console, text, strlen(text));
    chela_free(text);
    return CH_EXIT_DONE;
}

static int mcp_skills(struct mcp *m) {
    if (m->args.n != 1)
        return mcp_usage(m, "which server? usage: chela mcp skills [flags] NAME");
    chela_mcp *client = find_server(m, m->args.words[0]);
    char *list = client ? chela_mcp_skills_json(client, m->flags.accept, &m->err) : NULL;
    if (!list)
        return CH_EXIT_ERROR;
    int code = CH_EXIT_DONE;
    if (m->flags.show) {
        code = mcp_show_skill(m, client);
    } else {
        size_t open = print_skills(m, list);
        if (open)
            ch_console_note(&m->console, "%zu of the skills are not offered until you accept them: "
                            "--show SKILL, then --accept", open);
    }
    chela_free(list);
    return code;
}

/* --- call ----------------------------------------------------------------------------- */

static int mcp_print_content(const char *item, size_t n, void *out) {
    char *type = chela_json_get(item, n, "/type", NULL);
    bool holds = type && strcmp(type, "resource") == 0;
    const char *at = holds ? "/resource/text" : "/text";
    char *text = chela_json_get(item, n, at, NULL); /* may be "null" */
    if (text && (holds || (type && strcmp(type, "text") == 0)))
        fprintf(out, "%s\n", text);
    else
        fprintf(out, "[%s]\n", type ? type : "?");
    chela_free(text);
    chela_free(type);
    return 0;
}

static int mcp_print_result(struct mcp *m, const char *result) {
    char *failed = mcp_field(result, strlen(result), "/isError");
    bool ok = !failed || strcmp(failed, "true") != 0;
    struct ch_draft d;

    chela_free(failed);
    if (m->flags.output && strcmp(m->flags.output, "json") == 0) {
        ch_json_line(&m->console, result);
        return ok ? CH_EXIT_DONE : CH_EXIT_ERROR;
    }
    ch_draft_init(&d);
    ch_chat_mcp_each(result, "/content", mcp_print_content, d.f);
    char *structured = mcp_field(result, strlen(result), "/structuredContent");
    if (structured && ftell(d.f) == 0)
        fprintf(d.f, "%s\n", structured);
    chela_free(structured);
    ch_draft_finish(&d);
    if (ok)
        ch_console_print(&m->console, d.p, d.n);
    else
        ch_console_complain(&m->console, d.p, d.n);
    free(d.p);
    return ok ? CH_EXIT_DONE : CH_EXIT_ERROR;
}

static int mcp_call(struct mcp *m) {
    struct ch_cli_input arguments = {0};
    struct ch_draft d;
    const char *given = m->flags.args ? m->flags.args : "{}";

    if (m->args.n != 2)
        return mcp_usage(m, "usage: chela mcp call [flags] NAME TOOL --args JSON");
    chela_mcp *client = find_server(m, m->args.words[0]);
    int rc = strcmp(given, "-") == 0 ? ch_input_file("-", CH_INPUT_PROMPT, &arguments, &m->err)
                                     : ch_input_text(given, CH_INPUT_PROMPT, &arguments, &m->err);
    if (!client || rc < 0)
        return CH_EXIT_ERROR;
    ch_draft_init(&d);
    fputs("{\"name\":", d.f);
    ch_draft_quote(d.f, m->args.words[1]);
    fprintf(d.f, ",\"arguments\":%s}", arguments.p);
    ch_draft_finish(&d);
    int code = CH_EXIT_ERROR;
    char *result = chela_mcp_request(client, "tools/call", d.p, &m->err);
    if (result)
        code = mcp_print_result(m, result);
    chela_free(result);
    free(d.p);
    ch_input_release(&arguments);
    return code;
}

/* --- login ---------------------------------------------------------------------------- */

static void show_url(const char *url, void *user) {
    struct mcp *m = user;
    char *argv[] = {"sh", "-c", "exec ${BROWSER:-xdg-open} \"$0\" >/dev/null 2>&1", (char *)url,
                    NULL};
    pid_t pid;
    ch_console_note(&m->console, "log in at this address:\n%s", url);
    if (getenv("BROWSER") || getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))
        posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
}

static int mcp_login(struct mcp *m) {
    if (m->args.n != 1)
        return mcp_usage(m, "which server? usage: chela mcp login NAME");
    chela_mcp *client = find_server(m, m->args.words[0]);
    if (!client || chela_mcp_login(client, show_url, m, &m->err) < 0)
        return CH_EXIT_ERROR;
    ch_console_note(&m->console, "%s accepts requests", m->args.words[0]);
    return CH_EXIT_DONE;
}

/* --- doctor ----------------------------------------------------------------------------- */

static bool examine(struct mcp *m, const char *name, FILE *out) {
    chela_mcp *client = chela_mcp_find(m->setup.rt, name);
    struct chela_error why = {0};
    int rc = chela_mcp_refresh(client, 0, &why);
    char *state = chela_mcp_state_json(client);
    size_t n = strlen(state);
    char *era = mcp_field(state, n, "/version"), *server = mcp_field(state, n, "/server");
    size_t changed = count_tools(state, false), tools = count_tools(state, true);

    if (rc < 0)
        fprintf(out, "fail  %s: %s\n", name, why.message);
    else
        fprintf(out, "%s %s: %s, protocol %s, %zu tool%s", changed ? "warn " : "ok   ", name,
                server && *server ? server : "a server without a name", era ? era : "unknown",
                tools, tools == 1 ? "" : "s");
    if (rc == 0 && changed)
        fprintf(out, "; %zu new or changed, not offered: chela mcp tools %s --accept", changed,
                name);
    fputs(rc == 0 ? "\n" : "", out);
    chela_free(era);
    chela_free(server);
    chela_free(state);
    return rc == 0;
}

/* The line of a server is printed as soon as the server has answered; JSON follows the last. */
static int mcp_doctor(struct mcp *m) {
    const char *name;
    struct ch_draft d;
    bool good = true;

    for (size_t i = 0; (name = server_name(m, i)); i++) {
        ch_draft_init(&d);
        good &= examine(m, name, d.f);
        ch_draft_finish(&d);
        if (!m->flags.json)
            ch_console_print(&m->console, d.p, d.n);
        free(d.p);
    }
    if (m->flags.json) {
        ch_draft_init(&d);
        list_json(m, d.f);
        ch_draft_finish(&d);
        ch_console_print(&m->console, d.p, d.n);
        free(d.p);
    } else if (!server_name(m, 0)) {
        note_no_server(m);
    }
    return good ? CH_EXIT_DONE : CH_EXIT_ERROR;
}

/* --- add, remove ------------------------------------------------------------------------- */

/* "A=B" or "A: B" as members of an object. */
static void add_pairs(struct ch_draft *d, const char *key, const struct ch_texts *list, char sep) {
    fprintf(d->f, ",\"%s\":{", key);
    for (size_t i = 0; i < list->n; i++) {
        char *name = ch_dup(list->list[i]), *value = strchr(name, sep);
        if (value)
            *value++ = '\0';
        if (value && sep == ':')
            value += strspn(value, " ");
        fputs(i ? "," : "", d->f);
        ch_draft_quote(d->f, name);
        fputc(':', d->f);
        ch_draft_quote(d->f, value ? value : "");
        free(name);
    }
    fputc('}', d->f);
}

static bool mcp_is_url(const char *word) {
    return strncmp(word, "http://", 7) == 0 || strncmp(word, "https://", 8) == 0;
}

static void write_definition(struct mcp *m, struct ch_draft *d) {
    const char *const *words = m->args.words;
    bool url = mcp_is_url(words[1]);

    fprintf(d->f, "{\"%s\":", url ? "url" : "command");
    ch_draft_quote(d->f, words[1]);
    if (!url) {
        fputs(",\"args\":[", d->f);
        for (size_t i = 2; i < m->args.n; i++) {
            fputs(i > 2 ? "," : "", d->f);
            ch_draft_quote(d->f, words[i]);
        }
        fputc(']', d->f);
    }
    if (m->flags.env.n)
        add_pairs(d, "env", &m->flags.env, '=');
    if (m->flags.headers.n)
        add_pairs(d, "headers", &m->flags.headers, ':');
    fputc('}', d->f);
}

static int edit_file(struct mcp *m, const char *name, const char *definition) {
    char *file = ch_setup_mcp_file(m->setup.env);
    int rc = CHELA_OK;
    if (!file)
        rc = ch_problem(&m->err, CHELA_ECONFIG, "there is no place for the file: HOME is not set");
    else
        rc = ch_state_make_parents(file, &m->err);
    if (rc == 0)
        rc = chela_config_mcp_edit(file, name, definition, &m->err);
    if (rc == 0)
        ch_console_note(&m->console, definition ? "%s is added to %s" : "%s is removed from %s",
                        name, file);
    else
        m->err.code = CHELA_EINVAL; /* of the user's file, not of a server */
    free(file);
    return rc;
}

/* Starts the new server, so that the user sees its tools; they are accepted. */
static int try_server(struct mcp *m, const char *name) {
    m->setup.uses = CH_USES_NOTHING;
    if (mcp_open(m) < 0)
        return CH_EXIT_ERROR;
    chela_mcp *client = find_server(m, name);
    if (!client || chela_mcp_refresh(client, 1, &m->err) < 0)
        return CH_EXIT_ERROR;
    print_tools(m, client);
    return CH_EXIT_DONE;
}

static int mcp_add(struct mcp *m) {
    struct ch_draft d;

    if (m->args.n < 2)
        return mcp_usage(m, "usage: chela mcp add [flags] NAME URL, or NAME -- COMMAND...");
    if (strstr(m->args.words[1], "://") && !mcp_is_url(m->args.words[1])) {
        ch_console_error(&m->console,
                         "the URL of a server starts with http:// or https://, not '%s'",
                         m->args.words[1]);
        return CH_EXIT_USAGE;
    }
    ch_draft_init(&d);
    write_definition(m, &d);
    ch_draft_finish(&d);
    int rc = edit_file(m, m->args.words[0], d.p);
    free(d.p);
    return rc < 0 ? CH_EXIT_ERROR : try_server(m, m->args.words[0]);
}

static int mcp_remove(struct mcp *m) {
    if (m->args.n != 1)
        return mcp_usage(m, "which server? usage: chela mcp remove NAME");
    return edit_file(m, m->args.words[0], NULL) < 0 ? CH_EXIT_ERROR : CH_EXIT_DONE;
}

/* --- commands ------------------------------------------------------------------------------ */

#define MCP_RUN(verb, uses)                                                              \
    static int run_mcp_##verb(const struct ch_cmd *cmd, const struct ch_env *env, int argc, \
                              char **argv) {                                             \
        return mcp_with(cmd, env, argc, argv, uses, mcp_##verb);                         \
    }
MCP_RUN(list, CH_USES_NOTHING)
MCP_RUN(tools, CH_USES_TOOLS)
MCP_RUN(skills, CH_USES_TOOLS)
MCP_RUN(call, CH_USES_TOOLS)
MCP_RUN(doctor, CH_USES_TOOLS)
MCP_RUN(login, CH_USES_TOOLS)
MCP_RUN(add, 0)
MCP_RUN(remove, 0)

const struct ch_cmd ch_cmd_mcp_list = {
    .name = "mcp list",
    .args = "",
    .summary = "list the MCP servers",
    .about = "Lists the MCP servers of the configuration, of the user's mcp.json, and of .mcp.json "
             "in the current directory if that file is trusted. No server is started.",
    .opts = list_opts,
    .run = run_mcp_list,
};

const struct ch_cmd ch_cmd_mcp_tools = {
    .name = "mcp tools",
    .args = "NAME",
    .summary = "list a server's tools, and accept changes",
    .about = "Starts the server and lists its tools under the names that a model sees. The first "
             "definitions of a server are accepted. A tool that is new or has another definition "
             "since then is marked, with the difference, and is not offered to a model before "
             "--accept.",
    .opts = tools_opts,
    .run = run_mcp_tools,
};

const struct ch_cmd ch_cmd_mcp_skills = {
    .name = "mcp skills",
    .args = "NAME",
    .summary = "list a server's skills, and accept them",
    .about = "Starts the server and lists its skills. A skill that is new, or was changed since it "
             "was accepted, is marked and is not offered to a model before --accept. The files of "
             "a skill are read when they are used, and must be those that were accepted.",
    .opts = skills_opts,
    .run = run_mcp_skills,
};

const struct ch_cmd ch_cmd_mcp_call = {
    .name = "mcp call",
    .args = "NAME TOOL",
    .summary = "call one tool of a server",
    .about = "Calls a tool by its name at the server, without a model and without approval. An "
             "error result goes to standard error, with exit status 1.",
    .opts = call_opts,
    .run = run_mcp_call,
};

const struct ch_cmd ch_cmd_mcp_doctor = {
    .name = "mcp doctor",
    .args = "",
    .summary = "check every MCP server",
    .about = "Starts every server and prints one line for it: whether it answers, its protocol "
             "version, the number of its tools, and how many of them are new or changed. Exit "
             "status 1: a server fails.",
    .opts = list_opts,
    .run = run_mcp_doctor,
};

const struct ch_cmd ch_cmd_mcp_login = {
    .name = "mcp login",
    .args = "NAME",
    .summary = "log in to an MCP server",
    .about = "Prints the address of the server's log-in page, opens it with $BROWSER or xdg-open "
             "if there is a display, and waits until the person has logged in. The browser must "
             "run on this machine, because the page leads back to an address of this machine. "
             "The token is stored in a file that only the user can read.",
    .opts = login_opts,
    .run = run_mcp_login,
};

const struct ch_cmd ch_cmd_mcp_add = {
    .name = "mcp add",
    .args = "NAME URL|-- COMMAND...",
    .summary = "add an MCP server for this user",
    .about = "Adds a server to the user's mcp.json, starts it once, and accepts its tools. The "
             "file is $XDG_CONFIG_HOME/chela/mcp.json.",
    .opts = add_opts,
    .run = run_mcp_add,
};

const struct ch_cmd ch_cmd_mcp_remove = {
    .name = "mcp remove",
    .args = "NAME",
    .summary = "remove an MCP server of this user",
    .about = "Removes a server from the user's mcp.json.",
    .opts = remove_opts,
    .run = run_mcp_remove,
};
