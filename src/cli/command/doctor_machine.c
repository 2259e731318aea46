/* doctor_machine.c -- checks of `chela doctor` outside of the program: the machine, its
 * clock, disk space, and requirements of the configured channels. See doctor.h. */
#include "cli/command/doctor_machine.h"

#include "cli/setup/channel.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "chela/gateway.h"
#include "chela/session.h"
#include "cli/command/cmd_doctor.h"
#include "cli/command/doctor.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/state_path.h"

/* --- the list ------------------------------------------------------------------------ */

void ch_doctor_add(struct ch_doctor *f, struct ch_doctor_finding one) {
    f->p = ch_must(realloc(f->p, (f->n + 1) * sizeof(*f->p)));
    f->p[f->n++] = one;
    f->warned += strcmp(one.status, "warn") == 0;
    f->failed += strcmp(one.status, "fail") == 0;
}

void ch_doctor_tell(struct ch_doctor *f, const char *area, const char *name, const char *status,
                    char *detail, const char *mend) {
    bool trouble = strcmp(status, "ok") != 0;
    ch_doctor_add(f, (struct ch_doctor_finding){ch_dup(area), ch_dup(name), ch_dup(status), detail,
                                                mend && trouble ? ch_dup(mend) : NULL});
}

void ch_doctor_release(struct ch_doctor *f) {
    for (size_t i = 0; i < f->n; i++) {
        free(f->p[i].area);
        free(f->p[i].name);
        free(f->p[i].status);
        free(f->p[i].detail);
        free(f->p[i].mend);
    }
    free(f->p);
}

/* --- machine and clock --------------------------------------------------------------- */

void ch_doctor_machine(struct ch_doctor *f) {
    struct utsname u;
    char *detail = uname(&u) == 0 ? ch_format("%s, %s %s, %s%s", chela_version(), u.sysname,
                                              u.release, u.machine, geteuid() ? "" : ", as root")
                                  : ch_dup(chela_version());
    ch_doctor_tell(f, "machine", "chela", "ok", detail, NULL);
}

/* Certificates, signatures and the expiry of session leases depend on the clock. */
void ch_doctor_clock(struct ch_doctor *f) {
    enum { EARLIEST = 1767225600 }; /* 2026-01-01: chela did not exist before */
    struct timex t = {0};
    struct tm day;
    char date[40];
    time_t now = time(NULL);

    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &day));
    if (now < EARLIEST)
        ch_doctor_tell(f, "machine", "clock", "fail", ch_format("%s cannot be", date),
                       "set the clock: certificates and signatures depend on it");
    else if (adjtimex(&t) == TIME_ERROR || t.status & STA_UNSYNC)
        ch_doctor_tell(f, "machine", "clock", "warn",
                       ch_format("%s, and nothing keeps it right", date),
                       "run a time service: timedatectl set-ntp true");
    else
        ch_doctor_tell(f, "machine", "clock", "ok", ch_dup(date), NULL);
}

/* --- disks --------------------------------------------------------------------------- */

static char *size_text(double bytes) {
    return bytes < 1e9 ? ch_format("%.0f MB", bytes / 1e6) : ch_format("%.1f GB", bytes / 1e9);
}

/* The directory itself or, if missing, the nearest existing parent. */
static void look_at_disk(struct ch_doctor *f, const char *name, const char *path) {
    enum { LOW = 200 * 1000000, NONE = 20 * 1000000 };
    struct statvfs disk;
    char *at = ch_dup(path), *slash;

    while (statvfs(at, &disk) != 0) {
        if (!(slash = strrchr(at, '/')) || slash == at) {
            free(at);
            return;
        }
        *slash = '\0';
    }
    double left = (double)disk.f_bavail * (double)disk.f_frsize;
    bool read_only = disk.f_flag & ST_RDONLY;
    char *size = size_text(left);
    ch_doctor_tell(f, "disk", name,
                   read_only || left < NONE ? "fail"
                   : left < LOW             ? "warn"
                                            : "ok",
                   ch_format("%s left in %s%s", size, at, read_only ? ", and read-only" : ""),
                   read_only ? "choose another place" : "make room, or choose another place");
    free(size);
    free(at);
}

void ch_doctor_disks(struct ch_doctor *f, const struct ch_env *env, const char *workspace) {
    char *state = ch_state_path(env, "");
    look_at_disk(f, "workspace", workspace ? workspace : ".");
    if (state) {
        state[strlen(state) - 1] = '\0'; /* the slash */
        look_at_disk(f, "state", state);
    }
    look_at_disk(f, "temporary", "/tmp");
    free(state);
}

/* --- channels ------------------------------------------------------------------------ */

static void ask_service(struct ch_doctor *f, const struct chela_channel_opts *c,
                        chela_runtime *rt) {
    struct chela_error err = {0};
    char *json = chela_channel_survey(rt, c, &err);
    if (json)
        ch_doctor_survey(f, json);
    else
        ch_doctor_tell(f, "channel", c->name, "fail", ch_dup(err.message), NULL);
    chela_free(json);
}

static void look_at_channel(struct ch_doctor *f, const struct ch_setup_channel *c,
                            chela_runtime *rt) {
    if (c->missing) {
        ch_doctor_tell(f, "channel", c->opts.name, "fail", ch_format("%s: not set", c->missing),
                       "put the app's secrets into the environment of chela serve");
        return;
    }
    ch_doctor_tell(f, "channel", c->opts.name, "ok",
                   c->opts.account ? ch_format("app %s, its secrets are there", c->opts.account)
                                   : ch_dup("its secrets are there"),
                   NULL);
    ask_service(f, &c->opts, rt);
}

void ch_doctor_channels(struct ch_doctor *f, const chela_config *config, chela_runtime *rt) {
    bool more = config != NULL;
    for (size_t i = 0; more; i++) {
        struct ch_setup_channel c;
        struct chela_error err = {0};
        int rc = ch_setup_channel(config, i, &c, &err);
        more = rc == 0 || err.code;
        if (rc == 0)
            look_at_channel(f, &c, rt);
        else if (more)
            ch_doctor_tell(f, "channel", c.opts.name, "fail", ch_dup(err.message), NULL);
        ch_setup_channel_release(&c);
    }
}
