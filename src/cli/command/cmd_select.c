/* cmd_select.c -- `chela tools select`: shows which tools a request would get.
 *
 * For many requests the tools are read once, and each request gives one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chela.h"
#include "cli/command/cmd.h"
#include "cli/support/array_member.h"
#include "cli/support/draft.h"
#include "cli/support/input.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"

enum { DEFAULT_K = 10, MOST_K = 65536, MOST_SHOWN = 100 };

struct flags {
    struct ch_setup_flags setup;
    const char *query, *queries, *from;
    int64_t k;
    bool json;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    {"query", 0, CH_OPT_TEXT, AT(query), "TEXT", 0, 0, "Selection",
     "the request; same as the words of QUERY"},
    {"queries", 0, CH_OPT_TEXT, AT(queries), "FILE|-", 0, 0, "Selection",
     "file of requests, one per line, as plain text or as a JSON string. The output has one line "
     "for each: names separated by tabs, or a JSON array"},
    {"k", 'k', CH_OPT_INT, AT(k), "N", 1, MOST_K, "Selection", "number of tools to list (10)"},
    {"from", 0, CH_OPT_TEXT, AT(from), "FILE|-", 0, 0, "Selection",
     "rank the tool definitions of this JSON file instead of the agent's tools"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output",
     "print a JSON array of {name, score, summary}; a deferred tool has deferred instead of a "
     "score"},
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct select {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    chela_tool_index *index; /* owned */
};

/* --- the tools --------------------------------------------------------------------- */

static int select_read_file(struct select *s, struct chela_error *err) {
    struct ch_cli_input in = {0};
    int rc = ch_input_file(s->flags.from, CH_INPUT_BODY, &in, err);
    struct chela_error why = {0};

    if (rc == 0 && chela_tool_index_new(in.p, in.n, &s->index, &why) < 0)
        rc = ch_problem(err, CHELA_EINVAL, "%s: %s", s->flags.from, why.message);
    ch_input_release(&in);
    return rc;
}

/* No model is called, so any model without a key will do. */
static int read_agent(struct select *s, const struct ch_env *env, struct chela_error *err) {
    static const char *const none[] = {NULL};
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = "scripted/demo", .fallbacks = none);
    struct ch_setup setup = {.env = env,
                             .flags = &s->flags.setup,
                             .console = &s->console,
                             .uses = CH_USES_NOTHING};
    chela_agent *agent;
    int rc = ch_setup_config(&setup, err);

    if (rc == 0)
        rc = ch_setup_runtime(&setup, err);
    if (rc == 0)
        rc = ch_setup_agent(&setup, &opt, &agent, err);
    if (rc == 0) {
        char *json = chela_agent_tools_json(agent);
        rc = chela_tool_index_new(json, strlen(json), &s->index, err);
        chela_free(json);
    }
    ch_setup_release(&setup);
    return rc;
}

/* --- the answers -------------------------------------------------------------------- */

/* Print the names of an answer, each followed by a separator. */
static void print_names(FILE *out, const char *json, char separator, char end) {
    char *name, gap = 0;

    for (size_t i = 0; (name = ch_array_member(json, i, "name")); i++) {
        if (gap)
            fputc(gap, out);
        gap = separator;
        fputs(name, out);
        chela_free(name);
    }
    if (gap || end != separator)
        fputc(end, out);
}

static void select_answer(struct select *s, FILE *out, const char *query, size_t n) {
    size_t k = s->flags.k ? (size_t)s->flags.k : DEFAULT_K;
    char *json = chela_tool_index_select(s->index, query, n, k);

    if (s->flags.json)
        fprintf(out, "%s\n", json);
    else
        print_names(out, json, '\t', '\n');
    chela_free(json);
}

/* Prints two JSON arrays as one. */
static void print_joined(FILE *out, const char *first, const char *second) {
    bool none = strcmp(first, "[]") == 0 || strcmp(second, "[]") == 0;

    fprintf(out, "%.*s%s%s\n", (int)strlen(first) - 1, first, none ? "" : ",", second + 1);
}

static void print_deferred(struct select *s, FILE *out, const char *listed, const char *deferred) {
    char *name;
    size_t n = 0, rest = chela_tool_index_size(s->index);

    for (; (name = ch_array_member(listed, n, "name")); n++, rest--)
        chela_free(name);
    if (rest)
        fprintf(out, "%sdeferred:\n", n ? "\n" : "");
    for (n = 0; n < MOST_SHOWN && (name = ch_array_member(deferred, n, "name")); n++, rest--) {
        fprintf(out, "  %s\n", name);
        chela_free(name);
    }
    if (rest)
        fprintf(out, "  and %zu more\n", rest);
}

/* Answer one request: the tools that are listed, then those that are deferred. */
static void answer_whole(struct select *s, FILE *out, const char *query, size_t n) {
    size_t k = s->flags.k ? (size_t)s->flags.k : DEFAULT_K;
    char *listed = chela_tool_index_select(s->index, query, n, k);
    char *deferred = chela_tool_index_deferred(s->index, query, n, k);

    if (s->flags.json) {
        print_joined(out, listed, deferred);
    } else {
        print_names(out, listed, '\n', '\n');
        print_deferred(s, out, listed, deferred);
    }
    chela_free(listed);
    chela_free(deferred);
}

/* Answer a line of text, or a JSON string. */
static void answer_line(struct select *s, FILE *out, const char *line, size_t n) {
    size_t len = 0;
    char *text = n && line[0] == '"' ? chela_json_get(line, n, "", &len) : NULL;

    if (text)
        select_answer(s, out, text, len);
    else
        select_answer(s, out, line, n);
    chela_free(text);
}

static int answer_lines(struct select *s, FILE *out, struct chela_error *err) {
    struct ch_cli_input in = {0};
    int rc = ch_input_file(s->flags.queries, CH_INPUT_BODY, &in, err);

    for (const char *at = in.p; rc == 0 && at < in.p + in.n;) {
        size_t left = (size_t)(in.p + in.n - at);
        const char *end = memchr(at, '\n', left);
        size_t n = end ? (size_t)(end - at) : left;
        answer_line(s, out, at, n && at[n - 1] == '\r' ? n - 1 : n);
        at += n + 1;
    }
    ch_input_release(&in);
    return rc;
}

static void answer_words(struct select *s, FILE *out) {
    struct ch_draft d;
    const char *gap = "";

    ch_draft_init(&d);
    if (s->flags.query) {
        fputs(s->flags.query, d.f);
        gap = " ";
    }
    for (size_t i = 0; i < s->args.n; i++, gap = " ")
        fprintf(d.f, "%s%s", gap, s->args.words[i]);
    ch_draft_finish(&d);
    answer_whole(s, out, d.p, d.n);
    free(d.p);
}

/* --- the command ---------------------------------------------------------------------- */

static int select_perform(struct select *s, const struct ch_env *env, struct chela_error *err) {
    struct ch_draft d;
    bool one = s->flags.query || s->args.n > 0;

    if (one == (s->flags.queries != NULL))
        return ch_problem(err, CHELA_EINVAL,
                          one ? "either one request or --queries, not both"
                              : "which request? usage: chela tools select [flags] QUERY...");
    int rc = s->flags.from ? select_read_file(s, err) : read_agent(s, env, err);
    if (rc < 0)
        return rc;
    ch_draft_init(&d);
    if (one)
        answer_words(s, d.f);
    else
        rc = answer_lines(s, d.f, err);
    ch_draft_finish(&d);
    if (rc == 0)
        ch_console_print(&s->console, d.p, d.n);
    free(d.p);
    return rc;
}

static int select_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct select s = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);

    if (code < 0) {
        ch_console_init(&s.console, env, ch_setup_verbosity(&s.flags.setup),
                        s.flags.setup.no_color);
        code = CH_EXIT_DONE;
        if (select_perform(&s, env, &err) < 0) {
            ch_console_error(&s.console, "%s", err.message);
            code = ch_problem_exit(&err);
        }
        chela_tool_index_free(s.index);
        code = ch_console_exit(&s.console, code);
        ch_console_release(&s.console);
    }
    ch_args_release(&s.args);
    return code;
}

const struct ch_cmd ch_cmd_tools_select = {
    .name = "tools select",
    .args = "QUERY...",
    .summary = "rank tools for a request",
    .about = "Ranks tools by the words that their definitions share with a request and prints the "
             "names, best first, then those of the tools that would be deferred: sent to be set "
             "aside by a service that searches tools, else reached through find_tools and "
             "call_tool. No model is called. An agent with 'tools.selection: topk' selects tools "
             "in the same way.",
    .opts = opts,
    .run = select_run,
};
