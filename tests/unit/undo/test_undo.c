/* test_undo.c -- the record of changes: scans, copies, restoring, damaged files, limits. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "support/textfile.h"
#include "undo/undo_restore.h"
#include "undo/undo_scan.h"

struct world {
    char dir[64], records[96];
    int root;
    struct ch_undo_record r;
    struct ch_undo_index x;
    struct ch_buf told; /* outcomes and paths */
};

static int set_up(void **state) {
    struct world *w = ch_alloc(sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/chela-undo-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->records, sizeof(w->records), "%s/records", w->dir);
    assert_int_equal(chdir(w->dir), 0);
    mkdir("w", 0755);
    w->root = open("w", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(ch_undo_record_open(&w->r, w->records, w->root, NULL), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state) {
    struct world *w = *state;
    char command[128];
    ch_undo_record_close(&w->r);
    ch_undo_index_release(&w->x);
    ch_buf_release(&w->told);
    close(w->root);
    snprintf(command, sizeof(command), "rm -rf %s", w->dir);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(system(command), 0);
    ch_free(w);
    return 0;
}

static void on_item(const struct chela_undo_item *item, void *user) {
    struct world *w = user;
    ch_buf_addf(&w->told, "%d %s\n", (int)item->outcome, item->path);
}

/* A message that begins: what is there now is known. */
static void begin(struct world *w, const char *text) {
    ch_undo_record_message(&w->r, "s", 0, 1, text);
    assert_true(ch_undo_scan(&w->x, &w->r, w->root, NULL, false));
    ch_undo_index_save(&w->x, &w->r);
}

static void end(struct world *w) {
    struct ch_undo_message *m = &w->r.list[w->r.n - 1];
    assert_true(ch_undo_scan(&w->x, &w->r, w->root, NULL, true));
    for (size_t i = 0; i < m->n; i++) {
        struct stat st;
        struct ch_undo_sig is = {0};
        if (fstatat(w->root, m->changes[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0)
            is = ch_undo_sig(&st);
        ch_undo_record_settle(&w->r, m, &m->changes[i], &is);
    }
    ch_undo_record_ended(&w->r);
}

static int undo(struct world *w, uint64_t id, bool look_only) {
    struct ch_undo_others others = {0};
    ch_buf_clear(&w->told);
    ch_undo_others_load(&others, &w->r, w->records, w->root);
    int rc = ch_undo_put_back(&w->r, &others, w->root, "s", id, look_only, on_item, w);
    ch_undo_others_release(&others);
    return rc;
}

static void reopen(struct world *w) {
    ch_undo_record_close(&w->r);
    ch_undo_index_release(&w->x);
    assert_int_equal(ch_undo_record_open(&w->r, w->records, w->root, NULL), 0);
    ch_undo_index_load(&w->x, &w->r);
}

static void test_restores(void **state) {
    struct world *w = *state;
    put("w/a", "one");
    mkdir("w/d", 0750);
    put("w/d/\xff \n%", "odd name");
    symlink("a", "w/l");
    const struct timespec far[] = {{0}, {.tv_sec = 1LL << 34}}; /* beyond nanoseconds in 64 bits */
    assert_int_equal(utimensat(AT_FDCWD, "w/a", far, 0), 0);
    begin(w, "first");
    put("w/a", "two");
    unlink("w/d/\xff \n%");
    rmdir("w/d");
    unlink("w/l");
    mkdir("w/new", 0755);
    put("w/new/f", "x");
    end(w);
    reopen(w);
    assert_int_equal(undo(w, 1, true), 0);
    assert_string_equal(got("w/a"), "two");
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(got("w/a"), "one");
    assert_string_equal(got("w/d/\xff \n%"), "odd name");
    assert_string_equal(got("w/l"), "one");
    assert_int_equal(access("w/new", F_OK), -1);
    assert_null(strstr(ch_buf_str(&w->told), "4 "));
    assert_int_equal(undo(w, 9, false), CHELA_ENOENT);
}

static void test_messages_in_a_row(void **state) {
    struct world *w = *state;
    put("w/a", "0");
    begin(w, "first");
    put("w/a", "11");
    end(w);
    begin(w, "second");
    put("w/a", "222");
    end(w);
    begin(w, "third");
    put("w/b", "b");
    end(w);
    assert_int_equal(undo(w, 2, false), 0);
    assert_string_equal(got("w/a"), "11");
    assert_string_equal(got("w/b"), "(nothing)");
    assert_int_equal(undo(w, 1, false), 0); /* the file of the first one is known again */
    assert_string_equal(got("w/a"), "0");
    assert_string_equal(ch_buf_str(&w->told), "0 a\n");
}

static void test_no_copy(void **state) {
    struct world *w = *state;
    put("w/.gitignore", "*.o\nbuild/\n");
    put("w/x.o", "o");
    mkdir("w/build", 0755);
    put("w/build/y", "y");
    int fd = open("w/large", O_WRONLY | O_CREAT, 0644);
    assert_int_equal(ftruncate(fd, (off_t)CH_LIMIT_UNDO_FILE + 1), 0);
    close(fd);
    mkfifo("w/pipe", 0600);
    begin(w, "first");
    put("w/x.o", "changed");
    put("w/build/y", "changed");
    put("w/large", "changed");
    unlink("w/pipe");
    end(w);
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(ch_buf_str(&w->told), "3 x.o\n3 pipe\n3 large\n3 build/y\n");
    assert_string_equal(got("w/x.o"), "changed");
}

/* Undo removes the new name of a moved file only if the file has a copy. */
/* The rules of a .gitignore file that would take too long are not all asked. */
static void test_many_rules(void **state) {
    struct world *w = *state;
    static char rules[64 << 10], name[256];
    memset(rules, '#', sizeof(rules));
    memcpy(rules + sizeof(rules) - 7, "\n*.log", 7);
    put("w/.gitignore", rules);
    memset(name, 'x', 200);
    memcpy(name, "w/", 2);
    for (int i = 0; i < 1500; i++) {
        snprintf(name + 200, 56, "%d.log", i);
        put(name, "x");
    }
    begin(w, "first");
    size_t copied = 0;
    for (size_t i = 0; i < w->x.n; i++)
        copied += w->x.list[i].copy.kind == CH_UNDO_FILE;
    assert_in_range(copied, 500, 1000);
}

static void test_moved_without_copy(void **state) {
    struct world *w = *state;
    int fd = open("w/large", O_WRONLY | O_CREAT, 0644);
    assert_int_equal(ftruncate(fd, (off_t)CH_LIMIT_UNDO_FILE + 1), 0);
    close(fd);
    put("w/.gitignore", "*.o\n");
    put("w/x.o", "o");
    put("w/small", "small");
    begin(w, "first");
    mkdir("w/d", 0755);
    rename("w/large", "w/d/large");
    rename("w/x.o", "w/d/y");
    rename("w/small", "w/d/small");
    end(w);
    reopen(w);
    assert_int_equal(undo(w, 1, false), 0);
    assert_int_equal(access("w/d/large", F_OK), 0);
    assert_string_equal(got("w/d/y"), "o");
    assert_string_equal(got("w/small"), "small");
    assert_int_equal(access("w/d/small", F_OK), -1);
    assert_string_equal(ch_buf_str(&w->told), "3 x.o\n3 large\n3 d/y\n3 d/large\n"
                                              "2 d\n1 d/small\n0 small\n");
}

/* Undo leaves the only copy of a file that was moved to the place of another one. */
static void test_moved_over_another(void **state) {
    struct world *w = *state;
    put("w/.gitignore", "*.o\n");
    put("w/x.o", "o");
    put("w/small", "small");
    put("w/a", "a");
    put("w/b", "b");
    begin(w, "first");
    rename("w/x.o", "w/a");
    rename("w/small", "w/b");
    end(w);
    reopen(w);
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(got("w/a"), "o");
    assert_string_equal(got("w/b"), "b");
    assert_string_equal(got("w/small"), "small");
    assert_string_equal(ch_buf_str(&w->told), "3 x.o\n3 a\n0 b\n0 small\n");
}

/* Undo leaves files that existed before the message and came from outside of the workspace. */
static void test_moved_from_outside(void **state) {
    struct world *w = *state;
    struct statx st = {0};
    put("outside", "outside");
    put("over", "over");
    put("linked", "linked");
    assert_int_equal(statx(AT_FDCWD, "outside", 0, STATX_BTIME, &st), 0);
    if (!(st.stx_mask & STATX_BTIME))
        skip();
    put("w/a", "a");
    begin(w, "first");
    w->r.list[0].ts = (st.stx_btime.tv_sec + 60) * 1000; /* the files are a minute older */
    mkdir("w/d", 0755);
    rename("outside", "w/d/f");
    rename("over", "w/a");
    assert_int_equal(link("linked", "w/l"), 0);
    end(w);
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(got("w/d/f"), "outside");
    assert_string_equal(got("w/a"), "over");
    assert_int_equal(access("w/l", F_OK), -1); /* it has its other name */
    assert_string_equal(ch_buf_str(&w->told), "3 d/f\n2 d\n3 a\n1 l\n");
}

/* Undo removes no file of a directory that the scan before the command did not read. */
static void test_directories_that_were_not_read(void **state) {
    struct world *w = *state;
    struct ch_buf path = {0};
    ch_buf_add_str(&path, "w");
    for (int i = 0; i <= CH_LIMIT_UNDO_DEPTH + 1; i++) {
        ch_buf_add_str(&path, "/d");
        mkdir(ch_buf_str(&path), 0755);
    }
    ch_buf_add_str(&path, "/f");
    put(ch_buf_str(&path), "deep");
    begin(w, "first");
    rename("w/d/d/d", "w/e");
    end(w);
    assert_int_equal(undo(w, 1, false), 0);
    path.p[2] = 'e';
    memmove(path.p + 3, path.p + 7, path.n - 6);
    assert_string_equal(got(ch_buf_str(&path)), "deep");
    ch_buf_release(&path);
}

static void test_links_are_not_followed(void **state) {
    struct world *w = *state;
    mkdir("w/d", 0755);
    put("w/d/f", "inside");
    begin(w, "first");
    put("w/d/f", "changed");
    end(w);
    mkdir("outside", 0755);
    put("outside/f", "outside");
    unlink("w/d/f");
    rmdir("w/d");
    symlink("../outside", "w/d");
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(got("outside/f"), "outside");
    assert_non_null(strstr(ch_buf_str(&w->told), " d/f\n"));
    assert_null(strstr(ch_buf_str(&w->told), "0 d/f"));
}

static void test_copies_of_sessions(void **state) {
    struct world *w = *state;
    ch_undo_record_message(&w->r, "a", 0, 1, "1");
    ch_undo_record_message(&w->r, "a", 1, 1, "2");
    ch_undo_record_fork(&w->r, "a", "b", 2);
    ch_undo_record_message(&w->r, "b", 1, 1, "3");
    ch_undo_record_fork(&w->r, "b", "c", 0);
    reopen(w);
    assert_true(ch_undo_record_belongs(&w->r, &w->r.list[0], "b"));
    assert_false(ch_undo_record_belongs(&w->r, &w->r.list[1], "b"));
    assert_true(ch_undo_record_belongs(&w->r, &w->r.list[0], "c"));
    assert_true(ch_undo_record_belongs(&w->r, &w->r.list[2], "c"));
    assert_false(ch_undo_record_belongs(&w->r, &w->r.list[2], "a"));
    assert_false(ch_undo_record_belongs(&w->r, &w->r.list[1], "c"));
}

/* Cut or damage one file of a new record, and use the record. */
static void damage(struct world *w, const char *name, int part) {
    char text[8192];
    ch_undo_record_close(&w->r);
    ch_undo_index_release(&w->x);
    snprintf(w->records, sizeof(w->records), "%s/%s%d", w->dir, name, part);
    assert_int_equal(ch_undo_record_open(&w->r, w->records, w->root, NULL), 0);
    put("w/a", "one");
    begin(w, "first");
    put("w/a", "two");
    end(w);
    ch_undo_index_save(&w->x, &w->r);
    int fd = openat(w->r.dir, name, O_RDWR);
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text));
    assert_true(n > 0);
    if (part % 2) {
        assert_int_equal(ftruncate(fd, n * part / 20), 0);
    } else {
        memset(text, part * 13, 16);
        assert_int_equal(pwrite(fd, text, 16, n * part / 20), 16);
    }
    close(fd);
    reopen(w);
    undo(w, 1, false);
    begin(w, "after all");
    put("w/a", "three");
    end(w);
    assert_int_equal(undo(w, w->r.list[w->r.n - 1].id, false), 0);
    assert_string_not_equal(got("w/a"), "three");
}

/* Nothing is read beyond the files, and the record can be used afterwards. */
static void test_damage(void **state) {
    for (int part = 0; part < 20; part++) {
        damage(*state, "log", part);
        damage(*state, "index", part);
        damage(*state, "pack-1", part);
    }
}

static void test_old_messages_are_dropped(void **state) {
    struct world *w = *state;
    for (int i = 0; i <= CH_LIMIT_UNDO_MESSAGES; i++)
        ch_undo_record_message(&w->r, "s", i, 1, "text");
    assert_true(ch_undo_record_tidy(&w->r));
    assert_int_equal(w->r.n, CH_LIMIT_UNDO_MESSAGES / 2);
    uint64_t last = w->r.list[w->r.n - 1].id;
    reopen(w);
    assert_int_equal(w->r.n, CH_LIMIT_UNDO_MESSAGES / 2);
    assert_int_equal(w->r.list[w->r.n - 1].id, last);
    assert_false(ch_undo_record_tidy(&w->r));
}

/* A record that was opened keeps its index and its last message, also one with many copies. */
static void test_large_message(void **state) {
    struct world *w = *state;
    put("w/a", "one");
    begin(w, "first");
    put("w/a", "two");
    end(w);
    struct ch_undo_state large = {
        .kind = CH_UNDO_FILE, .mode = 0644, .n = CH_LIMIT_UNDO_PACK / 4 + 1};
    ch_undo_record_message(&w->r, "s", 0, 1, "second");
    assert_int_equal(ftruncate(w->r.pack, CH_LIMIT_UNDO_PACK / 2 + 1), 0);
    ch_undo_record_change(&w->r, "large", &large);
    ch_undo_index_save(&w->x, &w->r);
    reopen(w);
    assert_true(w->x.valid);
    assert_int_equal(w->r.n, 2);
    assert_true(ch_undo_record_tidy(&w->r));
    assert_int_equal(w->r.n, 1);
    assert_string_equal(w->r.list[0].text, "second");
}

static void long_message(struct world *w, const char *text) {
    char path[3000];
    memset(path, 'x', sizeof(path));
    ch_undo_record_message(&w->r, "s", 0, 1, text);
    for (unsigned i = 0; i < 2200; i++) {
        snprintf(path + sizeof(path) - 8, 8, "%u", i);
        ch_undo_record_change(&w->r, path, &(struct ch_undo_state){.kind = CH_UNDO_ABSENT});
    }
    ch_undo_record_ended(&w->r);
}

/* The newest message is read from a log of any size. The log of old ones is bounded. */
static void test_long_log(void **state) {
    struct world *w = *state;
    for (int i = 0; i < 3; i++)
        long_message(w, "old");
    long_message(w, "new");
    assert_true(w->r.log_size > 3 * CH_LIMIT_UNDO_LOG);
    reopen(w);
    assert_int_equal(w->r.n, 4);
    assert_int_equal(w->r.list[3].n, 2200);
    assert_true(w->r.list[3].ended);
    assert_true(ch_undo_record_tidy(&w->r));
    assert_true(w->r.log_size <= CH_LIMIT_UNDO_LOG);
    assert_string_equal(w->r.list[w->r.n - 1].text, "new");
}

/* Long texts end with a whole character. */
static void test_texts_are_cut(void **state) {
    struct world *w = *state;
    char text[4 * CH_KB + 3];
    memset(text, 'x', sizeof(text));
    memcpy(text + 4 * CH_KB - 1, "\xc3\xa9", 3);
    ch_undo_record_message(&w->r, "s", 0, 1, text);
    ch_undo_record_call(&w->r, ch_sv(text + 4 * CH_KB - 200, 201));
    assert_int_equal(strlen(w->r.list[0].text), 4 * CH_KB - 1);
    assert_int_equal(strlen(w->r.list[0].calls[0]), 199);
}

/* A record that cannot be rewritten keeps the places of its copies. */
static void test_failed_rewrite(void **state) {
    struct world *w = *state;
    put("w/0", "unused");
    begin(w, "first");
    put("w/a", "one");
    begin(w, "second");
    put("w/a", "changed");
    end(w);
    w->r.log_size = CH_LIMIT_UNDO_LOG + 1;
    mkdirat(w->r.dir, "log.new", 0700);
    assert_false(ch_undo_record_tidy(&w->r));
    assert_int_equal(undo(w, 2, false), 0);
    assert_string_equal(got("w/a"), "one");
    assert_int_equal(faccessat(w->r.dir, "pack-2", F_OK, 0), -1);
}

static void limit_size(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, RLIM_INFINITY}), 0);
}

/* Facts after one that was not written do not become facts of another message. */
static void test_full_log(void **state) {
    struct world *w = *state;
    ch_undo_record_message(&w->r, "s", 0, 1, "first");
    limit_size(w->r.log_size + 5);
    ch_undo_record_message(&w->r, "s", 0, 1, "second");
    limit_size(RLIM_INFINITY);
    ch_undo_record_change(&w->r, "f", &(struct ch_undo_state){.kind = CH_UNDO_ABSENT});
    ch_undo_record_change(&w->r, "g", &(struct ch_undo_state){.kind = CH_UNDO_ABSENT});
    reopen(w);
    assert_int_equal(w->r.n, 1);
    assert_int_equal(w->r.list[0].n, 0);
    ch_undo_record_message(&w->r, "s", 0, 1, "third"); /* after the torn line */
    reopen(w);
    assert_int_equal(w->r.n, 2);
    assert_string_equal(w->r.list[1].text, "third");
    limit_size(w->r.log_size + 5);
    ch_undo_record_message(&w->r, "s", 0, 1, "fourth");
    limit_size(RLIM_INFINITY);
    assert_true(ch_undo_record_tidy(&w->r));
    reopen(w);
    assert_int_equal(w->r.n, 3);
}

/* A file that does not fit on the disk is not restored in part, and can be restored later. */
static void test_full_disk(void **state) {
    struct world *w = *state;
    put("w/a", "twelve bytes");
    put("w/b", "small");
    begin(w, "first");
    put("w/a", "changed");
    put("w/b", "changed");
    end(w);
    limit_size(6);
    errno = 0;
    assert_int_equal(undo(w, 1, true), 0);
    errno = 0;
    assert_int_equal(undo(w, 1, false), 0);
    limit_size(RLIM_INFINITY);
    assert_string_equal(ch_buf_str(&w->told), "4 a\n0 b\n");
    assert_string_equal(got("w/a"), "changed");
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(ch_buf_str(&w->told), "0 a\n0 b\n");
    assert_string_equal(got("w/a"), "twelve bytes");
    assert_string_equal(got("w/b"), "small");
}

static void test_two_programs(void **state) {
    struct world *w = *state;
    struct ch_undo_record other[CH_LIMIT_UNDO_SLOTS];
    struct chela_error err = {0};
    for (size_t i = 1; i < CH_LIMIT_UNDO_SLOTS; i++)
        assert_int_equal(ch_undo_record_open(&other[i], w->records, w->root, NULL), 0);
    assert_int_equal(ch_undo_record_open(&other[0], w->records, w->root, &err), CHELA_EBUSY);
    for (size_t i = 1; i < CH_LIMIT_UNDO_SLOTS; i++)
        ch_undo_record_close(&other[i]);
}

/* What a file tool does. */
static void write_new(struct world *w, const char *name, const char *path) {
    put(path, "x");
    ch_undo_record_change(&w->r, name, &(struct ch_undo_state){.kind = CH_UNDO_ABSENT});
    ch_undo_record_own(&w->r, name);
}

static void test_changes_of_another_program(void **state) {
    struct world *w = *state, other = {.root = w->root};
    memcpy(other.records, w->records, sizeof(other.records));
    assert_int_equal(ch_undo_record_open(&other.r, w->records, w->root, NULL), 0);
    put("w/old", "1");
    begin(w, "ours");
    begin(&other, "theirs");
    ch_undo_record_scanned(&other.r);
    write_new(w, "ours", "w/ours");
    write_new(&other, "theirs", "w/theirs");
    put("w/either", "x");
    put("w/old", "22");
    end(w);
    assert_int_equal(undo(w, 1, true), 0); /* their message is in progress */
    assert_string_equal(ch_buf_str(&w->told), "2 theirs\n2 old\n2 either\n1 ours\n");
    end(&other);
    reopen(w);
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(ch_buf_str(&w->told), "2 theirs\n2 old\n2 either\n1 ours\n");
    assert_string_equal(got("w/theirs"), "x");
    assert_string_equal(got("w/old"), "22");
    assert_int_equal(undo(&other, 1, false), 0); /* nobody else claims the others now */
    assert_string_equal(ch_buf_str(&other.told), "1 either\n0 old\n1 theirs\n");
    ch_undo_record_close(&other.r);
    ch_undo_index_release(&other.x);
    ch_buf_release(&other.told);
}

/* A change that only one of two programs saw is restored. */
static void test_programs_in_turn(void **state) {
    struct world *w = *state, other = {.root = w->root};
    memcpy(other.records, w->records, sizeof(other.records));
    assert_int_equal(ch_undo_record_open(&other.r, w->records, w->root, NULL), 0);
    begin(&other, "theirs");
    put("w/a", "1");
    end(&other);
    begin(w, "ours");
    put("w/a", "22");
    put("w/b", "2");
    end(w);
    assert_int_equal(undo(w, 1, false), 0);
    assert_string_equal(ch_buf_str(&w->told), "0 a\n1 b\n");
    assert_string_equal(got("w/a"), "1");
    ch_undo_record_close(&other.r);
    ch_undo_index_release(&other.x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_restores, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages_in_a_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_rules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved_without_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved_over_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved_from_outside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_that_were_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_are_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_copies_of_sessions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_messages_are_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_texts_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_rewrite, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changes_of_another_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_programs_in_turn, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
