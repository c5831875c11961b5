/* Finds out what a terminal can show, from the environment and from its replies to queries, and
 * sends bytes to it past ncurses. */
#include "ui/terminal/graphics.h"

#include "base/clock.h"
#include "ui/terminal/terminal.h"
#include "ui/terminal/theme.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

/* --- the environment --- */

static bool variable_is(const char *name, const char *value)
{
    const char *found = getenv(name);
    return found && strcmp(found, value) == 0;
}

/* Reads the terminfo entry. If a terminal is open already, its entry stays the current one. */
static void read_terminfo(struct graphics_facts *facts)
{
    TERMINAL *before = cur_term;
    int status;
    if (!facts->terminal[0] || setupterm(facts->terminal, STDOUT_FILENO, &status) != OK)
        return;
    const char *place = tigetstr("cup"), *direct = tigetstr("RGB");
    facts->known = place && place != (const char *)-1;
    facts->colours = tigetnum("colors");
    /* RGB is the capability of ncurses for direct colour (a flag, a number or a string), Tc that of
     * tmux */
    if (tigetflag("RGB") == 1 || tigetnum("RGB") > 0 || (direct && direct != (const char *)-1) ||
        tigetflag("Tc") == 1)
        facts->colours = 1 << 24;
    TERMINAL *found = cur_term;
    if (found == before)
        return;
    set_curterm(before);
    del_curterm(found);
}

void graphics_read_environment(struct graphics_facts *facts)
{
    const char *terminal = getenv("TERM"), *no_color = getenv("NO_COLOR");
    *facts = (struct graphics_facts){.colours = -1};
    snprintf(facts->terminal, sizeof facts->terminal, "%s", terminal ? terminal : "");
    facts->no_color = no_color && no_color[0];
    facts->utf8 = glyphs_unicode_works();
    read_terminfo(facts);
    if (facts->known &&
        (variable_is("COLORTERM", "truecolor") || variable_is("COLORTERM", "24bit")))
        facts->colours = 1 << 24;
}

/* --- sending --- */

/* Ends a sequence that was cut off; without the end the terminal would take everything that follows
 * as part of it. Returns false. */
static bool end_sequence(bool cut)
{
    if (cut && terminal_is_writable() && write(STDOUT_FILENO, "\033\\", 2) < 0)
        return false; /* the terminal is gone */
    return false;
}

bool graphics_send(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = write(STDOUT_FILENO, bytes, length < 4096 ? length : 4096);
        if (sent > 0) {
            bytes += sent;
            length -= (size_t)sent;
        } else if (sent < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        if (terminal_must_stop()) /* terminal_wait would take a resize away from the caller */
            return end_sequence(length > 0);
    }
    return true;
}

/* --- queries --- */

enum { REPLY_SIZE = 512 };
/* Seconds. Every terminal replies, but on a slow link or a busy machine it takes a while. */
static const double REPLY_TIMEOUT = 2;

/* Reads until the reply to the last query (the primary device attributes: "...c"), which every
 * terminal supports, or until the timeout. */
static void read_reply(char *reply, size_t size)
{
    const uint64_t began = clock_nanoseconds();
    size_t used = 0;
    for (;;) {
        const double left = REPLY_TIMEOUT - clock_seconds(began, clock_nanoseconds());
        struct pollfd input = {STDIN_FILENO, POLLIN, 0};
        if (left <= 0 || used + 1 >= size || poll(&input, 1, (int)(left * 1000) + 1) <= 0)
            return;
        ssize_t got = read(STDIN_FILENO, reply + used, size - 1 - used);
        if (got <= 0)
            return;
        used += (size_t)got;
        reply[used] = '\0';
        const char *attributes = strstr(reply, "\033[?");
        if (attributes && strchr(attributes, 'c'))
            return;
    }
}

/* Returns whether device attributes such as "\033[?62;4;22c" list an attribute. */
static bool lists_attribute(const char *reply, long wanted)
{
    const char *at = strstr(reply, "\033[?");
    if (!at || !strchr(at, 'c'))
        return false;
    for (at += 3; *at && *at != 'c';) {
        char *end;
        long attribute = strtol(at, &end, 10);
        if (end == at)
            return false;
        if (attribute == wanted)
            return true;
        at = end + (*end == ';');
    }
    return false;
}

void graphics_parse_reply(struct graphics_facts *facts, const char *reply)
{
    int height, width;
    const char *size = strstr(reply, "\033[6;");
    facts->kitty = strstr(reply, "\033_Gi=31;OK");
    facts->sixel = lists_attribute(reply, 4);
    if (size && sscanf(size, "\033[6;%d;%dt", &height, &width) == 2 && height > 0 && width > 0 &&
        height < 1000 && width < 1000) {
        facts->cell_height = height;
        facts->cell_width = width;
    }
}

static void measure_cells(struct graphics_facts *facts)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
        facts->cell_height = size.ws_ypixel / size.ws_row;
        facts->cell_width = size.ws_xpixel / size.ws_col;
    }
}

/* Returns whether kitty's query is safe: tmux and screen take it for a window title, and the
 * console prints it. */
static bool accepts_kitty_query(const char *terminal)
{
    static const char *const refusing[] = {"tmux", "screen", "linux", "vt", NULL};
    for (size_t i = 0; refusing[i]; i++)
        if (strncmp(terminal, refusing[i], strlen(refusing[i])) == 0)
            return false;
    return !getenv("TMUX") && !getenv("STY");
}

void graphics_query_terminal(struct graphics_facts *facts)
{
    static const char kitty[] = "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\";
    static const char rest[] = "\033[16t\033[c";
    char reply[REPLY_SIZE] = "";
    measure_cells(facts);
    if ((accepts_kitty_query(facts->terminal) && !graphics_send(kitty, sizeof kitty - 1)) ||
        !graphics_send(rest, sizeof rest - 1))
        return;
    read_reply(reply, sizeof reply);
    graphics_parse_reply(facts, reply);
    if (getenv("TMUX")) /* tmux 3.5 reports sixel even if the terminal outside lacks it */
        facts->sixel = false;
}
