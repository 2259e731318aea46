/* outer.h -- two ways to create the box: bubblewrap, or the program's own code.
 *
 * bubblewrap is preferred: it is small, widely reviewed, and on some systems
 * the only program that may create namespaces. */
#ifndef CH_SANDBOX_OUTER_H
#define CH_SANDBOX_OUTER_H
#include "sandbox/view.h"

#endif
