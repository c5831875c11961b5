/* weights_names.h: the names that other programs give to the arrays of a network, as data files.
 *
 * A mapping is a JSON file, built in (mappings/) or the user's:
 *   {"name": "cifar-resnet", "title": "...", "networks": ["resnet20", ...],
 *    "names": [["layer*.shortcut.0.*", "stage*.conv_shortcut.*"], ...],
 *    "then": [["stage*.conv_a.*", "stage*.conv1.*"], ...],
 *    "identity": ["stage*.conv_shortcut.weight", ...],
 *    "subtract": [["features.0.bias", "stage1.1.bn.running_mean"], ...],
 *    "num_batches_tracked": true}
 * "names" has pairs of the file's name and the network's; each * stands for one character or more,
 * and the first pair that matches counts. A name that matches none stays as it is. The pairs of
 * "then" translate the result in the same way, so that one list can be about blocks and the other
 * about their layers. In the other direction a name becomes the first one that the lists translate
 * back to it. "identity" lists arrays of the network that pass values on unchanged if the file
 * lacks them: a network whose shortcut has no convolution fits one whose shortcut has. "subtract"
 * lists arrays of the file that are subtracted from others: the bias of a convolution before a
 * batch norm is a part of the mean; they are written as zeros. "networks" are those that are
 * exported by this mapping unless the user chooses one. "num_batches_tracked" says whether the
 * file has PyTorch's counters of its batch norms; without it, it has.
 */
#ifndef TINCA_ENGINE_WEIGHTS_WEIGHTS_NAMES_H
#define TINCA_ENGINE_WEIGHTS_WEIGHTS_NAMES_H

#include "base/error.h"
#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>

struct weights_names {
    struct json_document document; /* with root NULL no name is translated */
};

/* The name of the mapping that translates nothing. */
#define WEIGHTS_NAMES_OWN "network"

struct weights_names_builtin {
    const char *name, *text;
};
extern const struct weights_names_builtin weights_names_builtins[];
extern const size_t weights_names_builtin_count;

/* Reads a built-in mapping, WEIGHTS_NAMES_OWN, or the file of this path; weights_names_free
 * releases it. Returns false with an error if there is none or it is no mapping. */
bool weights_names_read(struct weights_names *names, const char *name, struct error *error);
void weights_names_free(struct weights_names *names);

/* Writes the network's name for a name of the file. */
void weights_names_translate(const struct weights_names *names, const char *name, char *out,
                             size_t size);

/* Writes the file's name for a name of the network. Returns false if no name of the file would be
 * translated to it. */
bool weights_names_translate_back(const struct weights_names *names, const char *name, char *out,
                                  size_t size);

/* Returns the name of the built-in mapping by which a network is exported, or WEIGHTS_NAMES_OWN. */
const char *weights_names_of_network(const char *network);

/* Returns whether files with these names have counters of their batch norms. */
bool weights_names_has_counters(const struct weights_names *names);

/* Returns whether an array of a file is such a counter, which no network of tinca has. */
bool weights_names_is_counter(const char *name);

/* Returns whether an array of the network may be an identity. */
bool weights_names_is_identity(const struct weights_names *names, const char *name);

/* Writes the name of the network's array from which the array `name` of the file is subtracted.
 * Returns false if there is none. */
bool weights_names_subtracts(const struct weights_names *names, const char *name, char *out,
                             size_t size);

/* Writes the name of the file's array that is subtracted from the network's. Returns false if there
 * is none. */
bool weights_names_subtracted(const struct weights_names *names, const char *name, char *out,
                              size_t size);

/* Replaces a name that matches the pattern `from` by the pattern `to`. Returns false, and writes
 * nothing, if it does not match. */
bool weights_names_replace(const char *from, const char *to, const char *name, char *out,
                           size_t size);

#endif
