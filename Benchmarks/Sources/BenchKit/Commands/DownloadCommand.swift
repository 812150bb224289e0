import ArgumentParser

struct DownloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Fetch the same objects by the library and by each tool, and compare.",
        discussion: """
            Uploads the files once, below a prefix of its own in the bucket, where they stay.
            Then lfs, an app that prefetches all of its files, and the tools fetch them in
            turn. Only lfs checks the SHA-256 of each file and syncs it, and keeps its
            database. For large files give --files 1 --size 512MiB: curl writes by -o. Keys
            come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
            """)

    @OptionGroup var options: BucketOptions

    func run() throws { try options.run(.download) { "\($0) fetched from" } }
}
