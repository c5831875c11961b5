#include "runs/folder/run_rows.h"

#include "runs/folder/journal.h"

#include <string.h>

struct reading {
    const struct run_rows *rows;
    bool started; /* entries before the start event belong to no run */
};

static bool take(void *context, const struct journal_line *line, struct error *error)
{
    struct reading *reading = context;
    const struct run_rows *rows = reading->rows;
    const char *event = json_string(json_member(line->json, "event"));
    reading->started |= event && strcmp(event, "start") == 0;
    if (reading->started && line->point)
        return rows->point(rows->context, line->point, error);
    if (reading->started && line->validation)
        return rows->validation(rows->context, line->validation, error);
    return true;
}

bool run_rows_read(const char *directory, const struct run_rows *rows, struct error *error)
{
    struct reading reading = {.rows = rows};
    return journal_read(directory, NULL, take, &reading, NULL, error);
}
