/* Checks the arrays of a safetensors file: their shapes against the network, and their values for
 * NaN and infinity. */
#include "session/check/run_check_internal.h"

#include "base/language.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 14 };

/* Returns the index of the first value that is NaN or infinite, or the number of values. */
static uint64_t find_not_finite(struct safetensors *file, const struct safetensors_entry *entry)
{
    float block[BLOCK];
    const uint64_t count = safetensors_count(entry);
    for (uint64_t done = 0; done < count;) {
        const size_t some = count - done < BLOCK ? (size_t)(count - done) : BLOCK;
        if (!safetensors_read_floats(file, entry, done, some, block, NULL))
            return done;
        for (size_t i = 0; i < some; i++)
            if (!isfinite(block[i]))
                return done + i;
        done += some;
    }
    return count;
}

bool check_values(struct check *check, const char *file, struct safetensors *opened,
                  enum check_remedy remedy)
{
    if (check_has_diverged(check))
        return true;
    for (size_t i = 0; i < opened->count; i++) {
        const struct safetensors_entry *entry = &opened->entries[i];
        if (!safetensors_has_numbers(opened, entry))
            continue;
        const uint64_t at = find_not_finite(opened, entry);
        if (at == safetensors_count(entry))
            continue;
        check_damage(check, file, remedy, _("value %llu of \"%s\" is NaN or infinite"),
                     (unsigned long long)at, entry->name);
        return false;
    }
    return true;
}

/* Only models may have rounded weights. */
static bool has_shape(const struct safetensors *file, const struct safetensors_entry *entry,
                      const struct parameter *parameter, enum check_remedy remedy)
{
    const bool typed = remedy == REMEDY_CHECKPOINT ? entry->type == SAFETENSORS_F32
                                                   : safetensors_has_numbers(file, entry);
    return typed && entry->rank == parameter->rank &&
           memcmp(entry->dims, parameter->dims, entry->rank * sizeof *entry->dims) == 0;
}

bool check_parameters(struct check *check, const char *file, const struct safetensors *opened,
                      const struct graph *graph, const char *prefix, bool learnable,
                      enum check_remedy remedy, size_t *found)
{
    char name[sizeof opened->entries->name];
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (learnable && !parameter->learnable)
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, parameter->name);
        const struct safetensors_entry *entry = safetensors_find(opened, name);
        if (!entry || !has_shape(opened, entry, parameter, remedy)) {
            check_damage(check, file, remedy,
                         entry ? _("\"%s\" has another shape or type than in the network")
                               : _("\"%s\" is missing"),
                         name);
            return false;
        }
        ++*found;
    }
    return true;
}
