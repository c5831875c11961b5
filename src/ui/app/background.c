#include "ui/app/background.h"

#include "ui/app/app.h"
#include "ui/app/other_runs.h"
#include "ui/app/run_loading.h"

#include <math.h>

static const double READ_SECONDS = 0.02;

bool background_step(struct app *app)
{
    bool more = false;
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (app->screens[i]->work && app->screens[i]->work(app))
            more = true;
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
    if (loading_is_busy(app) || others_announce_busy(app))
        seconds = fmin(seconds, READ_SECONDS);
    return fmin(seconds, others_seconds_to_next(app));
}
