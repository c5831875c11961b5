/* The loop: read the table, measure what is not measured, ask for advice, apply the technique,
 * measure its result. A technique that fails is not tried again in this call. */
#include "studies/models/means_apply.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "runs/folder/run_directory.h"
#include "training/compress/technique.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
    struct means_apply *apply;
    struct model_table *table;
    struct means_advice *advice;
    uint64_t begun;
    char written[1024]; /* the path of the best result that was copied */
};

__attribute__((format(printf, 2, 3))) static void report(const struct work *work,
                                                         const char *format, ...)
{
    char line[600];
    va_list arguments;
    if (!work->apply->report)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, gettext(format), arguments);
    va_end(arguments);
    work->apply->report(work->apply->context, line);
}

static double seconds_left(const struct work *work)
{
    return work->apply->seconds > 0
               ? work->apply->seconds - clock_seconds(work->begun, clock_nanoseconds())
               : (double)INFINITY;
}

static bool has_to_stop(void *context)
{
    const struct work *work = context;
    return (work->apply->stop && work->apply->stop(work->apply->context)) ||
           seconds_left(work) <= 0;
}

static bool refuse_to_go_on(const struct work *work, struct error *error)
{
    return error_set(error, ERROR_INTERRUPTED, work->advice->network,
                     "repeat the command to go on from what there is",
                     seconds_left(work) <= 0 ? "the time budget has ended" : "it was stopped");
}

static bool poll(void *context, uint64_t done, uint64_t of, struct error *error)
{
    (void)done;
    (void)of;
    return !has_to_stop(context) || refuse_to_go_on(context, error);
}

static bool watch_step(void *context, const char *text, struct error *error)
{
    (void)text; /* the report names the technique */
    return poll(context, 0, 0, error);
}

/* --- one technique --- */

/* Returns the path for the result of the advised step, owned by the caller, or NULL with an error.
 */
static char *path_for(const struct work *work, struct error *error)
{
    char file[MEANS_FILE_NAME];
    char *folder = run_directory_beside("models", error);
    means_file_name(work->table, work->advice->row, work->advice->reference, work->advice->step,
                    &work->apply->settings, file);
    char *path = folder && file_make_directories(folder, error) ? file_join(folder, file) : NULL;
    free(folder);
    return path;
}

static bool set_count(struct run_config *config, const char *key, size_t value, struct error *error)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", value);
    return config_set(config, key, text, error);
}

/* Makes the settings of the technique: the data, and as many epochs as a fine-tuning has. */
static bool make_settings(const struct work *work, struct run_config *config, struct error *error)
{
    const struct model_table *table = work->table;
    const struct means_settings *settings = &work->apply->settings;
    const size_t row = work->advice->row;
    const char *data = means_training_data(table, row, work->advice->reference, settings);
    if (!data && technique_step_needs_data(work->advice->step))
        return error_set(error, ERROR_USAGE, OPTION(data), "give --data SPEC",
                         "it is not known which data the network was trained on");
    config_defaults(config);
    return (!data || config_set(config, KEY(data), data, error)) &&
           (!data || settings->epochs == 0 ||
            set_count(config, KEY(epochs), settings->epochs, error)) &&
           (!table->rows[row].data[0] ||
            config_set(config, KEY(validate), table->rows[row].data, error)) &&
           config_set(config, KEY(device), table->device, error) &&
           set_count(config, KEY(threads), table->threads, error) &&
           set_count(config, KEY(seed), settings->seed, error);
}

/* Applies the technique and measures the result. */
static bool apply_step(struct work *work, const struct run_config *settings, const char *output,
                       struct error *error)
{
    const struct model_row *row = &work->table->rows[work->advice->row];
    const struct technique_target target = {
        .input = row->path, .output = output, .settings = settings};
    const struct technique_watch watch = {.context = work, .step = watch_step};
    if (!technique_apply(work->advice->step, &target, &watch, error))
        return false;
    struct model_figures figures;
    const struct model_measure_request request = {.data = row->data,
                                                  .device = work->table->device,
                                                  .threads = work->table->threads,
                                                  .progress = poll,
                                                  .context = work};
    if (!model_figures_read(&figures, NULL, output, error))
        return false;
    const bool measured = model_measure_file(output, &request, &figures, error);
    model_figures_free(&figures);
    return measured;
}

static void exclude(struct means_request *request, const char *name, const char *parent)
{
    if (request->excluded_count == MEANS_EXCLUDED)
        return;
    struct means_exclusion *excluded = &request->excluded[request->excluded_count++];
    snprintf(excluded->name, sizeof excluded->name, "%s", name);
    snprintf(excluded->parent, sizeof excluded->parent, "%s", parent);
}

/* Tries the advised technique. Returns false with an error only if it was stopped or nothing can be
 * tried. */
static bool try_step(struct work *work, struct error *error)
{
    struct error failure;
    struct run_config settings;
    char text[400];
    const struct model_row *row = &work->table->rows[work->advice->row];
    char *output = make_settings(work, &settings, error) ? path_for(work, error) : NULL;
    if (!output)
        return false;
    report(work, N_("%s: applying %s"), row->figures.facts.name, work->advice->step);
    const bool applied = apply_step(work, &settings, output, &failure);
    free(output);
    /* a name that the technique gives otherwise than expected is not tried again either */
    exclude(&work->apply->request, work->advice->name, row->figures.facts.checksum);
    if (applied)
        return true;
    if (has_to_stop(work))
        return refuse_to_go_on(work, error);
    report(work, N_("%s failed: %s"), work->advice->step,
           error_format(&failure, text, sizeof text));
    return true;
}

/* --- the loop --- */

/* Measures the rows of the network that are not measured. */
static bool measure_rows(struct work *work, struct error *error)
{
    for (size_t i = 0; i < work->table->count; i++) {
        const struct model_row *row = &work->table->rows[i];
        if (strcmp(row->base, work->advice->network) != 0 || !row->data[0] ||
            model_table_is_measured(work->table, i))
            continue;
        report(work, N_("%s: measuring"), row->figures.facts.name);
        if (!model_table_measure(work->table, i, 0, poll, work, error))
            return false;
    }
    model_table_complete(work->table);
    return true;
}

/* Copies the best result so far, if it is another one than before. */
static bool keep_best(struct work *work, struct error *error)
{
    const struct model_row *best = &work->table->rows[work->advice->best];
    if (!work->apply->output || strcmp(best->path, work->written) == 0)
        return true;
    if (!output_file_copy(work->apply->output, best->path, error))
        return false;
    snprintf(work->written, sizeof work->written, "%s", best->path);
    report(work, N_("The best so far, %s, is in %s."), best->figures.facts.name,
           work->apply->output);
    return true;
}

/* Reads the table and asks for advice; measures what the advice lacks. */
static bool advise(struct work *work, struct error *error)
{
    const struct means_apply *apply = work->apply;
    model_table_free(work->table);
    if (!model_table_read(work->table, apply->models, error) ||
        !means_advise(work->table, &apply->request, work->advice, error))
        return false;
    if (work->advice->verdict == MEANS_MEASURE &&
        (!measure_rows(work, error) ||
         !means_advise(work->table, &apply->request, work->advice, error)))
        return false;
    return keep_best(work, error);
}

bool means_apply(struct means_apply *apply, struct model_table *table, struct means_advice *advice,
                 struct error *error)
{
    struct work work = {
        .apply = apply, .table = table, .advice = advice, .begun = clock_nanoseconds()};
    apply->request.settings = &apply->settings;
    *table = (struct model_table){0};
    *advice = (struct means_advice){.row = MODEL_NO_ROW};
    for (size_t done = 0; advise(&work, error); done++) {
        if (advice->verdict != MEANS_TRY || (apply->seconds == 0 && done > 0))
            return true;
        if (has_to_stop(&work))
            return refuse_to_go_on(&work, error);
        if (!try_step(&work, error))
            return false;
    }
    return false;
}
