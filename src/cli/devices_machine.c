/* The figures of this machine in tinca devices: read from their file, or measured with --tune; then
 * printed as a table, or added to the JSON document. */
#include "cli/internal.h"

#include "base/language.h"
#include "cli/command.h"
#include "cli/output.h"

#include <math.h>
#include <stdlib.h>

bool devices_machine_find(struct devices_machine *machine, size_t threads, bool tune,
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

void devices_machine_free(struct devices_machine *machine)
{
    free(machine->path);
    machine->path = NULL;
}

bool devices_machine_add(struct json *root, const struct devices_machine *machine)
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

int devices_machine_print(const struct devices_machine *machine)
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
