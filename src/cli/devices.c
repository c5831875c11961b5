/* The figures of this machine in tinca devices: read from their file, or measured with --tune; then
 * printed as a table, or added to the JSON document. */
#include "cli/internal.h"

#include "base/host/host.h"
#include "base/host/host_load.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "engine/devices/device.h"
#include "models/measure/device_meter.h"
#include "training/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The processes that a launcher has started, as tinca devices lists them. */

/* A process and the machine on which it runs. */
struct devices_rank {
    char host[CLUSTER_HOST], cpu[128];
    enum instruction_set set;                /* that its kernels use */
    uint64_t process, threads, memory_bytes; /* threads: that it computes with by default */
    struct computed_with with;
    /* The milliseconds of an iteration of all ranks in which it computes, and in which it waits for
     * the others. NaN: not measured. */
    double compute_ms, wait_ms;
};

/* The ranks in their order; count 0: this process is alone. */
struct devices_ranks {
    struct devices_rank *ranks;
    size_t count;
    char library[96];  /* MPI's */
    bool share;        /* they exchange values through memory that they share */
    char failure[512]; /* why they cannot, although they are on one host */
};

/* The figures of this machine, as tinca devices shows them. */

/* The figures of the device cpu with all cores. */
struct devices_machine {
    struct machine_key key;
    struct machine_model model; /* not measured: there are none */
    struct machine_origin origin;
    char *path; /* of their file; NULL: unknown */
};

/* Reads the figures or, after --tune, measures and stores them. Returns false with an error if the
 * device cannot be opened. The caller frees what it sets with devices_machine_free. */
static bool devices_machine_find(struct devices_machine *machine, size_t threads, bool tune,
                                 struct error *error)
{
    *machine =
        (struct devices_machine){.key = machine_key_here(threads), .path = machine_file_path(NULL)};
    if (!tune) {
        if (machine->path && machine_file_read(machine->path, &machine->key, &machine->model, NULL))
            machine->origin.source = MACHINE_STORED;
        return true;
    }
    struct device *device = tuned_device_open("cpu", threads, &machine->origin, error);
    if (device)
        machine->model = device->machine;
    device_close(device);
    return device;
}

static void devices_machine_free(struct devices_machine *machine)
{
    free(machine->path);
    machine->path = NULL;
}

/* Adds the figures to the document. Returns false if out of memory. */
static bool devices_machine_add(struct json *root, const struct devices_machine *machine)
{
    struct json *object = json_add_object(root, "machine");
    bool added = (machine->path ? json_add_string(object, "file", machine->path)
                                : json_add_null(object, "file")) &&
                 json_add_bool(object, "measured", machine->model.measured) &&
                 json_add_string(object, "source", machine_source_names[machine->origin.source]) &&
                 json_add_count(object, "threads", machine->key.threads);
    struct json *seconds = added ? json_add_object(object, "seconds") : NULL;
    added = seconds;
    for (size_t i = 0; added && machine->model.measured && i < MACHINE_FIGURES; i++)
        added = json_add_number(seconds, machine_figure_names[i], machine->model.seconds[i]);
    return added;
}

static int print_figures(const struct machine_model *model)
{
    static const char *const texts[MACHINE_FIGURES] = {
        [MACHINE_HAND_OVER] = N_("handing a job to all threads"),
        [MACHINE_TASK] = N_("taking a task of it"),
        [MACHINE_OPERATION] = N_("reading or writing a vector"),
        [MACHINE_CONV_1] = N_("multiply-add of a vector, direct convolution, one block"),
        [MACHINE_CONV_2] = N_("multiply-add of a vector, direct convolution, two blocks"),
        [MACHINE_PRODUCT_1] = N_("multiply-add of a vector, Winograd's product, one block"),
        [MACHINE_PRODUCT_2] = N_("multiply-add of a vector, Winograd's product, two blocks"),
        [MACHINE_TRANSFORM] = N_("Winograd's transform of a tile of a block"),
        [MACHINE_READ] = N_("reading a byte behind the level-2 cache"),
    };
    struct table table = table_begin("lr", _("FIGURE|NANOSECONDS"));
    for (size_t i = 0; i < MACHINE_FIGURES; i++) {
        table_cell(&table, "%s", gettext(texts[i]));
        if (isnan(model->seconds[i]))
            table_cell(&table, "%s", _("no core was free"));
        else
            table_cell(&table, "%.4g", model->seconds[i] * 1e9);
    }
    return output_table(&table);
}

/* Prints the figures. Returns the exit status. */
static int devices_machine_print(const struct devices_machine *machine)
{
    char text[1024];
    int status = EXIT_DONE;
    if (machine->model.measured) {
        output_print(
            ngettext("\nFigures with %zu thread, by which kernels and tasks are chosen:\n",
                     "\nFigures with %zu threads, by which kernels and tasks are chosen:\n",
                     machine->key.threads),
            machine->key.threads);
        status = print_figures(&machine->model);
    } else {
        output_print("\n%s\n", _("The figures of this machine have not been measured: the first "
                                 "command that computes does it, or tinca devices --tune."));
    }
    if (machine->origin.error.kind != ERROR_NONE)
        output_print("%s\n", error_format(&machine->origin.error, text, sizeof text));
    else if (machine->path)
        output_print(_("Their file: %s\n"), machine->path);
    return status;
}

/* --- ranks --- */

/* The ranks in tinca devices. Each describes its own machine; rank 0 gathers that and shows it.
 * The facts that must be alike for the same bits are those that a run compares (computed_with.h);
 * the others may differ. The speed of all ranks together is measured on a small network. */

static const char measured_network[] = "lenet";
enum { MEASURED_IMAGES = 16, MEASURED_ITERATIONS = 10 };

/* Trains a small network for some iterations with the other ranks. */
static void measure(struct cluster *cluster, struct devices_rank *rank)
{
    struct run_config config;
    struct bench bench;
    struct error unused;
    config_defaults(&config);
    config_put(&config, KEY(network), measured_network, NULL);
    struct bench_settings settings = bench_settings_of(&config);
    settings.device = "cpu";
    settings.iterations = MEASURED_ITERATIONS;
    settings.batch = MEASURED_IMAGES * cluster_ranks(cluster);
    settings.image_blocks = cluster_ranks(cluster);
    settings.cluster = cluster;
    rank->compute_ms = rank->wait_ms = NAN;
    if (!bench_run(&settings, &bench, &unused))
        return;
    rank->wait_ms = bench.waited_ms;
    rank->compute_ms = fmax(0, bench.ms_per_image.mean * (double)bench.batch - bench.waited_ms);
    bench_free(&bench);
}

static void describe_rank(struct devices_rank *rank)
{
    struct host host;
    host_describe(&host);
    *rank = (struct devices_rank){.set = host_instruction_set(),
                                  .process = (uint64_t)getpid(),
                                  .threads = host.cores,
                                  .memory_bytes = host.memory_bytes};
    snprintf(rank->host, sizeof rank->host, "%.63s", host.name);
    snprintf(rank->cpu, sizeof rank->cpu, "%s", host.cpu);
    computed_with_here(&rank->with, "cpu", PRECISION_FLOAT32);
}

/* Gathers what all ranks say of themselves, and measures iterations of them. All of them call it.
 * Returns false with an error after a failure of the cluster. The caller frees the list with
 * devices_ranks_free. */
static bool devices_ranks_gather(struct cluster *cluster, struct devices_ranks *ranks,
                                 struct error *error)
{
    struct devices_rank mine;
    *ranks = (struct devices_ranks){0};
    if (!cluster)
        return true;
    describe_rank(&mine);
    measure(cluster, &mine);
    struct devices_rank *all = memory_new(cluster_ranks(cluster), sizeof *all, "the ranks", error);
    if (!all) {
        cluster_fail(cluster, error);
        return false;
    }
    if (!cluster_gather(cluster, &mine, sizeof mine, all)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    ranks->ranks = all;
    ranks->count = cluster_ranks(cluster);
    snprintf(ranks->library, sizeof ranks->library, "%s", cluster_library(cluster));
    ranks->share = cluster_shares_memory(cluster);
    snprintf(ranks->failure, sizeof ranks->failure, "%s", cluster_sharing_failure(cluster));
    return true;
}

static void devices_ranks_free(struct devices_ranks *ranks)
{
    free(ranks->ranks);
    *ranks = (struct devices_ranks){0};
}

/* Returns whether no rank before this one is on the same host. */
static bool devices_ranks_is_first(const struct devices_ranks *ranks, size_t rank)
{
    for (size_t r = 0; r < rank; r++)
        if (strcmp(ranks->ranks[r].host, ranks->ranks[rank].host) == 0)
            return false;
    return true;
}

static bool add_rank(struct json *list, const struct devices_rank *rank, size_t number)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_count(object, "rank", number) && json_add_string(object, "host", rank->host) &&
           json_add_string(object, "cpu", rank->cpu) &&
           json_add_string(object, "instruction_set", instruction_set_name(rank->set)) &&
           json_add_count(object, "threads", rank->threads) &&
           json_add_count(object, "memory_bytes", rank->memory_bytes) &&
           json_add_string(object, "blas", rank->with.values[COMPUTED_BLAS]) &&
           json_add_count(object, "process", rank->process) &&
           json_add_number(object, "compute_ms", rank->compute_ms) &&
           json_add_number(object, "wait_ms", rank->wait_ms);
}

/* Adds the list to the document, unless it is empty. Returns false if out of memory. */
static bool devices_ranks_add(struct json *root, const struct devices_ranks *ranks)
{
    if (ranks->count == 0)
        return true;
    struct json *list = json_add_array(root, "ranks");
    bool added = list && json_add_string(root, "mpi", ranks->library) &&
                 json_add_bool(root, "ranks_share_memory", ranks->share);
    for (size_t r = 0; added && r < ranks->count; r++)
        added = add_rank(list, &ranks->ranks[r], r);
    return added;
}

/* Sets *weakest to the weakest instruction set, and returns the lowest rank whose set is another
 * than that of rank 0; 0: all are alike. */
static size_t find_other(const struct devices_ranks *ranks, enum instruction_set *weakest)
{
    size_t other = 0;
    *weakest = ranks->ranks[0].set;
    for (size_t r = ranks->count - 1; r > 0; r--) {
        if (ranks->ranks[r].set != ranks->ranks[0].set)
            other = r;
        if (ranks->ranks[r].set < *weakest)
            *weakest = ranks->ranks[r].set;
    }
    return other;
}

/* Prints that a run of the ranks is refused, if it is. */
static void print_refusal(const struct devices_ranks *ranks)
{
    const struct computed_with *first = &ranks->ranks[0].with;
    enum instruction_set weakest;
    const size_t other = find_other(ranks, &weakest);
    if (other > 0) {
        output_print(_("A run of them is refused, because the bits would differ: rank %zu has "
                       "another instruction set than rank 0. TINCA_CPU=%s on all makes them "
                       "alike.\n"),
                     other, instruction_set_name(weakest));
        return;
    }
    for (size_t r = 1; r < ranks->count; r++)
        for (size_t i = 0; i < COMPUTED_WITH; i++) {
            const char *value = ranks->ranks[r].with.values[i];
            if (strcmp(value, first->values[i]) == 0)
                continue;
            output_print(_("A run of them is refused, because the bits would differ: rank %zu has "
                           "%s %s, and rank 0 %s.\n"),
                         r, gettext(computed_with_word(i)), value, first->values[i]);
            return;
        }
}

/* Prints what the figures of the table mean. */
static void print_measured(const struct devices_ranks *ranks)
{
    if (!isnan(ranks->ranks[0].compute_ms))
        output_print(_("Milliseconds of an iteration of %s, %d images for each rank: how long it "
                       "computes, and how long it waits for others.\n"),
                     measured_network, MEASURED_IMAGES);
}

/* Prints how the ranks exchange values. */
static void print_exchange(const struct devices_ranks *ranks)
{
    if (ranks->share)
        output_print(_("They exchange values through memory that they share.\n"));
    else if (ranks->failure[0])
        output_print(_("They exchange values over MPI, because shared memory failed: %s\n"),
                     ranks->failure);
    else
        output_print(_("They exchange values over MPI.\n"));
}

/* Prints the list, unless it is empty. Returns the exit status. */
static int devices_ranks_print(const struct devices_ranks *ranks)
{
    char bytes[32];
    if (ranks->count == 0)
        return EXIT_DONE;
    output_print(ngettext("\n%zu rank, %s:\n", "\n%zu ranks, %s:\n", ranks->count), ranks->count,
                 ranks->library);
    struct table table = table_begin(
        "rlllrrrr", _("RANK|HOST|PROCESSOR|INSTRUCTION SET|THREADS|MEMORY|COMPUTES|WAITS"));
    for (size_t r = 0; r < ranks->count; r++) {
        const struct devices_rank *rank = &ranks->ranks[r];
        table_cell(&table, "%zu", r);
        table_cell(&table, "%s", rank->host);
        table_cell(&table, "%s", rank->cpu);
        table_cell(&table, "%s", instruction_set_name(rank->set));
        table_cell(&table, "%llu", (unsigned long long)rank->threads);
        table_cell(&table, "%s", text_bytes(rank->memory_bytes, bytes, sizeof bytes));
        table_number(&table, "%.3g", rank->compute_ms);
        table_number(&table, "%.3g", rank->wait_ms);
    }
    const int status = output_table(&table);
    print_measured(ranks);
    print_exchange(ranks);
    print_refusal(ranks);
    return status;
}

/* --- the command --- */

/* tinca devices: lists the devices that can compute, and for the others the reason why they cannot;
 * also the machine's processor, its measured figures, memory limits and GPUs. In a launcher, rank 0
 * shows its own machine and then all ranks. A device driver that
 * is usable has a row for each of its devices (cuda:0, cuda:1), otherwise one row with the reason.
 */

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
