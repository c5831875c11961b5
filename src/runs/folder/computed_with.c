/* Versions are texts with their keys; the record of the kernels is made from the steps of a plan,
 * kernel by kernel in the order of their first nodes, so that equal choices have equal texts. */
#include "runs/folder/computed_with.h"

#include "base/host/host.h"
#include "base/host/host_software.h"
#include "base/json/json_checksum.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/devices/blas.h"
#include "engine/execution/numerics.h"

#include <config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char *computed_with_word(size_t value)
{
    static const char *const words[COMPUTED_WITH] = {
        [COMPUTED_PROGRAM] = N_("tinca"),
        [COMPUTED_NUMERICS] = N_("arithmetic of version"),
        [COMPUTED_KERNELS] = N_("kernels for"),
        [COMPUTED_BLAS] = N_("the BLAS library"),
    };
    return words[value];
}

void computed_with_here(struct computed_with *here, const char *device,
                        enum device_precision precision)
{
    *here = (struct computed_with){.keys = {[COMPUTED_PROGRAM] = "version",
                                            [COMPUTED_NUMERICS] = "numerics",
                                            [COMPUTED_KERNELS] = "kernels",
                                            [COMPUTED_BLAS] = "blas"}};
    snprintf(here->values[COMPUTED_PROGRAM], COMPUTED_WITH_SIZE, "%s", PACKAGE_VERSION);
    snprintf(here->values[COMPUTED_NUMERICS], COMPUTED_WITH_SIZE, "%d", NUMERICS_VERSION);
    device_computes_with(device, precision, here->values[COMPUTED_KERNELS], COMPUTED_WITH_SIZE);
    if (strcmp(device, "cpu") == 0)
        blas_name(here->values[COMPUTED_BLAS], COMPUTED_WITH_SIZE);
}

bool computed_with_add(struct json *event, const char *device, enum device_precision precision)
{
    struct computed_with here;
    computed_with_here(&here, device, precision);
    for (size_t i = 0; i < COMPUTED_WITH; i++)
        if (here.values[i][0] && !json_add_string(event, here.keys[i], here.values[i]))
            return false;
    return event;
}

/* --- writing the kernels --- */

/* Returns whether step s is the first one that was chosen by prediction and has its kernel. */
static bool is_first(const struct plan *plan, size_t s)
{
    for (size_t i = 0; i < s; i++)
        if (plan->steps[i].predicted && plan->steps[i].kernel == plan->steps[s].kernel)
            return false;
    return plan->steps[s].predicted;
}

/* Adds the nodes of the kernel of step `first`. */
static bool add_kernel(struct json *root, const struct plan *plan, size_t first)
{
    const struct kernel *kernel = plan->steps[first].kernel;
    struct json *list = json_add_array(root, kernel->name);
    bool added = list;
    for (size_t s = first; added && s < plan->step_count; s++)
        if (plan->steps[s].predicted && plan->steps[s].kernel == kernel)
            added = json_add_string(list, NULL, plan->steps[s].site.node->name);
    return added;
}

char *kernel_choices_text(const struct plan *plan, struct error *error)
{
    struct json *root = json_new_object();
    bool added = root;
    for (size_t s = 0; added && plan && s < plan->step_count; s++)
        if (is_first(plan, s))
            added = add_kernel(root, plan, s);
    char *text = added ? json_print(root, false, error) : NULL;
    if (!added)
        error_set_memory(error, "the kernels", 0);
    json_free(root);
    return text;
}

bool kernel_choices_add(struct json *object, const char *text)
{
    struct json_document document;
    if (!json_parse(&document, text, strlen(text), "the kernels", NULL))
        return false;
    const bool added = json_add_tree(object, "chosen", json_copy(document.root));
    json_document_free(&document);
    return added;
}

/* --- reading the kernels --- */

static bool read_node(const struct json *kernel, const struct json *node,
                      struct plan_choice *choice)
{
    const char *name = json_string(node);
    return name &&
           (size_t)snprintf(choice->node, sizeof choice->node, "%s", name) < sizeof choice->node &&
           (size_t)snprintf(choice->kernel, sizeof choice->kernel, "%s", json_key(kernel)) <
               sizeof choice->kernel;
}

static bool read_kernels(const struct json *root, struct plan_choices *choices)
{
    for (const struct json *kernel = json_first_member(root); kernel; kernel = json_next(kernel)) {
        if (!json_is_array(kernel))
            return false;
        for (const struct json *node = json_first(kernel); node; node = json_next(node))
            if (!read_node(kernel, node, &choices->list[choices->count++]))
                return false;
    }
    return true;
}

static size_t count_nodes(const struct json *root)
{
    size_t count = 0;
    for (const struct json *kernel = json_first_member(root); kernel; kernel = json_next(kernel))
        count += json_length(kernel);
    return count;
}

bool kernel_choices_read(const char *text, struct plan_choices *choices, struct error *error)
{
    static const char name[] = "the kernels";
    struct json_document document;
    *choices = (struct plan_choices){0};
    if (!text)
        return true;
    if (!json_parse(&document, text, strlen(text), name, error))
        return false;
    bool good = json_is_object(document.root);
    choices->list =
        good ? memory_new(count_nodes(document.root) + 1, sizeof *choices->list, name, error)
             : NULL;
    if (good && choices->list)
        good = read_kernels(document.root, choices);
    const bool allocated = choices->list || !good;
    if (!good)
        error_set(error, ERROR_INPUT, name, "resume from another checkpoint",
                  "the record of the kernels that it was computed with is damaged");
    json_document_free(&document);
    if (!good || !allocated)
        kernel_choices_free(choices);
    return good && allocated;
}

void kernel_choices_free(struct plan_choices *choices)
{
    free(choices->list);
    *choices = (struct plan_choices){0};
}

char *kernel_choices_summarise(const char *text, char summary[KERNEL_CHOICES_SUMMARY])
{
    struct json_document document;
    size_t used = 0;
    summary[0] = '\0';
    if (!json_parse(&document, text, strlen(text), "the kernels", NULL))
        return summary;
    for (const struct json *kernel = json_first_member(document.root);
         kernel && used < KERNEL_CHOICES_SUMMARY; kernel = json_next(kernel))
        used += (size_t)snprintf(summary + used, KERNEL_CHOICES_SUMMARY - used, "%s %zu, ",
                                 json_key(kernel), json_length(kernel));
    const uLong sum = crc32_z(0, (const unsigned char *)text, strlen(text));
    if (used > 0 && used < KERNEL_CHOICES_SUMMARY)
        snprintf(summary + used, KERNEL_CHOICES_SUMMARY - used, "crc32 %08lx", sum);
    json_document_free(&document);
    return summary;
}

/* --- provenance.json --- */

static bool add_if_known(struct json *object, const char *key, const char *value)
{
    return !value[0] || json_add_string(object, key, value);
}

static bool add_software(struct json *tree, const char *device, enum device_precision precision)
{
    struct host host;
    struct host_software software;
    struct computed_with with;
    struct json *object = json_add_object(tree, "software");
    host_describe(&host);
    host_software_describe(&software);
    computed_with_here(&with, device, precision);
    return add_if_known(object, "tinca", with.values[COMPUTED_PROGRAM]) &&
           add_if_known(object, "numerics", with.values[COMPUTED_NUMERICS]) &&
           add_if_known(object, "compiler", software.compiler) &&
           add_if_known(object, "blas", with.values[COMPUTED_BLAS]) &&
           add_if_known(object, "kernels", with.values[COMPUTED_KERNELS]) &&
           add_if_known(object, "kernel", software.kernel) &&
           add_if_known(object, "cpu", host.cpu) &&
           add_if_known(object, "microcode", software.microcode);
}

/* Adds the arguments of this process. */
static bool add_command(struct json *tree)
{
    size_t size;
    char *line = host_command_line(&size);
    struct json *list = line ? json_add_array(tree, "command") : NULL;
    bool added = !line || list;
    for (size_t at = 0; line && added && at < size; at += strlen(line + at) + 1)
        added = json_add_string(list, NULL, line + at);
    free(line);
    return added;
}

char *provenance_make(const char *device, enum device_precision precision, struct error *error)
{
    struct json *tree = json_new_object();
    const bool complete = json_add_string(tree, "format", "tinca-provenance") &&
                          json_add_count(tree, "version", 1) && add_command(tree) &&
                          add_software(tree, device, precision);
    char *text = complete ? json_print_with_checksum(tree, error) : NULL;
    if (!complete)
        error_set_memory(error, "the run's provenance", 0);
    json_free(tree);
    return text;
}

bool provenance_add(struct json *object, const struct json *root)
{
    static const char *const keys[] = {"command", "software"};
    bool added = true;
    for (size_t i = 0; added && i < sizeof keys / sizeof *keys; i++) {
        const struct json *member = json_member(root, keys[i]);
        added = !member || json_add_tree(object, keys[i], json_copy(member));
    }
    return added;
}
