import LFS

/// The progress of a transfer that is running.
struct FileTransfer: Hashable, Sendable {
    enum Direction: Hashable, Sendable { case upload, download }

    let direction: Direction
    let progress: TransferProgress

    /// The percentage from 0 to 100.
    var percent: Int { Int((min(max(progress.fractionCompleted, 0), 1) * 100).rounded(.down)) }
}
