/* prompt_report.h -- reports of prompt tests: for people, for CI, and kept. */
#ifndef CH_CLI_PROMPT_REPORT_H
#define CH_CLI_PROMPT_REPORT_H
#include <stdio.h>

#include "chela.h"
#include "cli/support/env.h"

/* A member of a JSON text, "" for null and what is not there; free it. */
char *ch_prompt_member(const char *json, const char *pointer);

/* Keep a report below dir, by its fingerprint, and read the last one kept. */
int ch_prompt_keep(const char *dir, const char *report, struct chela_error *err);
char *ch_prompt_last(const char *dir, const char *fingerprint); /* NULL: none; free it */
/* Where reports are kept unless somebody says otherwise; NULL: nowhere. */
char *ch_prompt_results_dir(const struct ch_env *env);

/* The report as JUnit XML, another <testsuite>. */
void ch_prompt_junit(FILE *out, const char *report);
/* As a table, with what went wrong below it. */
void ch_prompt_table(FILE *out, const char *report);
void ch_prompt_compared(FILE *out, const char *compare, const char *a, const char *b);

#endif
