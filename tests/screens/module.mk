# The screens over a session that trains nothing.
SCREENS_CASES = \
	%D%/compare_view_test.c \
	%D%/form_test.c \
	%D%/storm_test.c
check_PROGRAMS += screens_test
TESTS += $(SCREENS_CASES)
screens_test_SOURCES = $(SCREENS_CASES) $(CASES_MAIN) tests/ui/fake_session.c tests/session_files.h
screens_test_LDADD = $(UI_LIBS)
screens_test_CPPFLAGS = $(AM_CPPFLAGS) -DEVENTS=$(STORM_EVENTS)
if SANITIZED
STORM_EVENTS = 4000
else
STORM_EVENTS = 20000
endif
