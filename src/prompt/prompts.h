/* prompts.h -- the versions of all prompts, and the selection of one.
 *
 * Prompts are files: DIR/router/v1.0.txt, DIR/router/v1.1.txt, and variants for a kind of
 * model, v1.1.claude.txt, used if the model's name contains that word. Versions are
 * compared as numbers: 1.10 comes after 1.9. The files below prompts/ of the source tree
 * are embedded in the library.
 *
 * The newest version is used, unless a version is pinned, or a newer version is rolled out
 * to a percentage of sessions. The session's key decides about a roll-out, so a session
 * never changes its prompt. Removing the roll-out reverts it.
 *
 *     struct ch_prompts c = {0};
 *     ch_prompts_builtin(&c, err);
 *     ch_prompts_load(&c, dir, err);          the user's prompts, if any
 *     ch_prompts_link(&c, err);
 *     ch_prompts_render(&c, &q, values, n, &text, &used, err);
 *     ... send text.system and text.user, record used->fingerprint, validate
 *     the answer against used->head.schema. */
#ifndef CH_PROMPT_PROMPTS_H
#define CH_PROMPT_PROMPTS_H
#include "prompt/prompt.h"

struct ch_prompt_entry {
    const char *variant; /* "": for every model */
    bool linked;
    struct ch_prompt prompt;
};

struct ch_prompt_rule {
    const char *name;    /* name of the prompt */
    const char *version; /* pinned or rolled out version */
    bool pinned;         /* for all sessions outside of a roll-out */
    unsigned percent;    /* share of the sessions, if not pinned */
};

struct ch_prompts { /* zeroed: empty */
    struct ch_arena arena;
    struct ch_prompt_entry *list; /* sorted by name, version, variant */
    size_t n, cap;
    struct ch_prompt_rule *rules;
    size_t nrules, rules_cap;
    const char *dir; /* directory loaded last; NULL: none */
};

void ch_prompts_release(struct ch_prompts *c);

/* An entry replaces an earlier one with the same name, version and variant: a user's file
 * replaces a built-in one. where: as ch_prompt_read. CHELA_EINVAL: not a version. */
int ch_prompts_add(struct ch_prompts *c, const char *name, const char *version,
                   const char *variant, const char *where, struct ch_sv text,
                   struct chela_error *err);

/* Append the cases of a prompt, from DIR/NAME/cases.yaml or else the built-in ones; *where
 * is the name for messages, in c. CHELA_ENOENT: no cases. */
int ch_prompts_cases(struct ch_prompts *c, const char *name, struct ch_buf *out,
                     const char **where, struct chela_error *err);
bool ch_prompts_has_cases(const struct ch_prompts *c, const char *name);

/* Load every DIR/NAME/vVERSION[.VARIANT].txt. Blocks. Stops at the first invalid file; err
 * names the file. */
int ch_prompts_load(struct ch_prompts *c, const char *dir, struct chela_error *err);

/* Insert the modules into prompts. Call it when all prompts are added, before any is used,
 * and again after more were added. CHELA_ENOENT: unknown module. */
int ch_prompts_link(struct ch_prompts *c, struct chela_error *err);

/* Pin a version, or roll a version out to a percentage of sessions; other sessions do not
 * use it unless it is pinned. CHELA_ENOENT: unknown version. */
int ch_prompts_pin(struct ch_prompts *c, const char *name, const char *version,
                   struct chela_error *err);
int ch_prompts_rollout(struct ch_prompts *c, const char *name, const char *version,
                       unsigned percent, struct chela_error *err);

struct ch_prompt_query {
    const char *name;
    const char *version; /* NULL: by the rules, or the newest */
    const char *model;   /* NULL: any */
    const char *session; /* key of the session; NULL: no roll-out */
};

/* NULL if there is no such prompt; err names the known ones. */
const struct ch_prompt *ch_prompts_pick(const struct ch_prompts *c,
                                        const struct ch_prompt_query *q, struct chela_error *err);

/* Pick and render: appends to *out; *used is the picked prompt, valid until c changes. */
int ch_prompts_render(const struct ch_prompts *c, const struct ch_prompt_query *q,
                      const struct ch_prompt_value *values, size_t n, struct ch_prompt_text *out,
                      const struct ch_prompt **used, struct chela_error *err);

/* Compare numerically, component by component: "1.9" < "1.10" < "2". */
int ch_version_compare(const char *a, const char *b);

#endif
