import ArgumentParser

struct FiltersTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "filters",
        abstract: "Patterns and lists that select files for 'push' and 'pull'.",
        discussion: """
            --include and --exclude use the patterns of rclone, relative to the pushed
            folder. Both can be repeated. Quote the patterns.

              *  ?          any characters, or one, except a slash
              **            any characters
              {jpg,heic}    one of these
              /cache        a leading slash anchors a pattern at the pushed folder
              cache/        a trailing slash selects everything in a folder

            With --include, only matching files are taken, even if --exclude matches them
            too.

            --files-from takes only the paths in a file, one per line, relative to the
            pushed folder. - is standard input. Lines that start with # or ; are ignored.
            --files-from0 reads paths that each end with a zero byte, as 'find -print0'
            prints them.
            """,
        shouldDisplay: false)
}
