/* Fine-tuning is an ordinary run: its network and its first weights are the quantized model, so the
 * run trains with simulated quantization (engine/quantize/simulate.h). It is kept if it is better.
 */
#include "session/compress/quantize_state.h"

#include "base/files/file.h"
#include "base/language.h"
#include "session/record/run.h"
#include "session/training/run_start.h"

#include <stdlib.h>
#include <string.h>

/* The rate of a fine-tuning, unless the caller gives one: weights shall move within their grids. */
#define TUNE_RATE "0.001"

bool quantize_must_tune(const struct quantize_state *state)
{
    const struct run_config *config = &state->request->config;
    const struct quantize_result *result = state->result;
    return config_is_given(config, "epochs") &&
           result->before.top1 - result->after.top1 > state->request->max_loss;
}

static struct run *start(const struct quantize_state *state, struct error *error)
{
    const struct quantize_request *request = state->request;
    const struct run_options options = {.note = "fine-tuning with simulated quantization",
                                        .tags = "quantize"};
    struct run_config config = request->config;
    if (!config_set(&config, "network", request->output, error) ||
        !config_set(&config, "weights", request->output, error) ||
        !config_set(&config, "data", request->calibrate, error) ||
        (request->data[0] && !config_set(&config, "validate", request->data, error)) ||
        (!config_is_given(&config, "lr") && !config_set(&config, "lr", TUNE_RATE, error)) ||
        !config_check(&config, error))
        return NULL;
    return run_start(&config, &options, error);
}

/* Returns whether a run that is over is complete; if not, sets the error. */
static bool check_end(const struct run *run, struct error *error)
{
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    if (snapshot.status == RUN_DONE)
        return true;
    if (snapshot.status == RUN_STOPPED || snapshot.error.kind == ERROR_NONE)
        return error_set(error, ERROR_INTERRUPTED, run_facts(run)->id,
                         "the output is the network without fine-tuning; tinca resume continues "
                         "the run",
                         "the fine-tuning was stopped");
    *error = snapshot.error;
    return false;
}

bool quantize_tune(struct quantize_state *state, struct error *error)
{
    struct run *run = start(state, error);
    if (!run)
        return false;
    state->hooks->follow(state->hooks->context, run);
    char *trained =
        check_end(run, error) ? file_join(run_facts(run)->directory, "weights.safetensors") : NULL;
    run_free(run);
    const bool loaded = trained && weights_load(&state->quantized.weights, trained, error);
    weights_mark_changed(&state->simulated.weights); /* it has the same values */
    free(trained);
    return loaded;
}
