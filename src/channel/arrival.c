/* arrival.c -- see arrival.h. */
#include "channel/arrival.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/utf8.h"
#include "channel/files.h"
#include "channel/id.h"

/* --- addresses */

static void address_add(struct ch_buf *out, const char *id) {
    ch_buf_addc(out, ' ');
    if (id && strcmp(id, "-") == 0)
        ch_buf_add_str(out, "~2D");
    else if (id && *id)
        ch_id_add(out, ch_sv_str(id));
    else
        ch_buf_addc(out, '-');
}

/* Trailing words that are absent are not written. */
static const char *address_of(const struct chela_channel_message *m, struct ch_arena *a) {
    CH_BUF_AUTO out = {0};
    ch_id_add(&out, ch_sv_str(m->chat));
    address_add(&out, m->id);
    if (m->thread || m->handle)
        address_add(&out, m->thread);
    if (m->handle)
        address_add(&out, m->handle);
    return ch_arena_str(a, ch_buf_sv(&out));
}

static const char *address_word(struct ch_sv *rest, struct ch_arena *a) {
    struct ch_sv word = rest->p ? ch_sv_split(rest, ' ') : ch_sv("", 0);
    CH_BUF_AUTO id = {0};
    if (!word.n || ch_sv_is(word, "-"))
        return NULL;
    ch_id_read(&id, word);
    return ch_arena_str(a, ch_buf_sv(&id));
}

struct ch_reply_address ch_reply_address_read(struct ch_sv to, struct ch_arena *a) {
    struct ch_reply_address out = {.chat = address_word(&to, a)};
    out.message = address_word(&to, a);
    out.thread = address_word(&to, a);
    out.handle = address_word(&to, a);
    out.chat = out.chat ? out.chat : "";
    return out;
}

/* --- the stored form */

static void arrival_add(struct ch_jw *w, const char *key, const char *text) {
    CH_BUF_AUTO valid = {0};
    if (!text || !*text)
        return;
    ch_utf8_add_valid(&valid, ch_sv_str(text));
    ch_jw_kstr(w, key, ch_buf_sv(&valid));
}

static void arrival_add_quoted(struct ch_jw *w, const struct chela_beside *q) {
    if (!q)
        return;
    ch_jw_kbegin(w, "quoted", '{');
    arrival_add(w, "id", q->message_id);
    arrival_add(w, "sender", q->sender);
    arrival_add(w, "text", q->text);
    ch_jw_end(w, '}');
}

static void arrival_add_files(struct ch_jw *w, const struct chela_channel_message *m) {
    ch_jw_kbegin(w, "files", '[');
    for (size_t i = 0; i < m->nfiles && i < CH_LIMIT_MESSAGE_FILES; i++) {
        ch_jw_begin(w, '{');
        arrival_add(w, "handle", m->files[i].handle);
        arrival_add(w, "name", m->files[i].name);
        ch_jw_kint(w, "size", m->files[i].size);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static void arrival_write(const struct chela_channel_message *m, struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    arrival_add(&w, "id", m->id);
    arrival_add(&w, "chat", m->chat);
    arrival_add(&w, "thread", m->thread);
    arrival_add(&w, "sender", m->sender);
    arrival_add(&w, "also", m->also[0]);
    arrival_add(&w, "also2", m->also[1]);
    arrival_add(&w, "name", m->sender_name);
    arrival_add(&w, "room", m->chat_name);
    arrival_add(&w, "topic", m->chat_topic);
    arrival_add(&w, "text", m->text);
    arrival_add(&w, "handle", m->handle);
    arrival_add_quoted(&w, m->quoted);
    ch_jw_kint(&w, "ts", m->ts);
    ch_jw_kbool(&w, "direct", m->direct);
    ch_jw_kbool(&w, "program", m->program);
    ch_jw_kbool(&w, "mentioned", m->mentioned);
    ch_jw_kbool(&w, "ours", m->answers_us);
    if (m->nfiles)
        arrival_add_files(&w, m);
    ch_jw_end(&w, '}');
}

static const char *arrival_word(const struct ch_json *v, const char *key, struct ch_arena *a) {
    struct ch_sv s = ch_json_get_str(v, key);
    return s.n && !memchr(s.p, 0, s.n) ? ch_arena_str(a, s) : NULL;
}

static bool arrival_flag(const struct ch_json *v, const char *key) {
    return ch_json_bool(ch_json_get(v, key), false);
}

static void arrival_read_files(const struct ch_json *v, struct ch_arena *a,
                               struct chela_channel_message *m) {
    struct chela_channel_file *files = ch_arena_zalloc(a, CH_LIMIT_MESSAGE_FILES * sizeof(*files));
    m->files = files;
    for (CH_JSON_EACH(f, v))
        if (m->nfiles < CH_LIMIT_MESSAGE_FILES)
            files[m->nfiles++] =
                (struct chela_channel_file){.handle = arrival_word(f, "handle", a),
                                            .name = arrival_word(f, "name", a),
                                            .size = ch_json_int(ch_json_get(f, "size"), 0)};
}

static void arrival_read(const struct ch_json *v, struct ch_arena *a,
                         struct chela_channel_message *m) {
    const struct ch_json *q = ch_json_get(v, "quoted"), *files = ch_json_get(v, "files");
    *m = (struct chela_channel_message){
        .id = arrival_word(v, "id", a),
        .chat = arrival_word(v, "chat", a),
        .thread = arrival_word(v, "thread", a),
        .sender = arrival_word(v, "sender", a),
        .also = {arrival_word(v, "also", a), arrival_word(v, "also2", a)},
        .sender_name = arrival_word(v, "name", a),
        .chat_name = arrival_word(v, "room", a),
        .chat_topic = arrival_word(v, "topic", a),
        .text = arrival_word(v, "text", a),
        .handle = arrival_word(v, "handle", a),
        .ts = ch_json_int(ch_json_get(v, "ts"), 0),
        .direct = arrival_flag(v, "direct"),
        .program = arrival_flag(v, "program"),
        .mentioned = arrival_flag(v, "mentioned"),
        .answers_us = arrival_flag(v, "ours")};
    if (files)
        arrival_read_files(files, a, m);
    if (!q)
        return;
    struct chela_beside *b = CH_ARENA_NEW(a, struct chela_beside);
    *b = (struct chela_beside){arrival_word(q, "id", a), arrival_word(q, "sender", a),
                               arrival_word(q, "text", a)};
    m->quoted = b->text ? b : NULL;
}

/* --- the arrival */

static struct ch_author arrival_author(const struct chela_channel_message *m) {
    return (struct ch_author){.id = m->sender,
                              .others = {m->also[0], m->also[1]},
                              .chat = m->chat,
                              .thread = m->thread,
                              .direct = m->direct,
                              .person = !m->program,
                              .meant = m->mentioned ? CH_MEANT : CH_NOT_MEANT};
}

static bool arrival_is_id(const char *id) {
    return id && *id && strlen(id) <= CH_LIMIT_INBOUND_ID;
}

/* The text, and the names of the files. */
static const char *arrival_words(const struct chela_channel_message *m, struct ch_arena *a) {
    CH_BUF_AUTO out = {0};
    ch_buf_add_str(&out, m->text ? m->text : "");
    for (size_t i = 0; i < m->nfiles; i++)
        ch_buf_addf(&out, "%s[file%s%s]", out.n ? "\n" : "", m->files[i].name ? ": " : "",
                    m->files[i].name ? m->files[i].name : "");
    return ch_arena_str(a, ch_buf_sv(&out));
}

struct chela_group *ch_arrival_group(struct chela_channel_arrival *in, struct ch_arena *a) {
    struct chela_group *g = CH_ARENA_NEW(a, struct chela_group);
    *g = in->about.group ? *in->about.group : (struct chela_group)CHELA_GROUP(.topic = NULL);
    in->about.group = g;
    return g;
}

int ch_arrival_recall(const struct ch_channel *c, struct ch_sv data, struct ch_arena *a,
                      struct chela_channel_arrival *out, struct chela_error *err) {
    struct chela_channel_message *m = CH_ARENA_NEW(a, struct chela_channel_message);
    const struct ch_json *v;
    CH_BUF_AUTO id = {0};
    data = ch_arena_sv(a, data);
    int rc = ch_json_parse(a, data, CH_JSON_REPLACE, &v, NULL, err);
    if (rc < 0)
        return rc;
    arrival_read(v, a, m);
    if (!arrival_is_id(m->id) || !arrival_is_id(m->chat) ||
        (m->thread && !arrival_is_id(m->thread)) || (m->sender && !arrival_is_id(m->sender)))
        return ch_fail(err, CHELA_EPARSE, "the message has no id, or no chat, or a wrong one");
    struct ch_author who = arrival_author(m);
    ch_buf_addf(&id, "%s:", c->ops->name);
    ch_id_add(&id, ch_sv_str(m->chat));
    ch_buf_addc(&id, ':');
    ch_id_add(&id, ch_sv_str(m->id));
    *out = (struct chela_channel_arrival){
        .id = ch_arena_str(a, ch_buf_sv(&id)),
        .session = ch_rules_session(&c->rules, c->ops->name, &who, a),
        .to = address_of(m, a),
        .text = arrival_words(m, a),
        .data = ch_text(data),
        .message = m,
        .about = CHELA_INBOUND(.channel = c->ops->name, .account = c->account,
                               .chat_type = m->direct ? "direct" : "group", .chat_id = m->chat,
                               .thread_id = m->thread, .message_id = m->id, .sender_id = m->sender,
                               .sender = m->sender_name || m->direct ? m->sender_name : m->sender,
                               .chat = m->chat_name, .ts = m->ts, .quoted = m->quoted,
                               .answers_us = m->answers_us, .mentioned = m->mentioned)};
    if (m->chat_topic && !m->direct)
        ch_arrival_group(out, a)->topic = m->chat_topic;
    return 0;
}

/* Who quotes somebody's message and mentions the agent asks about the quoted one. */
static bool arrival_says_something(const struct chela_channel_message *m) {
    return (m->text && *m->text) || m->nfiles || (m->quoted && m->mentioned && !m->answers_us);
}

enum chela_channel_judgement ch_arrival_judge(const struct ch_channel *c,
                                              const struct chela_channel_arrival *in) {
    const struct chela_channel_message *m = in->message;
    struct ch_author who = arrival_author(m);
    if (!arrival_says_something(m))
        return CHELA_CHANNEL_IGNORE;
    return ch_rules_judge(&c->rules, &who);
}

int ch_arrival_message(const struct chela_channel_message *m, chela_accepted_fn *done, void *tag,
                       void *user) {
    struct ch_channel *c = user;
    struct ch_arena arena = {0};
    struct chela_channel_arrival in;
    struct chela_error err = {0};
    CH_BUF_AUTO data = {0};
    arrival_write(m, &data);
    int rc = data.n > CH_LIMIT_CALLBACK ? ch_fail(&err, CHELA_ELIMIT, "the message is too large")
                                        : ch_arrival_recall(c, ch_buf_sv(&data), &arena, &in, &err);
    c->host.seen(c);
    if (c->echo && m->program && m->text && strstr(m->text, c->echo->mark))
        c->echo->heard(c->echo);
    if (rc == 0 && ch_arrival_judge(c, &in) != CHELA_CHANNEL_IGNORE) {
        c->gateway.arrived(&in, &arena, done, tag, c->gateway.user);
        return 1;
    }
    CH_BUF_AUTO why = {0};
    struct ch_author who = arrival_author(m);
    if (rc == 0 && ch_rules_overhears(&c->rules, &who))
        c->host.overheard(&in, c);
    if (rc == 0)
        ch_rules_explain(&c->rules, &in.about, m->program, &why);
    else
        ch_buf_addf(&why, "a message is ignored: %s", err.message);
    ch_log(CH_LOG_INFO, c->ops->name, "%s", ch_buf_str(&why));
    ch_arena_release(&arena);
    return 0;
}

/* --- files */

struct arrival_fetching {
    struct ch_link link; /* in the channel's fetchings */
    struct ch_channel *c;
    struct chela_channel_arrival *in;
    struct ch_arena *arena;
    const char *workspace; /* in the arena; NULL: none */
    size_t next;
    struct ch_filing *filing;
    struct ch_task task;
    void (*done)(void *tag);
    void *tag;
};

static void arrival_fetching_free(struct arrival_fetching *f) {
    if (f->filing)
        ch_filing_drop(f->filing);
    ch_task_cancel(f->c->gateway.rt->loop, &f->task);
    ch_list_del(&f->link);
    ch_free(f);
}

static void arrival_fetch_next(struct ch_task *task);

static void arrival_fetch_later(struct arrival_fetching *f) {
    f->task.fn = arrival_fetch_next;
    ch_task_defer(f->c->gateway.rt->loop, &f->task);
}

static void arrival_on_filed(void *tag) {
    struct arrival_fetching *f = tag;
    f->filing = NULL;
    arrival_fetch_later(f);
}

static void arrival_on_fetched(struct chela_text bytes, const char *why, void *tag) {
    struct arrival_fetching *f = tag;
    const struct chela_channel_message *m = f->in->message;
    const char *name = m->files[f->next - 1].name;
    CH_BUF_AUTO stem = {0};
    if (!bytes.n) {
        ch_log(CH_LOG_WARN, f->c->ops->name, "a file of message %s cannot be fetched: %s", m->id,
               why ? why : "it is empty");
        f->in->text = ch_arena_printf(f->arena, "%s\n[it could not be fetched]", f->in->text);
        arrival_fetch_later(f);
        return;
    }
    ch_buf_addf(&stem, "%s-", f->c->ops->name);
    for (const char *p = m->id; *p && stem.n < 80; p++)
        ch_buf_addc(&stem,
                    (*p >= '0' && *p <= '9') || ((*p | 32) >= 'a' && (*p | 32) <= 'z') ? *p : '_');
    ch_buf_addf(&stem, "-%zu", f->next);
    struct ch_file file = {ch_buf_str(&stem), ch_sv_str(name ? name : ""), ch_sv_of(bytes)};
    f->filing =
        ch_file_take(f->c->gateway.rt, f->in, f->arena, f->workspace, &file, arrival_on_filed, f);
}

static void arrival_fetch_next(struct ch_task *task) {
    struct arrival_fetching *f = CH_CONTAINER(task, struct arrival_fetching, task);
    const struct chela_channel_message *m = f->in->message;
    if (f->next == m->nfiles || !f->c->ops->fetch) {
        struct arrival_fetching last = *f;
        arrival_fetching_free(f);
        if (last.c->ops->prepare)
            last.c->ops->prepare(last.c->self, last.in, last.arena, last.workspace, last.done,
                                 last.tag);
        else
            last.done(last.tag);
        return;
    }
    const struct chela_channel_file *file = &m->files[f->next++];
    if (!file->handle || file->size > (int64_t)CH_LIMIT_CHANNEL_FILE) {
        f->in->text = ch_arena_printf(f->arena, "%s\n[it is too large to be fetched]", f->in->text);
        arrival_fetch_later(f);
        return;
    }
    f->c->ops->fetch(f->c->self, file->handle, arrival_on_fetched, f);
}

bool ch_arrival_prepare(struct ch_channel *c, struct chela_channel_arrival *in, struct ch_arena *a,
                        const char *workspace, void (*done)(void *tag), void *tag) {
    const struct chela_channel_message *m = in->message;
    if (!m || (!c->ops->prepare && (!m->nfiles || !c->ops->fetch)))
        return false;
    struct arrival_fetching *f = ch_alloc(sizeof(*f));
    f->c = c;
    f->in = in;
    f->arena = a;
    f->workspace = workspace ? ch_arena_str(a, ch_sv_str(workspace)) : NULL;
    f->done = done;
    f->tag = tag;
    ch_list_add(&c->fetchings, &f->link);
    arrival_fetch_later(f);
    return true;
}

void ch_arrivals_release(struct ch_channel *c) {
    for (struct arrival_fetching *f;
         (f = CH_LIST_FIRST(&c->fetchings, struct arrival_fetching, link));)
        arrival_fetching_free(f);
}
