/* heartbeat_plot.h -- draws willingness over time. */
#ifndef CH_CLI_HEARTBEAT_PLOT_H
#define CH_CLI_HEARTBEAT_PLOT_H
#include <stdio.h>

#include "chela.h"

/* One line of a chat, as drawn. */
struct ch_plot_point {
    int64_t at;
    double before, peak, after; /* willingness */
    double probability;
    bool reply;
    enum chela_urge_reason reason;
    char *title; /* owned */
};

struct ch_plot { /* zeroed: empty */
    char *chat;  /* owned */
    enum chela_chat_kind kind;
    double most, threshold, refractory_s;
    struct ch_plot_point *points; /* owned */
    size_t n;
};

/* Write a self-contained SVG: no script, no font, no external resource. The plots are
 * stacked over a common time axis. */
void ch_plot_svg(const struct ch_plot *plots, size_t n, FILE *out);
void ch_plot_release(struct ch_plot *p);

#endif
