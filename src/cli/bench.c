/* tinca bench: measures how long an iteration takes on synthetic batches; with --profile also where
 * the time goes. training/bench/bench.c measures; this file prints the result as text or JSON, the
 * layers against the machine's limits in bench_roofline.c. */
#include "training/bench/bench.h"

#include "cli/command.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"

#include "base/language.h"
#include "base/text.h"
#include "engine/ops/op.h"
#include "runs/folder/computed_with.h"
#include "runs/settings/settings.h"
#include "training/prepare/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const mode_names[] = {"train", "infer", NULL};

/* Returns whether a layer is listed. Views do no work and are left out; a layer that is fused into
 * another one's kernel is listed, to show that it takes no time. */
static bool is_shown(const struct plan_step *step)
{
    return !plan_step_is_view(step);
}

/* --- JSON --- */

static bool add_layer(struct json *list, const struct bench *bench, const struct bench_part *part,
                      const struct plan_step *step)
{
    const struct node *node = &part->graph->nodes[step->node];
    struct profile_layer layer = profile_node(part->profile, step->node);
    char text[PLAN_KERNEL_NAME_SIZE];
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", node->name) &&
           json_add_string(object, "op", node->op->name) &&
           json_add_string(object, "kernel",
                           plan_step_kernel_name(part->plan, step, text, sizeof text)) &&
           json_add_count(object, "calls", layer.calls) &&
           json_add_number(object, "forward_seconds", layer.forward_seconds) &&
           json_add_number(object, "backward_seconds", layer.backward_seconds) &&
           bench_add_passes(object, bench, part, step);
}

static bool add_gemm(struct json *list, const struct gemm_row *row)
{
    struct json *object = json_add_object(list, NULL);
    bool added = json_add_string(object, "kind", gemm_kind_name(row->kind));
    struct json *shape = json_add_array(object, "shape");
    return added && json_add_count(shape, NULL, row->m) && json_add_count(shape, NULL, row->n) &&
           json_add_count(shape, NULL, row->k) && json_add_count(object, "calls", row->calls) &&
           json_add_number(object, "seconds", row->seconds);
}

/* The profile of one of the two networks: its layers, and its matrix products by shape. */
struct part_profile {
    const struct bench_part *part;
    struct gemm_row *rows; /* owned */
    size_t count;
};

static bool add_profile(struct json *object, const struct bench *bench,
                        const struct part_profile *profile)
{
    const struct plan *plan = profile->part->plan;
    struct json *layers = json_add_array(object, "layers");
    bool added = layers;
    for (size_t i = 0; i < plan->step_count; i++)
        if (is_shown(&plan->steps[i]))
            added = added && add_layer(layers, bench, profile->part, &plan->steps[i]);
    struct json *gemm = json_add_array(object, "gemm");
    for (size_t i = 0; i < profile->count; i++)
        added = added && add_gemm(gemm, &profile->rows[i]);
    return added && gemm && bench_add_update(object, bench, profile->part);
}

static double joules_per_image(const struct bench *bench)
{
    return bench->energy.joules / (double)(bench->iterations * bench->batch);
}

/* Adds the energy of an image and the power; both are null, with the reason, where the machine does
 * not report them. */
static bool add_energy(struct json *root, const struct bench *bench)
{
    const struct energy *energy = &bench->energy;
    const double unknown = (double)NAN;
    return json_add_number(root, "joules_per_image",
                           energy->known ? joules_per_image(bench) : unknown) &&
           json_add_number(root, "watts",
                           energy->known ? energy->joules / energy->seconds : unknown) &&
           (energy->known || json_add_string(root, "energy_unknown", energy->why_unknown));
}

/* Adds the kernels that the plan chose by prediction. */
static bool add_chosen(struct json *root, const struct bench *bench)
{
    char *text = kernel_choices_text(bench->main.plan, NULL);
    const bool added = text && kernel_choices_add(root, text);
    free(text);
    return added;
}

static int print_json(const struct bench *bench, const struct part_profile *main,
                      const struct part_profile *discriminator)
{
    char name[NETWORK_SHORT_NAME];
    struct json *root = json_new_object();
    bool complete =
        json_add_string(root, "network", network_short_name(bench->network, name, sizeof name)) &&
        json_add_string(root, "technique", technique_name(bench->network->technique)) &&
        json_add_count(root, "batch", bench->batch) &&
        json_add_string(root, "device", bench->device->name) &&
        json_add_count(root, "threads", bench->device->threads) &&
        json_add_string(root, "precision", device_precision_names[bench->precision]) &&
        json_add_bool(root, "assumed_ranges", bench->assumed_ranges) &&
        json_add_count(root, "blocks", bench->main.plan->image_blocks) &&
        json_add_string(root, "mode", mode_names[bench->mode == PLAN_INFERENCE]) &&
        json_add_count(root, "iterations", bench->iterations) &&
        output_add_statistics(root, "ms_per_image", &bench->ms_per_image) &&
        (bench->mode != PLAN_INFERENCE ||
         output_add_statistics(root, "latency_ms", &bench->latency_ms)) &&
        json_add_number(root, "images_per_second", bench->images_per_second) &&
        add_energy(root, bench) &&
        json_add_count(root, "peak_memory_bytes", bench->peak_memory_bytes) &&
        json_add_count(root, "planned_memory_bytes", bench->memory.total) &&
        json_add_count(root, "unlimited_memory_bytes", bench->memory.unlimited) &&
        json_add_number(root, "extra_flops_percent", plan_recompute_overhead(&bench->memory)) &&
        json_add_count(root, "fallback_layers", bench->memory.fallback_nodes) &&
        json_add_count(root, "fallback_bytes", bench->memory.fallback_bytes) &&
        (!bench->recording_refusal[0] ||
         (json_add_string(root, "graph_refused", bench->recording_refusal) &&
          json_add_count(root, "graphs_refused", bench->refused_recordings) &&
          json_add_count(root, "passes_without_graph", bench->unrecorded_passes))) &&
        add_chosen(root, bench);
    if (main->part)
        complete = complete && bench_add_roofline(root, bench) && add_profile(root, bench, main);
    if (discriminator->part)
        complete =
            complete && add_profile(json_add_object(root, "discriminator"), bench, discriminator);
    return output_json(root, complete);
}

/* --- tables --- */

/* Prints how long a user waits for the answer to a batch in the host's memory. */
static void print_latency(const struct bench *bench)
{
    const struct statistics *ms = &bench->latency_ms;
    output_print(ngettext("  latency    median %.4g ms, min %.4g, mean %.4g%s: from an image "
                          "in memory to its answer\n",
                          "  latency    median %.4g ms, min %.4g, mean %.4g%s: from %zu images "
                          "in memory to their answers\n",
                          bench->batch),
                 ms->median, ms->min, ms->mean, STATISTICS_SPREAD(ms->sd, ms->ci95), bench->batch);
}

/* Says in which type is computed, unless it is float32 as usual. */
static void print_precision(const struct bench *bench)
{
    const struct plan *plan = bench->main.plan;
    size_t integers = 0, kernels = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        kernels += plan->steps[i].kernel != NULL;
        integers += plan->steps[i].kernel && plan->steps[i].site.int8;
    }
    if (bench->precision == PRECISION_INT8)
        output_print(_("  int8       %zu of %zu kernels compute with integers of 8 bits\n"),
                     integers, kernels);
    else if (bench->precision != PRECISION_FLOAT32 || graph_is_quantized(&bench->network->graph))
        output_print(_("  precision  %s\n"), device_precision_names[bench->precision]);
    if (bench->assumed_ranges)
        output_print(_("  int8       ranges are assumed: the network is not quantized\n"));
}

static void print_summary(const struct bench *bench)
{
    char peak[32], planned[32], words[320];
    char name[NETWORK_SHORT_NAME];
    const struct statistics *ms = &bench->ms_per_image;
    const char *mode = bench->mode == PLAN_INFERENCE ? _("inference")
                       : bench->discriminator.graph  ? _("training against its discriminator")
                                                     : _("training");
    output_print(
        ngettext("%s, technique %s: %s, batch %zu on %s with %zu thread, %zu iterations\n",
                 "%s, technique %s: %s, batch %zu on %s with %zu threads, %zu iterations\n",
                 bench->device->threads),
        network_short_name(bench->network, name, sizeof name),
        technique_name(bench->network->technique), mode, bench->batch, bench->device->name,
        bench->device->threads, bench->iterations);
    print_precision(bench);
    output_print(_("  ms/image   median %.4g, min %.4g, mean %.4g%s\n"), ms->median, ms->min,
                 ms->mean, STATISTICS_SPREAD(ms->sd, ms->ci95));
    if (bench->mode == PLAN_INFERENCE)
        print_latency(bench);
    output_print(_("  images/s   %.4g\n"), bench->images_per_second);
    if (bench->energy.known)
        output_print(_("  energy     %.4g J/image, %.4g W\n"), joules_per_image(bench),
                     bench->energy.joules / bench->energy.seconds);
    else
        output_print(_("  energy     not known: %s\n"), bench->energy.why_unknown);
    output_print(_("  memory     peak %s of the process, %s planned\n"),
                 text_bytes(bench->peak_memory_bytes, peak, sizeof peak),
                 text_bytes(bench->memory.total, planned, sizeof planned));
    if (forecast_limit_text(&bench->memory, words, sizeof words)[0])
        output_print(_("  limit      %s\n"), words);
    if (forecast_fallback_text(&bench->memory, words, sizeof words)[0])
        output_print(_("  fallback   %s\n"), words);
    if (bench->recording_refusal[0])
        output_print(_("  graph      refused by the driver (%s): each kernel is launched by "
                       "itself (graphs refused: %llu, passes without one: %llu)\n"),
                     bench->recording_refusal, (unsigned long long)bench->refused_recordings,
                     (unsigned long long)bench->unrecorded_passes);
    if (bench->main.profile)
        bench_print_limits(bench);
}

static int print_layers(const struct bench_part *part, size_t iterations)
{
    struct table table = table_begin("llrrl", _("LAYER|OP|FORWARD ms|BACKWARD ms|KERNEL"));
    for (size_t i = 0; i < part->plan->step_count; i++) {
        const struct plan_step *step = &part->plan->steps[i];
        if (!is_shown(step))
            continue;
        char text[PLAN_KERNEL_NAME_SIZE];
        const struct node *node = &part->graph->nodes[step->node];
        struct profile_layer layer = profile_node(part->profile, step->node);
        double to_ms = 1e3 / (double)iterations;
        table_cell(&table, "%s", node->name);
        table_cell(&table, "%s", node->op->name);
        table_cell(&table, "%.3f", layer.forward_seconds * to_ms);
        table_cell(&table, "%.3f", layer.backward_seconds * to_ms);
        table_cell(&table, "%s", plan_step_kernel_name(part->plan, step, text, sizeof text));
    }
    return output_table(&table);
}

static int print_gemm(const struct part_profile *profile)
{
    struct table table = table_begin("lrrrrr", _("GEMM|M|N|K|CALLS|SECONDS"));
    for (size_t i = 0; i < profile->count; i++) {
        const struct gemm_row *row = &profile->rows[i];
        table_cell(&table, "%s", gemm_kind_name(row->kind));
        table_cell(&table, "%zu", row->m);
        table_cell(&table, "%zu", row->n);
        table_cell(&table, "%zu", row->k);
        table_cell(&table, "%llu", (unsigned long long)row->calls);
        table_cell(&table, "%.4f", row->seconds);
    }
    return output_table(&table);
}

static int print_profile(const struct bench *bench, const struct part_profile *profile,
                         bool discriminator)
{
    output_print("\n%s\n", discriminator ? _("An iteration of the discriminator, layer by layer:")
                                         : _("An iteration, layer by layer:"));
    int status = print_layers(profile->part, bench->iterations);
    if (status != EXIT_DONE)
        return status;
    output_print("\n");
    status = bench_print_passes(bench, profile->part);
    output_print("\n%s\n", discriminator
                               ? _("Matrix products of all iterations of the discriminator, "
                                   "seconds summed over threads:")
                               : _("Matrix products of all iterations, seconds summed over "
                                   "threads:"));
    return status == EXIT_DONE ? print_gemm(profile) : status;
}

static int print_tables(const struct bench *bench, const struct part_profile *main,
                        const struct part_profile *discriminator)
{
    int status = EXIT_DONE;
    print_summary(bench);
    if (main->part)
        status = print_profile(bench, main, false);
    if (status == EXIT_DONE && discriminator->part)
        status = print_profile(bench, discriminator, true);
    if (status == EXIT_DONE && main->part && bench->recording_refusal[0])
        output_print(_("\nOutside the profile, CUDA graphs refused by the driver: %llu, passes "
                       "without one: %llu (%s)\n"),
                     (unsigned long long)bench->refused_recordings,
                     (unsigned long long)bench->unrecorded_passes, bench->recording_refusal);
    return status;
}

/* Collects the matrix products; leaves *read alone if nothing was profiled. */
static bool read_profile(const struct bench_part *part, struct part_profile *read,
                         struct error *error)
{
    if (!part->profile)
        return true;
    read->part = part;
    return (read->rows = profile_gemm_rows(part->profile, &read->count, error));
}

static int print_bench(const struct bench *bench, bool as_json)
{
    struct error error;
    struct part_profile main = {0}, discriminator = {0};
    int status;
    if (!read_profile(&bench->main, &main, &error) ||
        !read_profile(&bench->discriminator, &discriminator, &error))
        status = output_error(&error);
    else
        status = as_json ? print_json(bench, &main, &discriminator)
                         : print_tables(bench, &main, &discriminator);
    free(main.rows);
    free(discriminator.rows);
    return status;
}

/* `mode` is NULL if none was given. */
static struct bench_settings make_settings(const struct run_config *config, const char *mode,
                                           size_t iterations, bool profile)
{
    struct bench_settings settings = bench_settings_of(config);
    if (mode && strcmp(mode, "infer") == 0)
        settings.mode = PLAN_INFERENCE;
    settings.infers_int8 = !mode;
    settings.iterations = iterations;
    settings.profile = settings.limits = profile;
    return settings;
}

static int bench_command_run(const struct command *command, int argc, char **argv)
{
    struct run_config config;
    struct bench bench;
    struct error error;
    struct operands operands;
    const char *mode = NULL;
    size_t iterations = 0, ranks = 0;
    bool as_json = false, profile = false, cluster = false;
    int status;
    const struct option_row rows[] = {
        NAME_ROW("mode", "NAME", N_("What to measure; without it training, in int8 inference."),
                 &mode, mode_names),
        {.name = "iterations",
         .argument = "N",
         .help =
             N_("How many iterations are measured; without it 10 of training, 50 of inference."),
         .kind = OPTION_COUNT,
         .value = &iterations,
         .low = 1,
         .high = 1000000},
        SWITCH_ROW("profile",
                   N_("Run the iterations a second time and show how long each layer takes and how "
                      "close it comes to this machine's limits."),
                   &profile),
        SWITCH_ROW("cluster",
                   N_("Under mpirun or srun: measure how training scales over their processes, and "
                      "predict other clusters."),
                   &cluster),
        processes_row(&ranks),
        OUTPUT_JSON_OPTION(&as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &config,
                                   .task = TASK_BENCH,
                                   .operands_min = 1,
                                   .operands_max = 1,
                                   .network_operand = true};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status) ||
        (!cluster && !processes_alone("bench", &status)))
        return status;
    struct bench_settings settings = make_settings(&config, mode, iterations, profile);
    if (cluster)
        return bench_cluster_run(&config, &settings, ranks, as_json);
    if (!bench_run(&settings, &bench, &error))
        return output_error(&error);
    status = print_bench(&bench, as_json);
    bench_free(&bench);
    return status;
}

const struct command command_bench = {
    .name = "bench",
    .in_launcher = true,
    .operands = "NET",
    .summary = N_("Measure how long training or inference takes."),
    .details =
        N_("The batch is synthetic and drawn beforehand: nothing is read while the time is "
           "measured. Two iterations warm up. A training iteration is a forward pass, a backward "
           "pass and an SGD step; with a discriminator it is the passes and Adam steps of both "
           "networks. An inference is a forward pass. Without --batch the batch size is 32 for "
           "training, and 1 for inference or for training with a discriminator; with --cluster it "
           "is 64, or the next multiple of the ranks."),
    .run = bench_command_run,
};
