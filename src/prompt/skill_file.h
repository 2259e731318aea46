/* skill_file.h -- parses the head of a SKILL.md.
 *
 * A skill is a folder with a SKILL.md: instructions that a model reads on demand. This
 * module reads only the head of that file: YAML between two lines of "---" or, without it,
 * the first heading and paragraph. Invalid YAML (a colon in a description suffices) is read
 * line by line as "key: value". Nothing in the file is executed or expanded. */
#ifndef CH_PROMPT_SKILL_FILE_H
#define CH_PROMPT_SKILL_FILE_H
#include "base/arena.h"
#include "json/json.h"

struct ch_skill_head { /* texts are in the arena; "" if not given */
    const char *name, *description, *version;
    /* Required programs and variables, NULL-terminated. */
    const char *const *bins, *const *any_bins, *const *env;
    /* Tools that the author wants to run without questions, as written: "Bash(git:*)";
     * NULL-terminated. */
    const char *const *tools;
    bool for_users;  /* people may call it: /name */
    bool for_models; /* described to the model */
    const char *problem; /* why the skill cannot be used; NULL: none */
    const char *warning; /* NULL, or how the file departs from the format */
};

/* folder: name of the skill's folder, used if the file gives no name. */
struct ch_skill_head ch_skill_head_read(struct ch_arena *a, struct ch_sv file, const char *folder);

/* The text after the front matter. */
struct ch_sv ch_skill_body(struct ch_sv file);

/* The front matter as JSON, in the arena; NULL: none, or no YAML object. */
const struct ch_json *ch_skill_front_matter(struct ch_arena *a, struct ch_sv file);

#endif
