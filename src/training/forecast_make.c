/* Makes the forecast of a run without keeping its plans. It has a separate file, because the tests
 * of the workbench link fixed figures in its place. */
#include "training/forecast_make.h"

#include "training/observer.h"
#include "training/prepare/prepare.h"

bool forecast_make(const struct run_config *config, size_t classes, struct forecast *forecast,
                   struct error *error)
{
    struct preparation prepared;
    const bool made = prepare_plans(&prepared, config, classes, NULL, &observers_besides, error);
    *forecast = made ? prepared.forecast : (struct forecast){0};
    prepare_free(&prepared);
    return made;
}
