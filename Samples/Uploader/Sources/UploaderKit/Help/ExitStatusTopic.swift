import ArgumentParser

struct ExitStatusTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "exit-status",
        abstract: "Exit statuses, and what goes to which output.",
        discussion: """
            0    everything was done
            1    the command could not do its job
            3    some files failed, and each was reported; or the run gave up because it
                 made no progress (--give-up-after) or the storage refused everything;
                 or the copy of the database was not saved; or 'free' could not free
                 enough
            5    'verify' found problems that remain
            64   the command line is wrong
            129  interrupted by the end of the terminal
            130  interrupted by Ctrl-C
            141  the reader of the output has closed it
            143  interrupted by SIGTERM

            After an interruption nothing is lost, and the same command continues. Treat
            any other status as a failure.

            Results are printed to standard output, progress and messages to standard
            error.
            """,
        shouldDisplay: false)
}
