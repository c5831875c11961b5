/* Measures how long a key takes to reach the screen: runs the workbench on a pseudo-terminal of
 * 80x24, presses a key that opens something, and takes the time until its title has arrived as
 * output. The pauses between keys vary, so that keys meet every phase of the run and of the
 * redrawing. Prints the median, the 95th percentile and the worst. Exit status 1: a key took longer
 * than the target, or had no effect.
 * usage: key_latency KEYS SETTLING_SECONDS PROGRAM ARGUMENT... */
#include "base/clock.h"
#include "base/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const double TARGET_MS = 30, PATIENCE_SECONDS = 5;

enum { OUTPUT = 1 << 16, MOST_KEYS = 10000 };

static struct {
    pid_t pid;
    int master;
    char output[OUTPUT]; /* the text since the last key, without control sequences */
    size_t length;
    enum { TEXT, ESCAPE, SEQUENCE, CHARSET } state; /* of the parser of control sequences */
} child;

/* --- the program on the terminal --- */

static void be_the_program(const char *terminal, char **arguments)
{
    setsid();
    const int slave = open(terminal, O_RDWR); /* becomes the controlling terminal */
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        dup2(slave, i);
    setenv("TERM", "xterm-256color", 1);
    execvp(arguments[0], arguments);
    _exit(127);
}

static bool start(char **arguments)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 80};
    child.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (child.master < 0 || grantpt(child.master) != 0 || unlockpt(child.master) != 0)
        return false;
    ioctl(child.master, TIOCSWINSZ, &size);
    child.pid = fork();
    if (child.pid == 0)
        be_the_program(ptsname(child.master), arguments);
    fcntl(child.master, F_SETFL, O_NONBLOCK);
    return child.pid > 0;
}

static void end(void)
{
    char bytes[4096];
    kill(child.pid, SIGTERM);
    for (int i = 0; i < 500 && waitpid(child.pid, NULL, WNOHANG) == 0; i++) {
        clock_sleep(0.02);
        while (read(child.master, bytes, sizeof bytes) > 0)
            continue; /* a full terminal would keep it from ending */
    }
    kill(child.pid, SIGKILL);
    close(child.master);
}

/* --- its output --- */

/* Keeps a byte if it is text: a control sequence begins with Esc and ends with a letter. */
static void take_byte(char byte)
{
    if (byte == '\033')
        child.state = ESCAPE;
    else if (child.state == ESCAPE)
        child.state = byte == '[' ? SEQUENCE : byte == '(' || byte == ')' ? CHARSET : TEXT;
    else if (child.state == SEQUENCE) {
        if (byte >= '@' && byte <= '~')
            child.state = TEXT;
    } else if (child.state == CHARSET)
        child.state = TEXT;
    else if (child.length + 1 < OUTPUT)
        child.output[child.length++] = byte;
}

/* Reads what has arrived. Returns false if the program has ended. */
static bool drain(void)
{
    char bytes[4096];
    ssize_t count;
    while ((count = read(child.master, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < count; i++)
            take_byte(bytes[i]);
    return count == 0 || errno == EAGAIN;
}

/* Reads for this many seconds, or until `text` has arrived (NULL never does). Returns whether it
 * has. */
static bool watch(double seconds, const char *text)
{
    const uint64_t begun = clock_nanoseconds();
    do {
        struct pollfd output = {child.master, POLLIN, 0};
        const double left = seconds - clock_seconds(begun, clock_nanoseconds());
        poll(&output, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (!drain())
            return false;
        if (text && memmem(child.output, child.length, text, strlen(text)))
            return true;
    } while (clock_seconds(begun, clock_nanoseconds()) < seconds);
    return false;
}

/* --- keys --- */

static void press(char key)
{
    child.length = 0;
    if (write(child.master, &key, 1) != 1)
        perror("key_latency: write");
}

/* Presses a key that opens something, measures, and closes it again. Returns milliseconds, or a
 * negative number if the title did not appear. */
static double measure(size_t number)
{
    static const struct {
        char key;
        const char *title;
    } keys[] = {{'m', "Go to"}, {'?', "Help"}};
    const size_t which = number % (sizeof keys / sizeof *keys);
    watch(0.05 + 0.2 * (double)((number * 37) % 100) / 100, NULL);
    const uint64_t pressed = clock_nanoseconds();
    press(keys[which].key);
    const bool seen = watch(PATIENCE_SECONDS, keys[which].title);
    const double ms = 1000 * clock_seconds(pressed, clock_nanoseconds());
    if (!seen)
        fprintf(stderr, "key_latency: %c did not show \"%s\"\n", keys[which].key,
                keys[which].title);
    watch(0.05, NULL);
    press('q');
    return seen ? ms : -1;
}

static int by_value(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Returns the exit status. */
static int report(double *times, size_t count)
{
    qsort(times, count, sizeof *times, by_value);
    const double worst = times[count - 1];
    printf("%zu keys: median %.2f ms, 95 %% within %.2f ms, worst %.2f ms (target: %.0f ms)\n",
           count, times[count / 2], times[count * 95 / 100], worst, TARGET_MS);
    return worst <= TARGET_MS ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static double times[MOST_KEYS];
    const long keys = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
    const double settling = argc > 3 ? strtod(argv[2], NULL) : 0;
    if (keys < 1 || keys > MOST_KEYS) {
        fprintf(stderr, "usage: key_latency KEYS SETTLING_SECONDS PROGRAM ARGUMENT...\n");
        return 2;
    }
    if (!start(argv + 3)) {
        perror("key_latency: a pseudo-terminal");
        return EXIT_FAILURE;
    }
    host_prefer_low_latency(); /* this program's own delay must not count */
    watch(settling, NULL);
    size_t done = 0;
    while (done < (size_t)keys && (times[done] = measure(done)) >= 0)
        done++;
    end();
    return done == (size_t)keys ? report(times, done) : EXIT_FAILURE;
}
