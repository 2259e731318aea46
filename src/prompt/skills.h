/* skills.h -- the skills of an agent: found, judged, described to the model.
 *
 * They live in folders of several roots. Of two with one name the one in the
 * earlier root wins; the other is still listed, with the reason why it is not
 * used, as is every broken one. Only names and descriptions go into the prompt:
 * the model reads the rest of a skill when it needs it. */
#ifndef CH_PROMPT_SKILLS_H
#define CH_PROMPT_SKILLS_H
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "prompt/skill_file.h"

struct ch_skill {
    struct ch_skill_head head;
    const char *file;     /* absolute path of its SKILL.md */
    const char *location; /* the same as the model is told it */
    const char *problem;  /* NULL: it can be used */
    bool allowed;         /* by the agent's list */
    bool told;            /* <available_skills> has it */
    struct timespec changed; /* its file, when it was read */
};

struct ch_skills { /* zeroed: none */
    struct ch_arena arena;
    struct ch_skill *list; /* by name, those in use first */
    size_t n, cap;
    bool cut;      /* there were more than CH_LIMIT_SKILLS, or too many in one folder */
    size_t untold; /* in use and for models, but there is no room for them in the prompt */
};

struct ch_skills_opts {
    const char *workspace;    /* absolute */
    const char *const *roots; /* absolute, the first wins; NULL-terminated */
    const char *allow;        /* names and globs, comma separated; NULL: all */
    const char *path;         /* where programs are looked for */
    const char *(*env)(const char *name, void *user); /* NULL: nothing is set */
    void *user;
};

/* Blocking. A root that is not there has no skills; whatever else is wrong is
 * said about the skill it is wrong with. */
void ch_skills_load(struct ch_skills *s, const struct ch_skills_opts *opts);
void ch_skills_release(struct ch_skills *s);

/* The one that is used under this name; NULL: none. */
const struct ch_skill *ch_skills_find(const struct ch_skills *s, struct ch_sv name);

/* Those in use whose version is another by now, "the skill deploy (version 1.3)",
 * with commas; out may hold some already. Blocking. */
void ch_skills_changes(const struct ch_skills *s, struct ch_buf *out);

/* <available_skills>, for the system prompt; nothing if the model has none. In
 * the order of names, until CH_LIMIT_SKILLS_PROMPT is reached; then it says how
 * many more there are and where. */
void ch_skills_describe(const struct ch_skills *s, struct ch_buf *out);

#endif
