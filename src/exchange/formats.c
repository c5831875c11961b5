/* A format is found by its name, by the ending of a file, or by its content; what an ending stands
 * for depends on the formats that a command offers, of which the first in the table counts. */
#include "exchange/formats.h"

#include "base/files/file.h"
#include "base/language.h"
#include "exchange/export/export.h"
#include "exchange/tensorboard/tensorboard.h"

#include <string.h>
#include <strings.h>

const struct format formats[] = {
#include "exchange/formats.inc"
};
const size_t format_count = sizeof formats / sizeof *formats;
_Static_assert(sizeof formats / sizeof *formats < FORMATS_MOST, "names[] has room for all");

/* --- names and endings --- */

const char *const *format_names(const char *names[FORMATS_MOST], unsigned carries)
{
    size_t count = 0;
    for (size_t i = 0; i < format_count; i++)
        if (formats[i].carries & carries)
            names[count++] = formats[i].name;
    names[count] = NULL;
    return names;
}

bool format_is_report(const struct format *format)
{
    return !format->export_runs && !format->export_model && !(format->carries & CARRIES_CHART);
}

const struct format *format_named(const char *name, unsigned carries)
{
    for (size_t i = 0; i < format_count; i++)
        if (strcmp(formats[i].name, name) == 0 && (formats[i].carries & carries))
            return &formats[i];
    return NULL;
}

/* Returns whether the name of a file ends as those of a format do. */
static bool has_ending(const struct format *format, const char *path)
{
    const char *ending = strrchr(file_base_name(path), '.');
    const size_t length = ending ? strlen(ending) : 0;
    for (const char *at = format->endings; length > 0 && *at; at += strcspn(at, " ") + 1)
        if (strncasecmp(at, ending, length) == 0 && at[length] == ' ')
            return true;
    return false;
}

size_t format_choice(const char *const *choices, const char *path, size_t otherwise)
{
    for (size_t i = 0; i < format_count; i++)
        for (size_t c = 0; has_ending(&formats[i], path) && choices[c]; c++)
            if (strcmp(choices[c], formats[i].name) == 0)
                return c;
    return otherwise;
}

/* --- contents --- */

const struct format *format_of_content(enum content content)
{
    for (size_t i = 0; content != CONTENT_UNKNOWN && i < format_count; i++)
        for (size_t k = 0; k < sizeof formats->contents / sizeof *formats->contents; k++)
            if (formats[i].contents[k] == content)
                return &formats[i];
    return NULL;
}

const struct format *format_of_model(const char *path)
{
    const struct format *format = format_of_content(content_of(path));
    if (format && format->import)
        return format;
    for (size_t i = 0; i < format_count; i++)
        if (formats[i].import && has_ending(&formats[i], path))
            return &formats[i];
    return NULL;
}

bool format_write_runs(const struct format *format, struct run *const *runs, size_t count,
                       const struct chart_settings *settings, const char *path, struct error *error)
{
    struct chart_settings chart = *settings;
    chart.format = format->chart;
    return format->carries & CARRIES_CHART ? chart_write(runs, count, &chart, path, error)
                                           : format->export_runs(runs, count, path, error);
}
