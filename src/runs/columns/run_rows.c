#include "runs/columns/run_rows.h"

#include "runs/columns/journal_columns.h"

#include <string.h>

struct reading {
    const struct run_rows *rows;
    bool started; /* lines before the start event belong to no run */
};

static bool take(void *context, const struct journal_line *line, struct error *error)
{
    struct reading *reading = context;
    const struct run_rows *rows = reading->rows;
    struct series_validation validation;
    if (reading->started && line->point)
        return rows->point(rows->context, line->point, error);
    if (line->point)
        return true;
    if (reading->started && journal_read_validation(line->json, &validation))
        return rows->validation(rows->context, &validation, error);
    const char *event = json_string(json_member(line->json, "event"));
    reading->started |= event && strcmp(event, "start") == 0;
    return true;
}

bool run_rows_read(const char *directory, const struct run_rows *rows, struct error *error)
{
    struct reading reading = {.rows = rows};
    struct journal_sum sum;
    return journal_columns_read(directory, UINT64_MAX, false, take, &reading, &sum, error);
}
