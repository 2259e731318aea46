/* chat_slash.c -- the slash commands of a conversation. See chat.h. Changes take effect
 * with the next message. */
#include "cli/chat/chat_slash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "chela/json.h"
#include "cli/chat/chat.h"
#include "cli/chat/chat_mcp.h"
#include "cli/chat/chat_sessions.h"
#include "cli/chat/chat_show.h"
#include "cli/chat/chat_source.h"
#include "cli/chat/chat_pick.h"
#include "cli/chat/chat_review.h"
#include "cli/chat/chat_runs.h"
#include "cli/chat/chat_tasks.h"
#include "cli/chat/chat_undo.h"
#include "cli/support/array_member.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/suggest.h"
#include "cli/term/table.h"

struct command {
    const char *name, *args, *help;
    enum { ALWAYS, AGENT, IDLE } when; /* requires an agent; requires that no run is in progress */
    void (*run)(struct ch_chat *c, const char *args);
};

static void chat_slash_complain(struct ch_chat *c, const struct chela_error *err) {
    ch_console_error(c->console, "%s", err->message);
}

/* --- listings ------------------------------------------------------------------------ */

static void show_table(struct ch_chat *c, const char *json, const char *const *heads,
                       const char *const *pointers) {
    struct ch_table t = {.heads = heads, .columns = c->screen.columns};
    struct ch_draft d;

    ch_table_fill(&t, json, pointers);
    ch_draft_init(&d);
    ch_table_print(&t, d.f);
    ch_draft_finish(&d);
    ch_chat_print(c, "", d.p, d.n);
    free(d.p);
    ch_table_release(&t);
}

static void tools(struct ch_chat *c, const char *args) {
    static const char *const heads[] = {"TOOL", "PERMISSION", "WHAT IT DOES", NULL};
    static const char *const pointers[] = {"/name", "/permission", "/summary", NULL};
    char *json = chela_agent_tools_json(c->agent);
    (void)args;
    show_table(c, json, heads, pointers);
    chela_free(json);
}

static void skills(struct ch_chat *c, const char *args) {
    static const char *const heads[] = {"SKILL", "WHAT IT IS FOR", "PROBLEM", NULL};
    static const char *const pointers[] = {"/name", "/description", "/problem", NULL};
    char *json = chela_agent_skills_json(c->agent);
    (void)args;
    if (strcmp(json, "[]") == 0)
        ch_console_note(c->console, "the workspace has no skills (skills/NAME/SKILL.md)");
    else
        show_table(c, json, heads, pointers);
    chela_free(json);
}

static void chat_slash_usage(struct ch_chat *c, const char *args) {
    const struct chela_usage *u = &c->spent;
    char cost[40] = "cost unknown";
    (void)args;
    if (u->cost_usd > 0)
        snprintf(cost, sizeof(cost), "$%.4f", u->cost_usd);
    ch_console_note(c->console,
                    "%u run%s, %u turn%s, %u tool call%s: %lld tokens in (%lld cached), %lld out, "
                    "%s",
                    c->runs, c->runs == 1 ? "" : "s", c->turns, c->turns == 1 ? "" : "s",
                    c->tool_calls, c->tool_calls == 1 ? "" : "s", (long long)u->input,
                    (long long)u->cache_read, (long long)u->output, cost);
}

/* --- the model ------------------------------------------------------------------------ */

static void model_chosen(struct ch_chat *c, const char *name) {
    if (!name)
        return;
    free(c->model);
    c->model = ch_dup(name);
    if (c->agent)
        ch_chat_keep(c);
    ch_console_note(c->console, "the next message goes to %s", name);
    ch_chat_ready(c); /* without a key of the first model, the session was not opened */
}

/* Add the models of a JSON array to a picker, with their context sizes. */
static void model_fill(struct ch_pick *p, const char *json) {
    static const char *const pointers[] = {"/provider", "/model", "/context_window", NULL};
    struct ch_table t = {.heads = pointers};
    ch_table_fill(&t, json, pointers);
    for (size_t i = 0; i < t.n; i++) {
        char *name = ch_format("%s/%s", t.cells[i][0], t.cells[i][1]);
        long long window = t.cells[i][2] ? strtoll(t.cells[i][2], NULL, 10) : 0;
        char *facts = window > 0 ? ch_format("%lldk tokens", window / 1000) : NULL;
        ch_pick_add(p, name, name, facts);
        free(name);
        free(facts);
    }
    ch_table_release(&t);
}

/* "/models" or "/providers" of all known ones; the caller frees it. NULL: see err. Uses a second
 * runtime, because the request blocks and the chat's runtime runs in the chat's loop. */
static char *model_known(const struct ch_chat *c, const char *list, struct chela_error *err) {
    struct ch_setup other = {
        .env = c->setup->env, .flags = c->setup->flags, .console = c->console,
        .config = c->setup->config};
    char *json = NULL, *known = NULL;
    if (ch_setup_runtime(&other, err) == 0)
        json = chela_models_json(other.rt, NULL, err);
    if (json)
        known = chela_json_get(json, strlen(json), list, NULL);
    chela_free(json);
    other.config = NULL; /* it is the chat's */
    ch_setup_release(&other);
    return known;
}

static void model_pick(struct ch_chat *c, const char *query) {
    struct chela_error err = {0};
    char *models = model_known(c, "/models", &err);
    const char *used = c->model ? c->model : c->asked_model;

    if (models) {
        struct ch_pick *p = ch_chat_pick(c, "model", model_chosen);
        model_fill(p, models);
        ch_pick_filter(p, query);
        if (*query && p->nshown == 0) {
            ch_chat_pick_close(c);
            ch_console_error(c->console, "no known model is like '%s'; /model PROVIDER/MODEL takes "
                                         "any", query);
        }
        ch_console_note(c->console, "in use: %s; /model PROVIDER/MODEL takes another",
                        used ? used : "the configured one");
    } else {
        chat_slash_complain(c, &err);
    }
    chela_free(models);
}

/* Whether the provider of PROVIDER/MODEL is known; it may have the prefix of prompted calls. */
static bool model_has_provider(const struct ch_chat *c, const char *model,
                               struct chela_error *err) {
    static const char prompted[] = "prompted+";
    const char *from = model + (strncmp(model, prompted, 9) == 0 ? 9 : 0);
    size_t n = strcspn(from, "/");
    char *providers = model_known(c, "/providers", err), *name;
    bool found = false;
    for (size_t i = 0; providers && !found && (name = ch_array_member(providers, i, "name")); i++) {
        found = strlen(name) == n && memcmp(name, from, n) == 0;
        chela_free(name);
    }
    if (providers && !found)
        ch_problem(err, CHELA_EINVAL,
                   "there is no provider '%.*s' ('chela models list' shows them)", (int)n, from);
    chela_free(providers);
    return found;
}

static void model(struct ch_chat *c, const char *args) {
    struct chela_error err = {0};
    if (!strchr(args, '/'))
        model_pick(c, args);
    else if (model_has_provider(c, args, &err))
        model_chosen(c, args);
    else
        chat_slash_complain(c, &err);
}

static void chat_slash_reasoning(struct ch_chat *c, const char *args) {
    if (*args && chela_reasoning_read(args, &c->reasoning, NULL) < 0)
        ch_console_error(c->console, "/reasoning takes off, minimal, low, medium, high, xhigh, max "
                                     "or default, not '%s'", args);
    else
        ch_console_note(c->console, "reasoning: %s",
                        c->reasoning ? chela_reasoning_name(c->reasoning) : "as configured");
}

/* --- results --------------------------------------------------------------------------- */

static void result_chosen(struct ch_chat *c, const char *number) {
    if (number)
        ch_chat_unfold(c, (size_t)strtoul(number, NULL, 10));
}

static void chat_slash_show(struct ch_chat *c, const char *args) {
    size_t n = c->nresults < CH_CHAT_RESULTS ? c->nresults : CH_CHAT_RESULTS;
    if (n == 0) {
        ch_chat_unfold(c, 0);
        return;
    }
    struct ch_pick *p = ch_chat_pick(c, "show", result_chosen);
    for (size_t i = 0; i < n; i++) {
        const struct ch_chat_result *r = &c->results[(c->nresults - 1 - i) % CH_CHAT_RESULTS];
        char *id = ch_format("%zu", i), *size = ch_format("%zu bytes", strlen(r->text));
        ch_pick_add(p, id, r->title, size);
        p->items[p->n - 1].about = ch_dup(r->text);
        free(id);
        free(size);
    }
    ch_pick_filter(p, args);
}

static void chat_slash_approve(struct ch_chat *c, const char *args) {
    if (*args && chela_approve_read(args, &c->approve, NULL) < 0)
        ch_console_error(c->console, "/approve takes ask, sandbox, auto or deny, not '%s'", args);
    else
        ch_console_note(c->console, "calls that need consent: %s",
                        c->approve ? chela_approve_name(c->approve) : "as configured");
}

/* --- sessions ------------------------------------------------------------------------- */

static bool chat_slash_is_kept(struct ch_chat *c) {
    if (!c->setup->store)
        ch_console_error(c->console, "this session is not kept, so there is nothing to copy");
    return c->setup->store != NULL;
}

static void chat_slash_fork_session(struct ch_chat *c, const char *args) {
    char *from = ch_dup(chela_session_key(c->session));
    if (chat_slash_is_kept(c) && ch_chat_undo_copy(c, -1, args))
        ch_chat_undo_forked(c, from, chela_session_key(c->session));
    free(from);
}

static void chat_slash_new_session(struct ch_chat *c, const char *args) {
    ch_chat_undo_forget(c);
    ch_chat_continue(c, *args ? args : NULL);
}

/* Continues an unfinished run; otherwise the person picks a session. */
static void chat_slash_resume(struct ch_chat *c, const char *args) {
    if (!*args && chela_session_status(c->session) != CHELA_SESSION_IDLE)
        ch_chat_resume(c);
    else
        ch_chat_sessions_pick(c, args);
}

static void chat_slash_tree(struct ch_chat *c, const char *args) {
    (void)args;
    ch_chat_sessions_tree(c);
}

static void chat_slash_take_over(struct ch_chat *c, const char *args) {
    if (!*args)
        ch_console_error(c->console, "/take needs the words that are the answer");
    else if (!c->run || chela_run_take_over(c->run, args, strlen(args)) < 0)
        ch_console_error(c->console, "no run is in progress that could be taken over");
}

/* --- export --------------------------------------------------------------------------- */

static int chat_slash_write_block(const char *block, size_t n, void *out) {
    char *type = chela_json_get(block, n, "/type", NULL);
    bool call = type && strcmp(type, "tool_call") == 0;
    bool result = type && strcmp(type, "tool_result") == 0;
    char *text = chela_json_get(block, n, call     ? "/arguments"
                                          : result ? "/content"
                                                   : "/text", NULL);
    char *name = call || result ? chela_json_get(block, n, "/name", NULL) : NULL;

    if (text && call)
        fprintf(out, "*calls `%s`*\n\n~~~~json\n%s\n~~~~\n\n", name ? name : "?", text);
    else if (text && result)
        fprintf(out, "*`%s` gave*\n\n~~~~\n%s\n~~~~\n\n", name ? name : "?", text);
    else if (text && type && strcmp(type, "text") == 0)
        fprintf(out, "%s\n\n", text);
    chela_free(type);
    chela_free(text);
    chela_free(name);
    return 0;
}

/* Write a message as Markdown. */
static int chat_slash_write_message(const char *message, size_t n, void *out) {
    char *role = chela_json_get(message, n, "/role", NULL);
    char *content = chela_json_get(message, n, "/content", &n);
    if (role && strcmp(role, "tool") != 0)
        fprintf(out, "## %s\n\n", role);
    if (content)
        chela_json_each(content, n, chat_slash_write_block, out);
    chela_free(content);
    chela_free(role);
    return 0;
}

static int chat_slash_write_line(const char *p, size_t n, void *user) {
    return fwrite(p, 1, n, user) == n ? 0 : -1;
}

static int write_export(struct ch_chat *c, FILE *out, const char *path, struct chela_error *err) {
    size_t n = strlen(path);
    if (n > 6 && strcmp(path + n - 6, ".jsonl") == 0 && c->setup->store)
        return chela_store_export(c->setup->store, chela_session_key(c->session),
                                  chat_slash_write_line, out, err);
    char *json = chela_session_messages_json(c->session);
    chela_json_each(json, strlen(json), chat_slash_write_message, out);
    chela_free(json);
    return CHELA_OK;
}

static void chat_slash_export_session(struct ch_chat *c, const char *args) {
    struct chela_error err = {0};
    char *path = *args ? ch_dup(args) : ch_format("%s.md", chela_session_key(c->session));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

    if (!out) {
        ch_console_error(c->console, "%s: %s", path, strerror(errno));
    } else {
        int rc = write_export(c, out, path, &err);
        bool failed = ferror(out);
        failed |= fclose(out) != 0;
        if (rc < 0 || failed)
            unlink(path); /* a part of it would be in the way of the next attempt */
        if (rc < 0)
            chat_slash_complain(c, &err);
        else if (failed)
            ch_console_error(c->console, "%s: %s", path, strerror(errno));
        else
            ch_console_note(c->console, "written to %s", path);
    }
    free(path);
}

/* --- the table ------------------------------------------------------------------------- */

static void chat_slash_help(struct ch_chat *c, const char *args);

static void quit(struct ch_chat *c, const char *args) {
    (void)args;
    ch_chat_leave(c);
}

static const struct command commands[] = {
    {"help", "", "list the commands", ALWAYS, chat_slash_help},
    {"model", "[PROVIDER/MODEL]", "switch to another model", ALWAYS, model},
    {"reasoning", "[off|low|...|max]", "show or change the amount of reasoning", ALWAYS,
     chat_slash_reasoning},
    {"show", "[WORDS]", "show the result of a call in full", ALWAYS, chat_slash_show},
    {"tools", "", "list the tools of the agent", AGENT, tools},
    {"skills", "", "list the skills of the workspace", AGENT, skills},
    {"mcp", "[SERVER]", "list the MCP servers, or what one offers", AGENT, ch_chat_mcp},
    {"tasks", "[cancel] [WORDS]", "list tasks in the background; end one", AGENT, ch_chat_tasks},
    {"usage", "", "show tokens and cost of the conversation", ALWAYS, chat_slash_usage},
    {"approve", "[ask|sandbox|auto|deny]", "show or change how calls are approved", ALWAYS,
     chat_slash_approve},
    {"compact", "[FOCUS]", "shorten the conversation, but not FOCUS", IDLE, ch_chat_compact},
    {"new", "[KEY]", "start another session", IDLE, chat_slash_new_session},
    {"fork", "[KEY]", "continue in a copy of the session", IDLE, chat_slash_fork_session},
    {"undo", "[both|files|chat]", "undo the last message and its file changes", IDLE,
     ch_chat_undo},
    {"review", "[accept|refuse] [FILE]", "show the changes that wait; take or drop them", IDLE,
     ch_chat_review},
    {"rewind", "[WORDS]", "return to the state before a message", IDLE, ch_chat_rewind},
    {"resume", "[WORDS]", "continue an unfinished run, or a session", IDLE, chat_slash_resume},
    {"tree", "", "list the forks of the session; switch", IDLE, chat_slash_tree},
    {"take", "TEXT", "end the run with TEXT as its answer", ALWAYS, chat_slash_take_over},
    {"export", "[FILE]", "write Markdown, or the journal (.jsonl)", IDLE,
     chat_slash_export_session},
    {"quit", "", "leave (Ctrl-D)", ALWAYS, quit},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void chat_slash_help(struct ch_chat *c, const char *args) {
    struct ch_draft d;
    (void)args;

    ch_draft_init(&d);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(d.f, "  /%-10s%-24s%s\n", commands[i].name, commands[i].args, commands[i].help);
    fputs("\n  Enter sends; Alt-Enter, or a backslash at the end, breaks the line.\n"
          "  A message that you send while the agent works steers the run. Ctrl-C or Esc\n"
          "  cancels the run.\n"
          "  @FILE adds a file or an image, !COMMAND runs a command and adds its output;\n"
          "  Ctrl-G opens your editor, Ctrl-V adds the image of the clipboard.\n"
          "  Tab completes /commands, /skills, @files and what MCP servers offer;\n"
          "  Ctrl-R searches the messages that you sent;\n"
          "  Ctrl-O shows the last result in full, /show any result.\n",
          d.f);
    ch_draft_finish(&d);
    ch_chat_print(c, "", d.p, d.n);
    free(d.p);
}

const char *ch_chat_command_name(size_t i) {
    return i < COMMANDS ? commands[i].name : NULL;
}

/* Expand "/skill NAME rest", or "/NAME rest" for a skill that people may call, to a message
 * with its instructions. NULL: no such skill; err is set. */
static char *skill_message(struct ch_chat *c, const char *line, struct chela_error *err) {
    bool named = strncmp(line, "/skill", 6) == 0 && (!line[6] || strchr(" \t\n", line[6]));
    char *call = named ? ch_dup(line) : ch_format("/skill %s", line + 1);
    char *text = chela_agent_expand(c->agent, call, strlen(call), err);
    free(call);
    return text;
}

/* Names that commands have in other programs: they hold unless a skill or a prompt has the name.
 * True: the command was carried out. */
static bool chat_slash_other_name(struct ch_chat *c, const char *name, size_t n,
                                  const char *args) {
    static const char *const names[][2] = {
        {"clear", "new"},     {"exit", "quit"},           {"cost", "usage"},
        {"branch", "fork"},   {"permissions", "approve"}, {"sessions", "resume"},
        {"status", "usage"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i][0]) != n || memcmp(names[i][0], name, n) != 0)
            continue;
        char *line = ch_format("/%s %s", names[i][1], args);
        ch_chat_command(c, line);
        free(line);
        return true;
    }
    return false;
}

static void chat_slash_unknown(struct ch_chat *c, const char *name, size_t n) {
    struct ch_suggest near;
    ch_suggest_init(&near, name, n);
    for (size_t i = 0; i < COMMANDS; i++)
        ch_suggest_try(&near, commands[i].name, strlen(commands[i].name));
    if (near.best)
        ch_console_error(c->console, "there is no /%.*s (did you mean /%s?)", (int)n, name,
                         near.best);
    else
        ch_console_error(c->console, "there is no /%.*s (/help lists the commands)", (int)n, name);
}

/* False: there is no such command. */
static bool chat_slash_run(struct ch_chat *c, const char *name, size_t n, char *args) {
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strlen(commands[i].name) != n || memcmp(commands[i].name, name, n) != 0)
            continue;
        if ((commands[i].when != IDLE || ch_chat_is_idle(c, commands[i].name)) &&
            (commands[i].when == ALWAYS || ch_chat_ready(c)))
            commands[i].run(c, args);
        return true;
    }
    return false;
}

void ch_chat_command(struct ch_chat *c, const char *line) {
    const char *name = line + 1;
    size_t n = strcspn(name, " \t\n");
    const char *args = name + n + strspn(name + n, " \t\n");
    char *rest = ch_dup(args), *message;
    struct chela_error err = {0};

    for (size_t len = strlen(rest); len > 0 && strchr(" \t\n", rest[len - 1]); len--)
        rest[len - 1] = '\0';
    if (chat_slash_run(c, name, n, rest) || (ch_chat_ready(c) && ch_chat_mcp_prompt(c, line))) {
        free(rest);
        return;
    }
    message = ch_chat_ready(c) ? skill_message(c, line, &err) : NULL;
    if (!message && c->agent)
        message = ch_chat_sources_expand(c, line);
    if (message)
        ch_chat_say(c, message, line, true);
    else if (n == 5 && memcmp(name, "skill", n) == 0 && c->agent)
        chat_slash_complain(c, &err);
    else if (!chat_slash_other_name(c, name, n, rest))
        chat_slash_unknown(c, name, n);
    chela_free(message);
    free(rest);
}
