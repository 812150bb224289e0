import ArgumentParser

struct NamesTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "names",
        abstract: "Names that select files in the database.",
        discussion: """
            A file is selected by its id or the first 8 or more characters of it, as
            'list' prints them, by its path, or by the last parts of its path. A folder
            selects all files in it.

            In a quoted pattern, * and ? match anything but a slash, ** matches anything,
            and [a-c] and {jpg,heic} match one of these. A pattern without a leading slash
            may start in any folder.

            A name can also be given as it is printed, with \\n, \\xFF and \\\\ for special
            bytes. For a file whose name starts with a dash, write ./ before the name.
            """,
        shouldDisplay: false)
}
