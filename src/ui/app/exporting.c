#include "ui/app/exporting.h"

#include "base/language.h"
#include "ui/app/app.h"

#include <stdio.h>

void exporting_path(const struct app *app, const char *name, char *path, size_t size)
{
    const char *folder = app->shared.preferences.export_directory;
    snprintf(path, size, "%s%s%s", folder, folder[0] ? "/" : "", name);
}

bool exporting_is_active(const struct app *app)
{
    return app->shared.export.on;
}

void exporting_poll(struct app *app)
{
    const struct export_job *job = &app->shared.export;
    if (!export_job_poll(&app->shared.export))
        return;
    if (job->written && job->error.kind != ERROR_NONE)
        app_say(app, ROLE_WARNING, _("Wrote %s, of a run that is damaged: %s"), job->path,
                job->error.why);
    else if (job->written)
        app_say(app, ROLE_GOOD, ngettext("Wrote %s: %zu run.", "Wrote %s: %zu runs.", job->count),
                job->path, job->count);
    else
        app_say_error(app, &job->error);
}

void exporting_reopen_dialog(struct app *app, const struct error *error)
{
    app->dialog.open = true;
    snprintf(app->dialog.note, sizeof app->dialog.note, "%.120s: %.70s", error->why, error->advice);
    app_say_error(app, error);
}
