/* export_torch.h: tinca export --format torch. */
#ifndef TINCA_CLI_EXPORT_TORCH_H
#define TINCA_CLI_EXPORT_TORCH_H

#include "cli/options.h"

#include <stdbool.h>

/* The option of a table of options (options.h), with the address of its value. */
#define EXPORT_TORCH_OPTIONS(names_value)                                                          \
    {                                                                                              \
        .name = "names", .argument = "MAPPING",                                                    \
        .help = N_("PyTorch: how the arrays are named: a built-in mapping, a file of one, or "     \
                   "network; without it, the usual one for the network."),                         \
        .kind = OPTION_TEXT, .value = (names_value)                                                \
    }

/* Writes the saved model, or the model of the run, that `operand` names as a state dict of PyTorch.
 * `names` is a mapping (weights_names.h), and `precision` one of weights_format_names; NULL: the
 * mapping of the network, and the format of the model. Returns false with an error. */
bool export_torch(const char *operand, const char *names, const char *precision, const char *path,
                  struct error *error);

#endif
