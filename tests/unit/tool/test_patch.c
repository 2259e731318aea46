/* test_patch.c -- reading patches of both forms, and applying them to one
 * text: found by their lines, once, and nothing else touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
/* after the headers it needs */
#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/toolkit.h"
#include "tool/builtin/files/patch.h"
#include "tool/builtin/files/patch_apply.h"
#include "tool/call/call.h"

#define LQ "\xe2\x80\x9c" /* left double quotation mark */
#define BOM "\xef\xbb\xbf"
#define BEGIN "*** Begin Patch\n"
#define END "*** End Patch\n"
#define UPDATE BEGIN "*** Update File: f\n"
#define DIFF "--- a/f\n+++ b/f\n"

/* One file: its text, the patch, the new text; '!': the error holds this. */
static const struct {
    const char *what, *old, *patch, *want;
} cases[] = {
    {"change", "a\nb\nc\n", UPDATE "@@\n a\n-b\n+x\n c\n" END, "a\nx\nc\n"},
    {"without @@", "a\nb\nc\n", UPDATE " a\n-b\n+x\n" END, "a\nx\nc\n"},
    {"delete", "a\nb\nc\n", UPDATE "@@\n-b\n" END, "a\nc\n"},
    {"insert", "a\nb\n", UPDATE "@@\n a\n+x\n b\n" END, "a\nx\nb\n"},
    {"insert at the start", "a\nb\n", UPDATE "@@\n+x\n a\n" END, "x\na\nb\n"},
    {"insert at the end", "a\nb\n", UPDATE "@@\n b\n+x\n" END, "a\nb\nx\n"},
    {"all of it", "a\n", UPDATE "@@\n-a\n" END, ""},
    {"two changes", "a\nb\nc\nd\n", UPDATE "@@\n-a\n+1\n@@\n-d\n+4\n" END, "1\nb\nc\n4\n"},
    {"in order", "x\nq\nx\n", UPDATE "@@\n q\n@@\n-x\n+y\n" END, "x\nq\ny\n"},
    {"blank lines lost their space", "a\n\nb\n", UPDATE "@@\n a\n\n-b\n+x\n" END, "a\n\nx\n"},
    {"blank lines before the end", "a\nb\n", UPDATE "@@\n-a\n+x\n\n\n" END, "x\nb\n"},
    {"white space after markers", "a\n",
     "*** Begin Patch  \n*** Update File:  f \n@@ \n-a\n+b\n"
     "*** End Patch \n\n",
     "b\n"},
    {"in a fence", "a\n", "```\n" UPDATE "-a\n+b\n" END "```\n", "b\n"},
    {"CRLF in the patch", "a\nb\n",
     "*** Begin Patch\r\n*** Update File: f\r\n@@\r\n-a\r\n+x\r\n"
     "*** End Patch\r\n",
     "x\nb\n"},

    {"CRLF of one line in a diff", "a\nb\r\nc\n",
     DIFF "@@ -1,3 +1,4 @@\n a\n-b\r\n+x\r\n+y\r\n c\n", "a\nx\r\ny\r\nc\n"},
    {"CRLF to LF", "a\r\nb\r\n", DIFF "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n", "a\nb\r\n"},
    {"LF to CRLF", "a\nb\n", DIFF "@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n", "a\r\nb\n"},
    {"CRLF in an empty file", "", DIFF "@@ -0,0 +1 @@\n+a\r\n", "a\r\n"},
    {"CR without LF", "a\n",
     DIFF "@@ -1 +1 @@\n-a\n+b\r\n\\ No newline at end of file\n", "b\r"},
    {"CRLF in the diff", "a\nb\n",
     "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+x\r\n b\r\n",
     "x\nb\n"},
    {"CRLF in new lines of a change", "a\n", UPDATE "@@\n a\n+b\r\n" END, "a\nb\r\n"},

    {"hint", "def f:\n  x\ndef g:\n  x\n", UPDATE "@@ def g:\n-  x\n+  y\n" END,
     "def f:\n  x\ndef g:\n  y\n"},
    {"hint repeated as context", "f:\n x\ng:\n x\n", UPDATE "@@ g:\n g:\n- x\n+ y\n" END,
     "f:\n x\ng:\n y\n"},
    {"hint by its start", "int f(void) {\n\tx;\n}\nint g(int a) {\n\tx;\n}\n",
     UPDATE "@@ int g(\n-\tx;\n+\ty;\n" END, "int f(void) {\n\tx;\n}\nint g(int a) {\n\ty;\n}\n"},
    {"nested hints", "class A\n def f\n  x\nclass B\n def f\n  x\n",
     UPDATE "@@ class B\n@@ def f\n-  x\n+  y\n" END,
     "class A\n def f\n  x\nclass B\n def f\n  y\n"},
    {"hint with @@ behind", "f\nx\ng\nx\n", UPDATE "@@ g @@\n-x\n+y\n" END, "f\nx\ng\ny\n"},
    {"insert behind a hint", "a\nb\nc\n", UPDATE "@@ b\n+x\n" END, "a\nb\nx\nc\n"},
    {"the first behind a hint", "f\nx\nx\n", UPDATE "@@ f\n-x\n+y\n" END, "f\ny\nx\n"},
    {"end of file", "x\na\nx\n", UPDATE "@@\n-x\n+y\n*** End of File\n" END, "x\na\ny\n"},
    {"append", "a\nb\n", UPDATE "@@\n+x\n*** End of File\n" END, "a\nb\nx\n"},
    {"append to a last line without end", "a\nb", UPDATE "@@\n+x\n*** End of File\n" END,
     "a\nb\nx\n"},
    {"numbers in the other form", "a\nb\n", UPDATE "@@ -1,2 +1,2 @@ f()\n a\n-b\n+x\n" END,
     "a\nx\n"},

    {"no end at the end", "a\nb", UPDATE "@@\n a\n-b\n+x\n" END, "a\nx\n"},
    {"untouched end", "a\nb", UPDATE "@@\n-a\n+x\n" END, "x\nb"},
    {"context without end, then more", "a\nb", UPDATE "@@\n b\n+x\n" END, "a\nb\nx\n"},
    {"CRLF kept", "a\r\nb\r\nc\r\n", UPDATE "@@\n a\n-b\n+x\n+y\n" END, "a\r\nx\r\ny\r\nc\r\n"},
    {"byte order mark", BOM "a\nb\n", UPDATE "@@\n-a\n+x\n" END, BOM "x\nb\n"},
    {"blanks at line ends", "a  \nb\t\nc\n", UPDATE "@@\n a\n-b\n+x\n" END, "a  \nx\nc\n"},
    {"quotes", "say " LQ "hi" LQ "\nb\n", UPDATE "@@\n say \"hi\"\n-b\n+x\n" END,
     "say " LQ "hi" LQ "\nx\n"},
    {"exact before tolerant", "a \nx\na\nx\n", UPDATE "@@\n a\n-x\n+y\n" END, "a \nx\na\ny\n"},

    {"a new file", "", BEGIN "*** Add File: f\n+a\n+\n+b\n" END, "a\n\nb\n"},
    {"an empty new file", "", BEGIN "*** Add File: f\n" END, ""},

    {"twice", "x\na\nx\n", UPDATE "@@\n-x\n+y\n" END, "!several places (lines 1, 3)"},
    {"many times", "x\nx\nx\nx\nx\nx\nx\nx\nx\nx\n", UPDATE "@@\n-x\n+y\n" END,
     "!(lines 1, 2, 3, 4, 5, 6, 7, 8, ...)"},
    {"hint twice", "f\nx\nf\nx\n", UPDATE "@@ f\n-x\n+y\n" END, "!several places (lines 2, 4)"},
    {"twice, tolerantly", "a \nb\na\t\n", UPDATE "@@\n-a\n+y\n" END,
     "!several places (lines 1, 3)"},
    {"not there", "a\nb\n", UPDATE "@@\n-zzzz\n+y\n" END, "!line 3 of the patch does not fit"},
    {"nearly there", "alpha\nbeta\n", UPDATE "@@\n alpha\n-gamma\n+y\n" END,
     "!its first line is like line 1"},
    {"wrong order", "a\nb\n", UPDATE "@@\n-b\n+y\n@@\n-a\n+x\n" END,
     "!line 6 of the patch does not"},
    {"hint not there", "a\n", UPDATE "@@ nope\n-a\n+b\n" END,
     "!\"@@\" line that is not in the file"},
    {"nowhere to insert", "a\n", UPDATE "@@\n+x\n" END, "!does not say where"},

    {"cut off", "a\n", UPDATE "@@\n-a\n+b\n", "!\"*** End Patch\" is missing"},
    {"no sign", "a\n", UPDATE "@@\n-a\nb\n" END, "!line 5 of the patch: a line of a change"},
    {"no sign in a new file", "", BEGIN "*** Add File: f\nx\n" END, "!must begin with \"+\""},
    {"no changes", "a\n", UPDATE END, "!line 2 of the patch: this file has no changes"},
    {"empty change", "a\n", UPDATE "@@\n" END, "!this change has no lines"},
    {"no path", "a\n", BEGIN "*** Update File: \n-a\n" END, "!the path is empty"},
    {"unknown section", "a\n", BEGIN "*** Frobnicate: f\n" END, "!line 2 of the patch: expected"},
    {"text after the end", "a\n", UPDATE "-a\n+b\n" END "and more\n", "!text after"},
    {"empty patch", "a\n", BEGIN END, "!the text has no patch"},

    {"diff", "a\nb\nc\n", DIFF "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "a\nx\nc\n"},
    {"diff with a section", "a\nb\n", DIFF "@@ -1,2 +1,2 @@ int f(void)\n a\n-b\n+x\n", "a\nx\n"},
    {"diff, one line", "a\n", DIFF "@@ -1 +1 @@\n-a\n+b\n", "b\n"},
    {"diff, no numbers", "a\nb\n", DIFF "@@\n-a\n+x\n", "x\nb\n"},
    {"diff, wrong numbers", "q\nq\na\nb\n", DIFF "@@ -100,2 +100,2 @@\n a\n-b\n+x\n",
     "q\nq\na\nx\n"},
    {"diff, wrong counts", "a\nb\nc\n", DIFF "@@ -1,9 +1,9 @@\n a\n-b\n+x\n c\n", "a\nx\nc\n"},
    {"diff, counts too small", "a\nb\nc\n", DIFF "@@ -1,1 +1,1 @@\n a\n-b\n+x\n c\n", "a\nx\nc\n"},
    {"diff, the number decides", "x\na\nx\nb\nx\n", DIFF "@@ -3 +3 @@\n-x\n+y\n",
     "x\na\ny\nb\nx\n"},
    {"diff, the number moves along", "n\nn\nx\na\nx\nb\nx\n",
     DIFF "@@ -2,1 +2,1 @@\n-a\n+A\n@@ -3 +3 @@\n-x\n+y\n", "n\nn\nx\nA\ny\nb\nx\n"},
    {"diff, no line end", "a\nb",
     DIFF "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n"
          "+x\n\\ No newline at end of file\n",
     "a\nx"},
    {"diff, line end added", "a\nb",
     DIFF "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n"
          "+b\n",
     "a\nb\n"},
    {"diff, a removed line of dashes", "-- x\ny\n", DIFF "@@ -1,2 +1 @@\n--- x\n y\n", "y\n"},
    {"diff, lines like a header", "-- a\n++ b\nc\n",
     DIFF "@@ -1,3 +1,3 @@\n--- a\n+++ z\n ++ b\n c\n", "++ z\n++ b\nc\n"},
    {"diff, from a mail", "a\nb\n",
     "From: me\nSubject: x\n\n---\n f | 2 +-\n\ndiff --git a/f b/f\n"
     "index 1..2 100644\n" DIFF "@@ -1,2 +1,2 @@\n a\n-b\n+x\n-- \n2.39.2\n\n",
     "a\nx\n"},
    {"diff with dates", "a\n",
     "--- f\t2024-01-01 00:00:00\n+++ f\t2024-01-02\n@@ -1 +1 @@\n-a\n+b\n", "b\n"},
    {"diff in a fence", "a\n", "```diff\n" DIFF "@@ -1 +1 @@\n-a\n+b\n```\n", "b\n"},
    {"diff, new file", "", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"},
    {"diff, twice", "x\na\nx\n", DIFF "@@ -7 +7 @@\n-x\n+y\n", "!several places (lines 1, 3)"},
    {"diff, only additions", "a\nb\n", DIFF "@@ -1,0 +2 @@\n+x\n", "!does not say where"},
    {"diff, no file", "a\n", "@@ -1 +1 @@\n-a\n+b\n", "!say which file"},
    {"diff, no hunk", "a\n", DIFF, "!this file has no hunks"},
    {"diff, bad line", "a\n", DIFF "@@ -1 +1 @@\n-a\n+b\n?c\n", "!line 6 of the patch"},
    {"diff, binary", "a\n", "diff --git a/f b/f\nGIT binary patch\nliteral 3\n", "!binary files"},
    {"diff, symbolic link", "",
     "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+/x\n",
     "!symbolic links"},
    {"diff, a file becomes a link", "a\n",
     "diff --git a/f b/f\nold mode 100644\nnew mode 120000\n", "!symbolic links"},
    {"diff, submodule", "",
     "diff --git a/f b/f\nnew file mode 160000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+Commit\n",
     "!submodules"},
    {"no patch at all", "a\n", "please change a to b\n", "!the text has no patch"},
    {"nothing", "a\n", "", "!the text has no patch"},
};

static void test_cases(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(cases); i++) {
        struct ch_patch p = {0};
        struct ch_patch_stat st;
        struct chela_error err = {0};
        CH_BUF_AUTO out = {0};
        int rc = ch_patch_read(&p, ch_sv_str(cases[i].patch), &err);
        if (rc == 0)
            rc = ch_patch_apply(NULL, &p, &p.files[0], ch_sv_str(cases[i].old), &out, &st, &err);
        bool error = cases[i].want[0] == '!';
        if ((rc < 0) != error || (error ? !strstr(err.message, cases[i].want + 1) || out.n
                                        : strcmp(ch_buf_str(&out), cases[i].want) != 0))
            fail_msg("%s: %d %s\n%s", cases[i].what, rc, err.message, ch_buf_str(&out));
        ch_patch_release(&p);
    }
}

/* What a patch says of its files. */
static const struct {
    const char *what, *patch, *want; /* "kind path[>to] hunks;" */
} headers[] = {
    {"all sections",
     BEGIN "*** Add File: a/b c\n+x\n*** Delete File: d\n*** Update File: e\n"
           "*** Move to: g/h\n@@\n-x\n*** Update File: i\n*** Move to: j\n" END,
     "A a/b c 1;D d 0;M e>g/h 1;M i>j 0;"},
    {"git",
     "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
     "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n"
     "diff --git a/o b/o\ndeleted file mode 100644\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
     "M x 1;A n 1;D o 1;"},
    {"git rename",
     "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
     "diff --git a/p b/q\nrename from p\nrename to q\n--- a/p\n+++ b/q\n"
     "@@ -1 +1 @@\n-a\n+b\n",
     "M x>y 0;M p>q 1;"},
    {"git empty files",
     "diff --git a/e b/e\nnew file mode 100644\nindex 0..e\n"
     "diff --git a/sub dir/f b/sub dir/f\ndeleted file mode 100644\n",
     "A e 0;D sub dir/f 0;"},
    {"git mode alone",
     "diff --git a/e b/e\nold mode 100644\nnew mode 100755\n"
     "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
     "M f 1;"},
    {"git quoted", "--- \"a/\\303\\251 \\\"q\\\"\\t\"\n+++ \"b/\\303\\251 \\\"q\\\"\\t\"\n@@\n-a\n",
     "M \xc3\xa9 \"q\"\t 1;"},
    {"plain names", "--- x.c\n+++ x.c\n@@\n-a\n+b\n", "M x.c 1;"},
    {"a directory named a", "--- a/x\n+++ a/x\n@@\n-a\n+b\n", "M a/x 1;"},
    {"names differ", "--- old.c\n+++ new.c\n@@\n-a\n+b\n", "M old.c>new.c 1;"},
    {"two without git", DIFF "@@\n-a\n+b\n--- a/g\n+++ b/g\n@@\n-c\n+d\n", "M f 1;M g 1;"},
    {"counts tell files apart", DIFF "@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-c\n+d\n",
     "M f 1;M g 1;"},
};

static void test_headers(void **state) {
    (void)state;
    for (size_t i = 0; i < CH_LEN(headers); i++) {
        struct ch_patch p = {0};
        struct chela_error err = {0};
        CH_BUF_AUTO got = {0};
        int rc = ch_patch_read(&p, ch_sv_str(headers[i].patch), &err);
        for (size_t k = 0; k < p.nfiles; k++)
            ch_buf_addf(&got, "%c %s%s%s %zu;", "AMD"[p.files[k].kind], p.files[k].path,
                        p.files[k].to ? ">" : "", p.files[k].to ? p.files[k].to : "",
                        p.files[k].nhunks);
        if (rc < 0 || strcmp(ch_buf_str(&got), headers[i].want) != 0)
            fail_msg("%s: %s%s", headers[i].what, err.message, ch_buf_str(&got));
        ch_patch_release(&p);
    }
}

static void test_counts(void **state) {
    struct ch_patch p = {0};
    struct ch_patch_stat st;
    CH_BUF_AUTO out = {0};

    (void)state;
    assert_int_equal(ch_patch_read(&p, CH_SV(UPDATE "@@\n a\n-b\n+x\n+y\n@@\n-d\n" END), NULL), 0);
    const struct ch_sv old = CH_SV("a \nb\nc\nd\n");
    static const chela_call stopped = {.cancelled = true};
    assert_int_equal(ch_patch_apply(&stopped, &p, &p.files[0], old, &out, &st, NULL),
                     CHELA_ECANCELED);
    assert_int_equal(out.n, 0);
    assert_int_equal(ch_patch_apply(NULL, &p, &p.files[0], old, &out, &st, NULL), 0);
    assert_int_equal(st.added, 2);
    assert_int_equal(st.removed, 2);
    assert_int_equal(st.tolerant, 1);
    ch_patch_release(&p);
}

static void test_bounded(void **state) {
    struct ch_patch p = {0};
    struct chela_error err = {0};
    CH_BUF_AUTO text = {0};

    (void)state;
    ch_buf_add_str(&text, BEGIN);
    for (int i = 0; i <= CH_LIMIT_PATCH_FILES; i++)
        ch_buf_addf(&text, "*** Delete File: f%d\n", i);
    ch_buf_add_str(&text, END);
    assert_int_equal(ch_patch_read(&p, ch_buf_sv(&text), &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "too many files"));
    ch_patch_release(&p);
    while (text.n <= CH_LIMIT_PATCH_TEXT)
        ch_buf_add_str(&text, "                                                               \n");
    assert_int_equal(ch_patch_read(&p, ch_buf_sv(&text), &err), CHELA_EINVAL);
    assert_non_null(strstr(err.message, "longer than 4 MB"));
    ch_patch_release(&p);
}

/* Lines that nearly match everywhere must not cost their product. */
static void test_time(void **state) {
    struct ch_patch p = {0};
    struct ch_patch_stat st;
    struct chela_error err = {0};
    CH_BUF_AUTO text = {0}, patch = {0}, out = {0};

    (void)state;
    for (int i = 0; i < 1000000; i++)
        ch_buf_add_str(&text, "a\n");
    ch_buf_add_str(&patch, UPDATE "@@\n");
    for (int i = 0; i < 200000; i++)
        ch_buf_add_str(&patch, " a\n");
    ch_buf_add_str(&patch, "-b\n" END);
    int64_t from = kit_ms();
    assert_int_equal(ch_patch_read(&p, ch_buf_sv(&patch), &err), 0);
    assert_int_equal(ch_patch_apply(NULL, &p, &p.files[0], ch_buf_sv(&text), &out, &st, &err),
                     CHELA_EINVAL);
    assert_true(kit_ms() - from < 60000); /* line by line it would be an hour */
    ch_patch_release(&p);
}

/* Many hunks of a file, then one more. The last lines of the file come several times. */
static void test_many_hunks(void **state) {
    static const struct {
        const char *hunk, *want; /* want: the end of the file, or an error */
    } last[] = {
        {" x\n-x\n", "!several places (lines 401, 402)"},
        {" a\n-b\n", "!several places (lines 404, 409)"},
        {" b\n-c\n", "x\nx\nx\na\nb\nb\na\na\nb\n"},
        {" b\n-a\n+y\n a\n", "x\nx\nx\na\nb\nc\nb\ny\na\nb\n"},
    };

    (void)state;
    for (size_t i = 0; i < CH_LEN(last); i++) {
        struct ch_patch p = {0};
        struct ch_patch_stat st;
        struct chela_error err = {0};
        CH_BUF_AUTO old = {0}, patch = {0}, out = {0}, want = {0};
        ch_buf_add_str(&patch, UPDATE);
        for (int k = 0; k < 100; k++) {
            ch_buf_addf(&old, "{\nf%d\nold\n}\n", k);
            ch_buf_addf(&patch, "@@\n {\n f%d\n-old\n+new\n }\n", k);
            ch_buf_addf(&want, "{\nf%d\nnew\n}\n", k);
        }
        ch_buf_add_str(&old, "x\nx\nx\na\nb\nc\nb\na\na\nb\n");
        ch_buf_addf(&patch, "@@\n%s" END, last[i].hunk);
        ch_buf_add_str(&want, last[i].want);
        assert_int_equal(ch_patch_read(&p, ch_buf_sv(&patch), &err), 0);
        int rc = ch_patch_apply(NULL, &p, &p.files[0], ch_buf_sv(&old), &out, &st, &err);
        if (last[i].want[0] == '!')
            assert_non_null(strstr(err.message, last[i].want + 1));
        else
            assert_string_equal(ch_buf_str(&out), ch_buf_str(&want));
        assert_int_equal(rc < 0, last[i].want[0] == '!');
        ch_patch_release(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),  cmocka_unit_test(test_headers),
        cmocka_unit_test(test_counts), cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_time),   cmocka_unit_test(test_many_hunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
