/* The dialog that writes a comparison as a table. The extension of the file name chooses the
 * format: Markdown, CSV or JSON. */
#include "ui/screens/compare/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Writes the format that the path's extension stands for. Returns false if it is unknown. */
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
    dialog_note_path(app);
    if (!app->dialog.note[0] && !format_of(app->dialog.edit.text, &format))
        snprintf(app->dialog.note, sizeof app->dialog.note,
                 _("The name must end in .md, .csv or .json."));
}

static bool write_comparison(const struct app *app, const char *path, enum compare_format format,
                             struct error *error)
{
    struct text text = {0};
    compare_write(&compare_model(app)->table, format, &text, NULL);
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
        app_say(
            app, ROLE_GOOD,
            ngettext("Wrote %s: %zu row.", "Wrote %s: %zu rows.", compare_model(app)->table.count),
            path, compare_model(app)->table.count);
    } else {
        exporting_reopen_dialog(app, &error);
    }
}

static const char *proposed_ending(const struct app *app)
{
    const char *format = app->shared.preferences.export_format;
    return strcmp(format, "csv") == 0 ? "csv" : strcmp(format, "json") == 0 ? "json" : "md";
}

void ask_compare_export(struct app *app)
{
    char date_text[32], name[64], path[sizeof app->dialog.edit.text];
    time_t now = time(NULL);
    struct tm date;
    strftime(date_text, sizeof date_text, "%Y%m%d-%H%M%S", localtime_r(&now, &date));
    snprintf(name, sizeof name, "comparison-%s.%s", date_text, proposed_ending(app));
    exporting_path(app, name, path, sizeof path);
    struct dialog *dialog = dialog_begin(app, _("Export the comparison"), answer_compare);
    snprintf(dialog->text, sizeof dialog->text,
             _("The table as Markdown (.md), CSV (.csv) or JSON (.json), by the name's ending."));
    dialog_begin_line(dialog, path, false, completion_of_paths, NULL);
    dialog->edited = note_compare;
    note_compare(app);
}
