/* A table describes the fields of a run itself. The settings of the configuration follow in the
 * order of config_fields; "network" is skipped there, because the field of that name shows what the
 * run is called instead of the path of its file. */
#include "runs/history/run_field.h"

#include "base/language.h"
#include "base/text.h"
#include "runs/settings/config_paths.h"
#include "runs/values/run_snapshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- values --- */

struct run_record *run_record_fill(struct run_record *record)
{
    const struct run_snapshot *now = record->snapshot;
    struct run_figures *figures = &record->figures;
    *figures = now ? run_figures_of(now, NULL) : run_figures_unknown();
    figures->parameters = figure_of_count(record->parameters);
    figures->disk = figure_of_count(record->disk_bytes);
    if (now)
        figures->peak_memory = figure_of_count(now->memory_highest);
    if (!record->started) {
        figures->loss = (double)NAN;
        return record;
    }
    figures->epoch = now->epoch;
    figures->iteration = (double)now->iteration;
    figures->training_ms = now->ms_per_image_median > 0 ? now->ms_per_image_median : (double)NAN;
    figures->seconds = now->elapsed_seconds;
    return record;
}

/* Returns whether the run has a loss, be it NaN: logs of other programs may have none. */
static bool loss_is_known(const struct run_record *record)
{
    return record->started && record->figures.has_loss && !record->imported[0];
}

/* Returns the text of a field that has one. */
static const char *text_of(size_t field, const struct run_record *record)
{
    const char *const texts[FIGURES_OF_RUNS] = {
        [FIGURE_ID] = record->id,           [FIGURE_NAME] = record->name,
        [FIGURE_STATUS] = record->status,   [FIGURE_TAG] = record->tags,
        [FIGURE_NOTE] = record->note,       [FIGURE_BEGUN] = record->id,
        [FIGURE_NETWORK] = record->network, [FIGURE_IMPORTED] = record->imported};
    return field < FIGURES_OF_RUNS ? texts[field] : NULL;
}

/* --- the list --- */

/* Returns the setting of a field, or NULL. The settings behind "network" are one place further. */
static const struct config_field *setting_of(size_t field)
{
    size_t i = 0;
    if (field < FIGURES_OF_RUNS || field >= run_field_count())
        return NULL;
    while (i < field - FIGURES_OF_RUNS && strcmp(config_fields[i].key, KEY(network)) != 0)
        i++;
    return &config_fields[field - FIGURES_OF_RUNS +
                          (strcmp(config_fields[i].key, KEY(network)) == 0)];
}

size_t run_field_count(void)
{
    return FIGURES_OF_RUNS + config_field_count - 1;
}

const char *run_field_key(size_t field)
{
    return field < FIGURES_OF_RUNS ? figure_rows[field].key : setting_of(field)->key;
}

const char *run_field_heading(size_t field)
{
    return field < FIGURES_OF_RUNS ? figure_rows[field].title : setting_of(field)->key;
}

const char *run_field_help(size_t field)
{
    return field < FIGURES_OF_RUNS ? figure_rows[field].help : setting_of(field)->help;
}

size_t run_field_find(const char *key)
{
    for (size_t field = 0; field < run_field_count(); field++)
        if (strcasecmp(run_field_key(field), key) == 0)
            return field;
    return FIELD_NONE;
}

size_t run_field_of_setting(const struct config_field *setting)
{
    return run_field_find(setting->key);
}

bool run_field_is_number(size_t field)
{
    if (field < FIGURES_OF_RUNS)
        return figure_rows[field].unit != FIGURE_NAMES;
    const struct config_field *setting = setting_of(field);
    return setting && (setting->kind == CONFIG_COUNT || setting->kind == CONFIG_NUMBER);
}

bool run_field_is_figure(size_t field)
{
    return field < FIGURES_OF_RUNS && figure_rows[field].unit != FIGURE_NAMES &&
           field != FIGURE_PARAMETERS && field != FIGURE_DISK;
}

/* --- numbers and texts --- */

static double setting_number(const struct config_field *setting, const struct run_config *config)
{
    const char *place = (const char *)config + setting->offset;
    size_t count;
    double number;
    if (setting->kind == CONFIG_NUMBER) {
        memcpy(&number, place, sizeof number);
        return number;
    }
    memcpy(&count, place, sizeof count);
    const bool unknown = setting->key == KEY(batch) && count == 0; /* of an imported run */
    return config_counts(config, setting) && !unknown ? (double)count : (double)NAN;
}

/* Returns whether the record has a setting: what the log of another program does not give is
 * unknown, and not the default. */
static bool setting_is_known(const struct config_field *setting, const struct run_record *record)
{
    return config_is_known(record->config, record->imported, setting->key);
}

double run_field_number(size_t field, const struct run_record *record)
{
    if (!record->known || !run_field_is_number(field))
        return (double)NAN;
    if (field >= FIGURES_OF_RUNS && !setting_is_known(setting_of(field), record))
        return (double)NAN;
    return field < FIGURES_OF_RUNS ? figure_of(&record->figures, field)
                                   : setting_number(setting_of(field), record->config);
}

char *run_field_print(size_t field, double value, char *text, size_t size)
{
    if (field < FIGURES_OF_RUNS)
        return figure_print(field, value, text, size);
    text[0] = '\0';
    if (isinf(value))
        return text_number(value, 4, text, size);
    if (!isnan(value))
        snprintf(text, size, "%.10g", value);
    return text;
}

/* Writes the start time from the run's ID, such as 20261121-063012-lenet-1a2b. */
static char *begun_text(const char *id, char *text, size_t size)
{
    text[0] = '\0';
    if (strspn(id, "0123456789") == 8 && id[8] == '-' && strspn(id + 9, "0123456789") == 6)
        snprintf(text, size, "%.2s-%.2s %.2s:%.2s", id + 4, id + 6, id + 9, id + 11);
    return text;
}

/* Writes "3/10", the completed and the total epochs; logs of other programs may tell neither. */
static char *epoch_text(const struct run_record *record, char *text, size_t size)
{
    const struct run_snapshot *now = record->snapshot;
    if (isnan(now->epoch))
        text[0] = '\0';
    else if (!(now->epochs > 0))
        snprintf(text, size, "%.4g", now->epoch);
    else if (now->epoch >= now->epochs)
        snprintf(text, size, "%.4g", now->epochs);
    else
        snprintf(text, size, "%.3g/%.4g", now->epoch, now->epochs);
    return text;
}

static char *setting_text(const struct config_field *setting, const struct run_config *config,
                          char *text, size_t size)
{
    char value[FIELD_TEXT];
    if (setting->kind == CONFIG_TEXT)
        return config_short_value(
            setting->key, config_get(config, setting->key, value, sizeof value), text, size);
    return config_get(config, setting->key, text, size);
}

char *run_field_text(size_t field, const struct run_record *record, char *text, size_t size)
{
    text[0] = '\0';
    if (field == FIGURE_BEGUN)
        return begun_text(record->id, text, size);
    const bool always = field == FIGURE_ID || field == FIGURE_STATUS; /* of unreadable runs, too */
    const char *own = text_of(field, record);
    if (always || (record->known && own)) {
        snprintf(text, size, "%s", own);
        return text;
    }
    if (!record->known)
        return text;
    if (field == FIGURE_EPOCH && record->started)
        return epoch_text(record, text, size);
    if (run_field_is_number(field)) {
        const double value = run_field_number(field, record);
        const bool unknown = isnan(value) && !(field == FIGURE_LOSS && loss_is_known(record));
        return unknown ? text : run_field_print(field, value, text, size);
    }
    if (!setting_is_known(setting_of(field), record))
        return text;
    return setting_text(setting_of(field), record->config, text, size);
}

/* --- order --- */

static int compare_texts(const char *a, const char *b, bool backwards)
{
    if (!a[0] || !b[0])
        return !a[0] - !b[0];
    const int order = strcasecmp(a, b);
    return backwards ? -order : order;
}

int run_field_compare(size_t field, const struct run_record *a, const struct run_record *b,
                      bool backwards)
{
    char first[FIELD_TEXT], second[FIELD_TEXT];
    if (field == FIGURE_BEGUN || (text_of(field, a) && text_of(field, b) && a->known && b->known))
        return compare_texts(text_of(field, a), text_of(field, b), backwards);
    if (!run_field_is_number(field))
        return compare_texts(run_field_text(field, a, first, sizeof first),
                             run_field_text(field, b, second, sizeof second), backwards);
    const double x = run_field_number(field, a), y = run_field_number(field, b);
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    const int order = (x > y) - (x < y);
    return backwards ? -order : order;
}
