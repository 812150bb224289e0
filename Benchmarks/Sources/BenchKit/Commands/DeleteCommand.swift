import ArgumentParser

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete as many objects by the library and by each tool, and compare.",
        discussion: """
            Uploads the files anew for each run, below a prefix of its own in the bucket.
            Then lfs, an app that deletes the rows of all its files and waits until every
            object and every local copy is gone, or a tool deletes them. Keys come from
            AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
            """)

    @OptionGroup var options: BucketOptions

    func run() throws { try options.run(.delete) { "\($0) deleted from" } }
}
