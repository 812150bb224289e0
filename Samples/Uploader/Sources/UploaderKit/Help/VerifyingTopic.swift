import ArgumentParser

struct VerifyingTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "verifying",
        abstract: "What 'verify' reads, repairs and deletes.",
        discussion: """
            Missing and damaged objects are recorded, so that 'status' shows them and a
            'push' of the originals repairs them.

            The size of each local copy is always checked. --content also checks its
            SHA-256. --read-data downloads all objects and checks their SHA-256. If it is
            interrupted, it continues when it is run again within a week.
            --read-data=10%, 1/10 or 20GiB reads a part, the objects that were read
            longest ago first. Ten runs with 10% read everything. --read-share 10% and
            --read-data-subset 10% are the same.

            --repair takes intact bytes from this device, the storage or the originals. It
            moves damaged bytes that may be the only ones into the folder 'quarantine' in
            DATABASE.lfs. It also retries failed uploads and deletions.

            Files and objects without a record are only reported, objects once they are
            older than --orphan-age, such as 12h, by default 7d. Another copy of the
            database may know them. --remove-unknown deletes them for good.

            'verify' stops if the storage, or a new local folder, is empty: a disk may not
            be mounted. --accept-empty continues.

            If no intact bytes of a file remain, it is recorded as lost. Later runs report
            it as known. A 'push' of its original with the same bytes, or 'remove', ends
            this.

            Exit status 5 means that problems remain. Exit status 3 means that repaired
            files still wait for their upload or deletion after --give-up-after.
            """,
        shouldDisplay: false)
}
