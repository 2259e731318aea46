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

/* Use this version instead of the newest; or give it to so many sessions in a
 * hundred, settled by their keys, and to no others unless it is pinned.
 * CHELA_ENOENT names the versions there are. */
CHELA_API int chela_prompts_pin(chela_runtime *rt, const char *name, const char *version,
                                struct chela_error *err);
CHELA_API int chela_prompts_rollout(chela_runtime *rt, const char *name, const char *version,
                                    unsigned percent, struct chela_error *err);

/* A JSON array of {"name","version","variant","used","fingerprint",
 * "description","changelog","variables":[{"name","about","untrusted"}],"schema",
 * "headings","modules","cases","where"}, by name and version; used says whether it is
 * what a session outside a roll-out gets, cases whether there are test cases. */
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

/* --- trying a prompt on its cases ------------------------------------------ */

struct chela_prompt_test_opts {
    size_t size; /* set by CHELA_PROMPT_TEST_OPTS */
    const char *name, *version; /* as in the query */
    /* The text of a case file (docs/prompts.md) and its name for messages; NULL:
     * DIR/NAME/cases.yaml, or those that come with chela. */
    const char *cases;
    size_t cases_len;
    const char *cases_name;
    const struct chela_agent_opts *agent; /* model, temperature ...; may be NULL */
    unsigned runs;     /* of each case; 0: 5 */
    unsigned parallel; /* at once; 0: 4 */
    double threshold;  /* share of a case's runs that must pass; 0: 0.9 */
    int dry_run;       /* no model: render, and judge the answers that cases carry */
    void (*progress)(unsigned ended, unsigned total, void *user); /* may be NULL */
    void *user;
};
#define CHELA_PROMPT_TEST_OPTS(...) {.size = sizeof(struct chela_prompt_test_opts), __VA_ARGS__}

/* Run each case so many times and count how many answers pass: {"prompt",
 * "version","fingerprint","model","ts","threshold","runs","passed","rate","low",
 * "high","ok","pass","usage":{"input","output","cost_usd"},"cases":[{"name",
 * "kind","runs","passed","rate","low","high","ok","failures":[{"why","answer"}]
 * }]}. low and high are Wilson's interval of 95 %; pass says that every case
 * reached the threshold. A run that fails counts as one that does not pass.
 * Blocking; not with a host's loop. NULL and err: prompt or cases are wrong. */
CHELA_API char *chela_prompt_test(chela_runtime *rt, const struct chela_prompt_test_opts *opts,
                                  struct chela_error *err);

/* Two reports of the same cases: {"difference","low","high","verdict":"better|
 * worse|same","cases":[{"name","a","b"}]}: how much b passes more often than a,
 * same if the interval of 95 % holds 0. */
CHELA_API char *chela_prompt_compare(const char *a, const char *b, struct chela_error *err);

CHELA_END_DECLS
#endif
