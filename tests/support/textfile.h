/* textfile.h -- small text files of a test. */
#ifndef TEST_SUPPORT_TEXTFILE_H
#define TEST_SUPPORT_TEXTFILE_H
#include <stdio.h>

/* Writes the file. */
static inline void put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* Writes a file of the folder. */
static inline void put_in(const char *folder, const char *name, const char *text) {
    char path[512];
    assert_true(snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path));
    put(path, text);
}

/* The first bytes of the file, valid until the next call; "(nothing)": there is no file. */
static inline const char *got(const char *path) {
    static char text[64];
    FILE *f = fopen(path, "r");
    if (!f)
        return "(nothing)";
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return text;
}

#endif
