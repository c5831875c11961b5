/* technique.h: the optimization techniques of the studies. They replace the convolutions of a
 * network; each block's file has a table with a row for each technique.
 */
#ifndef TINCA_ENGINE_BLOCKS_TECHNIQUE_H
#define TINCA_ENGINE_BLOCKS_TECHNIQUE_H

#include <stdbool.h>

enum technique {
#define TECHNIQUE(constant, name) TECHNIQUE_##constant,
#include "engine/blocks/techniques.inc"
    TECHNIQUES /* how many there are */
};

/* The names of all techniques, in the order of the enumeration; NULL-terminated. */
extern const char *const technique_names[];

/* Returns the name as the command line and files write it: "none", "dsc", "shuffle" or "shift". */
const char *technique_name(enum technique technique);

/* Sets *technique to the one of this name. Returns false, and changes nothing, if there is none. */
bool technique_parse(const char *name, enum technique *technique);

#endif
