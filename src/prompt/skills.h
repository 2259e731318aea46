/* skills.h -- finds and checks the skills of an agent and describes them to the model.
 *
 * Skills are folders below several roots. Of two skills with one name, the one in the
 * earlier root is used; the other is listed with the reason, as is every invalid skill.
 * Only names and descriptions go into the prompt: the model reads a skill on demand. */
#ifndef CH_PROMPT_SKILLS_H
#define CH_PROMPT_SKILLS_H
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "prompt/skill_file.h"

struct ch_skill {
    struct ch_skill_head head;
    const char *file;     /* absolute path of its SKILL.md */
    const char *location; /* the path as shown to the model */
    const char *problem;  /* NULL: usable */
    bool allowed;         /* permitted by the agent's list */
    bool told;            /* included in <available_skills> */
    bool of_user;         /* not of the workspace: below a root in user_roots */
    struct timespec changed; /* modification time of the file when read */
    ino_t inode;             /* 0: the file is not read */
};

struct ch_skills { /* zeroed: none */
    struct ch_arena arena;
    struct ch_skill *list; /* sorted by name, used ones first */
    size_t n, cap;
    size_t places; /* while loading: how many more may be added */
    bool cut;      /* more than CH_LIMIT_SKILLS, or too many in one folder */
    size_t untold; /* usable by models, but without room in the prompt */
    bool trusted;  /* set by the owner: the tools of skills count (skill_tools.h) */
};

struct ch_skills_opts {
    const char *workspace;    /* absolute */
    /* Absolute, in order of precedence; NULL-terminated; those of the workspace come first.
     * roots NULL: the usual ones of the workspace. */
    const char *const *roots, *const *user_roots;
    /* Names and globs, comma separated; NULL: all. "user:NAME" and "user:*" match skills of
     * user_roots only. */
    const char *allow;
    const char *path;         /* PATH for required programs */
    const char *(*env)(const char *name, void *user); /* NULL: nothing is set */
    void *user;
};

/* Blocks. A missing root has no skills; any other problem is recorded in the affected
 * skill. */
void ch_skills_load(struct ch_skills *s, const struct ch_skills_opts *opts);
void ch_skills_release(struct ch_skills *s);

/* The usable skill of this name; NULL: none. */
const struct ch_skill *ch_skills_find(const struct ch_skills *s, struct ch_sv name);

/* Append the used skills whose version has changed, "the skill deploy (version 1.3)",
 * comma-separated; out may contain others already. Blocks. */
void ch_skills_changes(const struct ch_skills *s, struct ch_buf *out);

/* Append <available_skills> for the system prompt; nothing if the model has none. Sorted by
 * name, up to CH_LIMIT_SKILLS_PROMPT; a note gives the number and location of the rest. */
void ch_skills_describe(const struct ch_skills *s, struct ch_buf *out);

#endif
