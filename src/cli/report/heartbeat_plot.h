/* heartbeat_plot.h -- willingness over time as a picture. */
#ifndef CH_CLI_HEARTBEAT_PLOT_H
#define CH_CLI_HEARTBEAT_PLOT_H
#include <stdio.h>

#include "chela.h"

/* One line of a chat, as far as the picture shows it. */
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

/* A file of its own: no script, no font, nothing from elsewhere. One below the
 * other, over the same time. */
void ch_plot_svg(const struct ch_plot *plots, size_t n, FILE *out);
void ch_plot_release(struct ch_plot *p);

#endif
