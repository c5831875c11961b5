/* Compares every operator case that has a golden, on every device, with PyTorch's results
 * (make_goldens.py): output, all gradients, running statistics. Arrays agree if the largest
 * difference is at most 1e-4 of the largest value (harness_difference). Each device runs all of its
 * kernels that accept the case; the device cpu with each instruction set. */
#include "instruction_sets.h"
#include "op_harness.h"
#include "tap.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "engine/devices/device.h"
#include "engine/weights/safetensors.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 24 };
static const double tolerance = 1e-4;

/* Reads array CASE.`name` into `out`. Fails with a reason if it is missing or has a different size.
 */
static bool read_array(struct safetensors *file, const struct op_case *op_case, const char *name,
                       size_t count, void *out, struct error *error)
{
    char full[96];
    snprintf(full, sizeof full, "%s.%s", op_case->name, name);
    const struct safetensors_entry *entry = safetensors_find(file, full);
    if (!entry || entry->bytes != count * sizeof(float))
        return error_set(error, ERROR_INPUT, full, "renew the goldens: see make_goldens.py",
                         entry ? "the golden has another size" : "there is no such golden");
    return safetensors_read(file, entry, out, error);
}

static bool read_numbered(struct safetensors *file, const struct op_case *op_case, const char *name,
                          size_t number, size_t count, float *out, struct error *error)
{
    char full[64];
    snprintf(full, sizeof full, "%s%zu", name, number);
    return read_array(file, op_case, full, count, out, error);
}

static bool read_parameter(struct safetensors *file, const struct op_harness *h, size_t p,
                           const char *suffix, float *out, struct error *error)
{
    char name[64];
    const char *full = h->graph.parameters[h->node->parameters[p]].name;
    snprintf(name, sizeof name, "%s%s", strrchr(full, '.') + 1, suffix);
    return read_array(file, h->op_case, name, h->parameter_values[p], out, error);
}

/* Reads the inputs of a run. */
static bool read_given(struct safetensors *file, struct op_harness *h, struct error *error)
{
    const struct op_case *c = h->op_case;
    bool training = !(c->flags & CASE_INFERENCE), good = true;
    for (size_t k = 0; good && k < h->input_count; k++)
        good = read_numbered(file, c, "input", k, h->input_values[k], h->inputs[k], error);
    for (size_t p = 0; good && p < h->parameter_count; p++)
        good = read_parameter(file, h, p, "", h->parameters[p], error);
    if (good && h->labels)
        good = read_array(file, c, "labels", c->batch, h->labels, error);
    if (good && h->output_gradient && training)
        good = read_array(file, c, "output_gradient", h->output_values, h->output_gradient, error);
    return good;
}

/* Compares the results of a run. */
static bool read_wanted(struct safetensors *file, struct op_harness *h, struct error *error)
{
    const struct op_case *c = h->op_case;
    bool training = !(c->flags & CASE_INFERENCE);
    bool good = read_array(file, c, "output", h->output_values, h->output, error);
    for (size_t k = 0; good && training && k < h->input_count; k++)
        good = read_numbered(file, c, "input_gradient", k, h->input_values[k],
                             h->input_gradients[k], error);
    for (size_t p = 0; good && p < h->parameter_count; p++) {
        good = read_parameter(file, h, p, h->learnable[p] ? "" : "_after", h->updated[p], error);
        if (good && h->learnable[p] && training)
            good = read_parameter(file, h, p, "_gradient", h->parameter_gradients[p], error);
    }
    return good;
}

static void check_kernel(struct op_harness *got, const struct op_harness *wanted,
                         const struct device *device, const struct kernel *kernel)
{
    const char *where = "", *name = wanted->op_case->name;
    struct error error = {0};
    bool ran = op_harness_run(got, kernel, 0, device->pool, &error);
    double difference = ran ? op_harness_compare(got, wanted, &where) : 0;
    if (!tap_ok(ran && difference <= tolerance, "%s on %s: %s agrees with PyTorch", name,
                device->name, kernel->name))
        tap_note("%s differs by %g %s", where, difference, error.why);
}

/* Checks every kernel of the device that accepts the case. If the device has kernels of the
 * operator, one must accept it; else the reference computes the operator there. */
static void check_device(struct op_harness *got, const struct op_harness *wanted,
                         const struct device *device)
{
    const struct op_case *op_case = wanted->op_case;
    const struct kernel *list[MAX_KERNELS];
    const size_t count = device->driver->kernels(op_case->op, list, MAX_KERNELS);
    const struct kernel_site site = op_harness_site(got, device->threads);
    size_t accepted = 0, floats = 0;
    for (size_t i = 0; i < count; i++) {
        const char *reason = NULL;
        /* bf16_test, int8_test and the tests of blocked kernels have these */
        if (list[i]->traits & (KERNEL_BF16 | KERNEL_INT8))
            continue;
        floats++;
        if (list[i]->supports && !list[i]->supports(&site, &reason))
            continue;
        check_kernel(got, wanted, device, list[i]);
        accepted++;
    }
    if (floats > 0 && !accepted)
        tap_ok(false, "%s on %s: a kernel accepts it", op_case->name, device->name);
}

static void check_case(struct safetensors *file, const struct op_case *op_case,
                       const struct device *device)
{
    struct error error = {0};
    struct op_harness *got = op_harness_create(op_case, 1, &error);
    struct op_harness *wanted = got ? op_harness_create(op_case, 1, &error) : NULL;
    if (!wanted || !read_given(file, got, &error) || !read_wanted(file, wanted, &error))
        tap_ok(false, "%s: %s: %s", op_case->name, error.what, error.why);
    else
        check_device(got, wanted, device);
    op_harness_free(got);
    op_harness_free(wanted);
}

static void check_cases(struct safetensors *file, const char *name)
{
    struct error error = {0};
    struct device *device = device_open(name, 2, &error);
    if (!device)
        tap_ok(false, "%s: %s", error.what, error.why);
    for (size_t i = 0; device && i < op_case_count; i++)
        if (!(op_cases[i].flags & CASE_WITHOUT_GOLDEN))
            check_case(file, &op_cases[i], device);
    device_close(device);
}

static int bail_out(const struct error *error)
{
    printf("Bail out! %s: %s\n", error->what, error->why);
    return 1;
}

TEST_CASE(parity_test)
{
    struct safetensors file;
    struct error error = {0};
    const char *source = getenv("srcdir");
    char *path = file_join(source ? source : ".", "tests/parity/goldens/ops.safetensors");
    if (!path || !safetensors_open(&file, path, &error))
        return bail_out(&error);
    check_cases(&file, "reference");
    for (int set = 0; set < INSTRUCTION_SETS; set++)
        if (instruction_set_force((enum instruction_set)set))
            check_cases(&file, "cpu");
    instruction_set_release();
    safetensors_close(&file);
    free(path);
    return tap_done();
}
