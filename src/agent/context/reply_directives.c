/* reply_directives.c -- see reply_directives.h. */
#include "agent/context/reply_directives.h"
#include "agent/handle/hooks.h"
#include "agent/handle/run_outcome.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/event.h"
#include "agent/machine/message_origin.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/handle/run_origin.h"
#include "agent/context/reply_extras.h"
#include "prompt/directive.h"
#include "tool/call/approval.h"
#include "tool/process/path.h"
#include "tool/registry/registry.h"

struct ch_reply_directives {
    struct ch_directives d;  /* directives of the last reply with text */
    bool before;             /* `d` is of an earlier reply */
    struct ch_arena arena;
    struct chela_str *media; /* in the arena: attachments of the answer */
    size_t nmedia;
};

static bool heeds(const chela_run *run) {
    return run->session->channel->name != NULL;
}

static struct ch_reply_directives *directives_of(chela_run *run) {
    if (!run->directives)
        run->directives = ch_alloc(sizeof(*run->directives));
    return run->directives;
}

void ch_reply_directives_begin(chela_run *run) {
    if (run->directives)
        run->directives->before = true;
}

/* Directives of an earlier reply hold until this reply has text. */
static void begin_anew(struct ch_reply_directives *s) {
    if (s->before)
        ch_directives_clear(&s->d);
    s->before = false;
}

bool ch_reply_directives_piece(chela_run *run, struct chela_event *ev) {
    if (!heeds(run))
        return true;
    struct ch_directives *d = &directives_of(run)->d;
    begin_anew(run->directives);
    size_t before = d->text.n;
    ch_directives_feed(d, ch_unstr(ev->delta.text));
    ev->delta.text = ch_str(ch_sv(ch_buf_sv(&d->text).p + before, d->text.n - before));
    ev->delta.so_far = ch_str(ch_buf_sv(&d->text));
    return d->text.n > before;
}

/* --- attachments ------------------------------------------------------------------------ */

static bool is_url(struct ch_sv s) {
    return ch_sv_starts(s, "https://") || ch_sv_starts(s, "http://");
}

/* To attach a file is to read it, so the run needs the permission of the tool `read`. Returns
 * the reason why the run lacks the permission; NULL: the run has it. */
static const char *may_not_read(const chela_run *run) {
    const chela_agent *a = run->session->agent;
    struct ch_sv name = CH_SV("read");
    const struct ch_tool *tool = ch_registry_find(&a->registry, name);
    if (!tool || !ch_policy_allows(&run->permit.policy, name, tool->permission))
        return "this conversation may not read files";
    enum ch_consent level = ch_approvals_level(a->approvals, tool);
    if (level == CH_CONSENT_DENY)
        return "the rules here deny reading files";
    if (level != CH_CONSENT_AUTO && run->permit.ask_means != CH_CONSENT_AUTO)
        return "reading a file needs a person's consent here; the tool read can ask for it";
    return NULL;
}

/* The reason why a file cannot be attached; NULL: it can. The path must lead to a regular
 * file in the workspace after links are resolved. rel: the path within the workspace. */
static const char *why_not(const chela_run *run, const char *path, struct ch_buf *rel) {
    const chela_agent *a = run->session->agent;
    const struct ch_path_guard guard = {.workspace = a->workspace, .hide = a->sandbox->hide};
    const char *why = may_not_read(run);
    struct stat st;
    if (why)
        return why;
    int fd = ch_path_open_shown(&guard, path, 0);
    if (fd < 0)
        return fd == -EXDEV              ? "it is outside of the workspace"
               : fd == -CH_PATH_EHIDDEN ? "it is hidden"
                                         : strerror(-fd);
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    close(fd);
    if (!regular)
        return "it is no file";
    return ch_path_inside(a->workspace, path, rel) < 0 ? "it is outside of the workspace" : NULL;
}

static void attach(chela_run *run, const char *what) {
    CH_BUF_AUTO rel = {0};
    struct ch_sv item = ch_sv_str(what);
    const char *why = is_url(item) ? NULL : why_not(run, what, &rel);
    if (!is_url(item))
        ch_run_journal_attached(run, what, why);
    if (why) {
        ch_emit_warning(run, "%s is not attached: %s", what, why);
        return;
    }
    item = rel.n ? ch_buf_sv(&rel) : item;
    struct ch_reply_directives *s = run->directives;
    s->media[s->nmedia++] = ch_str(ch_arena_sv(&s->arena, item));
}

static void attach_all(chela_run *run) {
    struct ch_reply_directives *s = run->directives;
    const struct ch_directives *d = &s->d;
    const char *m = d->media.p;
    ch_arena_clear(&s->arena);
    s->media = ch_arena_alloc(&s->arena, (d->nmedia + 1) * sizeof(*s->media));
    s->nmedia = 0;
    for (size_t i = 0; i < d->nmedia && !run->dead; i++, m += strlen(m) + 1)
        attach(run, m);
    if (d->refused && !run->dead)
        ch_emit_warning(run, "%zu more files are not attached: a reply takes %d", d->refused,
                        CH_LIMIT_REPLY_MEDIA);
}

/* The whole reply is the word that makes the run leave no trace. */
static bool is_dropped(const chela_run *run) {
    const char *word = ch_run_origin_drop_if(run);
    return word && ch_sv_is(ch_sv_trim(ch_buf_sv(&run->text)), word);
}

void ch_reply_directives_end(chela_run *run) {
    if (!heeds(run))
        return;
    struct ch_directives *d = &directives_of(run)->d;
    begin_anew(run->directives);
    size_t before = d->text.n;
    ch_directives_end(d);
    struct chela_event ev = {
        .type = CHELA_EV_TEXT_DELTA,
        .delta = {.text = ch_str(ch_sv(ch_buf_sv(&d->text).p + before, d->text.n - before)),
                  .so_far = ch_str(ch_buf_sv(&d->text))}};
    if (d->text.n > before && ch_hook_delta(run, &ev) && !ch_emit(run, &ev))
        return;
    if (!is_dropped(run)) /* the driver looks for this text; nobody gets it */
        ch_run_outcome_text(run, ch_directives_silent(d) ? CH_SV("")
                                                         : ch_sv_trim(ch_buf_sv(&d->text)));
    attach_all(run);
}

/* True if the model may have made a file since message `began` of the transcript; SIZE_MAX:
 * since any message. */
static bool may_have_files(const chela_run *run, size_t began) {
    const struct ch_transcript *t = &run->session->transcript;
    for (size_t i = began == SIZE_MAX ? 0 : began; i < t->n; i++)
        if (t->msgs[i]->kind == CH_MSG_ASSISTANT && ch_reply_extras_in(t->msgs[i]))
            return true;
    return false;
}

/* The attachments, and after them the files that the model made. */
static void tell_media(chela_run *run, size_t began, struct chela_event *end) {
    CH_ARENA_AUTO arena = {0};
    struct chela_str *made = NULL;
    size_t n =
        may_have_files(run, began) ? ch_reply_extras_files(run, began, &arena, &made) : 0;
    struct ch_reply_directives *s = n ? directives_of(run) : run->directives;
    end->end.media = s ? s->media : NULL;
    end->end.nmedia = s ? s->nmedia : 0;
    if (!n)
        return;
    struct chela_str *all = ch_arena_alloc(&s->arena, (s->nmedia + n) * sizeof(*all));
    for (size_t i = 0; i < s->nmedia; i++)
        all[i] = s->media[i];
    for (size_t i = 0; i < n; i++)
        all[s->nmedia + i] = ch_str(ch_arena_sv(&s->arena, ch_unstr(made[i])));
    end->end.media = all;
    end->end.nmedia = s->nmedia + n;
}

void ch_reply_directives_tell(chela_run *run, size_t began, struct chela_event *end) {
    const struct ch_reply_directives *s = run->directives;
    tell_media(run, began, end);
    if (!heeds(run) || !s)
        return;
    const char *id = ch_run_origin_of_message(run)->id;
    end->end.reply_to = ch_str(ch_buf_sv(&s->d.reply_to));
    if (s->d.reply_current)
        end->end.reply_to = ch_str(id ? ch_sv_str(id) : CH_SV("current"));
    end->end.voice = s->d.voice;
    end->end.silent = ch_directives_silent(&s->d);
}

void ch_reply_directives_release(chela_run *run) {
    struct ch_reply_directives *s = CH_TAKE(run->directives);
    if (!s)
        return;
    ch_directives_release(&s->d);
    ch_arena_release(&s->arena);
    ch_free(s);
}
