/* prompt.h -- prompts as files: their versions, which one is used, and what
 * becomes of one when its holes are filled.
 *
 * A runtime knows the prompts that come with chela (router, planner, executor,
 * reflector, summariser); files of your own add versions and prompts. See
 * docs/prompts.md for the files. Every text handed out is yours to
 * chela_free. */
#ifndef CHELA_PROMPT_H
#define CHELA_PROMPT_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

/* Read every DIR/NAME/vVERSION[.VARIANT].txt; one that chela has too takes its
 * place. Blocking. err names the file and the line that is wrong. */
CHELA_API int chela_prompts_load(chela_runtime *rt, const char *dir, struct chela_error *err);

/* Use this version instead of the newest (percent 0), or give it to so many
 * sessions in a hundred. CHELA_ENOENT names the versions there are. */
CHELA_API int chela_prompts_rule(chela_runtime *rt, const char *name, const char *version,
                                 unsigned percent, struct chela_error *err);

/* A JSON array of {"name","version","variant","used","fingerprint",
 * "description","changelog","variables":[{"name","about","untrusted"}],"schema",
 * "headings","modules","where"}, by name and version; used says whether it is
 * what a session outside a roll-out gets. */
CHELA_API char *chela_prompts_json(chela_runtime *rt, struct chela_error *err);

struct chela_prompt_query {
    size_t size; /* set by CHELA_PROMPT_QUERY */
    const char *name;
    const char *version; /* NULL: by the rules, else the newest */
    const char *model;   /* picks a variant; may be NULL */
    const char *session; /* its key settles a roll-out; may be NULL */
};
#define CHELA_PROMPT_QUERY(...) {.size = sizeof(struct chela_prompt_query), __VA_ARGS__}

/* One of them as above, and its "text". NULL and CHELA_ENOENT: there is none. */
CHELA_API char *chela_prompt_json(chela_runtime *rt, const struct chela_prompt_query *q,
                                  struct chela_error *err);

/* values: a JSON object, a member for each variable; what is no string is
 * written as JSON. {"fingerprint","system","user","tokens"}, the last a guess;
 * NULL and err if a value is missing or has no hole. */
CHELA_API char *chela_prompt_render(chela_runtime *rt, const struct chela_prompt_query *q,
                                    const char *values, size_t len, struct chela_error *err);

CHELA_END_DECLS
#endif
