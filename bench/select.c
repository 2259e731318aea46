/* select.c -- what choosing tools costs, and how good the choice is.
 *
 *     select [NUMBER]           default 2000
 *     select TOOLS QUESTIONS
 *
 * Cost: indexing definitions once, and one request after another. The given
 * number of definitions of the usual kind are made up from a few hundred words;
 * the median of all requests is shown. Quality: for a file of definitions and a
 * file of lines "TOOL<tab>QUESTION", how often the tool is among the first 1, 5
 * and 10 that are chosen for the question. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "chela.h"
#include "json/writer.h"

enum { REQUESTS = 2000 };

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Words of two syllables, the same every time; low numbers are common. */
static unsigned seed = 1;
static unsigned draw(unsigned n) {
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % n;
}
static void add_words(struct ch_buf *out, size_t n) {
    static const char *const parts[] = {"wea", "ther", "cur", "ren",  "flig", "ho", "tel", "pri",
                                        "ces", "mus",  "ic",  "lo",   "ca",   "te", "re",  "port",
                                        "da",  "ta",   "con", "vert", "tra",  "in", "ser", "ver"};
    enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
    for (size_t i = 0; i < n; i++)
        ch_buf_addf(out, "%s%s%s", i ? " " : "", parts[draw(1 + draw(PARTS))],
                    parts[draw(1 + draw(PARTS))]);
}

static void add_text(struct ch_jw *w, const char *key, size_t words) {
    CH_BUF_AUTO text = {0};
    add_words(&text, words);
    ch_jw_kstr(w, key, ch_buf_sv(&text));
}

static void add_tool(struct ch_jw *w, size_t i) {
    char name[32];
    ch_jw_begin(w, '{');
    snprintf(name, sizeof(name), "tool_%zu", i);
    ch_jw_kcstr(w, "name", name);
    add_text(w, "description", 18);
    ch_jw_key(w, "parameters");
    ch_jw_begin(w, '{');
    ch_jw_key(w, "properties");
    ch_jw_begin(w, '{');
    for (size_t p = 0; p < 4; p++) {
        snprintf(name, sizeof(name), "argument_%zu", p);
        ch_jw_key(w, name);
        ch_jw_begin(w, '{');
        add_text(w, "description", 9);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The place of a tool in a choice, from 0; 10: not there. */
static int place_of(const char *choice, struct ch_sv tool) {
    for (int i = 0; i < 10; i++) {
        char pointer[16];
        snprintf(pointer, sizeof(pointer), "/%d/name", i);
        CH_AUTOFREE char *name = chela_json_get(choice, strlen(choice), pointer, NULL);
        if (name && ch_sv_is(tool, name))
            return i;
    }
    return 10;
}

static int measure_recall(const char *tools, const char *questions) {
    CH_BUF_AUTO definitions = {0}, lines = {0};
    struct chela_error err = {0};
    chela_tool_index *ix;
    unsigned n = 0, first[10] = {0}; /* [i]: among the first i + 1 */

    if (ch_file_load(tools, 64 * CH_MB, &definitions, &err) < 0 ||
        ch_file_load(questions, 64 * CH_MB, &lines, &err) < 0 ||
        chela_tool_index_new(definitions.p, definitions.n, &ix, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (struct ch_sv rest = ch_buf_sv(&lines); rest.n; n++) {
        struct ch_sv question = ch_sv_split(&rest, '\n');
        struct ch_sv tool = ch_sv_split(&question, '\t');
        CH_AUTOFREE char *choice = chela_tool_index_select(ix, question.p, question.n, 10);
        for (int i = place_of(choice, tool); i < 10; i++)
            first[i]++;
    }
    printf("%u questions, %zu tools: recall@1 %.1f %%, @5 %.1f %%, @10 %.1f %%\n", n,
           chela_tool_index_size(ix), 100.0 * first[0] / n, 100.0 * first[4] / n,
           100.0 * first[9] / n);
    chela_tool_index_free(ix);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3)
        return measure_recall(argv[1], argv[2]);
    size_t tools = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    static double took[REQUESTS];
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    chela_tool_index *ix;

    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < tools; i++)
        add_tool(&w, i);
    ch_jw_end(&w, ']');
    double start = now_us();
    if (chela_tool_index_new(json.p, json.n, &ix, NULL) < 0)
        return 1;
    chela_free(chela_tool_index_select(ix, "x", 1, 10)); /* the first one sorts */
    printf("index of %zu tools (%zu KB): %.1f ms\n", tools, json.n / 1024,
           (now_us() - start) / 1e3);
    for (size_t i = 0; i < REQUESTS; i++) {
        CH_BUF_AUTO query = {0};
        add_words(&query, 14);
        start = now_us();
        chela_free(chela_tool_index_select(ix, query.p, query.n, 10));
        took[i] = now_us() - start;
    }
    qsort(took, REQUESTS, sizeof(*took), by_value);
    printf("one request, warm: median %.3f ms, 99th of 100 %.3f ms\n", took[REQUESTS / 2] / 1e3,
           took[REQUESTS * 99 / 100] / 1e3);
    chela_tool_index_free(ix);
    return 0;
}
