/* The dialogs that screens share: how to stop, whether to quit, another learning rate, where a
 * comparison goes. */
#include "ui/app/app.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct dialog *dialog_begin(struct app *app, const char *title,
                            void (*answer)(struct app *app, size_t choice))
{
    struct dialog *dialog = &app->dialog;
    *dialog = (struct dialog){.open = true, .answer = answer};
    snprintf(dialog->title, sizeof dialog->title, "%s", title);
    return dialog;
}

void dialog_offer(struct dialog *dialog, int key, int other, const char *label)
{
    dialog->choices[dialog->choice_count++] = (struct dialog_choice){key, other, label};
}

/* The run that commands go to: the one in sight when it is on, else the one that is on. */
static struct run_entry *target(const struct app *app)
{
    struct run_entry *entry = app_entry(app);
    return entry && run_entry_is_active(entry) ? entry : run_list_active(&app->runs);
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
    struct dialog *dialog = dialog_begin(app, _("Stop the run?"), answer_stop);
    dialog_offer(dialog, 'e', 0, _("after this epoch, and save"));
    dialog_offer(dialog, 'n', 's', _("now (after this iteration), and save"));
    dialog_offer(dialog, 'c', 'q', _("carry on"));
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
    size_t waiting = run_list_waiting(&app->runs), due = sweep_view_due(&app->sweep);
    struct dialog *dialog = dialog_begin(app, _("Quit?"), answer_quit);
    if (app->sweep.on)
        snprintf(
            dialog->text, sizeof dialog->text,
            ngettext("A sweep is on, and %zu of its cells waits; opened again it goes on there.",
                     "A sweep is on, and %zu of its cells wait; opened again it goes on there.",
                     due),
            due);
    else if (waiting > 0)
        snprintf(dialog->text, sizeof dialog->text,
                 ngettext("A run is on, and %zu more waits; it will not be started.",
                          "A run is on, and %zu more wait; those will not be started.", waiting),
                 waiting);
    else
        snprintf(dialog->text, sizeof dialog->text, _("A run is on."));
    dialog_offer(dialog, 'y', 's', _("stop it now, save, and quit"));
    dialog_offer(dialog, 'e', 0, _("finish this epoch, save, and quit"));
    dialog_offer(dialog, 'c', 'n', _("carry on"));
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
    struct dialog *dialog = dialog_begin(app, _("Learning rate"), answer_rate);
    snprintf(
        dialog->text, sizeof dialog->text,
        _("It is %g now. The schedule goes on from the new rate. Up and down double and halve it."),
        entry->snapshot.learning_rate);
    dialog->edit_key = rate_key;
    dialog->edited = forget_note;
    set_rate(dialog, entry->snapshot.learning_rate * factor);
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
    dialog_note_path(&app->dialog);
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
                       : output_file_write(path, text.data, text.length, OUTPUT_TEXT, error);
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
    } else if (!dialog_may_write(&app->dialog, file_exists(path))) {
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

static const char *proposed_ending(const struct app *app)
{
    const char *format = app->preferences.export_format;
    return strcmp(format, "csv") == 0 ? "csv" : strcmp(format, "json") == 0 ? "json" : "md";
}

void ask_compare_export(struct app *app)
{
    char date_text[32], name[64], path[sizeof app->dialog.edit.text];
    time_t now = time(NULL);
    struct tm date;
    strftime(date_text, sizeof date_text, "%Y%m%d-%H%M%S", localtime_r(&now, &date));
    snprintf(name, sizeof name, "comparison-%s.%s", date_text, proposed_ending(app));
    export_in_folder(app, name, path, sizeof path);
    struct dialog *dialog = dialog_begin(app, _("Export the comparison"), answer_compare);
    snprintf(dialog->text, sizeof dialog->text,
             _("The table as Markdown (.md), CSV (.csv) or JSON (.json), by the name's ending."));
    line_edit_begin(&dialog->edit, path, sizeof dialog->edit.text, false);
    dialog->edited = note_compare;
    note_compare(app);
}
