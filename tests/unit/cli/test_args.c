/* test_args.c -- flags: what is accepted, and what is said about the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/setup/args.h"

struct flags {
    bool quiet, verbose;
    const char *model, *output;
    int64_t turns, limit;
    struct ch_real heat;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    {"quiet", 'q', CH_OPT_SWITCH, AT(quiet), NULL, 0, 0, "", ""},
    {"verbose", 'v', CH_OPT_SWITCH, AT(verbose), NULL, 0, 0, "", ""},
    {"model", 'm', CH_OPT_TEXT, AT(model), "NAME", 0, 0, "", ""},
    {"output", 0, CH_OPT_CHOICE, AT(output), "text|json|jsonl", 0, 0, "", ""},
    {"max-turns", 0, CH_OPT_INT, AT(turns), "N", 1, 1000, "", ""},
    {"limit", 0, CH_OPT_LIMIT, AT(limit), "N", 0, 1000, "", ""},
    {"temperature", 0, CH_OPT_REAL, AT(heat), "X", 0, 2, "", ""},
    {.name = NULL},
};
static const char *const later[] = {"store", NULL};

/* Everything the parser found, as one line. */
static char *describe(const struct flags *f, const struct ch_args *args,
                      const struct chela_error *err) {
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (args->help)
        fputs("help ", out);
    if (f->quiet)
        fputs("q ", out);
    if (f->verbose)
        fputs("v ", out);
    if (f->model)
        fprintf(out, "model=%s ", f->model);
    if (f->output)
        fprintf(out, "output=%s ", f->output);
    if (f->turns)
        fprintf(out, "turns=%lld ", (long long)f->turns);
    if (f->limit)
        fprintf(out, "limit=%lld ", (long long)f->limit);
    if (f->heat.set)
        fprintf(out, "heat=%g ", f->heat.value);
    for (size_t i = 0; i < args->n; i++)
        fprintf(out, "[%s]", args->words[i]);
    fprintf(out, "%s", err->message);
    fclose(out);
    return text;
}

static const struct {
    const char *argv; /* words separated by commas */
    const char *want;
} cases[] = {
    {"a,b", "[a][b]"},
    {"--model,x,a", "model=x [a]"},
    {"--model=x,a", "model=x [a]"},
    {"a,--model,x,b", "model=x [a][b]"},
    {"--model=", "model= "},
    {"--model=a=b", "model=a=b "},
    {"--model,-x", "model=-x "},
    {"--model,one,--model,two", "model=two "},
    {"-m,x", "model=x "},
    {"-mx", "model=x "},
    {"-qv", "q v "},
    {"-qvmx,y", "q v model=x [y]"},
    {"-qm,x", "q model=x "},
    {"-,a", "[-][a]"},
    {"--,--model,-q", "[--model][-q]"},
    {"a,--,--", "[a][--]"},
    {"--output,jsonl", "output=jsonl "},
    {"--max-turns,1000", "turns=1000 "},
    {"--limit,7", "limit=7 "},
    {"--limit,0", "limit=-1 "}, /* no limit */
    {"--temperature,0", "heat=0 "},
    {"--temperature=1.5e0", "heat=1.5 "},
    {"-h", "help "},
    {"--help,--nope", "help unknown flag --nope (--help lists them)"},
    {"-qh", "help q "},
    {"--help=run", "help "},

    {"--json", "unknown flag --json (use --output json)"},
    {"--modle,x", "[x]unknown flag --modle (did you mean --model?)"},
    {"--max-turn=3", "unknown flag --max-turn (did you mean --max-turns?)"},
    {"--zzzzzz", "unknown flag --zzzzzz (--help lists them)"},
    {"--store,x", "[x]--store is not supported in this version"},
    {"--store=x", "--store is not supported in this version"},
    {"--stor", "unknown flag --stor (--help lists them)"},
    {"-x", "unknown flag -x (words that start with a dash go after --)"},
    {"-qx", "q unknown flag -x (words that start with a dash go after --)"},
    {"--quiet=1", "q --quiet takes no value"},
    {"--model", "--model needs a value: NAME"},
    {"-m", "--model needs a value: NAME"},
    {"--output,xml", "--output must be one of text|json|jsonl, not 'xml'"},
    {"--output,tex", "--output must be one of text|json|jsonl, not 'tex'"},
    {"--output,", "--output must be one of text|json|jsonl, not ''"},
    {"--output,text|json", "--output must be one of text|json|jsonl, not 'text|json'"},
    {"--max-turns,0", "--max-turns must be a whole number from 1 to 1000, not '0'"},
    {"--max-turns,1001", "--max-turns must be a whole number from 1 to 1000, not '1001'"},
    {"--max-turns,2x", "--max-turns must be a whole number from 1 to 1000, not '2x'"},
    {"--max-turns, 2", "--max-turns must be a whole number from 1 to 1000, not ' 2'"},
    {"--max-turns,+2", "--max-turns must be a whole number from 1 to 1000, not '+2'"},
    {"--max-turns,2.0", "--max-turns must be a whole number from 1 to 1000, not '2.0'"},
    {"--max-turns,", "--max-turns must be a whole number from 1 to 1000, not ''"},
    {"--max-turns,99999999999999999999",
     "--max-turns must be a whole number from 1 to 1000, not '99999999999999999999'"},
    {"--temperature,x", "--temperature must be a number from 0 to 2, not 'x'"},
    {"--temperature,-1", "--temperature must be a number from 0 to 2, not '-1'"},
    {"--temperature,2.1", "--temperature must be a number from 0 to 2, not '2.1'"},
    {"--temperature,nan", "--temperature must be a number from 0 to 2, not 'nan'"},
    {"--temperature,0x1", "--temperature must be a number from 0 to 2, not '0x1'"},
    {"--temperature,1e999", "--temperature must be a number from 0 to 2, not '1e999'"},
    {"--temperature,", "--temperature must be a number from 0 to 2, not ''"},
    /* the first problem is told, the rest is read all the same */
    {"--nope,--max-turns,0,--output,json,a",
     "output=json [a]unknown flag --nope (--help lists them)"},
};

static void test_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct flags f = {0};
        struct ch_args args;
        struct chela_error err = {0};
        char *copy = strdup(cases[i].argv), *rest = copy, *argv[16];
        int argc = 0;

        while (rest)
            argv[argc++] = strsep(&rest, ",");
        int rc = ch_args_parse(opts, later, argc, argv, &f, &args, &err);
        char *got = describe(&f, &args, &err);
        if (strcmp(got, cases[i].want) != 0)
            fail_msg("%s:\n got '%s'\nwant '%s'", cases[i].argv, got, cases[i].want);
        assert_int_equal(rc, err.message[0] ? CHELA_EINVAL : 0);
        ch_args_release(&args);
        free(got);
        free(copy);
    }
}

static void test_long_words(void **state) {
    (void)state;
    static char word[100000] = "--";
    struct flags f = {0};
    struct ch_args args;
    struct chela_error err = {0};

    memset(word + 2, 'x', sizeof(word) - 3);
    assert_int_equal(ch_args_parse(opts, NULL, 1, (char *[]){word}, &f, &args, &err), CHELA_EINVAL);
    assert_int_equal(strlen(err.message), CHELA_ERROR_MAX - 1);
    ch_args_release(&args);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_long_words),
    };
    return cmocka_run_group_tests_name("cli/args", tests, NULL, NULL);
}
