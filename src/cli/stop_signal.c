#include "cli/stop_signal.h"

#include "base/language.h"
#include "cli/output.h"
#include "ui/terminal/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void stop_signal_catch(void)
{
    signals_catch((struct signal_hooks){0});
}

void stop_signal_catch_for_runs(void)
{
    stop_signal_catch();
    signals_outlive_readers();
}

/* Connects the standard streams that are a terminal, living or not, with /dev/null. */
static void leave_terminal(void)
{
    const int null_device = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = STDIN_FILENO; null_device >= 0 && i <= STDERR_FILENO; i++) {
        errno = 0;
        if (isatty(i) || errno == EIO)
            dup2(null_device, i);
    }
    if (null_device >= 0)
        close(null_device);
}

bool stop_signal_came(void)
{
    static bool left;
    if (signals_hang_up_came() && !left) {
        left = true;
        if (isatty(STDERR_FILENO))
            output_note(_("\nthe terminal has hung up; this goes on without it\n"));
        leave_terminal();
    }
    return signals_stop_came();
}

bool stop_signal_or_hang_up_came(void)
{
    return signals_hang_up_came() || signals_stop_came();
}
