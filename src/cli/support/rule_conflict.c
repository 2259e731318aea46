/* rule_conflict.c -- see rule_conflict.h. */
#include "cli/support/rule_conflict.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chela.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"

#define WORDS 12

/* Words for one act: beginnings of English words, and Chinese words. */
static const char *const acts[][WORDS] = {
    {"delet", "remov", "eras", "drop", "purg", "destroy", "\xe5\x88\xa0\xe9\x99\xa4"},
    {"send", "email", "mail", "notif", "\xe5\x8f\x91\xe9\x80\x81"},
    {"writ", "edit", "modif", "chang", "updat", "overwrit", "\xe4\xbf\xae\xe6\x94\xb9",
     "\xe5\x86\x99\xe5\x85\xa5"},
    {"execut", "exec", "command", "shell", "\xe6\x89\xa7\xe8\xa1\x8c", "\xe8\xbf\x90\xe8\xa1\x8c"},
    {"pay", "purchas", "buy", "transfer", "refund", "\xe6\x94\xaf\xe4\xbb\x98",
     "\xe8\xbd\xac\xe8\xb4\xa6"},
    {"deploy", "publish", "releas", "\xe5\x8f\x91\xe5\xb8\x83", "\xe9\x83\xa8\xe7\xbd\xb2"},
    {"internet", "web", "brows", "download", "\xe4\xb8\x8a\xe7\xbd\x91",
     "\xe4\xb8\x8b\xe8\xbd\xbd"},
    {"install", "\xe5\xae\x89\xe8\xa3\x85"},
    {"ban", "kick", "mute", "\xe5\xb0\x81\xe7\xa6\x81", "\xe8\xb8\xa2\xe5\x87\xba"},
};

static const char *const negations[] = {
    "never ", "not ", "don't ", "no ", "avoid ", "forbidden", "prohibited",
    "\xe4\xb8\x8d\xe8\xa6\x81", "\xe4\xb8\x8d\xe5\xbe\x97", "\xe4\xb8\x8d\xe8\x83\xbd",
    "\xe7\xa6\x81\xe6\xad\xa2", "\xe4\xb8\xa5\xe7\xa6\x81"};

static const char *const conditions[] = {" without ", " unless ",  " except ", " before ",
                                         " until ",   " outside ", " if ",     " only ",
                                         "\xe9\x99\xa4\xe9\x9d\x9e", "\xe6\x9c\xaa\xe7\xbb\x8f"};

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

static char *lower(const char *text) {
    char *copy = ch_dup(text);
    for (char *p = copy; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p + 32);
    return copy;
}

/* True if a word of the text begins with `part`. Chinese has no gaps between words. */
static bool has_word(const char *text, const char *part) {
    bool wide = (unsigned char)part[0] >= 0x80;
    for (const char *p = text; (p = strstr(p, part)); p++)
        if (wide || p == text || !is_letter(p[-1]))
            return true;
    return false;
}

static bool has_act(const char *text, size_t act) {
    for (size_t i = 0; i < WORDS && acts[act][i]; i++)
        if (has_word(text, acts[act][i]))
            return true;
    return false;
}

/* The text after the first negation; NULL: the rule forbids nothing. */
static const char *forbidden_part(const char *rule) {
    const char *first = NULL;
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
        if (strstr(rule, conditions[i]))
            return NULL;
    for (size_t i = 0; i < sizeof(negations) / sizeof(negations[0]); i++) {
        const char *at = strstr(rule, negations[i]);
        if (at && (at == rule || !is_letter(at[-1]) || (unsigned char)*at >= 0x80) &&
            (!first || at < first))
            first = at;
    }
    return first;
}

struct comparison {
    const char *rule, *part; /* part: what the rule forbids, in small letters */
    ch_rule_conflict_fn *fn;
    void *user;
};

static int compare_tool(const char *tool, size_t n, void *user) {
    const struct comparison *c = user;
    char *name = chela_json_get(tool, n, "/name", NULL);
    char *description = chela_json_get(tool, n, "/description", NULL);
    char *all = ch_format("%s %s", name ? name : "", description ? description : "");
    char *text = lower(all);
    bool found = false;
    for (char *p = text; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    for (size_t k = 0; !found && k < sizeof(acts) / sizeof(acts[0]); k++)
        found = has_act(c->part, k) && has_act(text, k);
    if (found && name)
        c->fn(c->rule, name, c->user);
    free(text);
    free(all);
    chela_free(description);
    chela_free(name);
    return 0;
}

static void compare(const char *rule, const char *tools, ch_rule_conflict_fn *fn, void *user) {
    char *small = lower(rule);
    struct comparison c = {rule, forbidden_part(small), fn, user};
    if (c.part)
        chela_json_each(tools, strlen(tools), compare_tool, &c);
    free(small);
}

void ch_rule_conflicts(const char *const *rules, const char *instructions, const char *tools,
                       ch_rule_conflict_fn *fn, void *user) {
    for (size_t i = 0; rules && rules[i]; i++)
        compare(rules[i], tools, fn, user);
    for (const char *p = instructions; p && *p;) {
        size_t n = strcspn(p, ".!;\n");
        char *sentence = ch_format("%.*s", (int)n, p);
        compare(sentence, tools, fn, user);
        free(sentence);
        p += n + (p[n] != '\0');
    }
}
