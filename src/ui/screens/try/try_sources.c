/* Finds the weights that the screen Try it offers: the best and the last ones of each run, with a
 * note about their accuracy. */
#include "ui/screens/try/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/formats/image_file.h"
#include "runs/settings/config_data.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/shared/completion_sources.h"

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

/* --- dialogs ---
 *
 * The dialogs of the screen Try it. After an invalid answer a dialog stays open, with a note that
 * says what is wrong. */

/* Opens a dialog with a line, which `source` (NULL: none) completes while the user types. */
static struct dialog *ask(struct app *app, const char *title, const char *text,
                          const char *proposal, void (*answer)(struct app *app, size_t choice),
                          completion_source *source)
{
    struct dialog *dialog = dialog_begin(app, title, answer);
    snprintf(dialog->text, sizeof dialog->text, "%s", text);
    dialog_begin_line(dialog, proposal, true, source, NULL);
    dialog->follows = true;
    return dialog;
}

/* Opens the dialog again with a note, so that the user can correct the line. */
static void reject_answer(struct app *app, const char *note)
{
    app->dialog.open = true;
    snprintf(app->dialog.note, sizeof app->dialog.note, "%s", note);
}

static void clear_note(struct app *app)
{
    app->dialog.note[0] = '\0';
}

/* A thread looks whether a file is a picture. */
struct probe {
    char path[512];
    bool good;
    struct error error;
};

static void answer_file(struct app *app, size_t choice);

static void probe_file(void *state)
{
    struct probe *probe = state;
    struct image image;
    probe->good = image_file_probe(&image, probe->path, &probe->error);
}

/* Shows the picture, or what is wrong with the file; does nothing if the dialog was left. */
static void take_probe(struct app *app, void *state)
{
    const struct probe *probe = state;
    if (!app->dialog.open || app->dialog.answer != answer_file ||
        strcmp(app->dialog.edit.text, probe->path) != 0)
        return;
    if (!probe->good) {
        snprintf(app->dialog.note, sizeof app->dialog.note, "%.180s", probe->error.why);
        return;
    }
    app->dialog.open = false;
    try_model(app)->kind = TRY_IMAGE;
    try_model_show_file(try_model(app), probe->path);
}

/* The dialog stays open until the file is known to be a picture. */
static void answer_file(struct app *app, size_t choice)
{
    struct error error;
    struct probe *probe = memory_new(1, sizeof *probe, "a question", &error);
    (void)choice;
    if (!probe) {
        app_say_error(app, &error);
        return;
    }
    snprintf(probe->path, sizeof probe->path, "%s", app->dialog.edit.text);
    reject_answer(app, _("The file is being read ..."));
    app_start_disk_job(app, probe_file, take_probe, probe);
}

void try_ask_file(struct app *app)
{
    ask(app, _("An image file"), _("A PNG or JPEG picture; Tab completes the name."),
        try_model(app)->path, answer_file, completion_of_paths)
        ->edited = clear_note;
}

static void answer_data(struct app *app, size_t choice)
{
    struct try_model *model = try_model(app);
    (void)choice;
    snprintf(model->request.data, sizeof model->request.data, "%.511s", app->dialog.edit.text);
    model->image = model->row = model->column = 0;
    model->walk = WALK_ALL;
    model->path[0] = '\0';
    try_model_reopen(model);
}

void try_ask_data(struct app *app)
{
    ask(app, _("A data set"),
        _("Its test images are walked through: digits, cifar10:DIR, folder:DIR, ... Tab completes "
          "a folder's name; empty: none."),
        try_model(app)->request.data, answer_data, completion_of_data);
}

static void answer_threads(struct app *app, size_t choice)
{
    size_t threads;
    (void)choice;
    if (!text_to_size(app->dialog.edit.text, &threads) || threads > 1024) {
        reject_answer(app, _("Give a number from 0 (all cores) to 1024."));
        return;
    }
    try_model(app)->request.threads = threads;
    try_model_reopen(try_model(app));
}

void try_ask_threads(struct app *app)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", try_model(app)->request.threads);
    ask(app, _("Threads"),
        _("How many threads may compute; 0: one per core. With one thread less than there are "
          "cores, a run in progress keeps its speed."),
        text, answer_threads, NULL)
        ->edited = clear_note;
}

static void answer_go(struct app *app, size_t choice)
{
    struct try_model *model = try_model(app);
    char note[200];
    size_t number;
    (void)choice;
    if (text_to_size(app->dialog.edit.text, &number) && number > 0 &&
        number <= model->status.images) {
        model->walk = WALK_ALL;
        model->kind = TRY_IMAGE;
        try_model_show(model, number - 1);
        return;
    }
    snprintf(note, sizeof note, _("Give a number from 1 to %zu."), model->status.images);
    reject_answer(app, note);
}

void try_ask_go(struct app *app)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", try_model(app)->image + 1);
    ask(app, _("Go to an image"), _("Its number in the data set."), text, answer_go, NULL)->edited =
        clear_note;
}
