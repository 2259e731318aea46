/* fuzz_facts.c -- any bytes as the user's file of facts about models, and as a list of models of
 * others. What can be read is written, and read again as the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "model/catalog/facts_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void write_and_read(const struct ch_facts_file *f) {
    CH_BUF_AUTO text = {0};
    struct ch_facts_file again = {0};
    ch_facts_file_write(f, &text);
    if (ch_facts_file_read(&again, ch_buf_sv(&text), "f", NULL, NULL, NULL) < 0 ||
        again.n != f->n)
        abort();
    for (size_t i = 0; i < f->n; i++)
        if (again.rows[i].some.known != f->rows[i].some.known ||
            ch_columns_compare(&again.rows[i].some.facts, &f->rows[i].some.facts) &
                f->rows[i].some.known)
            abort();
    ch_facts_file_find(&again, "openai", CH_SV("gpt-6-sol"));
    ch_facts_file_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    struct ch_sv text = ch_sv((const char *)p, n);
    struct ch_facts_file file = {0}, list = {0};
    if (ch_facts_file_read(&file, text, "f", NULL, NULL, NULL) == 0)
        write_and_read(&file);
    if (ch_facts_import(&list, text, NULL, NULL, NULL, NULL) == 0)
        write_and_read(&list);
    ch_facts_file_release(&file);
    ch_facts_file_release(&list);
    return 0;
}
