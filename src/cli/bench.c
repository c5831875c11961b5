/* Prints each pass of each layer against the device's limits (the roofline model of Williams,
 * Waterman and Patterson, 2009): how long it takes, how many bytes and operations it needs, whether
 * computing or memory limits it, and how much of that limit it reaches. As JSON, and as text. */
#include "cli/internal.h"

#include "base/language.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "engine/ops/op.h"
#include "runs/folder/computed_with.h"
#include "runs/settings/settings.h"
#include "training/bench/bench.h"
#include "training/bench/bench_pass.h"
#include "training/prepare/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- JSON --- */

/* Adds the figures that a single pass and the whole iteration have in common. */
static bool add_figures(struct json *object, const struct bench_pass *pass)
{
    return json_add_number(object, "ms", 1e3 * pass->seconds) &&
           json_add_number(object, "flops", pass->work.flops) &&
           json_add_number(object, "bytes", pass->work.bytes) &&
           json_add_number(object, "gflops", bench_pass_gflops(pass)) &&
           json_add_number(object, "intensity", roofline_intensity(pass->work)) &&
           json_add_number(object, "attainable_ms", 1e3 * pass->attainable) &&
           json_add_number(object, "percent_of_attainable", bench_pass_of_attainable(pass));
}

static bool add_limit(struct json *object, enum roofline_limit limit)
{
    static const char *const names[] = {
        [ROOFLINE_COMPUTE] = "compute", [ROOFLINE_MEMORY] = "memory"};
    return limit == ROOFLINE_NONE ? json_add_null(object, "limit")
                                  : json_add_string(object, "limit", names[limit]);
}

static bool add_pass(struct json *parent, const char *key, const struct bench *bench, bool executed,
                     const struct bench_pass *pass)
{
    if (!executed)
        return json_add_null(parent, key);
    struct json *object = json_add_object(parent, key);
    return add_figures(object, pass) && add_limit(object, pass->limit) &&
           json_add_number(object, "percent_of_iteration", bench_pass_share(bench, pass));
}

/* Adds "forward" and "backward" to a layer's object; null if the pass does not exist. */
static bool bench_add_passes(struct json *layer, const struct bench *bench,
                             const struct bench_part *part, const struct plan_step *step)
{
    struct bench_pass forward, backward;
    const bool has_forward = bench_forward(bench, part, step, &forward);
    const bool has_backward = bench_backward(bench, part, step, &backward);
    return add_pass(layer, "forward", bench, has_forward, &forward) &&
           add_pass(layer, "backward", bench, has_backward, &backward);
}

/* Adds "update", the solver's step, to a network's object; null in inference. */
static bool bench_add_update(struct json *network, const struct bench *bench,
                             const struct bench_part *part)
{
    struct bench_pass pass;
    const bool executed = bench_update(bench, part, &pass);
    return add_pass(network, "update", bench, executed, &pass);
}

static bool add_limits(struct json *object, const struct bench *bench)
{
    if (!bench->limits_measured)
        return json_add_null(object, "limits");
    struct json *limits = json_add_object(object, "limits");
    return json_add_number(limits, "peak_gflops", 1e-9 * bench->limits.flops) &&
           json_add_number(limits, "sgemm_gflops", 1e-9 * bench->limits.sgemm_flops) &&
           json_add_number(limits, "gigabytes_per_second", 1e-9 * bench->limits.bytes);
}

/* Adds "roofline" to the document: the limits, and the whole iteration against them. */
static bool bench_add_roofline(struct json *root, const struct bench *bench)
{
    const struct bench_pass whole = bench_whole(bench);
    struct json *object = json_add_object(root, "roofline");
    return add_limits(object, bench) && add_figures(object, &whole) &&
           json_add_number(object, "percent_of_sgemm", bench_pass_of_sgemm(bench, &whole)) &&
           json_add_number(object, "profiled_ms", 1e3 * bench->profiled_seconds);
}

/* --- text --- */

enum { FIGURE_TEXT_SIZE = 32, NAME_COLUMNS = 20 };

/* Writes four significant digits in at most five columns, "-" for an unknown value. Returns `text`.
 */
static const char *figure(double value, char text[FIGURE_TEXT_SIZE])
{
    const int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
    if (isfinite(value))
        snprintf(text, FIGURE_TEXT_SIZE, "%.*f", value == 0 ? 0 : decimals, value);
    else
        snprintf(text, FIGURE_TEXT_SIZE, "-");
    return text;
}

/* Writes a whole number, "-" for an unknown value. Returns `text`. */
static const char *percent(double value, char text[FIGURE_TEXT_SIZE])
{
    if (isfinite(value))
        snprintf(text, FIGURE_TEXT_SIZE, "%.0f", value);
    else
        snprintf(text, FIGURE_TEXT_SIZE, "-");
    return text;
}

/* Prints the limits and how much of them the iteration reaches, as lines of the summary. */
static void bench_print_limits(const struct bench *bench)
{
    char one[FIGURE_TEXT_SIZE], two[FIGURE_TEXT_SIZE], three[FIGURE_TEXT_SIZE];
    const struct device_limits *limits = &bench->limits;
    const struct bench_pass whole = bench_whole(bench);
    if (!bench->limits_measured) {
        output_print(_("  limits     not measured: %s\n"), bench->limits_error.why);
        output_print(_("  reached    %s GFLOP/s\n"), figure(bench_pass_gflops(&whole), one));
        return;
    }
    output_print(_("  limits     peak %s GFLOP/s, SGEMM %s GFLOP/s, memory %s GB/s\n"),
                 figure(1e-9 * limits->flops, one), figure(1e-9 * limits->sgemm_flops, two),
                 figure(1e-9 * limits->bytes, three));
    if (bench_has_int8(bench)) {
        output_print(_("  reached    %s GOP/s; the limits are of float32, not of int8\n"),
                     figure(bench_pass_gflops(&whole), one));
        return;
    }
    output_print(_("  reached    %s GFLOP/s: %s %% of SGEMM, %s %% of what the limits allow\n"),
                 figure(bench_pass_gflops(&whole), one),
                 percent(bench_pass_of_sgemm(bench, &whole), two),
                 percent(bench_pass_of_attainable(&whole), three));
}

/* Returns whether a layer's name is so long that the table leaves out the intensity (FLOP/B), which
 * follows from two other columns. */
static bool has_long_names(const struct bench_part *part)
{
    for (size_t i = 0; i < part->plan->step_count; i++)
        if (strlen(part->graph->nodes[part->plan->steps[i].node].name) > NAME_COLUMNS)
            return true;
    return false;
}

/* Appends which limit the pass meets first, and how much of it is reached. */
static void limit_cell(struct table *table, const struct bench_pass *pass)
{
    const double reached = bench_pass_of_attainable(pass);
    char share[16];
    if (!isfinite(reached)) /* a pass that took no time that the clock shows */
        snprintf(share, sizeof share, "  -");
    else if (reached > 999) /* other programs used the machine while the limits were measured */
        snprintf(share, sizeof share, ">999");
    else
        snprintf(share, sizeof share, "%3.0f", reached);
    if (pass->limit == ROOFLINE_COMPUTE)
        table_cell(table, _("compute %s %%"), share);
    else if (pass->limit == ROOFLINE_MEMORY)
        table_cell(table, _("memory %s %%"), share);
    else
        table_cell(table, "-");
}

static void print_pass(struct table *table, const struct bench *bench, const char *layer,
                       const char *direction, bool brief, const struct bench_pass *pass)
{
    char text[FIGURE_TEXT_SIZE];
    table_cell(table, "%s", layer);
    table_cell(table, "%s", direction);
    table_cell(table, "%s", figure(1e3 * pass->seconds, text));
    table_cell(table, "%.1f", bench_pass_share(bench, pass));
    table_cell(table, "%s", figure(1e-6 * pass->work.bytes, text));
    table_cell(table, "%s", figure(bench_pass_gflops(pass), text));
    if (!brief)
        table_cell(table, "%s", figure(roofline_intensity(pass->work), text));
    limit_cell(table, pass);
}

/* Prints a table of all passes. Returns the exit status. */
static int bench_print_passes(const struct bench *bench, const struct bench_part *part)
{
    const bool brief = has_long_names(part);
    struct table table =
        brief ? table_begin("llrrrrr", _("LAYER|PASS|ms|SHARE|MB|GFLOP/s|LIMIT"))
              : table_begin("llrrrrrr", _("LAYER|PASS|ms|SHARE|MB|GFLOP/s|FLOP/B|LIMIT"));
    struct bench_pass pass;
    output_print_wrapped(
        _("The forward (fwd) and backward (bwd) pass of each layer: which limit it meets first, "
          "and how much of that limit it reaches; above 100 % its data was in a cache."),
        0, 0, OUTPUT_WIDTH);
    if (bench_has_int8(bench))
        output_print_wrapped(_("A pass in int8 is rated against no limit: the machine's peak is "
                               "measured in float32. Its GFLOP/s count operations of integers."),
                             0, 0, OUTPUT_WIDTH);
    for (size_t i = 0; i < part->plan->step_count; i++) {
        const struct plan_step *step = &part->plan->steps[i];
        const char *name = part->graph->nodes[step->node].name;
        if (bench_forward(bench, part, step, &pass))
            print_pass(&table, bench, name, _("fwd"), brief, &pass);
        if (bench_backward(bench, part, step, &pass))
            print_pass(&table, bench, name, _("bwd"), brief, &pass);
    }
    if (bench_update(bench, part, &pass))
        print_pass(&table, bench, _("(solver step)"), "", brief, &pass);
    return output_table(&table);
}

/* --- the command --- */

/* tinca bench: measures how long an iteration takes on synthetic batches; with --profile also where
 * the time goes. training/bench/bench.c measures; this file prints the result as text or JSON, the
 * layers against the machine's limits below. */

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
