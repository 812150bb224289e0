package import LFS

/// What a run is about.
package enum Purpose { case uploading, pulling, removing }

/// The figures of one run.
package struct Tally: Equatable {
    package init() {}

    package var attached = 0
    /// Files that got lost or damaged bytes back from their originals.
    package var restored = 0
    /// Those of the attached ones whose content another file had, so that nothing was to be uploaded.
    package var shared = 0
    package var uploaded = 0
    /// Files that could not be attached, pulled or removed, without those that could not be read.
    package var refused = 0
    /// Files that wait still when a run gives up, and files that the storage could not give because it is away.
    package var notUploaded = 0
    package var notPulled = 0
    /// Files whose upload was given up, by their id.
    package var givenUp: Set<FileID> = []
    /// Files that were passed over: unchanged, special ones, or not readable.
    package var skipped = 0
    /// Those of the skipped ones that are there already as they are.
    package var unchanged = 0
    /// Those of the unchanged ones whose time or permissions are recorded anew.
    package var touched = 0
    /// Links and folders that were recorded because they are new or have changed, or that were made.
    package var links = 0
    package var folders = 0
    /// Links and folders that are recorded, and not where they were any more.
    package var gone = 0
    /// Files that were there with the right content, and other times or permissions.
    package var kept = 0
    /// Deletions that waited before the run, and are carried out.
    package var deletions = 0
    /// Links and folders that are recorded no more.
    package var forgotten = 0
    /// Those of the skipped ones that should have been attached.
    package var unreadable = 0
    /// The bytes of the files that are through.
    package var bytes: Int64 = 0

    package var pulled = 0
    package var removed = 0
    /// Originals that went once they were proven on the storage.
    package var moved = 0
    /// Old versions that went, and the bytes of the files that went with them.
    package var versions = 0
    package var versionBytes: Int64 = 0

    // What there is to do.
    package var totalFiles = 0
    package var totalBytes: Int64 = 0
    package var isWalking = false
    /// The bytes of the files that were found to be new, and how many of them are read.
    package var foundBytes: Int64 = 0
    package var readBytes: Int64 = 0
    /// The bytes of all files that are new, read or not; nil until they are counted.
    package var expectedBytes: Int64?
    /// The bytes of files that are under way, by their id.
    package var partial: [FileID: Int64] = [:]
    package var retrying: Set<FileID> = []
    /// The rows that have gone to the sync server and come from it; nil while none are on their way.
    package var rows: Rows?

    package struct Rows: Equatable {
        package var sent: Int
        package var received: Int

        package init(sent: Int, received: Int) { (self.sent, self.received) = (sent, received) }
    }

    package var doneBytes: Int64 { partial.values.reduce(bytes) { $0.addingSaturated($1) } }
    /// All that was left undone.
    package var failed: Int { refused + givenUp.count + notUploaded + notPulled }
    package var hasFailures: Bool { failed > 0 || unreadable > 0 }

    /// How many are uploaded when none waits any more.
    package var through: Int { totalFiles - givenUp.count - pulled }

    /// Files that are through: uploaded and proven, or written out.
    package var doneFiles: Int { uploaded + pulled }

    /// The figures for people: those that the run is about, and the others where there are any.
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
        let entries: [(Int, String, String)] = [
            (shared, "with the content of another", "with the content of others"),
            (touched, "touched", "touched"), (folders, "folder", "folders"), (links, "link", "links"),
            (gone, "folder or link gone", "folders and links gone"),
            (deletions, "deletion carried out", "deletions carried out"),
            (forgotten, "folder or link forgotten", "folders and links forgotten"),
        ]
        let versions =
            versions > 0
            ? ["\(Format.count(versions, "old version")) removed (\(Format.bytes(versionBytes)))"] : []
        return all.filter { $0.2 || $0.0 > 0 }.map { "\(Format.count($0.0)) \($0.1)" } + versions
            + entries.filter { $0.0 > 0 }.map { Format.count($0.0, $0.1, $0.2) }
    }

    /// Whole per cent of the bytes; 100 only when every upload is proven.
    package var percent: Int {
        guard !isWalking, doneFiles < totalFiles else { return isWalking ? min(share, 99) : 100 }
        return min(share, 99)
    }

    private var share: Int {
        totalBytes > 0 ? Int(saturating: (Double(doneBytes) / Double(totalBytes) * 100).rounded(.down)) : 0
    }
}
