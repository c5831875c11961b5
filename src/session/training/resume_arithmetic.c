/* Compares the version, numerics, instruction set and BLAS that a checkpoint recorded with those of
 * this process: another arithmetic is refused, the rest becomes findings. */
#include "session/training/resume_arithmetic.h"

#include "base/character.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/execution/numerics.h"
#include "session/files/checkpoint_position.h"
#include "session/files/computed_with.h"
#include "session/training/checkpoint.h"

#include <config.h>
#include <stdio.h>
#include <string.h>

/* --- refusal --- */

/* Returns the version to name in an error. A build between two releases has the version of the
 * release before, which does not identify it. */
static void advise(const struct safetensors *checkpoint, char *advice, size_t size)
{
    const char *version = checkpoint_text(checkpoint, "version");
    if (version && strcmp(version, PACKAGE_VERSION) != 0)
        snprintf(advice, size, _("resume it with tinca %.40s, or train another run"), version);
    else
        snprintf(advice, size, "%s",
                 _("resume it with the version of tinca that wrote it, or train another run"));
}

bool resume_arithmetic_check(const struct safetensors *checkpoint, const struct graph *graph,
                             const char *device, struct error *error)
{
    char advice[160];
    size_t numerics = 1;
    const char *recorded = checkpoint_text(checkpoint, "numerics");
    if (recorded && !text_to_size(recorded, &numerics))
        numerics = NUMERICS_VERSION + 1;
    const char *change = numerics_change(numerics, graph, device);
    if (!change)
        return true;
    advise(checkpoint, advice, sizeof advice);
    return error_set(error, ERROR_UNSUPPORTED, checkpoint->path, advice,
                     "it was computed with numerics version %zu, and this is version %d: %s",
                     numerics, NUMERICS_VERSION, language_text(change));
}

/* --- findings --- */

static void report(struct trainer *trainer, const char *text)
{
    struct finding finding = {.kind = FINDING_RESUME,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    snprintf(finding.text, sizeof finding.text, "%s", text);
    trainer_add_finding(trainer, &finding);
}

void resume_arithmetic_report(struct trainer *trainer)
{
    static const char *const words[COMPUTED_WITH] = {
        [COMPUTED_PROGRAM] =
            N_("it was computed with tinca %.80s, and goes on with tinca %.80s, whose "
               "arithmetic is the same"),
        [COMPUTED_KERNELS] =
            N_("it was computed with %.80s, and goes on with %.80s: the last digits may "
               "differ"),
        [COMPUTED_BLAS] =
            N_("it was computed with %.80s, and goes on with %.80s: the last digits may "
               "differ")};
    char text[320];
    struct computed_with here;
    computed_with_here(&here, trainer->run->config.device,
                       (enum device_precision)trainer->run->config.precision);
    for (size_t i = 0; i < COMPUTED_WITH; i++) {
        const char *then = checkpoint_text(&trainer->checkpoint, here.keys[i]);
        if (!words[i] || !then || !here.values[i][0] || strcmp(then, here.values[i]) == 0)
            continue;
        snprintf(text, sizeof text, language_text(words[i]), then, here.values[i]);
        report(trainer, character_replace_hidden(text));
    }
}

void resume_arithmetic_report_unknown(struct trainer *trainer)
{
    report(trainer,
           _("its network.json or data.json is missing, as in runs that an earlier version of "
             "tinca began: whether network and data have changed since is not known"));
}
