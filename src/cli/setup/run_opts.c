/* run_opts.c -- see run_opts.h. */
#include "cli/setup/run_opts.h"

#include <string.h>

enum chela_reasoning ch_run_reasoning(const char *word) {
    static const char *const words[] = {"", "off", "low", "medium", "high"};
    for (int i = CHELA_REASONING_OFF; word && i <= CHELA_REASONING_HIGH; i++)
        if (strcmp(words[i], word) == 0)
            return (enum chela_reasoning)i;
    return CHELA_REASONING_DEFAULT;
}
