#include "ui/app/internal.h"

#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/app/run_loading.h"

#include <math.h>

static const double READ_SECONDS = 0.02;
static const double SHORT_SECONDS = 0.008; /* waits for a fast disk, to show its answer at once */

void app_start_disk_job(struct app *app, void (*work)(void *state),
                        void (*done)(struct app *app, void *state), void *state)
{
    struct error error;
    if (disk_jobs_start(&app->shared.disk, work, done, state, &error))
        disk_jobs_step(&app->shared.disk, app, SHORT_SECONDS);
    else
        app_say_error(app, &error);
}

bool background_step(struct app *app)
{
    bool more = false;
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (app->screens[i]->work && app->screens[i]->work(app))
            more = true;
    disk_jobs_step(&app->shared.disk, app, 0);
    loading_step(app);
    others_announce_step(app);
    others_step(app);
    return more;
}

double background_seconds_to_next(const struct app *app)
{
    double seconds = INFINITY;
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (app->screens[i]->busy)
            seconds = fmin(seconds, app->screens[i]->busy(app));
    if (disk_jobs_busy(&app->shared.disk) || loading_is_busy(app) || others_announce_busy(app))
        seconds = fmin(seconds, READ_SECONDS);
    return fmin(seconds, others_seconds_to_next(app));
}
