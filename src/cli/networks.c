/* tinca networks: lists the built-in networks. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/language.h"
#include "base/text.h"
#include "engine/network/network.h"

#include <stdio.h>

static bool add_json(struct json *list, const struct network *network)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", network->name) &&
           json_add_string(object, "title", network->title) &&
           output_add_shape(object, "input", network->input) &&
           json_add_count(object, "classes", network->classes) &&
           json_add_count(object, "parameters", graph_parameter_count(&network->graph));
}

static void add_row(struct table *table, const struct network *network)
{
    char count[32];
    table_cell(table, "%s", network->name);
    table_cell(table, "%zux%zux%zu", network->input.channels, network->input.height,
               network->input.width);
    table_cell(table, "%zu", network->classes);
    table_cell(table, "%s",
               text_count(graph_parameter_count(&network->graph), count, sizeof count));
    table_cell(table, "%s", language_text(network->title));
}

/* Builds each network from its file and adds it to the table or the JSON list, whichever is given.
 */
static bool for_each_network(struct table *table, struct json *list, struct error *error)
{
    for (size_t i = 0; i < network_builtin_count; i++) {
        struct network_request request = {.network = network_builtins[i].name};
        struct network *network = network_build(&request, error);
        bool added = network && (list == NULL || add_json(list, network) ||
                                 error_set_memory(error, "the JSON document", 0));
        if (added && table)
            add_row(table, network);
        network_free(network);
        if (!added)
            return false;
    }
    return true;
}

static int print_json(void)
{
    struct json *root = json_new_object(), *list = json_add_array(root, "networks");
    struct error error;
    if (list && !for_each_network(NULL, list, &error)) {
        json_free(root);
        return output_error(&error);
    }
    return output_json(root, list);
}

static int networks_run(const struct command *command, int argc, char **argv)
{
    bool as_json = false;
    struct operands operands;
    struct error error;
    int status;
    const struct option_row rows[] = {OUTPUT_JSON_OPTION(&as_json), {0}};
    if (!options_read(command, &(struct option_set){.rows = rows}, argc, argv, &operands, &status))
        return status;
    if (as_json)
        return print_json();
    struct table table = table_begin("lrrrl", _("NETWORK|INPUT|CLASSES|PARAMETERS|WHAT"));
    if (for_each_network(&table, NULL, &error))
        return output_table(&table);
    table_free(&table);
    return output_error(&error);
}

const struct command command_networks = {
    .name = "networks",
    .operands = "",
    .summary = N_("List the built-in networks."),
    .details = N_("Wherever a network's name is expected, the path of a network file works too: "
                  "see tinca-network(5)."),
    .run = networks_run,
};
