/* Tables as lists of texts: a study's file appends cells row by row, and tables_write.c prints them
 * in one of the formats. If memory runs out, cells are left out and `out_of_memory` says so; only
 * tables_write checks it. */
#include "studies/tables/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tables_sheet *last_sheet(struct tables *tables)
{
    return &tables->sheets[tables->sheet_count - 1];
}

/* Appends a copy of `value` to a list of texts. */
static bool append(char ***list, size_t *capacity, size_t *count, const char *value)
{
    if (!memory_grow(list, capacity, *count + 1, sizeof **list, "the tables", NULL))
        return false;
    (*list)[*count] = memory_copy_text(value, NULL);
    *count += (*list)[*count] != NULL;
    return (*list)[*count - 1];
}

static void add_cell(struct tables *tables, const char *value)
{
    struct tables_sheet *sheet = last_sheet(tables);
    if (!tables->out_of_memory)
        tables->out_of_memory = !append(&sheet->cells, &sheet->capacity, &sheet->count, value);
}

void tables_begin(struct tables *tables, const char *title, const char *headings)
{
    tables->sheets[tables->sheet_count++] = (struct tables_sheet){.title = title, .columns = 1};
    struct tables_sheet *sheet = last_sheet(tables);
    for (const char *at = headings; (at = strchr(at, '|')); at++)
        sheet->columns++;
    for (size_t i = 0; i < sheet->columns; i++) {
        char heading[160];
        const size_t length = strcspn(headings, "|");
        snprintf(heading, sizeof heading, "%.*s", (int)length, headings);
        add_cell(tables, heading);
        headings += length + (headings[length] == '|');
    }
}

void tables_cell(struct tables *tables, const char *format, ...)
{
    char value[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    add_cell(tables, value);
}

void tables_number(struct tables *tables, int digits, double value)
{
    if (isfinite(value))
        tables_cell(tables, "%.*f", digits, value);
    else
        add_cell(tables, "");
}

void tables_blank(struct tables *tables, size_t cells)
{
    for (size_t i = 0; i < cells; i++)
        add_cell(tables, "");
}

void tables_missing(struct tables *tables, const char *format, ...)
{
    char command[1200];
    size_t note = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    while (note < tables->note_count && strcmp(tables->notes[note], command) != 0)
        note++;
    if (note == tables->note_count && !tables->out_of_memory)
        tables->out_of_memory =
            !append(&tables->notes, &tables->note_capacity, &tables->note_count, command);
    tables_cell(tables, _("not run [%zu]"), note + 1);
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
