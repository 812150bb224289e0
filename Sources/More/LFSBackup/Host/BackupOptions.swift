package import Foundation
public import LFS

/// Options of a backup. Every option has a default.
public struct BackupOptions: Sendable {
    /// The delay between the read of a new file and its upload, up to a day. An original that is edited right away is
    /// then uploaded once, and a phone can wait for the home network. The default is zero.
    public var delay = Duration.zero
    /// If true, originals are uploaded again even if their files were deleted on purpose. The default is false.
    public var sendsDeclined = false
    /// Files whose local bytes are known to differ from the recorded ones, in addition to those that the database
    /// lists.
    public var damaged: Set<FileData.ID> = []
    /// If true, an original whose bytes equal those of an existing file shares that file, so the bytes are uploaded
    /// once. If false, every original gets its own file. Use false if the content of the storage may differ from the
    /// rows. The default is true.
    public var reusesFiles = true
    /// If false, the files of a ``FolderSource`` are uploaded from their places, which needs no disk space. An original
    /// that changes before its upload is then not uploaded in its earlier form. If true, the bytes of each original are
    /// copied, and the upload sends the bytes of this moment whatever happens to the original. The default is false.
    public var copiesOriginals = false
    /// The check for disk space. Nil for no check.
    public var room: BackupSpace?
    package var wallClock: @Sendable () -> Date = { Date() }

    /// Creates options with the default values.
    public init() {}

    /// The maximum delay. A longer one would look like the result of a wrong clock.
    public static let longestDelay = Duration.seconds(24 * 3_600)

    var boundedDelay: Duration { min(max(delay, .zero), Self.longestDelay) }
}
