#include "ui/background.h"

#include "ui/app.h"

static const double LOOK_SECONDS = 0.25;

void background_step(struct app *app)
{
    try_view_step(&app->tryit);
    advisor_step(app);
    study_step(app);
}

bool background_busy(const struct app *app, double *seconds)
{
    bool trying = try_view_busy(&app->tryit, seconds);
    if (app->advisor.gathering && app_screen(app) == &screen_advisor)
        *seconds = 0; /* its work goes on between frames */
    else if (!trying)
        *seconds = LOOK_SECONDS;
    return trying || app->advisor.errand || app->advisor.gathering || app->study.errand;
}
