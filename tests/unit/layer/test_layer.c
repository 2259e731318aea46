/* Layers: the difference of texts, and commits that were interrupted. tests/e2e/review.sh has the
 * rest, because a layer is mounted by the sandbox. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "layer/commit.h"
#include "layer/covered.h"
#include "layer/line_diff.h"
#include "layer/walk.h"

/* --- texts */

static void add_random_lines(struct ch_buf *out, unsigned *seed) {
    unsigned n = (*seed = *seed * 1103515245 + 12345) >> 16 & 31;

    for (unsigned i = 0; i < n; i++) {
        *seed = *seed * 1103515245 + 12345;
        ch_buf_addf(out, "line %u\n", *seed >> 16 & 7);
    }
    if (*seed & 0x100000)
        ch_buf_add_str(out, "no newline");
}

static void all_hunks_give_the_new_text_and_none_the_old(void **state) {
    (void)state;
    for (unsigned seed = 1; seed < 500; seed++) {
        struct ch_arena a = {0};
        CH_BUF_AUTO old = {0}, new = {0}, all = {0}, none = {0};
        struct ch_line_diff d;
        unsigned dice = seed;
        add_random_lines(&old, &dice);
        add_random_lines(&new, &dice);
        ch_line_diff(&a, ch_buf_sv(&old), ch_buf_sv(&new), &d);
        bool taken[64] = {false};
        ch_line_diff_apply(&d, taken, &none);
        memset(taken, true, sizeof(taken));
        ch_line_diff_apply(&d, taken, &all);
        assert_string_equal(ch_buf_str(&old), ch_buf_str(&none));
        assert_string_equal(ch_buf_str(&new), ch_buf_str(&all));
        ch_arena_release(&a);
    }
}

static void texts_without_a_common_line_are_one_hunk(void **state) {
    struct ch_arena a = {0};
    struct ch_line_diff d;
    CH_BUF_AUTO out = {0};

    (void)state;
    ch_line_diff(&a, CH_SV("a\nb\n"), CH_SV("c"), &d);
    assert_int_equal(d.nhunks, 1);
    ch_hunk_write(&d, &d.hunks[0], &out);
    assert_string_equal(ch_buf_str(&out),
                        "@@ -1,2 +1 @@\n-a\n-b\n+c\n\\ No newline at end of file\n");
    ch_arena_release(&a);
}

/* --- commits */

struct place {
    char top[64], workspace[96];
    struct ch_work_layer *layer;
};

static void put(int dir, const char *name, const char *text) {
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(ch_file_write(fd, ch_sv_str(text)), 0);
    close(fd);
}

static void open_layer(struct place *p) {
    struct ch_layer_opts o = {.workspace = p->workspace, .session = "s", .create = true};
    struct chela_error err = {0};

    assert_int_equal(ch_layer_open(&o, &p->layer, &err), 0);
}

static void place_new(struct place *p) {
    *p = (struct place){.top = "/tmp/chela-layer-XXXXXX"};
    assert_non_null(mkdtemp(p->top));
    snprintf(p->workspace, sizeof(p->workspace), "%s/ws", p->top);
    assert_int_equal(mkdir(p->workspace, 0755), 0);
    setenv("XDG_STATE_HOME", p->top, 1);
    open_layer(p);
}

static void place_free(struct place *p) {
    ch_layer_close(p->layer);
    assert_int_equal(ch_layer_erase(AT_FDCWD, p->top), 0);
}

static void holds(struct place *p, const char *name, const char *text) {
    CH_BUF_AUTO path = {0}, got = {0};

    ch_buf_addf(&path, "%s/%s", p->workspace, name);
    assert_int_equal(ch_file_load(ch_buf_str(&path), 4096, &got, NULL), 0);
    assert_string_equal(ch_buf_str(&got), text);
}

/* A journal with the steps for all changes, as a process that was killed leaves it. */
static void leave_journal(struct place *p) {
    struct ch_commit c = {.layer = p->layer};
    struct ch_layer_changes changes;
    struct ch_arena a = {0};

    assert_int_equal(ch_changes_find(p->layer, &a, &changes, NULL), 0);
    for (size_t i = 0; i < changes.n; i++)
        assert_int_equal(ch_commit_add(&c, &changes.v[i], NULL), 0);
    put(p->layer->fd, "journal", ch_buf_str(&c.steps));
    ch_commit_release(&c);
    ch_changes_free(&changes);
    ch_arena_release(&a);
}

static void an_interrupted_commit_is_finished_by_the_next_process(void **state) {
    struct place p;

    (void)state;
    place_new(&p);
    put(p.layer->real, "a", "old\n");
    put(p.layer->upper, "a", "new\n");
    put(p.layer->upper, "b", "made\n");
    leave_journal(&p);
    put(p.layer->real, "b", "made\n"); /* the first steps were done */
    ch_layer_close(p.layer);
    open_layer(&p);
    holds(&p, "a", "new\n");
    holds(&p, "b", "made\n");
    assert_false(ch_commit_pending(p.layer->dir));
    place_free(&p);
}

static void an_interrupted_commit_spares_what_a_person_changed_since(void **state) {
    struct place p;

    (void)state;
    place_new(&p);
    put(p.layer->real, "a", "old\n");
    put(p.layer->upper, "a", "new\n");
    put(p.layer->upper, "b", "made\n");
    leave_journal(&p);
    put(p.layer->real, "a", "of a person\n");
    ch_layer_close(p.layer);
    open_layer(&p);
    holds(&p, "a", "of a person\n");
    holds(&p, "b", "made\n");
    place_free(&p);
}

/* --- commits that fail */

static void make_commit(struct place *p, struct ch_commit *c) {
    struct ch_layer_changes changes;
    struct ch_arena a = {0};

    *c = (struct ch_commit){.layer = p->layer};
    assert_int_equal(ch_changes_find(p->layer, &a, &changes, NULL), 0);
    for (size_t i = 0; i < changes.n; i++)
        assert_int_equal(ch_commit_add(c, &changes.v[i], NULL), 0);
    ch_changes_free(&changes);
    ch_arena_release(&a);
}

/* Steps of every kind, in a workspace where the last one, z, can be made to fail. */
static void fill(struct place *p) {
    int real = p->layer->real, upper = p->layer->upper;

    put(real, "a", "old\n");
    put(upper, "a", "new\n");
    put(upper, "b", "made\n");
    assert_int_equal(symlinkat("a", real, "l"), 0);
    assert_int_equal(symlinkat("b", upper, "l"), 0);
    assert_int_equal(mkdirat(upper, "d", 0755), 0);
    put(upper, "d/f", "made\n");
    assert_int_equal(mkdirat(real, "gone", 0750), 0);
    put(real, "gone/f", "old\n");
    assert_int_equal(mknodat(upper, "gone", S_IFCHR, 0), 0);
    assert_int_equal(mkdirat(real, "mode", 0755), 0);
    assert_int_equal(mkdirat(upper, "mode", 0700), 0);
    put(real, "z", "old\n");
    put(upper, "z", "new\n");
}

static void is_as_before(struct place *p, const char *z) {
    char target[8] = "";
    struct stat st;

    holds(p, "a", "old\n");
    holds(p, "gone/f", "old\n");
    holds(p, "z", z);
    assert_int_equal(faccessat(p->layer->real, "b", F_OK, 0), -1);
    assert_int_equal(faccessat(p->layer->real, "d", F_OK, 0), -1);
    assert_int_equal(readlinkat(p->layer->real, "l", target, sizeof(target)), 1);
    assert_int_equal(target[0], 'a');
    assert_int_equal(fstatat(p->layer->real, "gone", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    assert_int_equal(fstatat(p->layer->real, "mode", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_false(ch_commit_pending(p->layer->dir));
}

static void fail_in_the_end(const char *state_home) {
    struct chela_error err = {0};
    struct ch_commit c;
    struct place p;

    place_new(&p);
    if (state_home) {
        ch_layer_close(p.layer);
        setenv("XDG_STATE_HOME", state_home, 1);
        open_layer(&p);
    }
    fill(&p);
    make_commit(&p, &c);
    put(p.layer->real, "z", "of a person\n");
    assert_int_equal(ch_commit_run(&c, &err), CHELA_ESTATE);
    assert_non_null(strstr(err.message, "z changed underneath"));
    ch_commit_release(&c);
    is_as_before(&p, "of a person\n");
    ch_layer_close(p.layer);
    open_layer(&p); /* nothing is gone on with */
    is_as_before(&p, "of a person\n");
    place_free(&p);
}

static void a_commit_that_fails_is_taken_back(void **state) {
    char other[] = "/dev/shm/chela-layer-XXXXXX"; /* another file system on most machines */

    (void)state;
    if (geteuid() != 0) /* devices mark what is removed */
        skip();
    fail_in_the_end(NULL);
    if (!mkdtemp(other))
        return;
    fail_in_the_end(other);
    assert_int_equal(ch_layer_erase(AT_FDCWD, other), 0);
}

/* The next process cannot go on either: a directory is in the way. */
static void an_interrupted_commit_that_cannot_be_finished_is_taken_back(void **state) {
    struct ch_layer_opts o = {.session = "s"};
    struct chela_error err = {0};
    struct place p;

    (void)state;
    if (geteuid() != 0)
        skip();
    place_new(&p);
    fill(&p);
    put(p.layer->upper, "y", "made\n");
    struct ch_work_layer *other;
    leave_journal(&p);
    assert_int_equal(mkdirat(p.layer->real, ".chela-commit", 0755), 0); /* none can be made */
    ch_layer_close(p.layer);
    o.workspace = p.workspace;
    assert_int_equal(ch_layer_open(&o, &other, &err), CHELA_EIO);
    assert_non_null(strstr(err.message, "nothing was applied"));
    open_layer(&p);
    assert_int_equal(unlinkat(p.layer->real, ".chela-commit", AT_REMOVEDIR), 0);
    is_as_before(&p, "old\n");
    struct ch_commit c;
    make_commit(&p, &c);
    assert_int_equal(ch_commit_run(&c, &err), 0);
    ch_commit_release(&c);
    holds(&p, "z", "new\n");
    holds(&p, "d/f", "made\n");
    assert_int_equal(faccessat(p.layer->real, "gone", F_OK, 0), -1);
    place_free(&p);
}

static void a_second_process_finds_the_layer_in_use(void **state) {
    struct place p;
    struct ch_work_layer *other;

    (void)state;
    place_new(&p);
    struct ch_layer_opts o = {.workspace = p.workspace, .session = "s"};
    assert_int_equal(ch_layer_open(&o, &other, NULL), CHELA_EBUSY);
    place_free(&p);
}

static void paths_of_a_journal_may_hold_any_byte(void **state) {
    struct ch_arena a = {0};
    CH_BUF_AUTO out = {0};
    const char *path = "a b/%41\n\xff\x01";

    (void)state;
    ch_layer_escape(&out, path);
    assert_null(strchr(ch_buf_str(&out), ' '));
    assert_null(strchr(ch_buf_str(&out), '\n'));
    assert_string_equal(ch_layer_unescape(&a, ch_buf_sv(&out)), path);
    ch_arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_hunks_give_the_new_text_and_none_the_old),
        cmocka_unit_test(texts_without_a_common_line_are_one_hunk),
        cmocka_unit_test(an_interrupted_commit_is_finished_by_the_next_process),
        cmocka_unit_test(an_interrupted_commit_spares_what_a_person_changed_since),
        cmocka_unit_test(a_commit_that_fails_is_taken_back),
        cmocka_unit_test(an_interrupted_commit_that_cannot_be_finished_is_taken_back),
        cmocka_unit_test(a_second_process_finds_the_layer_in_use),
        cmocka_unit_test(paths_of_a_journal_may_hold_any_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
