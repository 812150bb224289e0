/// The figures of one run.
struct Tally: Equatable {
    var attached = 0
    var uploaded = 0
    /// Files that could not be attached or uploaded, without those that could not be read.
    var failed = 0
    /// Files that were passed over: unchanged, links, or not readable.
    var skipped = 0
    /// Those of the skipped ones that should have been attached.
    var unreadable = 0
    /// The bytes of the uploaded files.
    var bytes: Int64 = 0

    var pulled = 0
    var removed = 0

    // What there is to do.
    var totalFiles = 0
    var totalBytes: Int64 = 0
    var isWalking = false
    /// The bytes of files that are under way, by their id.
    var partial: [String: Int64] = [:]
    var retrying: Set<String> = []

    var doneBytes: Int64 { bytes + partial.values.reduce(0, +) }
    var hasFailures: Bool { failed > 0 || unreadable > 0 }

    /// The figures for people: those of every run, and the others where there are any.
    var words: [String] {
        let always = [(attached, "attached"), (uploaded, "uploaded"), (failed, "failed"), (skipped, "skipped")]
        let sometimes = [(pulled, "pulled"), (removed, "removed")].filter { $0.0 > 0 }
        return (always + sometimes).map { "\(Format.count($0.0)) \($0.1)" }
    }

    /// Whole per cent of the bytes; 100 only when every upload is proven.
    var percent: Int {
        guard !isWalking, uploaded < totalFiles else { return isWalking ? min(share, 99) : 100 }
        return min(share, 99)
    }

    private var share: Int { totalBytes > 0 ? Int(Double(doneBytes) / Double(totalBytes) * 100) : 0 }
}
