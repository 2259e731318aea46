/* skill_tools.c -- see skill_tools.h. */
#include "prompt/skill_tools.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tool/registry/registry.h"

/* Names of other programs, and the tools that they stand for. "": the tool needs no approval, or
 * has no counterpart whose calls could be allowed. */
static const struct {
    const char *theirs, *ours;
} names[] = {
    {"Agent", ""},
    {"AskUserQuestion", "ask_user"},
    {"Bash", "exec"},
    {"BashOutput", ""},
    {"Edit", "edit,apply_patch"},
    {"ExitPlanMode", ""},
    {"Glob", "find"},
    {"Grep", "grep"},
    {"KillShell", ""},
    {"LS", "ls"},
    {"MultiEdit", "edit,apply_patch"},
    {"NotebookEdit", "edit"},
    {"NotebookRead", "read"},
    {"Read", "read"},
    {"Shell", "exec"},
    {"Skill", ""},
    {"SlashCommand", ""},
    {"Task", ""},
    {"TodoRead", "todo"},
    {"TodoWrite", "todo"},
    {"WebFetch", "web_fetch"},
    {"WebSearch", "web_search"},
    {"Write", "write"},
};

bool ch_skills_want_tools(const struct ch_skills *s) {
    for (size_t i = 0; i < s->n; i++)
        if (!s->list[i].problem && s->list[i].allowed && s->list[i].head.tools[0])
            return true;
    return false;
}

/* --- the digest ------------------------------------------------------------------- */

static void skill_tools_hash(struct ch_sha256 *h, const char *text) {
    uint64_t n = strlen(text);
    ch_sha256_add(h, &n, sizeof(n));
    ch_sha256_add(h, text, n);
}

static int skill_tools_by_bytes(const void *a, const void *b) {
    return memcmp(a, b, CH_SHA256_SIZE);
}

/* The digest does not depend on the order of the skills, nor on the question whether their
 * requirements are met on this machine. */
void ch_skills_tools_digest(const struct ch_skills *s, char hex[2 * CH_SHA256_SIZE + 1]) {
    CH_BUF_AUTO all = {0};
    unsigned char digest[CH_SHA256_SIZE];
    for (size_t i = 0; i < s->n; i++) {
        const struct ch_skill *skill = &s->list[i];
        struct ch_sha256 h;
        if (skill->of_user || !skill->head.tools[0])
            continue;
        ch_sha256_init(&h);
        skill_tools_hash(&h, skill->head.name);
        skill_tools_hash(&h, skill->location);
        for (const char *const *tool = skill->head.tools; *tool; tool++)
            skill_tools_hash(&h, *tool);
        ch_sha256_end(&h, digest);
        ch_buf_add(&all, digest, sizeof(digest));
    }
    if (all.n)
        qsort(all.p, all.n / CH_SHA256_SIZE, CH_SHA256_SIZE, skill_tools_by_bytes);
    ch_sha256_of(ch_buf_sv(&all), digest);
    ch_sha256_hex(digest, hex);
}

/* --- granting ---------------------------------------------------------------------- */

/* "Bash(git:*)" -> "Bash", "git:*"; "Bash" -> "Bash", .p NULL. */
static struct ch_sv skill_tools_split(struct ch_sv entry, struct ch_sv *pattern) {
    const char *open = memchr(entry.p, '(', entry.n);
    *pattern = ch_sv(NULL, 0);
    if (!open || entry.p[entry.n - 1] != ')')
        return entry;
    size_t n = (size_t)(open - entry.p);
    *pattern = ch_sv_trim(ch_sv(open + 1, entry.n - n - 2));
    return ch_sv(entry.p, n);
}

/* The tools of a name, comma-separated; "": none needs a grant; .p NULL: unknown. */
static struct ch_sv skill_tools_ours(const struct ch_registry *tools, struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_is(name, names[i].theirs))
            return ch_sv_str(names[i].ours);
    if (ch_sv_starts(name, "mcp__")) /* SERVER__TOOL here */
        name = ch_sv(name.p + strlen("mcp__"), name.n - strlen("mcp__"));
    return ch_registry_find(tools, name) ? name : ch_sv(NULL, 0);
}

/* False: the entry is not understood. */
static bool skill_tools_add(struct ch_sv entry, const struct ch_registry *tools,
                            struct ch_approvals *out) {
    struct ch_sv pattern, name = skill_tools_split(entry, &pattern);
    struct ch_sv ours = skill_tools_ours(tools, name);
    CH_AUTO(ch_approvals) trial = NULL;
    bool understood = ours.p && !(pattern.p && !pattern.n); /* "Bash()" names no command */
    if (!out && ch_approvals_new(NULL, NULL, &trial, NULL) == 0)
        out = trial;
    while (understood && out && ours.n)
        understood = ch_approvals_grant(out, ch_sv_split(&ours, ','), pattern) == 0;
    return understood;
}

void ch_skill_tools_grant(const struct ch_skill *skill, const struct ch_registry *tools,
                          struct ch_approvals *out, struct ch_buf *unknown) {
    for (const char *const *tool = skill->head.tools; *tool; tool++)
        if (!skill_tools_add(ch_sv_str(*tool), tools, out))
            ch_buf_addf(unknown, "%s%s", unknown->n ? ", " : "", *tool);
}

void ch_skill_tools_show(const struct ch_skill *skill, struct ch_buf *out) {
    for (const char *const *tool = skill->head.tools; *tool; tool++)
        ch_buf_addf(out, "%s%s", tool == skill->head.tools ? "" : " ", *tool);
}
