/* passages.c -- how good memory_search is by words alone.
 *
 *     passages TEXTS QUESTIONS
 *
 * TEXTS: lines "GROUP<tab>ID<tab>TEXT", the passages; QUESTIONS: lines "GROUP<tab>ID,ID...<tab>
 * QUESTION", with the passages that answer it. An ID is "NOTE:PLACE"; successive passages of a
 * note are neighbours, as paragraphs of a file are. Lines of a group are adjacent, groups are in
 * the same order in both files, and a question is asked of its own group. Prints the share of
 * these passages that are among the first 1, 5 and 10, as the mean over all questions.
 * bench/recall makes the files from public data. */
#include <stdio.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tool/memory/passage_index.h"

static const size_t depths[] = {1, 5, 10};

struct sums {
    size_t questions;
    double found[CH_LEN(depths)];
};

/* Reads the lines of one group into a shelf. Returns the group's name; empty: the end. */
static struct ch_sv read_group(struct ch_sv *rest, struct ch_shelf *shelf) {
    struct ch_sv group = CH_SV(""), note = CH_SV("");
    while (rest->n) {
        struct ch_sv after = *rest, line = ch_sv_split(&after, '\n');
        struct ch_sv name = ch_sv_split(&line, '\t'), id = ch_sv_split(&line, '\t');
        if (group.n && !ch_sv_eq(group, name))
            break;
        group = name;
        *rest = after;
        CH_AUTOFREE char *source = ch_strndup(id.p, id.n);
        struct ch_sv last = note;
        note = ch_sv_split(&id, ':');
        if (!ch_sv_eq(note, last))
            ch_shelf_begin(shelf);
        ch_shelf_add(shelf, source, false, line);
    }
    return group;
}

static void ask(struct ch_shelf *shelf, struct ch_sv wanted, struct ch_sv question,
                struct sums *sums) {
    CH_AUTOFREE size_t *order = ch_malloc((shelf->n + 1) * sizeof(*order));
    size_t n = ch_shelf_order(shelf, question, order), all = 0, found[CH_LEN(depths)] = {0};
    while (wanted.n) {
        struct ch_sv id = ch_sv_split(&wanted, ',');
        all++;
        for (size_t i = 0; i < n && i < depths[CH_LEN(depths) - 1]; i++) {
            if (!ch_sv_is(id, shelf->list[order[i]].source))
                continue;
            for (size_t d = 0; d < CH_LEN(depths); d++)
                found[d] += i < depths[d];
            break;
        }
    }
    sums->questions++;
    for (size_t d = 0; d < CH_LEN(depths); d++)
        sums->found[d] += (double)found[d] / (double)CH_MAX(all, (size_t)1);
}

int main(int argc, char **argv) {
    CH_BUF_AUTO texts = {0}, questions = {0};
    struct chela_error err = {0};
    struct sums sums = {0};
    size_t passages = 0;
    if (argc != 3)
        return 2;
    if (ch_file_load(argv[1], 64 * CH_MB, &texts, &err) < 0 ||
        ch_file_load(argv[2], 64 * CH_MB, &questions, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct ch_sv rest = ch_buf_sv(&texts), asked = ch_buf_sv(&questions);
    while (rest.n) {
        struct ch_shelf shelf = {0};
        struct ch_sv group = read_group(&rest, &shelf);
        passages += shelf.n;
        while (asked.n) {
            struct ch_sv after = asked, line = ch_sv_split(&after, '\n');
            if (!ch_sv_eq(ch_sv_split(&line, '\t'), group))
                break;
            asked = after;
            struct ch_sv wanted = ch_sv_split(&line, '\t');
            ask(&shelf, wanted, line, &sums);
        }
        ch_shelf_release(&shelf);
    }
    printf("%zu questions, %zu passages:", sums.questions, passages);
    for (size_t d = 0; d < CH_LEN(depths); d++)
        printf("%s recall@%zu %.1f %%", d ? "," : "", depths[d],
               100 * sums.found[d] / (double)CH_MAX(sums.questions, (size_t)1));
    printf("\n");
    return asked.n ? 1 : 0;
}
