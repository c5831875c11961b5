#include "ui/background.h"

#include "ui/app.h"

void background_step(struct app *app)
{
    try_view_step(&app->tryit);
}

bool background_busy(const struct app *app, double *seconds)
{
    return try_view_busy(&app->tryit, seconds);
}
