/* tinca devices: lists the devices that can compute, and for the others the reason why they cannot;
 * also the machine's processor, its measured figures, memory limits and GPUs. In a launcher, rank 0
 * shows its own machine and then all ranks. A device driver that
 * is usable has a row for each of its devices (cuda:0, cuda:1), otherwise one row with the reason.
 */
#include "cli/command.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"

#include "base/host/host.h"
#include "base/host/host_load.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/devices/device.h"
#include "models/measure/device_meter.h"

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

/* Adds a limit in bytes, or null if there is none. */
static bool add_limit(struct json *object, const char *key, uint64_t bytes)
{
    return bytes == UINT64_MAX ? json_add_null(object, key) : json_add_count(object, key, bytes);
}

static bool build_details(struct json *root)
{
    static const char *const names[HOST_CACHES] = {"l1_data_bytes", "l2_bytes", "l3_bytes"};
    struct host_processor processor;
    struct host_limits limits;
    host_describe_processor(&processor);
    host_read_limits(&limits);
    struct json *object = json_add_object(root, "processor"), *memory;
    bool complete = json_add_string(object, "instruction_sets", processor.sets);
    for (size_t i = 0; complete && i < HOST_CACHES; i++)
        complete = processor.caches[i] ? json_add_count(object, names[i], processor.caches[i])
                                       : json_add_null(object, names[i]);
    memory = json_add_object(root, "memory");
    return complete && json_add_count(memory, "available_bytes", host_available_bytes()) &&
           add_limit(memory, "control_group_bytes", limits.control_group) &&
           add_limit(memory, "address_space_bytes", limits.address_space) &&
           add_limit(memory, "data_bytes", limits.data);
}

/* Adds a GPU's readings. A value that its driver does not report is null. */
static bool build_gpu(struct json *list, const struct gpu_reading *gpu)
{
    struct json *object = json_add_object(list, NULL);
    bool complete =
        gpu->name[0] ? json_add_string(object, "name", gpu->name) : json_add_null(object, "name");
    for (enum gpu_metric metric = 0; complete && metric < GPU_METRICS; metric++)
        complete = gpu_has(gpu, metric)
                       ? json_add_number(object, gpu_metric_name(metric), gpu->values[metric])
                       : json_add_null(object, gpu_metric_name(metric));
    return complete;
}

static bool build_gpus(struct json *root)
{
    struct error error;
    struct gpu_reading gpus[GPU_MAX];
    struct gpu_meter *meter = gpu_meter_open(NULL, &error);
    size_t count = 0;
    bool read = meter && gpu_meter_read(meter, gpus, &count, &error);
    struct json *list = json_add_array(root, "gpus");
    bool complete = list;
    for (size_t i = 0; complete && i < count; i++)
        complete = build_gpu(list, &gpus[i]);
    complete = complete &&
               (read ? json_add_null(root, "no_gpu") : json_add_string(root, "no_gpu", error.why));
    gpu_meter_close(meter);
    return complete;
}

/* A device: the only one of its driver, or one of several (GPUs). */
struct device_row {
    const struct device_driver *driver;
    char name[32], reason[256];
    bool available, is_gpu;
    struct device_facts gpu; /* valid if is_gpu */
};

/* Returns the number of rows of a driver: one even if it has no usable device. */
static size_t rows_of(const struct device_driver *driver)
{
    return driver->count && driver->count() ? driver->count() : 1;
}

static struct device_row describe(const struct device_driver *driver, size_t number)
{
    struct device_row row = {.driver = driver};
    row.available = driver->available(row.reason, sizeof row.reason);
    row.is_gpu = row.available && driver->describe && driver->describe(number, &row.gpu);
    snprintf(row.name, sizeof row.name, row.is_gpu ? "%s:%zu" : "%s", driver->name, number);
    if (row.is_gpu && row.gpu.cudnn[0]) {
        /* a library that is installed may still fail to start, which only opening the GPU shows */
        struct error error;
        device_close(device_open(row.name, 1, &error));
        driver->describe(number, &row.gpu);
    }
    return row;
}

static bool build_gpu_facts(struct json *object, const struct device_facts *gpu)
{
    char capability[24];
    snprintf(capability, sizeof capability, "%u.%u", gpu->capability[0], gpu->capability[1]);
    return json_add_string(object, "card", gpu->name) &&
           json_add_string(object, "compute_capability", capability) &&
           json_add_count(object, "memory_bytes", gpu->memory_bytes) &&
           (gpu->cudnn[0]
                ? json_add_string(object, "cudnn", gpu->cudnn) && json_add_null(object, "no_cudnn")
                : json_add_null(object, "cudnn") &&
                      json_add_string(object, "no_cudnn", gpu->no_cudnn));
}

static bool build_device(struct json *list, const struct device_row *row)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "name", row->name) &&
           json_add_string(object, "description", row->driver->description) &&
           json_add_bool(object, "available", row->available) &&
           (row->available ? json_add_null(object, "reason")
                           : json_add_string(object, "reason", row->reason)) &&
           (!row->is_gpu || build_gpu_facts(object, &row->gpu));
}

static bool build_devices(struct json *root)
{
    struct json *list = json_add_array(root, "devices");
    bool complete = list;
    for (size_t i = 0; device_drivers[i]; i++)
        for (size_t n = 0; complete && n < rows_of(device_drivers[i]); n++) {
            const struct device_row row = describe(device_drivers[i], n);
            complete = build_device(list, &row);
        }
    return complete;
}

static int print_json(const struct host *host, const struct devices_machine *machine,
                      const struct devices_ranks *ranks)
{
    struct json *root = json_new_object();
    return output_json(root, build_host(root, host) && build_devices(root) && build_details(root) &&
                                 build_gpus(root) && devices_machine_add(root, machine) &&
                                 devices_ranks_add(root, ranks));
}

static void print_gpus(void)
{
    struct error error;
    struct gpu_reading gpus[GPU_MAX];
    char bytes[32];
    struct gpu_meter *meter = gpu_meter_open(NULL, &error);
    size_t count = 0;
    bool read = meter && gpu_meter_read(meter, gpus, &count, &error);
    for (size_t i = 0; i < count; i++)
        output_print(
            _("\nGPU %zu: %s, %s of memory\n"), i, gpus[i].name[0] ? gpus[i].name : _("unnamed"),
            gpu_has(&gpus[i], GPU_MEMORY_TOTAL)
                ? text_bytes((uint64_t)gpus[i].values[GPU_MEMORY_TOTAL], bytes, sizeof bytes)
                : _("an unknown amount"));
    if (!read)
        output_print(_("\nno GPU: %s\n"), error.why);
    gpu_meter_close(meter);
}

/* Writes "cuDNN 9.1.0", or why that library is not used, and returns `text`. */
static const char *cudnn_text(const struct device_facts *gpu, char *text, size_t size)
{
    if (gpu->cudnn[0])
        snprintf(text, size, _("cuDNN %s"), gpu->cudnn);
    else
        snprintf(text, size, _("no cuDNN (%s)"), language_text(gpu->no_cudnn));
    return text;
}

static void print_device(struct table *table, const struct device_row *row)
{
    char bytes[32], cudnn[256];
    table_cell(table, "%s", row->name);
    table_cell(table, "%s", row->available ? _("yes") : _("no"));
    if (row->is_gpu)
        table_cell(table, _("%s, compute capability %u.%u, %s; %s"), row->gpu.name,
                   row->gpu.capability[0], row->gpu.capability[1],
                   text_bytes(row->gpu.memory_bytes, bytes, sizeof bytes),
                   cudnn_text(&row->gpu, cudnn, sizeof cudnn));
    else
        table_cell(table, "%s",
                   row->available ? gettext(row->driver->description) : language_text(row->reason));
}

static int print_table(const struct host *host, const struct devices_machine *machine,
                       const struct devices_ranks *ranks)
{
    char bytes[32];
    output_print(ngettext("%s: %s, %zu core, %s of memory, instruction set %s\n\n",
                          "%s: %s, %zu cores, %s of memory, instruction set %s\n\n", host->cores),
                 host->name, host->cpu, host->cores,
                 text_bytes(host->memory_bytes, bytes, sizeof bytes),
                 instruction_set_name(host_instruction_set()));
    struct table table = table_begin("lll", _("DEVICE|USABLE|WHAT"));
    for (size_t i = 0; device_drivers[i]; i++)
        for (size_t n = 0; n < rows_of(device_drivers[i]); n++) {
            const struct device_row row = describe(device_drivers[i], n);
            print_device(&table, &row);
        }
    int status = output_table(&table);
    print_gpus();
    if (status == EXIT_DONE)
        status = devices_ranks_print(ranks);
    return status == EXIT_DONE ? devices_machine_print(machine) : status;
}

/* Shows this machine and the ranks. Another rank than 0 shows nothing; to measure its machine, if
 * that was asked, is the work of the first rank on it. Returns the exit status. */
static int show(struct cluster *cluster, const struct devices_ranks *ranks, bool as_json)
{
    struct host host;
    struct devices_machine machine;
    struct error error;
    const size_t rank = cluster_rank(cluster);
    const bool tune = options_tune() && (rank == 0 || devices_ranks_is_first(ranks, rank));
    int status = EXIT_DONE;
    if (rank > 0 && !tune)
        return EXIT_DONE;
    host_describe(&host);
    if (!devices_machine_find(&machine, host.cores, tune, &error))
        return processes_print_failure(cluster, &error);
    if (rank == 0)
        status = as_json ? print_json(&host, &machine, ranks) : print_table(&host, &machine, ranks);
    devices_machine_free(&machine);
    return status;
}

static int devices_run(const struct command *command, int argc, char **argv)
{
    bool as_json = false;
    struct operands operands;
    int status;
    size_t count = 0;
    struct cluster *cluster;
    struct devices_ranks ranks;
    struct error error;
    const struct option_row rows[] = {OUTPUT_JSON_OPTION(&as_json), processes_row(&count), {0}};
    const struct option_set set = {.rows = rows, .opens_device = true};
    if (!options_read(command, &set, argc, argv, &operands, &status) ||
        !processes_meet(count, &cluster, &status))
        return status;
    if (devices_ranks_gather(cluster, &ranks, &error))
        status = show(cluster, &ranks, as_json);
    else
        status = processes_print_failure(cluster, &error);
    devices_ranks_free(&ranks);
    processes_close(cluster, status);
    return status;
}

const struct command command_devices = {
    .name = "devices",
    .in_launcher = true,
    .operands = "",
    .summary = N_("List the devices that can compute, and why the others cannot."),
    .details = N_("In a launcher (mpirun -n 4 tinca devices) it also lists the ranks."),
    .run = devices_run,
};
