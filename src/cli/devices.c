/* tinca devices: what can compute here, and why the rest cannot. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/host.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/device.h"

#include <stdio.h>

static bool build_host(struct json *root, const struct host *host)
{
    struct json *object = json_add_object(root, "host");
    return json_add_string(object, "name", host->name) &&
           json_add_string(object, "cpu", host->cpu) &&
           json_add_count(object, "cores", host->cores) &&
           json_add_count(object, "memory_bytes", host->memory_bytes) &&
           json_add_string(object, "instruction_set", instruction_set_name(host_instruction_set()));
}

static bool build_device(struct json *list, const struct device_driver *driver)
{
    char reason[256] = "";
    bool available = driver->available(reason, sizeof reason);
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", driver->name) &&
           json_add_string(object, "description", driver->description) &&
           json_add_bool(object, "available", available) &&
           (available ? json_add_null(object, "reason")
                      : json_add_string(object, "reason", reason));
}

static int print_json(const struct host *host)
{
    struct json *root = json_new_object();
    bool complete = build_host(root, host);
    struct json *list = json_add_array(root, "devices");
    for (size_t i = 0; device_drivers[i]; i++)
        complete = complete && build_device(list, device_drivers[i]);
    return output_json(root, complete && list);
}

static int print_table(const struct host *host)
{
    char bytes[32], reason[256];
    printf("%s: %s, %zu core%s, %s of memory, instruction set %s\n\n", host->name, host->cpu,
           host->cores, host->cores == 1 ? "" : "s",
           text_bytes(host->memory_bytes, bytes, sizeof bytes),
           instruction_set_name(host_instruction_set()));
    struct table table = table_begin("lll", "DEVICE|USABLE|WHAT");
    for (size_t i = 0; device_drivers[i]; i++) {
        bool available = device_drivers[i]->available(reason, sizeof reason);
        table_cell(&table, "%s", device_drivers[i]->name);
        table_cell(&table, "%s", available ? "yes" : "no");
        table_cell(&table, "%s", available ? device_drivers[i]->description : reason);
    }
    return table_print(&table);
}

static int devices_run(const struct command *command, int argc, char **argv)
{
    bool as_json = false;
    struct operands operands;
    struct host host;
    int status;
    const struct option_row rows[] = {OUTPUT_JSON_OPTION(&as_json), {0}};
    if (!options_read(command, &(struct option_set){.rows = rows}, argc, argv, &operands, &status))
        return status;
    host_describe(&host);
    return as_json ? print_json(&host) : print_table(&host);
}

const struct command command_devices = {
    "devices", "", N_("List what can compute here, and why the rest cannot."), "", devices_run};
