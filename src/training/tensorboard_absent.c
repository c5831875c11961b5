/* A build without protobuf-c refuses a run with the setting tensorboard; one that is resumed goes
 * on without its event file. */
#include "training/observer.h"

#include "runs/settings/settings.h"

#include <stdio.h>

static bool open_events(void *state, struct trainer *trainer)
{
    struct error refused;
    struct finding finding = {.kind = FINDING_TENSORBOARD,
                              .iteration = trainer->moment.iteration,
                              .epoch = trainer->moment.epoch};
    (void)state;
    if (!record_settings(&trainer->run->config).tensorboard[0])
        return true;
    error_set(&refused, ERROR_UNSUPPORTED, OPTION(tensorboard),
              "leave it out, or install protobuf-c (Debian: apt-get install libprotobuf-c-dev "
              "protobuf-c-compiler), then configure and build again",
              "this tinca was built without TensorBoard's event files");
    snprintf(finding.text, sizeof finding.text, "%.319s", refused.why);
    if (trainer->run->start.resumes)
        trainer_add_finding(trainer, &finding);
    else
        *trainer->error = refused;
    return trainer->run->start.resumes;
}

const struct observer observer_tensorboard = {.name = "TensorBoard", .open = open_events};
