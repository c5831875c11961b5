/* A study's file fills the tables row by row; here they are written in one of the formats. If
 * memory runs out, cells are left out; only tables_write checks it. */
#include "studies/tables/internal.h"

#include "base/language.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tables_begin(struct tables *tables, const char *title, const char *headings)
{
    tables->titles[tables->count] = title;
    tables->last = &tables->sheets[tables->count++];
    *tables->last = table_begin(NULL, headings);
}

void tables_number(struct tables *tables, int digits, double value)
{
    if (isfinite(value))
        table_cell(tables->last, "%.*f", digits, value);
    else
        table_cell(tables->last, "%s", "");
}

void tables_missing(struct tables *tables, size_t blanks, const char *format, ...)
{
    char command[1200];
    struct table *notes = &tables->notes;
    size_t note = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    while (note < notes->count && strcmp(notes->cells[note], command) != 0)
        note++;
    if (note == notes->count)
        table_cell(notes, "%s", command);
    table_cell(tables->last, _("not run [%zu]"), note + 1);
    table_fill(tables->last, blanks, "");
}

bool tables_is_of(const char *network, const char *family)
{
    const size_t length = strlen(family);
    return strncmp(network, family, length) == 0 &&
           (network[length] == '\0' || network[length] == '-');
}

bool tables_is_usable(const struct compare_row *row)
{
    struct run_snapshot now;
    if (!row->run || run_facts(row->run)->imported[0])
        return false;
    run_snapshot(row->run, &now);
    return now.iteration > 0;
}

static size_t add_device(const char *devices[TABLES_DEVICES], size_t count, const char *device)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(devices[i], device) == 0)
            return count;
    if (count < TABLES_DEVICES)
        devices[count++] = device;
    return count;
}

size_t tables_devices(const struct tables *tables, const char *const *families,
                      const char *devices[TABLES_DEVICES])
{
    size_t count = add_device(devices, 0, "cpu");
    count = add_device(devices, count, "cuda:0");
    for (size_t i = 0; i < tables->runs->count; i++) {
        const struct compare_row *row = &tables->runs->rows[i];
        for (size_t f = 0; families[f]; f++)
            if (tables_is_usable(row) && tables_is_of(row->network, families[f])) {
                const char *device = machine_settings(run_config(row->run)).device;
                count = add_device(devices, count, strcmp(device, "cuda") ? device : "cuda:0");
                for (size_t d = 0; d < row->ms.count; d++)
                    count = add_device(devices, count, row->ms.entries[d].on.device);
            }
    }
    return count;
}
