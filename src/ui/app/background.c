#include "ui/app/background.h"

#include "ui/app/app.h"

#include <math.h>

static const double LOOK_SECONDS = 0.25, READ_SECONDS = 0.02;

void background_step(struct app *app)
{
    reading_step(app);
    others_greet_step(app);
    try_view_step(&app->tryit);
    advisor_step(app);
    study_step(app);
}

bool background_busy(const struct app *app, double *seconds)
{
    bool trying = try_view_busy(&app->tryit, seconds);
    if (!trying)
        *seconds = LOOK_SECONDS;
    const bool reading = reading_busy(app) ||
                         (app_screen(app) == &screen_run && sample_view_busy(&app->run.sample)) ||
                         others_greet_busy(app) ||
                         (app->advisor.gathering && app_screen(app) == &screen_advisor) ||
                         (app->compare.gathering && app_screen(app) == &screen_compare);
    if (reading)
        *seconds = fmin(*seconds, READ_SECONDS);
    return trying || reading || app->advisor.background_job || app->study.background_job;
}
