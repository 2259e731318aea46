/* approval.c -- see approval.h. */
#include "tool/call/approval.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "guard/repositories.h"
#include "tool/call/call.h"
#include "tool/process/executable.h"
#include "tool/registry/policy.h"
#include "json/writer.h"

struct level {
    char *who; /* owned: name, glob or group */
    enum ch_consent consent;
};

struct rule {
    char *tool;            /* owned */
    const char *text;      /* as given, in the arena */
    struct ch_words words; /* in the arena */
    bool full_box;         /* the program runs commands of the project */
};

struct grant {
    char *tool;            /* owned */
    struct ch_words words; /* in the arena; n 0: every call */
    bool open;             /* further arguments are allowed */
};

struct ch_approvals {
    struct level *levels;
    size_t nlevels;
    struct rule *rules;
    size_t nrules;
    struct grant *grants;
    size_t ngrants;
    struct ch_arena arena;
};

/* --- levels ------------------------------------------------------------------- */

static int add_level(struct ch_approvals *a, struct ch_sv text, struct chela_error *err) {
    struct ch_sv rest = text, who = ch_sv_trim(ch_sv_split(&rest, '='));
    struct level level;

    if (!who.n || !ch_consent_parse(ch_sv_trim(rest), &level.consent))
        return ch_fail(err, CHELA_EINVAL, "expected TOOL=ask, sandbox, auto or deny, not '%.*s'",
                       (int)CH_MIN(text.n, (size_t)80), text.p);
    if (ch_sv_starts(who, "group:") && !ch_policy_group(who))
        return ch_fail(err, CHELA_EINVAL, "there is no %.*s", (int)CH_MIN(who.n, (size_t)80),
                       who.p);
    if (a->nlevels == CH_LIMIT_RULES)
        return ch_fail(err, CHELA_ELIMIT, "more than %d levels of approval", CH_LIMIT_RULES);
    level.who = ch_strndup(who.p, who.n);
    a->levels = ch_realloc(a->levels, (a->nlevels + 1) * sizeof(*a->levels));
    a->levels[a->nlevels++] = level;
    return 0;
}

/* The level of a tool that no rule mentions. */
static enum ch_consent usual_level(const struct ch_tool *t) {
    static const char *const asked_about[] = {"exec", "process", "send_email"};

    if (t->flags & (CHELA_TOOL_RISKY | CHELA_TOOL_CONFIRM))
        return CH_CONSENT_ASK;
    for (size_t i = 0; i < CH_LEN(asked_about); i++)
        if (strcmp(t->name, asked_about[i]) == 0)
            return CH_CONSENT_ASK;
    return CH_CONSENT_AUTO;
}

/* The level that the rules set for a tool; -1: none. */
static int stated_level(const struct ch_approvals *a, const struct ch_tool *t) {
    struct ch_sv name = ch_sv_str(t->name);
    int named = -1, matched = -1;

    for (size_t i = 0; a && i < a->nlevels; i++) {
        struct ch_sv who = ch_sv_str(a->levels[i].who);
        int consent = (int)a->levels[i].consent;
        if (ch_sv_eq(who, name))
            named = CH_MAX(named, consent);
        else if (ch_policy_listed(who, name))
            matched = CH_MAX(matched, consent);
    }
    return named >= 0 ? named : matched;
}

enum ch_consent ch_approvals_level(const struct ch_approvals *a, const struct ch_tool *t) {
    int stated = stated_level(a, t);

    return stated >= 0 ? (enum ch_consent)stated : usual_level(t);
}

/* --- allow rules ----------------------------------------------------------------- */

/* A command rule must name one fixed program. */
static int check_command_rule(struct rule *r, const char *text, struct chela_error *err) {
    const char *program = r->words.v[0];
    const char *slash = strchr(program, '/');

    if (strpbrk(program, "*?\\"))
        return ch_fail(err, CHELA_EINVAL, "rule '%.80s': the program must be named", text);
    if (slash && slash != program)
        return ch_fail(err, CHELA_EINVAL,
                       "rule '%.80s': a path must be absolute: what lies in the workspace "
                       "may be the model's own",
                       text);
    r->full_box = ch_executable_runs_project(program);
    if (!r->full_box && ch_executable_runs_others(program, r->words.v))
        return ch_fail(err, CHELA_EINVAL,
                       "rule '%.80s': this program runs others, so no rule can vouch for it", text);
    return 0;
}

static int check_argument_rule(const struct rule *r, const char *text, struct chela_error *err) {
    for (size_t i = 0; i < r->words.n; i++)
        if (!strchr(r->words.v[i], '='))
            return ch_fail(err, CHELA_EINVAL, "rule '%.80s': expected words such as NAME=VALUE",
                           text);
    return 0;
}

static int approval_add_rule(struct ch_approvals *a, const char *text, struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(text), tool = ch_sv_trim(ch_sv_split(&rest, ':'));
    struct rule r = {.words = ch_shell_words(&a->arena, rest, CH_WORDS_PATTERN)};
    bool named = tool.n && !memchr(tool.p, '*', tool.n) && !memchr(tool.p, ' ', tool.n);

    if (!named || !rest.p)
        return ch_fail(err, CHELA_EINVAL, "expected TOOL: PATTERN, not '%.80s'", text);
    if (!r.words.v)
        return ch_fail(err, CHELA_EINVAL, "rule '%.80s': the pattern holds %s", text, r.words.why);
    int rc = ch_sv_is(tool, "exec") ? check_command_rule(&r, text, err)
                                    : check_argument_rule(&r, text, err);
    if (rc < 0)
        return rc;
    if (a->nrules == CH_LIMIT_RULES)
        return ch_fail(err, CHELA_ELIMIT, "more than %d rules of approval", CH_LIMIT_RULES);
    r.tool = ch_strndup(tool.p, tool.n);
    r.text = ch_arena_str(&a->arena, ch_sv_str(text));
    a->rules = ch_realloc(a->rules, (a->nrules + 1) * sizeof(*a->rules));
    a->rules[a->nrules++] = r;
    return 0;
}

int ch_approvals_new(const char *levels, const char *const *rules, struct ch_approvals **out,
                     struct chela_error *err) {
    CH_AUTO(ch_approvals) a = ch_alloc(sizeof(*a));
    struct ch_sv rest = ch_sv_str(levels);
    int rc = 0;

    while (rc == 0 && rest.n) {
        struct ch_sv level = ch_sv_trim(ch_sv_split(&rest, ','));
        if (level.n)
            rc = add_level(a, level, err);
    }
    for (; rc == 0 && rules && *rules; rules++)
        rc = approval_add_rule(a, *rules, err);
    if (rc == 0)
        *out = CH_TAKE(a);
    return rc;
}

void ch_approvals_free(struct ch_approvals *a) {
    if (!a)
        return;
    for (size_t i = 0; i < a->nlevels; i++)
        ch_free(a->levels[i].who);
    for (size_t i = 0; i < a->nrules; i++)
        ch_free(a->rules[i].tool);
    ch_approvals_revoke(a);
    ch_free(a->levels);
    ch_free(a->rules);
    ch_free(a->grants);
    ch_arena_release(&a->arena);
    ch_free(a);
}

/* --- matching a rule against a call ------------------------------------------------- */

static const char *approval_base_name(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Both paths are resolved. */
static bool is_inside(const char *path, const char *dir) {
    size_t n = strlen(dir);

    if (strcmp(dir, "/") == 0)
        return true;
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* The rule's program and the command's must be the same file under the same name: one file
 * may contain many programs. */
static bool same_program(const char *named, const struct ch_bound *b) {
    CH_ARENA_AUTO arena = {0};
    const char *file = ch_executable_find(&arena, named, b->plan.path, "/");
    char *real = file ? realpath(file, NULL) : NULL;
    bool same = real && strcmp(real, b->real) == 0 &&
                strcmp(approval_base_name(file), approval_base_name(b->program)) == 0;

    free(real);
    return same;
}

/* Number of words before "**". */
static size_t fixed_words(const struct rule *r) {
    size_t n = r->words.n;

    return n > 1 && strcmp(r->words.v[n - 1], "**") == 0 ? n - 1 : n;
}

/* Compare from the second word on. In the full sandbox, further words do not matter. */
static bool same_arguments(const struct rule *r, const struct ch_words *words) {
    const struct ch_words *pattern = &r->words;
    size_t fixed = fixed_words(r);

    if (words->n < fixed || (words->n > fixed && fixed == pattern->n && !r->full_box))
        return false;
    for (size_t i = 1; i < (r->full_box ? fixed : words->n); i++)
        if (!ch_glob_word(i < fixed ? pattern->v[i] : "*", words->v[i]))
            return false;
    return true;
}

/* True if Git would take a command from this file of a repository. No setting turns that off
 * (plain_git_env of exec.c turns off what can be), so the text of the configuration decides. */
static bool config_names_program(const char *dir, const char *name) {
    static const char *const words[] = {
        "alias",   "askpass",     "cmd",     "command", "driver",      "external",
        "filter",  "helper",      "include", "program", "packobjects", "proxy",
        "receivepack", "sequence", "textconv", "uploadpack", "vcs",
    };
    CH_BUF_AUTO path = {0}, text = {0}, why = {0};

    ch_buf_addf(&path, "%s/%s", dir, name);
    if (ch_file_load(ch_buf_str(&path), CH_LIMIT_GIT_CONFIG, &text, NULL) < 0)
        return access(ch_buf_str(&path), F_OK) == 0; /* too large, or unreadable */
    if (ch_git_config_is_plain(ch_buf_sv(&text), &why))
        return false; /* such a word may be part of an address */
    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_contains_nocase(ch_buf_sv(&text), words[i]))
            return true;
    return false;
}

/* A repository with a file commondir takes its configuration from elsewhere. */
static bool repository_names_program(const char *dir) {
    CH_BUF_AUTO common = {0};

    ch_buf_addf(&common, "%s/commondir", dir);
    return access(ch_buf_str(&common), F_OK) == 0 || config_names_program(dir, "config") ||
           config_names_program(dir, "config.worktree");
}

/* The index is in several files, which may all have submodules. */
static bool is_split(const char *git) {
    DIR *d = opendir(git);
    bool split = false;

    for (struct dirent *e; d && !split && (e = readdir(d));)
        split = strncmp(e->d_name, "sharedindex.", 12) == 0;
    if (d)
        closedir(d);
    return split;
}

/* Could the repository have submodules? In every version of the index, the mode of an entry is a
 * number of four bytes. */
static bool may_have_submodules(const char *git) {
    static const char mode[] = {0, 0, '\xe0', 0}; /* 0160000 */
    CH_BUF_AUTO path = {0}, index = {0};

    ch_buf_addf(&path, "%s/modules", git);
    if (access(ch_buf_str(&path), F_OK) == 0 || is_split(git))
        return true;
    ch_buf_clear(&path);
    ch_buf_addf(&path, "%s/index", git);
    int rc = ch_file_load(ch_buf_str(&path), CH_LIMIT_GIT_INDEX, &index, NULL);
    if (rc < 0)
        return rc != CHELA_ENOENT;
    return index.n && memmem(index.p, index.n, mode, sizeof(mode));
}

/* Git runs itself in submodules, for example to find out whether they were changed. Their
 * repositories are below the directory. */
static bool submodules_name_program(const char *top, const char *git) {
    CH_ARENA_AUTO arena = {0};
    const char *const tops[] = {top, NULL};
    struct ch_repositories found;

    if (!may_have_submodules(git))
        return false;
    ch_repositories_find(&arena, tops, CH_KIND_EXECUTED, &found);
    for (size_t i = 0; i < found.n; i++)
        if (config_names_program(found.paths[i], "config") ||
            config_names_program(found.paths[i], "config.worktree"))
            return true;
    return found.cut;
}

/* The repository of a directory is looked for upwards, as Git does. A .git that is a file
 * leads elsewhere, so nothing is known. */
static bool runs_configured_program(const struct ch_bound *b) {
    CH_BUF_AUTO dir = {0}, git = {0};
    struct stat st;

    if (strcmp(approval_base_name(b->real), "git") != 0)
        return false;
    ch_buf_add_str(&dir, b->cwd);
    while (dir.n) {
        ch_buf_clear(&git);
        ch_buf_addf(&git, "%s/.git", ch_buf_str(&dir));
        if (lstat(ch_buf_str(&git), &st) == 0)
            return !S_ISDIR(st.st_mode) || repository_names_program(ch_buf_str(&git)) ||
                   submodules_name_program(ch_buf_str(&dir), ch_buf_str(&git));
        const char *slash = memrchr(dir.p, '/', dir.n);
        dir.n = slash ? (size_t)(slash - dir.p) : 0;
        dir.p[dir.n] = '\0';
    }
    return false;
}

/* Git commands that work on the repository of the directory alone. Other commands may run a command
 * of their arguments, store one for later or write files anywhere. */
static const char git_stays[] =
    "add annotate archive blame branch cat-file check-attr check-ignore cherry cherry-pick "
    "checkout clean commit count-objects describe diff diff-files diff-index diff-tree fetch "
    "for-each-ref fsck gc grep log ls-files ls-remote ls-tree merge merge-base mv name-rev notes "
    "prune pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm "
    "shortlog show show-branch show-ref sparse-checkout stash status switch symbolic-ref tag "
    "update-index verify-commit verify-tag version whatchanged write-tree";

static bool git_stays_here(const char *command) {
    struct ch_sv rest = ch_sv_str(git_stays);

    while (rest.n)
        if (ch_sv_is(ch_sv_split(&rest, ' '), command))
            return true;
    return false;
}

/* Is the word the option, the option with a value, an abbreviation of it, or a group of short
 * options with this letter? */
static bool is_option(const char *word, const char *option) {
    size_t n = strcspn(word, "=");

    if (option[1] != '-')
        return word[0] == '-' && word[1] != '-' && strchr(word, option[1]);
    return n > 2 && n <= strlen(option) && strncmp(word, option, n) == 0;
}

/* May Git do more than work on the repository of the directory, by words that a rule or a grant
 * leaves open? Options before the name of the command, such as -C, choose another repository.
 * Options that run a command are an obstacle (executable.c). fixed: number of words that the rule
 * spells out, with the program. */
static bool git_may_reach_out(const struct ch_bound *b, size_t fixed) {
    const struct ch_words *w = &b->words;
    size_t at = w->n > 1 && strcmp(w->v[1], "--no-pager") == 0 ? 2 : 1;

    if (strcmp(approval_base_name(b->real), "git") != 0 || w->n <= at || w->n <= fixed)
        return false;
    if (fixed <= at && !git_stays_here(w->v[at]))
        return true;
    bool archive = strcmp(w->v[at], "archive") == 0;
    for (size_t k = CH_MAX(at + 1, fixed); k < w->n; k++)
        if (is_option(w->v[k], "--output") ||
            (archive && (is_option(w->v[k], "-o") || is_option(w->v[k], "--remote"))))
            return true;
    return false;
}

static bool command_matches(const struct rule *r, const chela_call *call,
                            const struct ch_bound *b) {
    char *workspace = realpath(call->workspace, NULL);
    bool known =
        r->full_box ? b->words.v && b->real && ch_executable_runs_project(b->real) : !b->obstacle;
    bool proved = known && b->plan.plain && workspace && is_inside(b->cwd, workspace) &&
                  !is_inside(b->real, workspace) && !is_inside(b->program, workspace);

    free(workspace);
    return proved && same_program(r->words.v[0], b) && same_arguments(r, &b->words) &&
           !runs_configured_program(b) && !git_may_reach_out(b, fixed_words(r));
}

/* True if a word NAME=GLOB of the rule matches this argument. */
static bool argument_matches(const struct rule *r, struct ch_sv name, const struct ch_json *value) {
    CH_BUF_AUTO text = {0};

    ch_json_add_text(&text, value);
    if (text.n && memchr(text.p, '\0', text.n))
        return false;
    for (size_t i = 0; i < r->words.n; i++) {
        struct ch_sv glob = ch_sv_str(r->words.v[i]);
        struct ch_sv key = ch_sv_split(&glob, '=');
        if (glob.p && ch_sv_eq(key, name) && ch_glob_word(glob.p, ch_buf_str(&text)))
            return true;
    }
    return false;
}

/* Every argument of the call must match the rule, and every argument of the rule must be
 * given: the rule does not cover other arguments or defaults. */
static bool arguments_match(const struct rule *r, const struct ch_json *args) {
    for (CH_JSON_MEMBERS(key, value, args))
        if (!argument_matches(r, ch_json_str(key), value))
            return false;
    for (size_t i = 0; i < r->words.n; i++) {
        struct ch_sv rest = ch_sv_str(r->words.v[i]);
        if (!ch_json_get_sv(args, ch_sv_split(&rest, '=')))
            return false;
    }
    return true;
}

enum ch_vouch ch_approvals_vouch(const struct ch_approvals *a, const chela_call *call,
                                 const struct ch_bound *b) {
    if (stated_level(a, call->tool) < 0 && call->tool->only_looks && call->tool->only_looks(call))
        return CH_VOUCH_YES;
    for (size_t i = 0; a && i < a->nrules; i++) {
        const struct rule *r = &a->rules[i];
        if (strcmp(r->tool, call->tool->name) != 0)
            continue;
        if (b->plan.command.n ? command_matches(r, call, b) : arguments_match(r, call->args))
            return r->full_box ? CH_VOUCH_IN_BOX : CH_VOUCH_YES;
    }
    return CH_VOUCH_NO;
}

/* --- grants ---------------------------------------------------------------------- */

/* "git log:*", "git log *" and "git log*" allow further arguments: true, and the pattern loses
 * its end in the first two. */
static bool grant_take_star(struct ch_sv *pattern) {
    struct ch_sv p = ch_sv_trim(*pattern);
    bool open = p.n && p.p[p.n - 1] == '*';

    if (open && p.n > 1 && (p.p[p.n - 2] == ':' || p.p[p.n - 2] == ' '))
        p.n -= 2;
    *pattern = ch_sv_trim(p);
    return open;
}

int ch_approvals_grant(struct ch_approvals *a, struct ch_sv tool, struct ch_sv pattern) {
    struct grant g = {.open = grant_take_star(&pattern)};

    if (a->ngrants == CH_LIMIT_RULES)
        return CHELA_ELIMIT;
    if (pattern.n && !ch_sv_is(pattern, "*")) {
        g.words = ch_shell_words(&a->arena, pattern, CH_WORDS_PATTERN);
        if (!ch_sv_is(tool, "exec") || !g.words.v || strpbrk(g.words.v[0], "*?\\"))
            return CHELA_EINVAL;
    }
    g.tool = ch_strndup(tool.p, tool.n);
    a->grants = ch_realloc(a->grants, (a->ngrants + 1) * sizeof(*a->grants));
    a->grants[a->ngrants++] = g;
    return 0;
}

void ch_approvals_revoke(struct ch_approvals *a) {
    while (a->ngrants > 0)
        ch_free(a->grants[--a->ngrants].tool);
    if (!a->nrules) /* the arena holds the words of rules and grants */
        ch_arena_release(&a->arena);
}

static const char *without_dot(const char *path) {
    return strncmp(path, "./", 2) == 0 ? path + 2 : path;
}

/* A relative path is compared as it is written: the working directory is the workspace. */
static bool grant_names(const struct grant *g, const struct ch_bound *b) {
    const char *named = g->words.v[0];

    if (named[0] != '/' && strchr(named, '/'))
        return strcmp(without_dot(named), without_dot(b->words.v[0])) == 0;
    return same_program(named, b);
}

static bool grant_begins(const struct grant *g, const struct ch_words *words) {
    if (words->n < g->words.n || (words->n > g->words.n && !g->open))
        return false;
    for (size_t i = 1; i < g->words.n; i++)
        if (!ch_glob_word(g->words.v[i], words->v[i]))
            return false;
    return true;
}

static enum ch_vouch grant_vouches(const struct grant *g, const chela_call *call,
                                   const struct ch_bound *b) {
    if (!g->words.n)
        return CH_VOUCH_IN_BOX;
    char *workspace = realpath(call->workspace, NULL);
    bool fits = workspace && b->words.v && b->real && b->plan.plain &&
                is_inside(b->cwd, workspace) && grant_names(g, b) && grant_begins(g, &b->words);
    bool proved = fits && !b->obstacle && !is_inside(b->real, workspace) &&
                  !is_inside(b->program, workspace) && !runs_configured_program(b) &&
                  !git_may_reach_out(b, g->words.n);

    free(workspace);
    return proved ? CH_VOUCH_YES : fits ? CH_VOUCH_IN_BOX : CH_VOUCH_NO;
}

enum ch_vouch ch_approvals_granted(const struct ch_approvals *a, const chela_call *call,
                                   const struct ch_bound *b) {
    enum ch_vouch best = CH_VOUCH_NO;

    for (size_t i = 0; a && i < a->ngrants && best != CH_VOUCH_YES; i++) {
        const struct grant *g = &a->grants[i];
        if (strcmp(g->tool, call->tool->name) != 0)
            continue;
        enum ch_vouch vouch = b->plan.command.n ? grant_vouches(g, call, b)
                              : g->words.n      ? CH_VOUCH_NO
                                                : CH_VOUCH_YES;
        best = vouch == CH_VOUCH_NO ? best : vouch;
    }
    return best;
}

/* --- explaining a rule -------------------------------------------------------------- */

static void explain_command(const struct rule *r, const char *file, const char *lacks,
                            struct ch_buf *out) {
    bool open = r->words.n > 1 && strcmp(r->words.v[r->words.n - 1], "**") == 0;

    if (!file) {
        ch_buf_addf(out, "there is no program %s in PATH", r->words.v[0]);
        return;
    }
    ch_buf_addf(out, "%s with ", file);
    ch_buf_add_str(out, r->full_box      ? "these and any further arguments"
                        : open           ? "these arguments, then any that are no options"
                        : r->words.n > 1 ? "exactly these arguments"
                                         : "no arguments");
    ch_buf_addf(out, "; it reads %s", ch_executable_reads(file));
    if (strcmp(approval_base_name(file), "git") == 0)
        ch_buf_add_str(out, ", and runs no command that they name");
    if (r->full_box)
        ch_buf_addf(out, "; %s%s",
                    lacks ? "calls are asked about, for this machine lacks a layer "
                            "of the sandbox: "
                          : "only in the full sandbox without a network",
                    lacks ? lacks : "");
}

static void explain_rule(const struct rule *r, const char *path, const char *lacks,
                         struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO detail = {0};
    bool command = strcmp(r->tool, "exec") == 0;
    const char *file = command ? ch_executable_find(&arena, r->words.v[0], path, "/") : NULL;
    bool ok = !command || (file && !(r->full_box && lacks));

    if (command)
        explain_command(r, file, lacks, &detail);
    else
        ch_buf_add_str(&detail, "calls with exactly these arguments, whatever the tool reads");
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "area", "rule");
    ch_jw_kcstr(w, "name", r->text);
    ch_jw_kcstr(w, "status", ok ? "ok" : "warn");
    ch_jw_kstr(w, "detail", ch_buf_sv(&detail));
    ch_jw_kcstr(w, "tool", r->tool);
    if (file) {
        ch_jw_kcstr(w, "program", file);
        ch_jw_kcstr(w, "reads", ch_executable_reads(file));
    }
    ch_jw_end(w, '}');
}

void ch_approvals_explain(const struct ch_approvals *a, const char *path, const char *lacks,
                          struct ch_jw *out) {
    ch_jw_begin(out, '[');
    for (size_t i = 0; a && i < a->nrules; i++)
        explain_rule(&a->rules[i], path, lacks, out);
    ch_jw_end(out, ']');
}

/* --- memory ---------------------------------------------------------------------------- */

void ch_memory_release(struct ch_memory *m) {
    ch_free(m->digests);
    *m = (struct ch_memory){0};
}

void ch_memory_add(struct ch_memory *m, const unsigned char digest[CH_SHA256_SIZE]) {
    if (!m->digests)
        m->digests = ch_malloc(CH_LIMIT_REMEMBERED * sizeof(*m->digests));
    memcpy(m->digests[m->next], digest, CH_SHA256_SIZE);
    m->next = (m->next + 1) % CH_LIMIT_REMEMBERED;
    m->n = CH_MIN(m->n + 1, (size_t)CH_LIMIT_REMEMBERED);
}

bool ch_memory_has(const struct ch_memory *m, const unsigned char digest[CH_SHA256_SIZE]) {
    for (size_t i = 0; m && i < m->n; i++)
        if (memcmp(m->digests[i], digest, CH_SHA256_SIZE) == 0)
            return true;
    return false;
}

/* --- detecting self-approval ------------------------------------------------------------- */

static bool approval_is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || (unsigned char)c >= 0x80;
}

/* Finds "/approve" as a separate word anywhere, also after a wrapper, a pipe or a quote. As
 * part of a longer path it is a file name. */
bool ch_approval_is_self_approve(struct ch_sv text) {
    static const char word[] = "/approve";
    size_t n = sizeof(word) - 1;

    for (size_t i = 0; text.n >= n && i <= text.n - n; i++) {
        if (!ch_sv_eq_nocase(ch_sv(text.p + i, n), ch_sv(word, n)))
            continue;
        bool starts = i == 0 || !(approval_is_name(text.p[i - 1]) || text.p[i - 1] == '/');
        bool ends = i + n == text.n || !(approval_is_name(text.p[i + n]) || text.p[i + n] == '/');
        if (starts && ends)
            return true;
    }
    return false;
}
