/* The question copies the place, because the queue may change while it is open; the process is
 * asked to stop only if it still waits there. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"

#include <stdio.h>
#include <string.h>

/* --- words --- */

/* Returns "12:30:04" of an RFC 3339 time. */
static const char *clock_part(const struct queued_run *place, char text[9])
{
    const char *time = strchr(place->since, 'T');
    snprintf(text, 9, "%.8s", time ? time + 1 : "?");
    return text;
}

char *runs_queue_text(const struct app *app, const struct run_entry *entry, char *text, size_t size)
{
    char since[9];
    const struct queued_run *place = queue_list_place(&app->shared.queue, entry);
    text[0] = '\0';
    if (place && place->known && place->sweep[0])
        snprintf(text, size, _("sweep %s, place %zu of the queue since %s UTC, process %ld on %s"),
                 place->sweep, entry->queue.rank, clock_part(place, since), place->process,
                 place->host);
    else if (place && place->known)
        snprintf(text, size, _("place %zu of the queue since %s UTC, process %ld on %s"),
                 entry->queue.rank, clock_part(place, since), place->process, place->host);
    else if (place)
        snprintf(text, size, _("place %zu of the queue; what waits there cannot be read"),
                 entry->queue.rank);
    return text;
}

const char *runs_queue_refuses(const struct run_entry *entry, enum run_offer offer)
{
    if (!entry || entry->queue.rank == 0)
        return NULL;
    if (offer == RUN_WATCH && !run_entry_is_saved(entry))
        return _("This run has not begun: nothing can be watched yet.");
    if (offer == RUN_RESUME && run_entry_is_saved(entry))
        return _("Another process waits to go on with it: nothing to do but s, which takes it out "
                 "of the queue.");
    if (offer == RUN_PRUNE)
        return _("A run that is on or waits keeps its weights.");
    if (offer == RUN_REMOVE && run_entry_is_saved(entry))
        return _("No run that waits can be deleted: s takes it out of the queue first.");
    return NULL;
}

/* --- taking it out --- */

/* A thread takes the run out of the queue; `good` and `error` are the result. */
struct leave {
    struct queued_run place;
    bool good;
    struct error error;
};

static void leave(void *state)
{
    struct leave *work = state;
    work->good = run_queue_stop(&work->place, &work->error);
}

static void show_result(struct app *app, void *state)
{
    const struct leave *work = state;
    if (work->good)
        app_say(app, ROLE_GOOD, _("Process %ld leaves the queue and ends."), work->place.process);
    else
        app_say_error(app, &work->error);
    loading_list_runs(app, true);
}

static void answer(struct app *app, size_t choice)
{
    struct error error;
    if (choice != 1) /* choice 0 leaves it there */
        return;
    struct leave *work = memory_new(1, sizeof *work, "a question", &error);
    if (!work) {
        app_say_error(app, &error);
        return;
    }
    work->place = runs_model(app)->leaving;
    app_start_disk_job(app, leave, show_result, work);
}

/* Writes what would end and what remains. */
static void write_question(const struct queued_run *place, const char *name, char *text,
                           size_t size)
{
    char data[256];
    config_short_value(KEY(data), data_settings(&place->config).data, data, sizeof data);
    if (place->kind == QUEUED_SWEEP)
        snprintf(text, size,
                 _("The sweep %.60s waits with %.60s, batch %zu. Process %ld would end; the cells "
                   "that remain can be computed later."),
                 place->sweep, name, training_settings(&place->config).batch, place->process);
    else if (place->kind == QUEUED_RESUME)
        snprintf(
            text, size,
            _("%.60s waits to go on. Process %ld would end; the run stays as it is, and r goes "
              "on with it."),
            name, place->process);
    else
        snprintf(text, size,
                 _("%.60s, batch %zu, %.100s, has not begun. Process %ld would end, and nothing "
                   "of the run would be left."),
                 name, training_settings(&place->config).batch, data, place->process);
}

bool runs_ask_leave(struct app *app, const struct run_entry *entry)
{
    struct error error;
    const struct queued_run *place = queue_list_place(&app->shared.queue, entry);
    if (!place)
        return false;
    if (!run_queue_may_stop(place, &error)) {
        app_say_error(app, &error);
        return true;
    }
    struct dialog *dialog = dialog_begin(app, _("Take it out of the queue?"), answer);
    runs_model(app)->leaving = *place;
    write_question(place, runs_id(entry)[0] ? runs_display_name(entry) : run_entry_network(entry),
                   dialog->text, sizeof dialog->text);
    dialog_offer(dialog, 'k', 'n', _("leave it waiting"));
    dialog_offer(dialog, 't', 'y', _("take it out"));
    return true;
}
