/* cmd_prompt_history.c -- `chela prompt history` and `chela prompt diff`: the versions of a
 * prompt. */
#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "cli/command/cmd_prompt.h"
#include "cli/report/line_diff.h"
#include "cli/report/out_json.h"
#include "cli/support/draft.h"
#include "cli/support/problem.h"
#include "cli/term/pager.h"

#define AT(field) offsetof(struct ch_prompt_flags, field)

static const struct ch_opt history_opts[] = {
    CH_PROMPT_OPTS,
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print JSON"},
    CH_SETUP_OPTS_OUTPUT(struct ch_prompt_flags),
    {.name = NULL},
};

struct history {
    struct ch_prompt_cmd *p;
    const char *name;
    FILE *out;
    unsigned n;
};

static void print_version(struct history *h, const char *entry) {
    char *version = ch_prompt_member(entry, "/version"), *used = ch_prompt_member(entry, "/used");
    char *variant = ch_prompt_member(entry, "/variant");
    char *change = ch_prompt_member(entry, "/changelog");
    char *fingerprint = ch_prompt_member(entry, "/fingerprint");
    fprintf(h->out, "%s%s%s%s  %s\n    %s\n", version, *variant ? " for " : "", variant,
            strcmp(used, "true") == 0 ? " (used)" : "", fingerprint,
            *change ? change : "(no change log)");
    free(version);
    free(used);
    free(variant);
    free(change);
    free(fingerprint);
}

static int history_on_entry(const char *element, size_t len, void *user) {
    struct history *h = user;
    char *entry = ch_format("%.*s", (int)len, element);
    char *name = ch_prompt_member(entry, "/name");
    if (strcmp(name, h->name) == 0 && h->p->flags.json)
        fprintf(h->out, "%s%s", h->n ? "," : "", entry);
    else if (strcmp(name, h->name) == 0)
        print_version(h, entry);
    h->n += strcmp(name, h->name) == 0;
    free(name);
    free(entry);
    return 0;
}

static int prompt_history(struct ch_prompt_cmd *p) {
    struct chela_error err = {0};
    struct ch_draft d;
    if (p->args.n != 1) {
        ch_console_error(&p->console, "usage: chela prompt history NAME");
        return CH_EXIT_USAGE;
    }
    struct chela_prompt_query q = CHELA_PROMPT_QUERY(.name = p->args.words[0]);
    char *known = chela_prompt_json(p->setup.rt, &q, &err); /* names the prompts if there is none */
    char *json = known ? chela_prompts_json(p->setup.rt, &err) : NULL;
    if (json) {
        ch_draft_init(&d);
        struct history h = {.p = p, .name = p->args.words[0], .out = d.f};
        fputs(p->flags.json ? "[" : "", d.f);
        chela_json_each(json, strlen(json), history_on_entry, &h);
        fputs(p->flags.json ? "]\n" : "", d.f);
        ch_draft_finish(&d);
        ch_console_page(&p->console, d.p, d.n);
        free(d.p);
    }
    chela_free(known);
    chela_free(json);
    return json ? CH_EXIT_DONE : ch_prompt_cmd_failed(p, &err);
}

/* --- diff -------------------------------------------------------------------------------- */

static char *version_text(struct ch_prompt_cmd *p, const char *version, char **fingerprint,
                          struct chela_error *err) {
    struct chela_prompt_query q =
        CHELA_PROMPT_QUERY(.name = p->args.words[0], .version = version);
    char *json = chela_prompt_json(p->setup.rt, &q, err);
    char *text = json ? ch_prompt_member(json, "/text") : NULL;
    *fingerprint = json ? ch_prompt_member(json, "/fingerprint") : NULL;
    chela_free(json);
    return text;
}

static void print_diff(struct ch_prompt_cmd *p, char *const texts[2], char *const marks[2]) {
    struct ch_draft d, lines;
    ch_draft_init(&lines);
    unsigned n = ch_line_diff(lines.f, texts[0], texts[1]);
    ch_draft_finish(&lines);
    ch_draft_init(&d);
    if (p->flags.json) {
        fputs("{\"from\":", d.f);
        ch_draft_quote(d.f, marks[0]);
        fputs(",\"to\":", d.f);
        ch_draft_quote(d.f, marks[1]);
        fprintf(d.f, ",\"changed\":%u,\"diff\":", n);
        ch_draft_quote(d.f, lines.p);
        fputs("}\n", d.f);
    } else {
        fprintf(d.f, "- %s\n+ %s\n\n%s", marks[0], marks[1],
                n ? lines.p : "The texts are the same.\n");
    }
    ch_draft_finish(&d);
    ch_console_page(&p->console, d.p, d.n);
    free(d.p);
    free(lines.p);
}

static int prompt_diff(struct ch_prompt_cmd *p) {
    struct chela_error err = {0};
    char *texts[2] = {NULL, NULL}, *marks[2] = {NULL, NULL};
    if (p->args.n != 3) {
        ch_console_error(&p->console, "usage: chela prompt diff NAME V1 V2");
        return CH_EXIT_USAGE;
    }
    texts[0] = version_text(p, p->args.words[1], &marks[0], &err);
    texts[1] = texts[0] ? version_text(p, p->args.words[2], &marks[1], &err) : NULL;
    if (texts[1])
        print_diff(p, texts, marks);
    int code = texts[1] ? CH_EXIT_DONE : ch_prompt_cmd_failed(p, &err);
    for (size_t i = 0; i < 2; i++) {
        free(texts[i]);
        free(marks[i]);
    }
    return code;
}

static int run_history(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return ch_prompt_cmd_run(cmd, env, argc, argv, prompt_history);
}

static int run_diff(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return ch_prompt_cmd_run(cmd, env, argc, argv, prompt_diff);
}

const struct ch_cmd ch_cmd_prompt_history = {
    .name = "prompt history",
    .args = "NAME",
    .summary = "list the versions of a prompt with their changes",
    .about = "Lists the versions of a prompt, oldest first, with their fingerprints and change "
             "logs, and marks the version in use.",
    .opts = history_opts,
    .run = run_history,
};

const struct ch_cmd ch_cmd_prompt_diff = {
    .name = "prompt diff",
    .args = "NAME V1 V2",
    .summary = "compare two versions of a prompt",
    .about = "Prints the lines that version V2 of a prompt removed from version V1 (-) and added "
             "to it (+).",
    .opts = history_opts,
    .run = run_diff,
};
