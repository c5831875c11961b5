/* Prints each pass of each layer against the device's limits (the roofline model of Williams,
 * Waterman and Patterson, 2009): how long it takes, how many bytes and operations it needs, whether
 * computing or memory limits it, and how much of that limit it reaches. As JSON, and as text. */
#include "cli/internal.h"

#include "cli/output.h"

#include "base/language.h"
#include "base/text.h"
#include "training/bench/bench_pass.h"

#include <math.h>
#include <stdio.h>
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

bool bench_add_passes(struct json *layer, const struct bench *bench, const struct bench_part *part,
                      const struct plan_step *step)
{
    struct bench_pass forward, backward;
    const bool has_forward = bench_forward(bench, part, step, &forward);
    const bool has_backward = bench_backward(bench, part, step, &backward);
    return add_pass(layer, "forward", bench, has_forward, &forward) &&
           add_pass(layer, "backward", bench, has_backward, &backward);
}

bool bench_add_update(struct json *network, const struct bench *bench,
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

bool bench_add_roofline(struct json *root, const struct bench *bench)
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

void bench_print_limits(const struct bench *bench)
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

int bench_print_passes(const struct bench *bench, const struct bench_part *part)
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
