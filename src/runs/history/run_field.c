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

typedef double field_number(const struct run_record *record);
typedef const char *field_text(const struct run_record *record);

struct row {
    const char *key, *heading, *help, *format;
    field_number *number; /* one of the two is NULL */
    field_text *text;
    bool figure;
};

/* --- values --- */

static double known_if(bool known, double value)
{
    return known ? value : (double)NAN;
}

static double epoch_of(const struct run_record *record)
{
    return known_if(record->started, record->snapshot->epoch);
}

static double iteration_of(const struct run_record *record)
{
    return known_if(record->started, (double)record->snapshot->iteration);
}

/* Returns whether the run has a loss, be it NaN: logs of other programs may have none. */
static bool loss_is_known(const struct run_record *record)
{
    return record->started && run_figures_of(record->snapshot, NULL).has_loss &&
           !record->imported[0];
}

static double loss_of(const struct run_record *record)
{
    return known_if(record->started, run_figures_of(record->snapshot, NULL).loss);
}

static double validation_loss_of(const struct run_record *record)
{
    return run_figures_of(record->snapshot, NULL).validation_loss;
}

static double top1_of(const struct run_record *record)
{
    return run_figures_of(record->snapshot, NULL).top1;
}

static double top5_of(const struct run_record *record)
{
    return run_figures_of(record->snapshot, NULL).top5;
}

static double best_of(const struct run_record *record)
{
    return run_figures_of(record->snapshot, NULL).best_top1;
}

static double best_validation_loss_of(const struct run_record *record)
{
    return run_figures_of(record->snapshot, NULL).best_validation_loss;
}

static double test_loss_of(const struct run_record *record)
{
    return run_figures_of(record->snapshot, NULL).test_loss;
}

static double test_top1_of(const struct run_record *record)
{
    return run_figures_of(record->snapshot, NULL).test_top1;
}

static double ms_of(const struct run_record *record)
{
    const double ms = record->snapshot->ms_per_image_median;
    return known_if(record->started && ms > 0, ms);
}

static double memory_of(const struct run_record *record)
{
    return known_if(record->snapshot->memory_highest > 0, (double)record->snapshot->memory_highest);
}

static double parameters_of(const struct run_record *record)
{
    return known_if(record->parameters > 0, (double)record->parameters);
}

static double time_of(const struct run_record *record)
{
    return known_if(record->started, record->snapshot->elapsed_seconds);
}

static double disk_of(const struct run_record *record)
{
    return known_if(record->disk_bytes > 0, (double)record->disk_bytes);
}

#define TEXT_OF(member)                                                                            \
    static const char *member##_of(const struct run_record *record)                                \
    {                                                                                              \
        return record->member;                                                                     \
    }
TEXT_OF(id)
TEXT_OF(name)
TEXT_OF(status)
TEXT_OF(tags)
TEXT_OF(note)
TEXT_OF(network)
TEXT_OF(imported)

static const struct row rows[FIELD_SETTINGS] = {
    [FIELD_ID] = {"id", N_("ID"), N_("the run's ID"), NULL, NULL, id_of, false},
    [FIELD_NAME] = {"name", N_("name"), N_("the name that it was given"), NULL, NULL, name_of,
                    false},
    [FIELD_STATUS] = {"status", N_("status"),
                      N_("running, done, stopped, failed, diverged, interrupted, ..."), NULL, NULL,
                      status_of, false},
    [FIELD_TAG] = {"tag", N_("tags"), N_("its tags"), NULL, NULL, tags_of, false},
    [FIELD_NOTE] = {"note", N_("note"), N_("its note"), NULL, NULL, note_of, false},
    [FIELD_BEGUN] = {"begun", N_("begun (UTC)"), N_("when it began: month-day hour:minute"), NULL,
                     NULL, id_of, false},
    [FIELD_NETWORK] = {"network", N_("network"), N_("the network with its suffixes"), NULL, NULL,
                       network_of, false},
    [FIELD_EPOCH] = {"epoch", N_("epochs"), N_("epochs that are done"), "%.4g", epoch_of, NULL,
                     true},
    [FIELD_ITERATION] = {"iteration", N_("iteration"), N_("iterations that are done"), "%.0f",
                         iteration_of, NULL, true},
    [FIELD_LOSS] = {"loss", N_("loss"), N_("the last loss of training"), "%.4g", loss_of, NULL,
                    true},
    [FIELD_VALIDATION_LOSS] = {"val-loss", N_("val. loss"), N_("the last loss of validation"),
                               "%.4g", validation_loss_of, NULL, true},
    [FIELD_TOP1] = {"top1", N_("top-1"), N_("the last top-1 accuracy in percent"), "%.2f", top1_of,
                    NULL, true},
    [FIELD_TOP5] = {"top5", N_("top-5"), N_("the last top-5 accuracy in percent"), "%.2f", top5_of,
                    NULL, true},
    [FIELD_BEST] = {"best", N_("best top-1"), N_("the best top-1 accuracy in percent"), "%.2f",
                    best_of, NULL, true},
    [FIELD_BEST_VALIDATION_LOSS] = {"best-val-loss", N_("best val. loss"),
                                    N_("the lowest loss of validation"), "%.4g",
                                    best_validation_loss_of, NULL, true},
    [FIELD_TEST_LOSS] = {"test-loss", N_("test loss"),
                         N_("the loss of the best model on the test set"), "%.4g", test_loss_of,
                         NULL, true},
    [FIELD_TEST_TOP1] = {"test-top1", N_("test top-1"),
                         N_("the top-1 accuracy of the best model on the test set in percent"),
                         "%.2f", test_top1_of, NULL, true},
    [FIELD_MS] = {"ms", N_("ms/image"), N_("median time of an image in milliseconds"), "%.3g",
                  ms_of, NULL, true},
    [FIELD_MEMORY] = {"memory", N_("memory"), N_("peak memory of the process; filters take 600M"),
                      NULL, memory_of, NULL, true},
    [FIELD_PARAMETERS] = {"parameters", N_("parameters"), N_("parameters of the network"), NULL,
                          parameters_of, NULL, false},
    [FIELD_TIME] = {"time", N_("time"), N_("duration of training in seconds"), NULL, time_of, NULL,
                    true},
    [FIELD_DISK] = {"disk", N_("disk"), N_("disk space of its folder; filters take 600M"), NULL,
                    disk_of, NULL, false},
    [FIELD_IMPORTED] = {"imported", N_("imported"), N_("the framework whose log was imported"),
                        NULL, NULL, imported_of, false},
};

/* --- the list --- */

/* Returns the setting of a field, or NULL. The settings behind "network" are one place further. */
static const struct config_field *setting_of(size_t field)
{
    size_t i = 0;
    if (field < FIELD_SETTINGS || field >= run_field_count())
        return NULL;
    while (i < field - FIELD_SETTINGS && strcmp(config_fields[i].key, KEY(network)) != 0)
        i++;
    return &config_fields[field - FIELD_SETTINGS +
                          (strcmp(config_fields[i].key, KEY(network)) == 0)];
}

size_t run_field_count(void)
{
    return FIELD_SETTINGS + config_field_count - 1;
}

const char *run_field_key(size_t field)
{
    return field < FIELD_SETTINGS ? rows[field].key : setting_of(field)->key;
}

const char *run_field_heading(size_t field)
{
    return field < FIELD_SETTINGS ? rows[field].heading : setting_of(field)->key;
}

const char *run_field_help(size_t field)
{
    return field < FIELD_SETTINGS ? rows[field].help : setting_of(field)->help;
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
    if (field < FIELD_SETTINGS)
        return rows[field].number != NULL;
    const struct config_field *setting = setting_of(field);
    return setting && (setting->kind == CONFIG_COUNT || setting->kind == CONFIG_NUMBER);
}

bool run_field_is_figure(size_t field)
{
    return field < FIELD_SETTINGS && rows[field].figure;
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
    if (field >= FIELD_SETTINGS && !setting_is_known(setting_of(field), record))
        return (double)NAN;
    return field < FIELD_SETTINGS ? rows[field].number(record)
                                  : setting_number(setting_of(field), record->config);
}

char *run_field_print(size_t field, double value, char *text, size_t size)
{
    text[0] = '\0';
    if (isnan(value) && field != FIELD_LOSS)
        return text;
    if (field == FIELD_MEMORY || field == FIELD_DISK)
        return text_bytes((uint64_t)value, text, size);
    if (field == FIELD_PARAMETERS)
        return text_si(value, text, size);
    if (field == FIELD_TIME)
        return text_duration(value, text, size);
    if (!isfinite(value))
        return text_number(value, 4, text, size);
    snprintf(text, size, field < FIELD_SETTINGS ? rows[field].format : "%.10g", value);
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
    if (field == FIELD_BEGUN)
        return begun_text(record->id, text, size);
    const bool always = field == FIELD_ID || field == FIELD_STATUS; /* of unreadable runs, too */
    if (always || (record->known && field < FIELD_SETTINGS && rows[field].text)) {
        snprintf(text, size, "%s", rows[field].text(record));
        return text;
    }
    if (!record->known)
        return text;
    if (field == FIELD_EPOCH && record->started)
        return epoch_text(record, text, size);
    if (run_field_is_number(field)) {
        const double value = run_field_number(field, record);
        const bool unknown = isnan(value) && !(field == FIELD_LOSS && loss_is_known(record));
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
    if (field == FIELD_BEGUN)
        return compare_texts(a->id, b->id, backwards);
    if (field < FIELD_SETTINGS && rows[field].text && a->known && b->known)
        return compare_texts(rows[field].text(a), rows[field].text(b), backwards);
    if (!run_field_is_number(field))
        return compare_texts(run_field_text(field, a, first, sizeof first),
                             run_field_text(field, b, second, sizeof second), backwards);
    const double x = run_field_number(field, a), y = run_field_number(field, b);
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    const int order = (x > y) - (x < y);
    return backwards ? -order : order;
}
