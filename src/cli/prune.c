/* tinca prune: removes channels of a saved model, or sets its smallest weights to zero
 * (--unstructured). session/compress/prune.h does the work; this file reads the options, shows the
 * runs of fine-tuning, and turns a signal into the end of the work. */
#include "session/compress/prune.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/prune_output.h"
#include "cli/stop_signal.h"

#include "base/text.h"
#include "session/config/config_data.h"
#include "session/measure/model_operand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- while it works --- */

struct watch {
    bool quiet;
};

static bool go_on(void *context, struct error *error)
{
    (void)context;
    return !stop_signal_came() || error_set(error, ERROR_INTERRUPTED, "prune",
                                            "the same command continues", "it was interrupted");
}

static void report(void *context, const char *text)
{
    const struct watch *watch = context;
    if (!watch->quiet)
        output_note("%s\n", text);
}

static void follow(void *context, struct run *run)
{
    const struct watch *watch = context;
    if (!watch->quiet)
        output_note(_("fine-tuning: %s\n"), run_facts(run)->id);
    progress_follow(run, watch->quiet, NULL);
}

/* --- the request --- */

/* The options as they were given; NULL: not given. */
struct wanted {
    const char *output, *criterion, *flops, *parameters, *latency, *unstructured;
    struct option_list keep;
    size_t steps, batches;
    bool json, quiet;
    struct run_config config;
    char patterns[1024]; /* of --keep, joined */
};

static bool read_number(const char *option, const char *text, double *value, struct error *error)
{
    return text_to_double(text, value) ||
           error_set(error, ERROR_USAGE, option, "give a number, as 0.5", "\"%s\" is no number",
                     text);
}

/* Sets goal and target from the one option that has them. */
static bool read_goal(const struct wanted *wanted, struct prune_request *request,
                      struct error *error)
{
    const struct {
        const char *option, *text;
        enum prune_goal goal;
    } goals[] = {{"--flops", wanted->flops, GOAL_FLOPS},
                 {"--parameters", wanted->parameters, GOAL_PARAMETERS},
                 {"--latency", wanted->latency, GOAL_LATENCY}};
    size_t given = wanted->unstructured ? 1 : 0;
    for (size_t i = 0; i < sizeof goals / sizeof *goals; i++) {
        if (!goals[i].text)
            continue;
        given++;
        request->goal = goals[i].goal;
        if (!read_number(goals[i].option, goals[i].text, &request->target, error))
            return false;
    }
    return given == 1 ||
           error_set(error, ERROR_USAGE, "prune",
                     "give one of --flops, --parameters, --latency and --unstructured",
                     given ? N_("it has more than one target")
                           : N_("it does not say how much is to remain"));
}

static bool join_keep(struct wanted *wanted, struct error *error)
{
    size_t length = 0;
    for (size_t i = 0; i < wanted->keep.count; i++) {
        length += (size_t)snprintf(wanted->patterns + length, sizeof wanted->patterns - length,
                                   "%s%s", i ? "," : "", wanted->keep.values[i]);
        if (length >= sizeof wanted->patterns)
            return error_set(error, ERROR_USAGE, "--keep", "use patterns, as stage1.*",
                             "these are too many layers");
    }
    return true;
}

static enum channel_criterion criterion_of(const char *name)
{
    enum channel_criterion criterion = CRITERION_L1;
    for (size_t i = 0; name && channel_criterion_names[i]; i++)
        if (strcmp(channel_criterion_names[i], name) == 0)
            criterion = (enum channel_criterion)i;
    return criterion;
}

/* --- running --- */

static int prune_channels(const struct wanted *wanted, struct prune_request *request,
                          const struct prune_hooks *hooks)
{
    struct error error;
    struct prune_result *result = malloc(sizeof *result);
    char spec[CONFIG_SPEC];
    int status;
    if (!result) {
        error_set_memory(&error, "the result", sizeof *result);
        return output_error(&error);
    }
    if (!prune_run(request, hooks, result, &error))
        status = output_error(&error);
    else {
        output_model_made(request->output, config_validation_spec(&request->config, spec));
        status = wanted->quiet && !wanted->json
                     ? EXIT_DONE
                     : prune_output_channels(request, result, wanted->json);
        prune_result_free(result);
    }
    free(result);
    return status;
}

/* Refuses what unstructured pruning cannot do. */
static bool check_unstructured(const struct wanted *wanted, const struct prune_request *request,
                               struct error *error)
{
    if (prune_tunes(request))
        return error_set(error, ERROR_USAGE, "--unstructured",
                         "train before, and set weights to zero last",
                         "fine-tuning would give its zeros a value again");
    if (config_holds_out(&request->config) && !config_is_given(&request->config, "data"))
        return error_set(error, ERROR_USAGE, "--validate", "give --data SPEC",
                         "a part of the training data needs that data");
    if (wanted->criterion || wanted->keep.count || wanted->steps != 1)
        return error_set(error, ERROR_USAGE, "--unstructured",
                         "leave out --criterion, --keep and --steps",
                         "it chooses the smallest weights of the whole network at once");
    return true;
}

static int prune_weights(const struct wanted *wanted, const struct prune_request *request,
                         const struct prune_hooks *hooks)
{
    struct error error;
    struct magnitude_result result;
    char spec[CONFIG_SPEC];
    struct magnitude_request magnitude = {.model = request->model,
                                          .output = request->output,
                                          .device = request->config.device,
                                          .threads = request->config.threads,
                                          .validate =
                                              config_validation_spec(&request->config, spec)};
    if (!check_unstructured(wanted, request, &error) ||
        !read_number("--unstructured", wanted->unstructured, &magnitude.share, &error) ||
        !magnitude_run(&magnitude, hooks, &result, &error))
        return output_error(&error);
    output_model_made(request->output, magnitude.validate);
    return wanted->quiet && !wanted->json
               ? EXIT_DONE
               : prune_output_magnitude(&magnitude, &result, wanted->json);
}

static int prune_wanted(struct wanted *wanted, const char *model)
{
    struct error error;
    struct watch watch = {wanted->quiet};
    const struct prune_hooks hooks = {&watch, go_on, report, follow};
    struct prune_request request = {.model = model,
                                    .output = wanted->output,
                                    .criterion = criterion_of(wanted->criterion),
                                    .steps = wanted->steps,
                                    .batches = wanted->batches,
                                    .keep = wanted->patterns,
                                    .config = wanted->config};
    if (!wanted->output)
        error_set(&error, ERROR_USAGE, "prune", "give -o FILE", "no file was named");
    else if (read_goal(wanted, &request, &error) && join_keep(wanted, &error)) {
        stop_signal_catch_for_runs();
        return wanted->unstructured ? prune_weights(wanted, &request, &hooks)
                                    : prune_channels(wanted, &request, &hooks);
    }
    return output_error(&error);
}

/* --- options --- */

enum { TARGETS = 4, OPTIONS = 12 }; /* with the row that ends the table */

static void list_targets(struct wanted *wanted, struct option_row *rows)
{
    const struct option_row table[TARGETS] = {
        {.name = "flops",
         .argument = "SHARE",
         .help = N_("Remove channels until at most this share of the FLOPs remains."),
         .kind = OPTION_TEXT,
         .value = &wanted->flops},
        {.name = "parameters",
         .argument = "SHARE",
         .help = N_("Remove channels until at most this share of the parameters remains."),
         .kind = OPTION_TEXT,
         .value = &wanted->parameters},
        {.name = "latency",
         .argument = "MS",
         .help = N_("Remove channels until one image takes at most so many milliseconds here."),
         .kind = OPTION_TEXT,
         .value = &wanted->latency},
        {.name = "unstructured",
         .argument = "SHARE",
         .help = N_("Set this share of the weights, the smallest, to zero instead."),
         .kind = OPTION_TEXT,
         .value = &wanted->unstructured}};
    memcpy(rows, table, sizeof table);
}

static void list_options(struct wanted *wanted, struct option_row *rows)
{
    const struct option_row table[OPTIONS - TARGETS] = {
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = N_("The pruned model (safetensors)."),
         .kind = OPTION_TEXT,
         .value = &wanted->output},
        {.name = "criterion",
         .argument = "NAME",
         .help =
             N_("How important a channel is: its weights' L1 norm, the scale of its batch norm, "
                "or the change of the loss without it, by first order (taylor; needs --data)."),
         .kind = OPTION_NAME,
         .value = &wanted->criterion,
         .choices = channel_criterion_names},
        {.name = "steps",
         .argument = "N",
         .help = N_("Approach the target in N steps, each with the fine-tuning of --epochs."),
         .kind = OPTION_COUNT,
         .value = &wanted->steps,
         .low = 1,
         .high = PRUNE_MAX_STEPS},
        {.name = "batches",
         .argument = "N",
         .help = N_("Batches that the criterion taylor reads."),
         .kind = OPTION_COUNT,
         .value = &wanted->batches,
         .low = 1,
         .high = 1000000},
        {.name = "keep",
         .argument = "LAYER",
         .help =
             N_("Keep all channels of the layers with this name or pattern; give the option once "
                "for each."),
         .kind = OPTION_LIST,
         .value = &wanted->keep},
        OUTPUT_JSON_OPTION(&wanted->json),
        {.name = "quiet",
         .letter = 'q',
         .help = N_("Print only errors."),
         .kind = OPTION_SWITCH,
         .value = &wanted->quiet},
        {0}};
    list_targets(wanted, rows);
    memcpy(rows + TARGETS, table, sizeof table);
}

static int prune_command_run(const struct command *command, int argc, char **argv)
{
    static const char *const fields[] = {"data",
                                         "validate",
                                         "epochs",
                                         "iterations",
                                         "batch",
                                         "device",
                                         "threads",
                                         "precision",
                                         "blocks",
                                         "seed",
                                         "memory-limit",
                                         "checkpoint",
                                         "tensorboard",
                                         "solver",
                                         "lr",
                                         "momentum",
                                         "momentum-form",
                                         "cycle-momentum",
                                         "weight-decay",
                                         "beta2",
                                         "epsilon",
                                         "label-smoothing",
                                         "clip-norm",
                                         "clip-value",
                                         "schedule",
                                         "gamma",
                                         "power",
                                         "step-size",
                                         "warm-up",
                                         "augment",
                                         "normalise",
                                         "sampling",
                                         "preset",
                                         NULL};
    struct wanted wanted = {.steps = 1, .batches = 10};
    struct operands operands;
    int status;
    struct option_row rows[OPTIONS];
    list_options(&wanted, rows);
    const struct option_set set = {.rows = rows,
                                   .config = &wanted.config,
                                   .fields = fields,
                                   .unused = "epochs",
                                   .operands_min = 1,
                                   .operands_max = 1};
    config_defaults(&wanted.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    struct error error;
    char *model = model_operand_path(operands.values[0], &error);
    status = model ? prune_wanted(&wanted, model) : output_error(&error);
    free(model);
    return status;
}

const struct command command_prune = {
    .name = "prune",
    .operands = "MODEL -o FILE",
    .summary = N_("Make a saved model smaller: remove channels and fine-tune the rest."),
    .details = N_(
        "MODEL is a file that tinca train --save has written, or a run, whose best weights are "
        "used. The least important channels are "
        "removed, together with all that depends on them; what remains is an ordinary smaller "
        "network. With --epochs it is trained after each step on --data, in a run of its own that "
        "begins with the pruned weights. An interrupted command continues when it is "
        "repeated.\nUnstructured pruning leaves the network's shape as it is: the file becomes "
        "smaller when it is compressed, but nothing becomes faster."),
    .run = prune_command_run,
};
