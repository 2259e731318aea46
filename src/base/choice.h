/* choice.h -- checking values of the closed sets of chela/choice.h. */
#ifndef CH_BASE_CHOICE_H
#define CH_BASE_CHOICE_H
#include "chela/choice.h"

/* 0, or CHELA_EINVAL: a program passed a value that the set does not have. */
int ch_choice_check(enum chela_choice set, int value, struct chela_error *err);

/* The value of a name that is known to be good, such as one of a table of options;
 * NULL: 0. */
int ch_choice_of(enum chela_choice set, const char *name);

#endif
