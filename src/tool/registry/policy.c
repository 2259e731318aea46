/* policy.c -- see policy.h. */
#include "tool/registry/policy.h"

#include "base/choice.h"
#include "base/error.h"
#include "base/mem.h"
#include "tool/registry/registry.h"

/* --- groups ------------------------------------------------------------------ */

/* Groups are defined by what tools access, so that a list remains valid when tools are
 * added. A tool may be in several groups. */
static const struct {
    const char *name, *members;
} groups[] = {
    {"group:files", "read,write,edit,apply_patch,ls,find,grep"},
    {"group:runtime", "exec,process"},
    {"group:net", "web_search,web_fetch"},
    {"group:data", "query_database"},
    {"group:memory", "memory_search,memory_write"},
    {"group:messaging", "message,send_email,chat_react,chat_recall,chat_mute,chat_remove"},
    {"group:basic", "calculate,time,todo,ask_user"},
};

const char *ch_policy_group(struct ch_sv word) {
    for (size_t i = 0; i < CH_LEN(groups); i++)
        if (ch_sv_is(word, groups[i].name))
            return groups[i].members;
    return NULL;
}

bool ch_policy_grouped(struct ch_sv name) {
    for (size_t i = 0; i < CH_LEN(groups); i++)
        if (ch_tool_matches(ch_sv_str(groups[i].members), name))
            return true;
    return false;
}

void ch_policy_groups(struct ch_buf *out) {
    for (size_t i = 0; i < CH_LEN(groups); i++)
        ch_buf_addf(out, "%s%s", i ? ", " : "", groups[i].name);
}

/* --- lists -------------------------------------------------------------------- */

static struct ch_sv policy_next_word(struct ch_sv *list) {
    while (list->n) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(list, ','));
        if (word.n)
            return word;
    }
    return ch_sv(NULL, 0);
}

static bool word_matches(struct ch_sv word, struct ch_sv name) {
    const char *members = ch_policy_group(word);

    return ch_tool_matches(members ? ch_sv_str(members) : word, name);
}

bool ch_policy_listed(struct ch_sv list, struct ch_sv name) {
    for (struct ch_sv word; (word = policy_next_word(&list)).n;)
        if (word_matches(word, name))
            return true;
    return false;
}

bool ch_policy_contradicts(struct ch_sv word, struct ch_sv deny) {
    bool definite = !ch_sv_starts(word, "group:") && !memchr(word.p, '*', word.n) &&
                    !memchr(word.p, '?', word.n);

    for (struct ch_sv other; (other = policy_next_word(&deny)).n;)
        if (ch_sv_eq(word, other) || (definite && word_matches(other, word)))
            return true;
    return false;
}

static int check_list(const char *list, struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(list);
    CH_BUF_AUTO known = {0};

    for (struct ch_sv word; (word = policy_next_word(&rest)).n;) {
        if (!ch_sv_starts(word, "group:") || ch_policy_group(word))
            continue;
        ch_policy_groups(&known);
        return ch_fail(err, CHELA_EINVAL, "there is no %.*s (there are %s)",
                       (int)CH_MIN(word.n, (size_t)80), word.p, ch_buf_str(&known));
    }
    return 0;
}

/* --- the policy ----------------------------------------------------------------- */

int ch_policy_init(struct ch_policy *p, const char *allow, const char *deny,
                   enum chela_permission permission, struct chela_error *err) {
    int rc = ch_choice_check(CHELA_CHOICE_PERMISSION, permission, err);

    *p = (struct ch_policy){.permission = permission};
    if (rc == 0)
        rc = check_list(allow, err);
    if (rc == 0)
        rc = check_list(deny, err);
    if (rc < 0)
        return rc;
    p->allow = ch_strdup(allow);
    p->deny = ch_strdup(deny);
    return 0;
}

void ch_policy_release(struct ch_policy *p) {
    ch_free(p->allow);
    ch_free(p->deny);
    *p = (struct ch_policy){0};
}

/* The enum is in descending order: read has the highest value and the least power. */
static bool permission_within(enum chela_permission needs, enum chela_permission bound) {
    return needs >= bound;
}

bool ch_policy_allows(const struct ch_policy *p, struct ch_sv name, enum chela_permission needs) {
    if (p && p->always && ch_sv_is(name, p->always))
        return true;
    if (p && p->own && ch_policy_listed(ch_sv_str(p->own), name))
        return true;
    if (p && p->absent && ch_sv_is(name, p->absent))
        return false;
    for (; p; p = p->within) {
        if (!permission_within(needs, p->permission))
            return false;
        if (p->deny && ch_policy_listed(ch_sv_str(p->deny), name))
            return false;
        if (p->allow && !ch_policy_listed(ch_sv_str(p->allow), name))
            return false;
    }
    return true;
}

bool ch_policy_permits(const struct ch_policy *p, const struct ch_tool *t) {
    return t->flags & CH_TOOL_OF_CLIENT ||
           ch_policy_allows(p, ch_sv_str(t->name), t->permission);
}

static const char *const levels[] = {"auto", "sandbox", "ask", "deny"};

const char *ch_consent_name(enum ch_consent level) {
    return levels[level];
}

bool ch_consent_parse(struct ch_sv word, enum ch_consent *out) {
    for (size_t i = 0; i < CH_LEN(levels); i++)
        if (ch_sv_is(word, levels[i])) {
            *out = (enum ch_consent)i;
            return true;
        }
    return false;
}

int ch_consent_read(enum chela_approve choice, enum ch_consent *out, struct chela_error *err) {
    *out = choice == CHELA_APPROVE_AUTO      ? CH_CONSENT_AUTO
           : choice == CHELA_APPROVE_SANDBOX ? CH_CONSENT_SANDBOX
           : choice == CHELA_APPROVE_DENY    ? CH_CONSENT_DENY
                                             : CH_CONSENT_ASK;
    return ch_choice_check(CHELA_CHOICE_APPROVE, choice, err);
}
