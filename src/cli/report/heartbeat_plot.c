/* heartbeat_plot.c -- see heartbeat_plot.h.
 *
 *       title
 *       W | curve, dashed threshold, a dot per reply; the background shows times in
 *         | which a rule keeps the companion quiet
 *         +------------------------------------------------- time
 *       p | a bar per line: the probability of a reply
 *
 * Between two lines only both ends are known; the curve between them is drawn as an
 * exponential. Texts are untrusted and escaped. */
#include "cli/report/heartbeat_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/support/markup.h"

#define WIDTH 1040
#define TOP 64    /* height of the legend */
#define LEFT 52
#define RIGHT 24
#define HEAD 28   /* height of a panel's title */
#define CURVE 190 /* height of the curve */
#define SMALL 76  /* height of the curve of a chat with few lines */
#define FEW 4     /* limit of lines for SMALL */
#define BARS 26   /* height of the bars below it */
#define FOOT 66   /* space between the bars and the next panel */
#define PIECES 8  /* segments of a curve between two lines */

static const char style[] =
    "<style>\n"
    "svg{--bg:#fff;--fg:#1c1f23;--dim:#667085;--line:#e4e7ec;--w:#4f6bed;--asked:#d9822b;"
    "--own:#1f9d6b;background:var(--bg)}\n"
    "@media(prefers-color-scheme:dark){svg{--bg:#14161a;--fg:#e6e8eb;--dim:#98a0ab;"
    "--line:#2a2e35;--w:#8fa2ff;--asked:#f0a65a;--own:#4cc38a}}\n"
    "text{font:12px system-ui,sans-serif;fill:var(--dim)}\n"
    ".t{font-size:15px;font-weight:600;fill:var(--fg)}.e{text-anchor:end}.m{text-anchor:middle}\n"
    ".g{stroke:var(--line);stroke-width:1}.h{stroke:var(--dim);stroke-dasharray:5 4}\n"
    ".w{fill:none;stroke:var(--w);stroke-width:1.6;stroke-linejoin:round}"
    ".a{fill:var(--w);opacity:.12}\n"
    ".s{fill:var(--dim);opacity:.5}.q{fill:var(--asked)}.o{fill:var(--own)}\n"
    "circle{stroke:var(--bg)}.r{fill:var(--dim);opacity:.13}.b{stroke:var(--line)}\n"
    "g:hover .s,g:hover .q,g:hover .o{fill:var(--fg);opacity:1}\n"
    "</style>\n";

static const char *heartbeat_plot_class_of(const struct ch_plot_point *p) {
    return !p->reply ? "s" : p->reason == CHELA_URGE_WILLING ? "o" : "q";
}

struct frame {
    const struct ch_plot *plot;
    double top, height; /* of the curve */
    int64_t from, span; /* common to all panels */
    FILE *out;
};

static double height_of(const struct ch_plot *p) {
    return p->n < FEW ? SMALL : CURVE;
}

static double x_of(const struct frame *f, double at) {
    return LEFT + (at - (double)f->from) / (double)f->span * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct frame *f, double w) {
    return f->top + f->height * (1 - w / f->plot->most);
}

/* --- axes */

static void draw_scale(const struct frame *f) {
    int steps = f->height < CURVE ? 2 : 4;
    for (int i = 0; i <= steps; i++) {
        double w = f->plot->most * i / steps, y = y_of(f, w);
        fprintf(f->out,
                "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"e\" x=\"%d\" y=\"%.1f\">%g</text>\n",
                LEFT, WIDTH - RIGHT, y, y, LEFT - 8, y + 4, w);
    }
    double y = y_of(f, f->plot->threshold);
    fprintf(f->out, "<line class=\"h\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
            WIDTH - RIGHT, y, y);
}

/* The shortest step that gives at most eight labels. */
static int64_t step_of(int64_t span) {
    static const int steps[] = {1,   2,    5,    10,   15,   30,    60,    120,   300,
                                600, 1800, 3600, 7200, 21600, 43200, 86400, 604800};
    size_t n = sizeof(steps) / sizeof(*steps);
    for (size_t i = 0; i < n; i++)
        if (span / (steps[i] * 1000) < 8)
            return (int64_t)steps[i] * 1000;
    return span / 8 + 1;
}

static void label_time(int64_t ms, FILE *out) {
    long long s = (long long)ms / 1000;
    if (s >= 86400)
        fprintf(out, "%lldd %02lld:%02lld", s / 86400, s / 3600 % 24, s / 60 % 60);
    else if (s >= 3600)
        fprintf(out, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        fprintf(out, "%lld:%02lld", s / 60, s % 60);
}

static void draw_time(const struct frame *f) {
    int64_t step = step_of(f->span);
    for (int64_t t = 0; t <= f->span; t += step) {
        fprintf(f->out, "<text class=\"m\" x=\"%.1f\" y=\"%.1f\">",
                x_of(f, (double)(f->from + t)), f->top + f->height + BARS + 28);
        label_time(t, f->out);
        fputs("</text>\n", f->out);
    }
}

/* --- the curve */

static void curve_to(const struct frame *f, const struct ch_plot_point *a,
                     const struct ch_plot_point *b) {
    double from = fmax(a->after, 0.01), to = fmax(b->before, 0.01);
    for (int i = 1; i <= PIECES; i++) {
        double part = (double)i / PIECES, at = (double)a->at + part * (double)(b->at - a->at);
        fprintf(f->out, "L%.1f %.1f", x_of(f, at), y_of(f, from * pow(to / from, part)));
    }
}

static void draw_path(const struct frame *f, bool area) {
    const struct ch_plot_point *p = f->plot->points;
    size_t n = f->plot->n;
    double base = y_of(f, 0);
    fprintf(f->out, "<path class=\"%s\" d=\"M%.1f %.1f", area ? "a" : "w",
            x_of(f, (double)p[0].at), base);
    for (size_t i = 0; i < n; i++) {
        double x = x_of(f, (double)p[i].at);
        if (i)
            curve_to(f, &p[i - 1], &p[i]);
        fprintf(f->out, "L%.1f %.1fL%.1f %.1f", x, y_of(f, p[i].peak), x, y_of(f, p[i].after));
    }
    if (area)
        fprintf(f->out, "L%.1f %.1fZ", x_of(f, (double)p[n - 1].at), base);
    fputs("\"/>\n", f->out);
}

/* --- quiet times */

static void draw_quiet(const struct frame *f, int64_t from, int64_t to) {
    int64_t end = f->from + f->span;
    to = to < end ? to : end;
    if (to > from)
        fprintf(f->out,
                "<rect class=\"r\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                x_of(f, (double)from), f->top, x_of(f, (double)to) - x_of(f, (double)from),
                f->height);
}

static bool is_told_to(const struct ch_plot_point *p) {
    return p->reason == CHELA_URGE_HUSHED || p->reason == CHELA_URGE_QUIET_HOURS;
}

/* The pause after each reply; and the time from the line that demanded quiet to the last
 * line that was ignored because of it. */
static void draw_rules(const struct frame *f) {
    const struct ch_plot_point *p = f->plot->points;
    for (size_t i = 0; i < f->plot->n; i++) {
        size_t last = i;
        if (p[i].reply)
            draw_quiet(f, p[i].at, p[i].at + (int64_t)(f->plot->refractory_s * 1000));
        for (size_t k = i; is_told_to(&p[i]) && k < f->plot->n && !p[k].reply; k++)
            last = is_told_to(&p[k]) ? k : last;
        draw_quiet(f, p[i].at, p[last].at);
        i = last;
    }
}

/* --- lines */

static void draw_lines(const struct frame *f) {
    double base = f->top + f->height + 8 + BARS;
    fprintf(f->out,
            "<line class=\"b\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"e\" x=\"%d\" y=\"%.1f\">p</text>\n",
            LEFT, WIDTH - RIGHT, base, base, LEFT - 8, base - BARS / 2.0 + 4);
    for (size_t i = 0; i < f->plot->n; i++) {
        const struct ch_plot_point *p = &f->plot->points[i];
        double x = x_of(f, (double)p->at), high = 3 + (BARS - 3) * p->probability;
        fprintf(f->out, "<g><title>");
        ch_markup_str(f->out, p->title);
        fprintf(f->out,
                "</title><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"3\" "
                "height=\"%.1f\"/>",
                heartbeat_plot_class_of(p), x - 1.5, base - high, high);
        if (p->reply)
            fprintf(f->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>",
                    heartbeat_plot_class_of(p), x, y_of(f, p->peak));
        fputs("</g>\n", f->out);
    }
}

static void draw_panel(struct frame *f) {
    const struct ch_plot *plot = f->plot;
    size_t replies = 0;
    for (size_t i = 0; i < plot->n; i++)
        replies += plot->points[i].reply;
    fprintf(f->out, "<text x=\"%d\" y=\"%.1f\"><tspan class=\"t\">", LEFT, f->top - 12);
    ch_markup_str(f->out, plot->chat);
    fprintf(f->out, "</tspan><tspan dx=\"10\">%s, %zu line%s, %zu answered</tspan></text>\n",
            plot->kind == CHELA_CHAT_DIRECT ? "direct" : "group", plot->n,
            plot->n == 1 ? "" : "s", replies);
    draw_rules(f);
    draw_scale(f);
    draw_path(f, true);
    draw_path(f, false);
    draw_lines(f);
    draw_time(f);
}

static void draw_legend(FILE *out) {
    fputs("<path class=\"w\" d=\"M52 26h24\"/><text x=\"84\" y=\"30\">willingness</text>\n"
          "<path class=\"h\" d=\"M164 26h24\"/><text x=\"196\" y=\"30\">threshold</text>\n"
          "<circle class=\"q\" cx=\"274\" cy=\"26\" r=\"4\"/>"
          "<text x=\"286\" y=\"30\">answered: it was asked</text>\n"
          "<circle class=\"o\" cx=\"444\" cy=\"26\" r=\"4\"/>"
          "<text x=\"456\" y=\"30\">spoke up by itself</text>\n"
          "<rect class=\"s\" x=\"582\" y=\"16\" width=\"3\" height=\"18\"/>"
          "<text x=\"594\" y=\"30\">a line: how likely a reply was</text>\n"
          "<rect class=\"r\" x=\"792\" y=\"17\" width=\"22\" height=\"18\"/>"
          "<text x=\"824\" y=\"30\">quiet: just spoken, or told to</text>\n",
          out);
}

static void find_span(const struct ch_plot *plots, size_t n, struct frame *f) {
    int64_t to = INT64_MIN;
    f->from = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        int64_t first = plots[i].points[0].at, last = plots[i].points[plots[i].n - 1].at;
        f->from = first < f->from ? first : f->from;
        to = last > to ? last : to;
    }
    f->span = to > f->from ? to - f->from : 1;
}

void ch_plot_svg(const struct ch_plot *plots, size_t n, FILE *out) {
    struct frame f = {.top = TOP + HEAD, .out = out};
    int height = TOP;
    find_span(plots, n, &f);
    for (size_t i = 0; i < n; i++)
        height += HEAD + (int)height_of(&plots[i]) + BARS + FOOT;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\" aria-label=\"willingness over time\">\n%s",
            WIDTH, height, WIDTH, height, style);
    draw_legend(out);
    for (size_t i = 0; i < n; i++) {
        f.plot = &plots[i];
        f.height = height_of(&plots[i]);
        draw_panel(&f);
        f.top += f.height + BARS + FOOT + HEAD;
    }
    fputs("</svg>\n", out);
}

void ch_plot_release(struct ch_plot *p) {
    for (size_t i = 0; i < p->n; i++)
        free(p->points[i].title);
    free(p->points);
    free(p->chat);
}
