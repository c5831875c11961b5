/* The cells of the run table as text and as figures, and the search in them. A saved run's cells
 * are empty until it is read. */
#include "ui/app/run_cells.h"

#include "base/files/file.h"
#include "base/language.h"
#include "session/config/config_paths.h"
#include "ui/app/app.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Widths hold the headings of every language there is; see runs_columns. */
static const struct table_column columns[RUNS_COLUMNS] = {
    [RUNS_MARK] = {"", 1, 0, false, false},
    [RUNS_NUMBER] = {N_("#"), 3, 3, true, false},
    [RUNS_STATUS] = {N_("status"), 11, 0, false, false},
    [RUNS_NETWORK] = {N_("network"), 10, 0, false, true},
    [RUNS_TECHNIQUE] = {N_("technique"), 9, 4, false, false},
    [RUNS_NAME] = {N_("name"), 10, 5, false, true},
    [RUNS_DATA] = {N_("data"), 8, 6, false, true},
    [RUNS_BATCH] = {N_("batch"), 5, 7, true, false},
    [RUNS_DEVICE] = {N_("device"), 9, 10, false, false},
    [RUNS_EPOCHS] = {N_("epochs"), 9, 8, true, false},
    [RUNS_LOSS] = {N_("loss"), 8, 1, true, false},
    [RUNS_TOP1] = {N_("top-1"), 6, 2, true, false},
    [RUNS_SPEED] = {N_("ms/image"), 8, 9, true, false},
    [RUNS_BEGUN] = {N_("begun (UTC)"), 11, 11, false, false},
};

const struct table_column *runs_table_columns(void)
{
    return columns;
}

const char *runs_heading(enum runs_column column)
{
    return columns[column].title[0] ? gettext(columns[column].title) : "";
}

/* --- cells --- */

const char *runs_id(const struct run_entry *entry)
{
    if (run_entry_is_saved(entry))
        return file_base_name(entry->directory);
    return entry->run ? run_facts(entry->run)->id : "";
}

const char *runs_display_name(const struct run_entry *entry)
{
    return entry->name[0] ? entry->name : runs_id(entry);
}

/* The name of a run's folder begins with the time: 20261121-063012-lenet-1a2b. */
static void begun_text(const struct run_entry *entry, char *text, size_t size)
{
    const char *id = runs_id(entry);
    if (strspn(id, "0123456789") == 8 && id[8] == '-' && strspn(id + 9, "0123456789") == 6)
        snprintf(text, size, "%.2s-%.2s %.2s:%.2s", id + 4, id + 6, id + 9, id + 11);
}

static bool is_started(const struct run_entry *entry)
{
    return (entry->run || entry->outline_known) && entry->snapshot.iterations > 0;
}

static bool has_top1(const struct run_entry *entry)
{
    return entry->snapshot.has_validation && isfinite(entry->snapshot.top1);
}

/* "3/10": epochs done, of; or what a run that has not begun is asked for. */
static void epochs_text(const struct run_entry *entry, char *text, size_t size)
{
    const struct run_snapshot *now = &entry->snapshot;
    if (!is_started(entry) && entry->config.has_iterations)
        return;
    if (!is_started(entry))
        snprintf(text, size, "%zu", entry->config.epochs);
    else if (now->epoch >= now->epochs)
        snprintf(text, size, "%.4g", now->epochs);
    else
        snprintf(text, size, "%.3g/%.4g", now->epoch, now->epochs);
}

static void figure_text(const struct run_entry *entry, enum runs_column column, char *text,
                        size_t size)
{
    const struct run_snapshot *now = &entry->snapshot;
    if (column == RUNS_BATCH)
        snprintf(text, size, entry->config.batch ? "%zu" : "?", entry->config.batch);
    else if (column == RUNS_EPOCHS)
        epochs_text(entry, text, size);
    else if (column == RUNS_LOSS && is_started(entry) && now->iteration > 0)
        snprintf(text, size, "%.4g", (double)now->loss);
    else if (column == RUNS_TOP1 && has_top1(entry))
        snprintf(text, size, "%.2f", now->top1);
    else if (column == RUNS_SPEED && is_started(entry) && now->ms_per_image_median > 0)
        snprintf(text, size, "%.3g", now->ms_per_image_median);
}

bool runs_is_numeric(enum runs_column column)
{
    return columns[column].right && column != RUNS_NUMBER;
}

const char *runs_text(const struct run_entry *entry, enum runs_column column)
{
    switch (column) {
    case RUNS_MARK:
        return entry->marked ? "*" : "";
    case RUNS_STATUS:
        return language_text(run_entry_status(entry));
    case RUNS_NETWORK:
        return file_base_name(entry->config.network);
    case RUNS_TECHNIQUE:
        return technique_name((enum technique)entry->config.technique);
    case RUNS_NAME:
        return entry->name;
    case RUNS_DATA:
        return entry->config.data;
    case RUNS_DEVICE:
        return entry->config.device;
    default:
        return NULL;
    }
}

char *runs_cell(const struct app *app, size_t index, enum runs_column column, char *text,
                size_t size)
{
    const struct run_entry *entry = app_run_at(app, index);
    bool blank =
        run_entry_is_saved(entry) && !entry->outline_known; /* its settings are not known */
    text[0] = '\0';
    if (column == RUNS_BEGUN)
        begun_text(entry, text, size);
    else if (column == RUNS_NUMBER && !run_entry_is_saved(entry))
        snprintf(text, size, "%zu", index + 1);
    else if (blank && column == RUNS_NETWORK)
        snprintf(text, size, "%s", runs_id(entry));
    else if (column == RUNS_DATA && !blank)
        config_short_value("data", entry->config.data, text, size);
    else if (column <= RUNS_STATUS || !blank) {
        const char *words = runs_text(entry, column);
        if (words)
            snprintf(text, size, "%s", words);
        else if (runs_is_numeric(column))
            figure_text(entry, column, text, size);
    }
    return text;
}

double runs_value(const struct run_entry *entry, enum runs_column column)
{
    const struct run_snapshot *now = &entry->snapshot;
    switch (column) {
    case RUNS_BATCH:
        return (double)entry->config.batch;
    case RUNS_EPOCHS:
        return is_started(entry) ? now->epoch : NAN;
    case RUNS_LOSS:
        return is_started(entry) && now->iteration > 0 ? (double)now->loss : NAN;
    case RUNS_TOP1:
        return has_top1(entry) ? now->top1 : NAN;
    default:
        return is_started(entry) && now->ms_per_image_median > 0 ? now->ms_per_image_median : NAN;
    }
}

/* --- searching --- */

static bool word_occurs(const struct app *app, size_t index, const char *word)
{
    char text[512];
    if (strcasestr(runs_id(app_run_at(app, index)), word))
        return true;
    for (enum runs_column column = RUNS_NUMBER; column < RUNS_COLUMNS; column++)
        if (strcasestr(runs_cell(app, index, column, text, sizeof text), word))
            return true;
    return false;
}

bool runs_match(const struct app *app, size_t index)
{
    char words[sizeof app->shared.runs_search.text], *rest = words;
    snprintf(words, sizeof words, "%s", app->shared.runs_search.text);
    for (char *word; (word = strtok_r(rest, " ", &rest));)
        if (!word_occurs(app, index, word))
            return false;
    return true;
}
