/* prompts_builtin.c -- the built-in prompts, embedded in the library.
 *
 * Each row is a file below prompts/ with the same name; the paths are relative to make's
 * working directory. tests/unit/prompt/test_builtin.c compares the rows with the files, so
 * that none is missing. */
#include "prompt/prompts_builtin.h"

#include "base/mem.h"
#include "prompt/prompts.h"

/* X(symbol, name, version, variant, path) */
#define PROMPTS(X)                                                       \
    X(companion_1_0, "companion", "1.0", "", "companion/v1.0.txt")       \
    X(data_1_0, "data", "1.0", "", "data/v1.0.txt")                      \
    X(executor_1_0, "executor", "1.0", "", "executor/v1.0.txt")          \
    X(listener_1_0, "listener", "1.0", "", "listener/v1.0.txt")          \
    X(planner_1_0, "planner", "1.0", "", "planner/v1.0.txt")             \
    X(planner_1_0_reasoner, "planner", "1.0", "reasoner", "planner/v1.0.reasoner.txt") \
    X(reflector_1_0, "reflector", "1.0", "", "reflector/v1.0.txt")       \
    X(router_1_0, "router", "1.0", "", "router/v1.0.txt")                \
    X(summariser_1_0, "summariser", "1.0", "", "summariser/v1.0.txt")

#define CASES(X)                                          \
    X(companion_cases, "companion", "companion/cases.yaml")    \
    X(executor_cases, "executor", "executor/cases.yaml")       \
    X(listener_cases, "listener", "listener/cases.yaml")       \
    X(planner_cases, "planner", "planner/cases.yaml")          \
    X(reflector_cases, "reflector", "reflector/cases.yaml")    \
    X(router_cases, "router", "router/cases.yaml")             \
    X(summariser_cases, "summariser", "summariser/cases.yaml")

#define EMBED(symbol, path)                                 \
    extern const char ch_file_##symbol[], ch_file_##symbol##_end[]; \
    __asm__(".pushsection .rodata\n"                        \
            ".global ch_file_" #symbol "\n"                 \
            ".hidden ch_file_" #symbol "\n"                 \
            "ch_file_" #symbol ":\n"                        \
            ".incbin \"prompts/" path "\"\n"                \
            ".global ch_file_" #symbol "_end\n"             \
            ".hidden ch_file_" #symbol "_end\n"             \
            "ch_file_" #symbol "_end:\n"                    \
            ".byte 0\n"                                     \
            ".popsection\n");
#define EMBED_PROMPT(symbol, name, version, variant, path) EMBED(symbol, path)
#define EMBED_CASES(symbol, name, path) EMBED(symbol, path)
PROMPTS(EMBED_PROMPT)
CASES(EMBED_CASES)

int ch_prompts_builtin(struct ch_prompts *c, struct chela_error *err) {
    static const struct {
        const char *name, *version, *variant, *text, *end;
    } files[] = {
#define ROW(symbol, name, version, variant, path) \
    {name, version, variant, ch_file_##symbol, ch_file_##symbol##_end},
        PROMPTS(ROW)
#undef ROW
    };
    int rc = 0;
    for (size_t i = 0; i < CH_LEN(files) && rc == 0; i++) {
        size_t n = (size_t)(files[i].end - files[i].text);
        n -= n && files[i].text[n - 1] == '\n'; /* the line end of the file, not of the prompt */
        rc = ch_prompts_add(c, files[i].name, files[i].version, files[i].variant, NULL,
                            ch_sv(files[i].text, n), err);
    }
    return rc;
}

struct ch_sv ch_prompts_builtin_cases(const char *name) {
    static const struct {
        const char *name, *text, *end;
    } files[] = {
#define ROW(symbol, name, path) {name, ch_file_##symbol, ch_file_##symbol##_end},
        CASES(ROW)
#undef ROW
    };
    for (size_t i = 0; i < CH_LEN(files); i++)
        if (strcmp(files[i].name, name) == 0)
            return ch_sv(files[i].text, (size_t)(files[i].end - files[i].text));
    return (struct ch_sv){NULL, 0};
}
