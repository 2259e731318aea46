/* page.h -- collects as many result lines as fit.
 *
 * A tool that produces a list fills a page instead of relying on the shaper, which would
 * cut the text anywhere. The page reserves room for a note about the omitted lines. */
#ifndef CH_TOOL_PAGE_H
#define CH_TOOL_PAGE_H
#include "base/buf.h"
#include "tool/result/shape.h"

struct ch_page {
    struct ch_buf text;  /* ch_page_release */
    struct ch_shape_room left; /* room left for lines */
    bool full;           /* a line did not fit */
};

/* room: the size limit of the result; `notes` characters of the limit are reserved for
 * notes. */
void ch_page_init(struct ch_page *p, struct ch_shape_room room, uint64_t notes);
void ch_page_release(struct ch_page *p);

/* Add a line and a line feed. Returns false if the line does not fit; all later calls
 * return false too. Control characters become "?", so one line stays one line. */
bool ch_page_add(struct ch_page *p, struct ch_sv line);

#endif
