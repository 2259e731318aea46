/* prompt_report.h -- reports of prompt tests: for people, for CI, and stored. */
#ifndef CH_CLI_PROMPT_REPORT_H
#define CH_CLI_PROMPT_REPORT_H
#include <stdio.h>

#include "chela.h"
#include "cli/support/env.h"

/* A member of a JSON text, "" if null or missing; the caller frees it. */
char *ch_prompt_member(const char *json, const char *pointer);

/* Store a report below dir by its fingerprint; read the last stored one. */
int ch_prompt_keep(const char *dir, const char *report, struct chela_error *err);
/* NULL: none; the caller frees it */
char *ch_prompt_last(const char *dir, const char *fingerprint);
/* Default directory of stored reports; NULL: none. */
char *ch_prompt_results_dir(const struct ch_env *env);

/* Write the report as a JUnit <testsuite>. */
void ch_prompt_junit(FILE *out, const char *report);
/* Write the report as a table, followed by the failures. */
void ch_prompt_table(FILE *out, const char *report);
void ch_prompt_compared(FILE *out, const char *compare, const char *a, const char *b);

#endif
