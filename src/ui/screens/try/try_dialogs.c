/* The dialogs of the screen Try it. After an invalid answer a dialog stays open, with a note that
 * says what is wrong. */
#include "ui/screens/try/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/formats/image_file.h"
#include "ui/app/app.h"
#include "ui/shared/completion_sources.h"

#include <stdio.h>
#include <string.h>

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
