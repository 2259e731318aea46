/* args.c -- see args.h. */
#include "cli/setup/args.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/support/suggest.h"

struct parser {
    const struct ch_opt *opts;
    const char *const *later;
    char *const *argv;
    int argc, at; /* at: the next entry */
    char *into;
    struct ch_args *args;
    struct chela_error *err;
};

static const struct ch_opt *args_find(const struct ch_opt *opts, const char *name, size_t n) {
    for (; opts->name; opts++)
        if (strlen(opts->name) == n && memcmp(opts->name, name, n) == 0)
            return opts;
    return NULL;
}

static const struct ch_opt *args_find_letter(const struct ch_opt *opts, char letter) {
    for (; opts->name; opts++)
        if (opts->letter == letter)
            return opts;
    return NULL;
}

/* --- values --------------------------------------------------------------- */

static bool args_read_int(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    /* strtoll would skip white space and accept a plus sign */
    if (errno || end == text || *end || !strchr("-0123456789", *text))
        return false;
    *out = v;
    return true;
}

static bool read_real(const char *text, double *out) {
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    /* strtod would accept hexadecimal, "inf" and "nan" */
    if (errno || *end || !isfinite(v) || strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    *out = v;
    return end != text;
}

static void set_int(struct parser *p, const struct ch_opt *opt, const char *text) {
    int64_t v;
    if (!args_read_int(text, &v) || (double)v < opt->min || (double)v > opt->max) {
        ch_problem(p->err, CHELA_EINVAL, "--%s must be a whole number from %.0f to %.0f, not '%s'",
                   opt->name, opt->min, opt->max, text);
        return;
    }
    *(int64_t *)(void *)(p->into + opt->at) = opt->kind == CH_OPT_LIMIT && v == 0 ? -1 : v;
}

static void set_real(struct parser *p, const struct ch_opt *opt, const char *text) {
    double v;
    if (!read_real(text, &v) || v < opt->min || v > opt->max) {
        ch_problem(p->err, CHELA_EINVAL, "--%s must be a number from %g to %.10g, not '%s'",
                   opt->name, opt->min, opt->max, text);
        return;
    }
    *(struct ch_real *)(void *)(p->into + opt->at) = (struct ch_real){.set = true, .value = v};
}

static bool args_is_choice(const char *choices, const char *text) {
    size_t n = strlen(text);
    for (const char *c = choices; *c; c += strcspn(c, "|"), c += *c == '|')
        if (strcspn(c, "|") == n && memcmp(c, text, n) == 0)
            return true;
    return false;
}

static void set_choice(struct parser *p, const struct ch_opt *opt, const char *text) {
    if (!args_is_choice(opt->value, text)) {
        ch_problem(p->err, CHELA_EINVAL, "--%s must be %s%s, not '%s'", opt->name,
                   strchr(opt->value, '|') ? "one of " : "", opt->value, text);
        return;
    }
    *(const char **)(void *)(p->into + opt->at) = text;
}

static void args_add_text(struct parser *p, const struct ch_opt *opt, const char *text) {
    struct ch_texts *all = (struct ch_texts *)(void *)(p->into + opt->at);
    size_t most = sizeof(all->list) / sizeof(all->list[0]);
    if (all->n == most)
        ch_problem(p->err, CHELA_EINVAL, "--%s can be given %zu times at most", opt->name, most);
    else
        all->list[all->n++] = text;
}

static void args_set_value(struct parser *p, const struct ch_opt *opt, const char *text) {
    switch (opt->kind) {
    case CH_OPT_SWITCH:
        break;
    case CH_OPT_TEXT:
        *(const char **)(void *)(p->into + opt->at) = text;
        break;
    case CH_OPT_TEXTS:
        args_add_text(p, opt, text);
        break;
    case CH_OPT_CHOICE:
        set_choice(p, opt, text);
        break;
    case CH_OPT_INT:
    case CH_OPT_LIMIT:
        set_int(p, opt, text);
        break;
    case CH_OPT_REAL:
        set_real(p, opt, text);
        break;
    }
}

/* `attached`: the value in the same word, or NULL. */
static void args_take(struct parser *p, const struct ch_opt *opt, const char *attached) {
    if (opt->kind == CH_OPT_SWITCH) {
        if (attached)
            ch_problem(p->err, CHELA_EINVAL, "--%s takes no value", opt->name);
        *(bool *)(p->into + opt->at) = true;
        return;
    }
    const char *text = attached ? attached : p->at < p->argc ? p->argv[p->at++] : NULL;
    bool file = opt->value && strncmp(opt->value, "FILE", 4) == 0; /* "" names no file */
    if (!text || (file && !*text))
        ch_problem(p->err, CHELA_EINVAL, "--%s needs a value: %s", opt->name, opt->value);
    else
        args_set_value(p, opt, text);
}

/* --- flags ---------------------------------------------------------------- */

static bool is_later(const char *const *later, const char *name, size_t n) {
    for (; later && *later; later++)
        if (strlen(*later) == n && memcmp(*later, name, n) == 0)
            return true;
    return false;
}

/* Flags of other programs, and the flag that does the same here. */
static const struct {
    const char *theirs, *ours, *use;
} elsewhere[] = {
    {"port", "listen", "--listen 127.0.0.1:PORT"},
    {"host", "listen", "--listen HOST:PORT"},
    {"bind", "listen", "--listen HOST:PORT"},
    {"json", "output", "--output json"},
    {"format", "output", "--output"},
    {"stream", "output", "--output jsonl"},
    {"yolo", "approve", "--approve auto"},
    {"yes", "approve", "--approve auto"},
    {"full-auto", "approve", "--approve sandbox"},
    {"resume", "continue", "--continue"},
    {"cwd", "workspace", "--workspace"},
    {"dir", "workspace", "--workspace"},
    {"instructions", "system", "--system"},
    {"system-prompt", "system", "--system"},
    {"thinking", "reasoning", "--reasoning"},
    {"effort", "reasoning", "--reasoning"},
    {"allowed-tools", "tools", "--tools"},
    {"disallowed-tools", "deny", "--deny"},
    {"allowedTools", "tools", "--tools"},
    {"disallowedTools", "deny", "--deny"},
    {"no-tools", "tools", "--tools \"\""},
    {"cd", "workspace", "--workspace"},
    {"print", "output", "the words alone: 'run' prints the answer and ends"},
    {"output-format", "output", "--output"},
    {"debug", "verbose", "--verbose"},
    {"output-schema", "schema", "--schema FILE"},
    {"json-schema", "schema", "--schema FILE"},
    {"dangerously-skip-permissions", "approve", "--approve auto"},
    {"dangerously-bypass-approvals-and-sandbox", "approve", "--approve auto --sandbox off"},
    {"auto-approve", "approve", "--approve auto"},
    {"ask-for-approval", "approve", "--approve"},
    {"permission-mode", "approve", "--approve"},
    {"approval-mode", "approve", "--approve"},
    {"append-system-prompt", "system", "--system, or AGENTS.md in the workspace"},
    {"max-budget-usd", "cost-budget", "--cost-budget"},
    {"max-steps", "max-turns", "--max-turns"},
    {"provider", "model", "--model PROVIDER/MODEL"},
    {"session-id", "session", "--session"},
    {"detach", "background", "--background"},
    {"api-key", "api-key-env", "--api-key-env NAME: keys are not for command lines"},
    {"p", "output", "the words alone: 'run' prints the answer and ends"},
    {"m", "model", "--model"},
    {"c", "continue", "--continue"},
    {"r", "resume", "--resume"},
    {"C", "workspace", "--workspace"},
    {"o", "output", "--output"},
    {"s", "sandbox", "--sandbox"},
    {"d", "background", "--background"},
    {"y", "approve", "--approve auto"},
};

static const char *same_here(const struct parser *p, const char *name, size_t n) {
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (strlen(elsewhere[i].theirs) == n && memcmp(elsewhere[i].theirs, name, n) == 0 &&
            args_find(p->opts, elsewhere[i].ours, strlen(elsewhere[i].ours)))
            return elsewhere[i].use;
    return NULL;
}

static void unknown_long(struct parser *p, const char *name, size_t n) {
    if (is_later(p->later, name, n)) {
        ch_problem(p->err, CHELA_EINVAL, "--%.*s is not supported in this version", (int)n, name);
        return;
    }
    const char *use = same_here(p, name, n);
    if (use) {
        ch_problem(p->err, CHELA_EINVAL, "unknown flag --%.*s (use %s)", (int)n, name, use);
        return;
    }
    struct ch_suggest near;
    ch_suggest_init(&near, name, n);
    for (const struct ch_opt *o = p->opts; o->name; o++)
        ch_suggest_try(&near, o->name, strlen(o->name));
    if (near.best)
        ch_problem(p->err, CHELA_EINVAL, "unknown flag --%.*s (did you mean --%s?)", (int)n, name,
                   near.best);
    else
        ch_problem(p->err, CHELA_EINVAL, "unknown flag --%.*s (--help lists them)", (int)n, name);
}

static void long_flag(struct parser *p, const char *name) {
    size_t n = strcspn(name, "=");
    const char *attached = name[n] ? name + n + 1 : NULL;
    const struct ch_opt *opt = args_find(p->opts, name, n);

    if (opt)
        args_take(p, opt, attached);
    else if (n == 4 && memcmp(name, "help", n) == 0)
        p->args->help = true;
    else
        unknown_long(p, name, n);
}

static void short_flags(struct parser *p, const char *letters) {
    for (; *letters; letters++) {
        const struct ch_opt *opt = args_find_letter(p->opts, *letters);
        if (!opt && *letters == 'h') {
            p->args->help = true;
        } else if (!opt) {
            const char *use = same_here(p, letters, strcspn(letters, "="));
            ch_problem(p->err, CHELA_EINVAL,
                       use ? "unknown flag -%s (use %s)"
                           : "unknown flag -%s "
                             "(words that start with a dash go after --)%s",
                       letters, use ? use : "");
            return;
        } else if (opt->kind == CH_OPT_SWITCH) {
            args_take(p, opt, NULL);
        } else {
            args_take(p, opt, letters[1] ? letters + 1 : NULL);
            return;
        }
    }
}

int ch_args_parse(const struct ch_opt *opts, const char *const *later, int argc, char *const *argv,
                  void *into, struct ch_args *args, struct chela_error *err) {
    struct parser p = {.opts = opts,
                       .later = later,
                       .argv = argv,
                       .argc = argc,
                       .into = into,
                       .args = args,
                       .err = err};
    bool flags = true;

    *args = (struct ch_args){.words = ch_must(calloc((size_t)argc + 1, sizeof(*args->words)))};
    while (p.at < argc) {
        const char *word = argv[p.at++];
        if (!flags || word[0] != '-' || word[1] == '\0')
            args->words[args->n++] = word;
        else if (strcmp(word, "--") == 0)
            flags = false;
        else if (word[1] == '-')
            long_flag(&p, word + 2);
        else
            short_flags(&p, word + 1);
    }
    return err->code;
}

void ch_args_release(struct ch_args *args) {
    free(args->words);
    *args = (struct ch_args){0};
}

int ch_args_choice(enum chela_choice set, const char *word) {
    int value = 0;
    if (word)
        chela_choice_read(set, word, &value, NULL);
    return value;
}

/* --- words ------------------------------------------------------------------------------- */

bool ch_args_want_stdin(const struct ch_args *args) {
    for (size_t i = 0; i < args->n; i++)
        if (strcmp(args->words[i], "-") == 0)
            return true;
    return false;
}

struct ch_cli_input ch_args_join(const struct ch_args *args, const struct ch_cli_input *in) {
    struct ch_draft d;
    const char *gap = "";

    ch_draft_init(&d);
    for (size_t i = 0; i < args->n; i++) {
        if (strcmp(args->words[i], "-") == 0)
            continue;
        fprintf(d.f, "%s%s", gap, args->words[i]);
        gap = " ";
    }
    if (in->n > 0) {
        fputs(*gap ? "\n\n" : "", d.f);
        fwrite(in->p, 1, in->n, d.f);
    }
    ch_draft_finish(&d);
    return (struct ch_cli_input){.p = d.p, .n = d.n};
}
