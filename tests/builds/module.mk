# how many networks and plans are built: by the program, and by the form
COUNT_BUILDS = $(AM_LDFLAGS) -Wl,--wrap=plan_build -Wl,--wrap=network_build -Wl,--wrap=network_of_model
BUILDS_CASES = \
	%D%/builds_test.c
check_PROGRAMS += builds_test
TESTS += $(BUILDS_CASES)
builds_test_SOURCES = $(BUILDS_CASES) $(CASES_MAIN) tests/count_builds.c tests/count_builds.h tests/session_files.h
builds_test_LDADD = $(UI_LIBS)
check_PROGRAMS += counted_tinca
builds_test_LDFLAGS = $(COUNT_BUILDS)
counted_tinca_SOURCES = $(tinca_SOURCES) tests/count_builds.c tests/count_builds.h
nodist_counted_tinca_SOURCES = $(nodist_tinca_SOURCES)
counted_tinca_LDADD = $(tinca_LDADD)
counted_tinca_LDFLAGS = $(COUNT_BUILDS)
