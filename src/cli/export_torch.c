#include "cli/internal.h"

#include "cli/export_model.h"
#include "cli/output.h"

#include "base/language.h"
#include "session/torch/torch.h"

#include <stdlib.h>
#include <string.h>

static void print_result(const char *path, const struct torch_export_result *result)
{
    if (strcmp(result->names, WEIGHTS_NAMES_OWN) == 0)
        output_print(ngettext("%s: %zu array, with the names of the network\n",
                              "%s: %zu arrays, with the names of the network\n", result->arrays),
                     path, result->arrays);
    else
        output_print(ngettext("%s: %zu array, with the names of the mapping %s\n",
                              "%s: %zu arrays, with the names of the mapping %s\n", result->arrays),
                     path, result->arrays, result->names);
    if (result->counters)
        output_print(ngettext("  and %zu counter num_batches_tracked, which is 0\n",
                              "  and %zu counters num_batches_tracked, which are 0\n",
                              result->counters),
                     result->counters);
    if (result->zeros)
        output_print(ngettext("  and %zu bias that PyTorch's network has and this one needs not: "
                              "zeros\n",
                              "  and %zu biases that PyTorch's network has and this one needs not: "
                              "zeros\n",
                              result->zeros),
                     result->zeros);
    if (result->identities)
        output_print(ngettext("  without %zu array that changes nothing\n",
                              "  without %zu arrays that change nothing\n", result->identities),
                     result->identities);
}

bool export_torch(const char *operand, const char *names, const char *precision, const char *path,
                  struct error *error)
{
    struct torch_export_result result;
    struct run *run;
    char *model = export_model_find(operand, &run, error);
    run_free(run);
    const struct torch_export_request request = {.model = model,
                                                 .names = names ? names : "",
                                                 .format_given = precision,
                                                 .format = export_format(precision)};
    const bool written = model && torch_export(&request, path, &result, error);
    if (written)
        print_result(path, &result);
    free(model);
    return written;
}
