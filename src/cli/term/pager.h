/* pager.h -- long listings on a terminal, a screen at a time. */
#ifndef CH_CLI_PAGER_H
#define CH_CLI_PAGER_H
#include "cli/term/console.h"

/* The same for a listing: what is longer than the terminal goes to a pager
 * (pager.c). For commands that have nothing else to do. */
void ch_console_page(struct ch_console *c, const char *p, size_t n);

#endif
