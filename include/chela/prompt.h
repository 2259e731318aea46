/* prompt.h -- prompts as files: versions, selection, rendering and tests.
 *
 * A runtime has the prompts of chela: router, planner, executor, reflector, summariser and
 * others. Files of the program add versions and prompts (docs/prompts.md).
 *
 * Unless a function says otherwise:
 *   Ownership: arguments are borrowed for the call.
 *   Threads: loop
 *   Callbacks: yes
 *   Errors: none */
#ifndef CHELA_PROMPT_H
#define CHELA_PROMPT_H
#include "chela/session.h"
CHELA_BEGIN_DECLS

/* Read every file DIR/NAME/vVERSION[.VARIANT].txt. A file replaces the prompt of chela with
 * the same name, version and variant.
 * Errors: CHELA_ENOENT: the directory cannot be read, or a module is missing. CHELA_EIO: a
 * file cannot be read. CHELA_EPARSE, CHELA_EINVAL: a file is wrong; the message names the
 * file and the line. CHELA_ELIMIT: there are too many prompts, or a file is too large. */
CHELA_API int chela_prompts_load(chela_runtime *rt, const char *dir, struct chela_error *err);

/* Use this version of a prompt instead of the newest.
 * Errors: CHELA_ENOENT: there is no such prompt or version; the message lists the versions. */
CHELA_API int chela_prompts_pin(chela_runtime *rt, const char *name, const char *version,
                                struct chela_error *err);

/* Use this version of a prompt for a percentage of the sessions, which their keys select.
 * The other sessions use the version that is pinned, or the newest version that is not
 * rolled out.
 * Errors: CHELA_ENOENT: there is no such prompt or version. CHELA_EINVAL: the percentage, or
 * the sum of the percentages, exceeds 100. */
CHELA_API int chela_prompts_rollout(chela_runtime *rt, const char *name, const char *version,
                                    unsigned percent, struct chela_error *err);

/* The prompts: a JSON array of {"name","version","variant","used","fingerprint",
 * "description","changelog","variables":[{"name","about","untrusted"}],"schema","headings",
 * "modules","cases","where"}, by name and version. used: sessions outside of a roll-out get
 * the version. cases: there are test cases.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_EPARSE: the built-in prompts are damaged. */
CHELA_API char *chela_prompts_json(chela_runtime *rt, struct chela_error *err);

/* Selects a prompt. */
struct chela_prompt_query {
    size_t size; /* set by CHELA_PROMPT_QUERY */
    const char *name;
    const char *version; /* NULL: the pinned, rolled out or newest version */
    const char *model;   /* selects a variant; may be NULL */
    const char *session; /* key of a session, for roll-outs; may be NULL */
};
#define CHELA_PROMPT_QUERY(...) {.size = sizeof(struct chela_prompt_query), __VA_ARGS__}

/* A prompt, in the form of chela_prompts_json, with its "text".
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_ENOENT: there is no such prompt or version. CHELA_EINVAL: the size of q is
 * wrong, or the name is missing. */
CHELA_API char *chela_prompt_json(chela_runtime *rt, const struct chela_prompt_query *q,
                                  struct chela_error *err);

/* Render a prompt: {"fingerprint","system","user","tokens"}. values is a JSON object with a
 * member for each variable; a value that is not a string is written as JSON. tokens is an
 * estimate.
 * Ownership: the caller frees the result with chela_free.
 * Errors: CHELA_ENOENT: there is no such prompt or version. CHELA_EINVAL: a value is missing,
 * or the prompt has no such variable. CHELA_EPARSE: values is not JSON. CHELA_ELIMIT: the
 * values are too long. */
CHELA_API char *chela_prompt_render(chela_runtime *rt, const struct chela_prompt_query *q,
                                    const char *values, size_t len, struct chela_error *err);

/* --- tests of a prompt ----------------------------------------------------- */

/* A test of a prompt. */
struct chela_prompt_test_opts {
    size_t size; /* set by CHELA_PROMPT_TEST_OPTS */
    const char *name, *version; /* as in struct chela_prompt_query */
    /* The text of a case file (docs/prompts.md) and its name for messages; NULL:
     * DIR/NAME/cases.yaml, else the cases of chela. */
    const char *cases;
    size_t cases_len;
    const char *cases_name;
    const struct chela_agent_opts *agent; /* model, temperature, ...; may be NULL */
    unsigned runs;     /* runs of each case; 0: 5 */
    unsigned parallel; /* runs at the same time; 0: 4 */
    double threshold;  /* share of a case's runs that must pass; 0: 0.9 */
    int dry_run;       /* no model: render the cases and judge their example answers */
    /* Called on the loop thread after each run; may be NULL. */
    void (*progress)(unsigned ended, unsigned total, void *user);
    void *user;        /* for progress */
};
#define CHELA_PROMPT_TEST_OPTS(...) {.size = sizeof(struct chela_prompt_test_opts), __VA_ARGS__}

/* Run each case several times and count the answers that pass: {"prompt","version",
 * "fingerprint","model","ts","threshold","runs","passed","rate","low","high","ok","pass",
 * "usage":{"input","output","cost_usd"},"cases":[{"name","kind","runs","passed","rate","low",
 * "high","ok","failures":[{"why","answer"}]}]}. low and high are the Wilson interval at 95 %.
 * pass: every case reached the threshold. A run that fails counts as a run that does not
 * pass. Waits for the runs.
 * Ownership: the caller frees the result with chela_free.
 * Callbacks: no: CHELA_EBUSY
 * Errors: CHELA_ESTATE: the loop belongs to a host. CHELA_EBUSY: called from a callback.
 * CHELA_ENOENT: there is no such prompt, or it has no cases. CHELA_EIO: the file of the
 * cases cannot be read. CHELA_EINVAL, CHELA_EPARSE: the
 * cases or an option are wrong. CHELA_ELIMIT: too many cases or runs. CHELA_ECONFIG,
 * CHELA_EAUTH: the agent cannot be created. */
CHELA_API char *chela_prompt_test(chela_runtime *rt, const struct chela_prompt_test_opts *opts,
                                  struct chela_error *err);

/* Compare two reports of chela_prompt_test about the same cases: {"difference","low","high",
 * "verdict":"better|worse|same","cases":[{"name","a","b"}]}. difference is the rate of b
 * minus the rate of a. The verdict is "same" if the interval at 95 % contains 0.
 * Ownership: the caller frees the result with chela_free.
 * Threads: any
 * Errors: CHELA_EPARSE, CHELA_ELIMIT: a report is not JSON. */
CHELA_API char *chela_prompt_compare(const char *a, const char *b, struct chela_error *err);

/* --- skills that are installed */

/* Install a skill from a folder with a SKILL.md, or from a tar archive of one (.tar, .tar.gz,
 * .tgz): copy its files to folder/NAME, and keep their digest there. Links, devices, paths that
 * lead out, and sources beyond the limits are refused. folder NULL: only examine the source.
 * digest (may be NULL): install only if the files have this digest. *out becomes {"name",
 * "source","digest","files","bytes","description","allowed_tools"}. Waits for the disk.
 * Ownership: the caller frees *out with chela_free.
 * Threads: any
 * Errors: CHELA_ENOENT: there is no such source. CHELA_EINVAL: the source is not a skill.
 * CHELA_EPERM, CHELA_ELIMIT: the source is refused. CHELA_EPARSE: the archive is damaged.
 * CHELA_ESTATE: the files have another digest. CHELA_EEXIST: the skill is installed.
 * CHELA_EIO: the disk failed. */
CHELA_API int chela_skill_add(const char *from, const char *folder, const char *digest, char **out,
                              struct chela_error *err);

/* Remove a skill that chela_skill_add has installed in this folder. Waits for the disk.
 * Threads: any
 * Errors: CHELA_ENOENT: there is no such skill. CHELA_EINVAL: the name is wrong.
 * CHELA_EPERM: the skill was not installed by chela_skill_add. CHELA_EIO: the disk failed. */
CHELA_API int chela_skill_remove(const char *folder, const char *name, struct chela_error *err);

CHELA_END_DECLS
#endif
