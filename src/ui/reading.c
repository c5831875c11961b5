#include "ui/reading.h"

#include "base/file.h"
#include "base/language.h"
#include "session/run_reader.h"
#include "ui/app.h"

#include <string.h>

enum { BATCH = 64 }; /* outlines that one thread reads */

/* What is on a fast disk is there at once, without an intermediate picture; nobody notices so short
 * a wait. */
static const double OUTLINES_SECONDS = 0.008, WHOLE_SECONDS = 0.1;

void reading_free(struct reading_view *view)
{
    run_reader_drop(view->outlines);
    run_reader_drop(view->whole);
    *view = (struct reading_view){0};
}

bool reading_is_unread(const struct run_entry *entry)
{
    return run_entry_is_kept(entry) && !entry->peeked && !entry->refused;
}

bool reading_any_unread(const struct app *app)
{
    for (size_t i = 0; i < app->kept.count; i++)
        if (reading_is_unread(&app->kept.entries[i]))
            return true;
    return false;
}

struct run_entry *reading_entry(struct app *app, const char *directory)
{
    for (size_t i = app->kept.count; i-- > 0;)
        if (strcmp(app->kept.entries[i].directory, directory) == 0)
            return &app->kept.entries[i];
    return NULL; /* it was deleted, or goes on in this session */
}

/* --- outlines --- */

static bool is_wanted(const struct run_entry *entry)
{
    return reading_is_unread(entry) || (entry->outdated && !entry->run);
}

static void take_outlines(struct app *app)
{
    struct reading_view *view = &app->reading;
    for (const size_t ready = view->outlines ? run_reader_ready(view->outlines) : 0;
         view->taken < ready; view->taken++) {
        struct run_read *read = run_reader_result(view->outlines, view->taken);
        struct run_entry *entry = reading_entry(app, read->directory);
        if (entry && is_wanted(entry))
            run_entry_take(entry, read);
        app->table.stale = true;
    }
    if (!view->outlines || !run_reader_done(view->outlines))
        return;
    run_reader_drop(view->outlines);
    view->outlines = NULL;
}

static void begin_outlines(struct app *app)
{
    struct reading_view *view = &app->reading;
    const char *directories[BATCH];
    size_t count = 0;
    for (size_t i = app->kept.count; i-- > 0 && count < BATCH;)
        if (is_wanted(&app->kept.entries[i]))
            directories[count++] = app->kept.entries[i].directory;
    view->taken = 0;
    if (count > 0) /* without a thread it is tried again a little later */
        view->outlines = run_reader_start(RUN_DEPTH_OUTLINE, directories, count, NULL);
}

bool reading_outlines(struct app *app)
{
    struct reading_view *view = &app->reading;
    take_outlines(app);
    if (!view->outlines)
        begin_outlines(app);
    if (!view->outlines || !run_reader_wait(view->outlines, OUTLINES_SECONDS))
        return false;
    take_outlines(app);
    return true;
}

/* --- the run that is to be shown --- */

static void end_opening(struct app *app)
{
    run_reader_drop(app->reading.whole);
    app->reading.whole = NULL;
    if (app->message_until == UINT64_MAX && !app->closing)
        app->message[0] = '\0'; /* that it was being read */
}

static void show(struct app *app, struct run_entry *entry)
{
    const bool attached = app->reading.attached;
    if (!entry->run) {
        app_say_error(app, &entry->error);
        return;
    }
    app_show_run(app, app_run_count(app) - 1 - (size_t)(entry - app->kept.entries));
    if (attached && !entry->live)
        app_say(app, ROLE_STRONG, N_("This run is not on any more: it is %s."),
                language_text(run_entry_status(entry)));
}

static bool is_below(const struct app *app, const struct screen *screen)
{
    for (size_t i = 0; i < app->depth; i++)
        if (app->stack[i] == screen)
            return true;
    return false;
}

static bool is_in_front(const struct app *app)
{
    return app_screen(app) == app->reading.from && !app->dialog.open && !app->menu.open &&
           !app->chooser.open;
}

static void step_opening(struct app *app)
{
    struct reading_view *view = &app->reading;
    if (view->whole && (app->closing || !is_below(app, view->from)))
        end_opening(app);
    if (!view->whole || !run_reader_done(view->whole) || !is_in_front(app))
        return;
    struct run_read *read = run_reader_result(view->whole, 0);
    struct run_entry *entry = reading_entry(app, read->directory);
    if (entry && !entry->run)
        run_entry_take(entry, read);
    app->table.stale = true;
    end_opening(app);
    if (entry)
        show(app, entry);
}

void reading_open(struct app *app, const struct run_entry *entry, bool attached)
{
    struct reading_view *view = &app->reading;
    struct error error;
    const char *directory = entry->directory;
    if (view->whole)
        end_opening(app);
    view->from = app_screen(app);
    view->attached = attached;
    view->whole = run_reader_start(RUN_DEPTH_WHOLE, &directory, 1, &error);
    if (!view->whole) {
        app_say_error(app, &error);
        return;
    }
    if (run_reader_wait(view->whole, WHOLE_SECONDS)) {
        step_opening(app);
        return;
    }
    app_say(app, ROLE_FAINT, _("Reading run %s ... Esc abandons it."), file_base_name(directory));
    app->message_until = UINT64_MAX;
}

bool reading_abandon(struct app *app)
{
    if (!app->reading.whole || !is_in_front(app))
        return false;
    end_opening(app);
    return true;
}

void reading_step(struct app *app)
{
    take_outlines(app);
    step_opening(app);
}

bool reading_busy(const struct app *app)
{
    const struct reading_view *view = &app->reading;
    return view->outlines || (view->whole && !run_reader_done(view->whole));
}
