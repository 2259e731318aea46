/* cmd_why.c -- `chela why`: finds the parts of a request that a decision depended on. */
#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "chela/why.h"
#include "cli/command/cmd.h"
#include "cli/setup/run_opts.h"
#include "cli/setup/setup.h"
#include "cli/support/draft.h"
#include "cli/support/problem.h"
#include "cli/term/pager.h"
#include "cli/term/term.h"

struct flags {
    struct ch_setup_flags setup;
    const char *call, *versus, *model, *judge, *base_url, *api_key_env, *record, *replay;
    int64_t turn, calls, repeats;
    bool json;
};

#define AT(field) offsetof(struct flags, field)
#define ROUGH_PARTS 5 /* shown of a set that is not the smallest */

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    {"turn", 0, CH_OPT_INT, AT(turn), "N", 1, 1e9, "Choice",
     "turn of the session whose decision to explain; default: the last"},
    {"call", 0, CH_OPT_TEXT, AT(call), "ID", 0, 0, "Choice",
     "explain this tool call of the turn alone"},
    {"versus", 0, CH_OPT_TEXT, AT(versus), "SESSION", 0, 0, "Choice",
     "call no model: show the first difference from another session"},
    {"calls", 0, CH_OPT_INT, AT(calls), "N", 3, 1000, "Search",
     "most calls of the model; default: 30"},
    {"repeats", 0, CH_OPT_INT, AT(repeats), "N", 1, 20, "Search",
     "calls that have to agree, to tell cause from chance; default: 2"},
    {"model", 0, CH_OPT_TEXT, AT(model), "PROVIDER/MODEL", 0, 0, "Model",
     "model to ask; default: the one of the turn"},
    CH_RUN_OPTS_ENDPOINT(struct flags),
    {"judge", 0, CH_OPT_TEXT, AT(judge), "PROVIDER/MODEL", 0, 0, "Model",
     "model that decides whether two answers say the same; default: compare their texts"},
    {"record", 0, CH_OPT_TEXT, AT(record), "FILE", 0, 0, "Model",
     "record the calls to a cassette, so that the finding can be shown offline"},
    {"replay", 0, CH_OPT_TEXT, AT(replay), "FILE", 0, 0, "Model",
     "replay the calls of a cassette instead of calling the model"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print a JSON object"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static void why_on_progress(unsigned call, unsigned most, void *user) {
    struct ch_console *console = user;
    char *line = ch_format("call %u of at most %u", call, most);
    if (console->err.live)
        ch_console_status(console, line);
    free(line);
}

/* --- text */

static char *why_member(const char *json, const char *pointer) {
    return chela_json_get(json, strlen(json), pointer, NULL);
}

static void why_escape(FILE *out, const char *text) {
    ch_escape_write(out, CH_ESCAPE_LINE, text ? text : "", text ? strlen(text) : 0);
}

static void why_field(FILE *out, const char *before, const char *json, const char *pointer,
                      const char *after) {
    char *text = why_member(json, pointer);
    fputs(before, out);
    why_escape(out, text);
    fputs(after, out);
    chela_free(text);
}

/* Prints one part of a cause; false: no such part. */
static bool print_part(FILE *out, const char *report, unsigned cause, unsigned part) {
    char base[64], pointer[80];
    snprintf(base, sizeof(base), "/causes/%u/parts/%u", cause, part);
    char *kind;
    snprintf(pointer, sizeof(pointer), "%s/kind", base);
    if (!(kind = why_member(report, pointer)))
        return false;
    fprintf(out, "  %-9s", kind);
    snprintf(pointer, sizeof(pointer), "%s/origin", base);
    why_field(out, " ", report, pointer, ": ");
    snprintf(pointer, sizeof(pointer), "%s/text", base);
    why_field(out, "", report, pointer, "\n");
    chela_free(kind);
    return true;
}

/* How many parts follow the first n. */
static void print_more(FILE *out, const char *report, unsigned cause, unsigned n) {
    char pointer[80];
    unsigned more = 0;
    for (char *kind = NULL;; more++) {
        snprintf(pointer, sizeof(pointer), "/causes/%u/parts/%u/kind", cause, n + more);
        if (!(kind = why_member(report, pointer)))
            break;
        chela_free(kind);
    }
    if (more)
        fprintf(out, "  ... and %u more parts (--json lists them)\n", more);
}

static bool print_cause(FILE *out, const char *report, unsigned cause) {
    char pointer[64];
    unsigned n = 0;
    snprintf(pointer, sizeof(pointer), "/causes/%u/agreed", cause);
    char *agreed = why_member(report, pointer);
    if (!agreed)
        return false;
    snprintf(pointer, sizeof(pointer), "/causes/%u/parts/1", cause);
    char *second = why_member(report, pointer);
    snprintf(pointer, sizeof(pointer), "/causes/%u/smallest", cause);
    char *smallest = why_member(report, pointer);
    bool rough = smallest && strcmp(smallest, "false") == 0;
    fprintf(out, "\n%u. %s\n", cause + 1,
            rough    ? "Best finding so far: without all of these the decision is another. Which "
                       "of them count was not tested; more --calls narrow them down:"
            : second ? "Each of these suffices. Only without all of them the decision is another:"
                     : "Without this the decision is another:");
    while ((!rough || n < ROUGH_PARTS) && print_part(out, report, cause, n))
        n++;
    if (rough && n == ROUGH_PARTS)
        print_more(out, report, cause, n);
    snprintf(pointer, sizeof(pointer), "/causes/%u/of", cause);
    fprintf(out, "  seen in %s", agreed);
    why_field(out, " of ", report, pointer, " calls");
    snprintf(pointer, sizeof(pointer), "/causes/%u/instead", cause);
    char *instead = why_member(report, pointer); /* NULL: the calls did not suffice */
    if (instead)
        why_field(out, "; instead: ", report, pointer, "");
    fputc('\n', out);
    chela_free(instead);
    chela_free(agreed);
    chela_free(second);
    chela_free(smallest);
    return true;
}

static void print_report(FILE *out, const char *report) {
    static const struct {
        const char *verdict, *text;
    } verdicts[] = {
        {"cause", "The decision depends on:"},
        {"no_cause", "No cause: without every part of the request the decision is the same."},
        {"chance", "Chance: the same request leads to different decisions. Nothing follows from "
                   "one of them."},
        {"unknown", "Unknown."},
    };
    char *verdict = why_member(report, "/verdict"), *note;
    char pointer[32];
    why_field(out, "turn      ", report, "/session_turn", "");
    why_field(out, ", request #", report, "/request", "\n");
    why_field(out, "decision  ", report, "/decision", "\n");
    why_field(out, "model     ", report, "/model", "");
    why_field(out, ", ", report, "/calls", "");
    why_field(out, " of at most ", report, "/budget", " calls\n\n");
    for (size_t i = 0; verdict && i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
        if (strcmp(verdict, verdicts[i].verdict) == 0)
            fprintf(out, "%s\n", verdicts[i].text);
    for (unsigned i = 0; print_cause(out, report, i); i++)
        ;
    for (unsigned i = 0;; i++) {
        snprintf(pointer, sizeof(pointer), "/notes/%u", i);
        if (!(note = why_member(report, pointer)))
            break;
        fputs("\nnote: ", out);
        why_escape(out, note);
        fputc('\n', out);
        chela_free(note);
    }
    chela_free(verdict);
}

static int print_difference(const char *difference, size_t n, void *out) {
    static const char *const members[][2] = {
        {"/what", "\n"}, {"/name", " "}, {"/a", "\n  - "}, {"/b", "\n  + "}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        char *text = chela_json_get(difference, n, members[i][0], NULL);
        fputs(members[i][1], out);
        why_escape(out, text);
        chela_free(text);
    }
    fputc('\n', out);
    return 0;
}

static void print_versus(FILE *out, const char *report) {
    char *same = why_member(report, "/same"), *differences = why_member(report, "/differences");
    if (same && strcmp(same, "true") == 0)
        fputs("The sessions do not differ in any request or reply.\n", out);
    else
        why_field(out, "The first difference is in request ", report, "/request", ":\n");
    chela_json_each(differences, strlen(differences), print_difference, out);
    chela_free(differences);
    chela_free(same);
}

static void why_print(struct ch_setup *setup, const struct flags *f, const char *report) {
    struct ch_draft d;
    ch_draft_init(&d);
    if (f->json)
        fprintf(d.f, "%s\n", report);
    else if (f->versus)
        print_versus(d.f, report);
    else
        print_report(d.f, report);
    ch_draft_finish(&d);
    ch_console_page(setup->console, d.p, d.n);
    free(d.p);
}

/* A report without any reply of the model is no finding: a failure, after the report. */
static int why_check(const char *report, struct chela_error *err) {
    char *answered = why_member(report, "/answered"), *note = why_member(report, "/notes/0");
    int rc = 0;
    if (answered && strcmp(answered, "0") == 0)
        rc = ch_problem(err, CHELA_ENET, "the model did not answer: %s", note ? note : "");
    chela_free(answered);
    chela_free(note);
    return rc;
}

static int why_ask(struct ch_setup *setup, const struct flags *f, const char *key,
                   struct chela_error *err) {
    struct chela_why_opts o =
        CHELA_WHY_OPTS(.turn = (unsigned)f->turn, .call = f->call, .model = f->model,
                       .judge = f->judge,
                       .base_url = f->base_url, .api_key_env = f->api_key_env,
                       .calls = (unsigned)f->calls, .repeats = (unsigned)f->repeats,
                       .progress = why_on_progress, .user = setup->console);
    if (!f->versus)
        ch_console_note(setup->console, "asks the model at most %u times; nothing is executed",
                        f->calls ? (unsigned)f->calls : 30u);
    char *report = f->versus ? chela_why_versus(setup->store, key, f->versus, err)
                             : chela_why(setup->rt, setup->store, key, &o, err);
    ch_console_status(setup->console, NULL);
    if (!report)
        return err->code;
    why_print(setup, f, report);
    int rc = why_check(report, err);
    chela_free(report);
    return rc;
}

static int why_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct flags f = {0};
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup = {0};
    struct chela_error err = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &f, &args);
    if (code < 0) {
        ch_setup_begin(&setup, env, &f.setup, &console);
        setup.uses = CH_USES_STORE | CH_USES_MODEL;
        setup.record = f.record;
        setup.replay = f.replay;
        int rc = args.n == 1 ? CHELA_OK
                             : ch_problem(&err, CHELA_EINVAL, "usage: chela why [flags] SESSION");
        if (rc == 0)
            rc = ch_setup_config(&setup, &err);
        if (rc == 0)
            rc = ch_setup_store(&setup, CH_STORE_READ, &err);
        if (rc == 0)
            rc = ch_setup_runtime(&setup, &err);
        if (rc == 0)
            rc = why_ask(&setup, &f, args.words[0], &err);
        code = ch_setup_finish(&setup, rc, &err);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_why = {
    .name = "why",
    .args = "SESSION",
    .summary = "find what a decision depended on",
    .about = "Sends the request of a turn to the model again without some of its parts, and "
             "bisects to the smallest set of parts without which the model decides otherwise: "
             "sentences of the system prompt, rules, skills, notes, tools, messages and results. "
             "Decisions are compared by their calls and arguments, or by their text. No tool is "
             "executed.",
    .opts = opts,
    .run = why_run,
};
