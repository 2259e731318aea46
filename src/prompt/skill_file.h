/* skill_file.h -- what a SKILL.md says about itself.
 *
 * A skill is a folder with a SKILL.md: instructions that a model reads when it
 * needs them. Here only the head of that file is looked at: YAML between two
 * lines of "---", or, in a file without it, its first heading and paragraph.
 * YAML that does not parse (a colon in a description is enough) is read line by
 * line instead, as "key: value". Nothing in the file is run or expanded. */
#ifndef CH_PROMPT_SKILL_FILE_H
#define CH_PROMPT_SKILL_FILE_H
#include "base/arena.h"

struct ch_skill_head { /* texts are in the arena; "" where the file has none */
    const char *name, *description, *version;
    /* Programs and variables that have to be there, NULL-terminated. */
    const char *const *bins, *const *any_bins, *const *env;
    bool for_users;  /* may be called by a person: /name */
    bool for_models; /* is described to the model */
    const char *problem; /* NULL, or why the file cannot be used */
};

/* folder: the name of the skill's folder, used when the file names none. */
struct ch_skill_head ch_skill_head_read(struct ch_arena *a, struct ch_sv file, const char *folder);

#endif
