/* Two texts take turns, so that a handler never reads one that is being written. */
#include "runs/record/last_checkpoint.h"

#include "base/escape/shell.h"
#include "base/language.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>

enum { WORDS = 2 * PATH_MAX + 256 };
static char texts[2][WORDS];
static atomic_int shown = -1; /* index of the present text; -1: no run is on */

void last_checkpoint_set(const char *directory, uint64_t iteration)
{
    char operand[PATH_MAX];
    const int next = atomic_load(&shown) == 0 ? 1 : 0;
    if (!directory) {
        atomic_store(&shown, -1);
        return;
    }
    shell_operand(directory, operand, sizeof operand);
    if (iteration > 0)
        snprintf(texts[next], WORDS,
                 _("the last checkpoint is %s/checkpoint.safetensors; tinca resume %s continues "
                   "after iteration %llu"),
                 directory, operand, (unsigned long long)iteration);
    else
        snprintf(texts[next], WORDS, _("it had no checkpoint yet; tinca resume %s starts it over"),
                 operand);
    atomic_store(&shown, next);
}

const char *last_checkpoint_words(void)
{
    const int index = atomic_load(&shown);
    return index < 0 ? "" : texts[index];
}
