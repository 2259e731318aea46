/* fuzz_skill_file.c -- any bytes as a skill of a workspace. A skill that cannot be used says
 * why; one that can has a name of one line. */
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "prompt/skill_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    CH_ARENA_AUTO a = {0};
    struct ch_skill_head head = ch_skill_head_read(&a, ch_sv((const char *)p, n), "folder");
    if (head.problem ? !*head.problem : !head.name || !*head.name || strpbrk(head.name, "\r\n\x1b"))
        abort();
    return 0;
}
