/* pager.h -- shows long listings on a terminal page by page. */
#ifndef CH_CLI_PAGER_H
#define CH_CLI_PAGER_H
#include "cli/term/console.h"

/* Print a listing; if it is longer than the terminal, through a pager. For commands without
 * other activity. */
void ch_console_page(struct ch_console *c, const char *p, size_t n);

#endif
