/* box.h -- chela-sandbox for tests of tools: where it is, and how to have it
 * see a poorer machine than this one. */
#ifndef TEST_SUPPORT_BOX_H
#define TEST_SUPPORT_BOX_H

/* The one of this build: a path that stays valid. */
const char *box_helper(void);

/* A helper that needs bubblewrap, or may not make namespaces at all: the test
 * program itself under another name. box_main turns it into the real one; call
 * it first in main. The same path each time, so that it is probed once. */
enum box_machine { BOX_AS_IT_IS, BOX_WITH_BWRAP, BOX_WITHOUT_NAMESPACES, BOX_MACHINES };
extern const char *const box_machine_names[];
const char *box_helper_for(enum box_machine machine);
void box_main(int argc, char **argv);

#endif
