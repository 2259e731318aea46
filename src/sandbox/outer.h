/* outer.h -- two ways to make the box: bubblewrap, or the same by ourselves.
 *
 * Bubblewrap comes first: it is small, much looked at, and on some systems the
 * one program that may make namespaces. */
#ifndef CH_SANDBOX_OUTER_H
#define CH_SANDBOX_OUTER_H
#include "sandbox/view.h"

#endif
