/* Chooses a device's kernel for a step of a plan: the first one of the device's list that supports
 * the site, unless several predict their times. */
#include "engine/devices/device.h"

#include "base/language.h"
#include "engine/devices/choice.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <string.h>

enum { MAX_KERNELS = 24 }; /* kernels of a device for one operator */

/* Appends "; KERNEL refused: REASON" to `refusals`, a buffer of `size` bytes, and cuts it there. */
static void add_refusal(char *refusals, size_t size, const char *kernel, const char *reason)
{
    const size_t used = strlen(refusals);
    snprintf(refusals + used, size - used, "; %s refused: %s", kernel, reason);
}

static bool accepts(const struct kernel *kernel, const struct kernel_site *site,
                    const char **reason)
{
    *reason = N_("no reason given");
    return !kernel->supports || kernel->supports(site, reason);
}

/* Returns whether the inputs and the output of a site have one layout. */
static bool has_one_layout(const struct kernel_site *site)
{
    for (size_t k = 0; k < site->node->input_count; k++)
        if (!layout_equal(site->layouts[k], site->output_layout))
            return false;
    return true;
}

static bool has_blocked_input(const struct kernel_site *site)
{
    for (size_t k = 0; k < site->node->input_count; k++)
        if (site->layouts[k].block)
            return true;
    return false;
}

/* Returns whether the kernel's channel-blocked arrays are in the format of the site's. In training,
 * a kernel for any layout works on such arrays if the site has them. A kernel for bf16 that knows
 * plain arrays only computes products of bf16. */
static bool has_format(const struct kernel *kernel, const struct kernel_site *site)
{
    if (kernel_multiplies_plain_bf16(kernel))
        return site->bf16;
    const bool blocked =
        (kernel->traits & KERNEL_BLOCKED) || (site->training && has_blocked_input(site));
    return !!(kernel->traits & KERNEL_BF16) == (site->bf16 && blocked);
}

static bool has_channels_last(const struct kernel_site *site)
{
    bool last = site->output_layout.channels_last;
    for (size_t k = 0; k < site->node->input_count; k++)
        last |= site->layouts[k].channels_last;
    return last;
}

/* Returns whether a kernel is for this mode, and for the layouts of the site. Inference gives a
 * kernel for plain layouts a plain copy of its inputs, training does not. */
static bool is_candidate(const struct kernel *kernel, const struct kernel_site *site)
{
    if (site->int8 || (kernel->traits & KERNEL_INT8))
        return site->int8 && (kernel->traits & KERNEL_INT8);
    if (!has_format(kernel, site) ||
        (has_channels_last(site) &&
         !(kernel->traits & (KERNEL_CHANNELS_LAST | KERNEL_CONVERTS_LAYOUT))))
        return false;
    if (!site->training)
        return !(kernel->traits & KERNEL_TRAINS_ONLY);
    if (kernel->traits & KERNEL_BLOCKED)
        return kernel->backward && (site->output_layout.block || has_blocked_input(site));
    return !has_blocked_input(site) ||
           ((kernel->traits & KERNEL_ANY_LAYOUT) && has_one_layout(site));
}

/* The kernels of a device that support a site, best first: the first one, and if that one predicts
 * its time, the others that do. */
struct options {
    const struct kernel *kernels[MAX_KERNELS];
    size_t count;
};

/* Lists the kernels that support the site and writes the refusals of those before the first one to
 * `refusals`, which must be empty, as "; NAME refused: REASON". Kernels for another mode or layout
 * are not asked. */
static void list_options(const struct device_driver *driver, const struct kernel_site *site,
                         struct options *options, char *refusals, size_t size)
{
    const struct kernel *list[MAX_KERNELS];
    const size_t count = driver->kernels ? driver->kernels(site->node->op, list, MAX_KERNELS) : 0;
    options->count = 0;
    for (size_t i = 0; i < count; i++) {
        const char *reason;
        if (!is_candidate(list[i], site) || (options->count > 0 && !list[i]->seconds))
            continue;
        if (accepts(list[i], site, &reason))
            options->kernels[options->count++] = list[i];
        else if (options->count == 0)
            add_refusal(refusals, size, list[i]->name, reason);
        if (options->count == 1 && !options->kernels[0]->seconds)
            return;
    }
}

/* Returns the kernel that is predicted to be the fastest and writes the predictions to `reason`, as
 * "; predicted 12.3 us, NAME 17.8 us". */
static const struct kernel *choose_fastest(const struct options *options,
                                           const struct kernel_site *site, char *reason,
                                           size_t size)
{
    double seconds[MAX_KERNELS];
    size_t best = 0;
    for (size_t i = 0; i < options->count; i++) {
        seconds[i] = options->kernels[i]->seconds(site);
        best = seconds[i] < seconds[best] ? i : best;
    }
    snprintf(reason, size, "; predicted %.1f us", seconds[best] * 1e6);
    for (size_t i = 0; i < options->count; i++) {
        const size_t used = strlen(reason);
        if (i != best)
            snprintf(reason + used, size - used, ", %s %.1f us", options->kernels[i]->name,
                     seconds[i] * 1e6);
    }
    return options->kernels[best];
}

/* Returns the kernel that an earlier plan has recorded, or else the first one. */
static const struct kernel *choose_recorded(const struct options *options,
                                            const struct kernel_site *site, char *reason,
                                            size_t size)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->kernels[i]->name, site->recorded_kernel) == 0) {
            snprintf(reason, size, "; %s", N_("as the run has recorded"));
            return options->kernels[i];
        }
    return options->kernels[0];
}

/* Returns the device's kernel for the site, NULL if all refuse. Writes the reasons to `reasons`,
 * which must be empty, each after "; ". */
static const struct kernel *find_kernel(const struct device_driver *driver,
                                        const struct kernel_site *site, char *reasons, size_t size)
{
    struct options options;
    list_options(driver, site, &options, reasons, size);
    if (options.count == 0)
        return NULL;
    if (options.count == 1)
        return options.kernels[0];
    const size_t used = strlen(reasons);
    if (site->recorded_kernel)
        return choose_recorded(&options, site, reasons + used, size - used);
    if (site->machine && site->machine->measured)
        return choose_fastest(&options, site, reasons + used, size - used);
    return options.kernels[0];
}

bool device_predicts_kernel(const struct device_driver *driver, const struct kernel_site *site)
{
    struct options options;
    char refusals[384] = "";
    list_options(driver, site, &options, refusals, sizeof refusals);
    return options.count > 1;
}

const struct kernel *device_choose_kernel(const struct device_driver *driver,
                                          const struct kernel_site *site, char *why, size_t size,
                                          struct error *error)
{
    char refusals[384] = "", words[512];
    const struct kernel *kernel = find_kernel(driver, site, refusals, sizeof refusals);
    if (kernel && why)
        snprintf(why, size, "%s chosen%s", kernel->name, refusals);
    if (!kernel)
        error_set(error, ERROR_UNSUPPORTED, site->node->name, "choose another device",
                  "device %s cannot compute %s%s", driver->name, site->node->op->name,
                  choice_translate(refusals, words, sizeof words));
    return kernel;
}

const struct kernel *device_reference_kernel(const struct device_driver *driver,
                                             const struct kernel_site *site, char *why, size_t size)
{
    char refusals[384] = "";
    const char *reason;
    const struct kernel *kernel = site->node->op->reference;
    if (!kernel || !accepts(kernel, site, &reason))
        return NULL;
    find_kernel(driver, site, refusals, sizeof refusals);
    snprintf(why, size, "%s chosen%s; device %s has no kernel that computes it%s%s", kernel->name,
             refusals, driver->name, driver->computes_on_host ? "" : "; ",
             driver->computes_on_host ? "" : N_("it runs on the host, and its arrays are copied"));
    return kernel;
}
