/* held_text.c -- see held_text.h. */
#include "tool/process/held_text.h"

#include "base/limits.h"
#include "tool/result/display.h"

void ch_held_text(const struct ch_held_list *list, const char *workspace, struct ch_buf *out) {
    size_t n = strlen(workspace);

    for (size_t i = 0; list && i < list->n; i++) {
        const struct ch_held *h = &list->v[i];
        bool at_top = strcmp(h->dir, workspace) == 0;
        bool inside = strncmp(h->dir, workspace, n) == 0 && h->dir[n] == '/';
        ch_buf_addc(out, '[');
        if (!at_top) {
            ch_display_add(out, ch_sv_str(inside ? h->dir + n + 1 : h->dir), CH_DISPLAY_LINE);
            ch_buf_addc(out, '/');
        }
        ch_display_add(out, ch_sv_str(h->name), CH_DISPLAY_LINE);
        if (h->now) {
            ch_buf_add_str(out, " was set aside as ");
            ch_display_add(out, ch_sv_str(h->now), CH_DISPLAY_LINE);
            ch_buf_add_str(out, ": ");
        } else {
            ch_buf_add_str(out, " could not be set aside and is still there: ");
        }
        ch_display_add(out, ch_sv_str(h->why), CH_DISPLAY_LINE);
        ch_buf_add_str(out, "]\n");
    }
    if (list && list->cut)
        ch_buf_addf(out,
                    "[not all directories were searched for files that others execute: at most "
                    "%d]\n",
                    CH_LIMIT_SCAN_AFTER);
}
