/* The width of text: characters of one and of two columns, combining marks, invalid bytes. */
#include "tap.h"

#include "ui/terminal/columns.h"

#include <locale.h>
#include <string.h>

static bool fits(const char *text, size_t columns, const char *expected, size_t used)
{
    char out[64];
    size_t taken = columns_fit(text, columns, out, sizeof out);
    return taken == used && strcmp(out, expected) == 0;
}

int main(void)
{
    static const char *const wide = "\346\227\245\346\234\254";      /* two ideographs */
    static const char *const combined = "e\314\201poca";             /* e and an acute accent */
    static const char *const fish = "\360\237\220\237";              /* an emoji */
    static const char *const stacked = "a\314\200\314\201\314\202b"; /* three marks on one letter */
    char line[64];
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        tap_skip("there is no locale C.UTF-8");
        return tap_done();
    }
    tap_ok(columns_of("\303\251poca") == 5, "an accented letter takes one column");
    tap_ok(columns_of(combined) == 5 && columns_of(stacked) == 2, "combining marks take none");
    tap_ok(columns_of(wide) == 4 && columns_of(fish) == 2, "ideographs and emoji take two");
    tap_ok(columns_of("\377a\001") == 3, "what cannot be shown takes the place of its mark");
    tap_ok(fits(wide, 3, "\346\227\245", 2), "a wide letter is not cut in half");
    tap_ok(fits(combined, 1, "e\314\201", 1), "a mark stays with its letter");
    tap_ok(fits("a\377b", 3, "a?b", 3), "a broken byte is shown as a mark");
    tap_ok(fits(fish, 1, "", 0), "what has no room is left out");
    tap_ok(columns_after(stacked, 0) == 7 && columns_before(stacked, 7) == 0,
           "the cursor passes a letter with its marks");
    const char *rest = columns_wrap("\346\227\245\346\234\254 ab", 5, line, sizeof line);
    tap_ok(rest && strcmp(line, wide) == 0 && strcmp(rest, "ab") == 0, "lines break by columns");
    rest = columns_wrap(wide, 1, line, sizeof line);
    tap_ok(rest && strcmp(line, "\346\227\245") == 0,
           "a letter wider than the line does not stop it");
    tap_ok(columns_lines(wide, 2) == 2, "lines are counted by columns");
    rest = columns_wrap("a\nb c", 3, line, sizeof line);
    tap_ok(rest && columns_of(line) == 3 && strcmp(rest, "c") == 0 &&
               columns_lines("a\n\nb", 9) == 1,
           "a line feed out of a file begins no line");
    return tap_done();
}
