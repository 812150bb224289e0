// Every error ends the program: it is a yardstick, and a run with an error measures nothing.
#ifndef FAILURE_H
#define FAILURE_H

// Says why on the standard error, and ends with status 1.
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The same for a system call: what was done, to which file, and what the system says of it.
_Noreturn void fail_call(const char *call, const char *path);

#endif
