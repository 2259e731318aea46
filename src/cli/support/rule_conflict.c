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

/* --- names of tools in rules */

#define MOST_NAMES 16 /* of one rule */
#define NAME_SIZE 65

/* Tools of chela whose name is no ordinary word. */
static const char *const known[] = {
    "apply_patch", "web_fetch", "web_search",  "send_email", "query_database", "ask_user",
    "wait_until",  "find_tools", "call_tool",  "memory_search", "send_message", "stay_silent",
    "chat_recall", "chat_mute",  "chat_remove", "chat_react"};

/* Words beside the name of a tool; a rule is in small letters. */
static const char *const befores[] = {"tool ", "call ", "use ", "using ", "calling ",
                                      "\xe5\xb7\xa5\xe5\x85\xb7", "\xe8\xb0\x83\xe7\x94\xa8",
                                      "\xe4\xbd\xbf\xe7\x94\xa8", "\xe7\x94\xa8"};
static const char *const afters[] = {" tool", "\xe5\xb7\xa5\xe5\x85\xb7",
                                     " \xe5\xb7\xa5\xe5\x85\xb7"};
static const char *const demands[] = {
    "always ", "must ",  "every ",  "first ", "use ",  "call ",
    "\xe5\xbf\x85\xe9\xa1\xbb", "\xe6\x80\xbb\xe6\x98\xaf", "\xe5\x8a\xa1\xe5\xbf\x85",
    "\xe4\xb8\x80\xe5\xae\x9a", "\xe5\x85\x88"};

struct named {
    char list[MOST_NAMES][NAME_SIZE];
    const char *at[MOST_NAMES]; /* in the rule in small letters */
    size_t n;
};

static bool is_name_part(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool has_tool(const char *tools, const char *name) {
    char *quoted = ch_format("\"name\":\"%s\"", name);
    bool found = strstr(tools, quoted) != NULL;
    free(quoted);
    return found;
}

static bool is_known(const char *name) {
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

static bool ends_with_any(const char *text, size_t n, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(words[i]);
        if (len <= n && memcmp(text + n - len, words[i], len) == 0)
            return true;
    }
    return false;
}

static bool begins_with_any(const char *text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* Does the rule call the word from `from` to `end` a tool? Backquotes are not part of it. */
static bool is_called_tool(const char *rule, const char *from, const char *end) {
    bool quoted = from > rule && from[-1] == '`' && *end == '`';
    const char *before = quoted ? from - 1 : from, *after = quoted ? end + 1 : end;
    return quoted && (ends_with_any(rule, (size_t)(before - rule), befores,
                                    sizeof(befores) / sizeof(befores[0])) ||
                      begins_with_any(after, afters, sizeof(afters) / sizeof(afters[0])));
}

static void find_names(const char *rule, const char *tools, struct named *out) {
    out->n = 0;
    for (const char *p = rule; *p && out->n < MOST_NAMES;) {
        const char *from = p;
        while (is_name_part(*p))
            p++;
        size_t n = (size_t)(p - from);
        if (n == 0) {
            p++;
            continue;
        }
        bool quoted = from > rule && from[-1] == '`' && *p == '`';
        if (n >= NAME_SIZE || (!quoted && !memchr(from, '_', n)))
            continue;
        char *name = out->list[out->n];
        memcpy(name, from, n);
        name[n] = '\0';
        if (has_tool(tools, name) || is_known(name) || is_called_tool(rule, from, p))
            out->at[out->n++] = from;
    }
}

static bool demands_something(const char *rule) {
    for (size_t i = 0; i < sizeof(demands) / sizeof(demands[0]); i++)
        if (strstr(rule, demands[i]))
            return true;
    return false;
}

/* The rule in small letters forbids the tool that it names at `at`. */
static bool forbids(const char *rule, const char *at) {
    const char *part = forbidden_part(rule);
    return part && part < at;
}

struct ruled {
    char *small; /* owned */
    struct named names;
};

static void tell_contradictions(const char *const *rules, const struct ruled *r, size_t i,
                                size_t j, ch_rule_fault_fn *fn, void *user) {
    for (size_t a = 0; a < r[i].names.n; a++)
        for (size_t b = 0; b < r[j].names.n; b++) {
            const char *one = r[i].names.at[a], *other = r[j].names.at[b];
            bool no = forbids(r[i].small, one), nor = forbids(r[j].small, other);
            if (strcmp(r[i].names.list[a], r[j].names.list[b]) != 0 || no == nor ||
                !demands_something(no ? r[j].small : r[i].small))
                continue;
            char *text = ch_format("the rules \"%s\" and \"%s\" contradict each other about the "
                                   "tool %s",
                                   rules[i], rules[j], r[i].names.list[a]);
            fn(text, user);
            free(text);
            return;
        }
}

static void tell_lacking(const char *rule, const struct ruled *r, const char *tools,
                         ch_rule_fault_fn *fn, void *user) {
    for (size_t i = 0; i < r->names.n; i++) {
        if (has_tool(tools, r->names.list[i]) || forbids(r->small, r->names.at[i]))
            continue;
        char *text = ch_format("the rule \"%s\" names the tool %s, which the agent does not have",
                               rule, r->names.list[i]);
        fn(text, user);
        free(text);
    }
}

void ch_rule_faults(const char *const *rules, const char *tools, ch_rule_fault_fn *fn,
                    void *user) {
    size_t n = 0;
    while (rules && rules[n])
        n++;
    struct ruled *list = ch_must(calloc(n + 1, sizeof(*list)));
    for (size_t i = 0; i < n; i++) {
        list[i].small = lower(rules[i]);
        find_names(list[i].small, tools, &list[i].names);
        tell_lacking(rules[i], &list[i], tools, fn, user);
        for (size_t j = 0; j < i; j++)
            tell_contradictions(rules, list, j, i, fn, user);
    }
    for (size_t i = 0; i < n; i++)
        free(list[i].small);
    free(list);
}
