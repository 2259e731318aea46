/* box.h -- chela-sandbox for tests of tools: its path, and ways to simulate a machine with
 * fewer features. */
#ifndef TEST_SUPPORT_BOX_H
#define TEST_SUPPORT_BOX_H
#include <stddef.h>

/* The chela-sandbox of this build; the path stays valid. */
const char *box_helper(void);

/* Run the helper as a user without rights and copy its output, NUL-terminated, to out. argv[0] is
 * replaced. processes: RLIMIT_NPROC of the helper; negative: unchanged. Returns the number of
 * bytes; 0: nothing, because such a user has no box here. */
size_t box_run_as_nobody(char *const argv[], long processes, char *out, size_t size);

/* A helper that needs bubblewrap, or that may not create namespaces: the test program itself
 * under another name. box_main then executes the real chela-sandbox; call box_main first in
 * main. The path is the same each time, so that it is probed once. */
enum box_machine { BOX_AS_IT_IS, BOX_WITH_BWRAP, BOX_WITHOUT_NAMESPACES, BOX_MACHINES };
extern const char *const box_machine_names[];
const char *box_helper_for(enum box_machine machine);
void box_main(int argc, char **argv);

#endif
