/* prompts.h -- the versions of every prompt, and which one is used.
 *
 * Prompts are files: DIR/router/v1.0.txt, DIR/router/v1.1.txt, and beside them
 * variants for a kind of model, v1.1.claude.txt, taken where the model's name
 * holds that word. Versions are compared as numbers: 1.10 comes after 1.9. The
 * files below prompts/ of the source tree are part of the library.
 *
 * The newest version is used, unless one is pinned, or a newer one is rolled out
 * to some sessions in a hundred: which ones is settled by their key, so that a
 * session never changes its prompt. Taking a roll-out away is the way back.
 *
 *     struct ch_prompts c = {0};
 *     ch_prompts_builtin(&c, err);
 *     ch_prompts_load(&c, dir, err);          of the user, if there are
 *     ch_prompts_link(&c, err);
 *     ch_prompts_render(&c, &q, values, n, &text, &used, err);
 *     ... send text.system and text.user, note used->fingerprint, hold the
 *     answer to used->head.schema. */
#ifndef CH_PROMPT_PROMPTS_H
#define CH_PROMPT_PROMPTS_H
#include "prompt/prompt.h"

struct ch_prompt_entry {
    const char *variant; /* "": for every model */
    bool linked;
    struct ch_prompt prompt;
};

struct ch_prompt_rule {
    const char *name;    /* of the prompt */
    const char *version; /* pinned, or rolled out */
    bool pinned;         /* for all that no roll-out takes */
    unsigned percent;    /* of the sessions, otherwise */
};

struct ch_prompts { /* zeroed: empty */
    struct ch_arena arena;
    struct ch_prompt_entry *list; /* by name, version, variant */
    size_t n, cap;
    struct ch_prompt_rule *rules;
    size_t nrules, rules_cap;
    const char *dir; /* that was loaded last; NULL: none */
};

void ch_prompts_release(struct ch_prompts *c);

/* Of two with one name, version and variant the later one counts: a user's file
 * takes the place of a built-in one. where: as ch_prompt_read. CHELA_EINVAL:
 * not a version. */
int ch_prompts_add(struct ch_prompts *c, const char *name, const char *version,
                   const char *variant, const char *where, struct ch_sv text,
                   struct chela_error *err);

/* The cases of a prompt, DIR/NAME/cases.yaml or else as above, appended; *where
 * is the name to use in messages, in c. CHELA_ENOENT: it has none. */
int ch_prompts_cases(struct ch_prompts *c, const char *name, struct ch_buf *out,
                     const char **where, struct chela_error *err);
bool ch_prompts_has_cases(const struct ch_prompts *c, const char *name);

/* Every DIR/NAME/vVERSION[.VARIANT].txt. Blocking. The first file that is
 * broken ends it; err names the file. */
int ch_prompts_load(struct ch_prompts *c, const char *dir, struct chela_error *err);

/* Put the modules of prompts in. Once all are there, before any is used; again
 * after more were added. CHELA_ENOENT: there is no such module. */
int ch_prompts_link(struct ch_prompts *c, struct chela_error *err);

/* Use a version instead of the newest; or for so many sessions in a hundred, and
 * for no others unless it is pinned. CHELA_ENOENT: there is none. */
int ch_prompts_pin(struct ch_prompts *c, const char *name, const char *version,
                   struct chela_error *err);
int ch_prompts_rollout(struct ch_prompts *c, const char *name, const char *version,
                       unsigned percent, struct chela_error *err);

struct ch_prompt_query {
    const char *name;
    const char *version; /* NULL: what the rules say, or the newest */
    const char *model;   /* NULL: any */
    const char *session; /* its key; NULL: no roll-out */
};

/* NULL when there is none; err names what is known instead. */
const struct ch_prompt *ch_prompts_pick(const struct ch_prompts *c,
                                        const struct ch_prompt_query *q, struct chela_error *err);

/* Pick and render: appended to *out, *used is what was picked, until the next
 * change of c. */
int ch_prompts_render(const struct ch_prompts *c, const struct ch_prompt_query *q,
                      const struct ch_prompt_value *values, size_t n, struct ch_prompt_text *out,
                      const struct ch_prompt **used, struct chela_error *err);

/* As numbers, part by part: "1.9" < "1.10" < "2". */
int ch_version_compare(const char *a, const char *b);

#endif
