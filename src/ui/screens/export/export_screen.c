/* The dialog Export asks for the runs, the format and the name of the file. Changing the format
 * changes the name's extension, and the other way round. A job of exchange/export writes the file
 * in the background; ui/app/run_actions.c reports its end. */
#include "ui/app/app.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "exchange/export/export.h"
#include "exchange/tensorboard/tensorboard.h"
#include "studies/compare/report.h"
#include "ui/app/run_actions.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PICK_FORMAT, PICK_WHAT, PICKS };
enum export_scope { SCOPE_SESSION, SCOPE_THIS, SCOPE_MARKED, SCOPES };

/* A choice of format: one of the table, or a report with its picture. */
struct choice {
    const struct format *format; /* NULL: there are no more choices */
    bool picture;
};

/* The state of the open dialog. */
struct export_state {
    size_t format;                    /* number of the choice that matches the name's extension */
    enum export_scope scopes[SCOPES]; /* what each choice in the row "What" exports */
};

/* Returns choice number `n`. */
static struct choice choice_at(size_t n)
{
    for (size_t i = 0; i < format_count; i++) {
        const size_t choices = !formats[i].dialog ? 0 : format_is_report(&formats[i]) ? 2 : 1;
        if (n < choices)
            return (struct choice){&formats[i], n == 1};
        n -= choices;
    }
    return (struct choice){0};
}

static struct export_state *export_state(const struct app *app)
{
    return app_state(app, SCREEN_EXPORT);
}

/* --- the runs --- */

/* Marked runs that the filter of the list hides are left alone, as by all that concerns marks. */
static bool is_in_scope(const struct app *app, enum export_scope scope, size_t index)
{
    const struct run_entry *entry = app_run_at(app, index);
    if (!run_entry_directory(entry))
        return false;
    return scope == SCOPE_SESSION  ? !run_entry_is_saved(entry)
           : scope == SCOPE_MARKED ? entry->marked && runs_match(app, index)
                                   : entry == run_actions_subject(app);
}

static size_t count_scope(const struct app *app, enum export_scope scope)
{
    size_t count = 0;
    for (size_t i = 0; i < app_run_count(app); i++)
        count += is_in_scope(app, scope, i);
    return count;
}

/* Returns choice number `n` of those that contain at least one run, or SCOPES if there are fewer.
 */
static enum export_scope offered(const struct app *app, size_t n)
{
    for (enum export_scope scope = SCOPE_SESSION; scope < SCOPES; scope++)
        if (count_scope(app, scope) > 0 && n-- == 0)
            return scope;
    return SCOPES;
}

static void describe(const struct app *app, enum export_scope scope, char *text, size_t size)
{
    size_t count = count_scope(app, scope);
    if (scope == SCOPE_SESSION)
        snprintf(text, size, ngettext("the session, %zu run", "the session, %zu runs", count),
                 count);
    else if (scope == SCOPE_MARKED)
        snprintf(text, size, ngettext("%zu marked run", "%zu marked runs", count), count);
    else
        snprintf(text, size, _("this run, %.63s"), runs_display_name(run_actions_subject(app)));
}

/* --- the name --- */

/* Returns whether a name ends as the files of a choice do; *length becomes that of the ending, 0 of
 * folders. */
static bool fits(const char *name, struct choice choice, size_t *length)
{
    const size_t size = strlen(name);
    *length = strcspn(choice.format->endings, " ");
    return *length > 0 && size > *length &&
           strncmp(name + size - *length, choice.format->endings, *length) == 0;
}

/* Gives the name the extension of the format that was chosen. */
static void change_ending(struct dialog *dialog, size_t from, size_t to)
{
    char name[sizeof dialog->edit.text];
    size_t length = strlen(dialog->edit.text), ending;
    if (fits(dialog->edit.text, choice_at(from), &ending))
        length -= ending;
    ending = strcspn(choice_at(to).format->endings, " ");
    snprintf(name, sizeof name, "%.*s%.*s", (int)length, dialog->edit.text, (int)ending,
             choice_at(to).format->endings);
    line_edit_begin(&dialog->edit, name, sizeof dialog->edit.text, true);
}

/* Sets the format from the extension that was typed; an unknown extension changes nothing. */
static void follow_ending(struct app *app)
{
    const char *name = app->dialog.edit.text;
    size_t length;
    if (fits(name, choice_at(export_state(app)->format), &length))
        return;
    for (size_t i = 0; choice_at(i).format; i++)
        if (fits(name, choice_at(i), &length)) {
            export_state(app)->format = i;
            app->dialog.picks[PICK_FORMAT].selected = i;
            return;
        }
}

/* Returns whether the export would replace a file. */
static bool replaces(struct choice choice, const char *path)
{
    char other[sizeof((struct dialog *)0)->edit.text + 32];
    glob_t found;
    if (choice.format->export_runs == tensorboard_export)
        return false; /* a folder that has the files of others is refused */
    if (choice.format->export_runs != export_csv) {
        export_chart_path(path, other, sizeof other);
        return file_exists(path) || (choice.picture && file_exists(other));
    }
    snprintf(other, sizeof other, "%s/loss_*_tinca.csv", path);
    bool any = glob(other, GLOB_NOSORT, NULL, &found) == 0;
    if (any)
        globfree(&found);
    return any;
}

static void edited(struct app *app)
{
    struct dialog *dialog = &app->dialog;
    const size_t chosen = dialog->picks[PICK_FORMAT].selected;
    if (chosen != export_state(app)->format) {
        change_ending(dialog, export_state(app)->format, chosen);
        export_state(app)->format = chosen;
    } else
        follow_ending(app);
    dialog_note_path(app);
    run_exporter *const writer = choice_at(export_state(app)->format).format->export_runs;
    if (writer == export_csv && dialog->edit.text[0])
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("loss_HOST_tinca.csv and times_HOST_tinca.csv go into this folder."));
    if (writer == tensorboard_export && dialog->edit.text[0])
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("Each run goes into a folder of its ID in this folder."));
}

/* --- the answer --- */

static struct export_item *collect_items(const struct app *app, enum export_scope scope,
                                         size_t *count, struct error *error)
{
    struct export_item *items =
        memory_new(count_scope(app, scope), sizeof *items, "an export", error);
    *count = 0;
    for (size_t i = 0; items && i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (!is_in_scope(app, scope, i))
            continue;
        struct export_item *item = &items[(*count)++];
        item->run = run_entry_is_saved(entry)
                        ? NULL
                        : entry->run; /* a saved run may be unloaded meanwhile */
        snprintf(item->directory, sizeof item->directory, "%s", run_entry_directory(entry));
    }
    return items;
}

static void answer_export(struct app *app, size_t answer)
{
    struct error error = {0};
    struct dialog *dialog = &app->dialog;
    enum export_scope scope = export_state(app)->scopes[dialog->picks[PICK_WHAT].selected];
    const struct choice choice = choice_at(export_state(app)->format);
    size_t count;
    (void)answer;
    if (!dialog->edit.text[0] || scope == SCOPES) {
        dialog->open = scope != SCOPES;
        return;
    }
    if (!dialog_may_write(dialog, replaces(choice, dialog->edit.text)))
        return;
    struct export_item *items = collect_items(app, scope, &count, &error);
    const struct export_request request = {.format = choice.format,
                                           .picture = choice.picture,
                                           .items = items,
                                           .count = count,
                                           .path = dialog->edit.text,
                                           .write_report = report_write};
    if (items && export_job_start(&app->shared.export, &request, &error))
        app_say_while(app, exporting_is_active, ROLE_TEXT, _("Writing %s ..."),
                      app->shared.export.path);
    else
        exporting_reopen_dialog(app, &error);
    free(items);
}

/* --- the question --- */

static void fill_picks(struct app *app)
{
    struct dialog *dialog = &app->dialog;
    struct dialog_pick *format = &dialog->picks[PICK_FORMAT], *scope = &dialog->picks[PICK_WHAT];
    dialog->pick_count = PICKS;
    format->label = _("Format");
    scope->label = _("What");
    for (struct choice c;
         (c = choice_at(format->count)).format && format->count < DIALOG_MAX_VALUES;)
        snprintf(format->values[format->count++], sizeof format->values[0], "%s",
                 c.picture ? _("Markdown: a report and its picture") : gettext(c.format->dialog));
    for (enum export_scope offer; (offer = offered(app, scope->count)) != SCOPES; scope->count++) {
        export_state(app)->scopes[scope->count] = offer;
        describe(app, offer, scope->values[scope->count], sizeof scope->values[0]);
        if (app_is_in_front(app, SCREEN_RUNS) && offer == SCOPE_MARKED) /* marking suggests it */
            scope->selected = scope->count;
    }
}

static void ask_export(struct app *app)
{
    char name[64], path[sizeof app->dialog.edit.text];
    time_t now = time(NULL);
    struct tm date;
    const struct screen *front = app_screen(app);
    const struct run_entry *entry = front->run ? front->run(app) : NULL;
    const char *directory = entry ? run_entry_directory(entry) : NULL;
    snprintf(app->shared.subject, sizeof app->shared.subject, "%s", directory ? directory : "");
    if (offered(app, 0) == SCOPES) {
        app_say(app, ROLE_WARNING, "%s",
                app_run_count(app) == 0
                    ? _("There is no run to export yet: r starts one.")
                    : _("No run is marked: o goes to the list, where e exports the selected run."));
        return;
    }
    strftime(name, sizeof name, "tinca-%Y%m%d-%H%M%S.json", localtime_r(&now, &date));
    exporting_path(app, name, path, sizeof path);
    struct dialog *dialog = dialog_begin(app, _("Export"), answer_export);
    export_state(app)->format = 0;
    fill_picks(app);
    dialog_begin_line(dialog, app->options->export_path ? app->options->export_path : path, true,
                      completion_of_paths, NULL);
    dialog->edited = edited;
    dialog->above = PICKS; /* the cursor begins on the format; letters go into the name at once */
    edited(app);
}

const struct screen export_screen = {
    .name = N_("Export"),
    .letter = 'e',
    .purpose = N_("write runs as JSON, CSV, a picture or a report"),
    .state_size = sizeof(struct export_state),
    .go = ask_export,
    .reachable = app_offers_export,
};
