/* The dialogs that screens share: how to stop, whether to quit, another learning rate, where to
 * export. */
#include "ui/app.h"

#include "base/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "session/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct dialog *begin(struct app *app, const char *title,
                            void (*answer)(struct app *app, size_t choice))
{
    struct dialog *dialog = &app->dialog;
    *dialog = (struct dialog){.open = true, .answer = answer};
    snprintf(dialog->title, sizeof dialog->title, "%s", title);
    return dialog;
}

static void offer(struct dialog *dialog, int key, int other, const char *label)
{
    dialog->choices[dialog->choice_count++] = (struct dialog_choice){key, other, label};
}

/* The run that commands go to: the one in sight when it is on, else the one that is on. */
static struct run_entry *target(const struct app *app)
{
    struct run_entry *entry = app_entry(app);
    return entry && run_entry_is_on(entry) ? entry : run_list_active(&app->runs);
}

static bool send(struct app *app, enum run_command command, double value)
{
    struct run_entry *entry = target(app);
    if (entry && run_send(entry->run, command, value))
        return true;
    app_say(app, ROLE_WARNING, entry ? "The run is busy; try again." : N_("No run is on."));
    return false;
}

/* --- stop --- */

static void answer_stop(struct app *app, size_t choice)
{
    static const enum run_command commands[] = {COMMAND_STOP_AT_EPOCH, COMMAND_STOP};
    static const char *const words[] = {N_("It stops when this epoch is done, and is saved."),
                                        N_("It stops after this iteration, and is saved.")};
    if (choice < 2 && send(app, commands[choice], 0))
        app_say(app, ROLE_GOOD, "%s", gettext(words[choice]));
}

void ask_stop(struct app *app)
{
    if (!target(app)) {
        app_say(app, ROLE_WARNING, "No run is on: there is nothing to stop.");
        return;
    }
    struct dialog *dialog = begin(app, _("Stop the run?"), answer_stop);
    offer(dialog, 'e', 0, _("after this epoch, and save"));
    offer(dialog, 'n', 's', _("now (after this iteration), and save"));
    offer(dialog, 'c', 'q', _("carry on"));
}

/* --- quit --- */

static void answer_quit(struct app *app, size_t choice)
{
    if (choice == 0)
        app_close(app, COMMAND_STOP);
    else if (choice == 1)
        app_close(app, COMMAND_STOP_AT_EPOCH);
}

void ask_quit(struct app *app)
{
    size_t waiting = run_list_waiting(&app->runs);
    struct dialog *dialog = begin(app, _("Quit?"), answer_quit);
    if (waiting > 0)
        snprintf(dialog->text, sizeof dialog->text,
                 ngettext("A run is on, and %zu more waits; it will not be started.",
                          "A run is on, and %zu more wait; those will not be started.", waiting),
                 waiting);
    else
        snprintf(dialog->text, sizeof dialog->text, _("A run is on."));
    offer(dialog, 'y', 's', _("stop it now, save, and quit"));
    offer(dialog, 'e', 0, _("finish this epoch, save, and quit"));
    offer(dialog, 'c', 'n', _("carry on"));
}

/* --- learning rate --- */

static void answer_rate(struct app *app, size_t choice)
{
    double rate;
    (void)choice;
    if (!text_to_double(app->dialog.edit.text, &rate) || rate < 0) {
        snprintf(app->dialog.note, sizeof app->dialog.note,
                 _("This is not a learning rate: give a number such as 0.01."));
        app->dialog.open = true;
    } else if (send(app, COMMAND_LEARNING_RATE, rate))
        app_say(app, ROLE_GOOD, "The learning rate is %g from the next iteration on.", rate);
}

static void set_rate(struct dialog *dialog, double rate)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", rate);
    line_edit_begin(&dialog->edit, text, 32, true);
    dialog->note[0] = '\0';
}

static bool rate_key(struct app *app, int key)
{
    double rate;
    if ((key != UI_UP && key != UI_DOWN && key != '+') ||
        !text_to_double(app->dialog.edit.text, &rate))
        return false;
    set_rate(&app->dialog, key == UI_DOWN ? rate / 2 : rate * 2);
    return true;
}

static void forget_note(struct app *app)
{
    app->dialog.note[0] = '\0';
}

void ask_rate(struct app *app, double factor)
{
    const struct run_entry *entry = target(app);
    if (!entry) {
        app_say(app, ROLE_WARNING, "No run is on: set the learning rate in the form.");
        return;
    }
    struct dialog *dialog = begin(app, _("Learning rate"), answer_rate);
    snprintf(
        dialog->text, sizeof dialog->text,
        _("It is %g now. The schedule goes on from the new rate. Up and down double and halve it."),
        entry->snapshot.learning_rate);
    dialog->edit_key = rate_key;
    dialog->edited = forget_note;
    set_rate(dialog, entry->snapshot.learning_rate * factor);
}

/* --- export --- */

static void note_export(struct app *app)
{
    struct dialog *dialog = &app->dialog;
    dialog->note[0] = '\0';
    if (file_is_directory(dialog->edit.text))
        snprintf(dialog->note, sizeof dialog->note, _("This is a folder: add a file name."));
    else if (file_exists(dialog->edit.text))
        snprintf(dialog->note, sizeof dialog->note, _("This file exists: Enter replaces it."));
}

static void answer_export(struct app *app, size_t choice)
{
    struct error error = {0};
    char path[sizeof app->dialog.edit.text];
    (void)choice;
    memcpy(path, app->dialog.edit.text, sizeof path);
    struct run **runs = memory_new(app->runs.count, sizeof *runs, "an export", &error);
    size_t count = runs ? run_list_started(&app->runs, runs) : 0;
    if (runs && export_session(runs, count, path, &error))
        app_say(app, ROLE_GOOD, ngettext("Wrote %s: %zu run.", "Wrote %s: %zu runs.", count), path,
                count);
    else {
        app->dialog.open = true; /* so that the name can be mended */
        snprintf(app->dialog.note, sizeof app->dialog.note, "%.120s: %.70s", error.why,
                 error.advice);
        app_say_error(app, &error);
    }
    free(runs);
}

void ask_export(struct app *app)
{
    char name[64];
    time_t now = time(NULL);
    struct tm date;
    size_t started = 0;
    for (size_t i = 0; i < app->runs.count; i++)
        started += app->runs.entries[i].run != NULL;
    if (started == 0) {
        app_say(app, ROLE_WARNING, "There is no run to export yet: r starts one.");
        return;
    }
    strftime(name, sizeof name, "tinca-%Y%m%d-%H%M%S.json", localtime_r(&now, &date));
    struct dialog *dialog = begin(app, _("Export the session"), answer_export);
    snprintf(dialog->text, sizeof dialog->text,
             ngettext("One JSON file of the %zu run of this session that has begun.",
                      "One JSON file of the %zu runs of this session that have begun.", started),
             started);
    line_edit_begin(&dialog->edit, app->options->export_path ? app->options->export_path : name,
                    sizeof dialog->edit.text, true);
    dialog->edited = note_export;
    note_export(app);
}

/* --- a comparison --- */

/* The format that a file's ending stands for. */
static bool format_of(const char *path, enum compare_format *format)
{
    static const struct {
        const char *ending;
        enum compare_format format;
    } endings[] = {{".md", COMPARE_MARKDOWN}, {".csv", COMPARE_CSV}, {".json", COMPARE_JSON}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i].ending) == 0) {
            *format = endings[i].format;
            return true;
        }
    return false;
}

static void note_compare(struct app *app)
{
    enum compare_format format;
    note_export(app);
    if (!app->dialog.note[0] && !format_of(app->dialog.edit.text, &format))
        snprintf(app->dialog.note, sizeof app->dialog.note,
                 _("Let the name end in .md, .csv or .json."));
}

static bool write_comparison(const struct app *app, const char *path, enum compare_format format,
                             struct error *error)
{
    struct text text = {0};
    compare_write(&app->compare.table, format, &text);
    bool written = text.failed || !text.data
                       ? error_set_memory(error, "the comparison", 0)
                       : file_write(path, text.data, strlen(text.data), false, error);
    text_free(&text);
    return written;
}

static void answer_compare(struct app *app, size_t choice)
{
    struct error error;
    enum compare_format format;
    char path[sizeof app->dialog.edit.text];
    (void)choice;
    memcpy(path, app->dialog.edit.text, sizeof path);
    if (!format_of(path, &format)) {
        app->dialog.open = true; /* the note says why */
    } else if (write_comparison(app, path, format, &error)) {
        app_say(app, ROLE_GOOD,
                ngettext("Wrote %s: %zu row.", "Wrote %s: %zu rows.", app->compare.table.count),
                path, app->compare.table.count);
    } else {
        app->dialog.open = true;
        snprintf(app->dialog.note, sizeof app->dialog.note, "%.120s: %.70s", error.why,
                 error.advice);
        app_say_error(app, &error);
    }
}

void ask_compare_export(struct app *app)
{
    char name[64];
    time_t now = time(NULL);
    struct tm date;
    strftime(name, sizeof name, "comparison-%Y%m%d-%H%M%S.md", localtime_r(&now, &date));
    struct dialog *dialog = begin(app, _("Export the comparison"), answer_compare);
    snprintf(dialog->text, sizeof dialog->text,
             _("The table as Markdown (.md), CSV (.csv) or JSON (.json), by the name's ending."));
    line_edit_begin(&dialog->edit, name, sizeof dialog->edit.text, false);
    dialog->edited = note_compare;
    note_compare(app);
}
