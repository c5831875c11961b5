/* Carries out the commands of the user (commands.h) between two iterations or within a validation.
 */
#include "session/training/run_commands.h"

#include "base/clock.h"
#include "session/training/energy.h"
#include "session/training/model_save.h"
#include "session/training/saving.h"

#include <math.h>

/* Saves the model and a checkpoint now, within a validation and a pause, too: whoever asks may end
 * the program next. Before the first iteration there is nothing to save yet, and the checkpoint is
 * written after it. The run goes on if the disk refuses; the snapshot has the error then. */
static void save_now(struct trainer *trainer)
{
    struct error failed = {0};
    if (!trainer_owns_folder(trainer, true))
        return;
    model_save(trainer, &failed);
    trainer->now.error = failed;
    trainer->saving.requested = true;
    if (trainer->moment.iteration > 0)
        saving_checkpoint(trainer);
    trainer_publish(trainer);
    journal_add_event(&trainer->run->journal, "save", NULL);
}

static void begin_inspection(struct trainer *trainer)
{
    struct error failed;
    const struct inspector_request request = {.done = trainer->moment.iteration, .weights = true};
    if (!inspector_begin(&trainer->inspector, &trainer->prepared, &request, &failed))
        trainer_report_inspection_error(trainer, &failed);
}

static void change_rate(struct trainer *trainer, double wanted)
{
    struct lr_schedule_state plain = trainer->lr_schedule_state;
    plain.scale = 1;
    double rate = lr_schedule_rate(&trainer->schedule, &plain, trainer->moment.iteration);
    if (rate > 0 && wanted >= 0 && isfinite(wanted))
        trainer->lr_schedule_state.scale = wanted / rate;
    trainer->saving.requested = true; /* the journal alone does not bring it back */
}

static void obey(struct trainer *trainer, const struct commands *commands)
{
    trainer->stop |= commands_have(commands, COMMAND_STOP);
    trainer->stop_at_epoch |= commands_have(commands, COMMAND_STOP_AT_EPOCH);
    if (commands_have(commands, COMMAND_LEARNING_RATE))
        change_rate(trainer, commands->learning_rate);
    if (commands_have(commands, COMMAND_INSPECT))
        begin_inspection(trainer);
    if (commands_have(commands, COMMAND_SAVE))
        save_now(trainer);
    if (commands_have(commands, COMMAND_FLUSH)) {
        journal_flush(&trainer->run->journal);
        atomic_fetch_add(&trainer->run->flushes, 1);
    }
}

/* Waits until the user continues or stops the run. */
static void pause_run(struct trainer *trainer)
{
    enum run_status before = trainer->now.status;
    uint64_t began = clock_nanoseconds();
    bool going = false;
    energy_add(trainer);
    journal_add_event(&trainer->run->journal, "pause", NULL);
    trainer_set_status(trainer, RUN_PAUSED);
    while (!going && !trainer->stop) {
        commands_wait(&trainer->run->commands);
        struct commands commands = commands_take(&trainer->run->commands);
        obey(trainer, &commands);
        going = commands_have(&commands, COMMAND_GO_ON);
    }
    trainer->paused += clock_nanoseconds() - began;
    energy_skip(trainer);
    trainer_set_status(trainer, before);
    journal_add_event(&trainer->run->journal, "go-on", NULL);
}

void run_commands_obey(struct trainer *trainer)
{
    struct commands commands = commands_take(&trainer->run->commands);
    if (commands.set == 0)
        return;
    obey(trainer, &commands);
    if (commands_have(&commands, COMMAND_PAUSE) && !trainer->stop)
        pause_run(trainer);
    trainer_restart_clock(trainer);
}
