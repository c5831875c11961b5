/* The columns of a comparison and the text of their cells. */
#include "studies/compare/compare_figures.h"

#include "base/character.h"
#include "base/escape/shell.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/settings/train_command.h"
#include "studies/compare/compare.h"
#include "studies/compare/compare_significance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MB = 1000000, NAMED_ROWS = 6 };

static const char unknown[] = N_("not measured"), nothing[] = "-";
static const char stale[] = N_("stale, run tinca measure again");

/* --- columns --- */

size_t compare_columns(const struct comparison *comparison)
{
    return 1 + comparison->column_count;
}

bool compare_column_figure(const struct comparison *comparison, size_t column,
                           struct compare_figure *figure)
{
    if (column == 0 || column > comparison->column_count)
        return false;
    *figure = comparison->columns[column - 1];
    return true;
}

bool compare_column_is_text(const struct comparison *comparison, size_t column)
{
    struct compare_figure figure;
    return compare_column_figure(comparison, column, &figure) &&
           (compare_figure_is_text(&figure) || figure.kind == FIGURE_TIME ||
            figure.kind == FIGURE_ENERGY);
}

bool compare_device_is_published(const struct comparison *comparison, size_t device)
{
    return device + comparison->published_devices >= comparison->device_count;
}

char *compare_heading(const struct comparison *comparison, size_t column, char *text, size_t size)
{
    struct compare_figure figure;
    if (!compare_column_figure(comparison, column, &figure))
        snprintf(text, size, "#");
    else if (figure.kind == FIGURE_SETTING)
        snprintf(text, size, "%s", figure.field->key);
    else if (figure.kind == FIGURE_ENERGY)
        snprintf(text, size, _("J/image %s"), comparison->devices[figure.device]);
    else if (figure.kind == FIGURE_TIME)
        snprintf(text, size,
                 compare_device_is_published(comparison, figure.device) ? _("ms %s (published)")
                                                                        : "ms %s",
                 comparison->devices[figure.device]);
    else
        snprintf(text, size, "%s", gettext(figure_rows[figure.kind].heading));
    return character_replace_hidden(text);
}

/* --- cells --- */

/* Writes why a row has no time on a device. */
static void write_missing(const struct comparison *comparison, size_t row, size_t device,
                          char *text, size_t size)
{
    const bool other =
        !comparison->rows[row].run || compare_device_is_published(comparison, device);
    const bool old = compare_is_stale(comparison, row, device);
    snprintf(text, size, "%s", gettext(old ? stale : other ? nothing : unknown));
}

static void write_energy(const struct comparison *comparison, size_t row, size_t device, char *text,
                         size_t size)
{
    const double joules = compare_joules(comparison, row, device);
    if (isfinite(joules))
        snprintf(text, size, "%.4g", joules);
    else if (compare_time(comparison, row, device))
        snprintf(text, size, "%s", comparison->rows[row].run ? _("not known") : nothing);
    else
        write_missing(comparison, row, device, text, size);
}

/* Writes " ~2,5": the rows whose times no test shows to differ from this one, or the first of them
 * and how many more there are. */
static void write_alike(const struct comparison *comparison, size_t row, size_t device, char *text,
                        size_t size)
{
    size_t alike = 0, used = 0;
    text[0] = '\0';
    for (size_t i = 0; comparison->turns && i < comparison->count; i++) {
        if (compare_rows(comparison, device, row, i) != COMPARE_INDISTINGUISHABLE)
            continue;
        if (alike++ < NAMED_ROWS && used < size)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%zu", used == 0 ? " ~" : ",", i + 1);
    }
    if (alike > NAMED_ROWS && used < size)
        snprintf(text + used, size - used,
                 ngettext(" and %zu more", " and %zu more", alike - NAMED_ROWS),
                 alike - NAMED_ROWS);
}

/* Writes "2.31 +- 0.04 int8 ~2,5": mean and interval in ms, the precision unless it is float32, and
 * the rows that are not shown to differ from this one. */
static void write_time(const struct comparison *comparison, size_t row, size_t device, char *text,
                       size_t size)
{
    const struct measurement *time = compare_time(comparison, row, device);
    bool published = !comparison->rows[row].run;
    if (!time) {
        write_missing(comparison, row, device, text, size);
        return;
    }
    if (published) {
        snprintf(text, size, "%.2f", time->ms_per_image.mean);
        return;
    }
    const struct statistics *ms = &time->ms_per_image;
    const char *precision = compare_precision(time);
    const bool usual = strcmp(precision, device_precision_names[PRECISION_FLOAT32]) == 0;
    const size_t used = (size_t)snprintf(text, size, "%s%s%s", STATISTICS_MEAN(ms->mean, ms->ci95),
                                         usual ? "" : " ", usual ? "" : precision);
    write_alike(comparison, row, device, text + used, size - used);
}

/* Writes "5.2 MiB / 1.1 MiB": the forecast for training, and the memory of inference if it was
 * measured. */
static void write_memory(const struct compare_row *row, char *text, size_t size)
{
    char training[32], inference[32] = "";
    uint64_t measured = 0;
    for (size_t i = 0; i < row->ms.count && measured == 0; i++)
        measured = row->ms.entries[i].stale ? 0 : row->ms.entries[i].memory_bytes;
    if (measured > 0)
        text_bytes(measured, inference, sizeof inference);
    const double forecast = row->figures.training_memory_bytes;
    if (forecast > 0)
        snprintf(text, size, "%s%s%s", text_bytes((uint64_t)forecast, training, sizeof training),
                 measured ? " / " : "", inference);
}

/* Writes the value, or why it is missing. */
static void write_number(const struct compare_row *row, const char *format, double value,
                         char *text, size_t size)
{
    bool classes = !row->run || run_facts(row->run)->classes > 0;
    if (isfinite(value))
        snprintf(text, size, format, value);
    else
        snprintf(text, size, "%s", gettext(row->run && classes ? unknown : nothing));
}

/* Writes a loss, of which NaN is a result, too, that of a run that diverged: if it was `computed`
 * at all, since logs of other programs may have none. Leaves the text as it is otherwise. */
static void write_loss(const struct compare_row *row, double loss, bool computed, char *text,
                       size_t size)
{
    if (!isnan(loss) || (computed && row->run && !run_facts(row->run)->imported[0]))
        text_number(loss, 4, text, size);
}

/* Appends " +- 0.4", the interval of the mean, to the mean of a group of seeds; one seed has none.
 */
static void append_spread(const struct compare_row *row, enum figure kind, char *text, size_t size)
{
    const size_t length = strlen(text);
    if (row->seeds.runs > 0 && row->seeds.counts[kind] > 1)
        snprintf(text + length, size - length, " +- %s",
                 TEXT_NUMBER(row->seeds.figures[kind].ci95, 2));
}

/* Writes "resnet20-dsc (3 seeds)". */
static void write_network(const struct compare_row *row, char *text, size_t size)
{
    if (row->seeds.runs > 0)
        snprintf(text, size, ngettext("%s (%zu seed)", "%s (%zu seeds)", row->seeds.runs),
                 row->network, row->seeds.runs);
    else if (row->given[0])
        snprintf(text, size, "%s (%s)", row->network, row->given);
    else
        snprintf(text, size, row->run ? "%s" : _("%s (published)"), row->network);
}

static void write_figure(const struct compare_row *row, enum figure kind, char *text, size_t size)
{
    const struct run_figures *figures = &row->figures;
    const double value = figure_of(figures, kind);
    snprintf(text, size, "%s", gettext(row->run ? unknown : nothing));
    if (kind == FIGURE_NETWORK)
        write_network(row, text, size);
    else if (kind == FIGURE_MEMORY)
        write_memory(row, text, size);
    else if (figure_rows[kind].unit == FIGURE_PERCENT)
        write_number(row, "%.2f", value, text, size);
    else if (figure_rows[kind].unit == FIGURE_OF_LOSS)
        write_loss(row, value,
                   kind == FIGURE_LOSS              ? figures->has_loss
                   : kind == FIGURE_VALIDATION_LOSS ? figures->has_validation
                                                    : false,
                   text, size);
    else if (kind == FIGURE_EFFICIENCY)
        write_number(row, "%.4f", value * 1e3, text, size);
    else if (kind == FIGURE_PARAMETERS && value > 0)
        text_count((uint64_t)value, text, size);
    else if (kind == FIGURE_FLOPS && value > 0)
        text_si(value, text, size);
    else if (kind == FIGURE_SIZE && value > 0)
        snprintf(text, size, "%.3f", value / MB);
}

/* Writes a setting; "none" if it is empty, unless the log of another program left it out. */
static void write_setting(const struct comparison *comparison, size_t row,
                          const struct compare_figure *figure, char *text, size_t size)
{
    const struct run *run = comparison->rows[row].run;
    const bool is_run =
        run && comparison->rows[row].seeds.runs == 0 && !run_facts(run)->imported[0];
    compare_figure_text(comparison, row, figure, text, size);
    if (!text[0])
        snprintf(text, size, "%s", is_run ? _("none") : nothing);
}

char *compare_cell(const struct comparison *comparison, size_t row, size_t column, char *text,
                   size_t size)
{
    struct compare_figure figure;
    if (!compare_column_figure(comparison, column, &figure))
        snprintf(text, size, "%zu", row + 1);
    else if (figure.kind == FIGURE_SETTING)
        write_setting(comparison, row, &figure, text, size);
    else if (figure.kind == FIGURE_ENERGY)
        write_energy(comparison, row, figure.device, text, size);
    else if (figure.kind == FIGURE_TIME)
        write_time(comparison, row, figure.device, text, size);
    else {
        write_figure(&comparison->rows[row], figure.kind, text, size);
        append_spread(&comparison->rows[row], figure.kind, text, size);
    }
    return character_replace_hidden(text);
}

/* --- what is missing --- */

/* Finds the times that a table lacks, and writes the commands that measure them. */

size_t compare_threads(const struct comparison *comparison, const char *device)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        const struct measurement *time = row->run ? measurements_find(&row->ms, device) : NULL;
        if (time)
            return time->on.threads;
    }
    return 0;
}

void compare_measure_command(const struct comparison *comparison, size_t number, const char *device,
                             char *command, size_t size)
{
    const struct compare_row *row = &comparison->rows[number];
    struct text text = {0};
    size_t threads = compare_threads(comparison, device);
    if (row->figures.model_bytes > 0) {
        text_append(&text, "tinca measure ");
        shell_word_append(&text, row->seeds.runs > 0 ? run_facts(row->run)->id : row->name);
        text_append(&text, " --device ");
        shell_word_append(&text, device);
        if (threads > 0)
            text_append(&text, " --threads %zu", threads);
    } else {
        train_command_append(&text, run_config(row->run), NULL, NULL);
    }
    /* a truncated command would do something else */
    snprintf(command, size, "%s", text.data && text.length < size ? text.data : "");
    text_free(&text);
}

bool compare_missing(const struct comparison *comparison, size_t number, size_t device,
                     struct compare_missing *missing)
{
    const struct compare_row *row = &comparison->rows[number];
    const char *name = comparison->devices[device];
    bool measurable = device < comparison->device_count - comparison->published_devices;
    if (!row->run || run_facts(row->run)->imported[0] || !measurable)
        return false;
    const struct measurement *time = compare_time(comparison, number, device);
    bool accuracy = isnan(row->figures.top1) && run_facts(row->run)->classes > 0;
    if (time && !(time->in_turns && accuracy))
        return false;
    *missing = (struct compare_missing){.row = number,
                                        .stale = compare_is_stale(comparison, number, device)};
    if (time)
        snprintf(missing->what, sizeof missing->what, "%s", _("accuracy"));
    else if (!(row->figures.model_bytes > 0))
        snprintf(missing->what, sizeof missing->what,
                 _("model size and ms on %s (no weights are saved)"), name);
    else
        snprintf(missing->what, sizeof missing->what,
                 accuracy ? _("accuracy and ms on %s") : _("ms on %s"), name);
    compare_measure_command(comparison, number, name, missing->command, sizeof missing->command);
    return true;
}
