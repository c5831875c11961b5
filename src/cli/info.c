/* tinca info: shows a network's layers, their parameters and FLOPs, the kernels that training or
 * inference would use and the memory it would need. Everything comes from plans; nothing is
 * computed.
 *
 * A network with a discriminator has two parts, and each part has two plans. The plan of the chosen
 * mode names the kernels and the memory, the inference plan tells the bytes that a forward pass
 * moves. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/devices/device.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "engine/plan/plan.h"
#include "engine/plan/traffic.h"
#include "engine/quantize/simulate.h"
#include "engine/weights/safetensors.h"
#include "exchange/formats.h"
#include "models/saved/model_file.h"
#include "runs/machine/tuned_device.h"
#include "runs/settings/settings.h"
#include "training/methods/method.h"
#include "training/prepare/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const mode_names[] = {"train", "infer", NULL};

/* One of the two networks: the network itself, or its discriminator. */
struct part {
    const struct graph *graph;
    const struct plan *training;
    struct plan *inference;     /* the bytes come from it; views move none */
    const struct plan *kernels; /* the one of both that the kernels' names come from */
};

struct info {
    struct network *network;
    struct device *device;
    struct machine_origin origin; /* of the device's figures */
    struct method method;         /* that would train it: its plans */
    struct part main, discriminator;
    struct model saved; /* of a saved model: its description; of another network: without one */
    const struct memory_forecast *memory; /* to train all parts, or for inference */
    size_t batch;
    bool infer, mode_given;
    enum device_precision inference_precision, precision; /* the latter: of what is shown */
};

/* Builds the training plans, from which the memory is known. */
static bool make_training(struct info *info, const struct plan_settings *settings,
                          struct error *error)
{
    struct method_network networks[METHOD_NETWORKS];
    info->main.graph = &info->network->graph;
    if (!method_plan(&info->method, info->device->driver, settings, error))
        return false;
    const size_t count = method_networks(&info->method, networks);
    info->main.training = networks[0].plan;
    if (count > 1) {
        info->discriminator.graph = &info->network->discriminator;
        info->discriminator.training = networks[1].plan;
    }
    info->memory = method_memory(&info->method);
    return true;
}

static bool make_inference(struct part *part, const struct info *info,
                           const struct plan_settings *training, struct error *error)
{
    struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                     .batch = training->batch,
                                     .threads = training->threads,
                                     .strict_device = training->strict_device,
                                     .precision = info->inference_precision,
                                     .device = training->device,
                                     .machine = training->machine};
    if (part->graph)
        part->inference = plan_build(part->graph, info->device->driver, &settings, error);
    return !part->graph || part->inference;
}

static void choose_plans(struct part *part, bool infer)
{
    part->kernels = infer ? part->inference : part->training;
}

/* Builds the network; if nothing says how many classes it has, as many as the teacher knows. */
static bool make_network(struct info *info, const struct run_config *config, size_t classes,
                         struct error *error)
{
    const bool taught = training_settings(config).teacher[0];
    if (taught && info->infer)
        return error_set(error, ERROR_USAGE, OPTION(teacher), "give --mode train",
                         "inference has no teacher");
    if (info->mode_given && !info->infer && config_is_given(config, KEY(precision)) &&
        machine_settings(config).precision == PRECISION_INT8)
        return error_set(error, ERROR_USAGE, OPTION(precision),
                         "leave out --mode, or give --mode infer",
                         "networks are trained in float32, and int8 is for inference");
    if (!method_begin(&info->method, config, error))
        return false;
    const size_t known = method_classes(&info->method);
    struct network_request request = network_settings(config).request;
    request.classes = classes ? classes : known;
    info->network = network_build(&request, error);
    return info->network && method_open(&info->method, config, info->network, error);
}

/* Chooses the precisions of both plans, and the mode if none was given: a quantized network infers
 * in int8, where the device can, and trains in float32; what is not computed in int8 rounds as if
 * it were. Returns false with an error. */
static bool choose_precisions(struct info *info, const struct run_config *config,
                              struct plan_settings *training, struct error *error)
{
    const bool taught = training_settings(config).teacher[0];
    const bool chosen = config_is_given(config, KEY(precision));
    const bool int8 = chosen
                          ? machine_settings(config).precision == PRECISION_INT8
                          : graph_is_quantized(&info->network->graph) &&
                                device_check_precision(info->device->driver, PRECISION_INT8, NULL);
    info->inference_precision = int8 ? PRECISION_INT8 : training->precision;
    info->infer |= int8 && !info->mode_given && !taught;
    if (int8)
        training->precision = PRECISION_FLOAT32;
    if (!int8 || !info->infer) {
        info->inference_precision = training->precision;
        if (!network_simulate(info->network, error))
            return false;
    }
    info->precision = info->infer ? info->inference_precision : training->precision;
    return true;
}

static bool make_info(struct info *info, const struct run_config *config, size_t classes,
                      struct error *error)
{
    const struct network_settings network = network_settings(config);
    const struct machine_settings machine = machine_settings(config);
    if (network_is_model(network.network) &&
        !model_file_describe(&info->saved, network.network, error))
        return false;
    info->device = make_network(info, config, classes, error)
                       ? tuned_device_open(machine.device, machine.threads, &info->origin, error)
                       : NULL;
    if (!info->device ||
        !device_set_precision(info->device, (enum device_precision)machine.precision, error))
        return false;
    struct plan_settings settings = settings_plan(config, info->device->threads, PLAN_TRAINING);
    settings.device = info->device;
    settings.machine = &info->device->machine;
    info->batch = settings.batch;
    if (!choose_precisions(info, config, &settings, error) ||
        !make_training(info, &settings, error) ||
        !make_inference(&info->main, info, &settings, error) ||
        !make_inference(&info->discriminator, info, &settings, error))
        return false;
    choose_plans(&info->main, info->infer);
    choose_plans(&info->discriminator, info->infer);
    if (info->infer)
        info->memory = &info->main.inference->forecast;
    return true;
}

static void free_info(struct info *info)
{
    plan_free(info->main.inference);
    plan_free(info->discriminator.inference);
    method_close(&info->method);
    model_free(&info->saved);
    device_close(info->device);
    network_free(info->network);
}

/* --- values --- */

static const char *kernel_name(const struct plan *plan, size_t node, char *text, size_t size)
{
    const struct plan_step *step = plan_find_step(plan, node);
    return step ? plan_step_kernel_name(plan, step, text, size) : "view";
}

/* Returns FLOPs per byte; NaN if no byte is moved. */
static double intensity(uint64_t flops, double bytes)
{
    return bytes > 0 ? (double)flops / bytes : (double)NAN;
}

/* --- JSON --- */

static bool add_cost(struct json *object, size_t parameters, uint64_t flops, double bytes)
{
    return json_add_count(object, "parameters", parameters) &&
           json_add_count(object, "flops", flops) && json_add_number(object, "bytes", bytes) &&
           json_add_number(object, "intensity", intensity(flops, bytes));
}

static bool add_total(struct json *object, const struct part *part, size_t batch)
{
    return add_cost(object, graph_parameter_count(part->graph), graph_flops(part->graph),
                    traffic_bytes(part->inference, batch));
}

static bool add_layer(struct json *list, const struct part *part, size_t number, size_t batch)
{
    const struct graph *graph = part->graph;
    const struct node *node = &graph->nodes[number];
    const struct plan_step *step = plan_find_step(part->kernels, number);
    char text[PLAN_KERNEL_NAME_SIZE];
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", node->name) &&
           json_add_string(object, "op", node->op->name) &&
           output_add_shape(object, "output", node->output) &&
           add_cost(object, graph_node_parameter_count(graph, number),
                    graph_node_flops(graph, number),
                    traffic_node_bytes(part->inference, number, batch)) &&
           json_add_string(object, "kernel",
                           kernel_name(part->kernels, number, text, sizeof text)) &&
           json_add_string(object, "kernel_choice", step ? step->choice : "") &&
           json_add_bool(object, "falls_back", step && step->falls_back);
}

static bool add_layers(struct json *parent, const struct part *part, size_t batch)
{
    struct json *list = json_add_array(parent, "layers");
    bool added = list;
    for (size_t i = 0; i < part->graph->node_count; i++)
        if (part->graph->nodes[i].op != &op_input)
            added = added && add_layer(list, part, i, batch);
    return added;
}

/* Returns the bytes of the weights that inference in int8 has as integers, too. */
static uint64_t integer_weights(const struct info *info)
{
    return info->infer ? traffic_int8_weights(info->main.inference) : 0;
}

static bool add_memory(struct json *root, const struct info *info)
{
    const struct memory_forecast *memory = info->memory;
    struct json *object = json_add_object(root, "memory");
    return json_add_count(object, "weights", memory->weights) &&
           json_add_count(object, "gradients", memory->gradients) &&
           json_add_count(object, "solver", memory->solver) &&
           json_add_count(object, "activations", memory->activations) &&
           json_add_count(object, "workspace", memory->workspace) &&
           json_add_count(object, "packed_weights", memory->prepared) &&
           json_add_count(object, "integer_weights", integer_weights(info)) &&
           (memory->teacher == 0 || json_add_count(object, "teacher", memory->teacher)) &&
           json_add_count(object, "total", memory->total) &&
           json_add_count(object, "unlimited", memory->unlimited) &&
           json_add_count(object, "flops", memory->flops) &&
           json_add_count(object, "flops_again", memory->flops_again) &&
           json_add_count(object, "fallback_layers", memory->fallback_nodes) &&
           json_add_count(object, "fallback_bytes", memory->fallback_bytes);
}

/* Adds the discriminator. It counts in the memory of training, but in no sum of the network. */
static bool add_discriminator(struct json *root, const struct info *info)
{
    const struct part *part = &info->discriminator;
    struct json *object = json_add_object(root, "discriminator");
    return add_total(object, part, info->batch) &&
           output_add_shape(object, "output", part->graph->nodes[part->graph->output].output) &&
           add_layers(object, part, info->batch);
}

/* Adds the widths and the activation of a network whose file leaves them open. */
static bool add_choices(struct json *root, const struct network *network)
{
    struct json *list = network->widths.count ? json_add_array(root, "widths") : NULL;
    bool added = list || !network->widths.count;
    for (size_t i = 0; i < network->widths.count; i++)
        added = added && json_add_count(list, NULL, network->widths.each[i]);
    return added &&
           (!network->activation[0] || json_add_string(root, "activation", network->activation));
}

/* Adds how pictures become inputs of a saved model. */
static bool add_preprocessing(struct json *root, const struct info *info)
{
    return !info->saved.network || preprocessing_to_json(&info->saved.preprocessing,
                                                         json_add_object(root, "preprocessing"));
}

static bool add_machine(struct json *root, const struct machine_origin *origin)
{
    return json_add_string(json_add_object(root, "machine"), "source",
                           machine_source_names[origin->source]);
}

static int print_json(const struct info *info)
{
    const struct network *network = info->network;
    char name[NETWORK_SHORT_NAME];
    struct json *root = json_new_object();
    bool complete =
        json_add_string(root, "network", network_short_name(network, name, sizeof name)) &&
        json_add_string(root, "title", network->title) &&
        json_add_string(root, "technique", technique_name(network->technique)) &&
        json_add_count(root, "groups", network->groups) &&
        json_add_number(root, "width_rate", network->width_rate) &&
        json_add_number(root, "block_rate", network->block_rate) && add_choices(root, network) &&
        json_add_count(root, "classes", network->classes) &&
        output_add_shape(root, "input", network->input) && add_preprocessing(root, info) &&
        json_add_count(root, "batch", info->batch) &&
        json_add_string(root, "device", info->device->name) &&
        json_add_string(root, "mode", mode_names[info->infer]) &&
        json_add_string(root, "precision", device_precision_names[info->precision]) &&
        add_machine(root, &info->origin) && add_total(root, &info->main, info->batch) &&
        (!info->discriminator.graph || add_discriminator(root, info)) &&
        add_layers(root, &info->main, info->batch) && add_memory(root, info);
    return output_json(root, complete);
}

/* --- tables --- */

static void add_row(struct table *table, const struct part *part, size_t number, size_t batch)
{
    const struct graph *graph = part->graph;
    const struct node *node = &graph->nodes[number];
    char text[PLAN_KERNEL_NAME_SIZE];
    uint64_t flops = graph_node_flops(graph, number);
    double bytes = traffic_node_bytes(part->inference, number, batch);
    size_t parameters = graph_node_parameter_count(graph, number);
    table_cell(table, "%s", node->name);
    table_cell(table, "%s", node->op->name);
    table_cell(table, "%zux%zux%zu", node->output.channels, node->output.height,
               node->output.width);
    table_cell(table, "%s", parameters ? text_count(parameters, text, sizeof text) : "-");
    table_cell(table, "%s", flops ? text_si((double)flops, text, sizeof text) : "-");
    table_cell(table, "%s", bytes > 0 ? text_bytes((uint64_t)bytes, text, sizeof text) : "-");
    table_number(table, "%.3g", flops && bytes > 0 ? intensity(flops, bytes) : (double)NAN);
    table_cell(table, "%s", kernel_name(part->kernels, number, text, sizeof text));
}

static int print_layers(const struct part *part, size_t batch)
{
    const struct graph *graph = part->graph;
    struct table table =
        table_begin("lllrrrrl", _("LAYER|OP|OUTPUT|PARAMETERS|FLOPS|BYTES|R|KERNEL"));
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op != &op_input)
            add_row(&table, part, i, batch);
    return output_table(&table);
}

static int print_memory(const struct info *info)
{
    const struct memory_forecast *memory = info->memory;
    const uint64_t integers = integer_weights(info);
    const struct memory_part others[] = {{N_("packed weights"), memory->prepared - integers},
                                         {N_("weights as integers"), integers},
                                         {N_("total"), memory->total}};
    struct memory_part kinds[MEMORY_PARTS + sizeof others / sizeof *others];
    const size_t parts = forecast_parts(memory, kinds);
    const size_t count = parts + sizeof others / sizeof *others;
    memcpy(kinds + parts, others, sizeof others);
    char text[32], words[320];
    struct table table = table_begin("lr", _("MEMORY|SIZE"));
    for (size_t i = 0; i < count; i++) {
        if (kinds[i].bytes == 0)
            continue;
        table_cell(&table, "%s", gettext(kinds[i].name));
        table_cell(&table, "%s", text_bytes(kinds[i].bytes, text, sizeof text));
    }
    const bool int8 = info->infer && info->inference_precision == PRECISION_INT8;
    const char *title = int8          ? _("\nFor inference in int8 with batch %zu on %s:\n")
                        : info->infer ? _("\nFor inference with batch %zu on %s:\n")
                        : info->discriminator.graph ? _("\nTo train both with batch %zu on %s:\n")
                                                    : _("\nTo train with batch %zu on %s:\n");
    output_print(title, info->batch, info->device->name);
    int status = output_table(&table);
    if (forecast_limit_text(memory, words, sizeof words)[0])
        output_print(_("Memory limit: %s.\n"), words);
    if (forecast_fallback_text(memory, words, sizeof words)[0])
        output_print(_("Fallback: %s.\n"), words);
    return status;
}

/* Prints "431,080 parameters, 4.59 M FLOPs an image". */
static void print_total(const struct graph *graph)
{
    char parameters[32], flops[32];
    output_print(_("%s parameters, %s FLOPs an image"),
                 text_count(graph_parameter_count(graph), parameters, sizeof parameters),
                 text_si((double)graph_flops(graph), flops, sizeof flops));
}

/* Prints the bytes moved per image and the arithmetic intensity R. A larger batch reads the
 * parameters once for more images, which raises R. */
static void print_traffic(const struct part *part, size_t batch)
{
    char text[32];
    uint64_t flops = graph_flops(part->graph);
    double bytes = traffic_bytes(part->inference, batch);
    text_bytes((uint64_t)bytes, text, sizeof text);
    if (!(bytes > 0)) /* a network that only passes its input on */
        output_print(_("no bytes moved an image, and no arithmetic intensity R\n"));
    else if (batch > 1)
        output_print(_("%s moved an image at batch %zu: R = %.3g FLOPs a byte (%.3g at batch 1)\n"),
                     text, batch, intensity(flops, bytes),
                     intensity(flops, traffic_bytes(part->inference, 1)));
    else
        output_print(_("%s moved an image at batch %zu: R = %.3g FLOPs a byte\n"), text, batch,
                     intensity(flops, bytes));
}

static int print_discriminator(const struct part *part, size_t batch)
{
    const struct shape output = part->graph->nodes[part->graph->output].output;
    output_print("\n%s ", _("discriminator, in training:"));
    print_total(part->graph);
    output_print(", ");
    output_print(_("%zux%zu answers\n"), output.height, output.width);
    print_traffic(part, batch);
    output_print("\n");
    return print_layers(part, batch);
}

/* Prints the source of the figures by which kernels and the division of work are chosen. */
static void print_origin(const struct machine_origin *origin)
{
    char text[1024];
    if (origin->source == MACHINE_UNUSED)
        return;
    output_print(_("Chosen by %s.\n"), machine_origin_text(origin));
    if (origin->error.kind != ERROR_NONE)
        output_print("  %s\n", error_format(&origin->error, text, sizeof text));
}

/* Writes a number for each channel of a picture. Returns `text`. */
static char *print_channels(const float *values, size_t channels, char *text, size_t size)
{
    if (channels == 1)
        snprintf(text, size, "%.6g", (double)values[0]);
    else
        snprintf(text, size, "%.6g %.6g %.6g", (double)values[0], (double)values[1],
                 (double)values[2]);
    return text;
}

/* Prints how pictures become inputs of a saved model. */
static void print_preprocessing(const struct preprocessing *p)
{
    const struct normalisation *n = &p->normalisation;
    const size_t side = p->stored_height < p->stored_width ? p->stored_height : p->stored_width;
    char mean[64], deviation[64];
    output_print(p->as_stored ? _("pictures: as they are stored (orient=no)")
                              : _("pictures: upright by their EXIF data (orient=yes)"));
    if (p->stretched)
        output_print(_(", stretched to %zux%zu (filter=%s)\n"), p->height, p->width,
                     image_filter_names[p->filter]);
    else
        output_print(
            _(", the shorter side resized to %zu (filter=%s), the middle %zux%zu cut out\n"), side,
            image_filter_names[p->filter], p->height, p->width);
    if (p->luma && p->channels == 1)
        output_print(
            _("The grey of JPEG files in colours is their luma, as in earlier versions.\n"));
    output_print(_("normalisation %s: (sample - mean) / deviation, samples 0 to 255, mean %s, "
                   "deviation %s\n"),
                 n->name, print_channels(n->mean, p->channels, mean, sizeof mean),
                 print_channels(n->deviation, p->channels, deviation, sizeof deviation));
    if (n->drawn)
        output_print(_("measured on %zu of %zu images, drawn at random by the seed %llu\n"),
                     n->measured, n->measured_of, (unsigned long long)n->seed);
    else if (n->measured < n->measured_of)
        output_print(_("measured on the %zu of %zu images that could be read\n"), n->measured,
                     n->measured_of);
    else if (n->measured)
        output_print(_("measured on all %zu images\n"), n->measured);
    if (!p->recorded)
        output_print(_("The file records no filter: pictures are prepared as by earlier versions "
                       "(bilinear2).\n"));
}

static int print_tables(const struct info *info)
{
    const struct network *network = info->network;
    char widths[8 * NETWORK_MAX_WIDTHS];
    output_print(_("%s, technique %s\n"), language_text(network->title),
                 technique_name(network->technique));
    if (network->compression[0])
        output_print(_("applied after training: %s\n"), network->compression);
    if (network->widths.count)
        output_print(_("widths %s\n"),
                     network_widths_print(&network->widths, ',', widths, sizeof widths));
    if (network->activation[0])
        output_print(_("activation %s\n"), network->activation);
    output_print(_("input %zux%zux%zu, %zu classes, "), network->input.channels,
                 network->input.height, network->input.width, network->classes);
    print_total(info->main.graph);
    output_print("\n");
    if (info->saved.network)
        print_preprocessing(&info->saved.preprocessing);
    print_traffic(&info->main, info->batch);
    output_print("\n");
    int status = print_layers(&info->main, info->batch);
    if (status == EXIT_DONE && info->discriminator.graph)
        status = print_discriminator(&info->discriminator, info->batch);
    if (status == EXIT_DONE)
        status = print_memory(info);
    if (status == EXIT_DONE)
        print_origin(&info->origin);
    return status;
}

/* Returns whether an operand is a file, but neither a network file nor a saved model. A network's
 * name means the network, even if a file is called so. */
static bool is_other_file(const char *operand)
{
    struct error unused;
    struct safetensors file;
    const enum content content = content_of(operand);
    bool network = content == CONTENT_NETWORK || network_is_name(operand) || !file_exists(operand);
    if (content == CONTENT_SAFETENSORS && safetensors_open(&file, operand, &unused)) {
        network = safetensors_metadata(&file, "tinca.network");
        safetensors_close(&file);
    }
    return !network;
}

/* Says what a file is. */
static int print_file(const char *path, bool as_json)
{
    struct exchange_report report = {0};
    struct error error;
    const int file = file_open_regular(path, &error);
    if (file < 0)
        return output_error(&error);
    close(file);
    format_describe(path, &report);
    const int status = output_report(&report, NULL, as_json);
    exchange_report_free(&report);
    return status;
}

static int info_run(const struct command *command, int argc, char **argv)
{
    struct run_config config;
    struct info info = {0};
    struct error error;
    struct operands operands;
    const char *mode = NULL;
    size_t classes = 0;
    bool as_json = false;
    int status;
    const struct option_row rows[] = {
        COUNT_ROW("classes", "N", N_("The number of classes; without it that of the network file."),
                  &classes, 1, 1000000),
        NAME_ROW("mode", "NAME",
                 N_("Show the kernels and the memory of training or of inference; without it of "
                    "training, in int8 of inference."),
                 &mode, mode_names),
        OUTPUT_JSON_OPTION(&as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &config,
                                   .task = TASK_INFO,
                                   .operands_min = 1,
                                   .operands_max = 1,
                                   .network_operand = true};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (is_other_file(operands.values[0]))
        return print_file(operands.values[0], as_json);
    info.mode_given = mode;
    info.infer = mode && strcmp(mode, "infer") == 0;
    if (!make_info(&info, &config, classes, &error))
        status = output_error(&error);
    else
        status = as_json ? print_json(&info) : print_tables(&info);
    free_info(&info);
    return status;
}

const struct command command_info = {
    .name = "info",
    .operands = "NET|FILE",
    .summary =
        N_("Show a network's layers, parameters, FLOPs and memory forecast, or what a file is."),
    .details =
        N_("NET is a network's name (tinca networks) or the path of a network file or a saved "
           "model. Of any other FILE the command says what it is by its contents, and what it "
           "carries. FLOPs "
           "are the multiply-adds x 2 of convolutions and linear layers in the forward pass "
           "of one image. Bytes are the least that this pass moves: each layer reads its "
           "inputs and writes its output, and reads its parameters once per batch. R, FLOPs "
           "per byte, is the arithmetic intensity; a larger batch raises it."),
    .run = info_run,
};
