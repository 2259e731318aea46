/* cmd_heartbeat.c -- `chela heartbeat simulate`: simulates a companion on a recorded chat,
 * without a model. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/cmd.h"
#include "cli/support/draft.h"
#include "cli/report/heartbeat_plot.h"
#include "cli/support/input.h"
#include "cli/support/mem.h"
#include "cli/report/out.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"

struct flags {
    struct ch_setup_flags setup;
    int64_t seed;
    const char *svg;
    bool json;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    {"seed", 0, CH_OPT_INT, AT(seed), "N", 0, 2147483647, "Chance",
     "seed of the random decisions; the same seed gives the same decisions; default: 0"},
    {"svg", 0, CH_OPT_TEXT, AT(svg), "FILE", 0, 0, "Output",
     "write a self-contained SVG picture of willingness over time"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print a JSON object for each line"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct simulation {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    struct chela_heartbeat_opts opts;
    struct ch_draft text;
    struct ch_plot *plots; /* owned: one per chat */
    size_t nplots;
    int64_t first; /* time of the first line */
    size_t lines, answers, asked;
};

/* --- text output ----------------------------------------------------------------------- */

/* Width of the first line. */
static int heartbeat_width(struct chela_str text) {
    const char *end = memchr(text.p ? text.p : "", '\n', text.n);
    return (int)(end ? (size_t)(end - text.p) : text.n);
}

static void heartbeat_print_line(struct simulation *s, const struct chela_simulated *l) {
    long long t = (long long)(l->at - s->first) / 1000;
    if (s->lines == 0)
        fprintf(s->text.f, "LINE  %9s  %5s  %4s  %-7s %-16s\n", "TIME", "W", "P", "", "REASON");
    fprintf(s->text.f, "%4zu  %3lld:%02lld:%02lld  %5.1f  %4.2f  %-7s %-16s%.*s%s%.*s\n", l->line,
            t / 3600, t / 60 % 60, t % 60, l->urge.willingness, l->urge.probability,
            l->urge.reply ? "REPLY" : "silent", chela_urge_name(l->urge.reason), (int)l->name.n,
            l->name.p, l->name.n ? ": " : "", heartbeat_width(l->text), l->text.p);
}

static void heartbeat_print_summary(struct simulation *s) {
    fprintf(s->text.f, "%zu line%s, %zu answered: %zu because they asked for it, %zu by itself\n",
            s->lines, s->lines == 1 ? "" : "s", s->answers, s->asked, s->answers - s->asked);
}

/* --- the picture ------------------------------------------------------------------------- */

static struct ch_plot *plot_of(struct simulation *s, const struct chela_simulated *l) {
    const struct chela_willing_opts *o =
        l->kind == CHELA_CHAT_GROUP ? s->opts.group : s->opts.direct;
    for (size_t i = 0; i < s->nplots; i++)
        if (strlen(s->plots[i].chat) == l->chat.n &&
            memcmp(s->plots[i].chat, l->chat.p, l->chat.n) == 0)
            return &s->plots[i];
    s->plots = ch_must(realloc(s->plots, (s->nplots + 1) * sizeof(*s->plots)));
    struct ch_plot *p = &s->plots[s->nplots++];
    *p = (struct ch_plot){.chat = ch_must(strndup(l->chat.p, l->chat.n)),
                          .kind = l->kind,
                          .most = o->most,
                          .threshold = o->threshold,
                          .refractory_s = o->refractory_s};
    return p;
}

static void plot_line(struct simulation *s, const struct chela_simulated *l) {
    struct ch_plot *p = plot_of(s, l);
    p->points = ch_must(realloc(p->points, (p->n + 1) * sizeof(*p->points)));
    p->points[p->n++] = (struct ch_plot_point){
        .at = l->at,
        .before = l->before,
        .peak = l->urge.willingness,
        .after = l->after,
        .probability = l->urge.probability,
        .reply = l->urge.reply,
        .reason = l->urge.reason,
        .title = ch_format("%.*s%s%.*s\nW %.1f, p %.2f: %s (%s)", (int)l->name.n, l->name.p,
                           l->name.n ? ": " : "", (int)l->text.n, l->text.p, l->urge.willingness,
                           l->urge.probability, l->urge.reply ? "reply" : "silent",
                           chela_urge_name(l->urge.reason))};
}

static int write_plot(const struct simulation *s, struct chela_error *err) {
    FILE *f = fopen(s->flags.svg, "we");
    if (!f)
        return ch_problem(err, CHELA_EINVAL, "%s: %s", s->flags.svg, strerror(errno));
    ch_plot_svg(s->plots, s->nplots, f);
    bool failed = ferror(f);
    if (fclose(f) != 0 || failed)
        return ch_problem(err, CHELA_EINTERNAL, "%s: %s", s->flags.svg, strerror(errno));
    return CHELA_OK;
}

/* --- the chat ------------------------------------------------------------------------------ */

static void heartbeat_on_line(const struct chela_simulated *l, void *user) {
    struct simulation *s = user;
    if (s->lines == 0)
        s->first = l->at;
    if (s->flags.svg)
        plot_line(s, l);
    if (s->flags.json) {
        char *json = chela_simulated_json(l);
        fprintf(s->text.f, "%s\n", json);
        chela_free(json);
    } else {
        heartbeat_print_line(s, l);
    }
    s->lines++;
    s->answers += l->urge.reply;
    s->asked += l->urge.reply && l->urge.reason != CHELA_URGE_WILLING;
}

/* Read the agent's settings from the file; without a file, the defaults. */
static int read_config(struct simulation *s, struct chela_error *err) {
    static struct chela_willing_opts group = CHELA_WILLING_OPTS(.text = 0);
    static struct chela_willing_opts direct = CHELA_WILLING_OPTS(.text = 0);
    static struct chela_willing_rules rules = CHELA_WILLING_RULES(.seed = 0);
    struct chela_agent_opts agent = CHELA_AGENT_OPTS(.id = NULL);
    int rc = ch_setup_config(&s->setup, err);
    if (rc == 0 && s->setup.config)
        rc = chela_config_agent(s->setup.config, s->flags.setup.agent, &agent, err);
    if (rc < 0)
        return rc;
    s->opts = agent.heartbeat ? *agent.heartbeat
                              : (struct chela_heartbeat_opts)CHELA_HEARTBEAT_OPTS(.group = NULL);
    if (!s->opts.group) {
        chela_willing_defaults(CHELA_CHAT_GROUP, &group, NULL);
        chela_willing_defaults(CHELA_CHAT_DIRECT, &direct, NULL);
        s->opts.group = &group;
        s->opts.direct = &direct;
    }
    if (s->opts.rules)
        rules = *s->opts.rules;
    rules.seed = (uint64_t)s->flags.seed;
    s->opts.rules = &rules;
    return 0;
}

static int heartbeat_play(struct simulation *s, const char *path, struct chela_error *err) {
    struct ch_cli_input chat = {0};
    struct chela_error why = {0};
    int rc = ch_input_file(path, CH_INPUT_BODY, &chat, err);
    if (rc < 0)
        return rc;
    ch_draft_init(&s->text);
    rc = chela_heartbeat_simulate(chat.p, chat.n, &s->opts, heartbeat_on_line, s, &why);
    if (rc < 0)
        rc = ch_problem(err, CHELA_EINVAL, "%s: %s", path, why.message);
    else if (!s->flags.json)
        heartbeat_print_summary(s);
    ch_draft_finish(&s->text);
    ch_console_print(&s->console, s->text.p, s->text.n);
    free(s->text.p);
    ch_input_release(&chat);
    return rc == 0 && s->flags.svg && s->nplots ? write_plot(s, err) : rc;
}

static int simulate(struct simulation *s) {
    struct chela_error err = {0};
    if (s->args.n != 1) {
        ch_console_error(&s->console,
                         "which chat? usage: chela heartbeat simulate [flags] CHAT.jsonl");
        return CH_EXIT_USAGE;
    }
    int rc = read_config(s, &err);
    if (rc == 0)
        rc = heartbeat_play(s, s->args.words[0], &err);
    if (rc == 0)
        return CH_EXIT_DONE;
    ch_console_error(&s->console, "%s", err.message);
    return ch_problem_exit(&err);
}

static int heartbeat_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                         char **argv) {
    struct simulation s = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);
    if (code < 0) {
        ch_console_init(&s.console, env, ch_setup_verbosity(&s.flags.setup),
                        s.flags.setup.no_color);
        s.setup = (struct ch_setup){
            .env = env, .flags = &s.flags.setup, .console = &s.console, .inspect = true};
        code = simulate(&s);
        for (size_t i = 0; i < s.nplots; i++)
            ch_plot_release(&s.plots[i]);
        free(s.plots);
        ch_setup_release(&s.setup);
        code = ch_console_exit(&s.console, code);
        ch_console_release(&s.console);
    }
    ch_args_release(&s.args);
    return code;
}

const struct ch_cmd ch_cmd_heartbeat_simulate = {
    .name = "heartbeat simulate",
    .args = "CHAT.jsonl",
    .summary = "replay a chat and show when the agent would reply",
    .about =
        "Replays a recorded chat ('-' is standard input) and prints for each line the willingness "
        "after the line, the probability of a reply, the decision and its reason. No model is "
        "called.\n\n"
        "Each line of the file is a JSON object with 'ts' (milliseconds) and 'text'. Optional "
        "members are 'chat', 'type' (group or direct), 'name', 'mention', 'quote' (the line "
        "replies to the agent), 'bot' and 'own'. Each chat has its own willingness, computed with "
        "the agent's settings under 'heartbeat'. See docs/heartbeat.md.",
    .opts = opts,
    .run = heartbeat_run,
};
