/* Finds the weights that the screen Try it offers: the best and the last ones of each run, with a
 * note about their accuracy. */
#include "ui/screens/try/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/config_data.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const marks[RUN_SAVED_KINDS] = {
    [RUN_SAVED_BEST] = N_("best"), [RUN_SAVED_LAST] = N_("last")};

static const char *directory_of(const struct run_entry *entry)
{
    return run_entry_is_saved(entry) ? entry->directory
           : entry->run              ? run_facts(entry->run)->directory
                                     : "";
}

/* Writes a note such as "best top-1 97.31 %, lenet on digits". */
static void write_note(const struct run_entry *entry, size_t kind, char *text, size_t size)
{
    const struct run_figures figures = run_figures_of(&entry->snapshot, NULL);
    const bool best = kind == RUN_SAVED_BEST;
    const char *network = run_entry_network(entry);
    char data[640];
    config_short_value(KEY(data), data_settings(&entry->config).data, data, sizeof data);
    if (isfinite(figures.top1))
        snprintf(text, size,
                 best ? _("best top-1 %.2f %%, %.60s on %.60s")
                      : _("top-1 %.2f %%, %.60s on %.60s"),
                 best ? figures.best_top1 : figures.top1, network, data);
    else
        snprintf(text, size, _("%.60s on %.60s"), network, data);
}

static bool make_source(const struct run_entry *entry, size_t kind, struct try_source *source)
{
    const char *directory = directory_of(entry);
    const struct run_config *config = &entry->config;
    if (!directory[0] || entry->refused || !entry->models[kind])
        return false;
    *source = (struct try_source){.tolerance = (double)measurement_settings(config).tolerance};
    snprintf(source->path, sizeof source->path, "%.511s/%s", directory, run_saved_files[kind]);
    snprintf(source->name, sizeof source->name, "%.80s %s", file_base_name(directory),
             gettext(marks[kind]));
    char spec[CONFIG_SPEC];
    snprintf(source->data, sizeof source->data, "%s", config_measured_spec(config, spec));
    write_note(entry, kind, source->note, sizeof source->note);
    return true;
}

bool try_source_of_run(const struct run_entry *entry, struct try_source *source)
{
    for (size_t kind = 0; kind < RUN_SAVED_KINDS; kind++)
        if (make_source(entry, kind, source))
            return true;
    return false;
}

void try_source_of_file(const char *path, struct try_source *source)
{
    struct run_config defaults;
    config_defaults(&defaults);
    *source = (struct try_source){.tolerance = (double)measurement_settings(&defaults).tolerance};
    snprintf(source->path, sizeof source->path, "%s", path);
    snprintf(source->name, sizeof source->name, "%.95s", file_base_name(path));
}

bool try_sources_find(struct app *app, struct error *error)
{
    struct try_model *model = try_model(app);
    if (!model->sources)
        model->sources =
            memory_new(TRY_SOURCES, sizeof *model->sources, "the list of weights", error);
    model->source_count = 0;
    if (!model->sources)
        return false;
    /* the newest first; this session's list begins with its oldest run */
    for (size_t n = 0; n < app_run_count(app) && model->source_count < TRY_SOURCES; n++) {
        const size_t index = n < app->shared.runs.count ? app->shared.runs.count - 1 - n : n;
        const struct run_entry *entry = app_run_at(app, index);
        for (size_t kind = 0; kind < RUN_SAVED_KINDS; kind++)
            if (model->source_count < TRY_SOURCES &&
                make_source(entry, kind, &model->sources[model->source_count]))
                model->source_count++;
    }
    return true;
}
