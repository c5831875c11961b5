/* tinca info: a network's layers, and what training it would take. Nothing is run. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/text.h"
#include "engine/device.h"
#include "engine/network.h"
#include "engine/ops/op.h"
#include "engine/plan.h"
#include "session/settings.h"

#include <stdio.h>

struct info {
    struct network *network;
    struct device *device;
    struct plan *plan;
};

static bool make_info(struct info *info, const struct run_config *config, size_t classes,
                      struct error *error)
{
    struct network_request request = settings_network(config, classes);
    info->network = network_build(&request, error);
    info->device = info->network ? device_open(config->device, config->threads, error) : NULL;
    if (!info->device)
        return false;
    struct plan_settings settings = settings_plan(config, info->device->threads, PLAN_TRAINING);
    info->plan = plan_build(&info->network->graph, info->device->driver, &settings, error);
    return info->plan;
}

/* Why the plan took the kernel that it took; a view has none. */
static const struct plan_step *find_step(const struct plan *plan, size_t node)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].node == node)
            return &plan->steps[i];
    return NULL;
}

static const char *kernel_name(const struct plan *plan, size_t node, char *text, size_t size)
{
    const struct plan_step *step = find_step(plan, node);
    return step ? plan_step_kernel_name(plan, step, text, size) : "view";
}

/* --- JSON --- */

static bool add_layer(struct json *list, const struct info *info, size_t number)
{
    const struct graph *graph = &info->network->graph;
    const struct node *node = &graph->nodes[number];
    const struct plan_step *step = find_step(info->plan, number);
    char text[PLAN_KERNEL_NAME_SIZE];
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", node->name) &&
           json_add_string(object, "op", node->op->name) &&
           output_add_shape(object, "output", node->output) &&
           json_add_count(object, "parameters", graph_node_parameter_count(graph, number)) &&
           json_add_count(object, "flops", graph_node_flops(graph, number)) &&
           json_add_string(object, "kernel", kernel_name(info->plan, number, text, sizeof text)) &&
           json_add_string(object, "kernel_choice", step ? step->choice : "");
}

static bool add_memory(struct json *root, const struct memory_forecast *memory)
{
    struct json *object = json_add_object(root, "memory");
    return json_add_count(object, "weights", memory->weights) &&
           json_add_count(object, "gradients", memory->gradients) &&
           json_add_count(object, "solver", memory->solver) &&
           json_add_count(object, "activations", memory->activations) &&
           json_add_count(object, "workspace", memory->workspace) &&
           json_add_count(object, "total", memory->total);
}

/* Besides the network, while it is trained; its figures are in no other sum. */
static bool add_discriminator(struct json *root, const struct graph *graph)
{
    struct json *object = json_add_object(root, "discriminator");
    return json_add_count(object, "parameters", graph_parameter_count(graph)) &&
           json_add_count(object, "flops", graph_flops(graph)) &&
           output_add_shape(object, "output", graph->nodes[graph->output].output);
}

static int print_json(const struct info *info)
{
    const struct network *network = info->network;
    const struct graph *graph = &network->graph;
    struct json *root = json_new_object();
    bool complete = json_add_string(root, "network", network->name) &&
                    json_add_string(root, "title", network->title) &&
                    json_add_string(root, "technique", technique_name(network->technique)) &&
                    json_add_count(root, "groups", network->groups) &&
                    json_add_number(root, "width_rate", network->width_rate) &&
                    json_add_number(root, "block_rate", network->block_rate) &&
                    json_add_count(root, "classes", network->classes) &&
                    output_add_shape(root, "input", network->input) &&
                    json_add_count(root, "batch", info->plan->batch) &&
                    json_add_string(root, "device", info->device->name) &&
                    json_add_count(root, "parameters", graph_parameter_count(graph)) &&
                    json_add_count(root, "flops", graph_flops(graph));
    if (network_has_discriminator(network))
        complete = complete && add_discriminator(root, &network->discriminator);
    struct json *list = json_add_array(root, "layers");
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op != &op_input)
            complete = complete && add_layer(list, info, i);
    complete = complete && list && add_memory(root, &info->plan->forecast);
    return output_json(root, complete);
}

/* --- tables --- */

static void add_row(struct table *table, const struct info *info, size_t number)
{
    const struct graph *graph = &info->network->graph;
    const struct node *node = &graph->nodes[number];
    char text[PLAN_KERNEL_NAME_SIZE];
    uint64_t flops = graph_node_flops(graph, number);
    size_t parameters = graph_node_parameter_count(graph, number);
    table_cell(table, "%s", node->name);
    table_cell(table, "%s", node->op->name);
    table_cell(table, "%zux%zux%zu", node->output.channels, node->output.height,
               node->output.width);
    table_cell(table, "%s", parameters ? text_count(parameters, text, sizeof text) : "-");
    table_cell(table, "%s", flops ? text_si((double)flops, text, sizeof text) : "-");
    table_cell(table, "%s", kernel_name(info->plan, number, text, sizeof text));
}

static int print_layers(const struct info *info)
{
    const struct graph *graph = &info->network->graph;
    struct table table = table_begin("lllrrl", "LAYER|OP|OUTPUT|PARAMETERS|FLOPS|KERNEL");
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op != &op_input)
            add_row(&table, info, i);
    return table_print(&table);
}

static int print_memory(const struct info *info)
{
    const struct memory_forecast *memory = &info->plan->forecast;
    const struct {
        const char *name;
        uint64_t bytes;
    } kinds[] = {{"weights", memory->weights},     {"gradients", memory->gradients},
                 {"solver", memory->solver},       {"activations", memory->activations},
                 {"workspace", memory->workspace}, {"total", memory->total}};
    char text[32];
    struct table table = table_begin("lr", "MEMORY|SIZE");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        table_cell(&table, "%s", kinds[i].name);
        table_cell(&table, "%s", text_bytes(kinds[i].bytes, text, sizeof text));
    }
    printf("\nTo train with batch %zu on %s:\n", info->plan->batch, info->device->name);
    return table_print(&table);
}

static void print_discriminator(const struct graph *graph)
{
    char parameters[32], flops[32];
    const struct shape output = graph->nodes[graph->output].output;
    printf("discriminator, in training: %s parameters, %s FLOPs an image, %zux%zu answers\n",
           text_count(graph_parameter_count(graph), parameters, sizeof parameters),
           text_si((double)graph_flops(graph), flops, sizeof flops), output.height, output.width);
}

static int print_tables(const struct info *info)
{
    const struct network *network = info->network;
    char parameters[32], flops[32];
    printf("%s, technique %s\n", network->title, technique_name(network->technique));
    printf("input %zux%zux%zu, %zu classes, %s parameters, %s FLOPs an image\n",
           network->input.channels, network->input.height, network->input.width, network->classes,
           text_count(graph_parameter_count(&network->graph), parameters, sizeof parameters),
           text_si((double)graph_flops(&network->graph), flops, sizeof flops));
    if (network_has_discriminator(network))
        print_discriminator(&network->discriminator);
    putchar('\n');
    int status = print_layers(info);
    return status == EXIT_DONE ? print_memory(info) : status;
}

static int info_run(const struct command *command, int argc, char **argv)
{
    static const char *const fields[] = {"technique",  "groups", "width-rate",
                                         "block-rate", "batch",  "device",
                                         "threads",    "solver", NULL};
    struct run_config config;
    struct info info = {0};
    struct error error;
    struct operands operands;
    size_t classes = 0;
    bool as_json = false;
    int status;
    const struct option_row rows[] = {{"classes", 0, "N",
                                       "The number of classes; without it the "
                                       "network's own.",
                                       OPTION_COUNT, &classes, 1, 1000000, NULL},
                                      OUTPUT_JSON_OPTION(&as_json),
                                      {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &config,
                                   .fields = fields,
                                   .operands_min = 1,
                                   .operands_max = 1,
                                   .network_operand = true};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!make_info(&info, &config, classes, &error))
        status = output_error(&error);
    else
        status = as_json ? print_json(&info) : print_tables(&info);
    plan_free(info.plan);
    device_close(info.device);
    network_free(info.network);
    return status;
}

const struct command command_info = {
    "info", "NET", "Show a network's layers, parameters, FLOPs and memory forecast.",
    "NET is a network's name (tinca networks) or the path of a network file. FLOPs are "
    "multiply-adds x 2 of one image's forward pass.",
    info_run};
