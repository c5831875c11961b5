/* The order of the automatic columns is fixed: status, network, name and tags if a run has some,
 * the settings that differ, then figures. Where the terminal is narrow, columns are left out by
 * their priority. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "runs/settings/config_differences.h"
#include "ui/terminal/columns.h"

#include <string.h>

/* Widths of a column of text; that of networks is wider in a table of at least ROOMY columns. */
enum { TEXT_LEAST = 10, NETWORK_LEAST = 16, TEXT_MOST = 40, ROOMY = 56 };

const char *runs_heading(size_t field)
{
    return gettext(run_field_heading(field));
}

char *runs_cell(size_t field, const struct run_record *record, char *text, size_t size)
{
    if (field == FIGURE_NETWORK && !record->known)
        field = FIGURE_ID;
    if (field != FIGURE_STATUS)
        return run_field_text(field, record, text, size);
    columns_fit(language_text(record->status), TEXT_MOST, text, size);
    return text;
}

/* --- choice --- */

static void add(struct runs_columns *columns, size_t field)
{
    if (columns->count < RUNS_COLUMNS && runs_columns_place(columns, field) == 0)
        columns->list[columns->count++] =
            (struct runs_column){.field = field, .right = run_field_is_number(field)};
}

size_t runs_columns_place(const struct runs_columns *columns, size_t field)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->list[i].field == field)
            return i + 1;
    return 0;
}

/* Adds a field if a record has a value in it. */
static void add_if_any(struct runs_columns *columns, size_t field, const struct run_record *records,
                       size_t count)
{
    char text[FIELD_TEXT];
    for (size_t i = 0; i < count; i++)
        if (run_field_text(field, &records[i], text, sizeof text)[0]) {
            add(columns, field);
            return;
        }
}

/* Counts for each setting how often it changes from one known record to the next. Returns the
 * number of known records. */
static size_t count_changes(const struct run_record *records, size_t count,
                            size_t changes[CONFIG_MAX_FIELDS])
{
    const struct run_record *before = NULL;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        if (!records[i].known)
            continue;
        for (size_t n = 0; before && n < config_field_count; n++)
            changes[n] += !config_field_equal(before->config, records[i].config, &config_fields[n]);
        before = &records[i];
        known++;
    }
    return known;
}

/* Adds the settings in which the known records differ; with a single record what usually
 * distinguishes runs. */
static void add_differences(struct runs_columns *columns, const struct run_record *records,
                            size_t count)
{
    size_t changes[CONFIG_MAX_FIELDS] = {0};
    const size_t known = count_changes(records, count, changes);
    for (size_t n = 0; n < config_field_count; n++)
        if (changes[n] > 0 && strcmp(config_fields[n].key, KEY(network)) != 0 &&
            strcmp(config_fields[n].key, KEY(epochs)) != 0) { /* FIGURE_EPOCH shows it, too: 3/10 */
            add(columns, run_field_of_setting(&config_fields[n]));
            if (columns->count > 0)
                columns->list[columns->count - 1].changes = changes[n];
        }
    for (size_t n = 0; known < 2 && n < config_field_count; n++)
        if (config_fields[n].told.usual)
            add(columns, run_field_of_setting(&config_fields[n]));
}

static void choose_fields(struct runs_columns *columns, const struct run_record *records,
                          size_t count)
{
    columns->count = 0;
    for (size_t i = 0; i < columns->chosen_count; i++)
        add(columns, columns->chosen[i]);
    if (columns->chosen_count > 0)
        return;
    add(columns, FIGURE_STATUS);
    add(columns, FIGURE_NETWORK);
    add_if_any(columns, FIGURE_NAME, records, count);
    add_if_any(columns, FIGURE_TAG, records, count);
    add_differences(columns, records, count);
    add(columns, FIGURE_EPOCH);
    add(columns, FIGURE_LOSS);
    add_if_any(columns, FIGURE_TOP1, records, count);
    add(columns, FIGURE_TRAINING_MS);
    add(columns, FIGURE_BEGUN);
    add_if_any(columns, FIGURE_NOTE, records, count);
}

static void measure(struct runs_column *column, const struct run_record *records, size_t count)
{
    char text[FIELD_TEXT];
    const size_t most = column->right ? FIELD_TEXT : TEXT_MOST;
    size_t content = columns_of(runs_heading(column->field));
    for (size_t i = 0; i < count; i++) {
        const size_t width = columns_of(runs_cell(column->field, &records[i], text, sizeof text));
        content = width > content ? width : content;
    }
    column->content = (int)(content < most ? content : most);
}

void runs_columns_choose(struct runs_columns *columns, const struct run_record *records,
                         size_t count)
{
    choose_fields(columns, records, count);
    for (size_t i = 0; i < columns->count; i++)
        measure(&columns->list[i], records, count);
}

void runs_columns_toggle(struct runs_columns *columns, size_t field)
{
    if (columns->chosen_count == 0)
        for (size_t i = 0; i < columns->count; i++)
            columns->chosen[columns->chosen_count++] = columns->list[i].field;
    for (size_t i = 0; i < columns->chosen_count; i++)
        if (columns->chosen[i] == field) {
            memmove(&columns->chosen[i], &columns->chosen[i + 1],
                    (columns->chosen_count - i - 1) * sizeof *columns->chosen);
            columns->chosen_count--;
            return;
        }
    if (columns->chosen_count < RUNS_COLUMNS)
        columns->chosen[columns->chosen_count++] = field;
}

/* --- widths --- */

/* Returns how important a column is: 0 stays to the last. A setting that changes often from run to
 * run tells more than one that changes seldom, and texts take more space than numbers; the length
 * of a run tells the least. */
static int priority(const struct runs_columns *columns, size_t i)
{
    enum { NUMBERS = 100, CHANGES = 1000, TEXTS = 2000, LENGTH = 4000, LAST = 5000 };
    static const size_t first[] = {FIGURE_STATUS, FIGURE_NETWORK, FIGURE_LOSS,
                                   FIGURE_TOP1,   FIGURE_NAME,    FIGURE_TAG},
                        last[] = {FIGURE_EPOCH, FIGURE_TRAINING_MS, FIGURE_BEGUN, FIGURE_NOTE};
    const struct runs_column *column = &columns->list[i];
    const int changes = column->changes < CHANGES ? (int)column->changes : CHANGES;
    for (size_t n = 0; n < sizeof first / sizeof *first; n++)
        if (first[n] == column->field)
            return (int)n;
    for (size_t n = 0; n < sizeof last / sizeof *last; n++)
        if (last[n] == column->field)
            return LAST + (int)n;
    if (column->field == run_field_find(KEY(iterations)))
        return LENGTH;
    return (column->right ? NUMBERS : TEXTS) + CHANGES - changes;
}

/* Returns the least width of a column in a table of `room` columns. */
static int least(const struct runs_column *column, int room)
{
    const int text = column->field == FIGURE_NETWORK && room >= ROOMY ? NETWORK_LEAST : TEXT_LEAST;
    return column->right || column->content < text || column->field == FIGURE_BEGUN ||
                   column->field == FIGURE_STATUS
               ? column->content
               : text;
}

static int used(const struct runs_columns *columns)
{
    int total = 0;
    for (size_t i = 0; i < columns->count; i++)
        total += columns->list[i].width ? columns->list[i].width + 1 : 0;
    return total - 1;
}

/* Leaves out the least important columns until the others fit. One always stays. */
static void leave_out(struct runs_columns *columns, int room)
{
    for (size_t shown = columns->count; shown > 1 && used(columns) > room; shown--) {
        size_t out = RUNS_COLUMNS;
        for (size_t i = 0; i < columns->count; i++)
            if (columns->list[i].width &&
                (out == RUNS_COLUMNS || priority(columns, i) > priority(columns, out)))
                out = i;
        columns->list[out].width = 0;
    }
}

void runs_columns_fit(struct runs_columns *columns, int start, int room)
{
    for (size_t i = 0; i < columns->count; i++)
        columns->list[i].width = least(&columns->list[i], room);
    leave_out(columns, room);
    int spare = room - used(columns);
    for (size_t i = 0; i < columns->count; i++) {
        struct runs_column *column = &columns->list[i];
        const int wish = column->width ? column->content - column->width : 0;
        const int more = wish < spare ? wish : spare;
        if (more > 0) {
            column->width += more;
            spare -= more;
        }
        column->start = start;
        start += column->width ? column->width + 1 : 0;
    }
}
