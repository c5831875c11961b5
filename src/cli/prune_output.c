/* A result is a table of layers and one of figures, before and after; as JSON it has the same. The
 * share is that of the figure before which remains. */
#include "cli/prune_output.h"

#include "cli/output.h"

#include "base/files/file.h"
#include "base/text.h"
#include "session/measure/turns.h"

#include <math.h>
#include <stdio.h>

static const char *const goal_names[] = {"flops", "parameters", "latency"};

/* --- shared --- */

static void add_count_row(struct table *table, const char *name, uint64_t before, uint64_t after)
{
    table_cell(table, "%s", name);
    table_cell(table, "%llu", (unsigned long long)before);
    table_cell(table, "%llu", (unsigned long long)after);
    table_cell(table, "%.4f", (double)after / (double)before);
}

static void add_ms_rows(struct table *table, const struct statistics *before,
                        const struct statistics *after)
{
    table_cell(table, "%s", _("ms/image, median"));
    table_cell(table, "%.4g", before->median);
    table_cell(table, "%.4g", after->median);
    table_cell(table, "%.4f", after->median / before->median);
    table_cell(table, "%s", _("ms/image, least"));
    table_cell(table, "%.4g", before->min);
    table_cell(table, "%.4g", after->min);
    table_cell(table, "%.4f", after->min / before->min);
}

/* Adds the accuracy: of classes with its interval, or of pixels. */
static void add_accuracy_rows(struct table *table, const struct evaluation *before,
                              const struct evaluation *after)
{
    if (isfinite(before->top1)) {
        table_cell(table, "%s", _("top-1 %"));
        table_cell(table, "%.2f [%.2f, %.2f]", before->top1, before->top1_low, before->top1_high);
        table_cell(table, "%.2f [%.2f, %.2f]", after->top1, after->top1_low, after->top1_high);
    } else {
        table_cell(table, "%s", _("pixel accuracy %"));
        table_cell(table, "%.2f", before->pixel_accuracy);
        table_cell(table, "%.2f", after->pixel_accuracy);
    }
    table_cell(table, "%s", "");
    table_cell(table, "%s", _("validation loss"));
    table_cell(table, "%s", TEXT_NUMBER(before->loss, 4));
    table_cell(table, "%s", TEXT_NUMBER(after->loss, 4));
    table_cell(table, "%s", "");
}

static bool add_accuracy(struct json *object, const struct evaluation *accuracy)
{
    return json_add_number(object, "top1", accuracy->top1) &&
           json_add_number(object, "top1_low", accuracy->top1_low) &&
           json_add_number(object, "top1_high", accuracy->top1_high) &&
           json_add_number(object, "pixel_accuracy", accuracy->pixel_accuracy) &&
           json_add_number(object, "loss", accuracy->loss) &&
           json_add_count(object, "images", accuracy->images);
}

/* --- channels --- */

static bool add_figures(struct json *root, const char *key, const struct prune_figures *figures,
                        bool evaluated)
{
    struct json *object = json_add_object(root, key);
    return json_add_count(object, "flops", figures->flops) &&
           json_add_count(object, "parameters", figures->parameters) &&
           json_add_count(object, "bytes", figures->bytes) &&
           output_add_statistics(object, "ms_per_image", &figures->ms) &&
           (!evaluated || add_accuracy(object, &figures->accuracy));
}

static bool add_stages(struct json *root, const struct prune_result *result)
{
    struct json *list = json_add_array(root, "steps");
    bool added = list;
    for (size_t i = 0; added && i < result->stage_count; i++) {
        const struct prune_stage *stage = &result->stages[i];
        struct json *object = json_add_object(list, NULL);
        added = json_add_count(object, "flops", stage->flops) &&
                json_add_count(object, "parameters", stage->parameters) &&
                (stage->run[0] ? json_add_string(object, "run", file_base_name(stage->run))
                               : json_add_null(object, "run"));
    }
    return added;
}

static bool add_layers(struct json *root, const struct prune_result *result)
{
    struct json *list = json_add_array(root, "layers");
    bool added = list;
    for (size_t i = 0; added && i < result->layer_count; i++) {
        const struct prune_layer *layer = &result->layers[i];
        struct json *object = json_add_object(list, NULL);
        added = json_add_string(object, "name", layer->name) &&
                json_add_count(object, "before", layer->before) &&
                json_add_count(object, "after", layer->after) &&
                (layer->hold == CHANNEL_FREE ||
                 (json_add_string(object, "held_by", layer->holder) &&
                  json_add_string(object, "held_because", channel_hold_text(layer->hold))));
    }
    return added;
}

static int print_channels_json(const struct prune_request *request,
                               const struct prune_result *result)
{
    struct json *root = json_new_object();
    return output_json(
        root, json_add_string(root, "network", result->network) &&
                  json_add_string(root, "model", request->model) &&
                  json_add_string(root, "output", request->output) &&
                  json_add_string(root, "criterion", channel_criterion_names[request->criterion]) &&
                  json_add_string(root, "goal", goal_names[request->goal]) &&
                  json_add_number(root, "target", request->target) &&
                  json_add_string(root, "device", result->device) &&
                  json_add_count(root, "threads", result->threads) &&
                  json_add_count(root, "groups", result->free_groups) &&
                  json_add_count(root, "held_groups", result->held_groups) &&
                  add_figures(root, "before", &result->before, result->evaluated) &&
                  add_figures(root, "after", &result->after, result->evaluated) &&
                  add_stages(root, result) && add_layers(root, result));
}

static int print_layers(const struct prune_result *result)
{
    struct table table = table_begin("lrrl", _("LAYER|BEFORE|AFTER|WHY ITS CHANNELS STAY"));
    for (size_t i = 0; i < result->layer_count; i++) {
        const struct prune_layer *layer = &result->layers[i];
        table_cell(&table, "%s", layer->name);
        table_cell(&table, "%zu", layer->before);
        table_cell(&table, "%zu", layer->after);
        table_cell(&table, "%s", language_text(channel_hold_text(layer->hold)));
    }
    return table_print(&table);
}

/* Prints the measurement that ended the search for a time, and warns if the last one differs. */
static void print_latency(const struct prune_request *request, const struct prune_result *result)
{
    const double last = result->after.ms.median;
    if (request->goal != GOAL_LATENCY || result->stage_count == 0)
        return;
    output_print(_("target %.4g ms an image: the search measured %.4g ms\n"), request->target,
                 result->stages[result->stage_count - 1].ms);
    if (last > request->target)
        output_note(_("The target is not met by the last measurement, %.4g ms: measure on an idle "
                      "machine, or give a shorter time.\n"),
                    last);
}

static int print_channels(const struct prune_request *request, const struct prune_result *result)
{
    const struct prune_figures *before = &result->before, *after = &result->after;
    const int status = print_layers(result);
    struct table table = table_begin("lrrr", _("FIGURE|BEFORE|AFTER|SHARE"));
    add_count_row(&table, _("FLOPs"), before->flops, after->flops);
    add_count_row(&table, _("parameters"), before->parameters, after->parameters);
    add_count_row(&table, _("bytes"), before->bytes, after->bytes);
    add_ms_rows(&table, &before->ms, &after->ms);
    if (result->evaluated)
        add_accuracy_rows(&table, &before->accuracy, &after->accuracy);
    output_print("\n");
    if (status != 0 || table_print(&table) != 0)
        return 1;
    output_print("%s\n", turns_advice_text());
    print_latency(request, result);
    output_print(_("\n%s written to %s\n"), result->network, request->output);
    return 0;
}

int prune_output_channels(const struct prune_request *request, const struct prune_result *result,
                          bool as_json)
{
    return as_json ? print_channels_json(request, result) : print_channels(request, result);
}

/* --- weights --- */

static bool add_side(struct json *root, const char *key, const struct magnitude_result *result,
                     size_t i)
{
    struct json *object = json_add_object(root, key);
    return json_add_count(object, "bytes", result->bytes[i]) &&
           json_add_count(object, "compressed_bytes", result->compressed[i]) &&
           output_add_statistics(object, "ms_per_image", &result->ms[i]) &&
           (!result->evaluated || add_accuracy(object, &result->accuracy[i]));
}

static int print_magnitude_json(const struct magnitude_request *request,
                                const struct magnitude_result *result)
{
    struct json *root = json_new_object();
    return output_json(root, json_add_string(root, "network", result->network) &&
                                 json_add_string(root, "model", request->model) &&
                                 json_add_string(root, "output", request->output) &&
                                 json_add_number(root, "share", request->share) &&
                                 json_add_count(root, "weights", result->weights) &&
                                 json_add_count(root, "zeros", result->zeros) &&
                                 add_side(root, "before", result, 0) &&
                                 add_side(root, "after", result, 1));
}

static int print_magnitude(const struct magnitude_request *request,
                           const struct magnitude_result *result)
{
    struct table table = table_begin("lrrr", _("FIGURE|BEFORE|AFTER|SHARE"));
    const struct statistics *ms = result->ms;
    add_count_row(&table, _("bytes"), result->bytes[0], result->bytes[1]);
    add_count_row(&table, _("bytes, compressed"), result->compressed[0], result->compressed[1]);
    add_ms_rows(&table, &ms[0], &ms[1]);
    if (result->evaluated)
        add_accuracy_rows(&table, &result->accuracy[0], &result->accuracy[1]);
    output_print(_("%llu of %llu weights are zero.\n"), (unsigned long long)result->zeros,
                 (unsigned long long)result->weights);
    if (table_print(&table) != 0)
        return 1;
    output_print("%s\n", turns_advice_text());
    output_print(_("\nThe network has the same shape and computes as much as before: only a "
                   "compressed file is smaller.\n"));
    output_print(_("%s written to %s\n"), result->network, request->output);
    return 0;
}

int prune_output_magnitude(const struct magnitude_request *request,
                           const struct magnitude_result *result, bool as_json)
{
    return as_json ? print_magnitude_json(request, result) : print_magnitude(request, result);
}
