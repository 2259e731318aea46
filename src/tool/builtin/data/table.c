/* table.c -- see table.h.
 *
 * Values are converted to text and truncated on arrival, because the database only lends
 * them and fifty rows of a megabyte each must not be kept. */
#include "tool/builtin/data/table.h"

#include <inttypes.h>

#include "base/grow.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/writer.h"

#define WIDEST 40    /* maximum width of an aligned column */
#define BLOB_HEAD 16 /* bytes of a blob to show */
#define NAME_START 60 /* bytes of a column name before the number that makes the name unique */

void ch_result_table_release(struct ch_result_table *t) {
    ch_free(t->rows);
    ch_arena_release(&t->arena);
    *t = (struct ch_result_table){0};
}

/* --- one value ----------------------------------------------------------------- */

/* Truncate s to CH_LIMIT_SQL_CELL characters; *left receives the number of omitted bytes. */
static struct ch_sv data_table_cut(struct ch_sv s, size_t *left) {
    size_t n = 0;

    for (size_t chars = 0; n < s.n && chars < CH_LIMIT_SQL_CELL; chars++) {
        unsigned k = ch_utf8_next(ch_sv(s.p + n, s.n - n), NULL);
        n += k ? k : 1;
    }
    *left = s.n - n;
    return ch_sv(s.p, n);
}

/* Append s as valid UTF-8 with line breaks and tabs made visible. */
static void data_table_add_line(struct ch_buf *out, struct ch_sv s) {
    CH_BUF_AUTO valid = {0};

    ch_utf8_add_valid(&valid, s);
    for (size_t i = 0; i < valid.n; i++) {
        char c = valid.p[i];
        if (c == '\n' || c == '\r' || c == '\t')
            ch_buf_addf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else
            ch_buf_addc(out, (unsigned char)c < ' ' || c == 0x7f ? ' ' : c);
    }
}

static void data_table_set_text(struct ch_result_table *t, struct ch_cell *cell, struct ch_sv s) {
    CH_BUF_AUTO line = {0}, json = {0}, whole = {0};
    size_t left;
    struct ch_sv shown = data_table_cut(s, &left);

    data_table_add_line(&line, shown);
    ch_buf_add_sv(&whole, shown);
    if (left) {
        ch_buf_addf(&line, "… (%zu more bytes)", left);
        ch_buf_addf(&whole, "… (%zu more bytes)", left);
    }
    ch_json_quote(&json, ch_buf_sv(&whole));
    cell->text = ch_arena_sv(&t->arena, ch_buf_sv(&line));
    cell->json = ch_arena_sv(&t->arena, ch_buf_sv(&json));
}

static void set_blob(struct ch_result_table *t, struct ch_cell *cell, struct ch_sv bytes) {
    CH_BUF_AUTO text = {0};

    ch_buf_addf(&text, "(%zu bytes: ", bytes.n);
    for (size_t i = 0; i < CH_MIN(bytes.n, BLOB_HEAD); i++)
        ch_buf_addf(&text, "%02x", (unsigned char)bytes.p[i]);
    ch_buf_add_str(&text, bytes.n > BLOB_HEAD ? "...)" : ")");
    data_table_set_text(t, cell, ch_buf_sv(&text));
}

static void data_table_set_plain(struct ch_result_table *t, struct ch_cell *cell,
                                 struct ch_sv text) {
    cell->text = cell->json = ch_arena_sv(&t->arena, text);
}

/* True if a number in the database's notation is valid JSON: it needs digits before and
 * after the point. Leading zeros do not occur. */
static bool is_json_number(struct ch_sv s) {
    CH_ARENA_AUTO a = {0};
    const struct ch_json *v;

    return ch_json_parse(&a, s, CH_JSON_STRICT, &v, NULL, NULL) == 0 && v->type == CH_JSON_NUMBER;
}

static void data_table_set_number(struct ch_result_table *t, struct ch_cell *cell,
                                  const struct chela_db_value *v) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (v->type == CHELA_DB_INT)
        ch_buf_addf(&text, "%" PRId64, v->integer);
    else if (v->type == CHELA_DB_REAL)
        ch_jw_double(&w, v->real);
    else
        ch_buf_add(&text, v->text, v->length);
    if (text.n > CH_LIMIT_SQL_CELL || !is_json_number(ch_buf_sv(&text)))
        data_table_set_text(t, cell, ch_buf_sv(&text));
    else
        data_table_set_plain(t, cell, ch_buf_sv(&text));
    cell->number = true;
}

static void data_table_set_value(struct ch_result_table *t, struct ch_cell *cell,
                                 const struct chela_db_value *v) {
    *cell = (struct ch_cell){0};
    switch (v->type) {
    case CHELA_DB_NULL:
        cell->text = CH_SV("NULL");
        cell->json = CH_SV("null");
        return;
    case CHELA_DB_BOOL:
        cell->text = cell->json = v->integer ? CH_SV("true") : CH_SV("false");
        return;
    case CHELA_DB_INT:
    case CHELA_DB_REAL:
    case CHELA_DB_NUMBER:
        data_table_set_number(t, cell, v);
        return;
    case CHELA_DB_TEXT:
        data_table_set_text(t, cell, ch_sv(v->text, v->length));
        return;
    case CHELA_DB_BLOB:
        set_blob(t, cell, ch_sv(v->text, v->length));
        return;
    }
}

/* --- filling --------------------------------------------------------------------- */

static bool data_table_is_taken(const struct ch_result_table *t, size_t before, struct ch_sv name) {
    for (size_t i = 0; i < before; i++)
        if (ch_sv_eq(t->names[i].text, name))
            return true;
    return false;
}

/* Make column names unique: two columns "id" of a join become "id" and "id_2". A long name is
 * cut before the number, so that the number is always shown. */
static void set_name(struct ch_result_table *t, size_t i, const char *name) {
    struct ch_sv own = ch_sv_str(name && *name ? name : "?");
    struct ch_sv start = ch_utf8_cut(own, NAME_START);

    data_table_set_text(t, &t->names[i], own);
    for (size_t k = 2; data_table_is_taken(t, i, t->names[i].text); k++) {
        CH_BUF_AUTO other = {0};
        ch_buf_addf(&other, "%.*s_%zu", CH_SV_FMT(start), k);
        data_table_set_text(t, &t->names[i], ch_buf_sv(&other));
    }
}

void ch_result_table_columns(struct ch_result_table *t, const char *const *names, size_t n) {
    t->nall = n;
    t->ncolumns = CH_MIN(n, CH_LIMIT_SQL_COLUMNS);
    t->names = ch_arena_zalloc(&t->arena, (t->ncolumns + 1) * sizeof(*t->names));
    for (size_t i = 0; i < t->ncolumns; i++)
        set_name(t, i, names[i]);
}

void ch_result_table_row(struct ch_result_table *t, const struct chela_db_value *values, size_t n) {
    struct ch_cell *cells = ch_arena_zalloc(&t->arena, (t->ncolumns + 1) * sizeof(*cells));

    for (size_t i = 0; i < CH_MIN(n, t->ncolumns); i++)
        data_table_set_value(t, &cells[i], &values[i]);
    CH_GROW(t->rows, t->nrows, t->cap, 16);
    t->rows[t->nrows++] = cells;
}

/* --- as text ------------------------------------------------------------------------ */

static bool is_wide(uint32_t c) {
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
        {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    for (size_t i = 0; i < CH_LEN(ranges); i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return false;
}

/* Count characters and screen columns. */
static size_t data_table_measure(struct ch_sv s, size_t *columns) {
    size_t chars = 0;
    uint32_t c;

    *columns = 0;
    for (size_t i = 0; i < s.n; chars++) {
        unsigned k = ch_utf8_next(ch_sv(s.p + i, s.n - i), &c);
        i += k ? k : 1;
        *columns += k && is_wide(c) ? 2 : 1;
    }
    return chars;
}

static size_t width_of(struct ch_sv s) {
    size_t columns;
    data_table_measure(s, &columns);
    return columns;
}

static size_t chars_of(struct ch_sv s) {
    size_t columns;
    return data_table_measure(s, &columns);
}

static size_t *column_widths(const struct ch_result_table *t) {
    size_t *widths = ch_alloc((t->ncolumns + 1) * sizeof(*widths));

    for (size_t i = 0; i < t->ncolumns; i++) {
        widths[i] = width_of(t->names[i].text);
        for (size_t r = 0; r < t->nrows; r++)
            widths[i] = CH_MAX(widths[i], CH_MIN(width_of(t->rows[r][i].text), WIDEST));
    }
    return widths;
}

static void add_spaces(struct ch_buf *out, size_t n) {
    while (n-- > 0)
        ch_buf_addc(out, ' ');
}

static void add_cells(const struct ch_result_table *t, const struct ch_cell *cells,
                      const size_t *widths, struct ch_buf *out) {
    for (size_t i = 0; i < t->ncolumns; i++) {
        size_t wide = width_of(cells[i].text), room = widths[i] - CH_MIN(wide, widths[i]);
        ch_buf_add_str(out, i ? " | " : "");
        if (cells[i].number)
            add_spaces(out, room);
        ch_buf_add_sv(out, cells[i].text);
        if (!cells[i].number && i + 1 < t->ncolumns)
            add_spaces(out, room);
    }
    ch_buf_addc(out, '\n');
}

static void data_table_add_rule(const struct ch_result_table *t, const size_t *widths,
                                struct ch_buf *out) {
    for (size_t i = 0; i < t->ncolumns; i++) {
        ch_buf_add_str(out, i ? "-+-" : "");
        for (size_t k = 0; k < widths[i]; k++)
            ch_buf_addc(out, '-');
    }
    ch_buf_addc(out, '\n');
}

size_t ch_result_table_text(const struct ch_result_table *t, size_t max, struct ch_buf *out) {
    CH_AUTOFREE size_t *widths = column_widths(t);
    size_t shown = 0, used;

    add_cells(t, t->names, widths, out);
    data_table_add_rule(t, widths, out);
    used = chars_of(ch_buf_sv(out));
    for (; shown < t->nrows; shown++) {
        CH_BUF_AUTO line = {0};
        add_cells(t, t->rows[shown], widths, &line);
        used += chars_of(ch_buf_sv(&line));
        if (used > max && shown > 0)
            break;
        ch_buf_add_sv(out, ch_buf_sv(&line));
    }
    return shown;
}

size_t ch_result_table_json(const struct ch_result_table *t, size_t max, struct ch_buf *out) {
    size_t shown = 0, used = 2;

    ch_buf_addc(out, '[');
    for (; shown < t->nrows; shown++) {
        CH_BUF_AUTO line = {0};
        ch_buf_add_str(&line, shown ? ",\n{" : "{");
        for (size_t i = 0; i < t->ncolumns; i++) {
            const struct ch_cell *cell = &t->rows[shown][i];
            ch_buf_addf(&line, "%s%.*s:%.*s", i ? "," : "", CH_SV_FMT(t->names[i].json),
                        CH_SV_FMT(cell->json));
        }
        ch_buf_addc(&line, '}');
        used += chars_of(ch_buf_sv(&line));
        if (used > max && shown > 0)
            break;
        ch_buf_add_sv(out, ch_buf_sv(&line));
    }
    ch_buf_add_str(out, "]\n");
    return shown;
}
