/* page.h -- lines of a result, as many as fit.
 *
 * A tool that makes a list knows better than the shaper where to stop and what
 * to say about the rest; so it fills a page and keeps some room for that. */
#ifndef CH_TOOL_PAGE_H
#define CH_TOOL_PAGE_H
#include "base/buf.h"
#include "tool/result/shape.h"

struct ch_page {
    struct ch_buf text;  /* ch_page_release */
    struct ch_shape_room left; /* for lines */
    bool full;           /* a line did not fit */
};

/* room: what the result may take; `notes` characters of it are kept back. */
void ch_page_init(struct ch_page *p, struct ch_shape_room room, uint64_t notes);
void ch_page_release(struct ch_page *p);

/* Add a line; its line feed is added here. False when it does not fit, and
 * from then on. Control characters become "?": one line stays one line. */
bool ch_page_add(struct ch_page *p, struct ch_sv line);

#endif
