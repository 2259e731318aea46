/* compaction.c -- see compaction.h. */
#include "agent/context/compaction.h"

#include <stdio.h>

#include "agent/context/context_budget.h"
#include "agent/context/epoch.h"
#include "agent/context/memory_flush.h"
#include "agent/context/role_prompts.h"
#include "agent/context/service_compaction.h"
#include "agent/context/side_query.h"
#include "agent/context/tool_choice.h"
#include "agent/handle/run_outcome.h"
#include "agent/handle/run.h"
#include "agent/handle/run_origin.h"
#include "agent/journal/emit.h"
#include "agent/journal/run_journal.h"
#include "agent/machine/run.h"
#include "model/codec/compacted.h"
#include "model/codec/decoder.h"
#include "model/provider/target.h"
#include "base/choice.h"
#include "base/error.h"
#include "base/log.h"
#include "prompt/prompts.h"
#include "prompt/prune.h"
#include "prompt/retain.h"
#include "prompt/summary.h"

#define PRUNE_SPARES 3 /* newest replies whose results are not pruned */

/* Shares of the history's budget. Together they leave a third free, so that the next
 * rewrite is some time away. */
#define WINDOW_SHARE 4
#define RETAIN_SHARE 8
#define CARRY_SHARE 4
#define LEAST 300      /* tokens that a compaction on request must be able to save */
#define BY_HAND 8000   /* least budget of the history in a compaction on request */

struct ch_compaction {
    chela_run *run;
    ch_compaction_fn *done;
    enum chela_compacted strategy;
    size_t before;        /* tokens of the request */
    size_t history;       /* budget of the transcript, in tokens */
    size_t start;         /* index of the first message that stays unchanged */
    size_t gone, carried; /* tokens of messages that are removed; of those, earlier summaries */
    bool *stays;          /* per message before `start`: it is retained */
    bool pruned;          /* old results were pruned already */
    struct ch_carry carry;
    struct ch_memory_flush *flush; /* notes are being written to memory */
    struct ch_buf summary;         /* accepted summary; empty: none */
    /* The request for the summary: */
    struct ch_side_query *ask;
    const struct ch_prompt *prompt;
    struct ch_target *target;
    struct ch_prompt_text prompt_text;
    bool retried;
    struct ch_usage usage;
    double cost; /* negative: unknown */
    struct ch_run_journal_rewrite served; /* what a service did */
};

int ch_compaction_mode_read(enum chela_compaction choice, enum ch_compaction_mode *out,
                            struct chela_error *err) {
    *out = choice == CHELA_COMPACTION_RETAIN ? CH_COMPACTION_RETAIN
           : choice == CHELA_COMPACTION_OFF  ? CH_COMPACTION_OFF
                                             : CH_COMPACTION_SUMMARY;
    return ch_choice_check(CHELA_CHOICE_COMPACTION, choice, err);
}

static void free_compaction(struct ch_compaction *c) {
    ch_carry_release(&c->carry);
    ch_buf_release(&c->summary);
    ch_prompt_text_release(&c->prompt_text);
    ch_free(c->stays);
    ch_free(c);
}

/* Stores the rewrite and begins an epoch. Returns the tokens of the next request. */
static size_t store(chela_run *run, enum chela_compacted strategy,
                    struct ch_run_journal_rewrite how) {
    how.strategy = chela_compacted_name(strategy);
    how.tokens_after = ch_context_budget_tokens(run);
    ch_run_journal_rewritten(run, &how);
    if (how.condensed) { /* the tools stay: what the service returned is bound to them */
        ch_epoch_condensed(run, how.item ? how.at : SIZE_MAX);
        return how.tokens_after;
    }
    ch_tool_choice_renew(run->session);
    ch_epoch_rewritten(run, strategy == CHELA_COMPACTED_PRUNE ? "pruning" : "compaction");
    return how.tokens_after;
}

void ch_compaction_abort(chela_run *run) {
    struct ch_compaction *c = CH_TAKE(run->compaction);
    if (!c)
        return;
    if (c->pruned) /* the history was rewritten before the part that is aborted */
        store(run, CHELA_COMPACTED_PRUNE,
              (struct ch_run_journal_rewrite){.tokens_before = c->before, .usage = c->usage});
    ch_run_spend(&run->m, &c->usage, c->cost); /* of a summary that was not good enough */
    ch_run_charge(&run->m, &c->usage, c->cost);
    ch_side_query_cancel(c->ask);
    ch_memory_flush_cancel(c->flush);
    free_compaction(c);
}

/* --- the end of a compaction -------------------------------------------------------- */

static size_t message_tokens(const struct ch_transcript *t, size_t i) {
    return ch_msg_tokens(t->msgs[i], (enum ch_counting)t->counting);
}

/* Stores and emits the compaction. False: the run was closed. */
static bool compaction_announce(chela_run *run, enum chela_compacted strategy,
                                struct ch_run_journal_rewrite how) {
    size_t before = how.tokens_before;
    ch_context_budget_rewritten(run->session);
    /* The removed messages contained the instructions of directories below the workspace.
     * The instructions are added again when a file there is used. */
    if (run->session->context.files)
        ch_buf_clear(&run->session->context.files->visited);
    struct chela_event ev = {
        .type = CHELA_EV_COMPACTION,
        .compaction = {strategy, before, store(run, strategy, how)}};
    ch_log(CH_LOG_INFO, "context", "%s: %s: %zu tokens, were %zu", run->session->key,
           chela_compacted_name(strategy),
           ev.compaction.tokens_after, before);
    return ch_emit(run, &ev) && ch_epoch_tell(run);
}

/* The history cannot be shortened enough: sets an error that names the part that does not
 * fit. */
static void explain(chela_run *run) {
    const struct ch_transcript *t = &run->session->transcript;
    if (run->m.compacted && *ch_run_error(run))
        return; /* the service refused the request and said why */
    struct ch_context_room b = ch_context_budget_room(run);
    size_t fixed = run->session->budget.fixed, last = 0;
    for (size_t i = t->n; i > 0 && !last; i--)
        last = t->msgs[i - 1]->kind == CH_MSG_USER ? message_tokens(t, i - 1) : 0;
    if (!b.history)
        ch_run_outcome_error(run,
                             "%s: the system prompt and the tools are about %zu tokens, and a "
                             "request may have %zu (choose fewer tools, or a model with a larger "
                             "context)",
                             run->target->spec, fixed, b.request);
    else if (last > b.history / 2)
        ch_run_outcome_error(run,
                             "%s: the message is about %zu tokens, and there is room for %zu (send "
                             "less, put it into a file, or choose a model with a larger context)",
                             run->target->spec, last, b.history);
    else if (!*ch_run_error(run))
        ch_run_outcome_error(run,
                             "%s: the conversation does not fit the model and cannot be made "
                             "shorter",
                             run->target->spec);
}

static void report(chela_run *run, bool changed, size_t before) {
    CH_BUF_AUTO text = {0};
    if (changed)
        ch_buf_addf(&text, "The conversation was condensed from about %zu to %zu tokens.", before,
                    ch_context_budget_tokens(run));
    else
        ch_buf_add_str(&text, "There is nothing to condense.");
    ch_run_outcome_text(run, ch_buf_sv(&text));
}

static void compaction_finish(struct ch_compaction *c, bool changed) {
    chela_run *run = c->run;
    struct ch_input in = {.kind = CH_IN_COMPACTED, .usage = c->usage, .cost = c->cost};
    size_t before = c->before;
    ch_compaction_fn *done = c->done;
    run->compaction = NULL;
    size_t has = ch_context_budget_history(run);
    bool cut = changed && has > c->history && !c->served.condensed &&
               ch_squeeze(&run->session->transcript, c->history) < has;
    if (cut)
        ch_context_budget_rewritten(run->session);
    if (c->strategy == CHELA_COMPACTED_CUT && !cut && !c->pruned)
        changed = false; /* no text could be cut */
    if (changed)
        ch_run_once(run, CH_RUN_REWROTE);
    c->served.tokens_before = before;
    c->served.usage = c->usage;
    bool alive = !changed || compaction_announce(run, c->strategy, c->served);
    free_compaction(c);
    if (!alive)
        return;
    struct ch_context_room b = ch_context_budget_room(run);
    in.shorter = changed && (!b.window || ch_context_budget_tokens(run) <= b.request);
    if (run->m.by_hand)
        report(run, changed, before);
    else if (!in.shorter)
        explain(run);
    ch_run_charge(&run->m, &in.usage, in.cost);
    done(run, &in);
}

/* Budget of the message that replaces others: at most three quarters of their tokens.
 * Tokens of earlier summaries count in full, because condensing them again would lose more. */
static size_t carry_room(const struct ch_compaction *c) {
    return CH_MIN(c->history / CARRY_SHARE, c->carried + (c->gone - c->carried) * 3 / 4);
}

/* Replaces the removed messages by one message that carries their summary. */
static void rewrite(struct ch_compaction *c) {
    chela_run *run = c->run;
    struct ch_transcript *t = &run->session->transcript;
    struct ch_carry_opts how = {.room = carry_room(c), .summary = ch_buf_sv(&c->summary)};
    CH_BUF_AUTO text = {0};
    ch_carry_write(&c->carry, &how, &text);
    struct ch_transcript old = *t;
    *t = (struct ch_transcript){.counting = old.counting};
    ch_transcript_add(t, ch_msg_text(CH_MSG_EVENT, ch_buf_sv(&text), ch_run_now(run)));
    for (size_t i = 0; i < old.n; i++) {
        if (i >= c->start || c->stays[i])
            ch_transcript_add(t, old.msgs[i]);
        else
            ch_msg_free(old.msgs[i]);
    }
    ch_free(old.msgs);
    ch_context_budget_rewritten(run->session);
    compaction_finish(c, true);
}

/* --- the summary --------------------------------------------------------------------- */

static void on_summary(struct ch_sv text, const char *failed, const struct ch_usage *usage,
                       void *user);

/* Asks for the summary. After a bad answer the request repeats that answer with the
 * complaint. */
static int compaction_ask(struct ch_compaction *c, struct ch_sv answer, struct ch_sv complaint,
                          struct chela_error *err) {
    struct ch_msg *msgs[] = {ch_msg_text(CH_MSG_USER, ch_buf_sv(&c->prompt_text.user), 0),
                             NULL, NULL};
    size_t n = 1;
    if (complaint.n) {
        msgs[n++] = ch_msg_text(CH_MSG_ASSISTANT, answer.n ? answer : CH_SV("-"), 0);
        msgs[n++] = ch_msg_text(CH_MSG_USER, complaint, 0);
    }
    struct ch_side_query_opts o = {.run = c->run,
                                   .role = "compaction",
                                   .target = c->target,
                                   .system = ch_buf_sv(&c->prompt_text.system),
                                   .msgs = msgs,
                                   .n = n,
                                   .done = on_summary,
                                   .user = c};
    return ch_side_query_start(&o, &c->ask, err);
}

static size_t summary_room(const struct ch_compaction *c) {
    return carry_room(c) / 2;
}

static void compaction_add_usage(struct ch_compaction *c, const struct ch_usage *u) {
    ch_run_add_usage(&c->usage, u);
    bool known = c->target->has_price || (!u->input && !u->output);
    double cost = known && c->target->has_price
                      ? ch_price_cost(&c->target->price, u, CH_CACHE_OFF)
                      : 0;
    c->cost = known && c->cost >= 0 ? c->cost + cost : -1;
}

/* Judges the summary. Unless the first summary is good, the model is asked for a second one.
 * A second summary that is only incomplete is used, because the runtime adds the missing
 * parts; a bad one is not used. */
static void on_summary(struct ch_sv text, const char *failed, const struct ch_usage *usage,
                       void *user) {
    struct ch_compaction *c = user;
    CH_BUF_AUTO why = {0};
    struct chela_error err = {0};
    struct ch_summary_measure by = {.headings = c->prompt->head.headings,
                                    .names = &c->carry.names,
                                    .told = ch_buf_sv(&c->prompt_text.user),
                                    .room = summary_room(c)};
    c->ask = NULL;
    compaction_add_usage(c, usage);
    enum ch_summary_verdict v = *failed ? CH_SUMMARY_BAD : ch_summary_judge(text, &by, &why);
    if (v != CH_SUMMARY_GOOD && !*failed && !c->retried) {
        c->retried = true;
        CH_BUF_AUTO complaint = {0};
        ch_buf_addf(&complaint, "This summary cannot be used. %sWrite it again, whole.",
                    ch_buf_str(&why));
        if (compaction_ask(c, ch_sv_trim(text), ch_buf_sv(&complaint), &err) == 0)
            return;
    }
    if (v != CH_SUMMARY_BAD)
        ch_buf_add_sv(&c->summary, ch_sv_trim(text));
    else
        ch_log(CH_LOG_WARN, "context", "%s: no summary: %s", c->run->session->key,
               *failed ? failed : ch_buf_str(&why));
    c->strategy = v == CH_SUMMARY_BAD ? CHELA_COMPACTED_RETAIN : CHELA_COMPACTED_SUMMARY;
    rewrite(c);
}

static int compaction_render(struct ch_compaction *c, struct chela_error *err) {
    chela_run *run = c->run;
    const struct ch_transcript *t = &run->session->transcript;
    const struct ch_prompts *prompts = ch_role_prompts(run->session->agent->rt, err);
    struct ch_prompt_query q = {.name = "summariser", .model = c->target->model,
                                .session = run->session->key};
    c->prompt = prompts ? ch_prompts_pick(prompts, &q, err) : NULL;
    if (!c->prompt)
        return err->code;
    CH_AUTOFREE const struct ch_msg **gone = ch_malloc((c->start + 1) * sizeof(*gone));
    size_t n = 0, window = (size_t)ch_target_window(c->target);
    for (size_t i = 0; i < c->start; i++)
        if (!c->stays[i])
            gone[n++] = t->msgs[i];
    CH_BUF_AUTO told = {0};
    CH_BUF_AUTO words = {0};
    const char *focus = ch_run_origin_focus(run);
    ch_summary_tell(gone, n, window / 2, &told);
    ch_buf_addf(&words, "%zu", CH_MAX(summary_room(c) / 2, (size_t)50));
    const struct ch_prompt_value values[] = {
        {.name = "previous",
         .text = c->carry.summary.n ? c->carry.summary : CH_SV("none"),
         .untrusted = true},
        {.name = "focus", .text = ch_sv_str(focus ? focus : "none")},
        {.name = "max_words", .text = ch_buf_sv(&words)},
        {.name = "conversation", .text = ch_buf_sv(&told), .untrusted = true},
    };
    return ch_prompt_render(c->prompt, values, CH_LEN(values), &c->prompt_text, err);
}

static bool begin_summary(struct ch_compaction *c) {
    const chela_agent *a = c->run->session->agent;
    struct chela_error err = {0};
    c->target = a->summariser ? a->summariser : c->run->target;
    if (a->compact_mode != CH_COMPACTION_SUMMARY)
        return false;
    int rc = compaction_render(c, &err);
    if (rc == 0)
        rc = compaction_ask(c, CH_SV(""), CH_SV(""), &err);
    if (rc < 0)
        ch_log(CH_LOG_WARN, "context", "%s: no summary: %s", c->run->session->key, err.message);
    return rc == 0;
}

static void condense(struct ch_compaction *c) {
    if (!begin_summary(c))
        rewrite(c);
}

static void on_flushed(void *user) {
    struct ch_compaction *c = user;
    ch_memory_flush_cancel(CH_TAKE(c->flush));
    condense(c);
}

/* Writes the facts that the user asked to remember to memory before the messages are
 * removed. */
static void flush(struct ch_compaction *c) {
    CH_BUF_AUTO notes = {0};
    ch_carry_notes(&c->carry, &notes);
    c->flush = ch_memory_flush_start(c->run, ch_buf_sv(&notes), on_flushed, c);
    if (!c->flush)
        condense(c);
}

/* --- from the beginning ---------------------------------------------------------------- */

/* Prunes old results if that alone frees enough, so that the history does not grow too long
 * again soon. True: it did. */
static bool prune(struct ch_compaction *c) {
    chela_run *run = c->run;
    struct ch_transcript *t = &run->session->transcript;
    size_t from = ch_prune_from(t, PRUNE_SPARES), has = ch_context_budget_history(run);
    size_t goal = c->history * 2 / 3, able = ch_prunable(t, from, SIZE_MAX);
    if (run->m.by_hand || has <= goal || able + able / 4 < has - goal)
        return false;
    size_t saved = ch_prune(t, from, able); /* prunes all that can be pruned, so that the next
                                               time is far off */
    c->pruned |= saved > 0;
    if (saved)
        ch_context_budget_rewritten(run->session);
    return saved && ch_context_budget_history(run) <= c->history * 3 / 4;
}

/* The budget of the history. If the service refused the request, its count is right and the
 * guess is not: the budget is then half of the present history. */
static size_t room_for_history(const chela_run *run) {
    struct ch_context_room b = ch_context_budget_room(run);
    size_t has = ch_context_budget_history(run);
    bool refused = run->m.compacted;
    if (run->m.by_hand)
        return CH_MAX(b.history, (size_t)BY_HAND);
    if (!b.window || (refused && b.history > has / 2))
        return has / 2;
    return b.history;
}

static void choose(struct ch_compaction *c) {
    const struct ch_transcript *t = &c->run->session->transcript;
    bool all = c->run->m.by_hand; /* every message may be removed */
    c->start = ch_window_start(t, all ? 0 : c->history / WINDOW_SHARE);
    c->stays = ch_alloc((c->start + 1) * sizeof(*c->stays));
    ch_retain(t, c->start, all ? 0 : c->history / RETAIN_SHARE, c->stays);
    for (size_t i = 0; i < c->start; i++)
        if (!c->stays[i]) {
            size_t tokens = message_tokens(t, i);
            c->gone += tokens;
            c->carried += ch_carry_is(t->msgs[i]) ? tokens : 0;
            ch_carry_read(&c->carry, t->msgs[i]);
        }
}

static bool nothing_goes(const struct ch_compaction *c) {
    const struct ch_transcript *t = &c->run->session->transcript;
    size_t gone = 0;
    for (size_t i = 0; i < c->start; i++)
        gone += !c->stays[i] && !ch_carry_is(t->msgs[i]);
    return gone == 0 || (c->run->m.by_hand && c->gone - c->carried < LEAST);
}

/* Takes compactions of services out of the history, of which chela makes its own: a readable one
 * becomes text, and the messages behind any other come back. */
static void undo_served(struct ch_compaction *c) {
    struct ch_transcript *t = &c->run->session->transcript;
    struct ch_transcript old = *t;
    size_t from = ch_context_budget_from(c->run);
    if (!old.compacted)
        return;
    struct ch_msg *text = ch_compacted_text(old.msgs[from]);
    *t = (struct ch_transcript){.counting = old.counting};
    if (text)
        ch_transcript_add(t, text);
    for (size_t i = text ? from : 0; i < old.n; i++) {
        struct ch_msg *m = ch_compacted_without(old.msgs[i]);
        if (m)
            ch_transcript_add(t, m);
    }
    ch_transcript_release(&old);
    ch_context_budget_rewritten(c->run->session);
    c->pruned = true;
}

static void compaction_begin(struct ch_compaction *c) {
    chela_run *run = c->run;
    undo_served(c);
    c->strategy = CHELA_COMPACTED_PRUNE;
    if (prune(c)) {
        compaction_finish(c, true);
        return;
    }
    choose(c);
    c->strategy = CHELA_COMPACTED_RETAIN;
    if (nothing_goes(c)) {
        bool large = !run->m.by_hand && ch_context_budget_history(run) > c->history;
        c->strategy = large ? CHELA_COMPACTED_CUT : CHELA_COMPACTED_PRUNE;
        compaction_finish(c, large || c->pruned);
        return;
    }
    flush(c);
}

/* --- by the service -------------------------------------------------------------------- */

/* The service has condensed the messages before c->start. */
static void on_served(struct ch_sv text CH_UNUSED, const char *failed,
                      const struct ch_usage *usage, void *user) {
    struct ch_compaction *c = user;
    chela_run *run = c->run;
    struct ch_transcript *t = &run->session->transcript;
    struct ch_reply *reply = ch_side_query_reply(c->ask);
    c->ask = NULL;
    compaction_add_usage(c, usage);
    if (*failed || !reply->msg || !ch_compacted_in(reply->msg)) {
        ch_service_compaction_failed(run, reply, failed);
        if (!run->dead)
            compaction_begin(c);
        return;
    }
    struct ch_msg *m = CH_TAKE(reply->msg);
    if (ch_transcript_insert(t, c->start, m) == 0) {
        c->served = (struct ch_run_journal_rewrite){.condensed = true, .item = m, .at = c->start};
        ch_context_budget_rewritten(run->session);
    }
    struct ch_context_room b = ch_context_budget_room(run);
    bool fits = !b.window || ch_context_budget_tokens(run) <= b.request;
    if (!c->served.item || !(fits || run->m.by_hand)) {
        c->served = (struct ch_run_journal_rewrite){0};
        compaction_begin(c);
        return;
    }
    c->strategy = CHELA_COMPACTED_SERVICE;
    compaction_finish(c, true);
}

/* Index of the first message that the service does not condense: the newest messages stay, unless
 * a person asked. Before it the other side speaks, as services require. */
static size_t served_start(const struct ch_compaction *c) {
    const struct ch_transcript *t = &c->run->session->transcript;
    size_t i = c->run->m.by_hand ? t->n : ch_window_start(t, c->history / WINDOW_SHARE);
    while (i > 0 && i < t->n &&
           (t->msgs[i]->kind == CH_MSG_ASSISTANT) == (t->msgs[i - 1]->kind == CH_MSG_ASSISTANT))
        i--;
    return i;
}

/* False: the service is not asked. */
static bool ask_service(struct ch_compaction *c, const struct ch_model_request *req) {
    chela_run *run = c->run;
    struct chela_error err = {0};
    if (!req || run->m.compacted || ch_run_origin_focus(run) || !ch_service_compaction_able(run))
        return false;
    c->start = served_start(c);
    bool nothing = c->start <= req->from + req->compacted;
    if (run->m.by_hand && (nothing || ch_context_budget_history(run) < LEAST)) {
        compaction_finish(c, false);
        return true;
    }
    struct ch_model_request whole = *req;
    ch_epoch_settle(run, &whole);
    struct ch_model_request ask = ch_service_compaction_request(&whole, c->start);
    c->target = run->target;
    struct ch_side_query_opts o = {.run = run,
                                   .role = "compaction",
                                   .target = run->target,
                                   .req = &ask,
                                   .done = on_served,
                                   .user = c};
    return !nothing && ch_side_query_start(&o, &c->ask, &err) == 0;
}

void ch_compaction_start(chela_run *run, const struct ch_model_request *req,
                         ch_compaction_fn *done) {
    struct ch_compaction *c = run->compaction = ch_alloc(sizeof(*c));
    if (run->m.compacted)
        ch_context_budget_overflowed(run);
    c->run = run;
    c->done = done;
    c->before = ch_context_budget_tokens(run);
    c->history = room_for_history(run);
    if (!ask_service(c, req))
        compaction_begin(c);
}

bool ch_compaction_received(chela_run *run, const struct ch_msg *reply, size_t before) {
    if (ch_compacted_in(reply))
        return compaction_announce(
            run, CHELA_COMPACTED_SERVICE,
            (struct ch_run_journal_rewrite){.condensed = true, .tokens_before = before});
    if (ch_compacted_empty(reply))
        ch_service_compaction_failed(run, NULL, "");
    return !run->dead;
}

void ch_compaction_prune_cold(chela_run *run, size_t tokens) {
    chela_session *s = run->session;
    struct ch_context_room b = ch_context_budget_room(run);
    size_t from = ch_prune_from(&s->transcript, PRUNE_SPARES);
    if (ch_service_compaction_able(run))
        return;
    if (ch_prunable(&s->transcript, from, b.window / 8) < b.window / 8)
        return;
    if (ch_prune(&s->transcript, from, b.window / 8)) {
        compaction_announce(run, CHELA_COMPACTED_PRUNE,
                            (struct ch_run_journal_rewrite){.tokens_before = tokens});
        s->budget.guessed = s->budget.fixed + s->budget.note + ch_context_budget_history(run);
    }
}

/* The index of the oldest message that stays; 0: all stay. */
static size_t slide_start(const struct ch_transcript *t, int64_t turns) {
    for (size_t i = t->n; i > 0; i--)
        if (t->msgs[i - 1]->kind == CH_MSG_USER && --turns == 0)
            return i - 1;
    return 0;
}

void ch_compaction_slide(chela_run *run) {
    chela_session *s = run->session;
    struct ch_transcript *t = &s->transcript;
    size_t from = s->agent->history_turns ? slide_start(t, s->agent->history_turns) : 0;
    bool begins = t->n && t->msgs[t->n - 1]->kind == CH_MSG_USER;
    if (!from || !begins || t->compacted)
        return;
    size_t before = ch_context_budget_tokens(run);
    struct ch_transcript old = *t;
    *t = (struct ch_transcript){.counting = old.counting};
    for (size_t i = 0; i < old.n; i++)
        if (i < from)
            ch_msg_free(old.msgs[i]);
        else
            ch_transcript_add(t, old.msgs[i]);
    ch_free(old.msgs);
    ch_run_once(run, CH_RUN_REWROTE);
    compaction_announce(run, CHELA_COMPACTED_CUT,
                        (struct ch_run_journal_rewrite){.tokens_before = before});
}
