/* shape_json.c -- truncates long JSON by whole records.
 *
 * A few whole records and their total number are more useful than a text cut in the middle.
 * The largest array is truncated, which may be the text itself or a member of an object;
 * the surrounding object is kept:
 *
 *     {"total_count":1000,"showing_first":5,"records":[...],"note":"..."}
 *     {"rows":[...],"took_ms":3,"_cut":{"at":"/rows","total_count":1000,...}}
 *
 * JSON lines are truncated in the same way and stay lines. */
#include "tool/result/shape_json.h"

#include "base/arena.h"
#include "base/limits.h"
#include "tool/result/shape.h"
#include "tool/result/spill.h"
#include "json/json.h"
#include "json/writer.h"

#define LOOK_DEPTH 4  /* maximum depth of objects around the array */
#define NOTE_ROOM 400 /* characters reserved for the note with the file name */

/* --- the array ----------------------------------------------------------- */

struct pick {
    const struct ch_json *root, *array;
    uint64_t weight;
    struct ch_buf at; /* JSON pointer of the array, "" for the root */
};

/* Approximate length as text. */
static uint64_t weight_of(const struct ch_json *v) {
    uint64_t sum = 0;

    for (const struct ch_json *at = v, *end = ch_json_next(v); at != end; at++)
        sum += 2 + (at->type == CH_JSON_STRING || at->type == CH_JSON_NUMBER ? at->n : 2);
    return sum;
}

static void add_pointer_part(struct ch_buf *out, struct ch_sv name) {
    ch_buf_addc(out, '/');
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '~' || name.p[i] == '/')
            ch_buf_add_str(out, name.p[i] == '~' ? "~0" : "~1");
        else
            ch_buf_addc(out, name.p[i]);
}

/* Bounded by LOOK_DEPTH. */
static void find_heaviest(const struct ch_json *v, unsigned depth, struct ch_buf *at,
                          struct pick *best) {
    if (v->type == CH_JSON_ARRAY) {
        uint64_t weight = weight_of(v);
        if (v->n > 1 && weight > best->weight) {
            best->array = v;
            best->weight = weight;
            ch_buf_clear(&best->at);
            ch_buf_add_sv(&best->at, ch_buf_sv(at));
        }
        return;
    }
    for (CH_JSON_MEMBERS(key, value, v)) {
        size_t n = at->n;
        if (depth == LOOK_DEPTH)
            return;
        add_pointer_part(at, ch_json_str(key));
        find_heaviest(value, depth + 1, at, best);
        at->n = n;
    }
}

static bool is_within(const struct ch_json *inner, const struct ch_json *outer) {
    return inner >= outer && inner < ch_json_next(outer);
}

/* --- writing ------------------------------------------------------------- */

struct form {
    const struct pick *pick;
    size_t shown;      /* records */
    bool lines;        /* one record per line, for the file */
    const char *spill; /* path of the saved text; NULL: not saved */
};

static void write_records(struct ch_jw *w, const struct form *f) {
    size_t i = 0;

    ch_jw_begin(w, '[');
    for (CH_JSON_EACH(e, f->pick->array)) {
        if (i++ == f->shown)
            break;
        if (f->lines) {
            ch_buf_add_str(w->out, i > 1 ? ",\n" : "\n");
            w->comma = false;
        }
        ch_jw_value(w, e);
    }
    if (f->lines)
        ch_buf_addc(w->out, '\n');
    ch_jw_end(w, ']');
}

static void write_counts(struct ch_jw *w, const struct form *f) {
    ch_jw_kint(w, "total_count", f->pick->array->n);
    ch_jw_kint(w, "showing_first", (int64_t)f->shown);
}

static void shape_json_write_note(struct ch_jw *w, const struct form *f) {
    CH_BUF_AUTO note = {0};

    ch_buf_addf(&note, "Only the first %zu of %u records are shown", f->shown, f->pick->array->n);
    if (f->spill)
        ch_buf_addf(&note,
                    "; all are in %s, one a line: read it with offset and limit, or grep "
                    "in it.",
                    f->spill);
    else
        ch_buf_add_str(&note, "; ask for fewer, with a filter, a limit or fewer fields.");
    ch_jw_kstr(w, "note", ch_buf_sv(&note));
}

/* Write the objects around the array; other members are written unchanged. Depth is bounded
 * by LOOK_DEPTH. */
static void write_around(struct ch_jw *w, const struct ch_json *v, const struct form *f) {
    if (v == f->pick->array) {
        write_records(w, f);
        return;
    }
    if (!is_within(f->pick->array, v)) {
        ch_jw_value(w, v);
        return;
    }
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(key, value, v)) {
        ch_jw_key_sv(w, ch_json_str(key));
        write_around(w, value, f);
    }
    if (v == f->pick->root && !f->lines) {
        ch_jw_kbegin(w, "_cut", '{');
        ch_jw_kstr(w, "at", ch_buf_sv(&f->pick->at));
        write_counts(w, f);
        shape_json_write_note(w, f);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, '}');
}

static void write_json(struct ch_buf *out, const struct form *f) {
    struct ch_jw w = ch_jw(out);

    if (f->pick->array != f->pick->root || f->lines) {
        write_around(&w, f->pick->root, f);
        return;
    }
    ch_jw_begin(&w, '{');
    write_counts(&w, f);
    ch_jw_key(&w, "records");
    write_records(&w, f);
    shape_json_write_note(&w, f);
    ch_jw_end(&w, '}');
}

/* --- number of records that fit ------------------------------------------ */

static size_t most_records(const struct ch_shape *how) {
    return how->records ? how->records : CH_DEFAULT_RECORDS;
}

static void add_room(struct ch_shape_room *sum, struct ch_shape_room more) {
    sum->chars += more.chars;
    sum->cost += more.cost;
}

/* size: room needed without records; false if even that does not fit. */
static bool count_fitting(const struct ch_shape *how, struct ch_shape_room room,
                          struct ch_shape_room size, const struct ch_json *array, size_t *out) {
    CH_BUF_AUTO text = {0};
    size_t n = 0;

    if (!ch_room_holds(room, size))
        return false;
    for (CH_JSON_EACH(e, array)) {
        if (e->type >= CH_JSON_ARRAY && n >= most_records(how))
            break;
        ch_buf_clear(&text);
        struct ch_jw w = ch_jw(&text);
        ch_jw_value(&w, e);
        ch_buf_addc(&text, ',');
        add_room(&size, ch_room_needed(ch_buf_sv(&text)));
        if (!ch_room_holds(room, size))
            break;
        n++;
    }
    *out = n;
    return true;
}

static void spill_records(const struct ch_shape *how, const struct pick *pick,
                          struct ch_buf *name) {
    struct form all = {.pick = pick, .shown = pick->array->n, .lines = true};
    CH_BUF_AUTO text = {0};

    write_json(&text, &all);
    ch_buf_addc(&text, '\n');
    ch_spill(how->workspace, how->tool, ch_buf_sv(&text), name);
}

static bool cut_array(const struct ch_shape *how, struct ch_shape_room room,
                      const struct pick *pick, struct ch_buf *out) {
    struct form form = {.pick = pick};
    CH_BUF_AUTO frame = {0}, spill = {0};

    write_json(&frame, &form);
    struct ch_shape_room size = ch_room_needed(ch_buf_sv(&frame));
    add_room(&size, (struct ch_shape_room){NOTE_ROOM, NOTE_ROOM});
    if (!count_fitting(how, room, size, pick->array, &form.shown))
        return false;
    if (how->workspace)
        spill_records(how, pick, &spill);
    form.spill = spill.n ? ch_buf_str(&spill) : NULL;
    write_json(out, &form);
    return true;
}

/* --- lines of JSON ------------------------------------------------------- */

static bool is_record(struct ch_sv line) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;

    line = ch_sv_trim(line);
    return line.n && ch_json_parse(&arena, line, CH_JSON_STRICT, &v, NULL, NULL) == 0 &&
           v->type >= CH_JSON_ARRAY;
}

static bool are_records(struct ch_sv text, uint64_t *count) {
    uint64_t n = 0;

    while (text.n) {
        struct ch_sv line = ch_sv_split(&text, '\n');
        if (ch_sv_trim(line).n == 0)
            continue;
        if (n < 3 && !is_record(line))
            return false;
        n++;
    }
    *count = n;
    return n > 1;
}

static bool shape_json_cut_lines(const struct ch_shape *how, struct ch_shape_room room,
                                 struct ch_sv text, struct ch_buf *out) {
    CH_BUF_AUTO spill = {0}, lines = {0};
    struct ch_sv rest = text;
    uint64_t total;
    size_t shown = 0;

    if (!are_records(text, &total))
        return false;
    struct ch_shape_room size = {NOTE_ROOM, NOTE_ROOM};
    while (rest.n && shown < most_records(how)) {
        struct ch_sv line = ch_sv_split(&rest, '\n');
        if (ch_sv_trim(line).n == 0)
            continue;
        add_room(&size, ch_room_needed(line));
        add_room(&size, (struct ch_shape_room){1, 1});
        if (!ch_room_holds(room, size))
            break;
        ch_buf_add_sv(&lines, line);
        ch_buf_addc(&lines, '\n');
        shown++;
    }
    if (how->workspace)
        ch_spill(how->workspace, how->tool, text, &spill);
    ch_buf_add_sv(out, ch_buf_sv(&lines));
    ch_buf_addf(out, "[... only the first %zu of %llu records are shown", shown,
                (unsigned long long)total);
    if (spill.n)
        ch_buf_addf(out,
                    "; all are in %s, one a line: read it with offset and limit, or grep in "
                    "it ...]\n",
                    ch_buf_str(&spill));
    else
        ch_buf_add_str(out, "; ask for fewer, with a filter, a limit or fewer fields ...]\n");
    return true;
}

bool ch_shape_records(const struct ch_shape *how, struct ch_shape_room room, struct ch_sv text,
                      struct ch_buf *out) {
    struct ch_sv s = ch_sv_trim(text);
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO at = {0};
    struct pick pick = {0};

    if (s.n == 0 || (s.p[0] != '[' && s.p[0] != '{'))
        return false;
    if (ch_json_parse(&arena, s, CH_JSON_STRICT, &pick.root, NULL, NULL) < 0)
        return shape_json_cut_lines(how, room, text, out);
    find_heaviest(pick.root, 0, &at, &pick);
    bool done = pick.array && cut_array(how, room, &pick, out);
    ch_buf_release(&pick.at);
    return done;
}
