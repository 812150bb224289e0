package import LFS

/// The purpose of a run.
package enum Purpose { case uploading, pulling, removing }

/// The figures of a run.
package struct Tally: Equatable {
    package init() {}

    package var attached = 0
    /// Files whose lost or damaged bytes were restored from their originals.
    package var restored = 0
    /// Attached files with the same content as another file, which needed no upload.
    package var shared = 0
    package var uploaded = 0
    /// Files that could not be attached, pulled or removed, without unreadable ones.
    package var refused = 0
    /// Files that are still pending when a run gives up, and files that an unavailable storage could not provide.
    package var notUploaded = 0
    package var notPulled = 0
    /// The failed attempts to save the database on the storage.
    package var failedSaves = 0
    /// The failed exchanges of rows with the sync server.
    package var failedSyncs = 0
    /// True if changes wait for room in the account after the last exchange.
    package var exceedsQuota = false
    /// The ids of the files whose upload was given up.
    package var givenUp: Set<FileID> = []
    /// Files that were skipped because they are unchanged, special or unreadable.
    package var skipped = 0
    /// Skipped files that are already stored and unchanged.
    package var unchanged = 0
    /// Unchanged files with updated time or permissions.
    package var touched = 0
    /// Links and folders that were recorded as new or changed, or that were created.
    package var links = 0
    package var folders = 0
    /// Links and folders that are recorded but no longer exist.
    package var gone = 0
    /// Existing files with the right content but other times or permissions.
    package var kept = 0
    /// Deletions that were pending before the run and are carried out.
    package var deletions = 0
    /// Links and folders whose records were removed.
    package var forgotten = 0
    /// Skipped files that should have been attached.
    package var unreadable = 0
    /// The bytes of completed files.
    package var bytes: Int64 = 0

    package var pulled = 0
    package var removed = 0
    /// Originals that were removed because their upload is confirmed.
    package var moved = 0
    /// Old versions that were removed, and the bytes of their files.
    package var versions = 0
    package var versionBytes: Int64 = 0

    // The total work.
    package var totalFiles = 0
    package var totalBytes: Int64 = 0
    package var isWalking = false
    /// The bytes of the files that were found to be new, and the bytes that were read.
    package var foundBytes: Int64 = 0
    package var readBytes: Int64 = 0
    /// The bytes of all new files, read or not. Nil until they are counted.
    package var expectedBytes: Int64?
    /// The transferred bytes of files in transfer, by id.
    package var partial: [FileID: Int64] = [:]
    package var retrying: Set<FileID> = []
    /// The rows that were sent to and received from the sync server. Nil while no exchange is running.
    package var rows: Rows?

    package struct Rows: Equatable {
        package var sent: Int
        package var received: Int

        package init(sent: Int, received: Int) { (self.sent, self.received) = (sent, received) }
    }

    package var doneBytes: Int64 { partial.values.reduce(bytes) { $0.addingSaturated($1) } }
    /// The number of files that were not completed, and of failed attempts to save the database and to sync.
    package var failed: Int {
        refused + givenUp.count + notUploaded + notPulled + failedSaves + max(failedSyncs, exceedsQuota ? 1 : 0)
    }
    /// True if rows of this device were not sent.
    package var isNotSynced: Bool { failedSyncs > 0 || exceedsQuota }
    package var hasFailures: Bool { failed > 0 || unreadable > 0 }

    /// The number of uploaded files once no file is pending.
    package var through: Int { totalFiles - givenUp.count - pulled }

    /// The number of completed files: uploaded and confirmed, or written.
    package var doneFiles: Int { uploaded + pulled }

    /// Returns the figures for people: those of the run's purpose, and the others if they are not zero.
    package func words(about purpose: Purpose) -> [String] {
        let all: [(Int, String, Bool)] = [
            (attached, "attached", purpose == .uploading), (restored, "restored", false),
            (pulled, "pulled", purpose == .pulling),
            (removed, "removed", purpose == .removing), (uploaded, "uploaded", purpose == .uploading),
            (moved, "moved", false),
            (refused + givenUp.count, "failed", true), (notUploaded, "not uploaded yet", false),
            (notPulled, "not pulled", false), (unchanged, "unchanged", purpose != .removing),
            (skipped - unchanged - unreadable, "skipped", false),
            (unreadable, "could not be read", false),
        ]
        let verb = purpose == .pulling ? "created" : "recorded"
        let entries: [(Int, String, String)] = [
            (shared, "with content that is already stored", "with content that is already stored"),
            (touched, "touched", "touched"), (folders, "folder \(verb)", "folders \(verb)"),
            (links, "link \(verb)", "links \(verb)"),
            (gone, "folder or link gone", "folders and links gone"),
            (deletions, "deletion carried out", "deletions carried out"),
            (forgotten, "folder or link forgotten", "folders and links forgotten"),
        ]
        let versions =
            versions > 0
            ? ["\(Format.count(versions, noun: "old version")) removed (\(Format.bytes(versionBytes)))"] : []
        return all.filter { $0.2 || $0.0 > 0 }.map { "\(Format.count($0.0)) \($0.1)" } + versions
            + entries.filter { $0.0 > 0 }.map { Format.count($0.0, noun: $0.1, plural: $0.2) }
    }

    /// The percentage of the bytes as a whole number. 100 only once every upload is confirmed.
    package var percent: Int {
        guard !isWalking, doneFiles < totalFiles else { return isWalking ? min(share, 99) : 100 }
        return min(share, 99)
    }

    private var share: Int {
        totalBytes > 0 ? Int(saturating: (Double(doneBytes) / Double(totalBytes) * 100).rounded(.down)) : 0
    }
}
