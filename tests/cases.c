/* The main function of the test programs: `PROGRAM CASE [ARGUMENT...]` runs one case (tap.h). A
 * program with one case needs no name. */
#include "tap.h"

#include <string.h>

static struct test_case *cases;

void test_case_add(struct test_case *added)
{
    added->next = cases;
    cases = added;
}

int main(int argc, char **argv)
{
    for (const struct test_case *each = cases; each && argc > 1; each = each->next)
        if (strcmp(each->name, argv[1]) == 0)
            return each->run(argc - 1, argv + 1);
    if (cases && !cases->next)
        return cases->run(argc, argv);
    fprintf(stderr, "usage: %s CASE [ARGUMENT...], with one of these cases:\n", argv[0]);
    for (const struct test_case *each = cases; each; each = each->next)
        fprintf(stderr, "%s\n", each->name);
    return 2;
}
