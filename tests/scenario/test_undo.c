/* test_undo.c -- scans of a workspace beside the loop: the loop goes on during a scan, calls that
 * may change files wait for it, and each of cancel, end, restore and close may come meanwhile.
 *
 * The program's own fdopendir() makes every scan on another thread wait at a gate. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "chela/undo.h"
#include "support/stage.h"
#include "support/textfile.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool shut;
    pthread_t loop;
    atomic_uint on_loop, beside; /* directories that were opened by that thread and by others */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

DIR *fdopendir(int fd) {
    DIR *(*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "fdopendir");
    bool on_loop = pthread_equal(pthread_self(), gate.loop);
    atomic_fetch_add(on_loop ? &gate.on_loop : &gate.beside, 1);
    pthread_mutex_lock(&gate.lock);
    while (gate.shut && !on_loop)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    return real(fd);
}

static void gate_set(bool shut) {
    pthread_mutex_lock(&gate.lock);
    gate.shut = shut;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void *open_later(void *arg) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    gate_set(false);
    return arg;
}

struct world {
    struct stage st;
    char dir[64];
    char workspace[96], records[96], file[128];
    chela_undo *undo;
    unsigned ran;
    size_t restored, turns;
};

static int change(chela_call *call, void *user) {
    struct world *w = user;
    w->ran++;
    put(w->file, "after");
    chela_result_text(call, "ok", 2);
    return 0;
}

static const struct fake_reply replies[] = {
    {.body = A_BEGIN A_CALL(0, "c1", "change", "{}") A_CALL(1, "c2", "change", "{}")
         A_END("tool_use")},
    {.body = A_SAY("done")},
    {.body = A_SAY("next")},
};

static void world_open(struct world *w) {
    struct chela_error err = {0};
    memset(w, 0, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/chela-undo-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->workspace, sizeof(w->workspace), "%s/w", w->dir);
    snprintf(w->records, sizeof(w->records), "%s/records", w->dir);
    snprintf(w->file, sizeof(w->file), "%s/file", w->workspace);
    mkdir(w->workspace, 0755);
    put(w->file, "before the run");
    const struct chela_agent_opts opts = CHELA_AGENT_OPTS(.workspace = w->workspace);
    STAGE_OPEN(&w->st, &opts, replies);
    struct chela_tool_opts tool =
        CHELA_TOOL_OPTS(.name = "change", .description = "Changes the file.",
                        .schema = "{\"type\":\"object\"}", .fn = change, .user = w,
                        .flags = CHELA_TOOL_ON_LOOP);
    assert_int_equal(chela_agent_add_tool(w->st.agent, &tool, &err), 0);
    assert_int_equal(chela_undo_open(w->st.agent, w->records, &w->undo, &err), 0);
    gate.loop = pthread_self();
    gate_set(true);
    atomic_store(&gate.beside, 0);
}

static void world_close(struct world *w) {
    char command[128];
    stage_close(&w->st);
    snprintf(command, sizeof(command), "rm -rf %s", w->dir);
    assert_int_equal(system(command), 0);
}

/* Start the run, and wait until a scan is at the gate. */
static void begin_scan(struct world *w) {
    assert_int_equal(chela_undo_begin(w->undo, "s", 0, "go", NULL), 0);
    atomic_store(&gate.on_loop, 0); /* the directory of the records */
    stage_start(&w->st, "go");
    for (int i = 0; i < 20000 && atomic_load(&gate.beside) == 0; i++) {
        ch_loop_tick(w->st.rt->loop);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(atomic_load(&gate.beside), 1);
    for (int i = 0; i < 10; i++)
        ch_loop_tick(w->st.rt->loop);
    assert_int_equal(w->ran, 0);
}

static void count_restored(const struct chela_undo_item *item, void *user) {
    struct world *w = user;
    w->restored += item->outcome == CHELA_UNDO_RESTORED;
}

static int count_turn(const struct chela_undo_turn *t, void *user) {
    struct world *w = user;
    w->turns += t->files == 1;
    return 0;
}

static void check_restore(struct world *w, size_t want) {
    assert_int_equal(chela_undo_restore(w->undo, "s", 1, 0, count_restored, w, NULL), 0);
    assert_int_equal(w->restored, want);
    assert_string_equal(got(w->file), "before the run");
}

static void test_calls_wait_for_the_scan(void **state) {
    (void)state;
    struct world w;
    world_open(&w);
    begin_scan(&w);
    gate_set(false);
    stage_finish(&w.st);
    assert_string_equal(stage_verdict(&w.st), "done/task_completed");
    stage_check_transcript(&w.st);
    assert_int_equal(w.ran, 2);
    /* The end does not wait for its scan; the list does. */
    gate_set(true);
    chela_undo_end(w.undo);
    for (int i = 0; i < 20000 && atomic_load(&gate.beside) < 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&gate.beside), 2);
    pthread_t thread;
    pthread_create(&thread, NULL, open_later, NULL);
    assert_int_equal(chela_undo_list(w.undo, "s", count_turn, &w, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(w.turns, 1);
    assert_int_equal(atomic_load(&gate.on_loop), 0);
    check_restore(&w, 1);
    world_close(&w);
}

static void test_cancel_during_the_scan(void **state) {
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct world w;
        world_open(&w);
        begin_scan(&w);
        chela_cancel(w.st.run, "enough");
        stage_finish(&w.st); /* with the gate shut */
        assert_string_equal(stage_verdict(&w.st), "cancelled/cancelled");
        stage_check_transcript(&w.st);
        chela_undo_end(w.undo);
        gate_set(false);
        if (again) { /* the next message waits */
            assert_int_equal(chela_undo_begin(w.undo, "s", 1, "next", NULL), 0);
            stage_play(&w.st, "next");
        }
        check_restore(&w, 0);
        assert_int_equal(w.ran, 0);
        world_close(&w);
    }
}

/* A program that continues after a crash would take an older index for that before the commands,
 * and undo changes of others. */
static void test_index_that_is_not_stored(void **state) {
    (void)state;
    for (int full = 0; full < 2; full++) {
        struct world w;
        char command[256];
        world_open(&w);
        begin_scan(&w);
        snprintf(command, sizeof(command), "cd %s/* && mkdir %s", w.records,
                 full ? "index.new" : "x");
        assert_int_equal(system(command), 0);
        gate_set(false);
        stage_finish(&w.st);
        snprintf(command, sizeof(command), "grep -q ^scanned %s/*/log", w.records);
        assert_int_equal(system(command) == 0, !full);
        chela_undo_end(w.undo);
        check_restore(&w, 1);
        world_close(&w);
    }
}

/* What is closed during the scan: the record, the runtime. */
static void test_close_during_the_scan(void **state) {
    (void)state;
    for (int what = 0; what < 2; what++) {
        struct world w;
        pthread_t thread;
        world_open(&w);
        begin_scan(&w);
        pthread_create(&thread, NULL, open_later, NULL);
        if (what == 0) {
            chela_undo_close(w.undo);
            stage_finish(&w.st); /* calls are made without the record */
            assert_int_equal(w.ran, 2);
        } else {
            chela_run_free(CH_TAKE(w.st.run));
        }
        world_close(&w);
        pthread_join(thread, NULL);
        assert_int_equal(w.ran, what == 0 ? 2 : 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_wait_for_the_scan),
        cmocka_unit_test(test_cancel_during_the_scan),
        cmocka_unit_test(test_index_that_is_not_stored),
        cmocka_unit_test(test_close_during_the_scan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
