/* Checks that a run fits into memory, before anything large is allocated. */
#include "engine/cluster/cluster.h"
#include "session/measure/memory_check.h"
#include "session/prepare/prepare_internal.h"
#include "session/values/series.h"

uint64_t prepare_count_iterations(const struct preparation *prepared,
                                  const struct run_config *config)
{
    const uint64_t per_epoch = dataset_facts(prepared->data)->images / config->batch;
    return config->has_iterations ? config->iterations : per_epoch * config->epochs;
}

/* Returns how many images of a set are files of their own. */
static size_t files_of(const struct dataset *dataset)
{
    const struct dataset_facts *facts = dataset ? dataset_facts(dataset) : NULL;
    return facts && facts->decode_bytes && !facts->generator ? facts->images : 0;
}

/* Returns the facts of the validation or the test set, whichever has more images, since one
 * evaluator at a time exists; NULL: there is neither. */
static const struct dataset_facts *evaluated_facts(const struct preparation *prepared)
{
    const struct dataset_facts *validation = prepared->validation
                                                 ? dataset_facts(prepared->validation)
                                                 : NULL,
                               *test = prepared->test ? dataset_facts(prepared->test) : NULL;
    return !validation || (test && test->images > validation->images) ? test : validation;
}

/* Fills the forecast with what training, validation and the test take. */
static void forecast_memory(struct preparation *prepared, const struct run_config *config,
                            const struct plan_settings *settings)
{
    struct forecast *forecast = &prepared->forecast;
    const struct dataset_facts *validation = evaluated_facts(prepared);
    const struct memory_check_request question = {
        .network = prepared->network,
        .method = &prepared->method,
        .driver = prepared->device->driver,
        .device = config->device,
        .settings = settings,
        .stored = dataset_kind_of(config->data)->stored,
        .validation_stored = validation && dataset_kind_of(validation->spec)->stored,
        .samples = prepared->network->classes == 0,
        .average = config->ema > 0,
        .tested = prepared->test,
        .curve_bytes = series_bytes(prepare_count_iterations(prepared, config)),
        .files =
            files_of(prepared->data) + files_of(prepared->validation) + files_of(prepared->test),
        .decode_bytes = dataset_facts(prepared->data)->decode_bytes,
        .validation_decode_bytes = validation ? validation->decode_bytes : 0,
        .validation_images = validation ? validation->images : 0,
        .validation = validation ? evaluator_batch(prepared->network, validation->images) : 0};
    *forecast = (struct forecast){.parameters = graph_parameter_count(&prepared->network->graph),
                                  .flops = graph_flops(&prepared->network->graph),
                                  .classes = prepared->network->classes,
                                  .input = prepared->network->input,
                                  .memory = *method_memory(&prepared->method)};
    memory_check(&question, forecast);
}

bool prepare_fits_memory(struct preparation *prepared, const struct run_config *config,
                         const struct plan_settings *settings, struct error *error)
{
    const struct forecast *forecast = &prepared->forecast;
    forecast_memory(prepared, config, settings);
    if (!forecast->fits && prepared->validation && cluster_rank(prepared->cluster) > 0) {
        forecast_refuse(forecast, config->batch, error);
        prepare_drop_validation(prepared, error);
        forecast_memory(prepared, config, settings);
    }
    return forecast->fits || forecast_refuse(forecast, config->batch, error);
}
